//! The primitives of a program in operators of ONNX, for all events at once: a value [shape...] of one event in the
//! program is [events, shape...] here.

use std::collections::HashMap;

use super::builder::{Builder, Value, dense_order};
use super::functions;
use crate::error::Result;
use crate::export::Plan;
use crate::graph::program::{Gather, Node, Primitive, Product, Tensor};
use crate::graph::view::broadcast;
use crate::graph::{Function, View};
use crate::kernels::strided::{Convolution, Ranking};
use crate::onnx::write::Attribute;

/// Types of `TensorProto`.
const FLOAT: i64 = 1;
const INTEGER: i64 = 7;

/// Writes the nodes of a plan.
pub struct Writer<'a> {
    plan: &'a Plan<'a>,
    pub builder: Builder,
    /// Values of events, by buffer.
    values: HashMap<usize, Value>,
    /// Whole constants, by buffer and dimensions.
    constants: HashMap<(usize, Vec<usize>), String>,
}

/// Dimensions of one element make no difference; a value keeps one at least.
fn long_dims(shape: &[usize]) -> Vec<usize> {
    (0..shape.len()).filter(|&dim| shape[dim] != 1).collect()
}

fn squeezed(shape: &[usize]) -> Vec<usize> {
    let sizes: Vec<usize> = shape.iter().copied().filter(|&size| size != 1).collect();
    if sizes.is_empty() { vec![1] } else { sizes }
}

impl<'a> Writer<'a> {
    /// The event, the program's first argument, is `features`.
    pub fn new(plan: &'a Plan<'a>, builder: Builder, features: Value) -> Self {
        Writer { plan, builder, values: HashMap::from([(0, features)]), constants: HashMap::new() }
    }

    /// All nodes; returns what the network gives, [events, outputs].
    pub fn run(&mut self) -> Result<Value> {
        let plan = self.plan;
        for (_, node) in plan.nodes() {
            let value = self.node(node)?;
            self.values.insert(node.buffer, value);
        }
        let result = plan.result();
        let view = result.view.permute(&long_dims(&result.view.sizes));
        let view = if view.rank() == 0 { view.unsqueeze(0) } else { view };
        let value = self.values[&result.buffer].clone();
        Ok(self.builder.viewed(&value, &view))
    }

    fn event(&mut self, tensor: &Tensor) -> Value {
        let value = self.values[&tensor.buffer].clone();
        self.builder.viewed(&value, &tensor.view)
    }

    fn is_event(&self, tensor: &Tensor) -> bool {
        self.plan.is_event(tensor.buffer)
    }

    /// A view of a constant, with these dimensions; whole tensors of the network keep their names.
    fn constant(&mut self, buffer: usize, view: &View, dims: &[usize]) -> String {
        let whole = view.is_contiguous() && view.len() == self.plan.constant(buffer).len();
        let key = (buffer, dims.to_vec());
        if let (true, Some(name)) = (whole, self.constants.get(&key)) {
            return name.clone();
        }
        let wanted = self.plan.parameter_name(buffer).unwrap_or_else(|| "constant".to_owned());
        let name = self.builder.floats(&wanted, dims, &self.plan.elements(buffer, view));
        if whole {
            self.constants.insert(key, name.clone());
        }
        name
    }

