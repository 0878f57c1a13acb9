//! `sanitize`: tests under AddressSanitizer and UndefinedBehaviorSanitizer; those of the core, with instrumented Rust
//! code and kernels, or those in root.exe, with the instrumented C++ of the plugin.
//!
//! ThreadSanitizer is of no use here: the locks of Rust's standard library are compiled without it, so that it reports
//! races in rayon.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};
use clap::Args;

use xtask::environment::Environment;
use xtask::process::{output, step};
use xtask::{Given, plugin, project, setup};

use crate::fuzz;

/// What runs, and where the tests stop.
#[derive(Args)]
pub struct Options {
    /// Tests of the crate `cladtorch` (`tests/NAME.rs`), with --plugin of `tests/root.rs`; else a usual selection
    tests: Vec<String>,
    /// The C++ of the plugin, in root.exe and PyROOT
    #[arg(long)]
    plugin: bool,
}

/// The default tests: kernels, engines on several threads, readers, streams and files.
const USUAL: [&str; 8] =
    ["kernel_values", "packing", "engine", "training", "stream", "checkpoint", "model_file", "torch_files"];

/// The default tests of `tests/root.rs`: reading, fits of every kind, applying, errors, Ctrl-C and Python.
const IN_ROOT: [&str; 24] = [
    "columns_of_every_type_and_source",
    "training_predictions_plots_and_files",
    "any_network_is_a_model",
    "models_of_modules_are_saved_and_loaded",
    "models_leave_for_other_programs",
    "frozen_parameters_keep_their_bits",
    "options_of_fits",
    "fits_are_watched",
    "perceptrons_with_normalisation_and_dropout",
    "several_fits_at_once",
    "regressions_with_an_uncertainty",
    "a_random_search",
    "models_go_on_from_where_they_are",
    "bad_input_caught_in_a_macro",
    "lists_get_a_score_for_each_object_and_variations_their_own",
    "batched_scores_are_those_of_predict",
    "evaluations_of_predictions",
    "scores_of_any_number_of_events",
    "events_in_the_memory_of_python",
    "fits_to_events_in_the_memory_of_python",
    "objects_are_at_home_in_python",
    "views_and_jagged_are_sequences_in_python",
    "copies_and_pickles_in_python",
    "interrupt_ends_the_training_and_keeps_the_model",
];

/// The runtime library comes with rustc, and so do its flags: a stable compiler accepts them with RUSTC_BOOTSTRAP.
const FLAGS: &str = "-Zsanitizer=address -Cdebug-assertions";

/// Flags of g++, for the plugin. Some of ROOT's object types have no type information; numbers that no enumerator has
/// are refused on input, and g++ leaves them unchanged; and the checks make it warn of impossible cases.
const CXX_FLAGS: &str = "-fsanitize=address,undefined -fno-sanitize=vptr,enum -fno-sanitize-recover=all -fno-omit-frame-pointer \
                         -Wno-maybe-uninitialized";

/// The interpreter and ROOT's libraries are not instrumented: their allocations stay, and they have their own handler
/// of SIGSEGV.
const IN_ROOT_ASAN: &str =
    "detect_leaks=0:detect_odr_violation=0:handle_segv=0:allow_user_segv_handler=1:alloc_dealloc_mismatch=0";

pub fn run(given: &Given, options: &Options) -> Result<()> {
    let environment = setup::run(given)?;
    let host = output(Command::new("rustc").args(["--print", "host-tuple"]))?;
    let named = |usual: &[&str]| match options.tests.is_empty() {
        true => usual.iter().map(|&name| name.to_owned()).collect(),
        false => options.tests.clone(),
    };
    match options.plugin {
        true => in_root(&environment, &host, &named(&IN_ROOT)),
        false => of_core(&environment, &host, &named(&USUAL), options.tests.is_empty()),
    }
}

/// Tests of the core; `all`: with the unit tests of both crates.
fn of_core(environment: &Environment, host: &str, names: &[String], all: bool) -> Result<()> {
    let tests = |what: &str, packages: &[&str]| {
        let mut cargo = environment.cargo();
        cargo.args(["test", "--release", "--no-fail-fast", "--target", host]).args(packages);
        fuzz::watch(&mut cargo, host, FLAGS)?;
        step(&format!("tests of {what} under sanitizers"), &mut cargo)
    };
    if all {
        tests("the crate cladtorch-base", &["--package", "cladtorch-base"])?;
    }
    let mut packages = vec!["--package", "cladtorch"];
    packages.extend(all.then_some("--lib"));
    packages.extend(names.iter().flat_map(|name| ["--test", name]));
    tests("the crate cladtorch", &packages)
}

/// Tests in root.exe and PyROOT, with a separately built plugin.
fn in_root(environment: &Environment, host: &str, names: &[String]) -> Result<()> {
    let folder = project::build().join("sanitize");
    let settings = [("CMAKE_CXX_FLAGS", CXX_FLAGS), ("CMAKE_CXX_FLAGS_RELEASE", "-O1 -g1 -DNDEBUG")];
    plugin::build_in(environment, &folder, &settings.map(|(name, flags)| format!("-D{name}={flags}")))?;
    let mut tests = environment.cargo();
    tests.args(["test", "--release", "--no-fail-fast", "--package", "cladtorch", "--test", "root", "--"]).args(names);
    environment.describe(&mut tests);
    // root.exe itself is not instrumented, so the libraries are loaded before it, there and in the tests that start it.
    let runner = format!("env LD_PRELOAD={}", libraries()?.map(|path| path.display().to_string()).join(":"));
    tests
        .env("CLADTORCH_PLUGIN_DIR", folder.join("lib"))
        .env(format!("CARGO_TARGET_{}_RUNNER", host.replace('-', "_").to_uppercase()), runner)
        .env("ASAN_OPTIONS", IN_ROOT_ASAN)
        .env("UBSAN_OPTIONS", "print_stacktrace=1");
    step("tests in root.exe under sanitizers", &mut tests)
}

/// The libraries of the sanitizers, which belong to g++.
fn libraries() -> Result<[PathBuf; 2]> {
    let of = |name: &str| -> Result<PathBuf> {
        let path = PathBuf::from(output(Command::new("c++").arg(format!("-print-file-name={name}")))?);
        match path.is_absolute() {
            true => Ok(path),
            false => bail!("c++ has no {name}: install the libraries of its sanitizers"),
        }
    };
    Ok([of("libasan.so")?, of("libubsan.so")?])
}
