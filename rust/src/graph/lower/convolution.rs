//! Convolutions and pooling along one to three dimensions.
//!
//! The kernel convolves along one dimension. In more dimensions, the rows of a window count as channels of their own:
//! in the signal of all rows one after the other, the taps of a row are neighbours.

use super::{Call, Lowered, Operator};
use crate::error::Result;
use crate::graph::View;
use crate::graph::program::{Tensor, Ties};
use crate::graph::view::row_major;
use crate::kernels::strided::Convolution;

pub(super) const TABLE: &[Operator] = &[
    Operator { name: "conv1d", does: "convolution in one dimension", lower: |call| convolution_of(call, 1) },
    Operator { name: "conv2d", does: "convolution in two dimensions", lower: |call| convolution_of(call, 2) },
    Operator { name: "conv3d", does: "convolution in three dimensions", lower: |call| convolution_of(call, 3) },
    Operator {
        name: "_convolution_mode",
        does: "as conv1d to conv3d with the padding \"same\" or \"valid\"",
        lower: of_any_rank,
    },
    Operator { name: "convolution", does: "as conv1d to conv3d", lower: convolution },
    Operator { name: "_convolution", does: "as conv1d to conv3d", lower: convolution },
    Operator {
        name: "max_pool1d",
        does: "greatest of each window; the first of equals has the derivative",
        lower: |call| max_pool(call, 1),
    },
    Operator { name: "max_pool2d", does: "as max_pool1d, in two dimensions", lower: |call| max_pool(call, 2) },
    Operator { name: "max_pool3d", does: "as max_pool1d, in three dimensions", lower: |call| max_pool(call, 3) },
    Operator { name: "avg_pool1d", does: "mean of each window", lower: |call| avg_pool(call, 1) },
    Operator { name: "avg_pool2d", does: "mean of each window", lower: |call| avg_pool(call, 2) },
    Operator { name: "avg_pool3d", does: "mean of each window", lower: |call| avg_pool(call, 3) },
    Operator {
        name: "adaptive_avg_pool1d",
        does: "means of parts of one length",
        lower: |call| adaptive_pool(call, 1, false),
    },
    Operator {
        name: "adaptive_avg_pool2d",
        does: "means of parts of one size",
        lower: |call| adaptive_pool(call, 2, false),
    },
    Operator {
        name: "adaptive_max_pool1d",
        does: "greatest of parts of one length, where its place is not used",
        lower: |call| adaptive_pool(call, 1, true),
    },
    Operator {
        name: "adaptive_max_pool2d",
        does: "greatest of parts of one size, where its place is not used",
        lower: |call| adaptive_pool(call, 2, true),
    },
];

/// How windows move along one dimension.
#[derive(Clone, Copy)]
struct Steps {
    size: usize,
    stride: usize,
    padding: [usize; 2],
    dilation: usize,
}

/// Those of each dimension, with as much padding before as behind.
fn steps(sizes: &[usize], strides: &[usize], padding: &[usize], dilations: &[usize]) -> Vec<Steps> {
    let of_dim = |dim: usize| Steps {
        size: sizes[dim],
        stride: strides[dim],
        padding: [padding[dim]; 2],
        dilation: dilations[dim],
    };
    (0..sizes.len()).map(of_dim).collect()
}

/// One number for each dimension: a list of one stands for all.
fn each(call: &Call, position: usize, dims: usize) -> Result<Vec<usize>> {
    let list = call.sizes(position)?;
    match list.len() {
        1 => Ok(vec![list[0]; dims]),
        length if length == dims => Ok(list),
        length => Err(call.refuse(format!("has {length} numbers for {dims} dimensions"))),
    }
}

/// Sizes of the windows of a convolution: those of its weights.
fn taps(call: &mut Call) -> Result<Vec<usize>> {
    let sizes = call.tensor(1)?.view.sizes;
    match sizes.get(2..) {
        Some(taps) if (1..=3).contains(&taps.len()) => Ok(taps.to_vec()),
        _ => Err(call.refuse("works on another number of dimensions")),
    }
}

