//! Checks of a user's fit options.

use std::sync::Arc;

use super::{OBSERVED, Options};
use crate::dataset::{Dataset, Targets};
use crate::error::{Error, Result};
use crate::gradient::{ObservedLoss, Settings};
use crate::graph::{Gradient, Loss, Schedule};
use crate::model::Model;
use crate::optimiser::Clip;
use crate::options::{Parallel, record};
use crate::ranks;
use crate::text;

/// More rows a step than this are a mistake.
const BATCH_LIMIT: i64 = 1 << 24;
const THREAD_LIMIT: i64 = 1024;
/// A loss that is an argument of Fit, in messages.
const OBSERVED_NAME: &str = "a loss of LibTorch's operators";

/// Checks every option; returns what an engine needs of them.
pub(super) fn checked(options: &Options, model: &Model, data: &Dataset) -> Result<Settings> {
    model.check_columns(data.columns(), data.width())?;
    check_values(options)?;
    let loss = loss(options, model, data.targets())?;
    check_labels(options, loss, model.outputs(), data.labels()?, &|row| data.describe_row(row))?;
    check_terms(options, loss, model.outputs())?;
    check_classes(options, data.labels()?, &|row| data.describe_row(row))?;
    Ok(Settings {
        loss,
        loss_parameter: options.loss_parameter(loss),
        optimiser: options.optimiser,
        weight_decay: options.weight_decay,
        momentum: options.momentum,
        l1: options.l1,
        clip: clip(options),
        batch_size: options.batch_size,
        precision: options.precision,
    })
}

fn clip(options: &Options) -> Option<Clip> {
    match (options.clip_norm, options.clip_value) {
        (norm, _) if norm > 0.0 => Some(Clip::Norm(norm)),
        (_, value) if value > 0.0 => Some(Clip::Value(value)),
        _ => None,
    }
}

/// Options that say that the loss is `own`, if there is one, which takes as many labels as the events have.
pub(super) fn with_custom_loss(
    options: &Options,
    own: Option<&Arc<ObservedLoss>>,
    model: &Model,
    data: &Dataset,
) -> Result<Options> {
    let Some(own) = own else { return Ok(options.clone()) };
    if !options.loss_function.is_empty() {
        return Err(Error::invalid("a loss of LibTorch's operators beside fLossFunction", "give one of them"));
    }
    if !options.checkpoint.is_empty() {
        return Err(Error::invalid(
            format!("fCheckpoint of a fit with {OBSERVED_NAME}"),
            "leave it empty: a checkpoint cannot hold such a loss",
        ));
    }
    let (labels, outputs) = (data.label_width(), model.outputs());
    if labels != 1 && labels != outputs {
        return Err(Error::invalid(
            format!("a loss of {outputs} output(s) and {labels} targets"),
            "it takes one label of an event, or one for each output",
        ));
    }
    if [own.outputs(), own.labels()] != [outputs, labels] {
        return Err(Error::Internal(format!("a loss of {} labels for events with {labels}", own.labels())));
    }
    Ok(Options { loss_function: OBSERVED.to_owned(), ..options.clone() })
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
    for (name, value) in [
        ("fWarmUp", options.warm_up),
        ("fL1", options.l1),
        ("fClipNorm", options.clip_norm),
        ("fClipValue", options.clip_value),
        ("fFocus", options.focus),
        ("fMinImprovement", options.min_improvement),
        ("fCheckpointMinutes", options.checkpoint_minutes),
    ] {
        check(name, value, value.is_finite() && value >= 0.0, ">= 0")?;
    }
    check("fDecay", options.decay, options.decay > 0.0 && options.decay <= 1.0, "in (0, 1]")?;
    check("fQuantile", options.quantile, options.quantile > 0.0 && options.quantile < 1.0, "in (0, 1)")?;
    let smoothing = options.label_smoothing;
    check("fLabelSmoothing", smoothing, (0.0..1.0).contains(&smoothing), "in [0, 1)")?;
    check_count("fDecayEpochs", i64::from(options.decay_epochs))?;
    check_count("fCheckpointEpochs", i64::from(options.checkpoint_epochs))?;
    check_count("fPatience", i64::from(options.patience))?;
    check_pairs(options)?;
    check_batches(options)?;
    check_count("fThreads", i64::try_from(options.threads).unwrap_or(i64::MAX))
}

