//! Operators that move or choose elements. Those that only change the view of a tensor make no node.

use super::{Call, Lowered, Operator};
use crate::error::Result;
use crate::graph::program::{Kind, Tensor};
use crate::graph::{DType, Function, View};

pub(super) const TABLE: &[Operator] = &[
    Operator { name: "transpose", does: "two dimensions exchanged", lower: transpose },
    Operator { name: "swapaxes", does: "two dimensions exchanged", lower: transpose },
    Operator { name: "swapdims", does: "two dimensions exchanged", lower: transpose },
    Operator { name: "movedim", does: "dimensions in another order", lower: movedim },
    Operator { name: "roll", does: "elements moved along dimensions, round the end", lower: roll },
    Operator { name: "repeat", does: "the tensor several times along its dimensions", lower: repeat },
    Operator { name: "tile", does: "as repeat", lower: repeat },
    Operator { name: "tril", does: "matrices with zeros above a diagonal", lower: |call| triangle(call, true) },
    Operator { name: "triu", does: "matrices with zeros below a diagonal", lower: |call| triangle(call, false) },
    Operator { name: "view_as", does: "another tensor's shape", lower: view_as },
    Operator { name: "diagonal", does: "the diagonal of two dimensions, which becomes the last one", lower: diagonal },
    Operator { name: "repeat_interleave", does: "each element so many times in a row", lower: repeat_interleave },
    Operator { name: "outer", does: "`a[i] b[j]`", lower: outer },
    Operator { name: "t", does: "a matrix transposed", lower: t },
    Operator { name: "permute", does: "dimensions in another order", lower: permute },
    Operator { name: "reshape", does: "another shape", lower: reshape },
    Operator { name: "view", does: "another shape", lower: reshape },
    Operator { name: "_unsafe_view", does: "another shape", lower: reshape },
    Operator { name: "flatten", does: "neighbouring dimensions joined", lower: reshape },
    Operator { name: "unflatten", does: "a dimension split", lower: reshape },
    Operator { name: "squeeze", does: "without dimensions of one element", lower: reshape },
    Operator { name: "unsqueeze", does: "with a dimension of one element", lower: reshape },
    Operator { name: "expand", does: "broadcast to a shape", lower: expand },
    Operator { name: "expand_as", does: "broadcast to another tensor's shape", lower: expand },
    Operator { name: "broadcast_to", does: "broadcast to a shape", lower: expand },
    Operator { name: "broadcast_tensors", does: "tensors broadcast to their common shape", lower: broadcast_tensors },
    Operator { name: "slice", does: "a range along a dimension, with a step", lower: slice },
    Operator { name: "narrow", does: "a range along a dimension", lower: narrow },
    Operator { name: "select", does: "one element along a dimension", lower: select },
    Operator { name: "split", does: "ranges of one length along a dimension", lower: split },
    Operator { name: "unsafe_split", does: "as split", lower: split },
    Operator { name: "unsafe_chunk", does: "as chunk", lower: split },
    Operator { name: "unfold", does: "windows along a dimension, which become the last one", lower: unfold },
    Operator { name: "split_with_sizes", does: "ranges of given lengths along a dimension", lower: split },
    Operator { name: "chunk", does: "a number of ranges along a dimension", lower: split },
    Operator { name: "unbind", does: "the elements along a dimension", lower: unbind },
    Operator { name: "cat", does: "tensors one after the other along a dimension", lower: cat },
    Operator { name: "stack", does: "tensors along a new dimension", lower: stack },
    Operator { name: "contiguous", does: "the same elements, dense", lower: same },
    Operator { name: "clone", does: "the same elements", lower: same },
    Operator { name: "alias", does: "the same elements", lower: same },
    Operator {
        name: "to",
        does: "the same elements; masks and integers as numbers, numbers as masks of `x != 0` or without their fractions as integers",
        lower: to,
    },
    Operator { name: "detach", does: "the same elements without a gradient", lower: detach },
    Operator { name: "zeros_like", does: "zeros", lower: |call| filled(call, 0.0) },
    Operator { name: "ones_like", does: "ones", lower: |call| filled(call, 1.0) },
    Operator { name: "zero", does: "zeros", lower: |call| filled(call, 0.0) },
    Operator { name: "fill", does: "a number everywhere", lower: full },
    Operator { name: "zeros", does: "zeros", lower: |call| filled(call, 0.0) },
    Operator { name: "ones", does: "ones", lower: |call| filled(call, 1.0) },
    Operator { name: "new_zeros", does: "zeros", lower: |call| filled(call, 0.0) },
    Operator { name: "new_ones", does: "ones", lower: |call| filled(call, 1.0) },
    Operator { name: "new_full", does: "a number everywhere", lower: new_full },
    Operator { name: "full_like", does: "a number everywhere", lower: full },
    Operator { name: "full", does: "a number everywhere", lower: full },
];

