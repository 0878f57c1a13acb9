//! An ONNX graph under construction: operators, constants, and values of events seen through views.

use std::collections::{HashMap, HashSet};

use crate::graph::View;
use crate::onnx::wire::Message;
use crate::onnx::write::{self, Attribute, Elements};

/// A value of all events: [events, shape...].
#[derive(Clone, Debug)]
pub struct Value {
    /// Name of the tensor.
    pub name: String,
    /// Shape for one event.
    pub shape: Vec<usize>,
}

/// See the module's documentation.
#[derive(Default)]
pub struct Builder {
    nodes: Vec<Message>,
    /// The constants, with their names.
    constants: Vec<(String, Message)>,
    names: HashSet<String>,
    /// What nodes take.
    taken: HashSet<String>,
    /// Constants of integers, by their elements and dimensions.
    integers: HashMap<(Vec<i64>, Vec<usize>), String>,
}

impl Builder {
    /// `wanted`, or, if that is taken, `wanted` with a number appended.
    pub fn name(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 1;
        while !self.names.insert(name.clone()) {
            number += 1;
            name = format!("{wanted}_{number}");
        }
        name
    }

    /// The value of an operator.
    pub fn with(&mut self, operator: &str, inputs: &[&str], attributes: &[(&str, Attribute)]) -> String {
        let output = self.name(&operator.to_lowercase());
        self.node(&output, operator, inputs, &[&output], attributes);
        output
    }

    /// The second value of an operator that has two.
    pub fn second(&mut self, operator: &str, inputs: &[&str], attributes: &[(&str, Attribute)]) -> String {
        let outputs = ["values", "places"].map(|output| self.name(&format!("{}_{output}", operator.to_lowercase())));
        let [first, second] = &outputs;
        self.node(second, operator, inputs, &[first, second], attributes);
        second.clone()
    }

    /// The value of an operator without attributes.
    pub fn op(&mut self, operator: &str, inputs: &[&str]) -> String {
        self.with(operator, inputs, &[])
    }

    /// Writes the value of an operator under this name.
    pub fn named(&mut self, name: &str, operator: &str, inputs: &[&str], attributes: &[(&str, Attribute)]) {
        self.node(name, operator, inputs, &[name], attributes);
    }

    /// A constant of numbers.
    pub fn floats(&mut self, wanted: &str, dims: &[usize], values: &[f32]) -> String {
        self.constant(wanted, dims, &Elements::Floats(values))
    }

    /// One number.
    pub fn number(&mut self, value: f32) -> String {
        self.floats("number", &[1], &[value])
    }

    /// A constant of truth values.
    pub fn bools(&mut self, dims: &[usize], values: &[bool]) -> String {
        self.constant("mask", dims, &Elements::Bools(values))
    }

    /// A constant of integers, written once.
    pub fn integers(&mut self, dims: &[usize], values: &[i64]) -> String {
        let key = (values.to_vec(), dims.to_vec());
        if let Some(name) = self.integers.get(&key) {
            return name.clone();
        }
        let name = self.constant("integers", dims, &Elements::Integers(values));
        self.integers.insert(key, name.clone());
        name
    }

    fn constant(&mut self, wanted: &str, dims: &[usize], elements: &Elements) -> String {
        let name = self.name(wanted);
        self.constants.push((name.clone(), write::tensor(&name, dims, elements)));
        name
    }

    fn node(
        &mut self,
        name: &str,
        operator: &str,
        inputs: &[&str],
        outputs: &[&str],
        attributes: &[(&str, Attribute)],
    ) {
        self.taken.extend(inputs.iter().map(|&input| input.to_owned()));
        self.nodes.push(write::node(name, operator, inputs, outputs, attributes));
    }

    /// The nodes in an order in which they can run, and the constants that they take.
    pub fn finish(self) -> (Vec<Message>, Vec<Message>) {
        let taken = self.constants.into_iter().filter(|(name, _)| self.taken.contains(name));
        (self.nodes, taken.map(|(_, constant)| constant).collect())
    }

