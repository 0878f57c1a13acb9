//! The parties, and their processes.

use std::process::Command;

use anyhow::Result;

/// The party whose times divide those of the others.
pub const OURS: &str = "cladtorch";

/// A program of our kernels alone.
pub const BY_HAND: &str = "by-hand";

/// The party that measures how fast the machine multiplies matrices.
pub const GAUGE: &str = "gauge";

/// In `read`, the part of the work that no reader can omit: not a peer, but a reference for all.
pub const BARE: &str = "codec-alone";

/// Whether it is a peer: not CladTorch in one form or another, nor a part of the work.
pub fn is_peer(who: &str) -> bool {
    !who.starts_with(OURS) && ![BY_HAND, BARE].contains(&who)
}

/// A party in a case.
pub struct Party {
    /// `cladtorch`, `libtorch`, `pytorch-fused`, …
    pub who: &'static str,
    /// Its worker, or why it cannot take part.
    pub command: Result<Command, String>,
    /// Whether it has something to do in the case of this name.
    pub cases: fn(&str) -> bool,
}

impl Party {
    /// Its worker gets `threads` threads from any library that reads the environment.
    pub fn new(who: &'static str, threads: usize, command: Result<Command>) -> Self {
        let limited = |mut command: Command| {
            for variable in ["RAYON_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"] {
                command.env(variable, threads.to_string());
            }
            command
        };
        let command = command.map(limited).map_err(|error| format!("{error:#}"));
        Self { who, command, cases: |_| true }
    }

    /// The same party, for some cases only.
    pub fn only(self, cases: fn(&str) -> bool) -> Self {
        Self { cases, ..self }
    }
}
