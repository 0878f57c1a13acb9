//! # CladTorch: columns of ROOT trees into LibTorch tensors, networks trained with gradients made by Clad
//!
//! This is the architecture map. Dependencies point down only; [`error`], [`text`] and [`interrupt`], which every module may
//! use, are not listed. A test compares the map with the modules.
//!
//! | part | purpose | depends on |
//! |---|---|---|
//! | `root_macros/` | what a user runs and copies | `cpp/include` |
//! | `cpp/include/CladTorch/` | the public API in C++: no Rust, and LibTorch's headers only in `Torch.hxx` and `Torch/` | nothing below |
//! | `cpp/src/` | one header a job, with its `.cxx`: talks to ROOT and calls the core; at the top what all of its folders share: errors, Ctrl-C, headers at the prompt | ROOT, [`bridge`] |
//! | `cpp/src/reading/` | datasets and streams: columns, sources, ROOT's reader, jagged and exact tensors | the same |
//! | `cpp/src/model/` | models, predictions and score files, ensembles, export | the same |
//! | `cpp/src/training/` | fits, their options, histories, progress, cross-validation, random search, ranks | the same |
//! | `cpp/src/evaluation/` | figures, plots and reports | the same |
//! | `cpp/src/signal/` | spectra, waveforms, searches, strain | the same |
//! | `cpp/src/python/` | what PyROOT adds to the classes: arguments, options, arrays, copies; part of the library as text | the public API |
//! | `cpp/src/torch/` | code that includes LibTorch's headers: functions observed and compiled, as a whole or in parts, modules that become models and those that LibTorch runs for them, autograd nodes, operators for the dispatcher | LibTorch, ROOT, [`bridge`] |
//! | `cpp/src/wheel/` | libraries that load the plugin under its plain name, and make its modules at first use, where it came as a wheel | ROOT |
//! | `cpp/modules/` | contents of the C++ modules of the plugin's and LibTorch's headers | the public API |
//! | `cpp/python/` | the module `cladtorch`, its types, and what writes them | the plugin |
//! | [`bridge`] | the border to C++, one `#[cxx::bridge]` a topic; what can fail goes through [`error::guard`] | every module |
//! | [`evaluate`] | figures of a model's predictions: ROC curve, operating points, calibration, confusion, residuals, importance | `columns`, `dataset`, `graph`, `model` |
//! | `export` | models for other programs: ONNX graphs, C++ headers without dependencies (with the text of `cpp/kernels`) | `atomic_file`, `columns`, `dataset`, `gradient`, `graph`, `kernels`, `model`, `onnx`, `tensor_file`, `torch_file` |
//! | [`import`] | networks of other programs: ONNX files as operators of LibTorch | `dataset`, `graph`, `model`, `onnx` |
//! | [`train`] | checks of options, schedules, epochs, early stopping, checkpoints, folds, random search | `columns`, `dataset`, `device`, `gradient`, `graph`, `model`, `optimiser`, `options`, `ranks`, `stream`, `tensor_file` |
//! | [`model`] | a network with scalers, columns and options; prediction, also slid over series and as blocks arrive; the model file | `atomic_file`, `columns`, `dataset`, `device`, `gradient`, `graph`, `kernels`, `options`, `signal`, `tensor_file`, `torch_file` |
//! | [`signal`] | spectra, whitening, waveforms, exact bounds and candidates for strain data, float64 | `device` |
//! | [`gradient`] | passes over programs, and the back ends that compile them: aot and jit (Clad's derivatives), [`gradient::autograd`] (LibTorch), [`gradient::cuda`] (kernels for GPUs); [`gradient::BackEnd`] is chosen in one place; it yields a [`gradient::Executable`] for a function, a [`gradient::Engine`] for a network in training | `cache`, `dataset`, `device`, `graph`, `kernels`, `optimiser`, `ranks` |
//! | [`stream`] | events of data larger than memory: order, windows, the hand-over from the reading thread | `columns`, `dataset`, `kernels` |
//! | [`dataset`] | features, labels, weights; split, shuffle, scaling | `columns`, `device`, `kernels` |
//! | [`optimiser`] | SGD, Adam and AdamW over one flat vector, their state; the rate is given at each update | `device`, `graph`, `kernels` |
//! | [`options`] | the options of a fit, and their record in model files | `graph` |
//! | [`graph`] | networks: [`graph::Graph`], a chain of layers; [`graph::Program`], operators with their operands, of a chain or of an observed function; [`graph::Module`], one of them with parameters, which trains; [`graph::lower`], which makes it, [`graph::rows`], which takes its rows apart, and [`graph::sliding`], which cuts it in two for long series | `kernels` |
//! | [`ranks`] | processes of an MPI job that train together: sums over them, in order | `kernels` |
//! | [`interpreter`] | C++ modules of headers for ROOT's prompt, made at first use where the plugin came as a wheel | `cache` |
//! | `cache` | the user's cache across sessions: compiled functions, C++ modules | nothing |
//! | `onnx` | ONNX's messages, to write and to read | nothing |
//! | [`columns`] | columns of a dataset, and requests to the fast reader | nothing |
//! | [`device`] | devices, and CUDA loaded on purpose | nothing |
//! | [`interrupt`] | Ctrl-C, as a flag that long loops poll | nothing |
//! | `rust/src/bin/` | the `cladtorch` command | the crate `cladtorch_base` |
//! | `rust/xtask/` | `cargo xtask`: set-up, build, tests, wheel, documentation; also a library with the code that the benchmark shares | nothing but `gradient::jit`'s finder of Clad |
//! | `rust/bench/` | `cargo xtask bench`: the benchmark's groups, records and reports; `peers/` has the programs of the peers | `xtask` |
//! | `rust/fuzz/` | libFuzzer targets for the readers of untrusted bytes | [`model`], [`import`], [`graph`], [`rootfile`], [`torch_file`], the fast reader |
//! | `tests/`, `tests/support/` | tests in Rust, the macros that they run in root.exe and Python, and what they share | the crate, the plugin |
//! | **`rust/base/`** | **the crate `cladtorch_base`: all below, without LibTorch** | |
//! | [`strain`] | HDF5 files of detector strain, and trees of their good seconds; files of candidates | `rootfile`, `atomic_file` |
//! | [`rootfile`] | files of trees without ROOT: their contents, their values, conversion to other formats | `columns`, `memory`, `threads`, `atomic_file`, `tensor_file` |
//! | `columns` | the fast reader: baskets of local files, decoded on rayon's threads (in `rust/base`) | `memory`, `kernels` |
//! | `rust/xz2/` | liblzma under the crate name that oxyroot expects | nothing |
//! | [`torch_file`] | PyTorch's archives of weights and of networks, checked, without running anything | `tensor_file` |
//! | [`tensor_file`] | safetensors files of float32, piece by piece | `atomic_file` |
//! | [`atomic_file`] | files written whole or not at all | nothing |
//! | `memory` | host memory as slices | `threads`, `kernels` |
//! | `threads` | pools of threads | `kernels` |
//! | [`kernels`] | checked slices over the C functions of `cpp/kernels` | nothing |
//! | [`error`], [`text`] | the one error; names and messages that are safe to show, long ones cut | nothing |
//! | `cpp/kernels/` | stateless mathematics on raw pointers; `generated/` is Clad's output for it | nothing |
//!
//! `unsafe` lives in [`kernels`] (calls of the C functions), `memory` (values as slices; tensors by pointers, for
//! reading and writing), [`device`] (the dynamic linker), `ranks::mpi` (MPI's functions), in
//! [`gradient::CompiledGraph`] (addresses from C++, which become such pointers there), its [`gradient::Executable`] and
//! its blocks, [`gradient::Pass`] and [`gradient::ObservedLoss`] (whose tensors are lent to a program), the loader of
//! its compiled functions, `gradient::cuda` (NVRTC, the driver and cuBLASLt), and in what cxx writes for [`bridge`].
//!
//! How data flow: the C++ shim asks ROOT where the baskets of a tree's branches lie, and the fast reader ([`columns`])
//! decodes them straight into a [`dataset::Dataset`]; ROOT evaluates cuts, expressions and
//! columns that the fast reader does not support, in one event loop; [`train::Trainer`] shuffles row numbers, an engine gathers and
//! standardises them tile by tile, runs the kernels forward and, with Clad's derivatives, backward in one arena, and one update
//! of an [`optimiser`] changes the flat parameter vector. Every network is a program, whose connected linear layers have packed
//! weight matrices ([`gradient::Packing`]); [`model::Model`] keeps the result and predicts with the same programs. Data larger than
//! memory reach the same engines another way: a thread of the shim reads blocks of entries into a [`stream::Feed`], and
//! [`stream::Epoch`] makes windows of them.

#![deny(unsafe_code)]

#[allow(unsafe_code)] // What cxx writes.
pub mod bridge;
mod cache;
pub mod columns;
pub mod dataset;
#[allow(unsafe_code)] // The dynamic linker.
pub mod device;
pub mod evaluate;
mod export;
pub mod gradient;
pub mod graph;
pub mod import;
pub mod interpreter;
pub mod interrupt;
pub mod model;
mod onnx;
pub mod optimiser;
pub mod options;
pub mod ranks;
pub mod signal;
pub mod stream;
pub mod train;

pub use cladtorch_base::{Error, Result, atomic_file, error, kernels, rootfile, strain, tensor_file, text, torch_file};
