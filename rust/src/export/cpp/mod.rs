//! Models as C++ headers: C++17 without ROOT, LibTorch or CladTorch, float32, one event at a time.
//!
//! The header has one namespace, named after the file. Each node of the program is a loop or a call whose sizes are constants;
//! neighbouring element-wise functions are one loop, as in the back end `jit`. The scalar functions are those of
//! `cpp/kernels`, so that a prediction equals that of [`Model::predict`] up to the order of sums.

mod definitions;
mod nodes;
mod reverse;
mod text;

use std::path::Path;

use super::{Finish, Plan};
use crate::atomic_file;
use crate::error::{Error, Result};
use crate::model::Model;
use nodes::{Network, Writer};
use text::{array, namespace, string};

/// Most constants: no compiler takes more within minutes.
const MOST_NUMBERS: usize = 1 << 22;

impl Model {
    /// Writes the model to `path` as a C++ header, with the derivatives of its predictions if asked: whole or not at all. Refuses
    /// operators that it cannot write, by name.
    pub fn export_cpp(&self, path: &Path, gradient: bool) -> Result<()> {
        let plan = if gradient { Plan::with_gradient } else { Plan::new }(self, "a C++ header")?;
        let numbers = self.parameters().len() + self.state().len();
        if numbers > MOST_NUMBERS {
            return Err(Error::invalid(
                format!("a C++ header of {numbers} numbers"),
                format!("compilers take at most about {MOST_NUMBERS}: write an ONNX file"),
            ));
        }
        let text = written(&plan, path, gradient)?;
        atomic_file::replace(path, |new| std::fs::write(new, &text).map_err(|error| Error::io(path, error)))
    }
}

fn written(plan: &Plan, path: &Path, gradient: bool) -> Result<String> {
    let network = Writer::new(plan).run(gradient)?;
    let name = namespace(path);
    let columns: Vec<String> = plan.columns().iter().map(|column| format!("   {}", string(column))).collect();
    let (constants, predict) = ends(plan, &network.body);
    let detail = format!("{}{}{constants}", network.constants, network.functions);
    let gradient = if gradient { gradient_of(plan, &network, &predict) } else { String::new() };
    let kernels = definitions::used_by(&format!("{detail}{predict}{gradient}"));
    let [quiet, loud] = if gradient.is_empty() { [""; 2] } else { [QUIET, LOUD] };
    let version = env!("CARGO_PKG_VERSION");
    Ok(format!(
        "// A network that was trained with CladTorch {version}, as one C++17 header without dependencies.\n//\n\
         //    float features[{name}::kInputs] = {{}}, predictions[{name}::kOutputs];\n\
         //    {name}::predict(features, predictions);\n//\n\
         // Compile with -O3, and with -march=native where it stays on this machine.\n#pragma once\n\n\
         #include <algorithm>\n#include <array>\n#include <cmath>\n#include <cstddef>\n#include <cstdint>\n#include <cstring>\n#include <limits>\n#include <utility>\n\n\
         namespace {name} {{\n\n\
         inline constexpr std::size_t kInputs = {inputs}, kOutputs = {outputs};\n\n\
         /// What each number of an event is.\n\
         inline constexpr const char *columns[kInputs] = {{\n{columns}}};\n\n\
         {quiet}namespace detail {{\n\nusing std::size_t;\nusing T = float;\n\n{kernels}{detail}\n}} // namespace detail\n{loud}\n\
         /// One event [kInputs] to {gives} [kOutputs].\n\
         inline void predict(const float *features, float *predictions)\n{{\n   using namespace detail;\n{predict}}}\n\n\
         /// The same as arrays.\n\
         inline std::array<float, kOutputs> predict(const std::array<float, kInputs> &features)\n{{\n\
         \x20  std::array<float, kOutputs> predictions;\n   predict(features.data(), predictions.data());\n   return predictions;\n}}\n\n\
         /// Events [events, kInputs] to predictions [events, kOutputs].\n\
         inline void predict(std::size_t events, const float *features, float *predictions)\n{{\n\
         \x20  for (; events > 0; --events, features += kInputs, predictions += kOutputs)\n      predict(features, predictions);\n}}\n\n\
         {gradient}}} // namespace {name}\n",
        gives = plan.finish().describe(),
        inputs = plan.model.inputs(),
        outputs = plan.model.outputs(),
        columns = columns.join(",\n"),
    ))
}

