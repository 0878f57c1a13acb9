//! The border to C++, one `#[cxx::bridge]` a topic. Each function that can fail is one line through
//! [`guard`](crate::error::guard), which turns a panic or an [`Error`](crate::Error) into a `rust::Error` on the C++ side;
//! the others only read a field.
//!
//! A type belongs to one topic; other topics name it with `type X = crate::bridge::topic::X` in an `extern "C++"` block,
//! beside the header of that topic. For an opaque Rust type this takes `#[derive(ExternType)]` at home.

mod columns;
mod compiled;
mod dataset;
mod files;
mod libtorch;
mod model;
mod network;
mod observed;
mod process;
mod signal;
mod stream;
mod training;

pub use columns::{ColumnSpec, LeafSpec, TargetSpec};
pub use compiled::{CompileSpec, CompiledSignature, NoiseSpec};
pub use model::ScalerSpec;
pub use network::{CapturedSpec, ModeSpec, ModuleSpec, NetworkSpec, PlaceSpec, TensorsSpec};
pub use observed::{GraphWork, ObservedArgument, ObservedGraph, ObservedNode, ObservedValue};
pub use stream::{Batch, BlockSpec, StreamSpec};
pub use training::{EpochPart, EpochRecord, FitSpec, RocCurve};
