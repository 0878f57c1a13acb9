//! `end-to-end`: time to quality, from the start of a process to a trained model.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, anyhow};
use xtask::plugin;
use xtask::process::output;

use super::Context;
use super::aims::{Aim, Wanted};
use super::case::{Agreement, Case, Defaults, Group};
use super::party::{OURS, Party};
use super::peers::{self, Library, Peers};

pub const GROUP: Group = Group {
    name: "end-to-end",
    title: "Time to quality: from the start of a process to a model as good as PyTorch's after ten epochs",
    notes: "Every round of a party is a new process: it loads its libraries, reads a training and a validation tree \
from a ROOT file, standardises, and trains until the score on the validation events, taken after each epoch or fit, reaches \
the target. The target is what PyTorch with its defaults reaches in ten epochs, the mean over five seeds, measured \
before the rounds on the same events. Everybody trains the same network with Adam in batches of the same size, and \
with its own defaults otherwise: initial weights, learning rate, CladTorch's standardised target of a regression. \
CladTorch does so by fits of 1, 2, 4, ... epochs, each of which goes on from the last, and is \
scored after each; PyTorch and LibTorch are scored after each epoch. Each round has another seed. `start` is the time until the \
process answers, with all libraries loaded; `loaded` is the rest. The score is the area under the ROC curve (higgs, \
gw), the share of right classes (digits, fashion) or minus the root mean squared error (regression); who does not \
reach the target in 50 epochs is skipped. `cladtorch` is an interpreted macro in root.exe; `libtorch` is compiled \
C++ that reads by RDataFrame's `Take`; `uproot` and `rdataloader` (ROOT's own loader, all events in memory) train in \
PyTorch with the fused Adam.",
    check: "least above target",
    agreement: Agreement::Reached,
    means: false,
    patience: None,
    defaults: Defaults { rounds: 9, threads: &[1] },
    short: |case| case.starts_with("digits "),
    fresh: true,
    aims: &AIMS,
    cases,
    parties,
};

const AIMS: [Aim; 6] = [
    Aim { cases: |case| case.starts_with("higgs"), wanted: Wanted::Peers(10.0) },
    Aim { cases: |case| case.starts_with("higgs"), wanted: Wanted::PeersLoaded(10.0) },
    Aim { cases: |case| case.starts_with("gw"), wanted: Wanted::Peers(6.0) },
    Aim { cases: |case| case.starts_with("gw"), wanted: Wanted::PeersLoaded(6.0) },
    Aim { cases: is_images, wanted: Wanted::Peers(5.0) },
    Aim { cases: is_images, wanted: Wanted::PeersLoaded(5.0) },
];

fn is_images(case: &str) -> bool {
    case.starts_with("digits") || case.starts_with("fashion")
}

/// Windows of the gravitational-wave case.
const GW_WINDOWS: usize = 20_000;

/// The largest number of epochs.
const EPOCHS: u32 = 50;

fn cases(context: &Context) -> Result<Vec<Case>> {
    // Without peers the target is unknown.
    let peers = context.peers.as_ref().map_err(|reason| anyhow!("{reason}"))?;
    let tutorials = context.environment.root.dir.join("tutorials");
    let set = |set: &'static str, source: &Path| {
        let (peers, source) = (peers.clone(), source.to_owned());
        move |file: &Path| output(peers.script("data.py").args(["trees", set]).args([&source, file])).map(drop)
    };
    let environment = context.environment.clone();
    let windows = move |file: &Path| {
        let call = format!("{}(\"{}\", {GW_WINDOWS})", peers::source("gw_windows.C").display(), file.display());
        plugin::build(&environment)?;
        output(environment.root_exe().args(["-l", "-b", "-q", &call])).map(drop)
    };
    let mut cases = vec![
        case(peers, "higgs 28-64-64-1/256", "binary", set("higgs", &tutorials)),
        case(peers, "gw 128-32-32-1/128", "binary", windows),
        case(peers, "digits 64-128-10/64", "classes", set("digits", &tutorials)),
        case(peers, "regression 2-64-64-1/256", "regression", set("tmva_reg_example", &tutorials)),
    ];
    if let Some(images) = peers::fashion_mnist() {
        cases.push(case(peers, "fashion 784-128-10/64", "classes", set("fashion", images)));
    }
    Ok(cases)
}

/// `name`: name of the data, then the layer sizes and the rows per batch. `write` writes the trees.
fn case(peers: &Peers, name: &'static str, task: &str, write: impl Fn(&Path) -> Result<()> + 'static) -> Case {
    let (peers, task) = (peers.clone(), task.to_owned());
    let prepare = move |folder: &Path| {
        let file = folder.join("events.root");
        write(&file)?;
        let (sizes, batch) = network(name).with_context(|| format!("'{name}' names no network"))?;
        let columns: Vec<_> = (0..sizes[0]).map(|i| format!("x{i}")).collect();
        let sizes: Vec<_> = sizes.iter().map(usize::to_string).collect();
        let (file, columns, sizes) = (file.display(), columns.join(","), sizes.join(","));
        let request = format!("file={file} columns={columns} sizes={sizes} batch={batch} task={task}");
        let target = output(peers.script("end_to_end.py").arg("target").args(request.split(' ')))?;
        println!("target of {name}: {target}");
        Ok(format!("{request} target={target} epochs={EPOCHS}"))
    };
    Case { name: name.to_owned(), prepare: Box::new(prepare), steps: 1, warm_up: 0, lead: 0, flops: None, volume: None }
}

/// Sizes and batch of `DATA SIZE-SIZE-.../BATCH`.
fn network(case: &str) -> Option<(Vec<usize>, usize)> {
    let (sizes, batch) = case.split_once(' ')?.1.split_once('/')?;
    Some((sizes.split('-').map(|size| size.parse().ok()).collect::<Option<_>>()?, batch.parse().ok()?))
}

fn parties(context: &Context, threads: usize) -> Vec<Party> {
    let pytorch = |reader: &str| -> Result<Command> {
        let peers = context.peers.as_ref().map_err(|reason| anyhow!("{reason}"))?;
        let mut command = peers.script("end_to_end.py");
        command.arg(reader).arg(threads.to_string());
        Ok(command)
    };
    let rdataloader = pytorch("rdataloader").and_then(|command| peers::with_root(context, command));
    let libtorch = peers::program(context, "end_to_end.cxx", &[Library::Torch, Library::Root]).map(|mut command| {
        command.arg(threads.to_string());
        command
    });
    vec![
        Party::new(OURS, threads, peers::macro_with_plugin(context, "end_to_end.C", &threads.to_string())),
        Party::new("libtorch", threads, libtorch),
        Party::new("uproot", threads, pytorch("uproot")),
        Party::new("rdataloader", threads, rdataloader),
    ]
}

#[cfg(test)]
mod tests {
    use super::network;

    #[test]
    fn the_name_of_a_case_tells_the_network() {
        assert_eq!(network("higgs 28-64-64-1/256"), Some((vec![28, 64, 64, 1], 256)));
        assert_eq!(network("higgs"), None);
    }
}
