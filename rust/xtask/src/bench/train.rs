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
features. `strain-cnn`: 1024 samples, three convolutions. `transformer`: 16 tokens of 8 features, two layers of 32 with four \
heads. `particle-net`: 24 particles of 8 features, convolved over their 7 neighbours.",
    check: "loss",
    agreement: Agreement::Loss { relative: 0.05, absolute: 5e-3 },
    means: true,
    patience: Some(20.0),
    defaults: Defaults::USUAL,
    fresh: false,
    aims: &AIMS,
    cases,
    parties,
};

const NETWORKS: [&str; 5] = ["residual-mlp", "deep-sets", "strain-cnn", "transformer", "particle-net"];

/// Rows of a batch, all rows, and steps of a round: whole epochs.
const BATCHES: [(u64, u64, u64); 3] = [(32, 8192, 256), (256, 8192, 32), (4096, 8192, 2)];

/// Networks whose time does not go to products of matrices.
fn is_light(case: &str) -> bool {
    case.starts_with("residual-mlp") || case.starts_with("deep-sets")
}

const AIMS: [Aim; 5] = [
    Aim { cases: |case| is_light(case) && case.ends_with("/32"), wanted: Wanted::Peers(5.0) },
    Aim { cases: |case| is_light(case) && case.ends_with("/256"), wanted: Wanted::Peers(2.5) },
    Aim { cases: |case| is_light(case) && case.ends_with("/4096"), wanted: Wanted::Peers(1.0) },
    Aim { cases: |case| !is_light(case), wanted: Wanted::Peers(1.0) },
    Aim { cases: |case| !case.ends_with("/32"), wanted: Wanted::Threads(1.7) },
];

fn cases(_: &Context) -> Result<Vec<Case>> {
    let case = |network: &str, (batch, rows, steps): (u64, u64, u64)| {
        let request = format!("network={network} batch={batch} rows={rows}");
        Case {
            name: format!("{network}/{batch}"),
            prepare: Box::new(move |_| Ok(request.clone())),
            steps,
            warm_up: 1,
            lead: 0,
            flops: None,
            volume: None,
        }
    };
    Ok(NETWORKS.iter().flat_map(|network| BATCHES.map(|batch| case(network, batch))).collect())
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
