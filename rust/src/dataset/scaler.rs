//! Standardisation of features and of the targets of a regression: learned on the training part, kept in the model.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::kernels::Scalar;

/// Rows whose sums are made in one go; fixed, so that the result does not depend on the number of threads.
const BLOCK: usize = 4096;

/// `(x - mean) * inverse`, column by column: of features, or of the targets of a regression.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaler {
    /// Mean of each column.
    pub mean: Vec<f32>,
    /// Reciprocal of each column's standard deviation; 1 where that is 0.
    pub inverse: Vec<f32>,
}

impl Scaler {
    /// From means and standard deviations, which must be finite, and the latter positive, as float32.
    pub fn new(mean: &[f64], deviation: &[f64]) -> Result<Self> {
        if mean.len() != deviation.len() {
            return Err(Error::invalid(
                format!("a scaler of {} means and {} deviations", mean.len(), deviation.len()),
                "give one of each for a column",
            ));
        }
        let to_floats = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value as f32).collect::<Vec<_>>();
        let scaler = Scaler {
            mean: to_floats(&mut mean.iter().copied()),
            inverse: to_floats(&mut deviation.iter().map(|d| d.recip())),
        };
        let fits = |column: &usize| {
            let (mean, inverse) = (scaler.mean[*column], scaler.inverse[*column]);
            mean.is_finite() && inverse.is_normal() && inverse > 0.0
        };
        match (0..mean.len()).find(|column| !fits(column)) {
            None => Ok(scaler),
            Some(column) => Err(Error::invalid(
                format!("mean {} and deviation {} of column {column}", mean[column], deviation[column]),
                "both must be finite as float32, and the deviation must be positive",
            )),
        }
    }

    /// Standard deviation of each column, such that [`new`](Self::new) makes the same scaler of it.
    pub fn deviation(&self) -> impl Iterator<Item = f64> {
        self.inverse.iter().map(|inverse| f64::from(*inverse).recip())
    }

    /// `value` of `column`, standardised.
    pub fn apply(&self, column: usize, value: f32) -> f64 {
        (f64::from(value) - f64::from(self.mean[column])) * f64::from(self.inverse[column])
    }

    /// One row, or several, of `from` [_, columns], standardised into `to`.
    pub fn standardise<T: Scalar>(&self, from: &[f32], to: &mut [T]) {
        let width = self.mean.len().max(1);
        for (from, to) in from.chunks(width).zip(to.chunks_mut(width)) {
            for ((to, x), (mean, inverse)) in to.iter_mut().zip(from).zip(self.mean.iter().zip(&self.inverse)) {
                *to = T::from_f64(f64::from((x - mean) * inverse));
            }
        }
    }

    /// Undoes the standardisation of `rows` [_, columns].
    pub fn undo(&self, rows: &mut [f32]) {
        for row in rows.chunks_mut(self.mean.len().max(1)) {
            for ((value, mean), inverse) in row.iter_mut().zip(&self.mean).zip(&self.inverse) {
                *value = *value / inverse + mean;
            }
        }
    }

    /// A scaler that leaves `width` columns unchanged.
    pub fn identity(width: usize) -> Self {
        Scaler { mean: vec![0.0; width], inverse: vec![1.0; width] }
    }

    /// Makes it leave these columns unchanged.
    pub fn without(mut self, columns: &[bool]) -> Self {
        let own = self.mean.iter_mut().zip(&mut self.inverse).zip(columns);
        own.filter(|(_, is_left)| **is_left).for_each(|((mean, inverse), _)| (*mean, *inverse) = (0.0, 1.0));
        self
    }

    /// Makes it scale by the root mean squares, without a shift.
    pub fn without_shift(mut self) -> Self {
        for (mean, inverse) in self.mean.iter_mut().zip(&mut self.inverse) {
            let deviation = f64::from(*inverse).recip();
            *inverse = deviation.hypot(f64::from(*mean)).recip() as f32;
            *mean = 0.0;
        }
        self
    }

    /// Mean and standard deviation (of the population) of the given rows of `features` [_, width], in float64 and two
    /// passes: sums of squares about 0 lose every digit of a narrow peak far from 0.
    pub fn learn(features: &[f32], width: usize, rows: &[u32]) -> Self {
        Self::learn_in_parts(features, width, rows, rows.len(), &[], &|_| ())
    }

    /// The same from `count` rows, if others hold the rest; `total` adds their numbers to ours. For each column `masks` may
    /// name another one: then only the rows count that have a 1 there.
    pub fn learn_in_parts(
        features: &[f32],
        width: usize,
        rows: &[u32],
        count: usize,
        masks: &[Option<usize>],
        total: &dyn Fn(&mut [f64]),
    ) -> Self {
        let mut counts = vec![count.max(1) as f64; width];
        if masks.iter().any(Option::is_some) {
            let ones = vec![1.0; width];
            let is_shown = |_: usize, _: f64| 1.0;
            let mut shown = shown_means(features, width, rows, &ones, masks, is_shown);
            total(&mut shown);
            let masked = counts.iter_mut().zip(shown).zip(masks).filter(|(_, mask)| mask.is_some());
            masked.for_each(|((count, shown), _)| *count = shown.max(1.0));
        }
        let mut mean = shown_means(features, width, rows, &counts, masks, |_, x| x);
        total(&mut mean);
        let square = |column: usize, x: f64| (x - mean[column]).powi(2);
        let mut variance = shown_means(features, width, rows, &counts, masks, square);
        total(&mut variance);
        let inverse = |variance: &f64| match variance.sqrt() as f32 {
            deviation if deviation.is_normal() => deviation.recip(),
            _ => 1.0,
        };
        Scaler { mean: mean.iter().map(|&mean| mean as f32).collect(), inverse: variance.iter().map(inverse).collect() }
    }
}

