//! Seeded splits and shuffles of row numbers.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::error::{Error, Result};

/// Splits `rows` rows at random into a first part of the share `first` and the rest; each part in rising order, so
/// that memory is read in order. The same seed gives the same parts on every machine.
pub fn split(rows: usize, first: f64, seed: u64) -> Result<(Vec<u32>, Vec<u32>)> {
    if !(0.0..=1.0).contains(&first) {
        return Err(Error::invalid(format!("a share of {first}"), "give a share from 0 to 1"));
    }
    let count = u32::try_from(rows)
        .map_err(|_| Error::invalid(format!("{rows} events"), "at most 2^32 - 1 fit one dataset; split it"))?;
    let mut head: Vec<u32> = (0..count).collect();
    shuffle(&mut head, seed, 0);
    let mut tail = head.split_off((rows as f64 * first).round() as usize);
    head.sort_unstable();
    tail.sort_unstable();
    Ok((head, tail))
}

/// Shuffles `rows` in place; `round` gives each epoch its own order under one seed.
pub fn shuffle<T>(rows: &mut [T], seed: u64, round: u64) {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    generator.set_stream(round);
    rows.shuffle(&mut generator);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_outside_0_to_1_are_refused() {
        for share in [-0.1, 1.1, f64::NAN] {
            assert!(split(10, share, 1).is_err());
        }
        assert_eq!(split(10, 1.0, 1).unwrap().1.len(), 0);
    }

    #[test]
    fn seeds_and_rounds_give_their_own_order_again_and_again() {
        let order = |seed, round| {
            let mut rows: Vec<u32> = (0..50).collect();
            shuffle(&mut rows, seed, round);
            rows
        };
        assert_eq!(order(1, 2), order(1, 2));
        assert_ne!(order(1, 2), order(1, 3));
        assert_ne!(order(1, 2), order(2, 2));
    }
}
