//! Operators that choose elements.

use super::super::call::{Call, Outputs, number};
use super::super::fold;
use super::super::known::{Element, Known, Numbers};
use super::super::value::Value;
use super::chosen::selected;
use super::shape::{expanded, reshaped, sliced};
use super::{Operator, all, but};
use crate::error::Result;
use crate::graph::ObservedArgument::{self as Argument, Bool, Float, Integer};
use crate::graph::View;

pub const TABLE: &[Operator] = &[
    all("ArgMax", |call| place_of_greatest(call, 1.0)),
    all("ArgMin", |call| place_of_greatest(call, -1.0)),
    but("Compress", "conditions computed from the events", compress),
    but("Gather", "indices computed from the events, but for the slices of a constant table", gather),
    all("GatherElements", gather_elements),
    but("GatherND", "indices computed from the events, but for single ones behind `batch_dims`", gather_nd),
    all("Hardmax", hardmax),
    but("OneHot", "depths computed from the events", one_hot),
    but("ScatterElements", "indices computed from the events; the reductions mul, min and max", scatter_elements),
    but("ScatterND", "indices computed from the events; the reductions mul, min and max", scatter_nd),
    all("TopK", topk),
];

/// Indices as places of `size` elements, negative ones counted from the end.
fn places(call: &Call, list: &[i64], size: usize) -> Result<Vec<i64>> {
    let size = size as i64;
    let place = |&index: &i64| {
        let at = if index < 0 { index.saturating_add(size) } else { index };
        if (0..size).contains(&at) { Ok(at) } else { Err(call.wrong(format!("index {index} of {size} elements"))) }
    };
    list.iter().map(place).collect()
}

fn gather(call: &mut Call) -> Outputs {
    let (x, index) = (call.input(0)?, call.input(1)?);
    let axis = call.axis_named("axis", 0, x.rank())?;
    if let Value::Computed(_) = &index {
        return of_table(call, &x, &index, axis);
    }
    let places = places(call, &call.known_integers(1)?, x.shape()[axis])?;
    let shape = [&x.shape()[..axis], index.shape(), &x.shape()[axis + 1..]].concat();
    let steps = places.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let value = match (steps, places.first()) {
        (true, Some(&first)) => sliced(call, &x, axis, first as usize, places.len(), 1)?,
        _ => selected(call, &x, axis, places)?,
    };
    Ok(vec![reshaped(call, &value, &shape)?])
}

/// Slices of a table chosen by events.
fn of_table(call: &mut Call, table: &Value, index: &Value, axis: usize) -> Outputs {
    let ([rows, slice @ ..], true, 0) = (table.shape(), table.known().is_some(), axis) else {
        return Err(call.refuse("indices computed from the events"));
    };
    let (rows, shape) = (*rows, [index.shape(), slice].concat());
    let width = slice.iter().product();
    let flat = reshaped(call, table, &[rows, width])?;
    let (flat, places) = (call.b.tensor(&flat)?, call.b.places(index, rows)?);
    let arguments = vec![flat, places, Integer(-1), Bool(false), Bool(false)];
    let chosen = call.op("embedding", "", arguments, &[index.shape(), &[width]].concat(), table.element())?;
    Ok(vec![reshaped(call, &chosen, &shape)?])
}

/// The numbers from 0 to `count` along an axis of that rank.
fn counted(count: usize, rank: usize, axis: usize) -> Value {
    let mut shape = vec![1; rank];
    shape[axis] = count;
    Value::Known(Known { element: Element::Int64, ..Known::integers(&shape, (0..count as i64).collect()) })
}

/// Whether an index is each of the numbers up to `count`, along a new axis.
fn is_at(call: &mut Call, index: &Value, axis: usize, count: usize) -> Result<Value> {
    fold::check_length(&[count])?;
    let mut shape = index.shape().to_vec();
    shape.insert(axis, 1);
    let column = reshaped(call, index, &shape)?;
    let numbers = counted(count, shape.len(), axis);
    call.elementwise("eq", "Tensor", &[&column, &numbers], vec![], Element::Bool)
}

