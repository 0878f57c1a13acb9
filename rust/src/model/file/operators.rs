//! Version 2 of the model file: the operators of a module or function of LibTorch, which run without it.
//!
//! Tensors: those that the network captured under the module's own names ("0.weight", as PyTorch names them), or
//! `cladtorch.captured.K` where they have none: parameters and running statistics in float32, other tensors in their
//! own type; `cladtorch.kept.K`, those of the module's `state_dict` that no fit changes; `cladtorch.scaler.mean` and so
//! on as in version 1. A tensor with gaps in its memory is one list of all elements there.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::super::{Content, FlatOffset, Model, ModuleNetwork, Names, StateTensor};
use super::TrainingHeader;
use crate::dataset::Scaler;
use crate::error::{Error, Result};
use crate::graph::{Captured, DType, Mode, Module, SavedModule, SavedTensor, check_name};
use crate::model::sealed::{self, Checksum, NO_CHECKSUM};
use crate::tensor_file::{Dtype, Elements, Packed, Tensor, TensorFile};
use crate::text;

pub(super) const VERSION: u32 = 2;

/// Before the names of tensors that are not the network's.
const PREFIX: &str = "cladtorch.";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    version: u32,
    sha256: String,
    /// Of the file's tensors, in the order in which the operators number them.
    captured: Vec<CapturedHeader>,
    /// Of the module, where it has tensors that are not captured ones, or several names of one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    state_dict: Vec<StateHeader>,
    network: SavedModule,
    /// See [`Names::last_function`].
    last_activation: String,
    /// That fits trained on.
    batches: u64,
    training: Option<TrainingHeader>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CapturedHeader {
    /// In the file.
    tensor: String,
    /// For people; empty: it has no name.
    name: String,
    /// Whether it trains.
    parameter: bool,
}

/// A [`StateTensor`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StateHeader {
    name: String,
    shape: Vec<usize>,
    buffer: bool,
    /// The number of the captured tensor that it is.
    captured: Option<usize>,
    /// Of one that is not: whether the network computes with it.
    used: bool,
}

pub(super) fn save(model: &Model, network: &ModuleNetwork, path: &Path) -> Result<()> {
    let Some(module) = model.module() else {
        let why = model.why_libtorch().unwrap_or_default();
        return Err(Error::invalid(
            format!(
                "LibTorch runs {} itself ({why}), and a model file holds operators with kernels only",
                network.name()
            ),
            "SaveWeights writes its tensors for LoadWeights of a model that is made of the same module or file; an ONNX file of the \
             network (torch.onnx.export) needs no LibTorch, and LoadOnnx may have kernels for it",
        ));
    };
    check_name("the network", module.name())?;
    model.check_finite("it is saved")?;
    let captured = named(model, module)?;
    let packed = module.captured().iter().enumerate().map(|(index, captured)| packed(module, index, captured));
    let packed = packed.collect::<Result<Vec<_>>>()?;
    check_readable(module, &packed)?;
    let mut tensors = Vec::new();
    for (index, (header, packed)) in captured.iter().zip(&packed).enumerate() {
        let values = match &module.captured()[index] {
            Captured::Parameter(range) => Elements::Floats(&model.parameters()[range.clone()]),
            Captured::State(range) => Elements::Floats(&model.state()[range.clone()]),
            Captured::Fixed(_) => Elements::Packed(packed),
        };
        tensors.push(Tensor::new(&*header.tensor, &shape(module, index)?, values));
    }
    let state_dict = state_headers(model, module)?;
    for (index, slot) in model.state_dict().iter().enumerate().filter(|_| !state_dict.is_empty()) {
        if let Content::Kept { values, .. } = &slot.content {
            tensors.push(Tensor::new(kept_name(index), &slot.shape, Elements::Packed(values)));
        }
    }
    tensors.extend(model.scaler_tensors(PREFIX));
    let header = Header {
        version: VERSION,
        sha256: NO_CHECKSUM.to_owned(),
        captured,
        state_dict,
        network: SavedModule::of(module)?,
        last_activation: model.names().last_function().to_owned(),
        batches: model.batches(),
        training: model.training_header(),
    };
    sealed::write(path, &header, &tensors)
}

/// Nothing is written that could not be read again.
fn check_readable(module: &Module, packed: &[Packed]) -> Result<()> {
    let captured = module.captured().iter().enumerate().map(|(index, captured)| {
        let (dtype, elements) = module.captured_memory(index)?;
        Ok(SavedTensor { is_parameter: matches!(captured, Captured::Parameter(_)), dtype, elements })
    });
    let captured = captured.collect::<Result<Vec<_>>>()?;
    let restored = SavedModule::of(module)?.restore(&captured, |index| packed[index].words.clone());
    restored.map(|_| ()).map_err(|error| match error {
        Error::Invalid { what, .. } => Error::invalid(
            format!("a model file cannot hold {}: {what}", module.name()),
            "torch::save of the module writes its parameters, which are the model's",
        ),
        other => other,
    })
}

