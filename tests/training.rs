//! Training from options to a model that predicts.

#[path = "training/gaussian.rs"]
mod gaussian;
#[path = "training/options.rs"]
mod options;
#[path = "training/targets.rs"]
mod targets;

use cladtorch::dataset::Dataset;
use cladtorch::evaluate;
use cladtorch::graph::{Activation, Gradient, Init, Loss, NegativeWeights, Optimiser, Schedule};
use cladtorch::model::Model;
use cladtorch::train::{Options, Trainer};
use support::data::{circle, column, spec};

fn fit(model: &mut Model, data: &Dataset, spec: &Options) -> Vec<(f64, f64)> {
    let mut trainer = Trainer::new(model, data, spec).unwrap();
    let epochs = 0..spec.epochs;
    let history = epochs.map(|_| trainer.epoch(data).unwrap()).map(|e| (e.train_loss, e.validation_loss)).collect();
    trainer.finish(model).unwrap();
    history
}

fn network(seed: u64) -> Model {
    Model::new(&[2, 32, 32, 1], Activation::ReLU, Init::default(), seed).unwrap()
}

fn auc(model: &Model, data: &Dataset) -> f64 {
    let mut scores = vec![0.0; data.rows()];
    model.predict(data, true, 2, &mut scores).unwrap();
    evaluate::roc(&scores, data.labels().unwrap(), data.weights().unwrap()).unwrap().auc
}

#[test]
fn a_circle_is_learned() {
    let (train, test) = (circle(4000, 1), circle(2000, 2));
    let mut model = network(1);
    let before = auc(&model, &test);
    let history = fit(&mut model, &train, &Options { epochs: 20, ..spec() });
    let after = auc(&model, &test);
    assert!(after > 0.99 && before < 0.9, "AUC {before} -> {after}");
    assert!(history[19].0 < history[0].0 && history[19].1 < 0.2, "{history:?}");
}

#[test]
fn the_first_loss_is_that_of_the_network_as_it_was() {
    // One batch, all of it training: the loss of epoch 1 is made before the first step.
    let data = circle(500, 3);
    let mut model = network(5);
    let spec = Options { epochs: 1, batch_size: 500, validation: 0.0, standardise: false, ..spec() };
    let mut logits = vec![0.0; 500];
    model.predict(&data, true, 1, &mut logits).unwrap();
    let events = logits.iter().zip(data.labels().unwrap()).zip(data.weights().unwrap());
    let (sum, weight) = events.fold((0.0, 0.0), |(sum, total), ((&z, &y), &w)| {
        let (z, y, w) = (f64::from(z), f64::from(y), f64::from(w));
        (sum + w * ((1.0 + z.exp()).ln() - z * y), total + w)
    });
    let history = fit(&mut model, &data, &spec);
    assert!((history[0].0 - sum / weight).abs() < 1e-6, "{} {}", history[0].0, sum / weight);
    assert!(history[0].1.is_nan());
}

#[test]
fn clad_and_autograd_write_the_same_history() {
    let data = circle(1000, 4);
    for &optimiser in Optimiser::ALL {
        let weight_decay = 0.01;
        let learning_rate = 2e-3;
        let run = |gradient| {
            let options = Options { optimiser, gradient, weight_decay, learning_rate, ..spec() };
            fit(&mut network(2), &data, &options)
        };
        for (ours, theirs) in run(Gradient::Clad).iter().zip(run(Gradient::Autograd)) {
            let close = |a: f64, b: f64| (a - b).abs() < 2e-4 * b.abs();
            assert!(close(ours.0, theirs.0) && close(ours.1, theirs.1), "{}: {ours:?} {theirs:?}", optimiser.name());
        }
    }
}

#[test]
fn a_seed_gives_the_same_weights_for_any_number_of_threads() {
    let data = circle(1000, 4);
    let weights = |seed, threads| {
        let mut model = network(2);
        fit(&mut model, &data, &Options { seed, threads, batch_size: 256, ..spec() });
        model.parameters().iter().map(|p| p.to_bits()).collect::<Vec<_>>()
    };
    assert!(weights(1, 1) == weights(1, 2));
    assert!(weights(1, 1) == weights(1, 0));
    assert!(weights(1, 1) != weights(2, 1));
}

