//! What `cargo xtask` refuses, each with one clear line, and that a second set-up does nothing.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Instant, SystemTime};

use support::checkout::{source, xtask};
use support::say::say;
use tempfile::TempDir;

/// The one line with which a set-up with `option` `dir` ends.
fn refusal(option: &str, dir: &Path) -> String {
    refused(xtask().args(["setup", option]).arg(dir), dir)
}

/// The one line, naming `dir`, with which `command` ends.
fn refused(command: &mut Command, dir: &Path) -> String {
    let output = command.output().expect("xtask starts");
    assert!(!output.status.success(), "{command:?} was accepted");
    let text = String::from_utf8(output.stderr).expect("readable");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.starts_with("error: "), "{text}");
    assert!(text.contains(dir.to_str().unwrap()), "the folder is not named: {text}");
    text
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A folder that claims to be LibTorch `version`, with `libraries`.
fn libtorch(version: &str, libraries: &[&str]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let package = dir.path().join("share/cmake/Torch/TorchConfigVersion.cmake");
    write(&package, &format!("set(PACKAGE_VERSION \"{version}\")\n"));
    for library in libraries {
        write(&dir.path().join("lib").join(library), "");
    }
    dir
}

/// A folder that claims to be ROOT `version` built with `standard`.
fn root(version: &str, standard: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("bin/root-config");
    let answers =
        format!("--version) echo {version};; --cflags) echo -pthread -std={standard} -m64;; --libdir) echo lib;;");
    write(&config, &format!("#!/bin/sh\ncase $1 in {answers} esac\n"));
    make_executable(&config);
    dir
}

