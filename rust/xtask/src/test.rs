//! `test`: set-up, build, formatting, lints, and at the end the tests with the runner's own summary.

use std::os::unix::process::CommandExt;

use anyhow::{Context, Result};

use crate::process::step;
use crate::{Given, plugin, setup};

pub fn run(given: &Given) -> Result<()> {
    let environment = setup::run(given)?;
    plugin::build(&environment)?;
    step("formatting", environment.cargo().args(["fmt", "--all", "--check"]))?;
    let mut lints = environment.cargo();
    lints.args(["clippy", "--release", "--workspace", "--all-targets", "--", "--deny", "warnings"]);
    step("lints", &mut lints)?;
    let mut tests = environment.cargo();
    tests.args(["test", "--release", "--workspace", "--no-fail-fast"]);
    environment.describe(&mut tests);
    println!("==> tests");
    // In place of this process, so that nothing follows the runner's summary and the exit code is its own.
    Err(tests.exec()).context("cannot start cargo")
}
