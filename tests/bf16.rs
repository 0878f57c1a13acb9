//! Products in bfloat16: their kernels against a slow reference, the engine with them against the network in float64,
//! its bits, and the cases in which they are refused.

#[path = "bf16/kernels.rs"]
mod kernels;
#[path = "bf16/reference.rs"]
mod reference;

use std::env;
use std::process::Command;
use std::sync::Arc;

use cladtorch::gradient::aot::AotEngine;
use cladtorch::gradient::{Engine, ModuleTiles, Settings};
use cladtorch::graph::{Activation, Graph, Loss, Optimiser, Precision};
use cladtorch::kernels::bf16::is_available;
use reference::{Network, rounded};
use support::events::Events;
use support::graph::modules::CASES;
use support::say::not_tested;
use tch::Kind;

/// Whether they run here; if not, reports that `what` is not tested.
fn runs(what: &str) -> bool {
    if !is_available::<f32>() {
        not_tested(&format!("{what}: this processor has no AVX512-BF16"));
    }
    is_available::<f32>()
}

fn settings(precision: Precision) -> Settings {
    Settings {
        loss: Loss::BinaryCrossEntropy,
        optimiser: Optimiser::Adam,
        batch_size: 100,
        precision,
        ..Settings::default()
    }
}

fn start(graph: &Graph) -> Vec<f32> {
    (0..graph.parameters()).map(|i| ((i as f32 + 0.3) * 1.7).sin() * 0.3).collect()
}

/// Events of a class that the features determine: whether the sum of the first two is positive.
fn events(rows: usize, features: usize) -> Events {
    let mut events = Events::new(rows, features, 2);
    let sums = events.features.chunks_exact(features).map(|event| event[0] + event[1]);
    events.labels = sums.map(|sum| f32::from(u8::from(sum > 0.0))).collect();
    events
}

/// |a - b| / |b|
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
    norm(&mut a.iter().zip(b).map(|(a, b)| a - b)) / norm(&mut b.iter().copied())
}

#[test]
fn gradients_are_those_of_rounded_products() {
    if !runs("gradients in bfloat16") {
        return;
    }
    for (sizes, activation) in [
        (&[7, 33, 40, 1][..], Activation::ReLU),
        (&[5, 17, 2, 3], Activation::LeakyReLU),
        (&[28, 64, 64, 1], Activation::Tanh),
    ] {
        let (graph, events) = (Graph::mlp(sizes, activation).unwrap(), events(77, sizes[0]));
        let loss = if sizes[3] == 1 { Loss::BinaryCrossEntropy } else { Loss::SoftmaxCrossEntropy };
        let settings = Settings { loss, ..settings(Precision::BF16) };
        let parameters = start(&graph);
        let mut engine = AotEngine::new(graph.clone(), &parameters, settings, 1).unwrap();
        let (_, found) = engine.loss_and_gradient(events.rows(), &events.order(), 1.0).unwrap();
        let found: Vec<f64> = found.into_iter().map(f64::from).collect();
        let wide: Vec<f64> = parameters.iter().map(|&p| p.into()).collect();
        let network = Network { sizes, activation, loss };
        let [expected, exact, planted] =
            [rounded, |x| x, |x: f64| rounded(x * 1.01)].map(|round| network.gradient(&wide, &events, round));
        let [near, far, wrong] = [&expected, &exact, &planted].map(|reference| distance(&found, reference));
        // A sum that is rounded differently may be a neighbour in bfloat16.
        assert!(near < 2e-4, "{sizes:?}: {near:e} from the reference");
        assert!(far > 5.0 * near && far < 2e-2, "{sizes:?}: {far:e} from the exact gradient");
        assert!(wrong > 5.0 * near, "{sizes:?}: a wrong reference is not noticed: {wrong:e}");
    }
}

#[test]
fn networks_of_all_kinds_are_rounded_where_they_can_be() {
    if !runs("modules in bfloat16") {
        return;
    }
    let floats = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect::<Vec<_>>();
    let mut tested = 0;
    for case in CASES {
        let events = Events::new(90, case.inputs(), case.outputs());
        let gradient = |precision, threads| {
            let tiles = ModuleTiles::new(Arc::new(case.module(Kind::Float)), &floats(case.state()), 5, precision)?;
            let settings = Settings { loss: Loss::SoftmaxCrossEntropy, ..settings(precision) };
            let mut engine = AotEngine::of(tiles, &floats(case.start()), settings, threads)?;
            let (_, gradient) = engine.loss_and_gradient(events.rows(), &events.order(), 1.0)?;
            Ok(gradient.into_iter().map(f64::from).collect::<Vec<_>>())
        };
        let exact: Vec<f64> = gradient(Precision::Float32, 1).unwrap();
        match gradient(Precision::BF16, 1) {
            Ok(rounded) => {
                let distance = distance(&rounded, &exact);
                assert!(distance > 1e-5 && distance < 0.05, "{}: {distance:e} from float32", case.name);
                assert!(gradient(Precision::BF16, 2).unwrap() == rounded, "{} on two threads", case.name);
                tested += 1;
            }
            Err(error) => {
                let error: cladtorch::Error = error;
                assert!(error.to_string().contains("no layer whose products can be rounded"), "{}: {error}", case.name);
            }
        }
    }
    assert!(tested > 2, "only {tested} networks have layers to round");
}

