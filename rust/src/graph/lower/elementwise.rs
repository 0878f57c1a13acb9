//! Operators element by element, operands broadcast.

use std::f64::consts::{LN_2, PI};

use super::compare::{Comparison, EXACT, compared};
use super::{Call, Lowered, Operator};
use crate::error::Result;
use crate::graph::program::{Kind, Tensor};
use crate::graph::{DType, Function};

/// `lower: f(x)` for an operator that is one function of its first argument.
macro_rules! unary {
    ($function:ident) => {
        |call| {
            let x = call.tensor(0)?;
            Ok(vec![call.map(Function::$function, &[&x])?])
        }
    };
}

/// `lower: f(a, b)` for an operator that is one function of its first two arguments.
macro_rules! binary {
    ($function:ident) => {
        |call| {
            let (a, b) = (call.tensor(0)?, call.tensor(1)?);
            Ok(vec![call.map(Function::$function, &[&a, &b])?])
        }
    };
}

pub(super) const TABLE: &[Operator] = &[
    Operator { name: "add", does: "`a + alpha b`", lower: |call| sum(call, 1.0) },
    Operator { name: "sub", does: "`a - alpha b`", lower: |call| sum(call, -1.0) },
    Operator { name: "rsub", does: "`b - alpha a`", lower: rsub },
    Operator { name: "mul", does: "`a b`; of masks: both", lower: product },
    Operator { name: "div", does: "`a / b`; rounded towards 0, with derivative 0", lower: div },
    Operator { name: "neg", does: "`-x`", lower: unary!(Neg) },
    Operator { name: "pow", does: "`a^b`", lower: pow },
    Operator { name: "square", does: "`x^2`", lower: unary!(Squared) },
    Operator { name: "reciprocal", does: "`1 / x`", lower: unary!(Reciprocal) },
    Operator { name: "exp", does: "`exp(x)`", lower: unary!(Exp) },
    Operator { name: "expm1", does: "`exp(x) - 1`", lower: unary!(Expm1) },
    Operator { name: "log", does: "`log(x)`", lower: unary!(Log) },
    Operator { name: "log1p", does: "`log(1 + x)`", lower: unary!(Log1p) },
    Operator { name: "sqrt", does: "`sqrt(x)`", lower: unary!(Sqrt) },
    Operator { name: "rsqrt", does: "`1 / sqrt(x)`", lower: unary!(Rsqrt) },
    Operator { name: "exp2", does: "`2^x`", lower: unary!(Exp2) },
    Operator { name: "log2", does: "logarithm to base 2", lower: unary!(Log2) },
    Operator { name: "log10", does: "logarithm to base 10", lower: unary!(Log10) },
    Operator { name: "tan", does: "`tan(x)`", lower: unary!(Tan) },
    Operator { name: "asin", does: "`asin(x)`", lower: unary!(Asin) },
    Operator { name: "acos", does: "`acos(x)`", lower: unary!(Acos) },
    Operator { name: "atan", does: "`atan(x)`", lower: unary!(Atan) },
    Operator { name: "sinh", does: "`sinh(x)`", lower: unary!(Sinh) },
    Operator { name: "cosh", does: "`cosh(x)`", lower: unary!(Cosh) },
    Operator { name: "asinh", does: "`asinh(x)`", lower: unary!(Asinh) },
    Operator { name: "acosh", does: "`acosh(x)`", lower: unary!(Acosh) },
    Operator { name: "atanh", does: "`atanh(x)`", lower: unary!(Atanh) },
    Operator { name: "erfc", does: "`1 - erf(x)`", lower: unary!(ErfComplement) },
    Operator { name: "floor", does: "the integer not above `x`, derivative 0", lower: unary!(Floor) },
    Operator { name: "ceil", does: "the integer not below `x`, derivative 0", lower: unary!(Ceil) },
    Operator { name: "round", does: "the nearest integer, derivative 0", lower: round },
    Operator { name: "trunc", does: "`x` without its fraction, derivative 0", lower: unary!(Trunc) },
    Operator { name: "frac", does: "the fraction of `x`, with its sign", lower: fraction },
    Operator { name: "hardswish", does: "`x clamp(x + 3, 0, 6) / 6`", lower: hardswish },
    Operator {
        name: "fmax",
        does: "the greater one, or the one that is a number; of equals `a`",
        lower: |call| of_numbers(call, true),
    },
    Operator {
        name: "fmin",
        does: "the smaller one, or the one that is a number; of equals `a`",
        lower: |call| of_numbers(call, false),
    },
    Operator { name: "sign", does: "-1, 0 or 1, derivative 0", lower: unary!(Sign) },
    Operator { name: "sgn", does: "-1, 0 or 1, derivative 0", lower: unary!(Sign) },
    Operator { name: "atan2", does: "the angle of the point `(b, a)`", lower: binary!(Atan2) },
    Operator { name: "hypot", does: "`sqrt(a^2 + b^2)`", lower: binary!(Hypot) },
    Operator { name: "logaddexp", does: "`log(exp(a) + exp(b))`", lower: binary!(LogAddExp) },
    Operator { name: "logaddexp2", does: "`log2(2^a + 2^b)`", lower: logaddexp2 },
    Operator { name: "fmod", does: "`a - b trunc(a / b)`", lower: binary!(Fmod) },
    Operator { name: "remainder", does: "`a - b floor(a / b)`", lower: binary!(Remainder) },
    Operator { name: "xlogy", does: "`a log(b)`, 0 where `a` is 0", lower: binary!(Xlogy) },
    Operator { name: "addcmul", does: "`x + value a b`", lower: |call| combined(call, Function::Mul) },
    Operator { name: "addcdiv", does: "`x + value a / b`", lower: |call| combined(call, Function::Div) },
    Operator { name: "lerp", does: "`a + weight (b - a)`, from the nearer end", lower: lerp },
    Operator { name: "deg2rad", does: "`pi / 180 x`", lower: |call| turned(call, PI / 180.0) },
    Operator { name: "rad2deg", does: "`180 / pi x`", lower: |call| turned(call, 180.0 / PI) },
    Operator { name: "sin", does: "`sin(x)`", lower: unary!(Sin) },
    Operator { name: "cos", does: "`cos(x)`", lower: unary!(Cos) },
    Operator { name: "erf", does: "`erf(x)`", lower: unary!(Erf) },
    Operator { name: "abs", does: "`abs(x)`, derivative 0 at 0", lower: unary!(Abs) },
    Operator { name: "tanh", does: "`tanh(x)`", lower: unary!(Tanh) },
    Operator { name: "sigmoid", does: "`1 / (1 + exp(-x))`", lower: unary!(Sigmoid) },
    Operator { name: "log_sigmoid", does: "`log(sigmoid(x))`", lower: unary!(LogSigmoid) },
    Operator { name: "relu", does: "`max(x, 0)`, derivative 0 at 0; 0 of a negative zero too", lower: unary!(Relu) },
    Operator { name: "leaky_relu", does: "`x` above 0, `slope x` below", lower: binary!(Leaky) },
    Operator { name: "elu", does: "`scale x` above 0, `scale alpha (exp(x input_scale) - 1)` below", lower: elu },
    Operator { name: "silu", does: "`x sigmoid(x)`", lower: unary!(Silu) },
    Operator { name: "gelu", does: "`x Phi(x)`, exact or the tanh approximation", lower: gelu },
    Operator { name: "softplus", does: "`log(1 + exp(beta x)) / beta`, linear above the threshold", lower: softplus },
    Operator { name: "clamp", does: "`x` between two numbers; at one of them the derivative is 1", lower: clamp },
    Operator {
        name: "clamp_min",
        does: "`x`, but not below a number",
        lower: |call| one_bound(call, Function::ClampMin),
    },
    Operator {
        name: "clamp_max",
        does: "`x`, but not above a number",
        lower: |call| one_bound(call, Function::ClampMax),
    },
    Operator { name: "maximum", does: "the greater one; a tie gives each half", lower: binary!(Maximum) },
    Operator { name: "minimum", does: "the smaller one; a tie gives each half", lower: binary!(Minimum) },
    Operator { name: "where", does: "`a` where the mask is true, else `b`", lower: choose },
    Operator { name: "masked_fill", does: "a number where the mask is true, else `x`", lower: masked_fill },
    Operator { name: "lt", does: "mask of `a < b`", lower: |call| compared(call, Comparison::Less, false) },
    Operator { name: "le", does: "mask of `a <= b`", lower: |call| compared(call, Comparison::LessEqual, false) },
    Operator { name: "gt", does: "mask of `a > b`", lower: |call| compared(call, Comparison::Less, true) },
    Operator { name: "ge", does: "mask of `a >= b`", lower: |call| compared(call, Comparison::LessEqual, true) },
    Operator { name: "eq", does: "mask of `a == b`", lower: |call| compared(call, Comparison::Equal, false) },
    Operator { name: "ne", does: "mask of `a != b`", lower: |call| compared(call, Comparison::NotEqual, false) },
];

