//! Places in the checkout.

use std::path::{Path, PathBuf};

/// The top of the checkout.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).unwrap_or(manifest).to_path_buf()
}

/// The git-ignored folder of everything that is fetched.
pub fn deps() -> PathBuf {
    root().join(".deps")
}

/// CMake's build folder.
pub fn build() -> PathBuf {
    root().join("build")
}