/// Refuses options that contradict each other.
fn check_pairs(options: &Options) -> Result<()> {
    let contradiction = |what: &str, remedy: &str| Err(Error::invalid(what.to_owned(), remedy.to_owned()));
    if options.clip_norm > 0.0 && options.clip_value > 0.0 {
        return contradiction("fClipNorm beside fClipValue", "choose one of them");
    }
    if options.warm_up > 0.0 && options.schedule == Schedule::OneCycle {
        return contradiction(
            "fWarmUp beside fSchedule = kOneCycle",
            "leave fWarmUp at 0: one cycle begins with a rise",
        );
    }
    let metrics = &options.metrics;
    if let Some((_, name)) = metrics.iter().enumerate().find(|(at, name)| metrics[..*at].contains(name)) {
        return contradiction(&format!("fMetrics has {name} twice"), "give each metric a name of its own");
    }
    if options.warm_up > f64::from(options.epochs) {
        let [warm_up, epochs] = [options.warm_up, f64::from(options.epochs)].map(text::number);
        return contradiction(
            &format!("fWarmUp = {warm_up} of fEpochs = {epochs}: the learning rate would still rise at the end"),
            "give fewer epochs of warm-up, or more epochs",
        );
    }
    if !options.checkpoint.is_empty() && !options.loss_function.is_empty() {
        return contradiction(
            "fCheckpoint beside fLossFunction",
            "fit without one of them: a checkpoint runs no code, and so cannot bring a loss along",
        );
    }
    if options.logits && options.loss_function.is_empty() {
        return contradiction("fLogits without a loss of your own", "leave it out: fLoss says what the outputs are");
    }
    if options.min_improvement > 0.0 && options.patience == 0 {
        return contradiction(
            "fMinImprovement without fPatience",
            "set fPatience to the epochs to wait for an improvement",
        );
    }
    Ok(())
}

/// Refuses options `given` to a resumed fit that differ from those it began with.
pub(super) fn check_resumed(given: &Options, begun: &Options) -> Result<()> {
    match record::conflict(&given.of_fit(), &begun.of_fit()) {
        None => Ok(()),
        Some((name, [given, begun])) => Err(Error::invalid(
            format!("{name} = {given}, but the checkpoint's fit has {begun}"),
            "leave it out: only fThreads, fVerbose, fLive, fCallback and functions of fMetrics may differ",
        )),
    }
}

/// Refuses what the processes of an MPI job do not share.
pub(super) fn check_alone(options: &Options, what: &str) -> Result<()> {
    if options.parallel == Parallel::OneProcess || ranks::place()?[1] == 1 {
        return Ok(());
    }
    Err(Error::invalid(
        format!("{what} with fParallel = kMpi"),
        "fit one model to a Dataset, or leave fParallel out and let each process work for itself",
    ))
}

/// Refuses options that need validation events if there are none; `has_own`: there is a dataset of them.
pub(super) fn check_monitored(options: &Options, has_own: bool) -> Result<()> {
    if options.validation > 0.0 || has_own {
        return Ok(());
    }
    let needs = match options {
        Options { patience: 1.., .. } => "fPatience",
        Options { keep_best: true, .. } => "fKeepBest",
        Options { schedule: Schedule::Plateau, .. } => "fSchedule = kPlateau",
        options if !options.metrics.is_empty() => "fMetrics",
        _ => return Ok(()),
    };
    Err(Error::invalid(
        format!("{needs} without validation events"),
        "set fValidation to a share of the events, or give Fit a validation dataset",
    ))
}