#[test]
fn many_classes_and_regressions_are_learned() {
    let base = circle(2000, 6);
    let quadrants =
        relabelled(&base, 1.0, 0.0, |p| f32::from(u8::from(p[0] > 0.0)) + 2.0 * f32::from(u8::from(p[1] > 0.0)));
    let mut classifier = Model::new(&[2, 32, 4], Activation::Tanh, Init::Xavier, 1).unwrap();
    fit(&mut classifier, &quadrants, &Options { epochs: 30, ..spec() });
    let mut scores = vec![0.0; quadrants.rows() * 4];
    classifier.predict(&quadrants, false, 2, &mut scores).unwrap();
    let right = scores.chunks(4).zip(quadrants.labels().unwrap()).filter(|(row, label)| {
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        row.iter().all(|score| *score <= row[**label as usize])
    });
    assert!(right.count() as f64 > 0.95 * quadrants.rows() as f64);

    let wave = relabelled(&base, 1.0, 0.0, |p| (2.0 * p[0]).sin() + p[1]);
    for loss in [Loss::MeanSquaredError, Loss::Huber] {
        let mut regression = Model::new(&[2, 32, 1], Activation::SiLU, Init::Kaiming, 1).unwrap();
        let history = fit(&mut regression, &wave, &Options { epochs: 30, loss: Some(loss), ..spec() });
        assert!(history[29].1 < 0.01, "{history:?}");
        let mut values = vec![0.0; wave.rows()];
        regression.predict(&wave, false, 1, &mut values).unwrap();
        assert!(values.iter().any(|value| *value < -0.5), "a regression is not squeezed into [0, 1]");
    }
}

/// Events of `base` with labels from `label`, features times `scale` plus `shift`.
fn relabelled(base: &Dataset, scale: f32, shift: f32, label: impl Fn(&[f32]) -> f32) -> Dataset {
    let mut data = Dataset::new(base.columns()).unwrap();
    data.begin("relabelled").unwrap();
    let labels: Vec<f32> = base.features().chunks(2).map(label).collect();
    let features: Vec<f32> = base.features().iter().map(|feature| feature * scale + shift).collect();
    data.append(&features, &labels, base.weights().unwrap()).unwrap();
    data.commit().unwrap();
    data
}

fn predictions(model: &Model, data: &Dataset, raw: bool) -> Vec<f32> {
    let mut scores = vec![0.0; data.rows() * model.outputs()];
    model.predict(data, raw, 1, &mut scores).unwrap();
    scores
}

/// Weighted mean of half the square of the residual up to `delta` and linear beyond, over `rows`.
fn huber(values: &[f32], data: &Dataset, rows: &[u32], delta: f64) -> f64 {
    let (labels, weights) = (data.labels().unwrap(), data.weights().unwrap());
    let (sum, total) = rows.iter().map(|row| *row as usize).fold((0.0, 0.0), |(sum, total), row| {
        let residual = f64::from((values[row] - labels[row]).abs());
        let loss = if residual < delta { residual * residual / 2.0 } else { delta * (residual - delta / 2.0) };
        (sum + f64::from(weights[row]) * loss, total + f64::from(weights[row]))
    });
    sum / total
}

#[test]
fn a_regression_is_learned_on_any_scale_and_its_losses_have_the_units_of_the_labels() {
    let data = relabelled(&circle(2000, 6), 1.0, 0.0, |p| 2e4 + 300.0 * ((2.0 * p[0]).sin() + p[1]));
    let both = |loss| Gradient::ALL.iter().map(move |&gradient| (loss, gradient));
    for (loss, gradient) in [Loss::MeanSquaredError, Loss::Huber].into_iter().flat_map(both) {
        let mut model = Model::new(&[2, 32, 1], Activation::SiLU, Init::default(), 1).unwrap();
        let options = Options { epochs: 30, loss: Some(loss), gradient, ..spec() };
        let history = fit(&mut model, &data, &options);
        let values = predictions(&model, &data, false);
        assert_eq!(values, predictions(&model, &data, true), "values have no logits");
        let (train, validation) = cladtorch::dataset::split(data.rows(), 0.8, options.seed).unwrap();
        let labels = data.labels().unwrap();
        let mean = train.iter().map(|row| f64::from(labels[*row as usize])).sum::<f64>() / train.len() as f64;
        let square = |row: &u32| (f64::from(labels[*row as usize]) - mean).powi(2);
        let deviation = (train.iter().map(square).sum::<f64>() / train.len() as f64).sqrt();
        let expected = match loss {
            Loss::MeanSquaredError => 2.0 * huber(&values, &data, &validation, f64::INFINITY),
            _ => huber(&values, &data, &validation, deviation),
        };
        let stated = history[29].1;
        assert!((stated / expected - 1.0).abs() < 1e-3, "{loss:?}: {stated} instead of {expected}");
        let error = (2.0 * huber(&values, &data, &validation, f64::INFINITY)).sqrt();
        assert!(error < 0.1 * deviation, "{loss:?}, {gradient:?}: an error of {error} of {deviation}");
    }
}

