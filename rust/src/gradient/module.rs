//! A module as the engine runs it: its program for the rows of a tile, forward, and backward with Clad's derivatives.

use std::sync::{Arc, PoisonError, RwLock};

use super::Rows;
use super::dropout::DropoutFactors;
use super::packing::Packing;
use super::pass::{Memory, Passes};
use super::stages::block_rows;
use crate::device::{Element, HostBuffer};
use crate::error::{Error, Result};
use crate::graph::rows::RowCut;
use crate::graph::{Mode, Module, Precision, RowsMeet};
use crate::kernels::{Scalar, bf16, variant_name};

/// Most factors of the sums over a tile's rows: with as many the gradient of a layer's weight runs at nine tenths of the
/// processor's peak.
const MOST_FACTORS: usize = 128;

/// Bytes of the values of a tile: with its adjoints they stay in a core's own cache of 1 to 2 MB.
const TILE_BYTES: usize = 512 << 10;

/// A module laid out for tiles: of a few rows if events are independent in training, otherwise of whole batches, which may run in
/// blocks.
pub struct ModuleTiles<T> {
    module: Arc<Module>,
    packing: Packing<T>,
    /// In training and in evaluation.
    tile_rows: [usize; 2],
    state: RwLock<HostBuffer<T>>,
    /// That of dropout.
    seed: u64,
}

/// Rows that are run together, and what they are run with.
#[derive(Clone, Copy)]
pub struct Tile<'a, T> {
    /// Where the rows are.
    pub data: Rows<'a>,
    /// Their numbers.
    pub rows: &'a [u32],
    /// In the packing's order.
    pub parameters: &'a [T],
    /// What [`ModuleTiles::derive`] made of them.
    pub derived: &'a [T],
    /// Threads of the present pool for it.
    pub threads: usize,
    /// Steps of the optimiser before this one, and the tile's place in the batch: they decide what dropout draws.
    pub place: [u64; 2],
}

/// A thread's programs, and the rows that it gathered.
pub struct ModuleMemory<T> {
    passes: [Passes<T>; 2],
    x: HostBuffer<T>,
}

impl<T: Scalar + Element> ModuleTiles<T> {
    /// Lays out a module that starts from this state. `seed` is that of dropout.
    pub fn new(module: Arc<Module>, state: &[T], seed: u64, precision: Precision) -> Result<Self> {
        let rows = training_rows::<T>(&module, precision);
        // What is packed runs at once.
        let is_cut = !module.events_are_apart() && RowCut::find(&module.program(Mode::Training, rows)?).is_some();
        let packing = if is_cut { Packing::plain(&module) } else { Packing::new(&module, rows, precision)? };
        check_precision(&module, &packing, precision)?;
        let tile_rows = [rows, tile_rows::<T>(&module)];
        Ok(ModuleTiles { module, packing, tile_rows, state: RwLock::new(HostBuffer::from_slice(state)?), seed })
    }

    /// The memory that a thread needs to run tiles.
    pub fn memory(&self) -> Result<ModuleMemory<T>> {
        let blocks = (!self.module.events_are_apart()).then_some(self.tile_rows[Mode::Training as usize]);
        let passes = [Passes::new(Mode::Training, blocks), Passes::new(Mode::Evaluation, None)];
        Ok(ModuleMemory { passes, x: HostBuffer::zeros(0)? })
    }

    /// Rows of a tile; `None` where the rows of a batch must stay together.
    pub fn tile_rows(&self, mode: Mode) -> Option<usize> {
        (mode == Mode::Evaluation || self.module.events_are_apart()).then_some(self.tile_rows[mode as usize])
    }

    /// Whether a batch of so many rows, which meet in batch statistics alone, has enough rows for several blocks.
    pub fn runs_in_blocks(&self, rows: usize) -> bool {
        let most = self.tile_rows[Mode::Training as usize];
        self.module.rows_meet() == RowsMeet::InStatistics && block_rows(rows, most).is_some()
    }

    /// Whether a tile may have a single row.
    pub fn takes_one(&self, mode: Mode) -> bool {
        self.module.takes_one(mode)
    }

    /// Numbers that it gives for a row.
    pub fn outputs(&self) -> usize {
        self.module.outputs()
    }

    /// Length of the flat parameter vector as users know it.
    pub fn parameters(&self) -> usize {
        self.module.parameters()
    }

    /// Layers whose products are rounded to bfloat16 in training.
    pub fn rounded_layers(&self) -> usize {
        self.packing.rounded_layers()
    }

    /// Numbers of the parameters, and of their gradient, in the packing's order.
    pub fn own_parameters(&self) -> usize {
        self.packing.parameters()
    }

    /// The flat vector into the packing's order.
    pub fn pack(&self, flat: &[T], own: &mut [T]) {
        self.packing.pack(&self.module, flat, own);
    }