    fn node(&mut self, node: &Node) -> Result<Value> {
        match &node.primitive {
            Primitive::Map(function) => self.map(node, *function),
            Primitive::Sum(target) => self.sum(node, target),
            Primitive::Max { columns, .. } => {
                let rows = self.rows(node, *columns);
                let axes = Attribute::Integers(vec![2]);
                let b = &mut self.builder;
                let name = b.with("ReduceMax", &[&rows.name], &[("axes", axes), ("keepdims", Attribute::Integer(0))]);
                Ok(Value { name, shape: vec![rows.shape[0]] })
            }
            Primitive::Length(columns) => {
                let rows = self.rows(node, *columns);
                let square = self.builder.op("Mul", &[&rows.name, &rows.name]);
                let sum = self.reduced(&Value { name: square, ..rows }, &[1]);
                Ok(Value { name: self.builder.op("Sqrt", &[&sum.name]), ..sum })
            }
            Primitive::Softmax { columns, side, logarithm } => {
                let behind = if *side > 1 { &[*columns, *side][..] } else { &[*columns] };
                let rows = self.rows_of(node, behind);
                let operator = if *logarithm { "LogSoftmax" } else { "Softmax" };
                let name = self.builder.with(operator, &[&rows.name], &[("axis", Attribute::Integer(2))]);
                Ok(Value { name, ..rows })
            }
            Primitive::Normalise { columns, eps } => self.normalise(node, *columns, *eps),
            Primitive::Product(product) => self.product(node, product),
            Primitive::Convolve(convolution) => self.convolve(node, convolution),
            Primitive::Argsort(ranking) => Ok(self.argsort(node, *ranking)),
            Primitive::Gather(gather) if self.is_event(&node.operands[1]) => self.gather(node, gather),
            Primitive::Gather(_) => {
                let places = self.plan.gathered(node)?;
                let source = self.values[&node.operands[0].buffer].clone();
                self.with_numbers(&source, &places, &vec![0.0; places.len()], &squeezed(&node.shape))
            }
            Primitive::Concat { fill, places } => self.concat(node, *fill, places),
            Primitive::Custom(_) => {
                Err(self.plan.refuse(node, "is C++ of the user's own, which no ONNX operator computes"))
            }
            Primitive::Scatter(_) => Err(self.plan.refuse(node, "adds elements at the places of an index")),
            Primitive::Moments(_) | Primitive::Standardise { .. } => {
                Err(self.plan.refuse(node, "takes the statistics of a batch"))
            }
            Primitive::Load(_)
            | Primitive::Linear(_)
            | Primitive::Round(_)
            | Primitive::Pack(_)
            | Primitive::Unpack(_) => Err(self.plan.refuse(node, "is no operator of a plan")),
        }
    }

    /// The first operand as [events, rows, columns].
    fn rows(&mut self, node: &Node, columns: usize) -> Value {
        self.rows_of(node, &[columns])
    }

    /// The first operand as [events, rows, ...] with these dimensions of a row.
    fn rows_of(&mut self, node: &Node, dims: &[usize]) -> Value {
        let value = self.event(&node.operands[0]);
        let length: usize = value.shape.iter().product();
        let rows = length / dims.iter().product::<usize>().max(1);
        self.builder.reshaped(&value, &[&[rows], dims].concat())
    }

    fn map(&mut self, node: &Node, function: Function) -> Result<Value> {
        let dims = long_dims(&node.shape);
        let shape = squeezed(&node.shape);
        // What is broadcast has one element there, which the operators repeat.
        let reduced = |view: &View| {
            let mut view = view.permute(&dims);
            for (size, stride) in view.sizes.iter_mut().zip(&view.strides) {
                *size = if *stride == 0 { 1 } else { *size };
            }
            if dims.is_empty() { view.unsqueeze(0) } else { view }
        };
        let views: Vec<View> = node.operands.iter().map(|operand| reduced(&operand.view)).collect();
        let reached = views.iter().try_fold(vec![1], |all, view| broadcast(&all, &view.sizes));
        let expand_first = reached.is_none_or(|reached| reached != shape);
        let mut first = true;
        let mut operands = Vec::new();
        for (operand, view) in node.operands.iter().zip(&views) {
            let name = if self.is_event(operand) {
                let full = operand.view.permute(&dims);
                let view = if expand_first && first && !dims.is_empty() { &full } else { view };
                first = false;
                let value = self.values[&operand.buffer].clone();
                self.builder.viewed(&value, view).name
            } else {
                let ones = view.sizes.iter().take_while(|&&size| size == 1).count().min(view.rank().max(1) - 1);
                self.constant(operand.buffer, view, &view.sizes[ones..])
            };
            operands.push((name, self.plan.number(operand)));
        }
        match functions::value(&mut self.builder, function, &operands) {
            Some(name) => Ok(Value { name, shape }),
            None => {
                Err(self.plan.refuse(node, &format!("computes {}, for which ONNX has no operator", function.name())))
            }
        }
    }

