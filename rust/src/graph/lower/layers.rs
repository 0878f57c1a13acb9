//! Normalisation, dropout and attention.

use super::{Call, Lowered, Operator};
use crate::error::Result;
use crate::graph::program::{Kind, Tensor, Ties};
use crate::graph::view::row_major;
use crate::graph::{DType, Function};

pub(super) const TABLE: &[Operator] = &[
    Operator {
        name: "layer_norm",
        does: "`(x - mean) / sqrt(var + eps) w + b` over the last dimensions",
        lower: layer_norm,
    },
    Operator {
        name: "batch_norm",
        does: "`(x - mean) / sqrt(var + eps) w + b` for each channel, both modes",
        lower: batch_norm,
    },
    Operator {
        name: "group_norm",
        does: "`(x - mean) / sqrt(var + eps) w + b` for each group of channels",
        lower: group_norm,
    },
    Operator {
        name: "instance_norm",
        does: "`(x - mean) / sqrt(var + eps) w + b` for each channel of each event",
        lower: instance_norm,
    },
    Operator { name: "rms_norm", does: "`x / sqrt(mean(x^2) + eps) w` over the last dimensions", lower: rms_norm },
    Operator { name: "dropout", does: "`x` times factors drawn by LibTorch's generator", lower: dropout },
    Operator {
        name: "feature_dropout",
        does: "the same with a factor for each channel (`Dropout1d`, `2d`, `3d`)",
        lower: feature_dropout,
    },
    Operator { name: "scaled_dot_product_attention", does: "`softmax(q k^T scale + mask) v`", lower: attention },
];

/// `centred factor weight + bias`; the factors are multiplied first, since they are fewer.
fn scaled_and_shifted(
    call: &mut Call,
    centred: &Tensor,
    factor: Tensor,
    [weight, bias]: [Option<&Tensor>; 2],
) -> Result<Tensor> {
    let factor = match weight {
        Some(weight) => call.map(Function::Mul, &[&factor, weight])?,
        None => factor,
    };
    let value = call.map(Function::Mul, &[centred, &factor])?;
    match bias {
        Some(bias) => call.map(Function::Add, &[&value, bias]),
        None => Ok(value),
    }
}

fn layer_norm(call: &mut Call) -> Lowered {
    let (x, shape) = (call.tensor(0)?, call.sizes(1)?);
    let (weight, bias, eps) = (call.optional(2)?, call.optional(3)?, call.number_or(4, 1e-5)?);
    let rank = x.view.rank();
    let first =
        rank.checked_sub(shape.len()).ok_or_else(|| call.refuse("normalises more dimensions than there are"))?;
    if x.view.sizes[first..] != shape {
        return Err(call.refuse(format!("normalises {shape:?} of {:?}", x.view.sizes)));
    }
    Ok(vec![call.normalised(&x, &shape, [weight, bias], eps)?])
}

/// A tensor [C] so that it broadcasts against [N, C, ...] of that rank.
fn channels_of(x: Tensor, rank: usize) -> Tensor {
    let view = (2..rank).fold(x.view.clone(), |view, _| view.unsqueeze(view.rank()));
    Tensor { view, ..x }
}

