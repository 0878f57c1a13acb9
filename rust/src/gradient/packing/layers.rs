//! The layers of a module that can be packed.

use crate::error::Result;
use crate::graph::program::{Node, Origin, Primitive, Product, Tensor};
use crate::graph::{Captured, Function, Mode, Module, Program};

/// A layer that can be packed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) weight: usize,
    pub(super) bias: usize,
    /// Inputs and outputs.
    pub(super) shape: [usize; 2],
    /// Its input is the events, unchanged.
    pub(super) takes_events: bool,
}

pub(super) fn layers_of(module: &Module, mode: Mode, rows: usize, takes_single: bool) -> Result<Vec<Found>> {
    let (program, constants) = (module.program(mode, rows)?, module.constant_indices(mode));
    let uses = uses(&program);
    let layers: Vec<Option<Found>> =
        program.nodes.iter().map(|node| found(module, &program, constants, &uses, node, rows)).collect();
    let mut chosen = vec![false; layers.len()];
    for (index, layer) in layers.iter().enumerate() {
        let Some(layer) = layer else { continue };
        chosen[index] |= layer.takes_events || takes_single;
        for before in layers_before(&program, &layers, program.nodes[index].operands[0].buffer) {
            chosen[index] = true;
            chosen[before] = true;
        }
    }
    Ok(layers.into_iter().zip(chosen).filter_map(|(layer, chosen)| layer.filter(|_| chosen)).collect())
}

/// How often each buffer is used.
pub(super) fn uses(program: &Program) -> Vec<usize> {
    let mut uses = vec![0; program.buffers.len()];
    let operands = program.nodes.iter().flat_map(|node| &node.operands);
    operands.chain(&program.outputs).for_each(|tensor| uses[tensor.buffer] += 1);
    uses
}

/// Whether the node is a layer that can be packed.
pub(super) fn found(
    module: &Module,
    program: &Program,
    constants: &[usize],
    uses: &[usize],
    node: &Node,
    rows: usize,
) -> Option<Found> {
    let Primitive::Product(Product { m, n, k, batches }) = &node.primitive else { return None };
    let [x, w, b] = &node.operands[..] else { return None };
    let parameter = |tensor: &Tensor, shape: &[usize]| {
        let Origin::Argument(argument) = program.buffers[tensor.buffer].origin else { return None };
        let captured = *constants.get(argument.checked_sub(1)?)?;
        let view = &program.arguments[argument].view;
        let is_parameter =
            matches!(&module.captured()[captured], Captured::Parameter(range) if range.len() == view.len());
        (is_parameter && uses[tensor.buffer] == 1 && view.sizes == shape).then_some(captured)
    };
    let is_layer = batches.len() == 1
        && node.bias() == Some(0)
        && w.view.transpose(0, 1).is_contiguous()
        && is_whole(program, x)
        && x.view.sizes == [*m, *k]
        && [*m, *n, *k].iter().all(|&size| size > 0);
    let bias = |b: &Tensor| parameter(b, &[*n]).or_else(|| (*n == 1).then(|| parameter(b, &[1])).flatten());
    let takes_events = program.buffers[x.buffer].origin == Origin::Argument(0) && *m == rows;
    is_layer
        .then(|| Some(Found { weight: parameter(w, &[*n, *k])?, bias: bias(b)?, shape: [*k, *n], takes_events }))
        .flatten()
}

/// All of its buffer, in its order.
pub(super) fn is_whole(program: &Program, tensor: &Tensor) -> bool {
    tensor.view.is_contiguous() && tensor.view.len() == program.buffers[tensor.buffer].length
}

/// Layers whose values reach a buffer through element-wise functions.
fn layers_before(program: &Program, layers: &[Option<Found>], buffer: usize) -> Vec<usize> {
    let Origin::Node(index) = program.buffers[buffer].origin else { return Vec::new() };
    if layers[index].is_some() {
        return vec![index];
    }
    let node = &program.nodes[index];
    if !computes_packed(node) && !matches!(node.primitive, Primitive::Standardise { .. }) {
        return Vec::new();
    }
    let operands = node.operands.iter().filter(|operand| is_whole(program, operand));
    operands.flat_map(|operand| layers_before(program, layers, operand.buffer)).collect()
}

/// Whether the node can compute packed matrices: element by element, and finite where there is no column and all numbers
/// are zero.
pub(super) fn computes_packed(node: &Node) -> bool {
    use Function::*;
    matches!(
        node.primitive,
        Primitive::Map(
            Identity
                | Neg
                | Squared
                | Sin
                | Cos
                | Tanh
                | Erf
                | Abs
                | Relu
                | Sigmoid
                | Silu
                | Gelu
                | GeluTanh
                | LogSigmoid
                | Add
                | Sub
                | Mul
                | Maximum
                | Minimum
                | ClampMin
                | ClampMax
                | Leaky
                | Elu
        )
    )
}