/// `_convolution_mode(x, weight, bias, stride, padding, dilation, groups)`
fn of_any_rank(call: &mut Call) -> Lowered {
    let dims = taps(call)?.len();
    convolution_of(call, dims)
}

/// `conv1d(x, weight, bias, stride, padding, dilation, groups)`, or in more dimensions; the padding may be a word.
fn convolution_of(call: &mut Call, dims: usize) -> Lowered {
    let (taps, strides, dilations) = (taps(call)?, each(call, 3, dims)?, each(call, 5, dims)?);
    if taps.len() != dims {
        return Err(call.refuse("works on another number of dimensions"));
    }
    let is_word = call.overload() == "padding" || call.node.op == "aten::_convolution_mode";
    let word = if is_word { Some(call.text(4)?.to_owned()) } else { None };
    let numbers = if is_word { vec![0; dims] } else { each(call, 4, dims)? };
    let mut steps = steps(&taps, &strides, &numbers, &dilations);
    for Steps { size, dilation, padding, .. } in &mut steps {
        let reach = size.saturating_sub(1).saturating_mul(*dilation);
        match word.as_deref() {
            None | Some("valid") => {}
            Some("same") => *padding = [reach / 2, reach - reach / 2],
            Some(other) => return Err(call.refuse(format!("has the padding \"{other}\""))),
        }
    }
    let groups = call.integer(6)?;
    convolve(call, &steps, groups)
}

/// `convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups, ...)`
fn convolution(call: &mut Call) -> Lowered {
    if call.flag(6)? {
        return Err(call.refuse("is transposed"));
    }
    let taps = taps(call)?;
    let dims = taps.len();
    let (strides, padding, dilations) = (each(call, 3, dims)?, each(call, 4, dims)?, each(call, 5, dims)?);
    let groups = call.integer(8)?;
    convolve(call, &steps(&taps, &strides, &padding, &dilations), groups)
}

/// `x` [events, channels, sizes], or without events.
fn convolve(call: &mut Call, steps: &[Steps], groups: i64) -> Lowered {
    let (x, weight, bias) = (call.tensor(0)?, call.tensor(1)?, call.optional(2)?);
    let single = x.view.rank() == steps.len() + 1;
    let x = if single { Tensor { view: x.view.unsqueeze(0), ..x } } else { x };
    let groups = groups.max(1) as usize;
    let value = convolved(call, &x, &weight, bias.as_ref(), steps, groups)?;
    Ok(vec![if single { Tensor { view: value.view.squeeze(0), ..value } } else { value }])
}

fn convolved(
    call: &mut Call,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    steps: &[Steps],
    groups: usize,
) -> Result<Tensor> {
    let [outputs, own, ..] = weight.view.sizes[..] else {
        return Err(call.refuse("works on another number of dimensions"));
    };
    let fits = x.view.rank() == steps.len() + 2
        && own.checked_mul(groups) == Some(x.view.sizes[1])
        && outputs % groups == 0
        && steps.iter().all(|steps| steps.stride > 0 && steps.dilation > 0);
    if !fits {
        return Err(call.refuse("has sizes that do not fit together"));
    }
    let mut padded = x.clone();
    for (dim, steps) in steps.iter().enumerate() {
        padded = call.padded(&padded, dim + 2, steps.padding, 0.0)?;
    }
    let is_empty = x.view.is_empty() || weight.view.is_empty();
    match steps.last() {
        Some(Steps { stride: 1, .. }) if !is_empty => by_rows(call, &padded, weight, bias, steps, groups),
        _ => by_windows(call, &padded, weight, bias, steps, groups),
    }
}

/// Windows of these sizes along the last dimensions of `view`; each becomes a dimension after all others.
fn windows(call: &Call, view: &View, first: usize, steps: &[Steps]) -> Result<View> {
    steps.iter().enumerate().try_fold(view.clone(), |view, (dim, steps)| {
        let view = view.windows(first + dim, steps.size, steps.stride, steps.dilation);
        view.ok_or_else(|| call.refuse("has no window that fits"))
    })
}

