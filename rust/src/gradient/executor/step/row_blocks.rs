//! Joins of narrow parts, so many rows at a time that all parts come together in the cache: a column alone goes through the memory
//! of the whole table.

use crate::device::Element;
use crate::error::Result;
use crate::graph::program::{Node, Primitive};
use crate::graph::{Program, View};
use crate::kernels::Scalar;
use crate::kernels::strided::{self, StridedView};

/// Numbers of a row up to which parts share most of its cache lines.
const NARROW: usize = 64;
/// Numbers of a block: some of each part fit the first cache.
const BLOCK: usize = 2048;
/// Numbers of a value that is worth blocks.
const LEAST: usize = 4 * BLOCK;

/// How a value is joined in blocks of rows.
pub struct RowBlocks {
    /// Rows of a block.
    block: usize,
    /// Numbers of a row.
    width: usize,
    parts: Vec<Part>,
}

/// An operand.
struct Part {
    /// From a row to the next one.
    step: usize,
    /// Of the operand and its place, in a whole block and in the last one.
    views: [[StridedView; 2]; 2],
    /// Whether it lies where it is copied to, in an operand of which most is copied.
    is_of_base: bool,
}

impl RowBlocks {
    /// For a join without gaps of columns of many narrow rows; `moves` says which of its operands are copied.
    pub fn new(program: &Program, node: &Node, moves: &[bool]) -> Result<Option<Self>> {
        let Primitive::Concat { places, .. } = &node.primitive else { return Ok(None) };
        let &[rows, ref rest @ ..] = &node.shape[..] else { return Ok(None) };
        let length: usize = node.shape.iter().product();
        let width: usize = rest.iter().product();
        let are_columns = places.iter().zip(&node.operands).all(|(place, operand)| {
            (place.sizes.first(), place.strides.first()) == (Some(&rows), Some(&width))
                && operand.view.sizes == place.sizes
        });
        let is_whole = places.iter().map(View::len).sum::<usize>() == length;
        if !(are_columns && is_whole) || places.len() < 2 || width > NARROW || length < LEAST {
            return Ok(None);
        }
        // Parts that stay in the value's memory would be lost below a copied base.
        let base = if moves.contains(&false) { None } else { base(program, node, places) };
        let block = BLOCK / width;
        let moving = node.operands.iter().zip(places).zip(moves).filter(|(_, moves)| **moves);
        let parts = moving.map(|((operand, place), _)| {
            let first = |count: usize| -> Result<[StridedView; 2]> {
                Ok([operand.view.narrow(0, 0, count, 1).strided()?, place.narrow(0, 0, count, 1).strided()?])
            };
            let is_of_base = base == Some(operand.buffer) && operand.view == *place;
            Ok(Part { step: operand.view.strides[0], views: [first(block)?, first(rows % block)?], is_of_base })
        });
        Ok(Some(RowBlocks { block, width, parts: parts.collect::<Result<_>>()? }))
    }

    /// Joins; `read` gives an operand's memory.
    pub fn join<'a, T: Scalar + Element>(&self, read: impl Fn(usize) -> &'a [T], value: &mut [T]) {
        let base = self.parts.iter().position(|part| part.is_of_base);
        for (at, value) in value.chunks_mut(self.block * self.width).enumerate() {
            let (start, is_last) = (at * self.block, value.len() < self.block * self.width);
            if let Some(base) = base {
                value.copy_from_slice(&read(base)[start * self.width..][..value.len()]);
            }
            for (operand, part) in self.parts.iter().enumerate().filter(|(_, part)| !part.is_of_base) {
                let [view, place] = &part.views[usize::from(is_last)];
                strided::copy(&read(operand)[start * part.step..], view, value, place);
            }
        }
    }
}

/// The buffer at least half of which stays where it is.
fn base(program: &Program, node: &Node, places: &[View]) -> Option<usize> {
    let length = program.buffers[node.buffer].length;
    let stays = || {
        let parts = node.operands.iter().zip(places);
        parts.filter(|(operand, place)| operand.view == **place && program.buffers[operand.buffer].length == length)
    };
    let of = |buffer: usize| {
        stays().filter(|(operand, _)| operand.buffer == buffer).map(|(operand, _)| operand.view.len()).sum::<usize>()
    };
    stays().map(|(operand, _)| operand.buffer).find(|&buffer| 2 * of(buffer) >= length)
}
