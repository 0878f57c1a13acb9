//! The operators of ONNX that can be read, each in terms of LibTorch's operators.

mod chosen;
mod classic;
mod elementwise;
mod encoders;
mod indices;
mod layers;
mod product;
mod recurrent;
mod reduce;
mod shape;
mod trees;
mod vectors;
mod window;

use super::call::{Call, Outputs};

/// An operator that can be read.
pub struct Operator {
    /// ONNX's name.
    pub name: &'static str,
    /// Unsupported uses of it; empty: none.
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
    [classic::TABLE, encoders::TABLE, vectors::TABLE, trees::TABLE].into_iter().flatten()
}

/// The operators as a table in Markdown, for the page on models in files.
pub fn documentation() -> String {
    let row = |domain: &str, operator: &Operator| format!("| {domain}`{}` | {} |\n", operator.name, operator.without);
    let own = operators().map(|operator| row("", operator));
    let classic = classic_operators().map(|operator| row("`ai.onnx.ml` ", operator));
    format!("| operator | without |\n|---|---|\n{}", own.chain(classic).collect::<String>())
}
