//! Construction of models.

use std::sync::Arc;

use super::computation::{Computation, OnLibTorch};
use super::predictor::Predictor;
use super::{Mlp, Model, ModuleNetwork, Names, Network, Training};
use crate::device::HostBuffer;
use crate::error::{Error, Result};
use crate::gradient::autograd::LibTorchModule;
use crate::graph::{DType, Init, Module, Op};

impl Model {
    /// A perceptron of the given layer sizes (features, hidden…, outputs), its weights drawn from `seed`.
    pub fn new(sizes: &[usize], activation: impl Into<Op>, init: Init, seed: u64) -> Result<Self> {
        let mlp = Mlp::new(sizes, activation.into(), init, seed)?;
        let parameters = mlp.draw()?;
        Self::of_mlp(mlp, parameters)
    }

    /// A perceptron that is not trained, with the given parameters.
    pub(super) fn of_mlp(mlp: Mlp, parameters: HostBuffer<f32>) -> Result<Self> {
        let (state, training) = (HostBuffer::zeros(0)?, Training::default());
        let predictor = Predictor::new(Arc::new(Module::of_graph(mlp.graph(), DType::Float32)));
        let (network, computation) = (Network::Mlp(Box::new(mlp)), Computation::Kernels(predictor));
        Ok(Model {
            network,
            computation,
            parameters,
            state,
            names: Arc::default(),
            state_dict: Arc::default(),
            training,
            frozen: Vec::new(),
            batches: 0,
        })
    }

    /// A network of LibTorch with its parameters and state: of `operators`, or why they have no kernels. LibTorch's flat vectors
    /// must be laid out as theirs.
    pub fn of_module(
        operators: Result<Module, &str>,
        libtorch: LibTorchModule,
        names: Names,
        parameters: &[f32],
        state: &[f32],
    ) -> Result<Self> {
        let lengths = [parameters.len(), state.len()];
        let expected = operators.as_ref().map(|module| [module.parameters(), module.state()]);
        if lengths != [libtorch.parameters, libtorch.state] || expected.is_ok_and(|expected| lengths != expected) {
            return Err(Error::Internal(format!("{lengths:?} parameters and state for {}", libtorch.name)));
        }
        let libtorch = Arc::new(libtorch);
        let network = ModuleNetwork::of_libtorch(&libtorch);
        let computation = match operators {
            Ok(module) => Computation::Kernels(Predictor::of_shared(Arc::new(module))),
            Err(why) => Computation::LibTorch(OnLibTorch { module: libtorch, obstacle: why.into() }),
        };
        Self::of_network(network, computation, names, parameters, state)
    }

    /// A network of operators, with parameters and state that nothing else shares.
    pub fn of_operators(module: Module, names: Names, parameters: &[f32], state: &[f32]) -> Result<Self> {
        if [parameters.len(), state.len()] != [module.parameters(), module.state()] {
            return Err(Error::Internal(format!("{} parameters for {}", parameters.len(), module.name())));
        }
        let (network, predictor) = (ModuleNetwork::of_operators(&module), Predictor::new(Arc::new(module)));
        Self::of_network(network, Computation::Kernels(predictor), names, parameters, state)
    }

    fn of_network(
        network: ModuleNetwork,
        computation: Computation,
        names: Names,
        parameters: &[f32],
        state: &[f32],
    ) -> Result<Self> {
        let (parameters, state) = (HostBuffer::from_slice(parameters)?, HostBuffer::from_slice(state)?);
        let (network, names, training) = (Network::Module(network), Arc::new(names), Training::default());
        let state_dict = Arc::default();
        Ok(Model {
            network,
            computation,
            parameters,
            state,
            names,
            state_dict,
            training,
            frozen: Vec::new(),
            batches: 0,
        })
    }

    /// A copy that shares nothing that changes.
    pub fn copy(&self) -> Result<Self> {
        Ok(Model {
            network: self.network.clone(),
            computation: self.computation.for_copy(),
            parameters: HostBuffer::from_slice(self.parameters())?,
            state: HostBuffer::from_slice(self.state())?,
            names: Arc::clone(&self.names),
            state_dict: Arc::clone(&self.state_dict),
            training: self.training.clone(),
            frozen: self.frozen.clone(),
            batches: self.batches,
        })
    }
}
