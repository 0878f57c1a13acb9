//! `demo`: the classifiers of `root_macros/`, trained in root.exe.

use std::fs;

use anyhow::{Context, Result};

use xtask::process::step;
use xtask::{Given, plugin, project, setup};

const MACROS: [&str; 2] = ["gw_classify.C", "higgs_classify.C"];

/// Runs each macro in `build/demo`, where it leaves its plots and its model.
pub fn run(given: &Given) -> Result<()> {
    let environment = setup::run(given)?;
    plugin::build(&environment)?;
    let folder = project::build().join("demo");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for name in MACROS {
        let mut root = environment.root_exe();
        root.args(["-l", "-b", "-q"]).arg(project::root().join("root_macros").join(name)).current_dir(&folder);
        step(name, &mut root)?;
    }
    println!("plots and models are in {}", folder.display());
    Ok(())
}
