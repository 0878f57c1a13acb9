//! A module as text, for files: what was observed of it.
//!
//! A file may hold anything. [`SavedModule::restore`] refuses whatever cannot be an observation of LibTorch: numbers
//! that point nowhere, operators without kernels, tensors larger than a [`Bound`]. Lowering then derives every shape
//! again, within the same bound.

use std::fmt::{self, Formatter};

use serde::de::{Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::view::checked_length;
use super::{
    AnyBatch, DType, Mode, Module, Observed, ObservedArgument, ObservedGraph, ObservedNode, ObservedValue, lower,
};
use crate::error::{Error, Result};
use crate::text;

/// Most operators, and most tensors, of an observation.
const MOST_NODES: usize = 1 << 13;
const MOST_VALUES: usize = 1 << 15;
/// Most arguments of an operator, and most numbers or tensors of one of them.
const MOST_ARGUMENTS: usize = 32;
const MOST_ITEMS: usize = 1 << 10;
/// Bytes of the longest text that an operator takes: the equation of an einsum.
const LONGEST_TEXT: usize = 1 << 10;
/// Most elements of an event, and most that operators read and write for an event: 128 MB of float32.
const WIDEST: usize = 1 << 24;
const MOST_ELEMENTS: usize = 1 << 25;
/// How often operators may read each element of a captured tensor.
const USES: usize = 16;
/// Bytes of the longest name.
const LONGEST_NAME: usize = 200;
/// The number of rows that a module is observed with; far more than anybody needs.
const MOST_ROWS: i64 = 64;

/// A module in both modes.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedModule {
    /// For people.
    name: String,
    /// Of one event.
    shape: Vec<usize>,
    training: SavedMode,
    evaluation: SavedMode,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedMode {
    /// Of `first`; `second` has one more.
    rows: i64,
    first: SavedGraph,
    second: SavedGraph,
    /// With a single row, where the module takes that.
    one: Option<SavedGraph>,
    /// Which of the module's captured tensors each constant is.
    captured: Vec<usize>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedGraph {
    values: Vec<SavedValue>,
    operators: Vec<SavedOperator>,
    inputs: Vec<u32>,
    outputs: Vec<u32>,
    constants: Vec<u32>,
}

/// Type, shape and strides of a tensor.
#[derive(Serialize, Deserialize)]
struct SavedValue(String, Vec<i64>, Vec<i64>);

/// Name with overload, arguments and results of an operator.
#[derive(Serialize, Deserialize)]
struct SavedOperator(String, Vec<SavedArgument>, Vec<u32>);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedArgument {
    None,
    Tensor(u32),
    Integer(i64),
    Float(Float),
    Bool(bool),
    Integers(Vec<i64>),
    Text(String),
    /// Some may be absent.
    Tensors(Vec<Option<u32>>),
    Floats(Vec<Float>),
    Bools(Vec<bool>),
}

/// A tensor that the module captured, as a file has it.
pub struct SavedTensor {
    /// Whether it trains.
    pub is_parameter: bool,
    /// Element type.
    pub dtype: DType,
    /// Number of elements in memory.
    pub elements: usize,
}

/// How large the tensors of a module from a file may be. Nothing is allocated for larger ones.
#[derive(Clone, Copy)]
pub(super) struct Bound {
    /// Elements that do not depend on the number of rows.
    once: usize,
}

impl Bound {
    /// Of a module with these captured tensors.
    fn of(captured: &[SavedTensor]) -> Self {
        let once = captured.iter().fold(0usize, |sum, tensor| sum.saturating_add(tensor.elements));
        Bound { once: once.saturating_mul(USES) }
    }

    /// Elements that operators on this many rows may read and write together.
    pub(super) fn elements(self, rows: usize) -> usize {
        MOST_ELEMENTS.saturating_mul(rows).saturating_add(self.once)
    }

    /// Refuses a graph with a tensor that is larger.
    pub(super) fn check(self, graph: &ObservedGraph, rows: usize) -> Result<()> {
        graph.values.iter().try_for_each(|value| {
            let view = lower::observed_view(value);
            let length = view.and_then(|view| checked_length(&view.sizes, self.elements(rows)));
            length.map(|_| ()).map_err(|_| damaged(format!("a tensor of shape {:?}", value.shape)))
        })
    }
}

fn damaged(what: impl Into<String>) -> Error {
    Error::invalid(format!("damaged: {}", what.into()), "")
}

/// Refuses a name that no message can show.
pub fn check_name(what: &str, name: &str) -> Result<()> {
    match name.len() <= LONGEST_NAME && text::name(name) == name {
        true => Ok(()),
        false => Err(Error::invalid(
            format!("{what} is called \"{}\"", text::name(name)),
            format!("use a name of at most {LONGEST_NAME} bytes that can be shown"),
        )),
    }
}

/// As text in as many digits as it needs; JSON has no infinities.
struct Float(f64);

impl Serialize for Float {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.serialize_str(&format!("{:?}", self.0))
    }
}

impl<'de> Deserialize<'de> for Float {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Float;
            fn expecting(&self, to: &mut Formatter) -> fmt::Result {
                to.write_str("a number as text")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<Float, E> {
                text.parse().map(Float).map_err(|_| E::invalid_value(Unexpected::Other("another text"), &self))
            }
        }
        from.deserialize_str(Text)
    }
}

