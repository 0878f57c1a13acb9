//! A multilayer perceptron as what a model computes.

use std::cell::Cell;
use std::sync::OnceLock;

use rayon::prelude::*;

use super::{OWN, initial};
use crate::dataset::Scaler;
use crate::device::HostBuffer;
use crate::error::Result;
use crate::gradient::{Plan, TILE_ROWS};
use crate::graph::{Graph, Init, Op};
use crate::interrupt;
use crate::kernels::Scalar;
use crate::text;

/// Linear layers with an activation after each but the last.
pub struct Mlp {
    pub(super) sizes: Vec<usize>,
    pub(super) activation: Op,
    pub(super) init: Init,
    pub(super) seed: u64,
    tile: Plan<f32>,
    row: Plan<f32>,
    /// The parameters in panels, as the plans read them, once there is something to predict: many times as long where a
    /// layer has one output.
    packed: OnceLock<HostBuffer<f32>>,
}

impl Mlp {
    /// Of these layer sizes (features, hidden…, outputs).
    pub(super) fn new(sizes: &[usize], activation: Op, init: Init, seed: u64) -> Result<Self> {
        let graph = Graph::mlp(sizes, activation.clone())?;
        let (row, tile) = (Plan::new(graph.clone(), 1), Plan::new(graph, TILE_ROWS));
        Ok(Mlp { sizes: sizes.to_vec(), activation, init, seed, tile, row, packed: OnceLock::new() })
    }

    pub(super) fn copy(&self) -> Self {
        Mlp {
            sizes: self.sizes.clone(),
            activation: self.activation.clone(),
            tile: self.tile.clone(),
            row: self.row.clone(),
            packed: OnceLock::new(),
            ..*self
        }
    }

    /// Its initial parameters.
    pub(super) fn draw(&self) -> Result<HostBuffer<f32>> {
        initial::draw(self.graph(), self.init, self.seed)
    }

    /// The operations.
    pub fn graph(&self) -> &Graph {
        self.tile.graph()
    }

    /// The parameters have changed.
    pub(super) fn forget_packed(&mut self) {
        self.packed = OnceLock::new();
    }

    fn packed(&self, parameters: &[f32]) -> Result<&[f32]> {
        if let Some(packed) = self.packed.get() {
            return Ok(packed.as_slice());
        }
        let mut packed = HostBuffer::zeros(self.tile.parameters_length())?;
        self.tile.pack(parameters, packed.as_mut_slice());
        // Threads that meet here make the same numbers; one of them is kept.
        Ok(self.packed.get_or_init(|| packed).as_slice())
    }

    /// The outputs [rows, outputs] of `features` [rows, inputs], tile by tile on the threads of the present pool; `finish`
    /// gets those of each tile. Ends early where Ctrl-C asks for it.
    pub(super) fn predict(
        &self,
        parameters: &[f32],
        scaler: Option<&Scaler>,
        features: &[f32],
        out: &mut [f32],
        finish: impl Fn(&mut [f32]) + Sync,
    ) -> Result<()> {
        let packed = self.packed(parameters)?;
        let tile = |arena: &mut Vec<f32>, (features, out): (&[f32], &mut [f32])| {
            if interrupt::requested() {
                return;
            }
            arena.resize(self.tile.arena_length(), 0.0);
            run(&self.tile, packed, scaler, features, arena, out);
            finish(out);
        };
        let features = features.par_chunks(TILE_ROWS * self.graph().inputs());
        features.zip(out.par_chunks_mut(TILE_ROWS * self.graph().outputs())).for_each_init(Vec::new, tile);
        Ok(())
    }

    /// The same for one event; no allocation after a thread's first call.
    pub(super) fn score(
        &self,
        parameters: &[f32],
        scaler: Option<&Scaler>,
        features: &[f32],
        out: &mut [f32],
    ) -> Result<()> {
        thread_local! {
            static ARENA: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
        }
        let packed = self.packed(parameters)?;
        // Taken out while it is in use: in an event loop of ROOT's, Ctrl-C jumps out of here, and a loan would last for ever.
        let mut arena = ARENA.take();
        arena.resize(self.row.arena_length().max(arena.len()), 0.0);
        run(&self.row, packed, scaler, features, &mut arena, out);
        ARENA.set(arena);
        Ok(())
    }

    /// For people and for the model file.
    pub(super) fn activation_name(&self) -> &'static str {
        match &self.activation {
            Op::Activation(activation) => activation.name(),
            Op::Own(_) | Op::Linear { .. } => OWN,
        }
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

fn run(
    plan: &Plan<f32>,
    packed: &[f32],
    scaler: Option<&Scaler>,
    features: &[f32],
    arena: &mut [f32],
    out: &mut [f32],
) {
    let inputs = plan.graph().inputs();
    let rows = features.len() / inputs;
    let x = plan.input(arena, rows);
    match scaler {
        Some(scaler) => f32::standardise(features, &scaler.mean, &scaler.inverse, x),
        None => f32::to_panels(rows, inputs, features, x),
    }
    plan.forward(packed, arena, rows, 1);
    plan.output(arena, out);
}
