//! The border to C++: the only `#[cxx::bridge]`. Each function that can fail is one line through [`guard`], which turns a
//! panic or an [`Error`](crate::Error) into a `rust::Error` on the C++ side; the others only read a field.

use std::path::Path;

use crate::dataset::Dataset;
use crate::error::{Error, Result, guard};
use crate::graph::{Activation, Init};
use crate::model::Model;
use crate::signal;
use crate::train::{Trainer, metrics};

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    /// One feature column of a dataset: `length` numbers an event (1 for a scalar).
    #[derive(Clone, Debug, PartialEq)]
    struct ColumnSpec {
        /// Name in the tree or data frame.
        name: String,
        /// Numbers an event.
        length: usize,
        /// What fills an event that has fewer.
        pad: f32,
    }

    /// What `FitOptions` says, enumerations as their numbers.
    #[derive(Clone, Debug)]
    struct FitSpec {
        /// Passes over the training part.
        epochs: u32,
        /// Rows a step.
        batch_size: usize,
        /// Step size.
        learning_rate: f64,
        /// See `Sweep::weight_decay`.
        weight_decay: f64,
        /// Of SGD.
        momentum: f64,
        /// Share of the events kept for validation, in [0, 1).
        validation: f64,
        /// Of split and shuffle.
        seed: u64,
        /// A new order of the training part each epoch.
        shuffle: bool,
        /// Features to mean 0 and standard deviation 1.
        standardise: bool,
        /// 0: as many as the machine has.
        threads: usize,
        /// `cpu`, `cuda` or `cuda:N`.
        device: String,
        /// Number in `Optimiser::ALL`.
        optimiser: u8,
        /// 0: by the number of outputs; else 1 + number in `Loss::ALL`.
        loss: u8,
        /// 0: Clad, 1: LibTorch autograd.
        gradient: u8,
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
    }

    /// Efficiencies over falling thresholds, from (0, 0) to (1, 1), with the area under them.
    #[derive(Clone, Debug)]
    struct RocCurve {
        /// Background efficiency.
        false_positive: Vec<f64>,
        /// Signal efficiency.
        true_positive: Vec<f64>,
        /// Area under the curve.
        auc: f64,
        /// Standard error of `auc` (DeLong, DeLong and Clarke-Pearson 1988).
        auc_error: f64,
    }

    extern "Rust" {
        type Dataset;
        fn dataset_new(columns: &Vec<ColumnSpec>) -> Result<Box<Dataset>>;
        fn dataset_columns(data: &Dataset) -> Vec<ColumnSpec>;
        fn dataset_rows(data: &Dataset) -> usize;
        /// Numbers in a row: the sum of the columns' lengths.
        fn dataset_width(data: &Dataset) -> usize;
        /// Opens a source; what follows until `dataset_commit` is dropped by `dataset_rollback`.
        fn dataset_begin(data: &mut Dataset, source: &str) -> Result<()>;
        /// Appends `labels.len()` rows; `features` is [rows, width], `weights` [rows].
        fn dataset_append(data: &mut Dataset, features: &[f32], labels: &[f32], weights: &[f32]) -> Result<()>;
        fn dataset_commit(data: &mut Dataset) -> Result<()>;
        fn dataset_rollback(data: &mut Dataset);
        /// [rows, width], valid until the dataset changes.
        fn dataset_features(data: &Dataset) -> &[f32];
        fn dataset_labels(data: &Dataset) -> &[f32];
        fn dataset_weights(data: &Dataset) -> &[f32];
        /// A seeded share of the rows, `first` of [0, 1]; `second` gives the rest instead.
        fn dataset_part(data: &Dataset, first: f64, seed: u64, second: bool) -> Result<Box<Dataset>>;
        fn dataset_clone(data: &Dataset) -> Result<Box<Dataset>>;
        fn dataset_describe(data: &Dataset) -> String;

        type Model;
        fn model_new(sizes: &[usize], activation: u8, init: u8, seed: u64) -> Result<Box<Model>>;
        fn model_load(path: &str) -> Result<Box<Model>>;
        fn model_save(model: &Model, path: &str) -> Result<()>;
        fn model_clone(model: &Model) -> Result<Box<Model>>;
        fn model_columns(model: &Model) -> Vec<ColumnSpec>;
        fn model_inputs(model: &Model) -> usize;
        fn model_outputs(model: &Model) -> usize;
        fn model_describe(model: &Model) -> String;
        fn model_parameters(model: &Model) -> &[f32];
        fn model_set_parameters(model: &mut Model, values: &[f32]) -> Result<()>;
        /// `out` is [rows, outputs]; `raw` gives logits instead of probabilities. `threads` 0: all.
        fn model_predict(model: &Model, data: &Dataset, raw: bool, threads: usize, out: &mut [f32]) -> Result<()>;
        /// One event; safe from several threads at once, no allocation after a thread's first call.
        fn model_score(model: &Model, features: &[f32], raw: bool, out: &mut [f32]) -> Result<()>;

        type Trainer;
        /// Checks the options, learns the scaler on the training part and lays out the arena.
        fn trainer_new(model: &Model, data: &Dataset, spec: &FitSpec) -> Result<Box<Trainer>>;
        /// One pass over the training part and one over the validation part.
        fn trainer_epoch(trainer: &mut Trainer, data: &Dataset) -> Result<EpochRecord>;
        /// Puts weights, scaler, columns and options into `model`.
        fn trainer_finish(trainer: &Trainer, model: &mut Model) -> Result<()>;
        /// Which gradient back end runs, on which device and threads, and why.
        fn trainer_describe(trainer: &Trainer) -> String;

        /// `labels` over 0.5 are signal.
        fn roc(scores: &[f32], labels: &[f32], weights: &[f32]) -> Result<RocCurve>;
        /// For tests: panics inside the core, to show that it arrives as an exception.
        fn provoke_panic() -> Result<()>;

        /// One-sided power spectral density [samples / 2 + 1], 1/Hz.
        fn signal_detector_psd(samples: usize, rate: f64) -> Result<Vec<f64>>;
        fn signal_welch(strain: &[f64], segment: usize, rate: f64) -> Result<Vec<f64>>;
        /// [2 (psd.len() - 1)]
        fn signal_noise(psd: &[f64], rate: f64, seed: u64) -> Result<Vec<f64>>;
        fn signal_whiten(strain: &[f64], psd: &[f64], rate: f64) -> Result<Vec<f64>>;
        fn signal_chirp(samples: usize, rate: f64, chirp_mass: f64, start: f64, coalescence: f64) -> Result<Vec<f64>>;
        fn signal_sine_gaussian(
            samples: usize,
            rate: f64,
            frequency: f64,
            quality: f64,
            arrival: f64,
        ) -> Result<Vec<f64>>;
        fn signal_phase_shift(strain: &[f64], phase: f64) -> Result<Vec<f64>>;
        fn signal_snr(strain: &[f64], psd: &[f64], rate: f64) -> Result<f64>;
        fn signal_scale_to_snr(strain: &[f64], psd: &[f64], rate: f64, snr: f64) -> Result<Vec<f64>>;
        fn signal_auc_bound(snr: f64, known_phase: bool) -> Result<f64>;
        fn signal_efficiency_bound(snr: f64, false_alarm: f64, known_phase: bool) -> Result<f64>;
    }
}

