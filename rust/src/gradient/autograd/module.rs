//! A module as LibTorch itself runs it.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Result;
use crate::graph::{Mode, events_mix};

/// How often a parameter is used for an event, about.
const USES: usize = 256;

/// Most rows of an evaluation.
pub const EVALUATED_ROWS: usize = 1024;

/// Most rows that [`LibTorchModule::check_events_are_apart`] looks at, and the difference, relative to the largest output,
/// from which outputs are not the same: products of other numbers of rows are summed in another order.
const APART_ROWS: usize = 16;
const APART: f32 = 1e-3;

/// A call of LibTorch.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Which of the module's two functions.
    pub mode: Mode,
    /// Seed of LibTorch's random numbers.
    pub seed: u64,
    /// Batches of the fit before this one.
    pub step: u64,
}

/// The module on LibTorch's side. From [`begin`](Self::begin) to [`end`](Self::end) no other thread runs one.
pub trait LibTorchCalls: Send + Sync {
    /// Makes LibTorch's operators run on this many threads; 0: on as many as it is set to.
    fn begin(&self, threads: usize);
    /// The outputs [rows, outputs]; in training with what goes back, and the state changes. The module's tensors lie in the
    /// caller's memory from here on.
    fn forward(&self, call: Call, x: &[f32], parameters: &[f32], state: &mut [f32], outputs: &mut [f32]) -> Result<()>;
    /// From the adjoint of those outputs the gradient of the parameters.
    fn backward(&self, adjoint: &[f32], gradient: &mut [f32]) -> Result<()>;
    /// The derivatives [rows, outputs, inputs] of each row's outputs by its elements, in evaluation.
    fn gradient(&self, x: &[f32], parameters: &[f32], state: &mut [f32], gradient: &mut [f32]) -> Result<()>;
    /// Gives the tensors back their own memory.
    fn end(&self);
}

/// What is known of it.
pub struct LibTorchModule {
    /// For people.
    pub name: String,
    /// Shape of one event.
    pub shape: Vec<usize>,
    /// Elements that it gives for an event.
    pub outputs: usize,
    /// Length of the flat vector of parameters.
    pub parameters: usize,
    /// Length of the flat vector of state: its buffers.
    pub state: usize,
    /// Whether it computes a single event, in training and in evaluation.
    pub takes_one: [bool; 2],
    /// For each feature whether it is taken as a whole number.
    pub whole: Vec<bool>,
    /// To run it.
    pub calls: Box<dyn LibTorchCalls>,
    /// Whether events of a user's were seen to be apart.
    pub seen_apart: AtomicBool,
}

impl LibTorchModule {
    /// Elements of an event.
    pub fn inputs(&self) -> usize {
        self.shape.iter().product()
    }

    /// Multiplications of an event, a guess: operators may use each parameter many times, and cost more than they multiply.
    pub fn work(&self) -> usize {
        (self.parameters + self.inputs()).saturating_mul(USES)
    }

    /// The outputs [rows, outputs] of `x` in evaluation, which does not change the state. The first call refuses a
    /// module whose outputs for an event depend on the other events of the batch.
    pub fn evaluate(
        &self,
        threads: usize,
        x: &[f32],
        parameters: &[f32],
        state: &[f32],
        outputs: &mut [f32],
    ) -> Result<()> {
        if !self.seen_apart.load(Ordering::Relaxed) {
            self.check_events_are_apart(x, parameters, state)?;
            self.seen_apart.store(true, Ordering::Relaxed);
        }
        self.evaluate_unchecked(threads, x, parameters, state, outputs)
    }

    /// The derivatives [rows, outputs, inputs] of the outputs of each row of `x` in evaluation by its elements.
    pub fn gradient(
        &self,
        threads: usize,
        x: &[f32],
        parameters: &[f32],
        state: &[f32],
        gradient: &mut [f32],
    ) -> Result<()> {
        let running = Running::new(&*self.calls, threads);
        running.0.gradient(x, parameters, &mut state.to_vec(), gradient)
    }

    fn evaluate_unchecked(
        &self,
        threads: usize,
        x: &[f32],
        parameters: &[f32],
        state: &[f32],
        outputs: &mut [f32],
    ) -> Result<()> {
        let running = Running::new(&*self.calls, threads);
        let call = Call { mode: Mode::Evaluation, seed: 0, step: 0 };
        running.0.forward(call, x, parameters, &mut state.to_vec(), outputs)
    }

    /// Refuses a module whose outputs for an event depend on the other events of the batch: compares the first events
    /// of `x` together, in two halves, and each by itself.
    pub fn check_events_are_apart(&self, x: &[f32], parameters: &[f32], state: &[f32]) -> Result<()> {
        let (inputs, outputs) = (self.inputs(), self.outputs);
        let rows = (x.len() / inputs).min(APART_ROWS);
        if rows < 2 {
            return Ok(());
        }
        let of = |from: usize, to: usize| {
            let mut found = vec![0.0; (to - from) * outputs];
            let x = &x[from * inputs..to * inputs];
            self.evaluate_unchecked(0, x, parameters, state, &mut found).map(|()| found)
        };
        let whole = of(0, rows)?;
        let halves = [of(0, rows / 2)?, of(rows / 2, rows)?].concat();
        let alone = if self.takes_one[Mode::Evaluation as usize] { rows } else { 0 };
        let single = (0..alone).map(|row| of(row, row + 1)).collect::<Result<Vec<_>>>()?.concat();
        let scale = whole.iter().filter(|value| value.is_finite()).fold(0.0f32, |most, value| most.max(value.abs()));
        let same = |(a, b): (&f32, &f32)| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= APART * scale;
        let is_whole = |parts: &[f32]| whole.iter().zip(parts).all(same);
        match is_whole(&halves) && is_whole(&single) {
            true => Ok(()),
            false => {
                Err(events_mix(&format!("{} gives an event other outputs with other events beside it", self.name)))
            }
        }
    }
}

/// Ends at its end.
pub(super) struct Running<'a>(pub &'a dyn LibTorchCalls);

impl<'a> Running<'a> {
    pub fn new(calls: &'a dyn LibTorchCalls, threads: usize) -> Self {
        calls.begin(threads);
        Running(calls)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
