//! A graph, read operator by operator.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use super::build::{Builder, Capture};
use super::call::Call;
use super::file::{CLASSIC, File, inner};
use super::known::{Element, Known};
use super::ops;
use super::value::{Computed, Value};
use crate::error::{Error, Result};
use crate::graph::{DType, ObservedArgument, ObservedGraph};
use crate::onnx::read::{Attribute, Graph, Node};
use crate::text;

/// Tensors by name.
type Values<'a> = HashMap<&'a str, Value>;

/// An input of a graph.
pub enum Given {
    /// A tensor that is passed each time.
    Passed(Vec<usize>, Element),
    /// The same each time.
    Known(Known),
}

/// A graph as it was recorded.
pub struct Recorded {
    /// Its inputs are those that are passed, its outputs those of `outputs` that are computed.
    pub graph: ObservedGraph,
    /// The constants.
    pub captured: Vec<Capture>,
    /// In the order in which they were requested.
    pub outputs: Vec<Value>,
    /// A fit takes statistics of a batch.
    pub takes_statistics: bool,
}

/// How a graph is read.
#[derive(Clone, Copy)]
pub struct Mode {
    /// Type of its numbers.
    pub dtype: DType,
    /// As a fit computes it.
    pub training: bool,
    /// Events that the file says it takes, and those that are passed.
    pub rows: Option<[usize; 2]>,
}

impl<'a> File<'a> {
    /// The graph for inputs, by name, and what it computes of the outputs of these names. Truth values become numbers.
    pub fn record(&self, inputs: &[(&'a str, Given)], outputs: &[&'a str], mode: Mode) -> Result<Recorded> {
        let mut builder = Builder::new(mode.dtype, mode.training, mode.rows);
        let mut values: Values = self.known.iter().map(|(name, known)| (*name, Value::Known(known.clone()))).collect();
        for (name, given) in inputs {
            let value = match given {
                Given::Passed(shape, element) => Value::Computed(builder.input(shape, *element)),
                Given::Known(known) => Value::Known(known.clone()),
            };
            values.insert(name, value);
        }
        let mut reader = Reader { file: self, builder: &mut builder, labels: HashSet::new() };
        reader.run(&self.graph, &mut values, outputs, 0)?;
        let found = outputs.iter().map(|name| values.remove(name).ok_or_else(|| reader.missing(name)));
        let found = found.collect::<Result<Vec<_>>>()?;
        let results = found.into_iter().map(|value| as_result(&mut builder, value)).collect::<Result<Vec<_>>>()?;
        let mut graph = builder.recording.graph;
        let index =
            |value: &Value| if let Value::Computed(Computed { index, .. }) = value { Some(*index) } else { None };
        graph.outputs = results.iter().filter_map(index).collect();
        Ok(Recorded { graph, captured: builder.captured, outputs: results, takes_statistics: builder.takes_statistics })
    }
}

/// Operators whose first results, the labels, are not computed: what is read begins with the second one.
const CLASSIFIERS: [&str; 3] = ["LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier"];

/// A value as a result: numbers.
fn as_result(builder: &mut Builder, value: Value) -> Result<Value> {
    match value {
        Value::Computed(Computed { index, shape, element: Element::Bool }) => {
            let arguments = vec![ObservedArgument::Value(index)];
            let value = builder.call("to", "", arguments, &shape, Element::Float32)?;
            Ok(value)
        }
        value => Ok(value),
    }
}

struct Reader<'f, 'a> {
    file: &'f File<'a>,
    builder: &'f mut Builder,
    /// The labels that classifiers choose.
    labels: HashSet<&'a str>,
}

impl<'a> Reader<'_, 'a> {
    /// Computes what the outputs of these names need.
    fn run(&mut self, graph: &Graph<'a>, values: &mut Values<'a>, outputs: &[&'a str], depth: usize) -> Result<()> {
        let mut wanted: HashSet<&str> = outputs.iter().copied().collect();
        let mut needed = vec![false; graph.nodes.len()];
        for (at, node) in graph.nodes.iter().enumerate().rev() {
            if node.outputs.iter().any(|output| !output.is_empty() && wanted.contains(output)) {
                needed[at] = true;
                taken(node, &mut wanted, depth)?;
            }
        }
        for (node, _) in graph.nodes.iter().zip(needed).filter(|(_, needed)| *needed) {
            let results = self.node(node, values, depth)?;
            let is_classifier = node.domain == CLASSIC && CLASSIFIERS.contains(&node.operator);
            let (labels, others) = node.outputs.split_at(usize::from(is_classifier).min(node.outputs.len()));
            self.labels.extend(labels);
            for (name, value) in others.iter().zip(results).filter(|(name, _)| !name.is_empty()) {
                values.insert(name, value);
            }
        }
        Ok(())
    }

    fn missing(&self, name: &str) -> Error {
        let shown = text::name(name);
        match self.labels.contains(name) {
            true => Error::invalid(
                format!("{shown} is the label that a classifier chooses, which is not computed"),
                "name the output of its probabilities",
            ),
            false => Error::invalid(
                format!("tensor {shown} is used, which nothing has made"),
                "check the file with onnx.checker",
            ),
        }
    }

    fn node(&mut self, node: &Node<'a>, values: &mut Values<'a>, depth: usize) -> Result<Vec<Value>> {
        let shown = [node.name, node.outputs.first().copied().unwrap_or_default()];
        let shown = text::name(shown.into_iter().find(|name| !name.is_empty()).unwrap_or_default());
        self.builder.place = format!("{} \"{shown}\"", text::name(node.operator));
        if node.operator == "If" && matches!(node.domain, "" | "ai.onnx") {
            return self.branch(node, values, depth);
        }
        let (operator, opset) = self.operator(node)?;
        let input = |name: &&'a str| match *name {
            "" => Ok(None),
            name => values.get(name).cloned().map(Some).ok_or_else(|| self.missing(name)),
        };
        let inputs = node.inputs.iter().map(input).collect::<Result<_>>()?;
        let asked = RefCell::default();
        let mut call = Call { b: self.builder, node, inputs, opset, uses: &self.file.uses, asked };
        let results = (operator.read)(&mut call)?;
        call.check_attributes()?;
        drop(call);
        results.iter().try_for_each(|value| self.builder.count_folded(value))?;
        Ok(results)
    }