fn seen(x: Tensor, view: View) -> Lowered {
    Ok(vec![Tensor { view, ..x }])
}

fn transpose(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let (a, b) = (call.dim(1, x.view.rank())?, call.dim(2, x.view.rank())?);
    let view = if x.view.rank() == 0 { x.view.clone() } else { x.view.transpose(a, b) };
    seen(x, view)
}

/// `movedim(x, source, destination)`, of one dimension or of several.
fn movedim(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let rank = x.view.rank();
    let list = |call: &Call, position| {
        call.integers(position)?.into_iter().map(|dim| call.dim_of(dim, rank)).collect::<Result<Vec<_>>>()
    };
    let (from, to) = (list(call, 1)?, list(call, 2)?);
    let mut order = vec![None; rank];
    for (&from, &to) in from.iter().zip(&to) {
        if rank > 0 {
            order[to] = Some(from);
        }
    }
    let mut rest = (0..rank).filter(|dim| !from.contains(dim));
    let order: Vec<usize> = order.into_iter().filter_map(|dim| dim.or_else(|| rest.next())).collect();
    if from.len() != to.len() || order.len() != rank {
        return Err(call.refuse("does not name every dimension once"));
    }
    let view = x.view.permute(&order);
    seen(x, view)
}

/// `roll(x, shifts, dims)`
fn roll(call: &mut Call) -> Lowered {
    let (mut x, shifts, dims) = (call.tensor(0)?, call.integers(1)?, call.integers(2)?);
    if x.kind == Kind::Index {
        return Err(call.refuse("takes integers"));
    }
    let whole = x.view.sizes.clone();
    if dims.is_empty() {
        x = call.reshape(&x, &[whole.iter().product()])?;
    }
    let kind = x.kind;
    let dims = if dims.is_empty() { vec![0] } else { dims };
    for (&shift, &dim) in shifts.iter().zip(&dims) {
        let dim = call.dim_of(dim, x.view.rank())?;
        let size = x.view.sizes.get(dim).copied().unwrap_or(0);
        if size == 0 {
            continue;
        }
        let start = size - shift.rem_euclid(size as i64) as usize;
        let shape = x.view.sizes.clone();
        let parts = [(start, size - start), (0, start)].map(|(start, length)| x.narrow(dim, start, length));
        x = joined(call, parts.to_vec(), &shape, dim)?.remove(0);
    }
    let x = call.reshape(&x, &whole)?;
    Ok(vec![Tensor { kind, ..x }])
}

/// `repeat(x, times)`: [s] becomes [t, s] with stride 0, and that [t s].
fn repeat(call: &mut Call) -> Lowered {
    let (x, shape, times) = (call.tensor(0)?, call.result_shape(0)?, call.sizes(1)?);
    if x.kind == Kind::Index {
        return Err(call.refuse("takes integers"));
    }
    let missing = shape.len().checked_sub(x.view.rank());
    let missing = missing.ok_or_else(|| call.refuse("returns a tensor with fewer dimensions"))?;
    let (mut view, mut wide) = (x.view.clone(), Vec::new());
    (0..missing).for_each(|_| view = view.unsqueeze(0));
    let sizes = view.sizes.clone();
    let at = |dim: usize| (dim + times.len()).checked_sub(shape.len()).map_or(1, |dim| times[dim]);
    for (dim, &size) in sizes.iter().enumerate() {
        view = view.unsqueeze(2 * dim);
        wide.extend([at(dim), size]);
    }
    let wide = call.expand(&Tensor { view, ..x.clone() }, &wide)?;
    Ok(vec![call.reshape(&wide, &shape)?])
}

