//! Operators over whole dimensions.

use super::super::call::{Call, Outputs, float_of, integers};
use super::super::fold;
use super::super::known::{Element, Known};
use super::super::value::Value;
use super::shape::{permuted, reshaped};
use super::{Operator, all, but};
use crate::error::Result;
use crate::graph::ObservedArgument::{self as Argument, Bool, Float, Integer, None as Absent};

/// Most factors of a product.
const MOST_FACTORS: usize = 64;

pub const TABLE: &[Operator] = &[
    but("CumSum", "integers computed from the events", cumulative_sum),
    all("LogSoftmax", |call| softmax(call, "log_softmax")),
    all("LpNormalization", lp_normalization),
    all("ReduceL1", |call| reduce(call, l1)),
    all("ReduceL2", |call| reduce(call, l2)),
    all("ReduceLogSum", |call| reduce(call, log_sum)),
    all("ReduceLogSumExp", |call| {
        reduce(call, |call, x, axes, shape| with_axes(call, "logsumexp", "", x, axes, shape, vec![]))
    }),
    all("ReduceMax", |call| reduce(call, |call, x, axes, shape| extreme(call, "amax", x, axes, shape))),
    all("ReduceMean", |call| {
        reduce(call, |call, x, axes, shape| with_axes(call, "mean", "dim", x, axes, shape, vec![Absent]))
    }),
    all("ReduceMin", |call| reduce(call, |call, x, axes, shape| extreme(call, "amin", x, axes, shape))),
    but("ReduceProd", "more than 64 factors", |call| reduce(call, product)),
    all("ReduceSum", |call| reduce(call, sum)),
    all("ReduceSumSquare", |call| reduce(call, sum_square)),
    all("Softmax", |call| softmax(call, "softmax")),
];

/// Of `x` over axes, which stay with one element: its value has that shape.
type Reduction = fn(&mut Call, &Value, &[usize], &[usize]) -> Result<Value>;

fn reduce(call: &mut Call, reduction: Reduction) -> Outputs {
    let x = call.input(0)?;
    let given = call.integers_or("axes", 1)?.filter(|list| !list.is_empty());
    let is_noop = call.integer("noop_with_empty_axes", 0)? != 0;
    let axes = match given {
        Some(list) => call.axes(&list, x.rank())?,
        None if is_noop => Vec::new(),
        None => (0..x.rank()).collect(),
    };
    let mut shape = x.shape().to_vec();
    axes.iter().for_each(|&axis| shape[axis] = 1);
    let value = match folded(call, &x, &axes)? {
        Some(value) => value,
        None => reduction(call, &x, &axes, &shape)?,
    };
    if call.integer("keepdims", 1)? == 0 {
        shape = (0..shape.len()).filter(|axis| !axes.contains(axis)).map(|axis| shape[axis]).collect();
    }
    Ok(vec![reshaped(call, &value, &shape)?])
}

fn folded(call: &Call, x: &Value, axes: &[usize]) -> Result<Option<Value>> {
    match x {
        Value::Known(known) if known.element.is_integer() => {
            let value = fold::reduced(call.node.operator, known, axes)?;
            value.map(|value| Ok(Value::Known(value))).transpose()
        }
        x if x.element().is_integer() => Err(call.refuse("a reduction of integers computed from the events")),
        _ => Ok(None),
    }
}

/// LibTorch's reduction of that name; without axes there is nothing to reduce.
fn with_axes(
    call: &mut Call,
    op: &str,
    overload: &str,
    x: &Value,
    axes: &[usize],
    shape: &[usize],
    more: Vec<Argument>,
) -> Result<Value> {
    let tensor = call.number(x)?;
    if axes.is_empty() {
        // A list without dimensions means all of them to LibTorch.
        let shape = [&[1], x.shape()].concat();
        let x = reshaped(call, x, &shape)?;
        let value = with_axes(call, op, overload, &x, &[0], &shape, more)?;
        return reshaped(call, &value, &shape[1..]);
    }
    let arguments = [vec![tensor, integers(axes), Bool(true)], more].concat();
    call.op(op, overload, arguments, shape, float_of(x.element()))
}

fn sum(call: &mut Call, x: &Value, axes: &[usize], shape: &[usize]) -> Result<Value> {
    with_axes(call, "sum", "dim_IntList", x, axes, shape, vec![Absent])
}

fn extreme(call: &mut Call, op: &str, x: &Value, axes: &[usize], shape: &[usize]) -> Result<Value> {
    if axes.iter().any(|&axis| x.shape()[axis] == 0) {
        return Err(call.refuse("the greatest of no elements"));
    }
    let value = with_axes(call, op, "", x, axes, shape, vec![])?;
    if x.element() == Element::Bool { call.mask(&value) } else { Ok(value) }
}

fn l1(call: &mut Call, x: &Value, axes: &[usize], shape: &[usize]) -> Result<Value> {
    let size = call.like("abs", x, vec![])?;
    sum(call, &size, axes, shape)
}

fn sum_square(call: &mut Call, x: &Value, axes: &[usize], shape: &[usize]) -> Result<Value> {
    let square = call.like("square", x, vec![])?;
    sum(call, &square, axes, shape)
}

