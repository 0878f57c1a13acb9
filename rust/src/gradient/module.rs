//! The engine of any module: its program for the rows of a batch, Clad's derivatives back through it, one update of the
//! flat parameter vector. Batches whose rows do not know each other run in blocks of rows on all threads; the bits are the
//! same for any number of them. Nothing is allocated after the first steps of each number of rows.

use std::sync::Arc;

use rayon::ThreadPool;

use super::noise::Noise;
use super::pass::{Memory, Passes};
use super::{Engine, RowLoss, Rows, Settings};
use crate::device::{Element, HostBuffer, thread_pool};
use crate::error::Result;
use crate::graph::{Mode, Module};
use crate::kernels::Scalar;
use crate::optimizer::Optimizer;

/// Numbers of values that an evaluation keeps at once, and most rows of it.
const EVALUATED_NUMBERS: usize = 1 << 24;
const EVALUATED_ROWS: usize = 1024;

/// A module in training on the CPU.
pub struct ModuleEngine<T> {
    module: Arc<Module>,
    settings: Settings,
    row_loss: Option<RowLoss>,
    seed: u64,
    parameters: HostBuffer<T>,
    state: HostBuffer<T>,
    gradient: HostBuffer<T>,
    optimizer: Optimizer<T>,
    training: Passes<T>,
    evaluation: Passes<T>,
    batch: Batch<T>,
    threads: Arc<ThreadPool>,
}

/// Rows that are gathered, with room for some more, and the adjoint of their outputs.
struct Batch<T> {
    x: HostBuffer<T>,
    labels: HostBuffer<T>,
    weights: HostBuffer<T>,
    adjoint: HostBuffer<T>,
}

impl<T: Scalar + Element> ModuleEngine<T> {
    /// Lays out `module` with these parameters and this state. `seed` is that of dropout.
    pub fn new(
        module: Arc<Module>,
        parameters: &[T],
        state: &[T],
        settings: Settings,
        seed: u64,
        threads: usize,
    ) -> Result<Self> {
        let batch = Batch::new(&module, (settings.batch_size + 1).max(evaluated_rows(&module)))?;
        Ok(ModuleEngine {
            parameters: HostBuffer::from_slice(parameters)?,
            state: HostBuffer::from_slice(state)?,
            gradient: HostBuffer::zeros(parameters.len())?,
            optimizer: Optimizer::new(settings.rule(), parameters.len())?,
            training: Passes::new(Mode::Training),
            evaluation: Passes::new(Mode::Evaluation),
            batch,
            settings,
            row_loss: None,
            seed,
            threads: Arc::new(thread_pool(threads)?),
            module,
        })
    }

    /// With a user's loss instead of that of the settings.
    pub fn with_row_loss(self, loss: RowLoss) -> Self {
        ModuleEngine { row_loss: Some(loss), ..self }
    }

    /// The gradient of `sum of scale * weight * loss` over `rows`, with the sum of weight times loss. The state changes.
    pub fn loss_and_gradient(&mut self, data: Rows, rows: &[u32], scale: f64) -> Result<(f64, Vec<T>)> {
        let loss = self.differentiate(data, rows, scale)?;
        Ok((loss, self.gradient.as_slice().to_vec()))
    }

    /// On the threads of the present pool.
    fn differentiate(&mut self, data: Rows, rows: &[u32], scale: f64) -> Result<f64> {
        let ModuleEngine { module, settings, row_loss, parameters, state, gradient, training, batch, .. } = self;
        let pass = training.of(module, rows.len())?;
        pass.draw(Noise::new(self.seed, self.optimizer.state().steps as u64));
        let [x, labels, weights, adjoint] = batch.gather(module, settings, row_loss.as_ref(), data, rows);
        let mut memory = Memory { x, parameters: parameters.as_slice(), state: state.as_mut_slice() };
        let outputs = pass.forward(module, &mut memory)?;
        let loss = loss_of(module, settings, row_loss.as_ref(), outputs, labels, weights, Some((scale, &mut *adjoint)));
        pass.backward(module, &mut memory, adjoint, gradient.as_mut_slice());
        Ok(loss)
    }

    fn step(&mut self, data: Rows, rows: &[u32]) -> Result<f64> {
        let loss = self.differentiate(data, rows, data.weight_scale / rows.len() as f64)?;
        let (parameters, gradient) = (self.parameters.as_mut_slice(), self.gradient.as_mut_slice());
        self.optimizer.update(self.settings.learning_rate, parameters, gradient, |_, _| ());
        Ok(loss)
    }

    fn evaluate_block(&mut self, data: Rows, rows: &[u32]) -> Result<f64> {
        let ModuleEngine { module, settings, row_loss, parameters, state, evaluation, batch, .. } = self;
        let pass = evaluation.of(module, rows.len())?;
        let [x, labels, weights, _] = batch.gather(module, settings, row_loss.as_ref(), data, rows);
        let mut memory = Memory { x, parameters: parameters.as_slice(), state: state.as_mut_slice() };
        let outputs = pass.forward(module, &mut memory)?;
        Ok(loss_of(module, settings, row_loss.as_ref(), outputs, labels, weights, None))
    }

