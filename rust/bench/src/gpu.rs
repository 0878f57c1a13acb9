//! `gpu`: networks in training and functions with their gradients on a GPU, by the kernels of the back end `cuda` and by LibTorch, and
//! by PyTorch where [`PYTHON`] names one.

use std::env;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use xtask::environment::Environment;
use xtask::process::step;

/// The variable that names a Python whose PyTorch has its CUDA packages.
const PYTHON: &str = "CLADTORCH_GPU_PYTHON";

/// In place of a group.
pub const GPU: &str = "gpu";

/// Writes `out`/gpu.json, or says what is missing.
pub fn run(environment: &Environment, out: &Path) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    let mut command = environment.cargo();
    command.args(["bench", "--package", "cladtorch", "--bench", "gpu", "--"]).arg(out.join("gpu.json"));
    command.args(env::var_os(PYTHON));
    environment.describe(&mut command);
    step("training and functions on a GPU", &mut command)
}