fn l2(call: &mut Call, x: &Value, axes: &[usize], shape: &[usize]) -> Result<Value> {
    let tensor = call.number(x)?;
    if axes.is_empty() {
        return call.like("abs", x, vec![]);
    }
    let arguments = vec![tensor, Float(2.0), integers(axes), Bool(true)];
    call.op("linalg_vector_norm", "", arguments, shape, float_of(x.element()))
}

fn log_sum(call: &mut Call, x: &Value, axes: &[usize], shape: &[usize]) -> Result<Value> {
    let sum = sum(call, x, axes, shape)?;
    call.like("log", &sum, vec![])
}

/// Factor by factor.
fn product(call: &mut Call, x: &Value, axes: &[usize], shape: &[usize]) -> Result<Value> {
    let kept: Vec<usize> = (0..x.rank()).filter(|axis| !axes.contains(axis)).collect();
    let order = [&kept[..], axes].concat();
    let count: usize = axes.iter().map(|&axis| x.shape()[axis]).product();
    if count > MOST_FACTORS {
        return Err(call.refuse(format!("a product of {count} factors")));
    }
    let rest: usize = kept.iter().map(|&axis| x.shape()[axis]).product();
    let value = permuted(call, x, &order)?;
    let rows = reshaped(call, &value, &[rest, count])?;
    if count == 0 {
        let ones = call.b.filled(1.0, shape)?;
        return call.op("clone", "", vec![ones, Absent], shape, x.element());
    }
    let mut value = super::shape::sliced(call, &rows, 1, 0, 1, 1)?;
    for at in 1..count {
        let factor = super::shape::sliced(call, &rows, 1, at, 1, 1)?;
        value = call.mul(&value, &factor)?;
    }
    reshaped(call, &value, shape)
}

/// Along an axis; before opset 13 over all elements from the axis on.
fn softmax(call: &mut Call, op: &str) -> Outputs {
    let x = call.input(0)?;
    let shape = x.shape().to_vec();
    let is_flat = call.opset < 13;
    let axis = call.axis_named("axis", if is_flat { 1 } else { -1 }, x.rank())?;
    let (x, axis) = match is_flat {
        true => (reshaped(call, &x, &[shape[..axis].iter().product(), shape[axis..].iter().product()])?, 1),
        false => (x, axis),
    };
    let value = call.like(op, &x, vec![Integer(axis as i64), Absent])?;
    Ok(vec![reshaped(call, &value, &shape)?])
}

/// `x` over its length along an axis; 0 where that is 0.
fn lp_normalization(call: &mut Call) -> Outputs {
    let (x, p) = (call.input(0)?, call.integer("p", 2)?);
    let axis = call.axis_named("axis", -1, x.rank())?;
    let mut shape = x.shape().to_vec();
    shape[axis] = 1;
    let length = match p {
        1 => l1(call, &x, &[axis], &shape)?,
        2 => l2(call, &x, &[axis], &shape)?,
        other => return Err(call.wrong(format!("p = {other}"))),
    };
    let zero = super::super::call::number(0.0);
    let is_zero = call.elementwise("eq", "Scalar", &[&length, &zero], vec![], Element::Bool)?;
    let one = super::super::call::number(1.0);
    let divisor = call.elementwise("where", "self", &[&is_zero, &one, &length], vec![], x.element())?;
    Ok(vec![call.div(&x, &divisor)?])
}

/// A product with a triangle of ones.
fn cumulative_sum(call: &mut Call) -> Outputs {
    let x = call.input(0)?;
    let axis = call.axis(call.known_number(1)? as i64, x.rank())?;
    let (is_exclusive, is_reverse) = (call.integer("exclusive", 0)? != 0, call.integer("reverse", 0)? != 0);
    let count = x.shape()[axis];
    fold::check_length(&[count, count])?;
    let is_added = |to: usize, from: usize| {
        let (to, from) = if is_reverse { (from, to) } else { (to, from) };
        from < to || from == to && !is_exclusive
    };
    if let Value::Known(known) = &x
        && let super::super::known::Numbers::Integers(list) = &*known.numbers
    {
        let stride: usize = known.shape[axis + 1..].iter().product();
        let value = |at: usize| {
            let (to, first) = (at / stride % count, at - at / stride % count * stride);
            (0..count)
                .filter(|&from| is_added(to, from))
                .map(|from| list[first + from * stride])
                .fold(0, i64::wrapping_add)
        };
        let values = (0..list.len()).map(value).collect();
        return Ok(vec![Value::Known(Known { element: known.element, ..Known::integers(&known.shape, values) })]);
    }
    if x.element().is_integer() {
        return Err(call.refuse("a sum of integers computed from the events"));
    }
    let triangle = (0..count * count).map(|at| f64::from(u8::from(is_added(at % count, at / count)))).collect();
    let triangle = Value::Known(Known::floats(&[count, count], triangle));
    let last = x.rank() - 1;
    let mut order: Vec<usize> = (0..x.rank()).collect();
    order.swap(axis, last);
    let turned = permuted(call, &x, &order)?;
    let (tensor, matrix) = (call.number(&turned)?, call.b.tensor(&triangle)?);
    let value = call.op("matmul", "", vec![tensor, matrix], turned.shape(), x.element())?;
    Ok(vec![permuted(call, &value, &order)?])
}
