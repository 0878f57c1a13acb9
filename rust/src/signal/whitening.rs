//! Whitening, and the optimal SNR that it makes a Euclidean norm.

use rayon::prelude::*;

use super::psd::{interpolate_psd, truncate_inverse};
use super::welch::{Average, welch};
use super::window::Window;
use super::{check, fourier};
use crate::device::shared_pool;
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

/// How a window is whitened by its own density: see [`whiten_by_own`].
#[derive(Clone, Copy, Debug)]
pub struct OwnWhitening {
    /// Samples of a segment of Welch's estimate.
    pub segment: usize,
    /// Samples of the whitening filter; half of them are cut from each end.
    pub filter: usize,
    /// Hz; lower frequencies are taken out.
    pub lowest: f64,
}

/// `strain` ([n]) whitened by the density that it has itself, [n - filter].
///
/// The density is the median of Welch's Hann-windowed segments, interpolated to the length of the window, with the
/// inverse spectrum truncated to `filter` samples; the ends that the filter spoils are dropped. This is the recipe of
/// the first mock-data challenge MLGWSC-1 (Phys. Rev. D 107 (2023) 023021): segments of 0.5 s, a filter of 0.25 s.
pub fn whiten_by_own(strain: &[f64], rate: f64, how: OwnWhitening) -> Result<Vec<f64>> {
    let samples = strain.len();
    check::samples("strain", samples)?;
    check::count("length of the whitening filter", how.filter, 2, samples - 1)?;
    let estimate = welch(strain, how.segment, rate, Average::Median, Window::Hann)?;
    let psd = truncate_inverse(&interpolate_psd(&estimate, samples)?, rate, how.filter, how.lowest)?;
    let white = whiten(strain, &psd, rate)?;
    let first = how.filter / 2;
    Ok(white[first..first + samples - how.filter].to_vec())
}

/// A long series whitened in blocks of `block` samples, [n - filter]: each block by its own density, as [`whiten_by_own`] does.
///
/// Neighbouring blocks overlap by the filter, so that no sample is lost between them; the last one ends where the series does. A
/// series shorter than a block is one block. On the threads of the shared pool; the result does not depend on their number.
pub fn whiten_in_blocks(strain: &[f64], rate: f64, block: usize, how: OwnWhitening) -> Result<Vec<f64>> {
    let samples = strain.len();
    check::samples("strain", samples)?;
    check::samples("a block", block)?;
    let block = block.min(samples);
    check::count("length of the whitening filter", how.filter, 2, block - 1)?;
    let fresh = block - how.filter;
    let mut white = vec![0.0; samples - how.filter];
    let run = |(index, out): (usize, &mut [f64])| -> Result<()> {
        // Of the last block only the end is new.
        let start = (index * fresh).min(samples - block);
        let own = whiten_by_own(&strain[start..start + block], rate, how)?;
        out.copy_from_slice(&own[fresh - out.len()..]);
        Ok(())
    };
    shared_pool(0)?.install(|| white.par_chunks_mut(fresh).enumerate().try_for_each(run))?;
    Ok(white)
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