    /// Summed over these dimensions of an event, which disappear.
    fn reduced(&mut self, value: &Value, dims: &[usize]) -> Value {
        if dims.is_empty() {
            return value.clone();
        }
        let axes: Vec<i64> = dims.iter().map(|&dim| dim as i64 + 1).collect();
        let axes = self.builder.integers(&[axes.len()], &axes);
        let name = self.builder.with("ReduceSum", &[&value.name, &axes], &[("keepdims", Attribute::Integer(0))]);
        let kept = (0..value.shape.len()).filter(|dim| !dims.contains(dim)).map(|dim| value.shape[dim]);
        Value { name, shape: kept.collect() }
    }

    fn sum(&mut self, node: &Node, target: &View) -> Result<Value> {
        let dims = long_dims(&target.sizes);
        let (view, target) = (node.operands[0].view.permute(&dims), target.permute(&dims));
        let value = self.values[&node.operands[0].buffer].clone();
        let value = self.builder.viewed(&value, &view);
        let (summed, kept): (Vec<usize>, Vec<usize>) = (0..target.rank()).partition(|&dim| target.strides[dim] == 0);
        let kept = target.permute(&kept);
        match (target.offset, dense_order(&kept)) {
            (0, Some(order)) if kept.len() == node.shape.iter().product::<usize>() => {
                let value = self.reduced(&value, &summed);
                Ok(self.builder.transposed(&value, &order))
            }
            _ => Err(self.plan.refuse(node, "adds overlapping parts")),
        }
    }

    fn normalise(&mut self, node: &Node, columns: usize, eps: f64) -> Result<Value> {
        if node.operands[1..].iter().any(|row| self.is_event(row)) {
            return Err(self.plan.refuse(node, "scales by numbers of the event"));
        }
        let rows = self.rows(node, columns);
        let row = View::contiguous(&[columns]);
        let [scale, shift] = [1, 2].map(|at| self.constant(node.operands[at].buffer, &row, &[columns]));
        let attributes = [("axis", Attribute::Integer(-1)), ("epsilon", Attribute::Float(eps as f32))];
        let name = self.builder.with("LayerNormalization", &[&rows.name, &scale, &shift], &attributes);
        Ok(Value { name, ..rows })
    }

    fn product(&mut self, node: &Node, product: &Product) -> Result<Value> {
        let (a, b) = (&node.operands[0], &node.operands[1]);
        let is_row = product.m == 1 && product.batches.len() == 1;
        let (value, with_bias) = match (self.is_event(a), self.is_event(b)) {
            (true, false) if is_row => (self.layer(node, product), node.bias().is_some()),
            (event_a, event_b) => {
                let [a, b] = [(a, event_a), (b, event_b)].map(|(operand, is_event)| self.matrices(operand, is_event));
                (Value { name: self.builder.op("MatMul", &[&a, &b]), shape: node.shape.clone() }, false)
            }
        };
        let Some(start) = node.operands.get(2).filter(|start| !with_bias || self.is_event(start)) else {
            return Ok(value);
        };
        let term = match self.is_event(start) {
            true => self.event(start).name,
            false => self.constant(start.buffer, &start.view, &start.view.sizes),
        };
        let value = self.builder.reshaped(&value, &node.shape);
        Ok(Value { name: self.builder.op("Add", &[&value.name, &term]), shape: value.shape })
    }

    /// A row of each event times a matrix, with the bias if that is a row of constants.
    fn layer(&mut self, node: &Node, &Product { n, k, .. }: &Product) -> Value {
        let (x, w) = (&node.operands[0], &node.operands[1]);
        let view = x.view.clone();
        let row = View { offset: view.offset, sizes: vec![k], strides: vec![view.strides[view.rank() - 1]] };
        let value = self.values[&x.buffer].clone();
        let x = self.builder.viewed(&value, &row);
        let last = w.view.rank() - 2;
        let (turned, dims) = (w.view.transpose(last, last + 1), [n, k]);
        let lies_turned = turned.is_contiguous() && turned.len() == self.plan.constant(w.buffer).len();
        let w = match lies_turned {
            true => self.constant(w.buffer, &View::contiguous(&dims), &dims),
            false => self.constant(w.buffer, &w.view, &[k, n]),
        };
        let bias = node.operands.get(2).zip(node.bias()).filter(|(bias, _)| !self.is_event(bias));
        let bias =
            bias.map(|(bias, offset)| self.constant(bias.buffer, &View { offset, ..View::contiguous(&[n]) }, &[n]));
        let inputs: Vec<&str> = [&x.name, &w].into_iter().chain(&bias).map(String::as_str).collect();
        let attributes = [("transB", Attribute::Integer(i64::from(lies_turned)))];
        Value { name: self.builder.with("Gemm", &inputs, &attributes), shape: vec![n] }
    }

