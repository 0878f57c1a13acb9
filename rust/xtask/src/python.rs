//! Finds a Python with pip for the set-up.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::process;

/// The Pythons that the pinned wheels exist for: CPython 3.10 to 3.14.
const MINORS: std::ops::RangeInclusive<u32> = 10..=14;

/// A CPython 3.`minor` interpreter.
#[derive(Clone, Debug, PartialEq)]
pub struct Python {
    /// The interpreter.
    pub path: PathBuf,
    /// The second number of its version.
    pub minor: u32,
}

/// `python3` if it fits, otherwise the newest `python3.N` on PATH that does.
pub fn find() -> Result<Python> {
    let names = std::iter::once("python3".to_owned()).chain(MINORS.rev().map(|minor| format!("python3.{minor}")));
    let mut refused = Vec::new();
    for name in names {
        match examine(&name) {
            Ok(python) => return Ok(python),
            Err(Refusal::Absent) => (),
            Err(Refusal::Unfit(why)) => refused.push(why),
        }
    }
    let seen = if refused.is_empty() { "none is on PATH".to_owned() } else { refused.join("; ") };
    bail!(
        "the set-up needs CPython 3.{} to 3.{} with pip, but {seen}; install your distribution's python3 and \
         python3-pip, or without root rights get pip by `python3 -m ensurepip --user` or `python3 get-pip.py --user`",
        MINORS.start(),
        MINORS.end()
    )
}

enum Refusal {
    Absent,
    Unfit(String),
}

fn examine(name: &str) -> Result<Python, Refusal> {
    let script = "import sys, importlib.util as u; v = sys.version_info; \
                  print(sys.executable, sys.implementation.name, v[0], v[1], u.find_spec('pip') is not None, sep='\\n')";
    let text = process::output(Command::new(name).args(["-c", script])).map_err(|_| Refusal::Absent)?;
    let lines: Vec<_> = text.lines().collect();
    let [path, implementation, major, minor, pip] = lines[..] else {
        return Err(Refusal::Unfit(format!("{name} answers strangely")));
    };
    let minor: u32 = minor.parse().unwrap_or(0);
    if implementation != "cpython" || major != "3" || !MINORS.contains(&minor) {
        return Err(Refusal::Unfit(format!("{name} is {implementation} {major}.{minor}")));
    }
    if pip != "True" {
        return Err(Refusal::Unfit(format!("{name} (3.{minor}) has no pip")));
    }
    Ok(Python { path: Path::new(path).to_path_buf(), minor })
}
