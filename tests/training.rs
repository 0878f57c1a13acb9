//! Training from options to a model that predicts.

#[path = "common/data.rs"]
mod data;

use cladtorch::bridge::FitSpec;
use cladtorch::dataset::Dataset;
use cladtorch::graph::{Activation, Init, Optimiser};
use cladtorch::model::Model;
use cladtorch::train::{Trainer, metrics};
use data::{circle, column, spec};

fn fit(model: &mut Model, data: &Dataset, spec: &FitSpec) -> Vec<(f64, f64)> {
    let mut trainer = Trainer::new(model, data, spec).unwrap();
    let epochs = 0..spec.epochs;
    let history = epochs.map(|_| trainer.epoch(data).unwrap()).map(|e| (e.train_loss, e.validation_loss)).collect();
    trainer.finish(model).unwrap();
    history
}

fn network(seed: u64) -> Model {
    Model::new(&[2, 32, 32, 1], Activation::ReLU, Init::Kaiming, seed).unwrap()
}

fn auc(model: &Model, data: &Dataset) -> f64 {
    let mut scores = vec![0.0; data.rows()];
    model.predict(data, true, 2, &mut scores).unwrap();
    metrics::roc(&scores, data.labels().unwrap(), data.weights().unwrap()).unwrap().auc
}

#[test]
fn a_circle_is_learned() {
    let (train, test) = (circle(4000, 1), circle(2000, 2));
    let mut model = network(1);
    let before = auc(&model, &test);
    let history = fit(&mut model, &train, &FitSpec { epochs: 20, ..spec() });
    let after = auc(&model, &test);
    assert!(after > 0.99 && before < 0.9, "AUC {before} -> {after}");
    assert!(history[19].0 < history[0].0 && history[19].1 < 0.2, "{history:?}");
}

#[test]
fn the_first_loss_is_that_of_the_network_as_it_was() {
    // One batch, all of it training: the loss of epoch 1 is made before the first step.
    let data = circle(500, 3);
    let mut model = network(5);
    let spec = FitSpec { epochs: 1, batch_size: 500, validation: 0.0, standardise: false, ..spec() };
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
            let options = FitSpec { optimiser: optimiser as u8, gradient, weight_decay, learning_rate, ..spec() };
            fit(&mut network(2), &data, &options)
        };
        for (ours, theirs) in run(0).iter().zip(run(1)) {
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
        fit(&mut model, &data, &FitSpec { seed, threads, batch_size: 256, ..spec() });
        model.parameters().iter().map(|p| p.to_bits()).collect::<Vec<_>>()
    };
    assert!(weights(1, 1) == weights(1, 2));
    assert!(weights(1, 1) == weights(1, 0));
    assert!(weights(1, 1) != weights(2, 1));
}

#[test]
fn many_classes_and_regressions_are_learned() {
    let base = circle(2000, 6);
    let relabelled = |label: fn(&[f32]) -> f32| {
        let mut data = Dataset::new(base.columns()).unwrap();
        data.begin("relabelled").unwrap();
        let labels: Vec<f32> = base.features().chunks(2).map(label).collect();
        data.append(base.features(), &labels, base.weights().unwrap()).unwrap();
        data.commit().unwrap();
        data
    };
    let quadrants = relabelled(|p| f32::from(u8::from(p[0] > 0.0)) + 2.0 * f32::from(u8::from(p[1] > 0.0)));
    let mut classifier = Model::new(&[2, 32, 4], Activation::Tanh, Init::Xavier, 1).unwrap();
    fit(&mut classifier, &quadrants, &FitSpec { epochs: 30, ..spec() });
    let mut scores = vec![0.0; quadrants.rows() * 4];
    classifier.predict(&quadrants, false, 2, &mut scores).unwrap();
    let right = scores.chunks(4).zip(quadrants.labels().unwrap()).filter(|(row, label)| {
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        row.iter().all(|score| *score <= row[**label as usize])
    });
    assert!(right.count() as f64 > 0.95 * quadrants.rows() as f64);

    let wave = relabelled(|p| (2.0 * p[0]).sin() + p[1]);
    for loss in [3, 4] {
        let mut regression = Model::new(&[2, 32, 1], Activation::SiLU, Init::Kaiming, 1).unwrap();
        let history = fit(&mut regression, &wave, &FitSpec { epochs: 30, loss, ..spec() });
        assert!(history[29].1 < 0.01, "{history:?}");
        let mut values = vec![0.0; wave.rows()];
        regression.predict(&wave, false, 1, &mut values).unwrap();
        assert!(values.iter().any(|value| *value < -0.5), "a regression is not squeezed into [0, 1]");
    }
}

#[test]
fn a_single_event_scores_as_in_a_batch() {
    let data = circle(300, 7);
    let mut model = network(3);
    fit(&mut model, &data, &spec());
    let mut batch = vec![0.0; 300];
    model.predict(&data, false, 2, &mut batch).unwrap();
    let scores = || {
        data.features().chunks(2).map(|row| {
            let mut score = [0.0];
            model.score(row, false, &mut score).unwrap();
            score[0]
        })
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert!(scores().zip(&batch).all(|(a, b)| (a - b).abs() < 1e-5)));
        }
    });
    assert!(model.score(&[1.0], false, &mut [0.0]).is_err());
}

#[test]
fn options_that_cannot_be_are_refused_by_name() {
    let data = circle(100, 1);
    let refused = |model: &Model, data: &Dataset, spec: FitSpec| match Trainer::new(model, data, &spec) {
        Ok(_) => panic!("accepted: {spec:?}"),
        Err(error) => error.to_string(),
    };
    let model = network(1);
    for (spec, word) in [
        (FitSpec { epochs: 0, ..spec() }, "fEpochs"),
        (FitSpec { batch_size: 0, ..spec() }, "fBatchSize"),
        (FitSpec { batch_size: usize::MAX, ..spec() }, "fBatchSize"),
        (FitSpec { learning_rate: f64::NAN, ..spec() }, "fLearningRate"),
        (FitSpec { learning_rate: -1.0, ..spec() }, "fLearningRate"),
        (FitSpec { weight_decay: -1.0, ..spec() }, "fWeightDecay"),
        (FitSpec { momentum: 1.0, ..spec() }, "fMomentum"),
        (FitSpec { validation: 1.0, ..spec() }, "fValidation"),
        (FitSpec { validation: f64::NAN, ..spec() }, "fValidation"),
        (FitSpec { threads: 1 << 20, ..spec() }, "fThreads"),
        (FitSpec { optimiser: 9, ..spec() }, "fOptimiser"),
        (FitSpec { loss: 9, ..spec() }, "fLoss"),
        (FitSpec { loss: 2, ..spec() }, "softmax_cross_entropy"),
        (FitSpec { gradient: 9, ..spec() }, "fGradient"),
        (FitSpec { device: "tpu".into(), ..spec() }, "\"tpu\""),
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

#[test]
fn a_diverging_training_says_so() {
    let data = circle(500, 1);
    let model = Model::new(&[2, 32, 1], Activation::ReLU, Init::Kaiming, 1).unwrap();
    let options = FitSpec { optimiser: 2, learning_rate: 1e30, loss: 3, ..spec() };
    let mut trainer = Trainer::new(&model, &data, &options).unwrap();
    let outcome = (0..5).find_map(|_| trainer.epoch(&data).err()).expect("it diverges");
    assert!(outcome.to_string().contains("fLearningRate"), "{outcome}");
}
