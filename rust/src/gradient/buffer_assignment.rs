//! Where the values of a program lie.

use crate::graph::Program;
use crate::graph::program::Origin;

/// Buffers start at multiples of this many numbers: a cache line of float32.
pub const ALIGNMENT: usize = 16;

/// Where a buffer lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// In the caller's memory: values as argument, adjoints as gradient of that number.
    Caller(usize),
    /// In an arena, from there on.
    Arena(usize),
}

/// The arena of values: literals, which are written once, then the value of each node, in the order of the nodes.
pub struct BufferAssignment {
    /// Of each buffer's numbers.
    pub values: Vec<Location>,
    /// Numbers in the arena.
    pub length: usize,
}

impl BufferAssignment {
    /// Lays out the program.
    pub fn new(program: &Program) -> Self {
        let lengths = |are_literal: bool| {
            let is_one = move |origin: &Origin| match origin {
                Origin::Argument(_) => false,
                Origin::Literal(_) => are_literal,
                Origin::Node(_) => !are_literal,
            };
            let buffers = program.buffers.iter().enumerate();
            buffers.filter(move |(_, buffer)| is_one(&buffer.origin)).map(|(index, buffer)| (index, buffer.length))
        };
        let caller = program.buffers.iter().map(|buffer| match buffer.origin {
            Origin::Argument(index) => Location::Caller(index),
            Origin::Literal(_) | Origin::Node(_) => Location::Arena(0),
        });
        let mut assignment = BufferAssignment { values: caller.collect(), length: 0 };
        for (index, length) in lengths(true).chain(lengths(false)) {
            assignment.values[index] = Location::Arena(assignment.length);
            assignment.length += length.next_multiple_of(ALIGNMENT);
        }
        assignment
    }
}
