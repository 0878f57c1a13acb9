//! What a fit minimises.

use super::RowLoss;
use crate::graph::Loss;
use crate::kernels::Scalar;

/// A built-in loss, or one of the user's own instead.
#[derive(Clone, Copy)]
pub struct Objective<'a> {
    /// On the outputs of a network.
    pub loss: Loss,
    /// See [`Scalar::loss`].
    pub parameter: f64,
    /// Instead of `loss`.
    pub row_loss: Option<&'a RowLoss>,
}

impl Objective<'_> {
    /// Numbers in a label for a network of `outputs` outputs.
    pub fn targets(&self, outputs: usize) -> usize {
        if self.row_loss.is_some() { 1 } else { self.loss.targets(outputs) }
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
        match self.row_loss {
            Some(own) => own.run(outputs, labels, weights, scale, adjoint),
            None => {
                let (kind, rows) = (self.loss as u8, weights.len());
                T::loss(kind, self.parameter, rows, columns, outputs, labels, weights, scale, adjoint)
            }
        }
    }
}
