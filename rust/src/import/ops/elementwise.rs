//! Operators element by element.

use super::super::call::{Call, Outputs, float_of, number};
use super::super::fold;
use super::super::known::{Element, Known};
use super::super::value::Value;
use super::{Operator, all, but};
use crate::error::Result;
use crate::graph::ObservedArgument::{self as Argument, Float, Integer, Text};

/// `read: f(x)` for an operator that is one of LibTorch's, with further arguments.
macro_rules! unary {
    ($op:literal $(, $more:expr)*) => {
        |call| of_one(call, $op, vec![$($more),*])
    };
}

macro_rules! binary {
    ($op:literal, $overload:literal) => {
        |call| of_two(call, $op, $overload)
    };
}

pub const TABLE: &[Operator] = &[
    all("Abs", unary!("abs")),
    all("Acos", unary!("acos")),
    all("Acosh", unary!("acosh")),
    all("Add", add),
    all("And", binary!("logical_and", "")),
    all("Asin", unary!("asin")),
    all("Asinh", unary!("asinh")),
    all("Atan", unary!("atan")),
    all("Atanh", unary!("atanh")),
    but("BitShift", "integers computed from the events", bit_shift),
    but("BitwiseAnd", "integers computed from the events", folded),
    but("BitwiseNot", "integers computed from the events", folded),
    but("BitwiseOr", "integers computed from the events", folded),
    but("BitwiseXor", "integers computed from the events", folded),
    all("Cast", cast),
    all("CastLike", cast_like),
    all("Ceil", unary!("ceil")),
    all("Celu", celu),
    all("Clip", clip),
    all("Cos", unary!("cos")),
    all("Cosh", unary!("cosh")),
    all("Div", binary!("div", "Tensor")),
    all("Elu", |call| with_number(call, "elu", "alpha", 1.0)),
    all("Equal", binary!("eq", "Tensor")),
    all("Erf", unary!("erf")),
    all("Exp", unary!("exp")),
    all("Floor", unary!("floor")),
    all("Gelu", gelu),
    all("Greater", binary!("gt", "Tensor")),
    all("GreaterOrEqual", binary!("ge", "Tensor")),
    all("HardSigmoid", hard_sigmoid),
    all("HardSwish", unary!("hardswish")),
    all("Identity", identity),
    all("IsInf", is_inf),
    all("IsNaN", |call| mask_of(call, "isnan")),
    all("LeakyRelu", |call| with_number(call, "leaky_relu", "alpha", 0.01)),
    all("Less", binary!("lt", "Tensor")),
    all("LessOrEqual", binary!("le", "Tensor")),
    all("Log", unary!("log")),
    all("Max", |call| of_many(call, "maximum", "Max")),
    all("Mean", mean),
    all("Min", |call| of_many(call, "minimum", "Min")),
    all("Mish", unary!("mish")),
    but("Mod", "integers computed from the events", modulo),
    all("Mul", binary!("mul", "Tensor")),
    all("Neg", unary!("neg")),
    all("Not", not),
    all("Or", binary!("logical_or", "")),
    all("Pow", pow),
    all("PRelu", prelu),
    all("Reciprocal", unary!("reciprocal")),
    all("Relu", unary!("relu")),
    all("Round", unary!("round")),
    all("Selu", selu),
    all("Shrink", shrink),
    all("Sigmoid", unary!("sigmoid")),
    all("Sign", unary!("sign")),
    all("Sin", unary!("sin")),
    all("Sinh", unary!("sinh")),
    all("Softplus", unary!("softplus", Float(1.0), Float(40.0))), // beyond 40 it is x to the last digit of a double
    all("Softsign", softsign),
    all("Sqrt", unary!("sqrt")),
    all("Sub", binary!("sub", "Tensor")),
    all("Sum", |call| of_many(call, "add", "Add")),
    all("Swish", swish),
    all("Tan", unary!("tan")),
    all("Tanh", unary!("tanh")),
    all("ThresholdedRelu", thresholded),
    all("Where", choose),
    all("Xor", binary!("logical_xor", "")),
];

/// The known inputs, if all are constant; `None` if a fit may change one of them.
fn constants<'a>(inputs: &[&'a Value]) -> Option<Vec<&'a Known>> {
    let known: Vec<&Known> = inputs.iter().map(|value| value.known()).collect::<Option<_>>()?;
    (!known.iter().any(|known| known.may_train())).then_some(known)
}

/// Computed now where every input is known.
fn try_fold(operator: &str, inputs: &[&Value]) -> Result<Option<Value>> {
    match constants(inputs) {
        Some(known) => Ok(fold::elementwise(operator, &known)?.map(Value::Known)),
        None => Ok(None),
    }
}

