//! Steps of perceptrons in training on a GPU: the kernels of the back end `cuda`, LibTorch's C++ with its autograd, and PyTorch, in
//! turns.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use cladtorch::dataset::Scaler;
use cladtorch::gradient::autograd::AutogradEngine;
use cladtorch::gradient::cuda::{CudaEngine, Gpu, Start};
use cladtorch::gradient::{Engine, Rows, Settings};
use cladtorch::graph::{Activation, DType, Graph, Loss, Module, Precision};
use serde_json::Value;
use tch::Device;

use super::pytorch::PyTorch;
use super::{ROUNDS, microseconds, record};

/// Ways of PyTorch to train, with their names in records.
const WAYS: [(&str, &str); 4] = [
    ("eager", "pytorch-fused"),
    ("graph", "pytorch-cuda-graph"),
    ("graph-tf32", "pytorch-cuda-graph-tf32"),
    ("compile", "pytorch-compile"),
];
/// Our names in records. What rounds nothing in a case takes no part in it.
const OURS: [(Precision, &str); 4] = [
    (Precision::Float32, "cladtorch-cuda"),
    (Precision::TF32x3, "cladtorch-cuda-tf32x3"),
    (Precision::TF32, "cladtorch-cuda-tf32"),
    (Precision::BF16, "cladtorch-cuda-bf16"),
];
const RATE: f64 = 1e-3;

/// A perceptron with the size of its batches.
struct Case {
    sizes: &'static [usize],
    batch: usize,
}

/// The batch for which torch.compile takes part, which tunes itself for a minute.
const TUNED: usize = 1024;
/// A step of those whose host launches each kernel takes so many times as long: they make as many fewer in a round.
const SLOWER: usize = 16;

const CASES: &[Case] = &[
    Case { sizes: &[28, 64, 64, 1], batch: 32 },
    Case { sizes: &[28, 64, 64, 1], batch: 256 },
    Case { sizes: &[28, 64, 64, 1], batch: 1024 },
    Case { sizes: &[28, 64, 64, 1], batch: 4096 },
    Case { sizes: &[28, 64, 64, 1], batch: 16384 },
    Case { sizes: &[28, 128, 128, 128, 1], batch: 256 },
    Case { sizes: &[28, 128, 128, 128, 1], batch: 1024 },
    Case { sizes: &[28, 128, 128, 128, 1], batch: 4096 },
    Case { sizes: &[784, 512, 512, 10], batch: 1024 },
];

impl Case {
    fn sizes(&self) -> String {
        self.sizes.iter().map(usize::to_string).collect::<Vec<_>>().join("-")
    }

    /// Events of the dataset: more than a batch, and more than fit a cache.
    fn rows(&self) -> usize {
        (8 * self.batch).max((1 << 23) / self.sizes[0])
    }

    /// Steps of a round.
    fn steps(&self) -> usize {
        if self.sizes.len() == 4 && self.sizes[0] < 100 { 1024 } else { 256 }
    }

    fn outputs(&self) -> usize {
        self.sizes[self.sizes.len() - 1]
    }

    fn loss(&self) -> Loss {
        if self.outputs() == 1 { Loss::BinaryCrossEntropy } else { Loss::SoftmaxCrossEntropy }
    }

    /// Whether torch.compile takes part.
    fn is_tuned(&self) -> bool {
        self.sizes == CASES[0].sizes && self.batch == TUNED
    }
}

/// The records of all cases.
pub fn measure(device: Device, gpu: &Gpu, python: Option<&str>) -> Result<Vec<Value>, String> {
    let mut peers = Vec::new();
    for (way, who) in WAYS {
        if let Some(python) = python {
            peers.push((who, PyTorch::start(python, way)?));
        }
    }
    let mut records = Vec::new();
    for case in CASES {
        let measured = in_turns(case, device, gpu, &mut peers);
        let (name, measured) = (format!("{}/{}", case.sizes(), case.batch), measured?);
        for (who, mut times, check) in measured {
            times.sort_by(f64::total_cmp);
            println!("{name:<28} {who:<24} {}, {check}", microseconds(&times));
            records.push(record(&name, who, &times, &check));
        }
    }
    for batch in [256, 1024] {
        records.push(side_by_side(&Case { sizes: CASES[0].sizes, batch }, gpu)?);
    }
    Ok(records)
}

