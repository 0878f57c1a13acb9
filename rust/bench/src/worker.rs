//! A party's process and the lines of the dialogue with it.
//!
//! Requests are `verb key=value …`. The answers that count begin with `bench`; the rest of the process's output is
//! noise of its libraries. Its standard error goes to a file, whose last line explains why a process ended.
//!
//! | request | answer |
//! |---|---|
//! | `case …` | `bench ready`; the rest of the line belongs to the group |
//! | `round steps=N seed=S` | `bench time SECONDS`: of one of the N repetitions; then, where known, [`Turn`]'s others |
//! | `check` | `bench check VALUE` |
//! | any | `bench error MESSAGE`: this case cannot be done, others may |

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};

/// A worker that is silent for this long is given up: far longer than torch.compile needs for the largest case.
const PATIENCE: Duration = Duration::from_secs(600);

/// The results of one round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Turn {
    /// Wall-clock time of one repetition, s.
    pub seconds: f64,
    /// The part of it before the libraries were loaded, if that counts, s.
    pub start: Option<f64>,
    /// `cpu=`: time of all its threads, user and system, s.
    pub cpu: Option<f64>,
    /// `first=`: from the start to the first batch, s.
    pub first: Option<f64>,
    /// `quality=`: area under the ROC curve, share of right classes or minus the root mean squared error.
    pub quality: Option<f64>,
    /// `epochs=`: number of epochs of the training.
    pub epochs: Option<f64>,
    /// `exchange=`: time spent on messages between processes, s.
    pub exchange: Option<f64>,
    /// `memory=`: peak of its resident memory above what it held before the case, bytes.
    pub memory: Option<f64>,
}

impl Turn {
    /// `SECONDS [cpu=S] [first=S] [memory=BYTES] [quality=Q] [epochs=N] [exchange=S]`
    fn parse(text: &str) -> Option<Self> {
        let (seconds, rest) = text.split_once(' ').unwrap_or((text, ""));
        let mut turn = Self { seconds: number(seconds)?, ..Self::default() };
        for word in rest.split_whitespace() {
            let (key, value) = word.split_once('=')?;
            let field = match key {
                "cpu" => &mut turn.cpu,
                "first" => &mut turn.first,
                "memory" => &mut turn.memory,
                "quality" => &mut turn.quality,
                "epochs" => &mut turn.epochs,
                "exchange" => &mut turn.exchange,
                _ => return None,
            };
            *field = Some(number(value)?);
        }
        Some(turn)
    }
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

pub struct Worker {
    command: Command,
    process: Process,
    log: PathBuf,
}

/// The running process, and our ends of its pipes.
struct Process {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<String>,
}

impl Process {
    fn spawn(command: &mut Command) -> Result<Self> {
        let program = command.get_program().to_owned();
        let mut child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        let requests = child.stdin.take().context("the worker has no standard input")?;
        let output = child.stdout.take().context("the worker has no standard output")?;
        let (sender, answers) = channel();
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            for line in lines.filter_map(|line| line.strip_prefix("bench ").map(str::to_owned)) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, requests, answers })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A worker has nothing to save.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Worker {
    /// Starts `command`; its standard error goes to `log`.
    pub fn start(mut command: Command, log: &Path) -> Result<Self> {
        let errors = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let process = Process::spawn(&mut command)?;
        Ok(Self { command, process, log: log.to_path_buf() })
    }

    /// Ends the process and starts a new one.
    pub fn restart(&mut self) -> Result<()> {
        self.end();
        self.process = Process::spawn(&mut self.command)?;
        Ok(())
    }

    /// Ends the process; the worker answers again after [`Worker::restart`].
    pub fn end(&mut self) {
        let _ = self.process.child.kill();
        let _ = self.process.child.wait();
    }

    /// Sends `request` and waits for an answer that begins with `word`; returns what follows it.
    pub fn ask(&mut self, request: &str, word: &str) -> Result<String> {
        if writeln!(self.process.requests, "{request}").and_then(|()| self.process.requests.flush()).is_err() {
            return Err(self.ended());
        }
        let line = match self.process.answers.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
            Err(RecvTimeoutError::Timeout) => {
                let _ = self.process.child.kill();
                bail!("no answer to '{request}' in {} s", PATIENCE.as_secs());
            }
        };
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("error", message) => bail!("{message}"),
            (first, rest) if first == word => Ok(rest.to_owned()),
            _ => bail!("'{line}' is no answer to '{request}'"),
        }
    }

    /// The same if a finite number follows.
    pub fn ask_number(&mut self, request: &str, word: &str) -> Result<f64> {
        let text = self.ask(request, word)?;
        number(&text).with_context(|| format!("answered '{word} {text}' to '{request}'"))
    }

    /// One round of `steps` repetitions.
    pub fn round(&mut self, steps: u64, seed: u32) -> Result<Turn> {
        let request = format!("round steps={steps} seed={seed}");
        let text = self.ask(&request, "time")?;
        Turn::parse(&text).with_context(|| format!("answered 'time {text}' to '{request}'"))
    }

    fn ended(&mut self) -> anyhow::Error {
        let status = self.process.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        match log.lines().rev().find(|line| line.contains(char::is_alphabetic)) {
            Some(line) => anyhow!("its process ended ({status}): {}", line.trim()),
            None => anyhow!("its process ended ({status})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Turn;

    #[test]
    fn a_turn_says_what_is_known() {
        let bare = Turn { seconds: 0.5, ..Turn::default() };
        assert_eq!(Turn::parse("0.5"), Some(bare));
        let full = Turn { cpu: Some(0.75), first: Some(0.25), memory: Some(4096.0), ..bare };
        assert_eq!(Turn::parse("0.5 memory=4096 cpu=0.75 first=0.25"), Some(full));
        let learnt = Turn { quality: Some(-7.5), epochs: Some(3.0), ..bare };
        assert_eq!(Turn::parse("0.5 epochs=3 quality=-7.5"), Some(learnt));
        let shared = Turn { exchange: Some(0.125), ..bare };
        assert_eq!(Turn::parse("0.5 exchange=0.125"), Some(shared));
        for wrong in ["", "inf", "0.5 cpu", "0.5 cpu=nan", "0.5 load=1"] {
            assert_eq!(Turn::parse(wrong), None, "{wrong}");
        }
    }
}
