//! Any network as an engine trains it: gradients against central differences and LibTorch autograd, running statistics
//! against LibTorch's, the same bits for any number of threads, and epochs whose last batch is smaller.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cladtorch::gradient::aot::AotEngine;
use cladtorch::gradient::{Engine, ModuleTiles, Settings, Steps, autograd};
use cladtorch::graph::{Activation, Graph, Loss, Optimiser, Precision, RowsMeet};
use cladtorch::kernels::Scalar;
use cladtorch::{Error, Result};
use support::events::Events;
use support::graph::modules::{CASES, Case, MLP, batch_norm, dropped, linear, plus, silu};
use support::graph::recorder::{self, A, A::B, A::I, A::L, A::V, A::VL, Recorder};
use support::numeric::{central_difference, compare};
use support::say::say;
use tch::{Kind, Tensor};

#[path = "modules/random.rs"]
mod random;

/// For losses that have one.
const PARAMETER: f64 = 0.3;
const LOSSES: [(Loss, f64); 3] = [(Loss::SoftmaxCrossEntropy, 0.0), (Loss::MeanSquaredError, 1.0), (Loss::Huber, 1.0)];

fn settings(loss: Loss, batch_size: usize) -> Settings {
    Settings { loss, optimiser: Optimiser::Adam, loss_parameter: PARAMETER, batch_size, ..Settings::default() }
}

/// Seeded events that fit a case and a loss.
fn events(case: &Case, loss: Loss, rows: usize) -> Events {
    let outputs = case.outputs();
    let mut events = Events::new(rows, case.inputs(), outputs);
    if loss != Loss::SoftmaxCrossEntropy {
        events.labels = (0..rows * outputs).map(|i| (i as f32 * 1.3).sin() * 1.7).collect();
    }
    events.scaler.mean.iter_mut().enumerate().for_each(|(i, mean)| *mean = 0.1 * (i % 3) as f32);
    events.scaler.inverse.iter_mut().enumerate().for_each(|(i, inverse)| *inverse = 1.0 + 0.2 * (i % 4) as f32);
    events
}

fn engine<T: Scalar + cladtorch::device::Element>(
    case: &Case,
    parameters: &[f64],
    settings: Settings,
    threads: usize,
) -> AotEngine<T> {
    let kind = if size_of::<T>() == 8 { Kind::Double } else { Kind::Float };
    let convert = |values: &[f64]| values.iter().map(|&value| T::from_f64(value)).collect::<Vec<_>>();
    let tiles = ModuleTiles::new(Arc::new(case.module(kind)), &convert(&case.state()), 5, Precision::Float32).unwrap();
    AotEngine::of(tiles, &convert(parameters), settings, threads).unwrap()
}

fn gradient(case: &Case, parameters: &[f64], loss: Loss, rows: usize, threads: usize) -> (f64, Vec<f64>) {
    let events = events(case, loss, rows);
    let mut engine = engine::<f64>(case, parameters, settings(loss, rows), threads);
    let scale = 1.0 / rows as f64;
    let (value, gradient) = engine.loss_and_gradient(events.rows(), &events.order(), scale).unwrap();
    (value * scale, gradient)
}

fn autograd_gradient(case: &Case, parameters: &[f64], loss: Loss, rows: usize) -> (f64, Vec<f64>) {
    let events = events(case, loss, rows);
    let mut x = vec![0.0f64; rows * case.inputs()];
    events.scaler.standardise(&events.features, &mut x);
    let (recorder, output) = case.recorded(&x, parameters, rows, true, Kind::Double);
    let labels = Tensor::from_slice(&events.labels).to_kind(Kind::Double).view([rows as i64, -1]);
    let value = recorder.tensors[output].view([rows as i64, -1]);
    let losses = autograd::row_losses(loss, PARAMETER, &value, &labels).unwrap();
    let total = (losses * Tensor::from_slice(&events.weights).to_kind(Kind::Double)).mean(Kind::Double);
    total.backward();
    let gradients = (1..=case.parameters.len()).map(|index| recorder::numbers(&recorder.tensors[index].grad()));
    (total.double_value(&[]), gradients.flatten().collect())
}

