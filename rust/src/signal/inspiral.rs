//! Inspirals of two compact objects: their spectra at any frequencies, and their strain in a window.

use std::f64::consts::{PI, TAU};

use realfft::num_complex::Complex;

use super::binary::{Binary, Model};
use super::phenom_d::PhenomD;
use super::post_newtonian::TaylorF2;
use super::{check, fourier};
use crate::error::{Error, Result};

/// Share of the frequencies below the start over which a strain's spectrum rises.
const FADED: f64 = 0.1;

/// A model of the waveform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approximant {
    /// Post-Newtonian inspiral in the stationary-phase approximation: phase to 3.5PN, amplitude at leading order, up to
    /// the innermost stable circular orbit of the total mass.
    TaylorF2,
    /// Inspiral, merger and ringdown (S. Khan et al., Phys. Rev. D 93 (2016) 044007), up to Mf = 0.2.
    PhenomD,
}

fn model_of(binary: &Binary, approximant: Approximant) -> Box<dyn Model> {
    match approximant {
        Approximant::TaylorF2 => Box::new(TaylorF2::new(binary)),
        Approximant::PhenomD => Box::new(PhenomD::new(binary)),
    }
}

/// The Fourier transform (1/Hz) of the plus polarisation at `frequencies` (Hz, any order), with the coalescence at time 0.
///
/// h(f) = ∫ h(t) exp(-2πift) dt. 0 below the start frequency and above the end of the model.
pub fn binary_spectrum(binary: &Binary, approximant: Approximant, frequencies: &[f64]) -> Result<Vec<Complex<f64>>> {
    binary.check()?;
    check::finite("frequency (Hz)", frequencies)?;
    let (model, total, scale) = (model_of(binary, approximant), binary.total(), binary.scale());
    let bin = |f: &f64| {
        if *f < binary.start || f * total > model.end() {
            return Complex::default();
        }
        let amplitude = scale * f.powf(-7.0 / 6.0) * model.amplitude(f * total);
        Complex::from_polar(amplitude, binary.phase - model.phase(f * total))
    };
    Ok(frequencies.iter().map(bin).collect())
}

/// The strain of the plus polarisation in a window, [samples], with the coalescence `coalescence` s after the first
/// sample.
///
/// The whole waveform is made on a grid that holds it from the start frequency on, and the window is cut from that: of one
/// that is longer, the window has the end, and begins at full amplitude. The spectrum rises from 0 over the tenth below the
/// start frequency, with half a cosine.
pub fn binary_strain(
    binary: &Binary,
    approximant: Approximant,
    samples: usize,
    rate: f64,
    coalescence: f64,
) -> Result<Vec<f64>> {
    binary.check()?;
    check::samples("waveform", samples)?;
    check::positive("sampling rate (Hz)", rate)?;
    check::within("start frequency (Hz)", binary.start, 0.0, 0.5 * rate)?;
    check::within("coalescence time (s)", coalescence, 0.0, samples as f64 / rate)?;

    let grid = grid(binary, approximant, samples, rate)?;
    let (step, lead) = (rate / grid as f64, grid - samples);
    // Nothing is lost before the window: the lead is at least as long as the waveform.
    let merger = lead as f64 / rate + coalescence;
    let frequencies: Vec<f64> = (0..=grid / 2).map(|k| k as f64 * step).collect();
    let begin = (1.0 - FADED) * binary.start;
    let mut spectrum = binary_spectrum(&Binary { start: begin, ..*binary }, approximant, &frequencies)?;
    for (bin, f) in spectrum.iter_mut().zip(&frequencies) {
        let x = ((f - begin) / (FADED * binary.start)).clamp(0.0, 1.0);
        *bin *= Complex::from_polar(rate * (0.5 - 0.5 * (PI * x).cos()), -TAU * f * merger);
    }
    fourier::drop_ends(&mut spectrum);
    let series = fourier::inverse(spectrum)?;
    let strain = series[lead..].to_vec();
    check::finite("waveform", &strain)?;
    Ok(strain)
}

/// Samples of a periodic grid on which the waveform does not reach around into the window: its length from the start
/// frequency, and as much again for the ends that the limited band gives it.
fn grid(binary: &Binary, approximant: Approximant, samples: usize, rate: f64) -> Result<usize> {
    let model = model_of(binary, approximant);
    let start = binary.start * binary.total();
    if start >= model.end() {
        return Err(Error::invalid(
            format!(
                "the waveform would start at {} Hz, after its end at {:.1} Hz",
                binary.start,
                model.end() / binary.total()
            ),
            "lower the start frequency or the masses",
        ));
    }
    // The time left at a frequency is dΨ/df / 2π; counted from the coalescence.
    let step = 1e-3 * start;
    let left = (model.phase(start + step) - model.phase(start)).abs() / step * binary.total() / TAU;
    let wanted = samples as f64 + 2.0 * rate * left.max(16.0 / binary.start);
    if wanted > check::MAX_SAMPLES as f64 {
        return Err(Error::invalid(
            format!("the waveform lasts {left:.0} s from {} Hz on", binary.start),
            "raise the start frequency or the masses, or lower the sampling rate",
        ));
    }
    Ok((wanted as usize).next_power_of_two().max(2 * samples))
}
