//! Whole networks: the engine's gradient in float64 against central differences and LibTorch autograd, float32 against
//! float64, and the same bits for any number of threads.

use cladtorch::dataset::Scaler;
use cladtorch::gradient::aot::AotEngine;
use cladtorch::gradient::{Engine, Settings, autograd};
use cladtorch::graph::{Activation, Graph, Loss, Optimiser};
use cladtorch::kernels::{Scalar, UpdateSettings, blas_single_thread};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use support::events::Events;
use support::numeric::{central_difference, compare};
use support::say::say;
use support::variants;
use tch::nn::{self, OptimizerConfig};
use tch::{Device, Kind, Tensor};

const FEATURES: usize = 3;
/// For losses that have one.
const PARAMETER: f64 = 0.3;

/// Seeded events: features, labels that fit the loss, event weights including a 0.
fn batch(rows: usize, loss: Loss, outputs: usize, seed: u64) -> Events {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    let mut uniform = || generator.random::<f32>() * 2.0 - 1.0;
    let features = (0..rows * FEATURES).map(|_| uniform()).collect();
    let labels = (0..rows * loss.targets(outputs)).map(|row| match loss {
        Loss::BinaryCrossEntropy | Loss::Focal => (row % 2) as f32,
        Loss::SoftmaxCrossEntropy => (row % outputs) as f32,
        Loss::MeanSquaredError | Loss::Huber | Loss::Quantile | Loss::Gaussian => 2.5 * uniform(),
    });
    let labels = labels.collect();
    let mut weights: Vec<f32> = (0..rows).map(|_| 0.5 + uniform().abs()).collect();
    if rows > 1 {
        weights[rows / 2] = 0.0;
    }
    let scaler = Scaler { mean: vec![0.1, -0.2, 0.3], inverse: vec![1.5, 0.7, 1.0] };
    Events { features, labels, weights, scaler }
}

fn settings(loss: Loss, batch_size: usize) -> Settings {
    Settings { loss, optimiser: Optimiser::SGD, loss_parameter: PARAMETER, batch_size, ..Settings::default() }
}

fn network(depth: usize, outputs: usize, activation: Activation) -> Graph {
    let mut sizes = vec![FEATURES];
    sizes.extend((1..depth).map(|layer| 3 + layer % 3));
    sizes.push(outputs);
    Graph::mlp(&sizes, activation).unwrap()
}

fn parameters(graph: &Graph, seed: u64) -> Vec<f64> {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    (0..graph.parameters()).map(|_| generator.random::<f64>() * 1.6 - 0.8).collect()
}

fn gradient<T: Scalar + cladtorch::device::Element>(
    graph: &Graph,
    parameters: &[f64],
    batch: &Events,
    loss: Loss,
    threads: usize,
) -> (f64, Vec<T>) {
    let parameters: Vec<T> = parameters.iter().map(|&p| T::from_f64(p)).collect();
    let rows = batch.order();
    let mut engine = AotEngine::new(graph.clone(), &parameters, settings(loss, rows.len()), threads).unwrap();
    let scale = 1.0 / rows.len() as f64;
    let (value, gradient) = engine.loss_and_gradient(batch.rows(), &rows, scale).unwrap();
    (value * scale, gradient.to_vec())
}

fn autograd_gradient(graph: &Graph, parameters: &[f64], batch: &Events, loss: Loss) -> (f64, Vec<f64>) {
    let flat = Tensor::from_slice(parameters).set_requires_grad(true);
    let column = |values: &[f32]| Tensor::from_slice(values).to_kind(Kind::Double);
    let x = Tensor::from_slice(&batch.features).view([-1, FEATURES as i64]);
    let x = ((x - Tensor::from_slice(&batch.scaler.mean)) * Tensor::from_slice(&batch.scaler.inverse))
        .to_kind(Kind::Double);
    let value = autograd::forward(graph, &flat, &x).unwrap();
    let labels = column(&batch.labels).view([batch.weights.len() as i64, -1]);
    let losses = autograd::row_losses(loss, PARAMETER, &value, &labels).unwrap();
    let total = (losses * column(&batch.weights)).mean(Kind::Double);
    total.backward();
    (total.double_value(&[]), Vec::<f64>::try_from(flat.grad()).unwrap())
}

