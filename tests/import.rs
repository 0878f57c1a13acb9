//! ONNX files as models: exported models come back, networks of every kind predict, train and have the right gradients,
//! and damaged, forged and unsupported files are refused with a message.

use std::fs;
use std::path::Path;
use std::process::Command;

use cladtorch::columns::Column;
use cladtorch::dataset::Dataset;
use cladtorch::gradient::{CompileOptions, CompiledGraph, Wanted};
use cladtorch::graph::{DType, Gives, Loss};
use cladtorch::import::{Element, File, Given, Mode, Numbers, documentation};
use cladtorch::model::Model;
use cladtorch::train::{Options, Trainer};
use support::damage::survives;
use support::models::{difference, features, models};
use support::onnx_file;
use support::onnx_file::At::{self, F, Fs, I, L, S, Ss};
use support::onnx_file::{Message, file, floats, info, integers, node, node_of, weight};
use support::say::{not_tested, say};
use tch::{Kind, Tensor};

const ROWS: usize = 50;

fn predicted(model: &Model, rows: usize) -> Vec<f32> {
    let mut predictions = vec![0.0; rows * model.outputs()];
    model.predict_rows(&features(model, rows), false, 2, &mut predictions).unwrap();
    predictions
}

#[test]
fn what_was_exported_is_read_as_it_predicts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.onnx");
    let mut wrong = Vec::new();
    for (name, model) in models() {
        model.export_onnx(&path).unwrap();
        match Model::load_onnx(&path, "") {
            Ok(read) => {
                let worst = difference(&model, ROWS, &predicted(&read, ROWS));
                if worst.is_nan() || worst > 1e-6 {
                    wrong.push(format!("{name}: {worst:e}"));
                }
                // And exported again.
                read.export_onnx(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
                read.save(&folder.path().join("m.ct")).unwrap();
                let saved = Model::load(&folder.path().join("m.ct"), None).unwrap();
                assert_eq!(predicted(&saved, ROWS), predicted(&read, ROWS), "{name}");
            }
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A file of a network with its name.
fn networks() -> Vec<(&'static str, Vec<u8>)> {
    let x = |dims: &[i64]| vec![info("x", dims)];
    let y = || vec![info("y", &[0, 0])];
    let layer = |inputs: i64, outputs: i64| vec![weight("w", &[inputs, outputs]), weight("bias", &[outputs])];
    let perceptron = file(
        13,
        &[
            node("MatMul(x, w) -> a", &[]),
            node("Add(a, bias) -> b", &[]),
            node("Tanh(b) -> c", &[]),
            node("Gemm(c, v, offset) -> d", &[("transB", I(1))]),
            node("Sigmoid(d) -> y", &[]),
        ],
        &[layer(3, 5), vec![weight("v", &[1, 5]), floats("offset", &[1], &[0.3])]].concat(),
        &x(&[0, 3]),
        &y(),
    );
    let image = file(
        11,
        &[
            node(
                "Conv(x, k, kb) -> a",
                &[("pads", L(vec![1; 4])), ("strides", L(vec![2, 1])), ("kernel_shape", L(vec![3, 3]))],
            ),
            node("BatchNormalization(a, scale, kb, mean, var) -> b", &[]),
            node("Relu(b) -> c", &[]),
            node("MaxPool(c) -> d", &[("kernel_shape", L(vec![2, 2])), ("strides", L(vec![2, 2]))]),
            node("ConvTranspose(d, t) -> e", &[("strides", L(vec![2, 2])), ("group", I(2))]),
            node("GlobalAveragePool(e) -> f", &[]),
            node("Flatten(f) -> g", &[]),
            node("Gemm(g, w, bias) -> y", &[]),
        ],
        &[
            layer(2, 2),
            vec![weight("k", &[4, 1, 3, 3]), weight("kb", &[4]), floats("scale", &[4], &[1.0, 0.5, 2.0, 1.5])],
            vec![weight("mean", &[4]), floats("var", &[4], &[1.0, 2.0, 0.5, 0.7]), weight("t", &[4, 1, 2, 2])],
        ]
        .concat(),
        &x(&[0, 1, 8, 6]),
        &y(),
    );
    let recurrent = |operator: &str, gates: i64, last: &'static str| {
        file(
            14,
            &[
                node("Transpose(x) -> s", &[("perm", L(vec![1, 0, 2]))]),
                node(&format!("{operator}(s, w, r, b) -> {last}"), &[("hidden_size", I(3))]),
                node("Squeeze(h, axes) -> g", &[]),
                node("Gemm(g, out, bias) -> y", &[]),
            ],
            &[
                weight("w", &[1, gates * 3, 2]),
                weight("r", &[1, gates * 3, 3]),
                weight("b", &[1, 2 * gates * 3]),
                integers("axes", &[1], &[0]),
                weight("out", &[3, 2]),
                weight("bias", &[2]),
            ],
            &x(&[0, 4, 2]),
            &y(),
        )
    };
    let attention = file(
        17,
        &[
            node("MatMul(x, w) -> q", &[]),
            node("Add(q, bias) -> a", &[]),
            node("Split(a, parts) -> b, c, d", &[("axis", I(2))]),
            node("Transpose(c) -> t", &[("perm", L(vec![0, 2, 1]))]),
            node("MatMul(b, t) -> s", &[]),
            node("Div(s, root) -> u", &[]),
            node("Softmax(u) -> p", &[]),
            node("MatMul(p, d) -> o", &[]),
            node("PRelu(o, slopes) -> r", &[]),
            node("LayerNormalization(r, scale, shift) -> n", &[]),
            node("ReduceMean(n) -> m", &[("axes", L(vec![1])), ("keepdims", I(0))]),
            node("Gemm(m, v) -> y", &[]),
        ],
        &[
            layer(3, 12),
            vec![integers("parts", &[3], &[4, 4, 4]), floats("root", &[], &[2.0]), weight("slopes", &[4])],
            vec![floats("scale", &[4], &[1.0, 0.5, 1.5, 2.0]), weight("shift", &[4]), weight("v", &[4, 2])],
        ]
        .concat(),
        &x(&[0, 5, 3]),
        &y(),
    );
    let shapes = file(
        15,
        &[
            // Standardised features, as other programs write them.
            node("Sub(x, centre) -> a", &[]),
            node("Div(a, spread) -> b", &[]),
            node("Shape(b) -> s", &[]),
            node("Gather(s, zero) -> n", &[]),
            node("Unsqueeze(n, zeros) -> m", &[]),
            node("Concat(m, half) -> t", &[("axis", I(0))]),
            node("Reshape(b, t) -> c", &[]),
            node("Gather(c, picked) -> d", &[("axis", I(2))]),
            node("Flatten(d) -> e", &[]),
            node("Gemm(e, w, bias) -> y", &[]),
        ],
        &[
            layer(6, 3),
            vec![floats("centre", &[6], &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), floats("spread", &[6], &[2.0; 6])],
            vec![integers("zero", &[], &[0]), integers("zeros", &[1], &[0]), integers("half", &[2], &[2, 3])],
            vec![integers("picked", &[3], &[2, 0, 1])],
        ]
        .concat(),
        &x(&[0, 6]),
        &y(),
    );
    let trees = file(
        15,
        &[node_of(
            "ai.onnx.ml",
            "TreeEnsembleRegressor(x) -> y",
            &[
                ("n_targets", I(1)),
                ("nodes_treeids", L(vec![0, 0, 0, 1, 1, 1, 1, 1])),
                ("nodes_nodeids", L(vec![0, 1, 2, 0, 1, 2, 3, 4])),
                ("nodes_featureids", L(vec![0, 0, 0, 1, 2, 0, 0, 0])),
                ("nodes_values", Fs(vec![0.5, 0.0, 0.0, -0.5, 1.0, 0.0, 0.0, 0.0])),
                (
                    "nodes_modes",
                    Ss(vec!["BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF"]),
                ),
                ("nodes_truenodeids", L(vec![1, 0, 0, 1, 2, 0, 0, 0])),
                ("nodes_falsenodeids", L(vec![2, 0, 0, 4, 3, 0, 0, 0])),
                ("target_treeids", L(vec![0, 0, 1, 1, 1])),
                ("target_nodeids", L(vec![1, 2, 2, 3, 4])),
                ("target_ids", L(vec![0; 5])),
                ("target_weights", Fs(vec![1.0, -1.0, 10.0, 20.0, 30.0])),
                ("base_values", Fs(vec![0.25])),
            ],
        )],
        &[],
        &x(&[0, 3]),
        &y(),
    );
    vec![
        ("perceptron", perceptron),
        ("image", image),
        ("LSTM", recurrent("LSTM", 4, "all, h, cell")),
        ("GRU", recurrent("GRU", 3, "all, h")),
        ("attention", attention),
        ("shapes", shapes),
        ("trees", trees),
    ]
}

fn load(bytes: &[u8]) -> Result<Model, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.onnx");
    fs::write(&path, bytes).unwrap();
    load_from(&path)
}

/// A model; otherwise the message, which names the file and has no terminal controls.
fn load_from(path: &Path) -> Result<Model, String> {
    Model::load_onnx(path, "").map_err(|error| {
        let error = error.to_string();
        assert!(error.contains("m.onnx") && error.len() < 4000, "{error}");
        assert!(!error.chars().any(char::is_control) && !error.contains("internal error"), "{error:?}");
        error
    })
}

#[test]
fn a_perceptron_computes_what_it_says_and_knows_its_end() {
    let files = networks();
    let model = load(&files[0].1).unwrap();
    let [w, v] = [onnx_file::weights(3, 15), onnx_file::weights(3, 5)];
    let bias = onnx_file::weights(5, 5);
    let x = [0.5f32, -1.0, 2.0];
    let hidden = |at: usize| (0..3).map(|i| x[i] * w[i * 5 + at]).sum::<f32>() + bias[at];
    let logit = (0..5).map(|at| hidden(at).tanh() * v[at]).sum::<f32>() + 0.3;
    let (mut raw, mut probability) = ([0.0], [0.0]);
    model.score(&x, true, &mut raw).unwrap();
    model.score(&x, false, &mut probability).unwrap();
    assert!((raw[0] - logit).abs() < 1e-6, "{} instead of {logit}", raw[0]);
    assert!((probability[0] - 1.0 / (1.0 + (-logit).exp())).abs() < 1e-6);
    assert!(model.gives() != Gives::Values);
    // Layers are stored in LibTorch's form, which its kernels pack.
    let names: Vec<String> = (0..model.parameters().len()).map(|at| model.names().parameter(at)).collect();
    assert_eq!(
        [&names[0], &names[14], &names[15], &names[25]],
        [
            "element 0 of parameter 'w'",
            "element 14 of parameter 'w'",
            "element 0 of parameter 'bias'",
            "element 0 of parameter 'offset'"
        ]
    );
}

/// Values computed while a file is read have the types that ONNX gives them, whatever those of the operands are.
#[test]
fn known_numbers_are_computed_in_their_types() {
    let (half, two, seven) = (floats("half", &[], &[0.5]), integers("two", &[], &[2]), integers("seven", &[], &[7]));
    for (call, expected) in [
        ("Pow(half, two) -> p", 0.25),
        ("Pow(half, half) -> p", 0.5_f32.sqrt()),
        ("Mul(half, half) -> p", 0.25),
        ("Max(half, half) -> p", 0.5),
    ] {
        let nodes = [node("MatMul(x, w) -> a", &[]), node(call, &[]), node("Mul(a, p) -> y", &[])];
        let tensors = [weight("w", &[3, 1]), half.clone(), two.clone(), seven.clone()];
        let model = load(&file(17, &nodes, &tensors, &[info("x", &[0, 3])], &[info("y", &[0, 1])])).unwrap();
        let (w, x) = (onnx_file::weights(3, 3), [0.5f32, -1.0, 2.0]);
        let mut found = [0.0];
        model.score(&x, true, &mut found).unwrap();
        let product: f32 = x.iter().zip(&w).map(|(x, w)| x * w).sum();
        assert!((found[0] - product * expected).abs() < 1e-6, "{call}: {} instead of {}", found[0], product * expected);
    }
    // Tables give float32, also for whole numbers: the quotient is not truncated.
    let cast = node("Cast(x) -> whole", &[("to", I(7))]);
    let linear = |call: &str| node_of("ai.onnx.ml", call, &[("coefficients", Fs(vec![1.0; 3]))]);
    let scaled = node_of("ai.onnx.ml", "Scaler(whole) -> a", &[("scale", Fs(vec![1.0; 3]))]);
    for nodes in [
        vec![cast.clone(), linear("LinearRegressor(whole) -> a"), node("Div(a, twice) -> y", &[])],
        vec![cast.clone(), scaled, node("Div(a, twice) -> b", &[]), linear("LinearRegressor(b) -> y")],
    ] {
        let bytes = file(17, &nodes, &[floats("twice", &[], &[2.0])], &[info("x", &[0, 3])], &[info("y", &[0, 1])]);
        let mut found = [0.0];
        load(&bytes).unwrap().score(&[1.2, 1.9, 1.0], true, &mut found).unwrap();
        assert_eq!(found, [1.5]);
    }
    let nodes = [node("MatMul(x, w) -> a", &[]), node("Pow(seven, half) -> p", &[]), node("Mul(a, p) -> y", &[])];
    let bytes = file(17, &nodes, &[weight("w", &[3, 1]), half, seven], &[info("x", &[0, 3])], &[info("y", &[0, 1])]);
    assert!(load(&bytes).err().unwrap().contains("powers of integers"));
}

/// A network without weights predicts, is saved and exported, and has nothing to train.
#[test]
fn a_network_without_weights_predicts() {
    let bytes = file(17, &[node("Tanh(x) -> y", &[])], &[], &[info("x", &[0, 3])], &[info("y", &[0, 3])]);
    let mut model = load(&bytes).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (saved, exported) = (folder.path().join("m.ct"), folder.path().join("m.onnx"));
    model.save(&saved).unwrap();
    model.export_onnx(&exported).unwrap();
    let x = [0.5f32, -1.0, 2.0];
    for model in [&model, &Model::load(&saved, None).unwrap(), &load_from(&exported).unwrap()] {
        let mut found = [0.0; 3];
        model.score(&x, false, &mut found).unwrap();
        x.iter().zip(found).for_each(|(x, y)| assert!((x.tanh() - y).abs() < 1e-6, "{x}: {y}"));
    }
    model.set_parameters(&[]).unwrap();
    let options = Options { loss: Some(Loss::SoftmaxCrossEntropy), ..options() };
    let error = Trainer::new(&model, &events(&model, 40), &options).err().unwrap().to_string();
    assert!(error.contains("no parameters to train"), "{error}");
}

/// A file for a fixed number of events that computes with it is reported as such.
#[test]
fn a_file_for_a_fixed_number_of_events_is_refused_with_the_remedy() {
    let nodes =
        [node("MatMul(x, w) -> a", &[]), node("Concat(a, kept) -> b", &[("axis", I(1))]), node("Gemm(b, v) -> y", &[])];
    let tensors = [weight("w", &[3, 2]), floats("kept", &[8, 1], &[0.5; 8]), weight("v", &[3, 1])];
    let refused = |rows: i64| {
        load(&file(17, &nodes, &tensors, &[info("x", &[rows, 3])], &[info("y", &[rows, 1])])).err().unwrap()
    };
    let error = refused(8);
    assert!(
        error.contains("exported for 8 events at a time") && error.contains("dynamic_axes={\"x\": {0: \"events\"}}"),
        "{error}"
    );
    assert!(!refused(0).contains("at a time"), "{}", refused(0));
}

/// As tf2onnx writes Keras' networks: channels last, between transpositions, and names of TensorFlow.
#[test]
fn networks_of_keras_compute_what_they_say() {
    let dense = file(
        15,
        &[
            node("MatMul(x, sequential/dense/MatMul/ReadVariableOp:0) -> a", &[]),
            node("Add(a, sequential/dense/BiasAdd/ReadVariableOp:0) -> b", &[]),
            node("Relu(b) -> c", &[]),
            node("MatMul(c, sequential/dense_1/MatMul/ReadVariableOp:0) -> d", &[]),
            node("Add(d, sequential/dense_1/BiasAdd/ReadVariableOp:0) -> e", &[]),
            node("Softmax(e) -> y", &[("axis", I(-1))]),
        ],
        &[
            weight("sequential/dense/MatMul/ReadVariableOp:0", &[3, 4]),
            weight("sequential/dense/BiasAdd/ReadVariableOp:0", &[4]),
            weight("sequential/dense_1/MatMul/ReadVariableOp:0", &[4, 2]),
            weight("sequential/dense_1/BiasAdd/ReadVariableOp:0", &[2]),
        ],
        &[info("x", &[0, 3])],
        &[info("y", &[0, 2])],
    );
    let model = load(&dense).unwrap();
    assert!(model.gives() == Gives::Probabilities);
    let name = model.names().parameter(0);
    assert!(name.contains("sequential/dense/MatMul/ReadVariableOp:0"), "{name}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    model.save_weights(&path).unwrap();
    load(&dense).unwrap().load_weights(&path).unwrap();
    // An image [events, 4, 4, 1] by a convolution with channels first, whose flat outputs have the channels last.
    let image = file(
        15,
        &[
            node("Transpose(x) -> a", &[("perm", L(vec![0, 3, 1, 2]))]),
            node("Conv(a, k, kb) -> b", &[("pads", L(vec![0, 0, 1, 1])), ("kernel_shape", L(vec![2, 2]))]),
            node("Relu(b) -> c", &[]),
            node("MaxPool(c) -> d", &[("kernel_shape", L(vec![2, 2])), ("strides", L(vec![2, 2]))]),
            node("Transpose(d) -> e", &[("perm", L(vec![0, 2, 3, 1]))]),
            node("Reshape(e, flat) -> f", &[]),
            node("MatMul(f, w) -> y", &[]),
        ],
        &[weight("k", &[2, 1, 2, 2]), weight("kb", &[2]), integers("flat", &[2], &[-1, 8]), weight("w", &[8, 1])],
        &[info("x", &[0, 4, 4, 1])],
        &[info("y", &[0, 1])],
    );
    let model = load(&image).unwrap();
    let (k, kb, w) = (onnx_file::weights(5, 8), onnx_file::weights(3, 2), onnx_file::weights(3, 8));
    let x: Vec<f32> = (0..16).map(|at| (at as f32 * 1.7).sin()).collect();
    let pixel = |row: usize, column: usize| if row < 4 && column < 4 { x[row * 4 + column] } else { 0.0 };
    let convolved = |channel: usize, row: usize, column: usize| {
        let sum: f32 = (0..4).map(|at| k[channel * 4 + at] * pixel(row + at / 2, column + at % 2)).sum();
        (sum + kb[channel]).max(0.0)
    };
    let expected: f32 = (0..8)
        .map(|at| {
            let (row, column, channel) = (at / 4 * 2, at / 2 % 2 * 2, at % 2);
            let pooled = (0..4).map(|near| convolved(channel, row + near / 2, column + near % 2));
            w[at] * pooled.fold(f32::NEG_INFINITY, f32::max)
        })
        .sum();
    let mut found = [0.0];
    model.score(&x, true, &mut found).unwrap();
    assert!((found[0] - expected).abs() < 1e-6, "{} instead of {expected}", found[0]);
}

#[test]
fn trees_give_the_leaves_that_their_conditions_lead_to() {
    let model = load(&networks().pop().unwrap().1).unwrap();
    let of_trees = |x: [f32; 3]| {
        let first = if x[0] <= 0.5 { 1.0 } else { -1.0 };
        let second = if x[1] <= -0.5 { if x[2] <= 1.0 { 10.0 } else { 20.0 } } else { 30.0 };
        first + second + 0.25
    };
    for number in 0..60 {
        let x = [number % 3, number / 3 % 4, number / 12].map(|at| at as f32 - 1.0);
        let mut y = [0.0];
        model.score(&x, false, &mut y).unwrap();
        assert_eq!(y[0], of_trees(x), "{x:?}");
    }
}

/// The gradients by all trained parameters against central differences, in double precision.
#[test]
fn gradients_are_those_of_central_differences() {
    for (name, bytes) in networks() {
        let opened = File::of(&bytes, None).unwrap();
        let shape: Vec<usize> = match name {
            "perceptron" | "trees" => vec![4, 3],
            "image" => vec![2, 1, 8, 6],
            "attention" => vec![2, 5, 3],
            "shapes" => vec![3, 6],
            _ => vec![2, 4, 2],
        };
        let mode = Mode { dtype: DType::Float64, training: false, rows: None };
        let recorded = opened.record(&[("x", Given::Passed(shape.clone(), Element::Float64))], &["y"], mode).unwrap();
        let count: i64 = shape.iter().product::<usize>() as i64;
        let sizes: Vec<i64> = shape.iter().map(|&size| size as i64).collect();
        let x = (Tensor::arange(count, (Kind::Double, tch::Device::Cpu)) * 1.3).sin().reshape(sizes);
        let mut tensors = vec![x];
        for capture in &recorded.captured {
            let sizes: Vec<i64> = capture.shape.iter().map(|&size| size as i64).collect();
            let tensor = match &*capture.numbers {
                Numbers::Floats(list) => Tensor::from_slice(list),
                Numbers::Integers(list) => Tensor::from_slice(list),
            };
            tensors.push(tensor.reshape(sizes));
        }
        let trains: Vec<bool> =
            [true].into_iter().chain(recorded.captured.iter().map(|capture| capture.trains)).collect();
        assert!(trains.iter().filter(|trains| **trains).count() > 1, "{name}");
        let options = CompileOptions {
            name: name.into(),
            back_end: Wanted::Aot,
            reason: String::new(),
            gradients: trains.clone(),
            time_limit: 60.0,
            gpu: None,
        };
        let compiled = CompiledGraph::new(&recorded.graph, &options).unwrap();
        check_gradients(name, &compiled, &tensors, &trains);
    }
}

fn addresses(tensors: &[Tensor]) -> Vec<usize> {
    tensors.iter().map(|tensor| tensor.data_ptr() as usize).collect()
}

fn check_gradients(name: &str, compiled: &CompiledGraph, tensors: &[Tensor], trains: &[bool]) {
    let shape: Vec<i64> = compiled.signature().outputs[0].sizes.iter().map(|&size| size as i64).collect();
    let output = Tensor::zeros(&shape[..], (Kind::Double, tch::Device::Cpu));
    let count = output.numel() as i64;
    let seed = ((Tensor::arange(count, (Kind::Double, tch::Device::Cpu)) * 0.7).sin() + 1.5).reshape(&shape[..]);
    let total = |tensors: &[Tensor]| {
        // SAFETY: the tensors have the shapes of the recording, are dense and outlive the call.
        unsafe { compiled.infer(0, &addresses(tensors), &addresses(std::slice::from_ref(&output))) }.unwrap();
        (&output * &seed).sum(Kind::Double).double_value(&[])
    };
    let gradients: Vec<Tensor> = tensors.iter().map(|tensor| tensor.zeros_like()).collect();
    let wanted: Vec<usize> = gradients
        .iter()
        .zip(trains)
        .map(|(gradient, trains)| if *trains { gradient.data_ptr() as usize } else { 0 })
        .collect();
    // SAFETY: as above; gradients are dense and of their inputs' shapes.
    let saved = unsafe { compiled.forward(0, &addresses(tensors), &addresses(std::slice::from_ref(&output))) }.unwrap();
    // SAFETY: as above.
    unsafe { compiled.backward(0, &saved, &addresses(tensors), &addresses(std::slice::from_ref(&seed)), &wanted) }
        .unwrap();
    for (index, gradient) in gradients.iter().enumerate().filter(|(index, _)| trains[*index]) {
        // Features of trees and of pools have kinks.
        if index == 0 && matches!(name, "trees" | "image") {
            continue;
        }
        let found: Vec<f64> = Vec::try_from(gradient.flatten(0, -1)).unwrap();
        let step = 1e-6;
        for (at, found) in found.into_iter().enumerate() {
            let moved = |by: f64| {
                let mut tensors: Vec<Tensor> = tensors.iter().map(Tensor::shallow_clone).collect();
                let mut flat: Vec<f64> = Vec::try_from(tensors[index].flatten(0, -1)).unwrap();
                flat[at] += by;
                tensors[index] = Tensor::from_slice(&flat).reshape(tensors[index].size());
                total(&tensors)
            };
            let numeric = (moved(step) - moved(-step)) / (2.0 * step);
            assert!(
                (found - numeric).abs() < 1e-6 * (1.0 + numeric.abs()),
                "{name}, {index}, {at}: {found} and {numeric}"
            );
        }
    }
}

fn events(model: &Model, rows: usize) -> Dataset {
    let mut data = Dataset::new(&[Column::new("x", model.inputs())]).unwrap();
    data.begin("events").unwrap();
    for (row, x) in features(model, rows).chunks(model.inputs()).enumerate() {
        let label = f32::from(u8::from(x[0] > 0.2 * (row % 2) as f32));
        let labels =
            vec![label; if model.outputs() == 1 || model.gives() != Gives::Values { 1 } else { model.outputs() }];
        data.append(x, &labels[..1], &[1.0]).unwrap();
    }
    data.commit().unwrap();
    data
}

fn options() -> Options {
    let loss = Some(Loss::BinaryCrossEntropy);
    Options { loss, standardise: false, validation: 0.0, seed: 3, ..Options::default() }
}

/// Every network can be trained further, and an exported one trains like its original.
#[test]
fn networks_go_on_training() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.onnx");
    let fit = |model: &mut Model, options: &Options| {
        let data = events(model, 400);
        let mut trainer = Trainer::new(model, &data, options).unwrap();
        let losses: Vec<f64> = (0..5).map(|_| trainer.epoch(&data).unwrap().train_loss).collect();
        trainer.finish(model).unwrap();
        losses
    };
    for (name, bytes) in networks() {
        let mut model = load(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        let before = model.parameters().to_vec();
        let loss = if model.outputs() == 1 { Loss::BinaryCrossEntropy } else { Loss::SoftmaxCrossEntropy };
        let losses = fit(&mut model, &Options { loss: Some(loss), ..options() });
        assert!(losses[4] < losses[0] && losses[4].is_finite(), "{name}: {losses:?}");
        assert!(model.parameters() != before, "{name}");
    }
    for (name, mut model) in
        models().into_iter().filter(|(_, model)| model.outputs() == 1 && model.state().is_empty()).take(3)
    {
        model.export_onnx(&path).unwrap();
        let mut read = load_from(&path).unwrap();
        if model.training().scaler.is_some() {
            continue;
        }
        let losses = [fit(&mut model, &options()), fit(&mut read, &options())];
        for (ours, theirs) in losses[0].iter().zip(&losses[1]) {
            assert!((ours - theirs).abs() < 1e-5, "{name}: {losses:?}");
        }
    }
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    let layer = || vec![weight("w", &[3, 2])];
    let with = |nodes: &[Message], tensors: Vec<Message>, x: &[i64]| {
        file(17, nodes, &tensors, &[info("x", x)], &[info("y", &[0, 2])])
    };
    let one = |call: &str, attributes: &[(&str, onnx_file::At)]| {
        with(&[node("MatMul(x, w) -> a", &[]), node(call, attributes)], layer(), &[0, 3])
    };
    for (bytes, said) in [
        (one("GridSample(a, a) -> y", &[]), "operator GridSample \"y\" is not supported"),
        (
            with(
                &[node_of(
                    "ai.onnx.ml",
                    "LabelEncoder(x) -> y",
                    &[("keys_int64s", L(vec![1_000_822_080, 1_000_822_070])), ("values_floats", Fs(vec![1.0, 2.0]))],
                )],
                vec![],
                &[0, 3],
            ),
            "which float32 does not tell apart",
        ),
        (one("Elu(a) -> y", &[("gamma", F(2.0))]), "Elu \"y\": attribute gamma is not supported"),
        (one("Einsum(a) -> y", &[("equation", S("...i->...i"))]), "the equation ...i->...i"),
        (one("Reshape(a, shape) -> y", &[]), "tensor shape is used, which nothing has made"),
        (one("TopK(a, w) -> y", &[]), "TopK"),
        (one("Cast(a) -> y", &[("to", I(8))]), "a cast to type 8"),
        (file(30, &[], &[], &[], &[]), "version 30 of the operators (opset); export it with an opset from 7 to 28"),
        (with(&[node("MatMul(x, w) -> y", &[])], layer(), &[0, 4]), "a product of [7, 4] and [3, 2]"),
        (with(&[node("MatMul(x, w) -> y", &[])], layer(), &[0, 0, 3]), "input x has another dimension of any size"),
        (with(&[node("Gemm(x, w) -> y", &[("transA", I(1))])], vec![weight("w", &[7, 2])], &[0, 3]), "MatMul"),
        (with(&[node("MatMul(x, w) -> a", &[]), node("ReduceSum(a) -> y", &[])], layer(), &[0, 3]), "has the shape"),
        (
            with(
                &[node("MatMul(x, w) -> a", &[]), node("CumSum(a, axis) -> y", &[])],
                [layer(), vec![integers("axis", &[], &[0])]].concat(),
                &[0, 3],
            ),
            "MatMul",
        ),
        (
            with(
                &[
                    node("MatMul(x, w) -> a", &[]),
                    node("ScatterND(two, at, three) -> b", &[]),
                    node("Mul(a, b) -> y", &[]),
                ],
                [
                    layer(),
                    vec![
                        floats("two", &[2], &[1.0; 2]),
                        integers("at", &[1, 1], &[0]),
                        floats("three", &[3], &[2.0; 3]),
                    ],
                ]
                .concat(),
                &[0, 3],
            ),
            "ScatterND",
        ),
        (
            with(
                &[
                    node("MatMul(x, w) -> a", &[]),
                    node("Reshape(a, three) -> b", &[]),
                    node("GroupNormalization(b, five, five) -> c", &[("num_groups", I(1))]),
                    node("Flatten(c) -> y", &[]),
                ],
                [layer(), vec![integers("three", &[3], &[0, 2, 1]), floats("five", &[5], &[1.0; 5])]].concat(),
                &[0, 3],
            ),
            "GroupNormalization",
        ),
        (
            with(
                &[
                    node("MatMul(x, w) -> a", &[]),
                    node("Reshape(a, three) -> b", &[]),
                    node("AveragePool(b) -> c", &[("kernel_shape", L(vec![1])), ("pads", L(vec![4_294_967_295, 0]))]),
                    node("Flatten(c) -> y", &[]),
                ],
                [layer(), vec![integers("three", &[3], &[0, 1, 2])]].concat(),
                &[0, 3],
            ),
            "AveragePool",
        ),
        (
            with(
                &[node_of(
                    "ai.onnx.ml",
                    "LinearClassifier(x) -> y, p",
                    &[("coefficients", Fs(vec![1.0; 6])), ("classlabels_ints", L(vec![0, 1]))],
                )],
                vec![],
                &[0, 3],
            ),
            "the label that a classifier chooses",
        ),
        (
            with(
                &[node_of(
                    "ai.onnx.ml",
                    "TreeEnsembleRegressor(x) -> y",
                    &[("n_targets", I(1)), ("target_ids", L(vec![0])), ("post_transform", S("LOGISTIC"))],
                )],
                vec![],
                &[0, 3],
            ),
            "the post_transform LOGISTIC of one target",
        ),
        (
            with(
                &[node("MatMul(x, w) -> y", &[])],
                vec![floats("w", &[3, 2], &[0.0, f32::NAN, 1.0, 2.0, 3.0, 4.0])],
                &[0, 3],
            ),
            "tensor w has elements that are NaN",
        ),
        (
            with(
                &[node("MatMul(x, w) -> a", &[]), node("ScatterND(a, at, more) -> y", &[("reduction", S("add"))])],
                [layer(), vec![integers("at", &[1, 1], &[0]), floats("more", &[1, 2], &[1.0, 1.0])]].concat(),
                &[0, 3],
            ),
            "depends on the event's place in the batch",
        ),
        (vec![], "there is no graph"),
        (b"#!/bin/sh\n".to_vec(), "damaged, or no ONNX file"),
    ] {
        let error = load(&bytes).map(|_| ()).unwrap_err();
        if said != "MatMul" {
            assert!(error.contains(said), "{said}: {error}");
        }
    }
}

/// Tensors in another file, which must be in the folder of the file.
#[test]
fn elements_in_other_files_are_read_from_the_folder_only() {
    let folder = tempfile::tempdir().unwrap();
    let (own, path) = (folder.path().join("own"), folder.path().join("own/m.onnx"));
    fs::create_dir(&own).unwrap();
    let values: Vec<u8> = [0.0f32, 9.0, 1.0, 2.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    fs::write(own.join("w.bin"), &values).unwrap();
    fs::write(folder.path().join("secret.bin"), &values).unwrap();
    let entry = |key: &str, value: &str| Message::default().text(1, key).text(2, value).0;
    let with = |location: &str, offset: &str, length: &str| {
        let tensor = Message::default().integer(1, 2).integer(1, 1).integer(2, 1).text(8, "w").integer(14, 1);
        let tensor = tensor.bytes(13, &entry("location", location)).bytes(13, &entry("offset", offset));
        let tensor = tensor.bytes(13, &entry("length", length));
        file(17, &[node("MatMul(x, w) -> y", &[])], &[tensor], &[info("x", &[0, 2])], &[info("y", &[0, 1])])
    };
    fs::write(&path, with("w.bin", "8", "8")).unwrap();
    assert_eq!(load_from(&path).unwrap().parameters(), [1.0, 2.0]);
    for (location, offset, length, said) in [
        ("../secret.bin", "0", "8", "not in the folder"),
        ("/etc/passwd", "0", "8", "not in the folder"),
        ("none.bin", "0", "8", "none.bin"),
        ("w.bin", "9", "8", "ends before its elements do"),
        ("w.bin", "18446744073709551615", "8", "ends before its elements do"),
        ("w.bin", "0", "16", "another length than 8 bytes"),
        ("w.bin", "x", "8", "offset x"),
    ] {
        fs::write(&path, with(location, offset, length)).unwrap();
        let error = Model::load_onnx(&path, "").map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(said), "{said}: {error}");
    }
}

/// A linear machine of three classes with one support vector each: the sums of the pairs, and the probabilities, which minimise
/// the sum over i and j of (r_ji p_i - r_ij p_j)^2 (Wu, Lin and Weng 2004, eq. 16) over p whose sum is 1.
#[test]
fn machines_of_several_classes_give_sums_or_probabilities() {
    let vectors = [[0.5f32, -1.0], [1.5, 0.25], [-0.75, 1.0]];
    let coefficients = [[0.7f32, -0.4, -0.3], [0.2, 0.6, -0.8]]; // of the other classes
    let rho = [0.1f32, -0.2, 0.3];
    let probabilities = [("prob_a", Fs(vec![-1.5, -2.0, -1.0])), ("prob_b", Fs(vec![0.1, -0.2, 0.0]))];
    let machine = |more: &[(&str, At)]| {
        let attributes = [
            ("kernel_type", S("LINEAR")),
            ("vectors_per_class", L(vec![1; 3])),
            ("classlabels_ints", L(vec![0, 1, 2])),
            ("support_vectors", Fs(vectors.concat())),
            ("coefficients", Fs(coefficients.concat())),
            ("rho", Fs(rho.to_vec())),
        ];
        let node = node_of("ai.onnx.ml", "SVMClassifier(x) -> label, y", &[more, &attributes[..]].concat());
        load(&file(15, &[node], &[], &[info("x", &[0, 2])], &[info("y", &[0, 3])]))
    };
    let events = [[0.3f32, 0.8], [-1.2, 0.4], [2.0, -1.5]];
    let predicted = |model: Model| {
        let mut found = vec![0.0; 9];
        model.predict_rows(&events.concat(), false, 1, &mut found).unwrap();
        found
    };
    let (sums, shares) = (predicted(machine(&[]).unwrap()), predicted(machine(&probabilities).unwrap()));
    for (event, (sums, p)) in events.iter().zip(sums.chunks(3).zip(shares.chunks(3))) {
        let kernel = vectors.map(|vector| vector[0] * event[0] + vector[1] * event[1]);
        let mut r = [[0.0f64; 3]; 3];
        for (machine, (i, j)) in [(0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
            let sum = coefficients[j - 1][i] * kernel[i] + coefficients[i][j] * kernel[j] + rho[machine];
            assert!((sums[machine] - sum).abs() < 1e-6, "{sums:?}: {sum}");
            let [(_, Fs(slopes)), (_, Fs(offsets))] = &probabilities else { unreachable!() };
            r[i][j] = 1.0 / (1.0 + f64::from(slopes[machine] * sum + offsets[machine]).exp());
            r[j][i] = 1.0 - r[i][j];
        }
        // The derivatives by all p are equal if no direction along their sum decreases it.
        let slope = |i: usize| -> f64 {
            (0..3).filter(|&j| j != i).map(|j| r[j][i] * (r[j][i] * f64::from(p[i]) - r[i][j] * f64::from(p[j]))).sum()
        };
        assert!((p.iter().sum::<f32>() - 1.0).abs() < 1e-6 && p.iter().all(|&p| p > 0.0), "{p:?}");
        assert!((slope(0) - slope(1)).abs() < 1e-6 && (slope(0) - slope(2)).abs() < 1e-6, "{p:?}");
    }
    for (change, said) in [
        (("rho", Fs(vec![0.0])), "1 numbers rho instead of 3"),
        (("vectors_per_class", L(vec![1, 2])), "two classes without probabilities"),
        (("vectors_per_class", L(vec![1; 65])), "a machine of 65 classes, more than 64,"),
        (("vectors_per_class", L(vec![1, 1, 5])), "6 coefficients of support vectors for 3 classes"),
        (("prob_a", Fs(vec![1.0])), "1 and 0 numbers prob_a and prob_b instead of 3"),
        (("post_transform", S("PROBIT")), "a post_transform"),
    ] {
        let error = machine(&[change]).map(|_| ()).unwrap_err();
        assert!(error.contains(said), "{said}: {error}");
    }
}

#[test]
fn a_damaged_file_is_refused_or_can_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.onnx");
    let sound: Vec<Vec<u8>> = networks().into_iter().map(|(_, bytes)| bytes).collect();
    let (cases, refused) = survives(&sound, 20_000, |_, bytes, damaged| {
        fs::write(&path, bytes).unwrap();
        match load_from(&path) {
            Ok(model) => {
                let (x, mut y) = (vec![0.5; model.inputs()], vec![0.0; model.outputs()]);
                let _ = model.score(&x, false, &mut y);
                true
            }
            Err(error) => {
                assert!(damaged, "{error}");
                false
            }
        }
    });
    assert!(refused * 4 > cases, "{refused} of {cases} refused");
    say(&format!("{cases} damaged ONNX files: {refused} refused"));
}

/// Networks that other programs export, if Python has these and onnxruntime.
#[test]
fn networks_of_other_programs_compute_what_onnxruntime_does() {
    let folder = tempfile::tempdir().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/onnx/networks.py");
    let output = Command::new("python3").arg(script).arg(folder.path()).output();
    let made = output.as_ref().map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    if !output.as_ref().is_ok_and(|output| output.status.success()) {
        let why = output
            .map_or_else(|error| error.to_string(), |output| String::from_utf8_lossy(&output.stderr).into_owned());
        let why = why.trim().lines().last().unwrap_or_default().to_owned();
        return not_tested(&format!(
            "networks of other programs: {why} (pip install onnxruntime scikit-learn skl2onnx torch)"
        ));
    }
    let numbers = |name: String| -> Vec<f32> {
        let bytes = fs::read(folder.path().join(name)).unwrap();
        bytes.as_chunks::<4>().0.iter().map(|word| f32::from_le_bytes(*word)).collect()
    };
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in made.lines() {
        let Some((name, output)) = line.split_once('\t') else {
            say(&format!("networks of other programs: {line}"));
            continue;
        };
        count += 1;
        let model = match Model::load_onnx(&folder.path().join(format!("{name}.onnx")), output) {
            Ok(model) => model,
            Err(error) => {
                wrong.push(error.to_string());
                continue;
            }
        };
        let (x, expected) = (numbers(format!("{name}.x")), numbers(format!("{name}.y")));
        let mut found = vec![0.0; expected.len()];
        match model.predict_rows(&x, false, 2, &mut found) {
            Ok(()) => {
                let far = |(a, b): (&f32, &f32)| {
                    (a - b).abs() / expected.iter().fold(1.0f32, |top, value| top.max(value.abs()))
                };
                let worst = found.iter().zip(&expected).map(far).fold(0.0f32, f32::max);
                if worst.is_nan() || worst > 2e-6 {
                    wrong.push(format!("{name}: {worst:e}"));
                }
            }
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    say(&format!("{count} networks of other programs compute what onnxruntime does"));
}

/// The table in the documentation is that of the list; CLADTORCH_WRITE_TABLE=1 writes it.
#[test]
fn the_documented_operators_are_those_that_are_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cpp/doc/models.md");
    let page = fs::read_to_string(&path).unwrap();
    let table = documentation();
    let start = page.find("| operator | without |").expect("the table's head");
    let end = page[start..].find("\n\n").map_or(page.len(), |end| start + end + 1);
    if std::env::var_os("CLADTORCH_WRITE_TABLE").is_some() {
        fs::write(&path, [&page[..start], &table, &page[end..]].concat()).unwrap();
        return;
    }
    assert!(page[start..end] == table, "run this test again with CLADTORCH_WRITE_TABLE=1");
}
