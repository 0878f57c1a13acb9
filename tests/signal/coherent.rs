//! The coherent search of several detectors: the statistic is a likelihood ratio with known means, and agrees with a
//! slow sum over all terms.

use cladtorch::signal::{
    Coherent, CoherentSearch, Detector, MatchedFilter, Response, bayes_statistic, chirp, draw_responses, noise,
    phase_shift, scale_to_snr,
};

use super::{RATE, SAMPLES, assert_close, assert_refused, detector_psd, template_and_psd};

const ARRIVALS: std::ops::Range<f64> = 0.36..0.46;

fn pair() -> [&'static Detector; 2] {
    ["H1", "L1"].map(|name| Detector::named(name).unwrap())
}

/// Chirps of different masses with their coalescence at `time`.
fn waves(time: f64) -> Vec<Vec<f64>> {
    [15.0, 20.0].iter().map(|mass| chirp(SAMPLES, RATE, *mass, 50.0, time).unwrap()).collect()
}

fn bank() -> Vec<MatchedFilter> {
    let psd = detector_psd(SAMPLES, RATE).unwrap();
    waves(0.4).iter().map(|wave| MatchedFilter::new(wave, &psd, RATE, 0.4).unwrap()).collect()
}

fn search(responses: Vec<Response>, snrs: [f64; 2], step: usize) -> CoherentSearch {
    CoherentSearch::new(Coherent { bank: bank(), responses, arrivals: ARRIVALS, snrs, step }).unwrap()
}

/// Noise of the two detectors.
fn window(seed: u64) -> Vec<f64> {
    let psd = detector_psd(SAMPLES, RATE).unwrap();
    pair().iter().flat_map(|detector| detector.noise(&psd, RATE, seed).unwrap()).collect()
}

/// Adds template `j` with network SNR `rho` and the arrival `time` as `response` says.
fn add(strain: &mut [f64], j: usize, rho: f64, time: f64, response: &Response) {
    let psd = detector_psd(SAMPLES, RATE).unwrap();
    for (d, (amplitude, delay)) in response.amplitudes.iter().zip(&response.delays).enumerate() {
        let wave = phase_shift(&waves(time + delay)[j], amplitude.arg()).unwrap();
        let signal = scale_to_snr(&wave, &psd, RATE, rho * amplitude.norm()).unwrap();
        strain[d * SAMPLES..(d + 1) * SAMPLES].iter_mut().zip(&signal).for_each(|(x, h)| *x += h);
    }
}

#[test]
fn one_detector_has_the_statistics_of_its_series() {
    let (template, psd) = template_and_psd();
    let filter = MatchedFilter::new(&template, &psd, RATE, 0.4).unwrap();
    let alone = Response { amplitudes: vec![1.0.into()], delays: vec![0.0] };
    let of = |step| {
        let bank = vec![filter.clone()];
        CoherentSearch::new(Coherent {
            bank,
            responses: vec![alone.clone()],
            arrivals: ARRIVALS,
            snrs: [4.5, 4.5],
            step,
        })
    };
    for step in [1, 2] {
        let search = of(step).unwrap();
        for seed in 0..20 {
            let strain = noise(&psd, RATE, seed).unwrap();
            let steps = filter.samples_of(ARRIVALS).unwrap().filter(|i| i % step == 0);
            let series = filter.series(&strain).unwrap();
            let within: Vec<f64> = steps.map(|i| series[i]).collect();
            let exact = bayes_statistic(&within, 4.5).unwrap();
            assert_close(search.statistic(&strain).unwrap(), exact, 1e-3, "statistic");
            let largest = within.iter().fold(0.0, |m: f64, z| m.max(*z));
            assert_close(search.loudest(&strain).unwrap()[0], largest, 1e-12, "loudest");
        }
    }
    // A chirp up to 127 Hz, of which 64 Hz are left.
    assert!(of(8).unwrap_err().to_string().contains("of the power of template 0"));
}

/// The sum over templates, arrivals and responses, term by term.
fn slow(strain: &[f64], responses: &[Response], rho: f64) -> f64 {
    let filters = bank();
    let (arrivals, rate) = (filters[0].samples_of(ARRIVALS).unwrap(), RATE);
    let mut terms = Vec::new();
    for filter in &filters {
        let series: Vec<_> = strain.chunks(SAMPLES).map(|one| filter.complex_series(one).unwrap()).collect();
        for arrival in arrivals.clone() {
            for response in responses {
                let shifted = |d: usize| series[d][(arrival as f64 + (response.delays[d] * rate).round()) as usize];
                let z = (0..2)
                    .map(|d| response.amplitudes[d].conj() * shifted(d))
                    .sum::<realfft::num_complex::Complex<f64>>();
                terms.push(z.norm());
            }
        }
    }
    bayes_statistic(&terms, rho).unwrap()
}

