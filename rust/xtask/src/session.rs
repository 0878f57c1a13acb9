//! `root` and `python`: a session that can load the plugin.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;

use xtask::environment::Environment;
use xtask::{Given, plugin, project, setup};

/// What follows the name of the command.
#[derive(Args)]
pub struct Arguments {
    /// Passed on as they are
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

pub fn root(given: &Given, arguments: &Arguments) -> Result<()> {
    let mut root = ready(given)?.root_exe();
    root.args(["-e", &with_macros_in(&project::build().join("lib"))]);
    become_program(root, arguments)
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

/// A line of C++ that lets `.L libcladtorch.so` find the plugin from any folder: ROOT looks for it where macros are,
/// not where libraries are, and no environment variable adds to that path.
fn with_macros_in(folder: &Path) -> String {
    let folder = folder.display().to_string().replace('\\', r"\\").replace('"', "\\\"");
    format!("TROOT::SetMacroPath(TString(TROOT::GetMacroPath()) + \":{folder}\");")
}

/// Replaces this process, so that the terminal and the exit code are the program's own.
pub fn become_program(mut program: Command, arguments: &Arguments) -> Result<()> {
    let problem = program.args(&arguments.arguments).exec();
    Err(problem).with_context(|| format!("cannot start {}", program.get_program().display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_any_name_is_a_string_of_c() {
        let line = with_macros_in(Path::new(r#"/my "best"\lib"#));
        assert!(line.ends_with(r#"+ ":/my \"best\"\\lib");"#), "{line}");
    }
}
