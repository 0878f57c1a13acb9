//! Back ends: value and gradient of a graph.
//!
//! From a graph to running code:
//!
//! 1. A graph is a [`Program`](crate::graph::Program): operators with their operands, of a network in one mode or of an observed
//!    function.
//! 2. Passes over it: [`Packing`] fuses linear layers with their activations, `blocks` cuts rows into blocks that fit a core's
//!    cache, `stages` does where rows meet in the statistics of batch normalisation, `buffer_assignment` and `reverse` give
//!    values and adjoints their places in arenas.
//! 3. A [`BackEnd`] compiles it. Only `back_end` decides which one, and why, for networks ([`Choice`]) and functions
//!    ([`Wanted`]).
//! 4. A function becomes an [`Executable`] over memory of its device, which [`CompiledGraph`] holds; a network in training becomes an
//!    [`Engine`], whose threads run a [`Pass`] each, in memory of their own. Predictions run passes, too.
//!
//! | back end | derivatives | functions | networks |
//! |---|---|---|---|
//! | [`aot`] | Clad's, of `cpp/kernels`, compiled into the library | `host`, by `executor` | [`aot::AotEngine`] over [`ModuleTiles`] |
//! | `jit` | Clad's, of one function that is emitted for the graph | `host`, by that function | none |
//! | [`autograd`] | LibTorch's | C++ calls LibTorch | [`autograd::LibTorchEngine`], [`autograd::AutogradEngine`] |
//! | [`cuda`] | Clad's, in kernels for GPUs | [`cuda::CudaFunction`], for tensors on a GPU | [`cuda::CudaEngine`] |

mod affinity;
pub mod aot;
mod arenas;
pub mod autograd;
mod back_end;
mod barrier;
pub mod batches;
#[allow(unsafe_code)] // Pointers to rows in the same tensors.
mod blocks;
mod buffer_assignment;
mod chunks;
#[allow(unsafe_code)] // Addresses of tensors, from C++.
mod compiled;
pub mod cuda;
mod dropout;
#[allow(unsafe_code)] // Calls with tensors, as their owners promise.
mod executable;
mod executor;
mod form;
#[allow(unsafe_code)] // Pointers to the tensors of a call.
mod host;
mod jit;
mod lockstep;
mod module;
mod objective;
#[allow(unsafe_code)] // Pointers to rows and to captured tensors.
mod observed_loss;
mod out_of_range;
mod packing;
#[allow(unsafe_code)] // Pointers to a module's tensors.
mod pass;
mod reverse;
mod shard;
mod shares;
mod spread;
#[allow(unsafe_code)] // Pointers to rows in the same tensors.
mod stages;
mod tensor_lists;

pub use back_end::{BackEnd, Choice, Wanted};
pub use blocks::BlockRows;
pub use compiled::{CompileOptions, CompiledGraph, Draw, Signature, time_limit};
pub use executable::{Executable, Failure, SavedForward};
pub(crate) use jit::{Body, Group, Nest, by_name, emit, groups, line, literal};
pub use jit::{RowLoss, compile_activation};
pub use module::{ModuleTiles, tile_rows};
pub use objective::CustomLoss;
pub use observed_loss::ObservedLoss;
pub use packing::Packing;
pub use pass::{Memory, Pass, Passes};
pub use spread::Spread;

use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use crate::dataset::Scaler;
use crate::error::Result;
use crate::graph::{Loss, Optimiser, Precision};
use crate::kernels::Scalar;
use crate::optimiser::{Clip, Rule};
use objective::Objective;

/// What a step minimises, and how it moves the parameters.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The loss on the graph's output.
    pub loss: Loss,
    /// Parameter of that loss, see [`Scalar::loss`].
    pub loss_parameter: f64,
    /// How the parameters move.
    pub optimiser: Optimiser,
    /// See [`crate::kernels::UpdateSettings::weight_decay`].
    pub weight_decay: f64,
    /// See [`crate::kernels::UpdateSettings::momentum`].
    pub momentum: f64,
    /// See [`Rule::l1`].
    pub l1: f64,
    /// See [`Rule::clip`].
    pub clip: Option<Clip>,
    /// Rows a step.
    pub batch_size: usize,
    /// Precision of the factors of products: others than [`Precision::Float32`] only in [`aot`] and [`cuda`].
    pub precision: Precision,
}

/// Adam on the squared error in batches of 256.
impl Default for Settings {
    fn default() -> Self {
        Settings {
            loss: Loss::MeanSquaredError,
            loss_parameter: 0.0,
            optimiser: Optimiser::Adam,
            weight_decay: 0.0,
            momentum: 0.0,
            l1: 0.0,
            clip: None,
            batch_size: 256,
            precision: Precision::Float32,
        }
    }
}

impl Settings {
    fn rule(&self) -> Rule {
        let &Settings { optimiser, weight_decay, momentum, l1, clip, .. } = self;
        Rule { optimiser, weight_decay, momentum, l1, clip }
    }

    fn objective<'a>(&self, own: Option<&'a CustomLoss>) -> Objective<'a> {
        Objective { loss: self.loss, parameter: self.loss_parameter, own }
    }
}

/// Rows of a dataset as a back end reads them.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// [_, width]
    pub features: &'a [f32],
    /// [_, targets], see [`Loss::targets`]
    pub labels: &'a [f32],
    /// One a row.
    pub weights: &'a [f32],
    /// Applied to the features.
    pub scaler: &'a Scaler,
    /// Applied to the labels; none: they are not scaled.
    pub target: Option<&'a Scaler>,
    /// Factor that brings the mean weight of the training part to 1.
    pub weight_scale: f64,
}

