//! A network with all that its use needs: weights, scaler, columns, and how it was trained.

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
pub use names::{Names, PROBABILITIES, Place};
pub use network_filter::NetworkFilter;
pub use online::OnlineSearch;
use predictor::Predictor;
pub use regularised::Hidden;
pub use state_dict::{Content, StateTensor};
pub use training::Training;

use std::ops::Range;
use std::sync::Arc;

use crate::columns::{self, Column};
use crate::dataset::Targets;
use crate::device::HostBuffer;
use crate::error::{Error, Result};
use crate::gradient::libtorch::LibTorchModule;
use crate::graph::{DType, Init, Module, Op};
use crate::options::record;
use crate::text;

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
    /// None where LibTorch computes.
    predictor: Option<Predictor>,
    parameters: HostBuffer<f32>,
    /// Running statistics.
    state: HostBuffer<f32>,
    names: Arc<Names>,
    /// Of a module; empty: it has no others than `names` tells.
    state_dict: Arc<[StateTensor]>,
    training: Training,
    /// Parts of the flat parameter vector that fits leave as they are, apart and in order.
    frozen: Vec<Range<usize>>,
    /// That fits trained on.
    batches: u64,
}

impl Model {
    /// A perceptron of the given layer sizes (features, hidden…, outputs), its weights drawn from `seed`.
    pub fn new(sizes: &[usize], activation: impl Into<Op>, init: Init, seed: u64) -> Result<Self> {
        let mlp = Mlp::new(sizes, activation.into(), init, seed)?;
        let parameters = mlp.draw()?;
        Self::of_mlp(mlp, parameters)
    }

