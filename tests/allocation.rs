//! After its first step the engine allocates nothing, and a compiled graph nothing after its first call except the
//! caller's results: counted in Rust's allocator and in the C library's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::env;
use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cladtorch::gradient::aot::AotEngine;
use cladtorch::gradient::{Engine, ModuleTiles, Settings};
use cladtorch::graph::{Activation, Graph, Loss, Optimiser, Precision};
use cladtorch::kernels::bf16::is_available;
use cladtorch::ranks;
use support::events::Events;
use support::graph::modules::CASES;
use support::graph::network::GRAPHS;
use support::graph::recorder::Recorder;
use support::launchers::{ALLOWANCES, launchers};
use support::say::{not_tested, say};
use tch::{Kind, Tensor};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: forwards every call to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[repr(C)]
struct Mallinfo2 {
    fields: [usize; 10],
}

unsafe extern "C" {
    fn mallinfo2() -> Mallinfo2;
}

/// Bytes in use by the C library's allocator (fields `hblkhd` and `uordblks`): what LibTorch and its BLAS hold.
fn c_bytes_in_use() -> usize {
    // SAFETY: glibc's function, no arguments.
    let info = unsafe { mallinfo2() };
    info.fields[4] + info.fields[7]
}

/// Rust's allocations so far, and the bytes in use by the C library.
fn allocated() -> (usize, usize) {
    (ALLOCATIONS.load(Ordering::Relaxed), c_bytes_in_use())
}

/// What `run` still allocates, in Rust's allocator (calls) and on the C heap (bytes), once each thread has had its
/// first share of the work: on a busy machine that may take several runs. Whatever each run allocates is still counted
/// after 20.
fn allocates_at_last(name: &str, most: (usize, usize), mut run: impl FnMut()) {
    let mut grown = (usize::MAX, usize::MAX);
    for _ in 0..20 {
        let before = allocated();
        run();
        let after = allocated();
        grown = (after.0 - before.0, after.1.abs_diff(before.1));
        say(&format!("{name}: {} Rust allocations, {} bytes of C heap", grown.0, grown.1));
        if grown.0 <= most.0 && grown.1 <= most.1 {
            return;
        }
    }
    panic!("{name}: {} Rust allocations, {} bytes of C heap in each run", grown.0, grown.1);
}

/// Waits for the threads of a dropped engine: they end by themselves, and free memory when they do.
fn wait_for_threads_to_end() {
    let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).unwrap_or_default();
    let tasks = || fs::read_dir("/proc/self/task").unwrap().flatten();
    let start = Instant::now();
    while tasks().any(|task| name(task).starts_with("cladtorch-")) {
        assert!(start.elapsed() < Duration::from_secs(60), "threads of a dropped engine did not end");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// One test: the counters are the process's, and the harness allocates between tests.
#[test]
fn nothing_is_allocated_after_the_first_time() {
    if env::var_os(RANK).is_some() {
        return steps_of_a_rank();
    }
    steps_on_ranks();
    steps_of_a_training();
    steps_of_modules();
    calls_of_compiled_graphs();
}

/// Set in the processes of a job.
const RANK: &str = "CLADTORCH_ALLOCATION_RANK";

fn steps_on_ranks() {
    let Some(launcher) = launchers().into_iter().next() else {
        return not_tested("steps on ranks: there is no mpirun (Debian: openmpi-bin or mpich)");
    };
    let mut job = Command::new(launcher);
    job.args(["-n", "3"])
        .arg(env::current_exe().unwrap())
        .args(["--exact", "nothing_is_allocated_after_the_first_time"]);
    let ended = job.env(RANK, "1").envs(ALLOWANCES.map(|name| (name, "1"))).output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success() && text.matches("on a rank").count() == 2 * 3, "{text}");
}

/// Few parameters, which are sent as a whole, and many.
fn steps_of_a_rank() {
    let ranks = Arc::new(ranks::open().unwrap().expect("a job"));
    let events = Events::new(1000, 4, 2);
    let (data, order) = (events.rows(), events.order().repeat(5));
    for hidden in [16, 200] {
        let graph = Graph::mlp(&[4, hidden, hidden, 1], Activation::ReLU).unwrap();
        let start: Vec<f32> = (0..graph.parameters()).map(|i| (i as f32).sin() * 0.03).collect();
        let settings = Settings {
            loss: Loss::BinaryCrossEntropy,
            optimiser: Optimiser::Adam,
            batch_size: 300,
            ..Settings::default()
        };
        let engine = AotEngine::new(graph, &start, settings, 1).unwrap();
        let mut engine = engine.with_ranks(Arc::clone(&ranks)).unwrap();
        // The same number on all ranks: they wait for each other.
        let mut allocations = 0;
        for _ in 0..4 {
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            engine.train(data, &order, &1e-3).unwrap();
            allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
        }
        say(&format!("width {hidden} on a rank: {allocations} Rust allocations"));
        assert!(allocations <= 2, "{allocations} allocations in 20 steps of width {hidden}");
    }
}

