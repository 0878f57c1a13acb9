//! `start`: from loading the library to the end of the first training step, in a new process each time.

use std::process::Command;

use anyhow::{Result, anyhow};
use xtask::{plugin, process, project, python};

use super::Context;
use super::aims::{Aim, Wanted};
use super::case::{Agreement, Case, Defaults, Group};
use super::party::{OURS, Party};
use super::peers;

pub const GROUP: Group = Group {
    name: "start",
    title: "From loading the library to the end of the first step, and peak memory",
    notes: "Each repetition is a process of its own, which measures itself from `.L libcladtorch.so` or `import torch` \
to the end of one step of 28-64-64-1 on 256 rows (`step`), or of one epoch over a million rows (`memory`). CladTorch \
reads them from an uncompressed tree, by lines given to the interpreter; PyTorch has random numbers. The check is the \
process's peak memory in MB; the rows alone are 112 MB. root.exe's and Python's own start is not in the time.",
    check: "peak MB",
    agreement: Agreement::None,
    means: false,
    patience: None,
    defaults: Defaults::USUAL,
    short: |case| case == "step",
    fresh: false,
    aims: &[Aim { cases: |case| case == "step", wanted: Wanted::Seconds(1, 1.0) }],
    cases,
    parties,
};

fn cases(context: &Context) -> Result<Vec<Case>> {
    let case = |name: &str, rows: usize, batch: usize| {
        let mut writer = context.environment.root_exe();
        writer.args(["-l", "-b", "-q"]);
        Case {
            name: name.to_owned(),
            prepare: Box::new(move |folder| {
                let file = folder.join("events.root");
                let call = format!("{}(\"{}\", {rows})", peers::source("start_file.C").display(), file.display());
                let mut command = Command::new(writer.get_program());
                command.envs(writer.get_envs().filter_map(|(name, value)| Some((name, value?))));
                process::step("writing the rows", command.args(writer.get_args()).arg(call))?;
                Ok(format!("rows={rows} batch={batch} file={}", file.display()))
            }),
            steps: 1,
            warm_up: 0,
            lead: 0,
            flops: None,
            volume: None,
        }
    };
    Ok(vec![case("step", 256, 256), case("memory", 1_000_000, 4096)])
}

/// `launch.py` starts the command that follows it for each repetition, followed by rows, batch and threads.
fn parties(context: &Context, threads: usize) -> Vec<Party> {
    let peers = || context.peers.as_ref().map_err(|reason| anyhow!("{reason}"));
    let cladtorch = || -> Result<Command> {
        plugin::build(&context.environment)?;
        let root = context.environment.root_exe();
        // The launcher is plain Python: it measures without the peers, too.
        let mut command = Command::new(python::find()?.path);
        command.arg(peers::source("launch.py")).env("PYTHONDONTWRITEBYTECODE", "1");
        command.envs(root.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.arg(threads.to_string()).arg(root.get_program()).args(["-l", "-b", "-q"]);
        let (script, library) = (peers::source("start.C"), project::build().join("lib/libcladtorch.so"));
        let call = format!("{}(\"{}\", \"{{file}}\", {{batch}}, {{threads}})", script.display(), library.display());
        command.arg(call);
        Ok(command)
    };
    let pytorch = || -> Result<Command> {
        let script = peers()?.script("start.py");
        let mut command = peers()?.script("launch.py");
        command.arg(threads.to_string()).arg(script.get_program()).args(script.get_args());
        command.args(["{rows}", "{batch}", "{threads}"]);
        Ok(command)
    };
    vec![Party::new(OURS, threads, cladtorch()), Party::new("pytorch-fused", threads, pytorch())]
}