    /// A perceptron that is not trained, with the given parameters.
    fn of_mlp(mlp: Mlp, parameters: HostBuffer<f32>) -> Result<Self> {
        let (state, training) = (HostBuffer::zeros(0)?, Training::default());
        let predictor = Some(Predictor::new(Arc::new(Module::of_graph(mlp.graph(), DType::Float32))));
        let network = Network::Mlp(Box::new(mlp));
        Ok(Model {
            network,
            predictor,
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
        let network = ModuleNetwork::of_libtorch(operators.as_ref().err().copied(), libtorch);
        let predictor = operators.ok().map(|module| Predictor::of_shared(Arc::new(module)));
        Self::of_network(network, predictor, names, parameters, state)
    }

    /// A network of operators, with parameters and state that nobody else shares.
    pub fn of_operators(module: Module, names: Names, parameters: &[f32], state: &[f32]) -> Result<Self> {
        if [parameters.len(), state.len()] != [module.parameters(), module.state()] {
            return Err(Error::Internal(format!("{} parameters for {}", parameters.len(), module.name())));
        }
        let (network, predictor) = (ModuleNetwork::of_operators(&module), Predictor::new(Arc::new(module)));
        Self::of_network(network, Some(predictor), names, parameters, state)
    }

    fn of_network(
        network: ModuleNetwork,
        predictor: Option<Predictor>,
        names: Names,
        parameters: &[f32],
        state: &[f32],
    ) -> Result<Self> {
        let (parameters, state) = (HostBuffer::from_slice(parameters)?, HostBuffer::from_slice(state)?);
        let (network, names, training) = (Network::Module(network), Arc::new(names), Training::default());
        let state_dict = Arc::default();
        Ok(Model { network, predictor, parameters, state, names, state_dict, training, frozen: Vec::new(), batches: 0 })
    }

    /// A copy that shares nothing that changes.
    pub fn copy(&self) -> Result<Self> {
        Ok(Model {
            network: self.network.clone(),
            predictor: self.predictor.as_ref().map(Predictor::for_copy),
            parameters: HostBuffer::from_slice(self.parameters())?,
            state: HostBuffer::from_slice(self.state())?,
            names: Arc::clone(&self.names),
            state_dict: Arc::clone(&self.state_dict),
            training: self.training.clone(),
            frozen: self.frozen.clone(),
            batches: self.batches,
        })
    }

    /// Says that no tensor of LibTorch's shares its parameters, as those of a model of a torch::nn module do: they stay packed
    /// from one prediction to the next.
    pub fn freeze(&mut self) {
        if let Some(predictor) = &mut self.predictor {
            predictor.keep_parameters();
        }
    }

    /// Where what it computes comes from.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The operators that it computes with kernels; none where LibTorch computes.
    pub fn module(&self) -> Option<&Arc<Module>> {
        self.predictor.as_ref().map(Predictor::module)
    }

    /// Numbers an event.
    pub fn inputs(&self) -> usize {
        match &self.network {
            Network::Mlp(mlp) => mlp.graph().inputs(),
            Network::Module(module) => module.inputs(),
        }
    }

    /// Numbers that it gives for an event.
    pub fn outputs(&self) -> usize {
        match &self.network {
            Network::Mlp(mlp) => mlp.graph().outputs(),
            Network::Module(module) => module.outputs(),
        }
    }

    /// For each feature whether the network takes it as a whole number, as categories are; empty: it takes none so.
    pub fn whole_features(&self) -> Result<Vec<bool>> {
        let Network::Module(network) = &self.network else { return Ok(Vec::new()) };
        match network.libtorch() {
            Ok(libtorch) => Ok(libtorch.whole.clone()),
            Err(_) => self.module().map_or(Ok(Vec::new()), |module| module.whole_features()),
        }
    }

    /// Multiplications of an event, about.
    pub fn work(&self) -> usize {
        match (&self.network, self.module()) {
            (_, Some(module)) => module.cost().work,
            (Network::Module(module), None) => module.libtorch().map_or(0, |libtorch| libtorch.work()),
            (Network::Mlp(_), None) => 0,
        }
    }

    /// The flat vector of running statistics, which a fit changes beside the parameters.
    pub fn state(&self) -> &[f32] {
        self.state.as_slice()
    }

    /// Replaces it; the numbers must be as many.
    pub fn set_state(&mut self, values: &[f32]) -> Result<()> {
        match values.len() == self.state().len() {
            true => self.state.as_mut_slice().copy_from_slice(values),
            false => return Err(Error::Internal(format!("{} numbers of state", values.len()))),
        }
        Ok(())
    }

    /// The flat parameter vector: for each layer of a perceptron its weight [outputs, inputs], then its bias [outputs].
    pub fn parameters(&self) -> &[f32] {
        self.parameters.as_slice()
    }

    /// Replaces the parameters; they must be as many, and finite.
    pub fn set_parameters(&mut self, values: &[f32]) -> Result<()> {
        let expected = self.parameters().len();
        if values.len() != expected {
            return Err(Error::invalid(
                format!("{} parameters for a model of {expected}", values.len()),
                "give as many as the model has",
            ));
        }
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            return Err(Error::invalid(
                format!("{} is {}", self.names.parameter(at), values[at]),
                "give finite numbers",
            ));
        }
        self.parameters.as_mut_slice().copy_from_slice(values);
        if let Some(predictor) = &mut self.predictor {
            predictor.forget_parameters();
        }
        Ok(())
    }

    /// Refuses numbers that no fit can begin with, and no file holds: a module's may be anything. `before` is what then cannot be.
    pub fn check_finite(&self, before: &str) -> Result<()> {
        let not_finite = |values: &[f32]| values.iter().position(|value| !value.is_finite());
        let parameter = not_finite(self.parameters()).map(|at| (self.names.parameter(at), self.parameters()[at]));
        let statistic = || not_finite(self.state()).map(|at| (self.names.state(at), self.state()[at]));
        match parameter.or_else(statistic) {
            None => Ok(()),
            Some((name, value)) => {
                Err(Error::invalid(format!("{name} is {value} before {before}"), "give it finite numbers"))
            }
        }
    }

    /// What users call its tensors.
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

    /// What the network ends in: see [`Names::last_activation`].
    pub(crate) fn set_last_activation(&mut self, last: &str) {
        self.names = Arc::new(self.names.with_last_activation(last));
    }

    /// That fits trained on.
    pub fn batches(&self) -> u64 {
        self.batches
    }

    /// After a fit on `batches` more.
    pub fn add_batches(&mut self, batches: u64) {
        self.batches += batches;
    }

    /// Scalers, columns and options.
    pub fn training(&self) -> &Training {
        &self.training
    }

    /// Replaces them; their widths must be the network's.
    pub fn set_training(&mut self, training: Training) -> Result<()> {
        training.check(self.inputs(), self.outputs())?;
        self.training = training;
        Ok(())
    }

    /// The feature columns; empty where nobody has given any.
    pub fn columns(&self) -> &[Column] {
        &self.training.columns
    }

    /// A model takes the columns it was trained on, or, untrained, any of its width.
    pub fn check_columns(&self, found: &[Column], width: usize) -> Result<()> {
        let inputs = self.inputs();
        if width != inputs {
            return Err(Error::invalid(
                format!(
                    "the dataset has {width} numbers an event ({}), the model takes {inputs}",
                    columns::list(found)
                ),
                "make the first size of the model the dataset's width",
            ));
        }
        let key = |column: &Column| (column.name.clone(), column.length, column.inner);
        let trained = self.columns();
        if !trained.is_empty() && !trained.iter().map(key).eq(found.iter().map(key)) {
            return Err(Error::invalid(
                format!(
                    "the dataset's columns ({}) are not the model's ({})",
                    columns::list(found),
                    columns::list(trained)
                ),
                "name the columns in the order in which the model was trained",
            ));
        }
        Ok(())
    }

    /// The label columns that it was trained on; without names if it was not trained, or if labels were numbers.
    pub fn targets(&self) -> &Targets {
        &self.training.targets
    }

    /// Architecture, columns and options, for people.
    pub fn describe(&self) -> String {
        let mut text = match &self.network {
            Network::Mlp(mlp) => mlp.describe(),
            Network::Module(module) => module.describe(self.module().map(|module| &**module)),
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
