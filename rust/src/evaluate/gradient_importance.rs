//! Importance by gradients: how far an output moves, to first order, when a column moves by its standard deviation.

use crate::columns;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::model::Model;

use super::importance::{Importance, groups};
use super::positive_total;

/// Sums over the events of one column and output, v = sum over the column's elements x of |dz/dx| sigma(x).
#[derive(Clone, Copy, Default)]
struct Sums {
    /// w v
    first: f64,
    /// w^2 v
    weighted: f64,
    /// w^2 v^2
    squares: f64,
}

/// For each output z of [`Model::gradient`] and each column the mean over the events, with their weights, of
/// v = sum over its elements x of |dz/dx| sigma(x), where sigma is the weighted standard deviation of x in `data`; with
/// the standard error sqrt(sum of w^2 (v - mean)^2) / sum of w. [outputs, columns]; sums are made in the order of the events, so
/// that they do not depend on `threads`.
pub fn gradient_importance(model: &Model, data: &Dataset, threads: usize) -> Result<Vec<Importance>> {
    model.check_columns(data.columns(), data.width())?;
    let weights = data.weights()?;
    let total = positive_total("the events", weights.iter().copied().map(f64::from))?;
    let deviations = deviations(data, weights, total)?;
    let groups = groups(data.columns());
    let (inputs, outputs) = (model.inputs(), model.outputs());
    let mut sums = vec![Sums::default(); outputs * groups.len()];
    model.gradient_blocks(data, threads, |rows, block| {
        interrupt::check("the importance of the columns")?;
        for (row, derivatives) in rows.zip(block.chunks_exact(outputs * inputs)) {
            check_finite(data, row, inputs, derivatives)?;
            let weight = f64::from(weights[row]);
            for (of_output, sums) in derivatives.chunks_exact(inputs).zip(sums.chunks_exact_mut(groups.len())) {
                for ((_, places), sums) in groups.iter().zip(sums) {
                    let value: f64 = places.iter().map(|&at| f64::from(of_output[at]).abs() * deviations[at]).sum();
                    sums.first += weight * value;
                    sums.weighted += weight * weight * value;
                    sums.squares += (weight * value).powi(2);
                }
            }
        }
        Ok(())
    })?;
    let square: f64 = weights.iter().map(|&weight| f64::from(weight).powi(2)).sum();
    let names = groups.iter().map(|(name, _)| name).cycle();
    let found = names.zip(&sums).map(|(name, sums)| {
        let value = sums.first / total;
        let spread = sums.squares - 2.0 * value * sums.weighted + value * value * square;
        Importance { name: name.clone(), value, error: spread.max(0.0).sqrt() / total } // below 0 by rounding only
    });
    Ok(found.collect())
}

/// Weighted standard deviation of each feature, in two passes.
fn deviations(data: &Dataset, weights: &[f32], total: f64) -> Result<Vec<f64>> {
    let means = |term: &dyn Fn(usize, f64) -> f64| {
        let mut sums = vec![0.0; data.width()];
        for (row, &weight) in data.features().chunks_exact(data.width()).zip(weights) {
            for (at, (sum, &value)) in sums.iter_mut().zip(row).enumerate() {
                *sum += f64::from(weight) * term(at, f64::from(value));
            }
        }
        sums.iter_mut().for_each(|sum| *sum /= total);
        sums
    };
    let mean = means(&|_, value| value);
    let variance = means(&|at, value| (value - mean[at]).powi(2));
    match variance.iter().position(|&variance| variance < 0.0) {
        None => Ok(variance.into_iter().map(f64::sqrt).collect()),
        Some(at) => Err(Error::invalid(
            format!("the weighted variance of '{}' is {}", columns::element_name(data.columns(), at), variance[at]),
            "events of negative weight outweigh the others there: give the events weights that are not negative",
        )),
    }
}

