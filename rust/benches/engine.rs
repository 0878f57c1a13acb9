//! Whole steps of the row-tile engine on one thread and on two.

use std::time::{Duration, Instant};

use cladtorch::dataset::Scaler;
use cladtorch::gradient::aot::AotEngine;
use cladtorch::gradient::{Engine, Rows, Settings};
use cladtorch::graph::{Activation, Graph, Loss, Optimiser};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

const CASES: [(&[usize], usize); 4] =
    [(&[28, 64, 64, 1], 32), (&[28, 64, 64, 1], 1024), (&[784, 128, 10], 64), (&[784, 512, 512, 10], 128)];

fn engine(sizes: &[usize], batch: usize, threads: usize) -> AotEngine<f32> {
    let graph = Graph::mlp(sizes, Activation::ReLU).expect("sizes are positive");
    let start: Vec<f32> = (0..graph.parameters()).map(|i| (i as f32).sin() * 0.05).collect();
    let settings = Settings {
        loss: if graph.outputs() == 1 { Loss::BinaryCrossEntropy } else { Loss::SoftmaxCrossEntropy },
        optimiser: Optimiser::Adam,
        batch_size: batch,
        ..Settings::default()
    };
    AotEngine::new(graph, &start, settings, threads).expect("memory for a small network")
}

/// The time of `steps` steps, each on the same rows.
fn time(engine: &mut AotEngine<f32>, rows: Rows, batch: usize, steps: u64) -> Duration {
    let order: Vec<u32> = (0..steps).flat_map(|_| 0..batch as u32).collect();
    let start = Instant::now();
    engine.train(rows, &order, &1e-3).expect("a host engine does not fail");
    start.elapsed()
}

fn steps(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("step");
    for (sizes, batch) in CASES {
        let features: Vec<f32> = (0..batch * sizes[0]).map(|i| (i as f32 * 0.37).sin()).collect();
        let labels: Vec<f32> = (0..batch).map(|i| (i % 2) as f32).collect();
        let (weights, scaler) = (vec![1.0; batch], Scaler::identity(sizes[0]));
        let rows = Rows {
            features: &features,
            labels: &labels,
            weights: &weights,
            scaler: &scaler,
            target: None,
            weight_scale: 1.0,
        };
        for threads in [1, 2] {
            let mut engine = engine(sizes, batch, threads);
            let name = BenchmarkId::new(format!("{sizes:?}/{batch}"), threads);
            group.bench_function(name, |bencher| {
                bencher.iter_custom(|steps| time(&mut engine, rows, batch, steps));
            });
        }
    }
}

criterion_group!(benches, steps);
criterion_main!(benches);