#[test]
fn every_network_agrees_with_libtorch_autograd() {
    for case in CASES.iter().filter(|case| !case.draws) {
        for (loss, _) in LOSSES {
            // The last ones are several tiles, and several tiles in a lane.
            for rows in [2, 3, 33, 200, 1300] {
                let (value, ours) = gradient(case, &case.start(), loss, rows, 2);
                let (expected, theirs) = autograd_gradient(case, &case.start(), loss, rows);
                let what = format!("{}, {}, {rows} rows", case.name, loss.name());
                compare(&[value], &[expected], 1e-9, 1e-12).unwrap_or_else(|e| panic!("value, {what}: {e}"));
                compare(&ours, &theirs, 1e-7, 1e-10).unwrap_or_else(|e| panic!("gradient, {what}: {e}"));
            }
        }
    }
}

/// Batch normalisation combines events in training: its batches are not cut into tiles, but into blocks that meet there.
#[test]
fn the_events_of_a_network_are_apart_in_training_unless_it_normalises_batches() {
    for case in CASES.iter().chain([&TOWERS, &CENTRED, &SHARED_DROPOUT, &ANCHORED, &TWO_DOMAINS]) {
        let expected = match case.name {
            "centred batch" => RowsMeet::Elsewhere,
            _ if case.state.is_empty() => RowsMeet::Nowhere,
            _ => RowsMeet::InStatistics,
        };
        assert_eq!(case.module(Kind::Float).rows_meet(), expected, "{}", case.name);
    }
}

/// Two networks of the events, each normalised, whose sum is normalised again behind dropout.
const TOWERS: Case = Case {
    name: "normalised towers with dropout",
    event: &[4],
    parameters: &[&[6, 4], &[6], &[6], &[6], &[6, 4], &[6], &[6], &[6], &[6], &[6], &[3, 6], &[3]],
    state: &[&[6], &[6], &[6], &[6], &[6], &[6]],
    draws: true,
    build: &|r, training| {
        let first = linear(r, 0, 1);
        let first = batch_norm(r, first, 3, 13, training);
        let second = linear(r, 0, 5);
        let second = batch_norm(r, second, 7, 15, training);
        let second = silu(r, second);
        let sum = plus(r, first, second);
        let sum = dropped(r, sum, training);
        let sum = batch_norm(r, sum, 9, 17, training);
        linear(r, sum, 11)
    },
};

/// The whole batch is dropped or kept: blocks of it would draw apart.
const SHARED_DROPOUT: Case = Case {
    name: "dropout that events share",
    event: &[4],
    parameters: &[&[6, 4], &[6], &[6], &[6], &[3, 6], &[3]],
    state: &[&[6], &[6]],
    draws: true,
    build: &|r, training| {
        let x = linear(r, 0, 1);
        let x = batch_norm(r, x, 3, 7, training);
        let bias = dropped(r, 2, training);
        let x = plus(r, x, bias);
        linear(r, x, 5)
    },
};

/// The mean of the batch is subtracted behind the normalisation.
const CENTRED: Case = Case {
    name: "centred batch",
    event: &[4],
    parameters: &[&[6, 4], &[6], &[6], &[6], &[3, 6], &[3]],
    state: &[&[6], &[6]],
    draws: false,
    build: &|r, training| {
        let x = linear(r, 0, 1);
        let x = batch_norm(r, x, 3, 7, training);
        let x = silu(r, x);
        let value = r.tensors[x].mean_dim(&[0i64][..], true, r.tensors[x].kind());
        let mean = r.record("mean", "dim", &[V(x), L(vec![0]), B(true), A::None], vec![value]);
        let x = plus(r, x, mean);
        linear(r, x, 5)
    },
};

fn slice(r: &mut Recorder, x: usize, [first, end]: [i64; 2]) -> usize {
    let value = r.tensors[x].slice(0, first, end, 1);
    r.record("slice", "Tensor", &[V(x), I(0), I(first), I(end), I(1)], vec![value])
}

fn cat(r: &mut Recorder, x: usize, y: usize) -> usize {
    let value = Tensor::cat(&[&r.tensors[x], &r.tensors[y]], 0);
    r.record("cat", "", &[VL(vec![x as i64, y as i64]), I(0)], vec![value])
}

