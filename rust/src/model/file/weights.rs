//! Weights alone, for other programs and from them: a safetensors file whose tensors have the names of PyTorch's `state_dict`,
//! or that as `torch.save` writes it, which is only read.
//!
//! Tensors: the network's parameters and running statistics, float32, under the module's own names (`layers.0.weight` of an
//! `Mlp`, `captured.K` where there is none). Beside running statistics stands the number of batches that PyTorch keeps, int64.
//! The metadata may hold, as one JSON text under [`KEY`], what else a prediction needs: scalers, columns and options. Files of
//! other programs have none; nothing in them is trusted, and there is no checksum.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::weight_file::WeightFile;
use super::{TrainingHeader, check_factors};
use crate::dataset::Scaler;
use crate::error::{Error, Result};
use crate::graph::Captured;
use crate::model::{Model, Network, Place, Training, sealed};
use crate::tensor_file::{self, Dtype, Elements, Packed, Tensor};
use crate::text;

/// Under which the text stands in the file's metadata.
pub(super) const KEY: &str = "cladtorch.weights";
const VERSION: u32 = 1;
/// PyTorch's names of a running mean, and of the batches that it is a mean of.
const RUNNING_MEAN: &str = "running_mean";
const BATCHES: &str = "num_batches_tracked";
/// Names that a message shows of a file.
const SHOWN: usize = 6;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    version: u32,
    scaler: Option<Factors>,
    target: Option<Factors>,
    training: Option<TrainingHeader>,
}

/// A [`Scaler`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Factors {
    mean: Vec<f32>,
    inverse: Vec<f32>,
}

impl From<&Scaler> for Factors {
    fn from(Scaler { mean, inverse }: &Scaler) -> Self {
        Factors { mean: mean.clone(), inverse: inverse.clone() }
    }
}

/// A tensor of a network.
struct Slot {
    name: String,
    shape: Vec<usize>,
    place: Place,
    range: Range<usize>,
}

impl Model {
    /// Writes parameters and running statistics to `path`, whole or not at all, with scalers, columns and options beside them.
    pub fn save_weights(&self, path: &Path) -> Result<()> {
        self.check_finite("its weights are saved")?;
        let slots = slots(self)?;
        let batches = Packed { dtype: Dtype::I64, words: vec![self.batches()], bytes: size_of::<u64>() };
        // First what has the longest elements: readers that map the file expect all of them aligned.
        let counts = slots.iter().filter_map(|slot| slot.name.strip_suffix(RUNNING_MEAN));
        let count = |norm: &str| Tensor::new(format!("{norm}{BATCHES}"), &[], Elements::Packed(&batches));
        let mut tensors: Vec<_> = counts.map(count).collect();
        for Slot { name, shape, place, range } in slots {
            let values = match place {
                Place::Parameter(_) => &self.parameters()[range],
                Place::State(_) => &self.state()[range],
            };
            tensors.push(Tensor::new(name, &shape, Elements::Floats(values)));
        }
        let header = Header {
            version: VERSION,
            scaler: self.training().scaler.as_ref().map(Factors::from),
            target: self.training().target.as_ref().map(Factors::from),
            training: self.training_header(),
        };
        let text = serde_json::to_string(&header).map_err(|error| Error::Internal(error.to_string()))?;
        tensor_file::write(path, &tensor_file::header(&tensors, (KEY, text))?, &tensors)
    }

    /// Replaces parameters and running statistics by those of the file at `path`, whose tensors must be the network's. Scalers,
    /// columns and options become the file's if [`save_weights`](Self::save_weights) wrote it, which is returned, and stay
    /// otherwise. On an error the model stays as it was.
    pub fn load_weights(&mut self, path: &Path) -> Result<bool> {
        self.weights_from(path).map_err(|error| match error {
            Error::Invalid { what, .. } | Error::Internal(what) => Error::ModelFile { path: path.to_path_buf(), what },
            other => other,
        })
    }

    fn weights_from(&mut self, path: &Path) -> Result<bool> {
        let slots = slots(self)?;
        let mut file = WeightFile::open(path, slots.first().map_or("", |slot| &slot.name))?;
        if file.metadata(sealed::KEY).is_some() {
            return Err(Error::invalid(
                "a model or a checkpoint, not weights: CladTorch::Model::Load reads a model",
                "",
            ));
        }
        let training = file.metadata(KEY).map(|text| self.training_from(text)).transpose()?;
        check_tensors(&file, &slots)?;
        let (mut parameters, mut state) = (self.parameters().to_vec(), self.state().to_vec());
        for Slot { name, place, range, .. } in slots {
            let to = match place {
                Place::Parameter(_) => &mut parameters[range],
                Place::State(_) => &mut state[range],
            };
            file.fill(&name, to)?;
        }
        self.set_parameters(&parameters)?;
        self.set_state(&state)?;
        let has_training = training.is_some();
        if let Some(training) = training {
            self.set_training(training)?;
        }
        Ok(has_training)
    }

