//! Signal processing against exact statements: Parseval's theorem, the statistics of Gaussian noise and the
//! Neyman-Pearson bounds. Statistical tests use fixed seeds and allow the stated number of standard errors.

use std::f64::consts::{FRAC_PI_2, PI};

#[path = "signal/coherent.rs"]
mod coherent;
#[path = "signal/continuous.rs"]
mod continuous;
#[path = "signal/detectors.rs"]
mod detectors;
#[path = "signal/search.rs"]
mod search;
#[path = "signal/spectra.rs"]
mod spectra;
#[path = "signal/waveforms.rs"]
mod waveforms;

use cladtorch::signal::{
    Average, Design, Phase, Window, auc_bound, chirp, efficiency_bound, marcum_q1, noise, phase_shift, scale_to_snr,
    sine_gaussian, snr, whiten,
};

const RATE: f64 = 512.0;
const SAMPLES: usize = 256;

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn variance(x: &[f64]) -> f64 {
    dot(x, x) / x.len() as f64
}

fn assert_close(value: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((value - expected).abs() <= tolerance, "{what}: {value} instead of {expected} within {tolerance}");
}

fn welch(strain: &[f64], segment: usize, rate: f64) -> cladtorch::Result<Vec<f64>> {
    cladtorch::signal::welch(strain, segment, rate, Average::Mean, Window::Hann)
}

fn detector_psd(samples: usize, rate: f64) -> cladtorch::Result<Vec<f64>> {
    cladtorch::signal::detector_psd(samples, rate, Design::Analytic)
}

/// Every call is refused, and the message contains the words beside it and a remedy.
fn assert_refused(cases: Vec<(Result<(), cladtorch::Error>, &str)>) {
    for (i, (result, words)) in cases.into_iter().enumerate() {
        let message = result.expect_err(&format!("case {i} ({words}) was accepted")).to_string();
        assert!(message.contains(words) && message.contains("; "), "case {i}: '{message}' does not say '{words}'");
    }
}

/// A chirp of the length of the standard window, and the detector's density on its grid.
fn template_and_psd() -> (Vec<f64>, Vec<f64>) {
    (chirp(SAMPLES, RATE, 15.0, 45.0, 0.4).unwrap(), detector_psd(SAMPLES, RATE).unwrap())
}

/// White noise of standard deviation `sigma`.
fn white(samples: usize, sigma: f64, seed: u64) -> Vec<f64> {
    noise(&vec![2.0 * sigma * sigma / RATE; samples / 2 + 1], RATE, seed).unwrap()
}

#[test]
fn welch_of_white_noise_is_twice_the_variance_over_the_rate() {
    let (sigma, segment) = (3.0, 64);
    let strain = white(1 << 17, sigma, 1);
    assert_close(variance(&strain).sqrt(), sigma, 5.0 * sigma / (2.0 * strain.len() as f64).sqrt(), "deviation");

    let psd = welch(&strain, segment, RATE).unwrap();
    let segments = (strain.len() / (segment / 2) - 1) as f64;
    // Hann segments that overlap by half: variance of the mean (1 + 2/36) times that of independent ones.
    let relative = ((1.0 + 2.0 / 36.0) / segments).sqrt();
    let expected = 2.0 * sigma * sigma / RATE;
    assert_eq!(psd.len(), segment / 2 + 1);
    for (k, density) in psd[1..segment / 2].iter().enumerate() {
        assert_close(*density, expected, 4.5 * relative * expected, &format!("bin {}", k + 1));
    }
    // The ends have one degree of freedom instead of two.
    for density in [psd[0], psd[segment / 2]] {
        assert_close(density, expected, 4.5 * 2f64.sqrt() * relative * expected, "end bin");
    }
}

