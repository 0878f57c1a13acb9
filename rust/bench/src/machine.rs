//! `meta.json`: the machine, the software and the load of a run.

use std::fs;
use std::process::Command;

use serde::{Deserialize, Serialize};
use xtask::process::output;
use xtask::{libtorch, project};

use super::case::Group;
use super::record::{Outcome, Skipped};
use super::{Context, Options};

#[derive(Deserialize, Serialize)]
pub struct Meta {
    pub command: String,
    pub commit: String,
    pub date: String,
    pub cpu: String,
    pub cores: usize,
    /// 1, 5 and 15 minutes, from the kernel.
    pub load_before: String,
    pub load_after: String,
    pub versions: Vec<(String, String)>,
    pub environment: Vec<String>,
    /// Best matrix-product rates seen, FLOP/s, by threads.
    pub sgemm_rates: Vec<(usize, f64)>,
    pub skipped: Vec<Skipped>,
}

impl Meta {
    /// All fields except those that only the run can determine.
    pub fn before(group: &Group, context: &Context, options: &Options) -> Self {
        let threads: Vec<_> = context.threads.iter().map(usize::to_string).collect();
        let mut command =
            format!("cargo xtask bench {} --rounds {} --threads {}", group.name, context.rounds, threads.join(","));
        if !options.case.is_empty() {
            command += &format!(" --case {}", options.case);
        }
        let flags =
            [("short", options.short), ("scaling", options.scaling), ("study", options.study), ("busy", options.busy)];
        for (flag, _) in flags.into_iter().filter(|(_, given)| *given) {
            command += &format!(" --{flag}");
        }
        Self {
            command,
            commit: commit(),
            date: said(Command::new("date").args(["-u", "+%Y-%m-%d %H:%M UTC"])),
            cpu: cpu(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            load_before: load(),
            load_after: String::new(),
            versions: versions(context),
            environment: ["RAYON_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"]
                .map(|variable| format!("{variable} = threads"))
                .to_vec(),
            sgemm_rates: Vec::new(),
            skipped: Vec::new(),
        }
    }

    pub fn after(&mut self, outcome: &Outcome) {
        self.load_after = load();
        self.sgemm_rates = outcome.rates.clone();
        self.skipped = outcome.skipped.clone();
    }
}

fn versions(context: &Context) -> Vec<(String, String)> {
    let root = context.environment.root.dir.join("bin/root-config");
    let torch = libtorch::version(&context.environment.libtorch).unwrap_or_else(|_| "unknown".to_owned());
    let first_line =
        |program: &str| said(Command::new(program).arg("--version")).lines().next().unwrap_or("?").to_owned();
    let mut versions = vec![
        ("CladTorch", env!("CARGO_PKG_VERSION").to_owned()),
        ("ROOT", said(Command::new(root).arg("--version"))),
        ("LibTorch", torch),
        ("rustc", first_line("rustc")),
        ("C++ compiler", first_line(&std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned()))),
        ("kernel", said(Command::new("uname").arg("-sr"))),
    ];
    if let Ok(plugin) = fs::metadata(project::build().join("lib/libcladtorch.so")) {
        versions.push(("size of libcladtorch.so", format!("{:.1} MB", plugin.len() as f64 / 1e6)));
    }
    if let Ok(peers) = &context.peers {
        versions.push(("peers", peers.versions().unwrap_or_else(|error| format!("{error:#}"))));
    }
    versions.into_iter().map(|(name, version)| (name.to_owned(), version)).collect()
}

fn commit() -> String {
    let git = |arguments: &[&str]| output(Command::new("git").current_dir(project::root()).args(arguments));
    let Ok(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else { return "unknown".to_owned() };
    match git(&["status", "--porcelain"]) {
        Ok(changes) if changes.is_empty() => commit,
        _ => commit + " with changes",
    }
}

fn cpu() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let wide = [("avx512f", "AVX-512"), ("avx2", "AVX2")].iter().find(|(flag, _)| text.contains(flag));
    format!("{} ({})", model.map_or("unknown", |(_, name)| name), wide.map_or("no AVX2", |(_, name)| name))
}

fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}

fn said(command: &mut Command) -> String {
    output(command).unwrap_or_else(|_| "unknown".to_owned())
}
