//! Convolutions of a program for predictions whose channels are then scaled and shifted by numbers that are the same for all events,
//! as batch normalisation does in evaluation: the weights are scaled instead, so that no sweep over the result is left of it.

use super::program::{Origin, Primitive, Tensor};
use super::rewriter::{Rewriter, readers};
use super::{Function, Program, View};
use crate::error::Result;
use crate::kernels::strided::Convolution;

/// A convolution, and what is done to the channels of its value.
struct Chain {
    /// Indices: the convolution, then the nodes of `steps`.
    nodes: Vec<usize>,
    /// Adds, subtracts or multiplies a tensor [channels].
    steps: Vec<(Function, Tensor)>,
}

/// The program with scaled weights wherever scaling them takes fewer multiplications for one event than the sweeps over the result,
/// so that one event is computed like many. Only for programs without derivatives.
pub fn with_scaled_weights(program: Program) -> Result<Program> {
    let (varies, readers) = (varying(&program), readers(&program));
    let chains: Vec<Chain> = (0..program.nodes.len()).filter_map(|at| chain(&program, at, &varies, &readers)).collect();
    if chains.is_empty() {
        return Ok(program);
    }
    let mut rewriter = Rewriter::new(&program);
    let is_fixed = |at: &usize| !varies[program.nodes[*at].buffer];
    (0..program.nodes.len()).filter(is_fixed).try_for_each(|at| rewriter.copy(at))?;
    for at in (0..program.nodes.len()).filter(|at| !is_fixed(at)) {
        match chains.iter().find(|chain| chain.nodes.contains(&at)) {
            Some(chain) if chain.nodes[0] == at => rewriter.scaled(chain)?,
            Some(_) => (),
            None => rewriter.copy(at)?,
        }
    }
    rewriter.finished()
}

/// For each buffer whether it depends on the events.
fn varying(program: &Program) -> Vec<bool> {
    let noise = |argument: usize| program.noise.iter().any(|noise| noise.argument == argument);
    let is_event = |origin: &Origin| matches!(origin, Origin::Argument(index) if *index == 0 || noise(*index));
    let mut varies: Vec<bool> = program.buffers.iter().map(|buffer| is_event(&buffer.origin)).collect();
    for node in &program.nodes {
        varies[node.buffer] = node.operands.iter().any(|operand| varies[operand.buffer]);
    }
    varies
}

/// That of a convolution with weights of the network's own.
fn chain(program: &Program, at: usize, varies: &[bool], readers: &[Vec<Option<usize>>]) -> Option<Chain> {
    let node = &program.nodes[at];
    let Primitive::Convolve(convolution) = &node.primitive else { return None };
    if node.operands[1..].iter().any(|operand| varies[operand.buffer]) {
        return None;
    }
    let mut chain = Chain { nodes: vec![at], steps: Vec::new() };
    let mut buffer = node.buffer;
    while let [Some(next)] = readers[buffer][..] {
        let Some(step) = step(program, buffer, next, convolution, varies) else { break };
        buffer = program.nodes[next].buffer;
        chain.nodes.push(next);
        chain.steps.push(step);
    }
    let sweeps = chain.steps.len() * convolution.columns()?;
    (sweeps > convolution.inputs * convolution.taps).then_some(chain)
}

