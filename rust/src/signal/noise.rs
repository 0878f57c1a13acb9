//! Seeded Gaussian noise of a given spectrum.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use realfft::num_complex::Complex;

use super::{check, fourier};
use crate::error::Result;

/// Stationary Gaussian noise with the one-sided density `psd` ([n/2 + 1], 1/Hz), sampled at `rate` Hz: [n].
///
/// Made in the frequency domain, bin by bin, so that it has period n: a window cut from a series much longer than
/// itself knows nothing of the period. The same seed gives the same bits: for the noise of several detectors, which is
/// independent, take [`Detector::noise`](super::Detector::noise).
pub fn noise(psd: &[f64], rate: f64, seed: u64) -> Result<Vec<f64>> {
    of_stream(psd, rate, seed, 0)
}

/// [`noise`] from the random numbers of `stream`: those of one seed are independent of each other.
pub(super) fn of_stream(psd: &[f64], rate: f64, seed: u64, stream: u64) -> Result<Vec<f64>> {
    let samples = 2 * psd.len().saturating_sub(1);
    check::samples("noise", samples)?;
    check::positive("sampling rate (Hz)", rate)?;
    check::psd(psd)?;

    // E|X_k|² = n · rate · S_k / 2, shared by the real and the imaginary part where a bin has both.
    let power = 0.5 * samples as f64 * rate;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(stream);
    let spectrum = psd.iter().enumerate().map(|(k, density)| {
        let deviation = (power * density).sqrt();
        if k == 0 || k == samples / 2 {
            return Complex::new(deviation * normal(&mut random), 0.0);
        }
        Complex::new(normal(&mut random), normal(&mut random)) * (deviation * std::f64::consts::FRAC_1_SQRT_2)
    });
    let series = fourier::inverse(spectrum.collect())?;
    check::finite("noise", &series)?;
    Ok(series)
}

pub(super) fn normal(random: &mut impl Rng) -> f64 {
    StandardNormal.sample(random)
}
