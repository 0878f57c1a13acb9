//! Predictions with an uncertainty: a network of 2 T outputs for T targets gives their means and then the logarithms of their
//! variances, which become standard deviations.
//!
//! The scaler of the outputs is one for all of them: where y' = (y - m) k is the standardised target, the logarithm of the
//! variance of y is that of y' minus 2 log k. So code that undoes or changes a scaler needs to know nothing about
//! likelihoods.

use crate::dataset::Scaler;
use crate::graph::{Gives, LEAST_LOG_VARIANCE};

impl Gives {
    /// The scaler that the outputs [rows, outputs] undo, of that of the labels [rows, targets].
    pub(crate) fn output_scaler(self, labels: &Scaler) -> Scaler {
        let Scaler { mut mean, mut inverse } = labels.clone();
        if self == Gives::Gaussians {
            mean.extend(labels.inverse.iter().map(|inverse| (-2.0 * f64::from(*inverse).ln()) as f32));
            inverse.extend(vec![1.0; labels.inverse.len()]);
        }
        Scaler { mean, inverse }
    }

    /// The same backwards.
    pub(crate) fn label_scaler(self, outputs: &Scaler) -> Scaler {
        let targets = self.targets(outputs.mean.len());
        Scaler { mean: outputs.mean[..targets].to_vec(), inverse: outputs.inverse[..targets].to_vec() }
    }
}

/// By target the least logarithm of a variance in the units of the labels, for outputs with this scaler: below it the loss
/// draws the output back, and takes the variance as this one.
pub(crate) fn least_log_variances(outputs: usize, scaler: Option<&Scaler>) -> Vec<f32> {
    let targets = Gives::Gaussians.targets(outputs);
    let of_target = |target: usize| scaler.map_or(0.0, |scaler| scaler.mean[targets + target]);
    (0..targets).map(|target| LEAST_LOG_VARIANCE as f32 + of_target(target)).collect()
}

/// The logarithms of variances in `rows` [rows, outputs], in the units of the labels, become standard deviations.
pub(super) fn to_deviations(outputs: usize, scaler: Option<&Scaler>, rows: &mut [f32]) {
    let least = least_log_variances(outputs, scaler);
    for row in rows.chunks_mut(outputs) {
        for (value, &least) in row[least.len()..].iter_mut().zip(&least) {
            let level = if *value < least { least } else { *value }; // a NaN stays one
            *value = (0.5 * level).exp();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_come_back_in_the_units_of_the_labels() {
        for deviation in [1e-21, 0.3, 1.0, 250.0, 1e12] {
            let labels = Scaler::new(&[-3.0, 7.0], &[deviation, 2.0]).unwrap();
            let outputs = Gives::Gaussians.output_scaler(&labels);
            assert_eq!(Gives::Gaussians.label_scaler(&outputs), labels);
            let (mean, sigma) = (0.7, 0.05);
            let mut row = [mean, 0.0, 2.0 * f32::ln(sigma), -30.0];
            outputs.undo(&mut row);
            to_deviations(4, Some(&outputs), &mut row);
            let least = (0.5 * LEAST_LOG_VARIANCE).exp();
            let expected = [deviation * 0.7 - 3.0, 7.0, deviation * f64::from(sigma), 2.0 * least];
            for (found, expected) in row.into_iter().zip(expected) {
                assert!((f64::from(found) / expected - 1.0).abs() < 1e-5, "{found}, not {expected}, at {deviation}");
            }
        }
    }

    #[test]
    fn a_nan_is_not_hidden() {
        let mut row = [0.0, f32::NAN];
        to_deviations(2, None, &mut row);
        assert!(row[1].is_nan());
    }
}
