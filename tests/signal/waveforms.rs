//! Binaries against lalsuite's values (data/gravitational_waves/golden.py), bursts and glitches against their formulas.

use std::f64::consts::{PI, TAU};

use cladtorch::signal::{
    Approximant, Binary, Design, SineGaussian, binary_spectrum, binary_strain, blip, detector_psd, ringdown,
    scattered_light, sine_gaussian_fisher, snr,
};
use serde_json::Value;

use super::{RATE, SAMPLES, assert_close, assert_refused};

pub(super) fn golden() -> Value {
    let text = include_str!("../../data/gravitational_waves/golden.json");
    serde_json::from_str(text).unwrap()
}

pub(super) fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn binary(masses: [f64; 2], spins: [f64; 2]) -> Binary {
    Binary { masses, spins, distance: 100.0, phase: 0.0, start: 20.0 }
}

fn pair(value: &Value) -> [f64; 2] {
    numbers(value).try_into().unwrap()
}

type Complex = realfft::num_complex::Complex<f64>;

/// Overlap of two waveforms, maximised over phase and time, and the time: of (f, |a|, |b|, a b* / |b|). Their phases differ by
/// so little that the best time is the slope of the difference.
fn overlap(points: &[(f64, f64, f64, Complex)]) -> (f64, f64) {
    let first = points[points.len() / 2].3;
    let difference = |z: &Complex| (z / first).arg();
    let mean = |value: &dyn Fn(f64, f64) -> f64| {
        let terms = points.iter().map(|(f, a, b, z)| a * b * value(*f, difference(z)));
        terms.sum::<f64>() / points.iter().map(|(_, a, b, _)| a * b).sum::<f64>()
    };
    let (f0, d0) = (mean(&|f, _| f), mean(&|_, d| d));
    let slope = mean(&|f, d| (f - f0) * (d - d0)) / mean(&|f, _| (f - f0).powi(2));
    let (mut product, mut norms) = (Complex::default(), [0.0, 0.0]);
    for (f, a, b, z) in points {
        product += Complex::from_polar(a * b, difference(z) - slope * f);
        norms = [norms[0] + a * a, norms[1] + b * b];
    }
    (product.norm() / (norms[0] * norms[1]).sqrt(), slope / TAU)
}

#[test]
fn binaries_agree_with_lalsuite() {
    let golden = golden();
    let mut seen = [0, 0];
    for row in golden["waveforms"].as_array().unwrap() {
        let (approximant, allowed, near) = match row["model"].as_str().unwrap() {
            "TaylorF2" => (Approximant::TaylorF2, 1e-12, 1e-6),
            _ => (Approximant::PhenomD, 1e-9, 1e-4),
        };
        seen[approximant as usize] += 1;
        let what = format!("{} {} {}", row["model"], row["masses"], row["spins"]);
        let frequencies = numbers(&row["frequencies"]);
        let ours = Binary { start: 19.0, ..binary(pair(&row["masses"]), pair(&row["spins"])) };
        let ours = binary_spectrum(&ours, approximant, &frequencies).unwrap();
        let theirs = numbers(&row["amplitude"]).into_iter().zip(numbers(&row["phase"]));
        let mut points = Vec::new();
        for ((bin, (amplitude, phase)), f) in ours.iter().zip(theirs).zip(&frequencies) {
            assert_close(bin.norm() / amplitude, 1.0, near, &format!("{what}: amplitude at {f}"));
            // The frequencies are spaced by f, the noise is flat in ln f.
            points.push((*f, bin.norm() * f, amplitude * f, bin * Complex::cis(-phase)));
        }
        let (overlap, shift) = overlap(&points);
        println!("{what}: 1 - overlap {:.1e}, shifted by {shift:.1e} s", 1.0 - overlap);
        assert!(1.0 - overlap < allowed, "{what}: overlap {overlap}");
        // Both have the coalescence at 0, to a thousandth of the total mass.
        assert!(shift.abs() < 1e-3 * 4.93e-6 * pair(&row["masses"]).iter().sum::<f64>(), "{what}: {shift} s");
    }
    assert!(seen[0] >= 5 && seen[1] >= 10, "{seen:?}");
}

