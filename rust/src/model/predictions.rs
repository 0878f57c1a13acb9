//! Predictions of events.

use super::computation::Computation;
use super::predictor::Numbers;
use super::{Model, gaussian};
use crate::dataset::Dataset;
use crate::device::shared_pool;
use crate::error::{Error, Result};
use crate::graph::{Gives, Mode};
use crate::interrupt;

impl Model {
    /// Outputs of `data` into `out` [rows, outputs]: of a classifier probabilities, or logits if `raw`; of a regression
    /// values in the units of its labels, or means and then standard deviations, if `raw` logarithms of variances.
    pub fn predict(&self, data: &Dataset, raw: bool, threads: usize, out: &mut [f32]) -> Result<()> {
        self.check_columns(data.columns(), data.width())?;
        self.predict_rows(data.features(), raw, threads, out)
    }

    /// As [`predict`](Self::predict), for features [rows, inputs].
    pub fn predict_rows(&self, features: &[f32], raw: bool, threads: usize, out: &mut [f32]) -> Result<()> {
        let rows = features.len() / self.inputs();
        if out.len() != rows * self.outputs() {
            return Err(Error::Internal(format!("{} numbers for {rows} rows of {}", out.len(), self.outputs())));
        }
        let finish = |out: &mut [f32]| self.finish(raw, out);
        let pool = shared_pool(threads)?;
        match &self.computation {
            Computation::Kernels(predictor) if pool.current_num_threads() == 1 || predictor.is_short(rows) => {
                predictor.predict_here(self.numbers(), features, out, finish)?;
            }
            Computation::Kernels(predictor) => {
                pool.install(|| predictor.predict(self.numbers(), features, out, finish))?;
            }
            Computation::LibTorch(on_libtorch) => {
                pool.install(|| on_libtorch.predict(self.numbers(), threads, features, out, finish))?;
            }
        }
        interrupt::check("the prediction")
    }

    /// Whether an event's prediction has the same bits in any batch: that of kernels has, LibTorch chooses its algorithms by the size of
    /// the batch.
    pub fn predicts_alike(&self) -> bool {
        self.module().is_some_and(|module| module.takes_one(Mode::Evaluation))
    }

    /// The kind of its predictions: see [`Training`].
    pub fn gives(&self) -> Gives {
        self.training.gives()
    }

    /// Outputs of one event's `features` into `out` [outputs]. Safe from several threads at once.
    pub fn score(&self, features: &[f32], raw: bool, out: &mut [f32]) -> Result<()> {
        if features.len() != self.inputs() || out.len() != self.outputs() {
            return Err(Error::invalid(
                format!(
                    "{} feature{} for a model that takes {}",
                    features.len(),
                    if features.len() == 1 { "" } else { "s" },
                    self.inputs()
                ),
                "give the model's columns",
            ));
        }
        match &self.computation {
            Computation::Kernels(predictor) => predictor.score(self.numbers(), features, out)?,
            Computation::LibTorch(on_libtorch) => on_libtorch.score(self.numbers(), features, out)?,
        }
        self.finish(raw, out);
        Ok(())
    }

    pub(super) fn numbers(&self) -> Numbers<'_> {
        Numbers { parameters: self.parameters(), state: self.state(), scaler: self.training.scaler.as_ref() }
    }

    /// Turns the network's outputs for some rows into the model's predictions.
    pub(super) fn finish(&self, raw: bool, out: &mut [f32]) {
        if let Some(target) = &self.training.target {
            target.undo(out);
        }
        if !raw {
            self.to_predictions(out);
        }
    }

    /// Turns raw predictions [rows, outputs] into those that are not: logits of a classifier into probabilities, logarithms of
    /// variances into standard deviations.
    pub fn to_predictions(&self, out: &mut [f32]) {
        match self.gives() {
            Gives::Probabilities => out.chunks_mut(self.outputs()).for_each(to_probabilities),
            Gives::Values => {}
            Gives::Gaussians => gaussian::to_deviations(self.outputs(), self.training.target.as_ref(), out),
        }
    }
}

/// The logits of one row become probabilities: of label 1 for one logit, else of each class.
fn to_probabilities(row: &mut [f32]) {
    if let [logit] = row {
        *logit = 1.0 / (1.0 + (-*logit).exp());
        return;
    }
    let highest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    row.iter_mut().for_each(|z| *z = (*z - highest).exp());
    let sum: f32 = row.iter().sum();
    row.iter_mut().for_each(|z| *z /= sum);
}
