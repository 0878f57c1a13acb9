//! Fits of datasets, and their options.

mod options;

use std::path::Path;

pub use ffi::{EpochPart, EpochRecord, FitSpec, FitsSharing, Judged, Losses};

use super::loss::FitLoss;
use super::model::Gives;
use crate::dataset::{Dataset, Scaler};
use crate::error::{Error, Result, guard};
use crate::gradient::cuda::Sharing;
use crate::model::{Model, Training};
use crate::train::{self, Trainer, decided_options};

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    /// How several fits share the machine.
    struct FitsSharing {
        /// Equal parts of a GPU, one for each fit that runs.
        parts: usize,
        /// Fits that run at once.
        at_once: usize,
    }

    /// What `FitOptions` says, enumerations as their numbers.
    #[derive(Clone, Debug, Default, PartialEq)]
    struct FitSpec {
        /// Passes over the training part.
        epochs: u32,
        /// Rows a step.
        batch_size: usize,
        /// Step size of the first epoch.
        learning_rate: f64,
        /// Number in `Schedule::ALL`.
        schedule: u8,
        /// Factor of the step size where the schedule lowers it.
        decay: f64,
        /// Epochs between two of those, or without improvement before one.
        decay_epochs: u32,
        /// Epochs over which the step size rises from 0.
        warm_up: f64,
        /// Factor of the sum of the absolute parameters.
        l1: f64,
        /// Bound of the norm of the gradient; 0: none.
        clip_norm: f64,
        /// Bound of the components of the gradient; 0: none.
        clip_value: f64,
        /// Seed of the split; 0: `seed`.
        split_seed: u64,
        /// Part of the labels that is spread over all.
        label_smoothing: f64,
        /// Exponent of the focal loss.
        focus: f64,
        /// That the quantile loss estimates.
        quantile: f64,
        /// Factors of the weights of labels 0, 1, ...; may be empty.
        class_weights: Vec<f64>,
        /// Number in `NegativeWeights::ALL`.
        negative_weights: u8,
        /// Epochs to wait for an improvement; 0: all are run.
        patience: u32,
        /// How much smaller a loss must be for one.
        min_improvement: f64,
        /// The best epoch counts instead of the last.
        keep_best: bool,
        /// The file of checkpoints; may be empty.
        checkpoint: String,
        /// Epochs between two of them.
        checkpoint_epochs: u32,
        /// Minutes between two of them within an epoch; 0: none there.
        checkpoint_minutes: f64,
        /// See `UpdateSettings::weight_decay`.
        weight_decay: f64,
        /// Momentum of SGD.
        momentum: f64,
        /// Share of the events kept for validation, in [0, 1).
        validation: f64,
        /// Seed of split and shuffle.
        seed: u64,
        /// A new order of the training part each epoch.
        shuffle: bool,
        /// Features to mean 0 and standard deviation 1.
        standardise: bool,
        /// 0: as many as the machine has.
        threads: usize,
        /// Equal parts of a GPU, of which the fit has one.
        gpu_parts: usize,
        /// `cpu`, `cuda` or `cuda:N`.
        device: String,
        /// Number in `Optimiser::ALL`.
        optimiser: u8,
        /// 0: by the number of outputs; else 1 + number in `Loss::ALL`.
        loss: u8,
        /// C++ text of a loss instead of that; may be empty.
        loss_function: String,
        /// Its outputs are logits.
        logits: bool,
        /// Names of figures of the validation events.
        metrics: Vec<String>,
        /// 0: Clad, 1: LibTorch autograd.
        gradient: u8,
        /// Number in `Precision::ALL`.
        precision: u8,
        /// With the other processes of an MPI job.
        mpi: bool,
        /// How much the fit prints.
        verbose: i32,
    }

    /// Weighted mean losses of an epoch; `validation` is NaN without a validation part.
    #[derive(Clone, Copy, Debug)]
    struct Losses {
        train: f64,
        validation: f64,
    }

    /// See `Judged` in `train`.
    struct Judged {
        gives: Gives,
        predictions: Vec<f32>,
        logits: Vec<f32>,
        labels: Vec<f32>,
        weights: Vec<f32>,
    }

    /// Weighted mean losses of one epoch; `validation_loss` is NaN without a validation part.
    #[derive(Clone, Debug)]
    struct EpochRecord {
        /// Over the training part, while it was trained on.
        train_loss: f64,
        /// Over the validation part, after the epoch.
        validation_loss: f64,
        /// Wall-clock time.
        seconds: f64,
        /// Learning rate of its last step.
        learning_rate: f64,
        /// Figures of the validation events.
        metrics: Vec<f64>,
        /// Whether the fit ends here.
        last: bool,
    }

    /// How far an epoch has come.
    #[derive(Clone, Debug)]
    struct EpochPart {
        /// Events that it has trained on.
        rows: u64,
        /// Events that it will have trained on at its end; an estimate for streams.
        expected: u64,
        /// Whether nothing is left to train on.
        ended: bool,
    }

    unsafe extern "C++" {
        include!("cladtorch/src/bridge/dataset.rs.h");
        include!("cladtorch/src/bridge/loss.rs.h");
        include!("cladtorch/src/bridge/model.rs.h");

        type FitLoss = crate::bridge::loss::FitLoss;
        type Dataset = crate::dataset::Dataset;
        type Gives = crate::bridge::model::Gives;
        type Model = crate::model::Model;
    }

    extern "Rust" {
        /// Options of the last fit.
        fn model_options(model: &Model) -> Result<FitSpec>;
        fn model_set_options(model: &mut Model, spec: &FitSpec) -> Result<()>;

        type Trainer;
        /// Checks the options, learns the scalers on the training part and lays out the arena.
        fn trainer_new(model: &Model, data: &Dataset, spec: &FitSpec, loss: &FitLoss) -> Result<Box<Trainer>>;
        /// The same with `validation` instead of a part of `data`.
        fn trainer_validated(
            model: &Model,
            data: &Dataset,
            validation: &Dataset,
            spec: &FitSpec,
            loss: &FitLoss,
        ) -> Result<Box<Trainer>>;
        /// The fold of each event of `data`, from 0 to `count` - 1.
        fn fit_folds(model: &Model, data: &Dataset, spec: &FitSpec, count: usize) -> Result<Vec<u32>>;
        /// The kind of a fitted model's predictions.
        fn fit_gives(model: &Model, data: &Dataset, spec: &FitSpec) -> Result<Gives>;
        /// On some rows of `data` alone.
        fn trainer_of_rows(model: &Model, data: &Dataset, rows: &[u32], spec: &FitSpec) -> Result<Box<Trainer>>;
        /// What `model` predicts for some rows of `data`: [rows, outputs]; `raw` as for `model_predict`.
        fn fit_predict_rows(model: &Model, data: &Dataset, rows: &[u32], threads: usize, raw: bool)
        -> Result<Vec<f32>>;
        /// How so many fits to `data` share the machine; `spec` has the threads.
        fn fits_sharing(spec: &FitSpec, model: &Model, data: &Dataset, fits: usize) -> Result<FitsSharing>;
        /// Trains on the next part of an epoch.
        fn trainer_part(trainer: &mut Trainer, data: &Dataset) -> Result<EpochPart>;
        /// After the last part: one pass over the validation events, which lie in `data`.
        fn trainer_losses(trainer: &mut Trainer, data: &Dataset) -> Result<Losses>;
        /// The predictions of the current parameters for the validation events.
        fn trainer_judge(trainer: &Trainer, model: &Model, data: &Dataset) -> Result<Judged>;
        /// Ends the epoch with its losses and figures.
        fn trainer_end_epoch(trainer: &mut Trainer, losses: Losses, metrics: Vec<f64>) -> Result<EpochRecord>;
        /// Puts weights, scalers, columns and options into `model`.
        fn trainer_finish(trainer: &Trainer, model: &mut Model) -> Result<()>;
        /// The options of the fit whose checkpoint is at `path`.
        fn resumed_options(path: &str, given: &FitSpec) -> Result<FitSpec>;
        /// Goes on from there; the trainer was made with these options.
        fn trainer_resume(trainer: &mut Trainer, path: &str) -> Result<()>;
        /// The kind of the model's predictions.
        fn trainer_gives(trainer: &Trainer) -> Gives;
        /// How the fit ended where nothing is left to train; else empty.
        fn trainer_ended(trainer: &Trainer) -> String;
        /// Writes a checkpoint now, if the options name a file for it.
        fn trainer_checkpoint(trainer: &mut Trainer) -> Result<()>;
        /// The epochs so far, also those before a checkpoint.
        fn trainer_history(trainer: &Trainer) -> Vec<EpochRecord>;
        /// The number of the epoch whose parameters the model gets, if they are not the last ones; else 0.
        fn trainer_restored(trainer: &Trainer) -> u32;
        /// Which gradient back end runs, on which device and threads, and why.
        fn trainer_describe(trainer: &Trainer) -> String;
        /// An error if `value` is none for the option `name`, which counts something.
        fn fit_check_count(name: &str, value: i64) -> Result<()>;
        /// The least `fVerbose` with which a fit says that.
        fn verbosity_of_back_end(spec: &FitSpec, model: &Model) -> Result<i32>;
        /// Warnings about what is allowed but rarely intended; each appears once.
        fn trainer_warnings(trainer: &mut Trainer) -> Vec<String>;
    }
}

