//! `inference`: predictions of networks that PyTorch wrote, by all parties that read them.

use std::process::Command;

use anyhow::{Context as _, Result, anyhow, bail};

use super::Context;
use super::aims::{Aim, Wanted};
use super::case::{Agreement, Case, Defaults, Group};
use super::party::{OURS, Party};
use super::peers::{self, Library, Peers};

pub const GROUP: Group = Group {
    name: "inference",
    title: "Predictions of a network from PyTorch, seconds a call",
    notes: "PyTorch writes each network, with given weights, as TorchScript and as ONNX (opset 17). The case ends with the events of a \
call. `mlp`: 28-64-64-1 with a sigmoid. `particle-net`: ParticleNet-Lite, 30 particles of 8 features. `particle-transformer`: of width \
64, two blocks of particles, one of the class, 30 particles. `cladtorch` is `Model::LoadTorchScript` in an interpreted macro: `Predict`, \
or `Functor` for one event. `libtorch` calls the operators one by one in C++, without autograd; `torch-jit` is the same with `freeze` and \
`optimize_for_inference`; `pytorch-eager` the module in Python; `onnxruntime` its session in Python, events and predictions bound \
beforehand. Before a case is timed, everybody's predictions are compared with PyTorch's in float64.",
    check: "mean",
    agreement: Agreement::Value { relative: 1e-3, absolute: 1e-5 },
    means: true,
    patience: Some(10.0),
    short: |case| case.starts_with("mlp"),
    defaults: Defaults { rounds: 9, threads: &[1] },
    fresh: false,
    aims: &[Aim { cases: |_| true, wanted: Wanted::Peers(1.0) }],
    cases,
    parties,
};

/// A network, the largest number of events per call, and calls per round for one event.
const NETWORKS: [(&str, u64, u64); 3] =
    [("mlp", 1_000_000, 20_000), ("particle-net", 2048, 256), ("particle-transformer", 2048, 256)];

/// Largest difference of a prediction from the float64 one, in units of the largest prediction.
const TOLERANCE: f64 = 1e-3;

/// Number of events available for calls of one event.
const SINGLE: u64 = 256;

fn cases(context: &Context) -> Result<Vec<Case>> {
    let case = |network: &'static str, batch: u64, steps: u64| {
        let peers = context.peers.clone();
        let prepare = move |folder: &std::path::Path| {
            let peers = peers.as_ref().map_err(|reason| anyhow!("{reason}"))?;
            let rows = batch.max(SINGLE);
            let mut command = with_onnx(peers, "inference_networks.py");
            command.arg(network).arg(rows.to_string()).arg(folder);
            let output = command.output().context("cannot start Python")?;
            let said =
                |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().lines().last().unwrap_or_default().to_owned();
            if !output.status.success() {
                bail!("the network was not written: {}", said(&output.stderr));
            }
            let (shape, data) = (said(&output.stdout), folder.display());
            Ok(format!("network={network} batch={batch} shape={shape} tolerance={TOLERANCE} data={data}"))
        };
        Case {
            name: format!("{network}/{batch}"),
            prepare: Box::new(prepare),
            steps,
            warm_up: 2,
            lead: 0,
            flops: None,
            volume: None,
        }
    };
    let all = NETWORKS.iter().flat_map(|&(network, most, calls)| {
        [case(network, 1, calls), case(network, 256, (calls / 64).max(2)), case(network, most, 1)]
    });
    Ok(all.collect())
}

fn parties(context: &Context, threads: usize) -> Vec<Party> {
    let number = threads.to_string();
    let of_libtorch = |who, side| {
        let program = peers::program(context, "inference.cxx", &[Library::Torch]).map(|mut command| {
            command.arg(side).arg(&number);
            command
        });
        Party::new(who, threads, program)
    };
    let of_python = |who, side| {
        let script = context.peers.as_ref().map_err(|reason| anyhow!("{reason}")).map(|peers| {
            let mut command = with_onnx(peers, "inference.py");
            command.arg(side).arg(&number);
            command
        });
        Party::new(who, threads, script)
    };
    vec![
        Party::new(OURS, threads, peers::macro_with_plugin(context, "inference.C", &number)),
        of_libtorch("libtorch", "eager"),
        of_libtorch("torch-jit", "frozen"),
        of_python("pytorch-eager", "eager"),
        of_python("onnxruntime", "onnxruntime"),
    ]
}

/// One of the scripts, with the packages for ONNX, which are installed on first use; a party without them says so.
fn with_onnx(peers: &Peers, name: &str) -> Command {
    match peers.onnx() {
        Ok(folder) => peers.script_with(name, &[folder]),
        Err(error) => {
            println!("onnxruntime is not there: {error:#}");
            peers.script(name)
        }
    }
}
