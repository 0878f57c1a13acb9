//! The model file: a safetensors file whose metadata holds one JSON text under "cladtorch".
//!
//! Tensors: `layers.K.weight` [outputs, inputs] and `layers.K.bias` [outputs] float32, `scaler.mean` and
//! `scaler.inverse` [inputs] float32. Other programs read it with any safetensors library.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use super::{Model, OWN, Training, activation_name};
use crate::bridge::ColumnSpec;
use crate::columns;
use crate::dataset::Scaler;
use crate::error::{Error, Result};
use crate::graph::{Activation, Init, Loss, Op, Own};
use crate::storage;

const KEY: &str = "cladtorch";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Header {
    version: u32,
    sizes: Vec<usize>,
    activation: String,
    /// C++ text, for people: what a file brings along is never compiled.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    activation_function: String,
    init: String,
    seed: u64,
    training: Option<TrainingHeader>,
}

#[derive(Serialize, Deserialize)]
struct TrainingHeader {
    loss: String,
    columns: Vec<ColumnHeader>,
    options: Vec<(String, String)>,
}

/// A [`ColumnSpec`] in the file.
#[derive(Serialize, Deserialize)]
struct ColumnHeader {
    name: String,
    length: usize,
    pad: f32,
    #[serde(default)]
    inner: usize,
    #[serde(default)]
    mask_of: String,
}

impl From<ColumnSpec> for ColumnHeader {
    fn from(ColumnSpec { name, length, pad, inner, mask_of }: ColumnSpec) -> Self {
        ColumnHeader { name, length, pad, inner, mask_of }
    }
}

impl From<ColumnHeader> for ColumnSpec {
    fn from(ColumnHeader { name, length, pad, inner, mask_of }: ColumnHeader) -> Self {
        ColumnSpec { name, length, pad, inner, mask_of }
    }
}

impl Model {
    /// Writes the model to `path`: whole or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        let header = serde_json::to_string(&self.header()).map_err(|error| Error::Internal(error.to_string()))?;
        let mut tensors: Vec<(String, Vec<usize>, &[f32])> = Vec::new();
        for (index, (weight, bias, inputs, outputs)) in self.graph().layers().enumerate() {
            tensors.push((format!("layers.{index}.weight"), vec![outputs, inputs], &self.parameters()[weight]));
            tensors.push((format!("layers.{index}.bias"), vec![outputs], &self.parameters()[bias]));
        }
        if let Some(Training { scaler, .. }) = &self.training {
            tensors.push(("scaler.mean".into(), vec![scaler.mean.len()], &scaler.mean));
            tensors.push(("scaler.inverse".into(), vec![scaler.inverse.len()], &scaler.inverse));
        }
        let bytes: Vec<Vec<u8>> =
            tensors.iter().map(|(_, _, values)| values.iter().flat_map(|v| v.to_le_bytes()).collect()).collect();
        let views = tensors
            .into_iter()
            .zip(&bytes)
            .map(|((name, shape, _), bytes)| TensorView::new(Dtype::F32, shape, bytes).map(|view| (name, view)));
        let views = views.collect::<Result<Vec<_>, _>>().map_err(|error| Error::Internal(error.to_string()))?;
        let metadata = HashMap::from([(KEY.to_owned(), header)]);
        let file = safetensors::serialize(views, Some(metadata)).map_err(|error| Error::Internal(error.to_string()))?;
        storage::replace(path, |new| fs::write(new, &file).map_err(|error| Error::io(path, error)))
    }

    fn header(&self) -> Header {
        Header {
            version: VERSION,
            sizes: self.sizes.clone(),
            activation: activation_name(&self.activation).to_owned(),
            activation_function: match &self.activation {
                Op::Own(own) => own.text().to_owned(),
                Op::Activation(_) | Op::Linear { .. } => String::new(),
            },
            init: self.init.name().to_owned(),
            seed: self.seed,
            training: self.training.as_ref().map(|training| TrainingHeader {
                loss: training.loss.map_or(OWN, Loss::name).to_owned(),
                columns: training.columns.iter().cloned().map(ColumnHeader::from).collect(),
                options: training.options.clone(),
            }),
        }
    }

    /// Reads a model. Every size and name in the file is checked before it is used. A model with an activation of the
    /// user's own takes it from `own`, not from the file, whose code nobody has vouched for; the texts must be the same.
    pub fn load(path: &Path, own: Option<Own>) -> Result<Self> {
        let bytes = read_whole(path)?;
        let bad = |what: String| Error::ModelFile { path: path.to_path_buf(), what };
        let (_, metadata) = SafeTensors::read_metadata(&bytes)
            .map_err(|error| bad(format!("not a model file, or damaged ({error})")))?;
        let tensors = SafeTensors::deserialize(&bytes).map_err(|error| bad(format!("damaged or cut ({error})")))?;
        let header = metadata.metadata().as_ref().and_then(|metadata| metadata.get(KEY));
        let header = header.ok_or_else(|| bad("a safetensors file, but not written by CladTorch".into()))?;
        let version = serde_json::from_str::<serde_json::Value>(header).ok().and_then(|h| h["version"].as_u64());
        if version != Some(u64::from(VERSION)) {
            let found = version.map_or("no version".into(), |version| format!("version {version}"));
            return Err(bad(format!("{found}, this CladTorch reads version {VERSION}")));
        }
        let header: Header =
            serde_json::from_str(header).map_err(|error| bad(format!("its description is damaged ({error})")))?;
        Self::from_parts(header, &tensors, own).map_err(|error| match error {
            Error::Invalid { what, .. } => bad(what),
            other => other,
        })
    }

    fn from_parts(header: Header, tensors: &SafeTensors, own: Option<Own>) -> Result<Self> {
        // The weights in the file bound what the sizes may ask for, before anything is allocated.
        let stored: usize = tensors.tensors().iter().map(|(_, view)| view.data().len() / 4).sum();
        let mut layers = header.sizes.iter().zip(header.sizes.iter().skip(1));
        let claimed = layers.try_fold(0usize, |sum, (&i, &o)| sum.checked_add(i.checked_mul(o)?));
        if claimed.is_none_or(|claimed| claimed > stored) {
            return Err(Error::invalid(format!("layer sizes {:?} need more weights than it holds", header.sizes), ""));
        }
        let named = |what: &str, name: &str| Error::invalid(format!("unknown {what} \"{name}\""), "");
        let activation = header.activation(own)?;
        let init = Init::from_name(&header.init).ok_or_else(|| named("initialisation", &header.init))?;
        let mut model = Model::new(&header.sizes, activation, init, header.seed)?;
        let mut parameters = Vec::with_capacity(model.parameters().len());
        for (index, (_, _, inputs, outputs)) in model.graph().layers().enumerate() {
            parameters.extend(numbers(tensors, &format!("layers.{index}.weight"), &[outputs, inputs])?);
            parameters.extend(numbers(tensors, &format!("layers.{index}.bias"), &[outputs])?);
        }
        model.set_parameters(&parameters)?;
        model.training = header.training.map(|training| training.checked(tensors, header.sizes[0])).transpose()?;
        Ok(model)
    }
}

