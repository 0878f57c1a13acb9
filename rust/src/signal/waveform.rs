//! The Newtonian chirp, with a peak of about 1, and the phase of any waveform.

use std::f64::consts::PI;

use super::binary::SOLAR_MASS;
use super::{check, fourier};
use crate::error::{Error, Result};

/// Inspiral of two equal masses at Newtonian order, [samples].
///
/// With τ the time left to `coalescence` (s after the first sample) and 𝓜 the `chirp_mass` (solar masses),
///
/// > f(τ) = (5 / 256τ)^⅜ (G𝓜/c³)^-⅝ / π,  h(τ) = (f / f_end)^⅔ cos(2 (τ c³ / 5G𝓜)^⅝)
///
/// (M. Maggiore, Gravitational Waves, vol. 1, 2008, eqs. 4.19, 4.30, 4.31), from `start` Hz to f_end, the innermost
/// stable circular orbit, faded over one period at both ends.
pub fn chirp(samples: usize, rate: f64, chirp_mass: f64, start: f64, coalescence: f64) -> Result<Vec<f64>> {
    check::samples("chirp", samples)?;
    check::positive("sampling rate (Hz)", rate)?;
    check::positive("chirp mass (solar masses)", chirp_mass)?;
    check::positive("start frequency (Hz)", start)?;
    check::within("coalescence time (s)", coalescence, 0.0, samples as f64 / rate)?;

    let mass = chirp_mass * SOLAR_MASS;
    let end = last_orbit(mass);
    let (first, last) = (time_left(mass, start), time_left(mass, end));
    check_chirp(start, end, first, rate, coalescence)?;

    let fade = |time: f64, period: f64| 0.5 - 0.5 * (PI * (time / period).clamp(0.0, 1.0)).cos();
    let strain = |j: usize| {
        let left = coalescence - j as f64 / rate;
        if !(last..=first).contains(&left) {
            return 0.0;
        }
        let frequency = (5.0 / (256.0 * left)).powf(0.375) * mass.powf(-0.625) / PI;
        let phase = -2.0 * (left / (5.0 * mass)).powf(0.625);
        fade(first - left, 1.0 / start) * fade(left - last, 1.0 / end) * (frequency / end).powf(2.0 / 3.0) * phase.cos()
    };
    Ok((0..samples).map(strain).collect())
}

/// Gravitational-wave frequency (Hz) at the innermost stable circular orbit, 1 / (6^1.5 π M), of two equal masses
/// with chirp mass `mass` (s): their total mass is M = 4^0.6 `mass`.
fn last_orbit(mass: f64) -> f64 {
    1.0 / (6f64.powf(1.5) * PI * 4f64.powf(0.6) * mass)
}

/// Time (s) from the frequency f to coalescence at Newtonian order.
fn time_left(mass: f64, frequency: f64) -> f64 {
    5.0 / 256.0 * mass.powf(-5.0 / 3.0) * (PI * frequency).powf(-8.0 / 3.0)
}

fn check_chirp(start: f64, end: f64, length: f64, rate: f64, coalescence: f64) -> Result<()> {
    if start >= end {
        return Err(Error::invalid(
            format!(
                "the chirp would start at {start} Hz, after its end at {end:.1} Hz (innermost stable circular orbit)"
            ),
            "lower the start frequency or the chirp mass",
        ));
    }
    if end >= 0.5 * rate {
        return Err(Error::invalid(
            format!("the chirp ends at {end:.1} Hz, above the Nyquist frequency of {} Hz", 0.5 * rate),
            "raise the sampling rate or the chirp mass",
        ));
    }
    if length > coalescence {
        return Err(Error::invalid(
            format!("the chirp lasts {length:.4} s, with {coalescence} s before coalescence"),
            "raise the start frequency, or let the window be longer or the coalescence later",
        ));
    }
    Ok(())
}

/// `strain` ([n]) with every frequency shifted by `phase` rad: cos(ωt) becomes cos(ωt + phase).
///
/// Two copies a quarter turn apart have equal SNR and are orthogonal, whatever the noise. The mean and the Nyquist bin
/// have no phase and are dropped.
pub fn phase_shift(strain: &[f64], phase: f64) -> Result<Vec<f64>> {
    check::samples("waveform", strain.len())?;
    check::finite("waveform", strain)?;
    check::finite("phase (rad)", &[phase])?;

    let turn = realfft::num_complex::Complex::cis(phase);
    let mut spectrum = fourier::forward(strain.to_vec())?;
    let last = spectrum.len() - 1;
    spectrum[1..last].iter_mut().for_each(|bin| *bin *= turn);
    spectrum[0] = 0.0.into();
    spectrum[last] = 0.0.into();
    let series = fourier::inverse(spectrum)?;
    check::finite("shifted waveform", &series)?;
    Ok(series)
}
