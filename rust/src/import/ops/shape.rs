//! Operators that move elements, and those that make constants.

use super::super::call::{Call, Outputs, float_of, integers, number};
use super::super::fold;
use super::super::known::{Element, Known, Numbers};
use super::super::value::Value;
use super::{Operator, all, but};
use crate::error::Result;
use crate::graph::ObservedArgument::{self as Argument, Float, Integer, Integers, Values};
use crate::graph::View;
use crate::onnx::read::Attribute;

pub const TABLE: &[Operator] = &[
    all("Concat", concat),
    but("Constant", "texts", constant),
    all("ConstantOfShape", constant_of_shape),
    all("DepthToSpace", depth_to_space),
    all("Expand", expand),
    all("EyeLike", eye_like),
    all("Flatten", flatten),
    but("Pad", "pads computed from the events", pad),
    but("Range", "limits computed from the events", range),
    but("Reshape", "shapes computed from the events", reshape),
    all("Shape", shape_of),
    all("Size", size_of),
    but("Slice", "limits computed from the events", slice),
    all("SpaceToDepth", space_to_depth),
    but("Split", "sizes computed from the events", split),
    all("Squeeze", squeeze),
    all("Tile", tile),
    all("Transpose", transpose),
    all("Trilu", trilu),
    all("Unsqueeze", unsqueeze),
];

/// A view of `x`, which the given operator of LibTorch shows.
fn moved(call: &mut Call, x: &Value, view: View, op: &str, more: Vec<Argument>) -> Result<Value> {
    if let Value::Known(known) = x
        && !known.may_train()
    {
        return Ok(Value::Known(fold::viewed(known, &view)?));
    }
    let tensor = call.b.tensor(x)?;
    call.op(op, "", [vec![tensor], more].concat(), &view.sizes, x.element())
}

/// The same elements in another shape, which has as many.
pub fn reshaped(call: &mut Call, x: &Value, shape: &[usize]) -> Result<Value> {
    if x.shape() == shape {
        return Ok(x.clone());
    }
    let count = |sizes: &[usize]| sizes.iter().try_fold(1_usize, |all, &size| all.checked_mul(size));
    if count(shape).is_none() || count(shape) != count(x.shape()) {
        return Err(call.wrong(format!("elements of shape {:?} as {shape:?}", x.shape())));
    }
    if let Value::Known(known) = x
        && !known.may_train()
    {
        return Ok(Value::Known(Known { shape: shape.to_vec(), ..known.clone() }));
    }
    let tensor = call.b.tensor(x)?;
    call.op("reshape", "", vec![tensor, integers(shape)], shape, x.element())
}

/// Dimension i of the result is dimension `order[i]`.
pub fn permuted(call: &mut Call, x: &Value, order: &[usize]) -> Result<Value> {
    if order.iter().enumerate().all(|(at, &dim)| at == dim) {
        return Ok(x.clone());
    }
    let view = View::contiguous(x.shape()).permute(order);
    moved(call, x, view, "permute", vec![integers(order)])
}

/// A range along an axis.
pub fn sliced(call: &mut Call, x: &Value, axis: usize, start: usize, length: usize, step: usize) -> Result<Value> {
    if start == 0 && length == x.shape()[axis] && step == 1 {
        return Ok(x.clone());
    }
    let view = View::contiguous(x.shape()).narrow(axis, start, length, step);
    let end = start + (length.max(1) - 1) * step + usize::from(length > 0);
    let more = [axis, start, end, step].map(|number| Integer(number as i64));
    moved(call, x, view, "slice", more.to_vec())
}

/// Broadcast to a shape.
pub fn expanded(call: &mut Call, x: &Value, shape: &[usize]) -> Result<Value> {
    if x.shape() == shape {
        return Ok(x.clone());
    }
    let view = View::contiguous(x.shape()).expand(shape);
    let view = view.ok_or_else(|| call.wrong(format!("{:?} does not broadcast to {shape:?}", x.shape())))?;
    if let Value::Known(known) = x
        && !known.may_train()
        && let (Some(value), true) = (known.numbers.uniform(), known.element.is_float())
    {
        let tensor = call.b.filled(value, shape)?;
        return filled(call, tensor, shape, known.element);
    }
    moved(call, x, view, "expand", vec![integers(shape)])
}

