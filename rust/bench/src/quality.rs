//! `quality`: how well each party's default fit learns.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, anyhow};
use xtask::plugin;
use xtask::process::output;

use super::Context;
use super::aims::{Aim, Wanted};
use super::case::{Agreement, Case, Defaults, Group};
use super::party::{OURS, Party};
use super::peers;

pub const GROUP: Group = Group {
    name: "quality",
    title: "How well default fits learn",
    notes: "A round keeps 30 % of the rows for the test, the same ones for everybody, standardises on the rest and \
fits with the defaults of the library, but for what all networks share: their sizes, their epochs and batches of \
256 (digits and fashion 64). That is Adam for all of them, at a rate of 0.001 in PyTorch and scikit-learn, and as \
`FitOptions` has it in CladTorch. Each round has another seed, of the split, of the initial weights and of the order of the rows. The time \
is that of the fit, on data in memory. `quality` is the area under the ROC curve (tmva_class_example, higgs, gw), \
the share of right classes (tmva_multiclass_example, digits, fashion), or minus the root mean squared error (tmva_reg_example). \
Events of tmva_class_example and tmva_reg_example have the weights of ROOT's tutorials, in the fit and in the \
quality. `gw`: whitened windows of 0.5 s with a chirp of SNR 4.5, random phase and a coalescence anywhere in the \
last 0.2 s; the best test there is (Bayes) reaches an area of 0.970. `pytorch`: linear layers as they come, \
`Adam(fused=True)`; `pytorch-standardised` also standardises the target of a regression. `sklearn-mlp`, \
`sklearn-boosting`: scikit-learn's multilayer perceptron, and its histogram gradient boosting, which takes neither \
epochs nor batches, and stays out of gw and fashion. `cladtorch-bf16`: the same fit with `fPrecision = kBF16`. With `--study`, on higgs: `cladtorch-kaiming`, `cladtorch-xavier` and \
`cladtorch-zero-last` (zeros in the last layer) in the set itself; cases `depth:` are so many hidden layers of 64, \
`batch:` other batches, and the rest other activations.",
    check: "test rows",
    agreement: Agreement::Exact,
    means: false,
    patience: None,
    defaults: Defaults { rounds: 10, threads: &[1] },
    short: |case| ["tmva_class_example", "digits"].contains(&case),
    fresh: false,
    aims: &[Aim { cases: |_| true, wanted: Wanted::Quality("pytorch", 1.0) }],
    cases,
    parties,
};

/// The study's set.
const HIGGS: &str = "higgs";

/// The set whose target is standardised by hand in one variant of PyTorch.
const REGRESSION: &str = "tmva_reg_example";

/// The gravitational-wave set.
const WAVES: &str = "gw";
const WINDOWS: usize = 30_000;

/// The set of images with most features.
const FASHION: &str = "fashion";
const SNR: f64 = 4.5;

/// A set: its name, what is learnt, the layers and the epochs.
const SETS: [(&str, &str, &str, u32); 4] = [
    ("tmva_class_example", "binary", "4,64,64,1", 20),
    ("tmva_multiclass_example", "classes", "4,64,64,4", 20),
    (REGRESSION, "regression", "2,64,64,1", 20),
    (HIGGS, "binary", "28,64,64,1", 10),
];

/// Hidden layers, rows per batch and activations of the study, beside those of the set itself.
const DEPTHS: [usize; 4] = [3, 4, 6, 8];
const BATCHES: [usize; 4] = [32, 64, 1024, 4096];
const ACTIVATIONS: [&str; 3] = ["tanh", "silu", "gelu"];