fn fraction(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let whole = call.map(Function::Trunc, &[&x])?;
    Ok(vec![call.map(Function::Sub, &[&x, &whole])?])
}

fn logaddexp2(call: &mut Call) -> Lowered {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let (a, b) = (call.scaled(&a, LN_2)?, call.scaled(&b, LN_2)?);
    let sum = call.map(Function::LogAddExp, &[&a, &b])?;
    Ok(vec![call.map_number(Function::Div, &sum, LN_2)?])
}

fn hardswish(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let (zero, three) = (call.literal(0.0)?, call.literal(3.0)?);
    let is_above = call.map(Function::LessEqual, &[&three, &x])?;
    let bent = call.map(Function::Where, &[&is_above, &zero, &x])?; // finite, so that 0 comes back from what is not chosen
    let shifted = call.map_number(Function::Add, &bent, 3.0)?;
    let is_below = call.map_number(Function::LessEqual, &bent, -3.0)?; // at the kink itself the derivative is 0
    let gate = call.map(Function::Where, &[&is_below, &zero, &shifted])?;
    let product = call.map(Function::Mul, &[&bent, &gate])?;
    let below = call.map_number(Function::Div, &product, 6.0)?;
    Ok(vec![call.map(Function::Where, &[&is_above, &x, &below])?])
}

