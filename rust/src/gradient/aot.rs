//! The row-tile engine: the reverse pass over tiles of rows with Clad's derivatives, tiles over lanes, lanes over
//! threads.
//!
//! A batch is cut into tiles of [`TILE_ROWS`] rows. A lane is a run of neighbouring tiles with a gradient of its own. How
//! many lanes a batch has depends on the batch and the network alone, and their gradients are summed in order: the same
//! bits for any number of threads. The threads stay together for an epoch: each takes the next lane that is left, and
//! whoever finishes last makes the step while the others wait for it. Where there are more threads than lanes, they share
//! large layers ([`Shares`](super::shares::Shares)). Nothing is allocated after construction but what hands an epoch to
//! the threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::thread;

use rayon::ThreadPool;
use rayon::prelude::*;

use super::lane::{Lane, Network, Workspace};
use super::rendezvous::{MOST_MEMBERS, Rendezvous};
use super::{Engine, Plan, RowLoss, Rows, Settings, TILE_ROWS};
use crate::device::{HostBuffer, thread_pool};
use crate::error::Result;
use crate::graph::Graph;
use crate::kernels::Scalar;
use crate::optimizer::Optimizer;

/// Most lanes a batch is cut into, and most numbers that the lanes' gradients hold together: summing them must stay
/// cheap beside making them.
const MOST_LANES: usize = MOST_MEMBERS;
const MOST_GRADIENT_NUMBERS: usize = 1 << 22;

/// A network in training on the CPU.
pub struct AotEngine<T> {
    plan: Plan<T>,
    settings: Settings,
    row_loss: Option<RowLoss>,
    state: RwLock<State<T>>,
    lanes: Vec<Mutex<Lane<T>>>,
    /// One for each thread that takes part in a step, of which there are no more than lanes.
    workspaces: Vec<Mutex<Workspace<T>>>,
    threads: ThreadPool,
    /// That the threads may use.
    processors: usize,
}

/// What a step changes; in panels.
struct State<T> {
    parameters: HostBuffer<T>,
    transposed: HostBuffer<T>,
    optimizer: Optimizer<T>,
}

/// What the threads of one epoch share.
struct Epoch<'a> {
    data: Rows<'a>,
    order: &'a [u32],
    meeting: Rendezvous,
    /// The next lane of the batch that nobody has taken.
    next: AtomicUsize,
    loss: Mutex<f64>,
}

impl<T: Scalar> AotEngine<T> {
    /// Lays out `graph` with the given parameters for batches of up to `settings.batch_size` rows.
    pub fn new(graph: Graph, parameters: &[T], settings: Settings, threads: usize) -> Result<Self> {
        let lanes = lane_count(settings.batch_size, graph.parameters());
        let plan = Plan::new(graph, TILE_ROWS);
        let length = plan.parameters_length();
        let mut state = State {
            parameters: HostBuffer::zeros(length)?,
            transposed: HostBuffer::zeros(plan.transposed_length())?,
            optimizer: Optimizer::new(settings.rule(), length)?,
        };
        plan.pack(parameters, state.parameters.as_mut_slice());
        plan.transpose(state.parameters.as_slice(), state.transposed.as_mut_slice());
        Ok(AotEngine {
            workspaces: (0..lanes).map(|_| Workspace::new(&plan).map(Mutex::new)).collect::<Result<_>>()?,
            lanes: (0..lanes).map(|_| Lane::new(&plan).map(Mutex::new)).collect::<Result<_>>()?,
            state: RwLock::new(state),
            plan,
            settings,
            row_loss: None,
            threads: thread_pool(threads)?,
            processors: thread::available_parallelism().map_or(1, usize::from),
        })
    }

    /// With a user's loss instead of that of the settings.
    pub fn with_row_loss(self, loss: RowLoss) -> Self {
        AotEngine { row_loss: Some(loss), ..self }
    }

    /// Lanes that a batch of `rows` rows has.
    fn used(&self, rows: usize) -> usize {
        lane_count(rows, self.plan.graph().parameters()).min(self.lanes.len())
    }

