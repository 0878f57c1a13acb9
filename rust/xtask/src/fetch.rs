//! Fetching the pinned wheels and unpacking them into `.deps/site-packages`.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;
use crate::python::Python;
use crate::requirements::{Group, Requirement, lock_hash, select};
use crate::stamp::Stamp;

/// Makes `deps/site-packages` hold `groups`. Wheels that an interrupted run completed are not fetched again.
pub fn fetch(deps: &Path, groups: &[Group], python: &Python) -> Result<()> {
    let work = deps.join("work");
    let wheels_dir = deps.join("wheels");
    remove(&work)?;
    for dir in [&work, &wheels_dir] {
        fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    }
    let mut wheels = Vec::new();
    for requirement in select(groups, python.minor)? {
        wheels.push(wheel(&requirement, &wheels_dir, &work, python)?);
    }
    let unpacked = work.join("site-packages");
    unpack(&wheels, &unpacked, &work, python)?;
    Stamp { lock: lock_hash(), python: python.clone(), groups: groups.to_vec() }.write(&unpacked)?;
    exchange(&unpacked, deps, &work)?;
    remove(&wheels_dir)?;
    remove(&work)
}

/// The path of the wheel of `requirement`, fetched if it is not whole in `wheels` already.
fn wheel(requirement: &Requirement, wheels: &Path, work: &Path, python: &Python) -> Result<PathBuf> {
    if let Some(path) = requirement.wheel_in(wheels)? {
        println!("{} {} is already here", requirement.name, requirement.version);
        return Ok(path);
    }
    let list = work.join("requirement.txt");
    fs::write(&list, requirement.to_pip()).with_context(|| format!("cannot write {}", list.display()))?;
    let mut command = pip(python, work);
    command.args(["download", "--no-deps", "--only-binary=:all:", "--require-hashes", "--dest"]).arg(wheels);
    process::step(&format!("fetching {} {}", requirement.name, requirement.version), command.arg("-r").arg(&list))
        .with_context(remedy)?;
    requirement.wheel_in(wheels)?.with_context(|| format!("pip left no wheel of {}", requirement.name))
}

/// Unpacks all wheels in one go: some share a namespace folder, which pip would replace.
fn unpack(wheels: &[PathBuf], target: &Path, work: &Path, python: &Python) -> Result<()> {
    let mut command = pip(python, work);
    command.args(["install", "--no-index", "--no-deps", "--no-compile", "--target"]).arg(target).args(wheels);
    process::step("unpacking", &mut command).with_context(remedy)
}

fn remedy() -> String {
    let deps = crate::project::deps();
    format!(
        "the set-up needs network access to the Python package index and 4 GB of room for {}; run the command again and it continues with what is complete",
        deps.display()
    )
}

/// Puts `unpacked` in place of the old folder, and beside it the name that the ROOT wheel's CMake files look for.
fn exchange(unpacked: &Path, deps: &Path, work: &Path) -> Result<()> {
    let site_packages = deps.join("site-packages");
    if site_packages.exists() {
        fs::rename(&site_packages, work.join("old")).context("cannot move the old site-packages away")?;
    }
    fs::rename(unpacked, &site_packages).context("cannot move the new site-packages into place")?;
    match symlink("site-packages", deps.join("mock_site_packages")) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error).context("cannot make a symbolic link"),
        _ => Ok(()),
    }
}

/// pip with its temporary files beside the result, because /tmp is often too small, and deaf to settings that would
/// send the result elsewhere.
fn pip(python: &Python, work: &Path) -> Command {
    let mut command = Command::new(&python.path);
    command.args(["-m", "pip", "--disable-pip-version-check"]).env("TMPDIR", work);
    command.env("PIP_USER", "0").env("PIP_REQUIRE_VIRTUALENV", "0");
    command
}

fn remove(dir: &Path) -> Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", dir.display()))
        }
        _ => Ok(()),
    }
}
