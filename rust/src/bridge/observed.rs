//! Observations of LibTorch, operator by operator, and functions for any number of rows.

use crate::error::{Error, Result, guard};
use crate::gradient::cuda::CudaProgram;
use crate::graph::{self, AnyBatch};
use ffi::{ArgumentKind, ObservedArgument, ObservedNode};

pub use ffi::{DType, GraphWork, ObservedGraph, ObservedValue};

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    /// Types of a tensor's elements.
    #[derive(Debug)]
    enum DType {
        Float32,
        Float64,
        Int64,
        Bool,
    }

    /// See `ObservedValue` in `graph`.
    #[derive(Clone)]
    struct ObservedValue {
        name: String,
        dtype: DType,
        shape: Vec<i64>,
        strides: Vec<i64>,
    }

    /// The kind of an operator's argument.
    enum ArgumentKind {
        Absent,
        Value,
        Integer,
        Float,
        Bool,
        Integers,
        Text,
        Values,
        Floats,
        Bools,
    }

    /// One argument of an operator. C++ has no enum with data: the kind says which fields count.
    struct ObservedArgument {
        kind: ArgumentKind,
        /// A value (index into `ObservedGraph::values`), an integer, or a bool (0 or 1).
        value: i64,
        /// A float.
        number: f64,
        /// Integers, values (indices into `ObservedGraph::values`; -1 for an absent one), or bools.
        list: Vec<i64>,
        /// Floats.
        numbers: Vec<f64>,
        text: String,
    }

    /// See `ObservedNode` in `graph`.
    struct ObservedNode {
        op: String,
        overload: String,
        arguments: Vec<ObservedArgument>,
        outputs: Vec<u32>,
        place: String,
    }

    /// See `ObservedGraph` in `graph`.
    struct ObservedGraph {
        values: Vec<ObservedValue>,
        nodes: Vec<ObservedNode>,
        inputs: Vec<u32>,
        outputs: Vec<u32>,
        constants: Vec<u32>,
    }

    /// See `Work` in `graph::lower`.
    struct GraphWork {
        steps: usize,
        draws: usize,
    }

    extern "Rust" {
        /// A function for any number of rows; see `AnyBatch` in `graph`.
        #[derive(ExternType)]
        type AnyBatch;
        /// From observations with `rows`, `rows + 1` and `other_rows` rows.
        fn any_batch_new(
            first: &ObservedGraph,
            second: &ObservedGraph,
            rows: i64,
            other: &ObservedGraph,
            other_rows: i64,
            remedy: &str,
        ) -> Result<Box<AnyBatch>>;
        /// The function as it would be observed with `rows` rows.
        fn any_batch_at(batch: &AnyBatch, rows: i64) -> Result<ObservedGraph>;
        /// Why kernels never run the operator, given with its namespace; empty where they may.
        fn operator_obstacle(op: &str) -> String;
        /// Whether the operator, given with its namespace, is neither on the list of those with kernels nor on that of those
        /// which LibTorch runs on purpose.
        fn operator_is_unknown(op: &str) -> bool;
        /// The work of kernels for a graph. Fails, naming operator and place, if no back end but LibTorch itself
        /// supports it. With `on_gpu` the kernels are those of the back end for GPUs.
        fn graph_work(graph: &ObservedGraph, on_gpu: bool) -> Result<GraphWork>;
    }

    impl Vec<ObservedGraph> {}
}

shared_enum!(DType is graph::DType, "a tensor's type": Float32 Float64 Int64 Bool);

impl TryFrom<&ObservedArgument> for graph::ObservedArgument {
    type Error = Error;

    fn try_from(spec: &ObservedArgument) -> Result<Self> {
        use graph::ObservedArgument as Argument;
        let index = |index: i64| u32::try_from(index).map_err(|_| Error::Internal(format!("observed value {index}")));
        let optional = |&each: &i64| if each < 0 { Ok(None) } else { index(each).map(Some) };
        Ok(match spec.kind {
            ArgumentKind::Absent => Argument::None,
            ArgumentKind::Value => Argument::Value(index(spec.value)?),
            ArgumentKind::Integer => Argument::Integer(spec.value),
            ArgumentKind::Float => Argument::Float(spec.number),
            ArgumentKind::Bool => Argument::Bool(spec.value != 0),
            ArgumentKind::Integers => Argument::Integers(spec.list.clone()),
            ArgumentKind::Text => Argument::Text(spec.text.clone()),
            ArgumentKind::Values => Argument::Values(spec.list.iter().map(optional).collect::<Result<_>>()?),
            ArgumentKind::Floats => Argument::Floats(spec.numbers.clone()),
            ArgumentKind::Bools => Argument::Bools(spec.list.iter().map(|&each| each != 0).collect()),
            ArgumentKind { repr } => return Err(super::unknown_number("the kind of an argument", repr)),
        })
    }
}