#[test]
fn zero_detuned_noise_agrees_with_lalsuite() {
    let golden = golden();
    for point in golden["zero_detuned"].as_array().unwrap() {
        let [frequency, density] = pair(point);
        // On the grid of a series whose bins fall on that frequency.
        let psd = detector_psd(4, 2.0 * frequency, Design::ZeroDetunedHighPower).unwrap();
        assert_close(psd[2] / density, 1.0, 1e-3, &format!("{frequency} Hz"));
    }
}

#[test]
fn phase_of_phenom_d_is_smooth_where_its_ranges_meet() {
    let total = 60.0 * 4.925_490_947_641_267e-6;
    for (masses, spins) in [([30.0, 30.0], [0.0, 0.0]), ([50.0, 10.0], [0.5, -0.5])] {
        let at = |mf: f64| binary_spectrum(&binary(masses, spins), Approximant::PhenomD, &[mf / total]).unwrap()[0];
        for join in [0.014, 0.018] {
            let step = 1e-5;
            let slope = |from: f64| (at(from + step) / at(from)).ln() / step;
            let (before, after) = (slope(join - step), slope(join));
            assert!((before - after).norm() < 0.02 * before.norm().max(1.0), "{join}: {before} {after}");
        }
    }
}

#[test]
fn strain_in_a_window_is_the_spectrum_and_the_end_of_longer_waveforms() {
    let (rate, coalescence) = (2048.0, 0.9);
    for approximant in [Approximant::TaylorF2, Approximant::PhenomD] {
        let source = Binary { start: 30.0, ..binary([30.0, 25.0], [0.0, 0.0]) };
        let long = binary_strain(&source, approximant, 8192, rate, 3.0 + coalescence).unwrap();
        let short = binary_strain(&source, approximant, 2048, rate, coalescence).unwrap();
        let peak = short.iter().fold(0.0, |m: f64, h| m.max(h.abs()));
        for (a, b) in short.iter().zip(&long[6144..]) {
            assert_close(*a, *b, 2e-3 * peak, "window of a longer one");
        }
        // Parseval: the SNR of the long window is that of the spectrum, which rises from 27 Hz to 30 Hz.
        let psd = detector_psd(8192, rate, Design::ZeroDetunedHighPower).unwrap();
        let frequencies: Vec<f64> = (0..psd.len()).map(|k| k as f64 * rate / 8192.0).collect();
        let spectrum = binary_spectrum(&Binary { start: 27.0, ..source }, approximant, &frequencies).unwrap();
        let rise = |f: f64| 0.5 - 0.5 * (PI * ((f - 27.0) / 3.0).clamp(0.0, 1.0)).cos();
        let bins = spectrum.iter().zip(&psd).zip(&frequencies);
        let sum: f64 = bins.map(|((h, s), f)| h.norm_sqr() * rise(*f).powi(2) / s).sum();
        let expected = (4.0 * sum * rate / 8192.0).sqrt();
        assert_close(snr(&long, &psd, rate).unwrap() / expected, 1.0, 0.02, "SNR");
        let latest = (0..2048).max_by(|a, b| short[*a].abs().total_cmp(&short[*b].abs())).unwrap() as f64 / rate;
        assert_close(latest, coalescence, 0.02, "time of the peak");
    }
    // A minute of inspiral, of which the window has the last quarter of a second.
    let stars = Binary { start: 25.0, ..binary([1.4, 1.4], [0.0, 0.0]) };
    let end = binary_strain(&stars, Approximant::TaylorF2, 1024, 4096.0, 0.25).unwrap();
    assert!(end[..900].iter().all(|h| h.is_finite()) && end[..64].iter().any(|h| h.abs() > 1e-24));
}

