//! Matched filters, maps of time and frequency, and bounds for unknown arrival.

use std::f64::consts::PI;

use cladtorch::signal::{Average, Phase, Window};
use cladtorch::signal::{
    Design, Draws, MatchedFilter, QPlane, Reach, Search, auc_bound, bayes_statistic, blip, chirp, detector_psd,
    efficiency_bound, noise, phase_shift, q_transform, scale_to_snr, search_bounds, sine_gaussian, spectrogram, welch,
    whiten,
};

use super::{RATE, SAMPLES, assert_close, assert_refused, template_and_psd, variance};

#[test]
fn filter_finds_phase_time_and_snr_of_a_signal_without_noise() {
    let (rate, samples) = (1024.0, 1024);
    let psd = detector_psd(samples, rate, Design::Analytic).unwrap();
    let template = sine_gaussian(samples, rate, 150.0, 9.0, 0.25).unwrap();
    let filter = MatchedFilter::new(&template, &psd, rate, 0.25).unwrap();
    for (arrival, phase, rho) in [(0.5, 0.0, 5.0), (0.125, 1.0, 8.0), (0.875, -2.0, 20.0)] {
        let wave = sine_gaussian(samples, rate, 150.0, 9.0, arrival).unwrap();
        let signal = scale_to_snr(&phase_shift(&wave, phase).unwrap(), &psd, rate, rho).unwrap();
        let found = filter.trigger(&signal, 0.0..1.0, 16).unwrap();
        assert_close(found.snr, rho, 1e-9 * rho, "SNR");
        assert_close(found.time, arrival, 1e-12, "time");
        assert_close(found.phase, phase, 1e-9, "phase");
        assert_close(found.chi_squared, 0.0, 1e-12, "chi-squared of the template itself");
        let elsewhere = filter.trigger(&signal, 0.0..0.1, 16).unwrap();
        assert!(elsewhere.time < 0.1 && elsewhere.snr < found.snr);
    }
}

#[test]
fn filtered_noise_is_normal_and_chi_squared_is_one() {
    let (template, psd) = template_and_psd();
    let filter = MatchedFilter::new(&template, &psd, RATE, 0.4).unwrap();
    let unit = scale_to_snr(&phase_shift(&template, 0.6).unwrap(), &psd, RATE, 1.0).unwrap();
    let windows = 4000;
    let (mut squares, mut means, bands) = (0.0, [0.0, 0.0], 8);
    for seed in 0..windows {
        let strain = noise(&psd, RATE, seed).unwrap();
        let z = filter.complex_series(&strain).unwrap()[(seed % 256) as usize];
        squares += z.norm_sqr();
        // At one time, so that the trigger is not selected.
        let time = 0.4;
        for (mean, rho) in means.iter_mut().zip([0.0, 10.0]) {
            let with: Vec<f64> = strain.iter().zip(&unit).map(|(n, h)| n + rho * h).collect();
            let sample = (time * RATE).ceil() / RATE;
            *mean += filter.trigger(&with, sample..sample + 0.9 / RATE, bands).unwrap().chi_squared;
        }
    }
    let count = windows as f64;
    assert_close(squares / count, 2.0, 4.5 * 2.0 / count.sqrt(), "mean square of the modulus");
    // Variance of a chi-squared over its 2 (bands - 1) degrees of freedom.
    let error = (2.0 / (2.0 * (bands as f64 - 1.0)) / count).sqrt();
    means.iter().for_each(|mean| assert_close(mean / count, 1.0, 4.5 * error, "chi-squared per degree of freedom"));
}

#[test]
fn chi_squared_tells_a_glitch_from_a_signal() {
    let (rate, samples) = (1024.0, 1024);
    let psd = detector_psd(samples, rate, Design::Analytic).unwrap();
    let template = chirp(samples, rate, 12.0, 35.0, 0.9).unwrap();
    let filter = MatchedFilter::new(&template, &psd, rate, 0.9).unwrap();
    let trigger = |wave: &[f64]| {
        let strain = noise(&psd, rate, 3).unwrap();
        let loud = scale_to_snr(wave, &psd, rate, 40.0).unwrap();
        filter.trigger(&strain.iter().zip(&loud).map(|(n, h)| n + h).collect::<Vec<_>>(), 0.0..1.0, 16).unwrap()
    };
    let (signal, glitch) = (trigger(&template), trigger(&blip(samples, rate, 90.0, 0.5).unwrap()));
    assert!(signal.chi_squared < 2.0, "{signal:?}");
    assert!(glitch.snr > 6.0 && glitch.chi_squared > 5.0, "{glitch:?}");
}

