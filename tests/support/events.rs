//! Events as an engine reads them.

use cladtorch::dataset::Scaler;
use cladtorch::gradient::Rows;

/// [_, features], and labels and a weight an event.
pub struct Events {
    pub features: Vec<f32>,
    pub labels: Vec<f32>,
    pub weights: Vec<f32>,
    pub scaler: Scaler,
}

impl Events {
    /// So many events of `features` numbers, labels below `classes`.
    pub fn new(rows: usize, features: usize, classes: usize) -> Self {
        Events {
            features: (0..rows * features).map(|i| (i as f32 * 0.71).sin()).collect(),
            labels: (0..rows).map(|row| (row * 7 % classes) as f32).collect(),
            weights: (0..rows).map(|row| 0.5 + (row % 4) as f32 * 0.3).collect(),
            scaler: Scaler::identity(features),
        }
    }

    pub fn rows(&self) -> Rows<'_> {
        Rows {
            features: &self.features,
            labels: &self.labels,
            weights: &self.weights,
            scaler: &self.scaler,
            target: None,
            weight_scale: 1.0,
        }
    }

    /// All of them, one after the other.
    pub fn order(&self) -> Vec<u32> {
        (0..self.weights.len() as u32).collect()
    }
}
