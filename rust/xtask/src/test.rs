//! `test`: set-up, build, formatting, lints, and the tests.

use anyhow::{Context, Result};
use clap::Args;

use xtask::environment::Environment;
use xtask::process::step;
use xtask::{Given, plugin, setup};

use crate::programs;

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
    // The benchmark is built for nothing else, and its build takes time.
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

    let tests = || {
        let mut tests = environment.cargo();
        tests.args(["test", "--release", "--no-fail-fast", "--package", "cladtorch-base", "--package", "cladtorch"]);
        environment.describe(&mut tests);
        tests.envs(complete);
        tests
    };
    // Without the examples, which the lints have checked.
    let build = ["--no-run", "--lib", "--bins", "--tests"];
    step("building tests", tests().args(build))?;
    let built = tests().args(build).output().context("cannot start cargo")?;
    programs::run(programs::programs(&String::from_utf8_lossy(&built.stderr)), tests)?;
    step("tests of the documentation", tests().arg("--doc"))
}

fn lint(environment: &Environment, packages: &[&str]) -> Result<()> {
    let mut lints = environment.cargo();
    lints.arg("clippy").args(packages).args(["--all-targets", "--", "--deny", "warnings"]);
    step(&format!("lints of {}", packages[1]), &mut lints)
}
