//! Buffer assignment: the places of a program's values in memory.

use std::ops::Range;

use crate::graph::lifetimes::{ended_buffers, keeps_values};
use crate::graph::program::{Node, Origin, Primitive};
use crate::graph::{Program, View};

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

/// The arena of values: literals, which are written once, then the values of nodes.
pub struct BufferAssignment {
    /// Place of each buffer's values.
    pub values: Vec<Location>,
    /// Numbers in the arena.
    pub length: usize,
}

impl BufferAssignment {
    /// For steps that run one after the other. Without gradients nothing reads a value behind its last step: what comes then
    /// lies in the same memory, and long programs stay in the cache.
    pub fn new(program: &Program) -> Self {
        if keeps_values(program) { Self::apart(program) } else { Self::reusing(program) }
    }

    /// Each value in its own memory, in the order of the nodes.
    pub fn apart(program: &Program) -> Self {
        let (mut values, mut room) = Self::literals(program);
        for node in &program.nodes {
            values[node.buffer] = Location::Arena(room.take(program.buffers[node.buffer].length));
        }
        BufferAssignment { values, length: room.end }
    }

    /// Each value in memory that is free from its own step to the last one that reads it.
    fn reusing(program: &Program) -> Self {
        let (mut values, mut room) = Self::literals(program);
        let ended = ended_buffers(program);
        for (node, ended) in program.nodes.iter().zip(&ended) {
            let changed = changed_in_place(program, node, ended);
            values[node.buffer] = match changed {
                Some(buffer) => values[buffer],
                None => Location::Arena(room.take(program.buffers[node.buffer].length)),
            };
            for &buffer in ended.iter().filter(|&&buffer| Some(buffer) != changed) {
                if let Location::Arena(start) = values[buffer] {
                    room.give(start, program.buffers[buffer].length);
                }
            }
        }
        BufferAssignment { values, length: room.end }
    }

    /// Places of arguments and literals, and the arena behind them.
    fn literals(program: &Program) -> (Vec<Location>, Room) {
        let mut room = Room::default();
        let values = program.buffers.iter().map(|buffer| match buffer.origin {
            Origin::Argument(index) => Location::Caller(index),
            Origin::Literal(_) => Location::Arena(room.take(buffer.length)),
            Origin::Node(_) => Location::Arena(0),
        });
        (values.collect(), room)
    }
}

/// The buffer, one of those that end at this node, of which the node's value differs in some parts only: they are joined with the rest
/// where it lies. A column that is added to in place costs a column, not the whole table. Places never overlap.
fn changed_in_place(program: &Program, node: &Node, ended: &[usize]) -> Option<usize> {
    let Primitive::Concat { places, .. } = &node.primitive else { return None };
    let length = program.buffers[node.buffer].length;
    let parts = || node.operands.iter().zip(places);
    let stays = |buffer: usize| parts().all(|(operand, place)| operand.buffer != buffer || operand.view == *place);
    let is_whole = places.iter().map(View::len).sum::<usize>() == length;
    let mut ended = ended.iter().copied().filter(|_| is_whole);
    ended.find(|&buffer| buffer != node.buffer && program.buffers[buffer].length == length && stays(buffer))
}

/// An arena's memory while it is handed out.
#[derive(Default)]
pub struct Room {
    /// In order, never next to one another.
    free: Vec<Range<usize>>,
    /// Numbers that were in use at once.
    pub end: usize,
}

impl Room {
    /// The first free place that is long enough.
    pub fn take(&mut self, length: usize) -> usize {
        if length == 0 {
            return 0; // nobody reads or writes there
        }
        let length = length.next_multiple_of(ALIGNMENT);
        let Some(index) = self.free.iter().position(|free| free.len() >= length) else {
            // What is free at the end becomes longer.
            let start = self.free.pop_if(|last| last.end == self.end).map_or(self.end, |last| last.start);
            self.end = start + length;
            return start;
        };
        let start = self.free[index].start;
        self.free[index].start += length;
        if self.free[index].is_empty() {
            self.free.remove(index);
        }
        start
    }

