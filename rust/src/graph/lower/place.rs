//! Tensors assembled from parts of others: padding, parts that replace others, elements in another order, cross
//! products.

use std::iter;
use std::ops::Range;

use super::shape::{clipped, diagonal_of, joined};
use super::{Call, Lowered, Operator};
use crate::error::Result;
use crate::graph::program::{Kind, Tensor};
use crate::graph::{Function, View};

/// Single elements that are joined, each by a copy: more are left to LibTorch.
const SINGLES: usize = 64;

pub(super) const TABLE: &[Operator] = &[
    Operator { name: "slice_scatter", does: "a tensor with another one in place of a range", lower: slice_scatter },
    Operator {
        name: "select_scatter",
        does: "a tensor with another one in place of one element",
        lower: select_scatter,
    },
    Operator { name: "constant_pad_nd", does: "numbers around a tensor", lower: constant_pad },
    Operator { name: "_pad_enum", does: "as pad", lower: pad },
    Operator {
        name: "pad",
        does: "numbers, the border or what lies opposite or beyond it, around a tensor",
        lower: pad,
    },
    Operator { name: "flip", does: "up to 64 elements of each dimension the other way round", lower: flip },
    Operator { name: "diag_embed", does: "matrices with the last dimension on a diagonal, else 0", lower: diag_embed },
    Operator { name: "trace", does: "sum of the diagonal of a matrix", lower: trace },
    Operator { name: "linalg_cross", does: "cross product of vectors of three", lower: cross },
    Operator { name: "cross", does: "cross product of vectors of three", lower: cross },
];

/// `diag_embed(x, offset, dim1, dim2)`
fn diag_embed(call: &mut Call) -> Lowered {
    let (x, shape) = (call.tensor(0)?, call.result_shape(0)?);
    let sides = [call.integer_or(2, -2)?, call.integer_or(3, -1)?];
    let whole = Tensor { view: View::contiguous(&shape), ..x.clone() };
    let length = x.view.sizes.last().copied().unwrap_or(0);
    let offset = call.integer_or(1, 0)?;
    let place = diagonal_of(call, &whole, offset, sides, length)?.view;
    Ok(vec![call.concat(&shape, 0.0, vec![(x, place)])?])
}

fn trace(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let length = x.view.sizes.iter().copied().min().unwrap_or(0);
    let diagonal = diagonal_of(call, &x, 0, [0, 1], length)?;
    Ok(vec![call.sum(&diagonal, &[0], false)?])
}

/// `slice_scatter(x, source, dim, start, end, step)`
fn slice_scatter(call: &mut Call) -> Lowered {
    let (x, source) = (call.tensor(0)?, call.tensor(1)?);
    let dim = call.dim_of(call.integer_or(2, 0)?, x.view.rank())?;
    let size = x.view.sizes.get(dim).copied().unwrap_or(0);
    let (start, end) = (clipped(call.integer_or(3, 0)?, size), clipped(call.integer_or(4, i64::MAX)?, size));
    if call.integer_or(5, 1)? != 1 {
        return Err(call.refuse("has a step"));
    }
    replaced(call, &x, &source, dim, start, end.max(start))
}

/// `select_scatter(x, source, dim, index)`
fn select_scatter(call: &mut Call) -> Lowered {
    let (x, source) = (call.tensor(0)?, call.tensor(1)?);
    let dim = call.dim(2, x.view.rank())?;
    let (index, size) = (call.integer(3)?, x.view.sizes.get(dim).copied().unwrap_or(0));
    let at = usize::try_from(if index < 0 { index + size as i64 } else { index }).ok().filter(|&at| at < size);
    let at = at.ok_or_else(|| call.refuse("selects beyond its tensor"))?;
    let source = Tensor { view: source.view.unsqueeze(dim), ..source };
    replaced(call, &x, &source, dim, at, at + 1)
}

/// `x` with `source` in place of its elements from `start` to `end` along `dim`.
fn replaced(call: &mut Call, x: &Tensor, source: &Tensor, dim: usize, start: usize, end: usize) -> Lowered {
    let shape = x.view.sizes.clone();
    if x.kind != source.kind || x.kind == Kind::Index || source.view.sizes.get(dim) != Some(&(end - start)) {
        return Err(call.refuse("puts another type or size in its place"));
    }
    // What others read stays as a whole, and changes where it lies.
    let is_read = call.is_read(x);
    let stays = |range: Range<usize>| match is_read {
        true => vec![x.narrow(dim, range.start, range.len())],
        false => call.pieces(x, dim, range),
    };
    let mut parts = stays(0..start);
    parts.push(source.clone());
    parts.extend(stays(end..shape[dim]));
    parts.retain(|part| !part.view.is_empty());
    let value = joined(call, parts, &shape, dim)?.remove(0);
    Ok(vec![Tensor { kind: x.kind, ..value }])
}

/// The values around a tensor.
#[derive(Clone, Copy)]
enum Border {
    Number(f64),
    Reflected,
    Repeated,
    Circular,
}

