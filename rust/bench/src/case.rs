//! The parts of a group of measurements.

use std::path::Path;

use anyhow::Result;

use super::Context;
use super::aims::Aim;
use super::party::Party;

/// Measurements that belong in one table.
pub struct Group {
    pub name: &'static str,
    /// The measured quantity, for the report.
    pub title: &'static str,
    /// What one `round` does, how often, and what is the same for all parties; for the report.
    pub notes: &'static str,
    /// The meaning of the check column.
    pub check: &'static str,
    pub agreement: Agreement,
    /// Whether cases are `kind/size`, so that a mean over the kinds is meaningful for each size.
    pub means: bool,
    /// Seconds that the rounds of a party other than CladTorch may take in a case. A slower one takes its turn in fewer
    /// rounds, spread over all of them.
    pub patience: Option<f64>,
    /// The default for the command line.
    pub defaults: Defaults,
    /// Whether `--short` has the case of this name.
    pub short: fn(&str) -> bool,
    /// Whether every round of a party is a process of its own, whose start is part of the time.
    pub fresh: bool,
    /// What CladTorch wants to reach.
    pub aims: &'static [Aim],
    pub cases: fn(&Context) -> Result<Vec<Case>>,
    /// The parties on so many threads each, CladTorch first.
    pub parties: fn(&Context, usize) -> Vec<Party>,
}

/// Rounds, and the threads of each run.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    pub rounds: u32,
    pub threads: &'static [u32],
}

impl Defaults {
    pub const USUAL: Self = Self { rounds: 9, threads: &[1, 2] };
    pub const SHORT: Self = Self { rounds: 1, threads: &[1] };
}

/// Writes the files of a case into an empty folder and returns the text that follows the word `case`.
pub type Prepare = Box<dyn Fn(&Path) -> Result<String>>;

/// One row of the table.
pub struct Case {
    pub name: String,
    pub prepare: Prepare,
    /// Repetitions of the work in one round.
    pub steps: u64,
    /// Rounds before the first one that counts.
    pub warm_up: u32,
    /// Repetitions at the beginning of each turn that do not count: after the others' turns nothing is in the caches, and
    /// the processor may have slept.
    pub lead: u64,
    /// Floating-point operations of one repetition, if known.
    pub flops: Option<f64>,
    /// The bytes that one repetition reads and keeps, if it reads.
    pub volume: Option<Volume>,
}

/// Bytes of one repetition.
#[derive(Clone, Copy, Debug)]
pub struct Volume {
    /// Bytes of the columns in the file, uncompressed.
    pub raw: u64,
    /// Bytes of the resulting tensor; 0 if nothing is kept.
    pub tensor: u64,
}

/// When the checks of all parties show equal work.
#[derive(Clone, Copy, Debug)]
pub enum Agreement {
    /// One check after all rounds; it differs from the parties' median by at most this, and it fell since the start.
    Loss { relative: f64, absolute: f64 },
    /// One score per round, each from another seed; the means differ from the parties' median by at most three standard
    /// errors (those of all parties pooled), or by this.
    Score { absolute: f64 },
    /// One check after all rounds; it differs from the parties' median by at most this.
    Value { relative: f64, absolute: f64 },
    /// One check after all rounds, the same for all parties; otherwise the run fails.
    Exact,
    /// One check per round: how far above its target the party is. The least of them counts, and is not below 0.
    Reached,
    /// Nothing to compare.
    None,
}

impl Agreement {
    /// Whether each round is checked, not only the last.
    pub fn each_round(self) -> bool {
        matches!(self, Self::Score { .. } | Self::Reached)
    }

    pub fn describe(self) -> String {
        match self {
            Self::Loss { relative, absolute } => format!(
                "within {} % (or {absolute}) of the parties' median after equal steps, and lower than before the first",
                relative * 100.0
            ),
            Self::Score { absolute } => {
                format!("means within three pooled standard errors (at least {absolute}) of the parties' median")
            }
            Self::Value { relative, absolute } => {
                format!("within {} % (or {absolute}) of the parties' median", relative * 100.0)
            }
            Self::Exact => "the same number for all parties".to_owned(),
            Self::Reached => "not below 0 in any round".to_owned(),
            Self::None => "not compared".to_owned(),
        }
    }
}
