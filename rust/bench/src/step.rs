//! `step`: one training step, on data in memory.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::Context;
use super::aims::{Aim, Wanted};
use super::case::{Agreement, Case, Defaults, Group};
use super::party::{BY_HAND, GAUGE, OURS, Party};
use super::peers;

pub const GROUP: Group = Group {
    name: "step",
    title: "One training step: forward, loss, backward, Adam",
    notes: "Everybody starts from the same weights (bit-equal) and walks over the same rows in the same order, in fresh \
batches of float32 (`cladtorch-double` computes in float64, `cladtorch-bf16` multiplies in bfloat16, where the processor can, so that its loss may be a few per cent off). Each turn begins with half as many steps that are not \
timed. For LibTorch and PyTorch a batch is a view of contiguous \
rows; CladTorch gathers and standardises its rows inside the step, as `Mlp::Fit` does. In `cladtorch` Clad derives \
activations and losses, and the plan calls their and the products' pullbacks in reverse. For 28-64-64-1, on one thread, \
`by-hand` is a program of the same kernels called one after the other, `cladtorch-chain` the same program with the reverse \
sequence that Clad writes: what Clad's chain costs. `cladtorch-naive` is Clad's reverse mode on textbook loops, row by row: \
what is left without the kernels. `pytorch-fused` is eager \
with `Adam(fused=True)`, `pytorch-compile` is `torch.compile` of model and loss with the same Adam; its compilation is \
in the column `first` (short where an earlier run left it in the cache), not in the median. \
With `--scaling` the cases `batch:` are 28-64-64-1, `width:` 28-W-W-1 and `depth:` 28-64-…-64-1 with so many hidden \
layers, the last two at batch 256; `torch.compile`, which would compile each of them, stays out.",
    check: "loss",
    agreement: Agreement::Loss { relative: 0.02, absolute: 1e-3 },
    means: false,
    patience: None,
    defaults: Defaults::USUAL,
    short: |case| ["28-64-64-1/256", "784-128-10/64"].contains(&case),
    fresh: false,
    aims: &AIMS,
    cases,
    parties,
};

/// Layer sizes and batch.
const CASES: [(&[usize], usize); 8] = [
    (&[28, 64, 64, 1], 32),
    (&[28, 64, 64, 1], 256),
    (&[28, 64, 64, 1], 1024),
    (&[28, 64, 64, 1], 4096),
    (&[28, 128, 128, 128, 1], 256),
    (&[784, 128, 10], 64),
    (&[784, 512, 512, 10], 128),
    (&[784, 512, 512, 10], 1024),
];

/// Bounds against the fastest peer and the floor, in the order of CASES; float64 and bfloat16 against float32; two
/// threads against one.
const AIMS: [Aim; 20] = [
    Aim { cases: |case| case == "28-64-64-1/32", wanted: Wanted::Peers(20.0) },
    Aim { cases: |case| case == "28-64-64-1/32", wanted: Wanted::Floor(2.0) },
    Aim { cases: |case| case == "28-64-64-1/256", wanted: Wanted::Peers(5.5) },
    Aim { cases: |case| case == "28-64-64-1/256", wanted: Wanted::Floor(1.35) },
    Aim { cases: |case| case == "28-64-64-1/1024", wanted: Wanted::Peers(3.0) },
    Aim { cases: |case| case == "28-64-64-1/1024", wanted: Wanted::Floor(1.25) },
    Aim { cases: |case| case == "28-64-64-1/4096", wanted: Wanted::Peers(2.2) },
    Aim { cases: |case| case == "28-64-64-1/4096", wanted: Wanted::Floor(1.25) },
    Aim { cases: |case| case == "28-128-128-128-1/256", wanted: Wanted::Peers(1.9) },
    Aim { cases: |case| case == "28-128-128-128-1/256", wanted: Wanted::Floor(1.25) },
    Aim { cases: |case| case == "784-128-10/64", wanted: Wanted::Peers(2.2) },
    Aim { cases: |case| case == "784-128-10/64", wanted: Wanted::Floor(1.35) },
    Aim { cases: |case| case == "784-512-512-10/128", wanted: Wanted::Peers(1.3) },
    Aim { cases: |case| case == "784-512-512-10/128", wanted: Wanted::Floor(1.35) },
    Aim { cases: |case| case == "784-512-512-10/1024", wanted: Wanted::Peers(1.05) },
    Aim { cases: |case| case == "784-512-512-10/1024", wanted: Wanted::Floor(1.2) },
    Aim { cases: |case| !is_scaling(case), wanted: Wanted::Slower("cladtorch-double", 2.2) },
    Aim { cases: |case| case == "28-128-128-128-1/256", wanted: Wanted::Slower("cladtorch-bf16", 1.0 / 1.4) },
    Aim { cases: |case| case == "784-512-512-10/1024", wanted: Wanted::Slower("cladtorch-bf16", 1.0 / 1.8) },
    Aim {
        cases: |case| !is_scaling(case) && !["/32", "/64", "/128"].iter().any(|small| case.ends_with(small)),
        wanted: Wanted::Threads(1.8),
    },
];

