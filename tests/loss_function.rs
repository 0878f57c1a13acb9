//! Losses that a user wrote in C++, differentiated by Clad. Without a clang with Clad, each test says so.

use std::time::Duration;

use cladtorch::error::guard;
use cladtorch::gradient::aot::AotEngine;
use cladtorch::gradient::{RowLoss, Settings};
use cladtorch::graph::{Activation, Gradient, Graph, Init, Loss, Optimiser};
use cladtorch::model::Model;
use cladtorch::train::{Options, Trainer};
use support::data::{circle, spec};
use support::events::Events;
use support::say::not_tested;

const LIMIT: Duration = Duration::from_secs(300);

/// A miss costs three times as much as a false alarm.
const ASYMMETRIC: &str = "
double softplus(double z) { return z > 0 ? z + log1p(exp(-z)) : log1p(exp(z)); }
double loss(double output, double label) { return 3 * label * softplus(-output) + (1 - label) * softplus(output); }";

const SOFTMAX: &str = "
double loss(const double *outputs, double label)
{
   double sum = 0;
   for (int c = 0; c < 3; ++c)
      sum += std::exp(outputs[c]);
   return std::log(sum) - outputs[static_cast<int>(label)];
}";

fn compile(source: &str, columns: usize) -> Result<RowLoss, String> {
    RowLoss::compile(source, columns, LIMIT).map_err(|error| error.to_string())
}

/// `None`, and a message, if there is no Clad.
fn compiled(what: &str, source: &str, columns: usize) -> Option<RowLoss> {
    match compile(source, columns) {
        Err(error) if error.contains("no clang++") => not_tested(&format!("{what}: {error}")),
        made => return Some(made.unwrap_or_else(|error| panic!("{what}: {error}"))),
    }
    None
}

fn settings(loss: Loss) -> Settings {
    Settings { loss, optimiser: Optimiser::SGD, batch_size: 300, ..Settings::default() }
}

fn engine(graph: &Graph, parameters: &[f64], loss: Loss, own: Option<RowLoss>) -> AotEngine<f64> {
    let engine = AotEngine::new(graph.clone(), parameters, settings(loss), 2).unwrap();
    match own {
        Some(own) => engine.with_custom_loss(own),
        None => engine,
    }
}

fn parameters(graph: &Graph) -> Vec<f64> {
    (0..graph.parameters()).map(|i| (i as f64 * 1.37).cos() * 0.7).collect()
}

/// More than one tile and one block.
const ROWS: usize = 300;

#[test]
fn the_gradient_is_that_of_central_differences() {
    let Some(loss) = compiled("a loss of one output", ASYMMETRIC, 1) else { return };
    let graph = Graph::mlp(&[5, 7, 1], Activation::Tanh).unwrap();
    let (events, mut at) = (Events::new(ROWS, 5, 2), parameters(&graph));
    let (_, gradient) = engine(&graph, &at, Loss::MeanSquaredError, Some(loss))
        .loss_and_gradient(events.rows(), &events.order(), 0.5)
        .unwrap();
    let value = |parameters: &[f64]| {
        let loss = compile(ASYMMETRIC, 1).unwrap();
        engine(&graph, parameters, Loss::MeanSquaredError, Some(loss))
            .loss_and_gradient(events.rows(), &events.order(), 0.5)
            .unwrap()
            .0
            * 0.5
    };
    for index in (0..at.len()).step_by(5) {
        let (middle, step) = (at[index], 1e-5);
        at[index] = middle + step;
        let above = value(&at);
        at[index] = middle - step;
        let quotient = (above - value(&at)) / (2.0 * step);
        at[index] = middle;
        assert!(
            (gradient[index] - quotient).abs() < 1e-6 * (1.0 + quotient.abs()),
            "{index}: {} {quotient}",
            gradient[index]
        );
    }
}

#[test]
fn losses_that_are_built_in_come_out_the_same() {
    let squared = "double loss(double output, double label) { return (output - label) * (output - label); }";
    for (source, built_in, outputs) in [(squared, Loss::MeanSquaredError, 1), (SOFTMAX, Loss::SoftmaxCrossEntropy, 3)] {
        let Some(loss) = compiled(built_in.name(), source, outputs) else { return };
        let graph = Graph::mlp(&[5, 7, outputs], Activation::ReLU).unwrap();
        let (events, at) = (Events::new(ROWS, 5, outputs.max(2)), parameters(&graph));
        let (value, got) =
            engine(&graph, &at, built_in, Some(loss)).loss_and_gradient(events.rows(), &events.order(), 1.0).unwrap();
        let (expected, want) =
            engine(&graph, &at, built_in, None).loss_and_gradient(events.rows(), &events.order(), 1.0).unwrap();
        assert!((value - expected).abs() < 1e-9 * expected, "{}: {value} {expected}", built_in.name());
        for (got, want) in got.iter().zip(&want) {
            assert!((got - want).abs() < 1e-9 * (1.0 + want.abs()), "{}: {got} {want}", built_in.name());
        }
    }
}

