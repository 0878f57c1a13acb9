//! The objective that a fit minimises.

use std::sync::Arc;

use super::{ObservedLoss, RowLoss};
use crate::graph::Loss;
use crate::kernels::Scalar;

/// A loss of the user's own.
pub enum CustomLoss {
    /// C++ text.
    Text(RowLoss),
    /// LibTorch's operators.
    Observed(Arc<ObservedLoss>),
}

impl From<RowLoss> for CustomLoss {
    fn from(loss: RowLoss) -> Self {
        CustomLoss::Text(loss)
    }
}

impl CustomLoss {
    /// Numbers in a label.
    fn targets(&self) -> usize {
        match self {
            CustomLoss::Text(_) => 1,
            CustomLoss::Observed(loss) => loss.labels(),
        }
    }
}

/// A built-in loss, or one of the user's own instead.
#[derive(Clone, Copy)]
pub struct Objective<'a> {
    /// On the outputs of a network.
    pub loss: Loss,
    /// See [`Scalar::loss`].
    pub parameter: f64,
    /// Instead of `loss`.
    pub own: Option<&'a CustomLoss>,
}

impl Objective<'_> {
    /// Numbers in a label for a network of `outputs` outputs.
    pub fn targets(&self, outputs: usize) -> usize {
        self.own.map_or(self.loss.targets(outputs), CustomLoss::targets)
    }

    /// The sum of weight times loss over the rows of `outputs` [rows, columns], with `labels` [rows, targets] and `weights`
    /// [rows]; `adjoint`, if wanted, gets the derivative of `scale` times that.
    pub fn run<T: Scalar>(
        &self,
        columns: usize,
        outputs: &[T],
        labels: &[T],
        weights: &[T],
        scale: f64,
        adjoint: Option<&mut [T]>,
    ) -> f64 {
        match self.own {
            Some(CustomLoss::Text(own)) => own.run(outputs, labels, weights, scale, adjoint),
            Some(CustomLoss::Observed(own)) => own.run(outputs, labels, weights, scale, adjoint),
            None => {
                let (kind, rows) = (self.loss as u8, weights.len());
                T::loss(kind, self.parameter, rows, columns, outputs, labels, weights, scale, adjoint)
            }
        }
    }
}
