//! The validation events of a fit.

use super::Judged;
use super::checks;
use super::fit::{Events, Fit, positive_weight};
use super::job::Job;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::gradient::RowsOf;
use crate::model::Model;

/// Some rows of a dataset.
#[derive(Default)]
pub(super) struct Validation {
    /// Those that this process holds.
    rows: Vec<u32>,
    /// Number of events, including those of the other processes.
    pub count: usize,
    /// Whether each process holds some of them.
    is_sharded: bool,
    /// The weights of all rows of a dataset of their own, where classes have weights.
    weights: Option<Vec<f32>>,
    /// Their sum over all of those rows.
    weight: f64,
    /// Whether the dataset is not that of the training.
    pub is_own: bool,
}

impl Validation {
    /// A part `all` of the dataset that is trained on.
    pub fn of_part(all: &[u32], events: Events, job: &Job) -> Result<Self> {
        let (rows, count) = (job.own(all).into_owned(), all.len());
        let weight = job.total_of(events.weight_of(&rows));
        let weight = if count == 0 { 0.0 } else { positive_weight(weight, "validation")? };
        Ok(Validation { rows, count, weight, is_sharded: job.is_sharded(), ..Validation::default() })
    }

    /// All of a dataset, whose columns and targets must be those that `fit` trains a model of `outputs` outputs on.
    pub fn of_own(fit: &mut Fit, outputs: usize, own: &Dataset) -> Result<Self> {
        fit.check_alike(own)?;
        let job = fit.judge_by(own)?;
        let count = job.rows(own, "validation dataset")?;
        let events = Events::of(own)?;
        let place = |row| own.describe_row(row);
        checks::check_labels(&fit.options, fit.loss, outputs, events.labels, &place)?;
        checks::check_classes(&fit.options, events.labels, &place)?;
        let rows: Vec<u32> = (0..own.rows() as u32).collect();
        let weights = fit.loss_weights(events);
        let weight = job.total_of(events.weighted(weights.as_deref()).weight_of(&rows));
        let (weight, is_sharded) = (positive_weight(weight, "validation")?, job.is_sharded());
        Ok(Validation { rows, count, is_sharded, weights, weight, is_own: true })
    }

    /// The mean loss over the rows, which lie in `data`; `weights` are those of a training dataset in the loss. None without rows.
    pub fn loss(&self, fit: &mut Fit, data: &Dataset, weights: Option<&[f32]>) -> Result<Option<f64>> {
        if self.count == 0 {
            return Ok(None);
        }
        if self.is_own {
            fit.turn_to(RowsOf::Validation);
        }
        let weights = if self.is_own { self.weights.as_deref() } else { weights };
        let events = Events::of(data)?.weighted(weights);
        match self.is_sharded {
            true => fit.evaluate_own(events, &self.rows, self.weight).map(Some),
            false => fit.evaluate(events, &self.rows, self.weight).map(Some),
        }
    }

    /// What `model` of `fit` predicts for the rows of all processes, with their labels and weights. Weights of classes belong to the
    /// loss: figures are those of the events.
    pub fn judge(&self, fit: &Fit, model: &Model, data: &Dataset) -> Result<Judged> {
        let own = self.judge_own(model, data, fit.options.threads)?;
        Ok(if self.is_sharded { fit.of_all(own) } else { own })
    }

    fn judge_own(&self, model: &Model, data: &Dataset, threads: usize) -> Result<Judged> {
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
