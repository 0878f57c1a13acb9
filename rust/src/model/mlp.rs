//! A multilayer perceptron as the computation of a model.

use super::initial;
use crate::device::HostBuffer;
use crate::error::Result;
use crate::graph::{CUSTOM, Graph, Init, Op};
use crate::text;

/// Linear layers with an activation after each but the last.
#[derive(Clone)]
pub struct Mlp {
    pub(super) sizes: Vec<usize>,
    pub(super) activation: Op,
    pub(super) init: Init,
    pub(super) seed: u64,
    graph: Graph,
}

impl Mlp {
    /// A perceptron of these layer sizes (features, hidden…, outputs).
    pub(super) fn new(sizes: &[usize], activation: Op, init: Init, seed: u64) -> Result<Self> {
        let graph = Graph::mlp(sizes, activation.clone())?;
        Ok(Mlp { sizes: sizes.to_vec(), activation, init, seed, graph })
    }

    /// Its initial parameters.
    pub(super) fn draw(&self) -> Result<HostBuffer<f32>> {
        initial::draw(self.graph(), self.init, self.seed)
    }

    /// The operations.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// For people and for the model file.
    pub(super) fn activation_name(&self) -> &'static str {
        match &self.activation {
            Op::Activation(activation) => activation.name(),
            Op::Custom(_) | Op::Linear { .. } => CUSTOM,
        }
    }

    /// Its architecture, whatever its parameters are.
    pub(super) fn architecture(&self) -> String {
        let own = if let Op::Custom(own) = &self.activation { own.text() } else { "" };
        format!("{:?} {} {own}", self.sizes, self.activation_name())
    }

    /// A line for people.
    pub(super) fn describe(&self) -> String {
        format!(
            "Mlp {} {}, {} parameters, {} initialisation with seed {}\n",
            text::list(self.sizes.iter().map(usize::to_string), "-"),
            self.activation_name(),
            self.graph().parameters(),
            self.init.name(),
            self.seed,
        )
    }
}