#[test]
fn spectrogram_has_the_density_of_its_noise_and_a_tone_in_its_place() {
    let psd = detector_psd(1 << 15, RATE, Design::Analytic).unwrap();
    let strain = noise(&psd, RATE, 4).unwrap();
    let map = spectrogram(&strain, RATE, 128, 64).unwrap();
    assert_eq!((map.frequencies.len(), map.values.len()), (65, 65 * map.times.len()));
    let mean = welch(&strain, 128, RATE, Average::Mean, Window::Hann).unwrap();
    for (k, row) in map.values.chunks(map.times.len()).enumerate() {
        assert_close(row.iter().sum::<f64>() / row.len() as f64 / mean[k], 1.0, 1e-12, "mean over time");
    }
    assert_close(map.times[1] - map.times[0], 64.0 / RATE, 1e-12, "stride");
    let burst = sine_gaussian(1 << 14, RATE, 64.0, 20.0, 16.0).unwrap();
    let map = spectrogram(&burst, RATE, 128, 16).unwrap();
    let best = (0..map.values.len()).max_by(|a, b| map.values[*a].total_cmp(&map.values[*b])).unwrap();
    assert_close(map.frequencies[best / map.times.len()], 64.0, 1e-9, "frequency");
    assert_close(map.times[best % map.times.len()], 16.0, 8.1 / RATE, "time");
}

#[test]
fn q_transform_of_white_noise_is_exponential_and_of_a_burst_has_its_energy() {
    let (samples, rate) = (1 << 14, 2048.0);
    let plane = QPlane { quality: 8.0, low: 20.0, high: 500.0, frequencies: 24, times: 8192 };
    let white = noise(&vec![2.0 / rate; samples / 2 + 1], rate, 1).unwrap();
    let map = q_transform(&white, rate, plane).unwrap();
    for (i, row) in map.values.chunks(plane.times).enumerate() {
        // Independent values: the duration times the bandwidth, of the order of the bins in the window.
        let bins = samples as f64 * map.frequencies[i] / rate * 11f64.sqrt() / plane.quality;
        let mean = row.iter().sum::<f64>() / row.len() as f64;
        assert_close(mean, 1.0, 4.5 / bins.sqrt(), &format!("mean energy at {} Hz", map.frequencies[i]));
    }
    let above = |level: f64| map.values.iter().filter(|e| **e > level).count() as f64 / map.values.len() as f64;
    assert_close(above(1.0), (-1f64).exp(), 0.03, "share above the mean");
    assert_close(above(3.0), (-3f64).exp(), 0.015, "share above three times the mean");

    let (f, arrival) = (120.0, 3.0);
    let burst = sine_gaussian(samples, rate, f, 8.0, arrival).unwrap();
    let psd = vec![2.0 / rate; samples / 2 + 1];
    let loud = whiten(&scale_to_snr(&burst, &psd, rate, 30.0).unwrap(), &psd, rate).unwrap();
    let map = q_transform(&loud, rate, plane).unwrap();
    let best = (0..map.values.len()).max_by(|a, b| map.values[*a].total_cmp(&map.values[*b])).unwrap();
    assert_close(map.frequencies[best / plane.times] / f, 1.0, 0.1, "frequency of the burst");
    assert_close(map.times[best % plane.times], arrival, 0.01, "time of the burst");
    // A tile of the same shape holds nearly all of ρ²/2.
    assert!((0.8..=1.0001).contains(&(map.values[best] / 450.0)), "{}", map.values[best]);
    // The band of 500 Hz has 2 x 4000 x 11^(1/2) / 8 bins.
    assert_eq!(q_transform(&loud, rate, QPlane { times: 0, ..plane }).unwrap().times.len(), 4096);
}

#[test]
fn bayes_statistic_is_the_likelihood_ratio() {
    // One time, no signal: I₀(0) exp(-ρ²/2).
    assert_close(bayes_statistic(&[0.0], 3.0).unwrap(), -4.5, 1e-14, "nothing seen");
    assert_close(bayes_statistic(&[1.0, 5.0], 0.0).unwrap(), 0.0, 1e-14, "no signal expected");
    let large = bayes_statistic(&[1e4; 3], 100.0).unwrap();
    assert_close(large, 1e6 - 5e3 - 0.5 * (2.0 * PI * 1e6).ln(), 1e-6, "large");
    // Its mean over noise is 1, for any ρ: each window has an independent z at one time.
    let white: Vec<f64> = noise(&vec![2.0 / RATE; (1 << 18) + 1], RATE, 9).unwrap();
    let ratios: Vec<f64> =
        white.chunks_exact(2).map(|p| bayes_statistic(&[p[0].hypot(p[1])], 1.0).unwrap().exp()).collect();
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    let spread = (variance(&ratios) - mean * mean).sqrt();
    assert_close(mean, 1.0, 4.5 * spread / (ratios.len() as f64).sqrt(), "mean likelihood ratio");
}

