//! Searches for signals in strain, and detectors.

use crate::error::{Result, guard};
use realfft::num_complex::Complex;

use crate::signal::{
    self, Candidate, Coherent, CoherentSearch, Detector, Direction, Draws, Injection, MatchedFilter, QPlane, Response,
    Search, TimeFrequency,
};

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    /// See `signal::Trigger`.
    struct SignalTrigger {
        snr: f64,
        time: f64,
        phase: f64,
        chi_squared: f64,
    }

    /// See `signal::Reach`.
    struct SignalReach {
        auc: f64,
        auc_error: f64,
        efficiencies: Vec<f64>,
        efficiency_errors: Vec<f64>,
    }

    /// See `signal::Bounds`.
    struct SignalBounds {
        bayes: SignalReach,
        maximised: SignalReach,
    }

    /// See `signal::Response`: of several, one after the other.
    struct SignalResponses {
        detectors: usize,
        /// Real and imaginary parts in turns.
        amplitudes: Vec<f64>,
        delays: Vec<f64>,
    }

    /// See `signal::TimeFrequency`.
    struct SignalMap {
        times: Vec<f64>,
        frequencies: Vec<f64>,
        values: Vec<f64>,
    }

    /// See `signal::Candidate`.
    struct SignalCandidate {
        time: f64,
        statistic: f64,
    }

    /// See `signal::Injection`.
    struct SignalInjection {
        time: f64,
        distance: f64,
        chirp_mass: f64,
    }

    /// See `signal::Sensitivity`.
    struct SignalSensitivity {
        threshold: f64,
        fraction: f64,
        fraction_error: f64,
        distance: f64,
        distance_error: f64,
    }

    extern "Rust" {
        type MatchedFilter;
        fn matched_filter(waveform: &[f64], psd: &[f64], rate: f64, reference: f64) -> Result<Box<MatchedFilter>>;
        fn filter_series(filter: &MatchedFilter, strain: &[f64]) -> Result<Vec<f64>>;
        /// Real and imaginary parts in turns, [2 n].
        fn filter_complex_series(filter: &MatchedFilter, strain: &[f64]) -> Result<Vec<f64>>;
        fn filter_max(
            filter: &MatchedFilter,
            strain: &[f64],
            begin: f64,
            end: f64,
            bands: usize,
        ) -> Result<SignalTrigger>;

        /// Filters of one search.
        type FilterBank;
        fn filter_bank() -> Box<FilterBank>;
        fn push(self: &mut FilterBank, filter: &MatchedFilter);
        #[allow(clippy::too_many_arguments)]
        fn search_bounds(
            bank: &FilterBank,
            snr: f64,
            begin: f64,
            end: f64,
            false_alarms: &[f64],
            noise: usize,
            signal: usize,
            seed: u64,
        ) -> Result<SignalBounds>;
        fn bayes_statistic(series: &[f64], snr: f64) -> Result<f64>;

        fn draw_responses(detectors: &Vec<String>, count: usize, seed: u64) -> Result<SignalResponses>;
        type CoherentSearch;
        #[allow(clippy::too_many_arguments)]
        fn coherent_search(
            bank: &FilterBank,
            responses: &SignalResponses,
            begin: f64,
            end: f64,
            lowest: f64,
            highest: f64,
            step: usize,
        ) -> Result<Box<CoherentSearch>>;
        fn coherent_statistic(search: &CoherentSearch, strain: &[f64]) -> Result<f64>;
        fn coherent_loudest(search: &CoherentSearch, strain: &[f64]) -> Result<Vec<f64>>;
        fn coherent_ranks(search: &CoherentSearch, strain: &[f64]) -> Result<Vec<f64>>;

        fn spectrogram(strain: &[f64], rate: f64, segment: usize, stride: usize) -> Result<SignalMap>;
        fn q_transform(
            whitened: &[f64],
            rate: f64,
            quality: f64,
            low: f64,
            high: f64,
            frequencies: usize,
            times: usize,
        ) -> Result<SignalMap>;

        /// F+ and Fx. `sky` is right ascension, declination and polarisation angle.
        fn antenna_pattern(detector: &str, sky: [f64; 3], gps: f64) -> Result<[f64; 2]>;
        fn detector_delay(detector: &str, sky: [f64; 3], gps: f64) -> Result<f64>;
        fn detector_project(
            plus: &[f64],
            cross: &[f64],
            rate: f64,
            detector: &str,
            sky: [f64; 3],
            gps: f64,
        ) -> Result<Vec<f64>>;
        fn detector_noise(detector: &str, psd: &[f64], rate: f64, seed: u64) -> Result<Vec<f64>>;
        fn network_snr(snrs: &[f64]) -> Result<f64>;

        fn find_candidates(
            scores: &[f32],
            start: f64,
            step: f64,
            threshold: f64,
            gap: f64,
        ) -> Result<Vec<SignalCandidate>>;
        fn sensitive_distance(
            foreground: &Vec<SignalCandidate>,
            background: &Vec<SignalCandidate>,
            injections: &Vec<SignalInjection>,
            duration: f64,
            rates: &[f64],
            tolerance: f64,
        ) -> Result<Vec<SignalSensitivity>>;
    }
}

