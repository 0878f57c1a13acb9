//! Runs root.exe and Python with the plugin, as a user would, each in a folder of its own.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{env, fs, thread};

use crate::checkout::{place, source};
use crate::say::{NOT_TESTED, is_complete, not_tested};

/// Loading ROOT and compiling a macro takes seconds, or minutes on a slow machine that does other work; a session that
/// hangs must end before the runner does.
const LIMIT: Duration = Duration::from_secs(900);

/// SIGINT, which ends a process that has restored its handlers on its way out.
const CTRL_C: i32 = 2;

/// The line that every macro prints after all its checks.
const PASSED: &str = "ALL CHECKS PASSED";

/// A macro of `tests/root`.
pub fn script(name: &str) -> String {
    source().join("tests/root").join(name).display().to_string()
}

/// The folder of `libcladtorch.so`.
pub fn plugin() -> PathBuf {
    let folder = place("CLADTORCH_PLUGIN_DIR", "build/lib");
    assert!(
        folder.join("libcladtorch.so").exists(),
        "there is no plugin in {}: build it with `cargo xtask build`, or run `cargo xtask test`",
        folder.display()
    );
    folder
}

/// One session of root.exe or Python.
pub struct Session {
    folder: tempfile::TempDir,
    command: Command,
}

/// The outcome of a session.
pub struct Outcome {
    /// Standard output and error, in order.
    pub text: String,
    /// The exit code, 130 after the signal of Ctrl-C as in shells; `None` after any other signal.
    pub code: Option<i32>,
    /// Where it ran.
    pub folder: tempfile::TempDir,
}

impl Session {
    /// root.exe in batch mode.
    pub fn root(arguments: &[&str]) -> Session {
        let rootsys = place("CLADTORCH_ROOTSYS", ".deps/site-packages/ROOT");
        let mut session = Session::new(&rootsys.join("bin/root.exe"), &rootsys);
        session.command.args(["-l", "-b"]).args(arguments);
        session
    }

    /// Python with ROOT on its path.
    pub fn python(arguments: &[&str]) -> Session {
        let rootsys = place("CLADTORCH_ROOTSYS", ".deps/site-packages/ROOT");
        let python = env::var_os("CLADTORCH_PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from);
        let mut session = Session::new(&python, &rootsys);
        session.command.args(["-W", "ignore"]).args(arguments);
        session
    }

    fn new(program: &Path, rootsys: &Path) -> Session {
        let folder = tempfile::tempdir().unwrap();
        let mut libraries = vec![rootsys.join("lib"), plugin()];
        libraries.extend(env::var_os("LD_LIBRARY_PATH").iter().flat_map(env::split_paths));
        let modules = place("CLADTORCH_PYTHONPATH", ".deps/site-packages");
        let mut command = Command::new(program);
        command
            .current_dir(folder.path())
            .env("ROOTSYS", rootsys)
            .env("LD_LIBRARY_PATH", env::join_paths(libraries).unwrap())
            .env("PYTHONPATH", env::join_paths([plugin().join("python"), modules]).unwrap())
            .env("CLADTORCH_SOURCE_DIR", source())
            .env("ROOT_HIST", "0")
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null());
        Session { folder, command }
    }

    /// The interpreter compiles without optimisation, which saves a fifth to a third of the time of a macro: for macros
    /// whose checks do not depend on how it compiles them. Without optimisation it cannot link some inline functions of
    /// LibTorch, those with thread-local variables. If everything is tested it optimises as usual.
    pub fn unoptimised(self) -> Session {
        if is_complete() { self } else { self.with("EXTRA_CLING_ARGS", Path::new("-O0")) }
    }

    /// Sets a variable in its environment.
    pub fn with(mut self, name: &str, value: &Path) -> Session {
        self.command.env(name, value);
        self
    }

    /// Limits its address space to `kib` KiB.
    pub fn limited_to(self, kib: u64) -> Session {
        self.behind("bash", &["-c", &format!("ulimit -v {kib}; exec \"$0\" \"$@\"")])
    }

    /// Starts it by another program, which gets it and its arguments as its own last arguments.
    pub fn behind(mut self, program: &str, arguments: &[&str]) -> Session {
        let mut command = Command::new(program);
        command.args(arguments).arg(self.command.get_program()).args(self.command.get_args());
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        for (name, value) in self.command.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        self.command = command;
        self
    }

    /// Runs it in `folder` instead of an empty one.
    pub fn within(mut self, folder: &Path) -> Session {
        self.command.current_dir(folder);
        self
    }

