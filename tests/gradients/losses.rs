//! Every loss and its gradient, with event weights.

use super::*;
use cladtorch::graph::{LEAST_LOG_VARIANCE, Loss};
use tch::Reduction;

/// A loss and its parameter.
type Case = (Loss, f64);

/// Every loss, with several parameters if it has one.
fn cases() -> Vec<Case> {
    let parameters = |loss: Loss| -> &[f64] {
        match loss {
            Loss::BinaryCrossEntropy | Loss::SoftmaxCrossEntropy => &[0.0, 0.2],
            Loss::MeanSquaredError | Loss::Huber => &[0.0],
            Loss::Focal => &[0.0, 0.5, 2.0],
            Loss::Quantile => &[0.1, 0.5, 0.9],
            Loss::Gaussian => &[LEAST_LOG_VARIANCE, -0.3],
        }
    };
    Loss::ALL.iter().flat_map(|&loss| parameters(loss).iter().map(move |&parameter| (loss, parameter))).collect()
}

/// Numbers of outputs of a loss, including odd ones if it allows them.
fn columns(kind: Loss) -> &'static [usize] {
    if kind == Loss::Gaussian { &[2, 4, 6, 14] } else { &[1, 2, 3, 7] }
}

/// The loss and its gradient.
fn loss<T: Scalar>(
    (kind, parameter): Case,
    rows: usize,
    cols: usize,
    z: &[f64],
    y: &[f64],
    w: &[f64],
    scale: f64,
) -> (f64, Vec<f64>) {
    let mut dz = vec![T::default(); z.len()];
    let (z, y, w) = (cast::<T>(z), cast::<T>(y), cast::<T>(w));
    let value = T::loss(kind as u8, parameter, rows, cols, &z, &y, &w, scale, Some(&mut dz));
    let alone = T::loss(kind as u8, parameter, rows, cols, &z, &y, &w, scale, None);
    assert_eq!(value.to_bits(), alone.to_bits(), "the value without the gradient");
    (value, widen(&dz))
}

/// Labels of each kind that a loss is for: classes, 0 and 1 with some between, any number.
fn labels(kind: Loss, rows: usize, cols: usize) -> Vec<f64> {
    match kind {
        Loss::SoftmaxCrossEntropy => (0..rows).map(|r| (r % cols) as f64).collect(),
        Loss::BinaryCrossEntropy | Loss::Focal => (0..rows * cols).map(|i| [0.0, 1.0, 0.25][i % 3]).collect(),
        Loss::MeanSquaredError | Loss::Huber | Loss::Quantile | Loss::Gaussian => {
            numbers(rows * kind.targets(cols), 3).iter().map(|y| 3.0 * y).collect()
        }
    }
}

/// Ordinary weights with one 0 and one negative among them.
fn weights(rows: usize) -> Vec<f64> {
    (0..rows).map(|r| [1.0, 0.3, 0.0, -0.7, 2.5][r % 5]).collect()
}

/// LibTorch's value and gradient of `sum_r w[r] loss_r`.
fn torch_loss((kind, parameter): Case, rows: usize, cols: usize, z: &[f64], y: &[f64], w: &[f64]) -> (f64, Vec<f64>) {
    let z = leaf(z, [rows, cols]);
    let target = || tensor(y, [rows, kind.targets(cols)]);
    let none: Option<Tensor> = None;
    let elements = match kind {
        Loss::BinaryCrossEntropy => {
            let target = || target() * (1.0 - parameter) + 0.5 * parameter;
            z.binary_cross_entropy_with_logits(&target(), none.as_ref(), none.as_ref(), Reduction::None)
        }
        Loss::SoftmaxCrossEntropy => {
            let classes = Tensor::from_slice(y).to_kind(Kind::Int64);
            z.cross_entropy_loss(&classes, none.as_ref(), Reduction::None, -100, parameter).unsqueeze(1)
        }
        Loss::MeanSquaredError => z.mse_loss(&target(), Reduction::None),
        Loss::Huber => z.huber_loss(&target(), Reduction::None, 1.0),
        Loss::Focal => {
            let (positive, negative) = (z.log_sigmoid(), (-&z).log_sigmoid());
            let first = -target() * (&negative * parameter).exp() * &positive;
            first - (1.0 - target()) * (&positive * parameter).exp() * &negative
        }
        Loss::Quantile => {
            let distance = target() - &z;
            (&distance * parameter).maximum(&(&distance * (parameter - 1.0)))
        }
        Loss::Gaussian => {
            let parts = z.chunk(2, 1);
            let level = parts[1].clamp_min(parameter);
            let excess = (parameter - &parts[1]).relu() + 1.0;
            let square = (&parts[0] - target()).square();
            (&level + square * (-&level).exp() * excess).sum_dim_intlist(1, true, None) * 0.5
        }
    };
    let row_means = elements.mean_dim(1, false, Kind::Double);
    let total = (row_means * Tensor::from_slice(w)).sum(Kind::Double);
    total.backward();
    (total.double_value(&[]), values(&z.grad()))
}

