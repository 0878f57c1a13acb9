//! Models of every kind: perceptrons with each activation, normalisation and dropout, and the networks of
//! `graph::modules` and `graph::single_operators`; untrained, with scalers if a name says so.

use cladtorch::columns::Column;
use cladtorch::dataset::Scaler;
use cladtorch::graph::{
    Activation, Captured, CustomActivation, Gives, Init, Loss, Module, Normalisation, Op, ScalarFunction,
};
use cladtorch::model::{FlatOffset, Hidden, Model, Names, Training};
use cladtorch::train::Options;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tch::Kind;

use crate::graph::modules::{self, CASES};
use crate::graph::single_operators::OPERATORS;

/// A model whose tensors have names.
fn model_of(module: Module, parameters: &[f64], state: &[f64]) -> Model {
    let place = |(index, captured): (usize, &Captured)| match captured {
        Captured::Parameter(range) => Some((FlatOffset::Parameter(range.start), format!("part.{index}.weight"))),
        Captured::State(range) => Some((FlatOffset::State(range.start), format!("part.{index}.running_mean"))),
        Captured::Fixed(_) => None,
    };
    let names = Names::new("", module.captured().iter().enumerate().filter_map(place).collect());
    let [parameters, state] = [parameters, state].map(|values| values.iter().map(|&value| value as f32).collect());
    let [parameters, state]: [Vec<f32>; 2] = [parameters, state];
    Model::of_operators(module, names, &parameters, &state).unwrap()
}

fn scaler(width: usize, first: f64) -> Scaler {
    let mean: Vec<f64> = (0..width).map(|at| first + 0.37 * at as f64).collect();
    let deviation: Vec<f64> = (0..width).map(|at| 0.5 + 0.1 * at as f64).collect();
    Scaler::new(&mean, &deviation).unwrap()
}

/// With scaler and columns, as after a fit with that loss.
fn fitted(mut model: Model, loss: Loss) -> Model {
    let (inputs, outputs) = (model.inputs(), model.outputs());
    let labels = (loss.gives() != Gives::Probabilities).then(|| scaler(loss.targets(outputs), -40.0));
    let training = Training {
        scaler: Some(scaler(inputs, 0.2)),
        columns: (0..inputs).map(|at| Column::new(&format!("column_{at}"), 1)).collect(),
        options: Some(Options { loss: Some(loss), ..Options::default() }),
        ..Training::default()
    };
    let training = training.with_label_scaler(labels);
    model.set_training(training).unwrap();
    model
}

/// All of them, by name.
pub fn models() -> Vec<(String, Model)> {
    let mut models = Vec::new();
    for (seed, &activation) in Activation::ALL.iter().enumerate() {
        let model = || Model::new(&[5, 33, 8, 1], activation, Init::Xavier, seed as u64).unwrap();
        models.push((format!("{} logit", activation.name()), model()));
        models.push((format!("{} classifier", activation.name()), fitted(model(), Loss::BinaryCrossEntropy)));
        models.push((format!("{} regression", activation.name()), fitted(model(), Loss::MeanSquaredError)));
    }
    let classes = Model::new(&[4, 20, 3], Activation::Tanh, Init::Kaiming, 5).unwrap();
    models.push(("classes".into(), fitted(classes, Loss::SoftmaxCrossEntropy)));
    let gaussians = Model::new(&[4, 20, 6], Activation::SiLU, Init::Kaiming, 5).unwrap();
    models.push(("gaussians".into(), fitted(gaussians, Loss::Gaussian)));
    models.push(("one layer".into(), Model::new(&[2, 2], Activation::ReLU, Init::Kaiming, 5).unwrap()));
    for normalisation in [Normalisation::BatchNorm, Normalisation::LayerNorm] {
        let hidden = Hidden { activation: Activation::SiLU, normalisation, dropout: 0.2 };
        let mut model = Model::regularised(&[6, 16, 16, 2], &hidden, Init::Kaiming, 3).unwrap();
        let statistics: Vec<f32> = (0..model.state().len()).map(|at| 0.3 + 0.05 * at as f32).collect();
        model.set_state(&statistics).unwrap();
        models.push((normalisation.name().into(), fitted(model, Loss::SoftmaxCrossEntropy)));
    }
    let of_case =
        |case: &modules::Case| (case.name.to_owned(), model_of(case.module(Kind::Float), &case.start(), &case.state()));
    models.extend(CASES.iter().chain(OPERATORS).map(of_case));
    models
}

/// Seeded features [rows, inputs] for a model, from -3 to 3.
pub fn features(model: &Model, rows: usize) -> Vec<f32> {
    let mut generator = ChaCha8Rng::seed_from_u64(11);
    (0..rows * model.inputs()).map(|_| generator.random::<f32>() * 6.0 - 3.0).collect()
}

/// The largest difference of another program's results from the predictions for `rows` of those, in units of the
/// largest one (1 at least): sums in another order differ by the last digits of their terms.
pub fn difference(model: &Model, rows: usize, found: &[f32]) -> f32 {
    let expected = predictions(model, rows);
    assert_eq!(found.len(), expected.len());
    let scale = expected.iter().fold(1.0f32, |largest, value| largest.max(value.abs()));
    let differences = expected.iter().zip(found).map(|(a, b)| (a - b).abs() / scale);
    // A NaN is a difference.
    differences.fold(0.0, |worst, each| if each <= worst { worst } else { each })
}

/// Predictions [rows, outputs] of those.
pub fn predictions(model: &Model, rows: usize) -> Vec<f32> {
    let mut predictions = vec![0.0; rows * model.outputs()];
    model.predict_rows(&features(model, rows), false, 2, &mut predictions).unwrap();
    predictions
}

struct Cube;

impl ScalarFunction for Cube {
    fn text(&self) -> &str {
        "double activation(double x) { return x * x * x; }"
    }
    fn derivatives(&self) -> &str {
        "double activation_darg0(double x) { return 3 * x * x; }"
    }
    fn values(&self, x: &[f64], values: &mut [f64]) {
        values.iter_mut().zip(x).for_each(|(value, x)| *value = x * x * x);
    }
    fn slopes(&self, x: &[f64], slopes: &mut [f64]) {
        slopes.iter_mut().zip(x).for_each(|(slope, x)| *slope = 3.0 * x * x);
    }
}

/// An activation of the user's own.
pub fn cube() -> Op {
    Op::Custom(CustomActivation::new(Cube))
}
