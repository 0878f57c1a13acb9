//! Builds the numerical kernels (CMake, `cpp/kernels`). They leave BLAS unresolved; a program gets it from LibTorch.

use std::path::Path;
use std::{env, fs};

fn main() {
    let source = "../../cpp/kernels";
    println!("cargo::rerun-if-changed={source}");
    println!("cargo::rerun-if-changed=../../cmake/Warnings.cmake");
    println!("cargo::rerun-if-changed=../../cmake/VectorMath.cmake");
    for variable in ["CMAKE", "CXX", "CXXFLAGS"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    // A build folder belongs to one generator.
    let generator = env::var("CMAKE_GENERATOR").unwrap_or_default();
    let folder = Path::new(&env::var_os("OUT_DIR").unwrap_or_default()).join(format!("kernels {generator}").trim());
    let mut config = cmake::Config::new(source);
    // Fuzzing and `cargo xtask sanitize`: the kernels are instrumented like the Rust code around them.
    let sanitizers = env::var("CARGO_CFG_SANITIZE").unwrap_or_default();
    if sanitizers.contains("address") {
        config.cxxflag("-fsanitize=address,undefined");
        // These three keep g++ from comparing addresses of functions in constant expressions (GCC's bug 71962); the use
        // of a null pointer is an address error in any case.
        config.cxxflag("-fno-sanitize=null,nonnull-attribute,returns-nonnull-attribute");
        // Undefined behaviour ends the process: there is only one runtime library, rustc's for addresses.
        config.cxxflag("-fsanitize-undefined-trap-on-error");
    }
    let out = config.out_dir(folder).profile("Release").build_target("cladtorch_kernels").build();
    println!("cargo::rustc-link-search=native={}", out.join("build").display());
    println!("cargo::rustc-link-lib=static=cladtorch_kernels");
    for library in fs::read_to_string(out.join("build/libraries.txt")).unwrap_or_default().split_whitespace() {
        println!("cargo::rustc-link-lib={library}");
    }
    // For the unit tests, which link LibTorch's BLAS.
    println!("cargo::rerun-if-env-changed=LIBTORCH");
    if let Some(root) = env::var_os("LIBTORCH") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{}", Path::new(&root).join("lib").display());
    }
}
