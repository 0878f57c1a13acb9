//! Options of fits, each with both sources of the gradient, against a loop over LibTorch's operators.

use cladtorch::dataset::{Dataset, split};
use cladtorch::gradient::autograd;
use cladtorch::graph::{Activation, Gradient, Init, LEAST_LOG_VARIANCE, Loss, Optimiser, Schedule};
use cladtorch::model::{Model, Network};
use cladtorch::train::{Options, Trainer};
use tch::{Kind, Tensor};

use crate::{fit, network};
use support::data::{circle, spec};

/// Events of the training part.
const EVENTS: usize = 300;

/// `network(1)` with the outputs that the loss takes for one label.
fn start(options: &Options) -> Model {
    match options.loss.unwrap().gives().outputs(1) {
        1 => network(1),
        outputs => Model::new(&[2, 32, outputs], Activation::Tanh, Init::default(), 1).unwrap(),
    }
}

/// Parameters after a fit of [`start`] as PyTorch's users write it: whole batches of all of `data` in its order, features
/// standardised by the model's scaler, plain Adam or SGD written out. Float64.
fn reference(model: &Model, data: &Dataset, options: &Options) -> Vec<f64> {
    let Network::Mlp(mlp) = model.network() else { unreachable!() };
    let scaler = model.training().scaler.clone().unwrap();
    let standardised: Vec<f64> = data
        .features()
        .chunks(2)
        .flat_map(|row| [0, 1].map(|i| f64::from((row[i] - scaler.mean[i]) * scaler.inverse[i])))
        .collect();
    let column = |values: &[f32]| Tensor::from_slice(values).to_kind(Kind::Double).view([-1, 1]);
    let (x, mut y) = (Tensor::from_slice(&standardised).view([-1, 2]), column(data.labels().unwrap()));
    if let Some(target) = model.training().label_scaler() {
        y = (y - f64::from(target.mean[0])) * f64::from(target.inverse[0]);
    }
    let classes: Vec<f32> = match options.class_weights.as_slice() {
        [] => vec![1.0; data.rows()],
        weights => data.labels().unwrap().iter().map(|&label| weights[label as usize] as f32).collect(),
    };
    let weights = column(data.weights().unwrap()) * column(&classes);
    let scale = data.rows() as f64 / weights.sum(Kind::Double).double_value(&[]);
    let start: Vec<f64> = start(options).parameters().iter().map(|&p| f64::from(p)).collect();
    let mut p = Tensor::from_slice(&start).set_requires_grad(true);
    let (mut m, mut v, mut step) = (p.detach().zeros_like(), p.detach().zeros_like(), 0);
    for epoch in 0..options.epochs {
        for first in (0..data.rows()).step_by(options.batch_size) {
            let count = options.batch_size.min(data.rows() - first) as i64;
            let part = |t: &Tensor| t.narrow(0, first as i64, count);
            let value = autograd::forward(mlp.graph(), &p, &part(&x)).unwrap();
            let parameter = match options.loss {
                Some(Loss::Focal) => options.focus,
                Some(Loss::Quantile) => options.quantile,
                Some(Loss::Gaussian) => LEAST_LOG_VARIANCE,
                _ => options.label_smoothing,
            };
            let losses = autograd::row_losses(options.loss.unwrap(), parameter, &value, &part(&y)).unwrap();
            let loss = (losses * part(&weights).squeeze()).sum(Kind::Double) * (scale / count as f64);
            let loss = loss + p.abs().sum(Kind::Double) * options.l1;
            p.zero_grad();
            loss.backward();
            let mut g = p.grad();
            if options.clip_value > 0.0 {
                g = g.clamp(-options.clip_value, options.clip_value);
            }
            if options.clip_norm > 0.0 {
                g = &g * (options.clip_norm / (g.norm().double_value(&[]) + 1e-6)).min(1.0);
            }
            let rate = rate(options, epoch, step, data.rows().div_ceil(options.batch_size));
            step += 1;
            tch::no_grad(|| {
                if options.optimiser == Optimiser::SGD {
                    m = &m * options.momentum + &g;
                    let _ = p.subtract_(&(&m * rate));
                    return;
                }
                m = &m * 0.9 + &g * 0.1;
                v = &v * 0.999 + &g * &g * 0.001;
                let (mean, square) = (&m / (1.0 - 0.9f64.powi(step)), &v / (1.0 - 0.999f64.powi(step)));
                let _ = p.subtract_(&(mean * rate / (square.sqrt() + 1e-8)));
            });
        }
    }
    Vec::try_from(p.detach()).unwrap()
}

