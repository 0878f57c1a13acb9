//! Convolutions and pools over any number of dimensions.
//!
//! Convolutions are LibTorch's operators on padded signals. The windows of pools are views: LibTorch's `unfold` along each
//! dimension.

use super::super::call::{Call, Outputs, float_of, integers, number};
use super::super::fold;
use super::super::known::Known;
use super::super::value::Value;
use super::shape::{permuted, reshaped, sliced, surrounded};
use super::{Operator, all, but};
use crate::error::Result;
use crate::graph::ObservedArgument::{Bool, Float, Integer, Integers, None as Absent};

pub const TABLE: &[Operator] = &[
    all("AveragePool", average_pool),
    all("Conv", conv),
    all("ConvTranspose", conv_transpose),
    all("GlobalAveragePool", |call| global(call, "mean")),
    all("GlobalMaxPool", |call| global(call, "amax")),
    all("LpPool", lp_pool),
    all("LRN", response_normalization),
    but("MaxPool", "the places of the greatest as results", max_pool),
];

/// How windows move along one dimension.
#[derive(Clone, Copy)]
struct Steps {
    size: usize,
    stride: usize,
    dilation: usize,
    pads: [i64; 2],
}

impl Steps {
    /// Elements from the first of a window to its last one.
    fn reach(self) -> Option<usize> {
        self.size.checked_sub(1)?.checked_mul(self.dilation)?.checked_add(1)
    }
}

/// The attributes of windows of these sizes over dimensions of `lengths`.
fn steps(call: &Call, sizes: &[usize], lengths: &[usize]) -> Result<Vec<Steps>> {
    let rank = sizes.len();
    let each = |name: &str| -> Result<Vec<usize>> {
        let list = call.integers(name)?.map_or(Ok(vec![1; rank]), |list| call.sizes(&list))?;
        match list.len() == rank && !list.contains(&0) {
            true => Ok(list),
            false => Err(call.wrong(format!("{name} {list:?} for {rank} dimensions"))),
        }
    };
    let (strides, dilations) = (each("strides")?, each("dilations")?);
    let pads = call.integers("pads")?.unwrap_or_else(|| vec![0; 2 * rank]);
    if pads.len() != 2 * rank || lengths.len() != rank || sizes.contains(&0) {
        return Err(call.wrong(format!("windows of {sizes:?} over {lengths:?} with pads {pads:?}")));
    }
    call.sizes(&pads)?;
    let mode = call.text("auto_pad", "NOTSET")?;
    let of_axis = |axis: usize| {
        let steps = Steps {
            size: sizes[axis],
            stride: strides[axis],
            dilation: dilations[axis],
            pads: [pads[axis], pads[axis + rank]],
        };
        let reach =
            steps.reach().filter(|reach| *reach < 1 << 32).ok_or_else(|| call.wrong("a window that is too large"))?;
        let count = lengths[axis].div_ceil(steps.stride);
        let missing =
            (count.max(1) - 1).saturating_mul(steps.stride).saturating_add(reach).saturating_sub(lengths[axis]) as i64;
        let pads = match mode {
            "NOTSET" => steps.pads,
            "VALID" => [0, 0],
            "SAME_UPPER" => [missing / 2, missing - missing / 2],
            "SAME_LOWER" => [missing - missing / 2, missing / 2],
            other => return Err(call.wrong(format!("auto_pad {}", crate::text::name(other)))),
        };
        Ok(Steps { pads, ..steps })
    };
    (0..rank).map(of_axis).collect()
}

/// Windows along `axis`, whose elements become the last dimension.
fn windows(call: &mut Call, x: &Value, axis: usize, steps: Steps) -> Result<Value> {
    let length = x.shape()[axis];
    let (Some(reach), true) = (steps.reach(), x.rank() < 12) else {
        return Err(call.wrong("a window that is too large"));
    };
    let Some(free) = length.checked_sub(reach) else {
        return Err(call.wrong(format!("a window of {reach} in {length} elements")));
    };
    let mut shape = x.shape().to_vec();
    shape[axis] = free / steps.stride + 1;
    shape.push(reach);
    let tensor = call.number(x)?;
    let arguments = vec![tensor, Integer(axis as i64), Integer(reach as i64), Integer(steps.stride as i64)];
    let value = call.op("unfold", "", arguments, &shape, x.element())?;
    sliced(call, &value, shape.len() - 1, 0, steps.size, steps.dilation)
}