#[test]
fn welch_resolves_a_line() {
    let (segment, bin, amplitude) = (128, 20, 0.7);
    let line: Vec<f64> =
        (0..4096).map(|j| amplitude * (2.0 * PI * bin as f64 * j as f64 / segment as f64).cos()).collect();
    let psd = welch(&line, segment, RATE).unwrap();
    let peak = (0..psd.len()).max_by(|&a, &b| psd[a].total_cmp(&psd[b])).unwrap();
    let power: f64 = psd.iter().sum::<f64>() * RATE / segment as f64;
    assert_eq!(peak, bin);
    assert_close(power, amplitude * amplitude / 2.0, 1e-12, "power of the line");
}

#[test]
fn welch_of_coloured_noise_gives_its_psd_back() {
    let long = 1 << 19;
    let strain = noise(&detector_psd(long, RATE).unwrap(), RATE, 2).unwrap();
    let (psd, truth) = (welch(&strain, SAMPLES, RATE).unwrap(), detector_psd(SAMPLES, RATE).unwrap());
    let relative = ((1.0 + 2.0 / 36.0) / (long / (SAMPLES / 2) - 1) as f64).sqrt();
    // From 30 Hz, where the density varies little within the window's width of 4 bins.
    for k in 15..SAMPLES / 2 {
        assert_close(psd[k] / truth[k], 1.0, 4.5 * relative + 0.02, &format!("bin {k}"));
    }
}

#[test]
fn detector_psd_has_the_published_values() {
    let psd = detector_psd(8192, 4096.0).unwrap();
    let step = 4096.0 / 8192.0;
    let at = |frequency: f64| psd[(frequency / step) as usize];
    // x = 1 by hand: 1 - 5 + 111 · 0.5 / 1.5 = 33.
    assert_close(at(215.0) / 33e-49, 1.0, 1e-12, "215 Hz");
    assert_close(at(430.0) / (1e-49 * (2f64.powf(-4.14) - 1.25 + 185.0)), 1.0, 1e-12, "430 Hz");
    assert_eq!(at(0.0), at(20.0));
    assert!(at(20.0) > at(21.0));
}

#[test]
fn whitened_noise_is_white_with_unit_variance() {
    let (psd, windows) = (detector_psd(SAMPLES, RATE).unwrap(), 2000);
    let white: Vec<f64> =
        (0..windows).flat_map(|seed| whiten(&noise(&psd, RATE, seed).unwrap(), &psd, RATE).unwrap()).collect();
    let count = white.len() as f64;
    assert_close(variance(&white), 1.0, 4.5 * (2.0 / count).sqrt(), "variance");
    for lag in [1, 2, 5, 50] {
        let correlation = dot(&white[lag..], &white[..white.len() - lag]) / count;
        assert_close(correlation, 0.0, 4.5 / count.sqrt(), &format!("correlation at lag {lag}"));
    }
    let spectrum = welch(&white, SAMPLES, RATE).unwrap();
    let relative = ((1.0 + 2.0 / 36.0) / (2.0 * windows as f64)).sqrt();
    for (k, density) in spectrum[1..SAMPLES / 2].iter().enumerate() {
        assert_close(density * RATE / 2.0, 1.0, 4.5 * relative, &format!("bin {}", k + 1));
    }
}

#[test]
fn noise_samples_are_gaussian() {
    let samples = white(1 << 16, 1.0, 3);
    let count = samples.len() as f64;
    let moment = |power: i32| samples.iter().map(|x| x.powi(power)).sum::<f64>() / count;
    assert_close(moment(1), 0.0, 4.5 / count.sqrt(), "mean");
    assert_close(moment(3), 0.0, 4.5 * (15.0 / count).sqrt(), "third moment");
    assert_close(moment(4), 3.0, 4.5 * (96.0 / count).sqrt(), "fourth moment");
}

#[test]
fn norm_of_the_whitened_template_is_its_snr() {
    let (template, psd) = template_and_psd();
    let burst = sine_gaussian(SAMPLES, RATE, 90.0, 8.0, 0.25).unwrap();
    for waveform in [template, burst] {
        let rho = snr(&waveform, &psd, RATE).unwrap();
        let white = whiten(&waveform, &psd, RATE).unwrap();
        assert_close(dot(&white, &white).sqrt() / rho, 1.0, 1e-12, "norm over SNR");
        let scaled = scale_to_snr(&waveform, &psd, RATE, 6.0).unwrap();
        assert_close(snr(&scaled, &psd, RATE).unwrap(), 6.0, 1e-11, "scaled SNR");
    }
}

