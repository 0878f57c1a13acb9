//! The events that a fit is judged by.

use super::Judged;
use super::checks;
use super::fit::{Events, Fit};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::model::Model;

/// Some rows of a dataset.
#[derive(Default)]
pub(super) struct Validation {
    pub rows: Vec<u32>,
    /// The weights of all rows of a dataset of their own, where classes have weights.
    weights: Option<Vec<f32>>,
    /// Their sum over `rows`.
    weight: f64,
    /// Whether the dataset is not that of the training.
    pub is_own: bool,
}

impl Validation {
    /// A part of the dataset that is trained on.
    pub fn of_part(rows: Vec<u32>, events: Events) -> Result<Self> {
        let weight = if rows.is_empty() { 0.0 } else { events.total_weight(&rows, "validation")? };
        Ok(Validation { rows, weight, ..Validation::default() })
    }

    /// All of a dataset, whose columns and targets must be those that `fit` trains a model of `outputs` outputs on.
    pub fn of_own(fit: &Fit, outputs: usize, own: &Dataset) -> Result<Self> {
        if own.rows() == 0 {
            return Err(Error::invalid("the validation dataset has no events", "add a source with Dataset::Add"));
        }
        fit.check_alike(own)?;
        let events = Events::of(own)?;
        checks::check_labels(&fit.options, fit.loss, outputs, events.labels)?;
        checks::check_classes(&fit.options, events.labels)?;
        let rows: Vec<u32> = (0..own.rows() as u32).collect();
        let weights = fit.loss_weights(events);
        let weight = events.weighted(weights.as_deref()).total_weight(&rows, "validation")?;
        Ok(Validation { rows, weights, weight, is_own: true })
    }

    /// The mean loss over the rows, which lie in `data`; `weights` are those of a training dataset in the loss. None without rows.
    pub fn loss(&self, fit: &mut Fit, data: &Dataset, weights: Option<&[f32]>) -> Result<Option<f64>> {
        if self.rows.is_empty() {
            return Ok(None);
        }
        if self.is_own {
            fit.forget();
        }
        let weights = if self.is_own { self.weights.as_deref() } else { weights };
        fit.evaluate(Events::of(data)?.weighted(weights), &self.rows, self.weight).map(Some)
    }

    /// What `model` predicts for the rows, with their labels and weights. Weights of classes belong to the loss: figures are
    /// those of the events.
    pub fn judge(&self, model: &Model, data: &Dataset, threads: usize) -> Result<Judged> {
        let events = Events::of(data)?;
        match self.is_own {
            true => judge(model, events, threads),
            false => {
                let picked = |values: &[f32], width: usize| -> Vec<f32> {
                    self.rows.iter().flat_map(|&row| &values[row as usize * width..][..width]).copied().collect()
                };
                let features = picked(events.features, data.width());
                let (labels, weights) = (picked(events.labels, data.label_width()), picked(events.weights, 1));
                judge(model, Events { features: &features, labels: &labels, weights: &weights }, threads)
            }
        }
    }
}

/// What `model` predicts for `events`.
pub(super) fn judge(model: &Model, events: Events, threads: usize) -> Result<Judged> {
    let mut logits = vec![0.0; events.weights.len() * model.outputs()];
    model.predict_rows(events.features, true, threads, &mut logits)?;
    let mut predictions = logits.clone();
    model.to_predictions(&mut predictions);
    let (labels, weights) = (events.labels.to_vec(), events.weights.to_vec());
    Ok(Judged { gives: model.gives(), predictions, logits, labels, weights })
}