fn steps_of_a_training() {
    let events = Events::new(1000, 4, 2);
    let (data, order) = (events.rows(), events.order());
    let epoch = order.repeat(50);
    // The last one is a single lane, whose layers the threads share.
    let all = [(1, 64, 300), (2, 64, 300), (2, 400, 300), (2, 400, 100)].map(|case| (case, Precision::Float32));
    let rounded = [(1, 64, 300), (2, 400, 100)].map(|case| (case, Precision::BF16));
    if !is_available::<f32>() {
        not_tested("allocations of steps in bfloat16: this processor has no AVX512-BF16");
    }
    let rounded = rounded.into_iter().filter(|_| is_available::<f32>());
    for ((threads, hidden, batch_size), precision) in all.into_iter().chain(rounded) {
        let graph = Graph::mlp(&[4, hidden, hidden, 1], Activation::ReLU).unwrap();
        let start: Vec<f32> = (0..graph.parameters()).map(|i| (i as f32).sin() * 0.03).collect();
        let settings = Settings {
            loss: Loss::BinaryCrossEntropy,
            optimiser: Optimiser::Adam,
            batch_size,
            precision,
            ..Settings::default()
        };
        let mut engine = AotEngine::new(graph, &start, settings, threads).unwrap();
        let first = engine.train(data, &order, &1e-3).unwrap();
        let mut last = first;
        let name = format!("width {hidden}, batch {batch_size}, {threads} thread(s), 50 epochs, {}", precision.name());
        // An epoch is handed to the threads once, whatever its number of steps.
        allocates_at_last(&name, (2, 0), || last = engine.train(data, &epoch, &1e-3).unwrap() / 50.0);
        assert!(last < first, "it must learn: {first} -> {last}");
        drop(engine);
        wait_for_threads_to_end();
    }
}

fn steps_of_modules() {
    for (case, threads) in CASES.iter().flat_map(|case| [1, 2].map(|threads| (case, threads))) {
        let events = Events::new(1000, case.inputs(), case.outputs());
        let floats = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect::<Vec<_>>();
        let settings = Settings {
            loss: Loss::SoftmaxCrossEntropy,
            optimiser: Optimiser::Adam,
            batch_size: 300,
            ..Settings::default()
        };
        let (module, start, state) = (Arc::new(case.module(Kind::Float)), floats(case.start()), floats(case.state()));
        let tiles = ModuleTiles::new(module, &state, 1, Precision::Float32).unwrap();
        let mut engine = AotEngine::of(tiles, &start, settings, threads).unwrap();
        let epoch = events.order().repeat(20);
        let name = format!("{}, {threads} thread(s), 20 epochs", case.name);
        // Each call hands its work to the threads once.
        allocates_at_last(&name, (2, 8192), || {
            engine.train(events.rows(), &epoch, &1e-3).unwrap();
            engine.evaluate(events.rows(), &epoch).unwrap();
        });
        drop(engine);
        wait_for_threads_to_end();
    }
}

fn calls_of_compiled_graphs() {
    for threads in [1, 2] {
        tch::set_num_threads(threads);
        let cut = GRAPHS.iter().filter(|(name, graph)| calls_of(&graph(1000, Kind::Float), name, threads)).count();
        assert!(cut > 0, "no graph was run in blocks");
    }
}

/// Whether the graph ran in blocks of its rows.
fn calls_of(recorder: &Recorder, name: &str, threads: i32) -> bool {
    let compiled = recorder.compile().unwrap();
    let inputs = &recorder.tensors[..recorder.graph.inputs.len()];
    let outputs = recorder.graph.outputs.iter().map(|&output| &recorder.tensors[output as usize]);
    let results: Vec<Tensor> = outputs.map(|output| output.detach().ones_like()).collect();
    let gradients: Vec<Tensor> = inputs.iter().map(Tensor::zeros_like).collect();
    let addresses = |tensors: &[Tensor]| -> Vec<usize> { tensors.iter().map(|t| t.data_ptr() as usize).collect() };
    let [input, output, gradient] = [addresses(inputs), addresses(&results), addresses(&gradients)];
    let call = || {
        // SAFETY: the tensors have the shapes and types of the observation and outlive the calls.
        unsafe {
            compiled.infer(0, &input, &output).unwrap();
            let saved = compiled.forward(0, &input, &output).unwrap();
            compiled.backward(0, &saved, &input, &output, &gradient).unwrap();
        }
    };
    // Work reaches several threads through a queue whose memory comes in pieces for 63 hand-overs, three per call.
    let most = if threads == 1 { (0, 0) } else { (3, 8192) };
    call();
    allocates_at_last(&format!("{name}, {threads} thread(s), 50 calls"), most, || (0..50).for_each(|_| call()));
    compiled.describe().contains(" blocks of ")
}
