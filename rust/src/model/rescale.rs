//! The same function on features and targets of another scale, so that a fit continues from the current model.

use super::{Model, Network};
use crate::dataset::Scaler;
use crate::error::{Error, Result};
use crate::graph::Graph;

impl Model {
    /// Parameters with which the model gives, with the scaler `scaler` and the target's scaler `target`, what it gives
    /// now with its own. A model without a scaler has no function to keep: its weights are meant for standardised
    /// features; likewise for targets, unless it was trained. A module's parameters do not change, because it is
    /// unknown which of them include a scale.
    pub fn parameters_for(&self, scaler: &Scaler, target: Option<&Scaler>) -> Result<Vec<f32>> {
        let mut parameters = self.parameters().to_vec();
        let Network::Mlp(mlp) = &self.network else { return Ok(parameters) };
        let (old, graph, outputs) = (&self.training, mlp.graph(), self.outputs());
        if let Some(old) = old.scaler.as_ref().filter(|old| *old != scaler) {
            rescale_inputs(graph, old, scaler, &mut parameters);
        }
        if old.target.is_some() || old.options.is_some() {
            let as_it_is = Scaler::identity(outputs);
            let (old, new) = (old.target.as_ref().unwrap_or(&as_it_is), target.unwrap_or(&as_it_is));
            if old != new {
                rescale_outputs(graph, old, new, &mut parameters);
            }
        }
        for range in self.frozen() {
            parameters[range.clone()].copy_from_slice(&self.parameters()[range.clone()]);
        }
        match parameters.iter().all(|parameter| parameter.is_finite()) {
            true => Ok(parameters),
            false => Err(Error::invalid(
                "data on a scale on which the weights of the trained model are not finite",
                "give the data in the units that the model was trained in, or train a new model",
            )),
        }
    }
}

/// W (x - m) k + b = W' (x - m') k' + b' for W' = W k / k' and b' = b + W k (m' - m), column by column.
fn rescale_inputs(graph: &Graph, old: &Scaler, new: &Scaler, parameters: &mut [f32]) {
    let Some((weight, bias, inputs, _)) = graph.layers().next() else { return };
    let (weights, biases) = parameters[weight.start..bias.end].split_at_mut(weight.len());
    for (weights, bias) in weights.chunks_mut(inputs).zip(biases) {
        let mut shifted = f64::from(*bias);
        for (column, weight) in weights.iter_mut().enumerate() {
            let slope = f64::from(*weight) * f64::from(old.inverse[column]);
            shifted += slope * (f64::from(new.mean[column]) - f64::from(old.mean[column]));
            *weight = (slope / f64::from(new.inverse[column])) as f32;
        }
        *bias = shifted as f32;
    }
}

/// y / k + m = y' / k' + m' for y' = y k' / k + (m - m') k', output by output.
fn rescale_outputs(graph: &Graph, old: &Scaler, new: &Scaler, parameters: &mut [f32]) {
    let Some((weight, bias, inputs, _)) = graph.layers().last() else { return };
    let (weights, biases) = parameters[weight.start..bias.end].split_at_mut(weight.len());
    for (output, (weights, bias)) in weights.chunks_mut(inputs).zip(biases).enumerate() {
        let factor = f64::from(new.inverse[output]) / f64::from(old.inverse[output]);
        for weight in weights {
            *weight = (f64::from(*weight) * factor) as f32;
        }
        *bias = (f64::from(*bias) * factor + new.apply(output, old.mean[output])) as f32;
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::graph::{Activation, Init};
    use crate::model::Training;

    fn scaler(width: usize, generator: &mut ChaCha8Rng) -> Scaler {
        let mut draw =
            |from: f64, to: f64| (0..width).map(|_| from + (to - from) * generator.random::<f64>()).collect();
        let (mean, deviation): (Vec<f64>, Vec<f64>) = (draw(-5.0, 5.0), draw(0.2, 5.0));
        Scaler::new(&mean, &deviation).unwrap()
    }

    #[test]
    fn the_function_stays_the_same_on_every_scale() {
        let mut generator = ChaCha8Rng::seed_from_u64(4);
        for &activation in Activation::ALL {
            for sizes in [&[3, 8, 8, 2][..], &[3, 2]] {
                let [target, other] = [0; 2].map(|_| Some(scaler(2, &mut generator)));
                for (old, new) in [(&target, &other), (&target, &None), (&target, &target)] {
                    let mut model = Model::new(sizes, activation, Init::default(), 1).unwrap();
                    let training = Training {
                        scaler: Some(scaler(3, &mut generator)),
                        target: old.clone(),
                        ..Training::default()
                    };
                    model.set_training(training).unwrap();
                    let features = [1.3, -0.4, 2.2];
                    let score = |model: &Model| {
                        let mut score = [0.0; 2];
                        model.score(&features, true, &mut score).unwrap();
                        score
                    };
                    let before = score(&model);
                    let wanted = scaler(3, &mut generator);
                    let parameters = model.parameters_for(&wanted, new.as_ref()).unwrap();
                    model.set_parameters(&parameters).unwrap();
                    model
                        .set_training(Training { scaler: Some(wanted), target: new.clone(), ..Training::default() })
                        .unwrap();
                    let largest = before.iter().zip(score(&model)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                    assert!(largest < 2e-4, "{} {sizes:?}: {largest}", activation.name());
                }
            }
        }
    }

    #[test]
    fn a_model_without_scalers_keeps_its_weights() {
        let model = Model::new(&[3, 2], Activation::ReLU, Init::default(), 1).unwrap();
        let scaler = Scaler::new(&[1.0; 3], &[2.0; 3]).unwrap();
        let target = Scaler::new(&[100.0; 2], &[30.0; 2]).unwrap();
        assert_eq!(model.parameters_for(&scaler, Some(&target)).unwrap(), model.parameters());
    }
}