/// A tensor of the recording as a value.
fn filled(call: &Call, tensor: Argument, shape: &[usize], element: Element) -> Result<Value> {
    let Argument::Value(index) = tensor else { return Err(call.refuse("a constant of this kind")) };
    Ok(Value::Computed(super::super::value::Computed { index, shape: shape.to_vec(), element }))
}

/// Tensors concatenated along an axis.
pub fn joined(call: &mut Call, parts: &[Value], axis: usize) -> Result<Value> {
    let [first, ..] = parts else { return Err(call.wrong("there is no input")) };
    let mut shape = first.shape().to_vec();
    if axis >= shape.len() {
        return Err(call.wrong(format!("joins {:?} along axis {axis}", first.shape())));
    }
    shape[axis] = 0;
    for part in parts {
        let others = |sizes: &[usize]| {
            sizes.iter().enumerate().filter(|(at, _)| *at != axis).map(|(_, &size)| size).collect::<Vec<_>>()
        };
        if part.rank() != shape.len() || others(part.shape()) != others(&shape) {
            return Err(call.wrong(format!("joins {:?} and {:?}", first.shape(), part.shape())));
        }
        shape[axis] = shape[axis].saturating_add(part.shape()[axis]);
    }
    let known: Option<Vec<&Known>> = parts.iter().map(Value::known).collect();
    if let Some(known) = known.filter(|known| !known.iter().any(|known| known.may_train())) {
        return Ok(Value::Known(fold::joined(&known, axis, &shape)?));
    }
    let mut tensors = Vec::new();
    for part in parts {
        let Argument::Value(index) = call.number(part)? else { return Err(call.refuse("a part of this kind")) };
        tensors.push(Some(index));
    }
    let element = first.element();
    let arguments = vec![Values(tensors), Integer(axis as i64)];
    let value = call.op("cat", "", arguments, &shape, float_of(element))?;
    if element == Element::Bool { call.mask(&value) } else { Ok(value) }
}

fn concat(call: &mut Call) -> Outputs {
    let parts = call.all_inputs()?;
    let rank = parts.first().map_or(0, Value::rank);
    let axis = call.axis_named("axis", 1, rank)?;
    Ok(vec![joined(call, &parts, axis)?])
}

fn constant(call: &mut Call) -> Outputs {
    let [(name, _), ..] = &call.node.attributes[..] else { return Err(call.wrong("there is no value")) };
    let Some(attribute) = call.attribute(name) else { return Err(call.wrong("there is no value")) };
    let known = match attribute {
        Attribute::Tensor(tensor) => {
            let refused = |_: &crate::onnx::read::Tensor, _| Err(call.refuse("a constant in another file"));
            let known = Known::of(tensor, refused)?;
            let output = call.node.outputs.first().copied().unwrap_or_default();
            Known { name: output.into(), ..known }
        }
        Attribute::Float(value) => Known::floats(&[], vec![f64::from(*value)]),
        Attribute::Integer(value) => Known::integers(&[], vec![*value]),
        Attribute::Floats(list) => Known::floats(&[list.len()], list.iter().map(|&value| value.into()).collect()),
        Attribute::Integers(list) => Known::integers(&[list.len()], list.clone()),
        _ => return Err(call.refuse(format!("a constant of the kind {}", crate::text::name(name)))),
    };
    Ok(vec![Value::Known(known)])
}

fn constant_of_shape(call: &mut Call) -> Outputs {
    let shape = call.sizes(&call.known_integers(0)?)?;
    let value = match call.attribute("value") {
        Some(Attribute::Tensor(tensor)) => Known::of(tensor, |_, _| Err(call.refuse("a constant in another file")))?,
        None => Known::floats(&[1], vec![0.0]),
        Some(_) => return Err(call.wrong("attribute value is no tensor")),
    };
    if value.count() != 1 {
        return Err(call.wrong("the value is not one number"));
    }
    if value.element.is_float() {
        let tensor = call.b.filled(value.numbers.float(0), &shape)?;
        return Ok(vec![filled(call, tensor, &shape, value.element)?]);
    }
    let count = fold::check_length(&shape)?;
    Ok(vec![Value::Known(fold::chosen(&value, &shape, std::iter::repeat_n(0, count))?)])
}

