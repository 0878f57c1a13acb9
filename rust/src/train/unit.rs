//! The unit of a loss: engines compute with standardised labels, users see the loss in the units of theirs.

use crate::dataset::Scaler;
use crate::graph::Loss;

/// The mean loss of an engine in the units of the labels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    factor: f64,
    offset: f64,
}

impl Unit {
    /// For labels that `target` standardises. Several targets have no unit in common, and their loss stays relative to
    /// their variances, or to their standard deviations for a quantile; a likelihood is a density in all of them.
    pub fn of(loss: Loss, target: Option<&Scaler>) -> Self {
        let inverse = target.map_or(&[][..], |target| &target.inverse);
        match (loss, inverse) {
            (Loss::Gaussian, _) => {
                Unit { factor: 1.0, offset: -inverse.iter().map(|k| f64::from(*k).ln()).sum::<f64>() }
            }
            (Loss::Quantile, &[inverse]) => Unit { factor: f64::from(inverse).recip(), offset: 0.0 },
            (_, &[inverse]) => Unit { factor: f64::from(inverse).powi(-2), offset: 0.0 },
            _ => Unit { factor: 1.0, offset: 0.0 },
        }
    }

    /// `loss` of an engine in the units of the labels.
    pub fn of_labels(self, loss: f64) -> f64 {
        loss * self.factor + self.offset
    }
}
