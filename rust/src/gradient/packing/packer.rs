//! Rewrites a program with the matrices of its layers packed.

mod forms;

use super::{Layer, Packed, Packing, computes_packed, is_whole, uses};
use crate::error::{Error, Result};
use crate::graph::program::{Linear, Node, Origin, Primitive, Tensor};
use crate::graph::{Activation, Function, Mode, Program, View};
use crate::kernels::strided::Channels;
use crate::kernels::{Scalar, bf16};
use forms::Forms;

/// A program while its layers are packed.
pub(super) struct Packer<'a, T> {
    packing: &'a Packing<T>,
    old: &'a Program,
    /// The captured tensor that each argument after the first is.
    constants: &'a [usize],
    mode: Mode,
    rows: usize,
    uses: Vec<usize>,
    new: Program,
    /// The new buffers of each old one.
    buffers: Vec<Forms>,
    packs_events: bool,
}

impl<'a, T: Scalar> Packer<'a, T> {
    pub fn new(
        packing: &'a Packing<T>,
        old: &'a Program,
        constants: &'a [usize],
        mode: Mode,
        rows: usize,
    ) -> Result<Self> {
        let mut packer = Packer {
            packing,
            old,
            constants,
            mode,
            rows,
            uses: uses(old),
            new: Program::new(old.dtype),
            buffers: vec![Forms::default(); old.buffers.len()],
            packs_events: false,
        };
        packer.arguments()?;
        Ok(packer)
    }

    pub fn run(mut self) -> Result<Packed> {
        for (index, node) in self.old.nodes.iter().enumerate() {
            if self.is_loaded(node) || self.buffers[node.buffer].packed.is_some() {
                continue; // An activation that runs inside the layer before it.
            }
            match self.layer(node) {
                Some(layer) => self.linear(index, node, layer)?,
                None => self.other(node)?,
            }
        }
        for output in &self.old.outputs {
            let output = self.output(output)?;
            self.new.outputs.push(output);
        }
        self.new.updates.clone_from(&self.old.updates);
        self.new.dropout.clone_from(&self.old.dropout);
        pull_back_in_the_next_layer(&mut self.new);
        Ok(Packed { program: self.new, packs_events: self.packs_events })
    }

    fn arguments(&mut self) -> Result<()> {
        let old = self.old;
        for (index, argument) in old.arguments.iter().enumerate() {
            let captured = index.checked_sub(1).and_then(|at| self.constants.get(at)).copied();
            let layer = |is: fn(&Layer) -> usize| self.packing.layers.iter().find(|layer| Some(is(layer)) == captured);
            let (view, gradient) = match (layer(|layer| layer.weight), layer(|layer| layer.bias)) {
                (Some(layer), _) => (View::contiguous(&[layer.own.len()]), argument.gradient),
                (_, Some(layer)) if self.mode == Mode::Training => (View::contiguous(&[layer.derived.len()]), false),
                (_, Some(_)) => (View::contiguous(&[0]), false),
                _ if index == 0 && self.events_come_packed() => {
                    self.packs_events = true;
                    let width = argument.view.len() / self.rows;
                    (View::contiguous(&[self.rows * T::padded(width)]), false)
                }
                _ => (argument.view.clone(), argument.gradient),
            };
            let tensor = self.new.argument(&argument.name, argument.dtype, view, gradient)?;
            let forms = &mut self.buffers[argument.buffer];
            match index == 0 && self.packs_events {
                true => {
                    forms.packed = Some(([self.rows, argument.view.len() / self.rows], tensor.buffer));
                }
                false => forms.dense = Some(tensor.buffer),
            }
        }
        Ok(())
    }

    /// Whether layers that take the events are all that uses them.
    fn events_come_packed(&self) -> bool {
        let events = self.old.arguments[0].buffer;
        let readers = self.old.nodes.iter().filter(|node| node.operands.iter().any(|operand| operand.buffer == events));
        let mut readers = readers.peekable();
        let is_dense =
            self.old.buffers[events].origin == Origin::Argument(0) && self.old.arguments[0].view.is_contiguous();
        let are_layers = |node: &Node| self.layer(node).is_some() && node.operands[0].view.sizes[0] == self.rows;
        is_dense
            && readers.peek().is_some()
            && readers.all(are_layers)
            && !self.old.outputs.iter().any(|output| output.buffer == events)
    }

    /// Whether the node is the one that brings an argument into the form of numbers, which the new argument does too.
    fn is_loaded(&self, node: &Node) -> bool {
        matches!(node.primitive, Primitive::Load(_))
            && self.old.arguments.iter().any(|argument| argument.buffer == node.buffer)
    }

