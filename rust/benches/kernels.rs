//! The heavy kernels on one tile of rows: BLAS beside the register tiles.

use std::hint::black_box;

use cladtorch::graph::Activation;
use cladtorch::kernels::{self, Scalar};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// Rows, inputs and outputs of a layer on a tile.
const LAYERS: [(usize, usize, usize); 4] = [(64, 28, 64), (64, 64, 64), (64, 64, 1), (64, 784, 512)];

fn wave(length: usize) -> Vec<f32> {
    (0..length).map(|i| (i as f32 * 0.37).sin()).collect()
}

fn linear(criterion: &mut Criterion) {
    kernels::blas_single_thread();
    let mut group = criterion.benchmark_group("linear");
    for (rows, inputs, outputs) in LAYERS {
        let name = format!("{rows}x{inputs}x{outputs}");
        let (x, w, b) = (wave(rows * inputs), wave(outputs * inputs), wave(outputs));
        let mut z = vec![0.0; rows * outputs];
        let mut packed = vec![0.0; f32::packed_length(inputs, outputs)];
        f32::pack(inputs, outputs, &w, &mut packed);
        group.throughput(Throughput::Elements(2 * (rows * inputs * outputs) as u64));
        group.bench_function(BenchmarkId::new("blas", &name), |bencher| {
            bencher.iter(|| f32::linear(rows, inputs, outputs, black_box(&x), &w, &b, &mut z));
        });
        group.bench_function(BenchmarkId::new("tiles", &name), |bencher| {
            bencher.iter(|| f32::packed_linear(rows, inputs, outputs, black_box(&x), &packed, &b, &mut z));
        });
        group.throughput(Throughput::Elements((inputs * outputs) as u64));
        group.bench_function(BenchmarkId::new("pack", &name), |bencher| {
            bencher.iter(|| f32::pack(inputs, outputs, black_box(&w), &mut packed));
        });
    }
}

fn linear_pullback(criterion: &mut Criterion) {
    kernels::blas_single_thread();
    let mut group = criterion.benchmark_group("linear_pullback");
    for (rows, inputs, outputs) in LAYERS {
        let name = format!("{rows}x{inputs}x{outputs}");
        let (x, w, dz) = (wave(rows * inputs), wave(outputs * inputs), wave(rows * outputs));
        let (mut dx, mut dw, mut db) = (vec![0.0; rows * inputs], vec![0.0; outputs * inputs], vec![0.0; outputs]);
        group.throughput(Throughput::Elements(4 * (rows * inputs * outputs) as u64));
        for (kernel, tiled) in [("blas", false), ("tiles", true)] {
            let pullback = if tiled { f32::tiled_pullback } else { f32::linear_pullback };
            group.bench_function(BenchmarkId::new(kernel, &name), |bencher| {
                bencher.iter(|| {
                    pullback(rows, inputs, outputs, black_box(&x), &w, &dz, Some(&mut dx), &mut dw, &mut db);
                });
            });
        }
    }
}

fn activations(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("activation");
    let (z, da) = (wave(64 * 64), wave(64 * 64));
    let mut out = vec![0.0; z.len()];
    group.throughput(Throughput::Elements(z.len() as u64));
    for &activation in Activation::ALL {
        let kind = activation as u8;
        group.bench_function(BenchmarkId::new("value", activation.name()), |bencher| {
            bencher.iter(|| f32::activation(kind, black_box(&z), &mut out));
        });
        group.bench_function(BenchmarkId::new("pullback", activation.name()), |bencher| {
            bencher.iter(|| f32::activation_pullback(kind, black_box(&z), &da, &mut out));
        });
    }
}

criterion_group!(benches, linear, linear_pullback, activations);
criterion_main!(benches);