fn make_executable(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A search path that begins with `root`'s programs and with Pythons that only record in `file` that they were called.
fn path_with(root: &Path, file: &Path) -> OsString {
    let bin = root.join("bin");
    for version in ["3", "3.10", "3.11", "3.12", "3.13", "3.14"] {
        let python = bin.join(format!("python{version}"));
        write(&python, &format!("#!/bin/sh\necho \"$@\" >> '{}'\nexit 1\n", file.display()));
        make_executable(&python);
    }
    let old = env::var_os("PATH").unwrap_or_default();
    env::join_paths(std::iter::once(bin).chain(env::split_paths(&old))).unwrap()
}

#[test]
fn libtorch_of_another_version_is_refused() {
    for version in ["2.10.0", "2.12.1", "1.13.1", "2.110.0"] {
        let dir = libtorch(version, &["libtorch_cpu.so", "libc10.so"]);
        let text = refusal("--libtorch", dir.path());
        assert!(text.contains(version) && text.contains("2.11."), "{text}");
    }
}

#[test]
fn libtorch_without_its_libraries_is_refused() {
    assert!(refusal("--libtorch", libtorch("2.11.0", &[]).path()).contains("lib/libtorch_cpu.so"));
    assert!(refusal("--libtorch", libtorch("2.11.0", &["libtorch_cpu.so"]).path()).contains("lib/libc10.so"));
}

#[test]
fn a_folder_without_libtorch_is_refused() {
    let empty = tempfile::tempdir().unwrap();
    assert!(refusal("--libtorch", empty.path()).contains("not a LibTorch folder"));
    assert!(refusal("--libtorch", &empty.path().join("absent")).contains("cannot be opened"));
}

#[test]
fn root_of_another_standard_is_refused() {
    for standard in ["c++14", "c++20", "c++2b"] {
        let text = refusal("--root", root("6.40.00", standard).path());
        assert!(text.contains(standard) && text.contains("C++17"), "{text}");
    }
}

#[test]
fn an_old_root_is_refused() {
    for version in ["6.38.04", "6.30/08", "6.8.00", "5.34/38"] {
        let text = refusal("--root", root(version, "c++17").path());
        assert!(text.contains(version) && text.contains("6.40"), "{text}");
    }
}

#[test]
fn a_folder_without_root_is_refused() {
    let empty = tempfile::tempdir().unwrap();
    assert!(refusal("--root", empty.path()).contains("not a ROOT folder"));
    assert!(refusal("--root", &empty.path().join("absent")).contains("cannot be opened"));
}

#[test]
fn a_root_wheel_without_its_link_is_refused() {
    let site_packages = tempfile::tempdir().unwrap();
    let made = root("6.40.00", "c++17");
    let wheel = site_packages.path().join("site-packages/ROOT");
    fs::create_dir_all(wheel.parent().unwrap()).unwrap();
    fs::rename(made.path(), &wheel).unwrap();
    write(&wheel.join("__init__.py"), "");
    assert!(refusal("--root", &wheel).contains("mock_site_packages"));
}

#[test]
fn what_the_environment_names_is_refused_too() {
    let old = root("6.38.04", "c++17");
    let text = refused(xtask().arg("setup").env("ROOTSYS", old.path()), old.path());
    assert!(text.contains("6.38.04") && text.contains("leave --root and ROOTSYS out"), "{text}");
    let torch = libtorch("2.10.0", &[]);
    let text = refused(xtask().arg("setup").env("LIBTORCH", torch.path()), torch.path());
    assert!(text.contains("2.10.0") && text.contains("leave --libtorch and LIBTORCH out"), "{text}");
}

#[test]
fn an_option_wins_over_the_environment_and_an_empty_variable_is_none() {
    let (old, older) = (root("6.38.04", "c++17"), root("6.30/08", "c++17"));
    let text = refused(xtask().args(["setup", "--root"]).arg(old.path()).env("ROOTSYS", older.path()), old.path());
    assert!(text.contains("6.38.04"), "{text}");
    let torch = libtorch("2.10.0", &[]);
    let mut command = xtask();
    command.args(["setup", "--libtorch"]).arg(torch.path()).env("ROOTSYS", "").env("LIBTORCH", "");
    assert!(refused(&mut command, torch.path()).contains("2.10.0"));
}

#[test]
fn an_unfit_root_on_path_is_passed_over() {
    let old = root("6.38.04", "c++17");
    let config = old.path().join("bin/root-config");
    let answers = format!("#!/bin/sh\ncase $1 in --prefix) echo '{}';; *) echo 6.38.04;; esac\n", old.path().display());
    write(&config, &answers);
    let path = path_with(old.path(), &old.path().join("called"));
    // It succeeds if ROOT was fetched already, and otherwise fails for lack of a Python.
    let Output { stdout, .. } = xtask().arg("setup").env("PATH", path).output().expect("xtask starts");
    let text = String::from_utf8(stdout).expect("readable");
    let lines: Vec<_> = text.lines().filter(|line| line.contains("passed over")).collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert!(lines[0].contains("6.38.04") && lines[0].contains("6.40"), "{text}");
    assert!(lines[0].contains(old.path().to_str().unwrap()), "{text}");
}

/// When `.deps` and what lies in it were last changed.
fn changes() -> Vec<(PathBuf, SystemTime)> {
    let modified = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    let deps = source().join(".deps");
    let inner = fs::read_dir(&deps).unwrap().map(|entry| entry.unwrap().path());
    let stamp = deps.join("site-packages/cladtorch-setup.txt");
    let mut found: Vec<_> = inner.chain([deps, stamp]).map(|path| (path.clone(), modified(&path))).collect();
    found.sort();
    found
}

#[test]
fn a_second_setup_does_nothing() {
    assert!(source().join(".deps/site-packages/cladtorch-setup.txt").exists(), "run `cargo xtask setup` first");
    let before = changes();
    let folder = tempfile::tempdir().unwrap();
    let called = folder.path().join("called");
    let mut command = xtask();
    command.arg("setup").env("PATH", path_with(folder.path(), &called)).env("ROOTSYS", "").env("LIBTORCH", "");
    // The same choice as the run that made the set-up.
    for (option, variable) in [("--root", "CLADTORCH_ROOTSYS"), ("--libtorch", "CLADTORCH_LIBTORCH")] {
        if let Some(dir) = env::var_os(variable).filter(|dir| !Path::new(dir).starts_with(source())) {
            command.arg(option).arg(dir);
        }
    }
    let start = Instant::now();
    let Output { status, stdout, .. } = command.output().expect("xtask starts");
    say(&format!("a set-up with nothing to do: {:.2} s", start.elapsed().as_secs_f64()));
    assert!(status.success());
    let text = String::from_utf8_lossy(&stdout);
    assert_eq!(text.lines().last(), Some("set-up: nothing to do"), "{text}");
    assert!(!called.exists(), "Python was called: {}", fs::read_to_string(called).unwrap());
    assert_eq!(changes(), before);
}

/// Nothing else is looked for before that.
#[test]
fn a_site_without_doxygen_names_the_package() {
    let folder = tempfile::tempdir().unwrap();
    let output = xtask().args(["docs", "--out"]).arg(folder.path()).env("PATH", folder.path()).output().unwrap();
    let text = String::from_utf8(output.stderr).expect("readable");
    assert!(!output.status.success() && text.contains("install the package doxygen"), "{text}");
}
