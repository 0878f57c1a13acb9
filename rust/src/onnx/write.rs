//! Messages that are written.

use super::field::{attribute as a, entry as e, graph as g, info as i, model as m, node as n, opset as o, tensor as t};
use super::wire::Message;

/// The value of an operator's attribute.
#[derive(Clone, Debug)]
pub enum Attribute {
    Float(f32),
    Integer(i64),
    Integers(Vec<i64>),
}

/// `AttributeProto`.
fn attribute(name: &str, value: &Attribute) -> Message {
    let message = Message::default().text(a::NAME, name);
    match value {
        Attribute::Float(value) => message.float(a::FLOAT, *value).integer(a::TYPE, a::IS_FLOAT),
        Attribute::Integer(value) => message.integer(a::INTEGER, *value).integer(a::TYPE, a::IS_INTEGER),
        Attribute::Integers(list) => {
            list.iter().fold(message, |all, value| all.integer(a::INTEGERS, *value)).integer(a::TYPE, a::IS_INTEGERS)
        }
    }
}

/// `NodeProto`.
pub fn node(
    name: &str,
    operator: &str,
    inputs: &[&str],
    outputs: &[&str],
    attributes: &[(&str, Attribute)],
) -> Message {
    let message = inputs.iter().fold(Message::default(), |all, input| all.text(n::INPUTS, input));
    let message = outputs.iter().fold(message, |all, output| all.text(n::OUTPUTS, output));
    let message = message.text(n::NAME, name).text(n::OPERATOR, operator);
    attributes.iter().fold(message, |all, (name, value)| all.message(n::ATTRIBUTES, &attribute(name, value)))
}

/// The elements of a tensor.
pub enum Elements<'a> {
    Floats(&'a [f32]),
    Integers(&'a [i64]),
    Bools(&'a [bool]),
}

/// `TensorProto`.
pub fn tensor(name: &str, dims: &[usize], elements: &Elements) -> Message {
    let (dtype, bytes): (i64, Vec<u8>) = match elements {
        Elements::Floats(values) => (1, values.iter().flat_map(|value| value.to_le_bytes()).collect()),
        Elements::Integers(values) => (7, values.iter().flat_map(|value| value.to_le_bytes()).collect()),
        Elements::Bools(values) => (9, values.iter().map(|&value| u8::from(value)).collect()),
    };
    let message = dims.iter().fold(Message::default(), |all, &size| all.integer(t::DIMS, size as i64));
    message.integer(t::TYPE, dtype).text(t::NAME, name).raw(t::RAW, &bytes)
}

/// `ValueInfoProto` of float32 numbers [`rows`, width].
pub fn rows_of_floats(name: &str, rows: &str, width: usize, about: &str) -> Message {
    let rows = Message::default().text(i::SYMBOL, rows);
    let width = Message::default().integer(i::SIZE, width as i64);
    let shape = Message::default().message(i::DIM, &rows).message(i::DIM, &width);
    let tensor = Message::default().integer(i::ELEMENT, 1).message(i::SHAPE, &shape);
    let info = Message::default().text(i::NAME, name).message(i::TYPE, &Message::default().message(i::TENSOR, &tensor));
    info.text(i::ABOUT, about)
}

/// `GraphProto`.
pub fn graph(nodes: &[Message], initializers: &[Message], [input, output]: [&Message; 2]) -> Message {
    let graph = Message::default().messages(g::NODES, nodes).text(g::NAME, "cladtorch");
    graph.messages(g::INITIALIZERS, initializers).message(g::INPUTS, input).message(g::OUTPUTS, output)
}

/// `ModelProto`; `metadata` are keys and values.
pub fn model(ir_version: i64, opset: i64, graph: &Message, metadata: &[(&str, String)]) -> Message {
    let opset = Message::default().text(o::DOMAIN, "").integer(o::VERSION, opset);
    let entry = |(key, value): &(&str, String)| Message::default().text(e::KEY, key).text(e::VALUE, value);
    Message::default()
        .integer(m::IR_VERSION, ir_version)
        .text(m::PRODUCER, "CladTorch")
        .text(m::PRODUCER_VERSION, env!("CARGO_PKG_VERSION"))
        .message(m::GRAPH, graph)
        .message(m::OPSETS, &opset)
        .messages(m::METADATA, &metadata.iter().map(entry).collect::<Vec<_>>())
}