fn model_options(model: &Model) -> Result<FitSpec> {
    let none = || Error::invalid("a model that was not trained has no options", "train it with Fit, or set them");
    guard(|| model.training().options.as_ref().map(FitSpec::from).ok_or_else(none))
}

fn model_set_options(model: &mut Model, spec: &FitSpec) -> Result<()> {
    guard(|| {
        let options = decided_options(&spec.options()?, model)?;
        let mut training = model.training().clone();
        // A network from elsewhere is taken to give values until somebody says what it gives.
        let is_classifier = options.gives() == crate::graph::Gives::Probabilities;
        if is_classifier && training.target == Some(Scaler::identity(model.outputs())) {
            training.target = None;
        }
        model.set_training(Training { options: Some(options), ..training })
    })
}

fn trainer_new(model: &Model, data: &Dataset, spec: &FitSpec, loss: &FitLoss) -> Result<Box<Trainer>> {
    guard(|| Trainer::with_loss(model, data, &spec.options()?, loss.0.as_ref()).map(Box::new))
}

fn trainer_validated(
    model: &Model,
    data: &Dataset,
    validation: &Dataset,
    spec: &FitSpec,
    loss: &FitLoss,
) -> Result<Box<Trainer>> {
    guard(|| Trainer::validated(model, data, validation, &spec.options()?, loss.0.as_ref()).map(Box::new))
}