/// Three rows are normalised with those of every batch: in blocks they would count in each.
const ANCHORED: Case = Case {
    name: "batch with anchors",
    event: &[4],
    parameters: &[&[6, 4], &[6], &[3, 6], &[6], &[6], &[3, 6], &[3]],
    state: &[&[6], &[6]],
    draws: false,
    build: &|r, training| {
        let x = linear(r, 0, 1);
        let rows = r.tensors[x].size()[0];
        let x = cat(r, x, 3);
        let x = batch_norm(r, x, 4, 8, training);
        let x = slice(r, x, [0, rows]);
        let x = silu(r, x);
        linear(r, x, 6)
    },
};

/// The first four events are normalised apart from the others: blocks would have four each.
const TWO_DOMAINS: Case = Case {
    name: "two domains",
    event: &[4],
    parameters: &[&[6, 4], &[6], &[6], &[6], &[6], &[6], &[3, 6], &[3]],
    state: &[&[6], &[6], &[6], &[6]],
    draws: false,
    build: &|r, training| {
        let x = linear(r, 0, 1);
        let rows = r.tensors[x].size()[0];
        let [first, second] = [[0, 4], [4, rows]].map(|part| slice(r, x, part));
        let first = batch_norm(r, first, 3, 9, training);
        let second = batch_norm(r, second, 5, 11, training);
        let x = cat(r, first, second);
        let x = silu(r, x);
        linear(r, x, 7)
    },
};

fn agrees_with_autograd(case: &Case, rows: usize) {
    let (value, ours) = gradient(case, &case.start(), Loss::MeanSquaredError, rows, 2);
    let (expected, theirs) = autograd_gradient(case, &case.start(), Loss::MeanSquaredError, rows);
    let fails = |what, error| panic!("{what}, {}, {rows} rows: {error}", case.name);
    compare(&[value], &[expected], 1e-9, 1e-12).unwrap_or_else(|error| fails("value", error));
    compare(&ours, &theirs, 1e-7, 1e-10).unwrap_or_else(|error| fails("gradient", error));
}

/// What blocks would compute by themselves is also a function, whose gradient is right.
#[test]
fn batches_that_blocks_would_change_agree_with_libtorch_autograd() {
    for case in [&ANCHORED, &TWO_DOMAINS, &CENTRED] {
        for rows in [40, 520, 1300] {
            agrees_with_autograd(case, rows);
        }
    }
}

#[test]
fn every_network_agrees_with_central_differences() {
    // The masks of dropout are those of the step, which stays the same.
    for case in CASES {
        let (_, ours) = gradient(case, &case.start(), Loss::SoftmaxCrossEntropy, 6, 1);
        let value = |p: &[f64]| gradient(case, p, Loss::SoftmaxCrossEntropy, 6, 1).0;
        let numeric = central_difference(value, &case.start());
        compare(&ours, &numeric, 1e-4, 1e-7).unwrap_or_else(|e| panic!("{}: {e}", case.name));
    }
}

/// The batch is run in blocks, or at once where these would compute something else.
#[test]
fn batches_that_meet_agree_with_central_differences() {
    for case in [&TOWERS, &SHARED_DROPOUT, &CENTRED] {
        let (_, ours) = gradient(case, &case.start(), Loss::MeanSquaredError, 520, 2);
        let value = |p: &[f64]| gradient(case, p, Loss::MeanSquaredError, 520, 1).0;
        let numeric = central_difference(value, &case.start());
        compare(&ours, &numeric, 1e-4, 1e-7).unwrap_or_else(|e| panic!("{}: {e}", case.name));
    }
}

#[test]
fn events_share_the_factors_of_dropout_that_has_no_events() {
    let loss = |rows: usize| {
        let mut events = events(&SHARED_DROPOUT, Loss::MeanSquaredError, rows);
        events.features.fill(0.5);
        events.labels.fill(1.0);
        events.weights.fill(1.0);
        let mut engine =
            engine::<f64>(&SHARED_DROPOUT, &SHARED_DROPOUT.start(), settings(Loss::MeanSquaredError, rows), 2);
        let (sum, _) = engine.loss_and_gradient(events.rows(), &events.order(), 1.0).unwrap();
        sum / rows as f64
    };
    compare(&[loss(600)], &[loss(20)], 1e-9, 0.0).unwrap();
}