impl Rows<'_> {
    /// The features of the given rows, standardised and packed, `together` rows at a time; several of these on the threads of the
    /// present pool.
    fn gather<T: Scalar>(&self, rows: &[u32], together: usize, x: &mut [T]) {
        let gather = |(x, rows): (&mut [T], &[u32])| {
            T::gather(rows, self.features, &self.scaler.mean, &self.scaler.inverse, x);
        };
        match rows.len() > together {
            true => {
                let length = x.len() / rows.len() * together;
                x.par_chunks_mut(length).zip(rows.par_chunks(together)).for_each(gather);
            }
            false => gather((x, rows)),
        }
    }

    /// The same as x [rows, width], those of many rows on the threads of the present pool.
    fn gather_dense<T: Scalar>(&self, rows: &[u32], x: &mut [T]) {
        /// Rows that a thread gathers in one go.
        const GATHERED: usize = 256;
        let width = self.scaler.mean.len();
        let gather = |(x, rows): (&mut [T], &[u32])| {
            for (x, &row) in x.chunks_mut(width).zip(rows) {
                self.scaler.standardise(&self.features[row as usize * width..][..width], x);
            }
        };
        match rows.len() > GATHERED {
            true => x.par_chunks_mut(width * GATHERED).zip(rows.par_chunks(GATHERED)).for_each(gather),
            false => gather((x, rows)),
        }
    }

    /// The targets of the given rows, standardised, into y [rows, targets], and their weights into w [rows].
    fn gather_targets<T: Scalar>(&self, rows: &[u32], y: &mut [T], w: &mut [T]) {
        let targets = (y.len() / w.len().max(1)).max(1);
        for ((&from, y), w) in rows.iter().zip(y.chunks_mut(targets)).zip(w) {
            let labels = &self.labels[from as usize * targets..][..targets];
            for (column, (y, &label)) in y.iter_mut().zip(labels).enumerate() {
                *y = T::from_f64(self.target.map_or(f64::from(label), |target| target.apply(column, label)));
            }
            *w = T::from_f64(f64::from(self.weights[from as usize]));
        }
    }
}

/// All that the next steps of an engine depend on, in the order of the flat vectors. Random numbers are functions of a seed and
/// the number of steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The flat parameter vector.
    pub parameters: Vec<f32>,
    /// The flat vector of running statistics.
    pub state: Vec<f32>,
    /// Moments of the optimiser, see [`crate::optimiser::State`].
    pub moments: [Vec<f32>; 2],
    /// Steps of the optimiser so far.
    pub steps: u64,
}

/// Decides on the steps of a call of [`Engine::train`].
pub trait Steps: Sync {
    /// The step size after batch number `batch` of the call, from 0 on, whose sum of weight times loss is `loss`. An error ends
    /// the call without that step. An engine calls it once for each batch, in order, on any of its threads; one whose device
    /// works ahead gives a loss of 0.
    fn rate(&self, batch: usize, loss: f64) -> Result<f64>;

    /// How the call's events are divided into batches if each process has events of its own; otherwise all have the
    /// same, and batches have the size of the settings.
    fn spread(&self) -> Option<&Spread> {
        None
    }
}

/// The same step size always.
impl Steps for f64 {
    fn rate(&self, _: usize, _: f64) -> Result<f64> {
        Ok(*self)
    }
}

/// The events that calls of an engine bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsOf {
    /// Those that it trains on.
    Training,
    /// Others, which judge the fit.
    Validation,
}

/// A network in training on some device. It may keep a copy of the rows until it is told to forget them.
pub trait Engine: Send {
    /// One optimiser step for each batch of `order`; returns the sum of weight times loss over its rows. A device that works while the
    /// host prepares the next call may return that of earlier calls instead: see [`settle`](Self::settle).
    fn train(&mut self, data: Rows, order: &[u32], steps: &dyn Steps) -> Result<f64>;

    /// Waits for the steps of all calls; returns the part of their loss that no call has returned.
    fn settle(&mut self) -> Result<f64> {
        Ok(0.0)
    }

    /// The sum of weight times loss over `order`.
    fn evaluate(&mut self, data: Rows, order: &[u32]) -> Result<f64>;

    /// Says which events the next calls bring; at first those of the training.
    fn turn_to(&mut self, _: RowsOf) {}

    /// Says that those have changed: whatever was kept of them is dropped.
    fn forget(&mut self) {}

    /// The flat parameter vector.
    fn parameters(&self) -> Result<Vec<f32>>;

    /// The flat vector of running statistics.
    fn state(&self) -> Vec<f32> {
        Vec::new()
    }

    /// Batches that it has trained on, where networks count them.
    fn batches(&self) -> u64 {
        0
    }

    /// The state that its next steps depend on, besides its settings.
    fn snapshot(&self) -> Result<Snapshot>;

    /// Goes on from `snapshot`, which must be of an engine of the same network and settings.
    fn restore(&mut self, snapshot: &Snapshot) -> Result<()>;

    /// Whether it trains on a single event, as batch normalisation does not.
    fn takes_one(&self) -> bool {
        true
    }

    /// Back end, device and threads, for people.
    fn describe(&self) -> String;
}

/// A panic while it was held has ended the call: nobody reads what it left.
fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
