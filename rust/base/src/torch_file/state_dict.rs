//! Tensors by name, as `torch.save(net.state_dict())` writes them, or a checkpoint with such a dictionary in it.

use std::collections::HashMap;
use std::path::Path;

use safetensors::Dtype;

use super::archive::{Archive, Record};
use super::pickle::{Id, LONGEST, Pickle, Value};
use crate::error::{Error, Result};
use crate::tensor_file::Packed;
use crate::text;

/// Keys under which checkpoints keep the weights: those of Lightning, of PyTorch's tutorials, and of its reference
/// scripts.
const WITHIN: [&str; 3] = ["state_dict", "model_state_dict", "model"];
/// The record with the pickle.
const PICKLE: &str = "data.pkl";
/// Names of a dictionary that a message shows.
const SHOWN: usize = 8;

/// A tensor stored in a record.
struct View {
    dtype: Dtype,
    record: Record,
    /// Offset of its first element, in elements.
    offset: usize,
    shape: Vec<usize>,
    /// Strides in elements.
    strides: Vec<usize>,
}

/// The tensors of a file.
pub struct StateDict {
    archive: Archive,
    names: Vec<String>,
    tensors: HashMap<String, View>,
}

impl StateDict {
    /// Opens the file at `path`. No code in it is run. Fails for a file with anything but tensors, plain values and
    /// dictionaries of them, and names what it found.
    pub fn open(path: &Path) -> Result<Self> {
        let mut archive = Archive::open(path)?;
        let (bytes, mut tensors) = (read_pickle(&mut archive, PICKLE)?, HashMap::new());
        let pickle = Pickle::read(&bytes, known).map_err(|what| archive.bad(what + remedy(&bytes)))?;
        let mut names = Vec::new();
        let records: HashMap<&str, &Record> = archive.records().iter().map(|record| (&*record.name, record)).collect();
        for &(key, value) in entries(&pickle).map_err(|what| archive.bad(what))? {
            let name = pickle.text(key).ok_or_else(|| archive.bad("a tensor's name is no text"))?.to_owned();
            let bad = |what: &str| archive.bad(format!("tensor {} {what}", text::name(&name)));
            let view = view(&pickle, value, &records).map_err(|what| bad(&what))?;
            if tensors.insert(name.clone(), view).is_some() {
                return Err(bad("is listed twice"));
            }
            names.push(name);
        }
        Ok(StateDict { archive, names, tensors })
    }

    /// If all names have a common prefix, and after it one of them is `name`, drops the prefix: in a checkpoint the
    /// network is a member of something else ("model.0.weight").
    pub fn begin_at(&mut self, name: &str) {
        let behind = |full: &String| full.strip_suffix(name).filter(|before| before.ends_with('.')).map(str::to_owned);
        let Some(before) = self.names.iter().find_map(behind).filter(|_| !self.tensors.contains_key(name)) else {
            return;
        };
        if self.names.iter().all(|name| name.starts_with(&before)) {
            let short = |name: String| name[before.len()..].to_owned();
            self.names = std::mem::take(&mut self.names).into_iter().map(short).collect();
            self.tensors =
                std::mem::take(&mut self.tensors).into_iter().map(|(name, view)| (short(name), view)).collect();
        }
    }

    /// Names of all tensors, in their order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Type and shape of a tensor.
    pub fn tensor(&self, name: &str) -> Option<(Dtype, &[usize])> {
        self.tensors.get(name).map(|view| (view.dtype, &view.shape[..]))
    }

    /// The elements of a tensor, row-major.
    pub fn read(&mut self, name: &str) -> Result<Packed> {
        let wrong = || Error::Internal(format!("tensor {} is read as it is not", text::name(name)));
        let View { dtype, record, offset, shape, strides } = self.tensors.get(name).ok_or_else(wrong)?;
        let bytes = self.archive.read(record)?;
        let elements = row_major(&bytes, dtype.bitsize() / 8, *offset, shape, strides);
        Ok(Packed::of_elements(*dtype, &elements.ok_or_else(wrong)?))
    }
}