#[test]
fn the_reference_has_the_right_derivatives() {
    let (sizes, events) = (&[3, 5, 4, 1][..], events(9, 3));
    let network = Network { sizes, activation: Activation::Tanh, loss: Loss::BinaryCrossEntropy };
    let parameters: Vec<f64> = start(&Graph::mlp(sizes, Activation::Tanh).unwrap()).iter().map(|&p| p.into()).collect();
    let differences = support::numeric::central_difference(|p| network.loss(p, &events), &parameters);
    let gradient = network.gradient(&parameters, &events, |x| x);
    support::numeric::compare(&gradient, &differences, 1e-6, 1e-8).unwrap();
}

#[test]
fn the_bits_do_not_depend_on_the_number_of_threads() {
    if !runs("bits of fits in bfloat16") {
        return;
    }
    // Shares of a batch for all threads; one share, whose layers the threads share out.
    for (hidden, batch_size) in [(64, 700), (400, 100), (321, 99)] {
        let graph = Graph::mlp(&[6, hidden, hidden, 1], Activation::ReLU).unwrap();
        let (parameters, events) = (start(&graph), events(2000, 6));
        let run = |threads| {
            let settings = Settings { batch_size, ..settings(Precision::BF16) };
            let mut engine = AotEngine::new(graph.clone(), &parameters, settings, threads).unwrap();
            let loss = engine.train(events.rows(), &events.order(), &1e-3).unwrap();
            let weights: Vec<u32> = engine.parameters().unwrap().iter().map(|p| p.to_bits()).collect();
            (loss.to_bits(), weights)
        };
        let one = run(1);
        for threads in [2, 3, 8] {
            assert!(run(threads) == one, "{hidden} numbers, batch of {batch_size}, {threads} threads");
        }
    }
}

#[test]
fn it_learns_as_well_as_in_float32() {
    if !runs("a fit in bfloat16") {
        return;
    }
    let graph = Graph::mlp(&[6, 48, 48, 1], Activation::ReLU).unwrap();
    let (parameters, events) = (start(&graph), events(3000, 6));
    let fit = |precision| {
        let mut engine = AotEngine::new(graph.clone(), &parameters, settings(precision), 2).unwrap();
        let before = engine.evaluate(events.rows(), &events.order()).unwrap() / 3000.0;
        for _ in 0..30 {
            engine.train(events.rows(), &events.order(), &1e-3).unwrap();
        }
        (before, engine.evaluate(events.rows(), &events.order()).unwrap() / 3000.0, engine.parameters().unwrap())
    };
    let [(before, float, float_weights), (also_before, half, half_weights)] =
        [Precision::Float32, Precision::BF16].map(fit);
    assert_eq!(before, also_before, "evaluation is float32");
    assert!(float_weights != half_weights, "nothing was rounded");
    assert!(float < 0.1 * before && half < 0.1 * before, "{before} -> {float}, in bfloat16 {half}");
    assert!(half < 1.3 * float + 1e-3, "{half} instead of {float}");
}

/// The test itself, for the case that the kernels do not support bfloat16.
const REFUSED: &str = "it_is_refused_where_the_processor_cannot";

#[test]
fn it_is_refused_where_the_processor_cannot() {
    let graph = Graph::mlp(&[6, 8, 8, 1], Activation::ReLU).unwrap();
    if !is_available::<f32>() {
        let refused = AotEngine::new(graph.clone(), &start(&graph), settings(Precision::BF16), 1);
        let error = refused.err().expect("it cannot run").to_string();
        assert!(error.contains("fPrecision = kBF16") && error.contains("AVX512-BF16"), "{error}");
        return;
    }
    for variant in ["portable", "avx2", "avx512"] {
        let mut second = Command::new(env::current_exe().unwrap());
        let output = second.args(["--exact", REFUSED]).env("CLADTORCH_KERNELS", variant).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{variant}: {text}");
    }
}

#[test]
fn it_is_refused_where_nothing_would_be_rounded() {
    if !runs("networks without layers to round") {
        return;
    }
    let graph = Graph::mlp(&[6, 1], Activation::ReLU).unwrap();
    let error = AotEngine::new(graph.clone(), &start(&graph), settings(Precision::BF16), 1).err().unwrap().to_string();
    assert!(error.contains("has no layer whose products can be rounded"), "{error}");
    let wide = [0.0f64; 7];
    assert!(AotEngine::new(graph, &wide, settings(Precision::BF16), 1).is_err(), "float64 has no products in bfloat16");
}
