//! How several detectors see sources at random places.

use std::f64::consts::TAU;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use realfft::num_complex::Complex;

use super::check;
use super::detector::{Detector, Direction};
use crate::error::Result;

/// Most responses that are drawn at once: they fit into memory.
const MAX_RESPONSES: usize = 1 << 24;

/// How each detector of a network sees a source: its strain is Re(aᵈ h(t - τᵈ)), h being the wave's plus polarisation with, as
/// imaginary part, the same a quarter turn behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// aᵈ
    pub amplitudes: Vec<Complex<f64>>,
    /// τᵈ, s after the wave reaches the centre of the Earth.
    pub delays: Vec<f64>,
}

/// `count` sources, uniform over the sky, the orientation of the orbit and its phase; the amplitudes of each have the norm
/// Σ|aᵈ|² = 1. The same seed gives the same bits, and more sources begin with those of fewer.
pub fn draw_responses(detectors: &[&Detector], count: usize, seed: u64) -> Result<Vec<Response>> {
    check::count("number of detectors", detectors.len(), 1, 1000)?;
    check::count("number of responses", count, 1, MAX_RESPONSES)?;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut uniform = |low: f64, high: f64| low + (high - low) * random.random::<f64>();
    (0..count)
        .map(|_| {
            let from = Direction {
                right_ascension: uniform(0.0, TAU),
                declination: uniform(-1.0, 1.0).asin(),
                polarisation: uniform(0.0, TAU),
                gps: 0.0, // The Earth's rotation changes nothing where all right ascensions are equally likely.
            };
            let (inclination, phase) = (uniform(-1.0, 1.0), Complex::cis(uniform(0.0, TAU)));
            response(detectors, from, inclination, phase)
        })
        .collect()
}

/// `inclination` is the cosine of the angle between the orbit's axis and the line of sight.
fn response(detectors: &[&Detector], from: Direction, inclination: f64, phase: Complex<f64>) -> Result<Response> {
    let amplitude = |detector: &&Detector| -> Result<Complex<f64>> {
        let [plus, cross] = detector.antenna_pattern(from)?;
        Ok(phase * Complex::new(0.5 * plus * (1.0 + inclination * inclination), cross * inclination))
    };
    let mut amplitudes: Vec<_> = detectors.iter().map(amplitude).collect::<Result<_>>()?;
    let norm = amplitudes.iter().map(Complex::norm_sqr).sum::<f64>().sqrt();
    amplitudes.iter_mut().for_each(|amplitude| *amplitude /= norm);
    let delays = detectors.iter().map(|detector| detector.delay(from)).collect::<Result<_>>()?;
    Ok(Response { amplitudes, delays })
}

#[cfg(test)]
mod tests {
    use super::super::detector::DETECTORS;
    use super::super::{phase_shift, sine_gaussian};
    use super::*;

    /// What [`Detector::project`] makes of the two polarisations of an inclined orbit.
    #[test]
    fn a_response_is_what_the_detector_measures() {
        let (samples, rate, inclination, phase) = (1024, 1024.0, -0.4, 0.7);
        let from = Direction { right_ascension: 1.0, declination: -0.8, polarisation: 0.3, gps: 1e9 };
        let waves = |phase: f64, delay: f64| {
            phase_shift(&sine_gaussian(samples, rate, 120.0, 9.0, 0.5 + delay).unwrap(), phase).unwrap()
        };
        let detectors: Vec<&Detector> = DETECTORS.iter().collect();
        let found = response(&detectors, from, inclination, Complex::cis(phase)).unwrap();
        let scaled = |by: f64, wave: Vec<f64>| wave.into_iter().map(|x| by * x).collect::<Vec<f64>>();
        let plus = scaled(0.5 * (1.0 + inclination * inclination), waves(phase, 0.0));
        let cross = scaled(inclination, waves(phase + 0.25 * TAU, 0.0));
        let mut norm = 0.0;
        for (detector, (amplitude, delay)) in detectors.iter().zip(found.amplitudes.iter().zip(&found.delays)) {
            let measured = detector.project(&plus, &cross, rate, from).unwrap();
            let largest = measured.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
            let made = scaled(amplitude.norm(), waves(amplitude.arg(), *delay));
            let scale = largest / made.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
            for (a, b) in measured.iter().zip(&made) {
                assert!((a - scale * b).abs() < 1e-6 * largest, "{}: {a} {b}", detector.name);
            }
            norm += (amplitude.norm() * scale).powi(2);
        }
        // One scale for all of them, that of the norm.
        let powers = found.amplitudes.iter().map(Complex::norm_sqr).sum::<f64>();
        assert!((powers - 1.0).abs() < 1e-12 && norm > 0.0);
    }

    #[test]
    fn sources_are_uniform_over_the_sky() {
        let pair = [&DETECTORS[0], &DETECTORS[1]];
        let count = 20_000;
        let drawn = draw_responses(&pair, count, 3).unwrap();
        assert_eq!(drawn[..10], draw_responses(&pair, 10, 3).unwrap());
        let lags: Vec<f64> = drawn.iter().map(|one| one.delays[1] - one.delays[0]).collect();
        // The component of a uniform direction along the line between the two is uniform, up to 10.01 ms of light travel.
        let square = lags.iter().map(|lag| lag * lag).sum::<f64>() / count as f64;
        let expected = 0.010_01f64.powi(2) / 3.0;
        assert!((square / expected - 1.0).abs() < 4.5 * (0.8 / count as f64).sqrt() + 1e-3, "{square} {expected}");
        assert!(lags.iter().all(|lag| lag.abs() < 0.010_02));
        let phases: Complex<f64> = drawn.iter().map(|one| one.amplitudes[0] / one.amplitudes[0].norm()).sum();
        assert!(phases.norm() < 4.5 * (count as f64).sqrt());
    }
}
