//! Networks that `torch.export.save` wrote (`.pt2`): a graph of LibTorch's operators as JSON, and raw elements of tensors.
//!
//! Format: `torch/_export/serde/schema.py` and `torch/export/pt2_archive` of PyTorch 2.11. Nothing in the file is run
//! or unpickled; names of values and operators are replaced or checked before LibTorch sees them.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use safetensors::Dtype;
use serde_json::Value;

use super::archive::Archive;
use super::notation::{Notation, Script, ScriptTensor};
use super::state_dict::row_major;
use crate::error::Result;
use crate::tensor_file::Packed;
use crate::text;

const MODEL: &str = "models/model.json";
/// Folders of tensors, each with the file that lists them.
const TENSORS: [(&str, &str); 2] =
    [("data/weights", "model_weights_config.json"), ("data/constants", "model_constants_config.json")];
/// Largest JSON text that is read, in bytes.
const LONGEST: u64 = 1 << 26;
/// Limit on bytes of records that several tensors share, counted each time that they are read again.
const MOST_SHARED: usize = 1 << 30;
/// Largest number of operators of a network.
const MOST_NODES: usize = 1 << 16;
/// Operators that only check sizes recorded at the export of the network.
const CHECKS: [&str; 5] = [
    "_assert_scalar",
    "_assert_tensor_metadata",
    "_assert_async",
    "sym_constrain_range",
    "sym_constrain_range_for_size",
];

/// The call of a graph under `torch.no_grad()` or `torch.enable_grad()`.
const WITH_GRADIENTS: &str = "torch.ops.higher_order.wrap_with_set_grad_enabled";

/// Whether the file at `path` is an archive of `torch.export.save`.
pub fn is_exported(path: &Path) -> bool {
    super::is_archive(path) && Archive::open(path).is_ok_and(|archive| archive.record(MODEL).is_some())
}

/// The network at `path`. Fails for other files, and for operators that are not LibTorch's.
pub fn exported(path: &Path) -> Result<Script> {
    let mut archive = Archive::open(path)?;
    let model = json(&mut archive, MODEL)?;
    let mut lists = Vec::new();
    for (folder, name) in TENSORS {
        let list = format!("{folder}/{name}");
        if archive.record(&list).is_some() {
            lists.push((folder, json(&mut archive, &list)?));
        }
    }
    let reader = Reader {
        archive: &mut archive,
        lists,
        notation: Notation::default(),
        values: HashMap::new(),
        tensors: Vec::new(),
        places: HashMap::new(),
        records: HashSet::new(),
        shared: 0,
        nodes: 0,
    };
    reader.script(&model).map_err(|what| archive.bad(what))
}

fn json(archive: &mut Archive, name: &str) -> Result<Value> {
    let record = archive.record(name).cloned();
    let record = record.ok_or_else(|| archive.bad(format!("a zip archive without {name}")))?;
    if record.size > LONGEST {
        return Err(archive.bad(format!("its {name} has {} bytes, more than {LONGEST}", record.size)));
    }
    let bytes = archive.read(&record)?;
    serde_json::from_slice(&bytes)
        .map_err(|error| archive.bad(format!("damaged: {name} cannot be read ({})", text::name(&error.to_string()))))
}

/// The fault, without the name of the file.
type Said<T> = std::result::Result<T, String>;

fn damaged(what: &str) -> String {
    format!("damaged, or of another version of PyTorch: {what}")
}

fn field<'v>(value: &'v Value, name: &str) -> Said<&'v Value> {
    value.get(name).ok_or_else(|| damaged(&format!("there is no '{name}'")))
}

fn list<'v>(value: &'v Value, name: &str) -> Said<&'v [Value]> {
    Ok(field(value, name)?.as_array().ok_or_else(|| damaged(&format!("'{name}' is no list")))?)
}

fn string<'v>(value: &'v Value, name: &str) -> Said<&'v str> {
    field(value, name)?.as_str().ok_or_else(|| damaged(&format!("'{name}' is no text")))
}

/// The only entry of an object: a kind and its content.
fn kind(value: &Value) -> Said<(&str, &Value)> {
    let entries = value.as_object().filter(|entries| entries.len() == 1);
    let entry = entries.and_then(|entries| entries.iter().next());
    entry.map(|(kind, value)| (kind.as_str(), value)).ok_or_else(|| damaged("a value of no kind"))
}

