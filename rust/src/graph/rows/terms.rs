//! The terms of a mean over rows.

use super::super::program::{Node, Primitive, Tensor};
use super::super::rewriter::Rewriter;
use super::super::{Function, Program, View};
use super::{Role, RowCut, frame_dim};
use crate::error::{Error, Result};

/// Of a program whose one result is the mean of what belongs to each of the `count` rows of its first argument: the program that
/// gives each row's own part, [count]. `None` where the result is not a linear function of sums over rows, without a constant.
///
/// A quotient of sums is one where each row adds 1 to the divisor, as the count of LibTorch's `cross_entropy` does; the part of a
/// row that adds something else is no number. Whether parts depend on the number of rows, the caller finds out.
pub fn terms_of_mean(program: &Program) -> Result<Option<Program>> {
    let rows = program.arguments.first().and_then(|argument| argument.view.sizes.first());
    let ([result], Some(&count), []) = (&program.outputs[..], rows, &program.updates[..]) else { return Ok(None) };
    let has_rows = (0..program.arguments.len()).map(|argument| argument == 0).collect();
    let Ok(cut) = RowCut::with(program, count, has_rows) else { return Ok(None) };
    if count < 2 || cut.roles[result.buffer] != Role::Summed || result.view.rank() > 0 {
        return Ok(None);
    }
    let mut rewriter = Rewriter::new(program);
    for (at, node) in program.nodes.iter().enumerate() {
        if cut.roles[node.buffer] != Role::Summed {
            rewriter.copy(at)?;
            continue;
        }
        let Some(Node { primitive, mut operands, shape, observed, .. }) = cut.of_terms(node) else { return Ok(None) };
        for operand in &mut operands {
            operand.buffer = rewriter.buffer(operand.buffer)?;
        }
        if let (Primitive::Map(Function::Div), [_, divisor]) = (&primitive, &mut operands[..])
            && cut.roles[node.operands[1].buffer] == Role::Summed
        {
            *divisor = number_of_rows(&mut rewriter.new, divisor, count, observed)?;
        }
        let value = rewriter.new.node(primitive, operands, shape, observed)?;
        rewriter.put(node.buffer, &value);
    }
    let terms = Tensor { buffer: rewriter.buffer(result.buffer)?, ..cut.of_each(result) };
    let observed = program.nodes.last().map_or(0, |node| node.observed);
    let mut made = rewriter.returning(&[])?;
    let factor = broadcast(&made.literal(count as f64)?, &[count])?;
    let losses = made.node(Primitive::Map(Function::Mul), vec![terms, factor], vec![count], observed)?;
    made.outputs = vec![losses];
    Ok(Some(made))
}

/// `count` where the elements of `own`, which rows add to a divisor, are 1, else no number.
fn number_of_rows(program: &mut Program, own: &Tensor, count: usize, observed: usize) -> Result<Tensor> {
    let shape = &own.view.sizes;
    let mut number = |value| broadcast(&program.literal(value)?, shape);
    let (one, count, none) = (number(1.0)?, number(count as f64)?, number(f64::NAN)?);
    let is_one = Primitive::Map(Function::Equal);
    let is_one = program.node(is_one, vec![own.clone(), one], shape.clone(), observed)?;
    program.node(Primitive::Map(Function::Where), vec![is_one, count, none], shape.clone(), observed)
}

fn broadcast(number: &Tensor, sizes: &[usize]) -> Result<Tensor> {
    let view = number.view.expand(sizes).ok_or_else(|| Error::Internal(format!("a number as {sizes:?}")))?;
    Ok(Tensor { view, ..number.clone() })
}

impl RowCut<'_> {
    /// The node with a value for each row, where its value follows from sums over all rows.
    fn of_terms(&self, node: &Node) -> Option<Node> {
        let mut apart = node.clone();
        apart.shape.insert(0, self.count);
        if self.is_row_node(node) {
            let (Primitive::Sum(target), [operand]) = (&mut apart.primitive, &mut apart.operands[..]) else {
                return None;
            };
            let dim = frame_dim(node);
            // A row may be a run of several elements of that dimension.
            let run = operand.view.sizes[dim] / self.count;
            let step = run * operand.view.strides[dim];
            for (view, step) in [(&mut operand.view, step), (target, node.shape.iter().product())] {
                view.sizes[dim] = run;
                *view = along(view, self.count, step);
            }
            return Some(apart);
        }
        let is_sum: Vec<bool> =
            node.operands.iter().map(|operand| self.roles[operand.buffer] == Role::Summed).collect();
        match &mut apart.primitive {
            Primitive::Map(function) if is_linear(*function, &is_sum) => (),
            Primitive::Sum(target) => *target = along(target, self.count, node.shape.iter().product()),
            _ => return None,
        }
        apart.operands.iter_mut().for_each(|operand| *operand = self.of_each(operand));
        Some(apart)
    }

    /// What follows from sums over all rows, as it is for each row; what all rows share, for each of them.
    fn of_each(&self, tensor: &Tensor) -> Tensor {
        let is_apart = self.roles[tensor.buffer] == Role::Summed;
        let step = if is_apart { self.program.buffers[tensor.buffer].length } else { 0 };
        Tensor { view: along(&tensor.view, self.count, step), ..tensor.clone() }
    }
}

/// Whether a function of operands of which some are sums over rows is linear in these, or a quotient of two of them.
fn is_linear(function: Function, is_sum: &[bool]) -> bool {
    matches!(
        (function, is_sum),
        (Function::Identity | Function::Neg, [true])
            | (Function::Add | Function::Sub | Function::Div, [true, true])
            | (Function::Mul, [true, false] | [false, true])
            | (Function::Div, [true, false])
    )
}

/// A first dimension of `count` elements that are `step` apart.
fn along(view: &View, count: usize, step: usize) -> View {
    let mut view = view.clone();
    view.sizes.insert(0, count);
    view.strides.insert(0, step);
    view
}