/// With numbers around it along `axis`; fewer than none are cut off.
fn padded(call: &mut Call, x: &Value, axis: usize, pads: [i64; 2], fill: f64) -> Result<Value> {
    let cut = pads.map(|pad| pad.min(0).unsigned_abs() as usize);
    let length = x.shape()[axis].checked_sub(cut[0].saturating_add(cut[1]));
    let length = length.ok_or_else(|| call.wrong("more is cut off than there is"))?;
    let x = sliced(call, x, axis, cut[0], length, 1)?;
    let pads = pads.map(|pad| pad.max(0));
    if pads == [0, 0] { Ok(x) } else { surrounded(call, &x, axis, pads, fill) }
}

/// Sizes of windows: `kernel_shape`, or those of the weight.
fn kernel(call: &Call, weight: Option<&Value>) -> Result<Vec<usize>> {
    let own = weight.map(|weight| weight.shape()[2.min(weight.rank())..].to_vec());
    match (call.integers("kernel_shape")?, own) {
        (Some(list), own) => {
            let list = call.sizes(&list)?;
            match own.is_none_or(|own| own == list) {
                true => Ok(list),
                false => Err(call.wrong(format!("kernel_shape {list:?} of another weight"))),
            }
        }
        (None, Some(own)) => Ok(own),
        (None, None) => Err(call.wrong("there is no kernel_shape")),
    }
}

fn conv(call: &mut Call) -> Outputs {
    let (x, weight, bias) = (call.input(0)?, call.input(1)?, call.optional(2));
    let groups = call.sizes(&[call.integer("group", 1)?])?[0];
    let sizes = kernel(call, Some(&weight))?;
    let steps = steps(call, &sizes, x.shape().get(2..).unwrap_or_default())?;
    Ok(vec![convolved(call, &x, &weight, bias.as_ref(), &steps, groups)?])
}

/// `x` [N, C, ...] convolved with weights [M, C / groups, ...], plus a bias [M].
fn convolved(
    call: &mut Call,
    x: &Value,
    w: &Value,
    bias: Option<&Value>,
    steps: &[Steps],
    groups: usize,
) -> Result<Value> {
    let ([_, channels, ..], [outputs, own, ..]) = (x.shape(), w.shape()) else { return Err(call.wrong("no channels")) };
    let (channels, outputs, own) = (*channels, *outputs, *own);
    let fits =
        own.checked_mul(groups) == Some(channels) && groups > 0 && outputs % groups == 0 && steps.len() + 2 == x.rank();
    if !fits || bias.is_some_and(|bias| bias.shape() != [outputs]) {
        return Err(call.wrong(format!("{groups} groups of {channels} channels with weights {:?}", w.shape())));
    }
    let mut x = x.clone();
    for (at, steps) in steps.iter().enumerate() {
        x = padded(call, &x, at + 2, steps.pads, 0.0)?;
    }
    by_operator(call, &x, w, bias, steps, groups)
}

/// LibTorch's own operator is one kernel.
fn by_operator(
    call: &mut Call,
    x: &Value,
    w: &Value,
    bias: Option<&Value>,
    steps: &[Steps],
    groups: usize,
) -> Result<Value> {
    let Some(name) = steps.len().checked_sub(1).and_then(|at| ["conv1d", "conv2d", "conv3d"].get(at)) else {
        return Err(call.wrong(format!("a convolution along {} dimensions", steps.len())));
    };
    let mut shape = vec![x.shape()[0], w.shape()[0]];
    for (steps, length) in steps.iter().zip(&x.shape()[2..]) {
        let free = steps.reach().and_then(|reach| length.checked_sub(reach));
        let free = free.ok_or_else(|| call.wrong("a window that is larger than the signal"))?;
        shape.push(free / steps.stride + 1);
    }
    let bias = match bias {
        Some(bias) => bias_of(call, bias)?,
        None => Absent,
    };
    let list = |of: fn(&Steps) -> usize| Integers(steps.iter().map(|steps| of(steps) as i64).collect());
    let (strides, dilations) = (list(|steps| steps.stride), list(|steps| steps.dilation));
    let (x_tensor, w_tensor) = (call.number(x)?, call.number(w)?);
    let arguments = vec![x_tensor, w_tensor, bias, strides, list(|_| 0), dilations, Integer(groups as i64)];
    call.op(name, "", arguments, &shape, x.element())
}

