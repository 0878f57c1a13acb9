//! Models as networks of PyTorch: the text of a graph in TorchScript's own notation, and the tensors that it takes.
//!
//! The graph takes features [events, inputs], flat as everywhere in CladTorch, and then the tensors, and returns
//! predictions [events, outputs]: those of `predict`, with the scalers inside. Its operators are those that LibTorch
//! was observed to call in evaluation, or those of the file that the network comes from. Sizes that follow the number
//! of events are computed from it.

use super::Finish;
use super::plan::Plan;
use crate::dataset::Scaler;
use crate::error::{Error, Result};
use crate::graph::{Activation, Captured, DType, Mode, Module, ObservedArgument, ObservedGraph, ObservedNode, Op};
use crate::model::{Content, FlatOffset, Model, Network};
use crate::tensor_file::{Dtype, Packed};
use crate::torch_file::{Notation, Script, ScriptTensor};

impl Model {
    /// The model as a network of PyTorch. Refuses what has no operators of LibTorch.
    pub fn script(&self) -> Result<Script> {
        let plan = Plan::new(self, "a TorchScript network")?;
        let mut writer = Writer { tensors: Vec::new(), notation: Notation::default() };
        let x = writer.standardised("%x", plan.scaler());
        let outputs = match self.network() {
            Network::Mlp(_) => writer.chain(self, x)?,
            Network::Module(_) => writer.observed(self, plan.module(), x)?,
        };
        let outputs = writer.in_units(outputs, plan.target());
        let predictions = writer.finished(outputs, &plan);
        writer.add_unused(self);
        let used = writer.tensors.iter().enumerate().filter(|(_, tensor)| tensor.is_used);
        let inputs: String = used.map(|(index, _)| format!(", %t{index} : Tensor")).collect();
        let text = format!("graph(%x : Tensor{inputs}):\n{}  return ({predictions})\n", writer.notation.body);
        Ok(Script { text, tensors: writer.tensors })
    }
}

struct Writer {
    tensors: Vec<ScriptTensor>,
    notation: Notation,
}

impl Writer {
    /// A call of an operator with one tensor as result.
    fn call(&mut self, op: &str, overload: &str, arguments: &[&str]) -> String {
        self.notation.line("Tensor", &format!("aten::{op}[overload=\"{overload}\"]({})", arguments.join(", ")))
    }

    /// A tensor that the graph takes.
    fn tensor(&mut self, tensor: ScriptTensor) -> String {
        self.tensors.push(tensor);
        format!("%t{}", self.tensors.len() - 1)
    }

    /// A row of numbers that belongs to no network: it stays as it is.
    fn row(&mut self, name: &str, values: &[f32]) -> String {
        let tensor = ScriptTensor {
            name: name.to_owned(),
            shape: vec![values.len()],
            values: floats(values),
            is_parameter: false,
            is_persistent: true,
            trains: false,
            is_used: true,
            same_as: None,
        };
        self.tensor(tensor)
    }

    /// `(x - mean) * inverse`
    fn standardised(&mut self, x: &str, scaler: Option<&Scaler>) -> String {
        let Some(scaler) = scaler.filter(|scaler| !is_identity(scaler)) else { return x.to_owned() };
        let (mean, inverse) = (self.row("_scaler_mean", &scaler.mean), self.row("_scaler_inverse", &scaler.inverse));
        let centred = self.call("sub", "Tensor", &[x, &mean]);
        self.call("mul", "Tensor", &[&centred, &inverse])
    }

    /// `y / inverse + mean`
    fn in_units(&mut self, y: String, target: Option<&Scaler>) -> String {
        let Some(scaler) = target.filter(|scaler| !is_identity(scaler)) else { return y };
        let (mean, inverse) = (self.row("_target_mean", &scaler.mean), self.row("_target_inverse", &scaler.inverse));
        let scaled = self.call("div", "Tensor", &[&y, &inverse]);
        self.call("add", "Tensor", &[&scaled, &mean])
    }

