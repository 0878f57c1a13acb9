//! A module in training, run by LibTorch.

use std::ops::Range;
use std::sync::Arc;

use rayon::ThreadPool;

use super::super::batches::batches;
use super::super::objective::Objective;
use super::super::{BackEnd, CustomLoss, Engine, Rows, Settings, Snapshot, Steps};
use super::module::{Call, EVALUATED_ROWS, LibTorchModule, Running};
use crate::device::{HostBuffer, thread_pool};
use crate::error::Result;
use crate::graph::Mode;
use crate::optimiser::{HostOptimiser, State};

/// A module of LibTorch in training on the CPU: batches of rows whole, their loss by the kernels, LibTorch's gradient, one update of
/// the flat parameter vector.
pub struct LibTorchEngine {
    module: Arc<LibTorchModule>,
    settings: Settings,
    custom_loss: Option<CustomLoss>,
    /// Number of LibTorch's threads; 0: as many as it is set to.
    threads: usize,
    seed: u64,
    parameters: HostBuffer<f32>,
    state: HostBuffer<f32>,
    gradient: HostBuffer<f32>,
    optimiser: HostOptimiser<f32>,
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

/// The parts of a [`Batch`] for this many rows.
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
    /// Trains `module`, which starts from these parameters and this state, on this many of LibTorch's threads; 0: on as
    /// many as LibTorch is set to. `seed` is that of its random numbers.
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
            optimiser: HostOptimiser::new(settings.rule(), parameters.len())?,
            pool: Arc::new(thread_pool(threads)?),
        })
    }

    /// With a user's loss instead of that of the settings.
    pub fn with_custom_loss(self, loss: impl Into<CustomLoss>) -> Self {
        LibTorchEngine { custom_loss: Some(loss.into()), ..self }
    }

    /// Freezes these parts of the flat parameter vector, which are disjoint and in order.
    pub fn with_frozen(mut self, frozen: &[Range<usize>]) -> Self {
        self.optimiser.leave(frozen);
        self
    }

    /// One optimiser step as `rate` says of the sum of weight times loss, which it returns.
    fn step(&mut self, data: Rows, rows: &[u32], rate: impl FnOnce(f64) -> Result<f64>) -> Result<f64> {
        let LibTorchEngine { module, settings, custom_loss, parameters, state, gradient, optimiser, batch, .. } = self;
        let objective = settings.objective(custom_loss.as_ref());
        let Gathered { x, labels, weights, outputs, adjoint } = batch.gather(data, rows, objective, module.outputs);
        let step = optimiser.state().steps as u64;
        // Another seed in each step: the golden ratio's multiples are far from each other.
        let seed = self.seed ^ step.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let running = Running::new(&*module.calls, self.threads);
        let call = Call { mode: Mode::Training, seed, step };
        running.0.forward(call, x, parameters.as_slice(), state.as_mut_slice(), outputs)?;
        let scale = data.weight_scale / rows.len() as f64;
        let value = objective.run(module.outputs, outputs, labels, weights, scale, Some(&mut *adjoint));
        running.0.backward(adjoint, gradient.as_mut_slice())?;
        drop(running);
        optimiser.update(rate(value)?, parameters.as_mut_slice(), gradient.as_mut_slice(), |_, _| ());
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
        self.optimiser.state().steps as u64
    }

    fn snapshot(&self) -> Result<Snapshot> {
        let State { steps, moments } = self.optimiser.state();
        Ok(Snapshot {
            parameters: self.parameters.as_slice().to_vec(),
            state: self.state.as_slice().to_vec(),
            moments: moments.map(<[f32]>::to_vec),
            steps: steps as u64,
        })
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<()> {
        let steps = i64::try_from(snapshot.steps).unwrap_or(i64::MAX);
        self.optimiser.set_state(State { steps, moments: snapshot.moments.each_ref().map(Vec::as_slice) })?;
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
