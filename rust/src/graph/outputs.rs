//! Which outputs of a program depend on what.

use super::Program;
use super::program::Tensor;

/// A bit for each output; those from the last bit on share it.
pub type Outputs = u64;

fn bit(output: usize) -> Outputs {
    1 << output.min(Outputs::BITS as usize - 1)
}

/// Those for which `which` says so, one after the other.
pub fn selected(which: impl Iterator<Item = bool>) -> Outputs {
    which.enumerate().filter(|(_, is_selected)| *is_selected).fold(0, |all, (index, _)| all | bit(index))
}

/// For each buffer which of `outputs` depend on it.
pub fn dependents(program: &Program, outputs: &[Tensor]) -> Vec<Outputs> {
    let mut dependents = vec![0; program.buffers.len()];
    for (index, output) in outputs.iter().enumerate() {
        dependents[output.buffer] |= bit(index);
    }
    for node in program.nodes.iter().rev() {
        for operand in &node.operands {
            dependents[operand.buffer] |= dependents[node.buffer];
        }
    }
    dependents
}

/// For each buffer whether a result is computed from it.
pub fn reached(program: &Program) -> Vec<bool> {
    dependents(program, &program.outputs).into_iter().map(|outputs| outputs != 0).collect()
}