    /// Types `lines` at the prompt.
    pub fn typing(mut self, lines: &str) -> Session {
        let path = self.folder.path().join("stdin");
        fs::write(&path, lines).unwrap();
        self.command.stdin(File::open(path).unwrap());
        self
    }

    /// The folder in which it runs, for files that it needs.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs to the end; a session that takes too long is ended, and fails the test.
    pub fn run(self) -> Outcome {
        self.run_with(|_, _| {})
    }

    /// The same; Ctrl-C is pressed once `sign` is printed.
    pub fn run_interrupted_at(self, sign: &str) -> Outcome {
        let mut sent = false;
        self.run_with(|child, text| {
            if !sent && text.contains(sign) {
                sent = true;
                press_ctrl_c(child);
            }
        })
    }

    /// The same; Ctrl-C is pressed half a second after `sign`, and once more after `gap`.
    pub fn run_interrupted_twice_at(self, sign: &str, gap: Duration) -> Outcome {
        let mut sent = false;
        self.run_with(|child, text| {
            if !sent && text.contains(sign) {
                sent = true;
                let press = |child: &Child| Command::new("kill").args(["-INT", &child.id().to_string()]).status();
                thread::sleep(Duration::from_millis(500));
                press(child).unwrap();
                thread::sleep(gap);
                press(child).unwrap();
            }
        })
    }

    /// The same; Ctrl-C is pressed at a random moment within half a second after each line that begins with `sign`.
    pub fn run_interrupted_at_each(self, sign: &str) -> Outcome {
        let mut sent = 0;
        self.run_with(|child, text| {
            if sent < text.lines().filter(|line| line.starts_with(sign)).count() {
                sent += 1;
                let moment = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos() % 400;
                thread::sleep(Duration::from_millis(100 + u64::from(moment)));
                press_ctrl_c(child);
            }
        })
    }

    /// The same; `watch` is called repeatedly with the process and its output.
    pub fn run_with(mut self, mut watch: impl FnMut(&Child, &str)) -> Outcome {
        let log = self.folder.path().join("output");
        let output = File::create(&log).unwrap();
        let mut child = self
            .command
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .spawn()
            .unwrap_or_else(|error| panic!("{:?}: {error}", self.command.get_program()));
        let read = || String::from_utf8_lossy(&fs::read(&log).unwrap()).into_owned();
        let end = Instant::now() + LIMIT;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            watch(&child, &read());
            if Instant::now() > end {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("{:?} still ran after {LIMIT:?}:\n{}", self.command, read());
            }
            thread::sleep(Duration::from_millis(20));
        };
        let code = status.code().or((status.signal() == Some(CTRL_C)).then_some(130));
        Outcome { text: read(), code, folder: self.folder }
    }
}

fn press_ctrl_c(child: &Child) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
}

impl Outcome {
    /// The session succeeded, and reported that it had checked all; parts that it reported as not tested are shown, or
    /// fail.
    pub fn passed(self) -> Outcome {
        assert!(
            self.code == Some(0) && self.text.contains(PASSED),
            "exit code {:?}, and {PASSED:?} was {}printed:\n{}",
            self.code,
            if self.text.contains(PASSED) { "" } else { "not " },
            self.text
        );
        self.text.lines().filter_map(|line| line.split_once(NOT_TESTED)).for_each(|(_, what)| not_tested(what));
        self
    }

    /// The output has every one of `parts`.
    pub fn says(self, parts: &[&str]) -> Outcome {
        for part in parts {
            assert!(self.text.contains(part), "{part:?} is missing in:\n{}", self.text);
        }
        self
    }

    /// The output has none of `parts`.
    pub fn hides(self, parts: &[&str]) -> Outcome {
        for part in parts {
            assert!(!self.text.contains(part), "{part:?} should not be in:\n{}", self.text);
        }
        self
    }

    /// Prints the lines that contain `part`: past the test runner, which withholds the output of passing tests.
    pub fn show(&self, part: &str) {
        for line in self.text.lines().filter(|line| line.contains(part)) {
            let name = thread::current().name().unwrap_or_default().to_owned();
            // Past the test runner's capture: the figure should be visible after success, too.
            let _ = std::io::stderr().write_all(format!("{name}: {line}\n").as_bytes());
        }
    }

    /// The path of `file` in the session's folder, valid as long as this outcome is kept.
    pub fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    /// Checks that `file` was written in the session's folder.
    pub fn wrote(self, file: &str) -> Outcome {
        let size = fs::metadata(self.path(file)).map_or(0, |data| data.len());
        assert!(size > 0, "{file} was not written:\n{}", self.text);
        self
    }
}