/// After `options`, one epoch with `again` at a rate at which no float32 changes: the predictions stay, also on data
/// whose features are scaled and shifted.
fn check_goes_on(loss: Loss, options: &Options, again: &Options) {
    let outputs = if loss == Loss::SoftmaxCrossEntropy { 3 } else { loss.gives().outputs(1) };
    let label = move |p: &[f32]| match loss {
        Loss::BinaryCrossEntropy | Loss::Focal => f32::from(u8::from(p[0] > p[1])),
        Loss::SoftmaxCrossEntropy => f32::from(u8::from(p[0] > 0.0)) + f32::from(u8::from(p[1] > 0.0)),
        _ => 500.0 + 20.0 * p[0] - 10.0 * p[1],
    };
    let base = circle(500, 3);
    let first = relabelled(&base, 3.0, 40.0, label);
    let mut model = Model::new(&[2, 16, 16, outputs], Activation::ReLU, Init::default(), 1).unwrap();
    fit(&mut model, &first, &Options { loss: Some(loss), ..options.clone() });
    let before = predictions(&model, &first, false);
    let spread = before.iter().copied().fold(f32::MIN, f32::max) - before.iter().copied().fold(f32::MAX, f32::min);
    for (scale, shift) in [(3.0, 40.0), (2.0, 45.0), (9.0, 0.0)] {
        let second = relabelled(&base, scale, shift, |p| label(p) * 1.5);
        let second = if loss.is_regression() { second } else { relabelled(&base, scale, shift, label) };
        let mut model = model.copy().unwrap();
        let again = Options { loss: Some(loss), learning_rate: 1e-12, epochs: 1, ..again.clone() };
        fit(&mut model, &second, &again);
        let after = predictions(&model, &first, false);
        let largest = before.iter().zip(&after).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(largest < 2e-4 * spread, "{loss:?} at {scale}, {shift}: {largest} of {spread}; {again:?}");
    }
}

#[test]
fn a_second_fit_goes_on_from_where_the_model_is() {
    for &loss in Loss::ALL {
        for (before, after) in [(true, true), (true, false), (false, true), (false, false)] {
            let of = |standardise, gradient| Options { standardise, gradient, learning_rate: 1e-3, ..spec() };
            check_goes_on(loss, &of(before, Gradient::Clad), &of(after, Gradient::Clad));
            let autograd = Gradient::Autograd;
            check_goes_on(loss, &of(before, autograd), &Options { seed: 8, ..of(after, autograd) });
        }
    }
}

#[test]
fn a_second_fit_may_have_another_loss() {
    let data = relabelled(&circle(500, 3), 3.0, 40.0, |p| f32::from(u8::from(p[0] > p[1])));
    let mut model = Model::new(&[2, 16, 1], Activation::ReLU, Init::default(), 1).unwrap();
    let losses = [Loss::MeanSquaredError, Loss::BinaryCrossEntropy, Loss::Huber, Loss::MeanSquaredError];
    for pair in losses.windows(2) {
        fit(&mut model, &data, &Options { loss: Some(pair[0]), ..spec() });
        let before = predictions(&model, &data, true);
        fit(&mut model, &data, &Options { loss: Some(pair[1]), learning_rate: 1e-12, epochs: 1, ..spec() });
        let after = predictions(&model, &data, true);
        assert!(before.iter().zip(&after).all(|(a, b)| (a - b).abs() < 1e-4), "from {:?} to {:?}", pair[0], pair[1]);
    }
}