/// Every (loss, outputs) with which a network can end.
fn endings() -> impl Iterator<Item = (Loss, usize)> {
    let outputs = |loss| match loss {
        Loss::BinaryCrossEntropy | Loss::Focal => &[1][..],
        Loss::SoftmaxCrossEntropy => &[4],
        Loss::MeanSquaredError | Loss::Huber | Loss::Quantile => &[1, 3],
        Loss::Gaussian => &[2, 6],
    };
    Loss::ALL.iter().flat_map(move |&loss| outputs(loss).iter().map(move |&outputs| (loss, outputs)))
}

#[test]
fn every_network_agrees_with_libtorch_autograd() {
    let mut networks = 0;
    for depth in 1..=6 {
        for &activation in Activation::ALL {
            for (loss, outputs) in endings() {
                for rows in [1, 2, 63, 64, 65, 200] {
                    let graph = network(depth, outputs, activation);
                    let start = parameters(&graph, depth as u64);
                    let batch = batch(rows, loss, outputs, rows as u64);
                    let ending = format!("{} of {outputs}", loss.name());
                    let what = format!("depth {depth}, {}, {ending}, {rows} rows", activation.name());
                    let (value, ours) = gradient::<f64>(&graph, &start, &batch, loss, 2);
                    let (expected, theirs) = autograd_gradient(&graph, &start, &batch, loss);
                    compare(&[value], &[expected], 1e-12, 1e-12).unwrap_or_else(|e| panic!("value, {what}: {e}"));
                    compare(&ours, &theirs, 1e-9, 1e-12).unwrap_or_else(|e| panic!("gradient, {what}: {e}"));
                    let (_, single) = gradient::<f32>(&graph, &start, &batch, loss, 2);
                    let single: Vec<f64> = single.into_iter().map(f64::from).collect();
                    compare(&single, &ours, 1e-3, 1e-5).unwrap_or_else(|e| panic!("float32, {what}: {e}"));
                    networks += 1;
                }
            }
        }
    }
    say(&format!("{networks} networks compared with LibTorch autograd"));
}

#[test]
fn wide_layers_agree_too() {
    // With several panels, the last one not full, and more rows than a tile.
    let graph = Graph::mlp(&[FEATURES, 400, 400, 1], Activation::ReLU).unwrap();
    let start: Vec<f64> = parameters(&graph, 8).iter().map(|p| 0.1 * p).collect();
    for rows in [1, 65, 200] {
        let batch = batch(rows, Loss::BinaryCrossEntropy, 1, 3);
        let (_, ours) = gradient::<f64>(&graph, &start, &batch, Loss::BinaryCrossEntropy, 2);
        let (_, theirs) = autograd_gradient(&graph, &start, &batch, Loss::BinaryCrossEntropy);
        compare(&ours, &theirs, 1e-9, 1e-12).unwrap_or_else(|e| panic!("{rows} rows: {e}"));
    }
}

#[test]
fn every_network_agrees_with_central_differences() {
    // Kinks: a pre-activation within the step of one spoils the difference, not the derivative; the smooth activations
    // are compared here in all, those with a kink at seeds where no pre-activation is that close.
    for depth in 1..=6 {
        for &activation in Activation::ALL {
            for (loss, outputs) in endings() {
                let graph = network(depth, outputs, activation);
                let start = parameters(&graph, 40 + depth as u64);
                let batch = batch(5, loss, outputs, 9);
                let (_, ours) = gradient::<f64>(&graph, &start, &batch, loss, 1);
                let numeric = central_difference(|p| gradient::<f64>(&graph, p, &batch, loss, 1).0, &start);
                compare(&ours, &numeric, 1e-5, 1e-8)
                    .unwrap_or_else(|e| panic!("depth {depth}, {}, {}: {e}", activation.name(), loss.name()));
            }
        }
    }
}