fn cases(context: &Context) -> Result<Vec<Case>> {
    let tutorials = context.environment.root.dir.join("tutorials");
    let set = |name: &str, set: &'static str, how: String| case(name, raw(context, set, &tutorials), how);
    let mut cases: Vec<_> = SETS
        .into_iter()
        .map(|(name, task, sizes, epochs)| set(name, name, how(task, sizes, 256, epochs, "relu")))
        .collect();
    cases.push(case(WAVES, windows(context), how("binary", "256,64,64,1", 256, 10, "relu")));
    cases.push(set("digits", "digits", how("classes", "64,128,10", 64, 20, "relu")));
    if let Some(images) = peers::fashion_mnist() {
        cases.push(case(FASHION, raw(context, FASHION, images), how("classes", "784,128,10", 64, 10, "relu")));
    }
    if context.study {
        let study = |name: String, depth: usize, batch: usize, activation: &str| {
            let sizes = format!("28,{}1", "64,".repeat(depth));
            set(&name, HIGGS, how("binary", &sizes, batch, 10, activation))
        };
        cases.extend(DEPTHS.map(|depth| study(format!("depth:{depth}"), depth, 256, "relu")));
        cases.extend(BATCHES.map(|batch| study(format!("batch:{batch}"), 2, batch, "relu")));
        cases.extend(ACTIVATIONS.map(|activation| study(format!("{HIGGS}, {activation}"), 2, 256, activation)));
    }
    Ok(cases)
}

fn how(task: &str, sizes: &str, batch: usize, epochs: u32, activation: &str) -> String {
    format!("task={task} sizes={sizes} batch={batch} epochs={epochs} activation={activation}")
}

/// `write` gets the folder for features, labels and weights.
fn case(name: &str, write: impl Fn(&Path) -> Result<()> + 'static, how: String) -> Case {
    let prepare = move |folder: &Path| {
        write(folder)?;
        Ok(format!("{how} data={}", folder.display()))
    };
    Case { name: name.to_owned(), prepare: Box::new(prepare), steps: 1, warm_up: 0, lead: 0, flops: None, volume: None }
}

/// Writes a set from the folder `source`.
fn raw(context: &Context, set: &'static str, source: &Path) -> impl Fn(&Path) -> Result<()> + use<> {
    let (peers, source): (_, PathBuf) = (context.peers.clone(), source.to_owned());
    move |folder| {
        let peers = peers.as_ref().map_err(|reason| anyhow!("{reason}"))?;
        output(peers.script("data.py").args(["raw", set]).args([&source, folder]))?;
        Ok(())
    }
}

/// Writes the gravitational-wave windows.
fn windows(context: &Context) -> impl Fn(&Path) -> Result<()> + use<> {
    let environment = context.environment.clone();
    move |folder| {
        plugin::build(&environment)?;
        let script = peers::source("quality_gw.C");
        let call = format!("{}(\"{}\", {WINDOWS}, {SNR})", script.display(), folder.display());
        output(environment.root_exe().args(["-l", "-b", "-q", &call]))?;
        Ok(())
    }
}

fn parties(context: &Context, threads: usize) -> Vec<Party> {
    let ours = |start: &str| peers::macro_with_plugin(context, "quality.C", &format!("\"{start}\", {threads}"));
    let theirs = |who: &'static str| {
        let command = context.peers.as_ref().map_err(|reason| anyhow!("{reason}")).map(|peers| {
            let mut command: Command = peers.script("quality.py");
            command.arg(who).arg(threads.to_string());
            command
        });
        Party::new(who, threads, command)
    };
    let mut parties = vec![
        Party::new(OURS, threads, ours("default")),
        Party::new("cladtorch-bf16", threads, ours("bf16")).only(is_set),
        theirs("pytorch"),
        theirs("pytorch-standardised").only(|case| case == REGRESSION),
        theirs("sklearn-mlp").only(is_set),
        // Boosting takes half a minute for the 256 samples of the windows, and minutes for images.
        theirs("sklearn-boosting").only(|case| is_set(case) && case != WAVES && case != FASHION),
    ];
    if context.study {
        let starts =
            [("cladtorch-kaiming", "kaiming"), ("cladtorch-xavier", "xavier"), ("cladtorch-zero-last", "zero-last")];
        parties.extend(
            starts
                .map(|(who, start)| Party::new(who, threads, ours(start)).only(|case| !is_set(case) || case == HIGGS)),
        );
    }
    parties
}

/// Whether the case stands for a set, not for a point of the study.
fn is_set(case: &str) -> bool {
    !case.contains([':', ','])
}
