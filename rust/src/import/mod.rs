//! Networks of other programs: ONNX files become [`Module`]s of LibTorch's operators, like everything else that trains.
//!
//! A file is read for several numbers of events, as if LibTorch were observed: [`File::record`] goes through the
//! operators one by one and records what each becomes in LibTorch's operators ([`operators`]), with the shape of every
//! tensor. Whatever does not depend on the events (shapes, constants) is computed at once. [`AnyBatch`] then checks
//! that the recordings follow the number of events. Floating-point initialisers become parameters; integers, and
//! constants that scale the features before the first layer, do not train.
//!
//! A file may hold anything: sizes are checked before memory is taken, no path leads out of the file's folder, and lowering has the
//! bounds of a model file.

mod build;
mod call;
mod file;
mod fold;
mod graph;
mod known;
mod ops;
mod value;

pub use build::Capture;
pub use file::File;
pub use graph::{Given, Mode, Recorded};
pub use known::{Element, Known, Numbers};
pub use ops::{Operator, classic_operators, documentation, operators};
pub use value::{Computed, Value};

use std::path::Path;

use crate::dataset::Scaler;
use crate::error::{Error, Result};
use crate::graph::view::checked_length;
use crate::graph::{
    AnyBatch, Captured, DType, Module, Observed, ObservedArgument, ObservedGraph, SavedTensor, check_name,
    module_of_file,
};
use crate::model::{FlatOffset, Model, Names, PROBABILITIES, Training};
use crate::onnx::read::{Dim, Info};
use crate::text;

/// Numbers of events with which the operators are recorded: see `graph::Module`. No dimension of a network is likely to
/// be the product of these.
const EVENTS: usize = 7;
const OTHER_EVENTS: usize = 11;
/// Most events at a time that a file is tried with as it says.
const MOST_DECLARED: usize = 1 << 10;
/// Most elements of an input of several.
const MOST_INPUTS: usize = 1 << 24;

impl Model {
    /// The network of the ONNX file at `path`, whose weights continue training: its inputs, one after the other, are an
    /// event; its `output` is what it predicts, which may be "" if only one output can be computed as numbers. A final
    /// sigmoid of one output, or a final softmax, is what predictions do with logits, so that the network can be fitted
    /// as a classifier.
    pub fn load_onnx(path: &Path, output: &str) -> Result<Self> {
        loaded(path, output).map_err(|error| match error {
            Error::Invalid { what, remedy } => {
                Error::invalid(format!("ONNX file {}: {what}", text::name(&path.to_string_lossy())), remedy)
            }
            other => other,
        })
    }
}

fn loaded(path: &Path, output: &str) -> Result<Model> {
    let bytes = file::read(path)?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = if check_name("", &stem).is_ok() { stem } else { "network".to_owned() };
    model(&bytes, path.parent(), &name, output)
}

/// The network of a file with these bytes in that folder.
pub fn model(bytes: &[u8], folder: Option<&Path>, name: &str, output: &str) -> Result<Model> {
    let file = File::of(bytes, folder)?;
    let events = Events::of(&file)?;
    let output = chosen_output(&file, &events, output)?;
    let network = Network { file: &file, events: &events, output };
    network.model(name).map_err(|error| network.of_fixed_batch(error))
}

/// An input of the network.
struct Input<'a> {
    name: &'a str,
    element: Element,
    /// Shape of one event.
    shape: Vec<usize>,
}

/// The events of a file.
struct Events<'a> {
    inputs: Vec<Input<'a>>,
    /// Shape of an event: that of the only input, or the number of elements of all inputs.
    shape: Vec<usize>,
    /// Events that the file was written for; none: any number.
    declared: Option<usize>,
}