    /// A factor [batches..., rows, columns]; that of the events with their dimension before it.
    fn matrices(&mut self, operand: &Tensor, is_event: bool) -> String {
        if is_event {
            return self.event(operand).name;
        }
        let view = &operand.view;
        let batches = view.rank() - 2;
        match view.strides[..batches].iter().zip(&view.sizes).all(|(&stride, &size)| stride == 0 || size == 1) {
            true => {
                let matrix = (0..batches).fold(view.clone(), |view, _| view.select(0, 0));
                self.constant(operand.buffer, &matrix, &matrix.sizes)
            }
            false => self.constant(operand.buffer, view, &view.sizes),
        }
    }

    fn convolve(&mut self, node: &Node, c: &Convolution) -> Result<Value> {
        if node.operands[1..].iter().any(|operand| self.is_event(operand)) {
            return Err(self.plan.refuse(node, "convolves with numbers of the event"));
        }
        let signals = self.event(&node.operands[0]);
        // All events' signals in one dimension, where an event has several.
        let signals = self.builder.reshaped(&signals, &[c.groups * c.inputs, c.length]);
        let dims = [c.groups * c.outputs, c.inputs, c.taps];
        let weights = self.constant(node.operands[1].buffer, &View::contiguous(&dims), &dims);
        let channels = c.groups * c.outputs;
        let bias =
            node.operands.get(2).map(|bias| self.constant(bias.buffer, &View::contiguous(&[channels]), &[channels]));
        let inputs: Vec<&str> = [&signals.name, &weights].into_iter().chain(&bias).map(String::as_str).collect();
        let attributes = [
            ("dilations", Attribute::Integers(vec![c.dilation as i64])),
            ("group", Attribute::Integer(c.groups as i64)),
            ("kernel_shape", Attribute::Integers(vec![c.taps as i64])),
            ("pads", Attribute::Integers(vec![0, 0])),
            ("strides", Attribute::Integers(vec![1])),
        ];
        let name = self.builder.with("Conv", &inputs, &attributes);
        match c.events {
            1 => Ok(Value { name, shape: vec![channels, c.columns().unwrap_or(0)] }),
            // The name of a shape that it does not have yet: the reshape makes it so.
            _ => Ok(self.builder.reshaped(&Value { name, shape: Vec::new() }, &node.shape)),
        }
    }

    /// ONNX takes the first one of equals.
    fn argsort(&mut self, node: &Node, Ranking { descending, columns, count, .. }: Ranking) -> Value {
        let rows = self.rows(node, columns);
        let count = self.builder.integers(&[1], &[count as i64]);
        let largest = Attribute::Integer(i64::from(descending));
        let attributes = [("axis", Attribute::Integer(2)), ("largest", largest)];
        let places = self.builder.second("TopK", &[&rows.name, &count], &attributes);
        let name = self.cast(&places, FLOAT);
        Value { name, shape: node.shape.clone() }
    }

    /// The elements at places that are computed for each event.
    fn gather(&mut self, node: &Node, gather: &Gather) -> Result<Value> {
        let (source, index) = (&node.operands[0], &node.operands[1]);
        if gather.skip.is_some() {
            return Err(self.plan.refuse(node, "leaves out an index that is computed from the event"));
        }
        let (count, length) = (node.shape.iter().product(), self.plan.program.buffers[source.buffer].length);
        if length > Ranking::LONGEST {
            return Err(self.plan.refuse(node, "chooses of more elements than float32 counts"));
        }
        let index = self.event(index);
        let mut index = self.builder.reshaped(&index, &[count]).name;
        if gather.from_end {
            let (zero, size) = (self.builder.number(0.0), self.builder.number(gather.size as f32));
            let (negative, counted) =
                (self.builder.op("Less", &[&index, &zero]), self.builder.op("Add", &[&index, &size]));
            index = self.builder.op("Where", &[&negative, &counted, &index]);
        }
        let is_place = (!self.is_ranked(&node.operands[1], gather)).then(|| self.bounded(&mut index, gather.size));
        let stride = self.builder.number(gather.stride as f32);
        let bases: Vec<f32> = source.view.offsets().map(|base| base as f32).collect();
        let bases = self.builder.floats("places", &[count], &bases);
        let steps = self.builder.op("Mul", &[&index, &stride]);
        let places = self.builder.op("Add", &[&steps, &bases]);
        let places = self.cast(&places, INTEGER);
        let name = if self.is_event(source) {
            let value = self.values[&source.buffer].clone();
            let flat = self.builder.reshaped(&value, &[length]);
            self.builder.with("GatherElements", &[&flat.name, &places], &[("axis", Attribute::Integer(1))])
        } else {
            let table = self.constant(source.buffer, &View::contiguous(&[length]), &[length]);
            self.builder.op("Gather", &[&table, &places])
        };
        let name = match is_place {
            Some(is_place) => {
                let none = self.builder.number(f32::NAN);
                self.builder.op("Where", &[&is_place, &name, &none])
            }
            None => name,
        };
        Ok(self.builder.reshaped(&Value { name, shape: vec![count] }, &squeezed(&node.shape)))
    }

