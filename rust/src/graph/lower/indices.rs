//! Elements that indices choose: to read them, and to add to them.

use super::build::without;
use super::{Call, Lowered, Operator};
use crate::error::Result;
use crate::graph::program::{Gather, Kind, Scatter, Tensor};
use crate::graph::{Function, View};
use crate::kernels::strided::Order;

pub(super) const TABLE: &[Operator] = &[
    Operator {
        name: "embedding",
        does: "rows of a table chosen by an index; that of `padding_idx` has no gradient",
        lower: embedding,
    },
    Operator { name: "index_select", does: "elements along a dimension chosen by an index", lower: index_select },
    Operator { name: "index", does: "elements chosen by an index, or by several for as many dimensions", lower: index },
    Operator { name: "gather", does: "elements along a dimension, chosen for each result", lower: gather },
    Operator {
        name: "topk",
        does: "the greatest or smallest elements along a dimension, and their places; of equals LibTorch's choice",
        lower: topk,
    },
    Operator { name: "sort", does: "elements along a dimension in order, and their places", lower: sort },
    Operator { name: "argsort", does: "places of elements along a dimension in order", lower: argsort },
    Operator {
        name: "argmax",
        does: "place of the greatest element, along a dimension or of all; the first of equals, or of NaNs",
        lower: |call| argmax(call, 1.0),
    },
    Operator {
        name: "argmin",
        does: "place of the smallest element, along a dimension or of all; the first of equals, or of NaNs",
        lower: |call| argmax(call, -1.0),
    },
    Operator { name: "index_add", does: "slices added where an index says", lower: index_add },
    Operator {
        name: "scatter_add",
        does: "elements added along a dimension, to a place chosen for each",
        lower: scatter_add,
    },
];

fn embedding(call: &mut Call) -> Lowered {
    let (table, index) = (call.tensor(0)?, call.tensor(1)?);
    let padding = call.integer_or(2, -1)?;
    if call.flag(3)? || call.flag(4)? {
        return Err(call.refuse("wants sparse or rescaled gradients"));
    }
    if padding < 0 {
        return chosen(call, &table, 0, &index, false);
    }
    let fixed = call.detached(&table)?;
    let padded = chosen(call, &fixed, 0, &index, false)?.remove(0);
    let others = chosen_but(call, &table, 0, &index, false, Some(padding))?.remove(0);
    let is_padding = call.is_index(&index, padding)?;
    let is_padding = Tensor { view: is_padding.view.unsqueeze(is_padding.view.rank()), ..is_padding };
    Ok(vec![call.map(Function::Where, &[&is_padding, &padded, &others])?])
}

fn index_select(call: &mut Call) -> Lowered {
    let (x, index) = (call.tensor(0)?, call.tensor(2)?);
    let dim = call.dim(1, x.view.rank())?;
    chosen(call, &x, dim, &index, false)
}

fn index(call: &mut Call) -> Lowered {
    let (x, indices) = (call.tensor(0)?, call.tensors(1)?);
    let given: Vec<(usize, Tensor)> =
        indices.into_iter().enumerate().filter_map(|(dim, index)| Some((dim, index?))).collect();
    match &given[..] {
        [(dim, index)] => chosen(call, &x, *dim, index, true),
        [] => Err(call.refuse("has no index")),
        _ => chosen_together(call, &x, &given),
    }
}

