//! The tensors of a module under all their names.

use crate::error::{Error, Result, guard};
use crate::model::{Content, Model, Place, StateTensor};
use crate::tensor_file::{Dtype, Packed};
use ffi::{EElement, EHeld, StateSpec};

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
        /// Of one that stays as it is: whether the network computes with it.
        is_used: bool,
        /// Type of its elements.
        element: EElement,
        /// The elements of one that stays as it is, row-major.
        bytes: Vec<u8>,
    }

    unsafe extern "C++" {
        include!("cladtorch/src/bridge/model.rs.h");

        type Model = crate::model::Model;
    }

    extern "Rust" {
        /// Tells a new model all tensors of its module.
        fn model_set_state_dict(model: &mut Model, tensors: &Vec<StateSpec>) -> Result<()>;
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

#[allow(clippy::ptr_arg)] // What cxx makes of `rust::Vec`.
fn model_set_state_dict(model: &mut Model, tensors: &Vec<StateSpec>) -> Result<()> {
    let tensor = |spec: &StateSpec| {
        let content = match spec.held {
            EHeld::Parameters => Content::Held(Place::Parameter(spec.start)),
            EHeld::State => Content::Held(Place::State(spec.start)),
            _ => Content::Kept {
                values: Packed::of_elements(dtype(spec.element)?, &spec.bytes),
                is_used: spec.is_used,
            },
        };
        let StateSpec { name, shape, is_buffer, .. } = spec;
        Ok(StateTensor { name: name.clone(), shape: shape.clone(), is_buffer: *is_buffer, content })
    };
    guard(|| model.set_state_dict(tensors.iter().map(tensor).collect::<Result<_>>()?))
}
