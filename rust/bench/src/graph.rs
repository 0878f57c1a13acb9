//! `graph`: value and gradients of functions, compiled by CladTorch and run by LibTorch and PyTorch.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::Context;
use super::aims::{Aim, Wanted};
use super::case::{Agreement, Case, Defaults, Group};
use super::party::{OURS, Party};
use super::peers::{self, Library};

pub const GROUP: Group = Group {
    name: "graph",
    title: "Value and gradients of compiled functions",
    notes: "A repetition is the value of a function and the gradients of all its inputs that are numbers, data included. \
Everybody has the same function and the same numbers. `cladtorch` is `CladTorch::Compile` with `Forward` and `Backward`, on \
the back end that it chooses; `cladtorch-jit` the same where `jit` is demanded; `cladtorch-function` the compiled function \
inside LibTorch's autograd; `cladtorch-operator` LibTorch's autograd around `cladtorch::mlp`. `libtorch` is eager C++, \
`pytorch-compile` has static shapes. What is compiled is compiled in the column `first`, for the first number of threads \
with an empty cache of `jit`, afterwards with a full one; PyTorch's own cache may be full from an earlier run. Each turn begins \
with half as many repetitions that are not timed. The case \
`call` doubles one number: all of it is the cost of calls. There `cladtorch-node` is a node of LibTorch's autograd graph that \
computes nothing: what any function inside LibTorch's autograd takes.",
    check: "value + sum of mean |gradient|",
    agreement: Agreement::Value { relative: 1e-3, absolute: 1e-5 },
    means: true,
    patience: None,
    defaults: Defaults::USUAL,
    short: |case| ["mlp/32", "transformer/32", "mass/32", CALL].contains(&case),
    fresh: false,
    aims: &AIMS,
    cases,
    parties,
};

/// As in peers/graphs.h.
const GRAPHS: [&str; 12] = [
    "logistic",
    "mlp",
    "residual",
    "strain-cnn",
    "transformer",
    "flow",
    "mixture",
    "mass",
    "resonance",
    "huber",
    "categories",
    "deep-sets",
];

/// Rows, and repetitions per round: about the same time for each graph.
const BATCHES: [(u32, u64); 4] = [(1, 100), (32, 100), (256, 20), (4096, 2)];

/// Graphs whose time is spent on scalar functions.
const ELEMENTWISE: [&str; 3] = ["mixture/256", "mass/256", "resonance/256"];

const AIMS: [Aim; 7] = [
    Aim { cases: |case| case.ends_with("/1"), wanted: Wanted::Faster("libtorch", 10.0) },
    Aim { cases: |case| case.ends_with("/32"), wanted: Wanted::Faster("libtorch", 10.0) },
    Aim { cases: |case| ELEMENTWISE.contains(&case), wanted: Wanted::Faster("libtorch", 3.0) },
    Aim { cases: |case| case.ends_with("/4096"), wanted: Wanted::Faster("libtorch", 0.95) },
    // At most 1.5 times as slow.
    Aim { cases: |case| case != CALL, wanted: Wanted::Faster("cladtorch-jit", 0.667) },
    Aim { cases: |case| case == CALL, wanted: Wanted::Seconds(1, 2e-6) },
    Aim { cases: |case| case == CALL, wanted: Wanted::Above(["cladtorch-function", "cladtorch-node"], 3e-6) },
];

/// The case of one call with next to no computation.
const CALL: &str = "call";

fn cases(_: &Context) -> Result<Vec<Case>> {
    let case = |graph: &str, name: String, (batch, steps): (u32, u64)| {
        let request = format!("graph={graph} batch={batch}");
        Case {
            name,
            prepare: Box::new(move |_| Ok(request.clone())),
            steps,
            warm_up: 1,
            lead: steps / 2,
            flops: None,
            volume: None,
        }
    };
    let graphs =
        GRAPHS.iter().flat_map(|graph| BATCHES.map(|batch| case(graph, format!("{graph}/{}", batch.0), batch)));
    Ok(graphs.chain([case(CALL, CALL.to_owned(), BATCHES[0])]).collect())
}

fn parties(context: &Context, threads: usize) -> Vec<Party> {
    let compiled = peers::folder().join("graph-functions");
    if Some(&threads) == context.threads.first() {
        // The first party must find nothing compiled; it does not matter whether the folder existed.
        let _ = fs::remove_dir_all(&compiled);
    }
    let program = |who, side: &str| Party::new(who, threads, program(context, side, threads, &compiled));
    let pytorch = |who, variant: &str| Party::new(who, threads, script(context, variant, threads));
    vec![
        program(OURS, "direct"),
        program("cladtorch-jit", "jit"),
        program("cladtorch-function", "function"),
        program("cladtorch-operator", "operator").only(|case| case.starts_with("mlp/")),
        program("libtorch", "eager"),
        program("cladtorch-node", "node").only(|case| case == CALL),
        pytorch("pytorch-eager", "eager"),
        pytorch("pytorch-compile", "compile"),
    ]
}

fn program(context: &Context, side: &str, threads: usize, cache: &Path) -> Result<Command> {
    let mut command = peers::program(context, "graph.cxx", &[Library::Torch, Library::Root, Library::CladTorch])?;
    command.arg(side).arg(threads.to_string()).env("CLADTORCH_CACHE", cache);
    Ok(command)
}

fn script(context: &Context, variant: &str, threads: usize) -> Result<Command> {
    let peers = context.peers.as_ref().map_err(|reason| anyhow::anyhow!("{reason}"))?;
    let mut command = peers.script("graph.py");
    command.arg(variant).arg(threads.to_string());
    Ok(command)
}
