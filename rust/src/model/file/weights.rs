//! Weights alone, for other programs and from them: a safetensors file whose tensors have the names of PyTorch's `state_dict`,
//! or that as `torch.save` writes it, which is only read.
//!
//! Tensors: those of the module's `state_dict`, frozen and unused ones and buffers too, under all of their names; of a network without
//! one the parameters and running statistics, float32 (`layers.0.weight` of an `Mlp`, `captured.K` where there is no name). Beside
//! running statistics stands the number of batches that PyTorch keeps, int64.
//! The metadata may hold, as one JSON text under [`KEY`], what else a prediction needs: scalers, columns and options. Files of
//! other programs have none; nothing in them is trusted, and there is no checksum.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::foreign_weights::WeightFile;
use super::{TrainingHeader, check_factors};
use crate::dataset::Scaler;
use crate::error::{Error, Result};
use crate::graph::Captured;
use crate::model::state_dict::BATCHES;
use crate::model::{Content, FlatOffset, Model, Network, StateTensor, Training, sealed};
use crate::tensor_file::{self, Dtype, Elements, Packed, Tensor};
use crate::text;

/// Under which the text stands in the file's metadata.
pub(super) const KEY: &str = "cladtorch.weights";
const VERSION: u32 = 1;
/// PyTorch's name of a running mean.
const RUNNING_MEAN: &str = "running_mean";
/// And of the variance beside it.
const RUNNING_VARIANCE: &str = "running_var";
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

impl Model {
    /// Writes all tensors of the network to `path`, whole or not at all, along with scalers, columns and options.
    pub fn save_weights(&self, path: &Path) -> Result<()> {
        self.check_finite("its weights are saved")?;
        let slots = slots(self)?;
        let counted = |count: u64| Packed { dtype: Dtype::I64, words: vec![count], bytes: size_of::<u64>() };
        let kept: Vec<Option<Packed>> = slots
            .iter()
            .map(|slot| match &slot.content {
                Content::Held(_) => None,
                Content::Kept { values, .. } if slot.counts_batches() => {
                    Some(counted(values.words[0].wrapping_add(self.batches())))
                }
                Content::Kept { values, .. } => Some(values.clone()),
            })
            .collect();
        let mut tensors = Vec::new();
        for (slot, kept) in slots.iter().zip(&kept) {
            let values = match (&slot.content, kept) {
                (Content::Held(place), _) => Elements::Floats(&self.held(*place)[range(slot, *place)?]),
                (Content::Kept { .. }, Some(values)) => Elements::Packed(values),
                (Content::Kept { .. }, None) => return Err(Error::Internal("a tensor that is not kept".into())),
            };
            tensors.push(Tensor::new(slot.name.clone(), &slot.shape, values));
        }
        let batches = counted(self.batches());
        let names: HashSet<&str> = slots.iter().map(|slot| slot.name.as_str()).collect();
        let counts =
            slots.iter().filter_map(|slot| Some(format!("{}{BATCHES}", slot.name.strip_suffix(RUNNING_MEAN)?)));
        let missing = counts.filter(|name| !names.contains(name.as_str()));
        tensors.extend(missing.map(|name| Tensor::new(name, &[], Elements::Packed(&batches))));
        // First what has the longest elements: readers that map the file expect all of them aligned.
        tensors.sort_by_key(|tensor| Reverse(tensor.values.dtype().bitsize()));
        let header = Header {
            version: VERSION,
            scaler: self.training().scaler.as_ref().map(Factors::from),
            target: self.training().target.as_ref().map(Factors::from),
            training: self.training_header(),
        };
        let text = serde_json::to_string(&header).map_err(|error| Error::Internal(error.to_string()))?;
        tensor_file::write(path, &tensor_file::header(&tensors, (KEY, text))?, &tensors)
    }

    /// The flat vector that a place lies in.
    fn held(&self, place: FlatOffset) -> &[f32] {
        match place {
            FlatOffset::Parameter(_) => self.parameters(),
            FlatOffset::State(_) => self.state(),
        }
    }

    /// Replaces all tensors of the network by those of the file at `path`, which must have the same; those that are part of its
    /// operators, as they do not train, must be equal, and buffers may be missing, as a `state_dict` leaves some out. Scalers, columns and options become the file's if [`save_weights`](Self::save_weights) wrote it, which is returned, and stay
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
        let (mut state_dict, mut filled) = (Vec::new(), HashMap::new());
        for mut slot in slots {
            let name = slot.name.clone();
            let Content::Held(place) = slot.content else {
                if file.tensor(&name).is_some() {
                    slot.keep(file.values(&name)?, self.batches())?;
                }
                state_dict.push(slot);
                continue;
            };
            let (range, values) = (range(&slot, place)?, file.floats(&name)?);
            check_variances(&name, &values)?;
            let to = match place {
                FlatOffset::Parameter(_) => &mut parameters[range],
                FlatOffset::State(_) => &mut state[range],
            };
            if let Some(other) = filled.insert(place, name.clone()).filter(|_| *to != values[..]) {
                let [name, other] = [&name, &other].map(|name| text::name(name));
                return Err(Error::invalid(
                    format!("tensors {other} and {name}, which are one in the network, have different elements"),
                    "",
                ));
            }
            to.copy_from_slice(&values);
            state_dict.push(slot);
        }
        self.set_parameters(&parameters)?;
        self.set_state(&state)?;
        if !self.state_dict().is_empty() {
            self.set_state_dict(state_dict)?;
        }
        let has_training = training.is_some();
        if let Some(training) = training {
            self.set_training(training)?;
        }
        Ok(has_training)
    }

    /// The training that a file describes, if it fits this network.
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

