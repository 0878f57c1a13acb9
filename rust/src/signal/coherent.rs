//! The coherent search of several detectors: every template, arrival and direction at once.
//!
//! A source at unknown place and orientation reaches detector d as Re(ρ aᵈ h(t - τᵈ)), h being the analytic template of norm 1
//! and Σ|aᵈ|² = 1. With zᵈ the complex outputs of the matched filter, the likelihood ratio averaged over a phase uniform on the
//! circle is I₀(ρ |Σ conj(aᵈ) zᵈ(t + τᵈ)|) exp(-ρ²/2) (I. W. Harry and S. Fairhurst, Phys. Rev. D 83 (2011) 084002); by Neyman and
//! Pearson its mean over all that is unknown is the best statistic.

use std::ops::Range;

use realfft::num_complex::Complex;

use super::bayes::{MAX_SNR, ln_bessel};
use super::response::Response;
use super::{MatchedFilter, check};
use crate::error::{Error, Result};
use crate::interrupt;

/// Largest share of a template's power that a coarse step may lose.
const MOST_LOST: f64 = 0.01;
/// e to the minus this is the share of the largest term above which an arrival takes part with all responses.
const WHOLE: f64 = 3.0;
/// Responses that every arrival takes part with, at least.
const FEWEST: usize = 4;

/// A search for any of `bank`, at a network SNR uniform over `snrs`.
#[derive(Debug)]
pub struct Coherent {
    /// Templates, all equally likely, of one length and for one power spectral density, which is that of all detectors.
    pub bank: Vec<MatchedFilter>,
    /// How the detectors see the sources, all equally likely.
    pub responses: Vec<Response>,
    /// Arrival at the centre of the Earth, s; uniform.
    pub arrivals: Range<f64>,
    /// Lowest and highest network SNR.
    pub snrs: [f64; 2],
    /// Samples from one arrival that is tried to the next.
    pub step: usize,
}

/// A [`Coherent`] search made ready for many windows.
#[derive(Clone, Debug)]
pub struct CoherentSearch {
    bank: Vec<MatchedFilter>,
    responses: Vec<Steps>,
    detectors: usize,
    /// Steps at which the centre of the Earth is reached.
    arrivals: Range<isize>,
    /// Steps at which the first detector is reached.
    first: Range<isize>,
    /// Steps by which each further detector can be later than the first, both ends included.
    lags: Vec<[isize; 2]>,
    step: usize,
    likelihood: Likelihood,
}

/// A [`Response`] in steps.
#[derive(Clone, Debug)]
struct Steps {
    /// Of each detector, conjugated, of norm 1 together.
    amplitudes: Vec<Complex<f64>>,
    /// From the centre of the Earth to the first detector.
    delay: isize,
    /// From the first detector to each further one.
    lags: Vec<isize>,
}

/// The outputs of one template: of each detector those of the steps that count, and of each step of the first detector the
/// largest Σ|zᵈ|² over the lags.
struct Filtered {
    series: Vec<Vec<Complex<f64>>>,
    loudest: Vec<f64>,
}

impl Filtered {
    /// The largest network SNR.
    fn most(&self) -> f64 {
        self.loudest.iter().fold(0.0, |m: f64, x| m.max(*x)).sqrt()
    }
}

