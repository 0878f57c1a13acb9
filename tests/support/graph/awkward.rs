//! Element-wise operators at numbers that are easy to get wrong.

use cladtorch::graph::{ObservedArgument, ObservedNode};
use tch::{Kind, Tensor};

use super::cases::{Case, In};
use super::recorder::numbers;

/// Zeros, denormals, kinks, values where exp overflows, infinities and NaN.
pub const AWKWARD: [f64; 26] = [
    0.0,
    -0.0,
    1e-40,
    -1e-40,
    5e-324,
    1.0,
    -1.0,
    2.0,
    -2.0,
    0.5,
    -0.5,
    20.0,
    -20.0,
    88.0,
    -88.0,
    100.0,
    -100.0,
    104.0,
    1e4,
    -1e4,
    3.0,
    -3.0,
    6.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// Inputs of a case: every number, or every pair of them for two inputs.
pub fn inputs(case: &Case, kind: Kind) -> Vec<Tensor> {
    let floats = case.inputs.iter().filter(|input| input.is_floating()).count();
    let grid = Tensor::from_slice(&AWKWARD).to_kind(kind);
    let n = AWKWARD.len() as i64;
    let mut float = 0;
    let awkward = |(i, input): (usize, &In)| match input {
        input if input.is_floating() => {
            float += 1;
            let shape = if float == 1 { [n, 1] } else { [1, n] };
            let whole = grid.reshape(shape);
            if floats == 1 { whole } else { whole.expand([n, n], true).contiguous() }
        }
        other => other.with_shape(&[n, if floats == 1 { 1 } else { n }]).tensor(i, kind),
    };
    case.inputs.iter().enumerate().map(awkward).collect()
}

/// The permitted difference of results from LibTorch's, relative to their size and absolute: LibTorch computes some
/// derivatives from values that have lost digits, exp(x) as expm1(x) + 1.
pub fn tolerance(kind: Kind) -> [f64; 2] {
    if kind == Kind::Double { [1e-11, 1e-15] } else { [2e-6, 4e-7] }
}

/// Whether a result of `node`, or the gradient of one of its inputs, at these `points` is LibTorch's, except in the few
/// places where LibTorch or the rule is known to be off.
pub fn agree(
    node: &ObservedNode,
    points: &[Tensor],
    is_value: bool,
    got: &Tensor,
    want: &Tensor,
    [rtol, atol]: [f64; 2],
) -> Result<(), String> {
    let points: Vec<Vec<f64>> = points.iter().map(numbers).collect();
    for (i, (got, want)) in numbers(got).into_iter().zip(numbers(want)).enumerate() {
        let close = (got - want).abs() <= rtol * want.abs() + atol;
        let at: Vec<f64> = points.iter().map(|x| x[i % x.len()]).collect();
        if !(close || got == want || got.is_nan() && want.is_nan() || is_known(node, &at)) {
            return Err(format!("at {at:?} is {got:e} instead of {want:e}"));
        }
        // The sign of a zero decides what 1 / x and atan2 make of it. LibTorch's gelu of -0 is 0 with AVX2 and -0 with AVX-512.
        let keeps_it = !matches!(node.op.as_str(), "aten::relu" | "aten::relu6" | "aten::gelu");
        if is_value && keeps_it && got == 0.0 && want == 0.0 && got.is_sign_negative() != want.is_sign_negative() {
            return Err(format!("at {at:?} is {got:?} instead of {want:?}"));
        }
    }
    Ok(())
}

/// Cases in which a difference from LibTorch is expected.
fn is_known(node: &ObservedNode, at: &[f64]) -> bool {
    match node.op.as_str() {
        // LibTorch's value is that of rsqrt, its derivative that of pow.
        "aten::pow" => node.arguments[1] == ObservedArgument::Float(-0.5) && at[0] == f64::NEG_INFINITY,
        // LibTorch's derivative of a NaN depends on its neighbours.
        "aten::elu" | "aten::selu" | "aten::celu" | "aten::hardtanh" | "aten::relu6" | "aten::softshrink"
        | "aten::hardswish" => at[0].is_nan(),
        // LibTorch multiplies by the adjoint before it divides, which loses denormal numbers.
        "aten::hypot" => at.iter().all(|number| number.abs() < f64::from(f32::MIN_POSITIVE)),
        // LibTorch's value subtracts infinity from infinity; it is infinite. No label is infinite.
        "aten::binary_cross_entropy_with_logits" => at[0] == f64::NEG_INFINITY || at[1].is_infinite(),
        // LibTorch's vector function loses the remainder of a number modulo a denormal one.
        "aten::remainder" | "aten::fmod" => {
            at.get(1).is_some_and(|divisor| divisor.abs() < f64::from(f32::MIN_POSITIVE))
        }
        // With AVX-512, LibTorch's gelu of float32 infinity is NaN; it is infinity.
        "aten::gelu" if at[0] == f64::INFINITY => true,
        // LibTorch's float32 gelu of -3 is off by 5e-7, of 4e-3.
        "aten::gelu" => at[0] == -3.0,
        _ => false,
    }
}
