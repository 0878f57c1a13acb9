//! Power against time and frequency.

use rayon::prelude::*;
use realfft::num_complex::Complex;

use super::welch::periodogram;
use super::window::{Window, window};
use super::{check, fourier};
use crate::error::{Error, Result};
use crate::interrupt;

/// Most numbers of a map, 1 GiB.
const MAX_CELLS: usize = 1 << 27;

/// A map, and the grid it is on.
#[derive(Clone, Debug)]
pub struct TimeFrequency {
    /// Middle of each column, s after the first sample, evenly spaced.
    pub times: Vec<f64>,
    /// Hz, rising.
    pub frequencies: Vec<f64>,
    /// [frequencies, times], row-major.
    pub values: Vec<f64>,
}

/// Short-time spectra: the one-sided density (1/Hz) of Hann-windowed segments of `segment` samples every `stride` samples,
/// at segment/2 + 1 frequencies.
pub fn spectrogram(strain: &[f64], rate: f64, segment: usize, stride: usize) -> Result<TimeFrequency> {
    check::samples("segment of the spectrogram", segment)?;
    check::positive("sampling rate (Hz)", rate)?;
    if strain.len() < segment {
        return Err(Error::invalid(
            format!("strain has {} samples, the spectrogram's segment {segment}", strain.len()),
            "give more strain or shorter segments",
        ));
    }
    check::count("stride of the spectrogram (samples)", stride, 1, segment)?;
    check::finite("strain", strain)?;
    let (bins, columns) = (segment / 2 + 1, (strain.len() - segment) / stride + 1);
    check_cells(bins, columns)?;

    let window = window(Window::Hann, segment)?;
    let column = |i: usize| periodogram(&strain[i * stride..i * stride + segment], &window, rate);
    let spectra = (0..columns).into_par_iter().map(column).collect::<Result<Vec<_>>>()?;
    let values: Vec<f64> = (0..bins).flat_map(|k| spectra.iter().map(move |spectrum| spectrum[k])).collect();
    check::finite("spectrogram", &values)?;
    Ok(TimeFrequency {
        times: (0..columns).map(|i| (i * stride) as f64 / rate + 0.5 * segment as f64 / rate).collect(),
        frequencies: (0..bins).map(|k| k as f64 * rate / segment as f64).collect(),
        values,
    })
}

/// The resolution of a Q-transform.
#[derive(Clone, Copy, Debug)]
pub struct QPlane {
    /// Quality Q of the tiles, a frequency over its bandwidth.
    pub quality: f64,
    /// Lowest frequency, Hz.
    pub low: f64,
    /// Highest frequency, Hz.
    pub high: f64,
    /// Frequencies, evenly spaced in the logarithm.
    pub frequencies: usize,
    /// Times, evenly spaced over the window: an even number, or 0 for the power of two that the highest frequency needs.
    pub times: usize,
}

/// The normalised energy of the Q-transform of a `whitened` series ([n], variance 1).
///
/// Each frequency is filtered by a bisquare window (1 - x²)² of half width f √11 / Q; in white Gaussian noise the energy is
/// exponential with mean 1. The series is taken as periodic. Source: S. Chatterji et al., Class. Quantum Grav. 21 (2004)
/// S1809.
pub fn q_transform(whitened: &[f64], rate: f64, plane: QPlane) -> Result<TimeFrequency> {
    let samples = whitened.len();
    check::samples("whitened series", samples)?;
    check::positive("sampling rate (Hz)", rate)?;
    check::finite("whitened series", whitened)?;
    let plane = with_times(samples, rate, plane);
    check_plane(samples, rate, plane)?;

    let last = (plane.frequencies - 1).max(1) as f64;
    let frequencies: Vec<f64> =
        (0..plane.frequencies).map(|i| plane.low * (plane.high / plane.low).powf(i as f64 / last)).collect();
    let spectrum = fourier::forward(whitened.to_vec())?;
    let row = |f: &f64| energies(&spectrum, samples as f64 * f / rate, plane);
    let rows = frequencies.par_iter().map(row).collect::<Result<Vec<_>>>()?;
    let values = rows.concat();
    check::finite("Q-transform", &values)?;
    let step = samples as f64 / rate / plane.times as f64;
    Ok(TimeFrequency { times: (0..plane.times).map(|m| m as f64 * step).collect(), frequencies, values })
}

