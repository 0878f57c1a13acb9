//! Reads and changes of tensors that were joined from parts: they go to the parts.

use std::ops::Range;

use super::super::Call;
use crate::graph::Program;
use crate::graph::program::{Kind, Node, Origin, Primitive, Tensor};

/// Parts of one tensor up to which each change names them all again.
const MOST_PARTS: usize = 64;

impl Call<'_, '_> {
    /// What `x` consists of in this range of `dim`, in order: pieces of the parts that it was joined from along it, or of `x` itself.
    pub fn pieces(&self, x: &Tensor, dim: usize, range: Range<usize>) -> Vec<Tensor> {
        let Some(parts) = self.parts(x, dim) else { return vec![x.narrow(dim, range.start, range.len())] };
        let mut start = 0;
        let mut pieces = Vec::new();
        for part in parts {
            let end = start + part.view.sizes[dim];
            let (first, last) = (range.start.max(start), range.end.min(end));
            if first < last {
                pieces.push(Tensor { kind: x.kind, ..part.narrow(dim, first - start, last - first) });
            }
            start = end;
        }
        pieces
    }

    /// The elements of `x` in this range of `dim`: those of a part, if there are all of them.
    pub fn read(&self, x: &Tensor, dim: usize, range: Range<usize>) -> Tensor {
        match &self.pieces(x, dim, range.clone())[..] {
            [one] => one.clone(),
            _ => x.narrow(dim, range.start, range.len()),
        }
    }

    /// Whether a node reads `x`, or any part of its buffer.
    pub fn is_read(&self, x: &Tensor) -> bool {
        let Program { nodes, buffers, .. } = &self.lowering.program;
        let Origin::Node(index) = buffers[x.buffer].origin else { return true };
        nodes[index + 1..].iter().flat_map(|node| &node.operands).any(|operand| operand.buffer == x.buffer)
    }

    /// The parts that `x` was joined from along `dim`.
    fn parts(&self, x: &Tensor, dim: usize) -> Option<&[Tensor]> {
        let program = &self.lowering.program;
        let Origin::Node(index) = program.buffers[x.buffer].origin else { return None };
        let Node { primitive: Primitive::Concat { places, .. }, operands, .. } = &program.nodes[index] else {
            return None;
        };
        // A detached value has another adjoint than its parts.
        let is_active = operands.iter().any(|operand| program.is_active(operand));
        let is_whole = x.view.len() == program.buffers[x.buffer].length && x.view.offset == 0 && x.view.is_contiguous();
        if !is_whole || operands.len() > MOST_PARTS || program.is_active(x) != is_active {
            return None;
        }
        let mut start = 0;
        for (operand, place) in operands.iter().zip(places) {
            let length = *place.sizes.get(dim)?;
            let are_others_whole =
                place.sizes.iter().zip(&x.view.sizes).enumerate().all(|(d, (a, b))| d == dim || a == b);
            let is_next = place.rank() == x.view.rank()
                && place.offset == start * x.view.strides[dim]
                && place.strides == x.view.strides
                && are_others_whole;
            if !is_next || operand.view.sizes != place.sizes || operand.kind == Kind::Index {
                return None;
            }
            start += length;
        }
        (start == x.view.sizes[dim]).then_some(operands)
    }
}
