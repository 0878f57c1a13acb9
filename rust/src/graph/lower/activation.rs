//! Activations composed of other functions.

use super::{Call, Lowered, Operator};
use crate::error::Result;
use crate::graph::Function;
use crate::graph::program::Tensor;

pub(super) const TABLE: &[Operator] = &[
    Operator { name: "mish", does: "`x tanh(log(1 + exp(x)))`", lower: mish },
    Operator { name: "selu", does: "elu with the constants of Klambauer et al. 2017", lower: selu },
    Operator { name: "celu", does: "`x` above 0, `alpha (exp(x / alpha) - 1)` below", lower: celu },
    Operator { name: "prelu", does: "`x` above 0, `w x` below, w for each channel", lower: prelu },
    Operator { name: "hardtanh", does: "`x` between two numbers; at one of them the derivative is 0", lower: hardtanh },
    Operator {
        name: "relu6",
        does: "`x` between 0 and 6, 0 of a negative zero too; at one of them the derivative is 0",
        lower: relu6,
    },
    Operator { name: "hardsigmoid", does: "`x / 6 + 1/2` between 0 and 1", lower: hardsigmoid },
    Operator { name: "softshrink", does: "`x` less lambda towards 0", lower: softshrink },
    Operator { name: "threshold", does: "`x` above a threshold, else a number", lower: threshold },
    Operator { name: "glu", does: "one half times the sigmoid of the other one", lower: glu },
];

/// Klambauer et al. 2017, eq. 14.
const SELU_ALPHA: f64 = 1.673_263_242_354_377_2;
const SELU_SCALE: f64 = 1.050_700_987_355_480_5;

/// Beyond it softplus is the identity to the last digit.
const SOFTPLUS_THRESHOLD: f64 = 40.0;

fn mish(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let softplus = call.map_number(Function::SoftplusBelow, &x, SOFTPLUS_THRESHOLD)?;
    let factor = call.map(Function::Tanh, &[&softplus])?;
    Ok(vec![call.map(Function::Mul, &[&x, &factor])?])
}

fn selu(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let value = call.map_number(Function::Elu, &x, SELU_ALPHA)?;
    Ok(vec![call.scaled(&value, SELU_SCALE)?])
}

fn celu(call: &mut Call) -> Lowered {
    let (x, alpha) = (call.tensor(0)?, call.finite_or(1, 1.0)?);
    if alpha <= 0.0 {
        return Err(call.refuse(format!("has alpha {alpha}")));
    }
    let inner = call.scaled(&x, 1.0 / alpha)?;
    let below = call.map_number(Function::Elu, &inner, 1.0)?;
    let (below, zero) = (call.scaled(&below, alpha)?, call.literal(0.0)?);
    let is_above = call.map(Function::Less, &[&zero, &x])?;
    Ok(vec![call.map(Function::Where, &[&is_above, &x, &below])?]) // where the quotient may be infinite
}

fn prelu(call: &mut Call) -> Lowered {
    let (x, weight) = (call.tensor(0)?, call.tensor(1)?);
    let rank = x.view.rank();
    let mut shape = vec![1; rank];
    if rank > 1 {
        shape[1] = weight.view.len();
    } else if weight.view.len() != 1 {
        return Err(call.refuse("has channels for an input without them"));
    }
    let weight = call.reshape(&weight, &shape)?;
    Ok(vec![call.map(Function::Leaky, &[&x, &weight])?])
}

/// `x` if it lies strictly between the bounds, or is NaN; otherwise the nearer bound.
fn between(call: &mut Call, x: &Tensor, low: f64, high: f64) -> Result<Tensor> {
    let (low, high) = (call.literal(low)?, call.literal(high)?);
    let above = call.map(Function::LessEqual, &[&high, x])?;
    let value = call.map(Function::Where, &[&above, &high, x])?;
    let below = call.map(Function::LessEqual, &[x, &low])?;
    call.map(Function::Where, &[&below, &low, &value])
}

fn hardtanh(call: &mut Call) -> Lowered {
    let (x, low, high) = (call.tensor(0)?, call.number_or(1, -1.0)?, call.number_or(2, 1.0)?);
    if low.is_nan() || high.is_nan() {
        return Err(call.refuse("has a bound that is not a number"));
    }
    Ok(vec![between(call, &x, low, high)?])
}

fn relu6(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    Ok(vec![between(call, &x, 0.0, 6.0)?])
}

fn hardsigmoid(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let value = between(call, &x, -3.0, 3.0)?; // before 3 is added, which rounds: the derivative depends on x
    let value = call.map_number(Function::Add, &value, 3.0)?;
    let (unknown, nan) = (call.map(Function::NotEqual, &[&x, &x])?, call.literal(f64::NAN)?);
    let value = call.map(Function::Where, &[&unknown, &nan, &value])?; // whose derivative is 0
    Ok(vec![call.map_number(Function::Div, &value, 6.0)?])
}

fn softshrink(call: &mut Call) -> Lowered {
    let (x, lambda) = (call.tensor(0)?, call.finite_or(1, 0.5)?);
    let (above, below) = (call.map_number(Function::Sub, &x, lambda)?, call.map_number(Function::Add, &x, lambda)?);
    let (high, low, zero) = (call.literal(lambda)?, call.literal(-lambda)?, call.literal(0.0)?);
    let is_above = call.map(Function::Less, &[&high, &x])?;
    let is_below = call.map(Function::Less, &[&x, &low])?;
    // Neither: 0, or x where that is no number.
    let inside = call.map(Function::Mul, &[&x, &zero])?;
    let inside = call.map(Function::Add, &[&inside, &zero])?; // no negative zero
    let value = call.map(Function::Where, &[&is_below, &below, &inside])?;
    Ok(vec![call.map(Function::Where, &[&is_above, &above, &value])?])
}

fn threshold(call: &mut Call) -> Lowered {
    let (x, threshold, value) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    let is_below = call.map(Function::LessEqual, &[&x, &threshold])?;
    Ok(vec![call.map(Function::Where, &[&is_below, &value, &x])?])
}

fn glu(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let dim = call.dim_of(call.integer_or(1, -1)?, x.view.rank())?;
    let half = x.view.sizes.get(dim).copied().unwrap_or(0) / 2;
    if x.view.rank() == 0 || x.view.sizes[dim] != 2 * half {
        return Err(call.refuse("has no two halves"));
    }
    let gate = call.map(Function::Sigmoid, &[&x.narrow(dim, half, half)])?;
    Ok(vec![call.map(Function::Mul, &[&x.narrow(dim, 0, half), &gate])?])
}
