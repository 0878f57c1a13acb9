//! A network of LibTorch as what a model computes, on the back ends that can.

use std::sync::Arc;

use super::predictor::{Numbers, fill};
use crate::error::{Error, Result};
use crate::gradient::batches;
use crate::gradient::libtorch::{EVALUATED_ROWS, LibTorchModule};
use crate::graph::{Mode, Module};
use crate::interrupt;
use crate::text;

/// A module or function: LibTorch runs any; kernels run those whose operators have some.
#[derive(Clone)]
pub struct ModuleNetwork {
    name: Arc<str>,
    /// Of one event.
    shape: Arc<[usize]>,
    outputs: usize,
    parameters: usize,
    /// Why no kernels run it; none: they do.
    obstacle: Option<Arc<str>>,
    /// None of one from a file, which has its operators alone.
    libtorch: Option<Arc<LibTorchModule>>,
}

impl ModuleNetwork {
    /// With kernels, unless there is an obstacle. On LibTorch the flat vectors must be laid out as those of its operators.
    pub fn of_libtorch(obstacle: Option<&str>, libtorch: LibTorchModule) -> Self {
        ModuleNetwork {
            name: libtorch.name.as_str().into(),
            shape: libtorch.shape.as_slice().into(),
            outputs: libtorch.outputs,
            parameters: libtorch.parameters,
            obstacle: obstacle.map(Arc::from),
            libtorch: Some(Arc::new(libtorch)),
        }
    }

    /// With kernels only.
    pub fn of_operators(module: &Module) -> Self {
        ModuleNetwork {
            name: module.name().into(),
            shape: module.shape().into(),
            outputs: module.outputs(),
            parameters: module.parameters(),
            obstacle: None,
            libtorch: None,
        }
    }

    /// For people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Elements of an event.
    pub fn inputs(&self) -> usize {
        self.shape.iter().product()
    }

    /// Elements that it gives for an event.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// As LibTorch runs it.
    pub fn libtorch(&self) -> Result<&Arc<LibTorchModule>> {
        let missing = || {
            Error::invalid(
                format!(
                    "LibTorch does not know the network {}, which was read from a file or is an Mlp with normalisation or dropout",
                    self.name
                ),
                "leave fGradient = kClad and fDevice = \"cpu\", or make a Model of a torch::nn module and fit that",
            )
        };
        self.libtorch.as_ref().ok_or_else(missing)
    }

    /// Why LibTorch runs it whatever a fit asks for.
    pub fn why_libtorch(&self) -> Option<&str> {
        self.obstacle.as_deref()
    }

    /// The outputs [rows, outputs] of `features` [rows, inputs] by LibTorch's operators, on so many of its threads; `finish`
    /// gets those of some rows at once. Ends early where Ctrl-C asks for it.
    pub(super) fn predict(
        &self,
        numbers: Numbers,
        threads: usize,
        features: &[f32],
        out: &mut [f32],
        finish: impl Fn(&mut [f32]),
    ) -> Result<()> {
        let libtorch = self.libtorch()?;
        let (inputs, outputs) = (self.inputs(), self.outputs);
        let takes_one = libtorch.takes_one[Mode::Evaluation as usize];
        let mut x = vec![0.0; (EVALUATED_ROWS + 1) * inputs];
        for rows in batches::ranges(features.len() / inputs, EVALUATED_ROWS, takes_one) {
            if interrupt::requested() {
                return Ok(());
            }
            let x = &mut x[..rows.len() * inputs];
            fill(numbers.scaler, &features[rows.start * inputs..rows.end * inputs], x);
            let out = &mut out[rows.start * outputs..rows.end * outputs];
            libtorch.evaluate(threads, x, numbers.parameters, numbers.state, out)?;
            finish(out);
        }
        Ok(())
    }

    /// The same for one event.
    pub(super) fn score(&self, numbers: Numbers, features: &[f32], out: &mut [f32]) -> Result<()> {
        let mut x = vec![0.0; features.len()];
        fill(numbers.scaler, features, &mut x);
        self.libtorch()?.evaluate(0, &x, numbers.parameters, numbers.state, out)
    }

    /// Lines for people; `operators` are those that kernels run.
    pub(super) fn describe(&self, operators: Option<&Module>) -> String {
        let back_end = match (operators, &self.obstacle) {
            (Some(module), _) => {
                format!("back end aot (derivatives by Clad), {} multiplications an event", module.cost().work)
            }
            (None, why) => format!("back end autograd (LibTorch): {}", why.as_deref().unwrap_or_default()),
        };
        format!(
            "Model {} of events [{}] to {} output(s), {} parameters\n  {back_end}\n",
            self.name(),
            text::list(self.shape.iter().map(usize::to_string), ", "),
            self.outputs,
            self.parameters,
        )
    }
}