    /// Takes it back.
    pub fn give(&mut self, start: usize, length: usize) {
        if length == 0 {
            return;
        }
        let mut range = start..start + length.next_multiple_of(ALIGNMENT);
        let index = self.free.partition_point(|free| free.start < start);
        if self.free.get(index).is_some_and(|next| next.start == range.end) {
            range.end = self.free.remove(index).end;
        }
        match index.checked_sub(1).map(|before| &mut self.free[before]) {
            Some(before) if before.end == range.start => before.end = range.end,
            _ => self.free.insert(index, range),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::program::Tensor;
    use crate::graph::{DType, Function};

    #[test]
    fn room_is_used_again_and_never_twice() {
        let mut room = Room::default();
        let [a, b, c] = [16, 20, 40].map(|length| room.take(length));
        assert_eq!([a, b, c, room.end], [0, 16, 48, 96]);
        room.give(b, 20);
        room.give(a, 16);
        assert!(matches!(&room.free[..], [only] if *only == (0..48)));
        assert_eq!(room.take(33), 0);
        room.give(c, 40);
        // What was free at the end is a part of it.
        assert_eq!([room.take(100), room.end], [48, 160]);
        let empty = room.take(0);
        room.give(empty, 0);
        assert!(room.free.is_empty());
    }

    /// Doubles 40 numbers 100 times, with or without a gradient.
    fn chain(gradient: bool) -> Program {
        let mut program = Program::new(DType::Float32);
        let mut x = program.argument("x", DType::Float32, View::contiguous(&[40]), gradient).unwrap();
        for step in 0..100 {
            x = program.node(Primitive::Map(Function::Add), vec![x.clone(), x], vec![40], step).unwrap();
        }
        program.outputs.push(x);
        program
    }

    /// Columns of `x * x` [3, 4] replaced one after the other; the result once more times the value number `again`.
    fn changed_columns(again: usize) -> Program {
        let mut program = Program::new(DType::Float32);
        let x = program.argument("x", DType::Float32, View::contiguous(&[3, 4]), false).unwrap();
        let mut values = vec![program.node(Primitive::Map(Function::Mul), vec![x.clone(), x], vec![3, 4], 0).unwrap()];
        for column in 0..4 {
            let old = &values[column];
            let part = |start, length| Tensor { view: old.view.narrow(1, start, length, 1), ..old.clone() };
            let own = part(column, 1);
            let new = program.node(Primitive::Map(Function::Add), vec![own.clone(), own], vec![3, 1], 0).unwrap();
            let mut parts = vec![(new, part(column, 1).view)];
            for rest in [part(0, column), part(column + 1, 3 - column)].into_iter().filter(|rest| !rest.view.is_empty())
            {
                parts.push((rest.clone(), rest.view));
            }
            let (operands, places) = parts.into_iter().unzip();
            values.push(program.node(Primitive::Concat { fill: 0.0, places }, operands, vec![3, 4], 0).unwrap());
        }
        let factors = vec![values[4].clone(), values[again].clone()];
        let product = program.node(Primitive::Map(Function::Mul), factors, vec![3, 4], 0).unwrap();
        program.outputs.push(product);
        program
    }

    #[test]
    fn what_is_read_no_more_is_changed_in_place() {
        for again in 0..=4 {
            let program = changed_columns(again);
            let assignment = BufferAssignment::new(&program);
            let places: Vec<Location> =
                (0..=4).map(|value| assignment.values[program.nodes[2 * value].buffer]).collect();
            for value in 0..4 {
                // The value that is read again stays, and what comes next lies elsewhere.
                assert_eq!(places[value] == places[value + 1], value != again, "{value} of {again}");
            }
        }
    }

    #[test]
    fn values_share_memory_where_nothing_comes_back() {
        let own = 40usize.next_multiple_of(ALIGNMENT);
        assert_eq!(BufferAssignment::new(&chain(true)).length, 100 * own);
        // A step writes beside what it reads.
        let program = chain(false);
        let reused = BufferAssignment::new(&program);
        assert_eq!(reused.length, 2 * own);
        for node in &program.nodes {
            assert_ne!(reused.values[node.buffer], reused.values[node.operands[0].buffer]);
        }
    }
}
