//! The terms of a mean over rows.

use super::super::program::{Node, Primitive, Tensor};
use super::super::rewriter::Rewriter;
use super::super::{Function, Program, View};
use super::{Role, RowCut, frame_dim};
use crate::error::Result;

/// Of a program whose one result is a number that follows from sums over the `count` rows of its first argument: the program
/// that gives, for each row, `count` times that number with the row's own terms in the place of the sums, [count]. If the
/// number is the mean of what belongs to each row alone, these are its terms; only their values can tell whether it is.
/// `None` where sums over rows are made in another way than by adding elements, or their results are combined in another
/// way than element by element or by adding them.
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
        let value = rewriter.new.node(primitive, operands, shape, observed)?;
        rewriter.put(node.buffer, &value);
    }
    let terms = Tensor { buffer: rewriter.buffer(result.buffer)?, ..cut.of_each(result) };
    let observed = program.nodes.last().map_or(0, |node| node.observed);
    let mut made = rewriter.returning(&[])?;
    let factor = made.literal(count as f64)?;
    let factor = Tensor { view: View { strides: vec![0], sizes: vec![count], ..factor.view }, ..factor };
    let losses = made.node(Primitive::Map(Function::Mul), vec![terms, factor], vec![count], observed)?;
    made.outputs = vec![losses];
    Ok(Some(made))
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
        match &mut apart.primitive {
            Primitive::Map(_) | Primitive::Custom(_) => (),
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

/// A first dimension of `count` elements that are `step` apart.
fn along(view: &View, count: usize, step: usize) -> View {
    let mut view = view.clone();
    view.sizes.insert(0, count);
    view.strides.insert(0, step);
    view
}
