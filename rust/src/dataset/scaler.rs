//! Standardisation of features: learned on the training part, kept in the model.

use rayon::prelude::*;

/// Rows whose sums are made in one go; fixed, so that the result does not depend on the number of threads.
const BLOCK: usize = 4096;

/// `(x - mean) * inverse`, feature by feature.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaler {
    /// Mean of each feature.
    pub mean: Vec<f32>,
    /// Reciprocal of each feature's standard deviation; 1 where that is 0.
    pub inverse: Vec<f32>,
}

impl Scaler {
    /// Leaves `width` features as they are.
    pub fn identity(width: usize) -> Self {
        Scaler { mean: vec![0.0; width], inverse: vec![1.0; width] }
    }

    /// Mean and standard deviation (of the population) of the given rows of `features` [_, width], in float64 and two
    /// passes: sums of squares about 0 lose every digit of a narrow peak far from 0.
    pub fn learn(features: &[f32], width: usize, rows: &[u32]) -> Self {
        let count = rows.len().max(1) as f64;
        let mean = column_means(features, width, rows, count, |_, x| x);
        let variance = column_means(features, width, rows, count, |column, x| (x - mean[column]).powi(2));
        let inverse = |variance: &f64| match variance.sqrt() as f32 {
            deviation if deviation.is_normal() => deviation.recip(),
            _ => 1.0,
        };
        Scaler { mean: mean.iter().map(|&mean| mean as f32).collect(), inverse: variance.iter().map(inverse).collect() }
    }
}

/// Means over `rows` of `term(column, value)`.
fn column_means(
    features: &[f32],
    width: usize,
    rows: &[u32],
    count: f64,
    term: impl Fn(usize, f64) -> f64 + Sync,
) -> Vec<f64> {
    let block_sums = |block: &[u32]| {
        let mut sums = vec![0.0; width];
        for &row in block {
            let values = &features[row as usize * width..][..width];
            for (column, (sum, &value)) in sums.iter_mut().zip(values).enumerate() {
                *sum += term(column, f64::from(value));
            }
        }
        sums
    };
    let blocks: Vec<Vec<f64>> = rows.par_chunks(BLOCK).map(block_sums).collect();
    let mut means = vec![0.0; width];
    for block in blocks {
        means.iter_mut().zip(block).for_each(|(mean, sum)| *mean += sum / count);
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
}
