//! Compiled functions.

use super::observed::{DType, ObservedGraph};
use crate::device;
use crate::error::{Error, Result, guard};
use crate::gradient::cuda::Gpu;
use crate::gradient::{self, CompileOptions, CompiledGraph, SavedForward};
use crate::graph::View;
use ffi::{BackEnd, CompileSpec, CompiledSignature, DenseSpec, DropoutSpec};

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    /// `EBackEnd`.
    enum BackEnd {
        Any = 0,
        Aot = 1,
        Jit = 2,
        Autograd = 3,
        Fastest = 4,
    }

    /// See `CompileOptions` in `gradient`.
    struct CompileSpec {
        name: String,
        back_end: BackEnd,
        reason: String,
        gradients: Vec<bool>,
        time_limit: f64,
        /// Number of the GPU on which all tensors lie, or -1.
        gpu: i32,
    }

    /// A dense tensor.
    struct DenseSpec {
        dtype: DType,
        shape: Vec<i64>,
        /// Empty where it is contiguous.
        strides: Vec<i64>,
    }

    /// Random factors that the caller draws for each forward call, with
    /// `empty(shape).bernoulli_(keep).div_(keep)`, in this order, so that a seed means what it means in LibTorch.
    struct DropoutSpec {
        dtype: DType,
        shape: Vec<i64>,
        /// Probability that an element is not 0.
        keep: f64,
    }

    /// See `Signature` in `gradient`.
    struct CompiledSignature {
        dtype: DType,
        outputs: Vec<DenseSpec>,
        dropout: Vec<DropoutSpec>,
        updates: Vec<u32>,
        /// For each argument the output, or -1.
        passed_on: Vec<i32>,
    }

    unsafe extern "C++" {
        include!("cladtorch/src/bridge/observed.rs.h");

        type DType = crate::bridge::observed::DType;
        type ObservedGraph = crate::bridge::observed::ObservedGraph;
    }

    extern "Rust" {
        type CompiledGraph;

        /// Makes a device ready: `cpu`, `cuda` or `cuda:N`.
        fn device_open(name: &str) -> Result<()>;

        /// The values that one forward call keeps for backward calls. Dropping it gives its memory back to the graph's
        /// pool.
        type SavedForward;
        /// Refuses a limit of compiling that is none.
        fn compiled_check_time_limit(seconds: f64) -> Result<()>;
        /// Whether the function must be observed, for kernels to run it.
        fn back_end_tries_kernels(back_end: BackEnd) -> Result<bool>;
        /// Why LibTorch, and not kernels, runs a function, given the `obstacle`; fails if kernels were requested.
        fn back_end_why_libtorch(back_end: BackEnd, obstacle: &str) -> Result<String>;
        /// Fails as `graph_work` does.
        fn compiled_new(graph: &ObservedGraph, spec: &CompileSpec) -> Result<Box<CompiledGraph>>;
        fn compiled_signature(graph: &CompiledGraph) -> CompiledSignature;
        /// Operators, shapes, arena, back end, and why, for people.
        fn describe(self: &CompiledGraph) -> String;
        /// The function that `jit` emitted, and Clad's derivative of it; the kernels of `cuda`; empty with another back end.
        fn text(self: &CompiledGraph) -> &str;
        /// `aot`, `jit` or `cuda`.
        fn compiled_back_end(graph: &CompiledGraph) -> String;
        /// Why the first requested back end does not run it; otherwise empty.
        fn obstacle(self: &CompiledGraph) -> &str;
        /// Runs the graph and keeps nothing. `inputs` are the addresses of inputs, constants and random factors, each of the
        /// dtype, shape and strides of its observation; `outputs` those of the signature's outputs. Safe from several
        /// threads at once. On a GPU it runs on `stream`, a `CUstream`, and returns before it is done.
        ///
        /// # Safety
        /// The addresses are those of tensors as described, in memory of the graph's device; outputs overlap nothing else.
        unsafe fn compiled_infer(
            graph: &CompiledGraph,
            stream: usize,
            inputs: &[usize],
            outputs: &[usize],
        ) -> Result<()>;
        /// As `compiled_infer`, and keeps what `compiled_backward` needs.
        ///
        /// # Safety
        /// As for `compiled_infer`.
        unsafe fn compiled_forward(
            graph: &CompiledGraph,
            stream: usize,
            inputs: &[usize],
            outputs: &[usize],
        ) -> Result<Box<SavedForward>>;
        /// Writes the gradient of `sum over user's outputs of adjoint * output`. `inputs` are those of the forward call,
        /// unchanged since; `adjoints` [user's outputs] contiguous, 0 for one that is zero; `gradients`
        /// [inputs and constants] contiguous, of the signature's dtype, 0 where the spec requests none. May be
        /// called again with the same `saved`, also from several threads at once.
        ///
        /// # Safety
        /// As for `compiled_infer`; gradients overlap nothing else.
        unsafe fn compiled_backward(
            graph: &CompiledGraph,
            stream: usize,
            saved: &SavedForward,
            inputs: &[usize],
            adjoints: &[usize],
            gradients: &[usize],
        ) -> Result<()>;
    }
}

