//! `predict`: outputs of an existing network, for many rows at once and for one row per call.

use std::process::Command;

use anyhow::{Result, anyhow};

use super::Context;
use super::aims::{Aim, Wanted};
use super::case::{Agreement, Case, Defaults, Group};
use super::party::{OURS, Party};
use super::{peers, step};

pub const GROUP: Group = Group {
    name: "predict",
    title: "Prediction with 28-64-64-1, seconds a row",
    notes: "The probabilities of a network with given weights, in float32. `all rows` is one call for a million rows in \
memory: `Mlp::Predict`, or the model on one tensor without gradients. `one row` is a call for each row: `Mlp::Functor()` \
(as in `RDataFrame::Define`), or the model on a tensor [1, 28] that is there already. `cladtorch` is an interpreted macro in \
root.exe, `libtorch` compiled C++.",
    check: "mean",
    agreement: Agreement::Score { absolute: 1e-4 },
    means: false,
    patience: None,
    defaults: Defaults::USUAL,
    short: |_| true,
    fresh: false,
    aims: &[
        Aim { cases: |case| case == "all rows", wanted: Wanted::Seconds(2, 1e-7) },
        Aim { cases: |case| case == "one row", wanted: Wanted::Seconds(1, 1e-6) },
    ],
    cases,
    parties,
};

const SIZES: [usize; 4] = [28, 64, 64, 1];

fn cases(_: &Context) -> Result<Vec<Case>> {
    let case = |name: &str, rows: usize, at_once: bool| Case {
        name: name.to_owned(),
        prepare: Box::new(move |folder| {
            step::write_data(folder, &SIZES, rows)?;
            Ok(format!("rows={rows} once={} data={}", u8::from(at_once), folder.display()))
        }),
        steps: 1,
        warm_up: 1,
        lead: 0,
        flops: None,
        volume: None,
    };
    Ok(vec![case("all rows", 1_000_000, true), case("one row", 10_000, false)])
}

fn parties(context: &Context, threads: usize) -> Vec<Party> {
    let number = threads.to_string();
    let libtorch = peers::program(context, "predict.cxx", &[peers::Library::Torch]).map(|mut command| {
        command.arg(&number);
        command
    });
    let pytorch = || -> Result<Command> {
        let peers = context.peers.as_ref().map_err(|reason| anyhow!("{reason}"))?;
        let mut command = peers.script("predict.py");
        command.arg(&number);
        Ok(command)
    };
    vec![
        Party::new(OURS, threads, peers::macro_with_plugin(context, "predict.C", &number)),
        Party::new("libtorch", threads, libtorch),
        Party::new("pytorch-eager", threads, pytorch()),
    ]
}