/// A function that returns the value and gradient of a loss for rows, columns, z, y, w.
type LossFunction<'a> = &'a dyn Fn(usize, usize, &[f64], &[f64], &[f64]) -> (f64, Vec<f64>);

/// `function` against LibTorch over many shapes and awkward logits, and against differences of its own value.
fn check_loss(kind: Case, function: LossFunction) -> Checked {
    for &cols in columns(kind.0) {
        let z: Vec<f64> = points().iter().cycle().take(points().len() * cols).copied().collect();
        let rows = z.len() / cols;
        let (y, w) = (labels(kind.0, rows, cols), weights(rows));
        let (value, gradient) = function(rows, cols, &z, &y, &w);
        let (torch_value, torch_gradient) = torch_loss(kind, rows, cols, &z, &y, &w);
        let place = |e| format!("{cols} columns, autograd: {e}");
        compare(&[value], &[torch_value], 1e-13, 1e-13).map_err(place)?;
        compare(&gradient, &torch_gradient, 1e-12, 1e-14).map_err(place)?;

        let (rows, z) = (5, numbers(5 * cols, 4).iter().map(|z| 4.0 * z).collect::<Vec<_>>());
        let (y, w) = (labels(kind.0, rows, cols), weights(rows));
        let numeric = central_difference(|z| function(rows, cols, z, &y, &w).0, &z);
        compare(&function(rows, cols, &z, &y, &w).1, &numeric, 1e-8, 1e-8)
            .map_err(|e| format!("{cols} columns, central differences: {e}"))?;
    }
    Ok(())
}

#[test]
fn losses_have_the_right_values_and_gradients() {
    for kind in cases() {
        check_loss(kind, &|rows, cols, z, y, w| loss::<f64>(kind, rows, cols, z, y, w, 1.0))
            .unwrap_or_else(|e| panic!("{kind:?}: {e}"));
    }
}

#[test]
fn a_wrong_loss_gradient_is_caught() {
    for kind in cases() {
        let plant = |name: &str, error: &dyn Fn(f64, f64) -> f64| {
            let wrong = |rows: usize, cols: usize, z: &[f64], y: &[f64], w: &[f64]| {
                let (value, gradient) = loss::<f64>(kind, rows, cols, z, y, w, 1.0);
                (value, gradient.iter().zip(z).map(|(&d, &z)| error(d, z)).collect())
            };
            assert!(check_loss(kind, &wrong).is_err(), "{kind:?}: {name} passed");
        };
        plant("a factor of 1 + 1e-6", &|d, _| d * (1.0 + 1e-6));
        plant("a sign", &|d, _| -d);
        plant("a different derivative at 0", &|d, z| if z == 0.0 { d - 1.0 } else { d });
        plant("a NaN at 1e4", &|d, z| if z == 1e4 { f64::NAN } else { d });
        let unweighted = |rows: usize, cols: usize, z: &[f64], y: &[f64], _: &[f64]| {
            loss::<f64>(kind, rows, cols, z, y, &vec![1.0; rows], 1.0)
        };
        assert!(check_loss(kind, &unweighted).is_err(), "{kind:?}: no weights passed");
    }
}

