//! The test programs of the workspace, several at a time: most of them keep one core busy.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::num::NonZero;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};

/// The largest number of programs at a time; further cores are for the threads of each.
const MOST_AT_A_TIME: usize = 4;
/// The slowest ones start first, so that none of them is left for the end.
const LONGEST: [&str; 11] =
    ["root", "compile", "root_gw", "cuda_training", "torch", "wheel", "jit", "cuda", "ranks", "readme", "cpp_header"];

/// Threads of these wait for one another in busy loops: beside another program they take many times as long.
const ALONE: [&str; 6] = ["engine", "modules", "operators", "packing", "random_graphs", "training"];

/// A unit that `cargo test` runs: a test program, or the unit tests.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    name: String,
    arguments: Vec<String>,
}

/// The programs in the output of `cargo test --no-run`, and all unit tests as one; the slowest first.
pub fn programs(said: &str) -> Vec<Program> {
    let test = |line: &str| {
        let path = line.trim().strip_prefix("Executable ")?.split(" (").next()?;
        let name = Path::new(path).file_stem()?.to_str()?.to_owned();
        // Unit tests: "unittests src/lib.rs".
        (!path.starts_with("unittests ")).then(|| Program { arguments: vec!["--test".into(), name.clone()], name })
    };
    let units = Program { name: "unit tests".into(), arguments: vec!["--lib".into(), "--bins".into()] };
    let mut all: Vec<Program> = said.lines().filter_map(test).chain([units]).collect();
    all.sort_by_key(|program| LONGEST.iter().position(|name| *name == program.name).unwrap_or(LONGEST.len()));
    all
}

/// Runs all of them with the `cargo test` that `command` makes, and shows the output of each when it has ended; fails
/// with the names of those that failed.
pub fn run(programs: Vec<Program>, command: impl Fn() -> Command + Sync) -> Result<()> {
    let (count, start) = (programs.len(), Instant::now());
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let at_a_time = cores.min(MOST_AT_A_TIME);
    println!("==> {count} test programs, up to {at_a_time} at a time; each prints when it has ended");
    let (alone, others) = programs.into_iter().partition(|program| ALONE.contains(&program.name.as_str()));
    let mut failed = side_by_side(alone, 1, cores, &command)?;
    failed.extend(side_by_side(others, at_a_time, cores / at_a_time, &command)?);
    if !failed.is_empty() {
        bail!("of {count} test programs these failed: {}", failed.join(", "));
    }
    println!("==> {count} test programs passed: {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Runs `at_a_time` of the programs at once, with `tests` threads for the tests of each; returns the names of those that
/// failed.
fn side_by_side(
    programs: Vec<Program>,
    at_a_time: usize,
    tests: usize,
    command: &(impl Fn() -> Command + Sync),
) -> Result<Vec<String>> {
    let waiting = Mutex::new(VecDeque::from(programs));
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let work = || -> Result<Vec<String>> {
        let mut failed = Vec::new();
        while let Some(program) = next() {
            let mut cargo = command();
            cargo.args(&program.arguments).env("RUST_TEST_THREADS", tests.to_string());
            if !shown(&program.name, &mut cargo)?.success() {
                failed.push(program.name);
            }
        }
        Ok(failed)
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..at_a_time).map(|_| scope.spawn(work)).collect();
        let failed = workers.into_iter().map(|worker| worker.join().map_err(|_| anyhow!("a worker panicked"))?);
        Ok(failed.collect::<Result<Vec<_>>>()?.concat())
    })
}

/// Runs `command`, then prints its output.
fn shown(name: &str, command: &mut Command) -> Result<ExitStatus> {
    let start = Instant::now();
    let mut log = tempfile::tempfile().context("cannot make a file for the output of tests")?;
    let copy = |log: &File| log.try_clone().context("cannot write the output of tests");
    let status = command.stdout(copy(&log)?).stderr(copy(&log)?).status().context("cannot start cargo")?;
    let mut text = Vec::new();
    log.rewind()?;
    log.read_to_end(&mut text)?;
    let mut screen = io::stdout().lock();
    writeln!(screen, "==> {name}")?;
    screen.write_all(&text)?;
    writeln!(screen, "==> {name}: {:.1} s", start.elapsed().as_secs_f64())?;
    Ok(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(programs: &[Program]) -> Vec<&str> {
        programs.iter().map(|program| program.name.as_str()).collect()
    }

    #[test]
    fn what_cargo_builds_is_run_the_longest_first() {
        let said = "    Finished `release` profile\n  Executable unittests src/lib.rs (target/release/deps/a-1)\n  \
                    Executable ../tests/weights.rs (target/release/deps/weights-2)\n  \
                    Executable ../tests/compile.rs (target/release/deps/compile-3)\n";
        let found = programs(said);
        assert_eq!(named(&found), ["compile", "weights", "unit tests"]);
        assert_eq!(found[1].arguments, ["--test", "weights"]);
    }

    #[test]
    fn every_program_runs_and_failures_are_named() {
        let program = |text: &str| Program { name: text.to_owned(), arguments: vec!["-c".into(), text.to_owned()] };
        let folder = tempfile::tempdir().unwrap();
        let shell = || {
            let mut shell = Command::new("sh");
            shell.current_dir(folder.path());
            shell
        };
        let all: Vec<Program> = (0..9).map(|i| program(&format!("touch {i}"))).collect();
        run(all.clone(), shell).unwrap();
        assert_eq!(folder.path().read_dir().unwrap().count(), 9);
        let error = run(all.into_iter().chain([program("exit 3")]).collect(), shell).unwrap_err().to_string();
        assert_eq!(error, "of 10 test programs these failed: exit 3");
    }
}