/// `constant_pad_nd(x, pad, value)`
fn constant_pad(call: &mut Call) -> Lowered {
    let number = call.number_or(2, 0.0)?;
    bordered(call, Border::Number(number))
}

/// `pad(x, pad, mode, value)`; `_pad_enum` has the mode as a number (`at::padding_mode`).
fn pad(call: &mut Call) -> Lowered {
    let number = call.number_or(3, 0.0)?;
    let named = if call.is_integer(2) { "" } else { call.text(2)? };
    let border = match (named, if named.is_empty() { call.integer(2)? } else { -1 }) {
        ("reflect", _) | (_, 0) => Border::Reflected,
        ("replicate", _) | (_, 1) => Border::Repeated,
        ("circular", _) | (_, 2) => Border::Circular,
        ("constant", _) | (_, 3) => Border::Number(number),
        _ => return Err(call.refuse("has an unknown mode")),
    };
    bordered(call, border)
}

/// From the last dimension on, `pad` says how many elements come before and after.
fn bordered(call: &mut Call, border: Border) -> Lowered {
    let (mut x, around) = (call.tensor(0)?, call.sizes(1)?);
    for (back, sides) in around.chunks(2).enumerate() {
        let (&[before, after], Some(dim)) = (sides, x.view.rank().checked_sub(back + 1)) else {
            return Err(call.refuse("pads dimensions that are not there"));
        };
        x = match border {
            Border::Number(number) => call.padded(&x, dim, [before, after], number)?,
            _ => continued(call, &x, dim, [before, after], border)?,
        };
    }
    Ok(vec![x])
}

fn continued(call: &mut Call, x: &Tensor, dim: usize, [before, after]: [usize; 2], border: Border) -> Result<Tensor> {
    let size = x.view.sizes[dim];
    let reach = before.max(after);
    let one = |at: usize| x.narrow(dim, at, 1);
    let mut parts: Vec<Tensor> = match border {
        Border::Reflected if reach < size && before + after <= SINGLES => (1..=before).rev().map(one).collect(),
        Border::Repeated if size > 0 && before + after <= SINGLES => iter::repeat_n(one(0), before).collect(),
        Border::Circular if reach <= size => vec![x.narrow(dim, size - before, before)],
        _ => return Err(call.refuse("pads too far")),
    };
    parts.push(x.clone());
    match border {
        Border::Reflected => parts.extend((size - 1 - after..size - 1).rev().map(one)),
        Border::Repeated => parts.extend(iter::repeat_n(one(size - 1), after)),
        _ => parts.push(x.narrow(dim, 0, after)),
    }
    let mut shape = x.view.sizes.clone();
    shape[dim] += before + after;
    parts.retain(|part| !part.view.is_empty());
    Ok(joined(call, parts, &shape, dim)?.remove(0))
}

/// `flip(x, dims)`
fn flip(call: &mut Call) -> Lowered {
    let mut x = call.tensor(0)?;
    let kind = x.kind;
    if kind == Kind::Index {
        return Err(call.refuse("takes integers"));
    }
    for dim in call.integers(1)? {
        let dim = call.dim_of(dim, x.view.rank())?;
        let shape = x.view.sizes.clone();
        let size = shape.get(dim).copied().unwrap_or(1);
        if size > SINGLES {
            return Err(call.refuse(format!("turns more than {SINGLES} elements round")));
        }
        if size > 1 {
            let parts = (0..size).rev().map(|at| x.narrow(dim, at, 1)).collect();
            x = joined(call, parts, &shape, dim)?.remove(0);
        }
    }
    Ok(vec![Tensor { kind, ..x }])
}

/// `cross(a, b, dim)`: without a dimension, the first one of three elements.
fn cross(call: &mut Call) -> Lowered {
    let (a, b, shape) = (call.tensor(0)?, call.tensor(1)?, call.result_shape(0)?);
    let dim = match (call.is_none(2), call.node.op.as_str()) {
        (true, "aten::cross") => shape.iter().position(|&size| size == 3).unwrap_or(shape.len()),
        _ => call.dim_of(call.integer_or(2, -1)?, shape.len())?,
    };
    if shape.get(dim) != Some(&3) {
        return Err(call.refuse("has no dimension of three"));
    }
    let (a, b) = (call.expand(&a, &shape)?, call.expand(&b, &shape)?);
    let mut product = |i: usize, j: usize| call.map(Function::Mul, &[&a.narrow(dim, i, 1), &b.narrow(dim, j, 1)]);
    let mut pairs = Vec::new();
    for (i, j) in [(1, 2), (2, 0), (0, 1)] {
        pairs.push((product(i, j)?, product(j, i)?));
    }
    let parts = pairs.iter().map(|(plus, minus)| call.map(Function::Sub, &[plus, minus])).collect::<Result<_>>()?;
    joined(call, parts, &shape, dim)
}