/// The captured tensors with their names; each is in the file once.
fn named(model: &Model, module: &Module) -> Result<Vec<CapturedHeader>> {
    let mut taken = HashSet::new();
    let mut header = |(index, captured): (usize, &Captured)| {
        let name = match captured {
            Captured::Parameter(range) => model.names().path(FlatOffset::Parameter(range.start)),
            Captured::State(range) => model.names().path(FlatOffset::State(range.start)),
            Captured::Fixed(_) => "",
        };
        check_name("a tensor of the network", name)?;
        let is_free = !name.is_empty() && !name.starts_with(PREFIX) && taken.insert(name.to_owned());
        let tensor = if is_free { name.to_owned() } else { format!("{PREFIX}captured.{index}") };
        Ok(CapturedHeader { tensor, name: name.to_owned(), parameter: matches!(captured, Captured::Parameter(_)) })
    };
    module.captured().iter().enumerate().map(&mut header).collect()
}

fn kept_name(index: usize) -> String {
    format!("{PREFIX}kept.{index}")
}

/// Where a captured tensor lies that a fit changes.
fn place(captured: &Captured) -> Option<(FlatOffset, usize)> {
    match captured {
        Captured::Parameter(range) => Some((FlatOffset::Parameter(range.start), range.len())),
        Captured::State(range) => Some((FlatOffset::State(range.start), range.len())),
        Captured::Fixed(_) => None,
    }
}

/// What the names of the captured tensors do not say; empty if they say everything.
fn state_headers(model: &Model, module: &Module) -> Result<Vec<StateHeader>> {
    let mut places = HashSet::new();
    let is_told = |slot: &StateTensor| slot.place().is_some_and(|place| places.insert(place));
    if model.state_dict().iter().all(is_told) {
        return Ok(Vec::new());
    }
    let header = |slot: &StateTensor| {
        check_name("a tensor of the network", &slot.name)?;
        let is = |place_of: &Captured| place(place_of).is_some_and(|(place, _)| slot.place() == Some(place));
        Ok(StateHeader {
            name: slot.name.clone(),
            shape: slot.shape.clone(),
            buffer: slot.is_buffer,
            captured: module.captured().iter().position(is),
            used: matches!(slot.content, Content::Kept { is_used: true, .. }),
        })
    };
    model.state_dict().iter().map(header).collect()
}

/// The same of a file, its sizes checked.
fn state_dict(headers: Vec<StateHeader>, module: &Module, tensors: &mut Tensors) -> Result<Vec<StateTensor>> {
    let mut names = HashSet::new();
    let mut read = |(index, header): (usize, StateHeader)| {
        let StateHeader { name, shape, buffer: is_buffer, captured, used: is_used } = header;
        check_name("a tensor of its network", &name)?;
        let wrong = || Error::invalid(format!("tensor {} is described wrongly", text::name(&name)), "");
        if name.is_empty() || !names.insert(name.clone()) {
            return Err(wrong());
        }
        let (content, length) = match captured {
            Some(captured) => {
                let (place, length) = module.captured().get(captured).and_then(place).ok_or_else(wrong)?;
                (Content::Held(place), Some(length))
            }
            None => {
                let Tensor { values, shape: found, .. } = tensors.take(&kept_name(index))?;
                let length = if found == shape { Some(values.bytes * 8 / values.dtype.bitsize()) } else { None };
                (Content::Kept { values, is_used }, length)
            }
        };
        let slot = StateTensor { name: name.clone(), shape, is_buffer, content };
        match slot.elements().is_some() && slot.elements() == length {
            true => Ok(slot),
            false => Err(wrong()),
        }
    };
    headers.into_iter().enumerate().map(&mut read).collect()
}

fn stored(dtype: DType) -> Dtype {
    match dtype {
        DType::Float32 => Dtype::F32,
        DType::Float64 => Dtype::F64,
        DType::Int64 => Dtype::I64,
        DType::Bool => Dtype::BOOL,
    }
}

/// A captured tensor that stays as it is; of another one nothing.
fn packed(module: &Module, index: usize, captured: &Captured) -> Result<Packed> {
    let (dtype, elements) = module.captured_memory(index)?;
    let bytes = elements * dtype.bytes();
    Ok(match captured {
        Captured::Fixed(words) => {
            let mut words = words[..bytes.div_ceil(size_of::<u64>())].to_vec();
            if let (Some(last), spare @ 1..) = (words.last_mut(), bytes % size_of::<u64>()) {
                *last &= (1 << (8 * spare)) - 1;
            }
            Packed { dtype: stored(dtype), words, bytes }
        }
        Captured::Parameter(_) | Captured::State(_) => Packed { dtype: stored(dtype), words: Vec::new(), bytes: 0 },
    })
}

