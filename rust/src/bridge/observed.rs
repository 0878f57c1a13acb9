//! What LibTorch was seen doing, operator by operator, and functions for any number of rows.

pub use ffi::{GraphWork, ObservedArgument, ObservedGraph, ObservedNode, ObservedValue};

use crate::error::{Result, guard};
use crate::graph::{self, AnyBatch};

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    /// A tensor that an observed function takes, makes or returns.
    #[derive(Clone, Debug, PartialEq)]
    struct ObservedValue {
        /// As in the user's code where that is known, else empty.
        name: String,
        /// Number in `DType::ALL`: float32, float64, int64, bool.
        dtype: u8,
        /// Elements along each dimension.
        shape: Vec<i64>,
        /// Elements between neighbours along each dimension.
        strides: Vec<i64>,
    }

    /// One argument of an operator, by its kind.
    #[derive(Clone, Debug, PartialEq)]
    struct ObservedArgument {
        /// 0 none, 1 value, 2 integer, 3 float, 4 bool, 5 integers, 6 string, 7 values, 8 floats, 9 bools.
        kind: u8,
        /// Of kinds 1 (index into `ObservedGraph::values`), 2 and 4 (0 or 1).
        value: i64,
        /// Of kind 3.
        number: f64,
        /// Of kinds 5, 7 (indices into `ObservedGraph::values`; -1 for an absent one) and 9.
        list: Vec<i64>,
        /// Of kind 8.
        numbers: Vec<f64>,
        /// Of kind 6.
        text: String,
    }

    /// One call of a LibTorch operator.
    #[derive(Clone, Debug, PartialEq)]
    struct ObservedNode {
        /// With its namespace: `aten::matmul`.
        op: String,
        /// Of its schema: `dim_IntList`; empty for the default.
        overload: String,
        /// By position in the schema, defaults filled in.
        arguments: Vec<ObservedArgument>,
        /// Indices into `ObservedGraph::values`.
        outputs: Vec<u32>,
        /// Where in the user's code, for messages; may be empty.
        place: String,
    }

    /// What LibTorch was seen doing, in order. Numbers are indices into `values`.
    #[derive(Clone, Debug, PartialEq)]
    struct ObservedGraph {
        /// Every tensor.
        values: Vec<ObservedValue>,
        /// In the order of execution.
        nodes: Vec<ObservedNode>,
        /// The function's arguments.
        inputs: Vec<u32>,
        /// The function's results.
        outputs: Vec<u32>,
        /// Tensors that the function captured: further arguments, after `inputs`.
        constants: Vec<u32>,
    }

    /// How much of a graph is work for kernels.
    #[derive(Clone, Debug)]
    struct GraphWork {
        /// Kernels that run; an operator that only looks differently at a tensor needs none.
        steps: usize,
        /// Random factors that a call draws.
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
        /// What kernels make of a graph. Fails, naming operator and place, where no back end but LibTorch itself supports it.
        fn graph_work(graph: &ObservedGraph) -> Result<GraphWork>;
    }

    impl Vec<ObservedGraph> {}
}

fn any_batch_new(
    first: &ObservedGraph,
    second: &ObservedGraph,
    rows: i64,
    other: &ObservedGraph,
    other_rows: i64,
    remedy: &str,
) -> Result<Box<AnyBatch>> {
    guard(|| AnyBatch::new([first.clone(), second.clone()], rows, other, other_rows, remedy).map(Box::new))
}

fn any_batch_at(batch: &AnyBatch, rows: i64) -> Result<ObservedGraph> {
    guard(|| batch.at(rows))
}

fn operator_obstacle(op: &str) -> String {
    graph::lower::obstacle(op).unwrap_or_default()
}

fn graph_work(graph: &ObservedGraph) -> Result<GraphWork> {
    guard(|| graph::lower::weigh(graph))
}
