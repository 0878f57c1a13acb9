//! `operators`: each operator that has kernels, by itself, compiled by CladTorch and run by LibTorch.

use std::process::Command;

use anyhow::{Context as _, Result};

use super::Context;
use super::aims::{Aim, Wanted};
use super::case::{Agreement, Case, Defaults, Group};
use super::party::{OURS, Party};
use super::peers::{self, Library};

pub const GROUP: Group = Group {
    name: "operators",
    title: "Operators by themselves",
    notes: "A repetition of `NAME forward` is the value of one operator, where no gradient is wanted; of `NAME` it is the value \
and the gradients of all inputs that are numbers, for adjoints that are given. The number behind the name counts the elements \
of the first input. `cladtorch` is `CladTorch::Compile` of the operator alone, `libtorch` eager C++ and its autograd, each with \
memory for every result, and every gradient dense. Behind the name of a reduction stand the dimensions over which it goes, of a matrix or of [n, 16, n]. \
Each turn begins with half as many repetitions that are not timed.",
    check: "mean |value| + sum of mean |gradient|",
    agreement: Agreement::Value { relative: 1e-3, absolute: 1e-5 },
    means: true,
    patience: None,
    defaults: Defaults::USUAL,
    short: |case| case.ends_with("/16384"),
    fresh: false,
    aims: &AIMS,
    cases,
    parties,
};

/// Elements, and repetitions in a round: tens of milliseconds, without which a ratio at a million elements varies by two from run to
/// run.
const SIZES: [(u64, u64); 3] = [(256, 4000), (16_384, 400), (1 << 20, 40)];

/// At most 5 % slower.
const AIMS: [Aim; 1] = [Aim { cases: |_| true, wanted: Wanted::Faster("libtorch", 0.952) }];

/// The list in peers/operators.h, as the program prints it.
fn names(context: &Context) -> Result<Vec<String>> {
    let output = program(context, "list", 1)?.output().context("listing the operators")?;
    anyhow::ensure!(output.status.success(), "listing the operators: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

fn cases(context: &Context) -> Result<Vec<Case>> {
    let names = names(context)?;
    let ways = ["", " forward"];
    let all = names.iter().flat_map(|name| ways.iter().flat_map(move |way| SIZES.map(|size| (name, *way, size))));
    let case = |(name, way, (size, steps)): (&String, &str, (u64, u64))| {
        let request = format!("operator={name} size={size} way={}", if way.is_empty() { "both" } else { "forward" });
        Case {
            name: format!("{name}{way}/{size}"),
            prepare: Box::new(move |_| Ok(request.clone())),
            steps,
            warm_up: 1,
            lead: steps / 2,
            flops: None,
            volume: None,
        }
    };
    Ok(all.map(case).collect())
}

fn parties(context: &Context, threads: usize) -> Vec<Party> {
    let party = |who, side: &str| Party::new(who, threads, program(context, side, threads));
    vec![party(OURS, "compiled"), party("libtorch", "eager")]
}

fn program(context: &Context, side: &str, threads: usize) -> Result<Command> {
    let mut command = peers::program(context, "operators.cxx", &[Library::Torch, Library::Root, Library::CladTorch])?;
    command.arg(side).arg(threads.to_string());
    Ok(command)
}