/// The `derivatives` [outputs, inputs] of the event `row` must be numbers.
fn check_finite(data: &Dataset, row: usize, inputs: usize, derivatives: &[f32]) -> Result<()> {
    match derivatives.iter().position(|derivative| !derivative.is_finite()) {
        None => Ok(()),
        Some(at) => Err(Error::invalid(
            format!(
                "the derivative of output {} by '{}' at event {row} is {}",
                at / inputs,
                columns::element_name(data.columns(), at % inputs),
                derivatives[at]
            ),
            "the network has no finite slope there: leave the event out, or use the importance by permutations",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Column;
    use crate::graph::{Activation, Init};

    const WIDTH: usize = 6;

    /// A scalar, a list of two with its mask, another scalar; values from -1 to 1 of different widths.
    fn events(rows: usize) -> Dataset {
        let mask = Column { mask_of: "list".to_owned(), ..Column::new("mask(list)", 2) };
        let columns = [Column::new("x", 1), Column::new("list", 2), mask, Column::new("y", 1)];
        let mut data = Dataset::new(&columns).unwrap();
        let noise = |at: usize| ((at * 7919 + at * at) % 601) as f32 / 300.5 - 1.0;
        let features: Vec<f32> = (0..rows * WIDTH).map(|at| noise(at) * (1 + at % WIDTH) as f32 / 3.0).collect();
        let weights: Vec<f32> = (0..rows).map(|row| 0.5 + noise(row).abs()).collect();
        data.begin("events").unwrap();
        data.append(&features, &vec![0.0; rows], &weights).unwrap();
        data.commit().unwrap();
        data
    }

    /// By central differences of the outputs, event by event, in float64.
    fn by_differences(model: &Model, data: &Dataset, output: usize, places: &[usize]) -> (f64, f64) {
        const STEP: f32 = 1.0 / 256.0;
        let (weights, outputs) = (data.weights().unwrap(), model.outputs());
        let total: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
        let predicted = |features: &[f32]| {
            let mut out = vec![0.0; data.rows() * outputs];
            model.predict_rows(features, true, 1, &mut out).unwrap();
            out
        };
        let mut values = vec![0.0; data.rows()];
        for &at in places {
            let moved = |step: f32| {
                let mut features = data.features().to_vec();
                features.iter_mut().skip(at).step_by(WIDTH).for_each(|value| *value += step);
                predicted(&features)
            };
            let (above, below) = (moved(STEP), moved(-STEP));
            let feature = |row: usize| f64::from(data.features()[row * WIDTH + at]);
            let mean = (0..data.rows()).map(|row| f64::from(weights[row]) * feature(row)).sum::<f64>() / total;
            let term = |row: usize| f64::from(weights[row]) * (feature(row) - mean).powi(2);
            let sigma = ((0..data.rows()).map(term).sum::<f64>() / total).sqrt();
            for (row, value) in values.iter_mut().enumerate() {
                let difference = f64::from(above[row * outputs + output]) - f64::from(below[row * outputs + output]);
                *value += (difference / f64::from(2.0 * STEP)).abs() * sigma;
            }
        }
        let mean = values.iter().zip(weights).map(|(value, &weight)| value * f64::from(weight)).sum::<f64>() / total;
        let spread = values.iter().zip(weights).map(|(value, &weight)| (f64::from(weight) * (value - mean)).powi(2));
        (mean, spread.sum::<f64>().sqrt() / total)
    }

    #[test]
    fn means_of_slopes_are_those_of_central_differences() {
        let model = Model::new(&[WIDTH, 16, 3], Activation::Tanh, Init::Uniform, 4).unwrap();
        let data = events(400);
        let found = gradient_importance(&model, &data, 1).unwrap();
        assert_eq!(found, gradient_importance(&model, &data, 2).unwrap(), "the same for any number of threads");
        let groups: [(&str, &[usize]); 3] = [("x", &[0]), ("list", &[1, 2, 3, 4]), ("y", &[5])];
        assert_eq!(found.len(), 3 * groups.len());
        for (index, one) in found.iter().enumerate() {
            let (name, places) = groups[index % groups.len()];
            let (value, error) = by_differences(&model, &data, index / groups.len(), places);
            assert_eq!(one.name, name);
            assert!(
                (one.value / value - 1.0).abs() < 1e-3 && (one.error / error - 1.0).abs() < 1e-2,
                "{one:?}: {value} {error}"
            );
        }
    }

    #[test]
    fn more_events_than_a_block() {
        let model = Model::new(&[WIDTH, 4, 1], Activation::Tanh, Init::Uniform, 4).unwrap();
        let data = events(40_000);
        let (value, error) = by_differences(&model, &data, 0, &[5]);
        let found = gradient_importance(&model, &data, 2).unwrap();
        assert!(
            (found[2].value / value - 1.0).abs() < 1e-3 && (found[2].error / error - 1.0).abs() < 1e-2,
            "{found:?}"
        );
    }

    #[test]
    fn weights_that_cancel_are_refused() {
        let model = Model::new(&[1, 1], Activation::Identity, Init::Uniform, 1).unwrap();
        for (features, weights, part) in [
            ([1.0, 2.0, 3.0], [1.0, -1.0, 0.0], "sum to 0"),
            ([1.0, 2.0, 9.0], [2.0, 2.0, -1.0], "weighted variance of 'x'"),
        ] {
            let mut data = Dataset::new(&[Column::new("x", 1)]).unwrap();
            data.begin("events").unwrap();
            data.append(&features, &[0.0; 3], &weights).unwrap();
            data.commit().unwrap();
            let error = gradient_importance(&model, &data, 1).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
