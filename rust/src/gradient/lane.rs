//! One share of a batch: tiles of rows, one after the other, in the workspace of whoever runs it.

use super::{Plan, RowLoss, Rows, TILE_ROWS};
use crate::device::HostBuffer;
use crate::error::Result;
use crate::graph::Loss;
use crate::kernels::Scalar;

/// What every lane reads.
pub struct Network<'a, T> {
    pub plan: &'a Plan<T>,
    pub loss: Loss,
    /// Instead of `loss`.
    pub row_loss: Option<&'a RowLoss>,
    /// In panels.
    pub parameters: &'a [T],
    /// What [`Plan::transpose`] made of them.
    pub transposed: &'a [T],
    /// Threads of the present pool for one layer: those that have no lane of their own.
    pub threads: usize,
}

/// A thread's buffers for tiles. They are a thread's and not a lane's, so that the next lane finds them in its caches.
pub struct Workspace<T> {
    arena: HostBuffer<T>,
    labels: HostBuffer<T>,
    weights: HostBuffer<T>,
    output: HostBuffer<T>,
    adjoint: HostBuffer<T>,
}

impl<T: Scalar> Workspace<T> {
    /// For tiles of `plan`.
    pub fn new(plan: &Plan<T>) -> Result<Self> {
        let outputs = plan.graph().outputs();
        Ok(Workspace {
            arena: HostBuffer::zeros(plan.arena_length())?,
            labels: HostBuffer::zeros(TILE_ROWS * outputs)?,
            weights: HostBuffer::zeros(TILE_ROWS)?,
            output: HostBuffer::zeros(TILE_ROWS * outputs)?,
            adjoint: HostBuffer::zeros(TILE_ROWS * outputs)?,
        })
    }
}

/// What came out of the last run.
pub struct Lane<T> {
    gradient: HostBuffer<T>,
    loss: f64,
}

impl<T: Scalar> Lane<T> {
    /// For the parameters of `plan`.
    pub fn new(plan: &Plan<T>) -> Result<Self> {
        Ok(Lane { gradient: HostBuffer::zeros(plan.parameters_length())?, loss: 0.0 })
    }

    /// Runs `rows`; with a `scale`, the gradient of `scale * weight * loss` too.
    pub fn run(
        &mut self,
        space: &mut Workspace<T>,
        network: &Network<T>,
        data: Rows,
        rows: &[u32],
        scale: Option<f64>,
    ) {
        let Network { plan, loss, row_loss, parameters, transposed, threads } = *network;
        let arena = space.arena.as_mut_slice();
        let columns = plan.graph().outputs();
        let targets = if row_loss.is_some() { 1 } else { loss.targets(columns) };
        self.loss = 0.0;
        for (index, tile) in rows.chunks(TILE_ROWS).enumerate() {
            let count = tile.len();
            let labels = &mut space.labels.as_mut_slice()[..count * targets];
            let weights = &mut space.weights.as_mut_slice()[..count];
            let output = &mut space.output.as_mut_slice()[..count * columns];
            let adjoint = &mut space.adjoint.as_mut_slice()[..count * columns];
            data.gather(tile, plan.input(arena, count), labels, weights);
            plan.forward(parameters, arena, count, threads);
            plan.output(arena, output);
            let wanted = scale.is_some().then_some(&mut *adjoint);
            let factor = scale.unwrap_or(0.0);
            self.loss += match row_loss {
                Some(own) => own.run(output, labels, weights, factor, wanted),
                None => T::loss(loss as u8, count, columns, output, labels, weights, factor, wanted),
            };
            if scale.is_some() {
                plan.backward(transposed, adjoint, arena, self.gradient.as_mut_slice(), index > 0, threads);
            }
        }
    }

    /// The sum of weight times loss over the last run's rows.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    /// The last run's gradient, in panels.
    pub fn gradient(&self) -> &[T] {
        self.gradient.as_slice()
    }

    /// The same, to be changed.
    pub fn gradient_mut(&mut self) -> &mut [T] {
        self.gradient.as_mut_slice()
    }
}