/// [events, channels, places, window] to [events, channels, window, places], dense.
fn columns(call: &mut Call, x: &Tensor, windows: View) -> Result<Tensor> {
    let rank = x.view.rank();
    let order = [vec![0, 1], (rank..windows.rank()).collect(), (2..rank).collect()].concat();
    call.dense(&Tensor { view: windows.permute(&order), ..x.clone() })
}

/// One convolution along the last dimension, with a stride of 1, of all rows one after the other: a row of the window
/// is a separate channel, made of the rows that it meets. Places where a window would reach into the next row are
/// computed, but not used.
fn by_rows(
    call: &mut Call,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    steps: &[Steps],
    groups: usize,
) -> Result<Tensor> {
    let (rows, [last]) = steps.split_at(steps.len() - 1) else { return Err(call.refuse("has no dimensions")) };
    let [events, outputs] = [x.view.sizes[0], weight.view.sizes[0]];
    let seen = windows(call, &x.view, 2, rows)?;
    let places = seen.sizes[2..x.view.rank()].to_vec();
    let (width, length) = (places[rows.len()], places.iter().product::<usize>());
    let inputs = weight.view.sizes[1] * rows.iter().map(|steps| steps.size).product::<usize>();
    let signals = if rows.is_empty() { x.clone() } else { columns(call, x, seen)? };
    let signals = call.reshape(&signals, &[events, groups * inputs, length])?;
    let weight = call.reshape(weight, &[outputs, inputs, last.size])?;
    let c = Convolution {
        events,
        groups,
        inputs,
        outputs: outputs / groups,
        taps: last.size,
        dilation: last.dilation,
        length,
    };
    let value = call.convolved(c, &signals, &weight, bias)?;
    let kept = width.checked_sub((last.size - 1) * last.dilation).filter(|&kept| kept > 0);
    let kept = kept.ok_or_else(|| call.refuse("has no window that fits"))?;
    let strides = [&value.view.strides[..2], &row_major(&places)[..]].concat();
    let sizes = [&[events, outputs], &places[..rows.len()], &[kept]].concat();
    Ok(Tensor { view: View { sizes, strides, ..value.view.clone() }, ..value })
}

/// Each window of the input as a column, then one product for each event and group: weight [O, I K] x columns [I K, L].
fn by_windows(
    call: &mut Call,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    steps: &[Steps],
    groups: usize,
) -> Result<Tensor> {
    let [events, outputs] = [x.view.sizes[0], weight.view.sizes[0]];
    let seen = windows(call, &x.view, 2, steps)?;
    let places = seen.sizes[2..x.view.rank()].to_vec();
    let depth = weight.view.sizes[1..].iter().product();
    let columns = columns(call, x, seen)?;
    let columns = call.reshape(&columns, &[events, groups, depth, places.iter().product()])?;
    let weight = call.reshape(weight, &[groups, outputs / groups, depth])?;
    let bias = match bias {
        Some(bias) => Some(call.reshape(bias, &[groups, outputs / groups, 1])?),
        None => None,
    };
    let value = call.product(&weight, &columns, bias.as_ref())?;
    call.reshape(&value, &[&[events, outputs], &places[..]].concat())
}

/// What `pool(x, kernel_size, stride, padding, ...)` does along each of the last dimensions; the stride is the window where none is
/// given.
fn pool_steps(call: &mut Call, dims: usize, dilations: &[usize]) -> Result<Vec<Steps>> {
    let (sizes, padding) = (each(call, 1, dims)?, each(call, 3, dims)?);
    let is_given = !call.is_none(2) && !call.integers(2)?.is_empty();
    let strides = if is_given { each(call, 2, dims)? } else { sizes.clone() };
    if strides.iter().chain(dilations).any(|&step| step == 0) {
        return Err(call.refuse("has nothing to go along"));
    }
    Ok(steps(&sizes, &strides, &padding, dilations))
}

