//! Windows, medians, densities made to fit, filters.

use std::f64::consts::TAU;

use cladtorch::signal::{
    Average, Design, OwnWhitening, Window, band_pass, detector_psd, interpolate_psd, noise, notch, truncate_inverse,
    welch, whiten, whiten_by_own, window,
};

use super::{RATE, SAMPLES, assert_close, assert_refused, variance, white};

#[test]
fn windows_have_their_sums() {
    let n = 64;
    // Mean and mean square: Hann 1/2, 3/8; Blackman 0.42, 0.42² + 0.5²/2 + 0.08²/2; Tukey of fraction a 1 - a/2, 1 - 5a/8.
    let cases = [
        (Window::Hann, 0.5, 0.375),
        (Window::Blackman, 0.42, 0.1764 + 0.125 + 0.0032),
        (Window::Tukey(0.5), 0.75, 1.0 - 0.3125),
        (Window::Tukey(1.0), 0.5, 0.375),
        (Window::Tukey(0.0), 1.0, 1.0),
    ];
    for (shape, mean, square) in cases {
        let values = window(shape, n).unwrap();
        assert_close(values.iter().sum::<f64>() / n as f64, mean, 1e-14, &format!("mean of {shape:?}"));
        assert_close(variance(&values), square, 1e-14, &format!("mean square of {shape:?}"));
        (1..n).for_each(|j| assert_close(values[j], values[n - j], 1e-14, &format!("symmetry of {shape:?}")));
    }
}

#[test]
fn median_of_white_noise_is_unbiased_for_any_number_of_segments() {
    let (segment, expected) = (64, 2.0 / RATE);
    for segments in [1, 2, 3, 4, 5, 8, 31, 101] {
        let trials = 3000 / segments + 20;
        let (mut sum, mut ends) = (0.0, [0.0; 2]);
        for trial in 0..trials {
            let strain = white((segments + 1) * segment / 2 + (segments + 1) % 2, 1.0, trial as u64);
            let psd = welch(&strain, segment, RATE, Average::Median, Window::Hann).unwrap();
            sum += psd[1..segment / 2].iter().sum::<f64>() / (segment / 2 - 1) as f64;
            ends.iter_mut().zip([0, segment / 2]).for_each(|(end, k)| *end += psd[k]);
        }
        // Hann bins are correlated with their neighbours: about half of them are independent. The variance of a median of
        // exponentials is below twice that of their mean.
        let error = expected * (2.0 * 2.0 * 2.0 / (trials * segments * (segment / 2 - 1)) as f64).sqrt();
        assert_close(sum / trials as f64, expected, 4.5 * error, &format!("median of {segments} segments"));
        // A chi-squared of one degree of freedom has the variance 2, the median of many at most 3 times 2 / segments.
        let error = expected * (3.0 * 2.0 / (trials * segments) as f64).sqrt();
        for (end, name) in ends.iter().zip(["frequency 0", "the Nyquist frequency"]) {
            assert_close(
                end / trials as f64,
                expected,
                4.5 * error,
                &format!("median of {segments} segments at {name}"),
            );
        }
    }
}

#[test]
fn median_ignores_a_glitch_that_spoils_the_mean() {
    let mut strain = white(1 << 14, 1.0, 3);
    strain[5000] += 1e4;
    let level = |average| {
        let psd = welch(&strain, 128, RATE, average, Window::Hann).unwrap();
        psd[1..64].iter().sum::<f64>() / 63.0 * RATE / 2.0
    };
    assert_close(level(Average::Median), 1.0, 0.05, "median");
    assert!(level(Average::Mean) > 100.0);
}

#[test]
fn interpolation_keeps_lines_and_its_own_grid() {
    let straight: Vec<f64> = (0..=32).map(|k| 1.0 + k as f64).collect();
    for samples in [8, 64, 96, 1000, 4096] {
        let new = interpolate_psd(&straight, samples).unwrap();
        assert_eq!(new.len(), samples / 2 + 1);
        for (k, value) in new.iter().enumerate() {
            assert_close(*value, 1.0 + 64.0 * k as f64 / samples as f64, 1e-11, &format!("bin {k} of {samples}"));
        }
    }
}

#[test]
fn truncated_filter_is_as_short_as_asked_and_still_whitens() {
    let (samples, filter) = (4096, 256);
    let psd = detector_psd(samples, RATE, Design::Analytic).unwrap();
    let truncated = truncate_inverse(&psd, RATE, filter, 0.0).unwrap();
    let mut impulse = vec![0.0; samples];
    impulse[samples / 2] = 1e-21;
    let response = whiten(&impulse, &truncated, RATE).unwrap();
    let peak = response[samples / 2].abs();
    for (j, value) in response.iter().enumerate() {
        if j.abs_diff(samples / 2) >= filter / 2 {
            assert!(value.abs() < 1e-12 * peak, "{value} at {j}");
        }
    }
    let levels: f64 = (0..50)
        .map(|seed| variance(&whiten(&noise(&psd, RATE, seed).unwrap(), &truncated, RATE).unwrap()))
        .sum::<f64>()
        / 50.0;
    assert_close(levels, 1.0, 0.02, "variance");
    // Below the lowest frequency the filter stops.
    let high = truncate_inverse(&psd, RATE, filter, 60.0).unwrap();
    let at = |f: f64| (f * samples as f64 / RATE) as usize;
    assert!(high[at(40.0)] > 1e3 * psd[at(40.0)] && (high[at(120.0)] / psd[at(120.0)] - 1.0).abs() < 0.05);
}

