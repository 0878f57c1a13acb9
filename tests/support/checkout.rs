//! The checkout, its build, and a ROOT outside of it.

// Some of its functions are for some tests only.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

/// The checkout.
pub fn source() -> PathBuf {
    let here = || fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).expect("the checkout is there");
    env::var_os("CLADTORCH_SOURCE_DIR").map_or_else(here, PathBuf::from)
}

/// The folder of the build and its tools: given by the test command, otherwise the checkout's usual places.
pub fn place(variable: &str, usual: &str) -> PathBuf {
    env::var_os(variable).map_or_else(|| source().join(usual), PathBuf::from)
}

/// The Python that ROOT belongs to.
pub fn python() -> PathBuf {
    env::var_os("CLADTORCH_PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from)
}

/// The program behind `cargo xtask`, built if necessary.
pub fn xtask() -> Command {
    let cargo = env::var_os("CARGO").expect("tests run under cargo");
    let mut build = Command::new(cargo);
    build.current_dir(source()).args(["build", "--quiet", "--package", "xtask"]);
    assert!(build.status().expect("cargo starts").success());
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| source().join("target"), PathBuf::from);
    let mut command = Command::new(target.join("debug/xtask"));
    command.env_remove("ROOTSYS").env_remove("LIBTORCH");
    command
}

/// The output of `command`, which must succeed.
pub fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?} ended with {}\n{out}\n{err}", output.status);
    output
}

/// The ROOT of the set-up, linked or copied to `folder` with the packages beside it; the user's own as it is.
pub fn root_outside(folder: &Path) -> PathBuf {
    let root = fs::canonicalize(place("CLADTORCH_ROOTSYS", ".deps/site-packages/ROOT")).expect("ROOT is there");
    let deps = fs::canonicalize(source().join(".deps")).unwrap_or_else(|_| source());
    if !root.starts_with(source()) && !root.starts_with(deps) {
        return root;
    }
    copy_root(root.parent().expect("ROOT lies in a folder"), folder)
}

/// Links or copies the ROOT of pip's folder `packages` to `folder`, with the packages beside it.
pub fn copy_root(packages: &Path, folder: &Path) -> PathBuf {
    for part in ["ROOT", "root.libs", "cppyy"].map(|name| packages.join(name)) {
        let linked =
            Command::new("cp").arg("-al").arg(&part).arg(folder).output().is_ok_and(|done| done.status.success());
        if !linked {
            succeed(Command::new("cp").arg("-a").arg(part).arg(folder));
        }
    }
    folder.join("ROOT")
}