/// The name of a value of the graph.
fn name_of(value: &Value) -> Said<&str> {
    let name = value.get("as_name").or_else(|| value.get("name")).and_then(Value::as_str);
    name.ok_or_else(|| damaged("a value without a name"))
}

/// A size that is a number.
fn size(value: &Value) -> Said<usize> {
    let number = value.as_u64().or_else(|| value.get("as_int")?.as_u64());
    let number = number.and_then(|number| usize::try_from(number).ok()).filter(|number| *number < 1 << 40);
    number.ok_or_else(|| damaged("a size of a tensor"))
}

/// The type for one of the format's numbers.
fn dtype(number: &Value) -> Said<Dtype> {
    Ok(match number.as_u64() {
        Some(1) => Dtype::U8,
        Some(2) => Dtype::I8,
        Some(3) => Dtype::I16,
        Some(4) => Dtype::I32,
        Some(5) => Dtype::I64,
        Some(6) => Dtype::F16,
        Some(7) => Dtype::F32,
        Some(8) => Dtype::F64,
        Some(12) => Dtype::BOOL,
        Some(13) => Dtype::BF16,
        _ => return Err("a tensor of a type that no network here has: export it in float32".into()),
    })
}

/// LibTorch's own number of a type.
fn scalar_type(number: &Value) -> Said<i64> {
    Ok(match dtype(number)? {
        Dtype::U8 => 0,
        Dtype::I8 => 1,
        Dtype::I16 => 2,
        Dtype::I32 => 3,
        Dtype::I64 => 4,
        Dtype::F16 => 5,
        Dtype::F32 => 6,
        Dtype::F64 => 7,
        Dtype::BOOL => 11,
        _ => 15,
    })
}

struct Reader<'a> {
    archive: &'a mut Archive,
    /// Folders with the lists of their tensors.
    lists: Vec<(&'static str, Value)>,
    notation: Notation,
    /// Values of the graph, by the file's names.
    values: HashMap<String, String>,
    tensors: Vec<ScriptTensor>,
    /// The first tensor at each place in the file.
    places: HashMap<String, usize>,
    /// Tensors that were read.
    records: HashSet<String>,
    /// Bytes that were read again for another tensor.
    shared: usize,
    /// Operators so far.
    nodes: usize,
}