fn batch_norm(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let rank = x.view.rank();
    if rank < 2 {
        return Err(call.refuse("has an input without channels"));
    }
    let affine @ [weight, bias] = &[call.optional(1)?, call.optional(2)?];
    let (running_mean, running_variance) = (call.optional(3)?, call.optional(4)?);
    let (training, momentum, eps) = (call.flag(5)?, call.number_or(6, 0.1)?, call.number_or(7, 1e-5)?);
    if !training {
        let (Some(mean), Some(variance)) = (running_mean, running_variance) else {
            return Err(call.refuse("has no running statistics to use"));
        };
        let centred = call.map(Function::Sub, &[&x, &channels_of(mean, rank)])?;
        let variance = call.map_number(Function::Add, &channels_of(variance, rank), eps)?;
        let factor = call.map(Function::Rsqrt, &[&variance])?;
        let [weight, bias] = [weight, bias].map(|row| row.clone().map(|row| channels_of(row, rank)));
        return Ok(vec![scaled_and_shifted(call, &centred, factor, [weight.as_ref(), bias.as_ref()])?]);
    }
    if x.view.is_empty() {
        return Err(call.refuse("has nothing to take statistics of"));
    }
    positive(call, eps)?;
    let [value, moments] = call.standardised(&x, affine.clone(), eps)?;
    let row = |row| Tensor { view: moments.view.select(0, row), ..moments.clone() };
    let variance = call.map(Function::Squared, &[&row(1)])?;
    let count = x.view.len() as f64 / x.view.sizes[1] as f64;
    for (position, old, new, factor) in
        [(3, running_mean, row(0), 1.0), (4, running_variance, variance, count / (count - 1.0))]
    {
        if old.is_none() {
            continue;
        }
        call.update(position, |call, old| {
            let new = call.reshape(&new, &old.view.sizes.clone())?;
            let (kept, added) = (call.scaled(old, 1.0 - momentum)?, call.scaled(&new, momentum * factor)?);
            call.map(Function::Add, &[&kept, &added])
        })?;
    }
    Ok(vec![value])
}

fn dropout(call: &mut Call) -> Lowered {
    let (x, p, training) = (call.tensor(0)?, call.number(1)?, call.flag(2)?);
    let strides = call.strides(0)?;
    Ok(vec![if training { call.dropped(&x, p, &strides)? } else { x }])
}

fn feature_dropout(call: &mut Call) -> Lowered {
    let (x, p, training) = (call.tensor(0)?, call.number(1)?, call.flag(2)?);
    let mut sizes = vec![1; x.view.rank()];
    if !training || sizes.len() < 2 {
        return if training { Err(call.refuse("has no channels")) } else { Ok(vec![x]) };
    }
    sizes[..2].copy_from_slice(&x.view.sizes[..2]);
    Ok(vec![call.dropped_together(&x, p, &sizes, &row_major(&sizes))?])
}

/// `attention(q, k, v, mask, dropout_p, is_causal, scale, enable_gqa)`
fn attention(call: &mut Call) -> Lowered {
    let (q, k, v, mask) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?, call.optional(3)?);
    let (p, is_causal) = (call.number_or(4, 0.0)?, call.flag(5)?);
    let rank = q.view.rank();
    if call.flag(7)? || rank < 2 || k.view.rank() < 2 {
        return Err(call.refuse("shares keys among heads"));
    }
    let width = q.view.sizes[rank - 1] as f64;
    let scale = call.number_or(6, 1.0 / width.sqrt())?;
    let k = Tensor { view: k.view.transpose(k.view.rank() - 2, k.view.rank() - 1), ..k };
    let scores = call.product(&q, &k, None)?;
    let scores = call.scaled(&scores, scale)?;
    let last = scores.view.rank() - 1;
    let weights = if is_causal {
        let mask = causal(call, scores.view.sizes[last - 1], scores.view.sizes[last])?;
        let never = call.literal(f64::NEG_INFINITY)?;
        let scores = call.map(Function::Where, &[&mask, &scores, &never])?;
        call.softmax(&scores, last, false)?
    } else if let Some(mask) = mask {
        let scores = masked(call, &scores, &mask)?;
        safe_softmax(call, &scores)?
    } else {
        call.softmax(&scores, last, false)?
    };
    let weights = call.dropped(&weights, p, &row_major(&weights.view.sizes))?;
    Ok(vec![call.product(&weights, &v, None)?])
}

/// `scores` plus a mask of numbers, or plus 0 where the mask is true and minus infinity elsewhere. A NaN stays one.
fn masked(call: &mut Call, scores: &Tensor, mask: &Tensor) -> Result<Tensor> {
    if mask.kind != Kind::Mask {
        return call.map(Function::Add, &[scores, mask]);
    }
    let (zero, never) = (call.literal(0.0)?, call.literal(f64::NEG_INFINITY)?);
    let bias = call.map(Function::Where, &[mask, &zero, &never])?;
    call.map(Function::Add, &[scores, &bias])
}

