//! The operators of ONNX that can be read, each as what LibTorch's operators make of it.

mod classic;
mod elementwise;
mod indices;
mod layers;
mod product;
mod recurrent;
mod reduce;
mod shape;
mod window;

use super::call::{Call, Outputs};

/// An operator that can be read.
pub struct Operator {
    /// ONNX's name.
    pub name: &'static str,
    /// What is not supported of it; empty: nothing.
    pub without: &'static str,
    pub(super) read: fn(&mut Call) -> Outputs,
}

const fn all(name: &'static str, read: fn(&mut Call) -> Outputs) -> Operator {
    Operator { name, without: "", read }
}

const fn but(name: &'static str, without: &'static str, read: fn(&mut Call) -> Outputs) -> Operator {
    Operator { name, without, read }
}

/// Every operator of ONNX's own domain that can be read.
pub fn operators() -> impl Iterator<Item = &'static Operator> {
    let tables = [
        elementwise::TABLE,
        shape::TABLE,
        indices::TABLE,
        reduce::TABLE,
        product::TABLE,
        layers::TABLE,
        window::TABLE,
        recurrent::TABLE,
    ];
    tables.into_iter().flatten()
}

/// Every operator of the domain `ai.onnx.ml` that can be read.
pub fn classic_operators() -> impl Iterator<Item = &'static Operator> {
    classic::TABLE.iter()
}
