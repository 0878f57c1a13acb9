//! Finds where the values of a fit first were not finite.

use std::sync::Arc;

use crate::error::Result;
use crate::gradient::{Rows, autograd};
use crate::model::{Model, Names, Network};

/// The parts of a model that are needed to look for the place.
pub(super) struct Suspects {
    network: Network,
    names: Arc<Names>,
}

impl Suspects {
    /// The layers of `model`.
    pub fn of(model: &Model) -> Self {
        Suspects { network: model.network().clone(), names: Arc::clone(model.names()) }
    }

    /// In words, for the batch `order` of `rows` and the `parameters` before its step.
    pub fn first(&self, rows: Rows, order: &[u32], parameters: &[f32]) -> Result<String> {
        let bad = parameters.iter().position(|parameter| !parameter.is_finite());
        match (&self.network, bad) {
            (Network::Mlp(mlp), Some(at)) => {
                let mut layers = mlp.graph().layers();
                let layer = layers.position(|(weight, bias, ..)| weight.contains(&at) || bias.contains(&at));
                let layer = layer.map_or(0, |layer| layer + 1);
                Ok(format!("the first number that is not finite is a parameter of layer {layer}"))
            }
            (Network::Module(_), Some(at)) => {
                Ok(format!("the first number that is not finite is {}", self.names.parameter(at)))
            }
            (Network::Mlp(mlp), None) => {
                let width = rows.scaler.mean.len();
                let mut x = vec![0.0; order.len() * width];
                for (x, &row) in x.chunks_mut(width).zip(order) {
                    rows.scaler.standardise(&rows.features[row as usize * width..][..width], x);
                }
                Ok(match autograd::first_not_finite(mlp.graph(), parameters, &x)? {
                    Some(layer) => format!("the first number that is not finite comes from layer {layer}"),
                    None => "the outputs are finite, and the loss of them is not".to_owned(),
                })
            }
            (Network::Module(_), None) => Ok("the parameters are finite still".to_owned()),
        }
    }
}
