//! Whitening, and the optimal SNR that it makes a Euclidean norm.

use super::{check, fourier};
use crate::error::{Error, Result};

/// `strain` ([n]) divided by the amplitude spectrum of `psd` ([n/2 + 1], 1/Hz), [n], without unit.
///
/// Normalised so that Gaussian noise of that density comes out with independent samples of variance 1. The series is
/// taken as periodic: of a window cut from a longer one, drop both ends by the length of the whitening filter.
pub fn whiten(strain: &[f64], psd: &[f64], rate: f64) -> Result<Vec<f64>> {
    check::samples("strain", strain.len())?;
    check::positive("sampling rate (Hz)", rate)?;
    check::finite("strain", strain)?;
    check::psd_for(psd, strain.len())?;

    let mut spectrum = fourier::forward(strain.to_vec())?;
    for (bin, density) in spectrum.iter_mut().zip(psd) {
        *bin *= (2.0 / (rate * density)).sqrt();
    }
    let series = fourier::inverse(spectrum)?;
    check::finite("whitened strain", &series)?;
    Ok(series)
}

/// Optimal signal-to-noise ratio of a waveform, ρ² = 4 ∫ |h(f)|² / S(f) df from 0 to the Nyquist frequency.
///
/// `strain` is [n], `psd` [n/2 + 1], 1/Hz. The integral is the trapezoid sum over the bins, exact for noise of period n.
pub fn snr(strain: &[f64], psd: &[f64], rate: f64) -> Result<f64> {
    check::samples("waveform", strain.len())?;
    check::positive("sampling rate (Hz)", rate)?;
    check::finite("waveform", strain)?;
    check::psd_for(psd, strain.len())?;

    // h(f) = X_k / rate and df = rate / n.
    let scale = 4.0 / (rate * strain.len() as f64);
    let last = psd.len() - 1;
    let terms = fourier::forward(strain.to_vec())?.into_iter().zip(psd).enumerate().map(|(k, (bin, density))| {
        let share = if k == 0 || k == last { 0.5 } else { 1.0 };
        share * bin.norm_sqr() / density
    });
    let rho = (scale * terms.sum::<f64>()).sqrt();
    check::finite("signal-to-noise ratio", &[rho])?;
    Ok(rho)
}

/// The waveform `strain` ([n]) times the factor that makes its optimal SNR against `psd` ([n/2 + 1]) equal `target`.
pub fn scale_to_snr(strain: &[f64], psd: &[f64], rate: f64, target: f64) -> Result<Vec<f64>> {
    check::within("wanted signal-to-noise ratio", target, 0.0, f64::MAX)?;
    let factor = target / snr(strain, psd, rate)?;
    if !factor.is_finite() {
        return Err(Error::invalid("the waveform has signal-to-noise ratio 0", "give a waveform that is not zero"));
    }
    Ok(strain.iter().map(|h| factor * h).collect())
}
