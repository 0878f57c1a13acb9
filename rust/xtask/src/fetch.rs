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

/// Makes `deps/site-packages` contain `groups`. Wheels that an interrupted run completed are not fetched again.
pub fn fetch(deps: &Path, groups: &[Group], python: &Python) -> Result<()> {
    let (work, wheels_dir) = (deps.join("work"), deps.join("wheels"));
    let wheels = gather(&select(groups, python.minor)?, &wheels_dir, &work, python)?;
    let unpacked = work.join("site-packages");
    unpack(&wheels, &unpacked, &work, python)?;
    Stamp { lock: lock_hash(groups), python: python.clone(), groups: groups.to_vec() }.write(&unpacked)?;
    exchange(&unpacked, deps, &work)?;
    remove(&wheels_dir)?;
    remove(&work)
}

/// The paths of the wheels of `requirements` in `wheels`, with `work` made anew.
fn gather(requirements: &[Requirement], wheels: &Path, work: &Path, python: &Python) -> Result<Vec<PathBuf>> {
    remove(work)?;
    for dir in [work, wheels] {
        fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    }
    requirements.iter().map(|requirement| wheel(requirement, wheels, work, python)).collect()
}

/// The path of the wheel of `requirement`, fetched unless it is whole in `wheels` already.
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

/// Unpacks all wheels at once: some share a namespace folder, which pip would replace.
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

/// pip with its temporary files beside the result, because /tmp is often too small, and without settings that would
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A Python whose pip writes the requested wheel and records its name, but dies the second time.
    const FAKE: &str = r#"#!/bin/sh
cd "$(dirname "$0")"
name=$(cut -d= -f1 work/requirement.txt)
echo "$name" >> asked
[ "$(wc -l < asked)" = 2 ] && printf ha > "wheels/$name-1.0-py3-none-any.whl" && exit 1
printf '%s' "$name" > "wheels/$name-1.0-py3-none-any.whl"
"#;

    fn requirement(name: &str) -> Requirement {
        use sha2::Digest;
        let hash = sha2::Sha256::digest(name).iter().map(|byte| format!("{byte:02x}")).collect();
        Requirement {
            group: crate::requirements::Group::Tools,
            name: name.to_owned(),
            version: "1.0".to_owned(),
            hashes: vec![hash],
        }
    }

    #[test]
    fn an_interrupted_run_is_continued() {
        let folder = std::env::temp_dir().join(format!("cladtorch-fetch-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let python = Python { path: folder.join("python3"), minor: 12 };
        fs::write(&python.path, FAKE).unwrap();
        fs::set_permissions(&python.path, fs::Permissions::from_mode(0o755)).unwrap();
        let wanted = ["first", "second", "third"].map(requirement);
        let run = || gather(&wanted, &folder.join("wheels"), &folder.join("work"), &python);
        let interrupted = run();
        let wheels = run();
        let asked = fs::read_to_string(folder.join("asked")).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert!(interrupted.is_err());
        assert_eq!(wheels.unwrap().len(), 3);
        assert_eq!(asked, "first\nsecond\nsecond\nthird\n", "the whole wheel is kept, the cut one is not");
    }
}
