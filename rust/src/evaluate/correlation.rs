//! Linear correlations of columns.

use rayon::prelude::*;

use super::{check_numbers, positive_total};
use crate::error::{Error, Result};
use crate::interrupt;

/// Columns beyond which the matrix cannot be read.
const MOST_COLUMNS: usize = 4096;

/// Pearson's coefficients of the columns of `values` [N, `columns`], [columns, columns] row-major. Those of a constant
/// column are NaN.
pub fn correlation(values: &[f32], columns: usize, weights: &[f32]) -> Result<Vec<f64>> {
    if !(1..=MOST_COLUMNS).contains(&columns) || values.len() != weights.len() * columns {
        return Err(Error::invalid(
            format!("correlations of {columns} columns from {} values of {} events", values.len(), weights.len()),
            format!("give 1 to {MOST_COLUMNS} columns, and a value of each for every event"),
        ));
    }
    check_numbers(values, &[], weights, columns)?;
    let total = positive_total("the events", weights.iter().map(|&w| f64::from(w)))?;
    let rows = || values.chunks_exact(columns).zip(weights).map(|(row, &w)| (row, f64::from(w)));
    let mut means = vec![0.0; columns];
    for (row, weight) in rows() {
        means.iter_mut().zip(row).for_each(|(mean, &value)| *mean += weight / total * f64::from(value));
    }
    let covariances: Vec<f64> = (0..columns)
        .into_par_iter()
        .map(|a| {
            interrupt::check("the correlation")?;
            let mut sums = vec![0.0; columns];
            for (row, weight) in rows() {
                let from_mean = weight * (f64::from(row[a]) - means[a]);
                let others = row.iter().zip(&means);
                sums.iter_mut()
                    .zip(others)
                    .for_each(|(sum, (&value, mean))| *sum += from_mean * (f64::from(value) - mean));
            }
            Ok(sums)
        })
        .collect::<Result<Vec<_>>>()?
        .concat();
    // Rounding leaves a constant column a spread.
    let constant = |a: usize| values.iter().skip(a).step_by(columns).all(|&value| value == values[a]);
    if let Some(column) = (0..columns).find(|&a| covariances[a * (columns + 1)] < 0.0 && !constant(a)) {
        return Err(Error::invalid(
            format!("negative weights make the variance of column {column} negative"),
            "it has no correlations: leave these weights out",
        ));
    }
    let spread = |a: usize| if constant(a) { 0.0 } else { covariances[a * (columns + 1)].sqrt() };
    let deviation: Vec<f64> = (0..columns).map(spread).collect();
    let of = |at: usize| {
        let scale = deviation[at / columns] * deviation[at % columns];
        if scale > 0.0 { (covariances[at] / scale).clamp(-1.0, 1.0) } else { f64::NAN }
    };
    Ok((0..columns * columns).map(of).collect())
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::StandardNormal;

    use super::*;

    #[test]
    fn columns_are_correlated_as_they_were_made() {
        let mut generator = ChaCha8Rng::seed_from_u64(4);
        let mut values = Vec::new();
        for _ in 0..20_000 {
            let [a, b]: [f32; 2] = std::array::from_fn(|_| generator.sample(StandardNormal));
            values.extend([a, 0.6 * a + 0.8 * b, -2.0 * a + 1e4, 7.0]);
        }
        let found = correlation(&values, 4, &vec![0.3; 20_000]).unwrap();
        for (at, expected) in [(0, 1.0), (1, 0.6), (2, -1.0), (4, 0.6), (6, -0.6), (8, -1.0)] {
            assert!((found[at] - expected).abs() < 0.02, "{at}: {}", found[at]);
        }
        assert!([3, 7, 11, 12, 15].iter().all(|&at| found[at].is_nan()));
    }

    #[test]
    fn weights_count_as_repeated_events() {
        let weighted = correlation(&[1.0, 2.0, 4.0, 1.0, 3.0, 3.5], 2, &[1.0, 2.0, 1.0]).unwrap();
        let repeated = correlation(&[1.0, 2.0, 4.0, 1.0, 4.0, 1.0, 3.0, 3.5], 2, &[1.0; 4]).unwrap();
        assert!((weighted[1] - repeated[1]).abs() < 1e-12);
        assert!(correlation(&[1.0; 3], 2, &[1.0; 2]).is_err());
        assert!(correlation(&[f32::NAN; 2], 2, &[1.0]).is_err());
        assert!(correlation(&[], 0, &[]).is_err());
        assert!(correlation(&[0.0, 1.0, 3.0], 1, &[1.0, 1.0, -1.5]).is_err());
    }
}
