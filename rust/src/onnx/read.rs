//! Messages that are read. Everything is checked where it is used: a reader may be given any bytes.

use super::field::{attribute as a, entry as e, graph as g, info as i, model as m, node as n, opset as o, tensor as t};
use super::wire::{Field, Fields, damaged};
use crate::error::Result;

/// Most operators, initialisers, inputs or outputs of a graph, and most attributes of an operator: a message of two bytes takes
/// a hundred bytes of memory.
const MOST: usize = 1 << 16;
const MOST_ATTRIBUTES: usize = 64;

/// `ModelProto`.
#[derive(Debug, Default)]
pub struct Model<'a> {
    /// Domains of operators, "" for ONNX's own, with the versions that the file uses.
    pub opsets: Vec<(&'a str, i64)>,
    pub graph: Graph<'a>,
    /// Operators that the file defines itself.
    pub functions: usize,
}

/// `GraphProto`.
#[derive(Debug, Default)]
pub struct Graph<'a> {
    pub nodes: Vec<Node<'a>>,
    pub initializers: Vec<Tensor<'a>>,
    pub inputs: Vec<Info<'a>>,
    pub outputs: Vec<Info<'a>>,
    /// Initialisers that name the elements that are not 0.
    pub sparse: usize,
}

/// `NodeProto`.
#[derive(Debug, Default)]
pub struct Node<'a> {
    /// Names of tensors; "": it is absent.
    pub inputs: Vec<&'a str>,
    pub outputs: Vec<&'a str>,
    pub name: &'a str,
    pub operator: &'a str,
    pub domain: &'a str,
    pub attributes: Vec<(&'a str, Attribute<'a>)>,
}