#[test]
fn snr_in_white_noise_is_the_norm_over_sigma() {
    let sigma = 0.3;
    let waveform: Vec<f64> = (0..SAMPLES).map(|j| ((j * j % 97) as f64) - 40.0).collect();
    let psd = vec![2.0 * sigma * sigma / RATE; SAMPLES / 2 + 1];
    let expected = dot(&waveform, &waveform).sqrt() / sigma;
    assert_close(snr(&waveform, &psd, RATE).unwrap() / expected, 1.0, 1e-12, "SNR");
}

#[test]
fn quarter_turn_is_orthogonal_with_equal_snr() {
    let (template, psd) = template_and_psd();
    let in_phase = phase_shift(&template, 0.0).unwrap();
    let quarter = phase_shift(&template, FRAC_PI_2).unwrap();
    let (a, b) = (whiten(&in_phase, &psd, RATE).unwrap(), whiten(&quarter, &psd, RATE).unwrap());
    assert_close(dot(&a, &b) / dot(&a, &a), 0.0, 1e-12, "overlap");
    assert_close(dot(&b, &b) / dot(&a, &a), 1.0, 1e-12, "ratio of norms");
    // cos(ωt + φ) from cos(ωt), at a frequency of the grid.
    let cosine = |phase: f64| (0..SAMPLES).map(move |j| (2.0 * PI * 9.0 * j as f64 / SAMPLES as f64 + phase).cos());
    let shifted = phase_shift(&cosine(0.0).collect::<Vec<_>>(), 0.7).unwrap();
    shifted.iter().zip(cosine(0.7)).for_each(|(x, y)| assert_close(*x, y, 1e-12, "shifted cosine"));
}

#[test]
fn chirp_sweeps_as_the_newtonian_formula_says() {
    let (rate, mass, coalescence) = (16384.0, 15.0, 0.4);
    let strain = chirp(8192, rate, mass, 45.0, coalescence).unwrap();
    // Time between zero crossings is half a period: f at the time left, with G M☉ / c³ = 4.9255e-6 s.
    let crossings: Vec<f64> = (1..strain.len())
        .filter(|&j| strain[j - 1] * strain[j] < 0.0)
        .map(|j| (j as f64 - strain[j] / (strain[j] - strain[j - 1])) / rate)
        .collect();
    assert!(crossings.len() > 20, "{} zero crossings", crossings.len());
    for pair in crossings.windows(2).skip(3).take(crossings.len() - 8) {
        let left = coalescence - 0.5 * (pair[0] + pair[1]);
        let formula = 134.0 * (1.21 / mass).powf(0.625) * (1.0 / left).powf(0.375); // Maggiore, eq. 4.20
        assert_close(0.5 / (pair[1] - pair[0]) / formula, 1.0, 0.01, &format!("frequency {left} s before the end"));
    }
    let peak = strain.iter().fold(0.0, |m: f64, h| m.max(h.abs()));
    assert!((0.5..=1.0).contains(&peak), "peak {peak}");
}

#[test]
fn sine_gaussian_has_its_width_and_frequency() {
    let (frequency, quality, arrival) = (64.0, 9.0, 0.25);
    let burst = sine_gaussian(SAMPLES, RATE, frequency, quality, arrival).unwrap();
    assert_close(burst[128], 1.0, 1e-12, "peak at the arrival time");
    let width = quality / (2f64.sqrt() * PI * frequency);
    let period = (RATE / frequency) as usize;
    let expected = (-(1.0 / frequency / width).powi(2)).exp();
    assert_close(burst[128 + period], expected, 1e-12, "one period later");
    assert_close(burst[128 + period / 2], -(-(0.5 / frequency / width).powi(2)).exp(), 1e-12, "half a period later");
}

