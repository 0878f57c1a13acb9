//! A loss that a user wrote with LibTorch's operators: observed like any function, run and differentiated by the same kernels.

use std::sync::{Arc, Mutex, PoisonError};

use super::batches::differ;
use super::compiled::HOST;
use super::{CompileOptions, CompiledGraph, Wanted};
use crate::device::{ReadPointer, WritePointer};
use crate::error::{Error, Result, unwind};
use crate::graph::program::extent;
use crate::graph::{AnyBatch, DType, ObservedGraph, Program, dependence, lower};
use crate::kernels::Scalar;

/// Numbers of rows for which it stays compiled.
const KEPT: usize = 8;

/// Numbers of events with which is seen whether they stay apart: see `graph::Module`.
const APART: [usize; 2] = [7, 6];

/// Largest difference, relative to the loss, between the mean of the losses of single events and that of all at once.
const MEAN_TOLERANCE: f32 = 1e-4;
/// Sizes of outputs with which a loss is looked at: what it adds to the mean may be lost beside it at one of them.
const SCALES: [f32; 3] = [1.0, 0.01, 100.0];

/// A function of rows [events, outputs + labels] that gives the loss of each, or the mean of them.
pub struct ObservedLoss {
    batch: AnyBatch,
    /// With a single event, or why it does not take that.
    one: Result<ObservedGraph, String>,
    /// Elements of the tensors that it captured, as words.
    constants: Vec<Vec<u64>>,
    outputs: usize,
    labels: usize,
    /// Labels are class numbers, from 0 to `outputs` - 1.
    takes_classes: bool,
    gives_mean: bool,
    kept: Mutex<Vec<(usize, Arc<CompiledGraph>)>>,
}

impl ObservedLoss {
    /// For a network with this many outputs and events with this many labels, which are class numbers if
    /// `takes_classes`; `read` returns the given number of bytes of a captured tensor.
    pub fn new(
        batch: AnyBatch,
        one: Result<ObservedGraph, String>,
        [outputs, labels]: [usize; 2],
        takes_classes: bool,
        mut read: impl FnMut(usize, usize) -> Vec<u64>,
    ) -> Result<Self> {
        let (constants, kept) = (Vec::new(), Mutex::default());
        let mut loss = ObservedLoss { batch, one, constants, outputs, labels, takes_classes, gives_mean: false, kept };
        let [first, second] = APART;
        let program = loss.lowered(first)?;
        loss.gives_mean = loss.check(&program, first)?;
        for (index, argument) in program.arguments.iter().enumerate().skip(1) {
            loss.constants.push(read(index - 1, extent(&argument.view)? * argument.dtype.bytes()));
        }
        match loss.gives_mean {
            true => loss.check_mean()?,
            false => {
                if dependence([&program, &loss.lowered(second)?], first)?.is_some() {
                    return Err(refused("mixes the events of a batch"));
                }
                loss.check_places()?;
            }
        }
        loss.check_gradient()?;
        Ok(loss)
    }

    /// Outputs of the network.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Labels of an event.
    pub fn labels(&self) -> usize {
        self.labels
    }

    fn width(&self) -> usize {
        self.outputs + self.labels
    }

    fn graph(&self, rows: usize) -> Result<ObservedGraph> {
        match (rows, &self.one) {
            (1, Ok(one)) => Ok(one.clone()),
            (1, Err(why)) => Err(refused(&format!("does not take a single event: {why}"))),
            (rows, _) => self.batch.at(rows as i64),
        }
    }

    fn lowered(&self, rows: usize) -> Result<Program> {
        let graph = self.graph(rows)?;
        lower::lower(&graph, &gradients(&graph)).map_err(|error| match error {
            Error::Invalid { what, .. } => {
                refused(&format!("has an operator without a kernel: {what}{}", self.of_classes()))
            }
            other => other,
        })
    }

