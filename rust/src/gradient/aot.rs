//! The engine: forward and reverse pass over tiles of rows with Clad's derivatives, tiles over shards, shards over threads.
//!
//! A batch is cut into tiles of rows, or is a single tile if its rows must stay together ([`ModuleTiles::tile_rows`]).
//! A shard is a run of neighbouring tiles with its own gradient. The number of shards of a batch depends only on the
//! batch and the network, and their gradients are summed in order, which gives the same bits for any number of threads.
//! The threads stay together for an epoch: each takes the next free shard, and the last to finish makes the step while
//! the others wait. If there are more threads than shards, they share large operators. A batch whose rows meet in batch
//! statistics is led by one thread, which makes every step; the others share its blocks. After the first steps of each
//! number of rows nothing is allocated except what hands an epoch to the threads.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread;

use rayon::ThreadPool;
use rayon::prelude::*;

use super::barrier::{Barrier, MOST_MEMBERS};
use super::batches::{self, batches};
use super::shard::{Shard, Share, Workspace};
use super::{BackEnd, CustomLoss, Engine, ModuleTiles, Rows, Settings, Snapshot, Spread, Steps, lock};
use crate::device::{Element, HostBuffer, thread_pool};
use crate::error::{Error, Result};
use crate::graph::{DType, Graph, Mode, Module};
use crate::kernels::Scalar;
use crate::optimiser::{self, HostOptimiser};
use crate::ranks::Ranks;

/// Most shards a batch is cut into, and most numbers that the shards' gradients hold together: summing them must stay
/// cheap beside making them.
const MOST_SHARDS: usize = MOST_MEMBERS;
const MOST_GRADIENT_ELEMENTS: usize = 1 << 22;

/// Fewest rows of a tile where processes share a batch: as many as kernels take together.
const SHARED_ROWS: usize = 16;

/// Rows of an evaluation for one thread at a time.
const EVALUATED_ROWS: usize = 2048;

/// A network in training on the CPU.
pub struct AotEngine<T> {
    network: ModuleTiles<T>,
    settings: Settings,
    custom_loss: Option<CustomLoss>,
    state: RwLock<State<T>>,
    shards: Vec<Mutex<Shard<T>>>,
    /// One for each thread that takes part.
    workspaces: Vec<Mutex<Workspace<T>>>,
    /// Rows of a tile in training and in evaluation.
    tile_rows: [usize; 2],
    threads: ThreadPool,
    /// That the threads may use.
    processors: usize,
    /// The processes that share each batch, if there are others, and memory for their gradients.
    ranks: Option<(Arc<Ranks>, Mutex<HostBuffer<T>>)>,
}

/// The values that a step changes, in the network's own order.
struct State<T> {
    parameters: HostBuffer<T>,
    derived: HostBuffer<T>,
    optimiser: HostOptimiser<T>,
}

/// The part of a batch that this process computes.
struct Portion<'a> {
    /// Of the batch, or this process's own.
    rows: &'a [u32],
    /// Those to compute of the tiles of `rows`.
    tiles: Range<usize>,
    /// Tiles of other processes before them, for random numbers.
    before: usize,
    /// Rows of the whole batch.
    whole: usize,
}

/// The data that the threads of one epoch share.
struct Epoch<'a> {
    data: Rows<'a>,
    order: &'a [u32],
    steps: &'a dyn Steps,
    barrier: Barrier,
    /// One thread goes through the batches; the others help it.
    is_led: bool,
    /// The next free shard of the batch.
    next: AtomicUsize,
    loss: Mutex<f64>,
    /// Why it ends early.
    failure: Mutex<Option<Error>>,
}

impl<T: Scalar + Element> AotEngine<T> {
    /// Trains `graph`, which starts from the given parameters, in batches of up to `settings.batch_size` rows.
    pub fn new(graph: Graph, parameters: &[T], settings: Settings, threads: usize) -> Result<Self> {
        let dtype = if size_of::<T>() == 8 { DType::Float64 } else { DType::Float32 };
        let tiles = ModuleTiles::new(Arc::new(Module::of_graph(&graph, dtype)), &[], 0, settings.precision)?;
        Self::of(tiles, parameters, settings, threads)
    }

