//! Reads and changes of tensors that were joined from parts: they go to the parts.

use std::ops::Range;

use super::super::Call;
use crate::graph::View;
use crate::graph::program::{Kind, Node, Origin, Primitive, Tensor};

/// Parts of one tensor up to which each change names them all again.
const MOST_PARTS: usize = 64;

impl Call<'_, '_> {
    /// What `x` consists of in this range of `dim`, in order: pieces of the parts that it was joined from along it, or of `x` itself.
    pub fn pieces(&self, x: &Tensor, dim: usize, range: Range<usize>) -> Vec<Tensor> {
        let Some(parts) = self.parts(x, dim) else { return vec![piece(x, dim, range)] };
        let mut start = 0;
        let mut pieces = Vec::new();
        for part in parts {
            let end = start + part.view.sizes[dim];
            let (first, last) = (range.start.max(start), range.end.min(end));
            if first < last {
                pieces.push(piece(&part, dim, first - start..last - start));
            }
            start = end;
        }
        pieces
    }

    /// The elements of `x` in this range of `dim`: those of a part, if there are all of them.
    pub fn read(&self, x: &Tensor, dim: usize, range: Range<usize>) -> Tensor {
        match &mut self.pieces(x, dim, range.clone())[..] {
            [one] => one.clone(),
            _ => piece(x, dim, range),
        }
    }

    /// The parts that `x` was joined from along `dim`.
    fn parts(&self, x: &Tensor, dim: usize) -> Option<Vec<Tensor>> {
        let program = &self.lowering.program;
        let Origin::Node(index) = program.buffers[x.buffer].origin else { return None };
        let Node { primitive: Primitive::Concat { places, .. }, operands, shape, .. } = &program.nodes[index] else {
            return None;
        };
        let whole = View::contiguous(shape);
        // A detached value has another adjoint than its parts.
        let is_active = operands.iter().any(|operand| program.is_active(operand));
        if x.view != whole || operands.len() > MOST_PARTS || program.is_active(x) != is_active {
            return None;
        }
        let mut start = 0;
        let mut parts = Vec::new();
        for (operand, place) in operands.iter().zip(places) {
            let length = *place.sizes.get(dim)?;
            let is_next = start + length <= shape[dim] && *place == whole.narrow(dim, start, length, 1);
            if !is_next || operand.view.sizes != place.sizes || operand.kind == Kind::Index {
                return None;
            }
            parts.push(Tensor { kind: x.kind, ..operand.clone() });
            start += length;
        }
        (start == shape[dim]).then_some(parts)
    }
}

fn piece(x: &Tensor, dim: usize, Range { start, end }: Range<usize>) -> Tensor {
    Tensor { view: x.view.narrow(dim, start, end - start, 1), ..x.clone() }
}