    /// Advice for a loss of classes without integers.
    fn of_classes(&self) -> &'static str {
        match self.outputs > 1 && self.labels == 1 {
            true => {
                "; for classes call torch::nn::functional::cross_entropy(outputs, labels) with the labels as they are, or take \
                 (labels == torch::arange(C)).to(torch::kFloat), a row [events, C] with 1 at the class"
            }
            false => "",
        }
    }

    /// The loss of a number that is no class would be 0.
    fn check_classes<T: Scalar>(&self, labels: &[T]) -> Result<()> {
        let is_class = |label: f64| label >= 0.0 && label < self.outputs as f64 && label.fract() == 0.0;
        match labels.iter().map(|label| label.to_f64()).find(|&label| self.takes_classes && !is_class(label)) {
            None => Ok(()),
            Some(label) => Err(Error::invalid(
                format!(
                    "an event has label {label}, and the loss takes class numbers from 0 to {}, as it does not take labels \
                     [events, 1]",
                    self.outputs - 1
                ),
                "mend the labels, or give the model an output for each class",
            )),
        }
    }

    /// Whether it returns one number for all rows; refuses a function that is not a loss.
    fn check(&self, program: &Program, rows: usize) -> Result<bool> {
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
    fn check_mean(&self) -> Result<()> {
        for (rows, scale) in APART.into_iter().flat_map(|rows| SCALES.map(|scale| (rows, scale))) {
            let x = self.examples(rows, scale);
            let mut whole = [0.0];
            self.compute(rows, &x, &mut whole, None)?;
            let mut sum = 0.0;
            for x in x.chunks(self.width()) {
                let mut value = [0.0];
                self.compute(1, x, &mut value, None)?;
                sum += value[0] / rows as f32;
            }
            if !sum.is_finite() && !whole[0].is_finite() && scale != SCALES[0] {
                continue; // no loss of outputs of this size
            }
            let is_mean = (sum - whole[0]).abs() <= MEAN_TOLERANCE * sum.abs().max(MEAN_TOLERANCE);
            if !is_mean {
                return Err(refused(&format!(
                    "returns one number, {} for {rows} events, which is not the mean of their losses, {sum}",
                    whole[0]
                )));
            }
        }
        Ok(())
    }

    /// The loss of an event must not depend on its place in the batch.
    fn check_places(&self) -> Result<()> {
        let [rows, _] = APART;
        let x = self.examples(rows, SCALES[0]);
        let (mut moved, mut losses, mut of_moved) = (x.clone(), vec![0.0; rows], vec![0.0; rows]);
        moved.rotate_left(self.width());
        self.compute(rows, &x, &mut losses, None)?;
        self.compute(rows, &moved, &mut of_moved, None)?;
        of_moved.rotate_right(1);
        match differ(&losses, &of_moved) {
            false => Ok(()),
            true => Err(refused("takes some events of the batch for others, by their place in it")),
        }
    }

    /// A loss whose gradient by the outputs is 0 everywhere, because it detaches them for example, trains nothing.
    fn check_gradient(&self) -> Result<()> {
        let [rows, _] = APART;
        let mut moves = false;
        for scale in SCALES {
            let x = self.examples(rows, scale);
            for x in x.chunks(self.width()) {
                let (mut value, mut gradient) = ([0.0], vec![0.0; self.width()]);
                self.compute(1, x, &mut value, Some((&[1.0], &mut gradient)))?;
                moves |= gradient[..self.outputs].iter().any(|slope| *slope != 0.0);
            }
        }
        match moves {
            true => Ok(()),
            false => Err(refused("has no gradient by the outputs (it may detach them, or compare them with numbers)")),
        }
    }

    fn compiled(&self, rows: usize) -> Result<Arc<CompiledGraph>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, compiled)) = kept.iter().find(|(of, _)| *of == rows) {
            return Ok(Arc::clone(compiled));
        }
        self.check(&self.lowered(rows)?, rows)?;
        let graph = self.graph(rows)?;
        let options = CompileOptions {
            name: "the loss".to_owned(),
            back_end: Wanted::Aot,
            reason: String::new(),
            gradients: gradients(&graph),
            time_limit: f64::INFINITY,
            gpu: None,
        };
        let compiled = Arc::new(CompiledGraph::new(&graph, &options)?);
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push((rows, Arc::clone(&compiled)));
        Ok(compiled)
    }

    /// The losses of `x` [rows, outputs + labels] into `values`; with `seeds`, the adjoints of these, the gradient of `x`.
    fn compute(&self, rows: usize, x: &[f32], values: &mut [f32], seeds: Option<(&[f32], &mut [f32])>) -> Result<()> {
        let compiled = self.compiled(rows)?;
        let fits = |length: usize| length == rows * self.width();
        let count = if self.gives_mean { 1 } else { rows };
        let backward_fits = seeds.as_ref().is_none_or(|(seeds, gradient)| seeds.len() == count && fits(gradient.len()));
        if !fits(x.len()) || values.len() != count || !backward_fits {
            return Err(Error::Internal("rows of another number for a loss".to_owned()));
        }
        let mut inputs = vec![ReadPointer::of(x)];
        inputs.extend(self.constants.iter().map(|words| ReadPointer::of(words)));
        let outputs = [WritePointer::of(values)];
        // SAFETY: `compiled` was checked to take rows of this width, dense, and to return so many values; the constants have as
        // many bytes as it reads, as `new` asked for.
        let saved = unsafe { compiled.run_forward(HOST, &inputs, &outputs) }?;
        let Some((seeds, gradient)) = seeds else { return Ok(()) };
        let mut gradients = vec![WritePointer::NULL; inputs.len()];
        gradients[0] = WritePointer::of(gradient);
        let seeds = [ReadPointer::of(seeds)];
        // SAFETY: the same; the gradient of the rows is as long as they are, and no other is asked for.
        unsafe { compiled.run_backward(HOST, &saved, &inputs, &seeds, &gradients) }
    }

    /// The sum of weight times loss over the rows of `outputs` [rows, outputs] and `labels` [rows, labels]; `adjoint`
    /// gets the derivative of `scale * weight * loss`. Errors unwind.
    pub fn run<T: Scalar>(
        &self,
        outputs: &[T],
        labels: &[T],
        weights: &[T],
        scale: f64,
        adjoint: Option<&mut [T]>,
    ) -> f64 {
        self.try_run(outputs, labels, weights, scale, adjoint).unwrap_or_else(|error| unwind(error))
    }

    fn try_run<T: Scalar>(
        &self,
        outputs: &[T],
        labels: &[T],
        weights: &[T],
        scale: f64,
        adjoint: Option<&mut [T]>,
    ) -> Result<f64> {
        self.check_classes(labels)?;
        let (rows, width) = (weights.len(), self.width());
        let (mut x, mut values) = (vec![0.0; rows * width], vec![0.0; rows]);
        for ((x, outputs), labels) in
            x.chunks_mut(width).zip(outputs.chunks(self.outputs)).zip(labels.chunks(self.labels))
        {
            x.iter_mut().zip(outputs.iter().chain(labels)).for_each(|(x, from)| *x = from.to_f64() as f32);
        }
        let seeds: Vec<f32> = weights.iter().map(|weight| (scale * weight.to_f64()) as f32).collect();
        let mut gradient = vec![0.0; if adjoint.is_some() { x.len() } else { 0 }];
        let wanted = adjoint.is_some();
        if self.gives_mean {
            for row in 0..rows {
                let part = row * width..(row + 1) * width;
                let gradient = wanted.then(|| (&seeds[row..=row], &mut gradient[part.clone()]));
                self.compute(1, &x[part.clone()], &mut values[row..=row], gradient)?;
            }
        } else if rows > 0 {
            let gradient = wanted.then(|| (&seeds[..], &mut gradient[..]));
            self.compute(rows, &x, &mut values, gradient)?;
        }
        if let Some(adjoint) = adjoint {
            for (to, from) in adjoint.chunks_mut(self.outputs).zip(gradient.chunks(width)) {
                to.iter_mut().zip(from).for_each(|(to, from)| *to = T::from_f64(f64::from(*from)));
            }
        }
        Ok(values.iter().zip(weights).map(|(value, weight)| f64::from(*value) * weight.to_f64()).sum())
    }
}

/// That of the rows alone.
fn gradients(graph: &ObservedGraph) -> Vec<bool> {
    std::iter::once(true).chain(graph.constants.iter().map(|_| false)).collect()
}

fn refused(what: &str) -> Error {
    Error::invalid(
        format!("the loss {what}"),
        "a loss takes outputs [events, C] and labels [events, T] and gives each event its loss, [events], or the mean of these, \
         by operators with kernels",
    )
}
