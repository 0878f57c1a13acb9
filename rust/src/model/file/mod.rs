//! The model file: a safetensors file whose metadata holds one JSON text under "cladtorch". Other programs read its tensors with
//! any safetensors library.
//!
//! The JSON text begins with its version, which says what network the file holds: 1 a perceptron ([`perceptron`]), 2 the
//! operators of a module or function of LibTorch ([`operators`]). Both have the same description of the training
//! ([`TrainingHeader`]).
//!
//! [`weights`] are files of parameters alone, which other programs read and write.
//!
//! [`sealed`](super::sealed) describes the checksum in the JSON text.

mod ensemble;
mod foreign_weights;
mod operators;
mod perceptron;
mod weights;

use std::path::Path;

use serde::{Deserialize, Serialize};

use sha2::{Digest, Sha256};

pub use ensemble::{load_all, save_all};

use super::regularised::REGULARISED;
use super::sealed::{KEY, digits};
use super::{Model, Network, Training};
use crate::columns::{self, Column};
use crate::dataset::{Scaler, Targets};
use crate::error::{Error, Result};
use crate::graph::{CustomActivation, SavedModule};
use crate::options::record;
use crate::tensor_file::{Elements, Tensor, TensorFile};
use crate::text;

#[derive(Serialize, Deserialize)]
struct TrainingHeader {
    /// Whether there is a scaler of the features, and one of the targets.
    scaler: bool,
    target: bool,
    columns: Vec<ColumnHeader>,
    /// Names of the label columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    targets: Vec<String>,
    /// Empty: there was no fit.
    options: Vec<(String, String)>,
}

/// A [`Column`] in the file.
#[derive(Serialize, Deserialize)]
struct ColumnHeader {
    name: String,
    length: usize,
    pad: f32,
    #[serde(default)]
    inner: usize,
    #[serde(default)]
    mask_of: String,
    #[serde(default)]
    scalar: bool,
}

impl From<Column> for ColumnHeader {
    fn from(Column { name, length, pad, inner, mask_of, scalar }: Column) -> Self {
        ColumnHeader { name, length, pad, inner, mask_of, scalar }
    }
}

impl From<ColumnHeader> for Column {
    fn from(ColumnHeader { name, length, pad, inner, mask_of, scalar }: ColumnHeader) -> Self {
        Column { name, length, pad, inner, mask_of, scalar }
    }
}

