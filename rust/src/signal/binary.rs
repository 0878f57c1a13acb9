//! Two compact objects on circular orbits, and what a model says of their spectrum.

use std::f64::consts::PI;

use super::check;
use crate::error::Result;

/// G M☉ / c³ in s (IAU 2015 nominal solar mass parameter).
pub(super) const SOLAR_MASS: f64 = 4.925_490_947_641_267e-6;
/// A megaparsec over c, in s.
const MEGAPARSEC: f64 = 1.029_271_250_336_166e14;
/// Masses (solar masses) between which the models make sense in a detector on Earth.
const MASSES: [f64; 2] = [0.1, 1000.0];
/// Mass ratio beyond which neither model is of use. PhenomD is calibrated up to 18.
const MAX_RATIO: f64 = 100.0;

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

/// A model's spectrum at a frequency: the amplitude relative to the leading order, and the phase Ψ of exp(-iΨ), with
/// the coalescence at time 0.
pub(super) trait Model {
    fn amplitude(&self, mf: f64) -> f64;
    fn phase(&self, mf: f64) -> f64;
    /// Largest M f.
    fn end(&self) -> f64;
}

impl Binary {
    pub(super) fn check(&self) -> Result<()> {
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

    /// |h(f)| at leading order is this times f^(-7/6): √(5/24) 𝓜^(5/6) π^(-2/3) / D.
    pub(super) fn scale(&self) -> f64 {
        (5.0f64 / 24.0).sqrt() * self.chirp_mass().powf(5.0 / 6.0) * PI.powf(-2.0 / 3.0) / (self.distance * MEGAPARSEC)
    }
}