impl CoherentSearch {
    /// Throws unless templates, responses and numbers fit together.
    pub fn new(search: Coherent) -> Result<Self> {
        let Coherent { bank, responses, arrivals, snrs, step } = search;
        let first = bank.first().ok_or_else(|| Error::invalid("the bank has no template", "give at least one"))?;
        for filter in &bank {
            first.check_same_noise(filter)?;
        }
        check_step(&bank, step)?;
        check::within("lowest signal-to-noise ratio", snrs[0], 0.0, MAX_SNR)?;
        check::within("highest signal-to-noise ratio", snrs[1], snrs[0], MAX_SNR)?;
        let within = first.samples_of(arrivals)?;
        let arrivals = within.start.div_ceil(step) as isize..within.end.div_ceil(step) as isize;
        if arrivals.is_empty() {
            return Err(Error::invalid("no step lies within the arrivals", "give a longer range or a smaller step"));
        }
        let rate = first.rate() / step as f64;
        let longest = (first.samples() / step) as isize / 4;
        let detectors = responses.first().map_or(0, |response| response.amplitudes.len());
        let responses =
            responses.iter().map(|one| Steps::new(one, detectors, rate, longest)).collect::<Result<Vec<_>>>()?;
        let delays = range(responses.iter().map(|one| one.delay)).ok_or_else(|| {
            Error::invalid("there is no response of the detectors", "give at least one, as draw_responses() makes them")
        })?;
        let lags = (1..detectors).filter_map(|d| range(responses.iter().map(|one| one.lags[d - 1]))).collect();
        let first = arrivals.start + delays[0]..arrivals.end + delays[1];
        Ok(Self { bank, responses, detectors, arrivals, first, lags, step, likelihood: Likelihood::new(snrs) })
    }

    /// Detectors, templates.
    pub fn shape(&self) -> [usize; 2] {
        [self.detectors, self.bank.len()]
    }

    /// The logarithm of the likelihood ratio, averaged over templates, arrivals, responses and SNRs, of `strain`: a window of each
    /// detector, one after the other.
    ///
    /// Arrivals whose likelihood is small beside the largest take part with a few of the responses, evenly spread, each counting
    /// for those that are left out: that does not shift the average, and changes it by less than the responses' number does.
    pub fn statistic(&self, strain: &[f64]) -> Result<f64> {
        Ok(self.average(&self.filtered(strain)?))
    }

    /// [templates], the largest network SNR √Σ|zᵈ|² over the arrivals that the detectors can have together.
    pub fn loudest(&self, strain: &[f64]) -> Result<Vec<f64>> {
        Ok(self.filtered(strain)?.iter().map(Filtered::most).collect())
    }

    /// Both, with one pass of the filters: [1 + templates], first [`CoherentSearch::statistic`].
    pub fn ranks(&self, strain: &[f64]) -> Result<Vec<f64>> {
        let filtered = self.filtered(strain)?;
        Ok(std::iter::once(self.average(&filtered)).chain(filtered.iter().map(Filtered::most)).collect())
    }

    fn average(&self, filtered: &[Filtered]) -> f64 {
        let most = filtered.iter().map(Filtered::most).fold(0.0, f64::max);
        let top = self.likelihood.log_mean(most);
        let sum: f64 = filtered.iter().enumerate().map(|(j, one)| self.sum(one, j, top)).sum();
        let count = self.bank.len() * self.arrivals.len() * self.responses.len();
        top + (sum / count as f64).ln()
    }

    fn filtered(&self, strain: &[f64]) -> Result<Vec<Filtered>> {
        interrupt::check("the search")?;
        let samples = self.bank[0].samples();
        if strain.len() != self.detectors * samples {
            return Err(Error::invalid(
                format!("strain has {} samples", strain.len()),
                format!("give {samples} of each of {} detector(s), one after the other", self.detectors),
            ));
        }
        let white: Vec<_> =
            strain.chunks_exact(samples).map(|one| self.bank[0].whitened(one)).collect::<Result<_>>()?;
        self.bank.iter().map(|template| self.of_template(template, &white)).collect()
    }

