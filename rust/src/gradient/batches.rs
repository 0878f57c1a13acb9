//! Runs of rows: the batches of an epoch, or the tiles of a batch, of `size` rows each but the last. A single row that is
//! left over joins those before it where one is not taken alone, as batch normalisation does not in training.

use std::ops::Range;

/// How many runs there are.
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
