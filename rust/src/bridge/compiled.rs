//! Compiled functions.

pub use ffi::{CompileSpec, CompiledSignature, NoiseSpec};

use super::observed::ObservedGraph;
use crate::error::{Result, guard};
use crate::gradient::{CompiledGraph, SavedForward};

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    /// What `CompileOptions` says, enumerations as their numbers.
    #[derive(Clone, Debug)]
    struct CompileSpec {
        /// Of the user's function, for messages and generated code.
        name: String,
        /// 0: aot; 1 + number in `BackEnd::ALL` (aot, jit): that one, and failing is an error; 4: jit, else aot.
        back_end: u8,
        /// Why that one, where the caller chose it for the user; else empty.
        reason: String,
        /// Whether a gradient is wanted, for each of inputs and constants.
        gradients: Vec<bool>,
        /// Seconds that compiling may take.
        time_limit: f64,
    }

    /// Random factors that the caller draws for each forward call, with
    /// `empty(shape).bernoulli_(keep).div_(keep)`, in this order, so that a seed means what it means in LibTorch.
    #[derive(Clone, Debug, PartialEq)]
    struct NoiseSpec {
        /// Number in `DType::ALL`.
        dtype: u8,
        /// Contiguous.
        shape: Vec<i64>,
        /// Probability that an element is not 0.
        keep: f64,
    }

    /// What a compiled graph takes and returns beyond the arguments that it was observed with.
    #[derive(Clone, Debug, PartialEq)]
    struct CompiledSignature {
        /// As in [`ObservedValue`]: of every number that is computed, gradients included.
        dtype: u8,
        /// The user's results, then one for each of `updates`; contiguous, made by the caller.
        outputs: Vec<ObservedValue>,
        /// Arguments after inputs and constants.
        noise: Vec<NoiseSpec>,
        /// Arguments (of inputs, then constants) that LibTorch changes in place (running statistics): the caller
        /// copies the last outputs into them after each forward call.
        updates: Vec<u32>,
    }

    unsafe extern "C++" {
        include!("cladtorch/src/bridge/observed.rs.h");

        type ObservedGraph = crate::bridge::observed::ObservedGraph;
        type ObservedValue = crate::bridge::observed::ObservedValue;
    }

    extern "Rust" {
        type CompiledGraph;

        /// What one forward call keeps for backward calls. Dropping it gives its memory back to the graph's pool.
        type SavedForward;
        /// Fails as `graph_work` does.
        fn compiled_new(graph: &ObservedGraph, spec: &CompileSpec) -> Result<Box<CompiledGraph>>;
        fn compiled_signature(graph: &CompiledGraph) -> CompiledSignature;
        /// Operators, shapes, arena, back end, and why, for people.
        fn compiled_describe(graph: &CompiledGraph) -> String;
        /// The function that `jit` emitted, and Clad's derivative of it; empty with another back end.
        fn compiled_text(graph: &CompiledGraph) -> String;
        /// `aot` or `jit`.
        fn compiled_back_end(graph: &CompiledGraph) -> String;
        /// What kept the fastest back end from running, where it was asked for; else empty.
        fn compiled_obstacle(graph: &CompiledGraph) -> String;
        /// Runs the graph and keeps nothing. `inputs` are the addresses of inputs, constants and noise, each of the
        /// dtype, shape and strides of its observation; `outputs` those of the signature's outputs. Safe from several
        /// threads at once.
        ///
        /// # Safety
        /// The addresses are those of tensors as described, in host memory; outputs overlap nothing else.
        unsafe fn compiled_infer(graph: &CompiledGraph, inputs: &[usize], outputs: &[usize]) -> Result<()>;
        /// As `compiled_infer`, and keeps what `compiled_backward` needs.
        ///
        /// # Safety
        /// As for `compiled_infer`.
        unsafe fn compiled_forward(
            graph: &CompiledGraph,
            inputs: &[usize],
            outputs: &[usize],
        ) -> Result<Box<SavedForward>>;
        /// Writes the gradient of `sum over user's outputs of adjoint * output`. `inputs` are those of the forward call,
        /// unchanged since; `adjoints` [user's outputs] contiguous, 0 for one that is zero; `gradients`
        /// [inputs and constants] contiguous, of the signature's dtype, 0 where none was asked for in the spec. May be
        /// called again with the same `saved`, also from several threads at once.
        ///
        /// # Safety
        /// As for `compiled_infer`; gradients overlap nothing else.
        unsafe fn compiled_backward(
            graph: &CompiledGraph,
            saved: &SavedForward,
            inputs: &[usize],
            adjoints: &[usize],
            gradients: &[usize],
        ) -> Result<()>;
    }
}

fn compiled_new(graph: &ObservedGraph, spec: &CompileSpec) -> Result<Box<CompiledGraph>> {
    guard(|| CompiledGraph::new(graph, spec).map(Box::new))
}

fn compiled_signature(graph: &CompiledGraph) -> CompiledSignature {
    graph.signature()
}

fn compiled_describe(graph: &CompiledGraph) -> String {
    graph.describe()
}

fn compiled_text(graph: &CompiledGraph) -> String {
    graph.text().to_owned()
}

fn compiled_obstacle(graph: &CompiledGraph) -> String {
    graph.obstacle().to_owned()
}

fn compiled_back_end(graph: &CompiledGraph) -> String {
    graph.back_end().name().to_owned()
}

unsafe fn compiled_infer(graph: &CompiledGraph, inputs: &[usize], outputs: &[usize]) -> Result<()> {
    // SAFETY: the caller's promise is passed on.
    guard(|| unsafe { graph.infer(inputs, outputs) })
}

unsafe fn compiled_forward(graph: &CompiledGraph, inputs: &[usize], outputs: &[usize]) -> Result<Box<SavedForward>> {
    // SAFETY: the caller's promise is passed on.
    guard(|| unsafe { graph.forward(inputs, outputs) }.map(Box::new))
}

unsafe fn compiled_backward(
    graph: &CompiledGraph,
    saved: &SavedForward,
    inputs: &[usize],
    adjoints: &[usize],
    gradients: &[usize],
) -> Result<()> {
    // SAFETY: the caller's promise is passed on.
    guard(|| unsafe { graph.backward(saved, inputs, adjoints, gradients) })
}