impl StateTensor {
    /// Replaces its elements by those of a file, unless the operators know them; `batches` are those that the model counts itself.
    fn keep(&mut self, found: Packed, batches: u64) -> Result<()> {
        let counts = self.counts_batches();
        let Content::Kept { values, is_used } = &mut self.content else { return Ok(()) };
        if *is_used && *values != found {
            let name = text::name(&self.name);
            return Err(Error::invalid(
                format!(
                    "tensor {name}, which does not train (requires_grad = False, or a buffer) and is part of the network's \
                     operators, has other elements: make the network with these weights; what is to be loaded and stay as \
                     it is has to train there, and Freeze keeps it in fits"
                ),
                "",
            ));
        }
        *values = found;
        if counts {
            values.words[0] = values.words[0].wrapping_sub(batches);
        }
        Ok(())
    }
}

/// Refuses running variances that none can be: predictions would be no numbers.
fn check_variances(name: &str, values: &[f32]) -> Result<()> {
    match values.iter().position(|value| name.ends_with(RUNNING_VARIANCE) && *value < 0.0) {
        None => Ok(()),
        Some(at) => {
            let what =
                format!("element {at} of tensor {} is {}, and no variance is negative", text::name(name), values[at]);
            Err(Error::invalid(what, ""))
        }
    }
}

/// Where a tensor that begins at `place` lies.
fn range(slot: &StateTensor, place: FlatOffset) -> Result<Range<usize>> {
    let (FlatOffset::Parameter(start) | FlatOffset::State(start)) = place;
    let length = slot.elements().ok_or_else(|| Error::Internal("a tensor without a size".into()))?;
    Ok(start..start + length)
}

/// The tensors of a model's network, each with a name of its own.
fn slots(model: &Model) -> Result<Vec<StateTensor>> {
    let held =
        |name: String, shape, place| StateTensor { name, shape, is_buffer: false, content: Content::Held(place) };
    let mut slots = model.state_dict().to_vec();
    match (model.network(), model.module()) {
        (Network::Mlp(mlp), _) => {
            for (layer, (weight, bias, inputs, outputs)) in mlp.graph().layers().enumerate() {
                for (part, shape, range) in [("weight", vec![outputs, inputs], weight), ("bias", vec![outputs], bias)] {
                    slots.push(held(format!("layers.{layer}.{part}"), shape, FlatOffset::Parameter(range.start)));
                }
            }
        }
        (Network::Module(network), None) => {
            let known: HashSet<FlatOffset> = slots.iter().filter_map(StateTensor::place).collect();
            if model.names().tensors().iter().any(|(place, _)| !known.contains(place)) {
                let why = model.why_libtorch().unwrap_or_default();
                return Err(Error::invalid(
                    format!("LibTorch runs {} itself ({why}), and its tensors are not known by name", network.name()),
                    "torch::save and torch::load of the module write and read its parameters, which are the model's",
                ));
            }
        }
        (Network::Module(_), Some(module)) => {
            let known: HashSet<FlatOffset> = slots.iter().filter_map(StateTensor::place).collect();
            let mut taken: HashSet<String> = slots.iter().map(|slot| slot.name.clone()).collect();
            for (index, captured) in module.captured().iter().enumerate() {
                let place = match captured {
                    Captured::Parameter(range) => FlatOffset::Parameter(range.start),
                    Captured::State(range) => FlatOffset::State(range.start),
                    Captured::Fixed(_) => continue,
                };
                if known.contains(&place) {
                    continue;
                }
                let path = model.names().path(place);
                let is_free = !path.is_empty() && taken.insert(path.to_owned());
                let name = if is_free { path.to_owned() } else { format!("captured.{index}") };
                let shape = module.value(index)?.shape.iter().map(|&size| size as usize).collect();
                slots.push(held(name, shape, place));
            }
        }
    }
    Ok(slots)
}

/// Refuses a file of other tensors, before any of them is read.
fn check_tensors(file: &WeightFile, slots: &[StateTensor]) -> Result<()> {
    for slot in slots {
        let name = text::name(&slot.name);
        let Some((dtype, found)) = file.tensor(&slot.name) else {
            if slot.may_be_missing() {
                continue;
            }
            let names = file.names();
            let more = if names.len() > SHOWN { ", …" } else { "" };
            let has = match &names[..] {
                [] => "no tensor".to_owned(),
                names => text::list(names.iter().take(SHOWN).map(|name| text::name(name)), ", "),
            };
            return Err(Error::invalid(format!("tensor {name} is missing: it has {has}{more}"), ""));
        };
        if dtype != slot.dtype() {
            let to = if slot.dtype() == Dtype::F32 { ": convert it, in PyTorch with tensor.float()" } else { "" };
            return Err(Error::invalid(format!("tensor {name} is {dtype:?} instead of {:?}{to}", slot.dtype()), ""));
        }
        if found != &slot.shape[..] {
            let list = |sizes: &[usize]| text::list(sizes.iter().map(usize::to_string), ", ");
            let what = format!("tensor {name} is [{}] instead of [{}]", list(found), list(&slot.shape));
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
