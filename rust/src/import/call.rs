//! One operator of a file: its inputs and attributes, of the expected kinds, and the operators that it becomes.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use super::build::Builder;
use super::known::{Element, Known};
use super::value::Value;
use crate::error::{Error, Result};
use crate::graph::ObservedArgument as Argument;
use crate::graph::view::broadcast;
use crate::onnx::read::{Attribute, Node};
use crate::text;

/// Attributes that change nothing here: numbers that other inputs say too, labels of classes, seeds of what is not drawn, the
/// precision of means (always float32) and the rounding of types that are refused.
const WITHOUT_EFFECT: &[&str] = &[
    "classlabels_int64s",
    "classlabels_ints",
    "classlabels_strings",
    "hidden_size",
    "inputdimensions",
    "multi_class",
    "num_outputs",
    "round_mode",
    "saturate",
    "seed",
    "stash_type",
    "targets",
];

/// The results of an operator.
pub type Outputs = Result<Vec<Value>>;

/// An operator that is read.
pub struct Call<'b, 'a> {
    pub b: &'b mut Builder,
    pub node: &'b Node<'a>,
    /// None: it is absent.
    pub inputs: Vec<Option<Value>>,
    /// Version of the operator's domain.
    pub opset: i64,
    /// How often operators take each tensor, by name.
    pub uses: &'b HashMap<&'a str, usize>,
    /// Names of the attributes that were looked at.
    pub asked: RefCell<HashSet<String>>,
}