fn depth_to_space(call: &mut Call) -> Outputs {
    let x = call.input(0)?;
    let block = call.sizes(&[call.integer("blocksize", 0)?])?[0];
    let is_column_first = call.text("mode", "DCR")? == "CRD";
    let [n, c, h, w] = x.shape()[..] else { return Err(call.refuse("an input that is no image")) };
    if block == 0 || c % (block * block) != 0 {
        return Err(call.wrong(format!("blocks of {block} in {c} channels")));
    }
    let depth = c / block / block;
    let (shape, order) = match is_column_first {
        true => ([n, depth, block, block, h, w], [0, 1, 4, 2, 5, 3]),
        false => ([n, block, block, depth, h, w], [0, 3, 4, 1, 5, 2]),
    };
    let x = reshaped(call, &x, &shape)?;
    let x = permuted(call, &x, &order)?;
    Ok(vec![reshaped(call, &x, &[n, depth, h * block, w * block])?])
}

fn space_to_depth(call: &mut Call) -> Outputs {
    let x = call.input(0)?;
    let block = call.sizes(&[call.integer("blocksize", 0)?])?[0];
    let [n, c, h, w] = x.shape()[..] else { return Err(call.refuse("an input that is no image")) };
    if block == 0 || h % block != 0 || w % block != 0 {
        return Err(call.wrong(format!("blocks of {block} in {h} by {w}")));
    }
    let order = match call.text("mode", "DCR")? {
        "CRD" => [0, 1, 3, 5, 2, 4],
        _ => [0, 3, 5, 1, 2, 4],
    };
    let x = reshaped(call, &x, &[n, c, h / block, block, w / block, block])?;
    let x = permuted(call, &x, &order)?;
    Ok(vec![reshaped(call, &x, &[n, c * block * block, h / block, w / block])?])
}

fn expand(call: &mut Call) -> Outputs {
    let (x, target) = (call.input(0)?, call.sizes(&call.known_integers(1)?)?);
    let shape = crate::graph::view::broadcast(x.shape(), &target);
    let shape = shape.ok_or_else(|| call.wrong(format!("{:?} does not broadcast to {target:?}", x.shape())))?;
    Ok(vec![expanded(call, &x, &shape)?])
}

fn eye_like(call: &mut Call) -> Outputs {
    let (x, k) = (call.input(0)?, call.integer("k", 0)?);
    let [rows, columns] = x.shape()[..] else { return Err(call.wrong("the input is no matrix")) };
    fold::check_length(&[rows, columns])?;
    let element = match call.integer("dtype", 0)? {
        0 => x.element(),
        number => Element::of(number)?,
    };
    let is_set = |at: usize| i64::from((at % columns) as i64 - (at / columns) as i64 == k);
    let known = Known::integers(&[rows, columns], (0..rows * columns).map(is_set).collect());
    Ok(vec![Value::Known(fold::cast(&known, element))])
}

fn flatten(call: &mut Call) -> Outputs {
    let x = call.input(0)?;
    let axis = call.integer("axis", 1)?;
    let axis = if axis == x.rank() as i64 { x.rank() } else { call.axis(axis, x.rank().max(1))? };
    let (before, behind) = x.shape().split_at(axis);
    let shape = [before.iter().product(), behind.iter().product()];
    Ok(vec![reshaped(call, &x, &shape)?])
}

/// Elements before and after each axis.
fn pads(call: &Call, rank: usize) -> Result<Vec<[i64; 2]>> {
    let list = call.integers_or("pads", 1)?.ok_or_else(|| call.wrong("there are no pads"))?;
    let axes = if call.has(3) { call.known_integers(3)? } else { (0..rank as i64).collect() };
    if list.len() != 2 * axes.len() {
        return Err(call.wrong(format!("{} pads for {} axes", list.len(), axes.len())));
    }
    let mut pads = vec![[0, 0]; rank];
    for (at, &axis) in axes.iter().enumerate() {
        pads[call.axis(axis, rank)?] = [list[at], list[at + axes.len()]];
    }
    Ok(pads)
}

