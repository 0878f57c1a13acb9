//! The graphs that the back ends run.
//!
//! - [`Graph`]: a chain of layers to be trained, and where its parameters lie.
//! - [`Program`]: the operators of any function that LibTorch was observed to run; [`lower`] makes it. [`AnyBatch`]:
//!   such a function for any number of rows. [`Module`]: one with parameters, in both modes, which trains. [`rows`]:
//!   its rows in blocks.
//!
//! A graph is a chain: each node takes the value of the node before it, the first one the features. Rows are not part
//! of a shape; a node has a width (elements per row).

mod batch;
pub(crate) mod batch_statistics;
mod categories;
mod chain;
mod custom;
mod dependence;
mod function;
mod fused;
pub mod lifetimes;
pub mod lower;
mod module;
mod observed;
mod op;
pub(crate) mod outputs;
pub mod program;
mod recording;
mod rewriter;
pub mod rows;
mod saved;
mod scaled;
pub mod sliding;
mod unread;
pub mod view;

pub use batch::AnyBatch;
pub use dependence::{dependence, events_mix};
pub use function::Function;
pub use module::{Captured, Cost, Mode, Module, Observed, RowsMeet};
pub use observed::{ObservedArgument, ObservedGraph, ObservedNode, ObservedValue};
pub use program::Program;
pub use recording::Recording;
pub(crate) use saved::module_of_file;
pub use saved::{SavedModule, SavedTensor, check_name};
pub(crate) use scaled::with_scaled_weights;
pub use view::View;

pub(crate) use custom::CUSTOM;
pub use custom::{CustomActivation, ScalarFunction};
pub use op::{
    Activation, DType, Gives, Gradient, Init, LEAST_LOG_VARIANCE, Loss, NegativeWeights, Normalisation, Optimiser,
    Precision, Schedule,
};

use std::ops::Range;

use crate::error::{Error, Result};

/// The widest layer and the longest parameter vector that a graph may have: far beyond what trains on one machine,
/// small enough that no product of sizes overflows.
const WIDTH_LIMIT: usize = 1 << 24;
const PARAMETER_LIMIT: usize = 1 << 31;
const LAYER_LIMIT: usize = 1024;

/// One operation on rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// `x W^T + b` with W [outputs, inputs] and b [outputs]: ranges of the flat parameter vector.
    Linear {
        /// Where W lies, row-major.
        weight: Range<usize>,
        /// Where b lies.
        bias: Range<usize>,
    },
    /// An activation, number by number.
    Activation(Activation),
    /// The same by a function of the user's own.
    Custom(CustomActivation),
}

impl From<Activation> for Op {
    fn from(activation: Activation) -> Self {
        Op::Activation(activation)
    }
}

/// An operation with the widths of its value and of its input.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The function that it computes.
    pub op: Op,
    /// Numbers a row of its input.
    pub inputs: usize,
    /// Numbers a row of its value.
    pub outputs: usize,
}

/// A validated chain of operations over one flat parameter vector.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    inputs: usize,
    nodes: Vec<Node>,
    parameters: usize,
}

impl Graph {
    /// An empty graph on rows of `inputs` numbers.
    pub fn new(inputs: usize) -> Result<Self> {
        check_width("input", inputs)?;
        Ok(Graph { inputs, nodes: Vec::new(), parameters: 0 })
    }

    /// A multilayer perceptron: linear layers of the given sizes (features, hidden…, outputs) with `activation`
    /// between them and none after the last.
    pub fn mlp(sizes: &[usize], activation: impl Into<Op>) -> Result<Self> {
        let activation = activation.into();
        let [inputs, layers @ ..] = sizes else {
            return Err(Error::invalid("a network without layer sizes", "give at least {features, outputs}"));
        };
        let Some((last, hidden)) = layers.split_last() else {
            return Err(Error::invalid(
                format!("a network of one size ({inputs})"),
                "give at least {features, outputs}",
            ));
        };
        if layers.len() > LAYER_LIMIT {
            return Err(Error::invalid(
                format!("a network of {} layers", layers.len()),
                format!("at most {LAYER_LIMIT} are supported"),
            ));
        }
        let mut graph = Graph::new(*inputs)?;
        for &width in hidden {
            graph = graph.linear(width)?;
            if activation != Op::Activation(Activation::Identity) {
                graph = graph.then(activation.clone());
            }
        }
        graph.linear(*last)
    }

    /// Appends a linear layer.
    pub fn linear(mut self, outputs: usize) -> Result<Self> {
        check_width("layer", outputs)?;
        let inputs = self.outputs();
        let bias = self.parameters + inputs * outputs;
        let end = bias + outputs;
        if end > PARAMETER_LIMIT {
            return Err(Error::invalid(
                format!("a network of more than {PARAMETER_LIMIT} parameters"),
                "make its layers narrower",
            ));
        }
        let op = Op::Linear { weight: self.parameters..bias, bias: bias..end };
        self.nodes.push(Node { op, inputs, outputs });
        self.parameters = end;
        Ok(self)
    }

    /// Appends an operation that keeps the width.
    fn then(mut self, op: Op) -> Self {
        let width = self.outputs();
        self.nodes.push(Node { op, inputs: width, outputs: width });
        self
    }

    /// Numbers a row of the input.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Numbers a row of the value.
    pub fn outputs(&self) -> usize {
        self.nodes.last().map_or(self.inputs, |node| node.outputs)
    }

    /// The operations in the order in which they run.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Length of the flat parameter vector.
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// The linear layers' (weight, bias, inputs, outputs), in order.
    pub fn layers(&self) -> impl Iterator<Item = (Range<usize>, Range<usize>, usize, usize)> + '_ {
        self.nodes.iter().filter_map(|node| match &node.op {
            Op::Linear { weight, bias } => Some((weight.clone(), bias.clone(), node.inputs, node.outputs)),
            Op::Activation(_) | Op::Custom(_) => None,
        })
    }
}

fn check_width(what: &str, width: usize) -> Result<()> {
    if (1..=WIDTH_LIMIT).contains(&width) {
        return Ok(());
    }
    Err(Error::invalid(format!("{what} width {width}"), format!("give a width from 1 to {WIDTH_LIMIT}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_mlp_has_its_layers_end_to_end_in_one_vector() {
        let graph = Graph::mlp(&[3, 5, 2], Activation::ReLU).unwrap();
        assert_eq!(graph.parameters(), 3 * 5 + 5 + 5 * 2 + 2);
        assert_eq!(graph.layers().collect::<Vec<_>>(), [(0..15, 15..20, 3, 5), (20..30, 30..32, 5, 2)]);
        assert_eq!(graph.nodes().len(), 3);
    }

    #[test]
    fn absurd_sizes_are_refused() {
        for sizes in [&[][..], &[3], &[0, 1], &[3, 0, 1], &[usize::MAX, 2], &[1 << 24, 1 << 24, 1]] {
            assert!(Graph::mlp(sizes, Activation::ReLU).is_err(), "{sizes:?}");
        }
    }
}