/// The elements of a tensor in these bytes, of `size` bytes each, row-major. None: it reaches beyond them. An expanded
/// tensor has more elements than are stored: check its shape first.
pub fn row_major(bytes: &[u8], size: usize, offset: usize, shape: &[usize], strides: &[usize]) -> Option<Vec<u8>> {
    let count = shape.iter().try_fold(1_usize, |count, size| count.checked_mul(*size))?;
    let end = count.checked_mul(size)?;
    if shape.len() != strides.len() || offset.checked_mul(size)? > bytes.len() {
        return None;
    }
    if count == 0 {
        return Some(Vec::new());
    }
    let step =
        |last: Option<usize>, (size, stride): (&usize, &usize)| last?.checked_add((size - 1).checked_mul(*stride)?);
    let last = shape.iter().zip(strides).fold(Some(offset), step)?;
    if last.checked_add(1)?.checked_mul(size)? > bytes.len() {
        return None;
    }
    if is_dense(shape, strides) {
        return Some(bytes[offset * size..][..end].to_vec());
    }
    let (mut elements, mut index) = (Vec::with_capacity(end.min(bytes.len())), vec![0; shape.len()]);
    for _ in 0..count {
        let at = offset + index.iter().zip(strides).map(|(index, stride)| index * stride).sum::<usize>();
        elements.extend_from_slice(&bytes[at * size..(at + 1) * size]);
        for (index, size) in index.iter_mut().zip(shape).rev() {
            *index += 1;
            if *index < *size {
                break;
            }
            *index = 0;
        }
    }
    Some(elements)
}

/// Whether the elements are row-major, without gaps.
fn is_dense(shape: &[usize], strides: &[usize]) -> bool {
    let mut expected = 1;
    shape.iter().zip(strides).rev().all(|(&size, &stride)| {
        let fits = size == 1 || stride == expected;
        expected *= size;
        fits
    })
}

/// The bytes of a pickle, as long as it may be.
pub fn read_pickle(archive: &mut Archive, name: &str) -> Result<Vec<u8>> {
    let record = archive.record(name).cloned();
    let record = record.ok_or_else(|| archive.bad(format!("a zip archive without {name}: no file of PyTorch")))?;
    if record.size > LONGEST {
        return Err(archive.bad(format!("its {name} has {} bytes, more than {LONGEST}", record.size)));
    }
    archive.read(&record)
}

/// The names that a state_dict consists of.
fn known(name: &str) -> bool {
    let made =
        ["collections OrderedDict", "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_parameter", "torch Size"];
    made.contains(&name) || dtype(name).is_some()
}

/// The remedy for a file of another kind.
fn remedy(pickle: &[u8]) -> &'static str {
    match pickle.windows(9).any(|window| window == b"__torch__") {
        true => ": it is a TorchScript network, which CladTorch::Model::LoadTorchScript reads",
        false => ": in Python, write the weights alone with torch.save(net.state_dict(), path)",
    }
}

/// Element type of a storage's class.
fn dtype(name: &str) -> Option<Dtype> {
    Some(match name.strip_prefix("torch ")?.strip_suffix("Storage")? {
        "Float" => Dtype::F32,
        "Double" => Dtype::F64,
        "Half" => Dtype::F16,
        "BFloat16" => Dtype::BF16,
        "Long" => Dtype::I64,
        "Int" => Dtype::I32,
        "Short" => Dtype::I16,
        "Char" => Dtype::I8,
        "Byte" => Dtype::U8,
        "Bool" => Dtype::BOOL,
        _ => return None,
    })
}

