//! The row-tile engine: the reverse pass over tiles of rows with Clad's derivatives, tiles over lanes, lanes over
//! rayon's threads.
//!
//! A batch is cut into tiles of [`TILE_ROWS`] rows. A lane is a run of neighbouring tiles with an arena and a gradient
//! of its own. How many lanes a batch has depends on the batch and the network alone, and their gradients are summed
//! in order: the same bits for any number of threads. Nothing is allocated after construction.

use std::sync::Arc;

use rayon::ThreadPool;
use rayon::prelude::*;

use super::{BETA1, BETA2, EPSILON, Engine, Plan, Rows, Settings, TILE_ROWS};
use crate::device::HostBuffer;
use crate::error::{Error, Result};
use crate::graph::{Graph, Loss, Optimiser};
use crate::kernels::{self, Scalar, Sweep};

/// Most lanes a batch is cut into, and most numbers that the lanes' gradients hold together: summing them must stay
/// cheap beside making them.
const MOST_LANES: usize = 8;
const MOST_GRADIENT_NUMBERS: usize = 1 << 21;

/// A network in training on the CPU.
pub struct AotEngine<T> {
    plan: Plan<T>,
    settings: Settings,
    parameters: HostBuffer<T>,
    packed: HostBuffer<T>,
    moments: [HostBuffer<T>; 2],
    steps: i64,
    lanes: Vec<Lane<T>>,
    threads: Arc<ThreadPool>,
}

struct Lane<T> {
    arena: HostBuffer<T>,
    labels: HostBuffer<T>,
    weights: HostBuffer<T>,
    gradient: HostBuffer<T>,
    loss: f64,
}

impl<T: Scalar> AotEngine<T> {
    /// Lays out `graph` with the given parameters for batches of up to `settings.batch_size` rows.
    pub fn new(graph: Graph, parameters: &[T], settings: Settings, threads: usize) -> Result<Self> {
        let length = graph.parameters();
        let plan = Plan::new(graph, TILE_ROWS);
        let lanes = lane_count(settings.batch_size, length);
        Ok(AotEngine {
            lanes: (0..lanes).map(|_| Lane::new(&plan)).collect::<Result<_>>()?,
            packed: HostBuffer::zeros(plan.packed_length())?,
            plan,
            settings,
            parameters: HostBuffer::from_slice(parameters)?,
            moments: [HostBuffer::zeros(length)?, HostBuffer::zeros(length)?],
            steps: 0,
            threads: Arc::new(pool(threads)?),
        })
    }

    /// Adds up the loss of `rows` and leaves its gradient, times `scale`, in the first lane.
    fn gradient(&mut self, data: Rows, rows: &[u32], scale: f64) -> f64 {
        let used = lane_count(rows.len(), self.parameters.as_slice().len()).min(self.lanes.len());
        let lanes = &mut self.lanes[..used];
        self.plan.pack(self.parameters.as_slice(), self.packed.as_mut_slice());
        let network = Network::of(&self.plan, &self.settings, &self.parameters, &self.packed);
        let tiles = rows.len().div_ceil(TILE_ROWS);
        let run = |(index, lane): (usize, &mut Lane<T>)| {
            let first = tiles * index / used * TILE_ROWS;
            let end = (tiles * (index + 1) / used * TILE_ROWS).min(rows.len());
            lane.run(network, data, &rows[first..end], Some(scale));
        };
        match &mut *lanes {
            [lane] => run((0, lane)),
            lanes => lanes.par_iter_mut().enumerate().for_each(run),
        }
        let (first, others) = lanes.split_at_mut(1);
        let sum = first[0].gradient.as_mut_slice();
        for lane in others.iter() {
            T::add(lane.gradient.as_slice(), sum);
        }
        lanes.iter().map(|lane| lane.loss).sum()
    }

    /// The gradient of `sum of scale * weight * loss` over `rows`, with the sum of weight times loss.
    pub fn loss_and_gradient(&mut self, data: Rows, rows: &[u32], scale: f64) -> (f64, &[T]) {
        let loss = self.gradient(data, rows, scale);
        (loss, self.lanes[0].gradient.as_slice())
    }

    fn step(&mut self, data: Rows, rows: &[u32]) -> f64 {
        let loss = self.gradient(data, rows, data.weight_scale / rows.len() as f64);
        self.steps += 1;
        let sweep = Sweep {
            learning_rate: self.settings.learning_rate,
            weight_decay: self.settings.weight_decay,
            momentum: self.settings.momentum,
            beta1: BETA1,
            beta2: BETA2,
            epsilon: EPSILON,
            step: self.steps,
        };
        let (parameters, gradient) = (self.parameters.as_mut_slice(), self.lanes[0].gradient.as_slice());
        let [m, v] = &mut self.moments;
        match self.settings.optimiser {
            Optimiser::Adam => T::adam(&sweep, parameters, gradient, m.as_mut_slice(), v.as_mut_slice()),
            Optimiser::AdamW => T::adamw(&sweep, parameters, gradient, m.as_mut_slice(), v.as_mut_slice()),
            Optimiser::Sgd => T::sgd(&sweep, parameters, gradient, Some(m.as_mut_slice())),
        }
        loss
    }

