//! Model files by one who knows the checksum: read, asked for the prediction of an event, and written again.

#![no_main]

#[path = "../input.rs"]
mod input;

use cladtorch::model::Model;
use input::{accept, file_of};
use libfuzzer_sys::fuzz_target;
use support::forged;

fuzz_target!(|input: &[u8]| {
    let Some(path) = file_of(&forged::resum(input.to_vec())) else { return };
    let Some(model) = accept(Model::load(path, None)) else { return };
    assert!(!model.describe().chars().any(|each| each.is_control() && each != '\n'), "{}", model.describe());
    let (x, mut y) = (vec![0.5; model.inputs()], vec![0.0; model.outputs()]);
    accept(model.score(&x, false, &mut y));
});
