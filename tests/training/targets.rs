//! Regressions of several targets at once.

use cladtorch::dataset::{Dataset, Targets};
use cladtorch::graph::{Activation, Gradient, Init, Loss};
use cladtorch::model::Model;
use cladtorch::train::{Options, Trainer};

use crate::fit;
use support::data::{circle, column, spec};

const MEAN_SQUARED_ERROR: Option<Loss> = Some(Loss::MeanSquaredError);
const HUBER: Option<Loss> = Some(Loss::Huber);
const WAVES: [fn(&[f32]) -> f32; 3] =
    [|p| (2.0 * p[0]).sin() + p[1], |p| p[0] * p[1], |p| (1.0 - p[0] * p[0] - 0.5 * p[1] * p[1]).abs()];

fn names(count: usize) -> Targets {
    Targets::new(&["sum", "product", "bowl"][..count].iter().map(|&name| name.to_owned()).collect::<Vec<_>>()).unwrap()
}

/// The events of a circle with targets instead of their labels.
fn waves(rows: usize, seed: u64, functions: &[fn(&[f32]) -> f32], targets: &Targets) -> Dataset {
    let base = circle(rows, seed);
    let mut data = Dataset::new(base.columns()).unwrap();
    data.begin_with("waves", targets).unwrap();
    let labels: Vec<f32> = base.features().chunks(2).flat_map(|p| functions.iter().map(move |f| f(p))).collect();
    data.append(base.features(), &labels, base.weights().unwrap()).unwrap();
    data.commit().unwrap();
    data
}

fn model(outputs: usize) -> Model {
    Model::new(&[2, 32, 32, outputs], Activation::SiLU, Init::Kaiming, 1).unwrap()
}

#[test]
fn clad_and_libtorch_autograd_fit_the_same() {
    for count in [2, 3] {
        let data = waves(1500, 4, &WAVES[..count], &names(count));
        for loss in [MEAN_SQUARED_ERROR, HUBER] {
            let run = |gradient| {
                let mut model = model(count);
                let history = fit(&mut model, &data, &Options { loss, gradient, learning_rate: 2e-3, ..spec() });
                let mut values = vec![0.0; data.rows() * count];
                model.predict(&data, false, 2, &mut values).unwrap();
                (history, values)
            };
            let ((ours, predicted), (theirs, expected)) = (run(Gradient::Clad), run(Gradient::Autograd));
            for (a, b) in ours.iter().zip(&theirs) {
                let close = |a: f64, b: f64| (a - b).abs() < 2e-4 * b.abs();
                assert!(close(a.0, b.0) && close(a.1, b.1), "{count} targets, {loss:?}: {a:?} {b:?}");
            }
            let worst = predicted.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(worst < 2e-3, "{count} targets, {loss:?}: predictions {worst} apart");
        }
    }
}

/// Root mean squares of prediction minus target, for each target.
fn errors(model: &Model, data: &Dataset) -> Vec<f64> {
    let count = data.targets().count();
    let mut values = vec![0.0; data.rows() * count];
    model.predict(data, false, 2, &mut values).unwrap();
    let labels = data.labels().unwrap();
    let square = |at: usize| f64::from(values[at] - labels[at]).powi(2);
    let mean = |target| (0..data.rows()).map(|row| square(row * count + target)).sum::<f64>() / data.rows() as f64;
    (0..count).map(|target| mean(target).sqrt()).collect()
}

#[test]
fn targets_are_learned_together_as_well_as_alone() {
    let options = Options { epochs: 30, learning_rate: 3e-3, ..spec() };
    for loss in [MEAN_SQUARED_ERROR, HUBER] {
        let (train, test) = (waves(4000, 1, &WAVES, &names(3)), waves(2000, 2, &WAVES, &names(3)));
        let mut together = model(3);
        fit(&mut together, &train, &Options { loss, ..options.clone() });
        for (target, error) in errors(&together, &test).into_iter().enumerate() {
            let (wave, name) = (&WAVES[target..=target], Targets::new(&names(3).names()[target..=target]).unwrap());
            let (train, test) = (waves(4000, 1, wave, &name), waves(2000, 2, wave, &name));
            let mut alone = model(1);
            fit(&mut alone, &train, &Options { loss, ..options.clone() });
            let expected = errors(&alone, &test)[0];
            let what = format!("{loss:?}, {}: {error} together, {expected} alone", name.names()[0]);
            println!("{what}");
            assert!(error < 0.1 && error < 1.5 * expected + 0.01, "{what}");
        }
    }
}

#[test]
fn targets_of_any_scale_are_learned_alike_and_come_back_in_their_units() {
    let scaled: [fn(&[f32]) -> f32; 3] =
        [|p| 3e4 * ((2.0 * p[0]).sin() + p[1]) - 5e5, |p| 1e-3 * p[0] * p[1], |p| 40.0 + 7.0 * p[0]];
    let (train, test) = (waves(4000, 1, &scaled, &names(3)), waves(2000, 2, &scaled, &names(3)));
    for (loss, gradient) in [(MEAN_SQUARED_ERROR, Gradient::Clad), (HUBER, Gradient::Autograd)] {
        let mut model = model(3);
        let options = Options { epochs: 20, learning_rate: 3e-3, loss, gradient, ..spec() };
        let history = fit(&mut model, &train, &options);
        assert!(history[19].1 < 0.05, "relative to the variances of the targets: {history:?}");
        for (error, unit) in errors(&model, &test).into_iter().zip([3e4, 1e-3, 7.0]) {
            assert!(error < 0.1 * unit, "{loss:?}: {error} in units of {unit}");
        }
        let mut row = [0.0; 3];
        model.score(&test.features()[..2], false, &mut row).unwrap();
        let mut all = vec![0.0; 6000];
        model.predict(&test, false, 1, &mut all).unwrap();
        assert!(
            row.iter().zip(&all).all(|(a, b)| (a - b).abs() <= 1e-4 * b.abs().max(1e-4)),
            "{row:?} {:?}",
            &all[..3]
        );
    }
}