/// Several dimensions of `x` replaced by those of their indices, which are broadcast: where the first one was if they are neighbours, else
/// in front.
fn chosen_together(call: &mut Call, x: &Tensor, given: &[(usize, Tensor)]) -> Lowered {
    let result = call.result_shape(0)?;
    let (first, last) = (given[0].0, given[given.len() - 1].0);
    let at = if last - first + 1 == given.len() { first } else { 0 };
    let rank = (result.len() + given.len()).checked_sub(x.view.rank()).filter(|_| last < x.view.rank());
    let shape = rank.and_then(|rank| result.get(at..at + rank));
    let shape = shape.ok_or_else(|| call.refuse("has indices of other dimensions"))?;
    let rank = shape.len();
    let (gather, index) = one_index(call, x, given, shape)?;
    let is_chosen = |dim: &usize| given.iter().any(|(chosen, _)| chosen == dim);
    let mut strides: Vec<usize> =
        (0..x.view.rank()).filter(|dim| !is_chosen(dim)).map(|dim| x.view.strides[dim]).collect();
    strides.splice(at..at, vec![0; rank]);
    let bases = View { offset: x.view.offset, sizes: result.clone(), strides };
    let mut indices = View { offset: index.view.offset, sizes: result, strides: vec![0; bases.rank()] };
    indices.strides[at..at + rank].copy_from_slice(&index.view.strides);
    Ok(vec![call.gather(x, bases, gather, &index, indices)?])
}

/// The index of a single dimension that chooses the same elements, of shape `shape`. Where one of the indices is out of range it is, too.
fn one_index(call: &mut Call, x: &Tensor, given: &[(usize, Tensor)], shape: &[usize]) -> Result<(Gather, Tensor)> {
    let stride = given.iter().fold(0, |common, (dim, _)| greatest_divisor(common, x.view.strides[*dim])).max(1);
    let step = |dim: usize| x.view.strides[dim] / stride;
    let sizes = || given.iter().map(|&(dim, _)| x.view.sizes[dim]);
    if sizes().any(|size| size == 0) {
        return Err(call.refuse("chooses from no elements"));
    }
    let size = 1 + given.iter().map(|&(dim, _)| (x.view.sizes[dim] - 1) * step(dim)).sum::<usize>();
    let most = call.exact_integers();
    if sizes().chain([size]).any(|size| size >= most) {
        return Err(call.refuse("has several indices for a large tensor"));
    }
    let (zero, mut place, mut valid) = (call.literal(0.0)?, None, None);
    for (dim, index) in given {
        call.check_index(index)?;
        let (index, own) = (call.as_number(index)?, call.literal(x.view.sizes[*dim] as f64)?);
        let from_end = call.map(Function::Add, &[&index, &own])?;
        let is_from_end = call.map(Function::Less, &[&index, &zero])?;
        let index = call.map(Function::Where, &[&is_from_end, &from_end, &index])?;
        let within = [call.map(Function::LessEqual, &[&zero, &index])?, call.map(Function::Less, &[&index, &own])?];
        let part = call.scaled(&index, step(*dim) as f64)?;
        place = Some(both(call, Function::Add, place, part)?);
        for mask in within {
            valid = Some(both(call, Function::And, valid, mask)?);
        }
    }
    let (Some(place), Some(valid)) = (place, valid) else { return Err(call.refuse("has no index")) };
    let beyond = call.literal(size as f64)?;
    let place = call.map(Function::Where, &[&valid, &place, &beyond])?;
    let index = Tensor { kind: Kind::Count, ..call.expand(&place, shape)? };
    Ok((Gather { size, stride, from_end: false, skip: None }, index))
}

fn both(call: &mut Call, function: Function, before: Option<Tensor>, next: Tensor) -> Result<Tensor> {
    match before {
        Some(before) => call.map(function, &[&before, &next]),
        None => Ok(next),
    }
}

fn greatest_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

/// Dimension `dim` of `x` replaced by those of the index.
fn chosen(call: &mut Call, x: &Tensor, dim: usize, index: &Tensor, from_end: bool) -> Lowered {
    chosen_but(call, x, dim, index, from_end, None)
}