/// Sums over those of `rows` whose mask is not 0 of `term(column, value)`, over the column's count.
fn shown_means(
    features: &[f32],
    width: usize,
    rows: &[u32],
    counts: &[f64],
    masks: &[Option<usize>],
    term: impl Fn(usize, f64) -> f64 + Sync,
) -> Vec<f64> {
    if masks.iter().all(Option::is_none) {
        return column_means(features, width, rows, counts, |_, column, x| term(column, x));
    }
    column_means(features, width, rows, counts, |row, column, x| match masks[column] {
        Some(mask) if row[mask] == 0.0 => 0.0,
        _ => term(column, x),
    })
}

/// Sums over `rows` of `term(row, column, value)`, over the column's count.
fn column_means(
    features: &[f32],
    width: usize,
    rows: &[u32],
    counts: &[f64],
    term: impl Fn(&[f32], usize, f64) -> f64 + Sync,
) -> Vec<f64> {
    let block_sums = |block: &[u32]| {
        let mut sums = vec![0.0; width];
        for &row in block {
            let values = &features[row as usize * width..][..width];
            for (column, (sum, &value)) in sums.iter_mut().zip(values).enumerate() {
                *sum += term(values, column, f64::from(value));
            }
        }
        sums
    };
    let blocks: Vec<Vec<f64>> = rows.par_chunks(BLOCK).map(block_sums).collect();
    let mut means = vec![0.0; width];
    for block in blocks {
        means.iter_mut().zip(block).zip(counts).for_each(|((mean, sum), count)| *mean += sum / count);
    }
    means
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_peak_far_from_zero_keeps_its_width() {
        let features: Vec<f32> = (0..10_000).flat_map(|row| [1e6 + (row % 2) as f32, 3.0]).collect();
        let rows: Vec<u32> = (0..10_000).collect();
        let scaler = Scaler::learn(&features, 2, &rows);
        assert!((scaler.mean[0] - 1_000_000.5).abs() < 0.1);
        assert!((scaler.inverse[0] - 2.0).abs() < 1e-4);
        assert_eq!((scaler.mean[1], scaler.inverse[1]), (3.0, 1.0));
    }

    #[test]
    fn parts_of_the_rows_make_the_scaler_of_all() {
        let features: Vec<f32> = (0..3000).map(|i| 1e4 + (i as f32 * 0.37).sin()).collect();
        let rows: Vec<u32> = (0..1000).collect();
        let whole = Scaler::learn(&features, 3, &rows);
        let (first, second) = rows.split_at(300);
        // What the other part adds: to the means, then to the variances about the mean of all.
        let mean = column_means(&features, 3, &rows, &[1000.0; 3], |_, _, x| x);
        let means = column_means(&features, 3, second, &[1000.0; 3], |_, _, x| x);
        let variances = column_means(&features, 3, second, &[1000.0; 3], |_, column, x| (x - mean[column]).powi(2));
        let others = std::cell::RefCell::new(vec![variances, means]);
        let add = |numbers: &mut [f64]| {
            let others = others.borrow_mut().pop().unwrap();
            numbers.iter_mut().zip(others).for_each(|(number, other)| *number += other);
        };
        let joined = Scaler::learn_in_parts(&features, 3, first, 1000, &[], &add);
        for (a, b) in joined.mean.iter().chain(&joined.inverse).zip(whole.mean.iter().chain(&whole.inverse)) {
            assert!((a / b - 1.0).abs() < 1e-6, "{joined:?} instead of {whole:?}");
        }
    }

    #[test]
    fn masked_values_do_not_count() {
        // Two elements of a list with their masks, and a number of which a masked element says nothing.
        let features = [[5.0, 7.0, 1.0, 1.0, 2.0], [9.0, -999.0, 1.0, 0.0, 4.0], [-999.0, -999.0, 0.0, 0.0, 6.0]];
        let masks = [Some(2), Some(3), None, None, None];
        let rows: Vec<u32> = (0..3).collect();
        let scaler = Scaler::learn_in_parts(features.as_flattened(), 5, &rows, 3, &masks, &|_| ());
        assert_eq!((scaler.mean[0], scaler.inverse[0]), (7.0, 0.5));
        assert_eq!((scaler.mean[1], scaler.inverse[1]), (7.0, 1.0), "a single value");
        assert_eq!(scaler.mean[4], 4.0);
        let none = Scaler::learn_in_parts(features.as_flattened(), 5, &rows[2..], 1, &masks, &|_| ());
        assert_eq!((none.mean[0], none.inverse[0]), (0.0, 1.0), "no value");
    }

    #[test]
    fn targets_may_be_scaled_without_a_shift() {
        let scaler = Scaler::learn(&[1.0, 7.0], 1, &[0, 1]).without_shift();
        assert_eq!((scaler.mean[0], scaler.inverse[0]), (0.0, 0.2));
    }

    #[test]
    fn deviations_make_the_scaler_they_came_from() {
        use rand::{RngExt, SeedableRng};
        let mut generator = rand_chacha::ChaCha8Rng::seed_from_u64(2);
        let inverse: Vec<f32> = (0..10_000).map(|_| 10_f32.powf(generator.random::<f32>() * 60.0 - 30.0)).collect();
        let scaler = Scaler { mean: inverse.iter().map(|inverse| -inverse).collect(), inverse };
        let mean: Vec<f64> = scaler.mean.iter().copied().map(f64::from).collect();
        assert_eq!(Scaler::new(&mean, &scaler.deviation().collect::<Vec<_>>()).unwrap(), scaler);
    }

    #[test]
    fn what_was_standardised_comes_back() {
        let scaler = Scaler::new(&[1e6, -3.0], &[250.0, 1e-4]).unwrap();
        let row = [1_000_321.0, -3.000_21];
        let mut standardised = [0, 1].map(|column| scaler.apply(column, row[column]) as f32);
        scaler.undo(&mut standardised);
        assert!(standardised.iter().zip(row).all(|(back, value)| (back / value - 1.0).abs() < 1e-6));
    }

    #[test]
    fn means_and_deviations_that_scale_nothing_are_refused() {
        for (mean, deviation) in [
            (0.0, 0.0),
            (0.0, -1.0),
            (0.0, f64::NAN),
            (0.0, f64::INFINITY),
            (0.0, 1e39),
            (0.0, 1e-39),
            (f64::NAN, 1.0),
            (1e39, 1.0),
        ] {
            let error = Scaler::new(&[0.0, mean], &[1.0, deviation]).unwrap_err().to_string();
            assert!(error.contains("column 1"), "{error}");
        }
        assert!(Scaler::new(&[0.0], &[]).is_err());
    }
}