#[test]
fn bounds_have_the_tabulated_values() {
    let alarms = [0.1, 0.01, 0.001];
    let table = [
        (2.0, 0.9214, [0.764, 0.372, 0.138], 0.8161, [0.542, 0.204, 0.063]),
        (3.0, 0.9831, [0.957, 0.750, 0.464], 0.9473, [0.855, 0.553, 0.286]),
        (4.0, 0.9977, [0.997, 0.953, 0.819], 0.9908, [0.979, 0.867, 0.661]),
        (6.0, 1.0000, [1.000, 1.000, 0.998], 0.9999, [1.000, 0.999, 0.992]),
    ];
    for (rho, auc_known, known, auc_unknown, unknown) in table {
        assert_close(auc_bound(rho, Phase::Known).unwrap(), auc_known, 5e-5, "AUC, known phase");
        assert_close(auc_bound(rho, Phase::Unknown).unwrap(), auc_unknown, 5e-5, "AUC, unknown phase");
        for (i, alarm) in alarms.into_iter().enumerate() {
            let efficiency = |phase| efficiency_bound(rho, alarm, phase).unwrap();
            assert_close(efficiency(Phase::Known), known[i], 5.1e-4, &format!("known, {rho}, {alarm}"));
            assert_close(efficiency(Phase::Unknown), unknown[i], 5.1e-4, &format!("unknown, {rho}, {alarm}"));
        }
    }
}

/// SNR, false-alarm probability, and the largest detection probabilities at known and unknown phase: mpmath, 60 digits, from
/// the root of ln(erfc(x / sqrt 2) / 2) = ln FAP and the series Σ P(K = k) P(L <= k); SciPy's norm and ncx2 agree to 2e-13.
const EFFICIENCIES: &[(f64, f64, f64, f64)] = &[
    (0.5, 0.9, 0.9625888055999399, 0.9111781419783131),
    (0.5, 0.5, 0.6914624612740131, 0.5415954751836052),
    (0.5, 1e-3, 0.004795559209142174, 0.002000440630472105),
    (0.5, 1e-10, 2.295721302142214e-9, 6.336377291423101e-10),
    (0.5, 1e-29, 2.575343146650961e-27, 5.045298346815625e-28),
    (0.5, 1e-31, 3.138843164104693e-29, 6.023365986293915e-30),
    (0.5, 1e-100, 3.762426296564186e-96, 5.084849692092208e-97),
    (0.5, 1e-200, 3.250930590833039e-194, 3.604454035098979e-195),
    (0.5, 1e-300, 9.914722144257107e-293, 9.816600009397185e-294),
    (3.0, 0.9, 0.9999907202648359, 0.9986092933117997),
    (3.0, 0.5, 0.9986501019683699, 0.9819319125879319),
    (3.0, 1e-3, 0.4640513062100257, 0.2859720678925648),
    (3.0, 1e-10, 0.0003878251377647119, 0.0001177441146477386),
    (3.0, 1e-29, 7.107070319907769e-17, 1.152704766028701e-17),
    (3.0, 1e-31, 2.3238259096722e-18, 3.633473522004189e-19),
    (3.0, 1e-100, 6.732650480880238e-75, 5.85025159484277e-76),
    (3.0, 1e-200, 2.788447858730151e-163, 1.790826711332859e-164),
    (3.0, 1e-300, 2.24047146488899e-254, 1.221610811871163e-255),
    (5.0, 0.9, 0.9999999998323947, 0.9999993276708004),
    (5.0, 0.5, 0.9999997133484281, 0.9999706912738773),
    (5.0, 1e-3, 0.9719184346935026, 0.9192046058447352),
    (5.0, 1e-10, 0.08670299134527556, 0.04454410086688353),
    (5.0, 1e-29, 1.88906959994436e-10, 4.226059217704161e-11),
    (5.0, 1e-31, 1.353356699905867e-11, 2.881444819779959e-12),
    (5.0, 1e-100, 7.615955141547018e-60, 7.425440038390933e-61),
    (5.0, 1e-200, 1.739072096516937e-140, 1.150400816068146e-141),
    (5.0, 1e-300, 1.204830465608264e-225, 6.492174301427412e-227),
    (10.0, 0.9, 1.0, 1.0),
    (10.0, 0.5, 1.0, 1.0),
    (10.0, 1e-3, 0.9999999999975728, 0.9999999999005745),
    (10.0, 1e-10, 0.9998629693510703, 0.9994704407848185),
    (10.0, 1e-29, 0.1033074410233278, 0.06554164112902182),
    (10.0, 1e-31, 0.04828610125039234, 0.02855365003423018),
    (10.0, 1e-100, 8.873476290677359e-30, 1.544612932711587e-30),
    (10.0, 1e-200, 4.370567161660191e-91, 4.171124846683503e-92),
    (10.0, 1e-300, 2.065991678204196e-161, 1.448285444982935e-162),
    (30.0, 0.9, 1.0, 1.0),
    (30.0, 0.5, 1.0, 1.0),
    (30.0, 1e-3, 1.0, 1.0),
    (30.0, 1e-10, 1.0, 1.0),
    (30.0, 1e-29, 1.0, 1.0),
    (30.0, 1e-31, 1.0, 1.0),
    (30.0, 1e-100, 1.0, 1.0),
    (30.0, 1e-200, 0.4185539622135627, 0.3699563471407975),
    (30.0, 1e-300, 9.134494633058271e-13, 4.205813810064344e-13),
];