#[test]
fn zero_weights_and_zero_parameters_give_what_autograd_gives() {
    for &activation in Activation::ALL {
        for (loss, outputs) in endings() {
            let graph = network(3, outputs, activation);
            let zeros = vec![0.0; graph.parameters()];
            let mut batch = batch(70, loss, outputs, 1);
            let (_, ours) = gradient::<f64>(&graph, &zeros, &batch, loss, 2);
            let (_, theirs) = autograd_gradient(&graph, &zeros, &batch, loss);
            compare(&ours, &theirs, 1e-9, 1e-12)
                .unwrap_or_else(|e| panic!("zero parameters, {}, {}: {e}", activation.name(), loss.name()));
            batch.weights.fill(0.0);
            let (value, ours) = gradient::<f64>(&graph, &parameters(&graph, 3), &batch, loss, 2);
            assert_eq!(value, 0.0);
            assert!(ours.iter().all(|&g| g == 0.0), "{}, {}", activation.name(), loss.name());
        }
    }
}

#[test]
fn a_planted_wrong_pullback_is_caught() {
    let graph = network(3, 1, Activation::SiLU);
    let start = parameters(&graph, 1);
    let batch = batch(65, Loss::BinaryCrossEntropy, 1, 1);
    let (_, right) = gradient::<f64>(&graph, &start, &batch, Loss::BinaryCrossEntropy, 1);
    let (_, theirs) = autograd_gradient(&graph, &start, &batch, Loss::BinaryCrossEntropy);
    compare(&right, &theirs, 1e-9, 1e-12).unwrap();
    // The pullback of another activation, a sign, and a bias left out.
    let wrong = network(3, 1, Activation::GELU);
    let (_, other) = gradient::<f64>(&wrong, &start, &batch, Loss::BinaryCrossEntropy, 1);
    assert!(compare(&other, &theirs, 1e-3, 1e-5).is_err());
    let mut flipped = right.clone();
    flipped[0] = -flipped[0];
    assert!(compare(&flipped, &theirs, 1e-3, 1e-5).is_err());
    let mut missing = right;
    missing[graph.layers().next().unwrap().1.start] = 0.0;
    assert!(compare(&missing, &theirs, 1e-3, 1e-5).is_err());
}

#[test]
fn the_bits_do_not_depend_on_the_number_of_threads() {
    // Lanes for all threads; fewer lanes than threads; one lane, whose layers are shared out, so that of 321 outputs on
    // 8 threads the last share is a single one.
    for (hidden, batch_size) in [(64, 700), (400, 700), (400, 100), (321, 100)] {
        bits_are_the_same(hidden, batch_size, Loss::BinaryCrossEntropy, 1);
    }
    bits_are_the_same(64, 700, Loss::Huber, 3);
}

fn bits_are_the_same(hidden: usize, batch_size: usize, loss: Loss, outputs: usize) {
    let graph = Graph::mlp(&[FEATURES, hidden, hidden, outputs], Activation::ReLU).unwrap();
    let start: Vec<f32> = parameters(&graph, 2).iter().map(|&p| p as f32 * 0.1).collect();
    let batch = batch(2000, loss, outputs, 4);
    let run = |threads| {
        let mut settings = settings(loss, batch_size);
        settings.optimiser = Optimiser::Adam;
        let mut engine = AotEngine::new(graph.clone(), &start, settings, threads).unwrap();
        let losses: Vec<u64> =
            (0..3).map(|_| engine.train(batch.rows(), &batch.order(), &1e-3).unwrap().to_bits()).collect();
        let evaluated = engine.evaluate(batch.rows(), &batch.order()).unwrap().to_bits();
        let weights: Vec<u32> = engine.parameters().unwrap().iter().map(|p| p.to_bits()).collect();
        (losses, evaluated, weights)
    };
    let one = run(1);
    for threads in [2, 3, 8] {
        assert!(run(threads) == one, "{hidden} numbers, batch of {batch_size}, {threads} threads");
    }
}

#[test]
fn small_batches_are_evaluated_like_large_ones() {
    let batch = batch(500, Loss::BinaryCrossEntropy, 1, 4);
    let graph = network(3, 1, Activation::Tanh);
    let start = parameters(&graph, 5);
    let evaluate = |rows| {
        let mut engine =
            AotEngine::<f64>::new(graph.clone(), &start, settings(Loss::BinaryCrossEntropy, rows), 2).unwrap();
        engine.evaluate(batch.rows(), &batch.order()).unwrap()
    };
    let expected = autograd_gradient(&graph, &start, &batch, Loss::BinaryCrossEntropy).0 * 500.0;
    for rows in [1, 7, 32, 64, 100, 500] {
        compare(&[evaluate(rows)], &[expected], 1e-12, 1e-12).unwrap_or_else(|e| panic!("batch of {rows}: {e}"));
    }
}

