//! Checks whether a folder contains a suitable ROOT.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;

/// The oldest ROOT that is accepted, as (major, minor).
const OLDEST: (u32, u32) = (6, 40);

/// A ROOT installation.
#[derive(Clone, Debug)]
pub struct Root {
    /// ROOTSYS.
    pub dir: PathBuf,
    /// The folder of its libraries.
    pub libraries: PathBuf,
    /// The folder of its Python modules.
    pub modules: PathBuf,
}

/// `dir` as a ROOT installation, if it is a suitable one.
pub fn check(dir: &Path) -> Result<Root> {
    let full = fs::canonicalize(dir).with_context(|| format!("ROOT folder {} cannot be opened", dir.display()))?;
    let config = full.join("bin/root-config");
    if !config.is_file() {
        bail!("{} is not a ROOT folder (no bin/root-config); name the one that ROOTSYS would hold", dir.display());
    }
    let ask = |what: &str| process::output(Command::new(&config).arg(what));
    let version = ask("--version")?;
    if parse_version(&version).is_none_or(|found| found < OLDEST) {
        let (major, minor) = OLDEST;
        bail!("{} is ROOT {version}, but CladTorch needs {major}.{minor} or newer", dir.display());
    }
    let flags = ask("--cflags")?;
    let standard =
        flags.split_whitespace().find_map(|flag| flag.strip_prefix("-std=")).unwrap_or("an unknown standard");
    if !["c++17", "gnu++17", "c++1z"].contains(&standard) {
        bail!("{} was built with {standard}, but LibTorch's headers and CladTorch need a ROOT of C++17", dir.display());
    }
    let (libraries, modules) = match wheel_modules(&full)? {
        Some(modules) => (full.join("lib"), modules),
        None => (PathBuf::from(ask("--libdir")?), PathBuf::from(ask("--libdir")?)),
    };
    Ok(Root { dir: full, libraries, modules })
}

/// The site-packages of a ROOT from a wheel: its `root-config` and CMake files use another name for that folder.
fn wheel_modules(dir: &Path) -> Result<Option<PathBuf>> {
    let Some(modules) = dir.parent().filter(|_| dir.join("__init__.py").is_file()) else {
        return Ok(None);
    };
    let link = modules.with_file_name("mock_site_packages");
    if !link.exists() {
        bail!(
            "{} is a ROOT wheel, whose CMake files need the link {} to {}; make it",
            dir.display(),
            link.display(),
            modules.display()
        );
    }
    Ok(Some(modules.to_path_buf()))
}

/// The ROOT whose `root-config` is on PATH.
pub fn on_path() -> Option<PathBuf> {
    process::output(Command::new("root-config").arg("--prefix")).ok().map(PathBuf::from)
}

/// (6, 40) of "6.40.04" or "6.40/04".
fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(['.', '/']).map(|part| part.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::parse_version;

    #[test]
    fn both_forms_of_the_version_are_read() {
        assert_eq!(parse_version("6.40.00"), Some((6, 40)));
        assert_eq!(parse_version("6.32/04"), Some((6, 32)));
        assert_eq!(parse_version("six"), None);
    }
}
