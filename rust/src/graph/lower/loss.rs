//! The losses of `torch::nn::functional`.

use super::{Call, Lowered, Operator};
use crate::error::Result;
use crate::graph::program::{Gather, Tensor};
use crate::graph::{Function, View};

pub(super) const TABLE: &[Operator] = &[
    Operator { name: "mse_loss", does: "`(x - y)^2`", lower: mse },
    Operator { name: "l1_loss", does: "`abs(x - y)`", lower: l1 },
    Operator {
        name: "smooth_l1_loss",
        does: "`(x - y)^2 / (2 beta)` within beta, `abs(x - y) - beta / 2` beyond",
        lower: smooth_l1,
    },
    Operator { name: "huber_loss", does: "`(x - y)^2 / 2` within delta, linear beyond", lower: huber },
    Operator {
        name: "binary_cross_entropy_with_logits",
        does: "`-y log(s) - (1 - y) log(1 - s)` with `s = sigmoid(x)`",
        lower: logit_loss,
    },
    Operator { name: "poisson_nll_loss", does: "`exp(x) - y x`, or `x - y log(x + eps)` of rates", lower: poisson },
    Operator {
        name: "cosine_similarity",
        does: "`a b / (norm(a) norm(b))` along a dimension, no length below eps",
        lower: cosine,
    },
    Operator { name: "kl_div", does: "`y (log(y) - x)`", lower: kl_div },
    Operator { name: "nll_loss", does: "`-x` at the class", lower: nll },
    Operator { name: "nll_loss_nd", does: "`-x` at the class", lower: nll },
    Operator {
        name: "cross_entropy_loss",
        does: "`-log_softmax(x)` at the class, or against probabilities",
        lower: cross_entropy,
    },
];

/// LibTorch's numbers of what is done with the losses of the elements.
const NONE: i64 = 0;
const MEAN: i64 = 1;

fn reduced(call: &mut Call, position: usize, losses: &Tensor) -> Lowered {
    let dims: Vec<usize> = (0..losses.view.rank()).collect();
    Ok(vec![match call.integer_or(position, MEAN)? {
        NONE => losses.clone(),
        MEAN => call.mean(losses, &dims, false)?,
        _ => call.sum(losses, &dims, false)?,
    }])
}

fn difference(call: &mut Call) -> Result<Tensor> {
    let (x, y) = (call.tensor(0)?, call.tensor(1)?);
    call.map(Function::Sub, &[&x, &y])
}

fn mse(call: &mut Call) -> Lowered {
    let d = difference(call)?;
    let losses = call.map(Function::Squared, &[&d])?;
    reduced(call, 2, &losses)
}

fn l1(call: &mut Call) -> Lowered {
    let d = difference(call)?;
    let losses = call.map(Function::Abs, &[&d])?;
    reduced(call, 2, &losses)
}

fn smooth_l1(call: &mut Call) -> Lowered {
    let (d, beta) = (difference(call)?, call.finite_or(3, 1.0)?);
    if beta == 0.0 {
        return Err(call.refuse("has beta 0")); // whose derivative at 0 is LibTorch's own
    }
    let losses = call.map_number(Function::SmoothLoss, &d, beta)?;
    reduced(call, 2, &losses)
}

fn huber(call: &mut Call) -> Lowered {
    let (d, delta) = (difference(call)?, call.finite_or(3, 1.0)?);
    let losses = call.map_number(Function::HuberLoss, &d, delta)?;
    reduced(call, 2, &losses)
}

/// `logit_loss(x, y, weight, pos_weight, reduction)`
fn logit_loss(call: &mut Call) -> Lowered {
    let (x, y) = (call.tensor(0)?, call.tensor(1)?);
    let (weight, positive) = (call.optional(2)?, call.optional(3)?);
    let mut losses = match positive {
        None => call.map(Function::LogitLoss, &[&x, &y])?,
        // -(positive y log(sigmoid(x)) + (1 - y) log(sigmoid(-x))), which loses no digits where y is 0 or 1
        Some(positive) => {
            let one = call.literal(1.0)?;
            let rest = call.map(Function::Sub, &[&one, &y])?;
            let factor = call.map(Function::Mul, &[&positive, &y])?;
            let logarithm = call.map(Function::LogSigmoid, &[&x])?;
            let opposite = call.map(Function::Neg, &[&x])?;
            let opposite = call.map(Function::LogSigmoid, &[&opposite])?;
            let signal = call.map(Function::Mul, &[&factor, &logarithm])?;
            let background = call.map(Function::Mul, &[&rest, &opposite])?;
            let sum = call.map(Function::Add, &[&signal, &background])?;
            call.map(Function::Neg, &[&sum])?
        }
    };
    if let Some(weight) = weight {
        losses = call.map(Function::Mul, &[&losses, &weight])?;
    }
    reduced(call, 4, &losses)
}