/// Integers of which every digit counts.
fn refuse_integers(call: &Call, inputs: &[&Value]) -> Result<()> {
    match inputs.iter().any(|value| value.element().is_integer()) {
        true => Err(call.refuse("arithmetic on integers computed from the events")),
        false => Ok(()),
    }
}

fn folded(call: &mut Call) -> Outputs {
    let inputs = call.all_inputs()?;
    let value = try_fold(call.node.operator, &inputs.iter().collect::<Vec<_>>())?;
    Ok(vec![value.ok_or_else(|| call.refuse("arithmetic on integers computed from the events"))?])
}

fn of_one(call: &mut Call, op: &str, more: Vec<Argument>) -> Outputs {
    let x = call.input(0)?;
    if let Some(value) = try_fold(call.node.operator, &[&x])? {
        return Ok(vec![value]);
    }
    refuse_integers(call, &[&x])?;
    Ok(vec![call.like(op, &x, more)?])
}

fn of_two(call: &mut Call, op: &str, overload: &str) -> Outputs {
    let inputs = [call.input(0)?, call.input(1)?];
    let [a, b] = [&inputs[0], &inputs[1]];
    if let Some(value) = try_fold(call.node.operator, &[a, b])? {
        return Ok(vec![value]);
    }
    let is_arithmetic = matches!(op, "sub" | "mul" | "div");
    if is_arithmetic {
        refuse_integers(call, &[a, b])?;
    }
    let element = if is_arithmetic { float_of(a.element()) } else { Element::Bool };
    let more = if op == "sub" { vec![Integer(1)] } else { vec![] };
    Ok(vec![call.elementwise(op, overload, &[a, b], more, element)?])
}

/// A sum; the term of a layer before it becomes its bias.
fn add(call: &mut Call) -> Outputs {
    let inputs = [call.input(0)?, call.input(1)?];
    let [a, b] = [&inputs[0], &inputs[1]];
    if let Some(value) = try_fold("Add", &[a, b])? {
        return Ok(vec![value]);
    }
    refuse_integers(call, &[a, b])?;
    for (at, x, term) in [(0, a, b), (1, b, a)] {
        if let Some(value) = super::product::with_bias(call, at, x, term)? {
            return Ok(vec![value]);
        }
    }
    Ok(vec![call.add(a, b)?])
}

fn with_number(call: &mut Call, op: &str, attribute: &str, otherwise: f64) -> Outputs {
    let value = call.float(attribute, otherwise)?;
    of_one(call, op, vec![Float(value)])
}

fn mask_of(call: &mut Call, op: &str) -> Outputs {
    let x = call.input(0)?;
    let tensor = call.number(&x)?;
    Ok(vec![call.op(op, "", vec![tensor], x.shape(), Element::Bool)?])
}

fn not(call: &mut Call) -> Outputs {
    let x = call.input(0)?;
    match try_fold("Not", &[&x])? {
        Some(value) => Ok(vec![value]),
        None => mask_of(call, "logical_not"),
    }
}

fn identity(call: &mut Call) -> Outputs {
    Ok(vec![call.input(0)?])
}

fn bit_shift(call: &mut Call) -> Outputs {
    let operator = if call.text("direction", "")? == "LEFT" { "BitShiftLeft" } else { "BitShiftRight" };
    let inputs = [call.input(0)?, call.input(1)?];
    let value = try_fold(operator, &[&inputs[0], &inputs[1]])?;
    Ok(vec![value.ok_or_else(|| call.refuse("arithmetic on integers computed from the events"))?])
}

fn modulo(call: &mut Call) -> Outputs {
    let inputs = [call.input(0)?, call.input(1)?];
    let [a, b] = [&inputs[0], &inputs[1]];
    if call.integer("fmod", 0)? == 0 {
        return folded(call);
    }
    refuse_integers(call, &[a, b])?;
    Ok(vec![call.elementwise("fmod", "Tensor", &[a, b], vec![], a.element())?])
}

/// The same function of two, several times.
fn of_many(call: &mut Call, op: &str, operator: &str) -> Outputs {
    let inputs = call.all_inputs()?;
    let (first, rest) = inputs.split_first().ok_or_else(|| call.wrong("there is no input"))?;
    let mut value = first.clone();
    for next in rest {
        value = match try_fold(operator, &[&value, next])? {
            Some(value) => value,
            None => {
                refuse_integers(call, &[&value, next])?;
                let (more, overload) = if op == "add" { (vec![Integer(1)], "Tensor") } else { (vec![], "") };
                let element = value.element();
                call.elementwise(op, overload, &[&value, next], more, element)?
            }
        };
    }
    Ok(vec![value])
}