    fn of_template(&self, template: &MatchedFilter, white: &[Vec<Complex<f64>>]) -> Result<Filtered> {
        let of_detector = |(d, spectrum): (usize, &Vec<Complex<f64>>)| -> Result<Vec<Complex<f64>>> {
            let series = template.coarse_series(spectrum, self.step)?;
            let [least, most] = if d == 0 { [0, 0] } else { self.lags[d - 1] };
            let steps = self.first.start + least..self.first.end + most;
            Ok(steps.map(|i| series[i.rem_euclid(series.len() as isize) as usize]).collect())
        };
        let series: Vec<_> = white.iter().enumerate().map(of_detector).collect::<Result<_>>()?;
        let mut loudest: Vec<f64> = series[0].iter().map(Complex::norm_sqr).collect();
        for (of_one, [least, most]) in series[1..].iter().zip(&self.lags) {
            let squares: Vec<f64> = of_one.iter().map(Complex::norm_sqr).collect();
            let width = (most - least + 1) as usize;
            for (sum, lags) in loudest.iter_mut().zip(squares.windows(width)) {
                *sum += lags.iter().fold(0.0, |m: f64, x| m.max(*x));
            }
        }
        Ok(Filtered { series, loudest })
    }

    /// Of template `j`: the likelihoods of all arrivals and responses, relative to exp(`top`).
    fn sum(&self, filtered: &Filtered, j: usize, top: f64) -> f64 {
        let most = (self.responses.len() / FEWEST).max(1);
        let mut sum = 0.0;
        for (i, loudest) in filtered.loudest.iter().enumerate() {
            let below = top - self.likelihood.log_mean(loudest.sqrt());
            let stride = ((below - WHOLE).exp() as usize).clamp(1, most);
            // Another choice of the responses at every arrival.
            let offset = (j * 7919 + i * 104_729) % stride;
            let part: f64 =
                (offset..self.responses.len()).step_by(stride).map(|k| self.term(filtered, i, k, top)).sum();
            sum += part * stride as f64;
        }
        sum
    }

    /// Of step `i` of the first detector and response `k`: 0 where the Earth is not reached within the arrivals.
    fn term(&self, filtered: &Filtered, i: usize, k: usize, top: f64) -> f64 {
        let response = &self.responses[k];
        if !self.arrivals.contains(&(self.first.start + i as isize - response.delay)) {
            return 0.0;
        }
        let mut z = response.amplitudes[0] * filtered.series[0][i];
        let others = filtered.series[1..].iter().zip(&response.amplitudes[1..]);
        for ((series, amplitude), (lag, [least, _])) in others.zip(response.lags.iter().zip(&self.lags)) {
            z += amplitude * series[i + (lag - least) as usize];
        }
        (self.likelihood.log_mean(z.norm_sqr().sqrt()) - top).exp()
    }
}

/// The least and the largest.
fn range(values: impl Iterator<Item = isize>) -> Option<[isize; 2]> {
    values.fold(None, |found: Option<[isize; 2]>, x| Some(found.map_or([x, x], |[a, b]| [a.min(x), b.max(x)])))
}

/// The series of every template can be sampled so coarsely.
fn check_step(bank: &[MatchedFilter], step: usize) -> Result<()> {
    let samples = bank[0].samples();
    check::count("step between arrivals (samples)", step, 1, samples / 4)?;
    if !samples.is_multiple_of(2 * step) {
        return Err(Error::invalid(
            format!("windows of {samples} samples have no even number of steps of {step}"),
            "give a step that divides half the length of the window",
        ));
    }
    for (j, template) in bank.iter().enumerate() {
        let lost = template.power_from(samples / step);
        if lost > MOST_LOST {
            return Err(Error::invalid(
                format!("a step of {step} samples loses {:.1} % of the power of template {j}", 100.0 * lost),
                "give a smaller step",
            ));
        }
    }
    Ok(())
}