/// The formulas of LibTorch's schedulers.
fn rate(options: &Options, epoch: u32, step: i32, steps: usize) -> f64 {
    let (most, all) = (options.learning_rate, f64::from(options.epochs) * steps as f64);
    let anneal = |from: f64, to: f64, part: f64| to + (from - to) / 2.0 * ((std::f64::consts::PI * part).cos() + 1.0);
    let warm = options.warm_up * steps as f64;
    let base = match options.schedule {
        Schedule::Step => most * options.decay.powi((epoch / options.decay_epochs) as i32),
        Schedule::OneCycle => {
            let (peak, last, step) = (0.3 * all - 1.0, all - 1.0, f64::from(step));
            match step <= peak {
                true => anneal(most / 25.0, most, step / peak),
                false => anneal(most, most / 25.0 / 1e4, (step - peak) / (last - peak)),
            }
        }
        _ => most,
    };
    base * if warm > 0.0 { (f64::from(step + 1) / warm).min(1.0) } else { 1.0 }
}

#[test]
fn every_option_does_what_libtorch_does() {
    let data = circle(EVENTS, 3);
    let plain = Options {
        epochs: 3,
        batch_size: 64,
        validation: 0.0,
        shuffle: false,
        loss: Some(Loss::BinaryCrossEntropy),
        ..spec()
    };
    let sgd = Options { optimiser: Optimiser::SGD, learning_rate: 0.05, ..plain.clone() };
    let cases = [
        plain.clone(),
        sgd.clone(),
        Options { l1: 0.02, ..plain.clone() },
        Options { l1: 0.02, ..sgd.clone() },
        Options { clip_norm: 0.05, l1: 0.02, ..sgd.clone() },
        Options { clip_norm: 0.05, ..sgd.clone() },
        Options { clip_value: 0.01, ..sgd.clone() },
        Options { clip_norm: 0.05, ..plain.clone() },
        Options { schedule: Schedule::Step, decay: 0.3, decay_epochs: 1, ..sgd.clone() },
        Options { schedule: Schedule::OneCycle, ..sgd.clone() },
        Options { warm_up: 1.5, ..sgd.clone() },
        Options { label_smoothing: 0.1, ..sgd.clone() },
        Options { class_weights: vec![0.5, 3.0], ..sgd.clone() },
        Options { loss: Some(Loss::Focal), focus: 2.0, ..sgd.clone() },
        Options { loss: Some(Loss::Focal), focus: 0.7, class_weights: vec![2.0, 1.0], ..sgd.clone() },
        Options { loss: Some(Loss::MeanSquaredError), ..sgd.clone() },
        Options { loss: Some(Loss::Gaussian), ..sgd.clone() },
        Options { loss: Some(Loss::Gaussian), clip_norm: 0.05, l1: 0.02, ..sgd.clone() },
        Options { loss: Some(Loss::Gaussian), ..plain.clone() },
    ];
    for options in cases {
        for &gradient in Gradient::ALL {
            let options = Options { gradient, ..options.clone() };
            let mut model = start(&options);
            fit(&mut model, &data, &options);
            let expected = reference(&model, &data, &options);
            let found = model.parameters().iter().map(|&p| f64::from(p));
            let worst = found.zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            // Adam divides by the size of a gradient, whose rounding matters if it is small.
            let tolerance = if options.optimiser == Optimiser::SGD { 2e-6 } else { 2e-4 };
            assert!(worst < tolerance, "{worst} off with {options:?}");
        }
    }
}

