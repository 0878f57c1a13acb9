//! Child processes: each is a named step whose time is printed.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// Runs `command` with this terminal's output; fails unless it exits with 0.
pub fn step(name: &str, command: &mut Command) -> Result<()> {
    println!("==> {name}");
    let start = Instant::now();
    let status = command.status().with_context(|| cannot_start(command))?;
    println!("==> {name}: {:.1} s", start.elapsed().as_secs_f64());
    if !status.success() {
        bail!("{name} failed ({status})");
    }
    Ok(())
}

/// The trimmed standard output of `command`; fails unless it exits with 0.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| cannot_start(command))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        bail!("{} failed: {}", command.get_program().display(), message.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn cannot_start(command: &Command) -> String {
    format!("cannot start {}", command.get_program().display())
}
