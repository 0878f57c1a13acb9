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
pub(super) fn memory_order(operands: &[Tensor]) -> Option<Vec<usize>> {
    let is_broadcast =
        |view: &View| view.strides.iter().zip(&view.sizes).any(|(&stride, &size)| stride == 0 && size != 1);
    let views = operands.iter().map(|operand| &operand.view).filter(|view| !is_broadcast(view));
    let mut orders = views.map(View::stride_order);
    let first = orders.next().filter(|order| !order.is_sorted())?;
    orders.all(|order| order == first).then_some(first)
}

/// Whether a walk through the view, a large one, leaps from line to line of the cache though its elements are neighbours: a
/// copy by tiles is then faster than one walk.
pub(super) fn leaps(view: &View) -> bool {
    const LARGE: usize = 1 << 12;
    let steps: Vec<usize> = (0..view.rank()).filter(|&dim| view.sizes[dim] > 1).map(|dim| view.strides[dim]).collect();
    view.len() >= LARGE && !steps.contains(&0) && steps.last().is_some_and(|&last| last > 1) && steps.contains(&1)
}
