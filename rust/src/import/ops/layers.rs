//! Normalisations and dropout.

use std::rc::Rc;

use super::super::build::Capture;
use super::super::call::{Call, Outputs, float_of, integers};
use super::super::value::Value;
use super::shape::reshaped;
use super::{Operator, all, but};
use crate::error::Result;
use crate::graph::ObservedArgument::{self as Argument, Bool, Float, Integer, None as Absent};

pub const TABLE: &[Operator] = &[
    but("BatchNormalization", "the statistics of a batch as results", batch_norm),
    all("Dropout", dropout),
    all("GroupNormalization", group_norm),
    all("InstanceNormalization", instance_norm),
    all("LayerNormalization", layer_norm),
    all("MeanVarianceNormalization", mean_variance),
    all("RMSNormalization", rms_norm),
];

/// A weight or bias of a layer, which trains however few numbers it has.
pub fn parameter(call: &mut Call, value: &Value, shape: &[usize]) -> Result<Argument> {
    statistic(call, value, shape, true)
}

fn statistic(call: &mut Call, value: &Value, shape: &[usize], trains: bool) -> Result<Argument> {
    match value {
        Value::Known(known) if known.count() == shape.iter().product::<usize>() && known.element.is_float() => {
            let capture = Capture {
                name: Rc::clone(&known.name),
                trains: trains && !known.name.is_empty(),
                dtype: call.b.dtype,
                shape: shape.to_vec(),
                numbers: Rc::clone(&known.numbers),
            };
            Ok(Argument::Value(call.b.capture(capture)))
        }
        other => {
            let value = reshaped(call, other, shape)?;
            call.number(&value)
        }
    }
}

/// With running statistics; in training, for a fit, with those of the batch, which change them.
fn batch_norm(call: &mut Call) -> Outputs {
    let x = call.input(0)?;
    if call.opset >= 14 && call.integer("training_mode", 0)? != 0 {
        return Err(call.refuse("the training mode"));
    }
    let Some(&channels) = x.shape().get(1) else { return Err(call.wrong("the input has no channels")) };
    let (eps, momentum) = (call.float("epsilon", 1e-5)?, call.float("momentum", 0.9)?);
    let mut arguments = vec![call.number(&x)?];
    let mut is_running = true;
    for at in 1..5 {
        let part = call.input(at)?;
        if part.shape().iter().product::<usize>() != channels {
            return Err(call.wrong(format!("{:?} for {channels} channels", part.shape())));
        }
        let is_negative = |known: &super::super::known::Known| (0..channels).any(|at| known.numbers.float(at) < 0.0);
        if at == 4 && part.known().is_some_and(is_negative) {
            return Err(call.wrong("a negative variance"));
        }
        is_running &= part.known().is_some_and(|known| at < 3 || !known.name.is_empty());
        arguments.push(statistic(call, &part, &[channels], at < 3)?);
    }
    let training = call.b.training && is_running;
    call.b.takes_statistics |= training;
    arguments.extend([Bool(training), Float(1.0 - momentum), Float(eps), Bool(false)]);
    Ok(vec![call.op("batch_norm", "", arguments, x.shape(), x.element())?])
}

/// Nothing in evaluation; a fit drops as the file says.
fn dropout(call: &mut Call) -> Outputs {
    let x = call.input(0)?;
    let ratio = match (call.opset < 12, call.has(1)) {
        (true, _) => call.float("ratio", 0.5)?,
        (false, true) => call.known_number(1)?,
        (false, false) => 0.5,
    };
    let is_always = call.opset >= 12 && call.has(2) && call.known_number(2)? != 0.0;
    if is_always && ratio != 0.0 {
        return Err(call.refuse("the training mode"));
    }
    if !(0.0..1.0).contains(&ratio) {
        return Err(call.wrong(format!("a ratio of {ratio}")));
    }
    let value = match call.b.training && ratio > 0.0 && x.known().is_none() {
        true => call.like("dropout", &x, vec![Float(ratio), Bool(true)])?,
        false => x.clone(),
    };
    if call.node.outputs.len() < 2 {
        return Ok(vec![value]);
    }
    // The mask of what stays: everything.
    super::super::fold::check_length(x.shape())?;
    let all = super::super::known::Known::integers(x.shape(), vec![1; x.shape().iter().product()]);
    let mask = super::super::known::Known { element: super::super::known::Element::Bool, ..all };
    Ok(vec![value, Value::Known(mask)])
}

/// A scale or term [C] so that it broadcasts against [N, C, ...].
fn by_channel(call: &mut Call, x: &Value, factor: &Value, term: &Value) -> Result<Value> {
    let mut shape = vec![1; x.rank() - 1];
    shape[0] = x.shape()[1];
    let parts = [factor, term].map(|part| {
        if part.shape().iter().product::<usize>() != shape[0] {
            return Err(call.wrong(format!("{:?} for {} channels", part.shape(), shape[0])));
        }
        reshaped(call, part, &shape)
    });
    let [factor, term] = parts;
    let value = call.mul(x, &factor?)?;
    call.add(&value, &term?)
}