    /// The reader of an operator, and the version of its domain.
    fn operator(&self, node: &Node) -> Result<(&'static ops::Operator, i64)> {
        let found = match node.domain {
            "" | "ai.onnx" => (ops::operators().find(|known| known.name == node.operator), self.file.opset),
            CLASSIC => (ops::classic_operators().find(|known| known.name == node.operator), self.file.classic_opset),
            _ => (None, 0),
        };
        if let (Some(operator), opset) = found {
            return Ok((operator, opset));
        }
        let domain =
            if node.domain.is_empty() { String::new() } else { format!(" of the domain {}", text::name(node.domain)) };
        Err(Error::invalid(
            format!("operator {}{domain} is not supported", self.builder.place),
            "write the network with the operators that the page on models in files lists",
        ))
    }

    /// A branch of an `If` whose condition is known.
    fn branch(&mut self, node: &Node<'a>, values: &mut Values<'a>, depth: usize) -> Result<Vec<Value>> {
        inner(node, depth)?;
        let refuse = |what: &str| {
            Error::invalid(format!("{}: {what}", self.builder.place), "export the network with one branch")
        };
        let condition = node.inputs.first().and_then(|name| values.get(name)).and_then(Value::known);
        let condition = condition
            .filter(|known| known.count() == 1)
            .ok_or_else(|| refuse("a condition computed from the events"))?;
        let name = if condition.numbers.float(0) != 0.0 { "then_branch" } else { "else_branch" };
        let Some(Attribute::Graph(bytes)) = node.attribute(name) else { return Err(refuse("a branch is missing")) };
        let graph = Graph::of(bytes)?;
        let mut own = values.clone();
        for tensor in &graph.initializers {
            let refused = |_: &crate::onnx::read::Tensor, _| Err(refuse("tensors of a branch in another file"));
            own.insert(tensor.name, Value::Known(Known::of(tensor, refused)?));
        }
        let outputs: Vec<&str> = graph.outputs.iter().map(|output| output.name).collect();
        self.run(&graph, &mut own, &outputs, depth + 1)?;
        outputs.iter().map(|name| own.remove(name).ok_or_else(|| self.missing(name))).collect()
    }
}

/// Adds what a node and the graphs inside it take.
fn taken<'a>(node: &Node<'a>, wanted: &mut HashSet<&'a str>, depth: usize) -> Result<()> {
    wanted.extend(node.inputs.iter().copied());
    for graph in inner(node, depth)? {
        wanted.extend(graph.outputs.iter().map(|output| output.name));
        for node in &graph.nodes {
            taken(node, wanted, depth + 1)?;
        }
    }
    Ok(())
}