/// Clad's text has parameters and variables that it does not use.
const QUIET: &str = "#if defined(__GNUC__)\n#pragma GCC diagnostic push\n#pragma GCC diagnostic ignored \"-Wunused-parameter\"\n\
    #pragma GCC diagnostic ignored \"-Wunused-but-set-variable\"\n#endif\n";
const LOUD: &str = "#if defined(__GNUC__)\n#pragma GCC diagnostic pop\n#endif\n";

/// The functions that give the derivatives of the predictions by the features: the pass of `predict`, and back for each prediction.
fn gradient_of(plan: &Plan, network: &Network, predict: &str) -> String {
    let scale = if plan.target().is_some() { "      seed[output] /= kTargetInverse[output];\n" } else { "" };
    let seed = match plan.finish() {
        Finish::Values => "      seed[output] = 1;\n",
        Finish::Deviations => {
            "      const float value = predictions[output];\n      \
             if (output < kTargets)\n         seed[output] = 1;\n      \
             else if (value > std::exp(0.5f * kLeastLogVariance[output - kTargets]))\n         seed[output] = 0.5f * value;\n"
        }
        Finish::Sigmoid => "      seed[output] = predictions[output] * (1 - predictions[output]);\n",
        Finish::Softmax => {
            "      for (size_t i = 0; i < kOutputs; ++i)\n         \
             seed[i] = predictions[output] * ((i == output ? 1.f : 0.f) - predictions[i]);\n"
        }
    };
    let last = if plan.scaler().is_some() { "dx[i] * kInverse[i]" } else { "dx[i]" };
    let adjoints = &network.adjoints;
    let pullback: String = network.pullback.lines().map(|line| format!("   {line}\n")).collect();
    format!(
        "/// One event [kInputs] to predictions [kOutputs] and the derivatives of each by each feature, jacobian [kOutputs, kInputs].\n\
         inline void gradient(const float *features, float *predictions, float *jacobian)\n{{\n   using namespace detail;\n\
         {predict}{adjoints}   for (size_t output = 0; output < kOutputs; ++output, jacobian += kInputs) {{\n      \
         [[maybe_unused]] float seed[kOutputs] = {{}};\n{seed}{scale}{pullback}      for (size_t i = 0; i < kInputs; ++i)\n         \
         jacobian[i] = {last};\n   }}\n}}\n\n\
         /// Events [events, kInputs] to predictions [events, kOutputs] and derivatives [events, kOutputs, kInputs].\n\
         inline void gradient(std::size_t events, const float *features, float *predictions, float *jacobian)\n{{\n\
         \x20  for (; events > 0; --events, features += kInputs, predictions += kOutputs, jacobian += kOutputs * kInputs)\n      \
         gradient(features, predictions, jacobian);\n}}\n\n"
    )
}

/// The body of `predict` around that of the network: scalers before and after it, and probabilities. With their constants.
fn ends(plan: &Plan, network: &str) -> (String, String) {
    let mut constants = String::new();
    let mut body = String::new();
    match plan.scaler() {
        None => body += "   const float *x = features;\n",
        Some(scaler) => {
            constants += &array("kMean", &scaler.mean);
            constants += &array("kInverse", &scaler.inverse);
            body += "   float x[kInputs];\n   for (size_t i = 0; i < kInputs; ++i)\n      \
                     x[i] = (features[i] - kMean[i]) * kInverse[i];\n";
        }
    }
    body += network;
    if let Some(target) = plan.target() {
        constants += &array("kTargetMean", &target.mean);
        constants += &array("kTargetInverse", &target.inverse);
        body += "   for (size_t i = 0; i < kOutputs; ++i)\n      \
                 predictions[i] = predictions[i] / kTargetInverse[i] + kTargetMean[i];\n";
    }
    body += match plan.finish() {
        Finish::Values => "",
        Finish::Deviations => {
            constants += &array("kLeastLogVariance", &plan.least_log_variances());
            "   constexpr size_t kTargets = kOutputs / 2;\n   \
             for (size_t i = 0; i < kTargets; ++i) {\n      \
             float &value = predictions[kTargets + i];\n      \
             value = std::exp(0.5f * (value < kLeastLogVariance[i] ? kLeastLogVariance[i] : value));\n   }\n"
        }
        Finish::Sigmoid => "   predictions[0] = 1 / (1 + std::exp(-predictions[0]));\n",
        Finish::Softmax => "   SoftmaxRows<kOutputs, 1, false>(1, predictions);\n",
    };
    (constants, body)
}
