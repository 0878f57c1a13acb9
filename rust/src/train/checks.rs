//! What a user's fit options may be.

use super::Options;
use crate::dataset::{Dataset, Targets};
use crate::error::{Error, Result};
use crate::gradient::Settings;
use crate::graph::{Gradient, Loss};
use crate::model::Model;
use crate::text;

/// More rows a step than this are a mistake.
const BATCH_LIMIT: i64 = 1 << 24;
const THREAD_LIMIT: i64 = 1024;

/// Checks every option; returns what an engine needs of them.
pub(super) fn checked(options: &Options, model: &Model, data: &Dataset) -> Result<Settings> {
    model.check_columns(data.columns(), data.width())?;
    if data.rows() == 0 {
        return Err(Error::invalid("the dataset has no events", "add a source with Dataset::Add"));
    }
    check_values(options)?;
    let loss = loss(options, model, data.targets())?;
    check_labels(loss, model.outputs(), data.labels()?)?;
    Ok(Settings {
        loss,
        optimiser: options.optimiser,
        weight_decay: options.weight_decay,
        momentum: options.momentum,
        batch_size: options.batch_size,
    })
}

/// Checks every number on its own.
fn check_values(options: &Options) -> Result<()> {
    check_count("fEpochs", i64::from(options.epochs))?;
    check(
        "fLearningRate",
        options.learning_rate,
        options.learning_rate.is_finite() && options.learning_rate > 0.0,
        "> 0",
    )?;
    check(
        "fWeightDecay",
        options.weight_decay,
        options.weight_decay.is_finite() && options.weight_decay >= 0.0,
        ">= 0",
    )?;
    check("fMomentum", options.momentum, (0.0..1.0).contains(&options.momentum), "in [0, 1)")?;
    check_batches(options)?;
    check_count("fThreads", i64::try_from(options.threads).unwrap_or(i64::MAX))
}

/// The options as a fit of `model` would follow them, with the loss decided, for its record.
pub fn decided_options(options: &Options, model: &Model) -> Result<Options> {
    check_values(options)?;
    Ok(decided(options, chosen_loss(options, model, model.targets())?))
}

/// `spec` with the loss that it comes to, and without what belongs to the machine.
pub(super) fn decided(options: &Options, loss: Loss) -> Options {
    let loss = options.loss_function.is_empty().then_some(loss);
    Options { loss, threads: 0, ..options.clone() }
}

/// Checks what decides on the events of a batch.
pub(super) fn check_batches(options: &Options) -> Result<()> {
    check("fValidation", options.validation, (0.0..1.0).contains(&options.validation), "in [0, 1)")?;
    check_count("fBatchSize", i64::try_from(options.batch_size).unwrap_or(i64::MAX))
}

/// Checks the option `name` that counts something; signed, as users set it.
pub fn check_count(name: &str, value: i64) -> Result<()> {
    let (allowed, expected) = match name {
        "fEpochs" => (1..=1_000_000_000, "from 1 to 1000000000".to_owned()),
        "fBatchSize" => (1..=BATCH_LIMIT, format!("from 1 to {BATCH_LIMIT}")),
        _ => (0..=THREAD_LIMIT, format!("from 1 to {THREAD_LIMIT}, or 0 for all cores")),
    };
    match allowed.contains(&value) {
        true => Ok(()),
        false => Err(must_be(name, value, &expected)),
    }
}

/// The loss of a fit to events with these targets.
fn loss(options: &Options, model: &Model, targets: &Targets) -> Result<Loss> {
    check_targets(model, targets)?;
    let loss = chosen_loss(options, model, targets)?;
    if !options.loss_function.is_empty() {
        targets.check_single("fLossFunction")?;
    } else if !loss.is_regression() {
        targets.check_single(&format!("fLoss = {}", loss.enumerator()))?;
    } else if targets.count() != model.outputs() {
        return Err(Error::invalid(
            format!("the model has {} output(s), the events have {targets}", model.outputs()),
            format!("{} needs one output for each: give the model {} output(s)", loss.enumerator(), targets.count()),
        ));
    }
    Ok(loss)
}

/// The loss that the options name, or kAuto stands for.
fn chosen_loss(options: &Options, model: &Model, targets: &Targets) -> Result<Loss> {
    let outputs = model.outputs();
    if !options.loss_function.is_empty() {
        return own_loss(options);
    }
    let loss = match (options.loss, outputs, targets.count()) {
        (None, _, 2..) => Loss::MeanSquaredError,
        (None, 1, _) => Loss::BinaryCrossEntropy,
        (None, _, _) => Loss::SoftmaxCrossEntropy,
        (Some(loss), _, _) => loss,
    };
    match loss {
        Loss::BinaryCrossEntropy if outputs > 1 => Err(does_not_fit(loss, model)),
        Loss::SoftmaxCrossEntropy if outputs == 1 => Err(does_not_fit(loss, model)),
        _ => Ok(loss),
    }
}

fn does_not_fit(loss: Loss, model: &Model) -> Error {
    Error::invalid(
        format!("fLoss = {} does not fit a model with {} output(s)", loss.enumerator(), model.outputs()),
        "kSoftmaxCrossEntropy takes an output for each class, kBinaryCrossEntropy one output, kMeanSquaredError and kHuber \
         one output for each target",
    )
}

/// A model that was trained on several targets takes no others.
fn check_targets(model: &Model, targets: &Targets) -> Result<()> {
    let trained = model.targets();
    if trained.count() == 1 || trained == targets {
        return Ok(());
    }
    Err(Error::invalid(
        format!("the dataset has {targets}, the model was trained on {trained}"),
        "name the targets in the order in which the model was trained",
    ))
}

/// With a loss of the user's own the network's outputs are numbers, as in a regression.
fn own_loss(options: &Options) -> Result<Loss> {
    if options.loss.is_some() || options.gradient != Gradient::Clad || options.device != "cpu" {
        return Err(Error::invalid(
            "fLossFunction beside fLoss, fGradient = kAutograd or another device than the CPU",
            "leave those as they are: Clad differentiates the function, for the CPU",
        ));
    }
    Ok(Loss::MeanSquaredError)
}

pub(super) fn check_labels(loss: Loss, outputs: usize, labels: &[f32]) -> Result<()> {
    let (fits, expected): (Box<dyn Fn(f32) -> bool>, String) = match loss {
        Loss::BinaryCrossEntropy => (Box::new(|y| (0.0..=1.0).contains(&y)), "labels from 0 to 1".into()),
        Loss::SoftmaxCrossEntropy => {
            let classes = outputs as f32;
            let is_class = move |y: f32| y >= 0.0 && y < classes && y.fract() == 0.0;
            (Box::new(is_class), format!("class numbers from 0 to {}", outputs - 1))
        }
        Loss::MeanSquaredError | Loss::Huber => return Ok(()),
    };
    match labels.iter().position(|&label| !fits(label)) {
        None => Ok(()),
        Some(row) => Err(Error::invalid(
            format!("event {row} has label {}, {} takes {expected}", labels[row], loss.enumerator()),
            "mend the labels, or choose fLoss = kMeanSquaredError or kHuber for a regression",
        )),
    }
}

fn check(name: &str, value: f64, fits: bool, expected: &str) -> Result<()> {
    match fits {
        true => Ok(()),
        false => Err(must_be(name, text::number(value), expected)),
    }
}

fn must_be(name: &str, value: impl std::fmt::Display, expected: &str) -> Error {
    Error::invalid(format!("{name} = {value}"), format!("it must be {expected}"))
}
