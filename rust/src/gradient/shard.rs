//! One share of a batch: tiles of rows, one after the other, in the memory of the thread that runs it.

use super::batches::batches;
use super::module::{ModuleMemory, Tile};
use super::objective::Objective;
use super::{ModuleTiles, Rows};
use crate::device::{Element, HostBuffer};
use crate::error::Result;
use crate::graph::Mode;
use crate::kernels::Scalar;

/// The data that all shards of a batch share.
pub struct Share<'a, T> {
    pub network: &'a ModuleTiles<T>,
    pub objective: Objective<'a>,
    pub data: Rows<'a>,
    /// In the network's own order.
    pub parameters: &'a [T],
    /// What [`ModuleTiles::derive`] made of them.
    pub derived: &'a [T],
    /// Threads of the present pool for a tile: those that have no shard of their own.
    pub threads: usize,
    /// Steps of the optimiser so far.
    pub step: u64,
}

/// A thread's buffers for tiles. They are a thread's and not a shard's, so that the next shard finds them in its caches.
pub struct Workspace<T> {
    memory: ModuleMemory<T>,
    labels: HostBuffer<T>,
    weights: HostBuffer<T>,
    output: HostBuffer<T>,
    adjoint: HostBuffer<T>,
}

impl<T: Scalar + Element> Workspace<T> {
    /// For tiles of up to `rows` rows.
    pub fn new(network: &ModuleTiles<T>, rows: usize) -> Result<Self> {
        let outputs = network.outputs();
        Ok(Workspace {
            memory: network.memory()?,
            labels: HostBuffer::zeros(rows * outputs)?,
            weights: HostBuffer::zeros(rows)?,
            output: HostBuffer::zeros(rows * outputs)?,
            adjoint: HostBuffer::zeros(rows * outputs)?,
        })
    }

    /// The sum of weight times loss over `rows`.
    pub fn evaluate(&mut self, share: &Share<T>, rows: &[u32], tile: usize) -> Result<f64> {
        let tiles = batches(rows, tile, share.network.takes_one(Mode::Evaluation));
        tiles.map(|rows| self.forward(share, rows, Mode::Evaluation, 0, None)).sum()
    }

    /// The same for one tile, which is number `place` of its batch; with a `scale`, the adjoint of the outputs too.
    fn forward(&mut self, share: &Share<T>, rows: &[u32], mode: Mode, place: u64, scale: Option<f64>) -> Result<f64> {
        let &Share { network, objective, data, .. } = share;
        let (count, columns) = (rows.len(), network.outputs());
        let labels = &mut self.labels.as_mut_slice()[..count * objective.targets(columns)];
        let weights = &mut self.weights.as_mut_slice()[..count];
        let output = &mut self.output.as_mut_slice()[..count * columns];
        let adjoint = &mut self.adjoint.as_mut_slice()[..count * columns];
        network.forward(&mut self.memory, &share.tile(rows, place), mode, output)?;
        data.gather_targets(rows, labels, weights);
        let (wanted, factor) = (scale.is_some().then_some(adjoint), scale.unwrap_or(0.0));
        Ok(objective.run(columns, output, labels, weights, factor, wanted))
    }
}

impl<T> Share<'_, T> {
    fn tile<'a>(&'a self, rows: &'a [u32], place: u64) -> Tile<'a, T> {
        let &Share { data, parameters, derived, threads, step, .. } = self;
        Tile { data, rows, parameters, derived, threads, place: [step, place] }
    }
}

/// A shard with the result of its last run.
pub struct Shard<T> {
    gradient: HostBuffer<T>,
    loss: f64,
}

impl<T: Scalar + Element> Shard<T> {
    /// For this many parameters.
    pub fn new(parameters: usize) -> Result<Self> {
        Ok(Shard { gradient: HostBuffer::zeros(parameters)?, loss: 0.0 })
    }

    /// The gradient of `scale * weight * loss` over `rows`, in tiles of `tile` rows; `place` tiles come before them.
    pub fn run(
        &mut self,
        space: &mut Workspace<T>,
        share: &Share<T>,
        rows: &[u32],
        tile: usize,
        place: usize,
        scale: f64,
    ) -> Result<()> {
        self.loss = 0.0;
        if rows.is_empty() {
            self.gradient.as_mut_slice().fill(T::default()); // more processes than tiles
        }
        let tiles = batches(rows, tile, share.network.takes_one(Mode::Training));
        for (index, rows) in tiles.enumerate() {
            let place = (place + index) as u64;
            self.loss += space.forward(share, rows, Mode::Training, place, Some(scale))?;
            let adjoint = &space.adjoint.as_slice()[..rows.len() * share.network.outputs()];
            let gradient = self.gradient.as_mut_slice();
            share.network.backward(&mut space.memory, &share.tile(rows, place), adjoint, index > 0, gradient);
        }
        Ok(())
    }

    /// The sum of weight times loss over the last run's rows.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    /// The last run's gradient, in the network's own order.
    pub fn gradient(&self) -> &[T] {
        self.gradient.as_slice()
    }

    /// The same, to be changed.
    pub fn gradient_mut(&mut self) -> &mut [T] {
        self.gradient.as_mut_slice()
    }
}
