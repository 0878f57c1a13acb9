//! What the best of all tests reaches (Neyman and Pearson 1933) on a signal of known shape, time and SNR in Gaussian
//! noise. Source of the formulas: S. M. Kay, Fundamentals of Statistical Signal Processing II, 1998, ch. 4 and 7.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

use statrs::function::erf::{erfc, erfc_inv};

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
/// Q₁(ρ, √(-2 ln FAP)) at unknown phase.
pub fn efficiency_bound(snr: f64, false_alarm: f64, phase: Phase) -> Result<f64> {
    check::within("signal-to-noise ratio", snr, 0.0, MAX_SNR)?;
    check::within("false-alarm probability", false_alarm, 0.0, 1.0)?;
    if false_alarm == 0.0 || false_alarm == 1.0 {
        return Ok(false_alarm);
    }
    match phase {
        Phase::Known => Ok(normal_cdf(snr - SQRT_2 * erfc_inv(2.0 * false_alarm))),
        Phase::Unknown => marcum_q1(snr, (-2.0 * false_alarm.ln()).sqrt()),
    }
}

fn normal_cdf(x: f64) -> f64 {
    0.5 * erfc(-x * FRAC_1_SQRT_2)
}

/// Marcum's Q function of order 1, the probability that a point, normal around (`a`, 0), falls outside a circle of
/// radius `b` around the origin.
///
/// Summed as a Poisson mixture, Q₁(a, b) = Σ_k P(K = k) P(L ≤ k) with K ~ Poisson(a²/2), L ~ Poisson(b²/2): all terms
/// are positive, so nothing cancels.
pub fn marcum_q1(a: f64, b: f64) -> Result<f64> {
    check::within("first argument of Marcum's Q", a, 0.0, MAX_SNR)?;
    check::within("second argument of Marcum's Q", b, 0.0, MAX_SNR)?;
    let (x, y) = (0.5 * a * a, 0.5 * b * b);
    let (mut log_k, mut log_l) = (-x, -y);
    let mut at_most = log_l.exp();
    let mut sum = log_k.exp() * at_most;
    for k in 1u32.. {
        let step = f64::from(k);
        log_k += (x / step).ln();
        log_l += (y / step).ln();
        at_most += log_l.exp();
        sum += log_k.exp() * at_most;
        // Past the maximum the weights fall faster than a geometric series.
        if step > x && log_k < -50.0 {
            break;
        }
    }
    Ok(sum.min(1.0))
}
