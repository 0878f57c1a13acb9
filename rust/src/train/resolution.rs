//! Columns of large numbers that differ by little, such as times in seconds since 1970: datasets keep float32, which has 24
//! bits.

use super::warnings::shown;
use crate::columns;
use crate::dataset::{Dataset, Scaler};
use crate::error::Result;

/// Steps of float32 that are a larger part of the standard deviation leave less than a hundred values in it.
const COARSE: f64 = 0.01;
/// Up to here float32 holds every integer.
const EXACT: f32 = 16_777_216.0;

/// The warning before a fit to the rows `train` of `data` whose scalers are `scaler` and, for the labels, `target`.
pub(super) fn coarse(
    data: &Dataset,
    train: &[u32],
    scaler: &Scaler,
    target: Option<&Scaler>,
) -> Result<impl Iterator<Item = String> + use<>> {
    let feature = |index| format!("column \"{}\"", columns::element_name(data.columns(), index));
    let mut found = coarse_columns(data.features(), train, scaler, feature);
    if let Some(target) = target {
        found.extend(coarse_columns(data.labels()?, train, target, |index| data.targets().describe(index)));
    }
    let message = (!found.is_empty()).then(|| {
        format!(
            "numbers are too large for how little they differ, and float32 has lost their last digits: {}; subtract an offset \
             in the expression of the column, as in \"time - 1.4e9\"",
            shown(&found)
        )
    });
    Ok(message.into_iter())
}

/// Describes the columns of `values` [_, columns] that float32 does not resolve.
fn coarse_columns(values: &[f32], rows: &[u32], scaler: &Scaler, name: impl Fn(usize) -> String) -> Vec<String> {
    let width = scaler.mean.len();
    let column = |index| rows.iter().map(move |&row| values[row as usize * width + index]);
    let is_exact = |value: f32| value.abs() < EXACT && value.fract() == 0.0;
    let deviations: Vec<f64> = scaler.deviation().collect();
    let describe = |index: usize| {
        let (mean, deviation) = (scaler.mean[index].abs(), deviations[index]);
        let step = f64::from(mean.next_up()) - f64::from(mean);
        // A constant column has the scale 1; what was lost of a small one is nothing to learn from either.
        let constant = deviation == 1.0 && mean < EXACT;
        let coarse = step > COARSE * deviation && !constant && !column(index).all(is_exact);
        coarse.then(|| {
            let spread = format!("standard deviation {deviation:.3e}");
            format!("{} (mean {:.3e}, {spread}, steps of float32 {step:.3e})", name(index), scaler.mean[index])
        })
    };
    (0..width).filter_map(describe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(values: impl Fn(f64) -> f64) -> Vec<String> {
        let values: Vec<f32> = (0..4000).map(|row| values(f64::from(row)) as f32).collect();
        let rows: Vec<u32> = (0..4000).collect();
        coarse_columns(&values, &rows, &Scaler::learn(&values, 1, &rows), |_| "x".into())
    }

    #[test]
    fn columns_that_lost_digits_are_found_and_others_are_not() {
        type Column = fn(f64) -> f64;
        let lost: [Column; 6] = [
            |row| row + 1e9,
            |row| -1e9 - row,
            |row| row / 100.0 + 1.4e9,
            |row| row / 1e6 + 1e5,
            |row| row + 1e30,
            |row| f64::from(u8::from(row > 2000.0)) * 64.0 + 2e9,
        ];
        let kept: [Column; 9] = [
            |row| row,
            |row| row * 1e9,
            |row| row * 1e30,
            |row| row + 1e6,
            |row| row / 1000.0 + 1000.0,
            |row| 362_104.0 + (row % 3.0), // a run's number
            |_| 362_104.0,
            |_| 0.1,
            |_| 123_456.7,
        ];
        for (number, column) in lost.iter().enumerate() {
            assert_eq!(found(column).len(), 1, "{number}");
        }
        for (number, column) in kept.iter().enumerate() {
            assert_eq!(found(column), Vec::<String>::new(), "{number}");
        }
    }
}