fn pad(call: &mut Call) -> Outputs {
    let x = call.input(0)?;
    let mode = call.text("mode", "constant")?.to_owned();
    let value = match (call.opset < 11, call.has(2)) {
        (true, _) => call.float("value", 0.0)?,
        (false, true) => call.known_number(2)?,
        (false, false) => 0.0,
    };
    let mut result = x.clone();
    for (axis, around) in pads(call, x.rank())?.into_iter().enumerate() {
        let cut = around.map(|count| count.min(0).unsigned_abs() as usize);
        let size = result.shape()[axis];
        let length = size.checked_sub(cut[0].saturating_add(cut[1]));
        let length = length.ok_or_else(|| call.wrong("more is cut off than there is"))?;
        result = sliced(call, &result, axis, cut[0], length, 1)?;
        let [before, after] = [0, 1].map(|side| around[side].max(0));
        if [before, after] != [0, 0] {
            result = if mode == "constant" {
                surrounded(call, &result, axis, [before, after], value)?
            } else {
                continued(call, &result, axis, [before, after], &mode)?
            };
        }
    }
    Ok(vec![result])
}

/// With numbers before and after it along an axis.
pub fn surrounded(call: &mut Call, x: &Value, axis: usize, around: [i64; 2], value: f64) -> Result<Value> {
    let mut shape = x.shape().to_vec();
    let more = call.sizes(&around)?;
    shape[axis] = shape[axis].saturating_add(more[0]).saturating_add(more[1]);
    let mut list = vec![0; 2 * (x.rank() - 1 - axis)];
    list.extend(around);
    let tensor = call.number(x)?;
    let element = x.element();
    let padded =
        call.op("constant_pad_nd", "", vec![tensor, Integers(list), Float(value)], &shape, float_of(element))?;
    if element == Element::Bool { call.mask(&padded) } else { Ok(padded) }
}

/// With its own elements before and after it along an axis.
fn continued(call: &mut Call, x: &Value, axis: usize, [before, after]: [i64; 2], mode: &str) -> Result<Value> {
    let size = x.shape()[axis] as i64;
    if size == 0 {
        return Err(call.wrong("continues no elements"));
    }
    let place = |at: i64| match mode {
        "edge" => Ok(at.clamp(0, size - 1)),
        "wrap" => Ok(at.rem_euclid(size)),
        "reflect" if size == 1 => Ok(0),
        "reflect" => {
            let period = 2 * (size - 1);
            let folded = at.rem_euclid(period);
            Ok(folded.min(period - folded))
        }
        other => Err(call.refuse(format!("the mode {}", crate::text::name(other)))),
    };
    fold::check_length(&call.sizes(&[before, after, size])?.iter().map(|size| size + 1).collect::<Vec<_>>())?;
    let places = (-before..size + after).map(place).collect::<Result<Vec<_>>>()?;
    super::chosen::selected(call, x, axis, places)
}

fn range(call: &mut Call) -> Outputs {
    let element = call.input(0)?.element();
    if element.is_integer() {
        let [start, limit, delta] = [0, 1, 2].map(|at| call.known_integers(at));
        let (start, limit, delta) = (start?, limit?, delta?);
        let ([start], [limit], [delta]) = (&start[..], &limit[..], &delta[..]) else {
            return Err(call.wrong("limits that are not one number each"));
        };
        if *delta == 0 {
            return Err(call.wrong("a step of 0"));
        }
        let way = i128::from(*limit) - i128::from(*start);
        let (way, step) = if *delta < 0 { (-way, -i128::from(*delta)) } else { (way, i128::from(*delta)) };
        let count = if way <= 0 { 0 } else { (way + step - 1) / step };
        let count = fold::check_length(&[usize::try_from(count).unwrap_or(usize::MAX)])?;
        let values = (0..count as i64).map(|at| start + at * delta).collect();
        return Ok(vec![Value::Known(Known { element, ..Known::integers(&[count], values) })]);
    }
    let (start, limit, delta) = (call.known_number(0)?, call.known_number(1)?, call.known_number(2)?);
    let count = ((limit - start) / delta).ceil().max(0.0);
    let count = fold::check_length(&[if count.is_nan() { usize::MAX } else { count as usize }])?;
    let values = (0..count).map(|at| element.rounded(start + at as f64 * delta)).collect();
    Ok(vec![Value::Known(Known::new(element, &[count], Numbers::Floats(values)))])
}