    /// Trains `network`, which starts from the given parameters, in batches of up to `settings.batch_size` rows.
    pub fn of(network: ModuleTiles<T>, parameters: &[T], settings: Settings, threads: usize) -> Result<Self> {
        let length = network.own_parameters();
        let mut state = State {
            parameters: HostBuffer::zeros(length)?,
            derived: HostBuffer::zeros(network.derived())?,
            optimiser: HostOptimiser::new(settings.rule(), length)?,
        };
        network.pack(parameters, state.parameters.as_mut_slice());
        network.derive(state.parameters.as_slice(), state.derived.as_mut_slice());
        let threads = thread_pool(threads)?;
        // A row more where a single one joins the others.
        let whole = settings.batch_size + 1;
        let tile_rows = [Mode::Training, Mode::Evaluation].map(|mode| network.tile_rows(mode).unwrap_or(whole));
        let rows = tile_rows[0].max(tile_rows[1]) + 1;
        let members = threads.current_num_threads().min(MOST_SHARDS);
        let mut engine = AotEngine {
            workspaces: (0..members).map(|_| Workspace::new(&network, rows).map(Mutex::new)).collect::<Result<_>>()?,
            shards: Vec::new(),
            state: RwLock::new(state),
            network,
            settings,
            custom_loss: None,
            tile_rows,
            threads,
            processors: thread::available_parallelism().map_or(1, usize::from),
            ranks: None,
        };
        let shards = engine.most_shards(engine.tiles(engine.largest_batch()));
        engine.shards = (0..shards).map(|_| Shard::new(length).map(Mutex::new)).collect::<Result<_>>()?;
        Ok(engine)
    }

    /// Computes only this process's share of each batch, and adds the gradients of the others to it.
    pub fn with_ranks(mut self, ranks: Arc<Ranks>) -> Result<Self> {
        let room = HostBuffer::zeros(self.network.own_parameters())?;
        // A tile of a small network may be the whole batch, of which everyone needs a part.
        let share = self.settings.batch_size.div_ceil(ranks.size()).next_multiple_of(SHARED_ROWS);
        self.tile_rows[0] = self.tile_rows[0].min(share);
        let part = ranks.share(self.tiles(self.largest_batch())).len();
        self.ranks = Some((ranks, Mutex::new(room)));
        self.shards.truncate(self.used(part));
        Ok(self)
    }

    /// With a user's loss instead of that of the settings.
    pub fn with_custom_loss(self, loss: impl Into<CustomLoss>) -> Self {
        AotEngine { custom_loss: Some(loss.into()), ..self }
    }

