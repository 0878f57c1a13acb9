//! `build` and `install`: both drive CMake, which calls cargo for the core.

use std::path::Path;

use anyhow::Result;

use crate::environment::Environment;
use crate::process::step;
use crate::project;

/// Builds the plugin into `build/lib`.
pub fn build(environment: &Environment) -> Result<()> {
    build_in(environment, &project::build(), &[])
}

/// Builds the plugin into `folder/lib`, with further `settings` of CMake.
pub fn build_in(environment: &Environment, folder: &Path, settings: &[String]) -> Result<()> {
    let mut configure = environment.cmake();
    configure.arg("-S").arg(project::root().join("cpp")).arg("-B").arg(folder);
    // No -G: the environment selects Ninja, and a build folder with another generator keeps it.
    configure
        .arg(setting("ROOTSYS", &environment.root.dir))
        .arg(setting("LIBTORCH", &environment.libtorch))
        .args(settings);
    step("configuring", &mut configure)?;
    step("building", environment.cmake().arg("--build").arg(folder))
}

/// Builds the plugin and installs it into `prefix`.
pub fn install(environment: &Environment, prefix: &Path) -> Result<()> {
    build(environment)?;
    let prefix = std::path::absolute(prefix)?;
    step("installing", environment.cmake().arg("--install").arg(project::build()).arg("--prefix").arg(prefix))
}

fn setting(name: &str, value: &Path) -> String {
    format!("-D{name}:PATH={}", value.display())
}
