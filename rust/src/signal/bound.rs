//! The performance of the best of all tests (Neyman and Pearson 1933) on a signal of known shape, time and SNR in
//! Gaussian noise. Source of the formulas: S. M. Kay, Fundamentals of Statistical Signal Processing II, 1998, ch. 4 and
//! 7.

use std::f64::consts::{FRAC_1_SQRT_2, TAU};

use libm::erfc;

use super::check;
use crate::error::Result;

/// SNR beyond which every bound is 1 to the last digit at any false-alarm probability in use.
const MAX_SNR: f64 = 100.0;

/// Whether the test knows the signal's phase; otherwise it is uniform on the circle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The template is known whole: the best test is the matched filter.
    Known,
    /// The best test is the modulus of the two matched filters a quarter turn apart.
    Unknown,
}

impl From<bool> for Phase {
    fn from(known: bool) -> Self {
        if known { Phase::Known } else { Phase::Unknown }
    }
}

/// Largest area under the ROC curve at optimal SNR `snr`: Φ(ρ/√2), or 1 - exp(-ρ²/4)/2 at unknown phase.
pub fn auc_bound(snr: f64, phase: Phase) -> Result<f64> {
    check::within("signal-to-noise ratio", snr, 0.0, MAX_SNR)?;
    Ok(match phase {
        Phase::Known => normal_cdf(snr * FRAC_1_SQRT_2),
        Phase::Unknown => 1.0 - 0.5 * (-0.25 * snr * snr).exp(),
    })
}

/// Largest detection probability at false-alarm probability `false_alarm`: Φ(ρ - Φ⁻¹(1 - FAP)), or
/// Q₁(ρ, √(-2 ln FAP)) at unknown phase. Relative errors are below 1e-11 down to a FAP of 1e-300.
pub fn efficiency_bound(snr: f64, false_alarm: f64, phase: Phase) -> Result<f64> {
    check::within("signal-to-noise ratio", snr, 0.0, MAX_SNR)?;
    check::within("false-alarm probability", false_alarm, 0.0, 1.0)?;
    if false_alarm == 0.0 || false_alarm == 1.0 {
        return Ok(false_alarm);
    }
    match phase {
        Phase::Known => Ok(normal_cdf(snr - upper_quantile(false_alarm))),
        Phase::Unknown => marcum_q1(snr, (-2.0 * false_alarm.ln()).sqrt()),
    }
}

fn normal_cdf(x: f64) -> f64 {
    0.5 * erfc(-x * FRAC_1_SQRT_2)
}

/// x with Φ(-x) = `tail`, of (0, 1): by Newton's method on ln Φ(-x), which is concave, so that it converges from anywhere.
fn upper_quantile(tail: f64) -> f64 {
    if tail > 0.5 {
        return -upper_quantile(1.0 - tail);
    }
    let target = tail.ln();
    // From Φ(-x) ≈ φ(x) / x for large x.
    let square = -2.0 * target - TAU.ln();
    let mut x = (square - square.max(1.0).ln()).max(0.0).sqrt();
    for _ in 0..50 {
        let above = normal_cdf(-x);
        let density = (-0.5 * x * x).exp() / TAU.sqrt();
        let step = (above.ln() - target) * above / density;
        x += step;
        if step.abs() <= 1e-15 * x.abs() {
            break;
        }
    }
    x
}

/// Marcum's Q function of order 1, the probability that a point, normal around (`a`, 0), falls outside a circle of
/// radius `b` around the origin.
///
/// Summed as a Poisson mixture, Q₁(a, b) = Σ_k P(K = k) P(L ≤ k) with K ~ Poisson(a²/2), L ~ Poisson(b²/2): all terms
/// are positive, so nothing cancels. Their logarithms are added up, as the largest term can be below the smallest float64.
pub fn marcum_q1(a: f64, b: f64) -> Result<f64> {
    check::within("first argument of Marcum's Q", a, 0.0, MAX_SNR)?;
    check::within("second argument of Marcum's Q", b, 0.0, MAX_SNR)?;
    let (x, y) = (0.5 * a * a, 0.5 * b * b);
    let (mut log_k, mut log_l) = (-x, -y);
    let mut at_most = log_l;
    let mut term = log_k + at_most;
    let mut sum = term;
    for k in 1u32.. {
        let step = f64::from(k);
        log_k += (x / step).ln();
        log_l += (y / step).ln();
        at_most = log_of_sum(at_most, log_l);
        let before = std::mem::replace(&mut term, log_k + at_most);
        sum = log_of_sum(sum, term);
        // Both factors are log-concave in k, and so are the terms: they rise to one maximum, and beyond it each ratio to the
        // next is larger than the one before.
        if term < before && term < sum - 50.0 {
            break;
        }
    }
    Ok(sum.exp().min(1.0))
}

/// ln(exp(a) + exp(b)), where `b` may be minus infinity.
fn log_of_sum(a: f64, b: f64) -> f64 {
    a.max(b) + (-(a - b).abs()).exp().ln_1p()
}