#[test]
fn a_second_fit_keeps_the_scaler_or_learns_it() {
    let data = circle(500, 3);
    let moved = relabelled(&data, 10.0, 100.0, |p| f32::from(u8::from(p[0] > p[1])));
    let mut model = network(1);
    fit(&mut model, &data, &spec());
    let scaler = model.training().scaler.clone();
    fit(&mut model, &moved, &Options { standardise: false, ..spec() });
    assert_eq!(model.training().scaler, scaler, "fStandardise = false leaves it as it is");
    fit(&mut model, &moved, &spec());
    let learned = model.training().scaler.clone().unwrap();
    assert!(learned.mean.iter().all(|mean| (mean - 100.0).abs() < 2.0), "{learned:?}");
}

#[test]
fn the_rate_falls_along_a_cosine() {
    let data = circle(300, 3);
    for &gradient in Gradient::ALL {
        // One step of plain descent per epoch.
        let plain = Options {
            optimiser: Optimiser::SGD,
            momentum: 0.0,
            batch_size: 300,
            validation: 0.0,
            shuffle: false,
            gradient,
            ..spec()
        };
        let mut annealed = network(1);
        fit(
            &mut annealed,
            &data,
            &Options { epochs: 3, schedule: Schedule::Cosine, learning_rate: 0.1, ..plain.clone() },
        );
        let mut stepped = network(1);
        for factor in [1.0, 0.75, 0.25] {
            fit(&mut stepped, &data, &Options { epochs: 1, learning_rate: 0.1 * factor, ..plain.clone() });
        }
        let pairs = annealed.parameters().iter().zip(stepped.parameters());
        assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-6), "{gradient:?}");
        assert!(pairs.zip(network(1).parameters()).any(|((a, _), start)| (a - start).abs() > 1e-3));
    }
}

#[test]
fn a_single_event_scores_with_the_bits_of_a_batch() {
    let data = circle(300, 7);
    for sizes in [vec![2, 1], vec![2, 7, 1], vec![2, 17, 1], vec![2, 64, 64, 1], vec![2, 100, 32, 1], vec![2, 40, 3]] {
        for activation in [Activation::ReLU, Activation::Tanh, Activation::GELU] {
            let mut model = Model::new(&sizes, activation, Init::default(), 3).unwrap();
            fit(&mut model, &data, &spec());
            let outputs = model.outputs();
            let mut batch = vec![0.0; 300 * outputs];
            model.predict(&data, false, 2, &mut batch).unwrap();
            let alike = || {
                data.features().chunks(2).zip(batch.chunks(outputs)).all(|(row, expected)| {
                    let mut score = vec![0.0; outputs];
                    model.score(row, false, &mut score).unwrap();
                    score == expected
                })
            };
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| assert!(alike(), "{sizes:?} {activation:?}"));
                }
            });
            assert!(model.score(&[1.0], false, &mut vec![0.0; outputs]).is_err());
        }
    }
}

#[test]
fn options_that_cannot_be_are_refused_by_name() {
    let data = circle(100, 1);
    let refused = |model: &Model, data: &Dataset, spec: Options| match Trainer::new(model, data, &spec) {
        Ok(_) => panic!("accepted: {spec:?}"),
        Err(error) => error.to_string(),
    };
    let model = network(1);
    for (spec, word) in [
        (Options { epochs: 0, ..spec() }, "fEpochs"),
        (Options { batch_size: 0, ..spec() }, "fBatchSize"),
        (Options { batch_size: usize::MAX, ..spec() }, "fBatchSize"),
        (Options { learning_rate: f64::NAN, ..spec() }, "fLearningRate"),
        (Options { learning_rate: -1.0, ..spec() }, "fLearningRate"),
        (Options { weight_decay: -1.0, ..spec() }, "fWeightDecay"),
        (Options { momentum: 1.0, ..spec() }, "fMomentum"),
        (Options { validation: 1.0, ..spec() }, "fValidation"),
        (Options { validation: f64::NAN, ..spec() }, "fValidation"),
        (Options { threads: 1 << 20, ..spec() }, "fThreads"),
        (Options { loss: Some(Loss::SoftmaxCrossEntropy), ..spec() }, "fLoss = kSoftmaxCrossEntropy does not fit"),
        (Options { device: "tpu".into(), ..spec() }, "\"tpu\""),
    ] {
        let message = refused(&model, &data, spec);
        assert!(message.contains(word), "{message}");
    }
    let wide = Model::new(&[3, 1], Activation::ReLU, Init::Kaiming, 1).unwrap();
    assert!(refused(&wide, &data, spec()).contains("the model takes 3"));
    let empty = Dataset::new(&[column("x"), column("y")]).unwrap();
    assert!(refused(&model, &empty, spec()).contains("no events"));
}