fn matched_filter(waveform: &[f64], psd: &[f64], rate: f64, reference: f64) -> Result<Box<MatchedFilter>> {
    guard(|| MatchedFilter::new(waveform, psd, rate, reference).map(Box::new))
}

fn filter_series(filter: &MatchedFilter, strain: &[f64]) -> Result<Vec<f64>> {
    guard(|| filter.series(strain))
}

fn filter_complex_series(filter: &MatchedFilter, strain: &[f64]) -> Result<Vec<f64>> {
    guard(|| Ok(filter.complex_series(strain)?.iter().flat_map(|z| [z.re, z.im]).collect()))
}

fn filter_max(
    filter: &MatchedFilter,
    strain: &[f64],
    begin: f64,
    end: f64,
    bands: usize,
) -> Result<ffi::SignalTrigger> {
    guard(|| {
        let signal::Trigger { snr, time, phase, chi_squared } = filter.trigger(strain, begin..end, bands)?;
        Ok(ffi::SignalTrigger { snr, time, phase, chi_squared })
    })
}

struct FilterBank(Vec<MatchedFilter>);

fn filter_bank() -> Box<FilterBank> {
    Box::new(FilterBank(Vec::new()))
}

impl FilterBank {
    fn push(&mut self, filter: &MatchedFilter) {
        self.0.push(filter.clone());
    }
}

#[allow(clippy::too_many_arguments)] // As C++ has them.
fn search_bounds(
    bank: &FilterBank,
    snr: f64,
    begin: f64,
    end: f64,
    false_alarms: &[f64],
    noise: usize,
    signal: usize,
    seed: u64,
) -> Result<ffi::SignalBounds> {
    guard(|| {
        let arrivals = bank.0.first().map(|filter| filter.samples_of(begin..end)).transpose()?.unwrap_or_default();
        let search = Search { bank: &bank.0, arrivals, snr };
        let bounds = signal::search_bounds(&search, Draws { noise, signal, seed }, false_alarms)?;
        Ok(ffi::SignalBounds { bayes: bounds.bayes.into(), maximised: bounds.maximised.into() })
    })
}

impl From<signal::Reach> for ffi::SignalReach {
    fn from(reach: signal::Reach) -> Self {
        let (efficiencies, efficiency_errors) = reach.efficiencies.iter().map(|each| (each.value, each.error)).unzip();
        Self { auc: reach.auc.value, auc_error: reach.auc.error, efficiencies, efficiency_errors }
    }
}

fn bayes_statistic(series: &[f64], snr: f64) -> Result<f64> {
    guard(|| signal::bayes_statistic(series, snr))
}

#[allow(clippy::ptr_arg)] // What cxx makes of `rust::Vec`.
fn draw_responses(detectors: &Vec<String>, count: usize, seed: u64) -> Result<ffi::SignalResponses> {
    guard(|| {
        let detectors: Vec<_> = detectors.iter().map(|name| Detector::named(name)).collect::<Result<_>>()?;
        let drawn = signal::draw_responses(&detectors, count, seed)?;
        Ok(ffi::SignalResponses {
            detectors: detectors.len(),
            amplitudes: drawn.iter().flat_map(|one| one.amplitudes.iter().flat_map(|a| [a.re, a.im])).collect(),
            delays: drawn.iter().flat_map(|one| one.delays.iter().copied()).collect(),
        })
    })
}

#[allow(clippy::too_many_arguments)] // As C++ has them.
fn coherent_search(
    bank: &FilterBank,
    responses: &ffi::SignalResponses,
    begin: f64,
    end: f64,
    lowest: f64,
    highest: f64,
    step: usize,
) -> Result<Box<CoherentSearch>> {
    guard(|| {
        let detectors = responses.detectors.max(1);
        let amplitudes = responses.amplitudes.chunks(2 * detectors);
        let responses = amplitudes.zip(responses.delays.chunks(detectors)).map(|(amplitudes, delays)| Response {
            amplitudes: amplitudes.chunks_exact(2).map(|a| Complex::new(a[0], a[1])).collect(),
            delays: delays.to_vec(),
        });
        let search = Coherent {
            bank: bank.0.clone(),
            responses: responses.collect(),
            arrivals: begin..end,
            snrs: [lowest, highest],
            step,
        };
        CoherentSearch::new(search).map(Box::new)
    })
}

