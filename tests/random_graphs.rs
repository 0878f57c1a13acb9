//! Random graphs of up to 20 operators against LibTorch, in float64 and float32. A failing graph is reduced before it
//! is printed: operators that the failure does not need are removed.

use cladtorch::gradient::Wanted;
use cladtorch::gradient::cuda::CudaProgram;
use cladtorch::graph::{ObservedArgument, ObservedNode};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use support::cuda_host::{Host, lowered};
use support::graph::recorder::{A, Recorder, check, compare};
use support::say;
use tch::{Device, Kind, Tensor};

const GRAPHS: u64 = 500;
/// Graphs per function of `jit`: compiling takes seconds whatever it contains.
const TOGETHER: u64 = 25;
const LONGEST: usize = 20;

/// The plan of a random graph: numbers that choose operands and operators once the earlier values are known, so that
/// any subset of the steps is a graph, too.
type Plan = Vec<[u32; 4]>;

fn plan(seed: u64) -> Plan {
    let mut random = StdRng::seed_from_u64(seed);
    let length = random.random_range(1..=LONGEST);
    (0..length).map(|_| std::array::from_fn(|_| random.random())).collect()
}

fn inputs(seed: u64, kind: Kind) -> Vec<Tensor> {
    let wave = |count: i64, phase: f64| {
        let angles = Tensor::arange(count, (Kind::Double, Device::Cpu)) * (1.3 + 0.1 * (seed % 7) as f64) + phase;
        // Numbers that float32 can represent.
        (angles.sin() * 1.5).to_kind(Kind::Float).to_kind(kind)
    };
    vec![
        wave(12, 0.1).reshape([3, 4]),
        wave(12, 0.7).reshape([4, 3]).tr(), // [3, 4], strided
        wave(4, 1.1),
        wave(24, 0.3).reshape([2, 3, 4]),
        wave(1, 0.9).reshape([] as [i64; 0]),
    ]
}

/// Builds the graph of a plan; steps that do not fit are left out.
fn build(plan: &Plan, seed: u64, kind: Kind) -> Recorder {
    build_all(&[(plan.clone(), seed)], kind)
}

/// The same for several plans, side by side in one graph.
fn build_all(plans: &[(Plan, u64)], kind: Kind) -> Recorder {
    let own: Vec<Vec<Tensor>> = plans.iter().map(|(_, seed)| inputs(*seed, kind)).collect();
    let mut recorder = Recorder::new(&own.iter().flatten().map(Tensor::shallow_clone).collect::<Vec<_>>());
    let mut first = 0;
    for ((plan, _), own) in plans.iter().zip(&own) {
        let mut known: Vec<usize> = (first..first + own.len()).collect();
        for step in plan {
            let before = recorder.tensors.len();
            add(&mut recorder, &known, *step);
            known.extend(before..recorder.tensors.len());
        }
        first += own.len();
    }
    // Everything without another use is a result.
    let used: Vec<u32> = recorder.graph.nodes.iter().flat_map(used_by).collect();
    let inputs = recorder.graph.inputs.len();
    let unused = (inputs..recorder.tensors.len()).filter(|&index| !used.contains(&(index as u32)));
    let outputs: Vec<usize> = unused.collect();
    recorder.returns(&outputs);
    recorder
}

fn used_by(node: &ObservedNode) -> impl Iterator<Item = u32> {
    node.arguments.iter().flat_map(ObservedArgument::values)
}