impl<'a> Call<'_, 'a> {
    /// The error that the operator is not supported as it is used.
    pub fn refuse(&self, what: impl AsRef<str>) -> Error {
        Error::invalid(
            format!("{}: {} is not supported", self.b.place, what.as_ref()),
            "change the network so that it does without, or export it with another opset",
        )
    }

    /// The error that the file contradicts itself.
    pub fn wrong(&self, what: impl AsRef<str>) -> Error {
        Error::invalid(format!("{}: {}", self.b.place, what.as_ref()), "check the file with onnx.checker")
    }

    pub fn has(&self, at: usize) -> bool {
        self.inputs.get(at).is_some_and(Option::is_some)
    }

    pub fn input(&self, at: usize) -> Result<Value> {
        let input = self.inputs.get(at).cloned().flatten();
        input.ok_or_else(|| self.wrong(format!("input {at} is missing")))
    }

    pub fn optional(&self, at: usize) -> Option<Value> {
        self.inputs.get(at).cloned().flatten()
    }

    /// All inputs; none of them may be absent.
    pub fn all_inputs(&self) -> Result<Vec<Value>> {
        (0..self.inputs.len()).map(|at| self.input(at)).collect()
    }

    /// An input that must be known.
    pub fn known(&self, at: usize) -> Result<Known> {
        match self.input(at)? {
            Value::Known(known) => Ok(known),
            Value::Computed(_) => Err(self.refuse(format!("input {at} computed from the events"))),
        }
    }

    /// The integers of an input that must be known.
    pub fn known_integers(&self, at: usize) -> Result<Vec<i64>> {
        match &*self.known(at)?.numbers {
            super::known::Numbers::Integers(list) => Ok(list.clone()),
            super::known::Numbers::Floats(_) => Err(self.wrong(format!("input {at} holds no integers"))),
        }
    }

    /// The numbers of an input that must be known.
    fn known_floats(&self, at: usize) -> Result<Vec<f64>> {
        let known = self.known(at)?;
        Ok((0..known.count()).map(|at| known.numbers.float(at)).collect())
    }

    /// One number of an input that must be known.
    pub fn known_number(&self, at: usize) -> Result<f64> {
        match self.known_floats(at)?[..] {
            [number] => Ok(number),
            _ => Err(self.wrong(format!("input {at} is not one number"))),
        }
    }

    /// An attribute, which is looked at.
    pub fn attribute(&self, name: &str) -> Option<&Attribute<'a>> {
        self.asked.borrow_mut().insert(name.to_owned());
        self.node.attribute(name)
    }

    /// Refuses an attribute that nothing has looked at: it may mean anything.
    pub fn check_attributes(&self) -> Result<()> {
        let asked = self.asked.borrow();
        let is_open = |name: &str| !asked.contains(name) && !WITHOUT_EFFECT.contains(&name);
        match self.node.attributes.iter().find(|(name, _)| is_open(name)) {
            None => Ok(()),
            Some((name, _)) => Err(self.refuse(format!("attribute {}", text::name(name)))),
        }
    }

    pub fn integer(&self, name: &str, otherwise: i64) -> Result<i64> {
        match self.attribute(name) {
            None => Ok(otherwise),
            Some(Attribute::Integer(value)) => Ok(*value),
            Some(_) => Err(self.wrong(format!("attribute {name} is no integer"))),
        }
    }

    pub fn float(&self, name: &str, otherwise: f64) -> Result<f64> {
        match self.attribute(name) {
            None => Ok(otherwise),
            Some(Attribute::Float(value)) => Ok(f64::from(*value)),
            Some(_) => Err(self.wrong(format!("attribute {name} is no float"))),
        }
    }

    pub fn text<'b>(&'b self, name: &str, otherwise: &'b str) -> Result<&'b str> {
        match self.attribute(name) {
            None => Ok(otherwise),
            Some(Attribute::Text(value)) => {
                std::str::from_utf8(value).map_err(|_| self.wrong(format!("attribute {name} is no text")))
            }
            Some(_) => Err(self.wrong(format!("attribute {name} is no text"))),
        }
    }

    pub fn integers(&self, name: &str) -> Result<Option<Vec<i64>>> {
        match self.attribute(name) {
            None => Ok(None),
            Some(Attribute::Integers(list)) => Ok(Some(list.clone())),
            Some(_) => Err(self.wrong(format!("attribute {name} is no list of integers"))),
        }
    }

    pub fn floats(&self, name: &str) -> Result<Option<Vec<f64>>> {
        match self.attribute(name) {
            None => Ok(None),
            Some(Attribute::Floats(list)) => Ok(Some(list.iter().map(|&value| value.into()).collect())),
            Some(_) => Err(self.wrong(format!("attribute {name} is no list of floats"))),
        }
    }

    pub fn texts(&self, name: &str) -> Result<Vec<String>> {
        match self.attribute(name) {
            None => Ok(Vec::new()),
            Some(Attribute::Texts(list)) => {
                Ok(list.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect())
            }
            Some(_) => Err(self.wrong(format!("attribute {name} is no list of texts"))),
        }
    }

    /// A list of integers that was an attribute and became an input.
    pub fn integers_or(&self, name: &str, at: usize) -> Result<Option<Vec<i64>>> {
        match self.has(at) {
            true => self.known_integers(at).map(Some),
            false => self.integers(name),
        }
    }

    /// Sizes; none of them may be negative.
    pub fn sizes(&self, list: &[i64]) -> Result<Vec<usize>> {
        let size = |&size: &i64| usize::try_from(size).ok().filter(|size| *size < 1 << 32);
        let sizes: Option<Vec<usize>> = list.iter().map(size).collect();
        sizes.ok_or_else(|| self.wrong(format!("sizes of {}", text::list(list.iter().map(i64::to_string), ", "))))
    }

    /// A dimension of a tensor of that rank, negative ones counted from the end.
    pub fn axis(&self, axis: i64, rank: usize) -> Result<usize> {
        let counted = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
        let axis_at = counted.and_then(|axis| usize::try_from(axis).ok()).filter(|axis| *axis < rank);
        axis_at.ok_or_else(|| self.wrong(format!("axis {axis} of a tensor with {rank} dimensions")))
    }

    pub fn axis_named(&self, name: &str, otherwise: i64, rank: usize) -> Result<usize> {
        self.axis(self.integer(name, otherwise)?, rank)
    }

    /// Different dimensions, in rising order.
    pub fn axes(&self, list: &[i64], rank: usize) -> Result<Vec<usize>> {
        let mut axes = list.iter().map(|&axis| self.axis(axis, rank)).collect::<Result<Vec<_>>>()?;
        axes.sort_unstable();
        match axes.windows(2).all(|pair| pair[0] < pair[1]) {
            true => Ok(axes),
            false => Err(self.wrong("the same axis twice")),
        }
    }

    /// The shape that tensors of these broadcast to.
    pub fn broadcast(&self, values: &[&Value]) -> Result<Vec<usize>> {
        let both = |shape: Vec<usize>, value: &&Value| broadcast(&shape, value.shape());
        let shape = values.iter().try_fold(Vec::new(), both);
        shape.ok_or_else(|| self.wrong(format!("shapes {} do not broadcast", shapes(values))))
    }

    /// The value of LibTorch's operator.
    pub fn op(
        &mut self,
        op: &str,
        overload: &str,
        arguments: Vec<Argument>,
        shape: &[usize],
        element: Element,
    ) -> Result<Value> {
        self.b.call(op, overload, arguments, shape, element)
    }

    /// The same for one that keeps shape and type of its first argument, which is `x`.
    pub fn like(&mut self, op: &str, x: &Value, more: Vec<Argument>) -> Result<Value> {
        let first = self.number(x)?;
        let arguments = [vec![first], more].concat();
        self.op(op, "", arguments, x.shape(), float_of(x.element()))
    }

    /// A tensor of numbers; truth values are 0 and 1.
    pub fn number(&mut self, x: &Value) -> Result<Argument> {
        let tensor = self.b.tensor(x)?;
        if x.element() != Element::Bool {
            return Ok(tensor);
        }
        let value = self.op("to", "", vec![tensor], x.shape(), Element::Float32)?;
        self.b.tensor(&value)
    }

    /// A tensor as truth values: whether each element is not 0.
    pub fn mask(&mut self, x: &Value) -> Result<Value> {
        if x.element() == Element::Bool {
            return Ok(x.clone());
        }
        let tensor = self.b.tensor(x)?;
        self.op("ne", "Scalar", vec![tensor, Argument::Float(0.0)], x.shape(), Element::Bool)
    }

    /// A function of tensors that broadcast; what is before the first layer does not train.
    pub fn elementwise(
        &mut self,
        op: &str,
        overload: &str,
        inputs: &[&Value],
        more: Vec<Argument>,
        element: Element,
    ) -> Result<Value> {
        let shape = self.broadcast(inputs)?;
        let trains = self.b.is_behind_layer(inputs);
        let mut arguments = Vec::new();
        for (at, input) in inputs.iter().enumerate() {
            let argument = match (at, input.element()) {
                (_, Element::Bool) => self.b.tensor_if(input, false)?,
                (0, _) => self.b.tensor_if(input, trains)?,
                _ => self.b.number_or_tensor(input, trains)?,
            };
            arguments.push(argument);
        }
        arguments.extend(more);
        self.op(op, overload, arguments, &shape, element)
    }

    pub fn add(&mut self, a: &Value, b: &Value) -> Result<Value> {
        let element = float_of(a.element());
        self.elementwise("add", "Tensor", &[a, b], vec![Argument::Integer(1)], element)
    }

    pub fn sub(&mut self, a: &Value, b: &Value) -> Result<Value> {
        let element = float_of(a.element());
        self.elementwise("sub", "Tensor", &[a, b], vec![Argument::Integer(1)], element)
    }

    pub fn mul(&mut self, a: &Value, b: &Value) -> Result<Value> {
        let element = float_of(a.element());
        self.elementwise("mul", "Tensor", &[a, b], vec![], element)
    }

    pub fn div(&mut self, a: &Value, b: &Value) -> Result<Value> {
        let element = float_of(a.element());
        self.elementwise("div", "Tensor", &[a, b], vec![], element)
    }

    /// `x factor + term`
    pub fn affine(&mut self, x: &Value, factor: f64, term: f64) -> Result<Value> {
        let x = if factor == 1.0 { x.clone() } else { self.like("mul", x, vec![Argument::Float(factor)])? };
        if term == 0.0 { Ok(x) } else { self.like("add", &x, vec![Argument::Float(term), Argument::Integer(1)]) }
    }
}

/// A number as a tensor without dimensions.
pub fn number(value: f64) -> Value {
    Value::Known(Known::floats(&[], vec![value]))
}

/// The type of results computed from elements of `element`: truth values become numbers.
pub fn float_of(element: Element) -> Element {
    if element == Element::Bool { Element::Float32 } else { element }
}

fn shapes(values: &[&Value]) -> String {
    text::list(values.iter().map(|value| format!("{:?}", value.shape())), " and ")
}

/// A list of integers of LibTorch's.
pub fn integers(list: &[usize]) -> Argument {
    Argument::Integers(list.iter().map(|&each| each as i64).collect())
}