#[test]
fn a_fit_makes_it_small() {
    if compiled("a fit", ASYMMETRIC, 1).is_none() {
        return;
    }
    let data = circle(2000, 1);
    let options = Options { loss_function: ASYMMETRIC.to_owned(), ..spec() };
    let mut model = Model::new(&[2, 16, 1], Activation::ReLU, Init::Kaiming, 1).unwrap();
    let mut trainer = Trainer::new(&model, &data, &options).unwrap();
    assert!(trainer.describe().contains("of the user's own"), "{}", trainer.describe());
    let losses: Vec<f64> = (0..15).map(|_| trainer.epoch(&data).unwrap().validation_loss).collect();
    assert!(losses[14] < 0.6 * losses[0], "{losses:?}");
    trainer.finish(&mut model).unwrap();
    // Misses cost more, so the output is high for more events than are signal.
    let mut outputs = vec![0.0; data.rows()];
    model.predict(&data, false, 1, &mut outputs).unwrap();
    let high = outputs.iter().filter(|&&output| output > 0.0).count();
    let signal = data.labels().unwrap().iter().filter(|&&label| label > 0.5).count();
    assert!(high > signal, "{high} {signal}");
    // The file names the loss, and the outputs stay values.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    model.save(&path).unwrap();
    let loaded = Model::load(&path, None).unwrap();
    let description = loaded.describe();
    let (_, own) = description.split_once("fLossFunction = ").expect(&description);
    assert!(own.contains("double loss(") && !description.contains("fLoss ="), "{description}");
    let bytes = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
    assert!(!bytes.contains("mean_squared_error"), "no loss of ours was made small");
    let mut again = vec![0.0; data.rows()];
    loaded.predict(&data, false, 1, &mut again).unwrap();
    assert_eq!(again, outputs);
}

#[test]
fn what_cannot_be_used_is_refused() {
    let refused = |source: &str, columns: usize, said: &str| {
        let error = compile(source, columns).err().unwrap_or_else(|| panic!("{source} was taken"));
        assert!(error.contains(said), "{source}: {error}");
    };
    refused("double lost(double z, double y) { return z - y; }", 1, "does not define");
    refused("double loss(double z, double y) { return z - y; }", 2, "the model has 2 outputs");
    if compiled("losses that are refused", ASYMMETRIC, 1).is_none() {
        return;
    }
    refused("double loss(double z, double y) { return z - w; }", 1, "undeclared identifier 'w'");
    refused("double loss(double z, float y) { return z - y; }", 1, "loss takes something else");
    // The textbook's stable cross-entropy: automatic differentiation gives it a wrong slope at 0.
    let unstable =
        "double loss(double z, double y) { return (z > 0 ? z : 0) - z * y + std::log1p(std::exp(-std::abs(z))); }";
    refused(unstable, 1, "difference quotient");
    let data = circle(100, 1);
    let model = Model::new(&[2, 1], Activation::ReLU, Init::Kaiming, 1).unwrap();
    for options in
        [Options { gradient: Gradient::Autograd, ..spec() }, Options { loss: Some(Loss::MeanSquaredError), ..spec() }]
    {
        let options = Options { loss_function: ASYMMETRIC.to_owned(), ..options };
        let error = Trainer::new(&model, &data, &options).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("fLossFunction beside"), "{error}");
    }
}

/// Rust cannot let a C++ exception pass: it must end as an error, also in the threads of a step.
#[test]
fn what_a_loss_throws_is_an_error() {
    let throwing = "
#include <stdexcept>
double checked(double z) { if (z > 3.5) throw std::runtime_error(\"far away\"); return z; }
double loss(double z, double y) { return (checked(z) - y) * (z - y); }";
    if compiled("a loss that throws", throwing, 1).is_none() {
        return;
    }
    let data = circle(2000, 1);
    let options =
        Options { loss_function: throwing.to_owned(), threads: 2, learning_rate: 100.0, batch_size: 500, ..spec() };
    let model = Model::new(&[2, 16, 1], Activation::ReLU, Init::Kaiming, 1).unwrap();
    let mut trainer = Trainer::new(&model, &data, &options).unwrap();
    let mut epoch = || guard(|| trainer.epoch(&data)).err().map(|error| error.to_string());
    let said = (0..20).find_map(|_| epoch()).unwrap_or_default();
    assert!(said.contains("fLossFunction: it threw \"far away\""), "{said:?}");
}
