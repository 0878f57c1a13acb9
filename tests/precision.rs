//! What the precision of products on a GPU does to an AUC. The kernels run on the host, where factors are rounded as tensor cores do:
//! an hour.
//!
//!     cargo test --release --test precision -- --ignored --nocapture

use std::f64::consts::PI;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cladtorch::dataset::Scaler;
use cladtorch::evaluate::roc;
use cladtorch::gradient::cuda::{CudaEngine, Gpu, Start};
use cladtorch::gradient::{Engine, Rows, Settings};
use cladtorch::graph::{Activation, Graph, Init, Loss, Optimiser, Precision};
use cladtorch::model::Model;
use cladtorch::rootfile::{RootFile, Wanted};
use support::cuda_host::gpu_on_host;

const SIZES: [usize; 4] = [28, 64, 64, 1];
const SEEDS: u64 = 5;
const EPOCHS: usize = 10;
const BATCH: usize = 256;
/// At the start, of a cosine.
const RATE: f64 = 3e-3;

/// Events with standardised features.
#[derive(Default)]
struct Events {
    features: Vec<f32>,
    labels: Vec<f32>,
}

/// ROOT's tutorial data of the Higgs analysis.
fn higgs() -> Events {
    let root = std::env::var_os("CLADTORCH_ROOTSYS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../.deps/site-packages/ROOT"), PathBuf::from);
    let file = RootFile::open(&root.join("tutorials/machine_learning/data/Higgs_data.root")).unwrap();
    let mut events = Events::default();
    for (name, label) in [("sig_tree", 1.0), ("bkg_tree", 0.0)] {
        let tree = file.tree(name).unwrap();
        let wanted: Vec<Wanted> = tree.fixed().into_iter().filter(|column| column.name != "Type").collect();
        assert_eq!(wanted.len(), SIZES[0]);
        events.features.extend_from_slice(tree.read(&wanted, 0.0).unwrap().rows.as_slice());
        events.labels.resize(events.features.len() / SIZES[0], label);
    }
    events
}

impl Events {
    /// Those for training, by whose features all are standardised, and those for the test.
    fn split(&self, seed: u64) -> [Events; 2] {
        let width = SIZES[0];
        let mut parts = [Events::default(), Events::default()];
        for (row, label) in self.labels.iter().enumerate() {
            let part = &mut parts[usize::from(scattered(row as u64 ^ seed << 32) % 10 < 3)];
            part.features.extend_from_slice(&self.features[row * width..][..width]);
            part.labels.push(*label);
        }
        for column in 0..width {
            let of = |events: &Events| -> Vec<f64> {
                events.features.iter().skip(column).step_by(width).map(|x| f64::from(*x)).collect()
            };
            let values = of(&parts[0]);
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let deviation = (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt();
            for x in parts.iter_mut().flat_map(|part| part.features.iter_mut().skip(column).step_by(width)) {
                *x = ((f64::from(*x) - mean) / deviation) as f32;
            }
        }
        parts
    }

    fn order(&self, seed: u64) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.labels.len() as u32).collect();
        order.sort_by_key(|&row| scattered(u64::from(row) ^ seed << 32));
        order
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014).
fn scattered(number: u64) -> u64 {
    let z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// The AUC on the test events.
fn trained(gpu: Gpu, precision: Precision, events: &Events, seed: u64) -> f64 {
    let [train, test] = events.split(seed);
    let mut model = Model::new(&SIZES, Activation::ReLU, Init::Uniform, seed).unwrap();
    let settings = Settings {
        loss: Loss::BinaryCrossEntropy,
        optimiser: Optimiser::Adam,
        batch_size: BATCH,
        precision,
        ..Settings::default()
    };
    let (start, module) = (model.parameters().to_vec(), Arc::clone(model.module().unwrap()));
    let graph = Graph::mlp(&SIZES, Activation::ReLU).unwrap();
    let from = Start { parameters: &start, ..Start::default() };
    let mut engine = CudaEngine::new(&module, Some(&graph), from, settings, gpu).unwrap();
    assert!(engine.describe().contains("many steps in one kernel"), "{}", engine.describe());
    let scaler = Scaler { mean: vec![0.0; SIZES[0]], inverse: vec![1.0; SIZES[0]] };
    let weights = vec![1.0; train.labels.len()];
    let rows = Rows {
        features: &train.features,
        labels: &train.labels,
        weights: &weights,
        scaler: &scaler,
        target: None,
        weight_scale: 1.0,
    };
    for epoch in 0..EPOCHS {
        let rate = RATE * 0.5 * (1.0 + (PI * epoch as f64 / EPOCHS as f64).cos());
        engine.train(rows, &train.order(seed * 1000 + epoch as u64), &rate).unwrap();
    }
    model.set_parameters(&engine.parameters().unwrap()).unwrap();
    let mut scores = vec![0.0; test.labels.len()];
    model.predict_rows(&test.features, true, 1, &mut scores).unwrap();
    roc(&scores, &test.labels, &vec![1.0; scores.len()]).unwrap().auc
}

/// Prints the mean of the AUC and of its change against float32, with its standard error over the seeds.
fn compare(precision: Precision) {
    let (folder, events) = (tempfile::tempdir().unwrap(), higgs());
    let aucs = |precision| -> Vec<f64> {
        let gpu = gpu_on_host(folder.path(), str::to_owned);
        (1..=SEEDS).map(|seed| trained(gpu.clone(), precision, &events, seed)).collect()
    };
    let (exact, found) = (aucs(Precision::Float32), aucs(precision));
    let changes: Vec<f64> = found.iter().zip(&exact).map(|(found, exact)| found - exact).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let change = mean(&changes);
    let squares = changes.iter().map(|each| (each - change).powi(2)).sum::<f64>();
    let error = (squares / (SEEDS * (SEEDS - 1)) as f64).sqrt();
    println!("float32 {:.4}, {} {:.4}: {change:+.5} +- {error:.5}", mean(&exact), precision.name(), mean(&found));
    // Several times what the seed of a fit does.
    assert!(change.abs() < 0.01, "{precision:?} {found:?} {exact:?}");
}

#[test]
#[ignore = "trains on the host for half an hour"]
fn tf32x3() {
    compare(Precision::TF32x3);
}

#[test]
#[ignore = "trains on the host for half an hour"]
fn tf32() {
    compare(Precision::TF32);
}

#[test]
#[ignore = "trains on the host for half an hour"]
fn bf16() {
    compare(Precision::BF16);
}
