//! The pieces of blocks: parts of the program, laid out, and the arguments of the whole.

use std::ops::Range;

use super::super::buffer_assignment::{ALIGNMENT, BufferAssignment};
use super::super::executor::{Executor, Run};
use crate::device::Element;
use crate::error::Result;
use crate::graph::Program;
use crate::graph::rows::{Input, RowCut, Subprogram};
use crate::kernels::Scalar;

/// An argument of the whole program. Where all rows share it, the bytes are 0.
pub struct Argument {
    /// Bytes from one row to the next.
    pub step: usize,
    /// The same in its gradient.
    pub gradient_step: usize,
    /// Elements of its gradient, if that is wanted and shared by all rows.
    pub common: Option<usize>,
}

impl Argument {
    /// The piece for an argument of the program that is cut, whose gradient consists of T.
    pub fn new<T>(program: &Program, cut: &RowCut, index: usize) -> Self {
        let argument = &program.arguments[index];
        let has_rows = cut.has_rows(index);
        let row = if has_rows { argument.view.len() / cut.count() } else { 0 };
        Argument {
            step: cut.step(index) * argument.dtype.bytes(),
            gradient_step: row * size_of::<T>(),
            common: (argument.gradient && !has_rows).then(|| argument.view.len()),
        }
    }

    /// Whether each row has its own.
    pub fn has_rows(&self) -> bool {
        self.gradient_step > 0
    }
}

/// A part of the program, laid out.
pub struct Piece<T> {
    /// The part of the program.
    pub part: Subprogram,
    /// The executor that computes it.
    pub executor: Executor<T>,
    /// One for each argument: its gradient, where there is one and the rows have it in common; else empty.
    pub gradients: ArrayRanges,
}

impl<T: Scalar + Element> Piece<T> {
    /// Lays out the part.
    pub fn new(part: Subprogram, cut: &RowCut) -> Result<Self> {
        let executor = Executor::new(&part.program, &BufferAssignment::new(&part.program))?;
        let lengths = part.program.arguments.iter().zip(&part.inputs).map(|(argument, input)| match *input {
            Input::Argument(index) if cut.has_rows(index) => 0,
            _ if argument.gradient => argument.view.len(),
            _ => 0,
        });
        Ok(Piece { gradients: ArrayRanges::new(lengths), part, executor })
    }

    /// Numbers of its arena of values, some in any case.
    pub fn values(&self) -> usize {
        self.executor.arenas()[0].next_multiple_of(ALIGNMENT).max(ALIGNMENT)
    }

    /// Numbers of its arena of adjoints.
    pub fn adjoints(&self) -> usize {
        self.executor.arenas()[1].next_multiple_of(ALIGNMENT)
    }
}

/// Arrays of numbers, one after the other.
#[derive(Default)]
pub struct ArrayRanges {
    /// Where each of them lies.
    pub ranges: Vec<Range<usize>>,
    /// Numbers of all of them.
    pub length: usize,
}

impl ArrayRanges {
    /// For arrays of these lengths.
    pub fn new(lengths: impl Iterator<Item = usize>) -> Self {
        let mut places = ArrayRanges::default();
        for length in lengths {
            places.ranges.push(places.length..places.length + length);
            places.length += length.next_multiple_of(ALIGNMENT);
        }
        places
    }
}