#[test]
fn losses_in_float_agree_with_double() {
    let z: Vec<f64> = points().into_iter().map(|z| f64::from(z as f32)).collect();
    for kind in cases() {
        for &cols in columns(kind.0) {
            let rows = z.len() / cols;
            let z = &z[..rows * cols];
            let y: Vec<f64> = labels(kind.0, rows, cols).into_iter().map(|y| f64::from(y as f32)).collect();
            let w: Vec<f64> = weights(rows).into_iter().map(|w| f64::from(w as f32)).collect();
            let (single, single_gradient) = loss::<f32>(kind, rows, cols, z, &y, &w, 0.5);
            let (double, double_gradient) = loss::<f64>(kind, rows, cols, z, &y, &w, 0.5);
            let what = |e| panic!("{kind:?}, {cols} columns: {e}");
            compare(&[single], &[double], 1e-6, 1e-6).unwrap_or_else(what);
            compare(&single_gradient, &double_gradient, 1e-6, 5e-7).unwrap_or_else(what);
        }
    }
}

#[test]
fn binary_cross_entropy_at_zero_is_symmetric() {
    for (y, derivative) in [(0.0, 0.5), (1.0, -0.5), (0.5, 0.0)] {
        for z in [0.0, -0.0] {
            let (value, gradient) = loss::<f64>((Loss::BinaryCrossEntropy, 0.0), 1, 1, &[z], &[y], &[1.0], 1.0);
            compare(&[value], &[2f64.ln()], 1e-15, 0.0).unwrap();
            assert_eq!(gradient, [derivative]);
        }
    }
}

#[test]
fn softmax_survives_extreme_logits() {
    for z in [[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4], [1e4, 1e4, 1e4], [0.0, -750.0, 750.0], [0.0, 0.0, 0.0]] {
        for class in 0..3 {
            let y = [f64::from(class)];
            let (value, gradient) = loss::<f64>((Loss::SoftmaxCrossEntropy, 0.0), 1, 3, &z, &y, &[1.0], 1.0);
            let want = torch_loss((Loss::SoftmaxCrossEntropy, 0.0), 1, 3, &z, &y, &[1.0]);
            compare(&[value], &[want.0], 1e-13, 0.0).unwrap();
            compare(&gradient, &want.1, 1e-13, 1e-15).unwrap();
            let single = loss::<f32>((Loss::SoftmaxCrossEntropy, 0.0), 1, 3, &z, &y, &[1.0], 1.0);
            compare(&[single.0], &[want.0], 1e-6, 0.0).unwrap();
            compare(&single.1, &want.1, 1e-6, 1e-7).unwrap();
        }
    }
}

#[test]
fn a_confident_row_keeps_its_small_loss() {
    let (value, _) = loss::<f64>((Loss::SoftmaxCrossEntropy, 0.0), 1, 2, &[0.0, -40.0], &[0.0], &[1.0], 1.0);
    compare(&[value], &[(-40f64).exp()], 1e-12, 0.0).unwrap();
}

#[test]
fn the_scale_multiplies_the_gradient_only() {
    for kind in cases() {
        let (z, y, w) = (numbers(24, 5), labels(kind.0, 4, 6), weights(4));
        let (value, gradient) = loss::<f64>(kind, 4, 6, &z, &y, &w, 1.0);
        let (same, halved) = loss::<f64>(kind, 4, 6, &z, &y, &w, 0.5);
        assert_eq!(value, same);
        assert_eq!(halved, gradient.iter().map(|d| 0.5 * d).collect::<Vec<_>>());
    }
}

#[test]
fn a_nan_is_not_hidden() {
    for kind in cases() {
        let (value, _) = loss::<f64>(kind, 1, 2, &[0.0, f64::NAN], &labels(kind.0, 1, 2), &[1.0], 1.0);
        assert!(value.is_nan(), "{}", kind.0.name());
    }
}

/// Below the least logarithm of a variance the loss has no other minimum, and stays finite in float32.
#[test]
fn a_variance_too_small_is_drawn_back() {
    let least = LEAST_LOG_VARIANCE;
    for (distance, level) in [(1e-8, -30.0), (1.0, -19.0), (1e4, -1e4), (-3.0, -200.0)] {
        let case = (Loss::Gaussian, least);
        let of = |level: f64| loss::<f32>(case, 1, 2, &[distance, level], &[0.0], &[1.0], 1.0);
        let (value, gradient) = of(level);
        assert!(value.is_finite() && gradient.iter().all(|d| d.is_finite()), "{value}, {gradient:?}");
        assert!(gradient[1] < 0.0, "the level {level} stays at a distance of {distance}: {gradient:?}");
        assert!(value >= of(least).0, "{value} at {level}");
    }
}
