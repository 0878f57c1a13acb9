//! `cargo xtask bench`: CladTorch and its peers do the same work in turns; their times become records, a table and a
//! report.
//!
//! A group is one file: it names its cases and the parties that work on them. A party is a process of its own that
//! answers on lines (see [`worker`]); in every round each party has its turn, so that other load on the machine affects
//! all of them.

mod aims;
mod axis;
mod case;
mod chart;
mod conclude;
mod coordinator;
mod end_to_end;
mod exchange;
mod gpu;
mod graph;
mod inference;
mod machine;
mod means;
mod operators;
mod page;
mod party;
mod peers;
mod plot;
mod predict;
mod qualities;
mod quality;
mod rates;
mod read;
mod record;
mod recorded;
mod report;
mod scale;
mod sections;
mod start;
mod step;
mod table;
#[cfg(test)]
mod tests;
mod train;
mod worker;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Context as _, Result, bail};
use clap::{Args, Parser};
use xtask::environment::Environment;
use xtask::{Given, setup};

use case::{Agreement, Defaults, Group};
use machine::Meta;
use peers::Peers;
use record::Outcome;

static GROUPS: [Group; 11] = [
    step::GROUP,
    train::GROUP,
    quality::GROUP,
    end_to_end::GROUP,
    predict::GROUP,
    inference::GROUP,
    start::GROUP,
    read::GROUP,
    graph::GROUP,
    operators::GROUP,
    scale::GROUP,
];

/// Instead of a group: each in turn, and one page of their reports.
const ALL: &str = "all";
/// Instead of a group: the page again, from the results of `all` or single groups in its folder.
const REPORT: &str = "report";

/// Time CladTorch and its peers side by side
#[derive(Parser)]
#[command(name = "cargo xtask bench", bin_name = "cargo xtask bench")]
struct Cli {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    given: Given,
}

/// What `cargo xtask bench` takes.
#[derive(Args, Clone, Debug)]
struct Options {
    /// step (one training step), train (the same of modules), quality (how well default fits learn), end-to-end (time from a file to a quality),
    /// predict (a network's outputs), inference (those of networks from PyTorch), start (loading to first step), read (file to
    /// tensor), graph (value and gradients of compiled functions), operators (each operator by itself), scale (processes that train
    /// together), all (one after the other, with one page, DIR/report.html), report (that page again, of the groups' folders DIR/GROUP), or
    /// gpu (functions on a GPU; not part of all)
    #[arg(value_name = "GROUP")]
    group: String,
    /// Folder that gets GROUP.json, meta.json, report.md and the plots; with all, folders of this kind and report.html
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Turns of each party in a case, of quality each from another seed [default: 9, of quality 10, of scale 7]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: Option<u32>,
    /// Threads that every party gets, one run of the group for each number [default: 1,2, of quality, end-to-end and scale 1]
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Vec<u32>,
    /// Only cases whose name contains this
    #[arg(long, value_name = "SUBSTRING", default_value = "")]
    case: String,
    /// A few cases of each group, in one round on one thread where nothing else is asked for: minutes instead of hours
    #[arg(long)]
    short: bool,
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
    /// Rounds and threads; the group's own if none were given.
    fn settled(&self, group: &Group) -> Settled {
        let Defaults { rounds, threads } = if self.short { Defaults::SHORT } else { group.defaults };
        let threads = if self.threads.is_empty() { threads } else { &self.threads };
        Settled {
            rounds: self.rounds.unwrap_or(rounds),
            threads: threads.iter().map(|&number| number as usize).collect(),
        }
    }

    fn wants(&self, group: &Group, case: &str) -> bool {
        case.contains(&self.case) && (!self.short || (group.short)(case))
    }
}

/// Rounds, and the threads of each run.
struct Settled {
    rounds: u32,
    threads: Vec<usize>,
}

/// What groups need in order to start their parties.
struct Context {
    environment: Environment,
    /// Or the reason why they are missing.
    peers: Result<Peers, String>,
    scaling: bool,
    study: bool,
    rounds: u32,
    /// The group runs once with each of these.
    threads: Vec<usize>,
}

