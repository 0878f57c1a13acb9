//! Bursts and glitches with a peak of about 1: `scale_to_snr` gives them their size.

use std::f64::consts::{PI, TAU};

use super::check;
use crate::error::Result;

/// Sine-Gaussian burst, [samples]: h(t) = exp(-t² / τ²) cos(2πft), τ = Q / (√2 πf), t counted from `arrival` (s).
///
/// `frequency` f in Hz, `quality` Q without unit. Source: B. Abbott et al., Phys. Rev. D 69 (2004) 102001.
pub fn sine_gaussian(samples: usize, rate: f64, frequency: f64, quality: f64, arrival: f64) -> Result<Vec<f64>> {
    check_burst("sine-Gaussian", samples, rate, frequency, arrival)?;
    check::positive("quality factor", quality)?;
    let width = sine_gaussian_width(frequency, quality);
    Ok(series(samples, rate, arrival, |t| (-(t / width).powi(2)).exp() * (TAU * frequency * t).cos()))
}

/// τ (s) of the envelope exp(-t² / τ²).
pub(super) fn sine_gaussian_width(frequency: f64, quality: f64) -> f64 {
    quality / (2f64.sqrt() * PI * frequency)
}

/// Damped sinusoid, [samples]: h(t) = exp(-πft / Q) cos(2πft) from `start` (s) on, 0 before; t counted from there.
///
/// `frequency` f in Hz, `quality` Q without unit. Source: E. Berti, V. Cardoso and C. M. Will, Phys. Rev. D 73 (2006) 064030.
pub fn ringdown(samples: usize, rate: f64, frequency: f64, quality: f64, start: f64) -> Result<Vec<f64>> {
    check_burst("ringdown", samples, rate, frequency, start)?;
    check::positive("quality factor", quality)?;
    Ok(series(samples, rate, start, |t| {
        if t < 0.0 { 0.0 } else { (-PI * frequency * t / quality).exp() * (TAU * frequency * t).cos() }
    }))
}

/// A blip, [samples]: one short broad-band pulse, h(t) = (1 - 2x²) exp(-x²) with x = πft, t counted from `arrival` (s).
///
/// Its spectrum peaks at `frequency` f (Hz) and has no mean. A simple stand-in (Ricker's wavelet) for the glitches of
/// M. Cabero et al., Class. Quantum Grav. 36 (2019) 155010.
pub fn blip(samples: usize, rate: f64, frequency: f64, arrival: f64) -> Result<Vec<f64>> {
    check_burst("blip", samples, rate, frequency, arrival)?;
    Ok(series(samples, rate, arrival, |t| {
        let x2 = (PI * frequency * t).powi(2);
        (1.0 - 2.0 * x2) * (-x2).exp()
    }))
}

/// An arch of scattered light, [samples]: h(t) = cos(2πft) sin(F/f sin(2πft)) for |t| < 1/(4f), t counted from `arrival` (s).
///
/// Light comes back from a surface that swings at `frequency` f (Hz), so that its fringes have the frequency
/// F |cos(2πft)|, F being `highest` (Hz). Source of the phase: T. Accadia et al., Class. Quantum Grav. 27 (2010) 194011;
/// the cosine before it fades the ends of one half period.
pub fn scattered_light(samples: usize, rate: f64, frequency: f64, highest: f64, arrival: f64) -> Result<Vec<f64>> {
    check_burst("scattered light", samples, rate, frequency, arrival)?;
    check::positive("highest fringe frequency (Hz)", highest)?;
    check::within("highest fringe frequency (Hz)", highest, 0.0, 0.5 * rate)?;
    Ok(series(samples, rate, arrival, |t| {
        if t.abs() >= 0.25 / frequency {
            return 0.0;
        }
        let (sin, cos) = (TAU * frequency * t).sin_cos();
        cos * (highest / frequency * sin).sin()
    }))
}

/// Shared checks: `time` (s after the first sample) lies in the window, the frequency below Nyquist's.
fn check_burst(what: &str, samples: usize, rate: f64, frequency: f64, time: f64) -> Result<()> {
    check::samples(what, samples)?;
    check::positive("sampling rate (Hz)", rate)?;
    check::positive("frequency (Hz)", frequency)?;
    check::within("frequency (Hz)", frequency, 0.0, 0.5 * rate)?;
    check::within("arrival time (s)", time, 0.0, samples as f64 / rate)
}

fn series(samples: usize, rate: f64, origin: f64, strain: impl Fn(f64) -> f64) -> Vec<f64> {
    (0..samples).map(|j| strain(j as f64 / rate - origin)).collect()
}