    /// Freezes these parts of the flat parameter vector, which are disjoint and in order.
    pub fn with_frozen(mut self, frozen: &[Range<usize>]) -> Result<Self> {
        let mut flat = vec![T::default(); self.network.parameters()];
        frozen.iter().for_each(|range| flat[range.clone()].fill(T::from_f64(1.0)));
        let mut own = HostBuffer::zeros(self.network.own_parameters())?;
        self.network.pack(&flat, own.as_mut_slice());
        let mut parts: Vec<Range<usize>> = Vec::new();
        for at in (0..own.as_slice().len()).filter(|&at| own.as_slice()[at].to_f64() != 0.0) {
            match parts.last_mut().filter(|last| last.end == at) {
                Some(last) => last.end += 1,
                None => parts.push(at..at + 1),
            }
        }
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner).optimiser.leave(&parts);
        Ok(self)
    }

    /// Whether a batch is a single tile, in blocks that the threads share.
    fn shares_batches(&self) -> bool {
        self.network.runs_in_blocks(self.settings.batch_size)
    }

    fn largest_batch(&self) -> usize {
        self.settings.batch_size + usize::from(!self.network.takes_one(Mode::Training))
    }

    /// Shards for this many tiles: a power of two at most, so that the usual batch sizes and numbers of threads divide
    /// evenly.
    fn most_shards(&self, tiles: usize) -> usize {
        let affordable = (MOST_GRADIENT_ELEMENTS / self.network.parameters().max(1)).clamp(2, MOST_SHARDS);
        tiles.clamp(1, 1 << affordable.ilog2())
    }

    /// The number of these that exist.
    fn used(&self, tiles: usize) -> usize {
        self.most_shards(tiles).min(self.shards.len())
    }

    /// The part of a batch that this process computes, if all processes have the batch.
    fn portion<'a>(&self, rows: &'a [u32]) -> Portion<'a> {
        let tiles = self.tiles(rows.len());
        let own = self.ranks.as_ref().map_or(0..tiles, |(ranks, _)| ranks.share(tiles));
        Portion { rows, tiles: own, before: 0, whole: rows.len() }
    }

    /// The part of batch `step` that this process computes, if it holds only some of its rows: those in `order`.
    fn own_portion<'a>(&self, order: &'a [u32], spread: &Spread, step: usize) -> Portion<'a> {
        let (rows, whole) = (&order[spread.part(step)], spread.rows(step));
        Portion { rows, tiles: 0..self.tiles(rows.len()), before: spread.rank() * self.tiles(whole), whole }
    }

    /// The batches of `order`.
    fn portions<'a>(&self, order: &'a [u32], spread: Option<&Spread>) -> impl Iterator<Item = Portion<'a>> {
        let own = spread.into_iter().flat_map(move |spread| (0..spread.steps()).map(move |step| (spread, step)));
        let own = own.map(|(spread, step)| self.own_portion(order, spread, step));
        let shared = if spread.is_some() { &[] } else { order };
        let takes_one = self.network.takes_one(Mode::Training);
        own.chain(batches(shared, self.settings.batch_size, takes_one).map(|rows| self.portion(rows)))
    }

    /// Tiles of a batch in training.
    fn tiles(&self, rows: usize) -> usize {
        batches::count(rows, self.tile_rows[0], self.network.takes_one(Mode::Training))
    }

    fn share<'a>(&'a self, state: &'a State<T>, data: Rows<'a>, threads: usize) -> Share<'a, T> {
        Share {
            network: &self.network,
            objective: self.settings.objective(self.custom_loss.as_ref()),
            data,
            parameters: state.parameters.as_slice(),
            derived: state.derived.as_slice(),
            threads,
            step: state.optimiser.state().steps as u64,
        }
    }

    /// Takes shards of a batch until none is left, as thread `member`.
    fn run_shards(&self, member: usize, data: Rows, portion: &Portion, scale: f64, next: &AtomicUsize) -> Result<()> {
        let Portion { rows, tiles: part, before, .. } = portion;
        let tile = self.tile_rows[0];
        let used = self.used(part.len());
        // The last tile may have more rows, or fewer.
        let row = |place: usize| if place == self.tiles(rows.len()) { rows.len() } else { place * tile };
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let share = self.share(&state, data, (rayon::current_num_threads() / used).max(1));
        // A whole batch is in the memory of the first one, whoever runs it: it is large.
        let space = if self.shares_batches() { 0 } else { member };
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= used {
                return Ok(());
            }
            let mut space = lock(&self.workspaces[space]);
            let [first, end] = [index, index + 1].map(|index| part.start + part.len() * index / used);
            let rows = &rows[row(first)..row(end)];
            lock(&self.shards[index]).run(&mut space, &share, rows, tile, before + first, scale)?;
        }
    }

    /// The gradient of `sum of scale * weight * loss` over `rows` in the flat vector's order, with the sum of weight times
    /// loss. Running statistics change.
    pub fn loss_and_gradient(&mut self, data: Rows, rows: &[u32], scale: f64) -> Result<(f64, Vec<T>)> {
        let portion = self.portion(rows);
        self.threads.install(|| self.run_shards(0, data, &portion, scale, &AtomicUsize::new(0)))?;
        let mut shards = self.shards[..self.used(portion.tiles.len())].iter().map(lock);
        let mut first = shards.next().ok_or_else(|| Error::Internal("no shard".into()))?;
        let mut loss = first.loss();
        for shard in shards {
            T::add(shard.gradient(), first.gradient_mut());
            loss += shard.loss();
        }
        Ok((loss, self.flat(first.gradient())))
    }

    /// In the flat vector's order.
    fn flat(&self, own: &[T]) -> Vec<T> {
        let mut flat = vec![T::default(); self.network.parameters()];
        self.network.unpack(own, &mut flat);
        flat
    }

    /// Sums the gradients of the `used` first shards and moves the parameters as `rate` says of the sum of the shards' losses, which
    /// it returns.
    fn step(&self, used: usize, rate: impl FnOnce(f64) -> Result<f64>) -> Result<f64> {
        let mut shards: [Option<MutexGuard<Shard<T>>>; MOST_SHARDS] =
            std::array::from_fn(|index| (index < used).then(|| lock(&self.shards[index])));
        let loss = shards.iter().flatten().map(|shard| shard.loss()).sum();
        let rate = rate(loss)?;
        let (first, others) = shards.split_at_mut(1);
        let gradient = first[0].as_mut().expect("there is always one").gradient_mut();
        let others: &[_] = others;
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let State { parameters, derived, optimiser } = &mut *state;
        let add = |start: usize, part: &mut [T]| {
            for shard in others.iter().flatten() {
                T::add(&shard.gradient()[start..][..part.len()], part);
            }
        };
        match &self.ranks {
            None => optimiser.update(rate, parameters.as_mut_slice(), gradient, add),
            Some((ranks, room)) => {
                add(0, gradient);
                ranks.sum(gradient, lock(room).as_mut_slice());
                optimiser.update(rate, parameters.as_mut_slice(), gradient, |_, _| ());
            }
        }
        self.network.derive(parameters.as_slice(), derived.as_mut_slice());
        Ok(loss)
    }

    /// The work of thread `member` in an epoch.
    fn take_part(&self, epoch: &Epoch, member: usize) {
        // Whoever comes late would take a share of a layer before its own part, and wait in there for the others.
        if !epoch.barrier.meet(member, || ()) {
            return;
        }
        epoch.barrier.separate(member);
        // What the step of a small network changes stays in the caches of one processor.
        if !epoch.is_led || member == 0 {
            self.run_batches(epoch, member);
        }
        if epoch.is_led {
            epoch.barrier.meet(member, || ());
        }
    }

    /// Takes part in each batch, or leads it.
    fn run_batches(&self, epoch: &Epoch, member: usize) {
        for (batch, portion) in self.portions(epoch.order, epoch.steps.spread()).enumerate() {
            let scale = epoch.data.weight_scale / portion.whole as f64;
            if let Err(error) = self.run_shards(member, epoch.data, &portion, scale, &epoch.next) {
                lock(&epoch.failure).get_or_insert(error);
            }
            let finish = || self.finish(epoch, batch, self.used(portion.tiles.len()));
            let all_came = if epoch.is_led {
                finish();
                true
            } else {
                epoch.barrier.meet(member, finish)
            };
            if !all_came || lock(&epoch.failure).is_some() {
                return;
            }
        }
    }

    /// The step after a batch, if nothing failed.
    fn finish(&self, epoch: &Epoch, batch: usize, used: usize) {
        let mut failure = lock(&epoch.failure);
        if failure.is_none() {
            match self.step(used, |loss| epoch.steps.rate(batch, loss)) {
                Ok(loss) => *lock(&epoch.loss) += loss,
                Err(error) => *failure = Some(error),
            }
        }
        drop(failure);
        epoch.next.store(0, Ordering::Relaxed);
    }

    /// Of at most [`MOST_SHARDS`] shares.
    fn evaluate_block(&self, data: Rows, rows: &[u32]) -> Result<f64> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let share = self.share(&state, data, 1);
        let run = |rows: &[u32]| {
            let member = rayon::current_thread_index().unwrap_or(0) % self.workspaces.len();
            lock(&self.workspaces[member]).evaluate(&share, rows, self.tile_rows[1])
        };
        let mut shares = batches(rows, EVALUATED_ROWS, self.network.takes_one(Mode::Evaluation));
        let mut losses: [(&[u32], Result<f64>); MOST_SHARDS] =
            std::array::from_fn(|_| (shares.next().unwrap_or_default(), Ok(0.0)));
        losses.par_iter_mut().for_each(|(rows, loss)| *loss = run(rows));
        losses.into_iter().map(|(_, loss)| loss).sum()
    }
}