shared_enum!(BackEnd is gradient::Wanted, "back end": Any Aot Jit Autograd Fastest);

fn device_open(name: &str) -> Result<()> {
    guard(|| device::open(name).map(|_| ()))
}

fn compiled_check_time_limit(seconds: f64) -> Result<()> {
    guard(|| gradient::time_limit(seconds).map(|_| ()))
}

fn back_end_tries_kernels(back_end: BackEnd) -> Result<bool> {
    guard(|| gradient::Wanted::try_from(back_end).map(gradient::Wanted::tries_kernels))
}

fn back_end_why_libtorch(back_end: BackEnd, obstacle: &str) -> Result<String> {
    guard(|| gradient::Wanted::try_from(back_end)?.why_libtorch(obstacle))
}

fn compiled_new(graph: &ObservedGraph, spec: &CompileSpec) -> Result<Box<CompiledGraph>> {
    guard(|| {
        let options = CompileOptions {
            name: spec.name.clone(),
            back_end: spec.back_end.try_into()?,
            reason: spec.reason.clone(),
            gradients: spec.gradients.clone(),
            time_limit: spec.time_limit,
            gpu: opened(spec.gpu)?,
        };
        CompiledGraph::new(&graph.try_into()?, &options).map(Box::new)
    })
}

/// The GPU of that number, or none for -1.
fn opened(gpu: i32) -> Result<Option<Gpu>> {
    if gpu == -1 {
        return Ok(None);
    }
    let index = u32::try_from(gpu).map_err(|_| Error::Internal(format!("GPU {gpu}")))?;
    Gpu::shared(index).map(Some)
}

fn compiled_signature(graph: &CompiledGraph) -> CompiledSignature {
    let gradient::Signature { dtype, outputs, dropout, updates, passed_on } = graph.signature();
    let shape = |sizes: &[usize]| sizes.iter().map(|&size| size as i64).collect();
    let dtype = DType::from(dtype);
    let dense = |view: &View| {
        let strides = if view.is_contiguous() { Vec::new() } else { shape(&view.strides) };
        DenseSpec { dtype, shape: shape(&view.sizes), strides }
    };
    CompiledSignature {
        dtype,
        outputs: outputs.iter().map(dense).collect(),
        dropout: dropout
            .iter()
            .map(|factors| DropoutSpec { dtype, shape: shape(&factors.shape), keep: factors.keep })
            .collect(),
        updates: updates.into_iter().map(|argument| argument as u32).collect(),
        passed_on: passed_on.into_iter().map(|output| output.map_or(-1, |output| output as i32)).collect(),
    }
}

fn compiled_back_end(graph: &CompiledGraph) -> String {
    graph.back_end().name().to_owned()
}

unsafe fn compiled_infer(graph: &CompiledGraph, stream: usize, inputs: &[usize], outputs: &[usize]) -> Result<()> {
    // SAFETY: the caller's promise is passed on.
    guard(|| unsafe { graph.infer(stream, inputs, outputs) })
}

unsafe fn compiled_forward(
    graph: &CompiledGraph,
    stream: usize,
    inputs: &[usize],
    outputs: &[usize],
) -> Result<Box<SavedForward>> {
    // SAFETY: the caller's promise is passed on.
    guard(|| unsafe { graph.forward(stream, inputs, outputs) }.map(Box::new))
}

unsafe fn compiled_backward(
    graph: &CompiledGraph,
    stream: usize,
    saved: &SavedForward,
    inputs: &[usize],
    adjoints: &[usize],
    gradients: &[usize],
) -> Result<()> {
    // SAFETY: the caller's promise is passed on.
    guard(|| unsafe { graph.backward(stream, saved, inputs, adjoints, gradients) })
}
