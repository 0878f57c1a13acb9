//! Operators that look at more than one element of a tensor.

use super::build::without;
use super::{Call, Lowered, Operator};
use crate::error::Result;
use crate::graph::Function;
use crate::graph::program::Tensor;

pub(super) const TABLE: &[Operator] = &[
    Operator { name: "sum", does: "sum over dimensions", lower: sum },
    Operator { name: "mean", does: "mean over dimensions", lower: mean },
    Operator { name: "var", does: "variance over dimensions, with any correction", lower: var },
    Operator { name: "std", does: "square root of the variance, derivative 0 at 0", lower: std },
    Operator {
        name: "amax",
        does: "greatest over dimensions; equals share the derivative",
        lower: |call| extreme(call, 1.0),
    },
    Operator {
        name: "amin",
        does: "smallest over dimensions; equals share the derivative",
        lower: |call| extreme(call, -1.0),
    },
    Operator { name: "softmax", does: "`exp(x)` over its sum along a dimension", lower: |call| softmax(call, false) },
    Operator { name: "_softmax", does: "as softmax", lower: |call| softmax(call, false) },
    Operator { name: "log_softmax", does: "logarithm of softmax", lower: |call| softmax(call, true) },
    Operator { name: "_log_softmax", does: "as log_softmax", lower: |call| softmax(call, true) },
    Operator { name: "logsumexp", does: "`log(sum(exp(x)))` over dimensions", lower: logsumexp },
];

/// Dimensions and whether they stay: `sum(x, dtype)` or `sum(x, dim, keepdim, dtype)`.
fn reduced(call: &Call, rank: usize) -> Result<(Vec<usize>, bool)> {
    if call.overload().is_empty() {
        return Ok(((0..rank).collect(), false));
    }
    Ok((call.dims(1, rank)?, call.flag(2)?))
}

fn sum(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let (dims, keep) = reduced(call, x.view.rank())?;
    Ok(vec![call.sum(&x, &dims, keep)?])
}

fn mean(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let (dims, keep) = reduced(call, x.view.rank())?;
    Ok(vec![call.mean(&x, &dims, keep)?])
}

fn var(call: &mut Call) -> Lowered {
    Ok(vec![variance(call)?])
}

/// The root of 0 is taken of 1 instead: its derivative there is infinite.
fn std(call: &mut Call) -> Lowered {
    let variance = variance(call)?;
    let is_zero = call.map_number(Function::Equal, &variance, 0.0)?;
    let (zero, one) = (call.literal(0.0)?, call.literal(1.0)?);
    let positive = call.map(Function::Where, &[&is_zero, &one, &variance])?;
    let root = call.map(Function::Sqrt, &[&positive])?;
    Ok(vec![call.map(Function::Where, &[&is_zero, &zero, &root])?])
}

fn variance(call: &mut Call) -> Result<Tensor> {
    let x = call.tensor(0)?;
    let rank = x.view.rank();
    let (dims, correction, keep) = match call.overload() {
        "correction" => (call.dims(1, rank)?, call.number_or(2, 1.0)?, call.flag(3)?),
        "dim" => (call.dims(1, rank)?, f64::from(u8::from(call.flag(2)?)), call.flag(3)?),
        "" => ((0..rank).collect(), f64::from(u8::from(call.flag(1)?)), false),
        _ => return Err(call.refuse("is not supported in this form")),
    };
    let count: usize = dims.iter().map(|&dim| x.view.sizes[dim]).product();
    let mean = call.mean(&x, &dims, true)?;
    let centred = call.map(Function::Sub, &[&x, &mean])?;
    // A mean far from 0 is rounded by more than the deviations may be: what that leaves is taken off.
    let rest = call.mean(&centred, &dims, true)?;
    let centred = call.map(Function::Sub, &[&centred, &rest])?;
    let square = call.map(Function::Squared, &[&centred])?;
    let total = call.sum(&square, &dims, keep)?;
    call.map_number(Function::Div, &total, (count as f64 - correction).max(0.0))
}

/// `sign * amax(sign * x)`
fn extreme(call: &mut Call, sign: f64) -> Lowered {
    let x = call.tensor(0)?;
    let (dims, keep) = (call.dims(1, x.view.rank())?, call.flag(2)?);
    let x = call.scaled(&x, sign)?;
    let value = call.greatest(&x, &dims, keep, true)?;
    Ok(vec![call.scaled(&value, sign)?])
}

fn softmax(call: &mut Call, logarithm: bool) -> Lowered {
    let x = call.tensor(0)?;
    let dim = call.dim(1, x.view.rank())?;
    Ok(vec![call.softmax(&x, dim, logarithm)?])
}

/// `m + log(sum(exp(x - m)))` with the greatest element as m, or 0 where that is infinite.
fn logsumexp(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let (dims, keep) = (call.dims(1, x.view.rank())?, call.flag(2)?);
    let fixed = call.detached(&x)?;
    let greatest = call.greatest(&fixed, &dims, true, true)?;
    let size = call.map(Function::Abs, &[&greatest])?;
    let finite = call.map_number(Function::NotEqual, &size, f64::INFINITY)?;
    let zero = call.literal(0.0)?;
    let shift = call.map(Function::Where, &[&finite, &greatest, &zero])?;
    let shifted = call.map(Function::Sub, &[&x, &shift])?;
    let exponential = call.map(Function::PowerOfE, &[&shifted])?;
    let total = call.sum(&exponential, &dims, true)?;
    let logarithm = call.map(Function::Log, &[&total])?;
    let value = call.map(Function::Add, &[&logarithm, &shift])?;
    Ok(vec![if keep { value } else { without(&value, &dims) }])
}
