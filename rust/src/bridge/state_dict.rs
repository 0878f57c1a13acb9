//! The tensors of a module under all their names, and models as networks of PyTorch.

use std::path::Path;

use crate::error::{Error, Result, guard};
use crate::model::{Content, FlatOffset, Model, StateTensor};
use crate::tensor_file::{Dtype, Packed};
use crate::torch_file::{self, Script};
use ffi::{EElement, EHeld, ScriptSpec, ScriptTensor, StateSpec};

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    /// The type of the elements of a tensor.
    enum EElement {
        Bool,
        U8,
        I8,
        I16,
        I32,
        I64,
        F16,
        BF16,
        F32,
        F64,
    }

    /// Where a tensor is.
    enum EHeld {
        /// In the model's parameters.
        Parameters,
        /// In its running statistics.
        State,
        /// In neither: it stays as it is.
        Kept,
    }

    /// A tensor of a module's state_dict.
    struct StateSpec {
        /// "0.weight".
        name: String,
        /// Sizes of its dimensions.
        shape: Vec<usize>,
        /// Whether it is a buffer.
        is_buffer: bool,
        /// Where its elements are, and the number of the first of them there.
        held: EHeld,
        start: usize,
        /// For a tensor that does not change: whether the network computes with it.
        is_used: bool,
        /// Type of its elements.
        element: EElement,
        /// The elements of one that stays as it is, row-major.
        bytes: Vec<u8>,
    }

    /// A tensor of a network of PyTorch.
    struct ScriptTensor {
        name: String,
        shape: Vec<usize>,
        element: EElement,
        /// Row-major.
        bytes: Vec<u8>,
        /// Whether it is a parameter, not a buffer.
        is_parameter: bool,
        /// Whether a state_dict has it.
        is_persistent: bool,
        /// Whether it trains.
        trains: bool,
        /// Whether the graph takes it.
        is_used: bool,
        /// One more than the number of one before that is the same tensor; 0: there is none.
        same_as: usize,
    }

    /// A network of PyTorch.
    struct ScriptSpec {
        /// Its graph, in TorchScript's own notation: of features [events, inputs] and the tensors that it takes.
        text: String,
        tensors: Vec<ScriptTensor>,
    }

    unsafe extern "C++" {
        include!("cladtorch/src/bridge/model.rs.h");

        type Model = crate::model::Model;
    }

    extern "Rust" {
        /// Tells a new model all tensors of its module.
        fn model_set_state_dict(model: &mut Model, tensors: &Vec<StateSpec>) -> Result<()>;
        /// Whether the file at `path` was written by `torch.export.save`.
        fn is_exported(path: &str) -> bool;
        /// The network of such a file: see [`torch_file::exported`].
        fn exported_script(path: &str) -> Result<ScriptSpec>;
        /// The model as a network of PyTorch.
        fn model_script(model: &Model) -> Result<ScriptSpec>;
        /// The bytes, in one piece: C++ can add them to a `rust::Vec` one by one only.
        fn copied_bytes(bytes: &[u8]) -> Vec<u8>;
        /// For each feature whether the network takes it as a whole number, as categories are; empty: it takes none so.
        fn model_whole_features(model: &Model) -> Result<Vec<bool>>;
        /// The model's predictions for events `x` [_, inputs].
        fn model_predictions(model: &Model, x: &[f32]) -> Result<Vec<f32>>;
    }
}

/// Types on both sides.
const ELEMENTS: [(EElement, Dtype); 10] = [
    (EElement::Bool, Dtype::BOOL),
    (EElement::U8, Dtype::U8),
    (EElement::I8, Dtype::I8),
    (EElement::I16, Dtype::I16),
    (EElement::I32, Dtype::I32),
    (EElement::I64, Dtype::I64),
    (EElement::F16, Dtype::F16),
    (EElement::BF16, Dtype::BF16),
    (EElement::F32, Dtype::F32),
    (EElement::F64, Dtype::F64),
];

fn dtype(element: EElement) -> Result<Dtype> {
    let found = ELEMENTS.iter().find(|(known, _)| *known == element);
    found.map(|(_, dtype)| *dtype).ok_or_else(|| Error::Internal(format!("elements of type {}", element.repr)))
}

fn element(dtype: Dtype) -> Result<EElement> {
    let found = ELEMENTS.iter().find(|(_, known)| *known == dtype);
    found.map(|(element, _)| *element).ok_or_else(|| Error::Internal(format!("elements of type {dtype:?}")))
}

#[allow(clippy::ptr_arg)] // What cxx makes of `rust::Vec`.
fn model_set_state_dict(model: &mut Model, tensors: &Vec<StateSpec>) -> Result<()> {
    let tensor = |spec: &StateSpec| {
        let content = match spec.held {
            EHeld::Parameters => Content::Held(FlatOffset::Parameter(spec.start)),
            EHeld::State => Content::Held(FlatOffset::State(spec.start)),
            _ => {
                Content::Kept { values: Packed::of_elements(dtype(spec.element)?, &spec.bytes), is_used: spec.is_used }
            }
        };
        let StateSpec { name, shape, is_buffer, .. } = spec;
        Ok(StateTensor { name: name.clone(), shape: shape.clone(), is_buffer: *is_buffer, content })
    };
    guard(|| model.set_state_dict(tensors.iter().map(tensor).collect::<Result<_>>()?))
}

fn spec(script: Script) -> Result<ScriptSpec> {
    let tensors = script.tensors.into_iter().map(|tensor| {
        Ok(ScriptTensor {
            element: element(tensor.values.dtype)?,
            bytes: tensor.values.to_bytes(),
            name: tensor.name,
            shape: tensor.shape,
            is_parameter: tensor.is_parameter,
            is_persistent: tensor.is_persistent,
            trains: tensor.trains,
            is_used: tensor.is_used,
            same_as: tensor.same_as.map_or(0, |index| index + 1),
        })
    });
    Ok(ScriptSpec { tensors: tensors.collect::<Result<_>>()?, text: script.text })
}

fn is_exported(path: &str) -> bool {
    torch_file::is_exported(Path::new(path))
}

fn exported_script(path: &str) -> Result<ScriptSpec> {
    guard(|| spec(torch_file::exported(Path::new(path))?))
}

fn model_script(model: &Model) -> Result<ScriptSpec> {
    guard(|| spec(model.script()?))
}

fn copied_bytes(bytes: &[u8]) -> Vec<u8> {
    bytes.to_vec()
}

fn model_whole_features(model: &Model) -> Result<Vec<bool>> {
    guard(|| model.whole_features())
}

fn model_predictions(model: &Model, x: &[f32]) -> Result<Vec<f32>> {
    guard(|| {
        let mut predictions = vec![0.0; x.len() / model.inputs() * model.outputs()];
        model.predict_rows(x, false, 1, &mut predictions)?;
        Ok(predictions)
    })
}
