//! A trainable function of events with parameters: its operators in both modes, for any number of rows.

mod cost;
mod made;
mod programs;

use std::ops::Range;

use super::program::extent;
use super::saved::Bound;
use super::{AnyBatch, DType, Graph, ObservedArgument, ObservedGraph, ObservedNode, ObservedValue, lower};
use crate::error::{Error, Result};

pub use cost::Cost;

/// Which of a module's two functions: torch::nn modules tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Dropout draws, running statistics change.
    Training,
    /// Neither.
    Evaluation,
}

/// Where the events of a batch meet in training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsMeet {
    /// Nowhere: the outputs of each event are computed from that event alone, as they are in evaluation.
    Nowhere,
    /// In the statistics of batch normalisation alone.
    InStatistics,
    /// Elsewhere, too.
    Elsewhere,
}

/// The variables of a program's derivatives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Nothing,
    Parameters,
    Events,
}

/// How the function was observed in one mode. Its first argument are the rows, the others tensors that it captured.
#[derive(Clone)]
pub struct Observed {
    /// For two rows and more.
    pub batch: AnyBatch,
    /// For a single one, where a dimension is broadcast; or why the function does not take it.
    pub one: Result<ObservedGraph, String>,
    /// Which of the module's captured tensors each constant of the observation is.
    pub constants: Vec<usize>,
}

impl Observed {
    /// Says in the place of an operator which part of the module it belongs to: that of the first tensor that it takes which
    /// has one. `parts` has a name for each of the module's captured tensors, or "".
    pub fn name_parts(&mut self, parts: &[&str]) {
        let graphs = self.batch.graphs_mut().iter_mut().chain(self.one.as_mut());
        for graph in graphs {
            let constants = &graph.constants;
            let part = |value: u32| {
                let position = constants.iter().position(|&constant| constant == value)?;
                parts.get(*self.constants.get(position)?).filter(|part| !part.is_empty())
            };
            for node in &mut graph.nodes {
                let mut values = node.arguments.iter().flat_map(ObservedArgument::values);
                if let Some(part) = values.find_map(part) {
                    node.place += &format!(", part {part}");
                }
            }
        }
    }
}

/// A tensor that the function captured.
#[derive(Clone, Debug, PartialEq)]
pub enum Captured {
    /// Where it lies in the flat vector of parameters.
    Parameter(Range<usize>),
    /// Where it lies in the flat vector of state: running statistics, which training changes.
    State(Range<usize>),
    /// Its elements, which do not change: their bytes, in words because of their alignment.
    Fixed(Vec<u64>),
}

/// See the module's documentation.
pub struct Module {
    /// Of this process's modules.
    number: u64,
    name: String,
    shape: Vec<usize>,
    outputs: usize,
    definition: Definition,
    captured: Vec<Captured>,
    parameters: usize,
    state: usize,
    dtype: DType,
    cost: Cost,
    takes_one: [bool; 2],
    rows_meet: RowsMeet,
    /// Of a module from a file.
    bound: Option<Bound>,
}

/// The function of a module.
enum Definition {
    /// A function that LibTorch was observed to run, in training and in evaluation.
    Observed(Box<[Observed; 2]>),
    /// A chain of layers, in both modes; its constants are all that it captures.
    Chain(Graph, Vec<usize>),
}

impl Module {
    /// No other module of this process has it.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// For people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The shape of one event.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Numbers an event.
    pub fn inputs(&self) -> usize {
        self.shape.iter().product()
    }

    /// Numbers that it gives for an event.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Length of the flat vector of parameters.
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// Length of the flat vector of state.
    pub fn state(&self) -> usize {
        self.state
    }

    /// The captured tensors.
    pub fn captured(&self) -> &[Captured] {
        &self.captured
    }

    /// The type of every number.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The cost of an event.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// Whether it computes a single event.
    pub fn takes_one(&self, mode: Mode) -> bool {
        self.takes_one[mode as usize]
    }

    /// Where events meet in training.
    pub fn rows_meet(&self) -> RowsMeet {
        self.rows_meet
    }

    /// Whether the outputs of an event are computed from that event alone in training, as they are in evaluation.
    pub fn events_are_apart(&self) -> bool {
        self.rows_meet == RowsMeet::Nowhere
    }

    /// Which of the captured tensors the arguments after the first are, in one mode.
    pub fn constant_indices(&self, mode: Mode) -> &[usize] {
        match &self.definition {
            Definition::Observed(modes) => &modes[mode as usize].constants,
            Definition::Chain(_, constants) => constants,
        }
    }

    /// The captured tensors that the arguments after the first are, in one mode.
    pub fn constants(&self, mode: Mode) -> impl Iterator<Item = &Captured> {
        self.constant_indices(mode).iter().map(|&index| &self.captured[index])
    }

    /// The observed operator of that number, with its place; empty in a chain of layers.
    pub fn operator(&self, mode: Mode, index: usize) -> String {
        let Ok(observed) = self.observed(mode) else { return String::new() };
        let [graph, _] = observed.batch.graphs();
        graph.nodes.get(index).map_or(String::new(), operator_name)
    }

    /// What LibTorch was observed to run in this mode, or a file was found to say, for two events and more.
    pub fn observed_batch(&self, mode: Mode) -> Result<&AnyBatch> {
        self.observed(mode).map(|observed| &observed.batch)
    }

    /// Type and elements of a captured tensor that stays as it is, row-major.
    pub fn fixed_elements(&self, index: usize) -> Result<(DType, Vec<u8>)> {
        let value = self.value(index)?;
        let Captured::Fixed(words) = &self.captured[index] else {
            return Err(Error::Internal(format!("captured tensor {index} does not stay as it is")));
        };
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let size = value.dtype.bytes();
        let offsets = lower::observed_view(value)?.offsets().collect::<Vec<_>>();
        Ok((value.dtype, offsets.into_iter().flat_map(|at| bytes[at * size..(at + 1) * size].to_vec()).collect()))
    }

    pub(super) fn observed(&self, mode: Mode) -> Result<&Observed> {
        match &self.definition {
            Definition::Observed(modes) => Ok(&modes[mode as usize]),
            Definition::Chain(..) => Err(Error::Internal("a chain was not observed".into())),
        }
    }

    fn refuse(&self, what: &str) -> Error {
        Error::invalid(
            format!("{}: {what}", self.name),
            "a model gives each event of a batch its outputs, [events, outputs], by the same operators for any number of \
             events",
        )
    }

    /// Type of a captured tensor, and elements of the memory that it reaches over.
    pub fn captured_memory(&self, index: usize) -> Result<(DType, usize)> {
        let value = self.value(index)?;
        Ok((value.dtype, extent(&lower::observed_view(value)?)?))
    }

    /// A captured tensor as it was observed.
    pub fn value(&self, index: usize) -> Result<&ObservedValue> {
        let found = [Mode::Training, Mode::Evaluation].into_iter().find_map(|mode| {
            let observed = self.observed(mode).ok()?;
            let [graph, _] = observed.batch.graphs();
            let position = observed.constants.iter().position(|&one| one == index)?;
            graph.values.get(*graph.constants.get(position)? as usize)
        });
        found.ok_or_else(|| Error::Internal(format!("captured tensor {index} is in no observation")))
    }
}

/// With its place.
fn operator_name(ObservedNode { op, place, .. }: &ObservedNode) -> String {
    if place.is_empty() { op.clone() } else { format!("{op} at {place}") }
}
