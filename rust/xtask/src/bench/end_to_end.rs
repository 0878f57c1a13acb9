//! `end-to-end`: from a ROOT file to a trained model.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, anyhow};

use super::Context;
use super::aims::{Aim, Wanted};
use super::case::{Agreement, Case, Group};
use super::party::{OURS, Party};
use super::peers::{self, Library, Peers};
use crate::plugin;
use crate::process::output;

pub const GROUP: Group = Group {
    name: "end-to-end",
    title: "From a ROOT file to a trained model",
    notes: "A round opens the file, reads the columns, splits off a test part, standardises on the rest, and trains: \
the same network, distribution of initial weights, epochs, batch size and Adam for everybody, in a new order of the events each epoch, from another seed \
each round. The score on the test part (area under the ROC curve, or the share of right classes) is taken after the \
clock stopped. Processes and libraries are loaded before. `cladtorch` is an interpreted macro in root.exe; `libtorch` \
is compiled C++ that reads by RDataFrame's `Take`; `uproot` and `rdataloader` (ROOT's own loader, all events in memory) \
train in PyTorch with the fused Adam.",
    check: "score",
    agreement: Agreement::Score { absolute: 0.005 },
    means: false,
    patience: None,
    aims: &AIMS,
    cases,
    parties,
};

const AIMS: [Aim; 9] = [
    Aim { cases: |case| case.starts_with("higgs"), wanted: Wanted::Faster("libtorch", 10.0) },
    Aim { cases: |case| case.starts_with("higgs"), wanted: Wanted::Faster("uproot", 10.0) },
    Aim { cases: |case| case.starts_with("higgs"), wanted: Wanted::Faster("rdataloader", 10.0) },
    Aim { cases: |case| case.starts_with("gw"), wanted: Wanted::Faster("libtorch", 5.0) },
    Aim { cases: |case| case.starts_with("gw"), wanted: Wanted::Faster("uproot", 5.0) },
    Aim { cases: |case| case.starts_with("gw"), wanted: Wanted::Faster("rdataloader", 5.0) },
    Aim { cases: is_images, wanted: Wanted::Faster("libtorch", 3.0) },
    Aim { cases: is_images, wanted: Wanted::Faster("uproot", 3.0) },
    Aim { cases: |case| case.starts_with("digits"), wanted: Wanted::Faster("rdataloader", 3.0) },
];

fn is_images(case: &str) -> bool {
    case.starts_with("digits") || case.starts_with("fashion")
}

/// The 28 features of Higgs_data.root.
const HIGGS: &str = "lepton_pT,lepton_eta,lepton_phi,missing_energy_magnitude,missing_energy_phi,jet1_pt,jet1_eta,\
jet1_phi,jet1_b-tag,jet2_pt,jet2_eta,jet2_phi,jet2_b-tag,jet3_pt,jet3_eta,jet3_phi,jet3_b-tag,jet4_pt,jet4_eta,\
jet4_phi,jet4_b-tag,m_jj,m_jjj,m_lv,m_jlv,m_bb,m_wbb,m_wwbb";

/// Windows of the gravitational-wave case.
const GW_WINDOWS: usize = 20_000;

/// Where Debian's dataset-fashion-mnist lies.
const FASHION_MNIST: &str = "/usr/share/datasets/fashion-mnist";

fn cases(context: &Context) -> Result<Vec<Case>> {
    let higgs = context.environment.root.dir.join("tutorials/machine_learning/data/Higgs_data.root");
    let mut cases = vec![case("higgs 28-64-64-1/256", move |_: &Path| {
        let how = "sizes=28,64,64,1 batch=256 epochs=10";
        Ok(request(&higgs, "sig_tree:1,bkg_tree:0", HIGGS.to_owned(), how))
    })];
    let environment = context.environment.clone();
    cases.push(case("gw 128-32-32-1/128", move |folder: &Path| {
        let file = folder.join("gw.root");
        let call = format!("{}(\"{}\", {GW_WINDOWS})", peers::source("gw_windows.C").display(), file.display());
        plugin::build(&environment)?;
        output(environment.root_exe().args(["-l", "-b", "-q", &call]))?;
        Ok(request(&file, "windows:label", columns("s", 128), "sizes=128,32,32,1 batch=128 epochs=8"))
    }));
    if let Ok(peers) = &context.peers {
        cases.push(images(peers, "digits 64-128-10/64", "digits", 64, "batch=64 epochs=30", None));
        if Path::new(FASHION_MNIST).is_dir() {
            let name = "fashion 784-128-10/64";
            cases.push(images(peers, name, "fashion", 784, "batch=64 epochs=3", Some(FASHION_MNIST)));
        } else {
            println!("left out: Fashion-MNIST, because {FASHION_MNIST} (Debian's dataset-fashion-mnist) is not there");
        }
    }
    Ok(cases)
}

/// Images of ten classes, which the script of the tree's name writes; `from` is where it finds them.
fn images(peers: &Peers, name: &str, tree: &'static str, pixels: usize, how: &str, from: Option<&'static str>) -> Case {
    let (peers, how) = (peers.clone(), format!("sizes={pixels},128,10 {how}"));
    case(name, move |folder: &Path| {
        let file = folder.join("images.root");
        output(peers.script(&format!("{tree}.py")).arg(&file).args(from))?;
        Ok(request(&file, &format!("{tree}:label"), columns("p", pixels), &how))
    })
}

fn request(file: &Path, tree: &str, columns: String, how: &str) -> String {
    format!("file={} trees={tree} columns={columns} {how} test=0.3", file.display())
}

/// `p0,p1,...`
fn columns(prefix: &str, count: usize) -> String {
    (0..count).map(|i| format!("{prefix}{i}")).collect::<Vec<_>>().join(",")
}

fn case(name: &str, prepare: impl Fn(&Path) -> Result<String> + 'static) -> Case {
    Case { name: name.to_owned(), prepare: Box::new(prepare), steps: 1, warm_up: 0, lead: 0, flops: None, volume: None }
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
