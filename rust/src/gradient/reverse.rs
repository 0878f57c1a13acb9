//! The plan of the reverse pass: which pullback begins an adjoint, and where adjoints lie.

use super::buffer_assignment::{Location, Room};
use crate::graph::Program;
use crate::graph::program::{Node, Primitive, Tensor};

/// The effect of a pullback on the adjoint of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Adds to what the pullbacks before it left.
    Add,
    /// Is the first one, but does not write every element just once: it adds to zeros.
    Zero,
    /// Is the first one and writes every element.
    Store,
}

/// A step of the forward pass as the reverse pass sees it.
pub struct Pullback<'a> {
    /// Its value's buffer.
    pub value: usize,
    /// The operands that it reads.
    pub operands: Vec<&'a Tensor>,
    /// Whether it can write the adjoint of an operand instead of adding to it.
    pub stores: Vec<bool>,
}

impl<'a> Pullback<'a> {
    /// The pullback of a step that is one node.
    pub fn of(node: &'a Node) -> Self {
        // The gradient of an argument is the adjoint of what is loaded.
        let operands: Vec<&Tensor> = match node.primitive {
            Primitive::Load(_) => Vec::new(),
            _ => node.operands.iter().collect(),
        };
        let stores = (0..operands.len()).map(|operand| match node.primitive {
            Primitive::Gather(_) => false,
            Primitive::Normalise { .. } => operand != 1,
            _ => true,
        });
        Pullback { value: node.buffer, stores: stores.collect(), operands }
    }
}

/// The reverse pass: what pullbacks do to adjoints, from the last step to the first.
pub struct Reverse {
    /// For each step and operand; no operand for a step that nothing comes back to, `None` where no adjoint is needed.
    pub steps: Vec<Vec<Option<Begin>>>,
    /// Buffers whose adjoints are zero before any pullback: those of results, and of arguments that nothing depends on.
    pub zero: Vec<usize>,
}

impl Reverse {
    /// The plan for these steps, in the order of the forward pass.
    pub fn new(program: &Program, pullbacks: &[Pullback]) -> Self {
        let mut begun = vec![false; program.buffers.len()];
        let is_needed = |buffer: usize| program.buffers[buffer].active && program.buffers[buffer].length > 0;
        let mut zero = Vec::new();
        let mut begin_with_zero = |buffer: usize, begun: &mut [bool]| {
            if is_needed(buffer) && !std::mem::replace(&mut begun[buffer], true) {
                zero.push(buffer);
            }
        };
        program.results().iter().for_each(|result| begin_with_zero(result.buffer, &mut begun));
        let mut steps = vec![Vec::new(); pullbacks.len()];
        for (step, pullback) in steps.iter_mut().zip(pullbacks).rev().filter(|(_, pullback)| is_needed(pullback.value))
        {
            if !begun[pullback.value] {
                continue;
            }
            for (operand, stores) in pullback.operands.iter().zip(&pullback.stores) {
                step.push(is_needed(operand.buffer).then(|| {
                    let is_first = !std::mem::replace(&mut begun[operand.buffer], true);
                    let is_whole = operand.view.len() == program.buffers[operand.buffer].length;
                    match is_first {
                        true if *stores && is_whole && operand.view.is_injective() => Begin::Store,
                        true => Begin::Zero,
                        false => Begin::Add,
                    }
                }));
            }
        }
        program.arguments.iter().for_each(|argument| begin_with_zero(argument.buffer, &mut begun));
        Reverse { steps, zero }
    }

    /// A place for the adjoint of each buffer that has one, and the size of an arena for them. An adjoint that is not a
    /// gradient has its memory from the pullback that begins it to that of its own step, so that memory that is soon
    /// used again is still in the cache.
    pub fn places(&self, program: &Program, pullbacks: &[Pullback]) -> (Vec<Option<Location>>, usize) {
        let mut places: Vec<Option<Location>> = vec![None; program.buffers.len()];
        for (index, argument) in program.arguments.iter().enumerate().filter(|(_, argument)| argument.gradient) {
            places[argument.buffer] = Some(Location::Caller(index));
        }
        let mut room = Room::default();
        let begin = |buffer: usize, places: &mut [Option<Location>], room: &mut Room| {
            if places[buffer].is_none() {
                places[buffer] = Some(Location::Arena(room.take(program.buffers[buffer].length)));
            }
        };
        self.zero.iter().for_each(|&buffer| begin(buffer, &mut places, &mut room));
        for (step, pullback) in self.steps.iter().zip(pullbacks).rev() {
            for (operand, what) in pullback.operands.iter().zip(step) {
                if matches!(what, Some(Begin::Zero | Begin::Store)) {
                    begin(operand.buffer, &mut places, &mut room);
                }
            }
            if let Some(Location::Arena(start)) = places[pullback.value]
                && !step.is_empty()
            {
                room.give(start, program.buffers[pullback.value].length);
            }
        }
        (places, room.end)
    }
}
