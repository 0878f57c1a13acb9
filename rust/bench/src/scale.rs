//! `scale`: one training step of processes that share a batch, and one sum over them.

use std::path::Path;
use std::process::Command;
use std::thread;

use anyhow::{Result, anyhow, bail};
use xtask::python;

use super::Context;
use super::aims::{Aim, Wanted};
use super::case::{Agreement, Case, Defaults, Group};
use super::party::{OURS, Party};
use super::{peers, step};

const DDP: &str = "pytorch-ddp";

pub const GROUP: Group = Group {
    name: "scale",
    title: "One training step of several processes on this machine, and one sum over them",
    notes: "A batch has so many rows a process (`28-64-64-1/1024` on 2 ranks: 2048 rows). `cladtorch` is the engine of `Mlp::Fit` with \
the ranks of the first `mpirun` in PATH, `pytorch-ddp` PyTorch's DistributedDataParallel with Gloo and the fused Adam, under `torchrun`. \
Everybody starts from the same weights and walks over the same rows in the same order. Every round is a new job, whose start does not \
count: it makes a third as many steps before those that do. `exchange` of CladTorch is the time that rank 0 spends with messages, \
waiting for others included; of DDP the time of a step less that of a step under `no_sync()`. `sum/N`: N float32 numbers are copied and \
summed over the processes. MPI on one machine has shared memory, Gloo sockets of the loopback interface. Where the name says \
`oversubscribed`, there are more processes than cores.",
    check: "loss or sum",
    agreement: Agreement::Value { relative: 0.05, absolute: 1e-3 },
    means: false,
    patience: Some(60.0),
    short: |case| case == "2 ranks 28-64-64-1/1024",
    defaults: Defaults { rounds: 7, threads: &[1] },
    fresh: false,
    aims: &[Aim { cases: |case| case == "2 ranks 28-64-64-1/1024", wanted: Wanted::Faster(DDP, 5.0) }],
    cases,
    parties,
};

const RANKS: [usize; 3] = [1, 2, 4];
const NETWORKS: [&[usize]; 3] = [&[28, 64, 64, 1], &[28, 128, 128, 128, 1], &[784, 512, 512, 10]];
/// Rows of each process.
const BATCHES: [usize; 3] = [256, 1024, 4096];
/// Length of the summed vector.
const SUMS: [usize; 6] = [1, 1 << 10, 1 << 13, 1 << 14, 1 << 17, 1 << 20];

/// Steps per round are chosen for about this many floating-point operations, or bytes, of a process, within these
/// limits.
const ROUND_FLOPS: f64 = 2e10;
const ROUND_BYTES: f64 = 4e8;
const STEPS: (f64, f64) = (6.0, 2000.0);

fn cases(_: &Context) -> Result<Vec<Case>> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let name = |ranks: usize, rest: &str| match (ranks, ranks > cores) {
        (1, _) => format!("1 rank {rest}"),
        (_, false) => format!("{ranks} ranks {rest}"),
        (_, true) => format!("{ranks} ranks (oversubscribed) {rest}"),
    };
    let mut cases = Vec::new();
    for ranks in RANKS {
        for (sizes, batch) in NETWORKS.into_iter().flat_map(|sizes| BATCHES.map(|batch| (sizes, batch))) {
            cases.push(of_step(name(ranks, &step::network(sizes, batch)), ranks, sizes, batch));
        }
        let sums = SUMS.into_iter().filter(|_| ranks > 1);
        cases.extend(sums.map(|count| of_sum(name(ranks, &format!("sum/{count}")), ranks, count)));
    }
    Ok(cases)
}

fn of_step(name: String, ranks: usize, sizes: &'static [usize], batch: usize) -> Case {
    let rows = 2 * batch * ranks;
    let text: Vec<_> = sizes.iter().map(usize::to_string).collect();
    let request = format!("ranks={ranks} sizes={} batch={batch}", text.join(","));
    let prepare = move |folder: &Path| {
        step::write_data(folder, sizes, rows)?;
        Ok(format!("{request} data={}", folder.display()))
    };
    case(name, (ROUND_FLOPS / step::step_flops(sizes, batch)).clamp(STEPS.0, STEPS.1), prepare)
}

fn of_sum(name: String, ranks: usize, count: usize) -> Case {
    let request = format!("ranks={ranks} sum={count}");
    let bytes = (size_of::<f32>() * count) as f64;
    case(name, (ROUND_BYTES / bytes).clamp(STEPS.0, STEPS.1), move |_: &Path| Ok(request.clone()))
}

fn case(name: String, steps: f64, prepare: impl Fn(&Path) -> Result<String> + 'static) -> Case {
    let prepare = Box::new(prepare);
    Case { name, prepare, steps: steps as u64, warm_up: 0, lead: 0, flops: None, volume: None }
}

/// `launch.py` starts the job that follows it for each round, with the request as its last word.
fn parties(context: &Context, threads: usize) -> Vec<Party> {
    let cladtorch = || -> Result<Command> {
        let worker = peers::example(context, "bench_worker")?;
        let mut command = Command::new(python::find()?.path);
        command.arg(peers::source("launch.py")).env("PYTHONDONTWRITEBYTECODE", "1");
        // More processes than cores, and root in a container.
        for variable in
            ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"]
        {
            command.env(variable, "1");
        }
        if Command::new("mpirun").arg("--version").output().is_err() {
            bail!("there is no mpirun (Debian: openmpi-bin or mpich)");
        }
        command.arg(threads.to_string()).args(["mpirun", "-n", "{ranks}"]).arg(worker).args([
            "ranks",
            "{threads}",
            "{request}",
        ]);
        Ok(command)
    };
    let pytorch = || -> Result<Command> {
        let peers = context.peers.as_ref().map_err(|reason| anyhow!("{reason}"))?;
        let script = peers.script("scale.py");
        let mut command = peers.script("launch.py");
        command.arg(threads.to_string()).arg(script.get_program());
        command.args(["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "{ranks}"]);
        command.args(script.get_args()).args(["{threads}", "{request}"]);
        Ok(command)
    };
    vec![Party::new(OURS, threads, cladtorch()), Party::new(DDP, threads, pytorch())]
}