impl<'a> Events<'a> {
    fn of(file: &File<'a>) -> Result<Self> {
        let mut inputs = Vec::new();
        let mut declared = None;
        for info in file.graph.inputs.iter().filter(|info| !file.known.contains_key(info.name)) {
            if !file.uses.contains_key(info.name) {
                continue;
            }
            let (rows, shape) = event_shape(info)?;
            if inputs.is_empty() {
                declared = rows;
            }
            inputs.push(Input { name: info.name, element: Element::of(info.element)?, shape });
        }
        let shape = match &inputs[..] {
            [] => return Err(Error::invalid("it takes no events", "give a network with an input")),
            [only] => only.shape.clone(),
            several => {
                let lengths = several.iter().map(|input| checked_length(&input.shape, MOST_INPUTS));
                vec![lengths.sum::<Result<usize>>()?]
            }
        };
        Ok(Events { inputs, shape, declared })
    }
}

/// The events that an input is declared for, if that is a number, and the shape of one.
fn event_shape(info: &Info) -> Result<(Option<usize>, Vec<usize>)> {
    let name = text::name(info.name);
    let refuse = |what: &str, remedy: &str| Error::invalid(format!("input {name} {what}"), remedy);
    let size = |dim: &Dim| match dim {
        Dim::Size(size) => usize::try_from(*size).ok().filter(|size| *size > 0 && *size < 1 << 24),
        Dim::Symbol(_) => None,
    };
    match info.shape.as_deref() {
        Some([rows, rest @ ..]) => {
            let shape: Option<Vec<usize>> = rest.iter().map(size).collect();
            let shape = shape.filter(|shape| shape.len() < known::MOST_DIMS).ok_or_else(|| {
                refuse(
                    "has another dimension of any size than the first, which counts events",
                    "give the other dimensions numbers when the network is exported, or with onnx.tools.update_model_dims",
                )
            })?;
            let rows = if let Dim::Size(rows) = rows { usize::try_from(*rows).ok() } else { None };
            Ok((rows.filter(|rows| *rows > 0), shape))
        }
        _ => Err(refuse("has no dimension that counts events", "export the network for batches of events")),
    }
}

/// The requested output, or the only one that is a tensor of numbers.
fn chosen_output<'a>(file: &File<'a>, events: &Events<'a>, wanted: &str) -> Result<&'a str> {
    let names: Vec<&str> = file.graph.outputs.iter().map(|output| output.name).collect();
    let list = text::list(names.iter(), ", ");
    if !wanted.is_empty() {
        let found = names.iter().find(|name| **name == wanted);
        return found.copied().ok_or_else(|| {
            Error::invalid(format!("there is no output {}", text::name(wanted)), format!("its outputs are {list}"))
        });
    }
    if let [only] = names[..] {
        return Ok(only);
    }
    let is_usable = |name: &&&'a str| {
        let recorded = Network { file, events, output: name }.recorded_as_it_is(EVENTS, false);
        recorded.is_ok_and(
            |recorded| matches!(&recorded.outputs[0], Value::Computed(computed) if computed.element.is_float()),
        )
    };
    let usable: Vec<&&'a str> = names.iter().filter(is_usable).collect();
    match usable[..] {
        [only] => Ok(*only),
        _ => Err(Error::invalid(
            format!("it has the outputs {list}"),
            "name one of them behind the path, as in LoadOnnx(\"m.onnx\", \"output\")",
        )),
    }
}

/// A file with the output that is predicted.
struct Network<'f, 'a> {
    file: &'f File<'a>,
    events: &'f Events<'a>,
    output: &'a str,
}

/// The end of a network: its last operation on the outputs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// Nothing that predictions do, too.
    Values,
    /// It made probabilities of logits, which are now the outputs.
    Logits,
}

