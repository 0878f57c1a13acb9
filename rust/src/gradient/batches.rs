//! Runs of row numbers.

/// The batches of an epoch, or the tiles of a batch: of `size` rows each but the last. A single row that is left over joins
/// the batch before it where one is not taken alone, as batch normalisation does not in training.
pub struct Batches<'a> {
    order: &'a [u32],
    size: usize,
    takes_one: bool,
}

impl<'a> Batches<'a> {
    /// Of `order`.
    pub fn new(order: &'a [u32], size: usize, takes_one: bool) -> Self {
        Batches { order, size, takes_one }
    }

    /// Batches that there will be.
    pub fn count(rows: usize, size: usize, takes_one: bool) -> usize {
        let one_joins = !takes_one && rows > size && rows % size == 1;
        if one_joins { rows / size } else { rows.div_ceil(size) }
    }
}

impl<'a> Iterator for Batches<'a> {
    type Item = &'a [u32];

    fn next(&mut self) -> Option<&'a [u32]> {
        let one_joins = !self.takes_one && self.order.len() == self.size + 1;
        let (batch, rest) = self.order.split_at_checked(self.size).filter(|_| !one_joins).unwrap_or((self.order, &[]));
        self.order = rest;
        (!batch.is_empty()).then_some(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_one_batch_and_none_is_alone_that_must_not_be() {
        let order: Vec<u32> = (0..40).collect();
        for (rows, size, takes_one) in (0..40).flat_map(|rows| [(rows, 4, true), (rows, 4, false), (rows, 40, false)]) {
            let batches: Vec<&[u32]> = Batches::new(&order[..rows], size, takes_one).collect();
            assert_eq!(batches.concat(), order[..rows]);
            assert_eq!(batches.len(), Batches::count(rows, size, takes_one), "{rows} in {size}");
            assert!(takes_one || rows == 1 || batches.iter().all(|batch| batch.len() > 1), "{rows} in {size}");
        }
    }
}
