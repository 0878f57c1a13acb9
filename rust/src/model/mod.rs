//! A network with all that its use needs: weights, scaler, columns, and how it was trained.

mod file;
mod initial;
mod probe;

use std::cell::RefCell;
use std::sync::OnceLock;

use rayon::prelude::*;

use crate::bridge::ColumnSpec;
use crate::columns;
use crate::dataset::{Dataset, Scaler};
use crate::device::{HostBuffer, thread_pool};
use crate::error::{Error, Result};
use crate::gradient::{Plan, TILE_ROWS};
use crate::graph::{Graph, Init, Loss, Op};
use crate::kernels::Scalar;
use crate::text;
use crate::train::check_columns;

/// In the place of the name of an activation or a loss: C++ text of the user's own.
pub(crate) const OWN: &str = "of the user's own";

/// What a fit leaves in a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Training {
    /// Decides how a raw output becomes a score; none: one of the user's own, whose outputs are values.
    pub loss: Option<Loss>,
    /// Applied to features before the first layer.
    pub scaler: Scaler,
    /// The feature columns, in order.
    pub columns: Vec<ColumnSpec>,
    /// Names and values of the options, for people.
    pub options: Vec<(String, String)>,
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
    training: Option<Training>,
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
        let packed = OnceLock::new();
        Ok(Model { sizes: sizes.to_vec(), activation, init, seed, tile, row, parameters, packed, training: None })
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

    /// Takes over what a fit learned.
    pub fn set_trained(&mut self, parameters: &[f32], training: Training) -> Result<()> {
        self.set_parameters(parameters)?;
        self.training = Some(training);
        Ok(())
    }

    /// The columns it was trained on; empty before that.
    pub fn columns(&self) -> &[ColumnSpec] {
        self.training.as_ref().map_or(&[], |training| &training.columns)
    }

    /// Outputs of `data` into `out` [rows, outputs]: logits if `raw`, else probabilities (or values, for a regression).
    pub fn predict(&self, data: &Dataset, raw: bool, threads: usize, out: &mut [f32]) -> Result<()> {
        check_columns(self, data.columns(), data.width())?;
        let outputs = self.graph().outputs();
        if out.len() != data.rows() * outputs {
            return Err(Error::Internal(format!("{} numbers for {} rows of {outputs}", out.len(), data.rows())));
        }
        let (width, packed) = (data.width(), self.packed()?);
        let tile = |arena: &mut Vec<f32>, (features, out): (&[f32], &mut [f32])| {
            arena.resize(self.tile.arena_length(), 0.0);
            self.run(&self.tile, packed, features, raw, arena, out);
        };
        let features = data.features().par_chunks(TILE_ROWS * width);
        thread_pool(threads)?.install(|| {
            features.zip(out.par_chunks_mut(TILE_ROWS * outputs)).for_each_init(Vec::new, tile);
        });
        Ok(())
    }

    /// Outputs of one event's `features` into `out` [outputs]. Safe from several threads at once.
    pub fn score(&self, features: &[f32], raw: bool, out: &mut [f32]) -> Result<()> {
        thread_local! {
            static ARENA: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
        }
        if features.len() != self.graph().inputs() || out.len() != self.graph().outputs() {
            return Err(Error::invalid(
                format!("{} features for a model that takes {}", features.len(), self.graph().inputs()),
                "give the model's columns",
            ));
        }
        let packed = self.packed()?;
        ARENA.with_borrow_mut(|arena| {
            arena.resize(self.row.arena_length().max(arena.len()), 0.0);
            self.run(&self.row, packed, features, raw, arena, out);
        });
        Ok(())
    }

    fn run(&self, plan: &Plan<f32>, packed: &[f32], features: &[f32], raw: bool, arena: &mut [f32], out: &mut [f32]) {
        let inputs = self.graph().inputs();
        let rows = features.len() / inputs;
        let x = plan.input(arena, rows);
        match &self.training {
            Some(Training { scaler, .. }) => f32::standardise(features, &scaler.mean, &scaler.inverse, x),
            None => f32::to_panels(rows, inputs, features, x),
        }
        plan.forward(packed, arena, rows, 1);
        plan.output(arena, out);
        if !raw {
            out.chunks_mut(self.graph().outputs()).for_each(|row| self.link(row));
        }
    }

    /// Turns the raw outputs of one row into what the user asked for.
    fn link(&self, row: &mut [f32]) {
        match (self.training.as_ref().map(|training| training.loss), row) {
            (Some(None | Some(Loss::MeanSquaredError | Loss::Huber)), _) => {}
            (_, [logit]) => *logit = 1.0 / (1.0 + (-*logit).exp()),
            (_, row) => {
                let highest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                row.iter_mut().for_each(|z| *z = (*z - highest).exp());
                let sum: f32 = row.iter().sum();
                row.iter_mut().for_each(|z| *z /= sum);
            }
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
        match &self.training {
            None => text += "  not trained\n",
            Some(training) => {
                text += &format!("  columns: {}\n", columns::list(&training.columns));
                let options = training.options.iter().map(|(name, value)| format!("{name} {value}"));
                text += &format!("  trained with {}\n", text::list(options, ", "));
            }
        }
        text
    }
}

/// For people and for the model file.
fn activation_name(activation: &Op) -> &'static str {
    match activation {
        Op::Activation(activation) => activation.name(),
        Op::Own(_) | Op::Linear { .. } => OWN,
    }
}
