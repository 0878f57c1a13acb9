//! An observation that is recorded operator by operator, without LibTorch.

use super::view::row_major;
use super::{DType, ObservedArgument, ObservedGraph, ObservedNode, ObservedValue};

/// See the module's documentation. Every tensor is dense.
pub struct Recording {
    /// The recorded graph.
    pub graph: ObservedGraph,
}

impl Default for Recording {
    fn default() -> Self {
        let graph = ObservedGraph { values: vec![], nodes: vec![], inputs: vec![], outputs: vec![], constants: vec![] };
        Recording { graph }
    }
}

impl Recording {
    /// A new tensor of this shape.
    pub fn value(&mut self, dtype: DType, shape: &[usize]) -> u32 {
        let numbers = |sizes: &[usize]| sizes.iter().map(|&size| size as i64).collect();
        self.graph.values.push(ObservedValue {
            name: String::new(),
            dtype,
            shape: numbers(shape),
            strides: numbers(&row_major(shape)),
        });
        self.graph.values.len() as u32 - 1
    }

    /// The results of LibTorch's operator `op`, of these types and shapes.
    pub fn call(
        &mut self,
        op: &str,
        overload: &str,
        arguments: Vec<ObservedArgument>,
        results: &[(DType, &[usize])],
        place: &str,
    ) -> Vec<u32> {
        let outputs: Vec<u32> = results.iter().map(|(dtype, shape)| self.value(*dtype, shape)).collect();
        self.graph.nodes.push(ObservedNode {
            op: format!("aten::{op}"),
            overload: overload.to_owned(),
            arguments,
            outputs: outputs.clone(),
            place: place.to_owned(),
        });
        outputs
    }
}
