//! A network with all that its use needs: weights, scaler, columns, and how it was trained.

mod file;
mod initial;
mod probe;
mod rescale;

use std::cell::Cell;
use std::sync::OnceLock;

use rayon::prelude::*;

use crate::bridge::{ColumnSpec, FitSpec};
use crate::columns;
use crate::dataset::{Dataset, Scaler, Targets};
use crate::device::{HostBuffer, thread_pool};
use crate::error::{Error, Result};
use crate::gradient::{Plan, TILE_ROWS};
use crate::graph::{Graph, Init, Loss, Op};
use crate::interrupt;
use crate::kernels::Scalar;
use crate::text;
use crate::train::{check_columns, record};

/// In the place of the name of an activation or a loss: C++ text of the user's own.
pub(crate) const OWN: &str = "of the user's own";

/// What a fit leaves in a model beside its parameters, or a user sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Training {
    /// Applied to features before the first layer; none: they are taken as they are.
    pub scaler: Option<Scaler>,
    /// Undone on the outputs [outputs] of a regression; none: they are values as they are.
    pub target: Option<Scaler>,
    /// The feature columns, in order; empty: unknown.
    pub columns: Vec<ColumnSpec>,
    /// Names of the label columns.
    pub targets: Targets,
    /// Of the last fit, with the loss decided and the epochs that were run; none: there was none.
    pub options: Option<FitSpec>,
}

impl Training {
    /// Whether the outputs are values, not logits: after a regression, or with a loss of the user's own.
    fn gives_values(&self) -> bool {
        match &self.options {
            Some(spec) => record::loss(spec).is_none_or(Loss::is_regression),
            None => self.target.is_some(),
        }
    }

    /// Checks the widths against those of a network, and that only values are scaled.
    fn check(&self, inputs: usize, outputs: usize) -> Result<()> {
        let width = |scaler: &Option<Scaler>| scaler.as_ref().map(|scaler| scaler.mean.len());
        let columns = (!self.columns.is_empty()).then(|| columns::checked_width(&self.columns)).transpose()?;
        for (what, found, expected) in [
            ("a scaler", width(&self.scaler), inputs),
            ("a scaler of the target", width(&self.target), outputs),
            ("columns", columns, inputs),
        ] {
            if let Some(found) = found.filter(|found| *found != expected) {
                return Err(Error::invalid(
                    format!("{what} of {found} numbers for a model of {inputs} inputs and {outputs} outputs"),
                    format!("give {expected}"),
                ));
            }
        }
        if self.targets.count() > 1 && (self.targets.count() != outputs || !self.gives_values()) {
            return Err(Error::invalid(
                format!("{} for a model of {outputs} outputs", self.targets),
                "several targets need one output each, and a regression",
            ));
        }
        match self.target.is_some() && !self.gives_values() {
            false => Ok(()),
            true => Err(Error::invalid(
                "a scaler of the target for a classifier",
                "only the outputs of a regression have a scale: its fLoss is kMeanSquaredError or kHuber",
            )),
        }
    }
}

/// A multilayer perceptron.
pub struct Model {
    sizes: Vec<usize>,
    /// After each layer but the last.
    activation: Op,
    init: Init,
    seed: u64,
    tile: Plan<f32>,
    row: Plan<f32>,
    parameters: HostBuffer<f32>,
    /// The parameters in panels, as the plans read them, once there is something to predict: many times as long where a
    /// layer has one output.
    packed: OnceLock<HostBuffer<f32>>,
    training: Training,
}

impl Model {
    /// A network of the given layer sizes (features, hidden…, outputs), its weights drawn from `seed`.
    pub fn new(sizes: &[usize], activation: impl Into<Op>, init: Init, seed: u64) -> Result<Self> {
        let activation = activation.into();
        let parameters = initial::draw(&Graph::mlp(sizes, activation.clone())?, init, seed)?;
        Self::assemble(sizes, activation, init, seed, parameters)
    }

    /// A network that is not trained, with the given parameters.
    fn assemble(sizes: &[usize], activation: Op, init: Init, seed: u64, parameters: HostBuffer<f32>) -> Result<Self> {
        let graph = Graph::mlp(sizes, activation.clone())?;
        let (row, tile) = (Plan::new(graph.clone(), 1), Plan::new(graph, TILE_ROWS));
        let (packed, training) = (OnceLock::new(), Training::default());
        Ok(Model { sizes: sizes.to_vec(), activation, init, seed, tile, row, parameters, packed, training })
    }

    /// A copy that shares nothing.
    pub fn copy(&self) -> Result<Self> {
        Ok(Model {
            sizes: self.sizes.clone(),
            activation: self.activation.clone(),
            tile: self.tile.clone(),
            row: self.row.clone(),
            parameters: HostBuffer::from_slice(self.parameters())?,
            packed: OnceLock::new(),
            training: self.training.clone(),
            ..*self
        })
    }

    /// The operations.
    pub fn graph(&self) -> &Graph {
        self.tile.graph()
    }

