//! Builder of the LibTorch operators that a graph becomes.

use std::collections::HashMap;
use std::rc::Rc;

use super::known::{Element, Known, MOST_DIMS, Numbers};
use super::value::{Computed, Value};
use crate::error::{Error, Result};
use crate::graph::view::checked_length;
use crate::graph::{DType, ObservedArgument as Argument, Recording};

/// Most operators: as many as a model file may have.
const MOST_OPERATORS: usize = 1 << 13;
/// Most elements of a tensor: more are no network, and no product of sizes overflows.
const MOST_ELEMENTS: usize = 1 << 40;
/// Most elements that are computed while the file is read.
const MOST_FOLDED: usize = 1 << 24;
/// Integers up to this size are exact in float32.
const EXACT: i64 = 1 << 24;
/// Operators with weights: what comes before the first one scales the features.
const LAYERS: &[&str] = &[
    "linear",
    "matmul",
    "embedding",
    "conv1d",
    "conv2d",
    "conv3d",
    "batch_norm",
    "layer_norm",
    "group_norm",
    "einsum",
];

/// A tensor of the file that operators take.
#[derive(Clone, Debug, PartialEq)]
pub struct Capture {
    /// Name of the initialiser; may be empty.
    pub name: Rc<str>,
    /// Whether a fit changes it.
    pub trains: bool,
    /// Element type.
    pub dtype: DType,
    /// Dense.
    pub shape: Vec<usize>,
    /// In row-major order.
    pub numbers: Rc<Numbers>,
}

/// Operators that look at elements in another way.
const VIEWS: &[&str] = &["reshape", "permute", "slice", "expand"];

/// See the module's documentation.
pub struct Builder {
    pub recording: Recording,
    /// The constants of the recording.
    pub captured: Vec<Capture>,
    /// Type of the graph's numbers.
    pub dtype: DType,
    /// Whether the recording is of what a fit computes.
    pub training: bool,
    /// Batch normalisation was recorded, which takes statistics of a batch in training.
    pub takes_statistics: bool,
    /// The operator of the file that is being recorded.
    pub place: String,
    /// Events that the file says it takes, and those that the recording has.
    rows: Option<[usize; 2]>,
    /// Whether a layer stands before the value of that index.
    is_behind_layer: Vec<bool>,
    /// Elements that were computed already.
    folded: usize,
    /// Numbers that are the int64 values of an operator, which stand behind them.
    integers: HashMap<u32, u32>,
}

impl Builder {
    pub fn new(dtype: DType, training: bool, rows: Option<[usize; 2]>) -> Self {
        Builder {
            recording: Recording::default(),
            captured: Vec::new(),
            dtype,
            training,
            takes_statistics: false,
            place: String::new(),
            rows,
            is_behind_layer: Vec::new(),
            folded: 0,
            integers: HashMap::new(),
        }
    }

    fn refuse(&self, what: &str, remedy: &str) -> Error {
        Error::invalid(format!("{} {what}", self.place), remedy)
    }

    fn dtype_of(&self, element: Element) -> DType {
        if element == Element::Bool { DType::Bool } else { self.dtype }
    }

    /// An input of the graph.
    pub fn input(&mut self, shape: &[usize], element: Element) -> Computed {
        let index = self.recording.value(self.dtype_of(element), shape);
        self.recording.graph.inputs.push(index);
        self.is_behind_layer.push(false);
        Computed { index, shape: shape.to_vec(), element }
    }

    /// The value of an operator of LibTorch.
    pub fn call(
        &mut self,
        op: &str,
        overload: &str,
        arguments: Vec<Argument>,
        shape: &[usize],
        element: Element,
    ) -> Result<Value> {
        if shape.len() > MOST_DIMS || checked_length(shape, MOST_ELEMENTS).is_err() {
            return Err(self.refuse(&format!("makes a tensor of shape {shape:?}"), "make the network smaller"));
        }
        let index = self.record(op, overload, arguments.clone(), &[(self.dtype_of(element), shape)])?[0];
        // Another look at int64 values, as which they may be wanted again.
        if VIEWS.contains(&op)
            && let [Argument::Value(x), more @ ..] = &arguments[..]
            && let Some(&integers) = self.integers.get(x)
        {
            let arguments = [&[Argument::Value(integers)], more].concat();
            let view = self.record(op, overload, arguments, &[(DType::Int64, shape)])?[0];
            self.integers.insert(index, view);
        }
        Ok(Value::Computed(Computed { index, shape: shape.to_vec(), element }))
    }

