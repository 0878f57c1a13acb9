//! The back end `jit` against LibTorch: common graphs, and every operator. Without a clang with Clad, each test reports
//! what it left out.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use cladtorch::gradient::{CompiledGraph, Wanted};
use support::graph::awkward;
use support::graph::cases::{Case, cases};
use support::graph::network::GRAPHS;
use support::graph::recorder::{A, Recorder, compare};
use support::say::{not_tested, say};
use tch::{Kind, Tensor};

/// Seconds per function, on a busy machine.
const LIMIT: f64 = 500.0;

/// Cases per function: compiling takes seconds whatever it contains.
const TOGETHER: usize = 60;

/// Whether there is a clang with Clad; otherwise reports what is not tested.
fn is_there(what: &str, count: usize) -> bool {
    let probe = GRAPHS[0].1(1, Kind::Float).compile_with(Wanted::Jit, LIMIT);
    match probe.err().filter(|error| error.contains("no clang++")) {
        Some(error) => not_tested(&format!("with jit {count} {what}: {error}")),
        None => return true,
    }
    false
}

fn check(recorder: &Recorder, kind: Kind) -> Result<(), String> {
    agrees(recorder, &recorder.compile_with(Wanted::Jit, LIMIT)?, kind)
}

fn agrees(recorder: &Recorder, compiled: &CompiledGraph, kind: Kind) -> Result<(), String> {
    let (rtol, atol) = if kind == Kind::Double { (1e-10, 1e-12) } else { (1e-4, 2e-5) };
    compare(recorder, recorder.actual(compiled)?, rtol, atol)
}

#[test]
fn networks_have_libtorchs_values_and_gradients() {
    if !is_there("networks", GRAPHS.len()) {
        return;
    }
    for &(name, graph) in GRAPHS {
        check(&graph(7, Kind::Double), Kind::Double).unwrap_or_else(|e| panic!("{name}: {e}"));
        // Two whole blocks, and a row that is left to `aot`.
        let recorder = graph(7, Kind::Float);
        let compiled = recorder.compile_in_blocks(3, Wanted::Jit, LIMIT).unwrap_or_else(|e| panic!("{name}: {e}"));
        let compiled = compiled.unwrap_or_else(|| panic!("{name}: its rows were not found"));
        agrees(&recorder, &compiled, Kind::Float).unwrap_or_else(|e| panic!("{name}, in blocks: {e}"));
    }
}

/// One function that makes every one of these calls.
fn together(cases: &[Case], kind: Kind) -> Recorder {
    together_with(cases, kind, &|case| case.inputs.iter().enumerate().map(|(i, input)| input.tensor(i, kind)).collect())
}

/// The same with these inputs of each case.
fn together_with(cases: &[Case], kind: Kind, inputs: &dyn Fn(&Case) -> Vec<Tensor>) -> Recorder {
    let inputs: Vec<Tensor> = cases.iter().flat_map(inputs).collect();
    let mut recorder = Recorder::new(&inputs);
    let mut first = 0;
    let mut outputs = Vec::new();
    for case in cases {
        let own = &recorder.tensors[first..first + case.inputs.len()];
        let results = (case.run)(own);
        let count = results.len();
        let arguments: Vec<A> = case.arguments.iter().map(|argument| moved(argument, first)).collect();
        let result = recorder.record(case.op, case.overload, &arguments, results);
        // Places are not numbers; those of `topk` have chosen its values.
        outputs.extend((result..result + count).filter(|&output| recorder.tensors[output].kind() == kind));
        first += case.inputs.len();
    }
    recorder.returns(&outputs);
    recorder
}

/// The argument of a case whose inputs are counted from `first`.
fn moved(argument: &A, first: usize) -> A {
    match argument {
        A::V(index) => A::V(index + first),
        A::VL(list) => A::VL(list.iter().map(|&index| if index < 0 { index } else { index + first as i64 }).collect()),
        other => other.clone(),
    }
}