    /// Whether an index holds places that sorting gave, which are always among the elements that it chooses from.
    fn is_ranked(&self, index: &Tensor, gather: &Gather) -> bool {
        let made = self.plan.program.nodes.iter().find(|node| node.buffer == index.buffer);
        made.is_some_and(
            |node| matches!(&node.primitive, Primitive::Argsort(ranking) if ranking.columns <= gather.size),
        )
    }

    /// Replaces an index that is not a place among `size` elements by 0, because engines read outside the table, count
    /// from the end or throw; returns which indices are places. Predictions refuse the others; here they give NaN.
    fn bounded(&mut self, index: &mut String, size: usize) -> String {
        let (first, last) = (self.builder.number(0.0), self.builder.number(size.saturating_sub(1) as f32));
        let above = self.builder.op("Max", &[index, &first]);
        let nearest = self.builder.op("Min", &[&above, &last]);
        let is_place = self.builder.op("Equal", &[&nearest, index]);
        *index = self.builder.op("Where", &[&is_place, index, &first]);
        is_place
    }

    fn cast(&mut self, name: &str, dtype: i64) -> String {
        self.builder.with("Cast", &[name], &[("to", Attribute::Integer(dtype))])
    }

    fn concat(&mut self, node: &Node, fill: f64, places: &[View]) -> Result<Value> {
        let length = node.shape.iter().product();
        let mut from: Vec<Option<usize>> = vec![None; length];
        let mut numbers = vec![fill as f32; length];
        let (mut parts, mut total) = (Vec::new(), 0);
        for (operand, place) in node.operands.iter().zip(places) {
            match self.is_event(operand) {
                true => {
                    let count = operand.view.len();
                    let value = self.event(operand);
                    parts.push(self.builder.reshaped(&value, &[count]).name);
                    place.offsets().enumerate().for_each(|(at, to)| from[to] = Some(total + at));
                    total += count;
                }
                false => {
                    let elements = self.plan.elements(operand.buffer, &operand.view);
                    for (to, element) in place.offsets().zip(elements) {
                        (from[to], numbers[to]) = (None, element);
                    }
                }
            }
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let name = match &parts[..] {
            [only] => (*only).to_owned(),
            several => self.builder.with("Concat", several, &[("axis", Attribute::Integer(1))]),
        };
        self.with_numbers(&Value { name, shape: vec![total] }, &from, &numbers, &squeezed(&node.shape))
    }

    /// The elements at these places of the source; where there is none, the number.
    fn with_numbers(
        &mut self,
        source: &Value,
        from: &[Option<usize>],
        numbers: &[f32],
        shape: &[usize],
    ) -> Result<Value> {
        let places: Vec<usize> = from.iter().map(|place| place.unwrap_or(0)).collect();
        let chosen = self.builder.chosen(source, &places, shape);
        if from.iter().all(Option::is_some) {
            return Ok(chosen);
        }
        let is_chosen: Vec<bool> = from.iter().map(Option::is_some).collect();
        let (mask, numbers) = (self.builder.bools(shape, &is_chosen), self.builder.floats("constant", shape, numbers));
        Ok(Value { name: self.builder.op("Where", &[&mask, &chosen.name, &numbers]), shape: shape.to_vec() })
    }
}