fn gather_elements(call: &mut Call) -> Outputs {
    let (x, index) = (call.input(0)?, call.input(1)?);
    let axis = call.axis_named("axis", 0, x.rank())?;
    let fits = |axis_at: usize| axis_at == axis || index.shape()[axis_at] <= x.shape()[axis_at];
    if index.rank() != x.rank() || !(0..x.rank()).all(fits) {
        return Err(call.wrong(format!("indices {:?} of {:?}", index.shape(), x.shape())));
    }
    let index = match index {
        Value::Known(known) => known,
        Value::Computed(_) => {
            let places = call.b.places(&index, x.shape()[axis])?;
            return Ok(vec![gathered(call, &x, axis, places, index.shape())?]);
        }
    };
    let list = places(call, &call.known_integers(1)?, x.shape()[axis])?;
    if let Value::Known(known) = &x {
        let mut view = View::contiguous(&known.shape);
        let stride = std::mem::replace(&mut view.strides[axis], 0);
        view.sizes.clone_from(&index.shape);
        let offsets = view.offsets().zip(&list).map(|(offset, &at)| offset + at as usize * stride);
        return Ok(vec![Value::Known(fold::chosen(known, &index.shape, offsets)?)]);
    }
    let indices = call.b.index(&index.shape, list);
    Ok(vec![gathered(call, &x, axis, indices, &index.shape)?])
}

/// The elements of `x` along an axis at places, one for each element of the result.
fn gathered(call: &mut Call, x: &Value, axis: usize, places: Argument, shape: &[usize]) -> Result<Value> {
    let tensor = call.number(x)?;
    let element = super::super::call::float_of(x.element());
    let value = call.op("gather", "", vec![tensor, Integer(axis as i64), places, Bool(false)], shape, element)?;
    if x.element() == Element::Bool { call.mask(&value) } else { Ok(value) }
}

/// `TopK`: values and places; before opset 10 with the attribute `k`.
fn topk(call: &mut Call) -> Outputs {
    let x = call.input(0)?;
    let axis = call.axis_named("axis", -1, x.rank())?;
    let (descending, _sorted) = (call.integer("largest", 1)? != 0, call.integer("sorted", 1)?);
    let count = if call.has(1) { call.known_number(1)? as i64 } else { call.integer("k", -1)? };
    let count = call.sizes(&[count])?[0];
    if count > x.shape()[axis] {
        return Err(call.wrong(format!("the first {count} of {} elements", x.shape()[axis])));
    }
    let [values, places] = call.b.sorted(&x, axis, descending)?;
    Ok(vec![sliced(call, &values, axis, 0, count, 1)?, sliced(call, &places, axis, 0, count, 1)?])
}

/// Places in the flat tensor of slices that the tuples of an index start at, behind `batch` common dimensions.
fn flat_places(call: &Call, shape: &[usize], index: &Known, batch: usize) -> Result<(Vec<i64>, usize)> {
    let Numbers::Integers(list) = &*index.numbers else { return Err(call.wrong("indices that are no integers")) };
    let width = *index.shape.last().ok_or_else(|| call.wrong("an index without dimensions"))?;
    if batch + width > shape.len() || batch >= index.shape.len() || index.shape[..batch] != shape[..batch] || width == 0
    {
        return Err(call.wrong(format!("indices {:?} of {shape:?}", index.shape)));
    }
    let strides = View::contiguous(&shape[..batch + width]).strides;
    let per_batch: usize = index.shape[batch..index.shape.len() - 1].iter().product();
    let block: usize = shape[batch..batch + width].iter().product();
    let mut starts = Vec::new();
    for (number, tuple) in list.chunks(width).enumerate() {
        let mut place = (number / per_batch.max(1) * block) as i64;
        for (at, component) in tuple.iter().enumerate() {
            place += places(call, &[*component], shape[batch + at])?[0] * strides[batch + at] as i64;
        }
        starts.push(place);
    }
    Ok((starts, shape[batch + width..].iter().product()))
}

fn gather_nd(call: &mut Call) -> Outputs {
    let (x, index) = (call.input(0)?, call.input(1)?);
    let batch = call.sizes(&[call.integer("batch_dims", 0)?])?[0];
    let index = match index {
        Value::Known(known) => known,
        Value::Computed(_) => return gather_slices(call, &x, &index, batch),
    };
    let (starts, width) = flat_places(call, x.shape(), &index, batch)?;
    let behind = batch + index.shape.last().copied().unwrap_or(0);
    let shape = [&index.shape[..index.shape.len() - 1], &x.shape()[behind..]].concat();
    let slices: usize = x.shape()[..behind].iter().product();
    let flat = reshaped(call, &x, &[slices, width])?;
    let value = selected(call, &flat, 0, starts)?;
    Ok(vec![reshaped(call, &value, &shape)?])
}