fn fit_folds(model: &Model, data: &Dataset, spec: &FitSpec, count: usize) -> Result<Vec<u32>> {
    guard(|| train::folds(model, data, &spec.options()?, count))
}

fn fit_gives(model: &Model, data: &Dataset, spec: &FitSpec) -> Result<Gives> {
    guard(|| train::gives(model, data, &spec.options()?).map(Gives::from))
}

fn trainer_of_rows(model: &Model, data: &Dataset, rows: &[u32], spec: &FitSpec) -> Result<Box<Trainer>> {
    guard(|| Trainer::of_rows(model, data, rows, &spec.options()?).map(Box::new))
}

fn fit_predict_rows(model: &Model, data: &Dataset, rows: &[u32], threads: usize, raw: bool) -> Result<Vec<f32>> {
    guard(|| {
        let width = data.width();
        let row = |&row: &u32| data.features().get(row as usize * width..(row as usize + 1) * width);
        let features = rows.iter().map(row).collect::<Option<Vec<_>>>();
        let features = features.ok_or_else(|| Error::Internal("rows of another dataset".into()))?.concat();
        let mut out = vec![0.0; rows.len() * model.outputs()];
        model.predict_rows(&features, raw, threads, &mut out)?;
        Ok(out)
    })
}

fn fits_sharing(spec: &FitSpec, model: &Model, data: &Dataset, fits: usize) -> Result<FitsSharing> {
    guard(|| {
        let Sharing { parts, at_once } = train::sharing(&spec.options()?, model, data, fits)?;
        Ok(FitsSharing { parts, at_once })
    })
}

fn resumed_options(path: &str, given: &FitSpec) -> Result<FitSpec> {
    guard(|| train::resumed_options(Path::new(path), &given.options()?).map(|options| FitSpec::from(&options)))
}

fn trainer_resume(trainer: &mut Trainer, path: &str) -> Result<()> {
    guard(|| trainer.resume(Path::new(path)))
}

fn trainer_gives(trainer: &Trainer) -> Gives {
    trainer.gives().into()
}

fn trainer_ended(trainer: &Trainer) -> String {
    trainer.ended().unwrap_or_default().to_owned()
}

fn trainer_checkpoint(trainer: &mut Trainer) -> Result<()> {
    guard(|| trainer.checkpoint())
}

fn trainer_history(trainer: &Trainer) -> Vec<EpochRecord> {
    trainer.history().iter().cloned().map(EpochRecord::from).collect()
}

fn trainer_restored(trainer: &Trainer) -> u32 {
    trainer.restored()
}

fn trainer_part(trainer: &mut Trainer, data: &Dataset) -> Result<EpochPart> {
    guard(|| trainer.part(data).map(EpochPart::from))
}

fn trainer_losses(trainer: &mut Trainer, data: &Dataset) -> Result<Losses> {
    guard(|| trainer.losses(data).map(Losses::from))
}

fn trainer_judge(trainer: &Trainer, model: &Model, data: &Dataset) -> Result<Judged> {
    guard(|| trainer.judge(model, data).map(Judged::from))
}

fn trainer_end_epoch(trainer: &mut Trainer, losses: Losses, metrics: Vec<f64>) -> Result<EpochRecord> {
    guard(|| trainer.end_epoch(losses.into(), metrics).map(EpochRecord::from))
}

fn trainer_finish(trainer: &Trainer, model: &mut Model) -> Result<()> {
    guard(|| trainer.finish(model))
}

fn trainer_describe(trainer: &Trainer) -> String {
    trainer.describe()
}

fn fit_check_count(name: &str, value: i64) -> Result<()> {
    guard(|| train::check_count(name, value))
}

fn verbosity_of_back_end(spec: &FitSpec, model: &Model) -> Result<i32> {
    guard(|| train::verbosity_of_back_end(&spec.options()?, model))
}

fn trainer_warnings(trainer: &mut Trainer) -> Vec<String> {
    trainer.warnings()
}
