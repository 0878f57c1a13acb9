//! What training begins with.

use std::ops::Range;

/// The start of a network in training.
#[derive(Clone, Copy, Debug, Default)]
pub struct Start<'a> {
    /// The flat parameter vector.
    pub parameters: &'a [f32],
    /// The flat vector of running statistics.
    pub state: &'a [f32],
    /// Seeds dropout.
    pub seed: u64,
    /// Frozen parameters, disjoint and in order.
    pub frozen: &'a [Range<usize>],
}
