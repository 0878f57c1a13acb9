//! The order in which a graph's kernels run on one tile of rows, and where each value lies in the tile's arena.
//!
//! Arena: the input, each node's value, then two adjoints that the reverse pass writes in turn. Every part starts on
//! a cache line. Nothing is allocated after the arena.

use crate::graph::{Graph, Node, Op};
use crate::kernels::Scalar;

/// Rows of a tile: activations of a few hundred numbers a row stay in a 512 KB L2 cache.
pub const TILE_ROWS: usize = 64;

/// Parts of the arena start at multiples of this many numbers (64 bytes of float32).
const ALIGNMENT: usize = 16;

/// A graph laid out for tiles of up to a number of rows.
#[derive(Clone, Debug)]
pub struct Plan {
    graph: Graph,
    /// Where the input and each node's value start.
    values: Vec<usize>,
    /// Where the two adjoints start.
    adjoints: [usize; 2],
    length: usize,
}

impl Plan {
    /// Lays out `graph` for tiles of up to `rows` rows.
    pub fn new(graph: Graph, rows: usize) -> Self {
        let mut length = 0;
        let mut part = |width: usize| {
            let start = length;
            length += (rows * width).next_multiple_of(ALIGNMENT);
            start
        };
        let mut values = vec![part(graph.inputs())];
        values.extend(graph.nodes().iter().map(|node| part(node.outputs)));
        let widest = graph.nodes().iter().map(|node| node.outputs).max().unwrap_or(0);
        let adjoints = [part(widest), part(widest)];
        Plan { graph, values, adjoints, length }
    }

    /// Numbers in an arena.
    pub fn arena_length(&self) -> usize {
        self.length
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Where `rows` rows of features go before [`forward`](Self::forward).
    pub fn input<'a, T>(&self, arena: &'a mut [T], rows: usize) -> &'a mut [T] {
        &mut arena[..rows * self.graph.inputs()]
    }

    /// Where the last node's value lies after [`forward`](Self::forward).
    pub fn output<'a, T>(&self, arena: &'a [T], rows: usize) -> &'a [T] {
        &arena[self.values[self.values.len() - 1]..][..rows * self.graph.outputs()]
    }

    /// The last node's value, and where its adjoint goes before [`backward`](Self::backward).
    pub fn output_and_adjoint<'a, T>(&self, arena: &'a mut [T], rows: usize) -> (&'a [T], &'a mut [T]) {
        let (values, adjoints) = arena.split_at_mut(self.adjoints[0]);
        (self.output(values, rows), &mut adjoints[..rows * self.graph.outputs()])
    }

    /// Runs every node on `rows` rows.
    pub fn forward<T: Scalar>(&self, parameters: &[T], arena: &mut [T], rows: usize) {
        for (index, node) in self.graph.nodes().iter().enumerate() {
            let (before, after) = arena.split_at_mut(self.values[index + 1]);
            let input = &before[self.values[index]..][..rows * node.inputs];
            let value = &mut after[..rows * node.outputs];
            match &node.op {
                Op::Linear { weight, bias } => {
                    let (weight, bias) = (&parameters[weight.clone()], &parameters[bias.clone()]);
                    T::linear(rows, node.inputs, node.outputs, input, weight, bias, value);
                }
                Op::Activation(activation) => T::activation(*activation as u8, input, value),
            }
        }
    }

    /// Runs the pullback of every node, last to first, and adds to `gradient`. The input gets no adjoint.
    pub fn backward<T: Scalar>(&self, parameters: &[T], arena: &mut [T], gradient: &mut [T], rows: usize) {
        let (values, adjoints) = arena.split_at_mut(self.adjoints[0]);
        let (mut current, mut other) = adjoints.split_at_mut(self.adjoints[1] - self.adjoints[0]);
        for (index, node) in self.graph.nodes().iter().enumerate().rev() {
            let input = &values[self.values[index]..][..rows * node.inputs];
            match &node.op {
                Op::Linear { weight, bias } => {
                    let adjoint = &current[..rows * node.outputs];
                    let input_adjoint = (index > 0).then(|| &mut other[..rows * node.inputs]);
                    let (dw, db) = gradient[weight.start..bias.end].split_at_mut(weight.len());
                    let weight = &parameters[weight.clone()];
                    let Node { inputs, outputs, .. } = *node;
                    T::linear_pullback(rows, inputs, outputs, input, weight, adjoint, input_adjoint, dw, db);
                    std::mem::swap(&mut current, &mut other);
                }
                Op::Activation(activation) => {
                    let adjoint = &mut current[..rows * node.outputs];
                    T::activation_pullback_in_place(*activation as u8, input, adjoint);
                }
            }
        }
    }
}
