//! Regressions that predict an uncertainty.

use cladtorch::dataset::{Dataset, Targets, split};
use cladtorch::graph::{Activation, Gradient, Init, LEAST_LOG_VARIANCE, Loss};
use cladtorch::model::{Model, Training};
use cladtorch::train::{Options, Trainer};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::fit;
use support::data::{circle, spec};

const GAUSSIAN: Option<Loss> = Some(Loss::Gaussian);

/// Means and standard deviations of two targets at a point, on scales that are far apart.
fn truth(p: &[f32], target: usize) -> [f64; 2] {
    let [x, y] = [0, 1].map(|i| f64::from(p[i]));
    match target {
        0 => [5e4 + 300.0 * (x + y), 100.0 * (0.7 * x).exp()],
        _ => [1e-3 * x * y, 4e-4 / (1.0 + y * y)],
    }
}

/// Events with so many targets; `noise` multiplies the standard deviations.
fn noisy(rows: usize, seed: u64, targets: usize, noise: f64) -> Dataset {
    let base = circle(rows, seed);
    let names: Vec<String> = ["a", "b"][..targets].iter().map(|&name| name.to_owned()).collect();
    let mut generator = ChaCha8Rng::seed_from_u64(seed + 100);
    let mut data = Dataset::new(base.columns()).unwrap();
    data.begin_with("noisy", &Targets::new(&names).unwrap()).unwrap();
    for p in base.features().chunks(2) {
        let draw = |target| {
            let [mean, sigma] = truth(p, target);
            let normal: f64 = StandardNormal.sample(&mut generator);
            (mean + noise * sigma * normal) as f32
        };
        let labels: Vec<f32> = (0..targets).map(draw).collect();
        data.append(p, &labels, &[1.0]).unwrap();
    }
    data.commit().unwrap();
    data
}

fn model(targets: usize) -> Model {
    Model::new(&[2, 32, 32, 2 * targets], Activation::SiLU, Init::default(), 1).unwrap()
}

fn predictions(model: &Model, data: &Dataset, raw: bool) -> Vec<f32> {
    let mut out = vec![0.0; data.rows() * model.outputs()];
    model.predict(data, raw, 2, &mut out).unwrap();
    out
}

#[test]
fn means_and_deviations_are_learned_on_any_scale() {
    let (train, test) = (noisy(20_000, 1, 2, 1.0), noisy(5_000, 2, 2, 1.0));
    for gradient in [Gradient::Clad, Gradient::Autograd] {
        let mut model = model(2);
        let options = Options { loss: GAUSSIAN, gradient, epochs: 20, learning_rate: 3e-3, batch_size: 200, ..spec() };
        fit(&mut model, &train, &options);
        let found = predictions(&model, &test, false);
        let labels = test.labels().unwrap();
        for target in 0..2 {
            let (mut bias, mut ratio, mut squares) = (0.0, 0.0, 0.0);
            for (row, p) in test.features().chunks(2).enumerate() {
                let [mean, sigma] = truth(p, target);
                let [ours, deviation] = [0, 2].map(|first| f64::from(found[4 * row + first + target]));
                bias += ((ours - mean) / sigma).powi(2);
                ratio += (deviation / sigma).ln().powi(2);
                squares += ((f64::from(labels[2 * row + target]) - ours) / deviation).powi(2);
            }
            let [bias, ratio, width] = [bias, ratio, squares].map(|sum| (sum / test.rows() as f64).sqrt());
            let what = format!("{gradient:?}, target {target}: means {bias}, deviations {ratio}, pulls {width}");
            println!("{what}");
            // The 16 000 events determine some tens of the network's 1284 parameters, say up to k = 100: a mean is off
            // by sqrt(k / 16000), the logarithm of a deviation by sqrt(k / 32000). Twice the first, less for the
            // deviations, which are smoother, and three errors of the width of 5000 pulls, 1 / sqrt(10000).
            assert!(bias < 0.16 && ratio < 0.08 && (width - 1.0).abs() < 0.08 + 0.03, "{what}");
        }
    }
}

#[test]
fn the_loss_is_that_of_the_likelihood_in_the_units_of_the_labels() {
    let data = noisy(2000, 3, 2, 1.0);
    for gradient in [Gradient::Clad, Gradient::Autograd] {
        let mut model = model(2);
        let options = Options { loss: GAUSSIAN, gradient, ..spec() };
        let history = fit(&mut model, &data, &options);
        let (_, judges) = split(data.rows(), 1.0 - options.validation, options.seed).unwrap();
        let (raw, finished) = (predictions(&model, &data, true), predictions(&model, &data, false));
        let labels = data.labels().unwrap();
        let loss = |&row: &u32| -> f64 {
            let of = |target: usize| {
                let at = 4 * row as usize + target;
                let [mean, level, sigma] = [raw[at], raw[at + 2], finished[at + 2]].map(f64::from);
                assert_eq!(raw[at], finished[at], "a mean is a value");
                assert!(((0.5 * level).exp() / sigma - 1.0).abs() < 1e-5, "{level} and {sigma}");
                0.5 * (level + ((f64::from(labels[2 * row as usize + target]) - mean) / sigma).powi(2))
            };
            of(0) + of(1)
        };
        let expected = judges.iter().map(loss).sum::<f64>() / judges.len() as f64;
        let stated = history.last().unwrap().1;
        assert!((stated - expected).abs() < 1e-3, "{gradient:?}: {stated} instead of {expected}");
    }
}