/// Softmax over the last dimension; 0 in a row where every score is minus infinity.
fn safe_softmax(call: &mut Call, scores: &Tensor) -> Result<Tensor> {
    let last = scores.view.rank() - 1;
    let fixed = call.detached(scores)?;
    let greatest = call.max(&fixed, &[last], true, Ties::Even)?;
    let empty = call.map_number(Function::Equal, &greatest, f64::NEG_INFINITY)?;
    let zero = call.literal(0.0)?;
    let scores = call.map(Function::Where, &[&empty, &zero, scores])?; // without NaN, also on the way back
    let weights = call.softmax(&scores, last, false)?;
    call.map(Function::Where, &[&empty, &zero, &weights])
}

/// The mask [rows, columns] that lets row i see the columns up to i.
fn causal(call: &mut Call, rows: usize, columns: usize) -> Result<Tensor> {
    call.mask(&[rows, columns], |index| index % columns <= index / columns)
}

/// Groups of the channels of `x` [N, C, ...], each brought to mean 0 and variance 1, times a weight plus a bias [C].
fn by_groups(call: &mut Call, x: &Tensor, groups: usize, [w, b]: [Option<Tensor>; 2], eps: f64) -> Lowered {
    let shape = x.view.sizes.clone();
    let [events, channels, ..] = shape[..] else { return Err(call.refuse("has an input without channels")) };
    if groups == 0 || channels % groups != 0 || x.view.is_empty() {
        return Err(call.refuse(format!("makes {groups} groups of {shape:?}")));
    }
    let rows = call.reshape(x, &[events, groups, x.view.len() / events / groups])?;
    let columns = rows.view.sizes[2];
    let mut value = call.normalised(&rows, &[columns], [None, None], eps)?;
    value = call.reshape(&value, &shape)?;
    for (operand, function) in [(w, Function::Mul), (b, Function::Add)] {
        if let Some(operand) = operand {
            value = call.map(function, &[&value, &channels_of(operand, shape.len())])?;
        }
    }
    Ok(vec![value])
}

/// `group_norm(x, groups, weight, bias, eps, ...)`
fn group_norm(call: &mut Call) -> Lowered {
    let (x, groups) = (call.tensor(0)?, call.integer(1)?.max(0) as usize);
    let (weight, bias, eps) = (call.optional(2)?, call.optional(3)?, call.number_or(4, 1e-5)?);
    by_groups(call, &x, groups, [weight, bias], eps)
}

/// Without eps, LibTorch gives a channel of equal numbers a slope of its own.
fn positive(call: &Call, eps: f64) -> Result<()> {
    if eps > 0.0 { Ok(()) } else { Err(call.refuse(format!("has eps {eps}"))) }
}

/// `instance_norm(x, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, ...)`
fn instance_norm(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    if !call.flag(5)? || !call.is_none(3) || !call.is_none(4) {
        return Err(call.refuse("has running statistics"));
    }
    let (weight, bias, eps) = (call.optional(1)?, call.optional(2)?, call.number_or(7, 1e-5)?);
    positive(call, eps)?;
    let channels = x.view.sizes.get(1).copied().unwrap_or(0);
    by_groups(call, &x, channels, [weight, bias], eps)
}

/// `rms_norm(x, normalized_shape, weight, eps)`
fn rms_norm(call: &mut Call) -> Lowered {
    let (x, shape, weight) = (call.tensor(0)?, call.sizes(1)?, call.optional(2)?);
    let rank = x.view.rank();
    let first = rank.saturating_sub(shape.len());
    if x.view.sizes[first..] != shape {
        return Err(call.refuse(format!("normalises {shape:?} of {:?}", x.view.sizes)));
    }
    let square = call.map(Function::Squared, &[&x])?;
    let mean = call.mean(&square, &(first..rank).collect::<Vec<_>>(), true)?;
    let least = if call.program().dtype == DType::Float32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let eps = call.number_or(3, least)?;
    let mean = call.map_number(Function::Add, &mean, eps)?;
    let factor = call.map(Function::Rsqrt, &[&mean])?;
    let value = call.map(Function::Mul, &[&x, &factor])?;
    Ok(vec![match weight {
        Some(weight) => call.map(Function::Mul, &[&value, &weight])?,
        None => value,
    }])
}
