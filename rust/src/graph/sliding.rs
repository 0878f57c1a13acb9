//! Turns a network of windows into one that slides over long series.
//!
//! The first layers of many networks are time-invariant: convolutions, pools, element-wise functions. Their values for
//! a window are among their values for a longer series, which computes nothing twice. [`cut`] finds these
//! layers, the trunk, and makes two modules: the trunk for a longer series, and the head, which is all the rest, for the part
//! of the trunk's values that belongs to one window.

use super::view::row_major;
use super::{AnyBatch, Mode, Module, Observed, ObservedArgument, ObservedGraph, ObservedNode, ObservedValue};
use crate::error::Result;

/// See the module's documentation. Both modules have the captured tensors of the one that was cut.
pub struct Sliding {
    /// [rows, channels, window + more] to [rows, values' channels * values' times].
    pub trunk: Module,
    /// [rows, values' channels, times of a window] to the outputs.
    pub head: Module,
    /// Samples between two times of the trunk's values.
    pub step: usize,
}

/// Operators of single numbers, and of numbers at the same time: each result is that of the arguments' elements at its place.
const ELEMENTWISE: &str = "add sub rsub mul div neg pow square reciprocal exp expm1 log log1p sqrt rsqrt exp2 log2 log10 sin cos tan \
    asin acos atan sinh cosh asinh acosh atanh tanh erf erfc abs sigmoid log_sigmoid relu relu6 leaky_relu elu selu celu silu gelu mish \
    softplus hardtanh hardsigmoid hardswish softshrink threshold clamp clamp_min clamp_max maximum minimum dropout contiguous clone alias \
    detach";

/// The trunk for a series of `count` strides beyond a window, and the head; or why the module has none.
pub fn cut(module: &Module, stride: usize, count: usize) -> Result<Result<Sliding, String>> {
    let [channels, window] = module.shape()[..] else {
        return Ok(Err(format!(
            "{} takes events of shape {:?}, not [channels, samples]",
            module.name(),
            module.shape()
        )));
    };
    let Ok(observed) = module.observed(Mode::Evaluation) else {
        return Ok(Err(format!("{} has no convolutions", module.name())));
    };
    let [graph, _] = observed.batch.graphs();
    let parts = match Parts::of(graph) {
        Ok(parts) => parts,
        Err(why) => return Ok(Err(format!("{}: {why}", module.name()))),
    };
    if !stride.is_multiple_of(parts.step()) {
        let multiple = format!("the stride is not a multiple of {} samples, the network's own", parts.step());
        return Ok(Err(format!("{}: {multiple}", module.name())));
    }
    let shape = &graph.values[parts.joint].shape;
    let [values, times] = [shape[1], shape[2]].map(|size| size.max(0) as usize);
    let more = stride * count;
    let trunk = map(observed, |graph| parts.trunk(graph, more));
    let head = map(observed, |graph| parts.head(graph));
    Ok(Ok(Sliding {
        trunk: module.part("the trunk", &[channels, window + more], trunk)?,
        head: module.part("the head", &[values, times], head)?,
        step: parts.step(),
    }))
}

/// The same change of every observation.
fn map(observed: &Observed, change: impl Fn(&ObservedGraph) -> ObservedGraph) -> Observed {
    let batch = &observed.batch;
    let graphs = batch.graphs().each_ref().map(&change);
    Observed {
        batch: AnyBatch::restored(graphs, batch.rows() as i64, ""),
        one: observed.one.as_ref().map(&change).map_err(Clone::clone),
        constants: observed.constants.clone(),
    }
}

/// Which operators belong where.
struct Parts {
    /// For each value, samples between two of its times; none where it has no times.
    steps: Vec<Option<usize>>,
    /// For each operator, whether it belongs to the trunk.
    in_trunk: Vec<bool>,
    /// For each operator, whether it needs the events.
    needs_events: Vec<bool>,
    /// The value that the head takes.
    joint: usize,
}