/// The same, with zeros for the index `skip`.
fn chosen_but(call: &mut Call, x: &Tensor, dim: usize, index: &Tensor, from_end: bool, skip: Option<i64>) -> Lowered {
    if x.view.rank() == 0 {
        return Err(call.refuse("chooses of a tensor without dimensions"));
    }
    let (size, stride) = (call.size(x, dim)?, x.view.strides[dim]);
    let rank = index.view.rank();
    let mut bases = View { offset: x.view.offset, sizes: Vec::new(), strides: Vec::new() };
    let mut indices = View { offset: index.view.offset, ..bases.clone() };
    let mut push = |size: usize, base: usize, index: usize| {
        bases.sizes.push(size);
        bases.strides.push(base);
        indices.sizes.push(size);
        indices.strides.push(index);
    };
    (0..dim).for_each(|d| push(x.view.sizes[d], x.view.strides[d], 0));
    (0..rank).for_each(|d| push(index.view.sizes[d], 0, index.view.strides[d]));
    (dim + 1..x.view.rank()).for_each(|d| push(x.view.sizes[d], x.view.strides[d], 0));
    let gather = Gather { size, stride, from_end, skip };
    Ok(vec![call.gather(x, bases, gather, index, indices)?])
}

fn gather(call: &mut Call) -> Lowered {
    let (x, index) = (call.tensor(0)?, call.tensor(2)?);
    let dim = call.dim(1, x.view.rank())?;
    if index.view.rank() != x.view.rank() || x.view.rank() == 0 {
        return Err(call.refuse("has an index of another rank"));
    }
    Ok(vec![at_places(call, &x, dim, &index)?])
}

/// `topk(x, k, dim, largest, sorted)`
fn topk(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let dim = call.dim_of(call.integer_or(2, -1)?, x.view.rank())?;
    let count = usize::try_from(call.integer(1)?).map_err(|_| call.refuse("takes less than no elements"))?;
    let (largest, sorted) = (call.integer_or(3, 1)? != 0, call.integer_or(4, 1)? != 0);
    let order = if sorted { Order::Top } else { Order::TopUnsorted };
    let places = ranked(call, &x, dim, order, largest, count)?;
    with_values(call, &x, dim, places)
}

/// `sort(x, dim, descending)`, or with `stable` before them. LibTorch's sort is stable in any case.
fn sort(call: &mut Call) -> Lowered {
    let (x, dim, places) = sorted(call)?;
    with_values(call, &x, dim, places)
}

/// The elements at the places, and these.
fn with_values(call: &mut Call, x: &Tensor, dim: usize, places: Tensor) -> Lowered {
    let values = match call.is_used(0) {
        true => at_places(call, x, dim, &places)?,
        false => {
            let nothing = call.literal(0.0)?;
            call.expand(&nothing, &places.view.sizes)?
        }
    };
    Ok(vec![values, places])
}

fn argsort(call: &mut Call) -> Lowered {
    Ok(vec![sorted(call)?.2])
}

/// The tensor that is sorted, along which dimension, and the places in order.
fn sorted(call: &mut Call) -> Result<(Tensor, usize, Tensor)> {
    let x = call.tensor(0)?;
    let first = 1 + usize::from(call.overload() == "stable");
    let dim = call.dim_of(call.integer_or(first, -1)?, x.view.rank())?;
    let (descending, count) = (call.flag(first + 1)?, call.size(&x, dim)?);
    let places = ranked(call, &x, dim, Order::Stable, descending, count)?;
    Ok((x, dim, places))
}

/// `argmax(sign * x, dim, keepdim)`
fn argmax(call: &mut Call, sign: f64) -> Lowered {
    let x = call.tensor(0)?;
    check_sortable(call, &x)?;
    let (x, rank) = (call.scaled(&x, sign)?, x.view.rank());
    if !call.is_none(1) {
        let dim = call.dim(1, rank)?;
        let keep = call.flag(2)?;
        return Ok(vec![greatest_place(call, &x, dim, keep)?]);
    }
    let flat = call.reshape(&x, &[x.view.len()])?;
    let place = ranked(call, &flat, 0, Order::Stable, true, 1)?;
    let shape = if call.flag(2)? { vec![1; rank] } else { Vec::new() };
    Ok(vec![call.reshape(&place, &shape)?])
}