impl<'a> Network<'_, 'a> {
    /// The operators' results for this many events, each input by itself.
    fn recorded_as_it_is(&self, rows: usize, training: bool) -> Result<Recorded> {
        let given = self.events.inputs.iter().map(|input| {
            let shape = [&[rows], &input.shape[..]].concat();
            (input.name, Given::Passed(shape, input.element))
        });
        let rows = self.events.declared.map(|declared| [declared, rows]);
        let mode = Mode { dtype: DType::Float32, training, rows };
        self.file.record(&given.collect::<Vec<_>>(), &[self.output], mode)
    }

    /// The same as a function of events, with outputs [rows, outputs].
    fn recorded(&self, rows: usize, training: bool) -> Result<(Recorded, End, String)> {
        let mut recorded = self.recorded_as_it_is(rows, training)?;
        let Value::Computed(output) = recorded.outputs[0].clone() else {
            return Err(Error::invalid("it predicts the same for all events", "name another output"));
        };
        if output.shape.first() != Some(&rows) {
            return Err(Error::invalid(
                format!("output {} has the shape {:?} for {rows} events", text::name(self.output), output.shape),
                "export the network for batches of events, which its first dimension counts",
            ));
        }
        let graph = &mut recorded.graph;
        let end = without_end(graph, &output);
        if output.shape.len() > 2 {
            flatten(graph, &output.shape);
        }
        if let [_, _, ..] = self.events.inputs[..] {
            self.join_inputs(graph, rows);
        }
        let last = graph.nodes.iter().find(|node| node.outputs == graph.outputs).map_or("", |node| node.op.as_str());
        let last = Names::of_operator(last).to_owned();
        Ok((recorded, end, last))
    }

    /// Makes the inputs parts of one.
    fn join_inputs(&self, graph: &mut ObservedGraph, rows: usize) {
        let width: usize = self.events.shape.iter().product();
        let mut recording = crate::graph::Recording::default();
        std::mem::swap(&mut recording.graph, graph);
        let nodes = std::mem::take(&mut recording.graph.nodes);
        let inputs = std::mem::take(&mut recording.graph.inputs);
        let all = recording.value(DType::Float32, &[rows, width]);
        let mut start = 0;
        for (input, index) in self.events.inputs.iter().zip(inputs) {
            let length: usize = input.shape.iter().product();
            let range = [1, start, start + length, 1].map(|number| ObservedArgument::Integer(number as i64));
            let arguments = [vec![ObservedArgument::Value(all)], range.to_vec()].concat();
            let part = recording.call("slice", "Tensor", arguments, &[(DType::Float32, &[rows, length])], "")[0];
            let shape = [&[rows], &input.shape[..]].concat();
            let arguments = vec![ObservedArgument::Value(part), call::integers(&shape)];
            recording.call("reshape", "", arguments, &[], "");
            if let Some(node) = recording.graph.nodes.last_mut() {
                node.outputs = vec![index];
            }
            start += length;
        }
        recording.graph.nodes.extend(nodes);
        recording.graph.inputs = vec![all];
        *graph = recording.graph;
    }

    /// What is wrong with a file that computes as it says for the number of events that it was written for, and for no other.
    fn of_fixed_batch(&self, error: Error) -> Error {
        match (error, self.events.declared) {
            (Error::Invalid { what, .. }, Some(rows))
                if rows <= MOST_DECLARED && self.recorded_as_it_is(rows, false).is_ok() =>
            {
                let input = self.events.inputs.first().map_or("x".to_owned(), |input| text::name(input.name));
                Error::invalid(
                    format!("{what}; it was exported for {rows} events at a time"),
                    format!(
                        "export it for any number: torch.onnx.export(net, x, path, dynamic_axes={{\"{input}\": {{0: \"events\"}}}}), \
                         which names the input in input_names"
                    ),
                )
            }
            (error, _) => error,
        }
    }

    /// Both modes.
    fn observed(&self, training: bool) -> Result<(Observed, Vec<Capture>, End, String)> {
        let (first, end, last) = self.recorded(EVENTS, training)?;
        let recorded = |rows: usize| {
            let (recorded, other_end, _) = self.recorded(rows, training)?;
            match recorded.captured == first.captured && other_end == end {
                true => Ok(recorded.graph),
                false => Err(Error::invalid(
                    "it computes with tensors that depend on the number of events",
                    "export the network such that each event is computed by itself",
                )),
            }
        };
        let (second, other) = (recorded(EVENTS + 1)?, recorded(OTHER_EVENTS)?);
        let one = match training && first.takes_statistics {
            true => Err("batch normalisation takes no single event in training".to_owned()),
            false => recorded(1).map_err(|error| error.to_string()),
        };
        let remedy = "export the network for any number of events (dynamic axes), each computed by itself";
        let batch = AnyBatch::new([first.graph, second], EVENTS as i64, &other, OTHER_EVENTS as i64, remedy)?;
        Ok((Observed { batch, one, constants: (0..first.captured.len()).collect() }, first.captured, end, last))
    }

    fn model(&self, name: &str) -> Result<Model> {
        let (training, captured, ..) = self.observed(true)?;
        let (evaluation, others, end, last) = self.observed(false)?;
        if captured != others {
            return Err(Error::Internal(format!("{} and {} captured tensors", captured.len(), others.len())));
        }
        captured.iter().try_for_each(check_is_number)?;
        let saved: Vec<SavedTensor> = captured.iter().map(saved).collect();
        let module =
            module_of_file(name, &self.events.shape, [training, evaluation], &saved, |at| words(&captured[at]))?;
        module.check_events_are_apart()?;
        let model = with_numbers(module, &captured, &last)?;
        let mut model = finished(model, end)?;
        check_order(&model)?;
        if end == End::Values && model.names().last_activation().is_empty() && gives_probabilities(&model)? {
            model.set_last_function(PROBABILITIES);
        }
        Ok(model)
    }
}