fn mean(call: &mut Call) -> Outputs {
    let count = call.inputs.len() as f64;
    let sum = of_many(call, "add", "Add")?.remove(0);
    Ok(vec![call.affine(&sum, 1.0 / count, 0.0)?])
}

fn pow(call: &mut Call) -> Outputs {
    let inputs = [call.input(0)?, call.input(1)?];
    let [a, b] = [&inputs[0], &inputs[1]];
    if let Some(value) = try_fold("Pow", &[a, b])? {
        return Ok(vec![value]);
    }
    if a.element().is_integer() {
        return Err(call.refuse("powers of integers"));
    }
    // A known exponent of several numbers does not train: its derivative is none below 0.
    let exponent = match b {
        Value::Known(known) if known.numbers.uniform().is_some() && call.broadcast(&[a, b])? == a.shape() => {
            Float(known.numbers.uniform().unwrap_or_default())
        }
        other => call.b.tensor_if(other, false)?,
    };
    let shape = call.broadcast(&[a, b])?;
    let base = call.number(a)?;
    Ok(vec![call.op("pow", "", vec![base, exponent], &shape, float_of(a.element()))?])
}

/// `x` as another type. A cast between types of numbers changes no number: everything is computed in float32.
pub fn cast_to(call: &mut Call, x: &Value, to: Element) -> Result<Value> {
    if let Value::Known(known) = x {
        return Ok(Value::Known(fold::cast(known, to)));
    }
    let from = x.element();
    match (from.is_float(), to) {
        (_, Element::Bool) => call.mask(x),
        (true, to) if to.is_integer() => {
            if to != Element::Int64 && to != Element::Int32 {
                return Err(call.refuse("a cast to integers of fewer than 32 bits"));
            }
            let whole = call.like("trunc", x, vec![])?;
            Ok(retyped(whole, to))
        }
        _ if from == Element::Bool => {
            let tensor = call.b.tensor(x)?;
            let value = call.op("to", "", vec![tensor], x.shape(), Element::Float32)?;
            Ok(retyped(value, to))
        }
        _ => Ok(retyped(x.clone(), to)),
    }
}

fn retyped(value: Value, element: Element) -> Value {
    match value {
        Value::Computed(computed) => Value::Computed(super::super::value::Computed { element, ..computed }),
        known => known,
    }
}

fn cast(call: &mut Call) -> Outputs {
    let (x, number) = (call.input(0)?, call.integer("to", 0)?);
    let to = Element::of(number).map_err(|_| call.refuse(format!("a cast to type {number}")))?;
    Ok(vec![cast_to(call, &x, to)?])
}

fn cast_like(call: &mut Call) -> Outputs {
    let (x, to) = (call.input(0)?, call.input(1)?.element());
    Ok(vec![cast_to(call, &x, to)?])
}

/// alpha (exp(x / alpha) - 1) below 0
fn celu(call: &mut Call) -> Outputs {
    with_number(call, "celu", "alpha", 1.0)
}

fn selu(call: &mut Call) -> Outputs {
    let alpha = call.float("alpha", 1.673_263_192_176_818_8)?; // ONNX's defaults are float32
    let gamma = call.float("gamma", 1.050_701_022_148_132_3)?;
    of_one(call, "elu", vec![Float(alpha), Float(gamma), Float(1.0)])
}

fn clip(call: &mut Call) -> Outputs {
    let x = call.input(0)?;
    let bounds = match call.opset < 11 {
        true => [("min", f32::MIN), ("max", f32::MAX)].map(|(name, otherwise)| {
            let given = call.attribute(name).is_some();
            let value = call.float(name, otherwise.into());
            value.map(|value| given.then(|| number(value)))
        }),
        false => [Ok(call.optional(1)), Ok(call.optional(2))],
    };
    let [low, high] = bounds;
    let (low, high) = (low?, high?);
    if x.known().is_some() {
        return clipped_now(call, x, low, high);
    }
    refuse_integers(call, &[&x])?;
    let mut arguments = vec![call.number(&x)?];
    for bound in [low, high] {
        arguments.push(match bound {
            Some(bound) => call.b.number_or_tensor(&bound, false)?,
            None => Argument::None,
        });
    }
    Ok(vec![call.op("clamp", "", arguments, x.shape(), x.element())?])
}

fn clipped_now(call: &mut Call, x: Value, low: Option<Value>, high: Option<Value>) -> Outputs {
    let mut value = x;
    for (bound, operator) in [(low, "Max"), (high, "Min")] {
        if let Some(bound) = bound {
            value = try_fold(operator, &[&value, &bound])?.ok_or_else(|| call.refuse("bounds of a constant"))?;
        }
    }
    Ok(vec![value])
}