/// Networks that train side by side, as cross-validation and ensembles do.
const AT_ONCE: usize = 5;

/// Seconds of a step, divided by the networks that make one meanwhile.
fn side_by_side(case: &Case, gpu: &Gpu) -> Result<Value, String> {
    let words = |error: cladtorch::Error| error.to_string();
    let graph = Graph::mlp(case.sizes, Activation::ReLU).map_err(words)?;
    let settings = Settings { loss: case.loss(), batch_size: case.batch, ..Settings::default() };
    let (events, start, steps) = (Events::new(case), start(&graph), case.steps());
    let module = Arc::new(Module::of_graph(&graph, DType::Float32));
    let engine = |_| {
        let start = Start { parameters: &start, ..Start::default() };
        CudaEngine::new(&module, Some(&graph), start, settings, gpu.clone().part(AT_ONCE)).map_err(words)
    };
    let mut engines = (0..AT_ONCE).map(engine).collect::<Result<Vec<_>, _>>()?;
    let before = loss_of(&mut engines[0], &events)?;
    let mut times = Vec::new();
    for round in 0..=ROUNDS {
        let order = events.order_of(round, steps * case.batch);
        let begin = Instant::now();
        thread::scope(|scope| {
            let (events, order) = (&events, &order);
            let train = engines.iter_mut().map(|engine| scope.spawn(move || timed_steps(engine, events, order, steps)));
            let threads: Vec<_> = train.collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("a fit's thread").map(|_| ()))
        })?;
        // The first round warms up.
        if round > 0 {
            times.push(begin.elapsed().as_secs_f64() / (steps * AT_ONCE) as f64);
        }
    }
    times.sort_by(f64::total_cmp);
    let losses = engines.iter_mut().map(|engine| loss_of(engine, &events)).collect::<Result<Vec<f64>, String>>()?;
    if losses.iter().any(|&loss| loss != losses[0] || loss.is_nan() || loss >= before) {
        return Err(format!("{AT_ONCE} equal networks side by side: a loss of {before} became {losses:?}"));
    }
    let (name, check) = (format!("{AT_ONCE} x {}/{}", case.sizes(), case.batch), format!("loss {:.4}", losses[0]));
    println!("{name:<28} {:<24} {}, {check}", OURS[0].1, microseconds(&times));
    Ok(record(&name, OURS[0].1, &times, &check))
}

/// The mean over all events.
fn loss_of(engine: &mut dyn Engine, events: &Events) -> Result<f64, String> {
    let loss = engine.evaluate(events.rows(), &events.order).map_err(|error| error.to_string())?;
    Ok(loss / events.order.len() as f64)
}

type Times<'a> = (&'a str, Vec<f64>, String);