/// `fmax(a, b)` or `fmin(a, b)`
fn of_numbers(call: &mut Call, greater: bool) -> Lowered {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let sides = if greater { [&b, &a] } else { [&a, &b] };
    let is_first = call.map(Function::LessEqual, &sides)?;
    let is_only = call.map(Function::NotEqual, &[&b, &b])?;
    let chooses = call.map(Function::Or, &[&is_first, &is_only])?;
    Ok(vec![call.map(Function::Where, &[&chooses, &a, &b])?])
}

/// `a + sign alpha b`
fn sum(call: &mut Call, sign: f64) -> Lowered {
    let (a, b, alpha) = (call.tensor(0)?, call.tensor(1)?, call.number_or(2, 1.0)?);
    Ok(vec![match sign * alpha {
        1.0 => call.map(Function::Add, &[&a, &b])?,
        -1.0 => call.map(Function::Sub, &[&a, &b])?,
        factor => {
            let b = call.scaled(&b, factor)?;
            call.map(Function::Add, &[&a, &b])?
        }
    }])
}

fn product(call: &mut Call) -> Lowered {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let function = if call.returns(DType::Bool) { Function::And } else { Function::Mul };
    Ok(vec![call.map(function, &[&a, &b])?])
}

fn rsub(call: &mut Call) -> Lowered {
    let (a, b, alpha) = (call.tensor(0)?, call.tensor(1)?, call.number_or(2, 1.0)?);
    let a = call.scaled(&a, alpha)?;
    Ok(vec![call.map(Function::Sub, &[&b, &a])?])
}

fn div(call: &mut Call) -> Lowered {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let quotient = call.map(Function::Div, &[&a, &b])?;
    if call.is_none(2) {
        return Ok(vec![quotient]);
    }
    match call.text(2)? {
        "trunc" => Ok(vec![call.map(Function::Trunc, &[&quotient])?]),
        _ => Err(call.refuse("rounds down, which LibTorch does from what fmod() leaves")),
    }
}

/// An angle in other units.
fn turned(call: &mut Call, factor: f64) -> Lowered {
    let x = call.tensor(0)?;
    Ok(vec![call.scaled(&x, factor)?])
}

/// Powers with a cheaper form take it, as in LibTorch.
fn pow(call: &mut Call) -> Lowered {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let exponent = if call.is_number(1) { call.number(1)? } else { f64::NAN };
    Ok(vec![match exponent {
        2.0 => call.map(Function::Squared, &[&a])?,
        3.0 => {
            let square = call.map(Function::Squared, &[&a])?;
            call.map(Function::Mul, &[&square, &a])?
        }
        0.5 => call.map(Function::Sqrt, &[&a])?,
        -0.5 => call.map(Function::Rsqrt, &[&a])?,
        -1.0 => call.map(Function::Reciprocal, &[&a])?,
        _ => call.map(Function::Pow, &[&a, &b])?,
    }])
}

fn elu(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let [alpha, scale, input_scale] = [call.finite_or(1, 1.0)?, call.finite_or(2, 1.0)?, call.finite_or(3, 1.0)?];
    if input_scale != 1.0 {
        return Err(call.refuse("scales its input"));
    }
    let value = call.map_number(Function::Elu, &x, alpha)?;
    Ok(vec![call.scaled(&value, scale)?])
}

fn gelu(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let function = match if call.is_none(1) { "none" } else { call.text(1)? } {
        "none" => Function::Gelu,
        "tanh" => Function::GeluTanh,
        other => return Err(call.refuse(format!("has the approximation \"{other}\""))),
    };
    Ok(vec![call.map(function, &[&x])?])
}

fn softplus(call: &mut Call) -> Lowered {
    let (x, beta, threshold) = (call.tensor(0)?, call.finite_or(1, 1.0)?, call.finite_or(2, 20.0)?);
    if beta == 0.0 {
        return Err(call.refuse("has beta 0"));
    }
    let scaled = call.scaled(&x, beta)?;
    let value = call.map_number(Function::SoftplusBelow, &scaled, threshold)?;
    if beta == 1.0 {
        return Ok(vec![value]);
    }
    let (below, threshold) = (call.map_number(Function::Div, &value, beta)?, call.literal(threshold)?);
    let is_above = call.map(Function::Less, &[&threshold, &scaled])?;
    Ok(vec![call.map(Function::Where, &[&is_above, &x, &below])?]) // where the product may be infinite
}

