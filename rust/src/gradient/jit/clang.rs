//! Running clang with Clad's plugin: without a shell, with a time limit, its messages kept.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::clad::{Clad, wait};

/// Whether compilers that run now are to be ended.
static CANCELLED: AtomicBool = AtomicBool::new(false);

/// With `true` ends the compilers that run and those that are started from now on; `false` lets them run again.
pub fn cancel(cancelled: bool) {
    CANCELLED.store(cancelled, Ordering::Relaxed);
}

/// The pair of this process.
#[derive(Clone, Debug)]
pub struct Clang {
    clad: Clad,
    /// Tells this pair from others: paths, sizes and times of change.
    pub identity: String,
}

impl Clang {
    /// The first pair that works, looked for once; else what was looked for.
    pub fn find() -> Result<&'static Clang, String> {
        static FOUND: OnceLock<Result<Clang, String>> = OnceLock::new();
        let search = || {
            let clad = Clad::find()?;
            let identity = [&clad.compiler, &clad.plugin].map(|path| identity(path)).join(" ");
            Ok(Clang { clad, identity })
        };
        FOUND.get_or_init(search).as_ref().map_err(Clone::clone)
    }

    /// Compiles `source` to the shared library `library`; both lie in `folder`, where Clad writes its derivatives too.
    pub fn compile(&self, folder: &Path, source: &str, library: &str, limit: Duration) -> Result<(), String> {
        let end = Instant::now() + limit;
        let mut plugin = OsString::from("-fplugin=");
        plugin.push(&self.clad.plugin);
        let mut compile = Command::new(&self.clad.compiler);
        compile
            .args(["-std=c++17", "-c", "-fPIC", "-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math"])
            .arg("-fvisibility=hidden")
            .arg("-DCLAD_NO_NUM_DIFF") // No difference quotients.
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
    let succeeded = wait(command, end, || CANCELLED.load(Ordering::Relaxed))?;
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