/// That of the tensor, or one list where it has gaps.
fn shape(module: &Module, index: usize) -> Result<Vec<usize>> {
    let (_, elements) = module.captured_memory(index)?;
    let sizes: Vec<usize> = module.value(index)?.shape.iter().map(|&size| size as usize).collect();
    Ok(if sizes.iter().product::<usize>() == elements { sizes } else { vec![elements] })
}

/// The tensors of a file, each of which must be requested once.
struct Tensors(HashMap<String, Tensor<Packed>>);

impl Tensors {
    fn take(&mut self, name: &str) -> Result<Tensor<Packed>> {
        self.0.remove(name).ok_or_else(|| Error::invalid(format!("tensor {} is missing", text::name(name)), ""))
    }

    fn scaler(&mut self, name: &str, length: usize) -> Result<Scaler> {
        let mut part = |part: &str| {
            let name = format!("{PREFIX}{name}.{part}");
            let tensor = self.take(&name)?;
            if tensor.shape != [length] {
                let found = text::list(tensor.shape.iter().map(usize::to_string), ", ");
                return Err(Error::invalid(format!("tensor {name} is [{found}] instead of [{length}]"), ""));
            }
            floats(&tensor)
        };
        Ok(Scaler { mean: part("mean")?, inverse: part("inverse")? })
    }
}

/// The elements of a tensor of finite float32.
fn floats(tensor: &Tensor<Packed>) -> Result<Vec<f32>> {
    if tensor.values.dtype != Dtype::F32 {
        return Err(Error::invalid(
            format!("tensor {} is {:?} instead of F32", text::name(&tensor.name), tensor.values.dtype),
            "",
        ));
    }
    let values: Vec<f32> = tensor.values.floats().collect();
    match values.iter().all(|value| value.is_finite()) {
        true => Ok(values),
        false => {
            Err(Error::invalid(format!("tensor {} holds a number that is not finite", text::name(&tensor.name)), ""))
        }
    }
}

pub(super) fn load(header: Header, mut file: TensorFile) -> Result<Model> {
    let checksum = Checksum::new(&header.sha256, file.header())?;
    let mut tensors = Tensors(checksum.read_all(&mut file)?);
    if !Names::is_function(&header.last_activation) {
        return Err(Error::invalid(format!("unknown activation \"{}\"", text::name(&header.last_activation)), ""));
    }
    let (mut captured, mut values) = (Vec::new(), Vec::new());
    for CapturedHeader { tensor, name, parameter } in &header.captured {
        check_name("a tensor of its network", name)?;
        let tensor = tensors.take(tensor)?;
        let dtype = [DType::Float32, DType::Float64, DType::Int64, DType::Bool];
        let dtype = dtype.into_iter().find(|dtype| stored(*dtype) == tensor.values.dtype).ok_or_else(|| {
            Error::invalid(format!("tensor {} is {:?}", text::name(&tensor.name), tensor.values.dtype), "")
        })?;
        let elements = tensor.values.bytes / dtype.bytes();
        captured.push(SavedTensor { is_parameter: *parameter, dtype, elements });
        values.push(tensor);
    }
    let module = header.network.restore(&captured, |index| values[index].values.words.clone())?;
    if module.dtype() != DType::Float32 {
        return Err(Error::invalid(format!("its network computes in {}", module.dtype().name()), ""));
    }
    module.check_events_are_apart()?;
    let (mut parameters, mut state, mut names) =
        (vec![0.0; module.parameters()], vec![0.0; module.state()], Vec::new());
    for ((captured, tensor), header) in module.captured().iter().zip(&values).zip(&header.captured) {
        match captured {
            Captured::Parameter(range) => {
                parameters[range.clone()].copy_from_slice(&floats(tensor)?);
                names.push((FlatOffset::Parameter(range.start), header.name.clone()));
            }
            Captured::State(range) => {
                state[range.clone()].copy_from_slice(&floats(tensor)?);
                names.push((FlatOffset::State(range.start), header.name.clone()));
            }
            Captured::Fixed(_) => (),
        }
    }
    let has = |part: fn(&TrainingHeader) -> bool| header.training.as_ref().is_some_and(part);
    let scalers = [
        has(|training| training.scaler).then(|| tensors.scaler("scaler", module.inputs())).transpose()?,
        has(|training| training.target).then(|| tensors.scaler("target", module.outputs())).transpose()?,
    ];
    let state_dict = state_dict(header.state_dict, &module, &mut tensors)?;
    if let Some(name) = tensors.0.keys().next() {
        return Err(Error::invalid(format!("tensor {} is unknown", text::name(name)), ""));
    }
    // A program for one event, or for two, as predictions want it.
    module.program(Mode::Evaluation, if module.takes_one(Mode::Evaluation) { 1 } else { 2 })?;
    let names = Names::new(&header.last_activation, names);
    let mut model = Model::of_operators(module, names, &parameters, &state)?;
    model.set_state_dict(state_dict)?;
    model.add_batches(header.batches);
    if let Some(training) = header.training {
        model.set_training(training.checked(scalers)?)?;
    }
    Ok(model)
}
