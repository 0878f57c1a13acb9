//! A function observed by LibTorch, compiled: what C++ calls.

use std::convert::Infallible;

use crate::bridge::{CompileSpec, CompiledSignature, ObservedGraph};
use crate::error::{Error, Result};
pub use crate::graph::BackEnd;

/// A graph ready to run; see the section "compile" of [`crate::bridge`].
pub struct CompiledGraph {
    back_end: Infallible,
}

/// What one forward call keeps for its backward calls.
pub struct SavedForward {
    _values: Infallible,
}

#[allow(missing_docs, clippy::missing_safety_doc)] // In the bridge.
impl CompiledGraph {
    pub fn new(graph: &ObservedGraph, spec: &CompileSpec) -> Result<Self> {
        let first = graph.nodes.first().map_or("", |node| &node.op);
        Err(Error::invalid(format!("{}: no back end has the operator {first}", spec.name), "it runs on autograd"))
    }

    pub fn signature(&self) -> CompiledSignature {
        match self.back_end {}
    }

    pub fn describe(&self) -> String {
        match self.back_end {}
    }

    pub fn back_end(&self) -> BackEnd {
        match self.back_end {}
    }

    pub unsafe fn infer(&self, _inputs: &[usize], _outputs: &[usize]) -> Result<()> {
        match self.back_end {}
    }

    pub unsafe fn forward(&self, _inputs: &[usize], _outputs: &[usize]) -> Result<SavedForward> {
        match self.back_end {}
    }

    pub unsafe fn backward(
        &self,
        _saved: &SavedForward,
        _inputs: &[usize],
        _adjoints: &[usize],
        _gradients: &[usize],
    ) -> Result<()> {
        match self.back_end {}
    }
}