#[test]
fn bounds_by_monte_carlo_are_the_exact_ones_where_the_arrival_is_known() {
    let (template, psd) = template_and_psd();
    let bank = [MatchedFilter::new(&template, &psd, RATE, 0.4).unwrap()];
    let draws = Draws { noise: 20_000, signal: 20_000, seed: 1 };
    for snr in [2.0, 3.0] {
        let search = Search { bank: &bank, arrivals: 205..206, snr };
        let bounds = search_bounds(&search, draws, &[0.1, 0.01]).unwrap();
        assert_eq!(bounds.bayes, bounds.maximised, "at one time both rank alike");
        let (auc, exact) = (bounds.bayes.auc, auc_bound(snr, Phase::Unknown).unwrap());
        assert!((auc.value - exact).abs() < 4.0 * auc.error, "{auc:?} {exact}");
        for (found, alarm) in bounds.bayes.efficiencies.iter().zip([0.1, 0.01]) {
            let exact = efficiency_bound(snr, alarm, Phase::Unknown).unwrap();
            assert!((found.value - exact).abs() < 4.0 * found.error, "{found:?} {exact}");
        }
    }
}

#[test]
fn bounds_for_unknown_arrival_are_those_of_an_independent_program() {
    // 3e6 windows of noise in NumPy: arrival uniform over the period of half a second and over 0.2 s; errors .0003.
    let (template, psd) = template_and_psd();
    let bank = [MatchedFilter::new(&template, &psd, RATE, 0.4).unwrap()];
    let draws = Draws { noise: 20_000, signal: 20_000, seed: 2 };
    for (arrivals, snr, maximised, bayes) in [(0..256, 4.5, 0.9497, 0.9508), (0..102, 5.0, 0.9878, 0.9880)] {
        let bounds = search_bounds(&Search { bank: &bank, arrivals, snr }, draws, &[]).unwrap();
        println!("SNR {snr}: {:?} {:?}", bounds.bayes.auc, bounds.maximised.auc);
        for (found, expected) in [(bounds.bayes.auc, bayes), (bounds.maximised.auc, maximised)] {
            assert!((found.value - expected).abs() < 3.5 * found.error.hypot(3e-4), "{found:?} {expected}");
        }
        assert!(bounds.bayes.auc.value > bounds.maximised.auc.value);
    }
}

#[test]
fn bounds_without_a_signal_are_those_of_guessing() {
    let (template, psd) = template_and_psd();
    let bank = [MatchedFilter::new(&template, &psd, RATE, 0.4).unwrap()];
    let alarms = [0.001, 0.01, 0.1, 0.5, 1.0];
    for arrivals in [205..206, 150..200] {
        let draws = Draws { noise: 4000, signal: 4000, seed: 2 };
        let bounds = search_bounds(&Search { bank: &bank, arrivals, snr: 0.0 }, draws, &alarms).unwrap();
        // The Bayes statistic is 0 in all windows: every false alarm and every detection is a tie.
        assert_close(bounds.bayes.auc.value, 0.5, 1e-12, "area of ties");
        for (found, alarm) in bounds.bayes.efficiencies.iter().zip(alarms) {
            assert_close(found.value, alarm, 1e-12, "efficiency of ties");
        }
        let Reach { auc, efficiencies } = bounds.maximised;
        assert_close(auc.value, 0.5, 4.0 * auc.error, "area of the largest SNR");
        for (found, alarm) in efficiencies.iter().zip(alarms) {
            assert_close(found.value, alarm, 4.5 * found.error.max(1e-3), "efficiency of the largest SNR");
        }
    }
}

