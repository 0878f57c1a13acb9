//! Builds what is C++ in this crate: the C++ side of the bridge.

use std::env;
use std::path::Path;

fn main() {
    cxx_build::bridge("src/bridge.rs").include("../cpp/src").std("c++17").compile("cladtorch_bridge");
    println!("cargo::rerun-if-changed=src/bridge.rs");
    println!("cargo::rerun-if-changed=../cpp/src/LibTorchCalls.hxx");
    libtorch_rpath();
}

/// Lets test programs find LibTorch without `LD_LIBRARY_PATH`; the plugin's own path is set by CMake.
fn libtorch_rpath() {
    println!("cargo::rerun-if-env-changed=LIBTORCH");
    if let Some(root) = env::var_os("LIBTORCH") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{}", Path::new(&root).join("lib").display());
    }
}