/// Seconds of a step in each round.
fn in_turns<'a>(
    case: &Case,
    device: Device,
    gpu: &Gpu,
    peers: &mut [(&'a str, PyTorch)],
) -> Result<Vec<Times<'a>>, String> {
    let words = |error: cladtorch::Error| error.to_string();
    let graph = Graph::mlp(case.sizes, Activation::ReLU).map_err(words)?;
    let settings = Settings { loss: case.loss(), batch_size: case.batch, ..Settings::default() };
    let events = Events::new(case);
    let start = start(&graph);
    let module = Arc::new(Module::of_graph(&graph, DType::Float32));
    let mut ours = Vec::new();
    for (precision, who) in OURS {
        let start = Start { parameters: &start, ..Start::default() };
        match CudaEngine::new(&module, Some(&graph), start, Settings { precision, ..settings }, gpu.clone()) {
            Ok(engine) => ours.push((who, engine)),
            Err(why) if precision == Precision::Float32 => return Err(words(why)),
            Err(why) => println!("{} without {who}: {why}", case.sizes()),
        }
    }
    let mut libtorch = AutogradEngine::new(graph, &start, settings, device, 0).map_err(words)?;
    let mut peers: Vec<_> = peers.iter_mut().filter(|(who, _)| *who != "pytorch-compile" || case.is_tuned()).collect();
    for (_, peer) in &mut peers {
        peer.ask(&format!("case {} {} {}", case.sizes(), case.batch, case.rows()))?;
    }
    let steps = case.steps();
    let few = steps / SLOWER;
    let before = loss_of(&mut libtorch, &events)?;
    // The same steps lead to the same loss.
    let order = events.order_of(0, few * case.batch);
    timed_steps(&mut libtorch, &events, &order, few)?;
    let theirs = loss_of(&mut libtorch, &events)?;
    for (who, engine) in &mut ours {
        timed_steps(engine, &events, &order, few)?;
        let own = loss_of(engine, &events)?;
        if own.is_nan() || own >= before || (own - theirs).abs() > 0.02 * theirs {
            return Err(format!("{}: a loss of {before} became {own} by {who} and {theirs} by LibTorch", case.sizes()));
        }
    }
    let mut times = vec![Vec::new(); ours.len() + 1 + peers.len()];
    for round in 1..=ROUNDS + 1 {
        // PyTorch's rows are shuffled on the GPU, ours on the host.
        let order = events.order_of(round, steps * case.batch);
        let mut timed = Vec::new();
        for (_, engine) in &mut ours {
            timed.push(timed_steps(engine, &events, &order, steps)?);
        }
        timed.push(timed_steps(&mut libtorch, &events, &order[..few * case.batch], few)?);
        for (who, peer) in &mut peers {
            let steps = if who.contains("graph") { steps } else { few };
            timed.push(peer.ask(&format!("round {steps}"))?);
        }
        if round > 1 {
            times.iter_mut().zip(timed).for_each(|(times, seconds)| times.push(seconds));
        }
    }
    let mut checks = Vec::new();
    for (_, engine) in &mut ours {
        checks.push(format!("loss {:.4}", loss_of(engine, &events)?));
    }
    checks.push(format!("loss {:.4}", loss_of(&mut libtorch, &events)?));
    for (_, peer) in &mut peers {
        checks.push(format!("loss {:.4}", peer.ask("loss")?));
    }
    let names = ours.iter().map(|(who, _)| *who).chain(["libtorch"]).chain(peers.iter().map(|(who, _)| *who));
    Ok(names.zip(times).zip(checks).map(|((who, times), check)| (who, times, check)).collect())
}

fn timed_steps(engine: &mut dyn Engine, events: &Events, order: &[u32], steps: usize) -> Result<f64, String> {
    let start = Instant::now();
    engine.train(events.rows(), order, &RATE).and_then(|_| engine.settle()).map_err(|error| error.to_string())?;
    Ok(start.elapsed().as_secs_f64() / steps as f64)
}

fn start(graph: &Graph) -> Vec<f32> {
    let mut values = vec![0.0; graph.parameters()];
    for (weight, _, inputs, _) in graph.layers() {
        let size = (inputs as f64).sqrt().recip();
        for (i, value) in values[weight].iter_mut().enumerate() {
            *value = (size * (i as f64 * 2.399_963).sin() * 1.4) as f32;
        }
    }
    values
}

/// Numbers that look random, and a label that a network can learn.
struct Events {
    features: Vec<f32>,
    labels: Vec<f32>,
    weights: Vec<f32>,
    scaler: Scaler,
    order: Vec<u32>,
}

impl Events {
    fn new(case: &Case) -> Self {
        let (rows, width) = (case.rows(), case.sizes[0]);
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut uniform = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        let features: Vec<f32> = (0..rows * width).map(|_| uniform() * 1.7).collect();
        let classes = case.outputs() as f32;
        let label = |x: &[f32]| match (x[0] * x[1] + 0.5 * x[2], classes) {
            (score, 1.0) => f32::from(score > 0.0),
            (score, _) => (2.0 * score).round().rem_euclid(classes),
        };
        let labels = features.chunks(width).map(label).collect();
        let scaler = Scaler { mean: vec![0.0; width], inverse: vec![1.0; width] };
        Events { features, labels, weights: vec![1.0; rows], scaler, order: (0..rows as u32).collect() }
    }

    fn rows(&self) -> Rows<'_> {
        let Events { features, labels, weights, scaler, .. } = self;
        Rows { features, labels, weights, scaler, target: None, weight_scale: 1.0 }
    }

    /// So many rows, other ones in each round.
    fn order_of(&self, round: usize, count: usize) -> Vec<u32> {
        let rows = self.order.len() as u64;
        let (step, shift) = (0x9e37_79b1 | 1, round as u64 * 7919);
        (0..count as u64).map(|i| (((i + shift) * step) % rows) as u32).collect()
    }
}
