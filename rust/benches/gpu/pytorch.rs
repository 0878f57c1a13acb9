//! PyTorch in a process of its own, which answers line by line: see `rust/bench/peers/gpu.py`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The script, which the process gets as text.
const SCRIPT: &str = include_str!("../../bench/peers/gpu.py");

/// PyTorch with one way to train.
pub struct PyTorch {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl PyTorch {
    /// Starts it: `eager`, `graph` or `compile`.
    pub fn start(python: &str, way: &str) -> Result<Self, String> {
        let mut command = Command::new(python);
        command.args(["-c", SCRIPT, way]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("{python}: {error}"))?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("{python} has no pipes"));
        };
        Ok(PyTorch { child, requests, answers: BufReader::new(answers) })
    }

    /// Sends a line and returns the number that it answers.
    pub fn ask(&mut self, request: &str) -> Result<f64, String> {
        writeln!(self.requests, "{request}").map_err(|error| format!("PyTorch: {error}"))?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer).map_err(|error| format!("PyTorch: {error}"))?;
        answer.trim().parse().map_err(|_| format!("PyTorch answers {answer:?} to {request}"))
    }
}

impl Drop for PyTorch {
    fn drop(&mut self) {
        // It ends with its input; whether it has ended already does not matter.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