/// `tril(x, diagonal)` or `triu(x, diagonal)`
fn triangle(call: &mut Call, is_lower: bool) -> Lowered {
    let (x, diagonal) = (call.tensor(0)?, call.integer_or(1, 0)?);
    let [.., rows, columns] = x.view.sizes[..] else { return Err(call.refuse("takes something else than matrices")) };
    let is_kept = |index: usize| {
        let (row, column) = ((index / columns) as i64, (index % columns) as i64);
        if is_lower { column <= row.saturating_add(diagonal) } else { column >= row.saturating_add(diagonal) }
    };
    if x.kind != Kind::Number {
        return Err(call.refuse("takes something else than numbers"));
    }
    let (mask, zero) = (call.mask(&[rows, columns], is_kept)?, call.literal(0.0)?);
    Ok(vec![call.map(Function::Where, &[&mask, &x, &zero])?])
}

fn view_as(call: &mut Call) -> Lowered {
    let (x, shape) = (call.tensor(0)?, call.result_shape(0)?);
    let kind = x.kind;
    Ok(vec![Tensor { kind, ..call.reshape(&x, &shape)? }])
}

/// `diagonal(x, offset, dim1, dim2)`
fn diagonal(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let sides = [call.integer_or(2, 0)?, call.integer_or(3, 1)?];
    let length = call.result_shape(0)?.last().copied().unwrap_or(0);
    let offset = call.integer_or(1, 0)?;
    Ok(vec![diagonal_of(call, &x, offset, sides, length)?])
}

/// The `length` elements of two dimensions whose places differ by `offset`, as the last dimension.
pub(super) fn diagonal_of(call: &Call, x: &Tensor, offset: i64, sides: [i64; 2], length: usize) -> Result<Tensor> {
    let rank = x.view.rank();
    let (row, column) = (call.dim_of(sides[0], rank)?, call.dim_of(sides[1], rank)?);
    if row == column || rank < 2 {
        return Err(call.refuse("has one dimension twice"));
    }
    let [skipped, down] = if offset < 0 { [offset.unsigned_abs() as usize, 0] } else { [0, offset as usize] };
    if length == 0 {
        return Err(call.refuse("has no elements"));
    }
    let part = ranged(call, &ranged(call, x, row, skipped, length)?, column, down, length)?;
    let (first, second) = (row.min(column), row.max(column));
    let view = part.view.diagonal(first, second).ok_or_else(|| call.refuse("has other sizes than its result"))?;
    let mut order: Vec<usize> = (0..rank - 1).filter(|&dim| dim != first).collect();
    order.push(first);
    Ok(Tensor { view: view.permute(&order), ..part })
}

/// `repeat_interleave(x, repeats, dim)` with a number of repeats.
fn repeat_interleave(call: &mut Call) -> Lowered {
    let (x, shape) = (call.tensor(0)?, call.result_shape(0)?);
    if call.overload() != "self_int" || x.kind == Kind::Index {
        return Err(call.refuse("takes the repeats from a tensor, or integers"));
    }
    let times = usize::try_from(call.integer(1)?).map_err(|_| call.refuse("repeats less than never"))?;
    let rank = x.view.rank();
    let (x, dim) = match call.is_none(2) {
        true => (call.reshape(&x, &[x.view.len()])?, 0),
        false => (x.clone(), call.dim(2, rank)?),
    };
    if x.view.rank() == 0 {
        return Err(call.refuse("repeats a tensor without dimensions"));
    }
    let mut wide = x.view.sizes.clone();
    wide.insert(dim + 1, times);
    let wide = call.expand(&Tensor { view: x.view.unsqueeze(dim + 1), ..x }, &wide)?;
    Ok(vec![call.reshape(&wide, &shape)?])
}

fn outer(call: &mut Call) -> Lowered {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    if a.view.rank() != 1 || b.view.rank() != 1 {
        return Err(call.refuse("multiplies something else than vectors"));
    }
    let column = Tensor { view: a.view.unsqueeze(1), ..a };
    Ok(vec![call.map(Function::Mul, &[&column, &b])?])
}

fn t(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let view = if x.view.rank() < 2 { x.view.clone() } else { x.view.transpose(0, 1) };
    seen(x, view)
}

fn permute(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let rank = x.view.rank();
    let order = call.integers(1)?.into_iter().map(|dim| call.dim_of(dim, rank)).collect::<Result<Vec<_>>>()?;
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if sorted != (0..rank).collect::<Vec<_>>() {
        return Err(call.refuse("does not name every dimension once"));
    }
    let view = x.view.permute(&order);
    seen(x, view)
}

