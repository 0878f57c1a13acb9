//! The scalar functions in operators of ONNX. An operator that ROOT's SOFIE lacks, or that loses digits, is composed of
//! simpler ones.

use super::builder::Builder;
use crate::graph::Function;
use crate::onnx::write::Attribute;

/// From here on softplus is the identity in float32: exp(-17) is less than half a unit in the last place of 17.
const SOFTPLUS_END: f32 = 17.0;

/// An operand of a function: its name, and the number that it is, if it is the same for all events.
pub type Operand = (String, Option<f32>);

/// The value of a function; none: ONNX has no operators for it.
pub fn value(b: &mut Builder, function: Function, operands: &[Operand]) -> Option<String> {
    let names: Vec<&str> = operands.iter().map(|(name, _)| name.as_str()).collect();
    if let Some(operator) = plain(function) {
        return Some(b.op(operator, &names));
    }
    Some(match (function, &names[..]) {
        (_, [x]) => of_one(b, function, x)?,
        (Function::Leaky | Function::Elu | Function::SoftplusBelow, [x, parameter]) => {
            cut(b, function, x, (parameter, operands[1].1))?
        }
        (_, [x, y]) => of_two(b, function, x, y)?,
        (Function::Where, [condition, x, y]) => {
            let condition = cast(b, condition, BOOL);
            b.op("Where", &[&condition, x, y])
        }
        (Function::Clamp, [x, low, high]) => {
            let above = b.op("Max", &[x, low]);
            b.op("Min", &[&above, high])
        }
        _ => return None,
    })
}

/// Functions that are one operator.
fn plain(function: Function) -> Option<&'static str> {
    Some(match function {
        Function::Identity => "Identity",
        Function::Neg => "Neg",
        Function::Reciprocal => "Reciprocal",
        Function::Sqrt => "Sqrt",
        Function::Exp => "Exp",
        Function::Tanh => "Tanh",
        Function::Abs => "Abs",
        Function::Relu => "Relu",
        Function::Sigmoid => "Sigmoid",
        Function::Log => "Log",
        Function::Sin => "Sin",
        Function::Cos => "Cos",
        Function::Tan => "Tan",
        Function::Asin => "Asin",
        Function::Acos => "Acos",
        Function::Atan => "Atan",
        Function::Sinh => "Sinh",
        Function::Cosh => "Cosh",
        Function::Asinh => "Asinh",
        Function::Acosh => "Acosh",
        Function::Atanh => "Atanh",
        Function::Erf => "Erf",
        Function::Floor => "Floor",
        Function::Ceil => "Ceil",
        Function::Round => "Round",
        Function::Sign => "Sign",
        Function::Add => "Add",
        Function::Sub => "Sub",
        Function::Mul => "Mul",
        Function::Div => "Div",
        Function::Pow => "Pow",
        Function::Maximum | Function::ClampMin => "Max",
        Function::Minimum | Function::ClampMax => "Min",
        _ => return None,
    })
}

