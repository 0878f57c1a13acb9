//! A model of windows on strain that arrives in blocks.

use std::collections::VecDeque;

use super::Model;
use crate::error::{Error, Result};
use crate::signal::OnlineWhitener;

/// A frozen model that scores the last window of strain whenever a block comes.
pub struct OnlineSearch {
    model: Model,
    window: usize,
    /// Of each detector.
    whiteners: Vec<OnlineWhitener>,
    /// The last whitened samples of each detector.
    white: Vec<VecDeque<f32>>,
}

impl OnlineSearch {
    /// For events [detectors, samples], one whitener each.
    pub fn new(mut model: Model, whiteners: Vec<OnlineWhitener>) -> Result<Self> {
        let window = super::network_filter::window_of(&model, whiteners.len())?;
        model.freeze();
        let white = whiteners.iter().map(|_| VecDeque::with_capacity(2 * window)).collect();
        Ok(OnlineSearch { model, window, whiteners, white })
    }

    /// Numbers of a score.
    pub fn outputs(&self) -> usize {
        self.model.outputs()
    }

    /// Samples between the end of a block and that of the window that it is scored with.
    pub fn delay(&self) -> usize {
        self.whiteners.first().map_or(0, OnlineWhitener::delay)
    }

    /// Forgets what came before, where strain is missing.
    pub fn reset(&mut self) {
        self.whiteners.iter_mut().for_each(OnlineWhitener::reset);
        self.white.iter_mut().for_each(VecDeque::clear);
    }

    /// Takes the next block of each detector, one after the other. Returns the raw prediction of the last window;
    /// nothing while the whitening or the window fills. After an error it restarts: the detectors would be at different
    /// times.
    pub fn add(&mut self, blocks: &[f64]) -> Result<Vec<f32>> {
        let taken = self.take(blocks);
        if taken.is_err() {
            self.reset();
        }
        taken
    }

    fn take(&mut self, blocks: &[f64]) -> Result<Vec<f32>> {
        let detectors = self.whiteners.len();
        if !blocks.len().is_multiple_of(detectors) {
            return Err(Error::Internal(format!("{} samples for {detectors} detectors", blocks.len())));
        }
        for (index, block) in blocks.chunks(blocks.len() / detectors).enumerate() {
            let Some(white) = self.whiteners[index].add(block).map_err(|e| of_detector(index, e))? else { continue };
            let kept = &mut self.white[index];
            kept.extend(white.iter().map(|&sample| sample as f32));
            kept.drain(..kept.len().saturating_sub(self.window));
        }
        if self.white.iter().any(|kept| kept.len() < self.window) {
            return Ok(Vec::new());
        }
        let features: Vec<f32> = self.white.iter().flatten().copied().collect();
        let mut score = vec![0.0; self.outputs()];
        self.model.score(&features, true, &mut score)?;
        Ok(score)
    }
}

/// Adds the detector `index` to an error about its strain.
fn of_detector(index: usize, error: Error) -> Error {
    match error {
        Error::Invalid { what, remedy } => Error::Invalid { what: format!("detector {index}: {what}"), remedy },
        error => error,
    }
}