/// Refuses parameters of losses and of classes beside a loss that has none.
fn check_terms(options: &Options, loss: Loss, outputs: usize) -> Result<()> {
    let name = match &*options.loss_function {
        "" => format!("fLoss = {}", loss.enumerator()),
        OBSERVED => OBSERVED_NAME.to_owned(),
        _ => "fLossFunction".to_owned(),
    };
    let is_classifier = !loss.is_regression();
    let smooths =
        options.loss_function.is_empty() && matches!(loss, Loss::BinaryCrossEntropy | Loss::SoftmaxCrossEntropy);
    if options.label_smoothing > 0.0 && !smooths {
        return Err(Error::invalid(format!("fLabelSmoothing beside {name}"), "only the cross-entropies smooth labels"));
    }
    let (given, classes) = (options.class_weights.len(), outputs.max(2));
    if given > 0 && !is_classifier {
        return Err(Error::invalid(format!("fClassWeights beside {name}"), "only classifiers have classes"));
    }
    if given > 0 && given != classes {
        return Err(Error::invalid(
            format!("fClassWeights has {given} numbers for {classes} classes"),
            "give one for each class, that of label 0 first",
        ));
    }
    match options.class_weights.iter().find(|weight| !(weight.is_finite() && **weight > 0.0)) {
        None => Ok(()),
        Some(weight) => Err(must_be("fClassWeights", text::number(*weight), "numbers > 0")),
    }
}

/// Refuses labels between classes where classes have weights; `place` says where an event is from.
pub(super) fn check_classes(options: &Options, labels: &[f32], place: &dyn Fn(usize) -> String) -> Result<()> {
    let between = labels.iter().position(|label| label.fract() != 0.0);
    match between.filter(|_| !options.class_weights.is_empty()) {
        None => Ok(()),
        Some(row) => Err(Error::invalid(
            format!("{} has label {}, which is no class", place(row), labels[row]),
            "fClassWeights needs labels 0, 1, ...: put the factors into the event weights instead",
        )),
    }
}

/// The options as a fit of `model` would follow them, with the loss decided, for its record.
pub fn decided_options(options: &Options, model: &Model) -> Result<Options> {
    check_values(options)?;
    Ok(decided(options, chosen_loss(options, model, model.targets())?))
}

/// `spec` with the loss that it comes to, and without what belongs to the machine and its files.
pub(super) fn decided(options: &Options, loss: Loss) -> Options {
    let loss = options.loss_function.is_empty().then_some(loss);
    let usual = Options::default();
    Options {
        loss,
        threads: 0,
        checkpoint: String::new(),
        checkpoint_epochs: usual.checkpoint_epochs,
        checkpoint_minutes: usual.checkpoint_minutes,
        metrics: Vec::new(),
        verbose: usual.verbose,
        ..options.clone()
    }
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
        "fDecayEpochs" | "fCheckpointEpochs" => (1..=1_000_000_000, "from 1 to 1000000000".to_owned()),
        "fPatience" => (0..=1_000_000_000, "from 1 to 1000000000, or 0 to run all epochs".to_owned()),
        "fBatchSize" => (1..=BATCH_LIMIT, format!("from 1 to {BATCH_LIMIT}")),
        _ => (0..=THREAD_LIMIT, format!("from 1 to {THREAD_LIMIT}, or 0 for all cores")),
    };
    match allowed.contains(&value) {
        true => Ok(()),
        false => Err(must_be(name, value, &expected)),
    }
}

/// The loss of a fit to events with these targets.
pub(super) fn loss(options: &Options, model: &Model, targets: &Targets) -> Result<Loss> {
    check_targets(model, targets)?;
    let loss = chosen_loss(options, model, targets)?;
    if options.logits {
        targets.check_single("fLogits")?;
    }
    if options.loss_function == OBSERVED {
        return Ok(loss); // It takes labels of its own number.
    }
    if !options.loss_function.is_empty() {
        targets.check_single("fLossFunction")?;
    } else if !loss.is_regression() {
        targets.check_single(&format!("fLoss = {}", loss.enumerator()))?;
    } else if loss.gives().outputs(targets.count()) != model.outputs() {
        let each =
            if loss == Loss::Gaussian { "two outputs for each, a mean and a variance" } else { "one output for each" };
        return Err(Error::invalid(
            format!("the model has {} output(s), the events have {targets}", model.outputs()),
            format!(
                "{} needs {each}: give the model {} output(s)",
                loss.enumerator(),
                loss.gives().outputs(targets.count())
            ),
        ));
    }
    Ok(loss)
}

