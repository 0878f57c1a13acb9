//! Checks whether a folder contains a suitable LibTorch.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The release line that `tch` is made for.
const VERSION: &str = "2.11.";

/// `dir` as an absolute path, if it is a LibTorch of the right version.
pub fn check(dir: &Path) -> Result<PathBuf> {
    let full = fs::canonicalize(dir).with_context(|| format!("LibTorch folder {} cannot be opened", dir.display()))?;
    let version = version(&full)?;
    if !version.starts_with(VERSION) {
        bail!(
            "{} is LibTorch {version}, but CladTorch needs {VERSION}x; leave --libtorch and LIBTORCH out to have it fetched",
            dir.display()
        );
    }
    for library in ["libtorch_cpu.so", "libc10.so"] {
        if !full.join("lib").join(library).is_file() {
            bail!("LibTorch folder {} has no lib/{library}; unpack it again or name another one", dir.display());
        }
    }
    Ok(full)
}

/// The version in the form of LibTorch's own CMake package, "2.11.0".
pub fn version(dir: &Path) -> Result<String> {
    let file = dir.join("share/cmake/Torch/TorchConfigVersion.cmake");
    let text = fs::read_to_string(&file).unwrap_or_default();
    let quoted = text.split_once("set(PACKAGE_VERSION \"").and_then(|(_, rest)| rest.split_once('"'));
    match quoted {
        Some((version, _)) => Ok(version.to_owned()),
        None => bail!(
            "{} is not a LibTorch folder (no version in share/cmake/Torch/TorchConfigVersion.cmake); name the one that holds lib/ and include/",
            dir.display()
        ),
    }
}