fn gelu(call: &mut Call) -> Outputs {
    let approximation = call.text("approximate", "none")?.to_owned();
    of_one(call, "gelu", vec![Text(approximation)])
}

fn hard_sigmoid(call: &mut Call) -> Outputs {
    let (x, alpha, beta) = (call.input(0)?, call.float("alpha", 0.2)?, call.float("beta", 0.5)?);
    let value = call.affine(&x, alpha, beta)?;
    Ok(vec![call.like("clamp", &value, vec![Float(0.0), Float(1.0)])?])
}

fn is_inf(call: &mut Call) -> Outputs {
    let signs = [call.integer("detect_negative", 1)?, call.integer("detect_positive", 1)?];
    let x = call.input(0)?;
    let tensor = call.number(&x)?;
    let infinity = match signs {
        [1, 1] => return mask_of(call, "isinf"),
        [1, 0] => f64::NEG_INFINITY,
        [0, 1] => f64::INFINITY,
        _ => return Err(call.refuse("no sign at all")),
    };
    Ok(vec![call.op("eq", "Scalar", vec![tensor, Float(infinity)], x.shape(), Element::Bool)?])
}

/// x from 0 on, `slope x` below
fn prelu(call: &mut Call) -> Outputs {
    let (x, slope) = (call.input(0)?, call.input(1)?);
    refuse_integers(call, &[&x])?;
    let slope = Value::Computed(match slope {
        Value::Computed(computed) => computed,
        Value::Known(known) => trained(call, &known)?,
    });
    let below = call.mul(&x, &slope)?;
    let is_below = call.elementwise("lt", "Scalar", &[&x, &number(0.0)], vec![], Element::Bool)?;
    Ok(vec![call.elementwise("where", "self", &[&is_below, &below, &x], vec![], x.element())?])
}

/// A weight as a tensor that a fit changes, wherever it stands.
fn trained(call: &mut Call, known: &Known) -> Result<super::super::value::Computed> {
    let Argument::Value(index) = call.b.tensor(&Value::Known(known.clone()))? else {
        return Err(call.refuse("this slope"));
    };
    Ok(super::super::value::Computed { index, shape: known.shape.clone(), element: known.element })
}

fn shrink(call: &mut Call) -> Outputs {
    let (x, bias, lambda) = (call.input(0)?, call.float("bias", 0.0)?, call.float("lambd", 0.5)?);
    refuse_integers(call, &[&x])?;
    let compared = |call: &mut Call, op: &str, bound: f64| {
        call.elementwise(op, "Scalar", &[&x, &number(bound)], vec![], Element::Bool)
    };
    let (below, above) = (compared(call, "lt", -lambda)?, compared(call, "gt", lambda)?);
    let (up, down) = (call.affine(&x, 1.0, bias)?, call.affine(&x, 1.0, -bias)?);
    let value = call.elementwise("where", "self", &[&above, &down, &number(0.0)], vec![], x.element())?;
    Ok(vec![call.elementwise("where", "self", &[&below, &up, &value], vec![], x.element())?])
}

/// x / (1 + |x|)
fn softsign(call: &mut Call) -> Outputs {
    let x = call.input(0)?;
    let size = call.like("abs", &x, vec![])?;
    let divisor = call.affine(&size, 1.0, 1.0)?;
    Ok(vec![call.div(&x, &divisor)?])
}

/// x sigmoid(alpha x)
fn swish(call: &mut Call) -> Outputs {
    let (x, alpha) = (call.input(0)?, call.float("alpha", 1.0)?);
    if alpha == 1.0 {
        return Ok(vec![call.like("silu", &x, vec![])?]);
    }
    let scaled = call.affine(&x, alpha, 0.0)?;
    let gate = call.like("sigmoid", &scaled, vec![])?;
    Ok(vec![call.mul(&x, &gate)?])
}

fn thresholded(call: &mut Call) -> Outputs {
    let alpha = call.float("alpha", 1.0)?;
    of_one(call, "threshold", vec![Float(alpha), Float(0.0)])
}

fn choose(call: &mut Call) -> Outputs {
    let inputs = [call.input(0)?, call.input(1)?, call.input(2)?];
    let [mask, a, b] = [&inputs[0], &inputs[1], &inputs[2]];
    if let Some(value) = try_fold("Where", &[mask, a, b])? {
        return Ok(vec![value]);
    }
    let element = a.element();
    let value = call.elementwise("where", "self", &[mask, a, b], vec![], float_of(element))?;
    let value = if element == Element::Bool { call.mask(&value)? } else { retyped(value, element) };
    Ok(vec![value])
}