fn group_norm(call: &mut Call) -> Outputs {
    let (x, scale, bias) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let (groups, eps) = (call.sizes(&[call.integer("num_groups", 0)?])?[0], call.float("epsilon", 1e-5)?);
    let channels = x.shape().get(1).copied().unwrap_or(0);
    if groups == 0 || channels == 0 || channels % groups != 0 {
        return Err(call.wrong(format!("{groups} groups of {channels} channels")));
    }
    if scale.shape() == [channels] {
        let factors = [parameter(call, &scale, &[channels])?, parameter(call, &bias, &[channels])?];
        let [scale, bias] = factors;
        return Ok(vec![call.like(
            "group_norm",
            &x,
            vec![Integer(groups as i64), scale, bias, Float(eps), Bool(true)],
        )?]);
    }
    // Before opset 21 there was one factor and one term for each group.
    let normal = call.like("group_norm", &x, vec![Integer(groups as i64), Absent, Absent, Float(eps), Bool(true)])?;
    let each = |call: &mut Call, part: &Value| {
        let column = reshaped(call, part, &[groups, 1])?;
        let wide = super::shape::expanded(call, &column, &[groups, channels / groups])?;
        reshaped(call, &wide, &[channels])
    };
    let (scale, bias) = (each(call, &scale)?, each(call, &bias)?);
    Ok(vec![by_channel(call, &normal, &scale, &bias)?])
}

fn instance_norm(call: &mut Call) -> Outputs {
    let (x, scale, bias) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let eps = call.float("epsilon", 1e-5)?;
    let Some(&channels) = x.shape().get(1).filter(|_| x.rank() > 2) else {
        return Err(call.wrong("the input has nothing to normalise"));
    };
    let (scale, bias) = (parameter(call, &scale, &[channels])?, parameter(call, &bias, &[channels])?);
    let more = vec![scale, bias, Absent, Absent, Bool(true), Float(0.1), Float(eps), Bool(false)];
    Ok(vec![call.like("instance_norm", &x, more)?])
}

/// Means over axes, which stay with one element.
fn mean(call: &mut Call, x: &Value, axes: &[usize]) -> Result<Value> {
    let mut shape = x.shape().to_vec();
    axes.iter().for_each(|&axis| shape[axis] = 1);
    let arguments = vec![call.number(x)?, integers(axes), Bool(true), Absent];
    call.op("mean", "dim", arguments, &shape, float_of(x.element()))
}

/// Over all dimensions from an axis on; the mean and the reciprocal deviation if they are requested.
fn layer_norm(call: &mut Call) -> Outputs {
    let (x, scale, bias) = (call.input(0)?, call.input(1)?, call.optional(2));
    let axis = call.axis_named("axis", -1, x.rank())?;
    let eps = call.float("epsilon", 1e-5)?;
    let inner = x.shape()[axis..].to_vec();
    let fits = |part: &Value| part.shape().iter().product::<usize>() == inner.iter().product::<usize>();
    let value = if fits(&scale) && bias.as_ref().is_none_or(fits) {
        let scale = parameter(call, &scale, &inner)?;
        let bias = bias.map(|bias| parameter(call, &bias, &inner)).transpose()?;
        call.like("layer_norm", &x, vec![integers(&inner), scale, bias.unwrap_or(Absent), Float(eps), Bool(true)])?
    } else {
        let normal = call.like("layer_norm", &x, vec![integers(&inner), Absent, Absent, Float(eps), Bool(true)])?;
        let value = call.mul(&normal, &scale)?;
        bias.map_or(Ok(value.clone()), |bias| call.add(&value, &bias))?
    };
    if call.node.outputs.len() < 2 {
        return Ok(vec![value]);
    }
    let axes: Vec<usize> = (axis..x.rank()).collect();
    let centre = mean(call, &x, &axes)?;
    let centred = call.sub(&x, &centre)?;
    let square = call.like("square", &centred, vec![])?;
    let variance = mean(call, &square, &axes)?;
    let variance = call.affine(&variance, 1.0, eps)?;
    Ok(vec![value, centre, call.like("rsqrt", &variance, vec![])?])
}

fn mean_variance(call: &mut Call) -> Outputs {
    let x = call.input(0)?;
    let axes = call.integers("axes")?.unwrap_or_else(|| vec![0, 2, 3]);
    let axes = call.axes(&axes, x.rank())?;
    let centre = mean(call, &x, &axes)?;
    let centred = call.sub(&x, &centre)?;
    let square = call.like("square", &centred, vec![])?;
    let variance = mean(call, &square, &axes)?;
    let deviation = call.like("sqrt", &variance, vec![])?;
    let deviation = call.affine(&deviation, 1.0, 1e-9)?;
    Ok(vec![call.div(&centred, &deviation)?])
}

fn rms_norm(call: &mut Call) -> Outputs {
    let (x, scale) = (call.input(0)?, call.input(1)?);
    let axis = call.axis_named("axis", -1, x.rank())?;
    let inner = x.shape()[axis..].to_vec();
    let eps = call.float("epsilon", 1e-5)?;
    let normal = call.like("rms_norm", &x, vec![integers(&inner), Absent, Float(eps)])?;
    Ok(vec![call.mul(&normal, &scale)?])
}
