//! Several networks that train on one GPU at once.

use super::super::gpu::Gpu;
use super::stepwise::EVALUATED_ROWS;
use crate::graph::Module;

/// Multiprocessors that each network has at least. As clusters do not fill a GPU, it uses fewer then.
const FEWEST_MULTIPROCESSORS: usize = 16;
/// Bytes that a network needs beside its numbers: kernels, what the driver keeps of each, and room for the sums of cuBLASLt in a few
/// sizes of batches.
const ASIDE: usize = 256 << 20;

/// How several fits share a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// Equal parts of its multiprocessors, one for each fit that runs. It depends on the GPU, the number of fits and their size alone, as
    /// the order of sums depends on it.
    pub parts: usize,
    /// Fits that run at once.
    pub at_once: usize,
}

impl Sharing {
    /// One fit after another, each with the whole GPU.
    pub const ALONE: Sharing = Sharing { parts: 1, at_once: 1 };

    /// So many fits, each of which needs these bytes of memory.
    pub fn new(gpu: &Gpu, fits: usize, bytes: usize) -> Self {
        let [unused, all] = gpu.bytes().unwrap_or_default().map(|memory| memory / bytes.saturating_add(ASIDE));
        let parts = fits.min(gpu.limits().multiprocessors / FEWEST_MULTIPROCESSORS).min(all).max(1);
        Sharing { parts, at_once: parts.min(unused).max(1) }
    }
}

/// About how many bytes of a GPU a fit in batches of `batch` rows to `rows` rows of so many features, targets and weights needs.
pub fn bytes_of_fit(module: &Module, batch: usize, rows: usize, width: usize) -> usize {
    // Two sizes of batches in training, and three in evaluation.
    let values = module.cost().numbers.saturating_mul(4 * batch.min(rows) + 3 * EVALUATED_ROWS);
    // Parameters, gradient and moments; features and two orders.
    let numbers = values.saturating_add(module.parameters() * 4).saturating_add(rows.saturating_mul(width + 2));
    numbers.saturating_mul(size_of::<f32>())
}
