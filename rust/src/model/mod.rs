//! A network with everything that its use needs: weights, scaler, columns, and how it was trained.

mod computation;
mod create;
mod events;
mod file;
mod frozen;
pub(crate) mod gaussian;
mod gradient;
mod initial;
mod meaning;
mod mlp;
mod module;
mod names;
mod network_filter;
mod online;
mod parameters;
mod predictions;
mod predictor;
mod probe;
mod regularised;
mod rescale;
pub(crate) mod sealed;
mod state_dict;
mod training;
mod unlike;

pub use file::{load_all, save_all};
pub use mlp::Mlp;
pub use module::ModuleNetwork;
pub use names::{FlatOffset, Names, PROBABILITIES, TargetScaling};
pub use network_filter::NetworkFilter;
pub use online::OnlineSearch;
pub use regularised::Hidden;
pub use state_dict::{Content, StateTensor};
pub use training::Training;

use std::ops::Range;
use std::sync::Arc;

use crate::columns;
use crate::device::HostBuffer;
use crate::error::Result;
use crate::graph::Module;
use crate::options::record;
use crate::text;
use computation::Computation;

/// Where a model's module comes from.
#[derive(Clone)]
pub enum Network {
    /// A multilayer perceptron.
    Mlp(Box<Mlp>),
    /// A function of LibTorch's tensors.
    Module(ModuleNetwork),
}

/// A network that is trained and used.
pub struct Model {
    network: Network,
    computation: Computation,
    parameters: HostBuffer<f32>,
    /// Running statistics.
    state: HostBuffer<f32>,
    names: Arc<Names>,
    /// Of a module; empty: it has no others than `names` tells.
    state_dict: Arc<[StateTensor]>,
    training: Training,
    /// Frozen parts of the flat parameter vector, disjoint and in order.
    frozen: Vec<Range<usize>>,
    /// That fits trained on.
    batches: u64,
}

impl Model {
    /// Says that no tensor of LibTorch's shares its parameters, as those of a model of a torch::nn module do: they stay packed
    /// from one prediction to the next.
    pub fn freeze(&mut self) {
        if let Some(predictor) = self.computation.predictor() {
            predictor.keep_parameters();
        }
    }

    /// Where what it computes comes from.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The operators that it computes with kernels; none where LibTorch computes.
    pub fn module(&self) -> Option<&Arc<Module>> {
        match &self.computation {
            Computation::Kernels(predictor) => Some(predictor.module()),
            Computation::LibTorch(_) => None,
        }
    }

    /// Why LibTorch computes it, whatever a fit asks for; none: kernels do.
    pub fn why_libtorch(&self) -> Option<&str> {
        match &self.computation {
            Computation::Kernels(_) => None,
            Computation::LibTorch(on_libtorch) => Some(&on_libtorch.obstacle),
        }
    }

    /// The users' names of its tensors.
    pub fn names(&self) -> &Arc<Names> {
        &self.names
    }

    /// The tensors of a module under all their names; empty: [`names`](Self::names) tells them.
    pub fn state_dict(&self) -> &[StateTensor] {
        &self.state_dict
    }

    /// Replaces them; what they say of the model's vectors must be so.
    pub fn set_state_dict(&mut self, tensors: Vec<StateTensor>) -> Result<()> {
        tensors.iter().try_for_each(StateTensor::check)?;
        self.state_dict = tensors.into();
        Ok(())
    }

    /// Sets the last function of the network: see [`Names::last_function`].
    pub(crate) fn set_last_function(&mut self, last: &str) {
        self.names = Arc::new(self.names.with_last_function(last));
    }

    /// That fits trained on.
    pub fn batches(&self) -> u64 {
        self.batches
    }

    /// After a fit on `batches` more.
    pub fn add_batches(&mut self, batches: u64) {
        self.batches += batches;
    }

    /// Architecture, columns and options, for people.
    pub fn describe(&self) -> String {
        let mut text = match &self.network {
            Network::Mlp(mlp) => mlp.describe(),
            Network::Module(module) => {
                let kernels = self.module().map(|module| &**module);
                module.describe(kernels.ok_or_else(|| self.why_libtorch().unwrap_or_default()))
            }
        };
        if !self.columns().is_empty() {
            text += &format!("  columns: {}\n", columns::list(self.columns()));
        }
        if !self.targets().names().is_empty() {
            text += &format!("  targets: {}\n", text::list(self.targets().names().iter(), ", "));
        }
        text += &self.describe_frozen();
        match &self.training.options {
            None => text += "  not trained\n",
            Some(options) => {
                text += &format!("  trained with {}\n", record::describe(options));
            }
        }
        text
    }
}
