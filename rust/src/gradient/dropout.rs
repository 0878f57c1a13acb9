//! Random factors of dropout: a function of seed, step, tile and place alone, so that they are the same for any number
//! of threads.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::kernels::Scalar;

/// No tile draws two to the power of that many numbers.
const TILE_BITS: u32 = 40;

/// Numbers that are drawn in one go.
const DRAWN: usize = 1 << 14;

/// Where the next factors are.
pub struct DropoutFactors {
    generator: ChaCha8Rng,
    place: u128,
}

impl DropoutFactors {
    /// The factors of tile number `tile` of step number `step` of a fit.
    pub fn new(seed: u64, step: u64, tile: u64) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        // The stream behind those of the shuffles, one for each epoch.
        generator.set_stream((1 << 63) + step);
        DropoutFactors { generator, place: u128::from(tile) << TILE_BITS }
    }

    /// Each of `factors` is 1 / keep with the probability `keep`, else 0.
    pub fn draw<T: Scalar>(&mut self, keep: f64, factors: &mut [T]) {
        let (DropoutFactors { generator, place }, count) = (&*self, factors.len());
        let (threshold, kept) = (threshold(keep), T::from_f64(keep.recip()));
        factors.par_chunks_mut(DRAWN).enumerate().for_each(|(index, part)| {
            let mut generator = generator.clone();
            generator.set_word_pos(*place + (index * DRAWN) as u128);
            for factor in part {
                *factor = if u64::from(generator.next_u32()) < threshold { kept } else { T::default() };
            }
        });
        self.place += count as u128;
    }
}

/// A factor is kept where its 32 random bits are below this number.
pub fn threshold(keep: f64) -> u64 {
    (keep * 4_294_967_296.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(seed: u64, step: u64, keep: f64, count: usize) -> Vec<f32> {
        let mut factors = vec![f32::NAN; count];
        DropoutFactors::new(seed, step, 0).draw(keep, &mut factors);
        factors
    }

    #[test]
    fn factors_are_kept_with_the_probability_and_average_to_one() {
        for keep in [0.1, 0.5, 0.9] {
            let count = 200_000;
            let factors = drawn(3, 7, keep, count);
            assert!(factors.iter().all(|&f| f == 0.0 || (f64::from(f) * keep - 1.0).abs() < 1e-6), "{keep}");
            let share = factors.iter().filter(|&&f| f > 0.0).count() as f64 / count as f64;
            let deviation = (share - keep) / (keep * (1.0 - keep) / count as f64).sqrt();
            assert!(deviation.abs() < 5.0, "{keep}: {deviation} standard errors");
        }
    }

    #[test]
    fn seed_step_and_place_decide() {
        let first = drawn(1, 1, 0.5, 3 * DRAWN + 5);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        assert_eq!(pool.install(|| drawn(1, 1, 0.5, 3 * DRAWN + 5)), first);
        assert_ne!(drawn(2, 1, 0.5, DRAWN), first[..DRAWN]);
        assert_ne!(drawn(1, 2, 0.5, DRAWN), first[..DRAWN]);
        assert_ne!(first[..DRAWN], first[DRAWN..2 * DRAWN]);
        let (mut all, mut parts) = (DropoutFactors::new(1, 1, 0), vec![0.0f32; DRAWN + 9]);
        let (head, tail) = parts.split_at_mut(77);
        all.draw(0.5, head);
        all.draw(0.5, tail);
        assert_eq!(parts, first[..DRAWN + 9]);
        DropoutFactors::new(1, 1, 1).draw(0.5, &mut parts);
        assert_ne!(parts, first[..DRAWN + 9]);
    }
}
