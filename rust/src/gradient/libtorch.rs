//! A module as LibTorch itself runs it, with its autograd: where an operator has no kernel, and where a fit asks for it.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::ThreadPool;

use super::batches::batches;
use super::objective::Objective;
use super::{BackEnd, CustomLoss, Engine, Rows, Settings, Snapshot, Steps};
use crate::device::{HostBuffer, thread_pool};
use crate::error::Result;
use crate::graph::{Mode, events_mix};
use crate::optimizer::{Optimizer, State};

/// How often a parameter is used for an event, about.
const USES: usize = 256;

/// Most rows of an evaluation.
pub const EVALUATED_ROWS: usize = 1024;

/// Most rows that [`LibTorchModule::check_events_are_apart`] looks at, and the difference, relative to the largest output,
/// from which outputs are not the same: products of other numbers of rows are summed in another order.
const APART_ROWS: usize = 16;
const APART: f32 = 1e-3;

/// What LibTorch is to compute.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Which of the module's two functions.
    pub mode: Mode,
    /// Of LibTorch's random numbers.
    pub seed: u64,
    /// Batches of the fit before this one.
    pub step: u64,
}

/// The module on LibTorch's side. From [`begin`](Self::begin) to [`end`](Self::end) no other thread runs one.
pub trait LibTorchCalls: Send + Sync {
    /// LibTorch's operators run on so many threads; 0: on as many as it is set to.
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
    /// Of one event.
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

    /// The outputs [rows, outputs] of `x` in evaluation, which leaves the state as it is. The first call refuses a module whose
    /// outputs for an event change with the events beside it.
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

    /// Refuses a module whose outputs for an event change with the events beside it: here of the first of `x`, in two halves,
    /// and each by itself.
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
struct Running<'a>(&'a dyn LibTorchCalls);

impl<'a> Running<'a> {
    fn new(calls: &'a dyn LibTorchCalls, threads: usize) -> Self {
        calls.begin(threads);
        Running(calls)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Such a module in training on the CPU: batches of rows whole, their loss by the kernels, LibTorch's gradient, one update of
/// the flat parameter vector.
pub struct LibTorchEngine {
    module: Arc<LibTorchModule>,
    settings: Settings,
    custom_loss: Option<CustomLoss>,
    /// Of LibTorch's threads; 0: as many as it is set to.
    threads: usize,
    seed: u64,
    parameters: HostBuffer<f32>,
    state: HostBuffer<f32>,
    gradient: HostBuffer<f32>,
    optimizer: Optimizer<f32>,
    batch: Batch,
    pool: Arc<ThreadPool>,
}

/// Rows that are gathered, their outputs and the adjoint of these.
struct Batch {
    x: HostBuffer<f32>,
    labels: HostBuffer<f32>,
    weights: HostBuffer<f32>,
    outputs: HostBuffer<f32>,
    adjoint: HostBuffer<f32>,
}

/// The parts of a [`Batch`] for so many rows.
struct Gathered<'a> {
    x: &'a mut [f32],
    labels: &'a mut [f32],
    weights: &'a mut [f32],
    outputs: &'a mut [f32],
    adjoint: &'a mut [f32],
}

impl Batch {
    fn new(rows: usize, inputs: usize, outputs: usize) -> Result<Self> {
        Ok(Batch {
            x: HostBuffer::zeros(rows * inputs)?,
            labels: HostBuffer::zeros(rows * outputs)?,
            weights: HostBuffer::zeros(rows)?,
            outputs: HostBuffer::zeros(rows * outputs)?,
            adjoint: HostBuffer::zeros(rows * outputs)?,
        })
    }

    fn gather(&mut self, data: Rows, rows: &[u32], objective: Objective, outputs: usize) -> Gathered<'_> {
        let count = rows.len();
        let x = &mut self.x.as_mut_slice()[..count * data.scaler.mean.len()];
        let labels = &mut self.labels.as_mut_slice()[..count * objective.targets(outputs)];
        let weights = &mut self.weights.as_mut_slice()[..count];
        data.gather_dense(rows, x);
        data.gather_targets(rows, labels, weights);
        let outputs = count * outputs;
        let (adjoint, outputs) =
            (&mut self.adjoint.as_mut_slice()[..outputs], &mut self.outputs.as_mut_slice()[..outputs]);
        Gathered { x, labels, weights, outputs, adjoint }
    }
}

impl LibTorchEngine {
    /// Trains `module`, which starts from these parameters and this state, on so many of LibTorch's threads; 0: on as many as
    /// it is set to. `seed` is that of its random numbers.
    pub fn new(
        module: &Arc<LibTorchModule>,
        parameters: &[f32],
        state: &[f32],
        settings: Settings,
        seed: u64,
        threads: usize,
    ) -> Result<Self> {
        // A row more where a single one joins the others.
        let rows = (settings.batch_size + 1).max(EVALUATED_ROWS + 1);
        Ok(LibTorchEngine {
            batch: Batch::new(rows, module.inputs(), module.outputs)?,
            module: Arc::clone(module),
            settings,
            custom_loss: None,
            threads,
            seed,
            parameters: HostBuffer::from_slice(parameters)?,
            state: HostBuffer::from_slice(state)?,
            gradient: HostBuffer::zeros(parameters.len())?,
            optimizer: Optimizer::new(settings.rule(), parameters.len())?,
            pool: Arc::new(thread_pool(threads)?),
        })
    }