/// The loss that the options name, or kAuto stands for.
fn chosen_loss(options: &Options, model: &Model, targets: &Targets) -> Result<Loss> {
    let outputs = model.outputs();
    if !options.loss_function.is_empty() {
        return custom_loss(options, outputs);
    }
    let loss = match (options.loss, outputs, targets.count()) {
        (None, _, 2..) => Loss::MeanSquaredError,
        (None, 1, _) => Loss::BinaryCrossEntropy,
        (None, _, _) => Loss::SoftmaxCrossEntropy,
        (Some(loss), _, _) => loss,
    };
    match loss {
        Loss::BinaryCrossEntropy | Loss::Focal if outputs > 1 => Err(does_not_fit(loss, model)),
        Loss::SoftmaxCrossEntropy if outputs == 1 => Err(does_not_fit(loss, model)),
        Loss::Gaussian if !outputs.is_multiple_of(2) => Err(does_not_fit(loss, model)),
        _ => Ok(loss),
    }
}

fn does_not_fit(loss: Loss, model: &Model) -> Error {
    Error::invalid(
        format!("fLoss = {} does not fit a model with {} output(s)", loss.enumerator(), model.outputs()),
        "kSoftmaxCrossEntropy takes an output for each class, kBinaryCrossEntropy and kFocal one output, kMeanSquaredError, \
         kHuber and kQuantile one output for each target, kGaussian two",
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

/// The loss of `fLoss` whose outputs and labels mean what those of a loss of the user's own do.
fn custom_loss(options: &Options, outputs: usize) -> Result<Loss> {
    if options.loss.is_some() || options.gradient != Gradient::Clad {
        let own = if options.loss_function == OBSERVED { OBSERVED_NAME } else { "fLossFunction" };
        return Err(Error::invalid(
            format!("{own} beside fLoss or fGradient = kAutograd"),
            "leave those as they are: Clad differentiates the function",
        ));
    }
    Ok(match (options.logits, outputs) {
        (false, _) => Loss::MeanSquaredError,
        (true, 1) => Loss::BinaryCrossEntropy,
        (true, _) => Loss::SoftmaxCrossEntropy,
    })
}

/// Refuses labels that the loss does not take; `place` says where an event is from.
pub(super) fn check_labels(
    options: &Options,
    loss: Loss,
    outputs: usize,
    labels: &[f32],
    place: &dyn Fn(usize) -> String,
) -> Result<()> {
    let (fits, expected): (Box<dyn Fn(f32) -> bool>, String) = match loss {
        Loss::BinaryCrossEntropy | Loss::Focal => (Box::new(|y| (0.0..=1.0).contains(&y)), "labels from 0 to 1".into()),
        Loss::SoftmaxCrossEntropy => {
            let classes = outputs as f32;
            let is_class = move |y: f32| y >= 0.0 && y < classes && y.fract() == 0.0;
            (Box::new(is_class), format!("class numbers from 0 to {}", outputs - 1))
        }
        Loss::MeanSquaredError | Loss::Huber | Loss::Quantile | Loss::Gaussian => return Ok(()),
    };
    let (name, other) = match options.logits {
        true => ("fLogits", "leave it out where the outputs are values"),
        false if outputs == 1 => (
            loss.enumerator(),
            "give the model an output for each class, or choose fLoss = kMeanSquaredError or kHuber for a regression",
        ),
        false => (loss.enumerator(), "choose fLoss = kMeanSquaredError or kHuber for a regression"),
    };
    match labels.iter().position(|&label| !fits(label)) {
        None => Ok(()),
        Some(row) => Err(Error::invalid(
            format!("{} has label {}, {name} takes {expected}", place(row), labels[row]),
            format!("mend the labels, or {other}"),
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
