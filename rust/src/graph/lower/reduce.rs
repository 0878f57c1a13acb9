//! Operators that look at more than one element of a tensor.

use super::build::without;
use super::indices::greatest_place;
use super::mask::counted;
use super::{Call, Lowered, Operator};
use crate::error::Result;
use crate::graph::program::{Kind, Tensor, Ties};
use crate::graph::{DType, Function};

pub(super) const TABLE: &[Operator] = &[
    Operator { name: "sum", does: "sum over dimensions", lower: sum },
    Operator { name: "mean", does: "mean over dimensions", lower: mean },
    Operator { name: "var", does: "variance over dimensions, with any correction", lower: var },
    Operator { name: "var_mean", does: "variance and mean over dimensions", lower: |call| with_mean(call, variance) },
    Operator {
        name: "std_mean",
        does: "root of the variance, and mean, over dimensions",
        lower: |call| with_mean(call, deviation),
    },
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
    Operator {
        name: "max",
        does: "greatest, or of two the greater one; along a dimension its place, too",
        lower: |call| max(call, 1.0),
    },
    Operator {
        name: "min",
        does: "smallest, or of two the smaller one; along a dimension its place, too",
        lower: |call| max(call, -1.0),
    },
    Operator { name: "norm", does: "`sum(abs(x)^p)^(1/p)` for p = 1, 2 or infinity, derivative 0 at 0", lower: norm },
    Operator { name: "linalg_vector_norm", does: "as norm", lower: norm },
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
    if x.kind == Kind::Mask && call.returns(DType::Int64) {
        return Ok(vec![counted(call, &x, &dims, keep)?]);
    }
    Ok(vec![call.sum(&x, &dims, keep)?])
}

fn mean(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let (dims, keep) = reduced(call, x.view.rank())?;
    Ok(vec![call.mean(&x, &dims, keep)?])
}

fn std(call: &mut Call) -> Lowered {
    let spread = spread(call)?;
    Ok(vec![deviation(call, &spread)?])
}

fn var(call: &mut Call) -> Lowered {
    let spread = spread(call)?;
    Ok(vec![variance(call, &spread)?])
}

fn deviation(call: &mut Call, Spread { centred, dims, keep, divisor }: &Spread) -> Result<Tensor> {
    let length = call.length(centred, dims, *keep)?;
    call.map_number(Function::Div, &length, divisor.sqrt())
}

fn variance(call: &mut Call, Spread { centred, dims, keep, divisor }: &Spread) -> Result<Tensor> {
    let square = call.map(Function::Squared, &[centred])?;
    let total = call.sum(&square, dims, *keep)?;
    call.map_number(Function::Div, &total, *divisor)
}

/// What `of_spread` makes of the elements, and their mean.
fn with_mean(call: &mut Call, of_spread: fn(&mut Call, &Spread) -> Result<Tensor>) -> Lowered {
    let (x, spread) = (call.tensor(0)?, spread(call)?);
    Ok(vec![of_spread(call, &spread)?, call.mean(&x, &spread.dims, spread.keep)?])
}

/// Elements minus their mean, and the divisor of the sum of their squares.
struct Spread {
    centred: Tensor,
    dims: Vec<usize>,
    keep: bool,
    divisor: f64,
}

fn spread(call: &mut Call) -> Result<Spread> {
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
    Ok(Spread { centred, dims, keep, divisor: (count as f64 - correction).max(0.0) })
}

/// `sign * amax(sign * x)`
fn extreme(call: &mut Call, sign: f64) -> Lowered {
    let x = call.tensor(0)?;
    let (dims, keep) = (call.dims(1, x.view.rank())?, call.flag(2)?);
    let x = call.scaled(&x, sign)?;
    let value = call.max(&x, &dims, keep, Ties::Even)?;
    Ok(vec![call.scaled(&value, sign)?])
}

/// `max(x)`, `max(x, dim, keepdim)` or `max(a, b)`; `min` with sign -1.
fn max(call: &mut Call, sign: f64) -> Lowered {
    let x = call.tensor(0)?;
    if call.overload() == "other" {
        let function = if sign > 0.0 { Function::Maximum } else { Function::Minimum };
        let other = call.tensor(1)?;
        return Ok(vec![call.map(function, &[&x, &other])?]);
    }
    if x.kind == Kind::Index {
        return Err(call.refuse("takes integers"));
    }
    let whole = call.overload().is_empty();
    let (dims, keep) = match whole {
        true => ((0..x.view.rank()).collect(), false),
        false => (vec![call.dim(1, x.view.rank())?], call.flag(2)?),
    };
    let dims = if x.view.rank() == 0 { Vec::new() } else { dims };
    let x = call.scaled(&x, sign)?;
    let value = call.max(&x, &dims, keep, if whole { Ties::EvenNan } else { Ties::FirstNan })?;
    let mut results = vec![call.scaled(&value, sign)?];
    if let ([dim], false, true) = (&dims[..], whole, call.is_used(1)) {
        results.push(greatest_place(call, &x, *dim, keep)?);
    }
    Ok(results)
}

/// `norm(x, p, dim, keepdim)`
fn norm(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let rank = x.view.rank();
    let p = call.number_or(1, 2.0)?;
    let whole = call.overload() == "Scalar";
    let (dims, keep) = if whole { ((0..rank).collect(), false) } else { (call.dims(2, rank)?, call.flag(3)?) };
    Ok(vec![if p == 2.0 {
        call.length(&x, &dims, keep)?
    } else if p == 1.0 {
        let size = call.map(Function::Abs, &[&x])?;
        call.sum(&size, &dims, keep)?
    } else if p == f64::INFINITY && !x.view.is_empty() {
        let size = call.map(Function::Abs, &[&x])?;
        call.max(&size, &dims, keep, Ties::EvenNan)?
    } else {
        return Err(call.refuse(format!("takes p = {p}")));
    }])
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
    let greatest = call.max(&fixed, &dims, true, Ties::Even)?;
    let size = call.map(Function::Abs, &[&greatest])?;
    let finite = call.map_number(Function::NotEqual, &size, f64::INFINITY)?;
    let zero = call.literal(0.0)?;
    let shift = call.map(Function::Where, &[&finite, &greatest, &zero])?;
    let shifted = call.map(Function::Sub, &[&x, &shift])?;
    let exponential = call.map(Function::Exp, &[&shifted])?;
    let total = call.sum(&exponential, &dims, true)?;
    let logarithm = call.map(Function::Log, &[&total])?;
    let value = call.map(Function::Add, &[&logarithm, &shift])?;
    Ok(vec![if keep { value } else { without(&value, &dims) }])
}