    /// The values of an operator of LibTorch that is being recorded.
    fn record(
        &mut self,
        op: &str,
        overload: &str,
        arguments: Vec<Argument>,
        results: &[(DType, &[usize])],
    ) -> Result<Vec<u32>> {
        let behind = LAYERS.contains(&op) || self.are_behind_layer(&arguments);
        let indices = self.recording.call(op, overload, arguments, results, &self.place);
        self.is_behind_layer.extend(results.iter().map(|_| behind));
        if self.recording.graph.nodes.len() > MOST_OPERATORS {
            return Err(self.refuse(
                &format!("makes more than {MOST_OPERATORS} operators of the network"),
                "make it smaller: recurrent layers are written down step by step",
            ));
        }
        Ok(indices)
    }

    /// The elements along an axis in order, the first one of equals first, and their places.
    pub fn sorted(&mut self, x: &Value, axis: usize, descending: bool) -> Result<[Value; 2]> {
        let arguments =
            vec![self.tensor(x)?, Argument::Bool(true), Argument::Integer(axis as i64), Argument::Bool(descending)];
        let (shape, element) = (x.shape(), x.element());
        let results = [(self.dtype_of(element), shape), (DType::Int64, shape)];
        let [values, places] = self.record("sort", "stable", arguments, &results)?[..] else {
            return Err(Error::Internal("sort without two results".into()));
        };
        let computed = |index, element| Value::Computed(Computed { index, shape: shape.to_vec(), element });
        Ok([computed(values, element), self.integers(places, shape)?])
    }

    /// An int64 value as numbers.
    fn integers(&mut self, index: u32, shape: &[usize]) -> Result<Value> {
        let numbers = self.call("to", "", vec![Argument::Value(index)], shape, Element::Int64)?;
        if let Value::Computed(computed) = &numbers {
            self.integers.insert(computed.index, index);
        }
        Ok(numbers)
    }

    /// A value as int64 places of `size` elements; negative ones count from the end.
    pub fn places(&mut self, value: &Value, size: usize) -> Result<Argument> {
        let shape = value.shape().to_vec();
        let tensor = self.tensor(value)?;
        if let Argument::Value(index) = &tensor
            && let Some(&integers) = self.integers.get(index)
        {
            return Ok(Argument::Value(integers)); // from sorting: none is negative
        }
        let negative = self.call("lt", "Scalar", vec![tensor.clone(), Argument::Float(0.0)], &shape, Element::Bool)?;
        let further = vec![tensor.clone(), Argument::Float(size as f64), Argument::Integer(1)];
        let further = self.call("add", "Tensor", further, &shape, Element::Float32)?;
        let either = vec![self.tensor(&negative)?, self.tensor(&further)?, tensor];
        let counted = self.call("where", "self", either, &shape, Element::Float32)?;
        let arguments = vec![self.tensor(&counted)?];
        Ok(Argument::Value(self.record("to", "", arguments, &[(DType::Int64, &shape)])?[0]))
    }

    fn are_behind_layer(&self, arguments: &[Argument]) -> bool {
        arguments.iter().flat_map(Argument::values).any(|index| self.is_behind_layer[index as usize])
    }

    /// Counts a result that was computed while the file is read; the elements of one that shares them cost nothing.
    pub fn count_folded(&mut self, value: &Value) -> Result<()> {
        if let Some(known) = value.known().filter(|known| Rc::strong_count(&known.numbers) == 1) {
            self.folded += known.count();
        }
        match self.folded <= MOST_FOLDED {
            true => Ok(()),
            false => Err(self.refuse("computes too much that is the same for all events", "fold its constants before")),
        }
    }

