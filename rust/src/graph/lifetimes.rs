//! How long the values of a program are needed.

use super::Program;
use super::program::Origin;

/// Whether a reverse pass reads values, so that all of them are needed to its end.
pub fn keeps_values(program: &Program) -> bool {
    program.arguments.iter().any(|argument| argument.gradient)
}

/// For each node the buffers of nodes that no later one reads and that are not outputs.
pub fn ended_buffers(program: &Program) -> Vec<Vec<usize>> {
    let mut last = vec![None; program.buffers.len()];
    for (step, node) in program.nodes.iter().enumerate() {
        last[node.buffer] = Some(step);
        node.operands.iter().for_each(|operand| last[operand.buffer] = Some(step));
    }
    program.outputs.iter().for_each(|output| last[output.buffer] = None);
    let mut ended = vec![Vec::new(); program.nodes.len()];
    for (buffer, step) in last.into_iter().enumerate() {
        if let (Some(step), Origin::Node(_)) = (step, &program.buffers[buffer].origin) {
            ended[step].push(buffer);
        }
    }
    ended
}
