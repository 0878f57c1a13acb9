//! Models as ONNX files: opset 17, float32, for any number of events.
//!
//! The graph has one input, `features` [events, inputs], in the order of the model's columns (named in the input's
//! description and, as JSON, in the metadata `columns`), and one output, `predictions` [events, outputs]: what
//! `predict` returns, with the scalers inside. A network of events of another shape takes them flat, as everywhere in
//! CladTorch.

mod builder;
mod functions;
mod nodes;

use std::path::Path;

use super::{Finish, Plan};
use crate::atomic_file;
use crate::dataset::Scaler;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::onnx::wire::Message;
use crate::onnx::write::{self, Attribute};
use builder::{Builder, Value};
use nodes::Writer;

const OPSET: i64 = 17;
/// The version of the format that came with that opset.
const IR_VERSION: i64 = 8;
const FEATURES: &str = "features";
const PREDICTIONS: &str = "predictions";
/// The number of events, as a dimension.
const EVENTS: &str = "events";
/// Readers refuse longer messages.
const LONGEST: usize = i32::MAX as usize;
/// Most columns that a description names.
const SHOWN: usize = 100;

impl Model {
    /// Writes the model to `path` as an ONNX file: whole or not at all. Refuses operators for which ONNX has none, by name.
    pub fn export_onnx(&self, path: &Path) -> Result<()> {
        let bytes = written(self)?;
        atomic_file::replace(path, |new| std::fs::write(new, &bytes).map_err(|error| Error::io(path, error)))
    }
}

fn written(model: &Model) -> Result<Vec<u8>> {
    let plan = Plan::new(model, "an ONNX file")?;
    let mut builder = Builder::default();
    let (features, predictions) = (builder.name(FEATURES), builder.name(PREDICTIONS));
    let x = Value { name: features.clone(), shape: vec![model.inputs()] };
    let x = match plan.scaler() {
        Some(scaler) => standardised(&mut builder, x, scaler),
        None => x,
    };
    let mut writer = Writer::new(&plan, builder, x);
    let outputs = writer.run()?;
    let mut builder = writer.builder;
    let outputs = match plan.target() {
        Some(target) => in_units(&mut builder, outputs, target),
        None => outputs,
    };
    let outputs = match plan.finish() {
        Finish::Deviations => with_deviations(&mut builder, &outputs, &plan.least_log_variances()),
        _ => outputs,
    };
    let (operator, attributes) = match plan.finish() {
        Finish::Values | Finish::Deviations => ("Identity", vec![]),
        Finish::Sigmoid => ("Sigmoid", vec![]),
        Finish::Softmax => ("Softmax", vec![("axis", Attribute::Integer(1))]),
    };
    builder.named(&predictions, operator, &[&outputs.name], &attributes);
    let bytes = file(&plan, builder)?.bytes();
    match bytes.len() <= LONGEST {
        true => Ok(bytes),
        false => Err(Error::invalid(
            format!("an ONNX file of {} bytes", bytes.len()),
            format!("at most {LONGEST} are possible: make the network smaller"),
        )),
    }
}

fn rows(builder: &mut Builder, scaler: &Scaler, name: &str) -> [String; 2] {
    [("mean", &scaler.mean), ("inverse", &scaler.inverse)]
        .map(|(part, values)| builder.floats(&format!("{name}.{part}"), &[values.len()], values))
}

/// `(x - mean) * inverse`
fn standardised(builder: &mut Builder, x: Value, scaler: &Scaler) -> Value {
    let [mean, inverse] = rows(builder, scaler, "scaler");
    let centred = builder.op("Sub", &[&x.name, &mean]);
    Value { name: builder.op("Mul", &[&centred, &inverse]), ..x }
}

/// `y / inverse + mean`
fn in_units(builder: &mut Builder, y: Value, target: &Scaler) -> Value {
    let [mean, inverse] = rows(builder, target, "target");
    let scaled = builder.op("Div", &[&y.name, &inverse]);
    Value { name: builder.op("Add", &[&scaled, &mean]), ..y }
}

/// The logarithms of variances behind the means become standard deviations; `least` are the smallest of them, [targets].
fn with_deviations(builder: &mut Builder, y: &Value, least: &[f32]) -> Value {
    let targets = least.len();
    let places: Vec<usize> = (0..2 * targets).collect();
    let [means, levels] = [0, targets].map(|first| builder.chosen(y, &places[first..][..targets], &[targets]));
    let least = builder.floats("least_log_variance", &[targets], least);
    let levels = builder.op("Max", &[&levels.name, &least]);
    let half = builder.number(0.5);
    let levels = builder.op("Mul", &[&levels, &half]);
    let deviations = builder.op("Exp", &[&levels]);
    let name = builder.with("Concat", &[&means.name, &deviations], &[("axis", Attribute::Integer(1))]);
    Value { name, shape: vec![2 * targets] }
}

/// `ModelProto`.
fn file(plan: &Plan, builder: Builder) -> Result<Message> {
    let (model, columns) = (plan.model, plan.columns());
    let more = if columns.len() > SHOWN { ", ..." } else { "" };
    let about = format!("Numbers of an event: {}{more}", columns[..columns.len().min(SHOWN)].join(", "));
    let input = write::rows_of_floats(FEATURES, EVENTS, model.inputs(), &about);
    let output = write::rows_of_floats(PREDICTIONS, EVENTS, model.outputs(), plan.finish().describe());
    let (nodes, constants) = builder.finish();
    let graph = write::graph(&nodes, &constants, [&input, &output]);
    let json = |names: &[String]| serde_json::to_string(names).map_err(|error| Error::Internal(error.to_string()));
    let metadata = [("columns", json(&columns)?), ("targets", json(model.targets().names())?)];
    Ok(write::model(IR_VERSION, OPSET, &graph, &metadata))
}