fn reshape(call: &mut Call) -> Outputs {
    let x = call.input(0)?;
    let target = call.integers_or("shape", 1)?.ok_or_else(|| call.wrong("there is no shape"))?;
    let keeps_zero = call.integer("allowzero", 0)? != 0;
    let target = call.b.with_rows(&target, x.shape());
    let mut sizes = Vec::new();
    for (at, &size) in target.iter().enumerate() {
        sizes.push(match size {
            -1 => 1,
            0 if !keeps_zero => *x.shape().get(at).ok_or_else(|| call.wrong("a size of a missing dimension"))?,
            size => call.sizes(&[size])?[0],
        });
    }
    let length: usize = x.shape().iter().product();
    let count = sizes.iter().try_fold(1usize, |count, &size| count.checked_mul(size));
    let wrong = |call: &Call| call.wrong(format!("{:?} as {target:?}", x.shape()));
    let count = count.ok_or_else(|| wrong(call))?;
    let free: Vec<usize> = (0..target.len()).filter(|&at| target[at] == -1).collect();
    match free[..] {
        [] if count == length => (),
        [at] if count > 0 && length.is_multiple_of(count) => sizes[at] = length / count,
        _ => return Err(wrong(call)),
    }
    Ok(vec![reshaped(call, &x, &sizes)?])
}

fn shape_of(call: &mut Call) -> Outputs {
    let shape = call.input(0)?.shape().to_vec();
    let rank = shape.len() as i64;
    let clipped = |at: i64| (if at < 0 { at.saturating_add(rank) } else { at }).clamp(0, rank) as usize;
    let (start, end) = (clipped(call.integer("start", 0)?), clipped(call.integer("end", rank)?));
    let sizes: Vec<i64> = shape[start..end.max(start)].iter().map(|&size| size as i64).collect();
    Ok(vec![Value::Known(Known::integers(&[sizes.len()], sizes))])
}

fn size_of(call: &mut Call) -> Outputs {
    let length: usize = call.input(0)?.shape().iter().product();
    Ok(vec![Value::Known(Known::integers(&[], vec![length as i64]))])
}

/// Starts, ends, axes and steps of a slice.
fn ranges(call: &Call, rank: usize) -> Result<Vec<(usize, i64, i64, i64)>> {
    let starts = call.integers_or("starts", 1)?.ok_or_else(|| call.wrong("there are no starts"))?;
    let ends = call.integers_or("ends", 2)?.ok_or_else(|| call.wrong("there are no ends"))?;
    let axes = call.integers_or("axes", 3)?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = if call.has(4) { call.known_integers(4)? } else { vec![1; starts.len()] };
    if [ends.len(), axes.len(), steps.len()] != [starts.len(); 3] {
        return Err(call.wrong("as many starts as ends, axes and steps are needed"));
    }
    let range = |at: usize| Ok((call.axis(axes[at], rank)?, starts[at], ends[at], steps[at]));
    (0..starts.len()).map(range).collect()
}

fn slice(call: &mut Call) -> Outputs {
    let mut x = call.input(0)?;
    for (axis, start, end, step) in ranges(call, x.rank())? {
        let size = x.shape()[axis] as i64;
        let from_end = |at: i64| if at < 0 { at.saturating_add(size) } else { at };
        let (start, end) = (from_end(start), from_end(end));
        if step > 0 {
            let (start, end) = (start.clamp(0, size), end.clamp(0, size));
            let length = (end - start).max(0) as u64;
            let step = (step as u64).min(size.max(1) as u64);
            let length = length.div_ceil(step) as usize;
            x = sliced(call, &x, axis, start as usize, length, step as usize)?;
        } else if step < 0 {
            let (start, end) = (start.clamp(-1, size - 1), end.clamp(-1, size - 1));
            let step = step.unsigned_abs().min(size.max(1) as u64) as usize;
            let places = (end + 1..=start).rev().step_by(step).collect();
            x = super::chosen::selected(call, &x, axis, places)?;
        } else {
            return Err(call.wrong("a step of 0"));
        }
    }
    Ok(vec![x])
}

fn split(call: &mut Call) -> Outputs {
    let x = call.input(0)?;
    let axis = call.axis_named("axis", 0, x.rank())?;
    let (size, parts) = (x.shape()[axis], call.node.outputs.len());
    let lengths = match call.integers_or("split", 1)? {
        Some(list) => call.sizes(&list)?,
        None => {
            let length = size.div_ceil(parts.max(1));
            (0..parts).map(|part| length.min(size.saturating_sub(part * length))).collect()
        }
    };
    if lengths.len() != parts || lengths.iter().sum::<usize>() != size {
        return Err(call.wrong(format!("{parts} parts of lengths {lengths:?} of {size}")));
    }
    let mut start = 0;
    let mut values = Vec::new();
    for length in lengths {
        values.push(sliced(call, &x, axis, start, length, 1)?);
        start += length;
    }
    Ok(values)
}