impl Steps {
    /// `rate` in steps a second; `longest` is the largest delay in steps.
    fn new(response: &Response, detectors: usize, rate: f64, longest: isize) -> Result<Self> {
        let Response { amplitudes, delays } = response;
        if amplitudes.is_empty() || amplitudes.len() != detectors || delays.len() != detectors {
            return Err(Error::invalid(
                format!("a response has {} amplitudes and {} delays", amplitudes.len(), delays.len()),
                "give one of each for every detector",
            ));
        }
        let norm = amplitudes.iter().map(Complex::norm_sqr).sum::<f64>().sqrt();
        if !(norm.is_finite() && norm > 0.0) {
            return Err(Error::invalid(
                format!("the amplitudes of a response have the norm {norm}"),
                "give finite amplitudes that are not all zero",
            ));
        }
        for delay in delays {
            let most = longest as f64 / rate;
            check::within("delay of a response (s)", *delay, -most, most)?;
        }
        let steps: Vec<isize> = delays.iter().map(|delay| (delay * rate).round() as isize).collect();
        Ok(Self {
            amplitudes: amplitudes.iter().map(|amplitude| amplitude.conj() / norm).collect(),
            delay: steps[0],
            lags: steps[1..].iter().map(|later| later - steps[0]).collect(),
        })
    }
}

/// ln of the mean of I₀(ρz) exp(-ρ²/2) over ρ, as a table.
#[derive(Clone, Debug)]
struct Likelihood {
    snrs: [f64; 2],
    table: Vec<f64>,
}

impl Likelihood {
    /// Entries of the table for a unit of z: linear interpolation is right to ρ²/8 of the square of their distance.
    const DENSITY: f64 = 256.0;
    /// Largest z of the table.
    const LAST: f64 = 40.0;

    fn new(snrs: [f64; 2]) -> Self {
        let entries = (Self::LAST * Self::DENSITY) as usize + 2;
        Self { snrs, table: (0..entries).map(|i| averaged(snrs, i as f64 / Self::DENSITY)).collect() }
    }

    fn log_mean(&self, z: f64) -> f64 {
        let place = z * Self::DENSITY;
        let i = place as usize;
        match self.table.get(i..i + 2) {
            Some(&[low, high]) => low + (place - i as f64) * (high - low),
            _ => averaged(self.snrs, z),
        }
    }
}

/// ln of the mean of I₀(ρz) exp(-ρ²/2) over ρ uniform in `low` to `high`, by Simpson's rule.
fn averaged([low, high]: [f64; 2], z: f64) -> f64 {
    const INTERVALS: usize = 1000;
    let logarithm = |rho: f64| ln_bessel(rho * z) - 0.5 * rho * rho;
    if low == high {
        return logarithm(low);
    }
    // Near ρ = z the integrand has its peak, of width 1.
    let top = logarithm(z.clamp(low, high));
    let sum: f64 = (0..=INTERVALS)
        .map(|i| {
            let weight = if i == 0 || i == INTERVALS { 1.0 } else { 2.0 + 2.0 * (i % 2) as f64 };
            weight * (logarithm(low + (high - low) * i as f64 / INTERVALS as f64) - top).exp()
        })
        .sum();
    top + (sum / (3 * INTERVALS) as f64).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_over_snrs_is_the_integral() {
        // A fine midpoint sum.
        let (low, high, parts) = (5.0, 15.0, 200_000);
        for z in [0.0, 0.3, 4.0, 9.5, 19.0, 45.0] {
            let terms = (0..parts).map(|i| low + (high - low) * (f64::from(i) + 0.5) / f64::from(parts));
            let logarithms: Vec<f64> = terms.map(|rho| ln_bessel(rho * z) - 0.5 * rho * rho).collect();
            let top = logarithms.iter().fold(f64::MIN, |m: f64, x| m.max(*x));
            let exact = top + (logarithms.iter().map(|x| (x - top).exp()).sum::<f64>() / f64::from(parts)).ln();
            assert!((averaged([low, high], z) - exact).abs() < 1e-4, "{z}: {} {exact}", averaged([low, high], z));
            assert!((Likelihood::new([low, high]).log_mean(z + 0.001) - averaged([low, high], z + 0.001)).abs() < 1e-3);
        }
        assert_eq!(averaged([4.5, 4.5], 3.0), ln_bessel(13.5) - 0.5 * 4.5 * 4.5);
    }
}
