//! `test`: set-up, build, formatting, lints, and at the end the tests with the runner's own summary.

use std::os::unix::process::CommandExt;

use anyhow::{Context, Result};
use clap::Args;

use crate::process::step;
use crate::{Given, plugin, setup};

/// How the tests judge themselves.
#[derive(Args)]
pub struct Options {
    /// A part of a test that cannot run here is a failure (but for GPUs); CONTRIBUTING.md says what all of them need
    #[arg(long)]
    complete: bool,
}

pub fn run(given: &Given, options: &Options) -> Result<()> {
    let environment = setup::run(given)?;
    plugin::build(&environment)?;
    step("formatting", environment.cargo().args(["fmt", "--all", "--check"]))?;
    // Each package in the profile in which it is built anyway.
    let packages: [&[&str]; 2] =
        [&["--package", "xtask"], &["--package", "cladtorch", "--package", "cladtorch-base", "--release"]];
    for package in packages {
        let mut lints = environment.cargo();
        lints.arg("clippy").args(package).args(["--all-targets", "--", "--deny", "warnings"]);
        step(&format!("lints of {}", package[1]), &mut lints)?;
    }
    let complete = options.complete.then_some(("CLADTORCH_COMPLETE", "1"));
    step("tests of xtask", environment.cargo().args(["test", "--quiet", "--package", "xtask"]).envs(complete))?;

    println!("==> tests of cladtorch");
    let mut tests = environment.cargo();
    tests.args(["test", "--release", "--no-fail-fast", "--package", "cladtorch-base", "--package", "cladtorch"]);
    environment.describe(&mut tests);
    tests.envs(complete);
    // In place of this process, so that nothing follows the runner's summary and the exit code is its own.
    Err(tests.exec()).context("cannot start cargo")
}