fn squeeze(call: &mut Call) -> Outputs {
    let x = call.input(0)?;
    let gone = match call.integers_or("axes", 1)? {
        Some(list) => call.axes(&list, x.rank())?,
        None => (0..x.rank()).filter(|&axis| x.shape()[axis] == 1).collect(),
    };
    if let Some(&axis) = gone.iter().find(|&&axis| x.shape()[axis] != 1) {
        return Err(call.wrong(format!("axis {axis} has {} elements", x.shape()[axis])));
    }
    let shape: Vec<usize> = (0..x.rank()).filter(|axis| !gone.contains(axis)).map(|axis| x.shape()[axis]).collect();
    Ok(vec![reshaped(call, &x, &shape)?])
}

fn unsqueeze(call: &mut Call) -> Outputs {
    let x = call.input(0)?;
    let list = call.integers_or("axes", 1)?.ok_or_else(|| call.wrong("there are no axes"))?;
    let rank = x.rank() + list.len();
    let added = call.axes(&list, rank)?;
    let mut own = x.shape().iter().copied();
    let shape: Vec<usize> =
        (0..rank).map(|axis| if added.contains(&axis) { 1 } else { own.next().unwrap_or(1) }).collect();
    Ok(vec![reshaped(call, &x, &shape)?])
}

fn tile(call: &mut Call) -> Outputs {
    let (x, times) = (call.input(0)?, call.sizes(&call.known_integers(1)?)?);
    if times.len() != x.rank() {
        return Err(call.wrong(format!("{} numbers of times for {} dimensions", times.len(), x.rank())));
    }
    // [s] as [1, s], broadcast to [t, s], is [t s].
    let [mut wide, mut broadcast, mut shape] = [Vec::new(), Vec::new(), Vec::new()];
    for (&size, &times) in x.shape().iter().zip(&times) {
        wide.extend([1, size]);
        broadcast.extend([times, size]);
        shape.push(size.saturating_mul(times));
    }
    fold::check_length(&shape)?;
    let value = reshaped(call, &x, &wide)?;
    let value = expanded(call, &value, &broadcast)?;
    Ok(vec![reshaped(call, &value, &shape)?])
}

fn transpose(call: &mut Call) -> Outputs {
    let x = call.input(0)?;
    let order = match call.integers("perm")? {
        Some(list) => list.iter().map(|&axis| call.axis(axis, x.rank())).collect::<Result<Vec<_>>>()?,
        None => (0..x.rank()).rev().collect(),
    };
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if sorted != (0..x.rank()).collect::<Vec<_>>() {
        return Err(call.wrong("an order that does not name every axis once"));
    }
    Ok(vec![permuted(call, &x, &order)?])
}

fn trilu(call: &mut Call) -> Outputs {
    let (x, upper) = (call.input(0)?, call.integer("upper", 1)? != 0);
    let k = if call.has(1) { call.known_integers(1)?.first().copied().unwrap_or(0) } else { 0 };
    let [.., rows, columns] = x.shape()[..] else { return Err(call.wrong("the input has no matrices")) };
    let is_kept = |at: usize| {
        let (row, column) = ((at / columns % rows) as i64, (at % columns) as i64);
        if upper { column >= row.saturating_add(k) } else { column <= row.saturating_add(k) }
    };
    if let Value::Known(known) = &x {
        let count = fold::check_length(&known.shape)?;
        let numbers = match &*known.numbers {
            Numbers::Floats(list) => {
                Numbers::Floats((0..count).map(|at| if is_kept(at) { list[at] } else { 0.0 }).collect())
            }
            Numbers::Integers(list) => {
                Numbers::Integers((0..count).map(|at| if is_kept(at) { list[at] } else { 0 }).collect())
            }
        };
        return Ok(vec![Value::Known(Known::new(known.element, &known.shape, numbers))]);
    }
    let count = fold::check_length(&[rows, columns])?;
    let mask = Known {
        element: Element::Bool,
        ..Known::integers(&[rows, columns], (0..count).map(|at| i64::from(is_kept(at))).collect())
    };
    let element = x.element();
    let value =
        call.elementwise("where", "self", &[&Value::Known(mask), &x, &number(0.0)], vec![], float_of(element))?;
    Ok(vec![if element == Element::Bool { call.mask(&value)? } else { value }])
}
