//! A function as the operators that LibTorch was observed to run.

use super::DType;

/// A tensor that an observed function takes, makes or returns.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedValue {
    /// The name in the user's code if it is known, otherwise empty.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// Elements along each dimension.
    pub shape: Vec<i64>,
    /// Elements between neighbours along each dimension.
    pub strides: Vec<i64>,
}

/// One argument of an operator.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // They say what they are.
pub enum ObservedArgument {
    None,
    /// Index into [`ObservedGraph::values`].
    Value(u32),
    Integer(i64),
    Float(f64),
    Bool(bool),
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    Bools(Vec<bool>),
    Text(String),
    /// Indices into [`ObservedGraph::values`]; some may be absent.
    Values(Vec<Option<u32>>),
}

impl ObservedArgument {
    /// The values that it is or has.
    pub fn values(&self) -> impl Iterator<Item = u32> + '_ {
        let (one, list) = match self {
            ObservedArgument::Value(index) => (Some(*index), &[][..]),
            ObservedArgument::Values(list) => (None, &list[..]),
            _ => (None, &[][..]),
        };
        one.into_iter().chain(list.iter().copied().flatten())
    }
}

/// One call of a LibTorch operator.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedNode {
    /// With its namespace: `aten::matmul`.
    pub op: String,
    /// Overload name of its schema: `dim_IntList`; empty for the default.
    pub overload: String,
    /// By position in the schema, defaults filled in.
    pub arguments: Vec<ObservedArgument>,
    /// Indices into [`ObservedGraph::values`].
    pub outputs: Vec<u32>,
    /// Where in the user's code, for messages; may be empty.
    pub place: String,
}

/// The calls that LibTorch was observed to make, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedGraph {
    /// Every tensor.
    pub values: Vec<ObservedValue>,
    /// In the order of execution.
    pub nodes: Vec<ObservedNode>,
    /// The function's arguments, as indices into `values`.
    pub inputs: Vec<u32>,
    /// The function's results, as indices into `values`.
    pub outputs: Vec<u32>,
    /// Tensors that the function captured: further arguments, after `inputs`.
    pub constants: Vec<u32>,
}