#[test]
fn an_option_that_is_planted_wrongly_is_noticed() {
    let data = circle(EVENTS, 3);
    let options = Options {
        epochs: 3,
        validation: 0.0,
        shuffle: false,
        loss: Some(Loss::BinaryCrossEntropy),
        optimiser: Optimiser::SGD,
        learning_rate: 0.05,
        ..spec()
    };
    let mut model = network(1);
    fit(&mut model, &data, &options);
    for wrong in [
        Options { l1: 1e-3, ..options.clone() },
        Options { clip_norm: 0.2, ..options.clone() },
        Options { clip_value: 0.05, ..options.clone() },
        Options { warm_up: 0.5, ..options.clone() },
        Options { label_smoothing: 0.01, ..options.clone() },
        Options { class_weights: vec![1.0, 1.02], ..options.clone() },
    ] {
        let expected = reference(&model, &data, &wrong);
        let worst =
            model.parameters().iter().zip(&expected).map(|(&a, b)| (f64::from(a) - b).abs()).fold(0.0, f64::max);
        assert!(worst > 2e-5, "{wrong:?} changes nothing: {worst}");
    }
}

/// The options that stop a fit early when it learns the sample by heart.
fn overfitting() -> Options {
    Options { epochs: 200, patience: 8, learning_rate: 0.03, batch_size: 16, ..spec() }
}

#[test]
fn a_fit_stops_early_and_the_model_is_that_of_the_best_epoch() {
    let data = circle(120, 5);
    for &gradient in Gradient::ALL {
        let options = Options { gradient, ..overfitting() };
        let mut model = network(1);
        let mut trainer = Trainer::new(&model, &data, &options).unwrap();
        let mut losses = Vec::new();
        loop {
            let epoch = trainer.epoch(&data).unwrap();
            losses.push(epoch.validation_loss);
            if epoch.last {
                break;
            }
        }
        let best = losses.iter().copied().fold(f64::INFINITY, f64::min);
        let number = 1 + losses.iter().position(|&loss| loss == best).unwrap();
        assert_eq!((losses.len(), trainer.restored() as usize), (number + 8, number), "{gradient:?}: {losses:?}");
        trainer.finish(&mut model).unwrap();
        // A fit that ends there gives the same weights, as the rate is constant.
        let mut same = network(1);
        fit(&mut same, &data, &Options { epochs: number as u32, patience: 0, ..options });
        assert_eq!(model.parameters(), same.parameters());
        assert!(model.describe().contains(&format!("fEpochs = {},", losses.len())), "{}", model.describe());
    }
}

#[test]
fn a_dataset_for_validation_is_not_trained_on_and_changes_nothing_else() {
    let data = circle(400, 5);
    let (train, judges) = split(data.rows(), 0.75, 9).unwrap();
    let part = |rows: &[u32]| {
        let mut part = Dataset::new(data.columns()).unwrap();
        part.begin("part").unwrap();
        for &row in rows {
            let row = row as usize;
            let (labels, weights) = (data.labels().unwrap(), data.weights().unwrap());
            part.append(&data.features()[2 * row..][..2], &[labels[row]], &[weights[row]]).unwrap();
        }
        part.commit().unwrap();
        part
    };
    let (train, judges) = (part(&train), part(&judges));
    for &gradient in Gradient::ALL {
        let options = Options { gradient, shuffle: false, ..spec() };
        let mut split = network(1);
        let history = fit(&mut split, &data, &Options { validation: 0.25, split_seed: 9, ..options.clone() });
        let mut own = network(1);
        let mut trainer = Trainer::validated(&own, &train, &judges, &options, None).unwrap();
        for epoch in history {
            while !trainer.part(&train).unwrap().ended {}
            let losses = trainer.losses(&judges).unwrap();
            let found = trainer.end_epoch(losses, Vec::new()).unwrap();
            let close = |a: f64, b: f64| (a - b).abs() < 1e-6 * b.abs();
            assert!(close(found.train_loss, epoch.0) && close(found.validation_loss, epoch.1), "{found:?} {epoch:?}");
        }
        trainer.finish(&mut own).unwrap();
        assert!(own.parameters().iter().zip(split.parameters()).all(|(a, b)| (a - b).abs() < 1e-5), "{gradient:?}");
    }
    let error = |judges: &Dataset| {
        Trainer::validated(&network(1), &train, judges, &spec(), None).err().expect("accepted").to_string()
    };
    assert!(error(&Dataset::new(data.columns()).unwrap()).contains("has no events"));
    let mut others = Dataset::new(&[crate::column("x"), crate::column("z")]).unwrap();
    others.begin("others").unwrap();
    others.append(&[0.0, 1.0], &[1.0], &[1.0]).unwrap();
    others.commit().unwrap();
    assert!(error(&others).contains("validation dataset's columns (x, z)"), "{}", error(&others));
}

