//! Who takes part, and by which process.

use std::process::Command;

use anyhow::Result;

/// One column of the table.
pub struct Party {
    /// `cladtorch`, `libtorch`, `pytorch-fused`, …
    pub who: &'static str,
    /// Its worker, or why it cannot take part.
    pub command: Result<Command, String>,
}

impl Party {
    /// Its worker gets `threads` threads from whatever library asks the environment.
    pub fn new(who: &'static str, threads: usize, command: Result<Command>) -> Self {
        let limited = |mut command: Command| {
            for variable in ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"] {
                command.env(variable, threads.to_string());
            }
            command
        };
        Self { who, command: command.map(limited).map_err(|error| format!("{error:#}")) }
    }
}