pub use ffi::{ColumnSpec, EpochRecord, FitSpec, RocCurve};

#[allow(clippy::ptr_arg)] // What cxx makes of `rust::Vec`.
fn dataset_new(columns: &Vec<ColumnSpec>) -> Result<Box<Dataset>> {
    guard(|| Dataset::new(columns).map(Box::new))
}

fn dataset_columns(data: &Dataset) -> Vec<ColumnSpec> {
    data.columns().to_vec()
}

fn dataset_rows(data: &Dataset) -> usize {
    data.rows()
}

fn dataset_width(data: &Dataset) -> usize {
    data.width()
}

fn dataset_begin(data: &mut Dataset, source: &str) -> Result<()> {
    guard(|| data.begin(source))
}

fn dataset_append(data: &mut Dataset, features: &[f32], labels: &[f32], weights: &[f32]) -> Result<()> {
    guard(|| data.append(features, labels, weights))
}

fn dataset_commit(data: &mut Dataset) -> Result<()> {
    guard(|| data.commit())
}

fn dataset_rollback(data: &mut Dataset) {
    data.rollback();
}

fn dataset_features(data: &Dataset) -> &[f32] {
    data.features()
}

fn dataset_labels(data: &Dataset) -> &[f32] {
    data.labels()
}

fn dataset_weights(data: &Dataset) -> &[f32] {
    data.weights()
}

fn dataset_part(data: &Dataset, first: f64, seed: u64, second: bool) -> Result<Box<Dataset>> {
    guard(|| data.part(first, seed, second).map(Box::new))
}

fn dataset_clone(data: &Dataset) -> Result<Box<Dataset>> {
    guard(|| data.copy().map(Box::new))
}

fn dataset_describe(data: &Dataset) -> String {
    data.describe()
}

