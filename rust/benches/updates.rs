//! The sweeps over the flat parameter vector: optimisers, and the sum of the lanes' gradients.

use std::hint::black_box;

use cladtorch::kernels::{Scalar, UpdateSettings};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// Parameters of 28-64-64-1 and of 784-512-512-10.
const LENGTHS: [usize; 2] = [6_081, 669_706];

fn sweeps(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("update");
    for length in LENGTHS {
        let gradient: Vec<f32> = (0..length).map(|i| (i as f32 * 0.37).sin()).collect();
        let (mut p, mut m, mut v) = (vec![0.0; length], vec![0.0; length], vec![0.0; length]);
        let mut update = UpdateSettings {
            learning_rate: 1e-3,
            weight_decay: 0.0,
            momentum: 0.9,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            step: 0,
        };
        group.throughput(Throughput::Elements(length as u64));
        group.bench_function(BenchmarkId::new("adam", length), |bencher| {
            bencher.iter(|| {
                update.step += 1;
                f32::adam(&update, &mut p, black_box(&gradient), &mut m, &mut v);
            });
        });
        group.bench_function(BenchmarkId::new("adamw", length), |bencher| {
            bencher.iter(|| {
                update.step += 1;
                f32::adamw(&update, &mut p, black_box(&gradient), &mut m, &mut v);
            });
        });
        group.bench_function(BenchmarkId::new("sgd", length), |bencher| {
            bencher.iter(|| f32::sgd(&update, &mut p, black_box(&gradient), Some(&mut m)));
        });
        group.bench_function(BenchmarkId::new("add", length), |bencher| {
            bencher.iter(|| f32::add(black_box(&gradient), &mut p));
        });
    }
}

criterion_group!(benches, sweeps);
criterion_main!(benches);
