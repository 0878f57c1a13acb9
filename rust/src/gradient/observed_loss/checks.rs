//! What is found out about a loss before it is used.

use super::super::batches::differ;
use super::{ObservedLoss, Returns, refused};
use crate::error::Result;
use crate::graph::rows::terms_of_mean;
use crate::graph::{DType, Program};

/// Numbers of events with which is seen whether they stay apart: see `graph::Module`.
pub(super) const APART: [usize; 2] = [7, 6];

/// Largest difference, relative to the loss, between the mean of the losses of single events and that of all at once.
const MEAN_TOLERANCE: f32 = 1e-4;
/// Sizes of outputs with which a loss is looked at: what it adds to the mean may be lost beside it at one of them.
const SCALES: [f32; 3] = [1.0, 0.01, 100.0];

impl ObservedLoss {
    /// Whether it returns one number for all rows; refuses a function that is not a loss.
    pub(super) fn check(&self, program: &Program, rows: usize) -> Result<bool> {
        let argument = &program.arguments[0];
        let fits = argument.view.sizes == [rows, self.width()] && argument.view.is_contiguous();
        if program.dtype != DType::Float32 || !fits {
            return Err(refused(&format!("computes in {}", program.dtype.name())));
        }
        if !program.updates.is_empty() || !program.dropout.is_empty() {
            return Err(refused("changes tensors or draws random numbers"));
        }
        let [result] = program.results() else {
            return Err(refused(&format!("returns {} tensors", program.results().len())));
        };
        match result.view.sizes[..] {
            [] => Ok(true),
            [count] | [count, 1] if count == rows => Ok(false),
            _ => Err(refused(&format!("returns a tensor of shape {:?} for {rows} events", result.view.sizes))),
        }
    }

    /// Outputs of that size and labels of 0 and 1 for this many events.
    fn examples(&self, rows: usize, scale: f32) -> Vec<f32> {
        let width = self.width();
        let x = |index: usize| match index % width < self.outputs {
            true => scale * (index as f32 * 0.7).sin(),
            false => ((index / width) % 2) as f32,
        };
        (0..rows * width).map(x).collect()
    }

    /// A single number must be the mean over the events: event weights could not apply to anything else.
    pub(super) fn check_mean(&self) -> Result<()> {
        for (rows, scale) in APART.into_iter().flat_map(|rows| SCALES.map(|scale| (rows, scale))) {
            let x = self.examples(rows, scale);
            let (mut whole, mut losses) = ([0.0], vec![0.0; rows]);
            self.compute(Returns::Mean, rows, &x, &mut whole, None)?;
            self.compute_losses(Returns::Mean, &x, &mut losses, None)?;
            let mean: f32 = losses.iter().map(|loss| loss / rows as f32).sum();
            if !mean.is_finite() && !whole[0].is_finite() && scale != SCALES[0] {
                continue; // no loss of outputs of this size
            }
            let is_mean = (mean - whole[0]).abs() <= MEAN_TOLERANCE * mean.abs().max(MEAN_TOLERANCE);
            if !is_mean {
                return Err(refused(&format!(
                    "returns one number, {} for {rows} events, which is not the mean of their losses, {mean}",
                    whole[0]
                )));
            }
        }
        Ok(())
    }

    /// Whether the terms of the mean are the losses of the events, with the same derivatives.
    pub(super) fn has_terms(&self) -> Result<bool> {
        for rows in APART {
            if terms_of_mean(&self.lowered(rows)?)?.is_none() {
                return Ok(false);
            }
            for scale in SCALES {
                let x = self.examples(rows, scale);
                let (losses, slopes) = self.with_slopes(Returns::Mean, rows, &x)?;
                let (terms, of_terms) = self.with_slopes(Returns::Terms, rows, &x)?;
                if differ(&losses, &terms) || differ(&slopes, &of_terms) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The losses of events and their derivatives by `x`.
    fn with_slopes(&self, returns: Returns, rows: usize, x: &[f32]) -> Result<(Vec<f32>, Vec<f32>)> {
        let (mut losses, mut slopes) = (vec![0.0; rows], vec![0.0; x.len()]);
        self.compute_losses(returns, x, &mut losses, Some((&vec![1.0; rows], &mut slopes)))?;
        Ok((losses, slopes))
    }

    /// The loss of an event must not depend on its place in the batch.
    pub(super) fn check_places(&self) -> Result<()> {
        let [rows, _] = APART;
        let x = self.examples(rows, SCALES[0]);
        let (mut moved, mut losses, mut of_moved) = (x.clone(), vec![0.0; rows], vec![0.0; rows]);
        moved.rotate_left(self.width());
        self.compute_losses(Returns::Losses, &x, &mut losses, None)?;
        self.compute_losses(Returns::Losses, &moved, &mut of_moved, None)?;
        of_moved.rotate_right(1);
        match differ(&losses, &of_moved) {
            false => Ok(()),
            true => Err(refused("takes some events of the batch for others, by their place in it")),
        }
    }

    /// A loss whose gradient by the outputs is 0 everywhere, because it detaches them for example, trains nothing.
    pub(super) fn check_gradient(&self) -> Result<()> {
        let [rows, _] = APART;
        let mut moves = false;
        for scale in SCALES {
            let (_, slopes) = self.with_slopes(self.returns, rows, &self.examples(rows, scale))?;
            let of_outputs = slopes.chunks(self.width()).flat_map(|slopes| &slopes[..self.outputs]);
            moves |= of_outputs.copied().any(|slope| slope != 0.0);
        }
        match moves {
            true => Ok(()),
            false => Err(refused("has no gradient by the outputs (it may detach them, or compare them with numbers)")),
        }
    }
}