    /// Whether a layer stands before one of these.
    pub fn is_behind_layer(&self, values: &[&Value]) -> bool {
        values
            .iter()
            .any(|value| matches!(value, Value::Computed(computed) if self.is_behind_layer[computed.index as usize]))
    }

    /// The value as a tensor of the recording; a known one trains if it may.
    pub fn tensor(&mut self, value: &Value) -> Result<Argument> {
        self.tensor_if(value, true)
    }

    /// The same; a known one stays as it is unless it `trains`.
    pub fn tensor_if(&mut self, value: &Value, trains: bool) -> Result<Argument> {
        let known = match value {
            Value::Computed(computed) => return Ok(Argument::Value(computed.index)),
            Value::Known(known) => known,
        };
        let trains = trains && known.may_train();
        if let (Some(number), false) = (known.numbers.uniform(), trains || known.element == Element::Bool) {
            return self.filled(number, &known.shape);
        }
        let numbers = match &*known.numbers {
            Numbers::Integers(list) if known.element != Element::Bool => {
                if list.iter().any(|value| value.unsigned_abs() > EXACT as u64) {
                    return Err(self.refuse("computes with integers beyond 2^24", "export it with smaller ones"));
                }
                Rc::new(Numbers::Floats(list.iter().map(|&value| value as f64).collect()))
            }
            _ => Rc::clone(&known.numbers),
        };
        let dtype = self.dtype_of(known.element);
        let name = Rc::clone(&known.name);
        Ok(Argument::Value(self.capture(Capture { name, trains, dtype, shape: known.shape.clone(), numbers })))
    }

    /// A tensor full of one number.
    pub fn filled(&mut self, number: f64, shape: &[usize]) -> Result<Argument> {
        let sizes = shape.iter().map(|&size| size as i64).collect();
        let arguments = vec![Argument::Integers(sizes), Argument::Float(number)];
        let value = self.call("full", "", arguments, shape, Element::Float32)?;
        self.tensor(&value)
    }

    /// Indices as a tensor of the recording.
    pub fn index(&mut self, shape: &[usize], values: Vec<i64>) -> Argument {
        let numbers = Rc::new(Numbers::Integers(values));
        let capture = Capture { name: "".into(), trains: false, dtype: DType::Int64, shape: shape.to_vec(), numbers };
        Argument::Value(self.capture(capture))
    }

    /// A tensor of the file, captured once.
    pub fn capture(&mut self, capture: Capture) -> u32 {
        let is_same = |known: &Capture| {
            known.name == capture.name
                && known.trains == capture.trains
                && known.shape == capture.shape
                && known.dtype == capture.dtype
                && (Rc::ptr_eq(&known.numbers, &capture.numbers)
                    || known.numbers.count() <= 1024 && known.numbers == capture.numbers)
        };
        if let Some(at) = self.captured.iter().position(is_same) {
            return self.recording.graph.constants[at];
        }
        let index = self.recording.value(capture.dtype, &capture.shape);
        self.recording.graph.constants.push(index);
        self.is_behind_layer.push(false);
        self.captured.push(capture);
        index
    }

    /// A target of a reshape: where the file was written for a fixed number of events, that first size follows the events.
    pub fn with_rows(&self, target: &[i64], shape: &[usize]) -> Vec<i64> {
        let mut target = target.to_vec();
        if let (Some([declared, rows]), [first, ..]) = (self.rows, &mut target[..])
            && *first == declared as i64
            && shape.first() == Some(&rows)
        {
            *first = rows as i64;
        }
        target
    }

    /// A known number as what an operator takes in the place of a tensor, else the tensor.
    pub fn number_or_tensor(&mut self, value: &Value, trains: bool) -> Result<Argument> {
        match value {
            Value::Known(Known { numbers, shape, element, .. }) if shape.is_empty() && *element != Element::Bool => {
                Ok(Argument::Float(numbers.float(0)))
            }
            value => self.tensor_if(value, trains),
        }
    }
}
