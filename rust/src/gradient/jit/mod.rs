//! The `jit` back end of an observed function: one C++ function, emitted for the graph, differentiated whole by Clad,
//! compiled by clang for this machine and opened. Made once for each user and graph: see [`crate::cache`]. Losses and
//! activations of users are compiled in the same way: [`RowLoss`], [`compile_activation`].

mod clad;
mod clang;
mod custom_activation;
mod emit;
#[allow(unsafe_code)] // Opens libraries and calls them.
mod library;
mod lines;
mod row_loss;
mod user;

pub use custom_activation::compile as compile_activation;
pub(crate) use custom_activation::samples as samples_of_activation;
pub(crate) use emit::{Body, Group, Nest, by_name, groups, literal};
pub use library::CompiledFunction;
pub(crate) use lines::{emit, line};
pub use row_loss::RowLoss;
pub(crate) use user::Samples;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::buffer_assignment::BufferAssignment;
use crate::cache::{Cache, LIBRARY};
use crate::graph::Program;
use crate::kernels::Scalar;
use clang::Clang;

/// Names in a function's folder. Clad writes its derivatives beside the source.
const SOURCE: &str = "function.cpp";
const DERIVATIVES: &str = "Derivatives.cpp";

/// The headers that an emitted function includes.
const HEADERS: &[(&str, &str)] = &[
    ("activations.hpp", include_str!("../../../../cpp/kernels/activations.hpp")),
    ("elementwise.hpp", include_str!("../../../../cpp/kernels/elementwise.hpp")),
    ("exponential.hpp", include_str!("../../../../cpp/kernels/exponential.hpp")),
    ("jit.hpp", include_str!("../../../../cpp/kernels/jit.hpp")),
    ("kernels.h", include_str!("../../../../cpp/kernels/kernels.h")),
    ("operators.hpp", include_str!("../../../../cpp/kernels/operators.hpp")),
    ("pushforwards.hpp", include_str!("../../../../cpp/kernels/pushforwards.hpp")),
];

/// A function that is ready, with its text and Clad's.
pub struct Made<T> {
    /// Forward and backward.
    pub function: CompiledFunction<T>,
    /// Buffers whose adjoints it finds zero.
    pub zero: Vec<usize>,
    /// The emitted text.
    pub source: String,
    /// What Clad made of it.
    pub derivatives: String,
}

/// Emits, compiles and opens the function, or opens it from the cache; the error says what is missing or failed.
pub fn make<T: Scalar>(
    program: &Program,
    assignment: &BufferAssignment,
    name: &str,
    operators: &[String],
    limit: Duration,
) -> Result<Made<T>, String> {
    let (source, zero) = emit::emit(program, assignment, name, operators).map_err(|error| error.to_string())?;
    let open = |folder: &Path| CompiledFunction::open(&folder.join(LIBRARY));
    let (function, folder) = build(&source, name, limit, open)?;
    Ok(Made { function, zero, source, derivatives: derivatives(&folder) })
}

/// Clad's text in the folder of a function.
fn derivatives(folder: &Path) -> String {
    fs::read_to_string(folder.join(DERIVATIVES)).unwrap_or_default()
}

/// Opens what the cache has for `source`, or compiles it first; with the folder in which that lies.
fn build<R>(
    source: &str,
    name: &str,
    limit: Duration,
    open: impl Fn(&Path) -> Result<R, String>,
) -> Result<(R, PathBuf), String> {
    let clang = Clang::find()?;
    let cache = Cache::open()?;
    let mut parts = vec![env!("CARGO_PKG_VERSION"), clang::REVISION, &clang.identity, source];
    parts.extend(HEADERS.iter().map(|(_, text)| text));
    parts.extend(clang::FLAGS);
    let key = Cache::key(&parts);
    if let Some(folder) = cache.find(&key) {
        match open(&folder) {
            Ok(opened) => return Ok((opened, folder)),
            Err(_) => cache.remove(&key), // Damaged: made again.
        }
    }
    eprintln!("CladTorch: compiling {name} with Clad (once; kept for later)");
    let work = cache.work()?;
    for (file, text) in HEADERS.iter().copied().chain([(SOURCE, source)]) {
        let path = work.folder().join(file);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    clang.compile(work.folder(), SOURCE, LIBRARY, limit)?;
    let folder = cache.publish(&work, &key)?;
    Ok((open(&folder)?, folder))
}
