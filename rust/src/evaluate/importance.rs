//! Permutation importance: how much a model loses when a column is shuffled among the events.

use super::roc;
use crate::columns::{self, Column};
use crate::dataset::{Dataset, shuffle};
use crate::error::{Error, Result};
use crate::graph::Gives;
use crate::interrupt;
use crate::model::Model;

use super::classes::confusion;
use super::residuals::residuals;

/// Repetitions beyond which a mistake is likelier.
const MOST_REPEATS: usize = 1000;

/// By what a model is judged; more is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quality {
    /// Area under the ROC curve.
    Auc,
    /// Share of events whose class is predicted.
    Accuracy,
    /// Minus the root mean square error of the means of all targets, each relative to its standard deviation.
    Error,
}

/// The importance of one column.
#[derive(Clone, Debug, PartialEq)]
pub struct Importance {
    /// Its name; a mask belongs to its column.
    pub name: String,
    /// Mean over the repetitions of how much the quality falls; by gradients see [`gradient_importance`](super::gradient_importance).
    pub value: f64,
    /// The standard error of that mean.
    pub error: f64,
}

impl Quality {
    /// By which `model` is judged on data with `targets` labels an event.
    pub fn of(model: &Model) -> Self {
        match (model.gives(), model.outputs()) {
            (Gives::Values | Gives::Gaussians, _) => Quality::Error,
            (Gives::Probabilities, 1) => Quality::Auc,
            (Gives::Probabilities, _) => Quality::Accuracy,
        }
    }

    fn measure(self, model: &Model, data: &Dataset, features: &[f32], threads: usize, out: &mut [f32]) -> Result<f64> {
        model.predict_rows(features, true, threads, out)?;
        let (labels, weights) = (data.labels()?, data.weights()?);
        Ok(match self {
            Quality::Auc => roc(out, labels, weights)?.auc,
            Quality::Accuracy => {
                let classes = model.outputs();
                let matrix = confusion(out, classes, labels, weights)?;
                let right: f64 = (0..classes).map(|class| matrix[class * (classes + 1)]).sum();
                right / matrix.iter().sum::<f64>()
            }
            Quality::Error => {
                let (outputs, targets) = (model.outputs(), model.gives().targets(model.outputs()));
                let means: Vec<f32> = out.chunks(outputs).flat_map(|row| &row[..targets]).copied().collect();
                let unexplained = |target| -> Result<f64> {
                    let found = residuals(&means, labels, weights, targets, target)?;
                    // Of a constant target there is no scale.
                    Ok(if found.explained.is_nan() { found.rmse.powi(2) } else { 1.0 - found.explained })
                };
                let sum = (0..targets).map(unexplained).sum::<Result<f64>>()?;
                -(sum / targets as f64).sqrt()
            }
        })
    }
}

/// Breiman, Machine Learning 45 (2001) 5, section 10: each column in turn, with all its elements and its mask, takes the values
/// of another event, drawn `repeats` times by `seed`.
pub fn importance(model: &Model, data: &Dataset, repeats: usize, seed: u64, threads: usize) -> Result<Vec<Importance>> {
    if !(1..=MOST_REPEATS).contains(&repeats) {
        return Err(Error::invalid(format!("{repeats} repetitions"), format!("give 1 to {MOST_REPEATS}")));
    }
    model.check_columns(data.columns(), data.width())?;
    let (quality, rows, width) = (Quality::of(model), data.rows(), data.width());
    let mut out = vec![0.0; rows * model.outputs()];
    let whole = quality.measure(model, data, data.features(), threads, &mut out)?;
    let mut features = data.features().to_vec();
    let mut order: Vec<u32> = (0..rows as u32).collect();
    let mut found = Vec::new();
    for (name, places) in groups(data.columns()) {
        let mut drops = Vec::with_capacity(repeats);
        for _ in 0..repeats {
            interrupt::check("the importance of the columns")?;
            shuffle(&mut order, seed, (found.len() * repeats + drops.len()) as u64);
            for (row, &from) in features.chunks_exact_mut(width).zip(&order) {
                places.iter().for_each(|&place| row[place] = data.features()[from as usize * width + place]);
            }
            drops.push(whole - quality.measure(model, data, &features, threads, &mut out)?);
        }
        for (row, whole) in features.chunks_exact_mut(width).zip(data.features().chunks_exact(width)) {
            places.iter().for_each(|&place| row[place] = whole[place]);
        }
        let (value, error) = mean_and_error(&drops);
        found.push(Importance { name, value, error });
    }
    Ok(found)
}

/// The columns, each with the places of its elements in a row and those of its mask.
pub(super) fn groups(columns: &[Column]) -> Vec<(String, Vec<usize>)> {
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    let mut start = 0;
    for column in columns {
        let places = start..start + column.length;
        start += column.length;
        let masked = groups.iter_mut().find(|(name, _)| !column.mask_of.is_empty() && *name == column.mask_of);
        match masked {
            Some((_, list)) => list.extend(places),
            None => groups.push((column.name.clone(), places.collect())),
        }
    }
    debug_assert!(columns::checked_width(columns).is_ok_and(|width| width == start));
    groups
}

/// One value has no spread, and the error 0.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, if values.len() > 1 { (squares / (count - 1.0) / count).sqrt() } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Activation, Init};

    /// A perceptron without a hidden layer, whose logit is `weights` times the features.
    fn linear(weights: &[f32]) -> Model {
        let mut model = Model::new(&[weights.len(), 1], Activation::Identity, Init::Uniform, 1).unwrap();
        let parameters: Vec<f32> = weights.iter().copied().chain([0.0]).collect();
        model.set_parameters(&parameters).unwrap();
        model
    }

    #[test]
    fn columns_matter_as_much_as_the_model_uses_them() {
        let column = |name: &str, length: usize| Column::new(name, length);
        let mask = Column { mask_of: "list".to_owned(), ..Column::new("mask(list)", 2) };
        let mut data = Dataset::new(&[column("used", 1), column("list", 2), mask, column("unused", 1)]).unwrap();
        let mut features = Vec::new();
        let labels: Vec<f32> = (0..600).map(|row| (row % 2) as f32).collect();
        for (row, label) in labels.iter().enumerate() {
            let noise = ((row * 7919) % 601) as f32 / 601.0;
            features.extend([label + noise, 0.4 * label + noise, 1.0, 1.0, 0.0, noise]);
        }
        data.begin("events").unwrap();
        data.append(&features, &labels, &vec![1.0; labels.len()]).unwrap();
        data.commit().unwrap();
        let model = linear(&[1.0, 0.5, 0.0, 0.0, 0.0, 0.0]);
        let found = importance(&model, &data, 4, 3, 1).unwrap();
        let names: Vec<_> = found.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["used", "list", "unused"]);
        assert!(found[0].value > 5.0 * found[0].error && found[0].value > found[1].value, "{found:?}");
        assert_eq!((found[2].value, found[2].error), (0.0, 0.0), "{found:?}");
        assert_eq!(found, importance(&model, &data, 4, 3, 2).unwrap(), "the same for any number of threads");
        assert!(importance(&model, &data, 0, 3, 1).is_err());
    }
}
