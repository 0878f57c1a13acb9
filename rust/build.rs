//! Builds what is C++ in this crate: the C++ side of the bridge.

use std::collections::BTreeSet;
use std::path::Path;
use std::{env, fs};

fn main() {
    let files = fs::read_dir("src/bridge").expect("src/bridge is a folder");
    let files = files.map(|file| file.expect("src/bridge can be read").path());
    let bridges = BTreeSet::from_iter(files.filter(|file| file.is_file() && !file.ends_with("mod.rs")));
    cxx_build::bridges(&bridges).include("../cpp/src").std("c++17").compile("cladtorch_bridge");
    println!("cargo::rerun-if-changed=src/bridge");
    for header in ["LibTorchCalls", "LibTorchThreads"] {
        println!("cargo::rerun-if-changed=../cpp/src/{header}.hxx");
    }
    libtorch_rpath();
}

/// Lets test programs find LibTorch without `LD_LIBRARY_PATH`; the plugin's own path is set by CMake.
fn libtorch_rpath() {
    println!("cargo::rerun-if-env-changed=LIBTORCH");
    if let Some(root) = env::var_os("LIBTORCH") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{}", Path::new(&root).join("lib").display());
    }
}
