//! Power spectral densities: estimated from strain, and of a detector's design.

use std::f64::consts::TAU;

use super::{check, fourier};
use crate::error::{Error, Result};

/// Welch's estimate of the one-sided power spectral density, [segment/2 + 1], 1/Hz.
///
/// `strain` is [any length from `segment`]; its Hann-windowed segments overlap by half and their periodograms are
/// averaged. No mean is removed. Source: P. D. Welch, IEEE Trans. Audio Electroacoust. 15 (1967) 70.
pub fn welch(strain: &[f64], segment: usize, rate: f64) -> Result<Vec<f64>> {
    check::samples("Welch's segment", segment)?;
    check::positive("sampling rate (Hz)", rate)?;
    if strain.len() < segment {
        return Err(Error::invalid(
            format!("strain has {} samples, Welch's segment {segment}", strain.len()),
            "give more strain or shorter segments",
        ));
    }
    check::finite("strain", strain)?;

    let window = hann(segment);
    let power: f64 = window.iter().map(|w| w * w).sum();
    let starts = (0..=strain.len() - segment).step_by(segment / 2);
    let scale = 2.0 / (rate * power * starts.clone().count() as f64);
    let mut psd = vec![0.0; segment / 2 + 1];
    for start in starts {
        let windowed = strain[start..start + segment].iter().zip(&window).map(|(x, w)| x * w).collect();
        for (density, bin) in psd.iter_mut().zip(fourier::forward(windowed)?) {
            *density += scale * bin.norm_sqr();
        }
    }
    check::finite("Welch's estimate", &psd)?;
    Ok(psd)
}

/// The periodic Hann window, [samples].
fn hann(samples: usize) -> Vec<f64> {
    (0..samples).map(|j| 0.5 - 0.5 * (TAU * j as f64 / samples as f64).cos()).collect()
}

/// The design sensitivity of Advanced LIGO, one-sided, [samples/2 + 1], 1/Hz, held constant below 20 Hz.
///
/// Source: B. S. Sathyaprakash and B. F. Schutz, Living Rev. Relativ. 12 (2009) 2, table 1.
pub fn detector_psd(samples: usize, rate: f64) -> Result<Vec<f64>> {
    const LOWEST: f64 = 20.0;
    const REFERENCE: f64 = 215.0;
    const SCALE: f64 = 1e-49;
    check::samples("detector noise", samples)?;
    check::positive("sampling rate (Hz)", rate)?;

    let density = |k: usize| {
        let frequency = k as f64 * rate / samples as f64;
        let x = frequency.max(LOWEST) / REFERENCE;
        let x2 = x * x;
        SCALE * (x.powf(-4.14) - 5.0 / x2 + 111.0 * (1.0 - x2 + 0.5 * x2 * x2) / (1.0 + 0.5 * x2))
    };
    let psd: Vec<f64> = (0..=samples / 2).map(density).collect();
    check::psd(&psd)?;
    Ok(psd)
}
