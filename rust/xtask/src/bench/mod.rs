//! `bench`: CladTorch and its peers do the same work in turns; what each took becomes records, a table and a report.
//!
//! A group is one file: it names its cases and the parties that work on them. A party is a process of its own that
//! answers on lines (see [`worker`]); in every round each party has its turn, so that whatever else the machine does
//! meets all of them.

mod aims;
mod case;
mod conclude;
mod coordinator;
mod end_to_end;
mod graph;
mod machine;
mod means;
mod operators;
mod party;
mod peers;
mod plot;
mod predict;
mod qualities;
mod quality;
mod rates;
mod read;
mod record;
mod report;
mod start;
mod step;
mod table;
#[cfg(test)]
mod tests;
mod train;
mod worker;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::Given;
use crate::environment::Environment;
use crate::setup;
use case::{Agreement, Group};
use machine::Meta;
use peers::Peers;
use record::Outcome;

const GROUPS: [Group; 9] = [
    step::GROUP,
    train::GROUP,
    quality::GROUP,
    end_to_end::GROUP,
    predict::GROUP,
    start::GROUP,
    read::GROUP,
    graph::GROUP,
    operators::GROUP,
];

/// What `cargo xtask bench` takes.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// step (one training step), train (the same of modules), quality (how well default fits learn), end-to-end (time from a file to a quality),
    /// predict (a network's outputs), start (loading to first step), read (file to tensor), graph (value and gradients of
    /// compiled functions) or operators (each operator by itself)
    #[arg(value_name = "GROUP")]
    group: String,
    /// Folder that gets GROUP.json, meta.json, report.md and the plots; one for each group
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Turns of each party in a case, of quality each from another seed [default: 9, of quality 10]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: Option<u32>,
    /// Threads that every party gets, one run of the group for each number [default: 1,2, of quality and end-to-end 1]
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Vec<u32>,
    /// Only cases whose name contains this
    #[arg(long, value_name = "SUBSTRING", default_value = "")]
    case: String,
    /// With a busy neighbour: this program computes on one core all the time
    #[arg(long)]
    busy: bool,
    /// With step: also step time against batch, width and depth
    #[arg(long)]
    scaling: bool,
    /// With quality: also quality against the start of the weights, depth, activation and batch
    #[arg(long)]
    study: bool,
}

impl Options {
    /// Rounds and threads, the group's own where none were given.
    fn settled(&self, group: &Group) -> Settled {
        let threads = if self.threads.is_empty() { group.defaults.threads } else { &self.threads };
        Settled {
            rounds: self.rounds.unwrap_or(group.defaults.rounds),
            threads: threads.iter().map(|&number| number as usize).collect(),
        }
    }
}

/// Rounds, and the threads of each run.
struct Settled {
    rounds: u32,
    threads: Vec<usize>,
}

/// What groups need to know to start their parties.
struct Context {
    environment: Environment,
    /// Or why they are missing.
    peers: Result<Peers, String>,
    scaling: bool,
    study: bool,
    rounds: u32,
    /// The group runs once with each of these.
    threads: Vec<usize>,
}

/// Runs one group and writes its records, its report and its plots.
pub fn run(given: &Given, options: &Options) -> Result<()> {
    let Some(group) = GROUPS.into_iter().find(|group| group.name == options.group) else {
        bail!("no group '{}'; there are {}", options.group, GROUPS.map(|group| group.name).join(", "));
    };
    let out = std::path::absolute(&options.out)?;
    fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    let environment = setup::run(given)?;
    let peers = Peers::ensure().map_err(|error| format!("{error:#}"));
    let Settled { rounds, threads } = options.settled(&group);
    let context = Context { environment, peers, scaling: options.scaling, study: options.study, rounds, threads };

    let mut meta = Meta::before(&context, options);
    let _neighbour = options.busy.then(Neighbour::start);
    let outcome = measure(&group, &context, options, &out)?;
    meta.after(&outcome);
    let document = report::Document { group: &group, meta: &meta, outcome: &outcome };
    print!("{}", document.screen());
    write_json(&out.join(format!("{}.json", group.name)), &outcome.records)?;
    write_json(&out.join("meta.json"), &meta)?;
    let plots = plot::draw(&context.environment, &group, &outcome.records, &out).unwrap_or_else(|error| {
        println!("the report goes without plots: {error:#}");
        Vec::new()
    });
    fs::write(out.join("report.md"), document.markdown(&plots)).context("cannot write report.md")?;
    println!("records, report and plots are in {}", out.display());
    match outcome.records.iter().find(|record| record.flag.is_some()) {
        Some(record) if matches!(group.agreement, Agreement::Exact | Agreement::Value { .. }) => {
            bail!("{}: {} disagrees with the others: equal work was not done", record.case, record.who)
        }
        _ => Ok(()),
    }
}

/// A thread that does nothing, without rest, until this is dropped.
struct Neighbour(Arc<AtomicBool>);

impl Neighbour {
    fn start() -> Self {
        let busy = Arc::new(AtomicBool::new(true));
        let own = Arc::clone(&busy);
        thread::spawn(move || while own.load(Ordering::Relaxed) {});
        Self(busy)
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

fn measure(group: &Group, context: &Context, options: &Options, out: &Path) -> Result<Outcome> {
    let cases: Vec<_> = (group.cases)(context)?.into_iter().filter(|case| case.name.contains(&options.case)).collect();
    if cases.is_empty() {
        bail!("no case of {} has '{}' in its name", group.name, options.case);
    }
    let mut outcome = Outcome::default();
    for &threads in &context.threads {
        let parties = (group.parties)(context, threads);
        outcome.append(coordinator::run(group, &cases, parties, threads, context.rounds, out)?);
    }
    Ok(outcome)
}

fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
}
