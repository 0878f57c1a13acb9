//! How views lie in memory.

use crate::graph::View;
use crate::graph::program::Tensor;

/// Without dimensions of one element.
pub fn without(x: &Tensor, dims: &[usize]) -> Tensor {
    let view = dims.iter().rev().fold(x.view.clone(), |view, &dim| view.squeeze(dim));
    Tensor { view, ..x.clone() }
}

/// Where the matrices of each batch start.
pub(super) fn starts(view: &View, batch_rank: usize) -> Vec<usize> {
    let mut starts = vec![view.offset];
    for dim in 0..batch_rank {
        let (size, stride) = (view.sizes[dim], view.strides[dim]);
        starts = starts.iter().flat_map(|&start| (0..size).map(move |i| start + i * stride)).collect();
    }
    starts
}

/// The order of dimensions in which elements are contiguous in every operand that has a place for each, if it differs
/// from their own order: an element-wise function then goes through memory once, and its value has the operands'
/// layout.
pub(super) fn memory_order(operands: &[Tensor], shape: &[usize]) -> Option<Vec<usize>> {
    let long: Vec<usize> = (0..shape.len()).filter(|&dim| shape[dim] != 1).collect();
    let mut found: Option<Vec<usize>> = None;
    for view in operands.iter().map(|operand| &operand.view) {
        if long.iter().any(|&dim| view.strides[dim] == 0) {
            continue; // broadcast
        }
        let mut sorted = long.clone();
        sorted.sort_by_key(|&dim| std::cmp::Reverse(view.strides[dim]));
        if found.as_ref().is_some_and(|found| *found != sorted) {
            return None;
        }
        found = Some(sorted);
    }
    let sorted = found.filter(|sorted| *sorted != long)?;
    let mut order: Vec<usize> = (0..shape.len()).collect();
    for (&place, dim) in long.iter().zip(sorted) {
        order[place] = dim;
    }
    Some(order)
}

/// Whether a walk through the view, a large one, leaps from line to line of the cache though its elements are neighbours: a
/// copy by tiles is then faster than one walk.
pub(super) fn leaps(view: &View) -> bool {
    const LARGE: usize = 1 << 12;
    let steps: Vec<usize> = (0..view.rank()).filter(|&dim| view.sizes[dim] > 1).map(|dim| view.strides[dim]).collect();
    view.len() >= LARGE && !steps.contains(&0) && steps.last().is_some_and(|&last| last > 1) && steps.contains(&1)
}

/// The order that undoes `order`.
pub(super) fn inverse(order: &[usize]) -> Vec<usize> {
    let mut undone = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, &dim)| undone[dim] = place);
    undone
}
