//! The cost of a module.

use crate::graph::Program;
use crate::graph::program::{Primitive, Product};

/// The cost of an event, forward in evaluation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// That operators compute.
    pub numbers: usize,
    /// Multiplications of products, and the numbers.
    pub work: usize,
}

impl Cost {
    pub(super) fn of(program: &Program, rows: usize) -> Self {
        let numbers: usize = program.nodes.iter().map(|node| program.buffers[node.buffer].length).sum();
        let products = program.nodes.iter().map(|node| match &node.primitive {
            Primitive::Product(Product { m, n, k, batches }) => m * n * k * batches.len(),
            Primitive::Convolve(convolution) => convolution.work(),
            _ => 0,
        });
        let work = numbers + products.sum::<usize>();
        Cost { numbers: numbers.div_ceil(rows).max(1), work: work.div_ceil(rows).max(1) }
    }
}
