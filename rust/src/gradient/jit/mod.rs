//! The `jit` back end of an observed function: one C++ function, emitted for the graph, differentiated whole by Clad,
//! compiled by clang for this machine and opened. Made once for each user and graph: see [`cache`].

mod cache;
mod clang;
mod emit;
#[allow(unsafe_code)] // Opens the library and calls it.
mod library;

pub use library::CompiledFunction;

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::executor::Layout;
use crate::graph::Program;
use crate::kernels::Scalar;
use cache::Cache;
use clang::Clang;

/// Names in a function's folder. Clad writes its derivatives beside the source.
const SOURCE: &str = "function.cpp";
const LIBRARY: &str = "function.so";
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
    /// What was emitted.
    pub source: String,
    /// What Clad made of it.
    pub derivatives: String,
}

/// Emits, compiles and opens the function, or opens it from the cache; the error says what is missing or failed.
pub fn make<T: Scalar>(
    program: &Program,
    layout: &Layout,
    name: &str,
    operators: &[String],
    limit: Duration,
) -> Result<Made<T>, String> {
    let clang = Clang::find()?;
    let source = emit::emit(program, layout, name, operators).map_err(|error| error.to_string())?;
    let cache = Cache::open()?;
    let mut parts = vec![env!("CARGO_PKG_VERSION"), &clang.identity, &source];
    parts.extend(HEADERS.iter().map(|(_, text)| text));
    let key = Cache::key(&parts);
    if let Some(folder) = cache.find(&key) {
        match open(&folder, source.clone()) {
            Ok(made) => return Ok(made),
            Err(_) => cache.remove(&key), // Damaged: made again.
        }
    }
    eprintln!("CladTorch: compiling {name} with Clad (once; kept for later)");
    let work = cache.work()?;
    for (file, text) in HEADERS.iter().copied().chain([(SOURCE, source.as_str())]) {
        let path = work.folder().join(file);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    clang.compile(work.folder(), SOURCE, LIBRARY, limit)?;
    let folder = cache.publish(&work, &key)?;
    open(&folder, source)
}

fn open<T: Scalar>(folder: &Path, source: String) -> Result<Made<T>, String> {
    let function = CompiledFunction::open(&folder.join(LIBRARY))?;
    let derivatives = fs::read_to_string(folder.join(DERIVATIVES)).unwrap_or_default();
    Ok(Made { function, source, derivatives })
}