fn coherent_statistic(search: &CoherentSearch, strain: &[f64]) -> Result<f64> {
    guard(|| search.statistic(strain))
}

fn coherent_loudest(search: &CoherentSearch, strain: &[f64]) -> Result<Vec<f64>> {
    guard(|| search.loudest(strain))
}

fn coherent_ranks(search: &CoherentSearch, strain: &[f64]) -> Result<Vec<f64>> {
    guard(|| search.ranks(strain))
}

impl From<TimeFrequency> for ffi::SignalMap {
    fn from(TimeFrequency { times, frequencies, values }: TimeFrequency) -> Self {
        Self { times, frequencies, values }
    }
}

fn spectrogram(strain: &[f64], rate: f64, segment: usize, stride: usize) -> Result<ffi::SignalMap> {
    guard(|| signal::spectrogram(strain, rate, segment, stride).map(Into::into))
}

fn q_transform(
    whitened: &[f64],
    rate: f64,
    quality: f64,
    low: f64,
    high: f64,
    frequencies: usize,
    times: usize,
) -> Result<ffi::SignalMap> {
    guard(|| signal::q_transform(whitened, rate, QPlane { quality, low, high, frequencies, times }).map(Into::into))
}

fn direction([right_ascension, declination, polarisation]: [f64; 3], gps: f64) -> Direction {
    Direction { right_ascension, declination, polarisation, gps }
}

fn antenna_pattern(detector: &str, sky: [f64; 3], gps: f64) -> Result<[f64; 2]> {
    guard(|| Detector::named(detector)?.antenna_pattern(direction(sky, gps)))
}

fn detector_delay(detector: &str, sky: [f64; 3], gps: f64) -> Result<f64> {
    guard(|| Detector::named(detector)?.delay(direction(sky, gps)))
}

fn detector_project(
    plus: &[f64],
    cross: &[f64],
    rate: f64,
    detector: &str,
    sky: [f64; 3],
    gps: f64,
) -> Result<Vec<f64>> {
    guard(|| Detector::named(detector)?.project(plus, cross, rate, direction(sky, gps)))
}

fn detector_noise(detector: &str, psd: &[f64], rate: f64, seed: u64) -> Result<Vec<f64>> {
    guard(|| Detector::named(detector)?.noise(psd, rate, seed))
}

fn network_snr(snrs: &[f64]) -> Result<f64> {
    guard(|| signal::network_snr(snrs))
}

fn find_candidates(
    scores: &[f32],
    start: f64,
    step: f64,
    threshold: f64,
    gap: f64,
) -> Result<Vec<ffi::SignalCandidate>> {
    guard(|| {
        let found = signal::find_candidates(scores, start, step, threshold, gap)?;
        Ok(found.iter().map(|one| ffi::SignalCandidate { time: one.time, statistic: one.statistic }).collect())
    })
}

#[allow(clippy::ptr_arg)] // What cxx makes of `rust::Vec`.
fn sensitive_distance(
    foreground: &Vec<ffi::SignalCandidate>,
    background: &Vec<ffi::SignalCandidate>,
    injections: &Vec<ffi::SignalInjection>,
    duration: f64,
    rates: &[f64],
    tolerance: f64,
) -> Result<Vec<ffi::SignalSensitivity>> {
    guard(|| {
        let [foreground, background] = [foreground, background].map(|list| {
            let candidate = |one: &ffi::SignalCandidate| Candidate { time: one.time, statistic: one.statistic };
            list.iter().map(candidate).collect::<Vec<_>>()
        });
        let injections = injections.iter().map(|one| Injection {
            time: one.time,
            distance: one.distance,
            chirp_mass: one.chirp_mass,
        });
        let injections: Vec<_> = injections.collect();
        let found = signal::sensitive_distance(&foreground, &background, &injections, duration, rates, tolerance)?;
        Ok(found.iter().map(ffi::SignalSensitivity::from).collect())
    })
}

impl From<&signal::Sensitivity> for ffi::SignalSensitivity {
    fn from(found: &signal::Sensitivity) -> Self {
        Self {
            threshold: found.threshold,
            fraction: found.fraction.value,
            fraction_error: found.fraction.error,
            distance: found.distance.value,
            distance_error: found.distance.error,
        }
    }
}