/// `poisson_nll_loss(x, y, log_input, full, eps, reduction)`
fn poisson(call: &mut Call) -> Lowered {
    let (x, y) = (call.tensor(0)?, call.tensor(1)?);
    if call.flag(3)? {
        return Err(call.refuse("adds Stirling's approximation"));
    }
    let losses = if call.flag(2)? {
        let (rate, seen) = (call.map(Function::Exp, &[&x])?, call.map(Function::Mul, &[&y, &x])?);
        call.map(Function::Sub, &[&rate, &seen])?
    } else {
        let eps = call.number(4)?;
        let shifted = call.map_number(Function::Add, &x, eps)?;
        let logarithm = call.map(Function::Log, &[&shifted])?;
        let seen = call.map(Function::Mul, &[&y, &logarithm])?;
        call.map(Function::Sub, &[&x, &seen])?
    };
    reduced(call, 5, &losses)
}

/// `cosine_similarity(a, b, dim, eps)`
fn cosine(call: &mut Call) -> Lowered {
    let (a, b, eps) = (call.tensor(0)?, call.tensor(1)?, call.number_or(3, 1e-8)?);
    let rank = a.view.rank().max(b.view.rank());
    let dim = call.dim_of(call.integer_or(2, 1)?, rank)?;
    if rank == 0 {
        return Err(call.refuse("compares numbers"));
    }
    let mut product: Option<Tensor> = None;
    for x in [&a, &b] {
        let shape = crate::graph::view::broadcast(&a.view.sizes, &b.view.sizes);
        let shape = shape.ok_or_else(|| call.refuse("has operands that do not broadcast"))?;
        let x = call.expand(x, &shape)?;
        let length = call.length(&x, &[dim], true)?;
        let length = call.map_number(Function::ClampMin, &length, eps)?;
        let direction = call.map(Function::Div, &[&x, &length])?;
        product = Some(match product {
            None => direction,
            Some(other) => call.map(Function::Mul, &[&other, &direction])?,
        });
    }
    let product = product.ok_or_else(|| call.refuse("takes nothing"))?;
    Ok(vec![call.sum(&product, &[dim], false)?])
}

fn kl_div(call: &mut Call) -> Lowered {
    let (x, y) = (call.tensor(0)?, call.tensor(1)?);
    let losses = if call.flag(3)? {
        let (density, d) = (call.map(Function::Exp, &[&y])?, call.map(Function::Sub, &[&y, &x])?);
        call.map(Function::Mul, &[&density, &d])?
    } else {
        let (entropy, product) = (call.map(Function::Xlogy, &[&y, &y])?, call.map(Function::Mul, &[&y, &x])?);
        call.map(Function::Sub, &[&entropy, &product])?
    };
    reduced(call, 2, &losses)
}

/// The dimension of the classes: the second of a batch, the only one of a single event.
fn class_dim(x: &Tensor) -> usize {
    usize::from(x.view.rank() > 1)
}

/// For each event the element of `x` [.., classes, ..] at its class; 0 for a class that is `ignored`.
fn at_class(call: &mut Call, x: &Tensor, dim: usize, classes: &Tensor, ignored: i64) -> Result<Tensor> {
    let gather = Gather { size: call.size(x, dim)?, stride: x.view.strides[dim], from_end: false, skip: Some(ignored) };
    let bases = x.view.select(dim, 0);
    if bases.sizes != classes.view.sizes {
        return Err(call.refuse(format!("has classes {:?} for {:?}", classes.view.sizes, x.view.sizes)));
    }
    let indices = classes.view.clone();
    call.gather(x, bases, gather, classes, indices)
}

/// The class weight of each event, 0 where it is ignored.
fn weights(call: &mut Call, x: &Tensor, classes: &Tensor, weight: Option<&Tensor>, ignored: i64) -> Result<Tensor> {
    let weight = match weight {
        Some(weight) => weight.clone(),
        None => {
            let one = call.literal(1.0)?;
            call.expand(&one, &[call.size(x, class_dim(x))?])?
        }
    };
    let mut sizes = classes.view.sizes.clone();
    sizes.push(call.size(&weight, 0)?);
    let rows = call.expand(&weight, &sizes)?;
    at_class(call, &rows, sizes.len() - 1, classes, ignored)
}