#[test]
fn efficiencies_are_exact_at_all_false_alarm_probabilities() {
    for (rho, alarm, known, unknown) in EFFICIENCIES {
        for (phase, expected) in [(Phase::Known, *known), (Phase::Unknown, *unknown)] {
            // The threshold x is rounded to 1e-16 x, which a probability amplifies x times: 37² 1e-16 at 1e-300. The sum of
            // logarithms collects one rounding error of 1e-16 times the logarithm (700) for each of some 100 terms.
            let found = efficiency_bound(*rho, *alarm, phase).unwrap();
            assert_close(found / expected, 1.0, 1e-11, &format!("{phase:?}, SNR {rho}, FAP {alarm}"));
        }
    }
    // Below, down to the smallest number: rising with the false-alarm probability and with the SNR.
    for phase in [Phase::Known, Phase::Unknown] {
        let mut last = 0.0;
        for exponent in (-323..=-1).rev().map(|e: i32| -324 - e) {
            let efficiency = efficiency_bound(3.0, format!("1e{exponent}").parse().unwrap(), phase).unwrap();
            assert!(efficiency > last, "{phase:?} at 1e{exponent}: {efficiency} after {last}");
            last = efficiency;
        }
    }
}

#[test]
fn bounds_hold_at_the_edges() {
    for phase in [Phase::Known, Phase::Unknown] {
        assert_eq!(auc_bound(0.0, phase).unwrap(), 0.5);
        assert_eq!(auc_bound(100.0, phase).unwrap(), 1.0);
        assert_eq!(efficiency_bound(3.0, 0.0, phase).unwrap(), 0.0);
        assert_eq!(efficiency_bound(3.0, 1.0, phase).unwrap(), 1.0);
        assert_close(efficiency_bound(0.0, 0.03, phase).unwrap(), 0.03, 1e-10, "no signal");
        assert_close(efficiency_bound(100.0, 1e-9, phase).unwrap(), 1.0, 1e-12, "strong signal");
    }
    assert_close(marcum_q1(0.0, 1.5).unwrap(), (-1.125f64).exp(), 1e-15, "Rayleigh tail");
    // Q1(a, a) = (1 + exp(-a²) I0(a²)) / 2 with I0(1) = 1.2660658777520084 (Abramowitz and Stegun, table 9.8).
    let diagonal = 0.5 * (1.0 + (-1f64).exp() * 1.266_065_877_752_008_4);
    assert_close(marcum_q1(1.0, 1.0).unwrap(), diagonal, 1e-14, "diagonal");
}

