//! `test`: set-up, build, formatting, lints, and at the end the tests with the runner's own summary.

use std::os::unix::process::CommandExt;

use anyhow::{Context, Result};
use clap::Args;

use xtask::environment::Environment;
use xtask::process::step;
use xtask::{Given, plugin, setup};

/// How the tests judge themselves.
#[derive(Args)]
pub struct Options {
    /// A part of a test that cannot run here is a failure (but for GPUs), and the benchmark's tests run too; CONTRIBUTING.md says what all of them need
    #[arg(long)]
    complete: bool,
}

pub fn run(given: &Given, options: &Options) -> Result<()> {
    let environment = setup::run(given)?;
    plugin::build(&environment)?;
    step("formatting", environment.cargo().args(["fmt", "--all", "--check"]))?;
    let complete = options.complete.then_some(("CLADTORCH_COMPLETE", "1"));
    // The benchmark is built for nothing else, which would take everybody's time.
    let tools = ["xtask", "cladtorch-bench"];
    let tools = if options.complete { &tools[..] } else { &tools[..1] };
    for package in tools {
        lint(&environment, &["--package", package])?;
    }
    // In the profile in which they are built anyway.
    lint(&environment, &["--package", "cladtorch", "--package", "cladtorch-base", "--release"])?;
    for package in tools {
        let mut tests = environment.cargo();
        step(&format!("tests of {package}"), tests.args(["test", "--quiet", "--package", package]).envs(complete))?;
    }

    println!("==> tests of cladtorch");
    let mut tests = environment.cargo();
    tests.args(["test", "--release", "--no-fail-fast", "--package", "cladtorch-base", "--package", "cladtorch"]);
    environment.describe(&mut tests);
    tests.envs(complete);
    // In place of this process, so that nothing follows the runner's summary and the exit code is its own.
    Err(tests.exec()).context("cannot start cargo")
}

fn lint(environment: &Environment, packages: &[&str]) -> Result<()> {
    let mut lints = environment.cargo();
    lints.arg("clippy").args(packages).args(["--all-targets", "--", "--deny", "warnings"]);
    step(&format!("lints of {}", packages[1]), &mut lints)
}
