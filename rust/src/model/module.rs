//! A module as what a model computes: predictions by its program for evaluation.

use std::cell::Cell;

use crate::dataset::Scaler;
use crate::error::Result;
use crate::gradient::module::{Batches, evaluated_rows};
use crate::gradient::{Memory, Pass, Passes};
use crate::graph::{Mode, Module};
use crate::interrupt;
use crate::text;

/// Modules that a thread keeps a program for one event of.
const KEPT: usize = 8;

/// The outputs [rows, outputs] of `features` [rows, inputs], on the threads of the present pool; `finish` gets those of some
/// rows at once. Ends early where Ctrl-C asks for it.
pub fn predict(
    module: &Module,
    parameters: &[f32],
    state: &[f32],
    scaler: Option<&Scaler>,
    features: &[f32],
    out: &mut [f32],
    finish: impl Fn(&mut [f32]),
) -> Result<()> {
    let (inputs, outputs) = (module.inputs(), module.outputs());
    let (mut passes, mut state) = (Passes::new(Mode::Evaluation), state.to_vec());
    let order: Vec<u32> = (0..(features.len() / inputs) as u32).collect();
    let mut x = vec![0.0; (evaluated_rows(module) + 1) * inputs];
    for rows in Batches::new(module, Mode::Evaluation, &order, evaluated_rows(module)) {
        if interrupt::requested() {
            return Ok(());
        }
        let (first, x) = (rows[0] as usize, &mut x[..rows.len() * inputs]);
        fill(scaler, &features[first * inputs..][..x.len()], x);
        let mut memory = Memory { x, parameters, state: &mut state };
        let results = passes.of(module, rows.len())?.forward(module, &mut memory)?;
        let out = &mut out[first * outputs..][..results.len()];
        out.copy_from_slice(results);
        finish(out);
    }
    Ok(())
}

/// What a thread keeps to compute one event of a module.
struct One {
    module: u64,
    pass: Pass<f32>,
    x: Vec<f32>,
    state: Vec<f32>,
}

/// The same for one event; no allocation after a thread's first call.
pub fn score(
    module: &Module,
    parameters: &[f32],
    state: &[f32],
    scaler: Option<&Scaler>,
    features: &[f32],
    out: &mut [f32],
) -> Result<()> {
    thread_local! {
        static ONES: Cell<Vec<One>> = const { Cell::new(Vec::new()) };
    }
    // Taken out while it is in use: in an event loop of ROOT's, Ctrl-C jumps out of here, and a loan would last for ever.
    let mut ones = ONES.take();
    let index = match ones.iter().position(|one| one.module == module.number()) {
        Some(index) => index,
        None => {
            let pass = Pass::new(module, Mode::Evaluation, 1)?;
            ones.truncate(KEPT - 1);
            ones.insert(0, One { module: module.number(), pass, x: vec![0.0; features.len()], state: state.to_vec() });
            0
        }
    };
    let One { pass, x, state: own, .. } = &mut ones[index];
    fill(scaler, features, x);
    own.copy_from_slice(state);
    let results = pass.forward(module, &mut Memory { x, parameters, state: own })?;
    out.copy_from_slice(results);
    ONES.set(ones);
    Ok(())
}

fn fill(scaler: Option<&Scaler>, features: &[f32], x: &mut [f32]) {
    match scaler {
        Some(scaler) => scaler.standardise(features, x),
        None => x.copy_from_slice(features),
    }
}

/// A line for people.
pub fn describe(module: &Module) -> String {
    format!(
        "Model {} of events [{}] to {} output(s), {} parameters, {} multiplications an event\n",
        module.name(),
        text::list(module.shape().iter().map(usize::to_string), ", "),
        module.outputs(),
        module.parameters(),
        module.cost().work,
    )
}
