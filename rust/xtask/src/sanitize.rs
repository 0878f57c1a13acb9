//! `sanitize`: tests of the core under AddressSanitizer, with the kernels under UndefinedBehaviorSanitizer, too.

use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::process::{output, step};
use crate::{Given, fuzz, setup};

/// What runs, and where the tests stop.
#[derive(Args)]
pub struct Options {
    /// Tests of the crate `cladtorch` (`tests/NAME.rs`); else those that call most of the kernels and threads, and the unit tests
    tests: Vec<String>,
}

/// The tests that run if none is named: kernels, engines on several threads, readers, streams and files.
const USUAL: [&str; 8] =
    ["kernel_values", "packing", "engine", "training", "stream", "checkpoint", "model_file", "torch_files"];

/// The runtime library comes with rustc, and so do its flags: a stable compiler takes them by RUSTC_BOOTSTRAP.
const FLAGS: &str = "-Zsanitizer=address -Cdebug-assertions";

pub fn run(given: &Given, options: &Options) -> Result<()> {
    let environment = setup::run(given)?;
    let host = output(Command::new("rustc").args(["--print", "host-tuple"]))?;
    let tests = |what: &str, packages: &[&str]| {
        let mut cargo = environment.cargo();
        cargo.args(["test", "--release", "--no-fail-fast", "--target", &host]).args(packages);
        fuzz::watch(&mut cargo, &host, FLAGS)?;
        step(&format!("tests of {what} under sanitizers"), &mut cargo)
    };
    let mut packages = vec!["--package", "cladtorch"];
    if options.tests.is_empty() {
        tests("the crate cladtorch-base", &["--package", "cladtorch-base"])?;
        packages.push("--lib");
        packages.extend(USUAL.iter().flat_map(|name| ["--test", name]));
    }
    packages.extend(options.tests.iter().flat_map(|name| ["--test", name]));
    tests("the crate cladtorch", &packages)
}