impl Reader<'_> {
    fn script(mut self, model: &Value) -> Said<Script> {
        let module = field(model, "graph_module")?;
        let (graph, signature) = (field(module, "graph")?, field(module, "signature")?);
        let (mut events, mut taken) = (Vec::new(), Vec::new());
        for spec in list(signature, "input_specs")? {
            let (what, spec) = kind(spec)?;
            let name = match what {
                "user_input" => {
                    let (what, value) = kind(field(spec, "arg")?)?;
                    if what != "as_tensor" {
                        return Err(
                            "its forward takes something else than tensors: export one that takes events alone".into(),
                        );
                    }
                    let name = format!("%x{}", events.len());
                    self.values.insert(string(value, "name")?.to_owned(), name.clone());
                    events.push(format!("{name} : Tensor"));
                    continue;
                }
                "parameter" => string(spec, "parameter_name")?,
                "buffer" => string(spec, "buffer_name")?,
                "tensor_constant" => string(spec, "tensor_constant_name")?,
                other => return Err(format!("its forward takes a {}", text::name(other))),
            };
            let is_persistent = match what {
                "buffer" => field(spec, "persistent")?.as_bool() != Some(false),
                other => other == "parameter",
            };
            let index = self.tensor(name, what == "parameter", is_persistent)?;
            self.values.insert(string(field(spec, "arg")?, "name")?.to_owned(), format!("%t{index}"));
            taken.push(format!("%t{index} : Tensor"));
        }
        self.nodes(list(graph, "nodes")?)?;
        let result = self.result(list(signature, "output_specs")?)?;
        let inputs = [events, taken, vec!["%training : bool".to_owned()]].concat().join(", ");
        let text = format!("graph({inputs}):\n{}  return ({result})\n", self.notation.body);
        Ok(Script { text, tensors: self.tensors })
    }

    /// Reads a tensor of the file, and returns its number.
    fn tensor(&mut self, name: &str, is_parameter: bool, is_persistent: bool) -> Said<usize> {
        let bad = |what: &str| format!("tensor {} {what}", text::name(name));
        let is_path = !name.is_empty() && name.split('.').all(|part| !part.is_empty()) && name.len() < 1000;
        let is_plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == '.');
        if !is_path || !is_plain || self.tensors.iter().any(|known| known.name == name) {
            return Err(bad("has a name that none can have"));
        }
        let found = self.lists.iter().find_map(|(folder, list)| Some((*folder, list.get("config")?.get(name)?)));
        let (folder, about) = found.ok_or_else(|| bad("is not in the file"))?;
        if field(about, "use_pickle")?.as_bool() != Some(false) {
            return Err(bad("is pickled, which may run code: export a network whose tensors are plain ones"));
        }
        let (path, meta) = (string(about, "path_name")?, field(about, "tensor_meta")?);
        let sizes = |name: &str| list(meta, name)?.iter().map(size).collect::<Said<Vec<_>>>();
        let (shape, strides, offset) = (sizes("sizes")?, sizes("strides")?, size(field(meta, "storage_offset")?)?);
        let dtype = dtype(field(meta, "dtype")?)?;
        let record = self.archive.record(&format!("{folder}/{path}")).cloned();
        let record = record.ok_or_else(|| bad("has elements that are not in the file"))?;
        let bytes = self.archive.read(&record).map_err(|error| error.to_string())?;
        // An expanded tensor would take more memory than the file has.
        let count = shape.iter().try_fold(dtype.bitsize() / 8, |count, size| count.checked_mul(*size));
        if count.is_none_or(|count| count > bytes.len()) {
            return Err(bad("has more elements than the file"));
        }
        let place = format!("{folder}/{path} {dtype:?} {offset} {shape:?} {strides:?}");
        let same_as = Some(*self.places.entry(place).or_insert(self.tensors.len()));
        let same_as = same_as.filter(|index| *index < self.tensors.len());
        // Many names of one record must not take its memory many times.
        if !self.records.insert(record.name.clone()) {
            self.shared += bytes.len();
        }
        if self.shared > MOST_SHARED {
            return Err(bad("has the elements of others, which together are too many"));
        }
        let elements = row_major(&bytes, dtype.bitsize() / 8, offset, &shape, &strides);
        let values = Packed::of_elements(dtype, &elements.ok_or_else(|| bad("reaches beyond its elements"))?);
        let trains = is_parameter && field(meta, "requires_grad")?.as_bool() == Some(true);
        let name = name.to_owned();
        self.tensors.push(ScriptTensor {
            name,
            shape,
            values,
            is_parameter,
            is_persistent,
            trains,
            is_used: true,
            same_as,
        });
        Ok(self.tensors.len() - 1)
    }

    fn value(&self, value: &Value, name: &str) -> Said<String> {
        let name = string(value, name)?;
        let known = self.values.get(name).cloned();
        known.ok_or_else(|| damaged(&format!("value {} before it is computed", text::name(name))))
    }

    fn nodes(&mut self, nodes: &[Value]) -> Said<()> {
        self.nodes = self.nodes.saturating_add(nodes.len());
        if self.nodes > MOST_NODES {
            return Err(format!("{} operators, more than {MOST_NODES}", self.nodes));
        }
        nodes.iter().try_for_each(|node| self.node(node))
    }

    /// A graph of its own that runs with gradients or without, in the place of its call. Results of one without
    /// gradients have none.
    fn wrapped(&mut self, node: &Value) -> Said<()> {
        fn argument(input: &Value) -> Said<(&str, &Value)> {
            kind(field(input, "arg")?)
        }
        let [enabled, graph, given @ ..] = list(node, "inputs")? else { return Err(damaged("a call of no graph")) };
        let ((_, enabled), (_, graph)) = (argument(enabled)?, argument(graph)?);
        let records = enabled.as_bool().ok_or_else(|| damaged("a call of a graph"))?;
        let graph = field(graph, "graph")?;
        let (taken, returned) = (list(graph, "inputs")?, list(graph, "outputs")?);
        if taken.len() != given.len() {
            return Err(damaged("a graph that takes something else"));
        }
        let mut inner = HashMap::new();
        for (name, input) in taken.iter().zip(given) {
            let (what, value) = argument(input)?;
            let value = self.argument(what, value)?.ok_or_else(|| damaged("what a graph takes"))?;
            inner.insert(name_of(kind(name)?.1)?.to_owned(), value);
        }
        let outer = std::mem::replace(&mut self.values, inner);
        self.nodes(list(graph, "nodes")?)?;
        let results = returned.iter().map(|output| self.returned(output)).collect::<Said<Vec<_>>>()?;
        self.values = outer;
        let mut outputs = Vec::new();
        for output in list(node, "outputs")? {
            let (what, value) = kind(output)?;
            let each = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
            for value in each {
                outputs.push((if what == "as_tensors" { "as_tensor" } else { what }, name_of(value)?.to_owned()));
            }
        }
        let is_same = |(given, taken): (&(&str, String), &(&str, String))| given.0 == taken.0;
        if outputs.len() != results.len() || !results.iter().zip(&outputs).all(is_same) {
            return Err(damaged("a graph that gives something else"));
        }
        for ((what, result), (_, name)) in results.into_iter().zip(outputs) {
            let value = if records || what == "as_sym_int" { result } else { self.detached(&result) };
            self.values.insert(name, value);
        }
        Ok(())
    }

    /// The result of a graph inside another one: a tensor or a size.
    fn returned<'v>(&mut self, output: &'v Value) -> Said<(&'v str, String)> {
        let (what, value) = kind(output)?;
        match what {
            "as_tensor" => Ok((what, self.value(value, "name")?)),
            "as_sym_int" => Ok((what, self.whole(value)?)),
            other => Err(format!("torch.no_grad() gives a value {}: compute it outside", text::name(other))),
        }
    }

    fn detached(&mut self, tensor: &str) -> String {
        self.notation.line("Tensor", &format!("aten::detach[overload=\"\", names=\"self\"]({tensor})"))
    }

    fn node(&mut self, node: &Value) -> Said<()> {
        let target = string(node, "target")?;
        if target == WITH_GRADIENTS {
            return self.wrapped(node);
        }
        let refused = || {
            format!("it calls {}, which is no operator of LibTorch's: export a network without it", text::name(target))
        };
        let is_plain = |name: &str| name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        let (op, overload, is_named) = match target.strip_prefix("torch.ops.aten.") {
            Some(name) => {
                let (op, overload) = name.split_once('.').ok_or_else(refused)?;
                (if op == "sym_size" { "size" } else { op }, if overload == "default" { "" } else { overload }, true)
            }
            None => (target.strip_prefix("_operator.").ok_or_else(refused)?, "int", false),
        };
        if CHECKS.contains(&op) {
            return Ok(());
        }
        if op.is_empty() || !is_plain(op) || !is_plain(overload) {
            return Err(refused());
        }
        let (mut names, mut arguments) = (Vec::new(), Vec::new());
        for input in list(node, "inputs")? {
            let name = string(input, "name")?;
            if !is_plain(name) {
                return Err(damaged("an argument's name"));
            }
            let is_mode = matches!((op, name), ("batch_norm", "training") | ("dropout", "train"));
            let (what, value) = kind(field(input, "arg")?)?;
            // A network that was exported in training mode predicts in evaluation mode.
            let argument = match is_mode && value.as_bool() == Some(true) {
                true => Some("%training".to_owned()),
                false => self.argument(what, value).map_err(|what| format!("{op}: {what}"))?,
            };
            if let Some(argument) = argument {
                names.push(name.to_owned());
                arguments.push(argument);
            }
        }
        let names = if is_named { format!(", names=\"{}\"", names.join(" ")) } else { String::new() };
        let what = format!("aten::{op}[overload=\"{overload}\"{names}]({})", arguments.join(", "));
        let mut values = Vec::new();
        for output in list(node, "outputs")? {
            let (what, value) = kind(output)?;
            let one = std::slice::from_ref(value);
            let (each, kind) = match what {
                "as_tensor" => (one, "Tensor"),
                "as_tensors" => (value.as_array().map_or(&[][..], Vec::as_slice), "Tensor"),
                "as_sym_int" => (one, "int"),
                other => return Err(format!("{op} gives a value {}", text::name(other))),
            };
            for value in each {
                let name = self.notation.name();
                self.values.insert(name_of(value)?.to_owned(), name.clone());
                values.push((name, kind));
            }
        }
        if values.is_empty() {
            return Err(format!("{op} gives nothing"));
        }
        self.notation.lines(&values, &what);
        Ok(())
    }

    /// A value of the graph; none: the operator's default.
    fn argument(&mut self, what: &str, value: &Value) -> Said<Option<String>> {
        let wrong = || damaged(&format!("an argument {}", text::name(what)));
        let items = || value.as_array().ok_or_else(wrong);
        let float = |value: &Value| match value.as_str() {
            Some("Infinity") => Some(f64::INFINITY),
            Some("-Infinity") => Some(f64::NEG_INFINITY),
            Some("NaN") => Some(f64::NAN),
            _ => value.as_f64(),
        };
        Ok(Some(match what {
            "as_tensor" => self.value(value, "name")?,
            "as_tensors" => {
                let items = items()?.iter().map(|item| self.value(item, "name")).collect::<Said<Vec<_>>>()?;
                self.notation.list("Tensor[]", &items)
            }
            "as_optional_tensors" => {
                let mut list = Vec::new();
                for item in items()? {
                    let (what, value) = kind(item)?;
                    list.push(self.argument(what, value)?.ok_or_else(wrong)?);
                }
                self.notation.list("Tensor?[]", &list)
            }
            "as_none" => self.notation.none(),
            "as_bool" => self.notation.truth(value.as_bool().ok_or_else(wrong)?),
            "as_int" => self.notation.integer(value.as_i64().ok_or_else(wrong)?),
            "as_float" => self.notation.float(float(value).ok_or_else(wrong)?),
            "as_string" => self.notation.text(value.as_str().ok_or_else(wrong)?).ok_or_else(wrong)?,
            "as_sym_int" => self.whole(value)?,
            "as_ints" | "as_sym_ints" => {
                let items = items()?.iter().map(|item| self.whole(item)).collect::<Said<Vec<_>>>()?;
                self.notation.list("int[]", &items)
            }
            "as_floats" => {
                let numbers = items()?.iter().map(|item| float(item).ok_or_else(wrong)).collect::<Said<Vec<_>>>()?;
                let items: Vec<String> = numbers.into_iter().map(|number| self.notation.float(number)).collect();
                self.notation.list("float[]", &items)
            }
            "as_bools" => {
                let truths = items()?.iter().map(|item| item.as_bool().ok_or_else(wrong)).collect::<Said<Vec<_>>>()?;
                let items: Vec<String> = truths.into_iter().map(|truth| self.notation.truth(truth)).collect();
                self.notation.list("bool[]", &items)
            }
            "as_scalar_type" => {
                let number = scalar_type(value)?;
                self.notation.integer(number)
            }
            // On the CPU, dense; contiguous (1) or as it is (4).
            "as_device" if value.get("type").and_then(Value::as_str) == Some("cpu") => return Ok(None),
            "as_layout" if value.as_u64() == Some(7) => return Ok(None),
            "as_memory_format" if matches!(value.as_u64(), Some(1 | 4)) => return Ok(None),
            other => return Err(format!("the argument {} is not supported", text::name(other))),
        }))
    }

    /// A whole number, which may be computed.
    fn whole(&mut self, value: &Value) -> Said<String> {
        if let Some(number) = value.as_i64().or_else(|| value.get("as_int")?.as_i64()) {
            return Ok(self.notation.integer(number));
        }
        self.value(value, "as_name")
    }

    /// The results of forward.
    fn result(&mut self, specs: &[Value]) -> Said<String> {
        let mut results = Vec::new();
        for spec in specs {
            let (what, spec) = kind(spec)?;
            let (of, value) = kind(field(spec, "arg")?)?;
            if what != "user_output" || of != "as_tensor" {
                return Err(format!(
                    "its forward gives a {}: export one that returns a tensor, with torch.export.export and without \
                     run_decompositions",
                    text::name(what)
                ));
            }
            results.push(self.value(value, "name")?);
        }
        Ok(match &results[..] {
            [only] => only.clone(),
            _ => self.notation.list("Tensor[]", &results),
        })
    }
}
