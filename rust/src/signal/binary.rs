//! Inspirals of two compact objects: their spectra at any frequencies, and their strain in a window.

use std::f64::consts::{PI, TAU};

use realfft::num_complex::Complex;

use super::phenom_d::PhenomD;
use super::post_newtonian::TaylorF2;
use super::{check, fourier};
use crate::error::{Error, Result};

/// G M☉ / c³ in s (IAU 2015 nominal solar mass parameter).
pub(super) const SOLAR_MASS: f64 = 4.925_490_947_641_267e-6;
/// A megaparsec over c, in s.
const MEGAPARSEC: f64 = 1.029_271_250_336_166e14;
/// Masses (solar masses) between which the models make sense in a detector on Earth.
const MASSES: [f64; 2] = [0.1, 1000.0];
/// Mass ratio beyond which neither model is of use. PhenomD is calibrated up to 18.
const MAX_RATIO: f64 = 100.0;

/// Share of the frequencies below the start over which a strain's spectrum rises.
const FADED: f64 = 0.1;

/// Two compact objects on circular orbits, spins along the orbit's axis, seen face-on.
#[derive(Clone, Copy, Debug)]
pub struct Binary {
    /// Masses in the detector's frame, solar masses.
    pub masses: [f64; 2],
    /// Dimensionless spins along the orbit's axis, -1 to 1.
    pub spins: [f64; 2],
    /// Luminosity distance, Mpc.
    pub distance: f64,
    /// Phase of the spectrum at coalescence, rad: a quarter turn gives the cross polarisation from the plus.
    pub phase: f64,
    /// Hz; the spectrum is 0 below.
    pub start: f64,
}

/// A model of the waveform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approximant {
    /// Post-Newtonian inspiral in the stationary-phase approximation: phase to 3.5PN, amplitude at leading order, up to
    /// the innermost stable circular orbit of the total mass.
    TaylorF2,
    /// Inspiral, merger and ringdown (S. Khan et al., Phys. Rev. D 93 (2016) 044007), up to Mf = 0.2.
    PhenomD,
}

/// A model's spectrum at a frequency: the amplitude relative to the leading order, and the phase Ψ of exp(-iΨ), with
/// the coalescence at time 0.
pub(super) trait Model {
    fn amplitude(&self, mf: f64) -> f64;
    fn phase(&self, mf: f64) -> f64;
    /// Largest M f.
    fn end(&self) -> f64;
}

impl Binary {
    fn check(&self) -> Result<()> {
        for (mass, number) in self.masses.iter().zip(1..) {
            check::within(&format!("mass {number} (solar masses)"), *mass, MASSES[0], MASSES[1])?;
        }
        for (spin, number) in self.spins.iter().zip(1..) {
            check::within(&format!("spin {number}"), *spin, -1.0, 1.0)?;
        }
        let ratio = self.masses[0].max(self.masses[1]) / self.masses[0].min(self.masses[1]);
        check::within("mass ratio", ratio, 1.0, MAX_RATIO)?;
        check::positive("distance (Mpc)", self.distance)?;
        check::finite("phase (rad)", &[self.phase])?;
        check::positive("start frequency (Hz)", self.start)
    }

    /// The total mass, s.
    pub(super) fn total(&self) -> f64 {
        (self.masses[0] + self.masses[1]) * SOLAR_MASS
    }

    /// The chirp mass, s.
    fn chirp_mass(&self) -> f64 {
        self.total() * self.ratio().powf(0.6)
    }

    /// The symmetric mass ratio η, at most 1/4.
    pub(super) fn ratio(&self) -> f64 {
        let [a, b] = self.masses;
        a * b / (a + b).powi(2)
    }

    fn model(&self, approximant: Approximant) -> Box<dyn Model> {
        match approximant {
            Approximant::TaylorF2 => Box::new(TaylorF2::new(self)),
            Approximant::PhenomD => Box::new(PhenomD::new(self)),
        }
    }

    /// |h(f)| at leading order is this times f^(-7/6): √(5/24) 𝓜^(5/6) π^(-2/3) / D.
    fn scale(&self) -> f64 {
        (5.0f64 / 24.0).sqrt() * self.chirp_mass().powf(5.0 / 6.0) * PI.powf(-2.0 / 3.0) / (self.distance * MEGAPARSEC)
    }
}

/// The Fourier transform (1/Hz) of the plus polarisation at `frequencies` (Hz, any order), with the coalescence at time 0.
///
/// h(f) = ∫ h(t) exp(-2πift) dt. 0 below the start frequency and above the end of the model.
pub fn binary_spectrum(binary: &Binary, approximant: Approximant, frequencies: &[f64]) -> Result<Vec<Complex<f64>>> {
    binary.check()?;
    check::finite("frequency (Hz)", frequencies)?;
    let (model, total, scale) = (binary.model(approximant), binary.total(), binary.scale());
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
    let model = binary.model(approximant);
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