impl Parts {
    fn of(graph: &ObservedGraph) -> Result<Self, String> {
        let count = graph.nodes.len();
        let input = graph.inputs[0] as usize;
        let mut parts = Parts {
            steps: vec![None; graph.values.len()],
            in_trunk: vec![false; count],
            needs_events: vec![false; count],
            joint: input,
        };
        parts.steps[input] = Some(1);
        let mut of_events = vec![false; graph.values.len()];
        of_events[input] = true;
        let mut why = String::new();
        for (index, node) in graph.nodes.iter().enumerate() {
            parts.needs_events[index] = operands(node).any(|value| of_events[value]);
            node.outputs.iter().for_each(|&output| of_events[output as usize] = parts.needs_events[index]);
            // What was computed of a whole window belongs to that window.
            let takes_whole = operands(node).any(|value| of_events[value] && parts.steps[value].is_none());
            let step = match parts.step_of(graph, node) {
                Ok(Some(_)) if takes_whole => Err(format!("{} takes what was computed of a whole window", node.op)),
                step => step,
            };
            match step {
                Ok(step) => {
                    parts.in_trunk[index] = step.is_some();
                    node.outputs.iter().for_each(|&output| parts.steps[output as usize] = step);
                }
                Err(obstacle) if why.is_empty() => why = obstacle,
                Err(_) => {}
            }
        }
        parts.find_joint(graph, &why)?;
        Ok(parts)
    }

    /// Of the joint.
    fn step(&self) -> usize {
        self.steps[self.joint].unwrap_or(1)
    }

    /// The only value of the trunk that the head takes.
    fn find_joint(&mut self, graph: &ObservedGraph, why: &str) -> Result<(), String> {
        let head = graph.nodes.iter().enumerate().filter(|(index, _)| !self.in_trunk[*index]);
        let mut taken: Vec<usize> = head.flat_map(|(_, node)| operands(node)).collect();
        taken.extend(graph.outputs.iter().map(|&output| output as usize));
        taken.retain(|&value| self.steps[value].is_some());
        taken.sort_unstable();
        taken.dedup();
        match taken[..] {
            [joint] if joint != graph.inputs[0] as usize => self.joint = joint,
            [_] => return Err(format!("no layer is the same at all times: {why}")),
            _ => return Err(format!("{} of the values at all times are used otherwise: {why}", taken.len())),
        }
        Ok(())
    }

    /// Samples between two times of what an operator gives; none where it is not of the series, or why it is not the same at
    /// all times.
    fn step_of(&self, graph: &ObservedGraph, node: &ObservedNode) -> Result<Option<usize>, String> {
        let mut of_series = operands(node).filter_map(|value| Some((value, self.steps[value]?)));
        let Some((value, step)) = of_series.next() else { return Ok(None) };
        let name = node.op.strip_prefix("aten::").unwrap_or(&node.op);
        let no = |what: &str| Err(format!("{name} {what}"));
        let call = Arguments { node, value };
        match name {
            "conv1d" | "_convolution_mode" | "convolution" | "_convolution" => match () {
                _ if !call.is_first() || of_series.next().is_some() => no("has weights that depend on the events"),
                _ if matches!(name, "convolution" | "_convolution") && call.flag(6) => no("is transposed"),
                _ if !call.is_unpadded(4) => no("pads its input"),
                _ => call.size(3).map_or_else(|| no("has no stride"), |stride| Ok(Some(step * stride))),
            },
            "max_pool1d" | "avg_pool1d" if !call.is_unpadded(3) => no("pads its input"),
            "max_pool1d" | "avg_pool1d" => {
                let stride = call.size(2).or_else(|| call.size(1));
                stride.map_or_else(|| no("has no stride"), |stride| Ok(Some(step * stride)))
            }
            "batch_norm" if call.is_first() && !call.flag(5) && of_series.next().is_none() => Ok(Some(step)),
            _ if !ELEMENTWISE.split_whitespace().any(|each| each == name) => no("is not the same at all times"),
            _ => {
                let [output] = node.outputs[..] else { return no("has several results") };
                let shape = &graph.values[output as usize].shape;
                let same = |value: usize| match self.steps[value] {
                    Some(other) => other == step && graph.values[value].shape == *shape,
                    None => graph.values[value].shape.last().is_none_or(|&size| size == 1),
                };
                if operands(node).all(same) { Ok(Some(step)) } else { no("takes values of other times") }
            }
        }
    }