/// Features [events, inputs]: numbers of both signs, without a pattern that a network would know.
fn some_events(inputs: usize) -> Vec<f32> {
    (0..EVENTS * inputs).map(|at| ((at * 7919 % 1009) as f32 / 252.0) - 2.0).collect()
}

/// Refuses a network whose outputs for an event depend on which one of a batch it is, as where something is added to the first.
fn check_order(model: &Model) -> Result<()> {
    const ALIKE: f32 = 1e-3;
    let (features, outputs) = (some_events(model.inputs()), model.outputs());
    let turned: Vec<f32> = features.chunks(model.inputs()).rev().flatten().copied().collect();
    let [mut found, mut other] = [vec![0.0; EVENTS * outputs], vec![0.0; EVENTS * outputs]];
    // A network that takes codes as places of a table may not take these numbers.
    if model.predict_rows(&features, true, 1, &mut found).is_err() {
        return Ok(());
    }
    model.predict_rows(&turned, true, 1, &mut other)?;
    let largest = found.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
    let is_same = |(a, b): (&f32, &f32)| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= ALIKE * largest;
    match found.chunks(outputs).zip(other.chunks(outputs).rev()).all(|(a, b)| a.iter().zip(b).all(is_same)) {
        true => Ok(()),
        false => Err(Error::invalid(
            "what it gives for an event depends on the event's place in the batch",
            "export a network that treats all events of a batch alike",
        )),
    }
}

/// Whether several outputs add up to 1 for each of some events, as those of a classifier whose logits cannot be had do.
fn gives_probabilities(model: &Model) -> Result<bool> {
    let (inputs, outputs) = (model.inputs(), model.outputs());
    if outputs < 2 {
        return Ok(false);
    }
    let mut found = vec![0.0; EVENTS * outputs];
    if model.predict_rows(&some_events(inputs), true, 1, &mut found).is_err() {
        return Ok(false); // as in `check_order`
    }
    let is_one = |row: &[f32]| {
        row.iter().all(|value| (0.0..=1.0).contains(value)) && (row.iter().sum::<f32>() - 1.0).abs() < 1e-4
    };
    Ok(found.chunks(outputs).all(is_one))
}