fn of_one(b: &mut Builder, function: Function, x: &str) -> Option<String> {
    let times = |b: &mut Builder, x: &str, factor: f32| {
        let factor = b.number(factor);
        b.op("Mul", &[x, &factor])
    };
    Some(match function {
        Function::Squared => b.op("Mul", &[x, x]),
        Function::Rsqrt => {
            let root = b.op("Sqrt", &[x]);
            b.op("Reciprocal", &[&root])
        }
        Function::Silu => {
            let sigmoid = b.op("Sigmoid", &[x]);
            b.op("Mul", &[x, &sigmoid])
        }
        Function::Gelu => {
            let inner = times(b, x, std::f32::consts::FRAC_1_SQRT_2);
            let erf = b.op("Erf", &[&inner]);
            half_of_one_and(b, x, &erf)
        }
        Function::GeluTanh => {
            let square = b.op("Mul", &[x, x]);
            let cubic = times(b, &square, 0.044_715);
            let one = b.number(1.0);
            let sum = b.op("Add", &[&cubic, &one]);
            let odd = b.op("Mul", &[x, &sum]);
            let inner = times(b, &odd, 0.797_884_6); // sqrt(2 / pi)
            let tanh = b.op("Tanh", &[&inner]);
            half_of_one_and(b, x, &tanh)
        }
        Function::LogSigmoid => {
            let negative = b.op("Neg", &[x]);
            let softplus = softplus(b, &negative);
            b.op("Neg", &[&softplus])
        }
        Function::Expm1 => expm1(b, x),
        Function::Exp2 => times_then(b, x, std::f32::consts::LN_2, "Exp"),
        Function::Log1p => log1p(b, x),
        Function::Log2 => then_times(b, "Log", x, std::f32::consts::LOG2_E),
        Function::Log10 => then_times(b, "Log", x, std::f32::consts::LOG10_E),
        Function::ErfComplement => {
            let (one, erf) = (b.number(1.0), b.op("Erf", &[x]));
            b.op("Sub", &[&one, &erf])
        }
        Function::Trunc => {
            let (sign, size) = (b.op("Sign", &[x]), b.op("Abs", &[x]));
            let floor = b.op("Floor", &[&size]);
            b.op("Mul", &[&sign, &floor])
        }
        _ => return None,
    })
}

fn of_two(b: &mut Builder, function: Function, x: &str, y: &str) -> Option<String> {
    let compared = |b: &mut Builder, operator: &str| {
        let mask = b.op(operator, &[x, y]);
        cast(b, &mask, FLOAT)
    };
    Some(match function {
        Function::Less => compared(b, "Less"),
        Function::LessEqual => compared(b, "LessOrEqual"),
        Function::Equal => compared(b, "Equal"),
        Function::NotEqual => {
            let (one, equal) = (b.number(1.0), compared(b, "Equal"));
            b.op("Sub", &[&one, &equal])
        }
        Function::And | Function::Or => {
            let [x, y] = [x, y].map(|mask| cast(b, mask, BOOL));
            let both = b.op(function.name(), &[&x, &y]);
            cast(b, &both, FLOAT)
        }
        Function::Hypot => {
            let [x, y] = [x, y].map(|x| b.op("Mul", &[x, x]));
            let sum = b.op("Add", &[&x, &y]);
            b.op("Sqrt", &[&sum])
        }
        Function::Remainder => {
            let quotient = b.op("Div", &[x, y]);
            let floor = b.op("Floor", &[&quotient]);
            let whole = b.op("Mul", &[&floor, y]);
            b.op("Sub", &[x, &whole])
        }
        Function::Fmod => b.with("Mod", &[x, y], &[("fmod", Attribute::Integer(1))]),
        Function::Atan2 => angle(b, x, y),
        Function::LogAddExp => {
            let (greater, difference) = (b.op("Max", &[x, y]), b.op("Sub", &[x, y]));
            let logarithm = log1p_of_exp_of_minus_size(b, &difference);
            b.op("Add", &[&greater, &logarithm])
        }
        _ => return None,
    })
}

/// The angle of the point `(x, y)`; zeros have no sign.
fn angle(b: &mut Builder, y: &str, x: &str) -> String {
    let [zero, half, back] = [0.0, std::f32::consts::PI, -std::f32::consts::PI].map(|number| b.number(number));
    let [on_axis, on_other] = [x, y].map(|x| b.op("Equal", &[x, &zero]));
    let x = b.op("Where", &[&on_axis, &zero, x]);
    let quotient = b.op("Div", &[y, &x]);
    let right = b.op("Atan", &[&quotient]);
    let [is_left, is_below] = [x.as_str(), y].map(|x| b.op("Less", &[x, &zero]));
    let turn = b.op("Where", &[&is_below, &back, &half]);
    let turn = b.op("Where", &[&is_left, &turn, &zero]);
    let angle = b.op("Add", &[&right, &turn]);
    let is_origin = b.op("And", &[&on_axis, &on_other]);
    b.op("Where", &[&is_origin, &zero, &angle])
}