#[test]
fn the_bits_do_not_depend_on_threads_nor_the_targets_on_the_split() {
    let data = waves(1000, 4, &WAVES, &names(3));
    let weights = |threads| {
        let mut model = model(3);
        fit(&mut model, &data, &Options { threads, batch_size: 256, ..spec() });
        assert_eq!(model.targets(), data.targets());
        model.parameters().iter().map(|p| p.to_bits()).collect::<Vec<_>>()
    };
    assert!(weights(1) == weights(2) && weights(1) == weights(0));
    for second in [false, true] {
        let part = data.part(0.3, 5, second).unwrap();
        assert_eq!(part.targets(), data.targets());
        for (x, y) in part.features().chunks(2).zip(part.labels().unwrap().chunks(3)) {
            assert_eq!(y, WAVES.map(|wave| wave(x)));
        }
    }
    assert_eq!(data.copy().unwrap().labels().unwrap(), data.labels().unwrap());
}

#[test]
fn losses_models_and_targets_that_do_not_fit_are_refused_by_name() {
    let (one, two) = (waves(100, 1, &WAVES[..1], &names(1)), waves(100, 1, &WAVES[..2], &names(2)));
    let own = "double loss(double output, double label) { return output * label; }".to_owned();
    for (data, outputs, options, parts) in [
        (
            &two,
            3,
            spec(),
            ["3 output(s), the events have 2 targets (sum, product); kMeanSquaredError", "give the model 2 output(s)"],
        ),
        (
            &two,
            1,
            Options { loss: HUBER, ..spec() },
            ["1 output(s), the events have 2 targets (sum, product); kHuber", "give the model 2 output(s)"],
        ),
        (
            &one,
            3,
            Options { loss: HUBER, ..spec() },
            ["3 output(s), the events have one label; kHuber", "give the model 1 output(s)"],
        ),
        (
            &two,
            2,
            Options { loss: Some(Loss::SoftmaxCrossEntropy), ..spec() },
            ["fLoss = kSoftmaxCrossEntropy", "2 targets (sum, product)"],
        ),
        (
            &two,
            1,
            Options { loss: Some(Loss::BinaryCrossEntropy), ..spec() },
            ["fLoss = kBinaryCrossEntropy", "2 targets (sum, product)"],
        ),
        (&two, 2, Options { loss_function: own, ..spec() }, ["fLossFunction", "2 targets (sum, product)"]),
    ] {
        let error = Trainer::new(&model(outputs), data, &options).err().expect("accepted").to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
    let mut trained = model(2);
    fit(&mut trained, &two, &spec());
    let swapped = Targets::new(&["product".into(), "sum".into()]).unwrap();
    for data in [&one, &waves(100, 1, &[WAVES[1], WAVES[0]], &swapped)] {
        let error = Trainer::new(&trained, data, &spec()).err().expect("accepted").to_string();
        assert!(error.contains("trained on 2 targets (sum, product)"), "{error}");
    }
}

#[test]
fn negative_weights_are_warned_about_whatever_the_number_of_targets() {
    let base = circle(500, 6);
    for count in [1, 2, 3] {
        let mut data = Dataset::new(base.columns()).unwrap();
        data.begin_with("waves", &names(count)).unwrap();
        for p in base.features().chunks(2) {
            let labels: Vec<f32> = WAVES[..count].iter().map(|wave| wave(p)).collect();
            let weight = if p[0] > 0.4 && p[1] > 0.4 { -1.0 } else { 1.0 };
            data.append(p, &labels, &[weight]).unwrap();
        }
        data.commit().unwrap();
        let options = Options { epochs: 60, learning_rate: 0.05, loss: MEAN_SQUARED_ERROR, ..spec() };
        let mut trainer = Trainer::new(&model(count), &data, &options).unwrap();
        let losses: Vec<f64> = (0..60).map(|_| trainer.epoch(&data).unwrap().train_loss).collect();
        let said = trainer.warnings();
        assert!(losses.iter().any(|loss| *loss < 0.0), "{count} targets: {losses:?}");
        let told = said.iter().filter(|said| said.contains("singles out events of negative weight")).count();
        assert_eq!(told, 1, "{count} targets: {said:?}");
    }
}

#[test]
fn targets_that_are_not_finite_are_refused_with_name_and_event() {
    let mut data = Dataset::new(&[column("x")]).unwrap();
    data.begin_with("s", &names(3)).unwrap();
    data.append(&[0.0; 4], &[1., 2., 3., 4., 5., 6., 7., f32::NAN, 9., f32::INFINITY, 0., 0.], &[1.0; 4]).unwrap();
    let error = data.commit().unwrap_err().to_string();
    assert!(error.contains("target \"product\" of \"s\" is NaN in selected event 2"), "{error}");
    assert!(error.contains("2 events with such values"), "{error}");
    assert!(data.begin_with("s", &names(2)).is_ok() && data.append(&[0.0], &[1.0], &[1.0]).is_err());
}

#[test]
fn a_file_keeps_the_targets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    let data = waves(200, 1, &WAVES[..2], &names(2));
    let mut trained = model(2);
    fit(&mut trained, &data, &spec());
    trained.save(&path).unwrap();
    let loaded = Model::load(&path, None).unwrap();
    assert_eq!((loaded.targets(), loaded.describe()), (trained.targets(), trained.describe()));
    assert!(loaded.describe().contains("targets: sum, product"));
}
