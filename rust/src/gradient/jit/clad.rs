//! Finding a clang and a Clad plugin that work together, and running a compiler with a time limit. A part of xtask too,
//! which knows nothing of this crate.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Newest first; a plugin works only with the clang that it was built for.
const VERSIONS: std::ops::RangeInclusive<u32> = 14..=23;

/// How long trying a compiler with a plugin may take.
const PROBE: Duration = Duration::from_secs(20);

/// A clang and a Clad plugin that work together.
#[derive(Clone, Debug)]
pub struct Clad {
    /// clang++
    pub compiler: PathBuf,
    /// clad.so
    pub plugin: PathBuf,
    /// The folder of Clad's headers.
    pub include: PathBuf,
}

impl Clad {
    /// The first pair that works; else what was looked for.
    pub fn find() -> Result<Clad, String> {
        let prefixes = prefixes();
        let compilers = compilers(&prefixes);
        let plugins = plugins(&prefixes);
        for (plugin, include) in &plugins {
            if let Some(compiler) = compilers.iter().find(|compiler| loads(compiler, plugin)) {
                let (compiler, plugin, include) = (compiler.clone(), plugin.clone(), include.clone());
                return Ok(Clad { compiler, plugin, include });
            }
        }
        let list = |paths: Vec<&PathBuf>| match &paths[..] {
            [] => "none".to_owned(),
            paths => paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" "),
        };
        Err(format!(
            "no clang++ with a Clad plugin that it can load (looked for lib/clad.so and include/clad in {}; plugins: {}; \
             compilers there and on PATH: {}). A plugin works only with the clang that it was built for. Clad comes with \
             conda-forge (clad, clangxx), with ROOT's own builds, and as source at https://github.com/vgvassilev/clad; \
             CLAD_ROOT names another prefix",
            list(prefixes.iter().collect()),
            list(plugins.iter().map(|(plugin, _)| plugin).collect()),
            list(compilers.iter().collect()),
        ))
    }
}

/// Where the user says, else the usual places.
fn prefixes() -> Vec<PathBuf> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(prefix) = variable("CLAD_ROOT") {
        return vec![prefix];
    }
    let root = variable("ROOTSYS").map(|root| root.join("etc/cling/plugins"));
    let usual = ["/usr/local", "/usr"].map(PathBuf::from);
    [variable("CONDA_PREFIX"), root].into_iter().flatten().chain(usual).collect()
}

fn compilers(prefixes: &[PathBuf]) -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    // A relative entry of PATH would run whatever lies in the working directory.
    let on_path = env::split_paths(&path).filter(|folder| folder.is_absolute());
    let folders: Vec<PathBuf> = prefixes.iter().map(|prefix| prefix.join("bin")).chain(on_path).collect();
    let names = std::iter::once("clang++".to_owned()).chain(VERSIONS.rev().map(|v| format!("clang++-{v}")));
    let mut found = Vec::new();
    for name in names {
        for candidate in folders.iter().map(|folder| folder.join(&name)) {
            if candidate.is_file() && !found.contains(&candidate) {
                found.push(candidate);
            }
        }
    }
    found
}

/// Every plugin with the include folder of its headers.
fn plugins(prefixes: &[PathBuf]) -> Vec<(PathBuf, PathBuf)> {
    let candidates = prefixes.iter().flat_map(|prefix| {
        ["lib", "lib64"].map(|folder| (prefix.join(folder).join("clad.so"), prefix.join("include")))
    });
    let complete = |(plugin, include): &(PathBuf, PathBuf)| {
        plugin.is_file() && include.join("clad/Differentiator/Differentiator.h").is_file()
    };
    candidates.filter(complete).collect()
}

/// Whether `compiler` accepts the plugin: one of another clang version does not load.
fn loads(compiler: &Path, plugin: &Path) -> bool {
    let mut argument = OsString::from("-fplugin=");
    argument.push(plugin);
    let mut command = Command::new(compiler);
    command.arg(argument).args(["-fsyntax-only", "-x", "c++", "/dev/null"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    wait(&mut command, Instant::now() + PROBE, || false).is_ok_and(|success| success)
}

/// Whether the command succeeded; it is ended at `end`, or where `stop` says so.
pub fn wait(command: &mut Command, end: Instant, stop: impl Fn() -> bool) -> Result<bool, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command.spawn().map_err(|error| format!("{program} could not be started: {error}"))?;
    let reason = loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.success()),
            Err(error) => break format!("{program}: {error}"),
            Ok(None) if stop() => break format!("{program} was ended: the compilation was cancelled"),
            Ok(None) if Instant::now() >= end => {
                break format!("{program} was ended: it took longer than the time limit");
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    // Best effort: it may have ended by itself in between.
    let _ = child.kill();
    let _ = child.wait();
    Err(reason)
}