/// Takes a sigmoid of one output, or a softmax of all, off the end of a graph.
fn without_end(graph: &mut ObservedGraph, output: &Computed) -> End {
    let width: usize = output.shape[1..].iter().product();
    let Some(at) = graph.nodes.iter().position(|node| node.outputs == graph.outputs) else { return End::Values };
    let node = &graph.nodes[at];
    let is_end = match node.op.as_str() {
        "aten::sigmoid" => width == 1,
        "aten::softmax" => {
            width > 1 && output.shape.len() == 2 && node.arguments.get(1) == Some(&ObservedArgument::Integer(1))
        }
        _ => false,
    };
    match node.arguments[0] {
        ObservedArgument::Value(logits) if is_end => {
            graph.outputs = vec![logits];
            graph.nodes.remove(at);
            End::Logits
        }
        _ => End::Values,
    }
}

/// Makes the only output [rows, outputs].
fn flatten(graph: &mut ObservedGraph, shape: &[usize]) {
    let mut recording = crate::graph::Recording::default();
    std::mem::swap(&mut recording.graph, graph);
    let flat = [shape[0], shape[1..].iter().product()];
    let arguments = vec![ObservedArgument::Value(recording.graph.outputs[0]), call::integers(&flat)];
    recording.graph.outputs = recording.call("reshape", "", arguments, &[(DType::Float32, &flat)], "");
    *graph = recording.graph;
}

/// Refuses an initialiser with elements that are not numbers: the predictions were none, too.
fn check_is_number(Capture { name, numbers, .. }: &Capture) -> Result<()> {
    match !name.is_empty() && (0..numbers.count()).any(|at| numbers.float(at).is_nan()) {
        false => Ok(()),
        true => Err(Error::invalid(
            format!("tensor {} has elements that are NaN", text::name(name)),
            "export the network as it was before its training failed",
        )),
    }
}

fn saved(capture: &Capture) -> SavedTensor {
    SavedTensor { is_parameter: capture.trains, dtype: capture.dtype, elements: capture.numbers.count() }
}

/// The bytes of a tensor, in words.
fn words(Capture { dtype, numbers, .. }: &Capture) -> Vec<u64> {
    let mut bytes = Vec::new();
    for at in 0..numbers.count() {
        match (dtype, &**numbers) {
            (DType::Int64, Numbers::Integers(list)) => bytes.extend(list[at].to_le_bytes()),
            (DType::Bool, _) => bytes.push(u8::from(numbers.float(at) != 0.0)),
            (DType::Float64, _) => bytes.extend(numbers.float(at).to_le_bytes()),
            _ => bytes.extend((numbers.float(at) as f32).to_le_bytes()),
        }
    }
    bytes.resize(bytes.len().next_multiple_of(size_of::<u64>()), 0);
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// A model of the module, with the numbers and names of the file.
fn with_numbers(module: Module, captured: &[Capture], last_function: &str) -> Result<Model> {
    let (mut parameters, mut state) = (vec![0.0; module.parameters()], vec![0.0; module.state()]);
    let mut names = Vec::new();
    for (place, capture) in module.captured().iter().zip(captured) {
        let (to, place) = match place {
            Captured::Parameter(range) => (&mut parameters[range.clone()], FlatOffset::Parameter(range.start)),
            Captured::State(range) => (&mut state[range.clone()], FlatOffset::State(range.start)),
            Captured::Fixed(_) => continue,
        };
        to.iter_mut().enumerate().for_each(|(at, to)| *to = capture.numbers.float(at) as f32);
        let name = if check_name("", &capture.name).is_ok() { &*capture.name } else { "" };
        names.push((place, name.to_owned()));
    }
    Model::of_operators(module, Names::new(last_function, names), &parameters, &state)
}

/// A model whose predictions are what the file's network computes.
fn finished(mut model: Model, end: End) -> Result<Model> {
    model.check_finite("it is used")?;
    // Features are taken as they are; outputs with a scale are values.
    let scaler = Some(Scaler::identity(model.inputs()));
    let target = (end == End::Values).then(|| Scaler::identity(model.outputs()));
    model.set_training(Training { scaler, target, ..Training::default() })?;
    Ok(model)
}
