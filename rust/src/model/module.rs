//! A module as what a model computes: predictions by its program for evaluation.

use std::cell::Cell;

use crate::dataset::Scaler;
use crate::error::Result;
use crate::gradient::{Batches, Memory, Packing, Pass, Passes};
use crate::graph::{Mode, Module};
use crate::interrupt;
use crate::text;

/// Numbers of values that a prediction keeps at once, and most rows of it.
const PREDICTED_NUMBERS: usize = 1 << 24;
const PREDICTED_ROWS: usize = 1024;

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
    let (mut passes, packing) = (Passes::new(Mode::Evaluation, true), Packing::plain(module));
    let order: Vec<u32> = (0..(features.len() / inputs) as u32).collect();
    let most = (PREDICTED_NUMBERS / module.cost().numbers).clamp(8, PREDICTED_ROWS);
    let mut x = vec![0.0; (most + 1) * inputs];
    for rows in Batches::new(&order, most, module.takes_one(Mode::Evaluation)) {
        if interrupt::requested() {
            return Ok(());
        }
        let (first, x) = (rows[0] as usize, &mut x[..rows.len() * inputs]);
        fill(scaler, &features[first * inputs..][..x.len()], x);
        let out = &mut out[first * outputs..][..rows.len() * outputs];
        let memory = Memory { x, parameters, derived: &[], state };
        passes.of(module, &packing, rows.len())?.forward(module, &memory, 1, out)?;
        finish(out);
    }
    Ok(())
}

/// What a thread keeps to compute one event of a module.
struct One {
    module: u64,
    pass: Pass<f32>,
    x: Vec<f32>,
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
            let pass = Pass::new(module, &Packing::plain(module), Mode::Evaluation, 1, false)?;
            ones.truncate(KEPT - 1);
            ones.insert(0, One { module: module.number(), pass, x: vec![0.0; features.len()] });
            0
        }
    };
    let One { pass, x, .. } = &mut ones[index];
    fill(scaler, features, x);
    pass.forward(module, &Memory { x, parameters, derived: &[], state }, 1, out)?;
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
