//! Builds what is C++ in this crate: the numerical kernels (CMake, `cpp/kernels`) and the C++ side of the bridge.

use std::env;
use std::path::Path;

fn main() {
    kernels();
    cxx_build::bridge("src/bridge.rs").std("c++17").compile("cladtorch_bridge");
    println!("cargo::rerun-if-changed=src/bridge.rs");
    libtorch_rpath();
}

/// The kernels leave BLAS open; LibTorch (linked by `torch-sys`) has it.
fn kernels() {
    let source = "../cpp/kernels";
    println!("cargo::rerun-if-changed={source}");
    println!("cargo::rerun-if-changed=../cmake/Warnings.cmake");
    println!("cargo::rerun-if-env-changed=CMAKE");
    // A build folder belongs to one generator.
    let generator = env::var("CMAKE_GENERATOR").unwrap_or_default();
    let folder = Path::new(&env::var_os("OUT_DIR").unwrap_or_default()).join(format!("kernels {generator}").trim());
    let mut config = cmake::Config::new(source);
    // Fuzzing: the kernels are watched like the Rust code around them.
    if env::var("CARGO_CFG_SANITIZE").is_ok_and(|sanitizers| sanitizers.contains("address")) {
        config.cxxflag("-fsanitize=address");
    }
    let out = config.out_dir(folder).profile("Release").build_target("cladtorch_kernels").build();
    println!("cargo::rustc-link-search=native={}", out.join("build").display());
    println!("cargo::rustc-link-lib=static=cladtorch_kernels");
}

/// Lets test programs and the command find LibTorch without `LD_LIBRARY_PATH`; the plugin's own path is set by CMake.
fn libtorch_rpath() {
    // Where an installation has it, if it was fetched.
    println!("cargo::rustc-link-arg-bins=-Wl,-rpath,$ORIGIN/../lib/cladtorch");
    println!("cargo::rerun-if-env-changed=LIBTORCH");
    if let Some(root) = env::var_os("LIBTORCH") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{}", Path::new(&root).join("lib").display());
    }
}
