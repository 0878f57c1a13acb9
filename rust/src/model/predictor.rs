//! The predictor: a module in evaluation, whose parameters are packed at the first prediction.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::prelude::*;

use crate::dataset::Scaler;
use crate::device::HostBuffer;
use crate::error::Result;
use crate::gradient::{Memory, Packing, Pass, Passes, batches, tile_rows};
use crate::graph::{Mode, Module};
use crate::interrupt;
use crate::kernels::{Scalar, with_blas_on_this_thread};

/// Most tiles that a thread takes in one go, and shares for each thread if there are fewer.
const TILES: usize = 16;
const SHARES: usize = 4;

/// Multiplications that take less time than waking other threads for them.
const SHORT: usize = 1 << 20;

/// Modules that a thread keeps a program for one event of.
const KEPT: usize = 8;

/// Predictions of a module, for the numbers of one model.
pub struct Predictor {
    module: Arc<Module>,
    /// The parameters change only where [`forget_parameters`](Self::forget_parameters) is called: they stay packed.
    keeps: bool,
    packing: OnceLock<Packing<f32>>,
    /// The parameters in the order of the packing.
    packed: OnceLock<HostBuffer<f32>>,
    /// Memory for tiles that no thread uses now.
    spare: Mutex<Vec<Space>>,
}

/// A thread's programs and events.
struct Space {
    passes: Passes<f32>,
    x: Vec<f32>,
}

/// The numbers with which the events of a prediction are computed.
#[derive(Clone, Copy)]
pub struct Numbers<'a> {
    /// The flat vector.
    pub parameters: &'a [f32],
    /// The flat vector of running statistics.
    pub state: &'a [f32],
    /// Applied to the features.
    pub scaler: Option<&'a Scaler>,
}

impl Predictor {
    /// For a module whose parameters nothing else changes.
    pub fn new(module: Arc<Module>) -> Self {
        Predictor { module, keeps: true, packing: OnceLock::new(), packed: OnceLock::new(), spare: Mutex::default() }
    }

    /// For a module that shares its parameters with tensors of LibTorch, which may change them at any time.
    pub fn of_shared(module: Arc<Module>) -> Self {
        Predictor { keeps: false, ..Predictor::new(module) }
    }

    /// For another model of the same module, whose parameters are shared if those of this one are.
    pub fn for_copy(&self) -> Self {
        Predictor { keeps: self.keeps, ..Predictor::new(Arc::clone(&self.module)) }
    }

    /// Nobody else changes the parameters from now on.
    pub fn keep_parameters(&mut self) {
        self.keeps = true;
    }

    /// The module that is computed.
    pub fn module(&self) -> &Arc<Module> {
        &self.module
    }

    /// The parameters have changed.
    pub fn forget_parameters(&mut self) {
        self.packed = OnceLock::new();
    }

    fn packing(&self) -> Result<&Packing<f32>> {
        if let Some(packing) = self.packing.get() {
            return Ok(packing);
        }
        let packing = Packing::for_predictions(&self.module, tile_rows::<f32>(&self.module))?;
        // Threads that meet here make the same; one of them is kept.
        Ok(self.packing.get_or_init(|| packing))
    }