fn model_new(sizes: &[usize], activation: u8, init: u8, seed: u64) -> Result<Box<Model>> {
    let unknown = |what: &str, number| Error::invalid(format!("{what} {number} is unknown"), "use a named constant");
    guard(|| {
        let activation = Activation::from_number(activation).ok_or_else(|| unknown("activation", activation))?;
        let init = Init::from_number(init).ok_or_else(|| unknown("initialisation", init))?;
        Model::new(sizes, activation, init, seed).map(Box::new)
    })
}

fn model_load(path: &str) -> Result<Box<Model>> {
    guard(|| Model::load(Path::new(path)).map(Box::new))
}

fn model_save(model: &Model, path: &str) -> Result<()> {
    guard(|| model.save(Path::new(path)))
}

fn model_clone(model: &Model) -> Result<Box<Model>> {
    guard(|| model.copy().map(Box::new))
}

fn model_columns(model: &Model) -> Vec<ColumnSpec> {
    model.columns().to_vec()
}

fn model_inputs(model: &Model) -> usize {
    model.graph().inputs()
}

fn model_outputs(model: &Model) -> usize {
    model.graph().outputs()
}

fn model_describe(model: &Model) -> String {
    model.describe()
}

fn model_parameters(model: &Model) -> &[f32] {
    model.parameters()
}

fn model_set_parameters(model: &mut Model, values: &[f32]) -> Result<()> {
    guard(|| model.set_parameters(values))
}

fn model_predict(model: &Model, data: &Dataset, raw: bool, threads: usize, out: &mut [f32]) -> Result<()> {
    guard(|| model.predict(data, raw, threads, out))
}

fn model_score(model: &Model, features: &[f32], raw: bool, out: &mut [f32]) -> Result<()> {
    guard(|| model.score(features, raw, out))
}

fn trainer_new(model: &Model, data: &Dataset, spec: &FitSpec) -> Result<Box<Trainer>> {
    guard(|| Trainer::new(model, data, spec).map(Box::new))
}

fn trainer_epoch(trainer: &mut Trainer, data: &Dataset) -> Result<EpochRecord> {
    guard(|| trainer.epoch(data))
}

fn trainer_finish(trainer: &Trainer, model: &mut Model) -> Result<()> {
    guard(|| trainer.finish(model))
}

fn trainer_describe(trainer: &Trainer) -> String {
    trainer.describe()
}

fn roc(scores: &[f32], labels: &[f32], weights: &[f32]) -> Result<RocCurve> {
    guard(|| metrics::roc(scores, labels, weights))
}

fn provoke_panic() -> Result<()> {
    guard(|| panic!("provoked for a test"))
}

fn signal_detector_psd(samples: usize, rate: f64) -> Result<Vec<f64>> {
    guard(|| signal::detector_psd(samples, rate))
}
fn signal_welch(strain: &[f64], segment: usize, rate: f64) -> Result<Vec<f64>> {
    guard(|| signal::welch(strain, segment, rate))
}
fn signal_noise(psd: &[f64], rate: f64, seed: u64) -> Result<Vec<f64>> {
    guard(|| signal::noise(psd, rate, seed))
}
fn signal_whiten(strain: &[f64], psd: &[f64], rate: f64) -> Result<Vec<f64>> {
    guard(|| signal::whiten(strain, psd, rate))
}
fn signal_chirp(samples: usize, rate: f64, chirp_mass: f64, start: f64, coalescence: f64) -> Result<Vec<f64>> {
    guard(|| signal::chirp(samples, rate, chirp_mass, start, coalescence))
}
fn signal_sine_gaussian(samples: usize, rate: f64, frequency: f64, quality: f64, arrival: f64) -> Result<Vec<f64>> {
    guard(|| signal::sine_gaussian(samples, rate, frequency, quality, arrival))
}
fn signal_phase_shift(strain: &[f64], phase: f64) -> Result<Vec<f64>> {
    guard(|| signal::phase_shift(strain, phase))
}
fn signal_snr(strain: &[f64], psd: &[f64], rate: f64) -> Result<f64> {
    guard(|| signal::snr(strain, psd, rate))
}
fn signal_scale_to_snr(strain: &[f64], psd: &[f64], rate: f64, snr: f64) -> Result<Vec<f64>> {
    guard(|| signal::scale_to_snr(strain, psd, rate, snr))
}
fn signal_auc_bound(snr: f64, known_phase: bool) -> Result<f64> {
    guard(|| signal::auc_bound(snr, signal::Phase::from(known_phase)))
}
fn signal_efficiency_bound(snr: f64, false_alarm: f64, known_phase: bool) -> Result<f64> {
    guard(|| signal::efficiency_bound(snr, false_alarm, signal::Phase::from(known_phase)))
}
