//! The best test of a signal whose arrival, phase or template is unknown, and its performance, by Monte Carlo.
//!
//! By Neyman and Pearson the best test is the likelihood ratio averaged over what is unknown. At phase uniform on the circle
//! and known SNR ρ it is the mean of I₀(ρ|z|) exp(-ρ²/2) over arrival times and templates, z being the matched filter's output
//! (A. D. Whalen, Detection of Signals in Noise, 1971, ch. 7).

use std::f64::consts::TAU;
use std::ops::Range;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use realfft::num_complex::Complex;

use super::noise::normal;
use super::{MatchedFilter, check, fourier};
use crate::error::{Error, Result};
use crate::interrupt;

/// Most windows of one kind: their statistics fit into memory.
const MAX_WINDOWS: usize = 1 << 26;
/// See [`bound`](super::auc_bound).
pub(super) const MAX_SNR: f64 = 100.0;

/// ln I₀(x), x ≥ 0.
pub(super) fn ln_bessel(x: f64) -> f64 {
    if x > 30.0 {
        // exp(x) / √(2πx) Σ ((2k-1)!!)² / k! (8x)^k (Abramowitz and Stegun, 9.7.1): falls to 1e-16 before it rises.
        let (mut term, mut sum) = (1.0, 1.0);
        for k in 1..20 {
            term *= f64::from((2 * k - 1) * (2 * k - 1)) / (f64::from(8 * k) * x);
            sum += term;
        }
        return x - 0.5 * (TAU * x).ln() + f64::ln(sum);
    }
    let quarter = 0.25 * x * x;
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..100 {
        term *= quarter / f64::from(k * k);
        sum += term;
        if term < 1e-17 * sum {
            break;
        }
    }
    f64::ln(sum)
}

/// ln of the mean of I₀(ρ|z|) exp(-ρ²/2) over `series`, the moduli of the matched filters at all arrival times and of all
/// templates that are possible. ρ is `snr`, of [0, 100].
///
/// It is the logarithm of the likelihood ratio of a signal of that SNR to noise.
pub fn bayes_statistic(series: &[f64], snr: f64) -> Result<f64> {
    check::within("signal-to-noise ratio", snr, 0.0, MAX_SNR)?;
    if series.is_empty() {
        return Err(Error::invalid("the SNR series is empty", "give the SNR at one time at least"));
    }
    if let Some(bad) = series.iter().find(|z| !(z.is_finite() && **z >= 0.0)) {
        return Err(Error::invalid(format!("an SNR of the series is {bad}"), "give finite numbers of 0 or more"));
    }
    Ok(statistic(series, snr))
}

fn statistic(series: &[f64], snr: f64) -> f64 {
    // ln I₀ rises with its argument: the largest term is that of the largest SNR, and the sum cannot overflow.
    let most = ln_bessel(snr * series.iter().fold(0.0, |m: f64, z| m.max(*z)));
    let sum: f64 = series.iter().map(|z| (ln_bessel(snr * z) - most).exp()).sum();
    most + (sum / series.len() as f64).ln() - 0.5 * snr * snr
}

/// Signals to be found: one template of `bank` (all equally likely), at a phase uniform on the circle, whose reference
/// arrives at a sample uniform over `arrivals`.
#[derive(Debug)]
pub struct Search<'a> {
    /// Filters of one length.
    pub bank: &'a [MatchedFilter],
    /// Samples at which the reference can arrive.
    pub arrivals: Range<usize>,
    /// Optimal SNR ρ of every signal.
    pub snr: f64,
}

/// How many windows are drawn, and from which seed.
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    /// Windows of noise.
    pub noise: usize,
    /// Windows with a signal.
    pub signal: usize,
    /// The same seed gives the same figures, for any number of threads.
    pub seed: u64,
}

/// A value with its standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
}

/// The performance of a test.
#[derive(Clone, Debug, PartialEq)]
pub struct Reach {
    /// Area under the ROC curve.
    pub auc: Estimate,
    /// Detection probability at each requested false-alarm probability.
    pub efficiencies: Vec<Estimate>,
}

/// The reach of the best test, and of the largest SNR over arrivals and templates.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// Performance of [`bayes_statistic`]: no classifier is better.
    pub bayes: Reach,
    /// Performance of the maximised matched filter.
    pub maximised: Reach,
}

/// The bounds of `search` in Gaussian noise with the period of a window, from `draws` at `false_alarms`, on all threads.
pub fn search_bounds(search: &Search, draws: Draws, false_alarms: &[f64]) -> Result<Bounds> {
    check::within("signal-to-noise ratio", search.snr, 0.0, MAX_SNR)?;
    check::count("number of windows of noise", draws.noise, 100, MAX_WINDOWS)?;
    check::count("number of windows with a signal", draws.signal, 100, MAX_WINDOWS)?;
    for alarm in false_alarms {
        check::within("false-alarm probability", *alarm, 1.0 / draws.noise as f64, 1.0)?;
    }
    let samples = check_bank(search)?;

    let of_kind = |count: usize, signal: bool| -> Result<(Vec<f64>, Vec<f64>)> {
        let both = (0..count).into_par_iter().map(|i| {
            let mut random = ChaCha8Rng::seed_from_u64(draws.seed);
            random.set_stream(2 * i as u64 + u64::from(signal));
            window(search, samples, signal, &mut random)
        });
        Ok(both.collect::<Result<Vec<_>>>()?.into_iter().unzip())
    };
    let (noise, signal) = (of_kind(draws.noise, false)?, of_kind(draws.signal, true)?);
    Ok(Bounds { bayes: reach(signal.0, noise.0, false_alarms), maximised: reach(signal.1, noise.1, false_alarms) })
}