#[test]
fn a_weight_decay_that_leaves_nothing_is_warned_about() {
    let (data, model) = (circle(100, 1), Model::new(&[2, 1], Activation::ReLU, Init::Kaiming, 1).unwrap());
    for &optimiser in Optimiser::ALL {
        let usual = if optimiser == Optimiser::AdamW { 1.0 } else { 0.1 };
        for (weight_decay, warned) in [(0.0, false), (usual, false), (100.0, true), (1e10, true)] {
            let said = Trainer::new(&model, &data, &Options { optimiser, weight_decay, ..spec() }).unwrap().warnings();
            assert_eq!(said.iter().any(|said| said.contains("fWeightDecay = ")), warned, "{weight_decay}: {said:?}");
        }
    }
}

#[test]
fn a_column_that_float32_does_not_resolve_is_warned_about() {
    let base = circle(500, 1);
    for (offset, warned) in [(0.0, false), (1e3, false), (1e9, true), (-1e9, true)] {
        let mut data = Dataset::new(base.columns()).unwrap();
        data.begin("times").unwrap();
        let features: Vec<f32> = base.features().chunks(2).flat_map(|p| [p[0] * 1000.0 + offset, p[1]]).collect();
        data.append(&features, base.labels().unwrap(), base.weights().unwrap()).unwrap();
        data.commit().unwrap();
        let model = Model::new(&[2, 1], Activation::ReLU, Init::Kaiming, 1).unwrap();
        let said = Trainer::new(&model, &data, &spec()).unwrap().warnings();
        let named = |said: &String| {
            said.contains("column \"x\"") && said.contains("subtract an offset") && !said.contains("\"y\"")
        };
        assert_eq!(said.iter().any(named), warned, "{offset}: {said:?}");
    }
}

#[test]
fn labels_and_weights_that_do_not_fit_are_named() {
    let with = |label: f32, weight: f32| {
        let mut data = Dataset::new(&[column("x"), column("y")]).unwrap();
        data.begin("s").unwrap();
        data.append(&[0.0; 20], &[label; 10], &[weight; 10]).unwrap();
        data.commit().unwrap();
        data
    };
    let refused = |outputs, data: &Dataset| {
        let model = Model::new(&[2, outputs], Activation::ReLU, Init::Kaiming, 1).unwrap();
        Trainer::new(&model, data, &spec()).err().expect("accepted").to_string()
    };
    assert!(refused(1, &with(2.0, 1.0)).contains("label 2"));
    assert!(refused(3, &with(3.0, 1.0)).contains("label 3"));
    assert!(refused(3, &with(0.5, 1.0)).contains("label 0.5"));
    assert!(refused(1, &with(1.0, -1.0)).contains("weights"));
}

/// `label` and `weight` of the points of a circle's dataset.
fn with(rows: usize, label: fn(&[f32]) -> f32, weight: fn(&[f32]) -> f32) -> Dataset {
    let base = circle(rows, 6);
    let mut data = Dataset::new(base.columns()).unwrap();
    data.begin("relabelled").unwrap();
    let of = |f: fn(&[f32]) -> f32| base.features().chunks(2).map(f).collect::<Vec<_>>();
    data.append(base.features(), &of(label), &of(weight)).unwrap();
    data.commit().unwrap();
    data
}