/// Runs the requested groups and writes their records and reports.
fn run(given: &Given, options: &Options) -> Result<()> {
    let out = std::path::absolute(&options.out)?;
    if options.group == REPORT {
        return page::write(&out, &GROUPS);
    }
    let one = GROUPS.iter().find(|group| group.name == options.group);
    if one.is_none() && ![ALL, gpu::GPU].contains(&options.group.as_str()) {
        let names = GROUPS.iter().map(|group| group.name).collect::<Vec<_>>().join(", ");
        bail!("no group '{}'; there are {names}, and {ALL}, {REPORT} and {}", options.group, gpu::GPU);
    }
    let environment = setup::run(given)?;
    if options.group == gpu::GPU {
        return gpu::run(&environment, &out);
    }
    let peers = Peers::ensure().map_err(|error| format!("{error:#}"));
    let _neighbour = options.busy.then(Neighbour::start);
    let context = |group: &Group| {
        let (environment, peers, Settled { rounds, threads }) =
            (environment.clone(), peers.clone(), options.settled(group));
        Context { environment, peers, scaling: options.scaling, study: options.study, rounds, threads }
    };
    match one {
        Some(group) => run_group(group, &context(group), options, &out),
        None => run_all(&context, options, &out),
    }
}

/// Runs each group in a folder of its own. If one fails, its reason is left there and the others run; a group without
/// such a case is left out.
fn run_all(context: &dyn Fn(&Group) -> Context, options: &Options, out: &Path) -> Result<()> {
    let (mut ran, mut failed) = (0, Vec::new());
    for group in &GROUPS {
        let folder = out.join(group.name);
        match run_group(group, &context(group), options, &folder) {
            Ok(()) => ran += 1,
            Err(error) if error.is::<NoCase>() => println!("left out: {error}"),
            Err(error) => {
                println!("{} failed: {error:#}", group.name);
                recorded::write_error(&folder, &format!("{error:#}"))?;
                failed.push(group.name);
            }
        }
    }
    if ran == 0 && failed.is_empty() {
        bail!(NoCase(format!("no case of any group has '{}' in its name", options.case)));
    }
    page::write(out, &GROUPS)?;
    if failed.is_empty() {
        return Ok(());
    }
    bail!("failed: {}; the report says why", failed.join(", "))
}

/// Runs one group and writes its records, its report and its charts.
fn run_group(group: &Group, context: &Context, options: &Options, out: &Path) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    recorded::clear(out, group)?;
    let mut meta = Meta::before(group, context, options);
    let outcome = measure(group, context, options, out)?;
    meta.after(&outcome);
    let document = report::Document { group, meta: &meta, outcome: &outcome };
    print!("{}", document.screen());
    recorded::write(out, group, &meta, &outcome)?;
    let sections = document.sections();
    for chart in sections::charts(&sections) {
        fs::write(out.join(format!("{}.svg", chart.name)), chart.svg()).context("cannot write a chart")?;
    }
    fs::write(out.join("report.md"), sections::markdown(group.title, &sections)).context("cannot write report.md")?;
    println!("records, report and charts are in {}", out.display());
    match outcome.records.iter().find(|record| record.flag.is_some()) {
        Some(record) if matches!(group.agreement, Agreement::Exact | Agreement::Value { .. }) => {
            bail!("{}: {} disagrees with the others: equal work was not done", record.case, record.who)
        }
        _ => Ok(()),
    }
}

/// No case of the group was requested.
#[derive(Debug)]
struct NoCase(String);

impl std::fmt::Display for NoCase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoCase {}

/// A thread that computes without pause until this is dropped.
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
    let cases: Vec<_> = (group.cases)(context)?.into_iter().filter(|case| options.wants(group, &case.name)).collect();
    if cases.is_empty() {
        bail!(NoCase(format!("no case of {} has '{}' in its name", group.name, options.case)));
    }
    let mut outcome = Outcome::default();
    let has_floor = cases.iter().any(|case| case.flops.is_some());
    for &threads in &context.threads {
        let parties = (group.parties)(context, threads);
        let gauge = has_floor.then(|| step::gauge(context, threads));
        outcome.append(coordinator::run(group, &cases, parties, gauge, threads, context.rounds, out)?);
    }
    Ok(outcome)
}

fn main() -> ExitCode {
    let Cli { options, given } = Cli::parse();
    match run(&given, &options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