#[test]
fn seeds_of_split_and_order_are_apart() {
    let data = circle(300, 5);
    let first = |seed, split_seed| {
        let options = Options { seed, split_seed, epochs: 1, ..spec() };
        fit(&mut network(1), &data, &options)[0]
    };
    assert_eq!(first(3, 0), first(3, 3));
    assert_ne!(first(3, 0), first(3, 4));
    assert_ne!(first(3, 4), first(5, 4));
}

#[test]
fn a_quantile_is_learned() {
    let base = circle(4000, 6);
    let mut data = Dataset::new(base.columns()).unwrap();
    data.begin("noisy").unwrap();
    for (row, p) in base.features().chunks(2).enumerate() {
        // Uniform from 100 to 110 + 10 x.
        let noise = (row as f32 * 0.618_034).fract();
        data.append(p, &[100.0 + (10.0 + 10.0 * p[0]) * noise], &[1.0]).unwrap();
    }
    data.commit().unwrap();
    for quantile in [0.1, 0.5, 0.9] {
        let mut model = network(1);
        let options = Options { loss: Some(Loss::Quantile), quantile, epochs: 30, validation: 0.0, ..spec() };
        fit(&mut model, &data, &options);
        let mut values = vec![0.0; data.rows()];
        model.predict(&data, false, 2, &mut values).unwrap();
        let below = values.iter().zip(data.labels().unwrap()).filter(|(value, label)| label < value).count();
        let share = below as f64 / data.rows() as f64;
        assert!((share - quantile).abs() < 0.04, "{share} of the labels are below the quantile {quantile}");
    }
}

#[test]
fn options_that_do_not_fit_are_refused_by_name() {
    let data = circle(100, 1);
    let cases = [
        (Options { patience: 3, validation: 0.0, ..spec() }, "fPatience without validation"),
        (Options { keep_best: true, validation: 0.0, ..spec() }, "fKeepBest without validation"),
        (Options { schedule: Schedule::Plateau, validation: 0.0, ..spec() }, "kPlateau without validation"),
        (Options { min_improvement: 0.1, ..spec() }, "fMinImprovement without fPatience"),
        (Options { warm_up: 1.0, schedule: Schedule::OneCycle, ..spec() }, "fWarmUp beside"),
        (Options { clip_norm: 1.0, clip_value: 1.0, ..spec() }, "fClipNorm beside fClipValue"),
        (Options { clip_norm: -1.0, ..spec() }, "fClipNorm = -1"),
        (Options { clip_value: f64::NAN, ..spec() }, "fClipValue"),
        (Options { l1: -1.0, ..spec() }, "fL1"),
        (Options { decay: 0.0, ..spec() }, "fDecay"),
        (Options { decay: 1.5, ..spec() }, "fDecay"),
        (Options { decay_epochs: 0, ..spec() }, "fDecayEpochs"),
        (Options { warm_up: f64::INFINITY, ..spec() }, "fWarmUp"),
        (Options { label_smoothing: 1.0, ..spec() }, "fLabelSmoothing"),
        (Options { label_smoothing: 0.1, loss: Some(Loss::Focal), ..spec() }, "fLabelSmoothing beside fLoss = kFocal"),
        (Options { focus: -0.5, ..spec() }, "fFocus"),
        (Options { quantile: 1.0, ..spec() }, "fQuantile"),
        (Options { class_weights: vec![1.0; 3], ..spec() }, "3 numbers for 2 classes"),
        (Options { class_weights: vec![1.0, 0.0], ..spec() }, "fClassWeights = 0"),
        (Options { class_weights: vec![1.0; 2], loss: Some(Loss::Huber), ..spec() }, "beside fLoss = kHuber"),
    ];
    for (options, words) in cases {
        let error = Trainer::new(&network(1), &data, &options).err().expect(words).to_string();
        assert!(error.contains(words), "{error}, not {words}");
    }
}