#[test]
fn negative_weights_count_as_the_user_says() {
    let right = |p: &[f32]| f32::from(u8::from(p[0] > 0.0));
    let mixed = |p: &[f32]| if p[1] > 0.3 { -0.4 } else { 1.0 + p[0].abs() };
    let data = with(400, right, mixed);
    let dropped = with(400, right, |p| if p[1] > 0.3 { 0.0 } else { 1.0 + p[0].abs() });
    let absolute = with(400, right, |p| if p[1] > 0.3 { 0.4 } else { 1.0 + p[0].abs() });
    let outcome = |data: &Dataset, options: &Options| {
        let mut model = network(1);
        let history = fit(&mut model, data, options);
        (history, model.parameters().to_vec())
    };
    for &gradient in Gradient::ALL {
        for class_weights in [vec![], vec![0.5, 2.0]] {
            let keep = Options { gradient, class_weights, ..spec() };
            let drop = Options { negative_weights: NegativeWeights::DropNegative, ..keep.clone() };
            let take = Options { negative_weights: NegativeWeights::AbsoluteWeights, ..keep.clone() };
            let found = [&keep, &drop, &take].map(|options| outcome(&data, options));
            assert_eq!(found[1], outcome(&dropped, &keep));
            assert_eq!(found[2], outcome(&absolute, &keep));
            assert!(found[0] != found[1] && found[0] != found[2] && found[1] != found[2]);
        }
    }
    // A problem that the option fixes causes no warning.
    let class = with(400, right, |p| if p[0] > 0.0 { -0.1 } else { 1.0 });
    let take = Options { negative_weights: NegativeWeights::AbsoluteWeights, ..spec() };
    let warnings = |options| Trainer::new(&network(1), &class, options).unwrap().warnings();
    assert_eq!((warnings(&spec()).len(), warnings(&take)), (1, vec![]));
}

#[test]
fn what_is_allowed_and_rarely_meant_is_said_once() {
    let right = |p: &[f32]| f32::from(u8::from(p[0] > 0.0));
    let negative_corner = |p: &[f32]| if p[0] > 0.4 && p[1] > 0.4 { -1.0 } else { 1.0 };
    let fast = Options { learning_rate: 1e4, ..spec() };
    let regression = Options { loss: Some(Loss::MeanSquaredError), ..spec() };
    let long = Options { epochs: 60, learning_rate: 0.05, ..spec() };
    let cases: [(&str, usize, Dataset, Options, &[&str]); 10] = [
        ("two classes", 1, with(500, right, |_| 1.0), spec(), &[]),
        ("few negative weights", 1, with(500, right, |p| if p[1] > 0.9 { -0.1 } else { 1.0 }), spec(), &[]),
        ("a large target", 1, with(500, |p| 1e3 * p[0], |_| 1.0), regression.clone(), &[]),
        ("one class", 1, with(500, |_| 1.0, |_| 1.0), spec(), &["has label 1:"]),
        ("one value", 1, with(500, |_| -2.5, |_| 1.0), regression, &["has label -2.5:"]),
        ("a class of three", 3, with(500, right, |_| 1.0), spec(), &["no event for training has label 2 (1 of 3"]),
        (
            "a negative class",
            1,
            with(500, right, |p| if p[0] > 0.0 { -0.1 } else { 1.0 }),
            spec(),
            &["with label 1 sum to -"],
        ),
        ("a high rate", 1, with(500, right, |_| 1.0), fast.clone(), &["lower fLearningRate (now 10000)"]),
        ("many classes and a high rate", 3, with(500, right, |_| 1.0), fast, &["has label 2", "lower fLearningRate"]),
        (
            "a corner of negative weight",
            1,
            with(500, right, negative_corner),
            long,
            &["singles out events of negative"],
        ),
    ];
    for (name, outputs, data, spec, parts) in cases {
        let model = Model::new(&[2, 32, outputs], Activation::ReLU, Init::Kaiming, 1).unwrap();
        let mut trainer = Trainer::new(&model, &data, &spec).unwrap();
        let mut said = trainer.warnings();
        for _ in 0..spec.epochs {
            trainer.epoch(&data).unwrap();
            said.extend(trainer.warnings());
        }
        assert_eq!(said.len(), parts.len(), "{name}: {said:?}");
        assert!(said.iter().zip(parts).all(|(said, part)| said.contains(part)), "{name}: {said:?}");
    }
}