    /// The packed layer that a node is.
    fn layer(&self, node: &Node) -> Option<&'a Layer> {
        let (Primitive::Product(_), Some(w)) = (&node.primitive, node.operands.get(1)) else { return None };
        let Origin::Argument(argument) = self.old.buffers[w.buffer].origin else { return None };
        let captured = self.constants.get(argument.checked_sub(1)?)?;
        self.packing.layers.iter().find(|layer| layer.weight == *captured)
    }

    /// The activation that alone takes the node's value, if it can run inside the layer.
    fn activation(&self, index: usize, node: &Node) -> Option<(usize, Activation)> {
        let takes = |after: &&Node| after.operands.iter().any(|operand| operand.buffer == node.buffer);
        let after = self.old.nodes[index + 1..].iter().find(takes).filter(|_| self.uses[node.buffer] == 1)?;
        if !is_whole(self.old, &after.operands[0]) || after.operands[0].buffer != node.buffer {
            return None;
        }
        let activation = match after.primitive {
            Primitive::Map(Function::Relu) => Activation::ReLU,
            Primitive::Map(Function::Leaky) if self.is_literal(&after.operands[1], 0.01) => Activation::LeakyReLU,
            _ => return None,
        };
        Some((after.buffer, activation))
    }

    fn is_literal(&self, tensor: &Tensor, value: f64) -> bool {
        matches!(&self.old.buffers[tensor.buffer].origin, Origin::Literal(values) if **values == [value])
    }

    fn linear(&mut self, index: usize, node: &Node, layer: &'a Layer) -> Result<()> {
        let (x, rows) = (&node.operands[0], node.operands[0].view.sizes[0]);
        let shape = [rows, layer.inputs, layer.outputs];
        let input = self.packed_buffer(x.buffer, [rows, layer.inputs])?;
        let activation = self.activation(index, node);
        let is_rounded = layer.is_rounded && self.mode == Mode::Training;
        let mut operands =
            vec![self.whole(input), self.whole(self.captured(layer.weight)?), self.whole(self.captured(layer.bias)?)];
        if is_rounded {
            operands.push(self.rounded(input, [rows, layer.inputs])?);
        }
        let linear = Linear {
            shape,
            behind: activation.map_or(Activation::Identity, |(_, activation)| activation),
            before: Activation::Identity,
            is_pulled_back: false,
            is_rounded,
        };
        let length = rows * T::padded(layer.outputs);
        let value = self.new.node(Primitive::Linear(linear), operands, vec![length], node.observed)?;
        let buffer = activation.map_or(node.buffer, |(buffer, _)| buffer);
        self.buffers[buffer].packed = Some(([rows, layer.outputs], value.buffer));
        Ok(())
    }

    /// The pairs of bfloat16 of a new buffer that is packed.
    fn rounded(&mut self, buffer: usize, shape: [usize; 2]) -> Result<Tensor> {
        let is_made = |node: &&Node| node.primitive == Primitive::Round(shape) && node.operands[0].buffer == buffer;
        if let Some(made) = self.new.nodes.iter().find(is_made) {
            return Ok(self.whole(made.buffer));
        }
        let operand = self.whole(buffer);
        self.new.node(Primitive::Round(shape), vec![operand], vec![bf16::both::<T>(shape[0], shape[1])], 0)
    }

    /// Batch normalisation of what is packed, or its moments; false where they do not.
    fn channels(&mut self, node: &Node) -> Result<bool> {
        let (&Primitive::Moments(own) | &Primitive::Standardise { channels: own, .. }) = &node.primitive else {
            return Ok(false);
        };
        let packed = self.buffers[node.operands[0].buffer].packed.filter(|_| is_whole(self.old, &node.operands[0]));
        let Some((shape, x)) = packed.filter(|(shape, _)| own.side == 1 && *shape == [own.rows, own.channels]) else {
            return Ok(false);
        };
        let channels = Channels { width: T::padded(1), ..own };
        let mut operands = vec![self.whole(x)];
        for operand in &node.operands[1..] {
            operands.push(self.dense(operand)?);
        }
        let (primitive, sizes) = match node.primitive {
            Primitive::Standardise { eps, .. } => (Primitive::Standardise { channels, eps }, vec![channels.len()]),
            _ => (Primitive::Moments(channels), node.shape.clone()),
        };
        let value = self.new.node(primitive, operands, sizes, node.observed)?;
        self.new.buffers[value.buffer].active &= self.old.buffers[node.buffer].active;
        let forms = &mut self.buffers[node.buffer];
        match node.primitive {
            Primitive::Standardise { .. } => forms.packed = Some((shape, value.buffer)),
            _ => forms.dense = Some(value.buffer),
        }
        Ok(true)
    }

    /// A sum over rows of what fills whole panels: read there, and its adjoint is written there; false for another node.
    fn sum(&mut self, node: &Node) -> Result<bool> {
        let (Primitive::Sum(target), [x]) = (&node.primitive, &node.operands[..]) else { return Ok(false) };
        let Forms { dense: None, packed: Some(([rows, columns], buffer)) } = self.buffers[x.buffer] else {
            return Ok(false);
        };
        let width = T::padded(1);
        if !is_whole(self.old, x) || x.view.sizes.last() != Some(&columns) || columns % width != 0 {
            return Ok(false);
        }
        // The columns are two dimensions, of the panels and within one.
        let split = |view: &View, panel: usize, row: usize, column: usize| {
            let (mut sizes, mut strides) = (view.sizes.clone(), view.strides.clone());
            sizes.pop();
            strides.pop();
            strides.iter_mut().for_each(|stride| *stride *= row);
            sizes.extend([columns / width, width]);
            strides.extend([panel, column]);
            View { offset: view.offset, sizes, strides }
        };
        let mut by_rows = x.view.clone();
        by_rows.strides.iter_mut().for_each(|stride| *stride /= columns);
        let view = split(&by_rows, rows * width, width, 1);
        let column = target.strides.last().copied().unwrap_or_default();
        let target = split(target, width * column, 1, column);
        let operand = Tensor { buffer, view, kind: x.kind };
        let value = self.new.node(Primitive::Sum(target), vec![operand], node.shape.clone(), node.observed)?;
        self.new.buffers[value.buffer].active &= self.old.buffers[node.buffer].active;
        self.buffers[node.buffer].dense = Some(value.buffer);
        Ok(true)
    }

    /// A node that is not a layer: packed if all its operands are, otherwise dense.
    fn other(&mut self, node: &Node) -> Result<()> {
        if self.channels(node)? || self.sum(node)? {
            return Ok(());
        }
        let shape = self.packed_shape(node);
        let operands = node.operands.iter().map(|operand| match shape {
            Some(shape) => self.packed_operand(operand, shape),
            None => self.dense(operand),
        });
        let operands = operands.collect::<Result<_>>()?;
        let value_shape = match shape {
            Some([rows, columns]) => vec![rows * T::padded(columns)],
            None => node.shape.clone(),
        };
        let value = self.new.node(node.primitive.clone(), operands, value_shape, node.observed)?;
        // A detached value has operands with derivatives, and none itself.
        self.new.buffers[value.buffer].active &= self.old.buffers[node.buffer].active;
        let forms = &mut self.buffers[node.buffer];
        match shape {
            Some(shape) => forms.packed = Some((shape, value.buffer)),
            None => forms.dense = Some(value.buffer),
        }
        Ok(())
    }

    /// Rows and columns of the packed matrix that a node can compute.
    fn packed_shape(&self, node: &Node) -> Option<[usize; 2]> {
        if !computes_packed(node) {
            return None;
        }
        let mut shape = None;
        for operand in node.operands.iter().filter(|operand| !self.is_number(operand)) {
            let (own, _) = self.buffers[operand.buffer].packed.filter(|_| is_whole(self.old, operand))?;
            if shape.is_some_and(|shape| shape != own) {
                return None;
            }
            shape = Some(own);
        }
        shape
    }

    /// Whether the tensor is one fixed number, again and again.
    fn is_number(&self, tensor: &Tensor) -> bool {
        let is_one = matches!(&self.old.buffers[tensor.buffer].origin, Origin::Literal(values) if values.len() == 1);
        is_one && tensor.view.strides.iter().zip(&tensor.view.sizes).all(|(&stride, &size)| stride == 0 || size == 1)
    }

    /// The new argument in the place of a captured tensor.
    fn captured(&self, captured: usize) -> Result<usize> {
        let position = self.constants.iter().position(|&one| one == captured);
        let argument = position.and_then(|position| self.new.arguments.get(1 + position));
        argument.map(|argument| argument.buffer).ok_or_else(|| Error::Internal("a layer without argument".into()))
    }
}

/// Moves the pullbacks of activations into those of the layers that alone take their values.
fn pull_back_in_the_next_layer(program: &mut Program) {
    let mut uses = uses(program);
    // That of the same layer.
    let rounded = program.nodes.iter().filter(|node| matches!(node.primitive, Primitive::Round(_)));
    rounded.for_each(|node| uses[node.operands[0].buffer] -= 1);
    for index in 0..program.nodes.len() {
        let Primitive::Linear(_) = program.nodes[index].primitive else { continue };
        let x = program.nodes[index].operands[0].buffer;
        let Origin::Node(from) = program.buffers[x].origin else { continue };
        let Primitive::Linear(Linear { behind, .. }) = program.nodes[from].primitive else { continue };
        if uses[x] == 1 && behind != Activation::Identity {
            if let Primitive::Linear(layer) = &mut program.nodes[from].primitive {
                layer.is_pulled_back = true;
            }
            if let Primitive::Linear(layer) = &mut program.nodes[index].primitive {
                layer.before = behind;
            }
        }
    }
}