impl Header {
    /// What stands between the layers; `own` is the user's.
    fn activation(&self, own: Option<Own>) -> Result<Op> {
        let known = Activation::from_name(&self.activation).map(Op::from);
        let needs = |what: &str| {
            let text = &self.activation_function;
            Error::invalid(
                format!("{what}: Load needs this text beside the path, which clang and Clad compile:\n{text}"),
                "",
            )
        };
        match (known, own) {
            (Some(known), None) => Ok(known),
            (Some(_), Some(_)) => Err(Error::invalid(format!("its activation is {}, not a text", self.activation), "")),
            (None, Some(own)) if self.activation == OWN && own.text() == self.activation_function => Ok(Op::Own(own)),
            (None, Some(_)) if self.activation == OWN => Err(needs("it was made with another activation")),
            (None, _) if self.activation == OWN => Err(needs("its activation is the user's own")),
            (None, _) => Err(Error::invalid(format!("unknown activation \"{}\"", self.activation), "")),
        }
    }
}

impl TrainingHeader {
    fn checked(self, tensors: &SafeTensors, inputs: usize) -> Result<Training> {
        let columns: Vec<_> = self.columns.into_iter().map(ColumnSpec::from).collect();
        if columns::checked_width(&columns)? != inputs {
            return Err(Error::invalid("its columns do not fit its first layer", ""));
        }
        let loss = match (Loss::from_name(&self.loss), self.loss.as_str()) {
            (None, name) if name != OWN => return Err(Error::invalid(format!("unknown loss \"{name}\""), "")),
            (loss, _) => loss,
        };
        let scaler = Scaler {
            mean: numbers(tensors, "scaler.mean", &[inputs])?,
            inverse: numbers(tensors, "scaler.inverse", &[inputs])?,
        };
        Ok(Training { loss, scaler, columns, options: self.options })
    }
}

/// The finite float32 numbers of tensor `name`, which must have `shape`.
fn numbers(tensors: &SafeTensors, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
    let bad = |what: String| Error::invalid(format!("tensor {name} {what}"), "");
    let view = tensors.tensor(name).map_err(|_| bad("is missing".into()))?;
    if view.dtype() != Dtype::F32 || view.shape() != shape {
        return Err(bad(format!("is {:?} {:?} instead of F32 {shape:?}", view.dtype(), view.shape())));
    }
    let (words, _) = view.data().as_chunks::<4>();
    let values: Vec<f32> = words.iter().map(|&word| f32::from_le_bytes(word)).collect();
    match values.iter().all(|value| value.is_finite()) {
        true => Ok(values),
        false => Err(bad("holds a number that is not finite".into())),
    }
}

/// The bytes of a regular file: a device or a pipe could go on for ever.
fn read_whole(path: &Path) -> Result<Vec<u8>> {
    let about = fs::metadata(path).map_err(|error| Error::io(path, error))?;
    if !about.is_file() {
        return Err(Error::ModelFile { path: path.to_path_buf(), what: "not a file".into() });
    }
    fs::read(path).map_err(|error| Error::io(path, error))
}
