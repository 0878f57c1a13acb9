//! Messages that a test prints although it passes: past the runner, which withholds the output of passing tests.

use std::env;
use std::io::Write;

/// One line on the standard error stream.
pub fn say(line: &str) {
    // If nothing reads the message, the test is unaffected.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// The beginning of a line about a part of a test that cannot run here, and why.
pub const NOT_TESTED: &str = "NOT TESTED: ";

/// Whether to test everything, whatever time it takes: `CLADTORCH_COMPLETE` is in the environment.
pub fn is_complete() -> bool {
    env::var_os("CLADTORCH_COMPLETE").is_some()
}

/// Reports it; with `CLADTORCH_COMPLETE` in the environment it is a failure.
pub fn not_tested(what: &str) {
    assert!(!is_complete(), "{NOT_TESTED}{what}");
    say(&format!("{NOT_TESTED}{what}"));
}