/// Where along `dim` the greatest element is: the first of equals, or of NaNs.
pub(super) fn greatest_place(call: &mut Call, x: &Tensor, dim: usize, keep: bool) -> Result<Tensor> {
    let places = ranked(call, x, dim, Order::Stable, true, 1)?;
    Ok(if keep { places } else { without(&places, &[dim]) })
}

/// The places along `dim` of the first elements, in order.
fn ranked(call: &mut Call, x: &Tensor, dim: usize, order: Order, descending: bool, count: usize) -> Result<Tensor> {
    check_sortable(call, x)?;
    let last = x.view.rank() - 1;
    let rows = Tensor { view: x.view.transpose(dim, last), ..x.clone() };
    let places = call.argsort(&rows, order, descending, count)?;
    Ok(Tensor { view: places.view.transpose(dim, last), ..places })
}

/// Integers of more digits than numbers have are refused.
fn check_sortable(call: &Call, x: &Tensor) -> Result<()> {
    match x.kind == Kind::Index || x.view.rank() == 0 {
        true => Err(call.refuse("sorts integers or a number")),
        false => Ok(()),
    }
}

/// The elements of `x` along `dim` at these places.
fn at_places(call: &mut Call, x: &Tensor, dim: usize, places: &Tensor) -> Result<Tensor> {
    let gather = Gather { size: x.view.sizes[dim], stride: x.view.strides[dim], from_end: false, skip: None };
    let mut bases = x.view.clone();
    bases.sizes.clone_from(&places.view.sizes);
    bases.strides[dim] = 0;
    let indices = places.view.clone();
    call.gather(x, bases, gather, places, indices)
}

/// `index_add(x, dim, index, source, alpha)`
fn index_add(call: &mut Call) -> Lowered {
    let (x, index, source, alpha) = (call.tensor(0)?, call.tensor(2)?, call.tensor(3)?, call.number_or(4, 1.0)?);
    let dim = call.dim(1, x.view.rank())?;
    let rank = x.view.rank();
    let fits = |d: usize| source.view.sizes[d] == if d == dim { index.view.len() } else { x.view.sizes[d] };
    if rank == 0 || source.view.rank() != rank || index.view.rank() != 1 || !(0..rank).all(fits) {
        return Err(call.refuse("has sizes that do not fit together"));
    }
    let source = call.scaled(&source, alpha)?;
    let mut indices = View { offset: index.view.offset, sizes: source.view.sizes.clone(), strides: vec![0; rank] };
    indices.strides[dim] = index.view.strides[0];
    Ok(vec![added(call, &x, dim, &source, &index, indices)?])
}

/// `scatter_add(x, dim, index, source)`
fn scatter_add(call: &mut Call) -> Lowered {
    let (x, index, source) = (call.tensor(0)?, call.tensor(2)?, call.tensor(3)?);
    let dim = call.dim(1, x.view.rank())?;
    let rank = x.view.rank();
    let fits = |d: usize| d == dim || source.view.sizes[d] <= x.view.sizes[d];
    if rank == 0 || source.view.sizes != index.view.sizes || index.view.rank() != rank || !(0..rank).all(fits) {
        return Err(call.refuse("has sizes that do not fit together, or that its derivative does not support"));
    }
    let indices = index.view.clone();
    Ok(vec![added(call, &x, dim, &source, &index, indices)?])
}

/// `x` with each element of `source` added along `dim` at the place that its own index gives.
fn added(call: &mut Call, x: &Tensor, dim: usize, source: &Tensor, index: &Tensor, indices: View) -> Result<Tensor> {
    if x.kind != Kind::Number || source.kind != Kind::Number {
        return Err(call.refuse("adds something else than numbers"));
    }
    let mut places = View::contiguous(&x.view.sizes);
    let gather = Gather { size: x.view.sizes[dim], stride: places.strides[dim], from_end: false, skip: None };
    places.strides[dim] = 0;
    places.sizes.clone_from(&source.view.sizes);
    call.scattered(x, source, Scatter { gather, places }, index, indices)
}
