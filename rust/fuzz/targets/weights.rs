//! Weights in safetensors files and in PyTorch's: read, and taken by a network.

#![no_main]

#[path = "../input.rs"]
mod input;
#[path = "../parts.rs"]
mod parts;

use cladtorch::graph::{Activation, Init};
use cladtorch::model::Model;
use cladtorch::torch_file::{StateDict, is_archive};
use input::{accept, file_of};
use libfuzzer_sys::fuzz_target;

/// Tensors of more numbers are not read here.
const MOST: usize = 1 << 20;

fuzz_target!(|input: &[u8]| {
    let Some(path) = file_of(&parts::whole(&parts::WEIGHTS, input)) else { return };
    if is_archive(path)
        && let Some(mut dict) = accept(StateDict::open(path))
    {
        for name in dict.names().to_vec() {
            let count =
                dict.tensor(&name).map(|(_, shape)| shape.iter().try_fold(1_usize, |n, size| n.checked_mul(*size)));
            if count.flatten().is_some_and(|count| count <= MOST) {
                accept(dict.read(&name));
            }
        }
    }
    let Some(mut model) = accept(Model::new(&[3, 4, 2], Activation::ReLU, Init::Kaiming, 1)) else { return };
    if accept(model.load_weights(path)).is_some() {
        assert!(model.parameters().iter().all(|value| value.is_finite()));
    }
});
