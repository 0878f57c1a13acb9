//! `root` and `python`: a session in which the plugin can be loaded.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;

use crate::environment::Environment;
use crate::{Given, plugin, project, setup};

/// What follows the name of the command.
#[derive(Args)]
pub struct Arguments {
    /// Passed on as they are
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

pub fn root(given: &Given, arguments: &Arguments) -> Result<()> {
    become_program(ready(given)?.root_exe(), arguments)
}

pub fn python(given: &Given, arguments: &Arguments) -> Result<()> {
    become_program(ready(given)?.python(), arguments)
}

/// The environment, with a plugin in the build folder.
fn ready(given: &Given) -> Result<Environment> {
    let environment = setup::run(given)?;
    if !project::build().join("lib/libcladtorch.so").exists() {
        plugin::build(&environment)?;
    }
    Ok(environment)
}

/// In place of this process, so that the terminal and the exit code are the program's own.
fn become_program(mut program: Command, arguments: &Arguments) -> Result<()> {
    let problem = program.args(&arguments.arguments).exec();
    Err(problem).with_context(|| format!("cannot start {}", program.get_program().display()))
}
