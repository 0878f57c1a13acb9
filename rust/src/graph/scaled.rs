//! Convolutions of a program for predictions whose channels are then scaled and shifted by numbers that are the same for all events,
//! as batch normalisation does in evaluation: the weights are scaled instead, so that no sweep over the result is left of it.

use super::program::{Node, Origin, Primitive, Tensor};
use super::view::row_major;
use super::{Function, Program, View};
use crate::error::{Error, Result};

/// A convolution with weights of the network's own, in one of the forms that it is lowered to. Its value is dense: [events, channels,
/// columns], of which the channels may be two dimensions.
struct Layer {
    events: usize,
    /// Channels, or groups and the channels of each.
    channels: Vec<usize>,
    columns: usize,
    /// Of each channel.
    weights: usize,
    /// Which operand has them.
    operand: usize,
    /// [channels], of the third operand.
    bias: Option<View>,
}

impl Layer {
    fn new(node: &Node, varies: &[bool]) -> Option<Self> {
        let (operand, weights) = match &node.primitive {
            Primitive::Convolve(convolution) => (1, convolution.inputs * convolution.taps),
            Primitive::Product(product) if node.shape.len() == 4 => (0, product.k),
            _ => return None,
        };
        let is_own = |at: usize| node.operands.get(at).is_none_or(|operand| !varies[operand.buffer]);
        let [events, channels @ .., columns] = &node.shape[..] else { return None };
        let (events, channels, columns) = (*events, channels.to_vec(), *columns);
        let bias = match node.operands.get(2) {
            None => None,
            Some(bias) => {
                let [sizes, strides] =
                    [&bias.view.sizes, &bias.view.strides].map(|list| list[1..=channels.len()].to_vec());
                Some(View { offset: bias.view.offset, sizes, strides }.reshape(&[channels.iter().product()])?)
            }
        };
        let layer = Layer { events, channels, columns, weights, operand, bias };
        let is_dense = operand == 1 || layer.has_dense_factor(&node.operands[0].view);
        (is_own(operand) && is_own(2) && is_dense).then_some(layer)
    }

    fn all_channels(&self) -> usize {
        self.channels.iter().product()
    }

    /// Whether the first factor of the products is the same for all events, and dense.
    fn has_dense_factor(&self, view: &View) -> bool {
        let same = View { offset: 0, ..self.factor(view) };
        let dims = || 0..view.rank();
        view.sizes == same.sizes && dims().all(|dim| view.sizes[dim] <= 1 || view.strides[dim] == same.strides[dim])
    }

    /// Dense weights, as the operand of shape `view`.
    fn factor(&self, view: &View) -> View {
        let mut dense = View::contiguous(&view.sizes);
        if self.operand == 0 {
            dense.strides[0] = 0; // of the events
        }
        dense
    }

    /// A number for each channel, at these places, as one for each element of the value.
    fn spread(&self, View { offset, strides, .. }: &View) -> View {
        let sizes = [&[self.events], &self.channels[..], &[self.columns]].concat();
        let inner = row_major(&self.channels).into_iter().map(|stride| stride * strides[0]);
        View { offset: *offset, sizes, strides: [0].into_iter().chain(inner).chain([0]).collect() }
    }

    /// Which dimension of `view` of its value is that of the channels; none: there is no such one.
    fn channel(&self, view: &View) -> Option<usize> {
        let View { offset, sizes, strides } = view;
        let is_channel = |dim: &usize| {
            let before =
                row_major(&sizes[..*dim]).into_iter().map(|stride| stride * self.all_channels() * self.columns);
            let mut inner = sizes[dim + 1..].iter().zip(&strides[dim + 1..]);
            sizes[*dim] == self.all_channels()
                && (strides[*dim] == self.columns || sizes[*dim] == 1)
                && sizes[..*dim].iter().product::<usize>() == self.events
                && before.zip(&strides[..*dim]).zip(sizes).all(|((dense, own), size)| dense == *own || *size == 1)
                && inner.try_fold(*offset, |end, (size, stride)| Some(end + size.checked_sub(1)? * stride))
                    < Some(self.columns)
        };
        (0..sizes.len()).find(is_channel).filter(|_| !view.is_empty())
    }
}

/// A convolution, and what is done to the channels of its value.
struct Chain {
    /// Indices: the convolution, then the nodes of `steps`.
    nodes: Vec<usize>,
    layer: Layer,
    /// Adds, subtracts or multiplies a tensor [channels].
    steps: Vec<(Function, Tensor)>,
    /// What the steps take of the value.
    view: View,
    end: End,
}

