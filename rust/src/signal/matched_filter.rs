//! The matched filter: the SNR of a template at every arrival time, and whether what it finds looks like the template.
//!
//! Source: B. Allen et al., FINDCHIRP, Phys. Rev. D 85 (2012) 122006 (gr-qc/0509116); the chi-squared test: B. Allen,
//! Phys. Rev. D 71 (2005) 062001.

use std::f64::consts::TAU;
use std::ops::Range;

use realfft::num_complex::Complex;

use super::{check, fourier};
use crate::error::{Error, Result};

/// A template, whitened and normalised once for many windows of one length.
#[derive(Clone, Debug)]
pub struct MatchedFilter {
    rate: f64,
    /// √(2 / rate S), what whitens: [n/2 + 1].
    whitener: Vec<f64>,
    /// Spectrum of the whitened template of unit norm, its reference at time 0, without first and last bin.
    template: Vec<Complex<f64>>,
}

/// The highest point of an SNR series.
#[derive(Clone, Copy, Debug)]
pub struct Trigger {
    /// Modulus of the matched filter: of noise alone, its square is χ² with two degrees of freedom at any one time.
    pub snr: f64,
    /// Where the template's reference lies, s after the first sample of the strain.
    pub time: f64,
    /// How far the signal's phase is ahead of the template's, rad.
    pub phase: f64,
    /// χ² per degree of freedom: 1 on average where the strain is noise with or without this signal.
    pub chi_squared: f64,
}

impl MatchedFilter {
    /// `template` [n] in noise of density `psd` [n/2 + 1], 1/Hz. `reference` is the time in the template (s after its first
    /// sample) whose arrival is sought, its coalescence for example.
    pub fn new(template: &[f64], psd: &[f64], rate: f64, reference: f64) -> Result<Self> {
        let samples = template.len();
        check::samples("template", samples)?;
        check::positive("sampling rate (Hz)", rate)?;
        check::finite("template", template)?;
        check::psd_for(psd, samples)?;
        check::within("reference time of the template (s)", reference, 0.0, samples as f64 / rate)?;

        let whitener: Vec<f64> = psd.iter().map(|density| (2.0 / (rate * density)).sqrt()).collect();
        let mut spectrum = fourier::forward(template.to_vec())?;
        fourier::drop_ends(&mut spectrum);
        for (k, (bin, white)) in spectrum.iter_mut().zip(&whitener).enumerate() {
            *bin *= Complex::from_polar(*white, TAU * k as f64 * rate / samples as f64 * reference);
        }
        let norm = (2.0 * spectrum.iter().map(|bin| bin.norm_sqr()).sum::<f64>() / samples as f64).sqrt();
        check::finite("norm of the whitened template", &[norm])?;
        if norm == 0.0 {
            return Err(Error::invalid("the template has signal-to-noise ratio 0", "give a template that is not zero"));
        }
        spectrum.iter_mut().for_each(|bin| *bin /= norm);
        Ok(Self { rate, whitener, template: spectrum })
    }

    /// Samples of the windows.
    pub fn samples(&self) -> usize {
        2 * (self.whitener.len() - 1)
    }

    /// Sampling rate, Hz.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// `other` is for windows of the same length, sampling rate and noise.
    pub(super) fn check_same_noise(&self, other: &Self) -> Result<()> {
        if self.rate == other.rate && self.whitener == other.whitener {
            return Ok(());
        }
        Err(Error::invalid(
            format!(
                "the bank has templates for different noise or windows, of {} and {} samples",
                self.samples(),
                other.samples()
            ),
            "give templates of one length, sampling rate and power spectral density",
        ))
    }

    /// The filter's output at each sample as time of the reference, [n]: the real part is the template's own phase, the
    /// imaginary part a quarter turn on. In noise both are normal with variance 1.
    pub fn complex_series(&self, strain: &[f64]) -> Result<Vec<Complex<f64>>> {
        fourier::analytic(self.correlated(strain)?)
    }

    /// The modulus of [`MatchedFilter::complex_series`], [n].
    pub fn series(&self, strain: &[f64]) -> Result<Vec<f64>> {
        Ok(self.complex_series(strain)?.iter().map(|z| z.norm()).collect())
    }

    /// The largest SNR of arrivals in `times` (s), with the chi-squared test over `bands` bands of equal expected SNR.
    pub fn trigger(&self, strain: &[f64], times: Range<f64>, bands: usize) -> Result<Trigger> {
        let samples = self.samples();
        check::count("number of frequency bands", bands, 2, samples / 4)?;
        let within = self.samples_of(times)?;
        let correlated = self.correlated(strain)?;
        let series = fourier::analytic(correlated.clone())?;
        let Some(best) = within.max_by(|a, b| series[*a].norm_sqr().total_cmp(&series[*b].norm_sqr())) else {
            return Err(Error::Internal("a range of times without samples".into()));
        };
        Ok(Trigger {
            snr: series[best].norm(),
            time: best as f64 / self.rate,
            phase: series[best].arg(),
            chi_squared: self.chi_squared(&correlated, best, series[best], bands),
        })
    }