    fn finished(&mut self, y: String, plan: &Plan) -> String {
        match plan.finish() {
            Finish::Values => y,
            Finish::Sigmoid => self.call("sigmoid", "", &[&y]),
            Finish::Softmax => {
                let axis = self.notation.integer(1);
                self.call("softmax", "int", &[&y, &axis])
            }
            Finish::Deviations => {
                let least = plan.least_log_variances();
                let targets = least.len() as i64;
                let axis = self.notation.integer(1);
                let [means, levels] = [[0, targets], [targets, 2 * targets]].map(|[start, end]| {
                    let (start, end) = (self.notation.integer(start), self.notation.integer(end));
                    self.call("slice", "Tensor", &[&y, &axis, &start, &end])
                });
                let least = self.row("_least_log_variance", &least);
                let levels = self.call("maximum", "", &[&levels, &least]);
                let half = self.notation.float(0.5);
                let levels = self.call("mul", "Scalar", &[&levels, &half]);
                let deviations = self.call("exp", "", &[&levels]);
                let both = self.notation.list("Tensor[]", &[means, deviations]);
                self.call("cat", "", &[&both, &axis])
            }
        }
    }

    /// The layers of a perceptron.
    fn chain(&mut self, model: &Model, mut x: String) -> Result<String> {
        let Network::Mlp(mlp) = model.network() else { return Err(Error::Internal("no chain".into())) };
        let mut layer = 0;
        for node in mlp.graph().nodes() {
            x = match &node.op {
                Op::Linear { weight, bias } => {
                    let parts =
                        [("weight", vec![node.outputs, node.inputs], weight), ("bias", vec![node.outputs], bias)];
                    let [weight, bias] = parts.map(|(part, shape, range)| {
                        self.tensor(ScriptTensor {
                            name: format!("layers.{layer}.{part}"),
                            shape,
                            values: floats(&model.parameters()[range.clone()]),
                            is_parameter: true,
                            is_persistent: true,
                            trains: true,
                            is_used: true,
                            same_as: None,
                        })
                    });
                    layer += 1;
                    self.call("linear", "", &[&x, &weight, &bias])
                }
                Op::Activation(activation) => self.activation(*activation, &x),
                Op::Custom(_) => {
                    return Err(Error::invalid(
                        "an activation of your own, which PyTorch does not know",
                        "give the model one of CladTorch's activations",
                    ));
                }
            };
        }
        Ok(x)
    }

    fn activation(&mut self, activation: Activation, x: &str) -> String {
        let more = activation.function().1.map(|number| self.notation.float(number));
        match (activation, more) {
            (Activation::Identity, _) => x.to_owned(),
            (Activation::LeakyReLU, Some(slope)) => self.call("leaky_relu", "", &[x, &slope]),
            (Activation::Softplus, Some(threshold)) => {
                let one = self.notation.float(1.0);
                self.call("softplus", "", &[x, &one, &threshold])
            }
            (other, _) => self.call(other.name(), "", &[x]),
        }
    }

    /// The operators of a module.
    fn observed(&mut self, model: &Model, module: &Module, x: String) -> Result<String> {
        let batch = module.observed_batch(Mode::Evaluation)?;
        let [first, second] = batch.graphs();
        let zero = self.notation.integer(0);
        let rows = self.notation.line("int", &format!("aten::size[overload=\"int\"]({x}, {zero})"));
        let mut names = vec![String::new(); first.values.len()];
        let sizes: Vec<String> = module.shape().iter().map(|&size| self.notation.integer(size as i64)).collect();
        let sizes = self.notation.list("int[]", &[std::slice::from_ref(&rows), &sizes[..]].concat());
        let [input] = first.inputs[..] else { return Err(Error::Internal("a function of several inputs".into())) };
        names[input as usize] = self.call("reshape", "", &[&x, &sizes]);
        for (&value, &index) in first.constants.iter().zip(module.constant_indices(Mode::Evaluation)) {
            let tensor = captured(model, module, index, &self.tensors)?;
            names[value as usize] = match self.tensors.iter().position(|known| known.name == tensor.name) {
                Some(known) => format!("%t{known}"),
                None => self.tensor(tensor),
            };
        }
        let mut operators = Operators { writer: self, names, rows, counted: batch.rows() as i64 };
        for (node, other) in first.nodes.iter().zip(&second.nodes) {
            operators.node(first, node, other)?;
        }
        let output = operators.result(first)?;
        let (outputs, rows) = (self.notation.integer(module.outputs() as i64), self.notation.integer(-1));
        let sizes = self.notation.list("int[]", &[rows, outputs]);
        Ok(self.call("reshape", "", &[&output, &sizes]))
    }