    /// With a user's loss instead of that of the settings.
    pub fn with_custom_loss(self, loss: impl Into<CustomLoss>) -> Self {
        LibTorchEngine { custom_loss: Some(loss.into()), ..self }
    }

    /// Leaves these parts of the flat parameter vector, apart and in order, as they are.
    pub fn with_frozen(mut self, frozen: &[Range<usize>]) -> Self {
        self.optimizer.leave(frozen);
        self
    }

    /// One optimiser step as `rate` says of the sum of weight times loss, which it returns.
    fn step(&mut self, data: Rows, rows: &[u32], rate: impl FnOnce(f64) -> Result<f64>) -> Result<f64> {
        let LibTorchEngine { module, settings, custom_loss, parameters, state, gradient, optimizer, batch, .. } = self;
        let objective = settings.objective(custom_loss.as_ref());
        let Gathered { x, labels, weights, outputs, adjoint } = batch.gather(data, rows, objective, module.outputs);
        let step = optimizer.state().steps as u64;
        // Another seed in each step: the golden ratio's multiples are far from each other.
        let seed = self.seed ^ step.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let running = Running::new(&*module.calls, self.threads);
        let call = Call { mode: Mode::Training, seed, step };
        running.0.forward(call, x, parameters.as_slice(), state.as_mut_slice(), outputs)?;
        let scale = data.weight_scale / rows.len() as f64;
        let value = objective.run(module.outputs, outputs, labels, weights, scale, Some(&mut *adjoint));
        running.0.backward(adjoint, gradient.as_mut_slice())?;
        drop(running);
        optimizer.update(rate(value)?, parameters.as_mut_slice(), gradient.as_mut_slice(), |_, _| ());
        Ok(value)
    }

    fn evaluate_batch(&mut self, data: Rows, rows: &[u32]) -> Result<f64> {
        let LibTorchEngine { module, settings, custom_loss, parameters, state, batch, .. } = self;
        let objective = settings.objective(custom_loss.as_ref());
        let Gathered { x, labels, weights, outputs, .. } = batch.gather(data, rows, objective, module.outputs);
        module.evaluate(self.threads, x, parameters.as_slice(), state.as_slice(), outputs)?;
        Ok(objective.run(module.outputs, outputs, labels, weights, 0.0, None))
    }
}

impl Engine for LibTorchEngine {
    fn train(&mut self, data: Rows, order: &[u32], steps: &dyn Steps) -> Result<f64> {
        let pool = Arc::clone(&self.pool);
        let (size, takes_one) = (self.settings.batch_size, self.takes_one());
        let batches = batches(order, size, takes_one).enumerate();
        pool.install(|| batches.map(|(batch, rows)| self.step(data, rows, |loss| steps.rate(batch, loss))).sum())
    }

    fn evaluate(&mut self, data: Rows, order: &[u32]) -> Result<f64> {
        let pool = Arc::clone(&self.pool);
        let takes_one = self.module.takes_one[Mode::Evaluation as usize];
        let blocks = batches(order, EVALUATED_ROWS, takes_one);
        pool.install(|| blocks.map(|rows| self.evaluate_batch(data, rows)).sum())
    }

    fn parameters(&self) -> Result<Vec<f32>> {
        Ok(self.parameters.as_slice().to_vec())
    }

    fn state(&self) -> Vec<f32> {
        self.state.as_slice().to_vec()
    }

    fn batches(&self) -> u64 {
        self.optimizer.state().steps as u64
    }

    fn snapshot(&self) -> Result<Snapshot> {
        let State { steps, moments } = self.optimizer.state();
        Ok(Snapshot {
            parameters: self.parameters.as_slice().to_vec(),
            state: self.state.as_slice().to_vec(),
            moments: moments.map(<[f32]>::to_vec),
            steps: steps as u64,
        })
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<()> {
        let steps = i64::try_from(snapshot.steps).unwrap_or(i64::MAX);
        self.optimizer.set_state(State { steps, moments: snapshot.moments.each_ref().map(Vec::as_slice) })?;
        self.parameters.as_mut_slice().copy_from_slice(&snapshot.parameters);
        self.state.as_mut_slice().copy_from_slice(&snapshot.state);
        Ok(())
    }

    fn takes_one(&self) -> bool {
        self.module.takes_one[Mode::Training as usize]
    }

    fn describe(&self) -> String {
        let threads = if self.threads == 0 { tch::get_num_threads() as usize } else { self.threads };
        format!("{} on cpu, {threads} thread(s)", BackEnd::Autograd.title())
    }
}