/// The dictionary of tensors: that of the file, or the one of weights in a checkpoint.
fn entries(pickle: &Pickle) -> Result<&[(Id, Id)], String> {
    let Value::Dict(all) = pickle.get(pickle.root()) else {
        return Err("it holds no dictionary of tensors: write it with torch.save(net.state_dict(), path)".into());
    };
    let weights = |id: Id| match pickle.get(id) {
        Value::Dict(entries) if entries.iter().any(|(_, value)| pickle.call(*value).is_some()) => Some(&entries[..]),
        _ => None,
    };
    if all.is_empty() {
        return Ok(all);
    }
    let known = WITHIN.iter().filter_map(|name| pickle.entry(pickle.root(), name)).find_map(weights);
    let only = || match all.iter().filter_map(|(_, value)| weights(*value)).collect::<Vec<_>>()[..] {
        [only] => Some(only),
        _ => None,
    };
    known.or_else(|| weights(pickle.root())).or_else(only).ok_or_else(|| {
        let names = all.iter().take(SHOWN).map(|(key, _)| text::name(pickle.text(*key).unwrap_or("?")));
        let names = text::list(names.collect::<Vec<_>>().iter(), ", ");
        format!("its dictionary holds {names}, and no weights: write those with torch.save(net.state_dict(), path)")
    })
}

/// The tensor that a value describes, inside its record.
fn view(pickle: &Pickle, value: Id, records: &HashMap<&str, &Record>) -> Result<View, String> {
    let other = || "is no tensor".to_owned();
    let (function, arguments) = pickle.call(value).ok_or_else(other)?;
    if function == "torch._utils _rebuild_parameter" {
        return view(pickle, *arguments.first().ok_or_else(other)?, records);
    }
    let [storage, offset, shape, strides, ..] = arguments else { return Err(other()) };
    let sizes = |id: &Id| {
        let items = pickle.tuple(*id).or_else(|| pickle.tuple(*pickle.call(*id)?.1.first()?)).ok_or_else(other)?;
        items.iter().map(|item| pickle.size(*item).ok_or_else(other)).collect::<Result<Vec<_>, _>>()
    };
    let (shape, strides, offset) = (sizes(shape)?, sizes(strides)?, pickle.size(*offset).ok_or_else(other)?);
    if function != "torch._utils _rebuild_tensor_v2" || shape.len() != strides.len() {
        return Err(other());
    }
    let (dtype, record) = stored(pickle, *storage, records)?;
    // One more than the number of its last element.
    let step =
        |end: Option<usize>, (size, stride): (&usize, &usize)| end?.checked_add((size - 1).checked_mul(*stride)?);
    let end = match shape.contains(&0) {
        true => Some(offset),
        false => shape.iter().zip(&strides).fold(offset.checked_add(1), step),
    };
    let bytes = end.and_then(|end| end.checked_mul(dtype.bitsize() / 8));
    let count = shape.iter().try_fold(1_usize, |count, size| count.checked_mul(*size));
    if bytes.is_none_or(|bytes| bytes as u64 > record.size) || count.is_none() {
        return Err("reaches beyond its storage".into());
    }
    Ok(View { dtype, record, offset, shape, strides })
}

/// Type and record of a storage: ("storage", class, key, device, elements).
fn stored(pickle: &Pickle, storage: Id, records: &HashMap<&str, &Record>) -> Result<(Dtype, Record), String> {
    let other = || "has no storage".to_owned();
    let Value::Persistent(about) = pickle.get(storage) else { return Err(other()) };
    let [kind, class, key, _, elements, ..] = pickle.tuple(*about).ok_or_else(other)? else { return Err(other()) };
    let class = pickle.global(*class).filter(|_| pickle.text(*kind) == Some("storage")).ok_or_else(other)?;
    let (dtype, key) = (dtype(class).ok_or_else(other)?, pickle.text(*key).ok_or_else(other)?);
    let record = *records.get(&*format!("data/{key}")).ok_or("has a storage that is not in the file")?;
    let bytes = pickle.size(*elements).and_then(|count| (count as u64).checked_mul(dtype.bitsize() as u64 / 8));
    match bytes == Some(record.size) {
        true => Ok((dtype, record.clone())),
        false => Err("has a storage of another size".into()),
    }
}