#[test]
fn a_further_fit_on_another_scale_says_so() {
    let base = circle(500, 6);
    let squares = |p: &[f32]| p[0] * p[0];
    let warnings = |first: &Dataset, second: &Dataset, options: &Options| {
        let mut model = network(1);
        fit(&mut model, first, options);
        Trainer::new(&model, second, options).unwrap().warnings()
    };
    let regression = Options { loss: Some(Loss::MeanSquaredError), ..spec() };
    let in_mev = relabelled(&base, 1000.0, 0.0, squares);
    let in_gev = relabelled(&base, 1.0, 0.0, squares);
    let cases: [(&Dataset, Dataset, &Options, &[&str]); 6] = [
        (&in_gev, relabelled(&base, 5.0, 1.0, squares), &spec(), &[]),
        (
            &in_gev,
            in_mev.copy().unwrap(),
            &spec(),
            &["column \"x\" (scale", "a factor of 1.0", "\"y\"", "fit a new Mlp"],
        ),
        (&in_mev, in_gev.copy().unwrap(), &spec(), &["column \"x\" (scale", "column \"y\"", "the same units"]),
        (&in_gev, relabelled(&base, 1.0, 30.0, squares), &spec(), &["column \"x\" (mean", "deviations apart"]),
        (&in_gev, relabelled(&base, 1.0, 0.0, |p| 1e3 * p[0]), &regression, &["before: the label (scale"]),
        (&in_gev, in_mev.copy().unwrap(), &Options { standardise: false, ..spec() }, &[]),
    ];
    for (first, second, options, parts) in cases {
        let said = warnings(first, &second, options);
        assert_eq!(said.len(), usize::from(!parts.is_empty()), "{said:?}");
        assert!(parts.iter().all(|part| said[0].contains(part)), "{said:?}");
    }
}

#[test]
fn a_soft_label_counts_as_its_shares_of_both_classes() {
    let base = circle(200, 6);
    let soft = |p: &[f32]| (p[0] + 1.0) / 2.0;
    let mut split = Dataset::new(base.columns()).unwrap();
    split.begin("both").unwrap();
    for row in base.features().chunks(2) {
        let p = soft(row);
        split.append(&[row, row].concat(), &[1.0, 0.0], &[p, 1.0 - p]).unwrap();
    }
    split.commit().unwrap();
    let run = |data: &Dataset| {
        let mut model = network(1);
        let whole = Options { validation: 0.0, batch_size: 1000, epochs: 3, shuffle: false, ..spec() };
        let history = fit(&mut model, data, &whole);
        (history, model.parameters().to_vec())
    };
    let ((soft, parameters), (shares, same)) = (run(&with(200, soft, |_| 1.0)), run(&split));
    for (a, b) in soft.iter().zip(&shares) {
        assert!((a.0 - b.0).abs() < 1e-5, "{soft:?} {shares:?}");
    }
    assert!(parameters.iter().zip(&same).all(|(a, b)| (a - b).abs() < 1e-3));
}

#[test]
fn an_epoch_comes_in_parts_and_an_unfinished_one_leaves_a_model() {
    let data = circle(3000, 1);
    let mut model = network(1);
    let options = Options { batch_size: 1, validation: 0.0, ..spec() };
    let mut trainer = Trainer::new(&model, &data, &options).unwrap();
    let parts: Vec<_> = (0..3).map(|_| trainer.part(&data).unwrap()).map(|part| (part.rows, part.ended)).collect();
    assert_eq!(parts, [(1024, false), (2048, false), (3000, true)]);
    let losses = trainer.losses(&data).unwrap();
    let loss = trainer.end_epoch(losses, Vec::new()).unwrap().train_loss;
    assert_eq!(loss, Trainer::new(&model, &data, &options).unwrap().epoch(&data).unwrap().train_loss);
    assert_eq!(trainer.part(&data).unwrap().rows, 1024);
    trainer.finish(&mut model).unwrap();
    assert!(model.describe().contains("fEpochs = 1,"), "{}", model.describe());
}

#[test]
fn a_diverging_training_says_so() {
    let data = circle(500, 1);
    let model = Model::new(&[2, 32, 1], Activation::ReLU, Init::Kaiming, 1).unwrap();
    let options =
        Options { optimiser: Optimiser::SGD, learning_rate: 1e30, loss: Some(Loss::MeanSquaredError), ..spec() };
    let mut trainer = Trainer::new(&model, &data, &options).unwrap();
    let outcome = (0..5).find_map(|_| trainer.epoch(&data).err()).expect("it diverges").to_string();
    assert!(outcome.contains("fLearningRate") && outcome.contains("in batch "), "{outcome}");
    assert!(outcome.contains("of epoch 1: ") && outcome.contains("layer"), "{outcome}");
}
