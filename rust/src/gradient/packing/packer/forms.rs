//! The forms of a tensor in memory: dense, or packed.

use super::Packer;
use crate::error::{Error, Result};
use crate::gradient::packing::is_whole;
use crate::graph::View;
use crate::graph::program::{Origin, Primitive, Tensor};
use crate::kernels::Scalar;

/// The buffers in which a tensor's numbers are.
#[derive(Clone, Copy, Default)]
pub(super) struct Forms {
    pub(super) dense: Option<usize>,
    /// Rows and columns that it has packed, and the buffer.
    pub(super) packed: Option<([usize; 2], usize)>,
}

impl<T: Scalar> Packer<'_, T> {
    pub(super) fn packed_operand(&mut self, operand: &Tensor, [rows, columns]: [usize; 2]) -> Result<Tensor> {
        if self.is_number(operand) {
            let buffer = self.dense_buffer(operand.buffer)?;
            let view = View { offset: 0, sizes: vec![rows * T::padded(columns)], strides: vec![0] };
            return Ok(Tensor { buffer, view, kind: operand.kind });
        }
        let buffer = self.packed_buffer(operand.buffer, [rows, columns])?;
        Ok(self.whole(buffer))
    }

    /// All of a new buffer.
    pub(super) fn whole(&self, buffer: usize) -> Tensor {
        let view = View::contiguous(&[self.new.buffers[buffer].length]);
        Tensor { buffer, view, kind: crate::graph::program::Kind::Number }
    }

    /// The new buffer with an old one's numbers, packed.
    pub(super) fn packed_buffer(&mut self, buffer: usize, shape: [usize; 2]) -> Result<usize> {
        if let Some((_, packed)) = self.buffers[buffer].packed.filter(|(own, _)| *own == shape) {
            return Ok(packed);
        }
        // Of rows of another length, too: what belongs to particles becomes the numbers of an event.
        let dense = self.dense_buffer(buffer)?;
        let [rows, columns] = shape;
        let (operand, length) = (self.whole(dense), rows * T::padded(columns));
        let made = self.new.node(Primitive::Pack(shape), vec![operand], vec![length], 0)?;
        self.buffers[buffer].packed = Some((shape, made.buffer));
        Ok(made.buffer)
    }

    /// The new buffer with an old one's numbers as they were.
    fn dense_buffer(&mut self, buffer: usize) -> Result<usize> {
        if let Some(dense) = self.buffers[buffer].dense {
            return Ok(dense);
        }
        let made = match (self.buffers[buffer].packed, &self.old.buffers[buffer].origin) {
            (Some((shape, packed)), _) => {
                let operand = self.whole(packed);
                self.new.node(Primitive::Unpack(shape), vec![operand], vec![shape[0] * shape[1]], 0)?
            }
            (None, Origin::Literal(values)) => self.new.table(values.to_vec(), &[values.len()])?,
            (None, _) => return Err(Error::Internal(format!("buffer {buffer} was never computed"))),
        };
        self.buffers[buffer].dense = Some(made.buffer);
        Ok(made.buffer)
    }

    /// An output: where all its columns are in one panel, its rows are read from there.
    pub(super) fn output(&mut self, tensor: &Tensor) -> Result<Tensor> {
        let Forms { dense: None, packed: Some(([rows, columns], buffer)) } = self.buffers[tensor.buffer] else {
            return self.dense(tensor);
        };
        let (sizes, width) = (tensor.view.sizes.clone(), T::padded(columns));
        let strides = match sizes[..] {
            [first] if first == rows && columns == 1 => vec![width],
            [first, second] if [first, second] == [rows, columns] => vec![width, 1],
            _ => return self.dense(tensor),
        };
        match is_whole(self.old, tensor) && width == T::padded(1) {
            true => Ok(Tensor { buffer, view: View { offset: 0, sizes, strides }, kind: tensor.kind }),
            false => self.dense(tensor),
        }
    }

    pub(super) fn dense(&mut self, tensor: &Tensor) -> Result<Tensor> {
        Ok(Tensor { buffer: self.dense_buffer(tensor.buffer)?, ..tensor.clone() })
    }
}