/// Area under the ROC curve by ranks, with its standard error (Hanley and McNeil 1982).
fn auc(signal: &[f64], background: &[f64]) -> (f64, f64) {
    let mut all: Vec<(f64, bool)> =
        signal.iter().map(|s| (*s, true)).chain(background.iter().map(|s| (*s, false))).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ranks: f64 =
        all.iter().zip(1..).filter(|((_, is_signal), _)| *is_signal).map(|(_, rank)| f64::from(rank)).sum();
    let (n, m) = (signal.len() as f64, background.len() as f64);
    let area = (ranks - 0.5 * n * (n + 1.0)) / (n * m);
    let (q1, q2) = (area / (2.0 - area), 2.0 * area * area / (1.0 + area));
    let spread = area * (1.0 - area) + (n - 1.0) * (q1 - area * area) + (m - 1.0) * (q2 - area * area);
    (area, (spread / (n * m)).sqrt())
}

#[test]
fn matched_filters_reach_their_bounds() {
    let (template, psd) = template_and_psd();
    let unit = scale_to_snr(&phase_shift(&template, 0.0).unwrap(), &psd, RATE, 1.0).unwrap();
    let quadratures = [unit.clone(), phase_shift(&unit, FRAC_PI_2).unwrap()].map(|h| whiten(&h, &psd, RATE).unwrap());
    let filtered = |strain: &[f64]| {
        let white = whiten(strain, &psd, RATE).unwrap();
        let [re, im] = [0, 1].map(|i| dot(&white, &quadratures[i]));
        (re, re.hypot(im))
    };
    let events = 10_000;
    let background: Vec<_> = (0..events).map(|seed| filtered(&noise(&psd, RATE, seed).unwrap())).collect();
    for rho in [2.0, 3.0] {
        let signal = |i: u64, phase: f64| {
            let wave = phase_shift(&unit, phase).unwrap();
            let strain = noise(&psd, RATE, 1_000_000 + i).unwrap();
            filtered(&strain.iter().zip(wave).map(|(n, h)| n + rho * h).collect::<Vec<_>>())
        };
        // Phases on a lattice of the golden ratio: uniform on the circle.
        let known: Vec<f64> = (0..events).map(|i| signal(i, 0.0).0).collect();
        let unknown: Vec<f64> =
            (0..events).map(|i| signal(i, 2.0 * PI * (i as f64 * 0.618_033_988_75).fract()).1).collect();
        let (of_re, of_modulus): (Vec<f64>, Vec<f64>) = background.iter().copied().unzip();
        for (phase, scores, reference) in [(Phase::Known, &known, &of_re), (Phase::Unknown, &unknown, &of_modulus)] {
            let (area, error) = auc(scores, reference);
            let bound = auc_bound(rho, phase).unwrap();
            println!("{phase:?} phase, SNR {rho}: AUC {area:.4} +- {error:.4}, bound {bound:.4}");
            assert!((area - bound).abs() < 3.0 * error, "{phase:?}, {rho}: {area} +- {error}, bound {bound}");
            // The two bounds are further apart than these errors, so that a mix-up would be caught.
            let other = auc_bound(rho, Phase::from(phase == Phase::Unknown)).unwrap();
            assert!((area - other).abs() > 3.0 * error);
        }
    }
}

#[test]
fn seeds_reproduce_bits() {
    let psd = detector_psd(4096, RATE).unwrap();
    let bits = |seed| noise(&psd, RATE, seed).unwrap().into_iter().map(f64::to_bits).collect::<Vec<_>>();
    assert_eq!(bits(7), bits(7));
    assert_ne!(bits(7), bits(8));
    // In another thread, with its own plans.
    assert_eq!(
        bits(7),
        std::thread::spawn(move || noise(&psd, RATE, 7).unwrap().into_iter().map(f64::to_bits).collect::<Vec<_>>())
            .join()
            .unwrap()
    );
}

