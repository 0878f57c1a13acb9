//! Power spectral densities estimated from strain.
//!
//! Sources: P. D. Welch, IEEE Trans. Audio Electroacoust. 15 (1967) 70; the median and its bias: B. Allen et al., FINDCHIRP,
//! Phys. Rev. D 85 (2012) 122006 (gr-qc/0509116), app. B.

use super::median_bias::{Freedom, median_bias};
use super::window::{Window, window};
use super::{check, fourier};
use crate::error::{Error, Result};
use crate::interrupt;

/// How the periodograms of the segments become one density.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Average {
    /// Least variance in Gaussian noise.
    Mean,
    /// Insensitive to a loud signal or glitch in a few segments, with its bias in Gaussian noise divided out.
    Median,
}

/// Welch's estimate of the one-sided power spectral density, [segment/2 + 1], 1/Hz.
///
/// `strain` is [any length from `segment`]; its windowed segments overlap by half and their periodograms are averaged.
/// No mean is removed.
pub fn welch(strain: &[f64], segment: usize, rate: f64, average: Average, shape: Window) -> Result<Vec<f64>> {
    check::samples("Welch's segment", segment)?;
    check::positive("sampling rate (Hz)", rate)?;
    if strain.len() < segment {
        return Err(Error::invalid(
            format!("strain has {} samples, Welch's segment {segment}", strain.len()),
            "give more strain or shorter segments",
        ));
    }
    check::finite("strain", strain)?;

    let window = window(shape, segment)?;
    let starts = (0..=strain.len() - segment).step_by(segment / 2);
    let periodograms = starts.map(|start| periodogram(&strain[start..start + segment], &window, rate));
    let psd = match average {
        Average::Mean => mean(periodograms, segment / 2 + 1)?,
        Average::Median => median(&periodograms.collect::<Result<Vec<_>>>()?),
    };
    check::finite("Welch's estimate", &psd)?;
    Ok(psd)
}

/// The one-sided density of one windowed segment, [n/2 + 1], 1/Hz.
pub(super) fn periodogram(strain: &[f64], window: &[f64], rate: f64) -> Result<Vec<f64>> {
    interrupt::check("the spectrum")?;
    let power: f64 = window.iter().map(|w| w * w).sum();
    let scale = 2.0 / (rate * power);
    let windowed = strain.iter().zip(window).map(|(x, w)| x * w).collect();
    Ok(fourier::forward(windowed)?.into_iter().map(|bin| scale * bin.norm_sqr()).collect())
}

fn mean(periodograms: impl Iterator<Item = Result<Vec<f64>>>, bins: usize) -> Result<Vec<f64>> {
    let (mut sum, mut count) = (vec![0.0; bins], 0.0);
    for periodogram in periodograms {
        sum.iter_mut().zip(periodogram?).for_each(|(total, one)| *total += one);
        count += 1.0;
    }
    sum.iter_mut().for_each(|total| *total /= count);
    Ok(sum)
}

/// The median over the segments divided by its bias. Half-overlapping segments are correlated, so that the odd and the
/// even ones have a median each; the two are averaged, weighted by their numbers.
pub(super) fn median(periodograms: &[Vec<f64>]) -> Vec<f64> {
    let halves = [0, 1].map(|first| {
        let half: Vec<_> = periodograms.iter().skip(first).step_by(2).collect();
        let biases = [Freedom::One, Freedom::Two].map(|freedom| median_bias(half.len(), freedom));
        (half, biases)
    });
    let last = periodograms[0].len() - 1;
    let of_bin = |k: usize| {
        let parts = halves.iter().map(|(half, [at_ends, between])| {
            let bias = if k == 0 || k == last { at_ends } else { between };
            half.len() as f64 * median_of(half.iter().map(|one| one[k])) / bias
        });
        parts.sum::<f64>() / periodograms.len() as f64
    };
    (0..=last).map(of_bin).collect()
}

/// 0 of no values.
fn median_of(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    let count = sorted.len();
    if count == 0 {
        return 0.0;
    }
    sorted.sort_by(f64::total_cmp);
    0.5 * (sorted[(count - 1) / 2] + sorted[count / 2])
}