/// A bias, which trains even if it is one number.
fn bias_of(call: &mut Call, bias: &Value) -> Result<crate::graph::ObservedArgument> {
    super::layers::parameter(call, bias, bias.shape())
}

/// As a convolution of `x` with zeros between its elements, by the weights the other way round.
fn conv_transpose(call: &mut Call) -> Outputs {
    let (x, weight, bias) = (call.input(0)?, call.input(1)?, call.optional(2));
    let groups = call.sizes(&[call.integer("group", 1)?])?[0];
    let sizes = kernel(call, Some(&weight))?;
    let lengths = x.shape().get(2..).unwrap_or_default().to_vec();
    let around = transposed_steps(call, &sizes, &lengths)?;
    let mut x = x;
    for (at, (steps, more)) in around.iter().enumerate() {
        x = spread(call, &x, at + 2, steps.stride)?;
        let reach = steps.reach().unwrap_or(1) as i64;
        let pads = [reach - 1 - steps.pads[0], reach - 1 - steps.pads[1] + more];
        x = padded(call, &x, at + 2, pads, 0.0)?;
    }
    let weight = turned_weight(call, &weight, groups)?;
    let steps: Vec<Steps> = around.iter().map(|(steps, _)| Steps { stride: 1, pads: [0, 0], ..*steps }).collect();
    Ok(vec![convolved(call, &x, &weight, bias.as_ref(), &steps, groups)?])
}

/// Of a transposed convolution, with the elements added at the end of its result.
fn transposed_steps(call: &Call, sizes: &[usize], lengths: &[usize]) -> Result<Vec<(Steps, i64)>> {
    let rank = sizes.len();
    let more = call.integers("output_padding")?.unwrap_or_else(|| vec![0; rank]);
    let wanted = call.integers("output_shape")?;
    let mode = call.text("auto_pad", "NOTSET")?;
    if more.len() != rank || wanted.as_ref().is_some_and(|wanted| wanted.len() != rank) {
        return Err(call.wrong("paddings for another number of dimensions"));
    }
    call.sizes(&more)?;
    let mut all = Vec::new();
    for (at, mut steps) in steps(call, sizes, lengths)?.into_iter().enumerate() {
        let full = (steps.stride * (lengths[at].max(1) - 1) + steps.reach().unwrap_or(1)) as i64 + more[at];
        let target = match (&wanted, mode) {
            (Some(wanted), _) => Some(wanted[at]),
            (None, "SAME_UPPER" | "SAME_LOWER") => Some((lengths[at] * steps.stride) as i64),
            (None, _) => None,
        };
        if let Some(target) = target {
            call.sizes(&[target])?;
            let total = (full - target).max(0);
            steps.pads = match mode {
                "SAME_UPPER" => [total / 2, total - total / 2],
                _ => [total - total / 2, total / 2],
            };
            all.push((steps, more[at] + (target - full).max(0)));
        } else {
            all.push((steps, more[at]));
        }
    }
    Ok(all)
}

/// With `stride - 1` zeros between neighbours along an axis.
fn spread(call: &mut Call, x: &Value, axis: usize, stride: usize) -> Result<Value> {
    let length = x.shape()[axis];
    if stride == 1 || length == 0 {
        return Ok(x.clone());
    }
    let mut shape = x.shape().to_vec();
    shape.insert(axis + 1, 1);
    let x = reshaped(call, x, &shape)?;
    let x = surrounded(call, &x, axis + 1, [0, stride as i64 - 1], 0.0)?;
    shape.remove(axis + 1);
    shape[axis] = length * stride;
    let x = reshaped(call, &x, &shape)?;
    sliced(call, &x, axis, 0, (length - 1) * stride + 1, 1)
}