/// One operator, chosen by `step` from those that fit its operands, which are among `known`.
fn add(recorder: &mut Recorder, known: &[usize], [which, first, second, detail]: [u32; 4]) {
    let count = known.len() as u32;
    // Later values are preferred, for long chains.
    let pick = |number: u32| known[(count - 1 - (number % count).min(number / 7 % count)) as usize];
    let (a, b) = (pick(first), pick(second));
    let (x, y) = (recorder.tensors[a].shallow_clone(), recorder.tensors[b].shallow_clone());
    let rank = x.dim() as i64;
    let dim = if rank > 0 { i64::from(detail) % rank } else { 0 };
    if (7..=13).contains(&(which % 24)) {
        return binary(recorder, which % 24, a, b, &x, &y);
    }
    let mut unary = |op: &str, value: Tensor| recorder.record(op, "", &[A::V(a)], vec![value]);
    match which % 24 {
        0 => unary("tanh", x.tanh()),
        1 => unary("sigmoid", x.sigmoid()),
        2 => unary("relu", x.relu()),
        3 => unary("silu", x.silu()),
        4 => unary("sin", x.sin()),
        5 => unary("abs", x.abs()),
        6 => recorder.record("gelu", "", &[A::V(a), A::S("none")], vec![x.gelu("none")]),
        14 if rank > 0 => {
            let arguments = [A::V(a), A::L(vec![dim]), A::B(detail & 64 > 0), A::None];
            recorder.record("sum", "dim_IntList", &arguments, vec![x.sum_dim_intlist(dim, detail & 64 > 0, None)])
        }
        15 if rank > 0 => {
            let arguments = [A::V(a), A::L(vec![dim]), A::B(detail & 64 > 0), A::None];
            recorder.record("mean", "dim", &arguments, vec![x.mean_dim(dim, detail & 64 > 0, None)])
        }
        16 if rank > 0 => {
            recorder.record("amax", "", &[A::V(a), A::L(vec![dim]), A::B(false)], vec![x.amax(dim, false)])
        }
        17 if rank > 0 => recorder.record("softmax", "int", &[A::V(a), A::I(dim), A::None], vec![x.softmax(dim, None)]),
        18 if rank > 1 => {
            recorder.record("transpose", "int", &[A::V(a), A::I(0), A::I(dim)], vec![x.transpose(0, dim)])
        }
        19 if rank > 0 && x.size()[dim as usize] > 1 => {
            let arguments = [A::V(a), A::I(dim), A::I(1), A::I(i64::MAX), A::I(1)];
            recorder.record("slice", "Tensor", &arguments, vec![x.slice(dim, 1, None, 1)])
        }
        20 if rank > 0 => {
            let arguments = [A::V(a), A::I(dim), A::I(-1)];
            recorder.record("select", "int", &arguments, vec![x.select(dim, -1)])
        }
        21 if rank > 0 && x.numel() < 200 => {
            let arguments = [A::VL(vec![a as i64, a as i64]), A::I(dim)];
            recorder.record("cat", "", &arguments, vec![Tensor::cat(&[&x, &x], dim)])
        }
        22 => recorder.record("flatten", "using_ints", &[A::V(a), A::I(0), A::I(-1)], vec![x.flatten(0, -1)]),
        23 if x.numel() < 200 && rank < 4 => {
            let sizes: Vec<i64> = std::iter::once(2).chain(x.size()).collect();
            recorder.record(
                "expand",
                "",
                &[A::V(a), A::L(sizes.clone()), A::B(false)],
                vec![x.expand(&sizes[..], false)],
            )
        }
        _ => return,
    };
}

fn binary(recorder: &mut Recorder, which: u32, a: usize, b: usize, x: &Tensor, y: &Tensor) {
    let pair = [A::V(a), A::V(b)];
    if which == 13 {
        if let Ok(value) = x.f_matmul(y)
            && value.numel() < 2000
        {
            recorder.record("matmul", "", &pair, vec![value]);
        }
        return;
    }
    let scaled = [A::V(a), A::V(b), A::I(1)];
    let (op, arguments, value): (_, &[A], _) = match which {
        7 => ("add", &scaled, x.f_add(y)),
        8 => ("sub", &scaled, x.f_sub(y)),
        9 | 10 => ("mul", &pair, x.f_mul(y)),
        11 => ("maximum", &pair, x.f_maximum(y)),
        _ => ("minimum", &pair, x.f_minimum(y)),
    };
    if let Ok(value) = value
        && value.numel() < 2000
    {
        recorder.record(op, "Tensor", arguments, vec![value]);
    }
}

fn failure(plan: &Plan, seed: u64, kind: Kind) -> Option<String> {
    let recorder = build(plan, seed, kind);
    if recorder.graph.outputs.is_empty() {
        return None;
    }
    let (rtol, atol) = if kind == Kind::Double { (1e-9, 1e-11) } else { (1e-3, 2e-4) };
    check(&recorder, rtol, atol).err()
}

/// The shortest plan found that still fails.
fn reduced(mut plan: Plan, fails: impl Fn(&Plan) -> bool) -> Plan {
    let mut index = 0;
    while index < plan.len() {
        let mut shorter = plan.clone();
        shorter.remove(index);
        if fails(&shorter) {
            plan = shorter;
            index = 0;
        } else {
            index += 1;
        }
    }
    plan
}

fn printed(plan: &Plan, seed: u64, kind: Kind) -> String {
    let recorder = build(plan, seed, kind);
    let line = |node: &ObservedNode| {
        let shape = &recorder.graph.values[node.outputs[0] as usize].shape;
        let operands: Vec<u32> = used_by(node).collect();
        format!("  %{} = {} {operands:?} {shape:?}\n", node.outputs[0], node.op)
    };
    recorder.graph.nodes.iter().map(line).collect()
}

