//! Modules and functions of LibTorch that become models.

use std::sync::atomic::AtomicBool;

use cxx::SharedPtr;

use super::libtorch::{Called, LibTorchCalls};
use crate::device::{ReadPointer, ReadTensors};
use crate::error::{Error, Result, guard};
use crate::gradient::autograd::LibTorchModule;
use crate::graph::{self, AnyBatch, Captured, DType, Module, Observed};
use crate::model::{FlatOffset, Model, Names, Network};
use ffi::{ModeSpec, ModuleSpec, NetworkSpec, PlaceSpec, TensorsSpec};

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    /// How a module was observed in one mode.
    struct ModeSpec {
        /// With a single row; empty where the function does not take one.
        one: Vec<ObservedGraph>,
        /// Why it does not.
        why_not_one: String,
        /// For each constant of the observation the number of the captured tensor.
        constants: Vec<usize>,
    }

    /// A module or function that becomes a model.
    struct NetworkSpec {
        /// For people.
        name: String,
        /// Shape of one event.
        shape: Vec<usize>,
        /// Elements that it gives for an event.
        outputs: usize,
        /// Whether it trains on a single event.
        trains_one: bool,
        /// Whether it evaluates a single event.
        evaluates_one: bool,
        /// The function whose values its outputs are, if it has not every value; empty: there is none.
        last_function: String,
        /// For each number of an event whether it is taken as a whole number.
        whole: Vec<bool>,
    }

    /// The tensors of a network that LibTorch runs, dense.
    struct TensorsSpec {
        /// "0.weight"; "" where one has no name.
        paths: Vec<String>,
        /// Where each of them lies in what follows.
        places: Vec<PlaceSpec>,
        /// The flat vector of parameters.
        parameters: Vec<f32>,
        /// That of state.
        state: Vec<f32>,
    }

    /// The observations of a network.
    struct ModuleSpec {
        /// Its captured tensors.
        captured: Vec<CapturedSpec>,
        /// As it trains.
        training: ModeSpec,
        /// As it predicts.
        evaluation: ModeSpec,
    }

    /// A tensor that a module or function captured.
    struct CapturedSpec {
        /// Whether it trains.
        is_parameter: bool,
        /// "0.weight"; empty where it has no name.
        path: String,
        /// The part of the module that it belongs to, "0 (Linear)"; empty for the module itself.
        part: String,
    }

    /// Where a captured tensor of a module lies in its model.
    struct PlaceSpec {
        /// 0: in the parameters, 1: in the state, 2: nowhere, it stays as it is.
        kind: u8,
        /// From this number on.
        start: usize,
    }

    unsafe extern "C++" {
        include!("cladtorch/src/bridge/libtorch.rs.h");
        include!("cladtorch/src/bridge/model.rs.h");
        include!("cladtorch/src/bridge/observed.rs.h");

        type AnyBatch = crate::graph::AnyBatch;
        #[namespace = "CladTorch::Internal"]
        type LibTorchCalls = crate::bridge::libtorch::LibTorchCalls;
        type Model = crate::model::Model;
        type ObservedGraph = crate::bridge::observed::ObservedGraph;
    }

    extern "Rust" {
        /// A model of an observed network, run by Clad's derivatives or, where an operator has no kernel, by LibTorch.
        /// `captured` are the addresses of the captured tensors, which are copied; `tensors` are those for LibTorch.
        ///
        /// # Safety
        /// The tensors lie there, in host memory, with the types, shapes and strides of the observations.
        unsafe fn model_of_module(
            network: &NetworkSpec,
            calls: SharedPtr<LibTorchCalls>,
            tensors: &TensorsSpec,
            observed: &ModuleSpec,
            training: Box<AnyBatch>,
            evaluation: Box<AnyBatch>,
            captured: &[usize],
        ) -> Result<Box<Model>>;
        /// A model that LibTorch runs, and why.
        fn model_on_libtorch(
            network: &NetworkSpec,
            calls: SharedPtr<LibTorchCalls>,
            tensors: &TensorsSpec,
            why: &str,
        ) -> Result<Box<Model>>;
        /// The text of the error that `what` makes the events of a batch depend on each other.
        fn events_mix(what: &str) -> String;
        /// Whether it has derivatives by Clad.
        fn model_has_kernels(model: &Model) -> bool;
        /// Refuses a model of a network that mixes the events `x` [_, inputs] in evaluation.
        fn model_check_apart(model: &Model, x: &[f32]) -> Result<()>;
        /// For each captured tensor; none where LibTorch runs it.
        fn model_places(model: &Model) -> Vec<PlaceSpec>;
    }
}

/// LibTorch, with flat vectors of this many parameters and this much state.
fn libtorch_module(
    spec: &NetworkSpec,
    calls: SharedPtr<LibTorchCalls>,
    [parameters, state]: [usize; 2],
) -> LibTorchModule {
    LibTorchModule {
        name: spec.name.clone(),
        shape: spec.shape.clone(),
        outputs: spec.outputs,
        parameters,
        state,
        takes_one: [spec.trains_one, spec.evaluates_one],
        whole: spec.whole.clone(),
        calls: Box::new(Called(calls)),
        seen_apart: AtomicBool::new(false),
    }
}

