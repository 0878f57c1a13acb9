//! Finding clang with Clad's plugin, and running it: without a shell, with a time limit, its messages kept.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Newest first; a plugin works only with the clang that it was built for.
const VERSIONS: std::ops::RangeInclusive<u32> = 14..=23;

/// How long trying a compiler with a plugin may take.
const PROBE: Duration = Duration::from_secs(20);

/// A clang and a Clad plugin that work together.
#[derive(Clone, Debug)]
pub struct Clang {
    compiler: PathBuf,
    plugin: PathBuf,
    include: PathBuf,
    /// Tells this pair from others: paths, sizes and times of change.
    pub identity: String,
}

impl Clang {
    /// The first pair that works, looked for once; else what was looked for.
    pub fn find() -> Result<&'static Clang, String> {
        static FOUND: OnceLock<Result<Clang, String>> = OnceLock::new();
        FOUND.get_or_init(search).as_ref().map_err(Clone::clone)
    }

    /// Compiles `source` to the shared library `library`; both lie in `folder`, where Clad writes its derivatives too.
    pub fn compile(&self, folder: &Path, source: &str, library: &str, limit: Duration) -> Result<(), String> {
        let end = Instant::now() + limit;
        let mut plugin = OsString::from("-fplugin=");
        plugin.push(&self.plugin);
        let mut compile = Command::new(&self.compiler);
        compile
            .args(["-std=c++17", "-c", "-fPIC", "-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math"])
            .arg("-fvisibility=hidden")
            .arg("-DCLAD_NO_NUM_DIFF") // No difference quotients.
            .arg(plugin)
            .args(["-Xclang", "-plugin-arg-clad", "-Xclang", "-fgenerate-source-file", "-isystem"])
            .arg(&self.include)
            .args(["-o", "function.o", source]);
        run(&mut compile, folder, end)?;
        let mut link = Command::new(&self.compiler);
        link.args(["-shared", "-o", library, "function.o"]);
        run(&mut link, folder, end)?;
        fs::remove_file(folder.join("function.o")).map_err(|error| error.to_string())
    }
}

fn search() -> Result<Clang, String> {
    let prefixes = prefixes();
    let compilers = compilers(&prefixes);
    let plugins = plugins(&prefixes);
    for (plugin, include) in &plugins {
        for compiler in &compilers {
            if loads(compiler, plugin) {
                let identity = [compiler, plugin].map(|path| identity(path)).join(" ");
                return Ok(Clang {
                    compiler: compiler.clone(),
                    plugin: plugin.clone(),
                    include: include.clone(),
                    identity,
                });
            }
        }
    }
    let list = |paths: Vec<&PathBuf>| match &paths[..] {
        [] => "none".to_owned(),
        paths => paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" "),
    };
    Err(format!(
        "no clang++ with a Clad plugin that it can load (looked in {}; plugins: {}; compilers there and on PATH: {}); \
         conda-forge has both (clad, clangxx), CLAD_ROOT names another prefix",
        list(prefixes.iter().collect()),
        list(plugins.iter().map(|(plugin, _)| plugin).collect()),
        list(compilers.iter().collect()),
    ))
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

fn loads(compiler: &Path, plugin: &Path) -> bool {
    let mut argument = OsString::from("-fplugin=");
    argument.push(plugin);
    let mut command = Command::new(compiler);
    command.arg(argument).args(["-fsyntax-only", "-x", "c++", "/dev/null"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    wait(&mut command, Instant::now() + PROBE).is_ok_and(|success| success)
}

fn identity(path: &Path) -> String {
    let metadata = fs::metadata(path);
    let time = metadata.as_ref().ok().and_then(|metadata| metadata.modified().ok());
    format!("{} {} {time:?}", path.display(), metadata.map_or(0, |metadata| metadata.len()))
}

/// Runs a command in `folder` until `end`; what it says becomes the error.
fn run(command: &mut Command, folder: &Path, end: Instant) -> Result<(), String> {
    let messages = folder.join("messages.txt");
    let file = File::create(&messages).map_err(|error| format!("{}: {error}", messages.display()))?;
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
    let succeeded = wait(command, end)?;
    let bytes = fs::read(&messages).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 16)]).into_owned();
    let with = |part: &str| text.lines().filter(|line| line.contains(part)).take(3).collect::<Vec<_>>().join("; ");
    if !succeeded {
        return Err(format!("the compiler failed: {}", with("error")));
    }
    // Only a warning of Clad's, with a derivative of 0.
    let unknown = with("attempted differentiation");
    if unknown.is_empty() { Ok(()) } else { Err(format!("Clad lacks a rule: {unknown}")) }
}

/// Whether the command succeeded; one that is not done at `end` is ended.
fn wait(command: &mut Command, end: Instant) -> Result<bool, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command.spawn().map_err(|error| format!("{program} could not be started: {error}"))?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.success()),
            Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(10)),
            outcome => {
                // Best effort: it may have ended by itself in between.
                let _ = child.kill();
                let _ = child.wait();
                return Err(match outcome {
                    Err(error) => format!("{program}: {error}"),
                    _ => format!("{program} was ended: it took longer than the time limit"),
                });
            }
        }
    }
}