/// Functions with a parameter, which ONNX wants as a number.
fn cut(b: &mut Builder, function: Function, x: &str, parameter: (&str, Option<f32>)) -> Option<String> {
    Some(match (function, parameter) {
        (Function::Leaky, (_, Some(slope))) => b.with("LeakyRelu", &[x], &[("alpha", Attribute::Float(slope))]),
        (Function::Leaky, (slopes, None)) => {
            let zero = b.number(0.0);
            let (above, below) = (b.op("Max", &[x, &zero]), b.op("Min", &[x, &zero]));
            let below = b.op("Mul", &[&below, slopes]);
            b.op("Add", &[&above, &below])
        }
        (Function::Elu, (_, Some(alpha))) => b.with("Elu", &[x], &[("alpha", Attribute::Float(alpha))]),
        (Function::SoftplusBelow, (_, Some(end))) if end >= SOFTPLUS_END => softplus(b, x),
        (Function::SoftplusBelow, (end, _)) => {
            let (softplus, below) = (softplus(b, x), b.op("LessOrEqual", &[x, end]));
            b.op("Where", &[&below, &softplus, x])
        }
        _ => return None,
    })
}

/// Types of elements.
const FLOAT: i64 = 1;
const BOOL: i64 = 9;

fn cast(b: &mut Builder, x: &str, to: i64) -> String {
    b.with("Cast", &[x], &[("to", Attribute::Integer(to))])
}

fn times_then(b: &mut Builder, x: &str, factor: f32, operator: &str) -> String {
    let factor = b.number(factor);
    let product = b.op("Mul", &[x, &factor]);
    b.op(operator, &[&product])
}

fn then_times(b: &mut Builder, operator: &str, x: &str, factor: f32) -> String {
    let (factor, value) = (b.number(factor), b.op(operator, &[x]));
    b.op("Mul", &[&value, &factor])
}

/// x (1 + y) / 2
fn half_of_one_and(b: &mut Builder, x: &str, y: &str) -> String {
    let (one, half) = (b.number(1.0), b.number(0.5));
    let sum = b.op("Add", &[y, &one]);
    let half = b.op("Mul", &[x, &half]);
    b.op("Mul", &[&half, &sum])
}

/// exp(x) - 1 = tanh(x / 2) (exp(x) + 1), without losing the digits of a small x.
fn expm1(b: &mut Builder, x: &str) -> String {
    let (half, one) = (b.number(0.5), b.number(1.0));
    let inner = b.op("Mul", &[x, &half]);
    let (tanh, power) = (b.op("Tanh", &[&inner]), b.op("Exp", &[x]));
    let sum = b.op("Add", &[&power, &one]);
    b.op("Mul", &[&tanh, &sum])
}

/// log(u) x / (u - 1) with u = 1 + x, and x where u is 1: the rounding of u cancels (Kahan; Goldberg 1991, theorem 4).
fn log1p(b: &mut Builder, x: &str) -> String {
    let one = b.number(1.0);
    let u = b.op("Add", &[x, &one]);
    let (rounded, logarithm, is_one) = (b.op("Sub", &[&u, &one]), b.op("Log", &[&u]), b.op("Equal", &[&u, &one]));
    let ratio = b.op("Div", &[x, &rounded]);
    let value = b.op("Mul", &[&logarithm, &ratio]);
    b.op("Where", &[&is_one, x, &value])
}

/// log(1 + exp(-|x|))
fn log1p_of_exp_of_minus_size(b: &mut Builder, x: &str) -> String {
    let size = b.op("Abs", &[x]);
    let negative = b.op("Neg", &[&size]);
    let power = b.op("Exp", &[&negative]);
    log1p(b, &power)
}

/// log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|))
fn softplus(b: &mut Builder, x: &str) -> String {
    let (linear, rest) = (b.op("Relu", &[x]), log1p_of_exp_of_minus_size(b, x));
    b.op("Add", &[&linear, &rest])
}