    /// For series of `more` samples beyond the window; gives the joint as one row.
    fn trunk(&self, graph: &ObservedGraph, more: usize) -> ObservedGraph {
        let longer = |(index, value): (usize, &ObservedValue)| {
            let mut value = value.clone();
            if let (Some(step), Some(times)) = (self.steps[index], value.shape.last_mut()) {
                *times += (more / step) as i64;
                dense(&mut value);
            }
            value
        };
        let mut values: Vec<_> = graph.values.iter().enumerate().map(longer).collect();
        let row = values.len() as u32;
        let mut flat = values[self.joint].clone();
        flat.shape = vec![flat.shape[0], flat.shape[1..].iter().product()];
        dense(&mut flat);
        values.push(flat);
        let mut nodes = self.nodes(graph, |index| self.in_trunk[index] || !self.needs_events[index]);
        nodes.push(ObservedNode {
            op: "aten::flatten".into(),
            overload: "using_ints".into(),
            arguments: vec![
                ObservedArgument::Value(self.joint as u32),
                ObservedArgument::Integer(1),
                ObservedArgument::Integer(-1),
            ],
            outputs: vec![row],
            place: String::new(),
        });
        ObservedGraph { values, nodes, outputs: vec![row], ..graph.clone() }
    }

    /// For the values of one window.
    fn head(&self, graph: &ObservedGraph) -> ObservedGraph {
        let mut values = graph.values.clone();
        dense(&mut values[self.joint]);
        let nodes = self.nodes(graph, |index| !self.in_trunk[index]);
        ObservedGraph { values, nodes, inputs: vec![self.joint as u32], ..graph.clone() }
    }

    fn nodes(&self, graph: &ObservedGraph, belongs: impl Fn(usize) -> bool) -> Vec<ObservedNode> {
        graph.nodes.iter().enumerate().filter(|(index, _)| belongs(*index)).map(|(_, node)| node.clone()).collect()
    }
}

/// The values that an operator takes.
fn operands(node: &ObservedNode) -> impl Iterator<Item = usize> + '_ {
    node.arguments.iter().flat_map(ObservedArgument::values).map(|value| value as usize)
}

/// Without gaps.
fn dense(value: &mut ObservedValue) {
    let sizes: Vec<usize> = value.shape.iter().map(|&size| size.max(0) as usize).collect();
    value.strides = row_major(&sizes).into_iter().map(|stride| stride as i64).collect();
}

/// The arguments of an operator whose first value of the series is `value`.
struct Arguments<'a> {
    node: &'a ObservedNode,
    value: usize,
}

impl Arguments<'_> {
    fn get(&self, position: usize) -> Option<&ObservedArgument> {
        self.node.arguments.get(position)
    }

    fn is_first(&self) -> bool {
        self.get(0) == Some(&ObservedArgument::Value(self.value as u32))
    }

    fn flag(&self, position: usize) -> bool {
        self.get(position) == Some(&ObservedArgument::Bool(true))
    }

    /// The only number, above 0, of an argument.
    fn size(&self, position: usize) -> Option<usize> {
        let number = match self.get(position)? {
            ObservedArgument::Integer(number) => *number,
            ObservedArgument::Integers(list) if list.len() == 1 => list[0],
            _ => return None,
        };
        usize::try_from(number).ok().filter(|&size| size > 0)
    }

    fn is_unpadded(&self, position: usize) -> bool {
        match self.get(position) {
            Some(ObservedArgument::Integers(list)) => list.iter().all(|&size| size == 0),
            Some(ObservedArgument::Integer(size)) => *size == 0,
            Some(ObservedArgument::Text(word)) => word == "valid",
            _ => false,
        }
    }
}