/// Whether it is one of the cases of `--scaling`.
fn is_scaling(case: &str) -> bool {
    case.contains(':')
}

/// The least number of rows to cycle through; never fewer than two batches.
const ROWS: usize = 8192;
/// Steps per round are chosen for about this many floating-point operations, within these limits.
const ROUND_FLOPS: f64 = 2e9;
const STEPS: (f64, f64) = (6.0, 200.0);

fn cases(context: &Context) -> Result<Vec<Case>> {
    let mut cases: Vec<_> = CASES.into_iter().map(|(sizes, batch)| case(network(sizes, batch), sizes, batch)).collect();
    if context.scaling {
        let batches = (0..=16).map(|power| 1 << power);
        cases.extend(batches.map(|batch| case(format!("batch:{batch}"), &[28, 64, 64, 1], batch)));
        let widths = (3..=11).map(|power| 1 << power);
        cases.extend(widths.map(|width| case(format!("width:{width}"), &[28, width, width, 1], 256)));
        cases.extend([1, 2, 4, 8, 16].map(|depth| {
            let sizes: Vec<_> = [28].into_iter().chain(std::iter::repeat_n(64, depth)).chain([1]).collect();
            case(format!("depth:{depth}"), &sizes, 256)
        }));
    }
    Ok(cases)
}

/// `28-64-64-1/32`
pub(super) fn network(sizes: &[usize], batch: usize) -> String {
    let sizes: Vec<_> = sizes.iter().map(usize::to_string).collect();
    format!("{}/{batch}", sizes.join("-"))
}

fn case(name: String, sizes: &[usize], batch: usize) -> Case {
    let text: Vec<_> = sizes.iter().map(usize::to_string).collect();
    let request = format!("sizes={} batch={batch}", text.join(","));
    let flops = step_flops(sizes, batch);
    let steps = (ROUND_FLOPS / flops).clamp(STEPS.0, STEPS.1) as u64;
    let (sizes, rows) = (sizes.to_vec(), batch * ROWS.div_ceil(batch).max(2));
    Case {
        name,
        prepare: Box::new(move |folder| {
            write_data(folder, &sizes, rows)?;
            Ok(format!("{request} rows={rows} data={}", folder.display()))
        }),
        steps,
        warm_up: 1,
        lead: steps / 2,
        flops: Some(flops),
        volume: None,
    }
}

/// Two operations for each weight and row in the forward product, in the weight gradient and, but for the first layer,
/// in the input gradient.
pub(super) fn step_flops(sizes: &[usize], batch: usize) -> f64 {
    let products = |layers: &[usize]| layers.windows(2).map(|pair| (pair[0] * pair[1]) as f64).sum::<f64>();
    2.0 * batch as f64 * (2.0 * products(sizes) + products(&sizes[1..]))
}

/// CladTorch's worker with one of its engines.
fn worker(context: &Context, engine: &str, threads: usize) -> Result<Command> {
    let mut command = Command::new(peers::example(context, "bench_worker")?);
    command.arg(engine).arg(threads.to_string());
    Ok(command)
}

/// Measures products of matrices.
pub(super) fn gauge(context: &Context, threads: usize) -> Party {
    Party::new(GAUGE, threads, worker(context, "aot", threads))
}

