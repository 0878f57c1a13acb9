//! Runs clang with Clad's plugin, without a shell and with a time limit, and keeps its messages.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::clad::{Clad, wait};
use crate::interrupt;

/// As good as for ever.
const FAR: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Where to look, according to the environment.
type Place = [Option<OsString>; 2];

/// The result for that environment.
type Found = (Place, Result<Arc<Clang>, String>);

/// How functions are compiled. No difference quotients in Clad's stead. Loops are vector code only where all that they call
/// is inlined, however deep: without the threshold a derivative by Clad that calls another one, as that of gelu does, runs
/// number by number, which took twice as long for a network as everything else in it.
pub const FLAGS: &[&str] = &[
    "-std=c++17",
    "-fPIC",
    "-O3",
    "-march=native",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fvisibility=hidden",
    "-DCLAD_NO_NUM_DIFF",
    "-mllvm",
    "-inline-threshold=10000",
    "-c",
];

/// Another one where texts are refused that compiled before.
pub const REVISION: &str = "warnings of bugs in Clad are errors";

/// The pair of this process.
#[derive(Clone, Debug)]
pub struct Clang {
    clad: Clad,
    /// Tells this pair, on this processor, from others: paths, sizes, times of change, instructions.
    pub identity: String,
}

impl Clang {
    /// The first pair that works; else what was looked for. Looked for once, and again when the environment names
    /// another place.
    pub fn find() -> Result<Arc<Clang>, String> {
        static FOUND: Mutex<Option<Found>> = Mutex::new(None);
        let place = ["CLAD_ROOT", "PATH"].map(env::var_os);
        // A search that panicked left what was there before.
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, outcome)) = found.as_ref().filter(|(looked, _)| *looked == place) {
            return outcome.clone();
        }
        let outcome = Clad::find().map(|clad| {
            let identity = [identity(&clad.compiler), identity(&clad.plugin), processor()].join(" ");
            Arc::new(Clang { clad, identity })
        });
        *found = Some((place, outcome.clone()));
        outcome
    }

    /// Compiles `source` to the shared library `library`; both lie in `folder`, where Clad writes its derivatives too.
    pub fn compile(&self, folder: &Path, source: &str, library: &str, limit: Duration) -> Result<(), String> {
        let now = Instant::now();
        let end = now.checked_add(limit).unwrap_or(now + FAR);
        let mut plugin = OsString::from("-fplugin=");
        plugin.push(&self.clad.plugin);
        let mut compile = Command::new(&self.clad.compiler);
        compile
            .args(FLAGS)
            .arg(plugin)
            .args(["-Xclang", "-plugin-arg-clad", "-Xclang", "-fgenerate-source-file", "-isystem"])
            .arg(&self.clad.include)
            .args(["-o", "function.o", source]);
        run(&mut compile, folder, end)?;
        let mut link = Command::new(&self.clad.compiler);
        link.args(["-shared", "-o", library, "function.o"]);
        run(&mut link, folder, end)?;
        fs::remove_file(folder.join("function.o")).map_err(|error| error.to_string())
    }
}

/// Model and instructions of the first processor, for which `-march=native` compiles: the cache may be shared by
/// machines.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let first = text.split("\n\n").next().unwrap_or_default();
    let keys = ["model name", "flags", "CPU implementer", "CPU part", "Features"];
    first.lines().filter(|line| keys.iter().any(|key| line.starts_with(key))).collect::<Vec<_>>().join(" ")
}

fn identity(path: &Path) -> String {
    let metadata = fs::metadata(path);
    let time = metadata.as_ref().ok().and_then(|metadata| metadata.modified().ok());
    format!("{} {} {time:?}", path.display(), metadata.map_or(0, |metadata| metadata.len()))
}

/// Runs a command in `folder` until `end`; its output becomes the error.
fn run(command: &mut Command, folder: &Path, end: Instant) -> Result<(), String> {
    let messages = folder.join("messages.txt");
    let file = File::create(&messages).map_err(|error| format!("{}: {error}", messages.display()))?;
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
    let succeeded = wait(command, end, interrupt::requested)?;
    let bytes = fs::read(&messages).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 16)]).into_owned();
    let with = |part: &str| text.lines().filter(|line| line.contains(part)).take(3).collect::<Vec<_>>().join("; ");
    if !succeeded {
        return Err(format!("the compiler failed: {}", with("error")));
    }
    // Only warnings of Clad's, with a derivative of 0 or of something else.
    match [with("attempted differentiation"), with("this is a clad bug")] {
        [unknown, _] if !unknown.is_empty() => Err(format!("Clad lacks a rule: {unknown}")),
        [_, bug] if !bug.is_empty() => Err(format!(
            "Clad meets a bug of its own (write it simpler, every variable in a statement of its own): {bug}"
        )),
        _ => Ok(()),
    }
}
