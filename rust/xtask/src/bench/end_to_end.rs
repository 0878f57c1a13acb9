//! `end-to-end`: from a ROOT file to a trained model.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, anyhow};

use super::Context;
use super::case::{Agreement, Case, Group};
use super::party::{OURS, Party};
use super::peers::{self, Library};
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
    cases,
    parties,
};

/// The 28 features of Higgs_data.root.
const HIGGS: &str = "lepton_pT,lepton_eta,lepton_phi,missing_energy_magnitude,missing_energy_phi,jet1_pt,jet1_eta,\
jet1_phi,jet1_b-tag,jet2_pt,jet2_eta,jet2_phi,jet2_b-tag,jet3_pt,jet3_eta,jet3_phi,jet3_b-tag,jet4_pt,jet4_eta,\
jet4_phi,jet4_b-tag,m_jj,m_jjj,m_lv,m_jlv,m_bb,m_wbb,m_wwbb";

fn cases(context: &Context) -> Result<Vec<Case>> {
    let higgs = context.environment.root.dir.join("tutorials/machine_learning/data/Higgs_data.root");
    let mut cases = vec![case("higgs 28-64-64-1/256", move |_: &Path| {
        Ok(format!(
            "file={} trees=sig_tree:1,bkg_tree:0 columns={HIGGS} sizes=28,64,64,1 batch=256 epochs=10 test=0.3",
            higgs.display()
        ))
    })];
    if let Ok(peers) = &context.peers {
        let writer = peers.script("digits.py");
        let program = writer.get_program().to_owned();
        let site_packages = peers.site_packages.clone();
        cases.push(case("digits 64-128-10/64", move |folder: &Path| {
            let file = folder.join("digits.root");
            let script = peers::source("digits.py");
            output(Command::new(&program).env("PYTHONPATH", &site_packages).arg(script).arg(&file))?;
            let columns: Vec<_> = (0..64).map(|i| format!("p{i}")).collect();
            Ok(format!(
                "file={} trees=digits:label columns={} sizes=64,128,10 batch=64 epochs=30 test=0.3",
                file.display(),
                columns.join(",")
            ))
        }));
    }
    Ok(cases)
}

fn case(name: &str, prepare: impl Fn(&Path) -> Result<String> + 'static) -> Case {
    Case { name: name.to_owned(), prepare: Box::new(prepare), steps: 1, warm_up: 0, flops: None, volume: None }
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