    /// Adds the template with SNR `snr`, its reference at sample `arrival`, to the spectrum of a whitened window.
    pub(super) fn add_to(&self, whitened: &mut [Complex<f64>], snr: f64, arrival: usize, phase: f64) {
        let samples = self.samples();
        for (k, (bin, template)) in whitened.iter_mut().zip(&self.template).enumerate() {
            let turn = TAU * ((k * arrival) % samples) as f64 / samples as f64;
            *bin += template * Complex::from_polar(snr, phase - turn);
        }
    }

    /// The spectrum of a whitened window times the conjugate of the template, [n/2 + 1].
    pub(super) fn correlated_white(&self, whitened: &[Complex<f64>]) -> Vec<Complex<f64>> {
        whitened.iter().zip(&self.template).map(|(bin, template)| bin * template.conj()).collect()
    }

    /// Of a whitened window, every `step`-th sample of [`MatchedFilter::complex_series`]: [n / step], an even number. Bins that so few
    /// samples cannot tell apart are left out: see [`MatchedFilter::power_from`].
    pub(super) fn coarse_series(&self, whitened: &[Complex<f64>], step: usize) -> Result<Vec<Complex<f64>>> {
        let steps = self.samples() / step;
        let mut spectrum = self.correlated_white(whitened);
        // The series has positive frequencies alone: 2 Σ C_k exp(2πi jk/n) / n.
        spectrum.iter_mut().for_each(|bin| *bin *= 2.0 / step as f64);
        spectrum.resize(steps, Complex::default());
        fourier::complex_inverse(&spectrum)
    }

    /// Share of the template's power at `bin` and above.
    pub(super) fn power_from(&self, bin: usize) -> f64 {
        let power = |bins: &[Complex<f64>]| bins.iter().map(Complex::norm_sqr).sum::<f64>();
        power(&self.template[bin.min(self.template.len())..]) / power(&self.template)
    }

    /// The samples from `times.start` to before `times.end` (s), at least one.
    pub fn samples_of(&self, times: Range<f64>) -> Result<Range<usize>> {
        let length = self.samples() as f64 / self.rate;
        check::within("begin of the times (s)", times.start, 0.0, length)?;
        check::within("end of the times (s)", times.end, 0.0, length)?;
        let range = (times.start * self.rate).ceil() as usize..(times.end * self.rate).ceil() as usize;
        if range.is_empty() {
            return Err(Error::invalid(
                format!("no sample lies between {} s and {} s", times.start, times.end),
                "give an end that is later than the begin by a sample or more",
            ));
        }
        Ok(range)
    }

    /// The spectrum of whitened strain, [n/2 + 1].
    pub(super) fn whitened(&self, strain: &[f64]) -> Result<Vec<Complex<f64>>> {
        if strain.len() != self.samples() {
            return Err(Error::invalid(
                format!("strain has {} samples, the template {}", strain.len(), self.samples()),
                "give windows as long as the template",
            ));
        }
        check::finite("strain", strain)?;
        let mut spectrum = fourier::forward(strain.to_vec())?;
        spectrum.iter_mut().zip(&self.whitener).for_each(|(bin, white)| *bin *= white);
        if let Some(k) = spectrum.iter().position(|bin| !bin.is_finite()) {
            return Err(Error::invalid(
                format!("filtered strain is not finite at bin {k}"),
                "give strain and density in units in which float64 does not overflow",
            ));
        }
        Ok(spectrum)
    }

    /// Whitened strain times the conjugate of the template, [n/2 + 1].
    fn correlated(&self, strain: &[f64]) -> Result<Vec<Complex<f64>>> {
        Ok(self.correlated_white(&self.whitened(strain)?))
    }

    /// Σ |z_l - q_l z|² / q_l over the bands, over its 2 (bands - 1) degrees of freedom; q_l is the band's share of the
    /// template's power (Allen's test for bands that the bins of the spectrum make slightly unequal).
    fn chi_squared(&self, correlated: &[Complex<f64>], time: usize, z: Complex<f64>, bands: usize) -> f64 {
        let samples = self.samples();
        let scale = 2.0 / samples as f64;
        let (mut sum, mut used, mut count) = (0.0, 0.0, 0.0);
        let (mut part, mut share) = (Complex::new(0.0, 0.0), 0.0);
        for (k, (bin, template)) in correlated.iter().zip(&self.template).enumerate() {
            // Of large numbers the product would lose digits: a turn is `samples` steps.
            let turn = (k * time) % samples;
            part += scale * bin * Complex::cis(TAU * turn as f64 / samples as f64);
            share += scale * template.norm_sqr();
            let full = used + share >= (count + 1.0) / bands as f64 || k + 1 == correlated.len();
            if full && share > 0.0 {
                sum += (part - share * z).norm_sqr() / share;
                used += share;
                count += 1.0;
                (part, share) = (Complex::new(0.0, 0.0), 0.0);
            }
        }
        sum / (2.0 * (count - 1.0f64).max(1.0))
    }
}
