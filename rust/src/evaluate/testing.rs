//! Events for the tests of this module.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::Sample;

/// Scores in [0, 1) that overlap, labels of 0 and 1, and weights.
pub struct Events {
    pub scores: Vec<f32>,
    pub labels: Vec<f32>,
    pub weights: Vec<f32>,
}

impl Events {
    /// `steps` different scores, weights from `lowest` to 1.
    pub fn draw(events: usize, seed: u64, steps: f32, lowest: f32) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        let labels: Vec<f32> = (0..events).map(|_| f32::from(u8::from(generator.random::<f32>() < 0.4))).collect();
        let weights = labels.iter().map(|_| lowest + (1.0 - lowest) * generator.random::<f32>()).collect();
        let score = |label: &f32| ((0.7 * generator.random::<f32>() + 0.3 * label) * steps).floor() / steps;
        let scores = labels.iter().map(score).collect();
        Events { scores, labels, weights }
    }

    pub fn sample(&self) -> Sample<'_> {
        Sample::new(&self.scores, &self.labels, &self.weights).unwrap()
    }
}
