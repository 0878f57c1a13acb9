//! `fuzz`: libFuzzer and AddressSanitizer on the readers of hostile bytes. It needs neither a nightly compiler nor
//! cargo-fuzz: the flags are those that cargo-fuzz passes, and RUSTC_BOOTSTRAP lets a stable compiler accept the
//! unstable one.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use xtask::environment::Environment;
use xtask::process::{output, step};
use xtask::{Given, project, setup};

/// What is fuzzed, and for how long.
#[derive(Args)]
pub struct Options {
    /// What is fuzzed
    #[arg(value_enum)]
    target: Target,
    /// Ends after so many seconds
    #[arg(long, default_value_t = 300)]
    seconds: u32,
    /// Processes at a time
    #[arg(long, default_value_t = 1)]
    jobs: u32,
}

#[derive(Clone, Copy, ValueEnum)]
enum Target {
    /// The decoder of baskets
    Basket,
    /// Whole files without ROOT
    File,
    /// ONNX files
    Onnx,
    /// Weights: safetensors files and PyTorch's
    Weights,
    /// Networks of TorchScript and torch.export
    Network,
    /// Model files
    Model,
}

/// Largest length of an input, in bytes: the longest seed has 36 kB.
const LONGEST: usize = 48 << 10;

/// ROOT's compression numbers of the files from which the corpus starts.
const COMPRESSIONS: [u32; 6] = [0, 101, 207, 301, 404, 505];

/// Coverage as libFuzzer needs it, and the sanitizer: it instruments the Rust code, by `rust/build.rs` the kernels, and
/// by [`COMPILER`] the codecs.
const FLAGS: [&str; 9] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "-Cdebug-assertions",
    "-Zsanitizer=address",
    "--cfg=fuzzing",
];

/// A C compiler for the codecs: with the sanitizer too, and without the assembly of zstd and xz, which it would not
/// see. Programs of the build itself, which are for the same machine but not linked with the sanitizer, are recognised
/// by their folder.
const COMPILER: &str = r#"#!/bin/sh
case $OUT_DIR in
    */HOST/release/build/*) exec cc -fsanitize=address -DZSTD_DISABLE_ASM -DLZMA_RANGE_DECODER_CONFIG=0 "$@" ;;
    *) exec cc "$@" ;;
esac
"#;

/// LibTorch's own start leaks memory; C libraries define a constant in two places.
const ASAN: &str = "detect_leaks=0:detect_odr_violation=0";

pub fn run(given: &Given, options: &Options) -> Result<()> {
    let environment = setup::run(given)?;
    let name = match options.target {
        Target::Basket => "basket",
        Target::File => "file",
        Target::Onnx => "onnx",
        Target::Weights => "weights",
        Target::Network => "network",
        Target::Model => "model",
    };
    let folder = project::build().join("fuzz");
    let programs = build(&environment)?;
    let corpus = folder.join("corpus");
    if !corpus.join(name).exists() {
        seed(&environment, &programs.join("corpus"), &folder)?;
    }
    let findings = folder.join("findings");
    fs::create_dir_all(&findings).with_context(|| format!("cannot make {}", findings.display()))?;
    let mut fuzzer = with_libtorch(&environment, &programs.join(name));
    fuzzer
        .arg(corpus.join(name))
        .arg(format!("-artifact_prefix={}/{name}-", findings.display()))
        .args([format!("-max_total_time={}", options.seconds), format!("-max_len={LONGEST}")])
        .args([format!("-fork={}", options.jobs), "-print_final_stats=1".to_owned(), "-timeout=10".to_owned()])
        .current_dir(&folder);
    step(&format!("fuzzing {name} for {} s; findings go to {}", options.seconds, findings.display()), &mut fuzzer)
}

/// Builds the fuzz targets and the program that makes their corpus; returns their folder.
fn build(environment: &Environment) -> Result<PathBuf> {
    let host = output(Command::new("rustc").args(["--print", "host-tuple"]))?;
    let mut cargo = environment.cargo();
    cargo.args(["build", "--release", "--package", "cladtorch-fuzz", "--target", &host]);
    watch(&mut cargo, &host, &FLAGS.join(" "))?;
    step("building the fuzz targets", &mut cargo)?;
    Ok(project::root().join("target").join(host).join("release"))
}

/// Code that cargo builds and runs has the sanitizers of rustc's `flags`, and so have the codecs.
pub fn watch(cargo: &mut Command, host: &str, flags: &str) -> Result<()> {
    cargo
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", flags)
        .env(format!("CC_{}", host.replace('-', "_")), compiler(host)?)
        .env("ASAN_OPTIONS", ASAN);
    Ok(())
}

/// [`COMPILER`] as a file.
fn compiler(host: &str) -> Result<PathBuf> {
    let path = project::build().join("fuzz/cc");
    fs::create_dir_all(project::build().join("fuzz")).context("cannot make build/fuzz")?;
    fs::write(&path, COMPILER.replace("HOST", host)).with_context(|| format!("cannot write {}", path.display()))?;
    fs::set_permissions(&path, Permissions::from_mode(0o755)).context("cannot make the compiler executable")?;
    Ok(path)
}

/// Lets ROOT write a small file for each codec and cuts it into the corpus.
fn seed(environment: &Environment, corpus: &Path, folder: &Path) -> Result<()> {
    let files = folder.join("files");
    fs::create_dir_all(&files).with_context(|| format!("cannot make {}", files.display()))?;
    let script = project::root().join("data/trees.C");
    let mut root = environment.root_exe();
    root.args(["-l", "-b", "-q", "-e", &format!(".L {}", script.display())]).current_dir(&files);
    for number in COMPRESSIONS {
        root.args(["-e", &format!("trees(\"codec{number}\", {number}, 12, 100)")]);
    }
    step("files for the corpus", &mut root)?;
    let mut cut = with_libtorch(environment, corpus);
    cut.arg(folder.join("corpus"));
    cut.args(COMPRESSIONS.map(|number| files.join(format!("codec{number}.root"))));
    step("corpus", &mut cut)
}

fn with_libtorch(environment: &Environment, program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", environment.libtorch.join("lib"));
    command.env("ASAN_OPTIONS", ASAN);
    command
}