#[test]
fn a_planted_error_is_caught() {
    for case in CASES.iter().filter(|case| !case.draws) {
        let (_, theirs) = autograd_gradient(case, &case.start(), Loss::MeanSquaredError, 33);
        // One row left out, another loss, and each parameter's gradient swapped with the next one's.
        let (_, fewer) = gradient(case, &case.start(), Loss::MeanSquaredError, 32, 1);
        let (_, other) = gradient(case, &case.start(), Loss::Huber, 33, 1);
        let mut shifted = theirs.clone();
        shifted.rotate_left(1);
        for wrong in [fewer, other, shifted] {
            assert!(compare(&wrong, &theirs, 1e-7, 1e-10).is_err(), "{}", case.name);
        }
    }
}

#[test]
fn float32_follows_float64() {
    for case in CASES {
        let events = events(case, Loss::MeanSquaredError, 64);
        let mut single = engine::<f32>(case, &case.start(), settings(Loss::MeanSquaredError, 20), 2);
        let mut double = engine::<f64>(case, &case.start(), settings(Loss::MeanSquaredError, 20), 2);
        let before = double.evaluate(events.rows(), &events.order()).unwrap();
        for _ in 0..8 {
            let engines = [&mut single as &mut dyn Engine, &mut double];
            let [single, double] = engines.map(|engine| engine.train(events.rows(), &events.order(), &1e-3).unwrap());
            compare(&[single], &[double], 2e-3, 1e-4).unwrap_or_else(|e| panic!("{}: {e}", case.name));
        }
        let after = double.evaluate(events.rows(), &events.order()).unwrap();
        assert!(after < before, "{} learns nothing: {before} -> {after}", case.name);
    }
}

#[test]
fn the_bits_do_not_depend_on_the_number_of_threads() {
    for case in CASES.iter().chain([&TOWERS, &CENTRED]) {
        let events = events(case, Loss::SoftmaxCrossEntropy, 1500);
        let run = |threads| {
            let mut engine = engine::<f32>(case, &case.start(), settings(Loss::SoftmaxCrossEntropy, 700), threads);
            let losses: Vec<f64> =
                (0..2).map(|_| engine.train(events.rows(), &events.order(), &1e-3).unwrap()).collect();
            let evaluated = engine.evaluate(events.rows(), &events.order()).unwrap();
            let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
            (losses, evaluated, bits(engine.parameters().unwrap()), bits(engine.state()))
        };
        let one = run(1);
        for threads in [2, 3] {
            assert!(run(threads) == one, "{} on {threads} threads", case.name);
        }
    }
}

/// The step size of the first batch only: the second one ends the epoch by an error, or a panic.
struct Ending {
    panics: bool,
}

impl Steps for Ending {
    fn rate(&self, batch: usize, _: f64) -> Result<f64> {
        match batch {
            1 if self.panics => panic!("planned"),
            1 => Err(Error::invalid("planned", "do not end it")),
            // A batch that an epoch still made after that would show in parameters and running statistics.
            _ => Ok(1e-3),
        }
    }
}

/// Whether each thread takes tiles of its own, or one of them leads.
#[test]
fn what_ends_an_epoch_early_ends_it_on_all_threads() {
    const ROWS: usize = 300;
    for case in CASES {
        let events = events(case, Loss::MeanSquaredError, 3 * ROWS);
        let engine = |threads| engine::<f32>(case, &case.start(), settings(Loss::MeanSquaredError, ROWS), threads);
        let mut once = engine(1);
        once.train(events.rows(), &events.order()[..ROWS], &1e-3).unwrap();
        let mut twice = engine(1);
        twice.train(events.rows(), &events.order()[..2 * ROWS], &1e-3).unwrap();
        for threads in [1, 2, 3] {
            let mut engine = engine(threads);
            let train =
                |engine: &mut AotEngine<f32>, steps: &dyn Steps| engine.train(events.rows(), &events.order(), steps);
            let error = train(&mut engine, &Ending { panics: false }).unwrap_err().to_string();
            assert!(error.contains("planned"), "{error}");
            let what = format!("{}, {threads} threads", case.name);
            assert_eq!(engine.parameters().unwrap(), once.parameters().unwrap(), "{what}");
            // Running statistics move before the step.
            assert_eq!(engine.state(), twice.state(), "{what}");
            assert!(catch_unwind(AssertUnwindSafe(|| train(&mut engine, &Ending { panics: true }))).is_err());
            train(&mut engine, &1e-3).unwrap();
        }
    }
}