    /// What a file says about the training, where that fits this network.
    fn training_from(&self, text: &str) -> Result<Training> {
        let damaged = |error: serde_json::Error| {
            let why = text::name(&error.to_string());
            Error::invalid(format!("damaged: the description beside its weights cannot be read ({why})"), "")
        };
        let Header { version, scaler, target, training } = serde_json::from_str(text).map_err(damaged)?;
        if version != VERSION {
            return Err(Error::invalid(format!("version {version}, this CladTorch reads version {VERSION}"), ""));
        }
        let scalers = [scaler, target].map(|factors| factors.map(Factors::checked).transpose());
        let [scaler, target] = scalers;
        let scalers = [scaler?, target?];
        let training = match training {
            Some(training) => training.checked(scalers)?,
            None => {
                scalers.iter().try_for_each(|scaler| check_factors(scaler, |at| format!("number {at}")))?;
                let [scaler, target] = scalers;
                Training { scaler, target, ..Training::default() }
            }
        };
        training.check(self.inputs(), self.outputs())?;
        Ok(training)
    }
}

impl Factors {
    fn checked(self) -> Result<Scaler> {
        let Factors { mean, inverse } = self;
        if mean.len() != inverse.len() {
            return Err(Error::invalid(format!("a scaler of {} means and {} factors", mean.len(), inverse.len()), ""));
        }
        match mean.iter().chain(&inverse).all(|number| number.is_finite()) {
            true => Ok(Scaler { mean, inverse }),
            false => Err(Error::invalid("a scaler with a number that is not finite", "")),
        }
    }
}

/// The tensors of a model's network, each with a name of its own.
fn slots(model: &Model) -> Result<Vec<Slot>> {
    let mut slots = Vec::new();
    match (model.network(), model.module()) {
        (Network::Mlp(mlp), _) => {
            for (layer, (weight, bias, inputs, outputs)) in mlp.graph().layers().enumerate() {
                for (part, shape, range) in [("weight", vec![outputs, inputs], weight), ("bias", vec![outputs], bias)] {
                    let (name, place) = (format!("layers.{layer}.{part}"), Place::Parameter(range.start));
                    slots.push(Slot { name, shape, place, range });
                }
            }
        }
        (Network::Module(network), None) => {
            let why = network.why_libtorch().unwrap_or_default();
            return Err(Error::invalid(
                format!("LibTorch runs {} itself ({why}), and its tensors are not known by name", network.name()),
                "torch::save and torch::load of the module write and read its parameters, which are the model's",
            ));
        }
        (Network::Module(_), Some(module)) => {
            let mut taken = HashSet::new();
            for (index, captured) in module.captured().iter().enumerate() {
                let (place, range) = match captured {
                    Captured::Parameter(range) => (Place::Parameter(range.start), range.clone()),
                    Captured::State(range) => (Place::State(range.start), range.clone()),
                    Captured::Fixed(_) => continue,
                };
                let path = model.names().path(place);
                let is_free = !path.is_empty() && taken.insert(path.to_owned());
                let name = if is_free { path.to_owned() } else { format!("captured.{index}") };
                let shape = module.value(index)?.shape.iter().map(|&size| size as usize).collect();
                slots.push(Slot { name, shape, place, range });
            }
        }
    }
    Ok(slots)
}

/// Refuses a file of other tensors, before any of them is read.
fn check_tensors(file: &WeightFile, slots: &[Slot]) -> Result<()> {
    for Slot { name, shape, .. } in slots {
        let Some((dtype, found)) = file.tensor(name) else {
            let names = file.names();
            let more = if names.len() > SHOWN { ", …" } else { "" };
            let names = text::list(names.iter().take(SHOWN).map(|name| text::name(name)), ", ");
            return Err(Error::invalid(format!("tensor {} is missing: it has {names}{more}", text::name(name)), ""));
        };
        if dtype != Dtype::F32 {
            let what = format!("tensor {} is {dtype:?} instead of F32", text::name(name));
            return Err(Error::invalid(format!("{what}: convert it, in PyTorch with tensor.float()"), ""));
        }
        if found != &shape[..] {
            let list = |sizes: &[usize]| text::list(sizes.iter().map(usize::to_string), ", ");
            let what = format!("tensor {} is [{}] instead of [{}]", text::name(name), list(found), list(shape));
            return Err(Error::invalid(what, ""));
        }
    }
    let known: HashSet<&str> = slots.iter().map(|slot| slot.name.as_str()).collect();
    for name in file.names().iter().filter(|name| !known.contains(name.as_str())) {
        let counts = name.ends_with(BATCHES) && file.tensor(name) == Some((Dtype::I64, &[][..]));
        if !counts {
            return Err(Error::invalid(format!("tensor {} is unknown to the network", text::name(name)), ""));
        }
    }
    Ok(())
}