#[test]
fn the_variants_of_the_kernels_pass_too() {
    variants::pass_too(&[
        "every_network_agrees_with_central_differences",
        "every_network_agrees_with_libtorch_autograd",
        "wide_layers_agree_too",
        "the_bits_do_not_depend_on_the_number_of_threads",
        "sgd_is_that_of_libtorch",
        "adam_is_that_of_libtorch",
        "adamw_is_that_of_libtorch",
        "the_variants_of_the_kernels_pass_too",
    ]);
}

/// Parameters of a update, and how often it runs.
const SWEPT: usize = 37;
const STEPS: i64 = 6;

fn wave(seed: i64) -> Vec<f64> {
    (1..=SWEPT).map(|i| (i as f64 * (seed as f64 + 0.7)).sin()).collect()
}

fn update(step: i64, momentum: f64, weight_decay: f64) -> UpdateSettings {
    UpdateSettings { learning_rate: 0.02, weight_decay, momentum, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, step }
}

/// Parameters after `STEPS` steps of LibTorch's optimiser, whose gradient at step s is `wave(s)`.
fn of_libtorch(config: impl OptimizerConfig) -> Vec<f64> {
    let mut store = nn::VarStore::new(Device::Cpu);
    let mut p = store.root().var("p", &[SWEPT as i64], nn::Init::Const(0.0));
    store.double();
    tch::no_grad(|| p.copy_(&Tensor::from_slice(&wave(0))));
    let mut optimiser = config.build(&store, 0.02).unwrap();
    for step in 1..=STEPS {
        optimiser.backward_step(&(&p * Tensor::from_slice(&wave(step))).sum(tch::Kind::Double));
    }
    Vec::try_from(&p).unwrap()
}

/// The same with one of the sweeps, which gets the step, parameters, gradient and two zeroed arrays of state.
fn of_ours(update: impl Fn(i64, &mut [f64], &[f64], &mut [f64], &mut [f64])) -> Vec<f64> {
    let (mut p, mut m, mut v) = (wave(0), vec![0.0; SWEPT], vec![0.0; SWEPT]);
    for step in 1..=STEPS {
        update(step, &mut p, &wave(step), &mut m, &mut v);
    }
    p
}

fn assert_close(ours: &[f64], torch: &[f64]) {
    for (i, (a, b)) in ours.iter().zip(torch).enumerate() {
        assert!((a - b).abs() < 1e-13, "parameter {i} is {a}, LibTorch's {b}");
    }
}

#[test]
fn sgd_is_that_of_libtorch() {
    for (momentum, wd) in [(0.0, 0.0), (0.0, 0.1), (0.9, 0.0), (0.9, 0.1)] {
        let got = of_ours(|step, p, g, m, _| {
            let velocity = (momentum != 0.0).then_some(m);
            f64::sgd(&update(step, momentum, wd), p, g, velocity);
        });
        assert_close(&got, &of_libtorch(nn::Sgd { momentum, wd, ..Default::default() }));
    }
}

#[test]
fn adam_is_that_of_libtorch() {
    for wd in [0.0, 0.1] {
        let got = of_ours(|step, p, g, m, v| f64::adam(&update(step, 0.0, wd), p, g, m, v));
        assert_close(&got, &of_libtorch(nn::Adam { beta2: 0.99, wd, ..Default::default() }));
    }
}

#[test]
fn adamw_is_that_of_libtorch() {
    for wd in [0.0, 0.1] {
        let got = of_ours(|step, p, g, m, v| f64::adamw(&update(step, 0.0, wd), p, g, m, v));
        assert_close(&got, &of_libtorch(nn::AdamW { beta2: 0.99, wd, ..Default::default() }));
    }
}

/// The official LibTorch contains MKL; workers that each start threads would compete for the cores.
#[test]
fn libtorchs_blas_can_be_kept_to_one_thread() {
    assert!(blas_single_thread());
}