impl SavedModule {
    /// Saves a module that was observed.
    pub fn of(module: &Module) -> Result<Self> {
        let mode = |mode| module.observed(mode).map(SavedMode::of);
        Ok(SavedModule {
            name: module.name().to_owned(),
            shape: module.shape().to_vec(),
            training: mode(Mode::Training)?,
            evaluation: mode(Mode::Evaluation)?,
        })
    }

    /// The module, whose captured tensors are `captured`; `read` gives the elements of one that stays as it is.
    pub fn restore(self, captured: &[SavedTensor], read: impl FnMut(usize) -> Vec<u64>) -> Result<Module> {
        check_name("the module", &self.name)?;
        let bound = Bound::of(captured);
        let modes = [self.training.restored(captured, bound)?, self.evaluation.restored(captured, bound)?];
        restored(&self.name, &self.shape, modes, captured, bound, read)
    }
}

/// The module of a file that is not a model file, from recorded observations.
pub(crate) fn module_of_file(
    name: &str,
    shape: &[usize],
    modes: [Observed; 2],
    captured: &[SavedTensor],
    read: impl FnMut(usize) -> Vec<u64>,
) -> Result<Module> {
    restored(name, shape, modes, captured, Bound::of(captured), read)
}

fn restored(
    name: &str,
    shape: &[usize],
    modes: [Observed; 2],
    captured: &[SavedTensor],
    bound: Bound,
    read: impl FnMut(usize) -> Vec<u64>,
) -> Result<Module> {
    let inputs = checked_length(shape, WIDEST).ok().filter(|inputs| *inputs > 0);
    inputs.ok_or_else(|| damaged(format!("an event of shape {shape:?}")))?;
    Module::restored(name, shape, modes, captured, bound, read)
}

impl SavedMode {
    fn of(observed: &Observed) -> Self {
        let [first, second] = observed.batch.graphs();
        SavedMode {
            rows: observed.batch.rows() as i64,
            first: SavedGraph::of(first),
            second: SavedGraph::of(second),
            one: observed.one.as_ref().ok().map(SavedGraph::of),
            captured: observed.constants.clone(),
        }
    }

    fn restored(self, captured: &[SavedTensor], bound: Bound) -> Result<Observed> {
        if !(2..=MOST_ROWS).contains(&self.rows) {
            return Err(damaged(format!("an observation with {} rows", self.rows)));
        }
        if let Some(index) = self.captured.iter().find(|index| **index >= captured.len()) {
            return Err(damaged(format!("captured tensor {index} of {}", captured.len())));
        }
        let rows = self.rows as usize;
        let graph = |saved: SavedGraph, rows: usize| -> Result<ObservedGraph> {
            let graph = saved.restored()?;
            bound.check(&graph, rows)?;
            Ok(graph)
        };
        let graphs = [graph(self.first, rows)?, graph(self.second, rows + 1)?];
        Ok(Observed {
            batch: AnyBatch::restored(graphs, self.rows, "save the model again"),
            one: match self.one {
                Some(one) => Ok(graph(one, 1)?),
                None => Err("it was not observed with one".to_owned()),
            },
            constants: self.captured,
        })
    }
}

impl SavedGraph {
    fn of(graph: &ObservedGraph) -> Self {
        let value = |ObservedValue { dtype, shape, strides, .. }: &ObservedValue| {
            SavedValue(dtype.name().to_owned(), shape.clone(), strides.clone())
        };
        SavedGraph {
            values: graph.values.iter().map(value).collect(),
            operators: graph.nodes.iter().map(SavedOperator::of).collect(),
            inputs: graph.inputs.clone(),
            outputs: graph.outputs.clone(),
            constants: graph.constants.clone(),
        }
    }

    fn restored(self) -> Result<ObservedGraph> {
        for (what, count, most) in
            [("operators", self.operators.len(), MOST_NODES), ("tensors", self.values.len(), MOST_VALUES)]
        {
            if count > most {
                return Err(damaged(format!("{count} {what}, and at most {most} are supported")));
            }
        }
        let value = |SavedValue(name, shape, strides)| -> Result<ObservedValue> {
            let dtype = DType::from_name(&name).ok_or_else(|| damaged(format!("type \"{}\"", text::name(&name))))?;
            Ok(ObservedValue { name: String::new(), dtype, shape, strides })
        };
        let graph = ObservedGraph {
            values: self.values.into_iter().map(value).collect::<Result<_>>()?,
            nodes: self.operators.into_iter().map(SavedOperator::restored).collect::<Result<_>>()?,
            inputs: self.inputs,
            outputs: self.outputs,
            constants: self.constants,
        };
        check_order(&graph)?;
        Ok(graph)
    }
}

