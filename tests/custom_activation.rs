//! Activations that a user wrote in C++, differentiated by Clad. Without a clang with Clad, each test says so.

use std::fs;
use std::time::Duration;

use cladtorch::gradient::aot::AotEngine;
use cladtorch::gradient::{Settings, compile_activation};
use cladtorch::graph::{Activation, CustomActivation, Gradient, Graph, Init, Loss, Op, Optimiser};
use cladtorch::kernels::Scalar;
use cladtorch::model::Model;
use cladtorch::train::Trainer;
use support::data::{circle, spec};
use support::events::Events;
use support::numeric::{central_difference, compare};
use support::say::not_tested;

const SOFTSIGN: &str = "double activation(double x) { return x > 0 ? x / (1 + x) : x / (1 - x); }";
const TANH: &str = "
double twice(double x) { return 2 * x; }
double activation(double x) { return 1 - 2 / (1 + std::exp(twice(x))); }";

fn compile(source: &str) -> Result<CustomActivation, String> {
    compile_activation(source, Duration::from_secs(300)).map_err(|error| error.to_string())
}

/// `None`, and a message, if there is no Clad.
fn compiled(what: &str, source: &str) -> Option<CustomActivation> {
    match compile(source) {
        Err(error) if error.contains("no clang++") => not_tested(&format!("{what}: {error}")),
        made => return Some(made.unwrap_or_else(|error| panic!("{what}: {error}"))),
    }
    None
}

/// Loss and gradient of a network of two hidden layers at `parameters`, over more rows than a tile has.
fn gradient<T: Scalar + cladtorch::device::Element>(activation: impl Into<Op>, parameters: &[f64]) -> (f64, Vec<f64>) {
    let (graph, events) = (Graph::mlp(&[5, 7, 6, 1], activation).unwrap(), Events::new(300, 5, 2));
    let settings =
        Settings { loss: Loss::BinaryCrossEntropy, optimiser: Optimiser::SGD, batch_size: 300, ..Settings::default() };
    let parameters: Vec<T> = parameters.iter().map(|&p| T::from_f64(p)).collect();
    let mut engine = AotEngine::new(graph, &parameters, settings, 2).unwrap();
    let (loss, gradient) = engine.loss_and_gradient(events.rows(), &events.order(), 1.0 / 300.0).unwrap();
    (loss / 300.0, gradient.iter().map(|g| g.to_f64()).collect())
}

fn parameters() -> Vec<f64> {
    (0..5 * 7 + 7 + 7 * 6 + 6 + 6 + 1).map(|i| (f64::from(i) * 1.37).cos() * 0.7).collect()
}

#[test]
fn the_gradient_is_that_of_central_differences() {
    let Some(own) = compiled("an activation", SOFTSIGN) else { return };
    let at = parameters();
    let (_, got) = gradient::<f64>(Op::Custom(own.clone()), &at);
    let want = central_difference(|at| gradient::<f64>(Op::Custom(own.clone()), at).0, &at);
    compare(&got, &want, 1e-6, 1e-8).unwrap();
    let (_, single) = gradient::<f32>(Op::Custom(own), &at);
    compare(&single, &want, 1e-4, 1e-6).unwrap();
    // The test can fail.
    let mut planted = got;
    planted[3] *= 1.001;
    assert!(compare(&planted, &want, 1e-6, 1e-8).is_err());
}

#[test]
fn one_that_is_built_in_comes_out_the_same() {
    let Some(own) = compiled("tanh", TANH) else { return };
    let (value, got) = gradient::<f64>(Op::Custom(own), &parameters());
    let (expected, want) = gradient::<f64>(Activation::Tanh, &parameters());
    assert!((value - expected).abs() < 1e-12 * expected, "{value} {expected}");
    compare(&got, &want, 1e-10, 1e-12).unwrap();
}

#[test]
fn a_fit_learns_and_the_file_needs_the_text() {
    let Some(own) = compiled("a fit", SOFTSIGN) else { return };
    let data = circle(2000, 1);
    let mut model = Model::new(&[2, 16, 1], Op::Custom(own.clone()), Init::Xavier, 1).unwrap();
    let mut trainer = Trainer::new(&model, &data, &spec()).unwrap();
    let losses: Vec<f64> = (0..30).map(|_| trainer.epoch(&data).unwrap().validation_loss).collect();
    assert!(losses[29] < 0.6 * losses[0], "{losses:?}");
    trainer.finish(&mut model).unwrap();
    let predict = |model: &Model| {
        let mut scores = vec![0.0; data.rows()];
        model.predict(&data, false, 1, &mut scores).unwrap();
        let mut first = [0.0];
        model.score(&data.features()[..2], false, &mut first).unwrap();
        assert_eq!(first[0], scores[0]);
        scores
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    model.save(&path).unwrap();
    assert_eq!(predict(&Model::load(&path, Some(own.clone())).unwrap()), predict(&model));
    assert_eq!(predict(&model.copy().unwrap()), predict(&model));
    let refused =
        |own: Option<CustomActivation>| Model::load(&path, own).err().expect("it lacks its activation").to_string();
    let other = compile(TANH).unwrap();
    for (error, said) in [(refused(None), "is the user's own"), (refused(Some(other)), "another activation")] {
        assert!(error.contains(said) && error.contains(SOFTSIGN) && error.contains("model.ct"), "{error}");
    }
    Model::new(&[2, 1], Activation::ReLU, Init::Kaiming, 1).unwrap().save(&path).unwrap();
    assert!(refused(Some(own.clone())).contains("relu, not a text"));
    assert!(fs::metadata(&path).unwrap().len() > 0);

    let model = Model::new(&[2, 4, 1], Op::Custom(own), Init::Xavier, 1).unwrap();
    let options = cladtorch::train::Options { gradient: Gradient::Autograd, ..spec() };
    let error = Trainer::new(&model, &data, &options).and_then(|mut trainer| trainer.epoch(&data)).err();
    let error = error.map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("activation of the user's own"), "{error}");
}

#[test]
fn what_cannot_be_used_is_refused() {
    let refused = |source: &str, said: &str| {
        let error = compile(source).err().unwrap_or_else(|| panic!("{source} was taken"));
        assert!(error.contains(said), "{source}: {error}");
    };
    refused("double activate(double x) { return x; }", "does not define");
    if compiled("activations that are refused", SOFTSIGN).is_none() {
        return;
    }
    refused("double activation(double x) { return x * nothing; }", "'nothing'");
    refused("double activation(double x, double y) { return x * y; }", "takes something else");
    refused("double activation(double x) { return std::log(x); }", "at 0 it is -inf");
    // Clad takes the derivative of `square` for 0.
    refused(
        "double activation(double x) { const double twice = 2 * x, square = twice * twice; return square; }",
        "a statement of its own",
    );
    // The textbook's stable softplus: automatic differentiation gives it a wrong slope at 0.
    refused(
        "double activation(double x) { return (x > 0 ? x : 0) + std::log1p(std::exp(-std::abs(x))); }",
        "difference quotient",
    );
}
