//! Models as C++ headers: C++17 without ROOT, LibTorch or CladTorch, float32, one event at a time.
//!
//! The header has one namespace, named after the file. Each node of the program is a loop or a call whose sizes are constants;
//! neighbouring element-wise functions are one loop, as in the back end `jit`. The scalar functions are those of `cpp/kernels`, so
//! that a prediction has the digits of [`Model::predict`] up to the order of sums.

mod definitions;
mod nodes;
mod text;

use std::path::Path;

use super::{Finish, Plan};
use crate::atomic_file;
use crate::error::{Error, Result};
use crate::model::Model;
use nodes::Writer;
use text::{array, namespace, string};

/// Most constants: no compiler takes more within minutes.
const MOST_NUMBERS: usize = 1 << 22;

impl Model {
    /// Writes the model to `path` as a C++ header: whole or not at all. Refuses operators that it cannot write, by name.
    pub fn export_cpp(&self, path: &Path) -> Result<()> {
        let plan = Plan::new(self, "a C++ header")?;
        let numbers = self.parameters().len() + self.state().len();
        if numbers > MOST_NUMBERS {
            return Err(Error::invalid(
                format!("a C++ header of {numbers} numbers"),
                format!("compilers take at most about {MOST_NUMBERS}: write an ONNX file"),
            ));
        }
        let text = written(&plan, path)?;
        atomic_file::replace(path, |new| std::fs::write(new, &text).map_err(|error| Error::io(path, error)))
    }
}

fn written(plan: &Plan, path: &Path) -> Result<String> {
    let network = Writer::new(plan).run()?;
    let name = namespace(path);
    let columns: Vec<String> = plan.columns().iter().map(|column| format!("   {}", string(column))).collect();
    let (constants, predict) = ends(plan, &network.body);
    let detail = format!("{}{}{constants}", network.constants, network.functions);
    let kernels = definitions::used_by(&format!("{detail}{predict}"));
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
         namespace detail {{\n\nusing std::size_t;\nusing T = float;\n\n{kernels}{detail}\n}} // namespace detail\n\n\
         /// One event [kInputs] to {gives} [kOutputs].\n\
         inline void predict(const float *features, float *predictions)\n{{\n   using namespace detail;\n{predict}}}\n\n\
         /// The same as arrays.\n\
         inline std::array<float, kOutputs> predict(const std::array<float, kInputs> &features)\n{{\n\
         \x20  std::array<float, kOutputs> predictions;\n   predict(features.data(), predictions.data());\n   return predictions;\n}}\n\n\
         /// Events [events, kInputs] to predictions [events, kOutputs].\n\
         inline void predict(std::size_t events, const float *features, float *predictions)\n{{\n\
         \x20  for (; events > 0; --events, features += kInputs, predictions += kOutputs)\n      predict(features, predictions);\n}}\n\n\
         }} // namespace {name}\n",
        gives = plan.finish().describe(),
        inputs = plan.model.inputs(),
        outputs = plan.model.outputs(),
        columns = columns.join(",\n"),
    ))
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