    /// The other way round, of parameters or their gradient.
    pub fn unpack(&self, own: &[T], flat: &mut [T]) {
        self.packing.unpack(&self.module, own, flat);
    }

    /// Numbers that [`derive`](Self::derive) writes.
    pub fn derived(&self) -> usize {
        self.packing.derived(Mode::Training)
    }

    /// Computes the values that are derived from the parameters, once for each change of them.
    pub fn derive(&self, own: &[T], derived: &mut [T]) {
        self.packing.derive(own, derived);
    }

    /// The flat vector of running statistics.
    pub fn state(&self) -> Vec<f32> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.as_slice().iter().map(|s| s.to_f64() as f32).collect()
    }

    /// Replaces it by as many numbers.
    pub fn set_state(&self, values: &[f32]) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.as_mut_slice().iter_mut().zip(values).for_each(|(to, &value)| *to = T::from_f64(value.into()));
    }

    /// The outputs of a tile into `outputs` [rows, outputs]; in training, running statistics change.
    pub fn forward(&self, memory: &mut ModuleMemory<T>, tile: &Tile<T>, mode: Mode, outputs: &mut [T]) -> Result<()> {
        let ModuleMemory { passes, x } = memory;
        let &Tile { data, rows, parameters, derived, threads, place: [step, place] } = tile;
        let pass = passes[mode as usize].of(&self.module, &self.packing, rows.len())?;
        let length = pass.input_length();
        if x.as_slice().len() < length {
            *x = HostBuffer::zeros(length)?;
        }
        let x = &mut x.as_mut_slice()[..length];
        match pass.packs_events() {
            true => data.gather(rows, pass.gathered(), x),
            false => data.gather_dense(rows, x),
        }
        if mode == Mode::Training {
            pass.draw(DropoutFactors::new(self.seed, step, place));
        }
        let derived = if mode == Mode::Training { derived } else { &[] };
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        pass.forward(&self.module, &Memory { x, parameters, derived, state: state.as_slice() }, threads, outputs)?;
        drop(state);
        if pass.changes_state() {
            pass.update(self.state.write().unwrap_or_else(PoisonError::into_inner).as_mut_slice());
        }
        Ok(())
    }

    /// From the adjoint [rows, outputs] of what [`forward`](Self::forward) gave for the same tile in training: the gradient of
    /// the parameters, which with `sum` is added to what is there.
    pub fn backward(&self, memory: &mut ModuleMemory<T>, tile: &Tile<T>, adjoint: &[T], sum: bool, gradient: &mut [T]) {
        let ModuleMemory { passes, x } = memory;
        let &Tile { parameters, derived, threads, .. } = tile;
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(pass) = passes[Mode::Training as usize].last() {
            let x = &x.as_slice()[..pass.input_length()];
            let memory = Memory { x, parameters, derived, state: state.as_slice() };
            pass.backward(&self.module, &memory, threads, adjoint, sum, gradient);
        }
    }
}

/// Refuses bfloat16 where nothing would be rounded, and TF32.
fn check_precision<T: Scalar>(module: &Module, packing: &Packing<T>, precision: Precision) -> Result<()> {
    if matches!(precision, Precision::TF32 | Precision::TF32x3) {
        let what = format!("fPrecision = {} on the CPU", precision.enumerator());
        return Err(Error::invalid(what, "leave it as it is: it is for GPUs"));
    }
    if precision == Precision::Float32 || packing.rounded_layers() > 0 {
        return Ok(());
    }
    if !bf16::is_available::<T>() {
        let kernels = variant_name();
        return Err(Error::invalid(
            format!("fPrecision = kBF16 with the kernels that run here ({kernels})"),
            "it needs a processor with AVX512-BF16: leave fPrecision as it is",
        ));
    }
    Err(Error::invalid(
        format!("fPrecision = kBF16 for {}, which has no layer whose products can be rounded", module.name()),
        "leave it as it is: only linear layers with several outputs can be rounded, if they take the events or are connected with \
         another one by element-wise functions",
    ))
}

/// Rows of a tile of a module: their values suit the cache, but parameters are not read and their gradients not written for
/// less work than that.
pub fn tile_rows<T>(module: &Module) -> usize {
    training_rows::<T>(module, Precision::Float32)
}

/// The same where products are rounded, whose factors are pairs.
fn training_rows<T>(module: &Module, precision: Precision) -> usize {
    let numbers = module.cost().numbers;
    let fitting = (TILE_BYTES / size_of::<T>() / numbers).max(1);
    let worthwhile = (module.parameters() / numbers).next_power_of_two();
    let most = match precision {
        Precision::Float32 | Precision::TF32 | Precision::TF32x3 => MOST_FACTORS,
        Precision::BF16 => 2 * MOST_FACTORS,
    };
    (1 << fitting.ilog2()).min(MOST_FACTORS).max(worthwhile).clamp(2, most)
}