/// Every tensor is made once, before it is used.
fn check_order(graph: &ObservedGraph) -> Result<()> {
    let mut made = vec![false; graph.values.len()];
    let make = |made: &mut Vec<bool>, index: u32| match made.get_mut(index as usize) {
        Some(is_made) if !*is_made => {
            *is_made = true;
            Ok(())
        }
        _ => Err(damaged(format!("tensor {index} of {}, or twice", graph.values.len()))),
    };
    let is_made = |made: &[bool], index: u32| made.get(index as usize) == Some(&true);
    let unmade = |index: u32| damaged(format!("tensor {index} is used, which nothing has made"));
    for &index in graph.inputs.iter().chain(&graph.constants) {
        make(&mut made, index)?;
    }
    for node in &graph.nodes {
        for index in node.arguments.iter().flat_map(ObservedArgument::values) {
            is_made(&made, index).then_some(()).ok_or_else(|| unmade(index))?;
        }
        for &output in &node.outputs {
            make(&mut made, output)?;
        }
    }
    match graph.outputs.iter().find(|&&index| !is_made(&made, index)) {
        None => Ok(()),
        Some(&index) => Err(unmade(index)),
    }
}

impl SavedOperator {
    fn of(node: &ObservedNode) -> Self {
        let name = if node.overload.is_empty() { node.op.clone() } else { format!("{}.{}", node.op, node.overload) };
        SavedOperator(name, node.arguments.iter().map(SavedArgument::of).collect(), node.outputs.clone())
    }

    fn restored(self) -> Result<ObservedNode> {
        let SavedOperator(name, arguments, outputs) = self;
        let (op, overload) = name.split_once('.').unwrap_or((&name, ""));
        if let Some(obstacle) = lower::obstacle(op) {
            return Err(damaged(format!("operator {} {obstacle}", text::name(op))));
        }
        let is_word =
            |text: &str| text.len() < 64 && text.chars().all(|each| each.is_ascii_alphanumeric() || each == '_');
        if !is_word(overload) || arguments.len() > MOST_ARGUMENTS || outputs.len() > MOST_ITEMS {
            return Err(damaged(format!("operator {} in this form", text::name(&name))));
        }
        Ok(ObservedNode {
            op: op.to_owned(),
            overload: overload.to_owned(),
            arguments: arguments.into_iter().map(SavedArgument::restored).collect::<Result<_>>()?,
            outputs,
            place: String::new(),
        })
    }
}

impl SavedArgument {
    fn of(argument: &ObservedArgument) -> Self {
        match argument.clone() {
            ObservedArgument::None => SavedArgument::None,
            ObservedArgument::Value(index) => SavedArgument::Tensor(index),
            ObservedArgument::Integer(value) => SavedArgument::Integer(value),
            ObservedArgument::Float(value) => SavedArgument::Float(Float(value)),
            ObservedArgument::Bool(value) => SavedArgument::Bool(value),
            ObservedArgument::Integers(list) => SavedArgument::Integers(list),
            ObservedArgument::Floats(list) => SavedArgument::Floats(list.into_iter().map(Float).collect()),
            ObservedArgument::Bools(list) => SavedArgument::Bools(list),
            ObservedArgument::Text(text) => SavedArgument::Text(text),
            ObservedArgument::Values(list) => SavedArgument::Tensors(list),
        }
    }

    fn restored(self) -> Result<ObservedArgument> {
        let is_plain = |text: &str| text.chars().all(|each| each.is_ascii_graphic() || each == ' ');
        let fits = match &self {
            SavedArgument::Integers(list) => list.len() <= MOST_ITEMS,
            SavedArgument::Tensors(list) => list.len() <= MOST_ITEMS,
            SavedArgument::Floats(list) => list.len() <= MOST_ITEMS,
            SavedArgument::Bools(list) => list.len() <= MOST_ITEMS,
            SavedArgument::Text(text) => text.len() <= LONGEST_TEXT && is_plain(text),
            _ => true,
        };
        if !fits {
            return Err(damaged("an operator with an argument that is too long"));
        }
        Ok(match self {
            SavedArgument::None => ObservedArgument::None,
            SavedArgument::Tensor(index) => ObservedArgument::Value(index),
            SavedArgument::Integer(value) => ObservedArgument::Integer(value),
            SavedArgument::Float(Float(value)) => ObservedArgument::Float(value),
            SavedArgument::Bool(value) => ObservedArgument::Bool(value),
            SavedArgument::Integers(list) => ObservedArgument::Integers(list),
            SavedArgument::Floats(list) => {
                ObservedArgument::Floats(list.into_iter().map(|Float(value)| value).collect())
            }
            SavedArgument::Bools(list) => ObservedArgument::Bools(list),
            SavedArgument::Text(text) => ObservedArgument::Text(text),
            SavedArgument::Tensors(list) => ObservedArgument::Values(list),
        })
    }
}