#[test]
fn hostile_input_is_refused_by_name() {
    let psd = detector_psd(SAMPLES, RATE).unwrap();
    let zeros = vec![0.0; SAMPLES];
    let spoilt = |value: f64| {
        let mut strain = vec![1e-21; SAMPLES];
        strain[5] = value;
        strain
    };
    let mut hole = psd.clone();
    hole[3] = 0.0;
    let cases = vec![
        (welch(&zeros, 0, RATE).map(drop), "0 samples"),
        (welch(&zeros, 63, RATE).map(drop), "63 samples"),
        (welch(&zeros, 512, RATE).map(drop), "segment 512"),
        (welch(&[], 64, RATE).map(drop), "strain has 0 samples"),
        (welch(&zeros, 64, 0.0).map(drop), "rate (Hz) is 0"),
        (welch(&spoilt(f64::NAN), 64, RATE).map(drop), "NaN at sample 5"),
        (welch(&spoilt(1e200), 64, RATE).map(drop), "Welch's estimate is inf"),
        (detector_psd(usize::MAX, RATE).map(drop), "samples"),
        (detector_psd(SAMPLES, f64::NAN).map(drop), "rate (Hz) is NaN"),
        (detector_psd(SAMPLES, 1e300).map(drop), "at bin"),
        (noise(&[], RATE, 1).map(drop), "0 samples"),
        (noise(&hole, RATE, 1).map(drop), "0 at bin 3"),
        (noise(&psd, -1.0, 1).map(drop), "rate (Hz) is -1"),
        (whiten(&zeros, &psd[1..], RATE).map(drop), "128 bins for a series of 256"),
        (whiten(&spoilt(f64::INFINITY), &psd, RATE).map(drop), "inf at sample 5"),
        (whiten(&spoilt(f64::MAX), &psd, RATE).map(drop), "whitened strain"),
        (whiten(&zeros, &hole, RATE).map(drop), "0 at bin 3"),
        (snr(&spoilt(1e200), &psd, RATE).map(drop), "ratio is inf"),
        (scale_to_snr(&zeros, &psd, RATE, 3.0).map(drop), "ratio 0"),
        (scale_to_snr(&spoilt(1e-21), &psd, RATE, f64::NAN).map(drop), "ratio is NaN"),
        (chirp(SAMPLES, RATE, -3.0, 45.0, 0.4).map(drop), "chirp mass"),
        (chirp(SAMPLES, RATE, 15.0, 5.0, 0.4).map(drop), "with 0.4 s before coalescence"),
        (chirp(SAMPLES, RATE, 1.2, 200.0, 0.4).map(drop), "Nyquist frequency of 256 Hz"),
        (chirp(SAMPLES, RATE, 15.0, 400.0, 0.4).map(drop), "innermost stable circular orbit"),
        (chirp(SAMPLES, RATE, 15.0, 45.0, 3.0).map(drop), "coalescence time (s) is 3"),
        (sine_gaussian(SAMPLES, RATE, 300.0, 9.0, 0.2).map(drop), "frequency (Hz) is 300"),
        (sine_gaussian(SAMPLES, RATE, 60.0, 0.0, 0.2).map(drop), "quality factor is 0"),
        (phase_shift(&zeros, f64::NAN).map(drop), "phase (rad) is NaN"),
        (phase_shift(&zeros[1..], 0.0).map(drop), "255 samples"),
        (auc_bound(-1.0, Phase::Known).map(drop), "ratio is -1"),
        (auc_bound(f64::NAN, Phase::Unknown).map(drop), "ratio is NaN"),
        (efficiency_bound(3.0, 1.5, Phase::Known).map(drop), "false-alarm probability is 1.5"),
        (marcum_q1(1.0, f64::INFINITY).map(drop), "Marcum's Q is inf"),
    ];
    assert_refused(cases);
}
