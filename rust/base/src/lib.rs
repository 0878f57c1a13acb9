//! # The part of CladTorch that works without LibTorch
//!
//! The lower half of the architecture map, which the crate `cladtorch` shows in full: files, kernels, memory and
//! threads.
//! The `cladtorch` command consists of it alone, so that it starts in milliseconds.

#![deny(unsafe_code)]

pub mod atomic_file;
pub mod columns;
pub mod error;
#[allow(unsafe_code)] // Calls of the C functions.
pub mod kernels;
#[allow(unsafe_code)] // Memory as slices.
pub mod memory;
pub mod rootfile;
pub mod strain;
pub mod tensor_file;
pub mod text;
pub mod threads;
pub mod torch_file;

pub use error::{Error, Result};

/// Unit tests need LibTorch's BLAS: this reference keeps the linker from dropping it.
#[cfg(test)]
#[used]
static BLAS: fn() -> i32 = tch::get_num_threads;
