//! Residuals of a regression: predictions minus truth.

use super::{check_lengths, check_numbers, positive_total};
use crate::error::{Error, Result};

/// Residuals of one target, prediction - truth, in the units of the target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Residuals {
    /// Their mean.
    pub bias: f64,
    /// Root of their mean square.
    pub rmse: f64,
    /// Half the distance of their quantiles of 15.87 % and 84.13 %: the standard deviation of a normal distribution,
    /// whatever the tails are.
    pub resolution: f64,
    /// Share of the target's variance that the predictions explain (R squared); NaN for a constant target.
    pub explained: f64,
}

/// Residuals of the column `target` of `predictions` and `truth` [N, `targets`].
pub fn residuals(
    predictions: &[f32],
    truth: &[f32],
    weights: &[f32],
    targets: usize,
    target: usize,
) -> Result<Residuals> {
    if target >= targets {
        return Err(Error::invalid(format!("target {target} of {targets}"), "count targets from 0"));
    }
    check_lengths(predictions.len(), weights.len(), weights.len(), targets)?;
    check_lengths(truth.len(), weights.len(), weights.len(), targets)?;
    check_numbers(predictions, truth, weights, targets)?;
    let total = positive_total("the events", weights.iter().map(|&w| f64::from(w)))?;
    let column =
        |values: &[f32]| values.iter().skip(target).step_by(targets).map(|&v| f64::from(v)).collect::<Vec<_>>();
    let (predicted, truth) = (column(predictions), column(truth));
    let weights: Vec<f64> = weights.iter().map(|&w| f64::from(w)).collect();
    let mean = |values: &[f64]| values.iter().zip(&weights).map(|(v, w)| v * w).sum::<f64>() / total;
    let mut differences: Vec<f64> = predicted.iter().zip(&truth).map(|(p, t)| p - t).collect();
    let of = |f: fn(f64) -> f64| mean(&differences.iter().map(|&d| f(d)).collect::<Vec<_>>());
    let (bias, square) = (of(|d| d), of(|d| d * d));
    if square < 0.0 {
        return Err(Error::invalid(
            format!("negative weights make the mean square of the residuals {square}"),
            "its root is no figure of merit: use weights whose sum over the large residuals is positive",
        ));
    }
    let centre = mean(&truth);
    let variance = mean(&truth.iter().map(|t| (t - centre).powi(2)).collect::<Vec<_>>());
    Ok(Residuals {
        bias,
        rmse: square.sqrt(),
        resolution: half_width(&mut differences, &weights, total),
        explained: if variance > 0.0 { 1.0 - square / variance } else { f64::NAN },
    })
}

/// Half the distance of the quantiles of `values` that lie one standard deviation of a normal distribution around its mean.
fn half_width(values: &mut [f64], weights: &[f64], total: f64) -> f64 {
    const BELOW: f64 = 0.158_655_253_931_457; // of a normal distribution
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let quantile = |share: f64| {
        let mut sum = 0.0;
        let reached = |&&at: &&usize| {
            sum += weights[at];
            sum >= share * total
        };
        order.iter().find(reached).or(order.last()).map_or(f64::NAN, |&at| values[at])
    };
    0.5 * (quantile(1.0 - BELOW) - quantile(BELOW))
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::StandardNormal;

    use super::*;

    #[test]
    fn a_normal_error_has_its_width() {
        let mut generator = ChaCha8Rng::seed_from_u64(2);
        let events = 50_000;
        let mut normal = || generator.sample::<f32, _>(StandardNormal);
        let truth: Vec<f32> = (0..2 * events).map(|_| 3.0 * normal()).collect();
        let errors = [(0.5, 0.2), (-1.0, 2.0)];
        let predictions: Vec<f32> =
            truth.iter().enumerate().map(|(i, t)| t + errors[i % 2].0 + errors[i % 2].1 * normal()).collect();
        for (target, (bias, width)) in errors.into_iter().enumerate() {
            let found = residuals(&predictions, &truth, &vec![0.5; events], 2, target).unwrap();
            let (bias, width) = (f64::from(bias), f64::from(width));
            let close = |found: f64, expected: f64| (found - expected).abs() < 0.03 * (1.0 + expected.abs());
            assert!(close(found.bias, bias) && close(found.resolution, width), "{found:?}");
            assert!(close(found.rmse, bias.hypot(width)), "{found:?}");
            assert!(close(found.explained, 1.0 - (bias * bias + width * width) / 9.0), "{found:?}");
        }
    }

    #[test]
    fn weights_count_as_repeated_events() {
        let weighted = residuals(&[1.0, 5.0, 2.5], &[0.0, 4.5, 3.0], &[1.0, 3.0, 2.0], 1, 0).unwrap();
        let (p, t) = ([1.0, 5.0, 5.0, 5.0, 2.5, 2.5], [0.0, 4.5, 4.5, 4.5, 3.0, 3.0]);
        let repeated = residuals(&p, &t, &[1.0; 6], 1, 0).unwrap();
        for (a, b) in [
            (weighted.bias, repeated.bias),
            (weighted.rmse, repeated.rmse),
            (weighted.resolution, repeated.resolution),
            (weighted.explained, repeated.explained),
        ] {
            assert!((a - b).abs() < 1e-12, "{a} and {b}");
        }
        assert!(residuals(&[1.0], &[1.0], &[1.0], 1, 0).unwrap().explained.is_nan());
        assert!(residuals(&[1.0], &[1.0], &[1.0], 1, 1).is_err());
        assert!(residuals(&[1.0, 2.0], &[1.0], &[1.0], 1, 0).is_err());
        let negative = residuals(&[0.1, 0.2, 3.0], &[0.0, 1.0, 1.0], &[1.0, 1.0, -1.5], 1, 0);
        assert!(negative.unwrap_err().to_string().contains("negative weights"));
    }
}
