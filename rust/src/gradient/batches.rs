//! Runs of rows: the batches of an epoch, or the tiles of a batch, of `size` rows each but the last. A single row that
//! is left over joins those before it if the network does not take one row alone, as with batch normalisation in
//! training.

use std::ops::Range;

/// Number of runs.
pub fn count(rows: usize, size: usize, takes_one: bool) -> usize {
    let one_joins = !takes_one && rows > size && rows % size == 1;
    if one_joins { rows / size } else { rows.div_ceil(size) }
}

/// The rows of each run.
pub fn ranges(rows: usize, size: usize, takes_one: bool) -> impl Iterator<Item = Range<usize>> {
    let count = count(rows, size, takes_one);
    (0..count).map(move |index| index * size..if index + 1 == count { rows } else { (index + 1) * size })
}

/// The row numbers of each run.
pub fn batches(order: &[u32], size: usize, takes_one: bool) -> impl Iterator<Item = &[u32]> {
    ranges(order.len(), size, takes_one).map(|range| &order[range])
}

/// Whether results of the same events, from other places in a batch, differ by more than rounding.
pub fn differ(results: &[f32], of_moved: &[f32]) -> bool {
    differ_beyond(0.0, results, of_moved)
}

/// The same, where rounding may be as large as `least` however small the results are.
pub fn differ_beyond(least: f32, results: &[f32], of_moved: &[f32]) -> bool {
    const TOLERANCE: f32 = 1e-3; // relative to the largest result
    let finite = results.iter().filter(|result| result.is_finite());
    let largest = finite.fold(0.0, |largest: f32, result| largest.max(result.abs()));
    let same = |a: f32, b: f32| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= TOLERANCE * largest + least;
    results.iter().zip(of_moved).any(|(&a, &b)| !same(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_one_batch_and_none_is_alone_that_must_not_be() {
        let order: Vec<u32> = (0..40).collect();
        for (rows, size, takes_one) in (0..40).flat_map(|rows| [(rows, 4, true), (rows, 4, false), (rows, 40, false)]) {
            let batches: Vec<&[u32]> = batches(&order[..rows], size, takes_one).collect();
            assert_eq!(batches.concat(), order[..rows]);
            assert_eq!(batches.len(), count(rows, size, takes_one), "{rows} in {size}");
            assert!(takes_one || rows == 1 || batches.iter().all(|batch| batch.len() > 1), "{rows} in {size}");
            assert!(batches.iter().rev().skip(1).all(|batch| batch.len() == size), "{rows} in {size}");
        }
    }
}