    /// Takes lanes of the batch `rows` until none is left, as thread `member`.
    fn run_lanes(&self, member: usize, data: Rows, rows: &[u32], scale: f64, next: &AtomicUsize) {
        let (used, tiles) = (self.used(rows.len()), rows.len().div_ceil(TILE_ROWS));
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let threads = (rayon::current_num_threads() / used).max(1);
        let network = Network { threads, ..state.network(self) };
        let mut space = lock(&self.workspaces[member]);
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= used {
                return;
            }
            let first = tiles * index / used * TILE_ROWS;
            let end = (tiles * (index + 1) / used * TILE_ROWS).min(rows.len());
            lock(&self.lanes[index]).run(&mut space, &network, data, &rows[first..end], Some(scale));
        }
    }

    /// The gradient of `sum of scale * weight * loss` over `rows` in the graph's order, with the sum of weight times loss.
    pub fn loss_and_gradient(&mut self, data: Rows, rows: &[u32], scale: f64) -> (f64, Vec<T>) {
        self.threads.install(|| self.run_lanes(0, data, rows, scale, &AtomicUsize::new(0)));
        let mut lanes = self.lanes[..self.used(rows.len())].iter().map(lock);
        let mut first = lanes.next().expect("there is always one");
        let mut loss = first.loss();
        for lane in lanes {
            T::add(lane.gradient(), first.gradient_mut());
            loss += lane.loss();
        }
        (loss, self.flat(first.gradient()))
    }

    /// In the graph's order.
    fn flat(&self, own: &[T]) -> Vec<T> {
        let mut flat = vec![T::default(); self.plan.graph().parameters()];
        self.plan.unpack(own, &mut flat);
        flat
    }

    /// Sums the gradients of the `used` first lanes and moves the parameters; returns the sum of the lanes' losses.
    fn step(&self, used: usize) -> f64 {
        let mut lanes: [Option<MutexGuard<Lane<T>>>; MOST_LANES] =
            std::array::from_fn(|index| (index < used).then(|| lock(&self.lanes[index])));
        let loss = lanes.iter().flatten().map(|lane| lane.loss()).sum();
        let (first, others) = lanes.split_at_mut(1);
        let gradient = first[0].as_mut().expect("there is always one").gradient_mut();
        let others: &[_] = others;
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let State { parameters, transposed, optimizer } = &mut *state;
        optimizer.update(self.settings.learning_rate, parameters.as_mut_slice(), gradient, |start, part| {
            for lane in others.iter().flatten() {
                T::add(&lane.gradient()[start..][..part.len()], part);
            }
        });
        self.plan.transpose(parameters.as_slice(), transposed.as_mut_slice());
        loss
    }

    /// What thread `member` does in an epoch.
    fn take_part(&self, epoch: &Epoch, member: usize) {
        // Whoever comes late would take a share of a layer before its own part, and wait in there for the others.
        if !epoch.meeting.meet(member, || ()) {
            return;
        }
        for rows in epoch.order.chunks(self.settings.batch_size) {
            let scale = epoch.data.weight_scale / rows.len() as f64;
            self.run_lanes(member, epoch.data, rows, scale, &epoch.next);
            let all_came = epoch.meeting.meet(member, || {
                *lock(&epoch.loss) += self.step(self.used(rows.len()));
                epoch.next.store(0, Ordering::Relaxed);
            });
            if !all_came {
                return;
            }
        }
    }

    fn evaluate_batch(&self, data: Rows, rows: &[u32]) -> f64 {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let network = state.network(self);
        let share = rows.len().div_ceil(self.lanes.len());
        let lanes = self.lanes.par_iter().zip(&self.workspaces);
        lanes.zip(rows.par_chunks(share)).for_each(|((lane, space), rows)| {
            lock(lane).run(&mut lock(space), &network, data, rows, None);
        });
        self.lanes.iter().take(rows.len().div_ceil(share)).map(|lane| lock(lane).loss()).sum()
    }
}

impl<T: Scalar> State<T> {
    fn network<'a>(&'a self, engine: &'a AotEngine<T>) -> Network<'a, T> {
        let (parameters, transposed) = (self.parameters.as_slice(), self.transposed.as_slice());
        let AotEngine { plan, settings, row_loss, .. } = engine;
        Network { plan, loss: settings.loss, row_loss: row_loss.as_ref(), parameters, transposed, threads: 1 }
    }
}

impl<T: Scalar> Engine for AotEngine<T> {
    fn train(&mut self, data: Rows, order: &[u32]) -> Result<f64> {
        let batch = self.settings.batch_size.min(order.len());
        let members = self.threads.current_num_threads().min(self.used(batch));
        let (meeting, next, loss) = (Rendezvous::new(members, self.processors), AtomicUsize::new(0), Mutex::new(0.0));
        let epoch = Epoch { data, order, meeting, next, loss };
        if members == 1 {
            // A broadcast would wake every thread for nothing.
            self.threads.install(|| self.take_part(&epoch, 0));
        } else {
            self.threads.broadcast(|thread| {
                if thread.index() < members {
                    epoch.meeting.take_part(|| self.take_part(&epoch, thread.index()));
                }
            });
        }
        Ok(epoch.loss.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn evaluate(&mut self, data: Rows, order: &[u32]) -> Result<f64> {
        let block = self.lanes.len() * TILE_ROWS * 16;
        Ok(self.threads.install(|| order.chunks(block).map(|rows| self.evaluate_batch(data, rows)).sum()))
    }

    fn set_learning_rate(&mut self, rate: f64) {
        self.settings.learning_rate = rate;
    }

    fn parameters(&self) -> Result<Vec<f32>> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        Ok(self.flat(state.parameters.as_slice()).iter().map(|p| p.to_f64() as f32).collect())
    }

    fn describe(&self) -> String {
        format!("aot (derivatives by Clad) on cpu, {} thread(s)", self.threads.current_num_threads())
    }
}

/// A panic while it was held has ended the training: nobody reads what it left.
fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn lane_count(rows: usize, parameters: usize) -> usize {
    let affordable = (MOST_GRADIENT_NUMBERS / parameters.max(1)).clamp(2, MOST_LANES);
    // A power of two, so that batches and threads of the usual numbers share out evenly.
    rows.div_ceil(TILE_ROWS).min(1 << affordable.ilog2()).max(1)
}
