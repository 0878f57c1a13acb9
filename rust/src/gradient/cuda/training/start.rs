//! What training begins with.

use std::ops::Range;
use std::sync::Arc;

use crate::gradient::CustomLoss;

/// The start of a network in training.
#[derive(Clone, Copy, Default)]
pub struct Start<'a> {
    /// The flat parameter vector.
    pub parameters: &'a [f32],
    /// The flat vector of running statistics.
    pub state: &'a [f32],
    /// Seeds dropout.
    pub seed: u64,
    /// Frozen parameters, disjoint and in order.
    pub frozen: &'a [Range<usize>],
    /// Instead of the loss of the settings.
    pub loss: Option<&'a Arc<CustomLoss>>,
}