    fn evaluate_batch(&mut self, data: Rows, rows: &[u32]) -> f64 {
        let network = Network::of(&self.plan, &self.settings, &self.parameters, &self.packed);
        let share = rows.len().div_ceil(self.lanes.len());
        self.lanes.par_iter_mut().zip(rows.par_chunks(share)).for_each(|(lane, rows)| {
            lane.run(network, data, rows, None);
        });
        self.lanes.iter().take(rows.len().div_ceil(share)).map(|lane| lane.loss).sum()
    }
}

/// What every lane reads.
struct Network<'a, T> {
    plan: &'a Plan<T>,
    loss: Loss,
    parameters: &'a [T],
    packed: &'a [T],
}

impl<T> Clone for Network<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Network<'_, T> {}

impl<'a, T: Scalar> Network<'a, T> {
    fn of(plan: &'a Plan<T>, settings: &Settings, parameters: &'a HostBuffer<T>, packed: &'a HostBuffer<T>) -> Self {
        Network { plan, loss: settings.loss, parameters: parameters.as_slice(), packed: packed.as_slice() }
    }
}

impl<T: Scalar> Lane<T> {
    fn new(plan: &Plan<T>) -> Result<Self> {
        Ok(Lane {
            arena: HostBuffer::zeros(plan.arena_length())?,
            labels: HostBuffer::zeros(TILE_ROWS)?,
            weights: HostBuffer::zeros(TILE_ROWS)?,
            gradient: HostBuffer::zeros(plan.graph().parameters())?,
            loss: 0.0,
        })
    }

    /// Runs the tiles of `rows` one after the other; with a `scale`, backward too.
    fn run(&mut self, network: Network<T>, data: Rows, rows: &[u32], scale: Option<f64>) {
        let Network { plan, loss, parameters, packed } = network;
        let arena = self.arena.as_mut_slice();
        let gradient = self.gradient.as_mut_slice();
        self.loss = 0.0;
        if scale.is_some() {
            gradient.fill(T::default());
        }
        for tile in rows.chunks(TILE_ROWS) {
            let count = tile.len();
            let labels = &mut self.labels.as_mut_slice()[..count];
            let weights = &mut self.weights.as_mut_slice()[..count];
            data.gather(tile, plan.input(arena, count), labels, weights);
            plan.forward(parameters, packed, arena, count);
            let (output, adjoint) = plan.output_and_adjoint(arena, count);
            let adjoint = scale.is_some().then_some(adjoint);
            let columns = plan.graph().outputs();
            self.loss += T::loss(loss as u8, count, columns, output, labels, weights, scale.unwrap_or(0.0), adjoint);
            if scale.is_some() {
                plan.backward(parameters, arena, gradient, count);
            }
        }
    }
}

impl<T: Scalar> Engine for AotEngine<T> {
    fn train(&mut self, data: Rows, order: &[u32]) -> Result<f64> {
        in_pool(self, |engine| {
            let batch = engine.settings.batch_size;
            Ok(order.chunks(batch).map(|rows| engine.step(data, rows)).sum())
        })
    }

    fn evaluate(&mut self, data: Rows, order: &[u32]) -> Result<f64> {
        in_pool(self, |engine| {
            engine.plan.pack(engine.parameters.as_slice(), engine.packed.as_mut_slice());
            let block = engine.lanes.len() * TILE_ROWS * 16;
            Ok(order.chunks(block).map(|rows| engine.evaluate_batch(data, rows)).sum())
        })
    }

    fn parameters(&self) -> Result<Vec<f32>> {
        Ok(self.parameters.as_slice().iter().map(|p| p.to_f64() as f32).collect())
    }

    fn describe(&self) -> String {
        format!("aot (derivatives by Clad) on cpu, {} thread(s)", self.threads.current_num_threads())
    }
}

/// Runs `work` on one of the engine's own threads, so that a step costs no hand-over between pools.
fn in_pool<T: Scalar, R: Send>(engine: &mut AotEngine<T>, work: impl FnOnce(&mut AotEngine<T>) -> R + Send) -> R {
    let threads = Arc::clone(&engine.threads);
    threads.install(|| work(engine))
}

fn lane_count(rows: usize, parameters: usize) -> usize {
    let affordable = (MOST_GRADIENT_NUMBERS / parameters.max(1)).max(2);
    rows.div_ceil(TILE_ROWS).min(MOST_LANES).min(affordable).max(1)
}

/// A pool of `threads` threads (0: as many as the machine has), each with its BLAS on one thread.
pub(crate) fn pool(threads: usize) -> Result<ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|index| format!("cladtorch-{index}"))
        .start_handler(|_| {
            kernels::blas_single_thread();
        })
        .build()
        .map_err(|error| Error::invalid(format!("{threads} threads could not be started: {error}"), "use fewer"))
}