/// Weights [C, M / groups, ...] of a transposed convolution as those [M, C / groups, ...] of a convolution.
fn turned_weight(call: &mut Call, w: &Value, groups: usize) -> Result<Value> {
    let [inputs, outputs, ..] = w.shape()[..] else { return Err(call.wrong("a weight without channels")) };
    if groups == 0 || inputs % groups != 0 {
        return Err(call.wrong(format!("{groups} groups of {inputs} channels")));
    }
    let taps = w.shape()[2..].to_vec();
    let mut w = reshaped(call, w, &[&[groups, inputs / groups, outputs], &taps[..]].concat())?;
    let order: Vec<usize> = [0, 2, 1].into_iter().chain(3..3 + taps.len()).collect();
    w = permuted(call, &w, &order)?;
    w = reshaped(call, &w, &[&[groups * outputs, inputs / groups], &taps[..]].concat())?;
    for (at, &size) in taps.iter().enumerate().filter(|(_, size)| **size > 1) {
        w = super::chosen::selected(call, &w, at + 2, (0..size as i64).rev().collect())?;
    }
    Ok(w)
}

/// Windows of a pool, and where each dimension really ends: with `ceil_mode` a last one may reach beyond the padding.
fn pool_steps(call: &Call, x: &Value) -> Result<Vec<(Steps, i64)>> {
    let sizes = kernel(call, None)?;
    let lengths = x.shape().get(2..).unwrap_or_default();
    let ceil = call.integer("ceil_mode", 0)? != 0;
    let mut all = Vec::new();
    for (steps, &length) in steps(call, &sizes, lengths)?.into_iter().zip(lengths) {
        let end = length as i64 + steps.pads[0] + steps.pads[1];
        let (reach, stride) = (steps.reach().unwrap_or(1) as i64, steps.stride as i64);
        let free = end - reach;
        let mut more = 0;
        if ceil && free >= 0 && free % stride != 0 {
            let start = (free / stride + 1) * stride;
            if start < length as i64 + steps.pads[0] {
                more = start + reach - end;
            }
        }
        all.push((steps, more));
    }
    Ok(all)
}

fn max_pool(call: &mut Call) -> Outputs {
    let mut x = call.input(0)?;
    if call.node.outputs.len() > 1 || call.integer("storage_order", 0)? != 0 {
        return Err(call.refuse("the places of the greatest"));
    }
    if x.element().is_integer() {
        return Err(call.refuse("a pool of integers"));
    }
    // From the last dimension on: of equals, the first one in the order of memory has the derivative, as in LibTorch.
    for (at, (steps, more)) in pool_steps(call, &x)?.into_iter().enumerate().rev() {
        let x_padded = padded(call, &x, at + 2, [steps.pads[0], steps.pads[1] + more], f64::NEG_INFINITY)?;
        let windows = windows(call, &x_padded, at + 2, steps)?;
        let last = windows.rank() - 1;
        let arguments = vec![call.number(&windows)?, Integer(last as i64), Bool(false)];
        x = call.op("max", "dim", arguments, &windows.shape()[..last], x.element())?;
    }
    Ok(vec![x])
}