/// Half width of the window around bin `centre`.
fn half_width(centre: f64, quality: f64) -> f64 {
    centre * 11f64.sqrt() / quality
}

fn energies(spectrum: &[Complex<f64>], centre: f64, plane: QPlane) -> Result<Vec<f64>> {
    interrupt::check("the Q-transform")?;
    let half = half_width(centre, plane.quality);
    let (first, last) = ((centre - half).ceil().max(1.0) as usize, (centre + half).floor() as usize);
    let mut band = vec![Complex::default(); plane.times];
    let mut power = 0.0;
    for (k, bin) in spectrum.iter().enumerate().take(last.min(spectrum.len() - 2) + 1).skip(first) {
        let weight = (1.0 - ((k as f64 - centre) / half).powi(2)).powi(2);
        // Moved down in frequency: the modulus does not change, and few times carry the band.
        band[k % plane.times] += bin * weight;
        power += weight * weight;
    }
    // E|X_k|² is n in white noise; the inverse transform divides by the number of times.
    let samples = 2 * (spectrum.len() - 1);
    let scale = (plane.times as f64).powi(2) / (samples as f64 * power);
    Ok(fourier::complex_inverse(&band)?.iter().map(|z| scale * z.norm_sqr()).collect())
}

/// Bins of the widest band.
fn widest(samples: usize, rate: f64, plane: QPlane) -> f64 {
    2.0 * half_width(samples as f64 * plane.high / rate, plane.quality) + 1.0
}

fn with_times(samples: usize, rate: f64, plane: QPlane) -> QPlane {
    let needed = widest(samples, rate, plane).clamp(4.0, samples as f64) as usize + 1;
    let times = if plane.times == 0 { needed.next_power_of_two().min(samples) } else { plane.times };
    QPlane { times, ..plane }
}

fn check_plane(samples: usize, rate: f64, plane: QPlane) -> Result<()> {
    let QPlane { quality, low, high, frequencies, times } = plane;
    check::within("quality of the Q-transform", quality, 11f64.sqrt(), 1000.0)?;
    check::positive("lowest frequency (Hz)", low)?;
    if low > high {
        return Err(Error::invalid(
            format!("frequencies of the Q-transform from {low} to {high} Hz"),
            "give the lowest one first, and the highest one after it",
        ));
    }
    check::within("highest frequency (Hz)", high, low, 0.5 * rate / (1.0 + 11f64.sqrt() / quality))?;
    check::samples("time axis of the Q-transform", times)?;
    check::count("number of frequencies", frequencies, 1, MAX_CELLS)?;
    check_cells(frequencies, times)?;
    let widest = widest(samples, rate, plane);
    if times > samples || (times as f64) < widest {
        return Err(Error::invalid(
            format!("{times} times do not resolve the band of {high} Hz in a window of {samples} samples"),
            format!("give an even number of times from {} to {samples}", 2 * (0.5 * widest).ceil() as usize),
        ));
    }
    let narrowest = half_width(samples as f64 * low / rate, quality);
    if narrowest < 1.0 {
        return Err(Error::invalid(
            format!("the band of {low} Hz is narrower than the resolution of the window"),
            "give a higher lowest frequency, a smaller quality or a longer window",
        ));
    }
    Ok(())
}

fn check_cells(rows: usize, columns: usize) -> Result<()> {
    if rows.checked_mul(columns).is_some_and(|cells| cells <= MAX_CELLS) {
        return Ok(());
    }
    Err(Error::invalid(format!("the map has {rows} frequencies x {columns} times"), "give fewer"))
}
