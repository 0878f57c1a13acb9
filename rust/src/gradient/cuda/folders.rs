//! Where NVIDIA's libraries may lie.

use std::env;
use std::path::PathBuf;

use crate::device;

/// The folder of NVRTC, if it is neither beside LibTorch nor on the linker's path.
pub const VARIABLE: &str = "CLADTORCH_NVRTC";

/// Versions of CUDA whose libraries work here, newest first.
pub const VERSIONS: [u32; 2] = [13, 12];

/// The one that the environment names.
pub fn named() -> Option<PathBuf> {
    env::var_os(VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// The one beside LibTorch, and the linker's path (`None`).
pub fn usual() -> Vec<Option<PathBuf>> {
    let beside = device::libtorch_folder().and_then(|lib| {
        let site_packages = lib.parent()?.parent()?;
        Some(site_packages.join("nvidia/cu13/lib"))
    });
    beside.into_iter().filter(|folder| folder.is_dir()).map(Some).chain([None]).collect()
}
