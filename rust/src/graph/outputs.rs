//! Which outputs of a program depend on what.

use super::program::{Origin, Primitive, Tensor};
use super::{Function, Program};

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

/// For each argument the output whose adjoint is its gradient unchanged: the output is a sum of the argument and
/// another operand, and nothing else reads the argument or the sum. The gradient of these arguments is no longer
/// computed.
pub fn pass_on(program: &mut Program) -> Vec<Option<usize>> {
    let mut reads = vec![0_usize; program.buffers.len()];
    for tensor in program.nodes.iter().flat_map(|node| &node.operands).chain(&program.outputs) {
        reads[tensor.buffer] += 1;
    }
    let is_whole = |tensor: &Tensor| {
        let Tensor { buffer, view, .. } = tensor;
        reads[*buffer] == 1 && view.is_contiguous() && view.len() == program.buffers[*buffer].length
    };
    let mut passed = vec![None; program.arguments.len()];
    let own = program.outputs.len() - program.updates.len();
    for (index, output) in program.outputs[..own].iter().enumerate().filter(|(_, output)| is_whole(output)) {
        let Origin::Node(node) = program.buffers[output.buffer].origin else { continue };
        if program.nodes[node].primitive != Primitive::Map(Function::Add) {
            continue;
        }
        for operand in program.nodes[node].operands.iter().filter(|operand| is_whole(operand)) {
            if let Origin::Argument(argument) = program.buffers[operand.buffer].origin
                && program.arguments[argument].gradient
                && program.arguments[argument].view.sizes == output.view.sizes
            {
                passed[argument] = Some(index);
            }
        }
    }
    for (argument, output) in passed.iter().enumerate().filter_map(|(argument, output)| Some((argument, (*output)?))) {
        let value = program.outputs[output].buffer;
        program.arguments[argument].gradient = false;
        program.buffers[program.arguments[argument].buffer].active = false;
        if let Origin::Node(node) = program.buffers[value].origin {
            let operands = program.nodes[node].operands.iter();
            program.buffers[value].active =
                operands.map(|operand| operand.buffer).any(|buffer| program.buffers[buffer].active);
        }
    }
    passed
}