/// To the shape that LibTorch came to.
fn reshape(call: &mut Call) -> Lowered {
    let (x, shape) = (call.tensor(0)?, call.result_shape(0)?);
    Ok(vec![call.reshape(&x, &shape)?])
}

fn expand(call: &mut Call) -> Lowered {
    let (x, shape) = (call.tensor(0)?, call.result_shape(0)?);
    Ok(vec![call.expand(&x, &shape)?])
}

fn broadcast_tensors(call: &mut Call) -> Lowered {
    let shape = call.result_shape(0)?;
    present(call)?.iter().map(|x| call.expand(x, &shape)).collect()
}

/// `index`, negative ones counted from the end, brought into 0 to `size`.
pub(super) fn clipped(index: i64, size: usize) -> usize {
    let size = size as i64;
    (if index < 0 { index.saturating_add(size) } else { index }).clamp(0, size) as usize
}

fn slice(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let dim = call.dim_of(call.integer_or(1, 0)?, x.view.rank())?;
    let size = call.size(&x, dim)?;
    let (start, end) = (clipped(call.integer_or(2, 0)?, size), clipped(call.integer_or(3, i64::MAX)?, size));
    let step = usize::try_from(call.integer_or(4, 1)?).ok().filter(|&step| step > 0);
    let step = step.ok_or_else(|| call.refuse("has a step below 1"))?.min(size.max(1));
    let end = end.max(start);
    let part = call.read(&x, dim, start..end);
    let view = part.view.narrow(dim, 0, (end - start).div_ceil(step), step);
    seen(part, view)
}

fn narrow(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let dim = call.dim(1, x.view.rank())?;
    let (start, length) = (clipped(call.integer(2)?, call.size(&x, dim)?), call.result_size(0, dim)?);
    ranged(call, &x, dim, start, length).map(|part| vec![part])
}

fn ranged(call: &Call, x: &Tensor, dim: usize, start: usize, length: usize) -> Result<Tensor> {
    if start.saturating_add(length) > call.size(x, dim)? {
        return Err(call.refuse("reaches beyond its tensor"));
    }
    Ok(call.read(x, dim, start..start + length))
}

fn select(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let dim = call.dim(1, x.view.rank())?;
    let size = call.size(&x, dim)?;
    let index = clipped(call.integer(2)?, size);
    if index >= size {
        return Err(call.refuse("selects beyond its tensor"));
    }
    let part = call.read(&x, dim, index..index + 1);
    let view = part.view.select(dim, 0);
    seen(part, view)
}

/// Into the lengths that LibTorch came to.
fn split(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let dim = call.dim_of(call.integer_or(2, 0)?, x.view.rank())?;
    let mut start = 0;
    let parts = (0..call.node.outputs.len()).map(|part| {
        let length = call.result_size(part, dim)?;
        let part = ranged(call, &x, dim, start, length)?;
        start += length;
        Ok(part)
    });
    parts.collect()
}

/// `unfold(x, dim, size, step)`
fn unfold(call: &mut Call) -> Lowered {
    let (x, size, step) = (call.tensor(0)?, call.integer(2)?, call.integer(3)?);
    let rank = x.view.rank();
    let dim = call.dim(1, rank)?;
    let (Ok(size), Ok(step)) = (usize::try_from(size), usize::try_from(step)) else {
        return Err(call.refuse("has windows of negative size"));
    };
    let view = if rank == 0 || step == 0 { None } else { x.view.windows(dim, size, step, 1) };
    let view = view.ok_or_else(|| call.refuse("has no window that fits"))?;
    seen(x, view)
}

fn unbind(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let dim = call.dim_of(call.integer_or(1, 0)?, x.view.rank())?;
    let size = call.size(&x, dim)?;
    if size != call.node.outputs.len() {
        return Err(call.refuse("returns another number of tensors"));
    }
    Ok((0..size).map(|index| Tensor { view: x.view.select(dim, index), ..x.clone() }).collect())
}

fn present(call: &mut Call) -> Result<Vec<Tensor>> {
    let tensors = call.tensors(0)?.into_iter().collect::<Option<Vec<_>>>();
    let tensors = tensors.ok_or_else(|| call.refuse("has an undefined tensor"))?;
    if tensors.iter().any(|x| x.kind == Kind::Index) {
        return Err(call.refuse("takes integers"));
    }
    Ok(tensors)
}

