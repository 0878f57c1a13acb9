//! What `cargo xtask` refuses, each with one clear line, and that a second set-up does nothing.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use tempfile::TempDir;

fn source() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::canonicalize(manifest.join("..")).expect("the checkout is there")
}

/// The program behind `cargo xtask`, built if need be.
fn xtask() -> Command {
    let cargo = env::var_os("CARGO").expect("tests run under cargo");
    let mut build = Command::new(cargo);
    build.current_dir(source()).args(["build", "--quiet", "--package", "xtask"]);
    assert!(build.status().expect("cargo starts").success());
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| source().join("target"), PathBuf::from);
    let mut command = Command::new(target.join("debug/xtask"));
    command.env_remove("ROOTSYS").env_remove("LIBTORCH");
    command
}

/// The one line with which a set-up with `option` `dir` ends.
fn refusal(option: &str, dir: &Path) -> String {
    let output = xtask().args(["setup", option]).arg(dir).output().expect("xtask starts");
    assert!(!output.status.success(), "{option} {} was accepted", dir.display());
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

/// A folder that says it is LibTorch `version`, with `libraries`.
fn libtorch(version: &str, libraries: &[&str]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let package = dir.path().join("share/cmake/Torch/TorchConfigVersion.cmake");
    write(&package, &format!("set(PACKAGE_VERSION \"{version}\")\n"));
    for library in libraries {
        write(&dir.path().join("lib").join(library), "");
    }
    dir
}

/// A folder that says it is ROOT `version` built with `standard`.
fn root(version: &str, standard: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("bin/root-config");
    let answers =
        format!("--version) echo {version};; --cflags) echo -pthread -std={standard} -m64;; --libdir) echo lib;;");
    write(&config, &format!("#!/bin/sh\ncase $1 in {answers} esac\n"));
    fs::set_permissions(&config, fs::Permissions::from_mode(0o755)).unwrap();
    dir
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
        let text = refusal("--root", root("6.36.02", standard).path());
        assert!(text.contains(standard) && text.contains("C++17"), "{text}");
    }
}

#[test]
fn an_old_root_is_refused() {
    for version in ["6.30/08", "6.8.00", "5.34/38"] {
        let text = refusal("--root", root(version, "c++17").path());
        assert!(text.contains(version) && text.contains("6.32"), "{text}");
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
fn a_second_setup_does_nothing() {
    let stamp = source().join(".deps/site-packages/cladtorch-setup.txt");
    assert!(stamp.exists(), "run `cargo xtask setup` first");
    let before = fs::metadata(&stamp).unwrap().modified().unwrap();
    let mut command = xtask();
    // The same choice as the run that made the set-up.
    for (option, variable) in [("--root", "CLADTORCH_ROOTSYS"), ("--libtorch", "CLADTORCH_LIBTORCH")] {
        if let Some(dir) = env::var_os(variable) {
            command.arg(option).arg(dir);
        }
    }
    let start = Instant::now();
    let Output { status, stdout, .. } = command.arg("setup").output().expect("xtask starts");
    let seconds = start.elapsed();
    assert!(status.success());
    assert_eq!(String::from_utf8_lossy(&stdout).trim(), "set-up: nothing to do");
    assert_eq!(fs::metadata(&stamp).unwrap().modified().unwrap(), before);
    assert!(seconds < Duration::from_secs(2), "{seconds:?}");
}