impl<T: Scalar + Element> Engine for AotEngine<T> {
    fn train(&mut self, data: Rows, order: &[u32], steps: &dyn Steps) -> Result<f64> {
        let most = self.portions(order, steps.spread()).map(|portion| portion.tiles.len()).max().unwrap_or(0);
        // Those that have no shard help with the blocks of one.
        let is_led = self.shares_batches();
        let members = if is_led { self.workspaces.len() } else { self.workspaces.len().min(self.used(most)) };
        let epoch = Epoch {
            data,
            order,
            steps,
            barrier: Barrier::new(members, self.processors, is_led),
            is_led,
            next: AtomicUsize::new(0),
            loss: Mutex::new(0.0),
            failure: Mutex::new(None),
        };
        if members == 1 {
            // A broadcast would wake every thread for nothing.
            self.threads.install(|| self.take_part(&epoch, 0));
        } else {
            self.threads.broadcast(|thread| {
                if thread.index() < members {
                    epoch.barrier.take_part(|| self.take_part(&epoch, thread.index()));
                }
            });
        }
        match epoch.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(epoch.loss.into_inner().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    fn evaluate(&mut self, data: Rows, order: &[u32]) -> Result<f64> {
        let blocks = batches(order, MOST_SHARDS * EVALUATED_ROWS, self.network.takes_one(Mode::Evaluation));
        self.threads.install(|| blocks.map(|rows| self.evaluate_block(data, rows)).sum())
    }

    fn parameters(&self) -> Result<Vec<f32>> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        Ok(self.flat(state.parameters.as_slice()).iter().map(|p| p.to_f64() as f32).collect())
    }

    fn state(&self) -> Vec<f32> {
        self.network.state()
    }

    fn batches(&self) -> u64 {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.optimiser.state().steps as u64
    }

    fn snapshot(&self) -> Result<Snapshot> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let optimiser = state.optimiser.state();
        let flat = |own: &[T]| self.flat(own).iter().map(|value| value.to_f64() as f32).collect();
        Ok(Snapshot {
            parameters: flat(state.parameters.as_slice()),
            state: self.network.state(),
            moments: optimiser.moments.map(flat),
            steps: optimiser.steps as u64,
        })
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<()> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let own = |flat: &[f32]| -> Result<HostBuffer<T>> {
            let flat: Vec<T> = flat.iter().map(|&value| T::from_f64(value.into())).collect();
            let mut own = HostBuffer::zeros(self.network.own_parameters())?;
            self.network.pack(&flat, own.as_mut_slice());
            Ok(own)
        };
        let [first, second] = snapshot.moments.each_ref().map(|moments| own(moments));
        let (first, second) = (first?, second?);
        state.parameters = own(&snapshot.parameters)?;
        let steps = i64::try_from(snapshot.steps).unwrap_or(i64::MAX);
        state.optimiser.set_state(optimiser::State { steps, moments: [first.as_slice(), second.as_slice()] })?;
        let State { parameters, derived, .. } = &mut *state;
        self.network.derive(parameters.as_slice(), derived.as_mut_slice());
        self.network.set_state(&snapshot.state);
        Ok(())
    }

    fn takes_one(&self) -> bool {
        self.network.takes_one(Mode::Training)
    }

    fn describe(&self) -> String {
        let threads = self.threads.current_num_threads();
        let rounded = match self.network.rounded_layers() {
            0 => String::new(),
            layers => format!(", products of {layers} layer(s) in bfloat16"),
        };
        format!("{} on cpu, {threads} thread(s){rounded}", BackEnd::Aot.title())
    }
}
