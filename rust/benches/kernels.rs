//! The heavy kernels on one tile of rows: BLAS beside the register tiles.

use std::hint::black_box;

use cladtorch::graph::Activation;
use cladtorch::kernels::{self, Scalar};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// Rows, inputs and outputs of a layer on a tile.
const LAYERS: [(usize, usize, usize); 4] = [(128, 28, 64), (128, 64, 64), (128, 64, 1), (128, 784, 512)];

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
        let (x_packed, layer) = (packed(rows, inputs, &x), layer(inputs, outputs, &w, &b));
        let mut z_packed = packed(rows, outputs, &z);
        group.throughput(Throughput::Elements(2 * (rows * inputs * outputs) as u64));
        group.bench_function(BenchmarkId::new("blas", &name), |bencher| {
            bencher.iter(|| f32::linear(rows, inputs, outputs, black_box(&x), &w, &b, &mut z));
        });
        group.bench_function(BenchmarkId::new("tiles", &name), |bencher| {
            let relu = Activation::ReLU as u8;
            bencher.iter(|| {
                f32::packed_linear(relu, rows, inputs, outputs, black_box(&x_packed), &layer, &mut z_packed);
            });
        });
        let mut transposed = vec![0.0; f32::transposed_length(inputs, outputs)];
        group.throughput(Throughput::Elements((inputs * outputs) as u64));
        group.bench_function(BenchmarkId::new("transpose", &name), |bencher| {
            bencher.iter(|| f32::transpose_layer(inputs, outputs, black_box(&layer), &mut transposed));
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
        group.bench_function(BenchmarkId::new("blas", &name), |bencher| {
            bencher.iter(|| {
                f32::linear_pullback(rows, inputs, outputs, black_box(&x), &w, &dz, Some(&mut dx), &mut dw, &mut db);
            });
        });
        let (x, dz, mut dlayer) =
            (packed(rows, inputs, &x), packed(rows, outputs, &dz), layer(inputs, outputs, &w, &db));
        let mut transposed = vec![0.0; f32::transposed_length(inputs, outputs)];
        f32::transpose_layer(inputs, outputs, &dlayer, &mut transposed);
        let (mut dx, shape, relu) = (x.clone(), [rows, inputs, outputs], Activation::ReLU as u8);
        group.bench_function(BenchmarkId::new("tiles", &name), |bencher| {
            bencher.iter(|| {
                f32::packed_pullback(
                    relu,
                    shape,
                    black_box(&x),
                    &transposed,
                    &dz,
                    true,
                    Some(&mut dx),
                    false,
                    &mut dlayer,
                );
            });
        });
    }
}

fn packed(rows: usize, columns: usize, dense: &[f32]) -> Vec<f32> {
    let mut packed = vec![0.0; rows * f32::padded(columns)];
    f32::pack_matrix(rows, columns, dense, &mut packed);
    packed
}

fn layer(inputs: usize, outputs: usize, w: &[f32], b: &[f32]) -> Vec<f32> {
    let mut layer = vec![0.0; f32::layer_length(inputs, outputs)];
    f32::pack_layer(inputs, outputs, w, b, &mut layer);
    layer
}

criterion_group!(benches, linear, linear_pullback);
criterion_main!(benches);