/// What node `next` does to the value of a convolution, if that is the same for all events.
fn step(
    program: &Program,
    buffer: usize,
    next: usize,
    convolution: &Convolution,
    varies: &[bool],
) -> Option<(Function, Tensor)> {
    let node = &program.nodes[next];
    let Primitive::Map(function @ (Function::Add | Function::Sub | Function::Mul)) = node.primitive else {
        return None;
    };
    let (value, other) = match &node.operands[..] {
        [value, other] if value.buffer == buffer => (value, other),
        [other, value] if value.buffer == buffer && function != Function::Sub => (value, other),
        _ => return None,
    };
    let is_whole = value.view.is_contiguous() && value.view.len() == program.buffers[buffer].length;
    if !is_whole || varies[other.buffer] {
        return None;
    }
    let (shape, channels) = (&node.shape, convolution.groups * convolution.outputs);
    let is_channel = |dim: &usize| {
        shape[*dim] == channels
            && shape[..*dim].iter().product::<usize>() == convolution.events
            && Some(shape[dim + 1..].iter().product()) == convolution.columns()
    };
    let channel = (0..shape.len()).find(is_channel)?;
    let View { offset, strides, .. } = &other.view;
    let is_same = (0..shape.len()).all(|dim| dim == channel || shape[dim] == 1 || strides[dim] == 0);
    let view = View { offset: *offset, sizes: vec![channels], strides: vec![strides[channel]] };
    is_same.then(|| (function, Tensor { view, ..other.clone() }))
}

impl Rewriter<'_> {
    /// One convolution in the place of a chain.
    fn scaled(&mut self, chain: &Chain) -> Result<()> {
        let old = self.old;
        let node = &old.nodes[chain.nodes[0]];
        let mut scale: Option<Tensor> = None;
        let mut shift = None;
        if let Some(bias) = node.operands.get(2) {
            let View { offset, sizes, strides } = &bias.view;
            let view = View { offset: *offset, sizes: vec![sizes[1]], strides: vec![strides[1]] };
            shift = Some(Tensor { view, ..self.tensor(bias)? });
        }
        for (function, other) in &chain.steps {
            let other = self.tensor(other)?;
            let mut map = |function, operands: &[&Tensor]| {
                let operands: Vec<Tensor> = operands.iter().map(|&operand| operand.clone()).collect();
                let shape = other.view.sizes.clone();
                self.new.node(Primitive::Map(function), operands, shape, node.observed)
            };
            shift = match (shift, function) {
                (Some(shift), function) => Some(map(*function, &[&shift, &other])?),
                (None, Function::Mul) => None,
                (None, Function::Sub) => Some(map(Function::Neg, &[&other])?),
                (None, _) => Some(map(Function::Identity, &[&other])?), // dense
            };
            if *function == Function::Mul {
                scale = Some(match scale {
                    Some(scale) => map(Function::Mul, &[&scale, &other])?,
                    None => other,
                });
            }
        }
        let mut operands = vec![self.tensor(&node.operands[0])?, self.tensor(&node.operands[1])?];
        if let Some(scale) = scale {
            operands[1] = self.scaled_rows(&operands[1], &scale, node.observed)?;
        }
        if let Some(Tensor { view: View { offset, strides, .. }, .. }) = &shift {
            let view = View { offset: *offset, sizes: node.shape.clone(), strides: vec![0, strides[0], 0] };
            operands.extend(shift.map(|shift| Tensor { view, ..shift }));
        }
        let value = self.new.node(node.primitive.clone(), operands, node.shape.clone(), node.observed)?;
        let last = chain.nodes.last().map_or(node.buffer, |&last| old.nodes[last].buffer);
        self.buffers[last] = Some(value.buffer);
        Ok(())
    }

    /// Dense weights whose rows, one a channel, are multiplied by `scale` [channels].
    fn scaled_rows(&mut self, weights: &Tensor, scale: &Tensor, observed: usize) -> Result<Tensor> {
        let channels = scale.view.sizes[0];
        let shape = [channels, weights.view.len() / channels.max(1)];
        let rows = View { offset: weights.view.offset, ..View::contiguous(&shape) };
        let factors =
            View { offset: scale.view.offset, sizes: shape.to_vec(), strides: vec![scale.view.strides[0], 0] };
        let operands = vec![Tensor { view: rows, ..weights.clone() }, Tensor { view: factors, ..scale.clone() }];
        let value = self.new.node(Primitive::Map(Function::Mul), operands, shape.to_vec(), observed)?;
        Ok(Tensor { view: View::contiguous(&weights.view.sizes), ..value })
    }
}