    /// Adds the other tensors of a module's `state_dict`.
    fn add_unused(&mut self, model: &Model) {
        for slot in model.state_dict() {
            if self.tensors.iter().any(|tensor| tensor.name == slot.name) {
                continue;
            }
            let (values, same_as) = match &slot.content {
                Content::Kept { values, .. } => (values.clone(), None),
                Content::Held(place) => {
                    let named = |name: &str| self.tensors.iter().position(|tensor| tensor.name == name);
                    (floats(held(model, *place, slot.shape.iter().product())), named(model.names().path(*place)))
                }
            };
            let is_parameter = !slot.is_buffer;
            let trains = matches!(slot.content, Content::Held(FlatOffset::Parameter(_)));
            let (name, shape) = (slot.name.clone(), slot.shape.clone());
            self.tensors.push(ScriptTensor {
                name,
                shape,
                values,
                is_parameter,
                is_persistent: true,
                trains,
                is_used: false,
                same_as,
            });
        }
    }
}

/// Operators while they are written.
struct Operators<'w> {
    writer: &'w mut Writer,
    /// Names of the values of the observation.
    names: Vec<String>,
    /// The number of events, in the graph and in the observation.
    rows: String,
    counted: i64,
}

impl Operators<'_> {
    /// A whole number that is `a` in the observation and `b` with one event more.
    fn whole(&mut self, a: i64, b: i64) -> String {
        let each = b - a;
        if each == 0 {
            return self.writer.notation.integer(a);
        }
        let base = a - each * self.counted;
        let (each, base) = (self.writer.notation.integer(each), self.writer.notation.integer(base));
        let rows = self.rows.clone();
        let product = self.writer.notation.line("int", &format!("aten::mul[overload=\"int\"]({each}, {rows})"));
        self.writer.notation.line("int", &format!("aten::add[overload=\"int\"]({product}, {base})"))
    }

    fn value(&self, index: u32) -> Result<String> {
        let name = self.names.get(index as usize).filter(|name| !name.is_empty());
        name.cloned().ok_or_else(|| Error::Internal("a value before it is computed".into()))
    }

    fn argument(&mut self, op: &str, a: &ObservedArgument, b: &ObservedArgument) -> Result<String> {
        use ObservedArgument::{Bool, Bools, Float, Floats, Integer, Integers, None, Text, Value, Values};
        Ok(match (a, b) {
            (Value(index), _) => self.value(*index)?,
            (None, _) => self.writer.notation.none(),
            (&Bool(value), _) => self.writer.notation.truth(value),
            (&Integer(a), &Integer(b)) => self.whole(a, b),
            (Integers(a), Integers(b)) if a.len() == b.len() => {
                let items: Vec<String> = a.iter().zip(b).map(|(&a, &b)| self.whole(a, b)).collect();
                self.writer.notation.list("int[]", &items)
            }
            (&Float(a), &Float(b)) if a.to_bits() == b.to_bits() => self.writer.notation.float(a),
            (Floats(a), Floats(b)) if a == b => {
                let items: Vec<String> = a.iter().map(|&value| self.writer.notation.float(value)).collect();
                self.writer.notation.list("float[]", &items)
            }
            (Bools(list), _) => {
                let items: Vec<String> = list.iter().map(|&value| self.writer.notation.truth(value)).collect();
                self.writer.notation.list("bool[]", &items)
            }
            (Text(text), _) => {
                let refused = || Error::invalid(format!("{op} takes the text '{}'", crate::text::name(text)), "");
                self.writer.notation.text(text).ok_or_else(refused)?
            }
            (Values(list), _) => {
                let may_miss = matches!(op, "aten::index" | "aten::index_put");
                let item = |index: &Option<u32>| match index {
                    Some(index) => self.value(*index),
                    Option::None => Ok(String::new()),
                };
                let mut items = list.iter().map(item).collect::<Result<Vec<_>>>()?;
                for item in items.iter_mut().filter(|item| item.is_empty()) {
                    *item = self.writer.notation.none();
                }
                self.writer.notation.list(if may_miss { "Tensor?[]" } else { "Tensor[]" }, &items)
            }
            _ => {
                return Err(Error::invalid(
                    format!("{op} takes what follows the number of events and is no whole number"),
                    "",
                ));
            }
        })
    }

    fn node(&mut self, graph: &ObservedGraph, node: &ObservedNode, other: &ObservedNode) -> Result<()> {
        let ObservedNode { op, outputs, .. } = node;
        let arguments = node.arguments.iter().zip(&other.arguments).map(|(a, b)| self.argument(op, a, b));
        let mut arguments = arguments.collect::<Result<Vec<_>>>()?;
        let mut overload = node.overload.as_str();
        // What a file was found to convert has its type as value alone.
        if let ("aten::to", [_], [output]) = (op.as_str(), &arguments[..], &outputs[..]) {
            let dtype = graph.values.get(*output as usize).map_or(DType::Float32, |value| value.dtype);
            arguments.push(self.writer.notation.integer(scalar_type(dtype)));
            overload = "dtype";
        }
        let arguments = arguments.join(", ");
        let values: Vec<(String, &str)> = outputs.iter().map(|_| (self.writer.notation.name(), "Tensor")).collect();
        self.writer.notation.lines(&values, &format!("{op}[overload=\"{overload}\"]({arguments})"));
        for (&output, (name, _)) in outputs.iter().zip(values) {
            self.names[output as usize] = name;
        }
        Ok(())
    }

    fn result(&self, graph: &ObservedGraph) -> Result<String> {
        match graph.outputs[..] {
            [output] => self.value(output),
            _ => Err(Error::Internal("several outputs".into())),
        }
    }
}

