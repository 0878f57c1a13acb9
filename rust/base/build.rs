//! Builds the numerical kernels (CMake, `cpp/kernels`). They leave BLAS open, which a program has with LibTorch.

use std::path::Path;
use std::{env, fs};

fn main() {
    let source = "../../cpp/kernels";
    println!("cargo::rerun-if-changed={source}");
    println!("cargo::rerun-if-changed=../../cmake/Warnings.cmake");
    println!("cargo::rerun-if-changed=../../cmake/VectorMath.cmake");
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
    for library in fs::read_to_string(out.join("build/libraries.txt")).unwrap_or_default().split_whitespace() {
        println!("cargo::rustc-link-lib={library}");
    }
    // For the unit tests, which have LibTorch's BLAS.
    println!("cargo::rerun-if-env-changed=LIBTORCH");
    if let Some(root) = env::var_os("LIBTORCH") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{}", Path::new(&root).join("lib").display());
    }
}
