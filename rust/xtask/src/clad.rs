//! Clad, a plugin of clang, as the derivatives of the kernels and the benchmark use it.

use std::ffi::OsString;
use std::process::Command;

use anyhow::{Context, Result, anyhow};

/// The core's own finder, which depends on nothing else in it.
#[path = "../../src/gradient/jit/clad.rs"]
pub mod finder;

/// A clang with a Clad plugin.
pub struct Clad {
    /// Paths of both.
    pub found: finder::Clad,
    /// Version and git revision.
    pub name: String,
}

impl Clad {
    /// The first pair that works.
    pub fn find() -> Result<Self> {
        let found = finder::Clad::find().map_err(|reason| anyhow!(reason))?;
        let mut clad = Self { found, name: String::new() };
        let mut asked = clad.command();
        asked.args(["-Xclang", "-plugin-arg-clad", "-Xclang", "-version", "-fsyntax-only", "-x", "c++", "/dev/null"]);
        clad.name = name(&String::from_utf8_lossy(&asked.output().context("asking Clad for its version")?.stderr))?;
        Ok(clad)
    }

    /// The compiler with the plugin loaded and its headers on the search path.
    pub fn command(&self) -> Command {
        let mut plugin = OsString::from("-fplugin=");
        plugin.push(&self.found.plugin);
        let mut command = Command::new(&self.found.compiler);
        command.arg(plugin).arg("-isystem").arg(&self.found.include); // Its warnings are not ours.
        command
    }
}

/// "2.5 (git 0123...)" of a plugin's version text: "clad version 2.5 (place 0123...) [for clang ...]".
fn name(said: &str) -> Result<String> {
    let rest = said.split_once("clad version ").with_context(|| format!("Clad states no version: {said}"))?.1;
    let mut words = rest.split(|c: char| c.is_whitespace() || "()[]".contains(c));
    let version = words.next().unwrap_or_default().to_owned();
    let is_revision = |word: &&str| word.len() == 40 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let revision = words.find(is_revision).map_or("unknown revision".into(), |word| format!("git {word}"));
    Ok(format!("{version} ({revision})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clad_says_of_itself_is_read() {
        let revision = "0123456789abcdef0123456789abcdef01234567";
        let said = format!("clad version 2.5.0~dev (/some/place {revision}) [for clang version 19.1.7 (3)]\n");
        assert_eq!(name(&said).unwrap(), format!("2.5.0~dev (git {revision})"));
        assert_eq!(name("clad version 2.1 [for clang version 18]\n").unwrap(), "2.1 (unknown revision)");
        assert!(name("error: no such plugin").is_err());
    }
}
