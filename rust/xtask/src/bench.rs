//! `bench`: starts the benchmark, a crate of its own that is built on request.

use std::process::Command;

use anyhow::Result;
use xtask::{Given, project};

use crate::session::{Arguments, become_program};

/// Becomes the benchmark, which cargo builds if necessary.
pub fn run(given: &Given, arguments: &Arguments) -> Result<()> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["run", "--quiet", "--package", "cladtorch-bench", "--manifest-path"]);
    cargo.arg(project::root().join("Cargo.toml")).arg("--").args(given.arguments());
    become_program(cargo, arguments)
}
