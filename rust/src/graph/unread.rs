//! Leaves out joins that nobody reads: reads of their parts have gone to the parts themselves.

use super::Program;
use super::program::Primitive;
use super::rewriter::{Rewriter, readers};
use crate::error::Result;

/// The program without them. Other nodes stay, read or not: they may refuse an index.
pub fn without_unread_joins(program: Program) -> Result<Program> {
    let mut counts: Vec<usize> = readers(&program).iter().map(Vec::len).collect();
    let mut is_unread = vec![false; program.nodes.len()];
    for (at, node) in program.nodes.iter().enumerate().rev() {
        if matches!(node.primitive, Primitive::Concat { .. }) && counts[node.buffer] == 0 {
            is_unread[at] = true;
            node.operands.iter().for_each(|operand| counts[operand.buffer] -= 1);
        }
    }
    if !is_unread.contains(&true) {
        return Ok(program);
    }
    let mut rewriter = Rewriter::new(&program);
    for at in (0..program.nodes.len()).filter(|&at| !is_unread[at]) {
        rewriter.copy(at)?;
    }
    rewriter.finished()
}