    /// The same elements in another shape.
    pub fn reshaped(&mut self, value: &Value, shape: &[usize]) -> Value {
        if value.shape == shape {
            return value.clone();
        }
        let sizes: Vec<i64> = std::iter::once(-1).chain(shape.iter().map(|&size| size as i64)).collect();
        let sizes = self.integers(&[sizes.len()], &sizes);
        let name = self.op("Reshape", &[&value.name, &sizes]);
        Value { name, shape: shape.to_vec() }
    }

    /// Dimensions of an event in another order: dimension i of the result is dimension `order[i]`.
    pub fn transposed(&mut self, value: &Value, order: &[usize]) -> Value {
        if order.iter().enumerate().all(|(at, &dim)| at == dim) {
            return value.clone();
        }
        let order_of_all = std::iter::once(0).chain(order.iter().map(|&dim| dim as i64 + 1)).collect();
        let name = self.with("Transpose", &[&value.name], &[("perm", Attribute::Integers(order_of_all))]);
        Value { name, shape: order.iter().map(|&dim| value.shape[dim]).collect() }
    }

    /// A view of the value's elements as a value, in the view's shape.
    pub fn viewed(&mut self, value: &Value, view: &View) -> Value {
        let length: usize = value.shape.iter().product();
        if view.len() == length && view.is_contiguous() {
            return self.reshaped(value, &view.sizes);
        }
        let long: Vec<usize> = (0..view.rank()).filter(|&dim| view.sizes[dim] != 1).collect();
        let inner = view.permute(&long);
        if let (0, true, Some(order)) = (view.offset, view.len() == length, dense_order(&inner)) {
            let sorted: Vec<usize> = order.iter().map(|&dim| inner.sizes[dim]).collect();
            let mut place = vec![0; order.len()];
            order.iter().enumerate().for_each(|(at, &dim)| place[dim] = at);
            let value = self.reshaped(value, &sorted);
            let value = self.transposed(&value, &place);
            return self.reshaped(&value, &view.sizes);
        }
        let places: Vec<usize> = view.offsets().collect();
        self.chosen(value, &places, &view.sizes)
    }

    /// The elements at these places of the value, dense, in this shape.
    pub fn chosen(&mut self, value: &Value, places: &[usize], shape: &[usize]) -> Value {
        let length = value.shape.iter().product();
        let flat = self.reshaped(value, &[length]);
        let is_range = places.windows(2).all(|pair| pair[1] == pair[0] + 1);
        let numbers: Vec<i64> = places.iter().map(|&place| place as i64).collect();
        match (is_range, &numbers[..]) {
            (true, [first, ..]) if numbers.len() == length && *first == 0 => self.reshaped(&flat, shape),
            (true, [first, ..]) => {
                let [start, end, axis] = [*first, first + numbers.len() as i64, 1].map(|at| self.integers(&[1], &[at]));
                let name = self.op("Slice", &[&flat.name, &start, &end, &axis]);
                self.reshaped(&Value { name, shape: vec![numbers.len()] }, shape)
            }
            _ => {
                let index = self.integers(shape, &numbers);
                let name = self.with("Gather", &[&flat.name, &index], &[("axis", Attribute::Integer(1))]);
                Value { name, shape: shape.to_vec() }
            }
        }
    }
}

/// The order in which the dimensions of a view, all longer than 1, lie one in the other without gaps; none: they do not.
pub fn dense_order(view: &View) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = (0..view.rank()).collect();
    order.sort_by_key(|&dim| std::cmp::Reverse(view.strides[dim]));
    let mut reach = 1;
    let is_dense = order.iter().rev().all(|&dim| {
        let fits = view.strides[dim] == reach;
        reach *= view.sizes[dim];
        fits
    });
    is_dense.then_some(order)
}