/// The greatest or the mean of each window along the last dimensions, one after the other: the last one first, so that of equals
/// the first one counts, row by row.
fn pool(call: &mut Call, steps: &[Steps], greatest: bool) -> Result<Tensor> {
    let mut value = call.tensor(0)?;
    let first = value.view.rank().checked_sub(steps.len());
    let first = first.ok_or_else(|| call.refuse("has nothing to go along"))?;
    let fill = if greatest { f64::NEG_INFINITY } else { 0.0 };
    for (dim, steps) in steps.iter().enumerate().rev() {
        // The gradient of a window of nothing but -inf goes to its first element, not to what lies around it.
        let is_edge_seen =
            greatest && steps.dilation == 1 && steps.padding != [0, 0] && value.view.sizes[first + dim] > 0;
        let padded = match is_edge_seen {
            true => call.extended(&value, first + dim, steps.padding)?,
            false => call.padded(&value, first + dim, steps.padding, fill)?,
        };
        let view = windows(call, &padded.view, first + dim, &[*steps])?;
        let (last, windows) = (view.rank() - 1, Tensor { view, ..padded });
        value = match greatest {
            true => call.max(&windows, &[last], false, Ties::First)?,
            false => call.mean(&windows, &[last], false)?,
        };
    }
    Ok(value)
}

/// `max_pool(x, kernel_size, stride, padding, dilation, ceil_mode)`
fn max_pool(call: &mut Call, dims: usize) -> Lowered {
    let dilations = each(call, 4, dims)?;
    let mut steps = pool_steps(call, dims, &dilations)?;
    if call.flag(5)? {
        reach_last_windows(call, &mut steps)?;
    }
    Ok(vec![pool(call, &steps, true)?])
}

/// `avg_pool(x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)`, the last of more than one dimension.
fn avg_pool(call: &mut Call, dims: usize) -> Lowered {
    let steps = pool_steps(call, dims, &vec![1; dims])?;
    let value = pool(call, &steps, false)?;
    if call.flag(4)? && call.result_shape(0)? != value.view.sizes {
        return Err(call.refuse("has a last window that is cut off"));
    }
    if steps.iter().any(|steps| steps.padding[0] > 0) && !call.flag(5)? {
        return Err(call.refuse("does not count its padding"));
    }
    if dims > 1 && !call.is_none(6) {
        return Err(call.refuse("divides by a number of its own"));
    }
    Ok(vec![value])
}

/// `adaptive_avg_pool(x, output_size)` or `adaptive_max_pool`
fn adaptive_pool(call: &mut Call, dims: usize, greatest: bool) -> Lowered {
    let (sizes, counts) = (call.tensor(0)?.view.sizes, each(call, 1, dims)?);
    let first = sizes.len().checked_sub(dims).ok_or_else(|| call.refuse("has nothing to go along"))?;
    let mut steps = Vec::new();
    for (&count, &length) in counts.iter().zip(&sizes[first..]) {
        if count == 0 || length == 0 || length % count != 0 {
            return Err(call.refuse("has parts of several lengths"));
        }
        steps.push(Steps { size: length / count, stride: length / count, padding: [0; 2], dilation: 1 });
    }
    Ok(vec![pool(call, &steps, greatest)?])
}

/// With `ceil_mode` the last window may go beyond the end: the padding there becomes as long as it needs.
fn reach_last_windows(call: &mut Call, steps: &mut [Steps]) -> Result<()> {
    let (sizes, counts) = (call.tensor(0)?.view.sizes, call.result_shape(0)?);
    let first = sizes.len().checked_sub(steps.len()).ok_or_else(|| call.refuse("has nothing to go along"))?;
    for ((step, length), count) in steps.iter_mut().zip(&sizes[first..]).zip(counts.iter().skip(first)) {
        let end = count.saturating_sub(1) * step.stride + step.size.saturating_sub(1) * step.dilation + 1;
        step.padding[1] = step.padding[1].max(end.saturating_sub(length + step.padding[0]));
    }
    Ok(())
}
