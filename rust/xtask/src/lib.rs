//! What xtask's commands and the benchmark share: the checkout, the results of the set-up, and the build.

pub mod clad;
pub mod environment;
mod fetch;
pub mod libtorch;
pub mod plugin;
pub mod process;
pub mod project;
pub mod python;
pub mod requirements;
pub mod root;
pub mod setup;
mod stamp;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// What the machine already has and need not be fetched.
#[derive(Args, Clone, Debug, Default)]
pub struct Given {
    /// ROOT installation (6.40 or newer, C++17); else ROOTSYS, else `root-config` on PATH where it fits, else fetched
    #[arg(long, value_name = "DIR", global = true)]
    root: Option<PathBuf>,
    /// LibTorch 2.11 folder with lib/ and include/; else LIBTORCH, else fetched
    #[arg(long, value_name = "DIR", global = true)]
    libtorch: Option<PathBuf>,
}

impl Given {
    /// The options that have the same meaning for another program.
    pub fn arguments(&self) -> Vec<OsString> {
        let options = [("--root", &self.root), ("--libtorch", &self.libtorch)];
        let given = options.into_iter().filter_map(|(name, dir)| Some([name.into(), dir.as_ref()?.into()]));
        given.flatten().collect()
    }

    fn root(&self) -> Option<PathBuf> {
        self.root.clone().or_else(|| variable("ROOTSYS"))
    }

    fn libtorch(&self) -> Option<PathBuf> {
        self.libtorch.clone().or_else(|| variable("LIBTORCH"))
    }
}

/// The folder that the environment variable names; an empty variable names none.
fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