fn clamp(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let (low, high) = (call.optional(1)?, call.optional(2)?);
    let value = match (low, high) {
        (Some(low), Some(high)) => between(call, &x, &low, &high)?,
        (Some(low), None) => call.map(Function::ClampMin, &[&x, &low])?,
        (None, Some(high)) => call.map(Function::ClampMax, &[&x, &high])?,
        (None, None) => return Ok(vec![x]),
    };
    bounded(call, &x, &[1, 2], value)
}

fn one_bound(call: &mut Call, function: Function) -> Lowered {
    let (x, bound) = (call.tensor(0)?, call.tensor(1)?);
    let value = call.map(function, &[&x, &bound])?;
    bounded(call, &x, &[1], value)
}

/// A count that is kept from whole numbers, the arguments at these positions, stays one.
fn bounded(call: &Call, x: &Tensor, positions: &[usize], value: Tensor) -> Lowered {
    let is_whole = |&position: &usize| {
        call.is_none(position) || call.integer(position).is_ok_and(|bound| bound.unsigned_abs() < EXACT)
    };
    let is_count = x.kind == Kind::Count && positions.iter().all(is_whole);
    Ok(vec![if is_count { Tensor { kind: Kind::Count, ..value } } else { value }])
}

/// NaN where one of the bounds is NaN, which the kernel treats as no bound.
fn between(call: &mut Call, x: &Tensor, low: &Tensor, high: &Tensor) -> Result<Tensor> {
    for position in [1, 2] {
        if call.is_number(position) && call.number(position)?.is_nan() {
            return Err(call.refuse("has a bound that is not a number"));
        }
    }
    let value = call.map(Function::Clamp, &[x, low, high])?;
    if call.is_number(1) && call.is_number(2) {
        return Ok(value);
    }
    let (no_low, no_high) = (call.map(Function::NotEqual, &[low, low])?, call.map(Function::NotEqual, &[high, high])?);
    let never = call.map(Function::Or, &[&no_low, &no_high])?;
    let nan = call.literal(f64::NAN)?;
    call.map(Function::Where, &[&never, &nan, &value])
}

fn choose(call: &mut Call) -> Lowered {
    let (mask, a, b) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    Ok(vec![call.map(Function::Where, &[&mask, &a, &b])?])
}

fn masked_fill(call: &mut Call) -> Lowered {
    let (x, mask, value) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    Ok(vec![call.map(Function::Where, &[&mask, &value, &x])?])
}

fn round(call: &mut Call) -> Lowered {
    if call.overload() == "decimals" {
        return Err(call.refuse("rounds to decimals"));
    }
    let x = call.tensor(0)?;
    Ok(vec![call.map(Function::Round, &[&x])?])
}

/// `x + value (a ? b)`
fn combined(call: &mut Call, function: Function) -> Lowered {
    let (x, a, b, value) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?, call.number_or(3, 1.0)?);
    let both = call.map(function, &[&a, &b])?;
    let both = call.scaled(&both, value)?;
    Ok(vec![call.map(Function::Add, &[&x, &both])?])
}

/// From the nearer end, as LibTorch has it: a weight of 1 gives `b` whatever `a` is.
fn lerp(call: &mut Call) -> Lowered {
    let (a, b, weight) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    let way = call.map(Function::Sub, &[&b, &a])?;
    if call.is_number(2) {
        let is_small = call.number(2)?.abs() < 0.5;
        return Ok(vec![if is_small { from_a(call, &a, &way, &weight)? } else { from_b(call, &b, &way, &weight)? }]);
    }
    let (from_a, from_b) = (from_a(call, &a, &way, &weight)?, from_b(call, &b, &way, &weight)?);
    let size = call.map(Function::Abs, &[&weight])?;
    let is_small = call.map_number(Function::Less, &size, 0.5)?;
    Ok(vec![call.map(Function::Where, &[&is_small, &from_a, &from_b])?])
}

/// `a + weight way`
fn from_a(call: &mut Call, a: &Tensor, way: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let part = call.map(Function::Mul, &[weight, way])?;
    call.map(Function::Add, &[a, &part])
}

/// `b - (1 - weight) way`
fn from_b(call: &mut Call, b: &Tensor, way: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let one = call.literal(1.0)?;
    let rest = call.map(Function::Sub, &[&one, weight])?;
    let part = call.map(Function::Mul, &[way, &rest])?;
    call.map(Function::Sub, &[b, &part])
}