/// Slices along one dimension behind `batch` common ones, at places that are computed for each event.
fn gather_slices(call: &mut Call, x: &Value, index: &Value, batch: usize) -> Outputs {
    let (of_x, of_index) = (x.shape().to_vec(), index.shape().to_vec());
    let fits = batch > 0 && batch < of_x.len() && batch < of_index.len() && of_x[..batch] == of_index[..batch];
    if !fits || of_index.last() != Some(&1) {
        return Err(call.refuse("indices computed from the events, but for single ones behind batch_dims"));
    }
    let slice = &of_x[batch + 1..];
    let inner = of_index.len() - 1;
    let [groups, count, width] =
        [&of_x[..batch], &of_index[batch..inner], slice].map(|sizes| sizes.iter().product::<usize>());
    let (x, index) = (reshaped(call, x, &[groups, of_x[batch], width])?, reshaped(call, index, &[groups, count, 1])?);
    let index = expanded(call, &index, &[groups, count, width])?;
    let places = call.b.places(&index, of_x[batch])?;
    let value = gathered(call, &x, 1, places, &[groups, count, width])?;
    Ok(vec![reshaped(call, &value, &[&of_index[..inner], slice].concat())?])
}

/// `x` with slices replaced by others, or added to: `x` and `updates` are matrices whose rows are slices.
fn put(call: &mut Call, x: &Value, starts: Vec<i64>, updates: &Value, reduction: &str) -> Result<Value> {
    let shape = x.shape().to_vec();
    let (tensor, source) = (call.number(x)?, call.number(updates)?);
    let mut target = tensor;
    match reduction {
        "add" => (),
        "none" | "" => {
            let mut kept = vec![1.0; fold::check_length(&shape[..1])?];
            for &start in &starts {
                if std::mem::replace(&mut kept[start as usize], 0.0) == 0.0 {
                    return Err(call.refuse("one place that is written twice"));
                }
            }
            let kept = Value::Known(Known {
                element: Element::Bool,
                ..Known::integers(&[shape[0], 1], kept.iter().map(|&kept| kept as i64).collect())
            });
            let value = call.elementwise("where", "self", &[&kept, x, &number(0.0)], vec![], Element::Float32)?;
            target = call.b.tensor(&value)?;
        }
        other => return Err(call.refuse(format!("the reduction {}", crate::text::name(other)))),
    }
    let index = call.b.index(&[starts.len()], starts);
    call.op("index_add", "", vec![target, Integer(0), index, source, Float(1.0)], &shape, x.element())
}

fn scatter_nd(call: &mut Call) -> Outputs {
    let (x, index, updates) = (call.input(0)?, call.known(1)?, call.input(2)?);
    let reduction = call.text("reduction", "none")?.to_owned();
    let (starts, width) = flat_places(call, x.shape(), &index, 0)?;
    let rows: usize = x.shape().iter().product::<usize>() / width.max(1);
    let flat = reshaped(call, &x, &[rows, width])?;
    let updates = reshaped(call, &updates, &[starts.len(), width])?;
    let value = put(call, &flat, starts, &updates, &reduction)?;
    Ok(vec![reshaped(call, &value, x.shape())?])
}

fn scatter_elements(call: &mut Call) -> Outputs {
    let (x, index, updates) = (call.input(0)?, call.known(1)?, call.input(2)?);
    let axis = call.axis_named("axis", 0, x.rank())?;
    let reduction = call.text("reduction", "none")?.to_owned();
    let fits = |at: usize| at == axis || index.shape[at] <= x.shape()[at];
    if index.shape.len() != x.rank() || updates.shape() != index.shape || !(0..x.rank()).all(fits) {
        return Err(call.wrong(format!("indices {:?} of {:?}", index.shape, x.shape())));
    }
    let list = places(call, &call.known_integers(1)?, x.shape()[axis])?;
    let mut view = View::contiguous(x.shape());
    let stride = std::mem::replace(&mut view.strides[axis], 0);
    view.sizes.clone_from(&index.shape);
    let starts: Vec<i64> =
        view.offsets().zip(&list).map(|(offset, &at)| (offset + at as usize * stride) as i64).collect();
    let flat = reshaped(call, &x, &[x.shape().iter().product(), 1])?;
    let updates = reshaped(call, &updates, &[starts.len(), 1])?;
    let value = put(call, &flat, starts, &updates, &reduction)?;
    Ok(vec![reshaped(call, &value, x.shape())?])
}

