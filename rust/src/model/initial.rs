//! Initial weights from a seed.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::device::HostBuffer;
use crate::error::Result;
use crate::graph::{Graph, Init};

/// A parameter vector for `graph`: weights uniform in ±sqrt(3 variance) (see [`Init`]), biases 0. The same seed gives the
/// same numbers on every machine.
pub(super) fn draw(graph: &Graph, init: Init, seed: u64) -> Result<HostBuffer<f32>> {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    // In LibTorch's memory: too little of it is an error there, not the end of the process.
    let mut parameters = HostBuffer::zeros(graph.parameters())?;
    for (weight, _, inputs, outputs) in graph.layers() {
        let variance = match init {
            Init::Kaiming => 2.0 / inputs as f64,
            Init::Xavier => 2.0 / (inputs + outputs) as f64,
        };
        let bound = (3.0 * variance).sqrt();
        for weight in &mut parameters.as_mut_slice()[weight] {
            *weight = (bound * (2.0 * generator.random::<f64>() - 1.0)) as f32;
        }
    }
    Ok(parameters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Activation;

    #[test]
    fn weights_have_the_stated_variance_and_their_seed() {
        let graph = Graph::mlp(&[100, 400, 1], Activation::ReLU).unwrap();
        for (init, variance) in [(Init::Kaiming, 2.0 / 100.0), (Init::Xavier, 2.0 / 500.0)] {
            let draw = |seed| draw(&graph, init, seed).unwrap().as_slice().to_vec();
            let drawn = draw(7);
            let layer = &drawn[..40_000];
            let seen = layer.iter().map(|w| f64::from(*w).powi(2)).sum::<f64>() / 40_000.0;
            assert!((seen / variance - 1.0).abs() < 0.03, "{init:?}: {seen} instead of {variance}");
            assert!(drawn[40_000..40_400].iter().all(|bias| *bias == 0.0));
            assert_eq!(drawn, draw(7));
            assert_ne!(drawn, draw(8));
        }
    }
}