#[test]
fn a_quarter_turn_makes_the_cross_polarisation_and_distance_scales() {
    let frequencies = [30.0, 90.0];
    let at = |phase: f64, distance: f64| {
        let source = Binary { phase, distance, ..binary([20.0, 10.0], [0.1, 0.0]) };
        binary_spectrum(&source, Approximant::PhenomD, &frequencies).unwrap()
    };
    for (a, b) in at(0.0, 100.0).iter().zip(at(PI / 2.0, 50.0)) {
        assert!((b / a - Complex::new(0.0, 2.0)).norm() < 1e-12);
    }
}

#[test]
fn bursts_follow_their_formulas() {
    let (samples, rate) = (4096, 2048.0);
    let ring = ringdown(samples, rate, 128.0, 10.0, 0.5).unwrap();
    assert!(ring[..1024].iter().all(|h| *h == 0.0));
    assert_close(ring[1024], 1.0, 1e-12, "start");
    assert_close(ring[1024 + 160], (-PI).exp(), 1e-12, "after Q periods");
    let pulse = blip(samples, rate, 100.0, 1.0).unwrap();
    assert_close(pulse[2048], 1.0, 1e-12, "peak");
    assert_close(pulse.iter().sum::<f64>(), 0.0, 1e-9, "mean");
    let arch = scattered_light(samples, rate, 0.5, 60.0, 1.0).unwrap();
    // The fringes pass phase F/f when the arch ends: F/πf zero crossings on each side.
    let crossings = (1..samples).filter(|&j| arch[j - 1] * arch[j] < 0.0).count() as f64;
    assert_close(crossings, 2.0 * 60.0 / 0.5 / PI, 3.0, "zero crossings");
    assert!(arch[..1023].iter().all(|h| *h == 0.0) && arch[3074..].iter().all(|h| *h == 0.0));
}

#[test]
fn fisher_matrix_is_the_closed_form_at_high_quality_and_central_differences() {
    let (samples, rate) = (1 << 14, 4096.0);
    let psd = vec![2.0 / rate; samples / 2 + 1];
    let wave = SineGaussian { amplitude: 0.7, arrival: 2.0, phase: 0.4, frequency: 200.0, width: 0.1 };
    let matrix = sine_gaussian_fisher(&wave, &psd, rate).unwrap();
    let rho2 = matrix[0] * wave.amplitude * wave.amplitude;
    let (omega, tau) = (TAU * wave.frequency, wave.width);
    let mut expected = [0.0; 25];
    expected[0] = 1.0 / wave.amplitude.powi(2);
    expected[6] = omega * omega + 1.0 / (tau * tau);
    (expected[7], expected[11]) = (-omega, -omega);
    expected[12] = 1.0;
    expected[18] = (PI * tau).powi(2);
    expected[24] = 0.75 / (tau * tau);
    (expected[4], expected[20]) = (0.5 / (wave.amplitude * tau), 0.5 / (wave.amplitude * tau));
    for (cell, (value, wanted)) in matrix.iter().zip(expected).enumerate() {
        let size = (matrix[cell / 5 * 6] * matrix[cell % 5 * 6]).sqrt();
        assert_close(*value / size, wanted * rho2 / size, 1e-8, &format!("cell {cell}"));
    }
    // In coloured noise (h_i - h_-i | h_j - h_-j) / 4 step_i step_j.
    let psd = detector_psd(samples, rate, Design::Analytic).unwrap();
    let wave = SineGaussian { amplitude: 1e-21, width: 0.004, ..wave };
    let matrix = sine_gaussian_fisher(&wave, &psd, rate).unwrap();
    let steps = [1e-25, 1e-8, 1e-5, 1e-4, 1e-8];
    let difference = |i: usize| -> Vec<f64> {
        let moved = |sign: f64| {
            let mut p = [wave.amplitude, wave.arrival, wave.phase, wave.frequency, wave.width];
            p[i] += sign * steps[i];
            (0..samples).map(move |j| {
                let t = j as f64 / rate - p[1];
                p[0] * (-(t / p[4]).powi(2)).exp() * (TAU * p[3] * t + p[2]).cos()
            })
        };
        moved(1.0).zip(moved(-1.0)).map(|(a, b)| (a - b) / (2.0 * steps[i])).collect()
    };
    for i in 0..5 {
        let rho = snr(&difference(i), &psd, rate).unwrap();
        assert_close(rho * rho / matrix[6 * i], 1.0, 1e-5, &format!("derivative {i}"));
    }
}

