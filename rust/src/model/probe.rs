//! Whether a network can be used: finite weights can still overflow in it.

use super::{Model, Network};
use crate::error::{Error, Result};
use crate::graph::{Graph, Op};
use crate::kernels::Scalar;

/// Where a feature lies, in standard deviations from its mean.
const PLACES: [f32; 3] = [0.0, 1.0, -1.0];

impl Model {
    /// Refuses weights whose predictions at the features' means, or one standard deviation from them, are not finite. An
    /// activation of the user's own need not be defined there, so such a network is not asked.
    pub(super) fn check_predictions(&self) -> Result<()> {
        let Network::Mlp(mlp) = self.network() else { return Ok(()) };
        if matches!(mlp.activation, Op::Own(_)) {
            return Ok(());
        }
        let finite = |&place: &f32| self.outputs_at(mlp.graph(), place).iter().all(|output| output.is_finite());
        match PLACES.iter().all(finite) {
            true => Ok(()),
            false => Err(Error::invalid(
                "its predictions are not finite, because its weights are too large",
                "fit again with a smaller fLearningRate",
            )),
        }
    }

    /// Raw outputs [outputs] for an event whose standardised features are all `place`. Straight from the parameters: they
    /// need not be packed for one row.
    fn outputs_at(&self, graph: &Graph, place: f32) -> Vec<f32> {
        let mut row = vec![place; graph.inputs()];
        if let Some(scaler) = &self.training().scaler {
            // As a prediction would standardise it.
            let features = scaler.mean.iter().zip(&scaler.inverse).map(|(mean, inverse)| mean + place / inverse);
            let finite = features.map(|x| x.clamp(f32::MIN, f32::MAX));
            let standardise = |((x, mean), inverse): ((f32, &f32), &f32)| (x - mean) * inverse;
            row = finite.zip(&scaler.mean).zip(&scaler.inverse).map(standardise).collect();
        }
        for node in graph.nodes() {
            row = match &node.op {
                Op::Linear { weight, bias } => self.linear(&row, &self.parameters()[weight.clone()], bias.clone()),
                Op::Activation(activation) => {
                    f32::activation_in_place(*activation as u8, &mut row);
                    row
                }
                Op::Own(_) => row,
            };
        }
        row
    }

    /// `weight [outputs, inputs] row [inputs] + bias [outputs]`
    fn linear(&self, row: &[f32], weight: &[f32], bias: std::ops::Range<usize>) -> Vec<f32> {
        let product = |weights: &[f32]| weights.iter().zip(row).map(|(w, x)| w * x).sum::<f32>();
        weight.chunks(row.len()).zip(&self.parameters()[bias]).map(|(weights, bias)| product(weights) + bias).collect()
    }
}