impl Model {
    /// Writes the model to `path`: whole or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        match &self.network {
            Network::Mlp(mlp) => perceptron::save(self, mlp, path),
            Network::Module(module) => operators::save(self, module, path),
        }
    }

    /// Reads a model. Every size, number and name in the file is checked before it is used. A model with an activation
    /// of the user's own takes it from `own`, not from the file, whose code is not trusted; the texts must be the same.
    pub fn load(path: &Path, own: Option<CustomActivation>) -> Result<Self> {
        let file = TensorFile::open(path).map_err(|error| match error {
            Error::ModelFile { .. } if path.extension().is_some_and(|end| end == "onnx") => Error::ModelFile {
                path: path.to_path_buf(),
                what: "an ONNX file: CladTorch::Model::LoadOnnx reads it".into(),
            },
            other => other,
        })?;
        Self::of_file(file, path, own)
    }

    /// The same of the file at `path`, or of a part of it.
    fn of_file(file: TensorFile, path: &Path, own: Option<CustomActivation>) -> Result<Self> {
        let bad = |what: String| Error::ModelFile { path: path.to_path_buf(), what };
        if file.metadata(ensemble::KEY).is_some() {
            return Err(bad("an ensemble of models: CladTorch::Ensemble::Load reads it".into()));
        }
        if file.metadata(weights::KEY).is_some() {
            return Err(bad(
                "weights without their network: give them to LoadWeights of a model of that network".into()
            ));
        }
        let header = file.metadata(KEY);
        let header = header.ok_or_else(|| bad("a safetensors file, but not written by CladTorch".into()))?.to_owned();
        let damaged = |error: serde_json::Error| {
            bad(format!("damaged: its description cannot be read ({})", text::name(&error.to_string())))
        };
        let Version { version } = match serde_json::from_str(&header) {
            Err(_) if header.starts_with("{\"checkpoint\":") => {
                return Err(bad(
                    "a checkpoint of a fit, not a model: give it to Resume of a model of that network".into()
                ));
            }
            version => version.map_err(damaged)?,
        };
        let loaded = match version {
            perceptron::VERSION => perceptron::load(serde_json::from_str(&header).map_err(damaged)?, file, own),
            operators::VERSION if own.is_some() => Err(Error::invalid(
                "its network has no activation of the user's own: Load needs no text beside the path",
                "",
            )),
            operators::VERSION => operators::load(serde_json::from_str(&header).map_err(damaged)?, file),
            other => {
                let known = [perceptron::VERSION, operators::VERSION];
                Err(Error::invalid(
                    format!("version {other}, this CladTorch reads versions {} and {}", known[0], known[1]),
                    "",
                ))
            }
        };
        loaded.map_err(|error| match error {
            Error::Invalid { what, .. } | Error::Internal(what) => bad(what),
            other => other,
        })
    }

    /// The same of a perceptron only.
    pub fn load_mlp(path: &Path, own: Option<CustomActivation>) -> Result<Self> {
        let model = Self::load(path, own)?;
        match &model.network {
            Network::Mlp(_) => Ok(model),
            Network::Module(module) if module.name() == REGULARISED => Ok(model),
            Network::Module(module) => Err(Error::ModelFile {
                path: path.to_path_buf(),
                what: format!("it holds a {}, not an Mlp: CladTorch::Model::Load reads it", module.name()),
            }),
        }
    }

    /// A number, as text, that is another for another network: its operators and activations, not its parameters.
    pub(crate) fn network_digest(&self) -> Result<String> {
        let text = match (&self.network, self.module()) {
            (Network::Mlp(mlp), _) => mlp.architecture(),
            (Network::Module(_), Some(module)) => {
                serde_json::to_string(&SavedModule::of(module)?).map_err(|error| Error::Internal(error.to_string()))?
            }
            (Network::Module(module), None) => module.describe(Err(self.why_libtorch().unwrap_or_default())),
        };
        Ok(digits(Sha256::new_with_prefix(text)))
    }

    fn training_header(&self) -> Option<TrainingHeader> {
        (*self.training() != Training::default()).then(|| TrainingHeader {
            scaler: self.training().scaler.is_some(),
            target: self.training().target.is_some(),
            columns: self.columns().iter().cloned().map(ColumnHeader::from).collect(),
            targets: self.targets().names().to_vec(),
            options: self.training().options.as_ref().map(record::write).unwrap_or_default(),
        })
    }

    /// The tensors of the scalers, with what stands before their names.
    fn scaler_tensors(&self, prefix: &str) -> Vec<Tensor<Elements<'_>>> {
        let mut tensors = Vec::new();
        for (name, scaler) in [("scaler", &self.training().scaler), ("target", &self.training().target)] {
            let Some(Scaler { mean, inverse }) = scaler else { continue };
            for (part, values) in [("mean", mean), ("inverse", inverse)] {
                tensors.push(Tensor::new(format!("{prefix}{name}.{part}"), &[values.len()], values[..].into()));
            }
        }
        tensors
    }
}

/// The fields that every version of a header has.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

impl TrainingHeader {
    /// With the scalers of features and targets that were read.
    fn checked(self, [scaler, target]: [Option<Scaler>; 2]) -> Result<Training> {
        let columns: Vec<_> = self.columns.into_iter().map(Column::from).collect();
        let of_feature = |at| match columns.is_empty() {
            true => format!("feature {at}"),
            false => columns::element_name(&columns, at),
        };
        check_factors(&scaler, of_feature)?;
        check_factors(&target, |at| format!("target {at}"))?;
        let trained = !self.options.is_empty();
        let options = trained.then(|| record::read(&self.options)).transpose()?;
        Ok(Training { scaler, target, columns, targets: Targets::new(&self.targets)?, options })
    }
}

/// Refuses factors of 0 or less; `name` says what column `at` is called.
fn check_factors(scaler: &Option<Scaler>, name: impl Fn(usize) -> String) -> Result<()> {
    let inverse = scaler.as_ref().map_or(&[][..], |scaler| &scaler.inverse);
    match inverse.iter().position(|&inverse| inverse <= 0.0) {
        None => Ok(()),
        Some(at) => Err(Error::invalid(format!("its scaler multiplies {} by {}", name(at), inverse[at]), "")),
    }
}