fn cat(call: &mut Call) -> Lowered {
    let mut tensors = present(call)?;
    let shape = call.result_shape(0)?;
    let dim = call.dim_of(call.integer_or(1, 0)?, shape.len())?;
    // LibTorch lets an empty tensor of one dimension stand beside any shape.
    tensors.retain(|x| x.view.sizes != [0] || shape.len() == 1);
    joined(call, tensors, &shape, dim)
}

fn stack(call: &mut Call) -> Lowered {
    let shape = call.result_shape(0)?;
    let dim = call.dim_of(call.integer_or(1, 0)?, shape.len())?;
    let tensors = present(call)?;
    if tensors.iter().any(|x| x.view.rank() + 1 != shape.len()) {
        return Err(call.refuse("stacks tensors of other dimensions than its result"));
    }
    let tensors = tensors.into_iter().map(|x| Tensor { view: x.view.unsqueeze(dim), ..x }).collect();
    joined(call, tensors, &shape, dim)
}

pub(super) fn joined(call: &mut Call, tensors: Vec<Tensor>, shape: &[usize], dim: usize) -> Lowered {
    if dim >= shape.len() {
        return Err(call.refuse("joins numbers"));
    }
    let whole = View::contiguous(shape);
    let are_masks = !tensors.is_empty() && tensors.iter().all(|x| x.kind == Kind::Mask);
    let mut start = 0;
    let mut parts = Vec::new();
    for x in tensors {
        let fits = x.view.rank() == shape.len()
            && (0..shape.len())
                .all(|d| if d == dim { start + x.view.sizes[d] <= shape[d] } else { x.view.sizes[d] == shape[d] });
        if !fits {
            return Err(call.refuse(format!("joins {:?} to {shape:?}", x.view.sizes)));
        }
        let place = whole.narrow(dim, start, x.view.sizes[dim], 1);
        start += x.view.sizes[dim];
        parts.push((x, place));
    }
    let value = call.concat(shape, 0.0, parts)?;
    Ok(vec![if are_masks { Tensor { kind: Kind::Mask, ..value } } else { value }])
}

fn same(call: &mut Call) -> Lowered {
    Ok(vec![call.tensor(0)?])
}

/// A change of type between float32 and float64 is refused before: one graph has one type.
fn to(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    if call.returns(DType::Bool) {
        return Ok(vec![super::mask::truth(call, &x)?]);
    }
    match (x.kind, call.returns(DType::Int64)) {
        (Kind::Index | Kind::Count, true) => Ok(vec![x]),
        (Kind::Mask, true) => Ok(vec![Tensor { kind: Kind::Count, ..x }]),
        (Kind::Number, true) => Ok(vec![whole(call, &x)?]),
        (_, false) => Ok(vec![call.as_number(&x)?]),
    }
}

/// Numbers without their fractions, as int64 holds them. What it does not hold becomes the least one, as the processor's
/// conversion has it.
fn whole(call: &mut Call, x: &Tensor) -> Result<Tensor> {
    const BOUND: f64 = (1u64 << 63) as f64;
    let x = call.detached(x)?;
    let size = call.map(Function::Abs, &[&x])?;
    let fits = call.map_number(Function::Less, &size, BOUND)?;
    let (whole, least) = (call.map(Function::Trunc, &[&x])?, call.literal(-BOUND)?);
    let whole = call.map(Function::Where, &[&fits, &whole, &least])?;
    // An integer has one zero.
    let whole = call.map_number(Function::Add, &whole, 0.0)?;
    Ok(Tensor { kind: Kind::Count, ..whole })
}

fn detach(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    Ok(vec![call.detached(&x)?])
}

fn filled(call: &mut Call, value: f64) -> Lowered {
    let is_mask = call.returns(DType::Bool);
    let value = if is_mask { f64::from(value != 0.0) } else { value };
    let (number, shape) = (call.literal(value)?, call.result_shape(0)?);
    let tensor = call.expand(&number, &shape)?;
    Ok(vec![if is_mask { Tensor { kind: Kind::Mask, ..tensor } } else { tensor }])
}

fn new_full(call: &mut Call) -> Lowered {
    let value = call.number(2)?;
    filled(call, value)
}

fn full(call: &mut Call) -> Lowered {
    let value = call.number(1)?;
    filled(call, value)
}
