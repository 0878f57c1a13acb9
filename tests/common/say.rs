//! What a test says on screen although it passes: past the runner, which keeps what a good test prints.

use std::io::Write;

/// One line on the standard error stream.
pub fn say(line: &str) {
    // Nobody may be listening, and the test is none the worse for it.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}
