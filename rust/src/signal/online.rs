//! Whitening of strain that arrives in blocks.

use std::collections::VecDeque;

use super::check;
use super::psd::{interpolate_psd, truncate_inverse};
use super::welch::{median, periodogram};
use super::whitening::{OwnWhitening, whiten};
use super::window::{Window, window};
use crate::error::Result;

/// Strain of one detector in blocks of one length, whitened by the density of what came before.
///
/// A whitened sample is ready once half of the filter has come behind it. The density is the median of Welch's segments over the
/// last `memory` samples, as in [`welch`](super::welch); it is estimated again after every half segment.
pub struct OnlineWhitener {
    rate: f64,
    block: usize,
    how: OwnWhitening,
    window: Vec<f64>,
    /// The last samples, as many as whitening a block takes.
    strain: VecDeque<f64>,
    /// Of the last segments.
    periodograms: VecDeque<Vec<f64>>,
    most_periodograms: usize,
    /// Samples until the next segment ends, then those since it ended with a minus.
    until: isize,
    /// For series of the length of `strain`.
    psd: Option<Vec<f64>>,
}

impl OnlineWhitener {
    /// The memory is in samples; whitening begins once it is full.
    pub fn new(rate: f64, block: usize, memory: usize, how: OwnWhitening) -> Result<Self> {
        check::positive("sampling rate (Hz)", rate)?;
        check::samples("Welch's segment", how.segment)?;
        check::count("length of the whitening filter", how.filter, 2, how.segment)?;
        check::count("length of a block", block, 1, how.segment / 2)?;
        check::count("memory of the density", memory, 2 * how.segment, check::MAX_SAMPLES)?;
        check::within("lowest frequency (Hz)", how.lowest, 0.0, 0.5 * rate)?;
        Ok(OnlineWhitener {
            rate,
            block,
            how,
            window: window(Window::Hann, how.segment)?,
            strain: VecDeque::with_capacity(2 * how.segment),
            periodograms: VecDeque::new(),
            most_periodograms: memory / (how.segment / 2) - 1,
            until: how.segment as isize,
            psd: None,
        })
    }

    /// Samples between the last one of a block and the last whitened one.
    pub fn delay(&self) -> usize {
        self.how.filter / 2
    }

    /// Forgets what came before, where strain is missing.
    pub fn reset(&mut self) {
        self.strain.clear();
        self.periodograms.clear();
        self.until = self.how.segment as isize;
        self.psd = None;
    }

    /// Takes the next block; gives as many whitened samples, [`delay`](Self::delay) earlier, or none while the memory fills.
    pub fn add(&mut self, block: &[f64]) -> Result<Option<Vec<f64>>> {
        check::count("length of a block", block.len(), self.block, self.block)?;
        check::finite("strain", block)?;
        let length = 2 * self.how.segment;
        self.strain.extend(block);
        self.strain.drain(..self.strain.len().saturating_sub(length));
        self.until -= block.len() as isize;
        if self.until <= 0 {
            let ago = self.until.unsigned_abs();
            self.until += (self.how.segment / 2) as isize; // also where the density cannot be used
            self.estimate(ago)?;
        }
        self.whitened()
    }

    /// With the segment that ended `ago` samples ago.
    fn estimate(&mut self, ago: usize) -> Result<()> {
        let end = self.strain.len() - ago;
        let segment: Vec<f64> = self.strain.range(end - self.how.segment..end).copied().collect();
        if self.periodograms.len() == self.most_periodograms {
            self.periodograms.pop_front();
        }
        self.periodograms.push_back(periodogram(&segment, &self.window, self.rate)?);
        if self.periodograms.len() == self.most_periodograms {
            let density = interpolate_psd(&median(self.periodograms.make_contiguous()), 2 * self.how.segment)?;
            self.psd = Some(truncate_inverse(&density, self.rate, self.how.filter, self.how.lowest)?);
        }
        Ok(())
    }

    fn whitened(&mut self) -> Result<Option<Vec<f64>>> {
        let Some(psd) = &self.psd else { return Ok(None) };
        let white = whiten(self.strain.make_contiguous(), psd, self.rate)?;
        let end = white.len() - self.delay();
        Ok(Some(white[end - self.block..end].to_vec()))
    }
}
