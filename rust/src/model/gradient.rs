//! Derivatives of a model's outputs by its features.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::Model;
use super::computation::{Computation, OnLibTorch};
use super::predictor::{Numbers, fill};
use crate::dataset::{Dataset, Scaler};
use crate::device::shared_pool;
use crate::error::{Error, Result};
use crate::gradient::{Memory, Packing, Pass, batches, tile_rows};
use crate::graph::{Mode, Module};
use crate::interrupt;

/// Most rows that LibTorch differentiates at once.
const ROWS: usize = 256;
/// Derivatives of one block, and most of its rows.
const BLOCK: usize = 1 << 22;
const BLOCK_ROWS: usize = 1 << 14;

impl Model {
    /// The Jacobian of each event's [raw outputs](Self::predict) by its features, in their own units, into `out` [rows, outputs,
    /// inputs].
    pub fn gradient(&self, data: &Dataset, threads: usize, out: &mut [f32]) -> Result<()> {
        self.check_columns(data.columns(), data.width())?;
        let expected = data.rows().checked_mul(self.outputs()).and_then(|count| count.checked_mul(self.inputs()));
        if expected != Some(out.len()) {
            return Err(Error::Internal(format!("{} derivatives of {} rows", out.len(), data.rows())));
        }
        self.gradient_rows(data.features(), threads, out)
    }

    /// The same of any number of events, in blocks of neighbouring rows: `each` gets the rows and their derivatives [rows, outputs,
    /// inputs].
    pub fn gradient_blocks(
        &self,
        data: &Dataset,
        threads: usize,
        mut each: impl FnMut(Range<usize>, &[f32]) -> Result<()>,
    ) -> Result<()> {
        self.check_columns(data.columns(), data.width())?;
        let each_row = self.outputs() * self.inputs();
        let size = (BLOCK / each_row).clamp(2, BLOCK_ROWS);
        let mut block = Vec::new();
        for rows in batches::ranges(data.rows(), size, self.takes_one()) {
            block.resize(rows.len() * each_row, 0.0);
            self.gradient_rows(
                &data.features()[rows.start * self.inputs()..rows.end * self.inputs()],
                threads,
                &mut block,
            )?;
            each(rows, &block)?;
        }
        Ok(())
    }

    /// Whether the network takes a single event.
    fn takes_one(&self) -> bool {
        match &self.computation {
            Computation::Kernels(predictor) => predictor.module().takes_one(Mode::Evaluation),
            Computation::LibTorch(on_libtorch) => on_libtorch.module.takes_one[Mode::Evaluation as usize],
        }
    }

    /// `features` [rows, inputs]
    fn gradient_rows(&self, features: &[f32], threads: usize, out: &mut [f32]) -> Result<()> {
        let takes_one = self.takes_one();
        shared_pool(threads)?.install(|| match &self.computation {
            Computation::Kernels(predictor) => self.by_kernels(predictor.module(), features, takes_one, out),
            Computation::LibTorch(OnLibTorch { module, .. }) => {
                let pieces = self.pieces(features, out, ROWS, takes_one);
                pieces.into_iter().try_for_each(|(features, out)| {
                    let mut x = vec![0.0; features.len()];
                    fill(self.numbers().scaler, features, &mut x);
                    module.gradient(threads, &x, self.parameters(), self.state(), out)?;
                    self.scale(out);
                    interrupt::check("the gradient")
                })
            }
        })
    }

    fn by_kernels(&self, module: &Module, features: &[f32], takes_one: bool, out: &mut [f32]) -> Result<()> {
        let packing = Packing::plain(module);
        let pieces = self.pieces(features, out, tile_rows::<f32>(module), takes_one);
        // Those that no thread uses, for as many rows as stand beside them.
        let spare: Mutex<Vec<(usize, Pass<f32>)>> = Mutex::default();
        let lock = || spare.lock().unwrap_or_else(PoisonError::into_inner);
        pieces.into_par_iter().try_for_each(|(features, out)| {
            interrupt::check("the gradient")?;
            let rows = features.len() / self.inputs();
            let kept = {
                let mut all = lock();
                all.iter().position(|(of, _)| *of == rows).map(|at| all.swap_remove(at).1)
            };
            let mut pass = match kept {
                Some(pass) => pass,
                None => Pass::by_events(module, &packing, rows)?,
            };
            self.differentiate(module, &mut pass, features, out)?;
            lock().push((rows, pass));
            self.scale(out);
            Ok(())
        })
    }

    /// The features of some rows, with what becomes their derivatives.
    fn pieces<'a>(
        &self,
        features: &'a [f32],
        mut out: &'a mut [f32],
        size: usize,
        takes_one: bool,
    ) -> Vec<(&'a [f32], &'a mut [f32])> {
        let (inputs, outputs) = (self.inputs(), self.outputs());
        let cut = |range: Range<usize>| {
            let (own, behind) = std::mem::take(&mut out).split_at_mut(range.len() * outputs * inputs);
            out = behind;
            (&features[range.start * inputs..range.end * inputs], own)
        };
        batches::ranges(features.len() / inputs, size, takes_one).map(cut).collect()
    }

    /// One reverse pass for each output: the events are apart, so that it gives the derivatives of every event's own.
    fn differentiate(&self, module: &Module, pass: &mut Pass<f32>, features: &[f32], out: &mut [f32]) -> Result<()> {
        let (inputs, outputs) = (self.inputs(), self.outputs());
        let rows = features.len() / inputs;
        let Numbers { parameters, state, scaler } = self.numbers();
        let mut x = vec![0.0; features.len()];
        fill(scaler, features, &mut x);
        let memory = Memory { x: &x, parameters, derived: &[], state };
        let (mut results, mut of_one) = (vec![0.0; rows * outputs], vec![0.0; rows * inputs]);
        pass.forward(module, &memory, 1, &mut results)?;
        for output in 0..outputs {
            let mut adjoint = vec![0.0; rows * outputs];
            adjoint.iter_mut().skip(output).step_by(outputs).for_each(|adjoint| *adjoint = 1.0);
            pass.backward_events(module, &memory, &adjoint, &mut of_one);
            for (row, derivatives) in of_one.chunks_exact(inputs).enumerate() {
                out[(row * outputs + output) * inputs..][..inputs].copy_from_slice(derivatives);
            }
        }
        Ok(())
    }

    /// Derivatives [rows, outputs, inputs] of standardised numbers become those in the units of features and labels.
    fn scale(&self, out: &mut [f32]) {
        let deviations: Option<Vec<f64>> = self.training.target.as_ref().map(|target| target.deviation().collect());
        let inverse = self.training.scaler.as_ref().map(|Scaler { inverse, .. }| inverse);
        for (index, derivatives) in out.chunks_exact_mut(self.inputs()).enumerate() {
            let of_output = deviations.as_ref().map_or(1.0, |deviations| deviations[index % self.outputs()]);
            for (feature, derivative) in derivatives.iter_mut().enumerate() {
                let of_feature = inverse.map_or(1.0, |inverse| f64::from(inverse[feature]));
                *derivative = (f64::from(*derivative) * of_output * of_feature) as f32;
            }
        }
    }
}
