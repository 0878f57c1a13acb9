//! Files of weights by other programs and by this one; the first bytes tell the format.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::Path;

use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::error::{Error, Result};
use crate::tensor_file::{Dtype, Packed, Tensor, TensorFile};
use crate::text;
use crate::torch_file::{StateDict, is_archive, is_legacy};

/// Tensors by name.
pub(super) enum WeightFile {
    /// A safetensors file, and its tensors once they are read.
    Safetensors(Box<TensorFile>, HashMap<String, Tensor<Packed>>),
    /// PyTorch's `torch.save(net.state_dict())`.
    PyTorch(Box<StateDict>),
}

impl WeightFile {
    /// Opens the file at `path` for a network with the tensor `name`; none is read yet.
    pub fn open(path: &Path, name: &str) -> Result<Self> {
        if is_archive(path) {
            let mut dict = StateDict::open(path)?;
            dict.begin_at(name);
            return Ok(WeightFile::PyTorch(Box::new(dict)));
        }
        if is_legacy(path) {
            return Err(Error::invalid(
                "weights as PyTorch wrote them before version 1.6: write them again in Python, with torch.save(torch.load(path), path)",
                "",
            ));
        }
        let file = TensorFile::open(path)?;
        check_listed_once(&file)?;
        Ok(WeightFile::Safetensors(Box::new(file), HashMap::new()))
    }

    /// The entry `key` of the metadata, which only safetensors files have.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        match self {
            WeightFile::Safetensors(file, _) => file.metadata(key),
            WeightFile::PyTorch(_) => None,
        }
    }

    /// Names of all tensors.
    pub fn names(&self) -> Vec<String> {
        match self {
            WeightFile::Safetensors(file, _) => file.names(),
            WeightFile::PyTorch(dict) => dict.names().to_vec(),
        }
    }

    /// Type and shape of a tensor.
    pub fn tensor(&self, name: &str) -> Option<(Dtype, &[usize])> {
        match self {
            WeightFile::Safetensors(file, _) => file.tensor(name),
            WeightFile::PyTorch(dict) => dict.tensor(name),
        }
    }

    /// The elements of a tensor; the network has one of this shape.
    pub fn values(&mut self, name: &str) -> Result<Packed> {
        match self {
            WeightFile::Safetensors(file, tensors) => {
                if tensors.is_empty() {
                    *tensors = file.read_all(|_| ())?;
                }
                let gone = || Error::Internal(format!("tensor {} is gone", text::name(name)));
                Ok(tensors.get(name).ok_or_else(gone)?.values.clone())
            }
            WeightFile::PyTorch(dict) => dict.read(name),
        }
    }

    /// The same of finite float32.
    pub fn floats(&mut self, name: &str) -> Result<Vec<f32>> {
        let values: Vec<f32> = self.values(name)?.floats().collect();
        match values.iter().position(|value| !value.is_finite()) {
            None => Ok(values),
            Some(at) => {
                let what = format!("element {at} of tensor {} is {}", text::name(name), values[at]);
                Err(Error::invalid(what, ""))
            }
        }
    }
}

/// JSON allows a name twice, and readers differ in which one they take.
fn check_listed_once(file: &TensorFile) -> Result<()> {
    struct Names;
    impl<'de> Deserialize<'de> for Names {
        fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
            from.deserialize_map(Names)
        }
    }
    impl<'de> Visitor<'de> for Names {
        type Value = Names;
        fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
            to.write_str("tensors by their names")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Names, A::Error> {
            let mut names = HashSet::new();
            while let Some((name, _)) = map.next_entry::<String, IgnoredAny>()? {
                if names.contains(&name) {
                    return Err(A::Error::custom(format!("tensor {} is listed twice", text::name(&name))));
                }
                names.insert(name);
            }
            Ok(Names)
        }
    }
    let parsed = serde_json::from_slice::<Names>(file.description());
    parsed.map(|_| ()).map_err(|error| Error::invalid(format!("damaged: {}", text::name(&error.to_string())), ""))
}