/// Sum, mean over the weights, or neither, of losses that are weighted already.
fn weighted(call: &mut Call, position: usize, losses: &Tensor, weights: &Tensor) -> Lowered {
    let dims: Vec<usize> = (0..losses.view.rank()).collect();
    let reduction = call.integer_or(position, MEAN)?;
    if reduction == NONE {
        return Ok(vec![losses.clone()]);
    }
    let total = call.sum(losses, &dims, false)?;
    if reduction != MEAN {
        return Ok(vec![total]);
    }
    let weight = call.sum(weights, &dims, false)?;
    Ok(vec![call.map(Function::Div, &[&total, &weight])?])
}

/// `-weight x` at the class.
fn picked(call: &mut Call, x: &Tensor, classes: &Tensor, weights: &Tensor, ignored: i64) -> Result<Tensor> {
    let at = at_class(call, x, class_dim(x), classes, ignored)?;
    let negative = call.map(Function::Neg, &[&at])?;
    call.map(Function::Mul, &[&negative, weights])
}

/// `nll(x, classes, weight, reduction, ignore_index)`
fn nll(call: &mut Call) -> Lowered {
    let (x, classes, weight) = (call.tensor(0)?, call.tensor(1)?, call.optional(2)?);
    let ignored = call.integer_or(4, -100)?;
    let weights = weights(call, &x, &classes, weight.as_ref(), ignored)?;
    let losses = picked(call, &x, &classes, &weights, ignored)?;
    let mut results = weighted(call, 3, &losses, &weights)?;
    let dims: Vec<usize> = (0..weights.view.rank()).collect();
    results.push(call.sum(&weights, &dims, false)?);
    Ok(results)
}

/// `cross_entropy(x, target, weight, reduction, ignore_index, label_smoothing)`
fn cross_entropy(call: &mut Call) -> Lowered {
    let (x, target, weight) = (call.tensor(0)?, call.tensor(1)?, call.optional(2)?);
    let (ignored, smoothing) = (call.integer_or(4, -100)?, call.number_or(5, 0.0)?);
    let dim = class_dim(&x);
    call.size(&x, dim)?;
    let logarithm = call.softmax(&x, dim, true)?;
    if !target.kind.is_integer() {
        return against_probabilities(call, &logarithm, &target, weight, smoothing);
    }
    let event_weights = weights(call, &x, &target, weight.as_ref(), ignored)?;
    let mut losses = picked(call, &logarithm, &target, &event_weights, ignored)?;
    if smoothing > 0.0 {
        // The rest of the probability is shared by all classes.
        if weight.is_some() {
            return Err(call.refuse("smooths labels of weighted classes"));
        }
        let total = call.sum(&logarithm, &[dim], false)?;
        let share = call.map(Function::Mul, &[&total, &event_weights])?;
        let (is_ignored, zero) = (call.is_index(&target, ignored)?, call.literal(0.0)?);
        let share = call.map(Function::Where, &[&is_ignored, &zero, &share])?; // whatever its outputs are
        let share = call.scaled(&share, -smoothing / x.view.sizes[dim] as f64)?;
        let kept = call.scaled(&losses, 1.0 - smoothing)?;
        losses = call.map(Function::Add, &[&kept, &share])?;
    }
    weighted(call, 3, &losses, &event_weights)
}

fn against_probabilities(
    call: &mut Call,
    logarithm: &Tensor,
    target: &Tensor,
    weight: Option<Tensor>,
    smoothing: f64,
) -> Lowered {
    let (dim, rank) = (class_dim(logarithm), logarithm.view.rank());
    let classes = logarithm.view.sizes[dim];
    let mut target = target.clone();
    if smoothing > 0.0 {
        target = call.scaled(&target, 1.0 - smoothing)?;
        target = call.map_number(Function::Add, &target, smoothing / classes as f64)?;
    }
    let mut products = call.map(Function::Mul, &[logarithm, &target])?;
    if let Some(weight) = weight {
        let view = (dim + 1..rank).fold(weight.view.clone(), |view: View, _| view.unsqueeze(view.rank()));
        products = call.map(Function::Mul, &[&products, &Tensor { view, ..weight }])?;
    }
    let total = call.sum(&products, &[dim], false)?;
    let losses = call.map(Function::Neg, &[&total])?;
    let events = losses.view.len() as f64;
    let dims: Vec<usize> = (0..losses.view.rank()).collect();
    Ok(vec![match call.integer_or(3, MEAN)? {
        NONE => losses,
        MEAN => {
            let sum = call.sum(&losses, &dims, false)?;
            call.map_number(Function::Div, &sum, events)?
        }
        _ => call.sum(&losses, &dims, false)?,
    }])
}
