//! `train`: one training step of networks that are modules.

use std::process::Command;

use anyhow::Result;

use super::Context;
use super::aims::{Aim, Wanted};
use super::case::{Agreement, Case, Defaults, Group};
use super::party::{OURS, Party};
use super::peers::{self, Library};

pub const GROUP: Group = Group {
    name: "train",
    title: "One training step of a module: forward, loss, backward, Adam",
    notes: "Everybody has the same network, starts from the same weights and walks over the same rows in the same order. \
`cladtorch` is `CladTorch::Model` of the module, and `Fit`, whose preparation is part of its time; `libtorch` the same \
module with LibTorch's autograd and Adam; `pytorch-eager` has `Adam(fused=True)`, `pytorch-compile` is `torch.compile` of \
network and loss with the same Adam; its compilation is in the column `first`. A round is one `Fit`; Adam begins anew in \
each. `residual-mlp`: 28 features, three residual blocks of 64 with batch normalisation. `deep-sets`: 30 particles of 8 \
features. `strain-cnn`: 1024 samples, three convolutions of 16 to 32 channels, 3.5 million \
floating-point operations an event for the outputs. `gw-search`: the network of the macro `gw_search.C`, six convolutions of 4 to \
16 channels over 2 x 2048 samples, 7.4 million. `map-cnn`: a map of 64 x 64, three 3 x 3 convolutions of 16 to 32 channels, 15.6 million. `transformer`: 16 tokens of 8 features, two layers of 32 with four \
heads. `particle-net`: 24 particles of 8 features, convolved over their 7 neighbours.",
    check: "loss",
    agreement: Agreement::Loss { relative: 0.05, absolute: 5e-3 },
    means: true,
    patience: Some(20.0),
    defaults: Defaults::USUAL,
    short: |case| ["residual-mlp/256", "transformer/256"].contains(&case),
    fresh: false,
    aims: &AIMS,
    cases,
    parties,
};

const NETWORKS: [&str; 6] = ["residual-mlp", "deep-sets", "strain-cnn", "map-cnn", "transformer", "particle-net"];

/// Rows of a batch, all rows, and steps of a round: whole epochs.
const BATCHES: [(u64, u64, u64); 3] = [(32, 8192, 256), (256, 8192, 32), (4096, 8192, 2)];

/// Steps of a turn of light networks, at least. With CladTorch a turn is a Fit, and its preparation takes as long as some of their
/// steps.
const LIGHT_STEPS: u64 = 16;

/// The networks that the search for gravitational waves trains, with the batches that are usual there.
const SEARCH: [(&str, (u64, u64, u64)); 2] = [("gw-search", (32, 2048, 64)), ("strain-cnn", (128, 8192, 64))];

/// Networks that do not spend most of their time on products of matrices.
fn is_light(case: &str) -> bool {
    case.starts_with("residual-mlp") || case.starts_with("deep-sets")
}

const AIMS: [Aim; 7] = [
    Aim { cases: |case| is_light(case) && case.ends_with("/32"), wanted: Wanted::Peers(5.0) },
    Aim { cases: |case| is_light(case) && case.ends_with("/256"), wanted: Wanted::Peers(2.5) },
    Aim { cases: |case| is_light(case) && case.ends_with("/4096"), wanted: Wanted::Peers(1.0) },
    Aim { cases: |case| case.starts_with("gw-search"), wanted: Wanted::Peers(3.0) },
    Aim { cases: |case| case == "strain-cnn/128", wanted: Wanted::Peers(1.7) },
    Aim { cases: |case| !is_light(case), wanted: Wanted::Peers(1.0) },
    Aim { cases: |case| !case.ends_with("/32"), wanted: Wanted::Threads(1.7) },
];

/// Floating-point operations that the products of a step take for each event, as PyTorch's `FlopCounterMode` counts them.
fn step_flops(network: &str) -> Option<f64> {
    Some(match network {
        "residual-mlp" => 1.55e5,
        "deep-sets" => 8.24e5,
        "strain-cnn" => 9.87e6,
        "gw-search" => 2.22e7,
        "map-cnn" => 4.56e7,
        "transformer" => 1.59e6,
        "particle-net" => 1.38e6,
        _ => return None,
    })
}

fn cases(_: &Context) -> Result<Vec<Case>> {
    let case = |network: &str, (batch, rows, steps): (u64, u64, u64)| {
        let request = format!("network={network} batch={batch} rows={rows}");
        Case {
            name: format!("{network}/{batch}"),
            prepare: Box::new(move |_| Ok(request.clone())),
            steps: if is_light(network) { steps.max(LIGHT_STEPS) } else { steps },
            warm_up: 1,
            lead: 0,
            flops: step_flops(network).map(|flops| flops * batch as f64),
            volume: None,
        }
    };
    let usual = NETWORKS.iter().flat_map(|network| BATCHES.map(|batch| case(network, batch)));
    Ok(usual.chain(SEARCH.map(|(network, batch)| case(network, batch))).collect())
}

fn parties(context: &Context, threads: usize) -> Vec<Party> {
    let program = |who, side| Party::new(who, threads, program(context, side, threads));
    let pytorch = |who, variant| Party::new(who, threads, script(context, variant, threads));
    vec![
        program(OURS, "model"),
        program("libtorch", "eager"),
        pytorch("pytorch-eager", "eager"),
        pytorch("pytorch-compile", "compile"),
    ]
}

fn program(context: &Context, side: &str, threads: usize) -> Result<Command> {
    let mut command = peers::program(context, "train.cxx", &[Library::Torch, Library::Root, Library::CladTorch])?;
    command.arg(side).arg(threads.to_string());
    Ok(command)
}

fn script(context: &Context, variant: &str, threads: usize) -> Result<Command> {
    let peers = context.peers.as_ref().map_err(|reason| anyhow::anyhow!("{reason}"))?;
    let mut command = peers.script("train.py");
    command.arg(variant).arg(threads.to_string());
    Ok(command)
}