#[test]
fn clad_and_libtorch_autograd_fit_the_same_and_threads_change_no_bit() {
    for targets in [1, 2] {
        let data = noisy(1000, 4, targets, 1.0);
        let run = |gradient, threads| {
            let options = Options { loss: GAUSSIAN, gradient, threads, ..spec() };
            let mut model = model(targets);
            let history = fit(&mut model, &data, &options);
            (history, model.parameters().to_vec())
        };
        let ((ours, parameters), (theirs, _)) = (run(Gradient::Clad, 2), run(Gradient::Autograd, 2));
        for (a, b) in ours.iter().zip(&theirs) {
            let close = |a: f64, b: f64| (a - b).abs() < 2e-3;
            assert!(close(a.0, b.0) && close(a.1, b.1), "{targets} targets: {a:?} {b:?}");
        }
        assert_eq!(parameters, run(Gradient::Clad, 1).1);
    }
}

/// Labels without noise, which the network fits ever better: the likelihood has no bound, the loss has.
#[test]
fn labels_without_noise_end_at_the_least_deviation_and_not_in_a_nan() {
    let data = noisy(600, 5, 1, 0.0);
    let mut model = model(1);
    let options = Options { loss: GAUSSIAN, epochs: 150, learning_rate: 0.01, ..spec() };
    let history = fit(&mut model, &data, &options);
    assert!(history.iter().all(|(train, validation)| train.is_finite() && validation.is_finite()), "{history:?}");
    let scale = model.training().label_scaler().unwrap().deviation().next().unwrap();
    let least = scale * (0.5 * LEAST_LOG_VARIANCE).exp();
    let found = predictions(&model, &data, false);
    assert!(found.chunks(2).all(|row| f64::from(row[1]) > 0.999 * least), "less than {least}");
    assert!(found.chunks(2).any(|row| f64::from(row[1]) < 0.1 * scale), "nothing was learned");
}

#[test]
fn a_file_and_a_scaler_keep_what_is_predicted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    let data = noisy(500, 6, 2, 1.0);
    let mut trained = model(2);
    fit(&mut trained, &data, &Options { loss: GAUSSIAN, ..spec() });
    trained.save(&path).unwrap();
    let mut loaded = Model::load(&path, None).unwrap();
    assert_eq!(loaded.training(), trained.training());
    assert_eq!(predictions(&loaded, &data, false), predictions(&trained, &data, false));
    let mut row = vec![0.0; 4];
    loaded.score(&data.features()[..2], false, &mut row).unwrap();
    let all = predictions(&trained, &data, false);
    assert!(row.iter().zip(&all).all(|(a, b)| (a - b).abs() <= 1e-4 * b.abs()), "{row:?} {:?}", &all[..4]);
    assert!(loaded.meaning().contains("standard deviations"), "{}", loaded.meaning());
    // Labels in other units: means and deviations follow.
    let labels = trained.training().label_scaler().unwrap();
    let [mean, deviation]: [Vec<f64>; 2] = [
        labels.mean.iter().map(|&mean| 1e3 * f64::from(mean)).collect(),
        labels.deviation().map(|d| 1e3 * d).collect(),
    ];
    let scaler = cladtorch::dataset::Scaler::new(&mean, &deviation).unwrap();
    loaded.set_training(loaded.training().clone().with_label_scaler(Some(scaler))).unwrap();
    for (moved, before) in predictions(&loaded, &data, false).iter().zip(all) {
        assert!((moved / 1e3 - before).abs() < 1e-4 * before.abs().max(1e-4), "{moved} of {before}");
    }
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let (one, two) = (noisy(100, 1, 1, 1.0), noisy(100, 1, 2, 1.0));
    let of = |outputs| Model::new(&[2, 8, outputs], Activation::ReLU, Init::default(), 1).unwrap();
    let gaussian = Options { loss: GAUSSIAN, ..spec() };
    for (data, outputs, options, parts) in [
        (&one, 1, gaussian.clone(), ["fLoss = kGaussian does not fit a model with 1 output", "kGaussian two"]),
        (&one, 3, gaussian.clone(), ["fLoss = kGaussian does not fit a model with 3 output", "kGaussian two"]),
        (
            &one,
            4,
            gaussian.clone(),
            ["4 output(s), the events have one label", "a variance: give the model 2 output(s)"],
        ),
        (&two, 2, gaussian.clone(), ["2 output(s), the events have 2 targets (a, b)", "give the model 4 output(s)"]),
        (
            &one,
            2,
            Options { label_smoothing: 0.1, ..gaussian.clone() },
            ["fLabelSmoothing beside fLoss = kGaussian", ""],
        ),
        (
            &one,
            2,
            Options { class_weights: vec![1.0; 2], ..gaussian.clone() },
            ["fClassWeights beside fLoss = kGaussian", ""],
        ),
    ] {
        let error = Trainer::new(&of(outputs), data, &options).err().expect("accepted").to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
    // As from a file.
    let error =
        of(3).set_training(Training { options: Some(gaussian), ..Training::default() }).unwrap_err().to_string();
    assert!(error.contains("kGaussian for a model of 3 output"), "{error}");
}
