//! The order in which a graph's kernels run on one tile of rows, and where each value lies in the tile's arena.
//!
//! Arena: the input, each node's value, then two adjoints that the reverse pass writes in turn. Every part starts on
//! a cache line. An activation whose derivative depends on the sign of its input alone overwrites it. Nothing is allocated
//! after the arena.

use std::marker::PhantomData;

use crate::graph::{Activation, Graph, Node, Op};
use crate::kernels::Scalar;

/// Rows of a tile: activations of a few hundred numbers a row stay in a 512 KB L2 cache.
pub const TILE_ROWS: usize = 64;

/// Parts of the arena start at multiples of this many numbers (64 bytes of float32).
const ALIGNMENT: usize = 16;

/// Layers of up to this many weights run on the register tiles of `cpp/kernels/tiled.cpp`, wider ones on BLAS, whose
/// blocking pays once the weights leave the L2 cache.
const TILED_WEIGHTS: usize = 1 << 17;

/// A graph laid out for tiles of up to a number of rows of T.
#[derive(Clone, Debug)]
pub struct Plan<T> {
    graph: Graph,
    /// Where the input and each node's value start.
    values: Vec<usize>,
    /// Where each node's packed weights start; `None` for activations and for layers left to BLAS.
    packed: Vec<Option<usize>>,
    packed_length: usize,
    /// Where the two adjoints start.
    adjoints: [usize; 2],
    length: usize,
    scalar: PhantomData<T>,
}

impl<T: Scalar> Plan<T> {
    /// Lays out `graph` for tiles of up to `rows` rows.
    pub fn new(graph: Graph, rows: usize) -> Self {
        let mut length = 0;
        let mut part = |width: usize| {
            let start = length;
            length += (rows * width).next_multiple_of(ALIGNMENT);
            start
        };
        let mut values = vec![part(graph.inputs())];
        for (index, node) in graph.nodes().iter().enumerate() {
            values.push(if in_place(index, &node.op) { values[index] } else { part(node.outputs) });
        }
        let widest = graph.nodes().iter().map(|node| node.outputs).max().unwrap_or(0);
        let adjoints = [part(widest), part(widest)];
        let mut packed_length = 0;
        let packed = graph.nodes().iter().map(|node| {
            let tiled = matches!(node.op, Op::Linear { .. }) && node.inputs * node.outputs <= TILED_WEIGHTS;
            tiled.then(|| {
                let start = packed_length;
                packed_length += T::packed_length(node.inputs, node.outputs).next_multiple_of(ALIGNMENT);
                start
            })
        });
        let packed = packed.collect();
        Plan { graph, values, packed, packed_length, adjoints, length, scalar: PhantomData }
    }

    /// Numbers in an arena.
    pub fn arena_length(&self) -> usize {
        self.length
    }

    /// Numbers that [`pack`](Self::pack) writes.
    pub fn packed_length(&self) -> usize {
        self.packed_length
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Lays the weights out for [`forward`](Self::forward): once for each change of the parameters.
    pub fn pack(&self, parameters: &[T], packed: &mut [T]) {
        for (node, start) in self.graph.nodes().iter().zip(&self.packed) {
            if let (Op::Linear { weight, .. }, Some(start)) = (&node.op, start) {
                let length = T::packed_length(node.inputs, node.outputs);
                T::pack(node.inputs, node.outputs, &parameters[weight.clone()], &mut packed[*start..][..length]);
            }
        }
    }

    /// Where `rows` rows of features go before [`forward`](Self::forward).
    pub fn input<'a>(&self, arena: &'a mut [T], rows: usize) -> &'a mut [T] {
        &mut arena[..rows * self.graph.inputs()]
    }

    /// Where the last node's value lies after [`forward`](Self::forward).
    pub fn output<'a>(&self, arena: &'a [T], rows: usize) -> &'a [T] {
        &arena[self.values[self.values.len() - 1]..][..rows * self.graph.outputs()]
    }

    /// The last node's value, and where its adjoint goes before [`backward`](Self::backward).
    pub fn output_and_adjoint<'a>(&self, arena: &'a mut [T], rows: usize) -> (&'a [T], &'a mut [T]) {
        let (values, adjoints) = arena.split_at_mut(self.adjoints[0]);
        (self.output(values, rows), &mut adjoints[..rows * self.graph.outputs()])
    }

    /// Runs every node on `rows` rows. `packed` is what [`pack`](Self::pack) made of `parameters`.
    pub fn forward(&self, parameters: &[T], packed: &[T], arena: &mut [T], rows: usize) {
        for (index, node) in self.graph.nodes().iter().enumerate() {
            let Node { inputs, outputs, .. } = *node;
            let (from, to) = (self.values[index], self.values[index + 1]);
            if from == to
                && let Op::Activation(activation) = node.op
            {
                T::activation_in_place(activation as u8, &mut arena[from..][..rows * outputs]);
                continue;
            }
            let (before, after) = arena.split_at_mut(to);
            let input = &before[from..][..rows * inputs];
            let value = &mut after[..rows * outputs];
            match (&node.op, self.packed[index]) {
                (Op::Linear { bias, .. }, Some(start)) => {
                    let weight = &packed[start..][..T::packed_length(inputs, outputs)];
                    T::packed_linear(rows, inputs, outputs, input, weight, &parameters[bias.clone()], value);
                }
                (Op::Linear { weight, bias }, None) => {
                    let (weight, bias) = (&parameters[weight.clone()], &parameters[bias.clone()]);
                    T::linear(rows, inputs, outputs, input, weight, bias, value);
                }
                (Op::Activation(activation), _) => T::activation(*activation as u8, input, value),
            }
        }
    }

    /// Runs the pullback of every node, last to first, and adds to `gradient`. The input gets no adjoint.
    pub fn backward(&self, parameters: &[T], arena: &mut [T], gradient: &mut [T], rows: usize) {
        let (values, adjoints) = arena.split_at_mut(self.adjoints[0]);
        let (mut current, mut other) = adjoints.split_at_mut(self.adjoints[1] - self.adjoints[0]);
        for (index, node) in self.graph.nodes().iter().enumerate().rev() {
            let Node { inputs, outputs, .. } = *node;
            // Of an activation in place this is its value: its sign is all that the derivative asks for.
            let input = &values[self.values[index]..][..rows * inputs];
            match &node.op {
                Op::Linear { weight, bias } => {
                    let adjoint = &current[..rows * outputs];
                    let input_adjoint = (index > 0).then(|| &mut other[..rows * inputs]);
                    let (dw, db) = gradient[weight.start..bias.end].split_at_mut(weight.len());
                    let weight = &parameters[weight.clone()];
                    let pullback = if self.packed[index].is_some() { T::tiled_pullback } else { T::linear_pullback };
                    pullback(rows, inputs, outputs, input, weight, adjoint, input_adjoint, dw, db);
                    std::mem::swap(&mut current, &mut other);
                }
                Op::Activation(activation) => {
                    let adjoint = &mut current[..rows * outputs];
                    T::activation_pullback_in_place(*activation as u8, input, adjoint);
                }
            }
        }
    }
}

/// Whether the node may overwrite its input: an activation whose derivative depends on the sign of its input alone, which
/// is the sign of its value, after a node whose pullback does not need its own value. The first node keeps the features.
fn in_place(index: usize, op: &Op) -> bool {
    let by_sign = [Activation::Identity, Activation::ReLU, Activation::LeakyReLU];
    index > 0 && matches!(op, Op::Activation(activation) if by_sign.contains(activation))
}