fn compress(call: &mut Call) -> Outputs {
    let (x, condition) = (call.input(0)?, call.known_integers(1)?);
    let kept = (0..condition.len()).filter(|&at| condition[at] != 0).map(|at| at as i64).collect::<Vec<_>>();
    let (x, axis) = match call.attribute("axis") {
        Some(_) => (x.clone(), call.axis_named("axis", 0, x.rank())?),
        None => (reshaped(call, &x, &[x.shape().iter().product()])?, 0),
    };
    let kept = places(call, &kept, x.shape()[axis])?;
    Ok(vec![selected(call, &x, axis, kept)?])
}

/// The first (or last) place along an axis whose element is the greatest one.
fn place(call: &mut Call, x: &Value, axis: usize, sign: f64, is_last: bool) -> Result<Value> {
    let count = fold::check_length(&x.shape()[axis..axis + 1])?;
    if count == 0 {
        return Err(call.wrong("the greatest of no elements"));
    }
    let mut shape = x.shape().to_vec();
    shape[axis] = 1;
    let dims = || super::super::call::integers(&[axis]);
    let extreme = |call: &mut Call, op: &str, x: &Value| {
        let tensor = call.number(x)?;
        call.op(op, "", vec![tensor, dims(), Bool(true)], &shape, Element::Float32)
    };
    let greatest = extreme(call, if sign > 0.0 { "amax" } else { "amin" }, x)?;
    let is_greatest = call.elementwise("eq", "Tensor", &[x, &greatest], vec![], Element::Bool)?;
    let never = number(if is_last { -1.0 } else { count as f64 });
    let places = call.elementwise(
        "where",
        "self",
        &[&is_greatest, &counted(count, shape.len(), axis), &never],
        vec![],
        Element::Float32,
    )?;
    extreme(call, if is_last { "amax" } else { "amin" }, &places)
}

fn place_of_greatest(call: &mut Call, sign: f64) -> Outputs {
    let x = call.input(0)?;
    let axis = call.axis_named("axis", 0, x.rank())?;
    let is_last = call.integer("select_last_index", 0)? != 0;
    let value = place(call, &x, axis, sign, is_last)?;
    let mut shape = value.shape().to_vec();
    if call.integer("keepdims", 1)? == 0 {
        shape.remove(axis);
    }
    let value = reshaped(call, &value, &shape)?;
    Ok(vec![match value {
        Value::Computed(computed) => {
            Value::Computed(super::super::value::Computed { element: Element::Int64, ..computed })
        }
        known => known,
    }])
}

fn hardmax(call: &mut Call) -> Outputs {
    let x = call.input(0)?;
    let shape = x.shape().to_vec();
    let axis = call.axis_named("axis", if call.opset < 13 { 1 } else { -1 }, x.rank())?;
    let (x, axis) = match call.opset < 13 {
        true => (reshaped(call, &x, &[shape[..axis].iter().product(), shape[axis..].iter().product()])?, 1),
        false => (x, axis),
    };
    let at = place(call, &x, axis, 1.0, false)?;
    let is_there =
        call.elementwise("eq", "Tensor", &[&at, &counted(x.shape()[axis], x.rank(), axis)], vec![], Element::Bool)?;
    let numbers = call.number(&is_there)?;
    let value = call.op("to", "", vec![numbers], x.shape(), x.element())?;
    Ok(vec![reshaped(call, &value, &shape)?])
}

fn one_hot(call: &mut Call) -> Outputs {
    let (index, depth, values) = (call.input(0)?, call.known_number(1)?, call.known(2)?);
    let axis = call.axis_named("axis", -1, index.rank() + 1)?;
    if values.count() != 2 || depth < 1.0 {
        return Err(call.wrong("depth and values that do not fit"));
    }
    let [off, on] = [0, 1].map(|at| values.numbers.float(at));
    let count = depth as usize;
    fold::check_length(&[count])?;
    // A negative index counts from the end.
    let negative = call.elementwise("lt", "Scalar", &[&index, &number(0.0)], vec![], Element::Bool)?;
    let shifted = call.elementwise("add", "Tensor", &[&index, &number(depth)], vec![Integer(1)], Element::Float32)?;
    let index = call.elementwise("where", "self", &[&negative, &shifted, &index], vec![], Element::Float32)?;
    let mask = is_at(call, &index, axis, count)?;
    let value = call.elementwise("where", "self", &[&mask, &number(on), &number(off)], vec![], Element::Float32)?;
    let value = expanded(call, &value, mask.shape())?;
    Ok(vec![match value {
        Value::Computed(computed) => {
            Value::Computed(super::super::value::Computed { element: values.element, ..computed })
        }
        known => known,
    }])
}