/// Samples of the windows.
fn check_bank(search: &Search) -> Result<usize> {
    let Some(first) = search.bank.first() else {
        return Err(Error::invalid("the bank has no template", "give at least one"));
    };
    let samples = first.samples();
    if let Some(other) = search.bank.iter().find(|filter| filter.samples() != samples) {
        return Err(Error::invalid(
            format!("the bank has templates of {samples} and of {} samples", other.samples()),
            "give templates of one length",
        ));
    }
    if search.arrivals.is_empty() || search.arrivals.end > samples {
        return Err(Error::invalid(
            format!("arrivals from sample {} to {}", search.arrivals.start, search.arrivals.end),
            format!("give a range of samples within 0 to {samples}"),
        ));
    }
    Ok(samples)
}

/// Bayes statistic and largest SNR of one window, drawn whitened.
fn window(search: &Search, samples: usize, signal: bool, random: &mut impl Rng) -> Result<(f64, f64)> {
    interrupt::check("the search")?;
    let deviation = (0.5 * samples as f64).sqrt();
    let mut spectrum: Vec<Complex<f64>> =
        (0..=samples / 2).map(|_| Complex::new(normal(random), normal(random)) * deviation).collect();
    if signal {
        let template = &search.bank[random.random_range(0..search.bank.len())];
        let arrival = random.random_range(search.arrivals.clone());
        let phase = TAU * random.random::<f64>();
        template.add_to(&mut spectrum, search.snr, arrival, phase);
    }
    let mut series = Vec::with_capacity(search.bank.len() * search.arrivals.len());
    for template in search.bank {
        let filtered = fourier::analytic(template.correlated_white(&spectrum))?;
        series.extend(filtered[search.arrivals.clone()].iter().map(|z| z.norm()));
    }
    Ok((statistic(&series, search.snr), series.iter().fold(0.0, |m: f64, z| m.max(*z))))
}

/// How many of a sorted list lie above a threshold, and on it.
struct Around {
    above: usize,
    tied: usize,
}

fn around(sorted: &[f64], threshold: f64) -> Around {
    let not_above = sorted.partition_point(|x| *x <= threshold);
    Around { above: sorted.len() - not_above, tied: not_above - sorted.partition_point(|x| *x < threshold) }
}

/// Area with the error of J. A. Hanley and B. J. McNeil, Radiology 143 (1982) 29; efficiencies with the binomial errors of
/// the signal and of the threshold, which comes from noise.
fn reach(mut signal: Vec<f64>, mut noise: Vec<f64>, false_alarms: &[f64]) -> Reach {
    signal.sort_by(f64::total_cmp);
    noise.sort_by(f64::total_cmp);
    let (n, m) = (signal.len() as f64, noise.len() as f64);
    // A tie counts half: where nothing tells signal from noise, as at SNR 0, all statistics are equal.
    let twice_below: usize =
        signal.iter().map(|s| noise.partition_point(|x| x < s) + noise.partition_point(|x| x <= s)).sum();
    let area = 0.5 * twice_below as f64 / (n * m);
    let (q1, q2) = (area / (2.0 - area), 2.0 * area * area / (1.0 + area));
    let spread = area * (1.0 - area) + (n - 1.0) * (q1 - area * area) + (m - 1.0) * (q2 - area * area);
    let efficiency = |alarm: &f64| {
        let passes = |alarm: f64| {
            let accepted = (alarm * m).round().clamp(1.0, m) as usize;
            let threshold = noise[noise.len() - accepted];
            let [noise, signal] = [&noise, &signal].map(|sorted| around(sorted, threshold));
            // At the threshold as many are accepted, by chance, as the false-alarm probability allows.
            let share = (accepted - noise.above) as f64 / noise.tied as f64;
            (signal.above as f64 + share * signal.tied as f64) / n
        };
        let deviation = (alarm * (1.0 - alarm) / m).sqrt();
        let from_noise = 0.5 * (passes(alarm + deviation) - passes(alarm - deviation)).abs();
        let value = passes(*alarm);
        Estimate { value, error: (value * (1.0 - value) / n).sqrt().hypot(from_noise) }
    };
    Reach {
        auc: Estimate { value: area, error: (spread / (n * m)).sqrt() },
        efficiencies: false_alarms.iter().map(efficiency).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bessel_function_has_the_tabulated_values() {
        // Abramowitz and Stegun, tables 9.8 and 9.11: exp(-x) I₀(x).
        for (x, scaled) in [(0.0, 1.0), (1.0, 0.465_759_607_7), (5.0, 0.183_540_812_6), (10.0, 0.127_833_337_2)] {
            assert!((ln_bessel(x) - (f64::ln(scaled) + x)).abs() < 1e-9, "{x}");
        }
        // The two forms meet.
        let slope = ln_bessel(30.0 + 1e-6) - ln_bessel(30.0);
        assert!((slope - 1e-6).abs() < 1e-7, "{slope}");
        assert!(ln_bessel(1e4).is_finite());
    }
}