#[test]
fn bounds_do_not_depend_on_threads() {
    let (template, psd) = template_and_psd();
    let other = chirp(SAMPLES, RATE, 20.0, 45.0, 0.4).unwrap();
    let bank = [&template, &other].map(|wave| MatchedFilter::new(wave, &psd, RATE, 0.4).unwrap());
    let search = Search { bank: &bank, arrivals: 100..200, snr: 5.0 };
    let draws = Draws { noise: 300, signal: 200, seed: 3 };
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| search_bounds(&search, draws, &[0.1]).unwrap())
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn hostile_searches_are_refused_by_name() {
    let (template, psd) = template_and_psd();
    let filter = MatchedFilter::new(&template, &psd, RATE, 0.4).unwrap();
    let short = MatchedFilter::new(&template[128..], &detector_psd(128, RATE, Design::Analytic).unwrap(), RATE, 0.1);
    let mixed = [filter.clone(), short.unwrap()];
    let zeros = vec![0.0; SAMPLES];
    let nan = vec![f64::NAN; SAMPLES];
    let bounds = |bank: &[MatchedFilter], arrivals, snr, noise, alarm| {
        let draws = Draws { noise, signal: 100, seed: 1 };
        search_bounds(&Search { bank, arrivals, snr }, draws, &[alarm]).map(drop)
    };
    let one = &mixed[..1];
    let plane = QPlane { quality: 8.0, low: 20.0, high: 100.0, frequencies: 4, times: 256 };
    let q = |plane: QPlane| q_transform(&zeros, RATE, plane).map(drop);
    let trigger = |strain: &[f64], from: f64, to: f64, bands| filter.trigger(strain, from..to, bands).map(drop);
    assert_refused(vec![
        (MatchedFilter::new(&zeros, &psd, RATE, 0.0).map(drop), "template has signal-to-noise ratio 0"),
        (MatchedFilter::new(&nan, &psd, RATE, 0.0).map(drop), "template is NaN at sample 0"),
        (MatchedFilter::new(&template, &psd[1..], RATE, 0.0).map(drop), "128 bins"),
        (MatchedFilter::new(&[], &psd, RATE, 0.0).map(drop), "template has 0 samples"),
        (MatchedFilter::new(&template, &psd, RATE, 2.0).map(drop), "reference time"),
        (filter.series(&zeros[1..]).map(drop), "strain has 255 samples, the template 256"),
        (filter.series(&nan).map(drop), "strain is NaN"),
        (trigger(&zeros, 0.3, 0.3, 8), "no sample lies between"),
        (trigger(&zeros, 0.4, 0.1, 8), "no sample lies between"),
        (trigger(&zeros, 0.0, f64::NAN, 8), "end of the times (s) is NaN"),
        (trigger(&zeros, 0.0, 0.5, 1), "bands is 1"),
        (spectrogram(&zeros, RATE, 64, 0).map(drop), "stride of the spectrogram (samples) is 0"),
        (spectrogram(&zeros, RATE, 512, 64).map(drop), "strain has 256 samples, the spectrogram"),
        (spectrogram(&nan, RATE, 64, 32).map(drop), "NaN at sample 0"),
        (q(QPlane { quality: 1.0, ..plane }), "quality of the Q-transform is 1"),
        (q(QPlane { high: 250.0, ..plane }), "highest frequency (Hz) is 250"),
        (q(QPlane { low: 0.0, ..plane }), "lowest frequency (Hz) is 0"),
        (q(QPlane { times: 16, ..plane }), "16 times do not resolve"),
        (q(QPlane { times: 512, ..plane }), "512 times do not resolve"),
        (q(QPlane { low: 1.0, ..plane }), "narrower than the resolution"),
        (q(QPlane { frequencies: usize::MAX, ..plane }), "number of frequencies"),
        (q_transform(&[], RATE, plane).map(drop), "0 samples"),
        (bayes_statistic(&[], 3.0).map(drop), "the SNR series is empty"),
        (bayes_statistic(&[-1.0], 3.0).map(drop), "an SNR of the series is -1"),
        (bayes_statistic(&[1.0], 1e9).map(drop), "ratio is 1000000000"),
        (bounds(&[], 0..10, 3.0, 100, 0.1), "the bank has no template"),
        (bounds(&mixed, 0..10, 3.0, 100, 0.1), "of 256 and of 128 samples"),
        (bounds(one, 10..10, 3.0, 100, 0.1), "arrivals from sample 10 to 10"),
        (bounds(one, 0..257, 3.0, 100, 0.1), "arrivals from sample 0 to 257"),
        (bounds(one, 0..10, -3.0, 100, 0.1), "ratio is -3"),
        (bounds(one, 0..10, 3.0, 0, 0.1), "windows of noise is 0"),
        (bounds(one, 0..10, 3.0, 100, 1e-4), "false-alarm probability is 0.0001"),
    ]);
}
