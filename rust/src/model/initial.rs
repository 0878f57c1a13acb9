//! Initial parameters from a seed.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::device::HostBuffer;
use crate::error::Result;
use crate::graph::{Graph, Init};

/// A parameter vector for `graph`, each layer's weights and biases drawn from the distribution `init`, layer by layer.
/// The same seed gives the same numbers on every machine.
pub(super) fn draw(graph: &Graph, init: Init, seed: u64) -> Result<HostBuffer<f32>> {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    // In LibTorch's memory: too little of it is an error there, not the end of the process.
    let mut parameters = HostBuffer::zeros(graph.parameters())?;
    for (weight, bias, inputs, outputs) in graph.layers() {
        let (weight_bound, bias_bound) = bounds(init, inputs as f64, outputs as f64);
        for (range, bound) in [(weight, Some(weight_bound)), (bias, bias_bound)] {
            let Some(bound) = bound else { continue };
            for parameter in &mut parameters.as_mut_slice()[range] {
                *parameter = (bound * (2.0 * generator.random::<f64>() - 1.0)) as f32;
            }
        }
    }
    Ok(parameters)
}

/// Weights and biases are uniform between plus and minus these; `None`: biases are 0. A uniform distribution within b has
/// the variance b^2 / 3.
fn bounds(init: Init, inputs: f64, outputs: f64) -> (f64, Option<f64>) {
    match init {
        Init::Kaiming => ((6.0 / inputs).sqrt(), None),
        Init::Xavier => ((6.0 / (inputs + outputs)).sqrt(), None),
        Init::Uniform => (inputs.sqrt().recip(), Some(inputs.sqrt().recip())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Activation;

    fn drawn(init: Init, seed: u64) -> Vec<f32> {
        let graph = Graph::mlp(&[100, 400, 1], Activation::ReLU).unwrap();
        draw(&graph, init, seed).unwrap().as_slice().to_vec()
    }

    /// Whether `values` are uniform within `bound`: moments 1, 2 and 4 within five standard errors, none outside, and the
    /// largest as close to the bound as it is in all but e^-20 of all samples.
    fn check_uniform(values: &[f32], bound: f64, what: &str) {
        let count = values.len() as f64;
        let moment = |power| values.iter().map(|v| (f64::from(*v) / bound).powi(power)).sum::<f64>() / count;
        for (power, expected, variance) in
            [(1, 0.0, 1.0 / 3.0), (2, 1.0 / 3.0, 1.0 / 5.0 - 1.0 / 9.0), (4, 1.0 / 5.0, 1.0 / 9.0 - 1.0 / 25.0)]
        {
            let deviation = (moment(power) - expected) / f64::sqrt(variance / count);
            assert!(deviation.abs() < 5.0, "{what}: moment {power} is {deviation} standard errors off");
        }
        let largest = values.iter().map(|v| f64::from(v.abs()) / bound).fold(0.0, f64::max);
        assert!(largest < 1.0 + 1e-7 && largest > 1.0 - 20.0 / count, "{what}: the largest is {largest} of the bound");
    }

    #[test]
    fn parameters_have_the_stated_distribution() {
        for (init, bound) in [(Init::Kaiming, 0.06_f64.sqrt()), (Init::Xavier, 0.012_f64.sqrt()), (Init::Uniform, 0.1)]
        {
            let parameters = drawn(init, 7);
            let (weights, biases) = (&parameters[..40_000], &parameters[40_000..40_400]);
            check_uniform(weights, bound, init.name());
            match init {
                Init::Uniform => {
                    check_uniform(biases, bound, "biases");
                    check_uniform(&parameters[40_400..40_800], 400_f64.sqrt().recip(), "second layer");
                }
                Init::Kaiming | Init::Xavier => assert!(biases.iter().all(|bias| *bias == 0.0)),
            }
        }
    }

    #[test]
    fn a_seed_gives_the_same_parameters_for_ever() {
        for &init in Init::ALL {
            assert_eq!(drawn(init, 7), drawn(init, 7));
            assert_ne!(drawn(init, 7), drawn(init, 8));
        }
        // In units of the bounds, as drawn by the first version: published results name a macro and its seed.
        let graph = Graph::mlp(&[2, 1], Activation::ReLU).unwrap();
        let golden = [-0.195_028_672_7, -0.839_232_582_1, 0.193_120_361_9];
        for &init in Init::ALL {
            let (weight, bias) = bounds(init, 2.0, 1.0);
            let bounds = [weight, weight, bias.unwrap_or(0.0)];
            for ((drawn, golden), bound) in draw(&graph, init, 1).unwrap().as_slice().iter().zip(golden).zip(bounds) {
                assert!((f64::from(*drawn) - golden * bound).abs() < 1e-6, "{}: {drawn}", init.name());
            }
        }
    }
}