/// LibTorch's own number of a type.
fn scalar_type(dtype: DType) -> i64 {
    match dtype {
        DType::Int64 => 4,
        DType::Float32 => 6,
        DType::Float64 => 7,
        DType::Bool => 11,
    }
}

fn is_identity(Scaler { mean, inverse }: &Scaler) -> bool {
    mean.iter().all(|&mean| mean == 0.0) && inverse.iter().all(|&inverse| inverse == 1.0)
}

fn floats(values: &[f32]) -> Packed {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Packed::of_elements(Dtype::F32, &bytes)
}

fn held(model: &Model, place: FlatOffset, length: usize) -> &[f32] {
    match place {
        FlatOffset::Parameter(start) => &model.parameters()[start..start + length],
        FlatOffset::State(start) => &model.state()[start..start + length],
    }
}

/// A tensor that the operators captured. Of frozen ones with the same contents each gets a name of its own: that of the first one
/// that none of those `before` has.
fn captured(model: &Model, module: &Module, index: usize, before: &[ScriptTensor]) -> Result<ScriptTensor> {
    let shape: Vec<usize> = module.value(index)?.shape.iter().map(|&size| size as usize).collect();
    let (place, length) = match &module.captured()[index] {
        Captured::Parameter(range) => (FlatOffset::Parameter(range.start), range.len()),
        Captured::State(range) => (FlatOffset::State(range.start), range.len()),
        Captured::Fixed(_) => {
            let (dtype, bytes) = module.fixed_elements(index)?;
            let dtype = match dtype {
                DType::Float32 => Dtype::F32,
                DType::Float64 => Dtype::F64,
                DType::Int64 => Dtype::I64,
                DType::Bool => Dtype::BOOL,
            };
            let values = Packed::of_elements(dtype, &bytes);
            let is = |content: &Content| matches!(content, Content::Kept { values: known, is_used: true } if *known == values);
            let is_free = |name: &str| before.iter().all(|known| known.name != name);
            let mut named = model.state_dict().iter().filter(|slot| slot.shape == shape && is(&slot.content));
            let named = named.find(|slot| is_free(&slot.name));
            let is_parameter = named.is_some_and(|slot| !slot.is_buffer);
            let name = named.map_or_else(|| format!("constant_{index}"), |slot| slot.name.clone());
            return Ok(ScriptTensor {
                name,
                shape,
                values,
                is_parameter,
                is_persistent: true,
                trains: false,
                is_used: true,
                same_as: None,
            });
        }
    };
    let path = model.names().path(place);
    let name = if path.is_empty() { format!("captured_{index}") } else { path.to_owned() };
    let is_parameter = matches!(place, FlatOffset::Parameter(_));
    let values = floats(held(model, place, length));
    Ok(ScriptTensor {
        name,
        shape,
        values,
        is_parameter,
        is_persistent: true,
        trains: is_parameter,
        is_used: true,
        same_as: None,
    })
}