fn parties(context: &Context, threads: usize) -> Vec<Party> {
    let ours = |engine: &str| worker(context, engine, threads);
    let pytorch = |variant: &str| {
        let peers = context.peers.as_ref().map_err(|reason| anyhow::anyhow!("{reason}"))?;
        let mut command = peers.script("step.py");
        command.arg(variant).arg(threads.to_string());
        Ok(command)
    };
    let libtorch = peers::program(context, "step.cxx", &[peers::Library::Torch]).map(|mut command| {
        command.arg(threads.to_string());
        command
    });
    let naive = peers::program(context, "naive.cxx", &[peers::Library::Clad]);
    let chain = |variant: &str| {
        let mut command = peers::program(context, "chain.cxx", &[peers::Library::Clad, peers::Library::Kernels])?;
        command.arg(variant);
        Ok(command)
    };
    let small = |case: &str| case.starts_with("28-64-64-1/");
    let table = |case: &str| !case.contains(':');
    let mut parties = vec![
        Party::new(OURS, threads, ours("aot")),
        Party::new("cladtorch-double", threads, ours("aot-double")).only(table),
        Party::new("cladtorch-bf16", threads, ours("aot-bf16")).only(table),
        Party::new("cladtorch-autograd", threads, ours("autograd")).only(table),
        Party::new("libtorch", threads, libtorch),
        Party::new("pytorch-eager", threads, pytorch("eager")),
        Party::new("pytorch-fused", threads, pytorch("fused")),
        Party::new("pytorch-compile", threads, pytorch("compile")).only(table),
    ];
    if threads == 1 {
        let programs = [(BY_HAND, chain("hand")), ("cladtorch-chain", chain("clad")), ("cladtorch-naive", naive)];
        parties.extend(programs.map(|(who, command)| Party::new(who, threads, command).only(small)));
    }
    parties
}

/// Writes `features` [rows, inputs], `labels` [rows] and `parameters` as raw float32. A teacher chooses the labels, so
/// that there is something to learn: the sign of a random quadratic form, or the largest of random linear forms.
pub(super) fn write_data(folder: &Path, sizes: &[usize], rows: usize) -> Result<()> {
    let (inputs, outputs) = (sizes[0], sizes[sizes.len() - 1]);
    let mut random = Random(0x5eed);
    let teacher: Vec<f32> = (0..inputs * outputs.max(2)).map(|_| random.uniform()).collect();
    let features: Vec<f32> = (0..rows * inputs).map(|_| random.uniform()).collect();
    let label = |row: &[f32]| {
        let form = |weights: &[f32]| row.iter().zip(weights).map(|(x, w)| x * w).sum::<f32>();
        let forms: Vec<_> = teacher.chunks_exact(inputs).map(form).collect();
        match outputs {
            1 => f32::from(forms[0] + forms[1] * forms[1] > inputs as f32 / 9.0),
            _ => (0..outputs).max_by(|&a, &b| forms[a].total_cmp(&forms[b])).unwrap_or(0) as f32,
        }
    };
    let labels: Vec<f32> = features.chunks_exact(inputs).map(label).collect();
    let scaled: Vec<f32> = features.iter().map(|x| x * 3f32.sqrt()).collect();
    write_floats(&folder.join("features"), &scaled)?;
    write_floats(&folder.join("labels"), &labels)?;
    write_floats(&folder.join("parameters"), &initial_parameters(sizes, &mut random))
}

/// For each layer weights [outputs, inputs], uniform with the variance 2 / inputs (He et al. 2015), then zero biases.
fn initial_parameters(sizes: &[usize], random: &mut Random) -> Vec<f32> {
    let mut parameters = Vec::new();
    for pair in sizes.windows(2) {
        let bound = (6.0 / pair[0] as f32).sqrt();
        parameters.extend((0..pair[0] * pair[1]).map(|_| bound * random.uniform()));
        parameters.extend(std::iter::repeat_n(0.0, pair[1]));
    }
    parameters
}

fn write_floats(path: &Path, numbers: &[f32]) -> Result<()> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    /// In [-1, 1).
    fn uniform(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floating_point_operations_of_a_step() {
        // Forward 5952 products per row, as many for the weight gradients, 4160 for the input gradients.
        assert_eq!(step_flops(&[28, 64, 64, 1], 32), 2.0 * 32.0 * (5952.0 + 5952.0 + 4160.0));
    }

    #[test]
    fn the_teacher_uses_both_labels() {
        let folder = std::env::temp_dir().join(format!("cladtorch-bench-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        write_data(&folder, &[28, 4, 1], 1000).unwrap();
        let labels = fs::read(folder.join("labels")).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let ones = labels.chunks_exact(4).filter(|bytes| bytes[3] != 0).count();
        assert!((250..750).contains(&ones), "{ones} of 1000");
    }
}
