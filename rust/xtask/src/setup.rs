//! `setup`: checks the user's installations and fetches the rest, once.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};

use crate::environment::Environment;
use crate::requirements::Group;
use crate::root::Root;
use crate::stamp::Stamp;
use crate::{Given, fetch, libtorch, project, python, root};

/// Everything the other commands need, found or fetched.
pub fn run(given: &Given) -> Result<Environment> {
    let deps = project::deps();
    let own_root = own_root(given, &deps)?;
    let libtorch_dir = given.libtorch().filter(|dir| !inside(dir, &deps));
    let own_libtorch = libtorch_dir.as_deref().map(libtorch::check).transpose()?;

    let stamp = ensure(&deps, &missing(own_root.as_ref(), own_libtorch.as_deref()))?;
    let site_packages = deps.join("site-packages");
    let fetched_root = own_root.is_none();
    let root = match own_root {
        Some(root) => root,
        None => root::check(&site_packages.join("ROOT"))?,
    };
    let libtorch = match own_libtorch {
        Some(dir) => dir,
        None => libtorch::check(&site_packages.join("torch"))?,
    };
    Ok(Environment::new(&site_packages, root, libtorch, fetched_root.then_some(&stamp.python)))
}

/// The same with packages that only some commands need.
pub fn with_extras(given: &Given, cuda: bool) -> Result<()> {
    run(given)?;
    if cuda {
        ensure(&project::deps(), &[Group::Cuda])?;
    }
    Ok(())
}

/// The user's ROOT. A named one must fit; one that only happens to be on PATH need not.
fn own_root(given: &Given, deps: &Path) -> Result<Option<Root>> {
    let outside = |dir: &PathBuf| !inside(dir, deps);
    if let Some(dir) = given.root() {
        let refuse = |why| anyhow!("{why:#}; leave --root and ROOTSYS out to have ROOT fetched");
        return Some(dir).filter(outside).map(|dir| root::check(&dir).map_err(refuse)).transpose();
    }
    let found = root::on_path().filter(outside).map(|dir| root::check(&dir)).transpose();
    Ok(found.unwrap_or_else(|why| {
        println!("set-up: the ROOT on PATH is passed over: {why:#}");
        None
    }))
}

/// The groups to fetch.
fn missing(root: Option<&Root>, libtorch: Option<&Path>) -> Vec<Group> {
    let mut groups = vec![Group::Tools];
    groups.extend(root.is_none().then_some(Group::Root));
    groups.extend(libtorch.is_none().then_some(Group::Libtorch));
    groups
}

/// Makes `deps` contain `groups`; returns its stamp.
fn ensure(deps: &Path, groups: &[Group]) -> Result<Stamp> {
    let site_packages = deps.join("site-packages");
    let ready = || Stamp::read(&site_packages).filter(|stamp| stamp.covers(groups));
    if let Some(stamp) = ready() {
        println!("set-up: nothing to do");
        return Ok(stamp);
    }
    fs::create_dir_all(deps).with_context(|| format!("cannot make {}", deps.display()))?;
    let _lock = lock(&deps.join("lock"))?;
    if let Some(stamp) = ready() {
        println!("set-up: done by another process");
        return Ok(stamp);
    }
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        bail!("the packages to fetch exist for x86_64 Linux only");
    }
    let earlier = Stamp::read(&site_packages).map(|stamp| stamp.groups).unwrap_or_default();
    let wanted: Vec<_> =
        Group::ALL.into_iter().filter(|group| groups.contains(group) || earlier.contains(group)).collect();
    fetch::fetch(deps, &wanted, &python::find()?)?;
    ready().context("the set-up ended without its stamp")
}

/// Keeps other set-ups of this checkout out until it is dropped.
fn lock(path: &Path) -> Result<File> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    if file.try_lock().is_err() {
        println!("set-up: waiting for another process that holds {}", path.display());
        file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    }
    Ok(file)
}

/// Whether `dir` was fetched by the set-up into this checkout.
pub fn is_fetched(dir: &Path) -> bool {
    inside(dir, &project::deps())
}

/// Whether `dir` is part of an earlier set-up's download.
fn inside(dir: &Path, deps: &Path) -> bool {
    let full = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from(path));
    full(dir).starts_with(full(deps))
}