    fn packed(&self, packing: &Packing<f32>, parameters: &[f32]) -> Result<Cow<'_, [f32]>> {
        if let Some(packed) = self.packed.get() {
            return Ok(Cow::Borrowed(packed.as_slice()));
        }
        if !self.keeps {
            let mut packed = vec![0.0; packing.parameters()];
            packing.pack(&self.module, parameters, &mut packed);
            return Ok(Cow::Owned(packed));
        }
        let mut packed = HostBuffer::zeros(packing.parameters())?;
        packing.pack(&self.module, parameters, packed.as_mut_slice());
        Ok(Cow::Borrowed(self.packed.get_or_init(|| packed).as_slice()))
    }

    /// Whether this many rows are computed sooner than other threads start.
    pub fn is_short(&self, rows: usize) -> bool {
        self.module.cost().work.saturating_mul(rows) <= SHORT
    }

    /// As [`predict`](Self::predict), on this thread, which belongs to the user.
    pub fn predict_here(
        &self,
        numbers: Numbers,
        features: &[f32],
        out: &mut [f32],
        finish: impl Fn(&mut [f32]),
    ) -> Result<()> {
        let packing = self.packing()?;
        let packed = self.packed(packing, numbers.parameters)?;
        let numbers = Numbers { parameters: &packed, ..numbers };
        with_blas_on_this_thread(|| self.run(packing, numbers, features, out, finish))
    }

    /// The outputs [rows, outputs] of `features` [rows, inputs], on the threads of the present pool; `finish` gets those of
    /// some rows at once. Ends early where Ctrl-C asks for it.
    pub fn predict(
        &self,
        numbers: Numbers,
        features: &[f32],
        out: &mut [f32],
        finish: impl Fn(&mut [f32]) + Sync,
    ) -> Result<()> {
        let packing = self.packing()?;
        let packed = self.packed(packing, numbers.parameters)?;
        let numbers = Numbers { parameters: &packed, ..numbers };
        let (inputs, takes_one) = (self.module.inputs(), self.module.takes_one(Mode::Evaluation));
        let (rows, tile) = (features.len() / inputs, tile_rows::<f32>(&self.module));
        let share = tile * (rows / tile / (SHARES * rayon::current_num_threads())).clamp(1, TILES);
        let mut rest = out;
        let cut = |range: Range<usize>| {
            let (own, behind) = std::mem::take(&mut rest).split_at_mut(range.len() * self.module.outputs());
            rest = behind;
            (&features[range.start * inputs..range.end * inputs], own)
        };
        let shares: Vec<_> = batches::ranges(rows, share, takes_one).map(cut).collect();
        shares.into_par_iter().try_for_each(|(features, out)| self.run(packing, numbers, features, out, &finish))
    }

    /// One thread's share.
    fn run(
        &self,
        packing: &Packing<f32>,
        numbers: Numbers,
        features: &[f32],
        out: &mut [f32],
        finish: impl Fn(&mut [f32]),
    ) -> Result<()> {
        let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let made = || Space { passes: Passes::new(Mode::Evaluation, None), x: Vec::new() };
        let mut space = spare().pop().unwrap_or_else(made);
        let (inputs, outputs) = (self.module.inputs(), self.module.outputs());
        let (size, takes_one) = (tile_rows::<f32>(&self.module), self.module.takes_one(Mode::Evaluation));
        for rows in batches::ranges(features.len() / inputs, size, takes_one) {
            if interrupt::requested() {
                break;
            }
            let pass = space.passes.of(&self.module, packing, rows.len())?;
            let features = &features[rows.start * inputs..rows.end * inputs];
            let out = &mut out[rows.start * outputs..rows.end * outputs];
            forward(&self.module, pass, numbers, features, &mut space.x, out)?;
            finish(out);
        }
        spare().push(space);
        Ok(())
    }

    /// The same for one event; no allocation after a thread's first call.
    pub fn score(&self, numbers: Numbers, features: &[f32], out: &mut [f32]) -> Result<()> {
        thread_local! {
            static ONES: Cell<Vec<One>> = const { Cell::new(Vec::new()) };
        }
        let packing = self.packing()?;
        let packed = self.packed(packing, numbers.parameters)?;
        let numbers = Numbers { parameters: &packed, ..numbers };
        // Taken out while it is in use: in an event loop of ROOT's, Ctrl-C jumps out of here, and a loan would last for ever.
        let mut ones = ONES.take();
        let index = match ones.iter().position(|one| one.module == self.module.number()) {
            Some(index) => index,
            None => {
                let pass = Pass::new(&self.module, packing, Mode::Evaluation, 1)?;
                ones.truncate(KEPT - 1);
                ones.insert(0, One { module: self.module.number(), pass, x: Vec::new() });
                0
            }
        };
        let One { pass, x, .. } = &mut ones[index];
        forward(&self.module, pass, numbers, features, x, out)?;
        ONES.set(ones);
        Ok(())
    }
}

/// The memory of a thread that computes one event of a module.
struct One {
    module: u64,
    pass: Pass<f32>,
    x: Vec<f32>,
}

/// `numbers.parameters` are packed; `x` is memory for the standardised features.
fn forward(
    module: &Module,
    pass: &mut Pass<f32>,
    numbers: Numbers,
    features: &[f32],
    x: &mut Vec<f32>,
    out: &mut [f32],
) -> Result<()> {
    let Numbers { parameters, state, scaler } = numbers;
    x.resize(pass.input_length().max(x.len()), 0.0);
    let x = &mut x[..pass.input_length()];
    let rows = features.len() / module.inputs();
    match (scaler, pass.packs_events()) {
        (Some(scaler), true) => f32::standardise(features, &scaler.mean, &scaler.inverse, x),
        (None, true) => f32::pack_matrix(rows, module.inputs(), features, x),
        (_, false) => fill(scaler, features, x),
    }
    pass.forward(module, &Memory { x, parameters, derived: &[], state }, 1, out)
}

/// `x` = `features`, standardised where there is a scaler.
pub fn fill(scaler: Option<&Scaler>, features: &[f32], x: &mut [f32]) {
    match scaler {
        Some(scaler) => scaler.standardise(features, x),
        None => x.copy_from_slice(features),
    }
}
