//! `gpu`: value and gradients on a GPU, by the kernels of the back end `cuda` and by LibTorch. Both are Rust, in one process: no
//! class of the plugin runs on these kernels yet.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use xtask::environment::Environment;
use xtask::process::step;

/// In place of a group.
pub const GPU: &str = "gpu";

/// Writes `out`/gpu.json, or says what is missing.
pub fn run(environment: &Environment, out: &Path) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    let mut command = environment.cargo();
    command.args(["bench", "--package", "cladtorch", "--bench", "gpu", "--"]).arg(out.join("gpu.json"));
    environment.describe(&mut command);
    step("functions on a GPU", &mut command)
}
