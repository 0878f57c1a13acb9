//! The crate `liblzma`, which began as xz2 and has its API, by its old name: see `[patch]` in the workspace's Cargo.toml.

pub use liblzma::*;
