//! Power spectral densities of a detector's design, and densities adapted to other lengths and filters.

use realfft::num_complex::Complex;

use super::zero_detuned::{self, FIRST, LN_DENSITIES, STEP};
use super::{check, fourier};
use crate::error::Result;

/// A published sensitivity of Advanced LIGO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// The analytic fit of B. S. Sathyaprakash and B. F. Schutz, Living Rev. Relativ. 12 (2009) 2, table 1, constant below
    /// 20 Hz.
    Analytic,
    /// Zero-detuned signal recycling at high power (LIGO-T0900288), the noise of most published studies, constant below
    /// 9 Hz and above 8192 Hz.
    ZeroDetunedHighPower,
}

/// The one-sided density of a detector's design, [samples/2 + 1], 1/Hz.
pub fn detector_psd(samples: usize, rate: f64, design: Design) -> Result<Vec<f64>> {
    check::samples("detector noise", samples)?;
    check::positive("sampling rate (Hz)", rate)?;
    let density = match design {
        Design::Analytic => analytic,
        Design::ZeroDetunedHighPower => zero_detuned_high_power,
    };
    let psd: Vec<f64> = (0..=samples / 2).map(|k| density(k as f64 * rate / samples as f64)).collect();
    check::psd(&psd)?;
    Ok(psd)
}

fn analytic(frequency: f64) -> f64 {
    const LOWEST: f64 = 20.0;
    const REFERENCE: f64 = 215.0;
    const SCALE: f64 = 1e-49;
    let x = frequency.max(LOWEST) / REFERENCE;
    let x2 = x * x;
    SCALE * (x.powf(-4.14) - 5.0 / x2 + 111.0 * (1.0 - x2 + 0.5 * x2 * x2) / (1.0 + 0.5 * x2))
}

/// Cubic in ln S over ln f through the four nearest nodes of the table.
fn zero_detuned_high_power(frequency: f64) -> f64 {
    let last = LN_DENSITIES.len() - 1;
    let place = ((frequency.max(FIRST) / FIRST).ln() / STEP).min(last as f64);
    let start = (place as usize).saturating_sub(1).min(last - 3);
    let x = place - start as f64;
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| LN_DENSITIES[start + i]);
    let ln_density = a * (x - 1.0) * (x - 2.0) * (x - 3.0) / -6.0
        + b * x * (x - 2.0) * (x - 3.0) / 2.0
        + c * x * (x - 1.0) * (x - 3.0) / -2.0
        + d * x * (x - 1.0) * (x - 2.0) / 6.0;
    ln_density.exp() * zero_detuned::UNIT
}

/// `psd` ([m/2 + 1]) on the frequencies of a series of `samples` samples at the same sampling rate, [samples/2 + 1], by
/// straight lines between its bins.
pub fn interpolate_psd(psd: &[f64], samples: usize) -> Result<Vec<f64>> {
    check::samples("interpolated density", samples)?;
    check::samples("series of the density", 2 * psd.len().saturating_sub(1))?;
    check::psd(psd)?;
    let last = psd.len() - 1;
    let density = |k: usize| {
        let place = (2 * k * last) as f64 / samples as f64;
        let left = (place as usize).min(last - 1);
        let share = place - left as f64;
        psd[left] * (1.0 - share) + psd[left + 1] * share
    };
    Ok((0..=samples / 2).map(density).collect())
}

/// `psd` ([n/2 + 1]) changed so that whitening by it reaches over `filter` samples only, [n/2 + 1].
///
/// The whitening filter, the inverse transform of 1/√S, is cut to `filter` samples around its middle, with a Hann
/// window; what whitens by the result is spoilt within `filter / 2` samples of the ends of a series and nowhere else.
/// Frequencies below `lowest` (Hz) are taken out of the filter. Source: FINDCHIRP (gr-qc/0509116), sec. VII.
pub fn truncate_inverse(psd: &[f64], rate: f64, filter: usize, lowest: f64) -> Result<Vec<f64>> {
    let samples = 2 * psd.len().saturating_sub(1);
    check::samples("series of the density", samples)?;
    check::positive("sampling rate (Hz)", rate)?;
    check::psd(psd)?;
    check::count("length of the whitening filter", filter, 2, samples)?;
    check::within("lowest frequency (Hz)", lowest, 0.0, 0.5 * rate)?;

    let amplitude = |(k, density): (usize, &f64)| {
        let passes = k as f64 * rate / samples as f64 >= lowest;
        Complex::new(if passes { (1.0 / density).sqrt() } else { 0.0 }, 0.0)
    };
    let mut series = fourier::inverse(psd.iter().enumerate().map(amplitude).collect())?;
    let half = 0.5 * filter as f64;
    for (j, value) in series.iter_mut().enumerate() {
        let x = j.min(samples - j) as f64 / half;
        *value *= if x < 1.0 { 0.5 + 0.5 * (std::f64::consts::PI * x).cos() } else { 0.0 };
    }
    let truncated: Vec<f64> = fourier::forward(series)?.into_iter().map(|bin| 1.0 / bin.norm_sqr()).collect();
    check::psd(&truncated)?;
    Ok(truncated)
}
