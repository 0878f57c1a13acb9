//! Events that are not like those on which a model was trained.

use super::Model;
use crate::columns;
use crate::dataset::Scaler;
use crate::text;

/// A mean that is more of the training's standard deviations away from the training's has left its range.
const FAR: f64 = 3.0;
/// Fewer events may be extreme by chance.
const LEAST: usize = 10;
/// Number of evenly spaced events whose means are taken: enough to detect other units and selections, at no cost.
const MOST: usize = 1 << 14;

impl Model {
    /// The warning when the model predicts for `features` [rows, inputs]; "" for events like those of its training, for
    /// few events, and for a model that does not know the scale of its training.
    pub fn unlike(&self, features: &[f32]) -> String {
        let found = self.unlike_columns(features);
        match found.is_empty() {
            true => String::new(),
            false => format!(
                "these events are not like those of the training: {}; check units and selection, or train on events like these",
                text::list(found.iter(), ", ")
            ),
        }
    }

    /// The columns whose means have left the range of the training, with both.
    pub(crate) fn unlike_columns(&self, features: &[f32]) -> Vec<String> {
        let width = self.inputs();
        let rows = features.len() / width;
        let Some(scaler) = self.training().scaler.as_ref().filter(|scaler| **scaler != Scaler::identity(width)) else {
            return Vec::new();
        };
        if rows < LEAST {
            return Vec::new();
        }
        let step = rows.div_ceil(MOST);
        let mut means = vec![0.0; width];
        for row in features.chunks_exact(width).step_by(step) {
            means.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value));
        }
        let count = rows.div_ceil(step) as f64;
        // Columns that are not standardised, as categories are, have no scale to compare with.
        let is_left = |index: usize| scaler.mean[index] == 0.0 && scaler.inverse[index] == 1.0;
        let far = |(index, (sum, deviation)): (usize, (f64, f64))| {
            let (mean, before) = (sum / count, f64::from(scaler.mean[index]));
            let apart = (mean - before).abs() / deviation;
            let name = || columns::element_name(&self.training().columns, index);
            (apart > FAR && !is_left(index)).then(|| {
                format!(
                    "\"{}\" (mean {mean:.3e}, in training {before:.3e}, {apart:.3} standard deviations apart)",
                    name()
                )
            })
        };
        means.into_iter().zip(scaler.deviation()).enumerate().filter_map(far).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Column;
    use crate::graph::{Activation, Init};
    use crate::model::Training;

    fn model(scaler: Option<Scaler>) -> Model {
        let mut model = Model::new(&[2, 1], Activation::ReLU, Init::Uniform, 1).unwrap();
        let columns = vec![Column::new("pt", 1), Column::new("eta", 1)];
        model.set_training(Training { scaler, columns, ..Training::default() }).unwrap();
        model
    }

    #[test]
    fn columns_whose_means_leave_the_range_of_the_training_are_named() {
        let model = model(Some(Scaler::new(&[50.0, 0.0], &[20.0, 1.0]).unwrap()));
        let events = |rows: usize, pt: f32| (0..rows).flat_map(|_| [pt, 0.1]).collect::<Vec<_>>();
        for rows in [LEAST, 100, MOST + 1, 3 * MOST + 7] {
            let said = model.unlike(&events(rows, 5e4));
            assert!(said.contains("\"pt\" (mean 5.000e4, in training 5.000e1") && !said.contains("eta"), "{said}");
            assert_eq!(model.unlike(&events(rows, 100.0)), "");
        }
        assert_eq!(model.unlike(&events(LEAST - 1, 5e4)), "");
        assert_eq!(model.unlike(&[]), "");
        // The mean, not single events.
        let mut mixed = events(1000, 50.0);
        mixed[0] = 1e4;
        assert_eq!(model.unlike(&mixed), "");
    }

    #[test]
    fn columns_that_are_not_standardised_have_no_range() {
        let model = model(Some(Scaler::new(&[50.0, 0.0], &[20.0, 1.0]).unwrap()));
        let events: Vec<f32> = (0..100).flat_map(|_| [50.0, 211.0]).collect(); // a code of a particle
        assert_eq!(model.unlike(&events), "");
    }

    #[test]
    fn a_model_that_knows_no_scale_says_nothing() {
        let events = [1e6; 200];
        assert_eq!(model(None).unlike(&events), "");
        assert_eq!(model(Some(Scaler::identity(2))).unlike(&events), "");
    }
}