#[test]
fn random_graphs_have_libtorchs_values_and_gradients() {
    let (mut operators, mut cut) = (0, 0);
    for seed in 0..GRAPHS {
        for kind in [Kind::Double, Kind::Float] {
            let whole = plan(seed);
            let recorder = build(&whole, seed, kind);
            operators += recorder.graph.nodes.len();
            cut += u64::from(matches!(recorder.compile_in_blocks(1, Wanted::Aot, 60.0), Ok(Some(_))));
            if let Some(error) = failure(&whole, seed, kind) {
                let small = reduced(whole, |plan| failure(plan, seed, kind).is_some());
                let now = failure(&small, seed, kind);
                panic!("graph {seed} in {kind:?}: {error}\nreduced: {now:?}\n{}", printed(&small, seed, kind));
            }
        }
    }
    assert!(operators as u64 > 6 * 2 * GRAPHS, "only {operators} operators: the plans do not fit their values");
    assert!(cut > GRAPHS / 4, "only {cut} graphs were run in blocks of rows");
}

#[test]
fn the_same_graphs_under_jit() {
    for first in (0..GRAPHS).step_by(TOGETHER as usize) {
        let plans: Vec<(Plan, u64)> = (first..first + TOGETHER).map(|seed| (plan(seed), seed)).collect();
        // Half of the functions in each type.
        let (kind, rtol, atol) =
            if (first / TOGETHER).is_multiple_of(2) { (Kind::Double, 1e-9, 1e-11) } else { (Kind::Float, 1e-3, 2e-4) };
        let recorder = build_all(&plans, kind);
        let compiled = match recorder.compile_with(Wanted::Jit, 500.0) {
            Err(error) if error.contains("no clang++") => {
                return say::not_tested(&format!("with jit {GRAPHS} random graphs: {error}"));
            }
            made => made.unwrap_or_else(|error| panic!("graphs {first} and on: {error}")),
        };
        let same = recorder.actual(&compiled).and_then(|actual| compare(&recorder, actual, rtol, atol));
        same.unwrap_or_else(|error| {
            let texts = plans.iter().map(|(plan, seed)| format!("graph {seed}:\n{}", printed(plan, *seed, kind)));
            panic!("graphs {first} and on, {kind:?}: {error}\n{}", texts.collect::<String>())
        });
    }
}

/// Some of them by the code of the back end `cuda`, compiled for the host.
#[test]
fn the_same_graphs_with_the_kernels_of_cuda() {
    const SOME: u64 = 100;
    for (seeds, kind, rtol, atol) in [(0..SOME, Kind::Double, 1e-9, 1e-11), (SOME..2 * SOME, Kind::Float, 1e-3, 2e-4)] {
        let recorded = |seed: u64| (seed, build(&plan(seed), seed, kind));
        let graphs: Vec<(u64, Recorder)> =
            seeds.map(recorded).filter(|(_, recorder)| !recorder.graph.outputs.is_empty()).collect();
        let programs: Vec<_> = graphs.iter().map(|(_, recorder)| lowered(recorder).unwrap()).collect();
        let kernels: Vec<_> = programs.iter().map(|program| CudaProgram::new(program).unwrap()).collect();
        let host = Host::compile(&kernels.iter().collect::<Vec<_>>());
        for (((seed, recorder), program), kernels) in graphs.iter().zip(&programs).zip(&kernels) {
            let got = host.results(recorder, program, kernels).expect("no graph has an index");
            compare(recorder, got, rtol, atol).unwrap_or_else(|error| {
                panic!("graph {seed} in {kind:?}: {error}\n{}", printed(&plan(*seed), *seed, kind))
            });
        }
    }
}

/// The reduction of a failure finds the operator that causes it.
#[test]
fn a_failing_graph_is_reduced_to_its_cause() {
    let is_bad = |plan: &Plan| build(plan, 3, Kind::Double).graph.nodes.iter().any(|node| node.op == "aten::abs");
    let seed = (0..GRAPHS).find(|&seed| plan(seed).len() > 10 && is_bad(&plan(seed))).expect("one of many");
    let small = reduced(plan(seed), is_bad);
    assert_eq!(build(&small, 3, Kind::Double).graph.nodes.len(), 1, "{}", printed(&small, 3, Kind::Double));
}
