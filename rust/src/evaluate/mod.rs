//! Figures of a model's predictions: the operating points of a classifier, its calibration, the confusion of its
//! classes, the residuals of a regression, and which inputs matter.
//!
//! Sums are float64 and weighted. N events; labels over 0.5 are signal.

mod calibration;
mod classes;
mod correlation;
mod efficiency;
mod gradient_importance;
mod importance;
mod kolmogorov;
mod points;
mod residuals;
mod roc;
mod significance;
#[cfg(test)]
mod testing;
mod thin;

pub use calibration::{Calibration, calibration, temperature};
pub use classes::{Counts, confusion, counts};
pub use correlation::correlation;
pub use efficiency::{Efficiency, efficiency};
pub use gradient_importance::gradient_importance;
pub use importance::{Importance, Quality, importance};
pub use kolmogorov::{Distance, distance};
pub use points::{Curve, OperatingPoints};
pub use residuals::{Residuals, residuals};
pub use roc::{RocCurve, roc};
pub use significance::{Expected, Significance, Working, significance};
pub use thin::thin;

use crate::error::{Error, Result};

/// Scores or values of a classifier with one label for each event.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// [N]
    pub scores: &'a [f32],
    /// [N]
    pub labels: &'a [f32],
    /// [N]
    pub weights: &'a [f32],
}

impl<'a> Sample<'a> {
    /// Throws unless there is one of each for an event, scores and labels are numbers and weights finite.
    pub fn new(scores: &'a [f32], labels: &'a [f32], weights: &'a [f32]) -> Result<Self> {
        check_lengths(scores.len(), labels.len(), weights.len(), 1)?;
        check_numbers(scores, labels, weights, 1)?;
        Ok(Sample { scores, labels, weights })
    }

    /// Score, label and weight of each event.
    fn events(&self) -> impl Iterator<Item = (f32, f32, f64)> {
        let (labels, weights) = (self.labels.iter(), self.weights.iter());
        self.scores.iter().zip(labels).zip(weights).map(|((&s, &l), &w)| (s, l, f64::from(w)))
    }
}

/// `outputs` predictions for each of `labels` and `weights`.
fn check_lengths(predictions: usize, labels: usize, weights: usize, outputs: usize) -> Result<()> {
    if outputs > 0 && predictions == labels.saturating_mul(outputs) && labels == weights {
        return Ok(());
    }
    Err(Error::invalid(
        format!("{predictions} predictions, {labels} labels and {weights} weights for {outputs} output(s)"),
        "give one label and one weight for each event, and one prediction for each event and output",
    ))
}

fn check_numbers(predictions: &[f32], labels: &[f32], weights: &[f32], outputs: usize) -> Result<()> {
    for (what, values, each) in [("prediction", predictions, outputs), ("label", labels, 1), ("weight", weights, 1)] {
        let wrong = |value: &f32| value.is_nan() || (what == "weight" && !value.is_finite());
        if let Some(at) = values.iter().position(wrong) {
            let event = at / each;
            return Err(Error::invalid(
                format!("the {what} of event {event} is {}", values[at]),
                "predictions and labels must be numbers, and weights finite",
            ));
        }
    }
    Ok(())
}

/// The sum of `weights`, which must be positive.
fn positive_total(what: &str, weights: impl Iterator<Item = f64>) -> Result<f64> {
    let total: f64 = weights.sum();
    match total > 0.0 {
        true => Ok(total),
        false => Err(Error::invalid(
            format!("the event weights of {what} sum to {total}"),
            "they must sum to more than 0: add events, or check labels and weights",
        )),
    }
}
