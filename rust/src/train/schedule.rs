//! The learning rate at each step.

use super::Options;
use crate::graph::Schedule;

/// Where a step is in a fit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Epochs that have ended.
    pub epoch: u32,
}

/// The rates of a fit.
pub(super) struct Rates {
    schedule: Schedule,
    learning_rate: f64,
    epochs: u32,
}

impl Rates {
    /// Of a fit with these options.
    pub fn new(options: &Options) -> Self {
        let &Options { schedule, learning_rate, epochs, .. } = options;
        Rates { schedule, learning_rate, epochs }
    }

    /// The step size at `place`.
    pub fn at(&self, place: Place) -> f64 {
        self.learning_rate
            * match self.schedule {
                Schedule::Constant => 1.0,
                Schedule::Cosine => {
                    let done = f64::from(place.epoch) / f64::from(self.epochs.max(1));
                    0.5 * (1.0 + (std::f64::consts::PI * done.min(1.0)).cos())
                }
            }
    }
}
