//! Sums over a batch, by some blocks.

use super::super::writer::Work;

/// Most blocks that give a sum each.
pub const MOST_SUMS: usize = 64;

/// Blocks and threads for so many terms.
pub fn summing(terms: usize) -> [u32; 2] {
    let [blocks, threads] = Work::Alone(terms).grid();
    [blocks.min(MOST_SUMS as u32), threads]
}
