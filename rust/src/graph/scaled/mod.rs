//! Folds scales and shifts of a convolution's channels that are the same for all events, as those of batch
//! normalisation in evaluation, into the weights of programs for predictions, so that no extra sweep over the result
//! remains.

mod layer;

use layer::Layer;

use super::program::{Node, Origin, Primitive, Tensor};
use super::rewriter::{Rewriter, readers};
use super::{Function, Program, View};
use crate::error::Result;

/// A convolution, and what is done to the channels of its value.
struct Chain {
    /// Indices: the convolution, then the nodes of `steps`.
    nodes: Vec<usize>,
    layer: Layer,
    /// Adds, subtracts or multiplies a tensor [channels].
    steps: Vec<(Function, Tensor)>,
    /// The part of the value that the steps take.
    view: View,
    end: End,
}

/// The value for the readers of the last step of a chain.
#[derive(PartialEq, Eq)]
enum End {
    /// The value of the convolution, which is taken as a whole.
    Whole,
    /// That part of it which the steps take: they are functions of single elements themselves.
    Part,
    /// That part, dense.
    Copy,
}

/// The program with scaled weights wherever scaling them takes fewer multiplications for one event than the sweeps over
/// the result. One event is thus computed like many. Only for programs without derivatives.
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
    let drawn = |argument: usize| program.dropout.iter().any(|factors| factors.argument == argument);
    let is_event = |origin: &Origin| matches!(origin, Origin::Argument(index) if *index == 0 || drawn(*index));
    let mut varies: Vec<bool> = program.buffers.iter().map(|buffer| is_event(&buffer.origin)).collect();
    for node in &program.nodes {
        varies[node.buffer] = node.operands.iter().any(|operand| varies[operand.buffer]);
    }
    varies
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

impl Rewriter<'_> {
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

    /// The product of the factors of all steps of a chain on the channels, and the sum that they then add.
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
}