#[test]
fn operators_have_libtorchs_values_and_gradients() {
    let gives_numbers = |case: &Case| {
        let inputs: Vec<Tensor> = case.inputs.iter().map(|input| input.tensor(0, Kind::Double)).collect();
        (case.run)(&inputs)[0].kind() == Kind::Double
    };
    let cases: Vec<Case> = cases().into_iter().filter(gives_numbers).collect();
    if !is_there("operators", cases.len()) {
        return;
    }
    for (number, group) in cases.chunks(TOGETHER).enumerate() {
        for kind in [Kind::Double, Kind::Float] {
            check(&together(group, kind), kind).unwrap_or_else(|e| panic!("group {number}, {kind:?}: {e}"));
        }
    }
}

/// The same numbers as for the kernels. Each is also computed after a relu and before a square root, whose derivative
/// at 0 is infinite: a gradient of zero must stay zero.
#[test]
fn awkward_numbers_come_out_in_the_same_places() {
    let cases: Vec<Case> = cases().into_iter().filter(|case| case.is_elementwise).collect();
    if !is_there("operators at special numbers", cases.len()) {
        return;
    }
    let mut failures = Vec::new();
    for group in cases.chunks(TOGETHER) {
        for kind in [Kind::Double, Kind::Float] {
            let tolerance = awkward::tolerance(kind);
            let recorder = together_with(group, kind, &|case| awkward::inputs(case, kind));
            let compiled = recorder.compile_with(Wanted::Jit, LIMIT).unwrap();
            let (got, want) = (recorder.actual(&compiled).unwrap(), recorder.expected());
            let outputs = recorder.graph.outputs.len();
            let (mut first, mut gradient) = (0, outputs);
            for (case, node) in group.iter().zip(&recorder.graph.nodes) {
                let points = &recorder.tensors[first..first + case.inputs.len()];
                first += case.inputs.len();
                let values =
                    recorder.graph.outputs.iter().enumerate().filter(|(_, output)| node.outputs.contains(output));
                let gradients = gradient..gradient + points.iter().filter(|point| point.requires_grad()).count();
                gradient = gradients.end;
                for index in values.map(|(index, _)| index).chain(gradients) {
                    // Which zero counts as the greater one does not matter.
                    let is_value = index < outputs && !["maximum", "minimum", "max", "min"].contains(&case.op);
                    let agrees = awkward::agree(node, points, is_value, &got[index], &want[index], tolerance);
                    failures.extend(agrees.err().map(|error| format!("{case}, {kind:?}: {error}")));
                }
            }
            assert_eq!([first, gradient], [recorder.graph.inputs.len(), got.len()]);
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// An infinite adjoint that comes back to where the derivative is 0.
#[test]
fn infinite_adjoints_stay_where_nothing_comes_back() {
    if !is_there("compositions with infinite adjoints", 4) {
        return;
    }
    for op in ["sqrt", "log", "reciprocal", "rsqrt"] {
        let mut recorder =
            Recorder::new(&[Tensor::from_slice(&[-1.0, 0.0, 4.0, -0.0, f64::INFINITY, f64::NEG_INFINITY])]);
        let value = recorder.tensors[0].relu();
        let value = recorder.record("relu", "", &[A::V(0)], vec![value]);
        let of = &recorder.tensors[value];
        let result = match op {
            "sqrt" => of.sqrt(),
            "log" => of.log(),
            "reciprocal" => of.reciprocal(),
            _ => of.rsqrt(),
        };
        let result = recorder.record(op, "", &[A::V(value)], vec![result]);
        recorder.returns(&[result]);
        check(&recorder, Kind::Double).unwrap_or_else(|error| panic!("{op}: {error}"));
    }
}

#[test]
fn the_function_and_its_derivative_can_be_read() {
    if !is_there("texts", 1) {
        return;
    }
    let compiled = GRAPHS[1].1(4, Kind::Float).compile_with(Wanted::Jit, LIMIT).unwrap();
    let text = compiled.text();
    for part in ["[4, 64] aten::linear", "saved_grad", "cladtorch_backward", "Relu"] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    assert!(compiled.describe().contains("jit"), "{}", compiled.describe());
}

/// Not a test: what [`a_compiler_that_does_not_work_is_named`] runs in a process of its own.
#[test]
#[ignore = "run by another test"]
fn says_why_there_is_no_jit() {
    let limit = std::env::var("CLADTORCH_LIMIT").unwrap().parse().unwrap();
    let error = GRAPHS[0].1(3, Kind::Float).compile_with(Wanted::Jit, limit).err();
    say(&format!("reason: {}", error.unwrap_or_else(|| "it works".to_owned())));
}

/// A prefix with a plugin and a compiler that loads it, then follows its instructions.
fn prefix(folder: &Path, compiler: &str) {
    for part in ["bin", "lib", "include/clad/Differentiator"] {
        fs::create_dir_all(folder.join(part)).unwrap();
    }
    fs::write(folder.join("lib/clad.so"), "").unwrap();
    fs::write(folder.join("include/clad/Differentiator/Differentiator.h"), "").unwrap();
    let script = folder.join("bin/clang++");
    fs::write(&script, format!("#!/bin/sh\ncase \"$*\" in *-fsyntax-only*) exit 0 ;; esac\n{compiler}\n")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A process that compiles a function into a cache, or reports why it cannot.
fn compiling(cache: &Path, limit: f64) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "says_why_there_is_no_jit"]).env("CLADTORCH_CACHE", cache);
    command.env("CLADTORCH_LIMIT", limit.to_string());
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn said(process: Child) -> String {
    String::from_utf8_lossy(&process.wait_with_output().unwrap().stderr).into_owned()
}

fn reason(prefix: &Path, cache: &Path) -> String {
    // A compiler that hangs must be ended soon.
    said(compiling(cache, 2.0).env("CLAD_ROOT", prefix).spawn().unwrap())
}

#[test]
fn a_compiler_that_does_not_work_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let nowhere = reason(&folder.path().join("nowhere"), &cache);
    assert!(nowhere.contains("no clang++ with a Clad plugin") && nowhere.contains("nowhere"), "{nowhere}");
    for (name, compiler, said) in [
        ("failing", "echo 'f.cpp:1: error: broken' >&2; exit 1", "error: broken"),
        ("crashing", "kill -SEGV $$", "the compiler failed"),
        ("hanging", "exec sleep 1000", "longer than the time limit"),
        ("empty", "exit 0", "No such file"),
    ] {
        let place = folder.path().join(name);
        prefix(&place, compiler);
        let reason = reason(&place, &cache);
        assert!(reason.contains(said) && reason.contains("use aot"), "{name}: {reason}");
    }
    let left: Vec<_> = fs::read_dir(cache).unwrap().collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

/// A cache that others can write to could run their code.
#[test]
fn a_cache_that_others_can_use_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (place, cache) = (folder.path().join("clad"), folder.path().join("cache"));
    prefix(&place, "exit 1");
    fs::create_dir_all(&cache).unwrap();
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
    let reason = reason(&place, &cache);
    assert!(reason.contains("this user alone"), "{reason}");
}

fn functions(cache: &Path) -> Vec<PathBuf> {
    fs::read_dir(cache).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Of two processes that compile the same function, one publishes; a damaged function is made again; old ones are
/// removed if there are too many, and leftovers of a crash after a day.
#[test]
fn the_cache_survives_processes_damage_and_crashes() {
    if !is_there("caches", 1) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let both = [(); 2].map(|()| compiling(&cache, LIMIT).spawn().unwrap());
    for process in both {
        let said = said(process);
        assert!(said.contains("it works"), "{said}");
    }
    let made = functions(&cache);
    let [function] = &made[..] else { panic!("{made:?}") };

    let library = function.join("function.so");
    File::options().write(true).open(&library).unwrap().set_len(100).unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(48 * 3600);
    for (name, length) in [("0".repeat(64), 300 << 20), ("work-1-0".to_owned(), 1)] {
        fs::create_dir(cache.join(&name)).unwrap();
        File::create(cache.join(&name).join("function.so")).unwrap().set_len(length).unwrap();
        File::open(cache.join(&name)).unwrap().set_modified(long_ago).unwrap();
    }
    let said = said(compiling(&cache, LIMIT).spawn().unwrap());
    assert!(said.contains("it works"), "{said}");
    assert!(fs::metadata(&library).unwrap().len() > 1000);
    assert_eq!(functions(&cache), made);
}