    /// The flat parameter vector: for each layer its weight [outputs, inputs], then its bias [outputs].
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
            return Err(Error::invalid(format!("parameter {at} is {}", values[at]), "give finite numbers"));
        }
        self.parameters.as_mut_slice().copy_from_slice(values);
        self.packed = OnceLock::new();
        Ok(())
    }

    /// The parameters in panels.
    fn packed(&self) -> Result<&[f32]> {
        if let Some(packed) = self.packed.get() {
            return Ok(packed.as_slice());
        }
        let mut packed = HostBuffer::zeros(self.tile.parameters_length())?;
        self.tile.pack(self.parameters(), packed.as_mut_slice());
        // Threads that meet here make the same numbers; one of them is kept.
        Ok(self.packed.get_or_init(|| packed).as_slice())
    }

    /// Scalers, columns and options.
    pub fn training(&self) -> &Training {
        &self.training
    }

    /// Replaces them; their widths must be the network's.
    pub fn set_training(&mut self, training: Training) -> Result<()> {
        training.check(self.graph().inputs(), self.graph().outputs())?;
        self.training = training;
        Ok(())
    }

    /// The feature columns; empty where nobody has given any.
    pub fn columns(&self) -> &[ColumnSpec] {
        &self.training.columns
    }

    /// The label columns that it was trained on; without names if it was not trained, or if labels were numbers.
    pub fn targets(&self) -> &Targets {
        &self.training.targets
    }

    /// Outputs of `data` into `out` [rows, outputs]: of a classifier probabilities, or logits if `raw`; of a regression
    /// values in the units of its labels.
    pub fn predict(&self, data: &Dataset, raw: bool, threads: usize, out: &mut [f32]) -> Result<()> {
        check_columns(self, data.columns(), data.width())?;
        let outputs = self.graph().outputs();
        if out.len() != data.rows() * outputs {
            return Err(Error::Internal(format!("{} numbers for {} rows of {outputs}", out.len(), data.rows())));
        }
        let (width, packed) = (data.width(), self.packed()?);
        let tile = |arena: &mut Vec<f32>, (features, out): (&[f32], &mut [f32])| {
            if interrupt::requested() {
                return;
            }
            arena.resize(self.tile.arena_length(), 0.0);
            self.run(&self.tile, packed, features, raw, arena, out);
        };
        let features = data.features().par_chunks(TILE_ROWS * width);
        thread_pool(threads)?.install(|| {
            features.zip(out.par_chunks_mut(TILE_ROWS * outputs)).for_each_init(Vec::new, tile);
        });
        interrupt::check("the prediction")
    }

    /// Outputs of one event's `features` into `out` [outputs]. Safe from several threads at once.
    pub fn score(&self, features: &[f32], raw: bool, out: &mut [f32]) -> Result<()> {
        thread_local! {
            static ARENA: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
        }
        if features.len() != self.graph().inputs() || out.len() != self.graph().outputs() {
            return Err(Error::invalid(
                format!("{} features for a model that takes {}", features.len(), self.graph().inputs()),
                "give the model's columns",
            ));
        }
        let packed = self.packed()?;
        // Taken out while it is in use: in an event loop of ROOT's, Ctrl-C jumps out of here, and a loan would last for ever.
        let mut arena = ARENA.take();
        arena.resize(self.row.arena_length().max(arena.len()), 0.0);
        self.run(&self.row, packed, features, raw, &mut arena, out);
        ARENA.set(arena);
        Ok(())
    }

    fn run(&self, plan: &Plan<f32>, packed: &[f32], features: &[f32], raw: bool, arena: &mut [f32], out: &mut [f32]) {
        let inputs = self.graph().inputs();
        let rows = features.len() / inputs;
        let x = plan.input(arena, rows);
        match &self.training.scaler {
            Some(scaler) => f32::standardise(features, &scaler.mean, &scaler.inverse, x),
            None => f32::to_panels(rows, inputs, features, x),
        }
        plan.forward(packed, arena, rows, 1);
        plan.output(arena, out);
        if let Some(target) = &self.training.target {
            target.undo(out);
        }
        if !raw && !self.training.gives_values() {
            out.chunks_mut(self.graph().outputs()).for_each(to_probabilities);
        }
    }

    /// Architecture, columns and options, for people.
    pub fn describe(&self) -> String {
        let sizes = text::list(self.sizes.iter().map(usize::to_string), "-");
        let mut text = format!(
            "Mlp {} {}, {} parameters, {} initialisation with seed {}\n",
            sizes,
            activation_name(&self.activation),
            self.parameters().len(),
            self.init.name(),
            self.seed,
        );
        if !self.columns().is_empty() {
            text += &format!("  columns: {}\n", columns::list(self.columns()));
        }
        if !self.targets().names().is_empty() {
            text += &format!("  targets: {}\n", text::list(self.targets().names().iter(), ", "));
        }
        match &self.training.options {
            None => text += "  not trained\n",
            Some(spec) => {
                let options = record::write(spec);
                let options = options.iter().map(|(name, value)| format!("{name} {value}"));
                text += &format!("  trained with {}\n", text::list(options, ", "));
            }
        }
        text
    }
}

/// The logits of one row become probabilities: of label 1 for one logit, else of each class.
fn to_probabilities(row: &mut [f32]) {
    if let [logit] = row {
        *logit = 1.0 / (1.0 + (-*logit).exp());
        return;
    }
    let highest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    row.iter_mut().for_each(|z| *z = (*z - highest).exp());
    let sum: f32 = row.iter().sum();
    row.iter_mut().for_each(|z| *z /= sum);
}

/// For people and for the model file.
fn activation_name(activation: &Op) -> &'static str {
    match activation {
        Op::Activation(activation) => activation.name(),
        Op::Own(_) | Op::Linear { .. } => OWN,
    }
}
