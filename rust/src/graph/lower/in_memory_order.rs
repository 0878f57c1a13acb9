//! Element-wise functions of tensors whose dimensions lie in memory in another order than their own.

use super::{Arguments, Lowering, observed_view, value};
use crate::graph::program::{Node, Primitive, Tensor};
use crate::graph::{ObservedGraph, Program, View};

/// The program of a function without gradients that goes element by element through arguments that all lie in memory alike, in
/// another order of dimensions than their own, and how its results lie, as those of LibTorch do. The program sees vectors: it goes
/// through memory once, in blocks. `None` for any other function.
pub fn in_memory_order(graph: &ObservedGraph) -> Option<(Program, Vec<View>)> {
    let arguments = graph.inputs.iter().chain(&graph.constants);
    let views = arguments.map(|&index| observed_view(value(graph, index)?)).collect::<Result<Vec<_>, _>>().ok()?;
    let mut orders = views.iter().filter_map(View::dense_order);
    let first = orders.next()?;
    if orders.any(|order| order != first) {
        return None;
    }
    let gradients = vec![false; views.len()];
    let lowering = Lowering::with(graph, &gradients, usize::MAX, Arguments::InMemoryOrder).ok()?;
    let program = lowering.finish().ok()?;
    let results = program.outputs.iter().zip(&graph.outputs).map(|(output, &observed)| {
        let seen = observed_view(value(graph, observed).ok()?).ok()?;
        let is_dense = seen.dense_order().is_some() || seen.is_contiguous();
        (is_dense && seen.dense_order() == output.view.dense_order()).then_some(seen)
    });
    let results = results.collect::<Option<_>>()?;
    Some((flat(program)?, results))
}

/// The same program of vectors, if all tensors that it reads are as long or single numbers, and lie in their own order.
fn flat(mut program: Program) -> Option<Program> {
    let length = program.outputs.iter().map(|output| output.view.len()).max()?;
    if !program.updates.is_empty() || !program.dropout.is_empty() {
        return None;
    }
    let vector = View::contiguous(&[length]);
    for argument in &mut program.arguments {
        argument.view = flat_view(&argument.view, length).unwrap_or_else(|| argument.view.clone());
    }
    for Node { primitive, operands, shape, .. } in &mut program.nodes {
        if !matches!(primitive, Primitive::Map(_)) {
            return None;
        }
        if shape.iter().product::<usize>() == 1 {
            continue;
        }
        *shape = vector.sizes.clone();
        for Tensor { view, .. } in operands {
            *view = flat_view(view, length)?;
        }
    }
    for Tensor { view, .. } in program.outputs.iter_mut().filter(|output| output.view.len() != 1) {
        let order = view.dense_order();
        *view = flat_view(&order.map_or_else(|| view.clone(), |order| view.permute(&order)), length)?;
    }
    Some(program)
}

/// Of a tensor with so many elements, all of them or one that is repeated.
fn flat_view(view: &View, length: usize) -> Option<View> {
    if view.len() != length {
        return None;
    }
    let repeats = view.sizes.iter().zip(&view.strides).all(|(&size, &stride)| size == 1 || stride == 0);
    if repeats {
        return Some(View { offset: view.offset, sizes: vec![length], strides: vec![0] });
    }
    view.is_contiguous().then(|| View::contiguous(&[length]))
}