#[test]
fn window_whitened_by_its_own_density_has_unit_variance() {
    // The challenge's recipe: 1.25 s at 2048 Hz, segments of 0.5 s, a filter of 0.25 s.
    let (rate, samples) = (2048.0, 2560);
    let how = OwnWhitening { segment: 1024, filter: 512, lowest: 18.0 };
    let long = noise(&detector_psd(1 << 18, rate, Design::ZeroDetunedHighPower).unwrap(), rate, 5).unwrap();
    let levels: Vec<f64> = long
        .chunks_exact(samples)
        .map(|strain| {
            let white = whiten_by_own(strain, rate, how).unwrap();
            assert_eq!(white.len(), 2048);
            variance(&white)
        })
        .collect();
    // Four segments determine the density to a third; the median's inverse is biased upwards by it.
    let mean = levels.iter().sum::<f64>() / levels.len() as f64;
    assert!((0.9..1.6).contains(&mean), "{mean}");
}

#[test]
fn filters_have_their_gains() {
    let tone = |f: f64| (0..SAMPLES).map(|j| (TAU * f * j as f64 / RATE).cos()).collect::<Vec<_>>();
    let gain = |series: Vec<f64>| (2.0 * variance(&series)).sqrt();
    let band = |f: f64| gain(band_pass(&tone(f), RATE, 40.0, 120.0).unwrap());
    for (f, expected, tolerance) in
        [(40.0, 0.5, 1e-7), (120.0, 0.5, 1e-7), (70.0, 1.0, 1e-3), (20.0, 1.53e-5, 1e-6), (240.0, 1.53e-5, 1e-6)]
    {
        assert_close(band(f), expected, tolerance, &format!("band pass at {f} Hz"));
    }
    assert_close(gain(band_pass(&tone(2.0), RATE, 0.0, 100.0).unwrap()), 1.0, 1e-12, "low pass");
    assert_close(gain(band_pass(&tone(250.0), RATE, 100.0, RATE / 2.0).unwrap()), 1.0, 1e-6, "high pass");
    for (f, expected) in [(60.0, 0.0), (62.0, 0.5), (58.0, 0.5), (70.0, 25.0 / 26.0)] {
        assert_close(gain(notch(&tone(f), RATE, 60.0, 4.0).unwrap()), expected, 1e-12, &format!("notch at {f} Hz"));
    }
    // No delay: a symmetric pulse stays where it is.
    let pulse: Vec<f64> = (0..SAMPLES).map(|j| (-((j as f64 - 100.0) / 2.0).powi(2)).exp()).collect();
    let passed = band_pass(&pulse, RATE, 20.0, 150.0).unwrap();
    (1..50).for_each(|d| assert_close(passed[100 + d], passed[100 - d], 1e-12, "symmetry"));
}

#[test]
fn hostile_spectra_are_refused_by_name() {
    let psd = detector_psd(SAMPLES, RATE, Design::Analytic).unwrap();
    let zeros = vec![0.0; SAMPLES];
    let nan = vec![f64::NAN; SAMPLES];
    let own = |segment, filter, lowest| OwnWhitening { segment, filter, lowest };
    assert_refused(vec![
        (window(Window::Tukey(-0.1), 64).map(drop), "Tukey window is -0.1"),
        (window(Window::Tukey(f64::NAN), 64).map(drop), "Tukey window is NaN"),
        (window(Window::Hann, 3).map(drop), "3 samples"),
        (welch(&zeros, 64, RATE, Average::Median, Window::Tukey(2.0)).map(drop), "Tukey window is 2"),
        (interpolate_psd(&[], 64).map(drop), "0 samples"),
        (interpolate_psd(&psd, 7).map(drop), "7 samples"),
        (interpolate_psd(&[1.0, f64::NAN, 1.0], 8).map(drop), "NaN at bin 1"),
        (truncate_inverse(&psd, RATE, 0, 0.0).map(drop), "filter is 0"),
        (truncate_inverse(&psd, RATE, 300, 0.0).map(drop), "filter is 300"),
        (truncate_inverse(&psd, RATE, 64, -1.0).map(drop), "lowest frequency (Hz) is -1"),
        (band_pass(&zeros, RATE, 100.0, 50.0).map(drop), "from 100 Hz to 50 Hz"),
        (band_pass(&zeros, RATE, 10.0, 500.0).map(drop), "upper edge"),
        (band_pass(&nan, RATE, 10.0, 100.0).map(drop), "NaN at sample 0"),
        (band_pass(&[], RATE, 10.0, 100.0).map(drop), "0 samples"),
        (notch(&zeros, RATE, 60.0, 0.0).map(drop), "width of the notch (Hz) is 0"),
        (notch(&zeros, RATE, f64::NAN, 1.0).map(drop), "line (Hz) is NaN"),
        (whiten_by_own(&zeros, RATE, own(64, 32, 10.0)).map(drop), "0 at bin 0"),
        (whiten_by_own(&zeros, RATE, own(64, 256, 10.0)).map(drop), "filter is 256"),
        (whiten_by_own(&zeros, RATE, own(512, 32, 10.0)).map(drop), "segment 512"),
        (whiten(&zeros, &psd[..65], RATE).map(drop), "interpolate the density"),
    ]);
}