/// What those who read the last step of a chain get.
#[derive(PartialEq, Eq)]
enum End {
    /// The value of the convolution, which is taken as a whole.
    Whole,
    /// That part of it which the steps take: they are functions of single elements themselves.
    Part,
    /// That part, dense.
    Copy,
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

/// For each buffer the nodes that read it, once for each operand; none of them for an output.
fn readers(program: &Program) -> Vec<Vec<Option<usize>>> {
    let mut readers = vec![Vec::new(); program.buffers.len()];
    for (at, node) in program.nodes.iter().enumerate() {
        node.operands.iter().for_each(|operand| readers[operand.buffer].push(Some(at)));
    }
    program.outputs.iter().for_each(|output| readers[output.buffer].push(None));
    readers
}

/// That of a convolution with weights of the network's own.
fn chain(program: &Program, at: usize, varies: &[bool], readers: &[Vec<Option<usize>>]) -> Option<Chain> {
    let layer = Layer::new(&program.nodes[at], varies)?;
    let (mut nodes, mut steps, mut view) = (vec![at], Vec::new(), None);
    let mut buffer = program.nodes[at].buffer;
    while let [Some(next)] = readers[buffer][..] {
        let Some(step) = step(program, buffer, next, &layer, view.as_ref(), varies) else { break };
        view = view.or(Some(step.2));
        buffer = program.nodes[next].buffer;
        nodes.push(next);
        steps.push((step.0, step.1));
    }
    let view = view?;
    let is_part = |reader: &Option<usize>| {
        reader.is_some_and(|reader| {
            let Node { primitive, operands, .. } = &program.nodes[reader];
            let mut own = operands.iter().filter(|operand| operand.buffer == buffer);
            matches!(primitive, Primitive::Map(_)) && own.all(|own| own.view == View::contiguous(&view.sizes))
        })
    };
    let end = match () {
        () if view == View::contiguous(&view.sizes)
            && view.len() == program.buffers[program.nodes[at].buffer].length =>
        {
            End::Whole
        }
        () if readers[buffer].iter().all(is_part) => End::Part,
        () => End::Copy,
    };
    let sweeps = steps.len() - usize::from(end == End::Copy);
    let is_shorter = sweeps * view.len() > layer.weights * layer.all_channels() * layer.events;
    is_shorter.then_some(Chain { nodes, layer, steps, view, end })
}

/// What node `next` does to the value of a convolution, if that is the same for all events, and what it takes of that value. Later steps
/// take the whole of what the first one, at `first`, made of it.
fn step(
    program: &Program,
    buffer: usize,
    next: usize,
    layer: &Layer,
    first: Option<&View>,
    varies: &[bool],
) -> Option<(Function, Tensor, View)> {
    let node = &program.nodes[next];
    let Primitive::Map(function @ (Function::Add | Function::Sub | Function::Mul)) = node.primitive else {
        return None;
    };
    let (value, other) = match &node.operands[..] {
        [value, other] if value.buffer == buffer => (value, other),
        [other, value] if value.buffer == buffer && function != Function::Sub => (value, other),
        _ => return None,
    };
    let follows = first.is_none_or(|first| value.view == View::contiguous(&first.sizes));
    if !follows || varies[other.buffer] || value.view.sizes != node.shape {
        return None;
    }
    let channel = layer.channel(first.unwrap_or(&value.view))?;
    let View { offset, sizes, strides } = &other.view;
    let is_same = (0..sizes.len()).all(|dim| dim == channel || sizes[dim] == 1 || strides[dim] == 0);
    let view = View { offset: *offset, sizes: vec![layer.all_channels()], strides: vec![strides[channel]] };
    is_same.then(|| (function, Tensor { view, ..other.clone() }, value.view.clone()))
}

/// Writes a program anew.
struct Rewriter<'a> {
    old: &'a Program,
    new: Program,
    /// The new buffer of each old one that is there.
    buffers: Vec<Option<usize>>,
    /// Where the elements of an old buffer lie in its new one, if not as they did.
    parts: Vec<Option<View>>,
}

impl<'a> Rewriter<'a> {
    fn new(old: &'a Program) -> Self {
        let mut new = Program { arguments: old.arguments.clone(), ..Program::new(old.dtype) };
        let mut buffers = vec![None; old.buffers.len()];
        for (index, buffer) in old.buffers.iter().enumerate() {
            if !matches!(buffer.origin, Origin::Node(_)) {
                buffers[index] = Some(new.buffers.len());
                new.buffers.push(buffer.clone());
            }
        }
        Rewriter { old, new, buffers, parts: vec![None; old.buffers.len()] }
    }

