//! What is found out about a loss before it is used.

use super::super::batches::{differ, differ_beyond};
use super::{ObservedLoss, Returns, refused};
use crate::error::{Error, Result};
use crate::graph::rows::terms_of_mean;
use crate::graph::{DType, Program};

/// Numbers of events with which is seen whether they stay apart: see `graph::Module`.
pub(super) const APART: [usize; 2] = [7, 6];

/// Largest difference, relative to the loss, between the mean of the losses of single events and that of all at once.
const MEAN_TOLERANCE: f64 = 1e-4;
/// A few roundings to float32.
const ROUNDING: f32 = 1e-6;

/// Outputs and labels with which a loss is looked at: what it adds to the mean may be lost beside it with some of them, and it may
/// have no value with others.
#[derive(Clone, Copy)]
enum Sample {
    /// Outputs of that size, of either sign.
    Size(f32),
    /// Positive labels and outputs between 0 and 1.
    Positive,
    /// Outputs are nearly the labels.
    NearLabels,
}

const SAMPLES: [Sample; 5] =
    [Sample::Size(1.0), Sample::Size(0.01), Sample::Size(100.0), Sample::Positive, Sample::NearLabels];

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

    /// Outputs and labels of this many events: class numbers where labels may be some, 0 and 1, or positive numbers.
    fn examples(&self, rows: usize, sample: Sample) -> Vec<f32> {
        let (width, has_classes) = (self.width(), self.labels == 1 && self.outputs > 1);
        let label = |row: usize| match sample {
            Sample::Positive if has_classes => (1 + row % (self.outputs - 1)) as f32,
            _ if has_classes => (row % self.outputs) as f32,
            Sample::Positive => 0.5 + (row % 3) as f32,
            _ => (row % 2) as f32,
        };
        let x = |index: usize| {
            let (row, wave) = (index / width, (index as f32 * 0.7).sin());
            match sample {
                _ if index % width >= self.outputs => label(row),
                Sample::Size(size) => size * wave,
                Sample::Positive => 0.1 + 0.8 * wave.abs(),
                Sample::NearLabels => label(row) + 1e-3 * wave,
            }
        };
        (0..rows * width).map(x).collect()
    }

    /// A single number must be the mean over the events: event weights could not apply to anything else.
    pub(super) fn check_mean(&self) -> Result<()> {
        let mut is_number = false;
        for (rows, sample) in APART.into_iter().flat_map(|rows| SAMPLES.map(|sample| (rows, sample))) {
            let (losses, _) = self.with_slopes(Returns::Mean, rows, &self.examples(rows, sample))?;
            is_number |= losses.iter().all(|loss| loss.is_finite());
        }
        match is_number {
            true => Ok(()),
            false => Err(refused("gives no finite number for any of the outputs and labels with which it was tried")),
        }
    }

    /// Refuses a number for all events that is not the mean of their `losses`, or has another derivative; `seeds` are the adjoints of
    /// the losses, and the gradient by `x` that came of them.
    pub(super) fn compare_mean(&self, x: &[f32], losses: &[f32], seeds: Option<(&[f32], &mut [f32])>) -> Result<()> {
        let (rows, count) = (losses.len(), losses.len() as f64);
        let (mut whole, mut slopes) = ([0.0], vec![0.0; x.len()]);
        self.compute(Returns::Mean, rows, x, &mut whole, seeds.is_some().then_some((&[1.0], &mut slopes)))?;
        let whole = f64::from(whole[0]);
        let [mean, size] = [f32::from, f32::abs]
            .map(|of: fn(f32) -> f32| losses.iter().map(|&loss| f64::from(of(loss))).sum::<f64>() / count);
        // What cancels in a loss may be as large as squares of outputs.
        let largest = 1.0 + largest(self.of_outputs(x).map(|(_, x)| x));
        let tolerance = MEAN_TOLERANCE * size + f64::from(ROUNDING * largest * largest);
        let is_near = |number: f64, factor: f64| (number - whole).abs() <= factor * tolerance;
        if !mean.is_finite() && !whole.is_finite() {
            return Ok(());
        }
        if !is_near(mean, 1.0) {
            let sum = if is_near(count * mean, count) { ", but their sum" } else { "" };
            return Err(no_mean(&format!(
                "returns one number that is not the mean of its events' losses{sum}: {} for {rows} events, whose own losses have the mean {}",
                whole as f32, mean as f32
            )));
        }
        let Some((seeds, gradient)) = seeds else { return Ok(()) };
        self.compare_slopes(&slopes, gradient, seeds, ROUNDING * largest)
    }

    /// Refuses `slopes` of a number for all events that are not those of the mean of their losses; `gradient` is that of the losses with
    /// the adjoints `seeds`, and `rounding` what is lost of a number by one.
    fn compare_slopes(&self, slopes: &[f32], gradient: &[f32], seeds: &[f32], rounding: f32) -> Result<()> {
        let expected: Vec<f32> = self.of_outputs(gradient).map(|(_, slope)| slope).collect();
        let found = self.of_outputs(slopes).map(|(row, slope)| seeds.len() as f32 * seeds[row] * slope);
        match differ_beyond(rounding * largest(seeds.iter().copied()), &expected, &found.collect::<Vec<_>>()) {
            false => Ok(()),
            true => Err(no_mean(
                "returns one number, which is not the mean of the events' losses: its derivative is another",
            )),
        }
    }

    /// The outputs' part of `x` [rows, outputs + labels], each with its row.
    fn of_outputs<'a>(&self, x: &'a [f32]) -> impl Iterator<Item = (usize, f32)> + use<'a> {
        let (outputs, width) = (self.outputs, self.width());
        x.chunks(width).enumerate().flat_map(move |(row, x)| x[..outputs].iter().map(move |&x| (row, x)))
    }

    /// Whether the terms of the mean are the losses of the events, with the same derivatives.
    pub(super) fn has_terms(&self) -> Result<bool> {
        for rows in APART {
            if terms_of_mean(&self.lowered(rows)?)?.is_none() {
                return Ok(false);
            }
            // Near the labels rounding may be all that is left of a loss.
            for sample in SAMPLES.into_iter().filter(|sample| !matches!(sample, Sample::NearLabels)) {
                let x = self.examples(rows, sample);
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
        let x = self.examples(rows, SAMPLES[0]);
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
        for sample in SAMPLES {
            let (_, slopes) = self.with_slopes(self.returns, rows, &self.examples(rows, sample))?;
            moves |= self.of_outputs(&slopes).any(|(_, slope)| slope != 0.0);
        }
        match moves {
            true => Ok(()),
            false => Err(refused("has no gradient by the outputs (it may detach them, or compare them with numbers)")),
        }
    }
}

/// Of those that are finite.
fn largest(numbers: impl Iterator<Item = f32>) -> f32 {
    numbers.filter(|number| number.is_finite()).fold(0.0, |largest: f32, number| largest.max(number.abs()))
}

fn no_mean(what: &str) -> Error {
    Error::invalid(
        format!("the loss {what}"),
        "return the loss of each event, [events], or their mean(): a mean that is weighted by class or by a mask, and whatever else \
         couples the events of a batch, is not supported",
    )
}
