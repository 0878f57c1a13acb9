//! A network of LibTorch as the computation of a model, on the back ends that support it.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::gradient::BackEnd;
use crate::gradient::autograd::LibTorchModule;
use crate::graph::Module;
use crate::text;

/// A module or function: LibTorch runs any; kernels run those whose operators have some.
#[derive(Clone)]
pub struct ModuleNetwork {
    name: Arc<str>,
    /// Of one event.
    shape: Arc<[usize]>,
    outputs: usize,
    parameters: usize,
    /// None of one from a file, which has its operators alone.
    libtorch: Option<Arc<LibTorchModule>>,
}

impl ModuleNetwork {
    /// That LibTorch can run.
    pub fn of_libtorch(libtorch: &Arc<LibTorchModule>) -> Self {
        ModuleNetwork {
            name: libtorch.name.as_str().into(),
            shape: libtorch.shape.as_slice().into(),
            outputs: libtorch.outputs,
            parameters: libtorch.parameters,
            libtorch: Some(Arc::clone(libtorch)),
        }
    }

    /// With kernels only.
    pub fn of_operators(module: &Module) -> Self {
        ModuleNetwork {
            name: module.name().into(),
            shape: module.shape().into(),
            outputs: module.outputs(),
            parameters: module.parameters(),
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

    /// Lines for people; `operators` are those that kernels run, or why they do not.
    pub(super) fn describe(&self, operators: Result<&Module, &str>) -> String {
        let back_end = match operators {
            Ok(module) => format!("{}, {} multiplications an event", BackEnd::Aot.title(), module.cost().work),
            Err(why) => format!("{}: {why}", BackEnd::Autograd.title()),
        };
        format!(
            "Model {} of events [{}] to {} output(s), {} parameters\n  back end {back_end}\n",
            self.name(),
            text::list(self.shape.iter().map(usize::to_string), ", "),
            self.outputs,
            self.parameters,
        )
    }
}