    /// Runs `step` on each of `batches` on the engine's threads; returns the sum of what it gives.
    fn sum(&mut self, batches: Batches, step: fn(&mut Self, Rows, &[u32]) -> Result<f64>, data: Rows) -> Result<f64>
    where
        Self: Send,
    {
        let threads = Arc::clone(&self.threads);
        threads.install(|| batches.map(|rows| step(self, data, rows)).sum())
    }
}

fn loss_of<T: Scalar>(
    module: &Module,
    settings: &Settings,
    row_loss: Option<&RowLoss>,
    outputs: &[T],
    labels: &[T],
    weights: &[T],
    scaled: Option<(f64, &mut [T])>,
) -> f64 {
    let (scale, adjoint) = scaled.map_or((0.0, None), |(scale, adjoint)| (scale, Some(adjoint)));
    match row_loss {
        Some(own) => own.run(outputs, labels, weights, scale, adjoint),
        None => {
            let (loss, columns) = (settings.loss as u8, module.outputs());
            T::loss(loss, weights.len(), columns, outputs, labels, weights, scale, adjoint)
        }
    }
}

/// Rows whose values an evaluation keeps at once.
pub fn evaluated_rows(module: &Module) -> usize {
    (EVALUATED_NUMBERS / module.cost().numbers).clamp(8, EVALUATED_ROWS)
}

impl<T: Scalar> Batch<T> {
    fn new(module: &Module, rows: usize) -> Result<Self> {
        Ok(Batch {
            x: HostBuffer::zeros(rows * module.inputs())?,
            labels: HostBuffer::zeros(rows * module.outputs())?,
            weights: HostBuffer::zeros(rows)?,
            adjoint: HostBuffer::zeros(rows * module.outputs())?,
        })
    }

    /// The given rows: features, labels and weights; and room for the adjoint of their outputs.
    fn gather(
        &mut self,
        module: &Module,
        settings: &Settings,
        row_loss: Option<&RowLoss>,
        data: Rows,
        rows: &[u32],
    ) -> [&mut [T]; 4] {
        let (count, outputs) = (rows.len(), module.outputs());
        let targets = if row_loss.is_some() { 1 } else { settings.loss.targets(outputs) };
        let x = &mut self.x.as_mut_slice()[..count * module.inputs()];
        let labels = &mut self.labels.as_mut_slice()[..count * targets];
        let weights = &mut self.weights.as_mut_slice()[..count];
        data.gather_dense(rows, x, labels, weights);
        [x, labels, weights, &mut self.adjoint.as_mut_slice()[..count * outputs]]
    }
}

/// The batches of an epoch, of `size` rows each but the last. A single row that is left over joins the batch before it
/// where the module does not take one alone, as batch normalisation does not in training.
pub struct Batches<'a> {
    order: &'a [u32],
    size: usize,
    joins_one: bool,
}

impl<'a> Batches<'a> {
    /// Of `order`.
    pub fn new(module: &Module, mode: Mode, order: &'a [u32], size: usize) -> Self {
        Batches { order, size, joins_one: !module.takes_one(mode) }
    }
}

impl<'a> Iterator for Batches<'a> {
    type Item = &'a [u32];

    fn next(&mut self) -> Option<&'a [u32]> {
        let one_is_left = self.joins_one && self.order.len() == self.size + 1;
        let (batch, rest) =
            self.order.split_at_checked(self.size).filter(|_| !one_is_left).unwrap_or((self.order, &[]));
        self.order = rest;
        (!batch.is_empty()).then_some(batch)
    }
}

impl<T: Scalar + Element> Engine for ModuleEngine<T>
where
    Self: Send,
{
    fn train(&mut self, data: Rows, order: &[u32]) -> Result<f64> {
        let module = Arc::clone(&self.module);
        self.sum(Batches::new(&module, Mode::Training, order, self.settings.batch_size), Self::step, data)
    }

    fn evaluate(&mut self, data: Rows, order: &[u32]) -> Result<f64> {
        let module = Arc::clone(&self.module);
        let rows = evaluated_rows(&module) - 1;
        self.sum(Batches::new(&module, Mode::Evaluation, order, rows), Self::evaluate_block, data)
    }

    fn set_learning_rate(&mut self, rate: f64) {
        self.settings.learning_rate = rate;
    }

    fn parameters(&self) -> Result<Vec<f32>> {
        Ok(self.parameters.as_slice().iter().map(|p| p.to_f64() as f32).collect())
    }

    fn state(&self) -> Vec<f32> {
        self.state.as_slice().iter().map(|s| s.to_f64() as f32).collect()
    }

    fn batches(&self) -> u64 {
        self.optimizer.state().steps as u64
    }

    fn takes_one(&self) -> bool {
        self.module.takes_one(Mode::Training)
    }

    fn describe(&self) -> String {
        format!("aot (derivatives by Clad) on cpu, {} thread(s)", self.threads.current_num_threads())
    }
}