/// Sums over the windows, and how many elements each one counts: those of the padding, too, if `with_padding`.
fn window_sums(call: &mut Call, x: &Value, with_padding: bool) -> Result<(Value, Value)> {
    let mut x = x.clone();
    let mut counts: Vec<f64> = vec![1.0];
    for (at, (steps, more)) in pool_steps(call, &x)?.into_iter().enumerate() {
        let length = x.shape()[at + 2] as i64;
        let counted = if with_padding { -steps.pads[0]..length + steps.pads[1] } else { 0..length };
        x = padded(call, &x, at + 2, [steps.pads[0], steps.pads[1] + more], 0.0)?;
        let windows = windows(call, &x, at + 2, steps)?;
        let last = windows.rank() - 1;
        let arguments = vec![call.number(&windows)?, Integers(vec![last as i64]), Bool(false), Absent];
        x = call.op("sum", "dim_IntList", arguments, &windows.shape()[..last], x.element())?;
        let of_window = |window: usize| {
            let start = (window * steps.stride) as i64 - steps.pads[0];
            (0..steps.size).filter(|tap| counted.contains(&(start + (tap * steps.dilation) as i64))).count() as f64
        };
        let places = x.shape()[at + 2];
        if fold::check_length(&[counts.len(), places]).and(fold::check_length(&[places, steps.size])).is_err() {
            return Err(call.wrong(format!("windows of {} over {places} places", steps.size)));
        }
        let along: Vec<f64> = (0..places).map(of_window).collect();
        counts = counts.iter().flat_map(|count| along.iter().map(move |along| count * along)).collect();
    }
    let counts = Value::Known(Known::floats(&x.shape()[2..], counts));
    Ok((x, counts))
}

fn average_pool(call: &mut Call) -> Outputs {
    let x = call.input(0)?;
    let with_padding = call.integer("count_include_pad", 0)? != 0;
    let (sums, counts) = window_sums(call, &x, with_padding)?;
    Ok(vec![call.div(&sums, &counts)?])
}

/// (sum of |x|^p)^(1 / p) over windows
fn lp_pool(call: &mut Call) -> Outputs {
    let (x, p) = (call.input(0)?, call.integer("p", 2)?);
    if p < 1 {
        return Err(call.wrong(format!("p = {p}")));
    }
    let size = call.like("abs", &x, vec![])?;
    let power = call.like("pow", &size, vec![Float(p as f64)])?;
    let (sums, _) = window_sums(call, &power, true)?;
    Ok(vec![call.like("pow", &sums, vec![Float(1.0 / p as f64)])?])
}

fn global(call: &mut Call, op: &str) -> Outputs {
    let x = call.input(0)?;
    let axes: Vec<usize> = (2..x.rank()).collect();
    let mut shape = x.shape().to_vec();
    axes.iter().for_each(|&axis| shape[axis] = 1);
    if axes.is_empty() {
        return Ok(vec![x]);
    }
    let (overload, more) = if op == "mean" { ("dim", vec![Absent]) } else { ("", vec![]) };
    let arguments = [vec![call.number(&x)?, integers(&axes), Bool(true)], more].concat();
    Ok(vec![call.op(op, overload, arguments, &shape, float_of(x.element()))?])
}

/// `x / (bias + alpha / size sum(x^2))^beta` over neighbouring channels (Krizhevsky, Sutskever and Hinton 2012, section 3.3)
fn response_normalization(call: &mut Call) -> Outputs {
    let (x, size) = (call.input(0)?, call.sizes(&[call.integer("size", 0)?])?[0]);
    let [alpha, beta, bias] = [call.float("alpha", 1e-4)?, call.float("beta", 0.75)?, call.float("bias", 1.0)?];
    if size == 0 || x.rank() < 2 {
        return Err(call.wrong("no neighbouring channels"));
    }
    let square = call.like("square", &x, vec![])?;
    let before = (size - 1) / 2;
    let pads = [before as i64, (size - 1 - before) as i64];
    let square = padded(call, &square, 1, pads, 0.0)?;
    let windows = windows(call, &square, 1, Steps { size, stride: 1, dilation: 1, pads: [0, 0] })?;
    let arguments = vec![call.number(&windows)?, Integers(vec![x.rank() as i64]), Bool(false), Absent];
    let sums = call.op("sum", "dim_IntList", arguments, x.shape(), x.element())?;
    let base = call.affine(&sums, alpha / size as f64, bias)?;
    let exponent = number(beta);
    let power = call.elementwise("pow", "", &[&base, &exponent], vec![], x.element())?;
    Ok(vec![call.div(&x, &power)?])
}