    fn buffer(&self, old: usize) -> Result<usize> {
        self.buffers[old].ok_or_else(|| Error::Internal("a buffer before it is computed".into()))
    }

    fn tensor(&self, old: &Tensor) -> Result<Tensor> {
        let view = self.parts[old.buffer].as_ref().unwrap_or(&old.view).clone();
        Ok(Tensor { buffer: self.buffer(old.buffer)?, view, ..old.clone() })
    }

    /// The same node.
    fn copy(&mut self, at: usize) -> Result<()> {
        let Node { primitive, operands, buffer, shape, observed } = &self.old.nodes[at];
        let operands = operands.iter().map(|operand| self.tensor(operand)).collect::<Result<_>>()?;
        let value = self.new.node(primitive.clone(), operands, shape.clone(), *observed)?;
        self.buffers[*buffer] = Some(value.buffer);
        Ok(())
    }

    /// One convolution in the place of a chain.
    fn scaled(&mut self, chain: &Chain) -> Result<()> {
        let (old, layer) = (self.old, &chain.layer);
        let node = &old.nodes[chain.nodes[0]];
        let (scale, shift) = self.factors(chain)?;
        let mut operands = node.operands[..2].iter().map(|operand| self.tensor(operand)).collect::<Result<Vec<_>>>()?;
        let mut primitive = node.primitive.clone();
        if let Some(scale) = scale {
            let weights = operands[layer.operand].clone();
            if let Primitive::Product(product) = &mut primitive {
                product.batches.iter_mut().for_each(|[first, _]| *first -= weights.view.offset);
            }
            operands[layer.operand] = self.scaled_rows(&weights, &scale, layer, node.observed)?;
        }
        operands.extend(shift.map(|shift| Tensor { view: layer.spread(&shift.view), ..shift }));
        let value = self.new.node(primitive, operands, node.shape.clone(), node.observed)?;
        let last = chain.nodes.last().map_or(node.buffer, |&last| old.nodes[last].buffer);
        let part = Tensor { view: chain.view.clone(), ..value };
        self.parts[last] = (chain.end == End::Part).then(|| chain.view.clone());
        self.buffers[last] = Some(match chain.end {
            End::Whole | End::Part => part.buffer,
            End::Copy => {
                let shape = chain.view.sizes.clone();
                self.new.node(Primitive::Map(Function::Identity), vec![part], shape, node.observed)?.buffer
            }
        });
        Ok(())
    }

    /// What all steps of a chain together multiply the channels by, and what they then add.
    fn factors(&mut self, chain: &Chain) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let node = &self.old.nodes[chain.nodes[0]];
        let mut scale: Option<Tensor> = None;
        let mut shift = None;
        if let (Some(bias), Some(view)) = (node.operands.get(2), &chain.layer.bias) {
            shift = Some(Tensor { view: view.clone(), ..self.tensor(bias)? });
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
        Ok((scale, shift))
    }

    /// Dense weights whose rows, one a channel, are multiplied by `scale` [channels].
    fn scaled_rows(&mut self, weights: &Tensor, scale: &Tensor, layer: &Layer, observed: usize) -> Result<Tensor> {
        let shape = [layer.all_channels(), layer.weights];
        let rows = View { offset: weights.view.offset, ..View::contiguous(&shape) };
        let factors =
            View { offset: scale.view.offset, sizes: shape.to_vec(), strides: vec![scale.view.strides[0], 0] };
        let operands = vec![Tensor { view: rows, ..weights.clone() }, Tensor { view: factors, ..scale.clone() }];
        let value = self.new.node(Primitive::Map(Function::Mul), operands, shape.to_vec(), observed)?;
        Ok(Tensor { view: layer.factor(&weights.view), ..value })
    }

    fn finished(mut self) -> Result<Program> {
        for (index, argument) in self.old.arguments.iter().enumerate() {
            self.new.arguments[index].buffer = self.buffer(argument.buffer)?;
        }
        self.new.outputs = self.old.outputs.iter().map(|output| self.tensor(output)).collect::<Result<_>>()?;
        self.new.noise.clone_from(&self.old.noise);
        self.new.updates.clone_from(&self.old.updates);
        Ok(self.new)
    }
}
