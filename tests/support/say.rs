//! What a test says on screen although it passes: past the runner, which keeps what a good test prints.

use std::env;
use std::io::Write;

/// One line on the standard error stream.
pub fn say(line: &str) {
    // Nobody may be listening, and the test is none the worse for it.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// What begins a line about a part of a test that cannot run here, and why.
pub const NOT_TESTED: &str = "NOT TESTED: ";

/// Whether everything is to be tested, whatever time it takes: `CLADTORCH_COMPLETE` is in the environment.
pub fn is_complete() -> bool {
    env::var_os("CLADTORCH_COMPLETE").is_some()
}

/// Says so; with `CLADTORCH_COMPLETE` in the environment it is a failure.
pub fn not_tested(what: &str) {
    assert!(!is_complete(), "{NOT_TESTED}{what}");
    say(&format!("{NOT_TESTED}{what}"));
}