/// `AttributeProto`, without its name.
#[derive(Debug)]
pub enum Attribute<'a> {
    Float(f32),
    Integer(i64),
    Text(&'a [u8]),
    Tensor(Box<Tensor<'a>>),
    /// A message [`Graph`].
    Graph(&'a [u8]),
    Floats(Vec<f32>),
    Integers(Vec<i64>),
    Texts(Vec<&'a [u8]>),
    /// Of any other type.
    Other,
}

/// `TensorProto`.
#[derive(Debug, Default)]
pub struct Tensor<'a> {
    pub name: &'a str,
    pub dims: Vec<i64>,
    /// Number of the elements' type.
    pub element: i64,
    /// Little-endian elements.
    pub raw: Option<&'a [u8]>,
    pub floats: Vec<f32>,
    /// Elements of all small types, too: bits of float16, bools.
    pub int32s: Vec<i64>,
    pub int64s: Vec<i64>,
    pub doubles: Vec<f64>,
    pub uint64s: Vec<i64>,
    /// Where the elements lie in another file: `location`, `offset`, `length`.
    pub external: Vec<(&'a str, &'a str)>,
    /// Whether they lie there.
    pub is_external: bool,
}

/// `ValueInfoProto` of a tensor.
#[derive(Debug, Default)]
pub struct Info<'a> {
    pub name: &'a str,
    /// Number of the elements' type; 0 if it is not a tensor.
    pub element: i64,
    /// None: not said.
    pub shape: Option<Vec<Dim<'a>>>,
}

/// A dimension of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dim<'a> {
    Size(i64),
    /// Known when the graph runs; the name may be empty.
    Symbol(&'a str),
}

/// Calls `take` with each field.
fn each<'a>(bytes: &'a [u8], mut take: impl FnMut(u64, Field<'a>) -> Result<()>) -> Result<()> {
    Fields::of(bytes).try_for_each(|field| {
        let (number, value) = field?;
        take(number, value)
    })
}

impl<'a> Model<'a> {
    /// The model of a file.
    pub fn of(bytes: &'a [u8]) -> Result<Self> {
        let (mut model, mut graph) = (Model::default(), None);
        each(bytes, |number, value| {
            match number {
                m::GRAPH if graph.is_some() => return Err(damaged("two graphs")),
                m::GRAPH => graph = Some(Graph::of(value.bytes()?)?),
                m::OPSETS => push(&mut model.opsets, MOST, "opsets", opset(value.bytes()?)?)?,
                m::FUNCTIONS => model.functions += 1,
                _ => (),
            }
            Ok(())
        })?;
        model.graph = graph.ok_or_else(|| damaged("there is no graph"))?;
        Ok(model)
    }
}

fn opset(bytes: &[u8]) -> Result<(&str, i64)> {
    let (mut domain, mut version) = ("", 0);
    each(bytes, |number, value| {
        match number {
            o::DOMAIN => domain = value.text()?,
            o::VERSION => version = value.integer()?,
            _ => (),
        }
        Ok(())
    })?;
    Ok((domain, version))
}

/// Adds to a list that may have `most`.
fn push<T>(list: &mut Vec<T>, most: usize, what: &str, item: T) -> Result<()> {
    list.push(item);
    if list.len() <= most { Ok(()) } else { Err(damaged(&format!("more than {most} {what}"))) }
}

impl<'a> Graph<'a> {
    /// The graph with these bytes.
    pub fn of(bytes: &'a [u8]) -> Result<Self> {
        let mut graph = Graph::default();
        each(bytes, |number, value| {
            match number {
                g::NODES => push(&mut graph.nodes, MOST, "operators", Node::of(value.bytes()?)?)?,
                g::INITIALIZERS => push(&mut graph.initializers, MOST, "initialisers", Tensor::of(value.bytes()?)?)?,
                g::INPUTS => push(&mut graph.inputs, MOST, "inputs", Info::of(value.bytes()?)?)?,
                g::OUTPUTS => push(&mut graph.outputs, MOST, "outputs", Info::of(value.bytes()?)?)?,
                g::SPARSE => graph.sparse += 1,
                _ => (),
            }
            Ok(())
        })?;
        Ok(graph)
    }
}

impl<'a> Node<'a> {
    fn of(bytes: &'a [u8]) -> Result<Self> {
        let mut node = Node::default();
        each(bytes, |number, value| {
            match number {
                n::INPUTS => node.inputs.push(value.text()?),
                n::OUTPUTS => node.outputs.push(value.text()?),
                n::NAME => node.name = value.text()?,
                n::OPERATOR => node.operator = value.text()?,
                n::DOMAIN => node.domain = value.text()?,
                n::ATTRIBUTES => push(&mut node.attributes, MOST_ATTRIBUTES, "attributes", attribute(value.bytes()?)?)?,
                _ => (),
            }
            Ok(())
        })?;
        Ok(node)
    }

    /// The attribute of that name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute<'a>> {
        self.attributes.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

/// All fields of an attribute; its type tells which one counts.
#[derive(Default)]
struct Parts<'a> {
    name: &'a str,
    kind: i64,
    float: f32,
    integer: i64,
    text: &'a [u8],
    tensor: Option<&'a [u8]>,
    graph: &'a [u8],
    floats: Vec<f32>,
    integers: Vec<i64>,
    texts: Vec<&'a [u8]>,
    refers: bool,
}

fn attribute(bytes: &[u8]) -> Result<(&str, Attribute<'_>)> {
    let mut parts = Parts::default();
    each(bytes, |number, value| {
        match number {
            a::NAME => parts.name = value.text()?,
            a::TYPE => parts.kind = value.integer()?,
            a::FLOAT => parts.float = value.float()?,
            a::INTEGER => parts.integer = value.integer()?,
            a::TEXT => parts.text = value.bytes()?,
            a::TENSOR => parts.tensor = Some(value.bytes()?),
            a::GRAPH => parts.graph = value.bytes()?,
            a::FLOATS => value.add_floats(&mut parts.floats)?,
            a::INTEGERS => value.add_integers(&mut parts.integers)?,
            a::TEXTS => parts.texts.push(value.bytes()?),
            a::REFERENCE => parts.refers = true,
            _ => (),
        }
        Ok(())
    })?;
    let value = match parts.kind {
        _ if parts.refers => Attribute::Other,
        a::IS_FLOAT => Attribute::Float(parts.float),
        a::IS_INTEGER => Attribute::Integer(parts.integer),
        a::IS_TEXT => Attribute::Text(parts.text),
        a::IS_TENSOR => Attribute::Tensor(Box::new(Tensor::of(parts.tensor.unwrap_or_default())?)),
        a::IS_GRAPH => Attribute::Graph(parts.graph),
        a::IS_FLOATS => Attribute::Floats(parts.floats),
        a::IS_INTEGERS => Attribute::Integers(parts.integers),
        a::IS_TEXTS => Attribute::Texts(parts.texts),
        _ => Attribute::Other,
    };
    Ok((parts.name, value))
}

impl<'a> Tensor<'a> {
    /// The tensor with these bytes.
    pub fn of(bytes: &'a [u8]) -> Result<Self> {
        let mut tensor = Tensor::default();
        each(bytes, |number, value| {
            match number {
                t::DIMS => value.add_integers(&mut tensor.dims)?,
                t::TYPE => tensor.element = value.integer()?,
                t::FLOATS => value.add_floats(&mut tensor.floats)?,
                t::INT32S => value.add_integers(&mut tensor.int32s)?,
                t::INT64S => value.add_integers(&mut tensor.int64s)?,
                t::NAME => tensor.name = value.text()?,
                t::RAW => tensor.raw = Some(value.bytes()?),
                t::DOUBLES => value.add_doubles(&mut tensor.doubles)?,
                t::UINT64S => value.add_integers(&mut tensor.uint64s)?,
                t::EXTERNAL => tensor.external.push(entry(value.bytes()?)?),
                t::LOCATION => tensor.is_external = value.integer()? == 1,
                _ => (),
            }
            Ok(())
        })?;
        Ok(tensor)
    }
}

/// `StringStringEntryProto`.
fn entry(bytes: &[u8]) -> Result<(&str, &str)> {
    let mut pair = ("", "");
    each(bytes, |number, value| {
        match number {
            e::KEY => pair.0 = value.text()?,
            e::VALUE => pair.1 = value.text()?,
            _ => (),
        }
        Ok(())
    })?;
    Ok(pair)
}

impl<'a> Info<'a> {
    fn of(bytes: &'a [u8]) -> Result<Self> {
        let mut info = Info::default();
        each(bytes, |number, value| {
            match number {
                i::NAME => info.name = value.text()?,
                i::TYPE => each(value.bytes()?, |number, value| {
                    if number == i::TENSOR {
                        (info.element, info.shape) = tensor_type(value.bytes()?)?;
                    }
                    Ok(())
                })?,
                _ => (),
            }
            Ok(())
        })?;
        Ok(info)
    }
}

/// `TypeProto.Tensor`.
fn tensor_type(bytes: &[u8]) -> Result<(i64, Option<Vec<Dim<'_>>>)> {
    let (mut element, mut shape) = (0, None);
    each(bytes, |number, value| {
        match number {
            i::ELEMENT => element = value.integer()?,
            i::SHAPE => {
                let mut dims = Vec::new();
                each(value.bytes()?, |number, value| {
                    if number == i::DIM {
                        dims.push(dim(value.bytes()?)?);
                    }
                    Ok(())
                })?;
                shape = Some(dims);
            }
            _ => (),
        }
        Ok(())
    })?;
    Ok((element, shape))
}

fn dim(bytes: &[u8]) -> Result<Dim<'_>> {
    let mut dim = Dim::Symbol("");
    each(bytes, |number, value| {
        match number {
            i::SIZE => dim = Dim::Size(value.integer()?),
            i::SYMBOL => dim = Dim::Symbol(value.text()?),
            _ => (),
        }
        Ok(())
    })?;
    Ok(dim)
}
