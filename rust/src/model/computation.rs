//! The computation of a model's predictions: by kernels, if all operators have one, or by LibTorch.

use std::sync::Arc;

use super::predictor::{Numbers, Predictor, fill};
use crate::error::Result;
use crate::gradient::autograd::{EVALUATED_ROWS, LibTorchModule};
use crate::gradient::batches;
use crate::graph::Mode;
use crate::interrupt;

/// See the module's documentation.
pub(super) enum Computation {
    /// By kernels.
    Kernels(Predictor),
    /// By LibTorch.
    LibTorch(OnLibTorch),
}

/// A module that LibTorch runs, and why kernels do not.
#[derive(Clone)]
pub(super) struct OnLibTorch {
    pub module: Arc<LibTorchModule>,
    pub obstacle: Arc<str>,
}

impl Computation {
    /// For another model of the same network.
    pub fn for_copy(&self) -> Self {
        match self {
            Computation::Kernels(predictor) => Computation::Kernels(predictor.for_copy()),
            Computation::LibTorch(on_libtorch) => Computation::LibTorch(on_libtorch.clone()),
        }
    }

    /// The kernels, if they compute.
    pub fn predictor(&mut self) -> Option<&mut Predictor> {
        match self {
            Computation::Kernels(predictor) => Some(predictor),
            Computation::LibTorch(_) => None,
        }
    }
}

impl OnLibTorch {
    /// The outputs [rows, outputs] of `features` [rows, inputs] by LibTorch's operators, on `threads` of its threads;
    /// `finish` gets those of some rows at a time. Ends early after Ctrl-C.
    pub fn predict(
        &self,
        numbers: Numbers,
        threads: usize,
        features: &[f32],
        out: &mut [f32],
        finish: impl Fn(&mut [f32]),
    ) -> Result<()> {
        let (inputs, outputs) = (self.module.inputs(), self.module.outputs);
        let takes_one = self.module.takes_one[Mode::Evaluation as usize];
        let mut x = vec![0.0; (EVALUATED_ROWS + 1) * inputs];
        for rows in batches::ranges(features.len() / inputs, EVALUATED_ROWS, takes_one) {
            if interrupt::requested() {
                return Ok(());
            }
            let x = &mut x[..rows.len() * inputs];
            fill(numbers.scaler, &features[rows.start * inputs..rows.end * inputs], x);
            let out = &mut out[rows.start * outputs..rows.end * outputs];
            self.module.evaluate(threads, x, numbers.parameters, numbers.state, out)?;
            finish(out);
        }
        Ok(())
    }

    /// The same for one event.
    pub fn score(&self, numbers: Numbers, features: &[f32], out: &mut [f32]) -> Result<()> {
        let mut x = vec![0.0; features.len()];
        fill(numbers.scaler, features, &mut x);
        self.module.evaluate(0, &x, numbers.parameters, numbers.state, out)
    }
}
