//! Detectors against lalsuite's values (data/gravitational_waves/golden.py), and the independence of their noise.

use std::f64::consts::PI;

use cladtorch::signal::{DETECTORS, Design, Detector, Direction, detector_psd, network_snr, sine_gaussian};

use super::waveforms::{golden, numbers};
use super::{RATE, SAMPLES, assert_close, assert_refused, dot, variance};

const ABOVE: Direction = Direction { right_ascension: 1.0, declination: 0.3, polarisation: 0.5, gps: 1_126_259_462.4 };

#[test]
fn patterns_and_delays_agree_with_lalsuite() {
    let golden = golden();
    for row in golden["detectors"].as_array().unwrap() {
        let detector = Detector::named(row["detector"].as_str().unwrap()).unwrap();
        let [right_ascension, declination, polarisation, gps] = numbers(&row["direction"]).try_into().unwrap();
        let from = Direction { right_ascension, declination, polarisation, gps };
        let [plus, cross] = detector.antenna_pattern(from).unwrap();
        let value = |key: &str| row[key].as_f64().unwrap();
        // lalsuite keeps its response tensors in single precision.
        assert_close(plus, value("plus"), 2e-6, "plus");
        assert_close(cross, value("cross"), 2e-6, "cross");
        assert_close(detector.delay(from).unwrap(), value("delay"), 1e-8, "delay");
    }
}

#[test]
fn projection_is_pattern_and_delay() {
    let (samples, rate) = (4096, 4096.0);
    let at = |time: f64| sine_gaussian(samples, rate, 200.0, 9.0, time).unwrap();
    let (plus, zeros) = (at(0.5), vec![0.0; samples]);
    for detector in &DETECTORS {
        let ([f_plus, f_cross], delay) = (detector.antenna_pattern(ABOVE).unwrap(), detector.delay(ABOVE).unwrap());
        let later = at(0.5 + delay);
        let as_plus = detector.project(&plus, &zeros, rate, ABOVE).unwrap();
        let as_cross = detector.project(&zeros, &plus, rate, ABOVE).unwrap();
        for j in 0..samples {
            assert_close(as_plus[j], f_plus * later[j], 1e-9, detector.name);
            assert_close(as_cross[j], f_cross * later[j], 1e-9, detector.name);
        }
    }
}

#[test]
fn light_needs_ten_milliseconds_from_hanford_to_livingston() {
    let mut largest: f64 = 0.0;
    for i in 0..40 {
        for j in 0..20 {
            let from = Direction {
                right_ascension: 2.0 * PI * f64::from(i) / 40.0,
                declination: (-1.0 + 2.0 * (f64::from(j) + 0.5) / 20.0f64).asin(),
                ..ABOVE
            };
            let [h, l] = ["H1", "L1"].map(|name| Detector::named(name).unwrap().delay(from).unwrap());
            largest = largest.max((h - l).abs());
        }
    }
    assert!((0.00995..0.010_013).contains(&largest), "{largest}");
}

#[test]
fn one_seed_gives_every_detector_noise_of_its_own() {
    let psd = detector_psd(1 << 16, RATE, Design::Analytic).unwrap();
    let white = vec![2.0 / RATE; psd.len()];
    let series: Vec<Vec<f64>> = DETECTORS.iter().map(|one| one.noise(&white, RATE, 7).unwrap()).collect();
    let count = series[0].len() as f64;
    for (i, a) in series.iter().enumerate() {
        assert_close(variance(a), 1.0, 4.5 * (2.0 / count).sqrt(), "variance");
        for b in &series[..i] {
            assert_close(dot(a, b) / count, 0.0, 4.5 / count.sqrt(), "correlation of two detectors");
        }
        let plain = cladtorch::signal::noise(&white, RATE, 7).unwrap();
        assert_close(dot(a, &plain) / count, 0.0, 4.5 / count.sqrt(), "correlation with noise of no detector");
    }
    assert_eq!(DETECTORS[0].noise(&psd, RATE, 7).unwrap(), DETECTORS[0].noise(&psd, RATE, 7).unwrap());
}

#[test]
fn hostile_detectors_are_refused_by_name() {
    let h1 = &DETECTORS[0];
    let zeros = vec![0.0; SAMPLES];
    let pattern = |from: Direction| h1.antenna_pattern(from).map(drop);
    assert_refused(vec![
        (Detector::named("h1").map(drop), "give one of H1, L1, V1"),
        (Detector::named("").map(drop), "detector '' is unknown"),
        (pattern(Direction { declination: 2.0, ..ABOVE }), "declination (rad) is 2"),
        (pattern(Direction { right_ascension: f64::NAN, ..ABOVE }), "right ascension (rad) is NaN"),
        (pattern(Direction { polarisation: f64::INFINITY, ..ABOVE }), "polarisation angle (rad) is inf"),
        (h1.delay(Direction { gps: -1.0, ..ABOVE }).map(drop), "GPS time (s) is -1"),
        (h1.project(&zeros, &zeros[1..], RATE, ABOVE).map(drop), "256 samples, the cross polarisation 255"),
        (h1.project(&[], &[], RATE, ABOVE).map(drop), "0 samples"),
        (h1.noise(&[], RATE, 1).map(drop), "0 samples"),
        (network_snr(&[]).map(drop), "number of detectors is 0"),
        (network_snr(&[3.0, -1.0]).map(drop), "ratio is -1"),
        (network_snr(&[1e200]).map(drop), "ratio is inf"),
    ]);
    assert_close(network_snr(&[18.56, 13.21]).unwrap(), 22.78, 0.005, "GW150914");
}
