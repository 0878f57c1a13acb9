//! Exported C++ headers: compiled without warnings by every available compiler, and compared with the predictions and
//! their derivatives; models that cannot be exported are refused by name.

use std::fs;
use std::path::Path;
use std::process::Command;

use cladtorch::columns::Column;
use cladtorch::dataset::Dataset;
use cladtorch::graph::{Activation, Gives, Init};
use cladtorch::model::{Model, Training};
use support::models::{cube, difference, features, models, predictions};
use support::say::say;

const ROWS: usize = 20;

/// Compilers that can be started.
fn compilers() -> Vec<&'static str> {
    let starts = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    let found: Vec<_> = ["g++", "clang++", "clang++-19"].into_iter().filter(starts).collect();
    assert!(!found.is_empty(), "no C++ compiler");
    found
}

/// Compiles `source` with these options; panics with the compiler's output.
fn compile(compiler: &str, source: &Path, program: &Path, options: &[&str]) {
    let strict = ["-std=c++17", "-Wall", "-Wextra", "-Werror"];
    let output = Command::new(compiler).args(strict).args(options).arg(source).arg("-o").arg(program).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{compiler}: {}", said.chars().take(4000).collect::<String>());
}

/// A program that reads `m0.x` and so on and writes `m0.y`, one event after the other and all at once, and the derivatives `m0.g`.
fn program(count: usize) -> String {
    let includes: String = (0..count).map(|index| format!("#include \"m{index}.hxx\"\n")).collect();
    let calls: String = (0..count).map(|index| format!("   RUN(m{index});\n")).collect();
    includes
        + r#"
#include <cmath>
#include <cstdio>
#include <vector>

#define RUN(M)                                                                                                         \
   {                                                                                                                   \
      std::vector<float> x(ROWS * M::kInputs), y(ROWS * M::kOutputs), all(y.size());                                   \
      std::vector<float> again(y.size()), g(ROWS * M::kOutputs * M::kInputs);                                          \
      std::FILE *from = std::fopen(#M ".x", "rb"), *to = std::fopen(#M ".y", "wb"), *slopes = std::fopen(#M ".g", "wb"); \
      if (!from || !to || !slopes || std::fread(x.data(), sizeof(float), x.size(), from) != x.size())                             \
         return 1;                                                                                                     \
      for (std::size_t i = 0; i < ROWS; ++i)                                                                           \
         M::predict(&x[i * M::kInputs], &y[i * M::kOutputs]);                                                          \
      M::predict(ROWS, x.data(), all.data());                                                                          \
      std::array<float, M::kInputs> one;                                                                               \
      for (std::size_t i = 0; i < M::kInputs; ++i)                                                                     \
         one[i] = x[i];                                                                                                \
      if (all != y || M::predict(one)[0] != y[0] || !M::columns[M::kInputs - 1])                                       \
         return 2;                                                                                                     \
      M::gradient(ROWS, x.data(), again.data(), g.data());                                                             \
      for (std::size_t i = 0; i < y.size(); ++i)                                                                       \
         if (std::abs(again[i] - y[i]) > 1e-5f * (1 + std::abs(y[i])))                                                 \
            return 3;                                                                                                  \
      std::fwrite(g.data(), sizeof(float), g.size(), slopes);                                                          \
      std::fclose(slopes);                                                                                             \
      std::fwrite(y.data(), sizeof(float), y.size(), to);                                                              \
      std::fclose(from);                                                                                               \
      std::fclose(to);                                                                                                 \
   }

int main()
{
   constexpr std::size_t ROWS = 20;
"# + &calls
        + "}\n"
}

/// Derivatives of the predictions by the features, [rows, outputs, inputs], from those of the outputs before they
/// become probabilities.
fn slopes(model: &Model) -> Vec<f32> {
    let (inputs, outputs) = (model.inputs(), model.outputs());
    let columns = match model.columns() {
        [] => vec![Column::new("x", inputs)],
        columns => columns.to_vec(),
    };
    let mut data = Dataset::new(&columns).unwrap();
    data.begin("events").unwrap();
    data.append(&features(model, ROWS), &[0.0; ROWS], &[1.0; ROWS]).unwrap();
    data.commit().unwrap();
    let mut slopes = vec![0.0; ROWS * outputs * inputs];
    model.gradient(&data, 1, &mut slopes).unwrap();
    let predictions = predictions(model, ROWS);
    for (row, p) in slopes.chunks_mut(outputs * inputs).zip(predictions.chunks(outputs)) {
        let of_outputs = row.to_vec();
        for (to, output) in row.chunks_mut(inputs).zip(0..) {
            for (at, to) in to.iter_mut().enumerate() {
                let by = |other: usize| of_outputs[other * inputs + at];
                *to = match model.gives() {
                    Gives::Values => by(output),
                    Gives::Gaussians if output < outputs / 2 => by(output),
                    Gives::Gaussians => 0.5 * p[output] * by(output),
                    Gives::Probabilities if outputs == 1 => p[0] * (1.0 - p[0]) * by(0),
                    Gives::Probabilities => {
                        let mean: f32 = (0..outputs).map(|other| p[other] * by(other)).sum();
                        p[output] * (by(output) - mean)
                    }
                };
            }
        }
    }
    slopes
}

/// The largest difference in units of the largest expected number (1 at least); NaN where only one is NaN.
fn furthest(expected: &[f32], found: &[f32]) -> f32 {
    assert_eq!(expected.len(), found.len());
    let scale = expected.iter().fold(1.0f32, |largest, value| largest.max(value.abs()));
    let same = |a: f32, b: f32| a == b || (a.is_nan() && b.is_nan());
    let differences = expected.iter().zip(found).map(|(&a, &b)| if same(a, b) { 0.0 } else { (a - b).abs() / scale });
    differences.fold(0.0, |worst, each| if each <= worst { worst } else { each })
}

#[test]
fn every_header_computes_what_predict_and_gradient_give() {
    let folder = tempfile::tempdir().unwrap();
    let models = models();
    for (index, (name, model)) in models.iter().enumerate() {
        let path = folder.path().join(format!("m{index}.hxx"));
        model.export_cpp(&path, true).unwrap_or_else(|error| panic!("{name}: {error}"));
        let x: Vec<u8> = features(model, ROWS).iter().flat_map(|value| value.to_le_bytes()).collect();
        fs::write(folder.path().join(format!("m{index}.x")), x).unwrap();
    }
    let source = folder.path().join("main.cxx");
    fs::write(&source, program(models.len())).unwrap();
    let slopes: Vec<Vec<f32>> = models.iter().map(|(_, model)| slopes(model)).collect();
    for compiler in compilers() {
        for options in [&["-O0"][..], &["-O3", "-march=native"]] {
            let binary = folder.path().join("main");
            compile(compiler, &source, &binary, options);
            let status = Command::new(&binary).current_dir(folder.path()).status().unwrap();
            assert!(status.success(), "{compiler} {options:?}: {status}");
            let mut wrong = Vec::new();
            let numbers = |name: String| -> Vec<f32> {
                let bytes = fs::read(folder.path().join(name)).unwrap();
                bytes.as_chunks::<4>().0.iter().map(|word| f32::from_le_bytes(*word)).collect()
            };
            for (index, (name, model)) in models.iter().enumerate() {
                let worst = difference(model, ROWS, &numbers(format!("m{index}.y")));
                if worst.is_nan() || worst > 1e-6 {
                    wrong.push(format!("{name}: {worst:e}"));
                }
                let worst = furthest(&slopes[index], &numbers(format!("m{index}.g")));
                if worst.is_nan() || worst > 2e-6 {
                    wrong.push(format!("gradient of {name}: {worst:e}"));
                }
            }
            assert!(wrong.is_empty(), "{compiler} {options:?}:\n{}", wrong.join("\n"));
        }
        say(&format!(
            "{} headers compiled by {compiler} compute what their models predict, and its derivatives",
            models.len()
        ));
    }
}

#[test]
fn names_of_users_stay_strings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("class.hxx");
    let mut model = Model::new(&[3, 1], Activation::ReLU, Init::Kaiming, 1).unwrap();
    let names = ["\"};\n#error \"", "a\\", "µ ??/"];
    let columns = names.map(|name| Column::new(name, 1)).to_vec();
    model.set_training(Training { columns, ..Training::default() }).unwrap();
    model.export_cpp(&path, false).unwrap();
    let source = folder.path().join("main.cxx");
    let text = "#include \"class.hxx\"\n#include <cstdio>\nint main() { for (auto name : model_class::columns) std::puts(name); }\n";
    fs::write(&source, text).unwrap();
    for compiler in compilers() {
        let binary = folder.path().join("main");
        compile(compiler, &source, &binary, &[]);
        let output = Command::new(&binary).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "\"};\\n#error \"\na\\\nµ ??/\n");
    }
}

#[test]
fn what_a_header_cannot_hold_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.hxx");
    let own = Model::new(&[2, 3, 1], cube(), Init::Xavier, 1).unwrap();
    let error = own.export_cpp(&path, false).unwrap_err().to_string();
    assert!(error.contains("Custom is C++ of the user's own"), "{error}");
    let large = Model::new(&[2048, 2048, 1], Activation::ReLU, Init::Xavier, 1).unwrap();
    let error = large.export_cpp(&path, false).unwrap_err().to_string();
    assert!(error.contains("a C++ header of 4198401 numbers"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