#[test]
fn hostile_waveforms_are_refused_by_name() {
    let good = binary([30.0, 20.0], [0.0, 0.0]);
    let spectrum = |b: Binary| binary_spectrum(&b, Approximant::PhenomD, &[50.0]).map(drop);
    let strain =
        |b: Binary, samples, rate, time| binary_strain(&b, Approximant::TaylorF2, samples, rate, time).map(drop);
    let wave = SineGaussian { amplitude: 1.0, arrival: 0.1, phase: 0.0, frequency: 50.0, width: 0.01 };
    let flat = vec![1.0; SAMPLES / 2 + 1];
    let fisher = |w: SineGaussian| sine_gaussian_fisher(&w, &flat, RATE).map(drop);
    assert_refused(vec![
        (spectrum(Binary { masses: [-30.0, 20.0], ..good }), "mass 1 (solar masses) is -30"),
        (spectrum(Binary { masses: [30.0, f64::NAN], ..good }), "mass 2 (solar masses) is NaN"),
        (spectrum(Binary { masses: [900.0, 1.0], ..good }), "mass ratio is 900"),
        (spectrum(Binary { spins: [0.0, 1.5], ..good }), "spin 2 is 1.5"),
        (spectrum(Binary { distance: 0.0, ..good }), "distance (Mpc) is 0"),
        (spectrum(Binary { phase: f64::INFINITY, ..good }), "phase (rad) is inf"),
        (spectrum(Binary { start: f64::NAN, ..good }), "start frequency (Hz) is NaN"),
        (binary_spectrum(&good, Approximant::TaylorF2, &[1.0, f64::NAN]).map(drop), "NaN at sample 1"),
        (strain(good, 0, RATE, 0.0), "0 samples"),
        (strain(good, 255, RATE, 0.0), "255 samples"),
        (strain(good, SAMPLES, -1.0, 0.0), "rate (Hz) is -1"),
        (strain(good, SAMPLES, RATE, 3.0), "coalescence time (s) is 3"),
        (strain(Binary { start: 300.0, ..good }, SAMPLES, RATE, 0.1), "start frequency (Hz) is 300"),
        (strain(Binary { start: 200.0, ..good }, SAMPLES, RATE, 0.1), "after its end at"),
        (strain(Binary { start: 1e-3, ..good }, SAMPLES, RATE, 0.1), "the waveform lasts"),
        (ringdown(SAMPLES, RATE, 100.0, -1.0, 0.1).map(drop), "quality factor is -1"),
        (ringdown(SAMPLES, RATE, 100.0, 3.0, 9.0).map(drop), "arrival time (s) is 9"),
        (blip(SAMPLES, RATE, 0.0, 0.1).map(drop), "frequency (Hz) is 0"),
        (blip(0, RATE, 50.0, 0.1).map(drop), "0 samples"),
        (scattered_light(SAMPLES, RATE, 0.5, 999.0, 0.1).map(drop), "highest fringe frequency (Hz) is 999"),
        (fisher(SineGaussian { width: 0.0, ..wave }), "width (s) is 0"),
        (fisher(SineGaussian { amplitude: f64::NAN, ..wave }), "amplitude is NaN"),
        (fisher(SineGaussian { amplitude: 1e200, ..wave }), "not finite"),
        (sine_gaussian_fisher(&wave, &[], RATE).map(drop), "0 samples"),
    ]);
}
