//! A loss that a user wrote with LibTorch's operators: observed like any function, run and differentiated by the same kernels.

mod checks;

use std::sync::{Arc, Mutex, PoisonError};

use super::compiled::HOST;
use super::{CompileOptions, CompiledGraph, Wanted};
use crate::device::{ReadPointer, WritePointer};
use crate::error::{Error, Result, unwind};
use crate::graph::program::extent;
use crate::graph::rows::terms_of_mean;
use crate::graph::{AnyBatch, ObservedGraph, Program, dependence, lower};
use crate::kernels::Scalar;
use checks::APART;

/// Numbers of rows for which it stays compiled.
const KEPT: usize = 8;

/// What the function returns, and so how the losses of events are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Returns {
    /// The loss of each event.
    Losses,
    /// The mean of the losses, whose terms are computed instead.
    Terms,
    /// The mean of the losses, which is computed of one event at a time.
    Mean,
}

/// What computes the losses of so many events.
struct Kept {
    of: (Returns, usize),
    compiled: Arc<CompiledGraph>,
}

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
    returns: Returns,
    kept: Mutex<Vec<Kept>>,
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
        let returns = Returns::Losses;
        let mut loss = ObservedLoss { batch, one, constants, outputs, labels, takes_classes, returns, kept };
        let [first, second] = APART;
        let program = loss.lowered(first)?;
        let is_mean = loss.check(&program, first)?;
        loss.graph(1)?; // the last batch may have one event
        for (index, argument) in program.arguments.iter().enumerate().skip(1) {
            loss.constants.push(read(index - 1, extent(&argument.view)? * argument.dtype.bytes()));
        }
        if is_mean {
            loss.returns = Returns::Mean;
            loss.check_mean()?;
            loss.returns = if loss.has_terms()? { Returns::Terms } else { Returns::Mean };
        } else {
            if dependence([&program, &loss.lowered(second)?], first)?.is_some() {
                return Err(refused("mixes the events of a batch"));
            }
            loss.check_places()?;
        }
        loss.check_gradient()?;
        loss.kept = Mutex::default();
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

    /// Elements of the tensors that it captured, as words.
    pub fn constants(&self) -> &[Vec<u64>] {
        &self.constants
    }

    /// What computes the losses of that many events, [rows], from these, [rows, outputs + labels], and the constants.
    pub fn program(&self, rows: usize) -> Result<Program> {
        match self.returns {
            Returns::Mean => Err(Error::invalid(
                "the loss returns a mean in a form from which kernels for a GPU cannot tell the losses of events (they take the \
                 loss of each event, [events])",
                "return the loss of each event",
            )),
            returns => self.program_of(returns, rows),
        }
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
                let advice = if what.contains("integer") { self.of_classes() } else { "" };
                refused(&format!("has an operator without a kernel: {what}{advice}"))
            }
            other => other,
        })
    }

    /// Advice for a loss of classes that computes with integers.
    fn of_classes(&self) -> &'static str {
        match self.outputs > 1 && self.labels == 1 {
            true => {
                "; for classes call torch::nn::functional::cross_entropy(outputs, labels) with the labels as they are, or take \
                 (labels == torch::arange(C)).to(torch::kFloat), a row [events, C] with 1 at the class"
            }
            false => "",
        }
    }

    /// Refuses labels that are no class numbers, if it takes these: their loss would be 0.
    pub fn check_classes<T: Scalar>(&self, labels: &[T]) -> Result<()> {
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

    /// What computes the losses of that many events, or their mean.
    fn program_of(&self, returns: Returns, rows: usize) -> Result<Program> {
        let program = self.lowered(rows)?;
        self.check(&program, rows)?;
        match (returns, rows) {
            (Returns::Terms, 2..) => {
                let terms = terms_of_mean(&program)?;
                terms.ok_or_else(|| Error::Internal(format!("a mean without terms of {rows} events")))
            }
            _ => Ok(program),
        }
    }

    fn compiled(&self, returns: Returns, rows: usize) -> Result<Arc<CompiledGraph>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.iter().find(|known| known.of == (returns, rows)) {
            return Ok(Arc::clone(&known.compiled));
        }
        let graph = self.graph(rows)?;
        let options = CompileOptions {
            name: "the loss".to_owned(),
            back_end: Wanted::Aot,
            reason: String::new(),
            gradients: gradients(&graph),
            time_limit: f64::INFINITY,
            gpu: None,
        };
        let compiled = Arc::new(CompiledGraph::of(self.program_of(returns, rows)?, &graph, &options)?);
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push(Kept { of: (returns, rows), compiled: Arc::clone(&compiled) });
        Ok(compiled)
    }

    /// The losses of the events `x` [rows, outputs + labels] into `values`, or their mean; with `seeds`, the adjoints of these,
    /// the gradient of `x`.
    fn compute(
        &self,
        returns: Returns,
        rows: usize,
        x: &[f32],
        values: &mut [f32],
        seeds: Option<(&[f32], &mut [f32])>,
    ) -> Result<()> {
        let compiled = self.compiled(returns, rows)?;
        let fits = |length: usize| length == rows * self.width();
        let count = if returns == Returns::Mean { 1 } else { rows };
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

    /// The losses of the events `x` into `losses`; with `seeds`, the adjoints of these, the gradient of `x`.
    fn compute_losses(
        &self,
        returns: Returns,
        x: &[f32],
        losses: &mut [f32],
        mut seeds: Option<(&[f32], &mut [f32])>,
    ) -> Result<()> {
        let (rows, width) = (losses.len(), self.width());
        // The loss of an event is the mean of it alone.
        let size = if returns == Returns::Mean { 1 } else { rows };
        for first in (0..rows).step_by(size.max(1)) {
            let (own, part) = (first..first + size, first * width..(first + size) * width);
            let seeds = seeds.as_mut().map(|(seeds, gradient)| (&seeds[own.clone()], &mut gradient[part.clone()]));
            self.compute(returns, size, &x[part], &mut losses[own], seeds)?;
        }
        match (returns, rows) {
            (Returns::Mean, 2..) => self.compare_mean(x, losses, seeds),
            // An event that adds something else than 1 to a divisor: see `terms_of_mean`.
            (Returns::Terms, 2..) if losses.iter().any(|loss| loss.is_nan()) => self.compare_mean(x, losses, None),
            _ => Ok(()),
        }
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
        let backward = adjoint.is_some().then(|| (&seeds[..], &mut gradient[..]));
        self.compute_losses(self.returns, &x, &mut values, backward)?;
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