impl From<graph::ObservedArgument> for ObservedArgument {
    fn from(argument: graph::ObservedArgument) -> Self {
        use graph::ObservedArgument as Argument;
        let of_kind = |kind| ObservedArgument {
            kind,
            value: 0,
            number: 0.0,
            list: Vec::new(),
            numbers: Vec::new(),
            text: String::new(),
        };
        let index = |each: Option<u32>| each.map_or(-1, i64::from);
        match argument {
            Argument::None => of_kind(ArgumentKind::Absent),
            Argument::Value(index) => ObservedArgument { value: index.into(), ..of_kind(ArgumentKind::Value) },
            Argument::Integer(value) => ObservedArgument { value, ..of_kind(ArgumentKind::Integer) },
            Argument::Float(number) => ObservedArgument { number, ..of_kind(ArgumentKind::Float) },
            Argument::Bool(flag) => ObservedArgument { value: flag.into(), ..of_kind(ArgumentKind::Bool) },
            Argument::Integers(list) => ObservedArgument { list, ..of_kind(ArgumentKind::Integers) },
            Argument::Text(text) => ObservedArgument { text, ..of_kind(ArgumentKind::Text) },
            Argument::Values(list) => {
                ObservedArgument { list: list.into_iter().map(index).collect(), ..of_kind(ArgumentKind::Values) }
            }
            Argument::Floats(numbers) => ObservedArgument { numbers, ..of_kind(ArgumentKind::Floats) },
            Argument::Bools(list) => {
                ObservedArgument { list: list.into_iter().map(i64::from).collect(), ..of_kind(ArgumentKind::Bools) }
            }
        }
    }
}

impl TryFrom<&ObservedValue> for graph::ObservedValue {
    type Error = Error;

    fn try_from(ObservedValue { name, dtype, shape, strides }: &ObservedValue) -> Result<Self> {
        let (name, dtype) = (name.clone(), (*dtype).try_into()?);
        Ok(graph::ObservedValue { name, dtype, shape: shape.clone(), strides: strides.clone() })
    }
}

impl From<graph::ObservedValue> for ObservedValue {
    fn from(graph::ObservedValue { name, dtype, shape, strides }: graph::ObservedValue) -> Self {
        ObservedValue { name, dtype: dtype.into(), shape, strides }
    }
}

impl TryFrom<&ObservedNode> for graph::ObservedNode {
    type Error = Error;

    fn try_from(ObservedNode { op, overload, arguments, outputs, place }: &ObservedNode) -> Result<Self> {
        let (op, overload, place) = (op.clone(), overload.clone(), place.clone());
        Ok(graph::ObservedNode { op, overload, arguments: all(arguments)?, outputs: outputs.clone(), place })
    }
}

impl From<graph::ObservedNode> for ObservedNode {
    fn from(graph::ObservedNode { op, overload, arguments, outputs, place }: graph::ObservedNode) -> Self {
        ObservedNode { op, overload, arguments: arguments.into_iter().map(Into::into).collect(), outputs, place }
    }
}

impl TryFrom<&ObservedGraph> for graph::ObservedGraph {
    type Error = Error;

    fn try_from(ObservedGraph { values, nodes, inputs, outputs, constants }: &ObservedGraph) -> Result<Self> {
        let (inputs, outputs, constants) = (inputs.clone(), outputs.clone(), constants.clone());
        Ok(graph::ObservedGraph { values: all(values)?, nodes: all(nodes)?, inputs, outputs, constants })
    }
}

impl From<graph::ObservedGraph> for ObservedGraph {
    fn from(graph::ObservedGraph { values, nodes, inputs, outputs, constants }: graph::ObservedGraph) -> Self {
        let (values, nodes) = (values.into_iter().map(Into::into), nodes.into_iter().map(Into::into));
        ObservedGraph { values: values.collect(), nodes: nodes.collect(), inputs, outputs, constants }
    }
}

/// The domain's of each.
fn all<'a, S, D: TryFrom<&'a S, Error = Error>>(specs: &'a [S]) -> Result<Vec<D>> {
    specs.iter().map(D::try_from).collect()
}

fn any_batch_new(
    first: &ObservedGraph,
    second: &ObservedGraph,
    rows: i64,
    other: &ObservedGraph,
    other_rows: i64,
    remedy: &str,
) -> Result<Box<AnyBatch>> {
    guard(|| {
        let graphs = [first.try_into()?, second.try_into()?];
        AnyBatch::new(graphs, rows, &other.try_into()?, other_rows, remedy).map(Box::new)
    })
}

fn any_batch_at(batch: &AnyBatch, rows: i64) -> Result<ObservedGraph> {
    guard(|| batch.at(rows).map(Into::into))
}

fn operator_obstacle(op: &str) -> String {
    graph::lower::obstacle(op).unwrap_or_default()
}

fn operator_is_unknown(op: &str) -> bool {
    graph::lower::is_unknown(op)
}

fn graph_work(graph: &ObservedGraph, on_gpu: bool) -> Result<GraphWork> {
    guard(|| {
        let graph = graph.try_into()?;
        let graph::lower::Work { steps, draws } = graph::lower::weigh(&graph)?;
        if on_gpu {
            let gradients = vec![true; graph.inputs.len() + graph.constants.len()];
            CudaProgram::new(&graph::lower::lower(&graph, &gradients)?)?;
        }
        Ok(GraphWork { steps, draws })
    })
}
