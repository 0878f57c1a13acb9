//! Programs whose rows meet in batch statistics alone: those of batch normalisation in training.
//!
//! Such a program runs in blocks of rows that wait for one another at each [`Primitive::Moments`]. The new running
//! statistics follow from the moments alone, and are computed once for all rows.

use super::outputs::dependents;
use super::program::{Node, Primitive, Tensor};
use super::rewriter::Rewriter;
use super::{Program, View};
use crate::error::Result;

/// Where a part of a program takes its moments from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Its nodes.
    Nodes,
    /// Arguments [2, channels] behind the others, in the order of the nodes.
    Arguments,
}

/// Whether the node computes moments.
fn is_moments(node: &Node) -> bool {
    matches!(node.primitive, Primitive::Moments(_))
}

/// What computes the results, without what changes the state.
pub fn without_updates(program: &Program) -> Result<Program> {
    part(program, program.results(), Source::Nodes)
}

/// What computes the results from given moments, the last arguments; `None` where moments serve another purpose than
/// normalisation.
pub fn with_given_moments(program: &Program) -> Result<Option<Program>> {
    let moments: Vec<usize> = program.nodes.iter().filter(|node| is_moments(node)).map(|node| node.buffer).collect();
    let reads = |tensor: &Tensor| moments.contains(&tensor.buffer);
    let needed = dependents(program, program.results());
    let normalises = |node: &Node| {
        let places = node.operands.iter().enumerate().filter(|(_, operand)| reads(operand)).map(|(place, _)| place);
        matches!(node.primitive, Primitive::Standardise { .. }) && places.eq([1])
    };
    let mut readers = program.nodes.iter().filter(|node| needed[node.buffer] != 0 && node.operands.iter().any(reads));
    match readers.all(normalises) && !program.results().iter().any(reads) {
        true => part(program, program.results(), Source::Arguments).map(Some),
        false => Ok(None),
    }
}

/// What computes the new state from given moments, the last arguments; `None` where it needs the events, too.
pub fn updates(program: &Program) -> Result<Option<Program>> {
    let part = part(program, &program.outputs[program.results().len()..], Source::Arguments)?;
    let is_apart = dependents(&part, &part.outputs)[part.arguments[0].buffer] == 0;
    Ok(is_apart.then_some(part))
}

/// The nodes that these outputs need, with all arguments.
fn part(program: &Program, outputs: &[Tensor], moments: Source) -> Result<Program> {
    let mut is_needed = vec![false; program.buffers.len()];
    outputs.iter().for_each(|output| is_needed[output.buffer] = true);
    let is_given = |node: &Node| moments == Source::Arguments && is_moments(node);
    for node in program.nodes.iter().rev().filter(|node| !is_given(node)) {
        let is_argument = program.arguments.iter().any(|argument| argument.buffer == node.buffer);
        if is_needed[node.buffer] || is_argument {
            is_needed[node.buffer] = true;
            node.operands.iter().for_each(|operand| is_needed[operand.buffer] = true);
        }
    }
    let mut rewriter = Rewriter::new(program);
    for (at, node) in program.nodes.iter().enumerate() {
        if is_given(node) {
            let given = rewriter.new.argument("", program.dtype, View::contiguous(&node.shape), false)?;
            rewriter.put(node.buffer, &given);
        } else if is_needed[node.buffer] {
            rewriter.copy(at)?;
        }
    }
    rewriter.returning(outputs)
}