fn place(captured: &Captured) -> Option<FlatOffset> {
    match captured {
        Captured::Parameter(range) => Some(FlatOffset::Parameter(range.start)),
        Captured::State(range) => Some(FlatOffset::State(range.start)),
        Captured::Fixed(_) => None,
    }
}

/// So many bytes of a captured tensor.
pub(super) fn words(tensors: &ReadTensors, index: usize, bytes: usize) -> Vec<u64> {
    let words = tensors.read::<u8>(index, bytes).chunks(size_of::<u64>());
    words.map(|word| word.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))).collect()
}

unsafe fn model_of_module(
    network: &NetworkSpec,
    calls: SharedPtr<LibTorchCalls>,
    tensors: &TensorsSpec,
    observed: &ModuleSpec,
    training: Box<AnyBatch>,
    evaluation: Box<AnyBatch>,
    captured: &[usize],
) -> Result<Box<Model>> {
    let in_mode = |batch, mode: &ModeSpec| -> Result<Observed> {
        let one = match mode.one.first() {
            Some(graph) => Ok(graph.try_into()?),
            None => Err(mode.why_not_one.clone()),
        };
        Ok(Observed { batch, one, constants: mode.constants.clone() })
    };
    guard(|| {
        let mut modes = [in_mode(*training, &observed.training)?, in_mode(*evaluation, &observed.evaluation)?];
        let parts: Vec<&str> = observed.captured.iter().map(|captured| &*captured.part).collect();
        modes.iter_mut().for_each(|mode| mode.name_parts(&parts));
        let pointers: Vec<ReadPointer> = captured.iter().copied().map(ReadPointer::exposed).collect();
        // SAFETY: the caller's promise.
        let memory = unsafe { ReadTensors::new(&pointers) };
        let fixed = |index: usize, bytes: usize| words(&memory, index, bytes);
        let is_parameter: Vec<bool> = observed.captured.iter().map(|captured| captured.is_parameter).collect();
        let module = match Module::new(&network.name, &network.shape, modes, &is_parameter, fixed) {
            Ok(module) if module.dtype() == DType::Float32 => module,
            Ok(module) => {
                return on_libtorch(network, calls, tensors, &format!("it computes in {}", module.dtype().name()));
            }
            Err(Error::Invalid { what, .. }) => return on_libtorch(network, calls, tensors, &what),
            Err(other) => return Err(other),
        };
        module.check_events_are_apart()?;
        let (mut parameters, mut state) = (vec![0.0; module.parameters()], vec![0.0; module.state()]);
        for (index, captured) in module.captured().iter().enumerate() {
            match captured {
                Captured::Parameter(range) => {
                    parameters[range.clone()].copy_from_slice(memory.read(index, range.len()))
                }
                Captured::State(range) => state[range.clone()].copy_from_slice(memory.read(index, range.len())),
                Captured::Fixed(_) => (),
            }
        }
        let named = module.captured().iter().zip(&observed.captured);
        let named = named.filter_map(|(captured, spec)| Some((place(captured)?, spec.path.clone()))).collect();
        let names = Names::new(&network.last_function, named);
        let libtorch = libtorch_module(network, calls, [parameters.len(), state.len()]);
        let model = Model::of_module(Ok(module), libtorch, names, &parameters, &state)?;
        model.check_places()?;
        Ok(Box::new(model))
    })
}

fn model_on_libtorch(
    network: &NetworkSpec,
    calls: SharedPtr<LibTorchCalls>,
    tensors: &TensorsSpec,
    why: &str,
) -> Result<Box<Model>> {
    guard(|| on_libtorch(network, calls, tensors, why))
}

fn on_libtorch(
    network: &NetworkSpec,
    calls: SharedPtr<LibTorchCalls>,
    tensors: &TensorsSpec,
    why: &str,
) -> Result<Box<Model>> {
    let TensorsSpec { paths, places, parameters, state } = tensors;
    let place = |place: &PlaceSpec| {
        if place.kind == 0 { FlatOffset::Parameter(place.start) } else { FlatOffset::State(place.start) }
    };
    let names = Names::new(&network.last_function, places.iter().map(place).zip(paths.iter().cloned()).collect());
    let libtorch = libtorch_module(network, calls, [parameters.len(), state.len()]);
    Model::of_module(Err(why), libtorch, names, parameters, state).map(Box::new)
}

fn events_mix(what: &str) -> String {
    graph::events_mix(what).to_string()
}

fn model_has_kernels(model: &Model) -> bool {
    model.module().is_some()
}

fn model_check_apart(model: &Model, x: &[f32]) -> Result<()> {
    let Network::Module(module) = model.network() else { return Ok(()) };
    guard(|| match model.module() {
        Some(_) => Ok(()), // Its operators were looked at.
        None => module.libtorch()?.check_events_are_apart(x, model.parameters(), model.state()),
    })
}

fn model_places(model: &Model) -> Vec<PlaceSpec> {
    let spec = |captured: &Captured| match place(captured) {
        Some(FlatOffset::Parameter(start)) => PlaceSpec { kind: 0, start },
        Some(FlatOffset::State(start)) => PlaceSpec { kind: 1, start },
        None => PlaceSpec { kind: 2, start: 0 },
    };
    model.module().map_or(Vec::new(), |module| module.captured().iter().map(spec).collect())
}
