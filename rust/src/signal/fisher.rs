//! How well the parameters of a sine-Gaussian can be measured.

use std::f64::consts::{PI, TAU};

use super::{check, fourier};
use crate::error::{Error, Result};

/// A sine-Gaussian h(t) = A exp(-(t - t₀)² / τ²) cos(2πf(t - t₀) + φ).
#[derive(Clone, Copy, Debug)]
pub struct SineGaussian {
    /// A.
    pub amplitude: f64,
    /// t₀, s after the first sample.
    pub arrival: f64,
    /// φ, rad.
    pub phase: f64,
    /// f, Hz.
    pub frequency: f64,
    /// τ, s.
    pub width: f64,
}

/// The Fisher matrix Γ_ij = (∂_i h | ∂_j h), row-major, [5, 5], by A, t₀, φ, f and τ in that order.
///
/// (a|b) = 4 Re ∫ a(f) b(f)* / S(f) df with `psd` [n/2 + 1], 1/Hz, at `rate` Hz. The inverse of Γ is the covariance of the
/// parameters at high SNR (C. Cutler and É. É. Flanagan, Phys. Rev. D 49 (1994) 2658). The derivatives are exact.
pub fn sine_gaussian_fisher(wave: &SineGaussian, psd: &[f64], rate: f64) -> Result<Vec<f64>> {
    let samples = 2 * psd.len().saturating_sub(1);
    check::samples("series of the density", samples)?;
    check::positive("sampling rate (Hz)", rate)?;
    check::psd(psd)?;
    check::positive("amplitude", wave.amplitude)?;
    check::positive("width (s)", wave.width)?;
    check::positive("frequency (Hz)", wave.frequency)?;
    check::within("frequency (Hz)", wave.frequency, 0.0, 0.5 * rate)?;
    check::finite("phase (rad)", &[wave.phase])?;
    check::within("arrival time (s)", wave.arrival, 0.0, samples as f64 / rate)?;

    let derivatives: Vec<[f64; 5]> = (0..samples).map(|j| gradient(wave, j as f64 / rate - wave.arrival)).collect();
    let spectra =
        (0..5).map(|i| fourier::forward(derivatives.iter().map(|all| all[i]).collect())).collect::<Result<Vec<_>>>()?;
    let scale = 4.0 / (rate * samples as f64);
    let product = |i: usize, j: usize| {
        let terms = spectra[i].iter().zip(&spectra[j]).zip(psd).enumerate().map(|(k, ((a, b), density))| {
            let share = if k == 0 || k == samples / 2 { 0.5 } else { 1.0 };
            share * (a * b.conj()).re / density
        });
        scale * terms.sum::<f64>()
    };
    let matrix: Vec<f64> = (0..25).map(|cell| product(cell / 5, cell % 5)).collect();
    if matrix.iter().any(|value| !value.is_finite()) {
        return Err(Error::invalid(
            "the Fisher matrix is not finite",
            "give an amplitude and a density in units in which float64 does not overflow",
        ));
    }
    Ok(matrix)
}

/// ∂h by A, t₀, φ, f and τ at the time `t` (s) after the arrival.
fn gradient(wave: &SineGaussian, t: f64) -> [f64; 5] {
    let SineGaussian { amplitude, phase, frequency, width, .. } = *wave;
    let envelope = (-(t / width).powi(2)).exp();
    let (sin, cos) = (TAU * frequency * t + phase).sin_cos();
    let (h, quarter) = (amplitude * envelope * cos, -amplitude * envelope * sin);
    let omega = 2.0 * PI * frequency;
    [
        envelope * cos,
        h * 2.0 * t / width.powi(2) - omega * quarter,
        quarter,
        TAU * t * quarter,
        h * 2.0 * t * t / width.powi(3),
    ]
}