/// Of batches at once, and in blocks with a last one of another size.
#[test]
fn running_statistics_are_those_of_libtorch() {
    for case in CASES.iter().chain([&ANCHORED, &TWO_DOMAINS]).filter(|case| !case.state.is_empty()) {
        for rows in [40, 512, 600] {
            let events = events(case, Loss::MeanSquaredError, rows);
            let mut engine = engine::<f64>(case, &case.start(), settings(Loss::MeanSquaredError, rows), 1);
            engine.loss_and_gradient(events.rows(), &events.order(), 1.0).unwrap();
            let mut x = vec![0.0f64; events.features.len()];
            events.scaler.standardise(&events.features, &mut x);
            let (recorder, _) = case.recorded(&x, &case.start(), rows, true, Kind::Double);
            let first = 1 + case.parameters.len();
            let theirs = recorder.tensors[first..first + case.state.len()].iter().flat_map(recorder::numbers);
            let ours: Vec<f64> = engine.state().into_iter().map(f64::from).collect();
            compare(&ours, &theirs.collect::<Vec<_>>(), 1e-6, 1e-7)
                .unwrap_or_else(|e| panic!("{}, {rows} rows: {e}", case.name));
            assert_ne!(ours, case.state());
        }
    }
}

/// Batches of 8: the last one has fewer events, or a single one, which batch normalisation does not accept alone.
#[test]
fn every_event_counts_whatever_the_last_batch() {
    for case in CASES {
        for rows in [8, 9, 15, 16, 17] {
            let events = events(case, Loss::MeanSquaredError, rows);
            let mut settings = settings(Loss::MeanSquaredError, 8);
            settings.optimiser = Optimiser::SGD;
            let mut engine = engine::<f64>(case, &case.start(), settings, 2);
            engine.evaluate(events.rows(), &events.order()).unwrap();
            let whole = engine.train(events.rows(), &events.order(), &0.0).unwrap();
            let mut without = events.order();
            let left = without.remove(rows / 2);
            assert!(
                engine.train(events.rows(), &without, &0.0).unwrap() != whole,
                "{}, {rows} rows: {left}",
                case.name
            );
            if !case.draws && case.state.is_empty() {
                let mut sum = |order: &[u32]| engine.evaluate(events.rows(), order).unwrap();
                let (all, parts) = (sum(&events.order()), events.order());
                let parts = sum(&parts[..rows / 2]) + sum(&parts[rows / 2..]);
                compare(&[all, whole], &[parts, parts], 1e-12, 1e-12).unwrap();
            }
        }
    }
}

#[test]
fn batch_normalisation_of_a_single_event_is_refused() {
    let case = CASES.iter().find(|case| !case.state.is_empty()).unwrap();
    let events = events(case, Loss::MeanSquaredError, 1);
    let mut engine = engine::<f64>(case, &case.start(), settings(Loss::MeanSquaredError, 8), 1);
    let error = engine.train(events.rows(), &events.order(), &1e-3).unwrap_err().to_string();
    assert!(error.contains("does not take a single event"), "{error}");
    engine.evaluate(events.rows(), &events.order()).unwrap();
}

#[test]
fn a_perceptron_trains_as_with_its_own_engine() {
    let graph = Graph::mlp(&[MLP[0], MLP[1], MLP[2]], Activation::ReLU).unwrap();
    let case = CASES.iter().find(|case| case.name == "perceptron").unwrap();
    let events = events(case, Loss::SoftmaxCrossEntropy, 1000);
    let start: Vec<f32> = case.start().iter().map(|&p| p as f32).collect();
    assert_eq!(start.len(), graph.parameters());
    let settings = settings(Loss::SoftmaxCrossEntropy, 96);
    let mut own = AotEngine::new(graph, &start, settings, 2).unwrap();
    let mut module = engine::<f32>(case, &case.start(), settings, 2);
    for _ in 0..3 {
        let losses =
            [&mut own as &mut dyn Engine, &mut module].map(|e| e.train(events.rows(), &events.order(), &1e-3).unwrap());
        say(&format!("losses of both engines: {losses:?}"));
        compare(&losses[..1], &losses[1..], 1e-5, 0.0).unwrap();
    }
}
