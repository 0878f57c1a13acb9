//! The results of the set-up, found or fetched, and how child processes learn of them.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::project;
use crate::python::Python;
use crate::root::Root;

/// Paths of everything that a build or a test run uses.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The program.
    pub cmake: PathBuf,
    /// The installation, fetched or the user's.
    pub root: Root,
    /// The folder with lib/ and include/.
    pub libtorch: PathBuf,
    /// The program.
    pub ninja: PathBuf,
    python: PathBuf,
}

impl Environment {
    /// The fetched ROOT goes with the Python it was fetched for, the user's with theirs.
    pub fn new(site_packages: &Path, root: Root, libtorch: PathBuf, fetched_for: Option<&Python>) -> Self {
        Self {
            cmake: site_packages.join("cmake/data/bin/cmake"),
            ninja: site_packages.join("bin/ninja"),
            root,
            libtorch,
            python: fetched_for.map_or_else(|| PathBuf::from("python3"), |python| python.path.clone()),
        }
    }

    /// The CMake of the set-up, with Ninja for any CMake that is started by it.
    pub fn cmake(&self) -> Command {
        let mut command = Command::new(&self.cmake);
        self.describe_tools(&mut command);
        command
    }

    /// `cargo` with the settings that CMake also passes, so that nothing is built twice.
    pub fn cargo(&self) -> Command {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(project::root()).env("LIBTORCH", &self.libtorch);
        self.describe_tools(&mut command);
        command
    }

    /// `root.exe` with the plugin of the build folder.
    pub fn root_exe(&self) -> Command {
        self.session(self.root.dir.join("bin/root.exe"))
    }

    /// Python with ROOT's modules, the module `cladtorch` and the plugin of the build folder.
    pub fn python(&self) -> Command {
        self.session(self.python.clone())
    }

    fn session(&self, program: PathBuf) -> Command {
        let libraries = [project::build().join("lib"), self.root.libraries.clone()];
        let modules = [project::build().join("lib/python"), self.root.modules.clone()];
        let mut command = Command::new(program);
        command
            .env("ROOTSYS", &self.root.dir)
            .env("PYTHONPATH", prepend("PYTHONPATH", &modules))
            .env("LD_LIBRARY_PATH", prepend("LD_LIBRARY_PATH", &libraries))
            // The plugin adds its headers itself; this is for users who include them before it is loaded.
            .env("ROOT_INCLUDE_PATH", prepend("ROOT_INCLUDE_PATH", &[project::build().join("include")]));
        command
    }

    /// Tells the tests the paths.
    pub fn describe(&self, command: &mut Command) {
        command
            .env("CLADTORCH_SOURCE_DIR", project::root())
            .env("CLADTORCH_PLUGIN_DIR", project::build().join("lib"))
            .env("CLADTORCH_ROOTSYS", &self.root.dir)
            .env("CLADTORCH_LIBTORCH", &self.libtorch)
            .env("CLADTORCH_CMAKE", &self.cmake)
            .env("CLADTORCH_NINJA", &self.ninja)
            .env("CLADTORCH_PYTHON", &self.python)
            .env("CLADTORCH_PYTHONPATH", &self.root.modules);
    }

    fn describe_tools(&self, command: &mut Command) {
        let tools: Vec<_> = self.ninja.parent().map(Path::to_path_buf).into_iter().collect();
        command.env("CMAKE", &self.cmake).env("CMAKE_GENERATOR", "Ninja").env("PATH", prepend("PATH", &tools));
    }
}

/// The search path `variable` with `first` before its contents.
fn prepend(variable: &str, first: &[PathBuf]) -> OsString {
    let old = env::var_os(variable).unwrap_or_default();
    let rest = env::split_paths(&old).filter(|path| !path.as_os_str().is_empty());
    env::join_paths(first.iter().cloned().chain(rest)).unwrap_or(old.clone())
}