#[test]
fn two_detectors_have_the_slow_sum() {
    let responses = draw_responses(&pair(), 60, 1).unwrap();
    for (seed, rho) in [(1, 3.0), (2, 5.0), (3, 8.0), (4, 12.0)] {
        let search = search(responses.clone(), [rho, rho], 1);
        let mut strain = window(seed);
        let of_noise = search.statistic(&strain).unwrap();
        // Omitted responses change the average of noise, in which many arrivals count.
        assert_close(of_noise, slow(&strain, &responses, rho), 0.1, "noise");
        add(&mut strain, seed as usize % 2, rho, 0.4, &responses[7]);
        let of_signal = search.statistic(&strain).unwrap();
        assert_close(of_signal, slow(&strain, &responses, rho), 0.05, "signal");
        let loudest = search.loudest(&strain).unwrap();
        assert!(loudest[seed as usize % 2] > rho - 3.0, "{loudest:?} of {rho}");
        assert_eq!(search.ranks(&strain).unwrap(), [vec![of_signal], loudest].concat());
    }
}

/// Averaged over noise a likelihood ratio is 1, and averaged over its signals, its inverse is.
#[test]
fn the_statistic_is_a_likelihood_ratio() {
    let responses = draw_responses(&pair(), 50, 2).unwrap();
    let (low, high) = (1.0, 2.0);
    let search = search(responses.clone(), [low, high], 1);
    let psd = detector_psd(SAMPLES, RATE).unwrap();
    let arrivals = MatchedFilter::new(&waves(0.4)[0], &psd, RATE, 0.4).unwrap().samples_of(ARRIVALS).unwrap();
    let windows = 4000;
    let mut sums = [[0.0; 2]; 2];
    for i in 0..windows {
        let mut strain = window(100 + i);
        let of_noise = search.statistic(&strain).unwrap().exp();
        let arrival = arrivals.start + (i as usize * 7) % arrivals.len();
        let rho = low + (high - low) * (i % 101) as f64 / 100.0;
        add(&mut strain, i as usize % 2, rho, arrival as f64 / RATE, &responses[(i as usize * 11) % responses.len()]);
        let of_signal = (-search.statistic(&strain).unwrap()).exp();
        for (sum, x) in sums.iter_mut().zip([of_noise, of_signal]) {
            sum[0] += x;
            sum[1] += x * x;
        }
    }
    for (what, [sum, squares]) in ["noise", "signals"].iter().zip(sums) {
        let mean = sum / windows as f64;
        let error = ((squares / windows as f64 - mean * mean) / windows as f64).sqrt();
        assert!(error < 0.02, "{what}: {error}");
        assert_close(mean, 1.0, 4.0 * error, what);
    }
}

#[test]
fn hostile_coherent_searches_are_refused_by_name() {
    let responses = draw_responses(&pair(), 3, 1).unwrap();
    let of = |change: &dyn Fn(&mut Coherent)| {
        let mut search =
            Coherent { bank: bank(), responses: responses.clone(), arrivals: ARRIVALS, snrs: [5.0, 15.0], step: 1 };
        change(&mut search);
        CoherentSearch::new(search).map(drop)
    };
    let other = || {
        let psd = vec![1.0; SAMPLES / 2 + 1];
        MatchedFilter::new(&waves(0.4)[0], &psd, RATE, 0.4).unwrap()
    };
    assert_refused(vec![
        (of(&|search| search.bank.clear()), "no template"),
        (of(&|search| search.bank.push(other())), "different noise"),
        (of(&|search| search.responses.clear()), "no response"),
        (of(&|search| search.responses[1].delays.clear()), "0 delays"),
        (of(&|search| search.responses[1].amplitudes.clear()), "0 amplitudes"),
        (of(&|search| search.responses[1].amplitudes.fill(0.0.into())), "norm 0"),
        (of(&|search| search.responses[1].amplitudes[0].re = f64::NAN), "norm NaN"),
        (of(&|search| search.responses[1].delays[1] = 0.2), "delay of a response"),
        (of(&|search| search.responses[1].delays[1] = f64::NAN), "delay of a response"),
        (of(&|search| search.arrivals = 0.4..0.4), "no sample"),
        (of(&|search| search.arrivals = 0.4..f64::NAN), "end of the times"),
        (of(&|search| search.snrs = [5.0, 4.0]), "highest signal-to-noise ratio"),
        (of(&|search| search.snrs = [f64::NAN, 4.0]), "lowest signal-to-noise ratio"),
        (of(&|search| search.step = 0), "step between arrivals"),
        (of(&|search| search.step = 3), "even number of steps"),
        (search(responses.clone(), [5.0, 5.0], 1).statistic(&[0.0; 7]).map(drop), "7 samples"),
        (search(responses.clone(), [5.0, 5.0], 1).loudest(&[f64::NAN; 2 * SAMPLES]).map(drop), "strain is NaN"),
        (draw_responses(&[], 3, 1).map(drop), "number of detectors"),
        (draw_responses(&pair(), 0, 1).map(drop), "number of responses"),
    ]);
}
