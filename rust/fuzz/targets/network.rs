//! Networks of TorchScript and of torch.export, up to where LibTorch would run them.

#![no_main]

#[path = "../input.rs"]
mod input;
#[path = "../parts.rs"]
mod parts;

use cladtorch::torch_file::{exported, is_exported, sound_script};
use input::{accept, file_of};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some(path) = file_of(&parts::whole(&parts::NETWORKS, input)) else { return };
    match is_exported(path) {
        true => drop(accept(exported(path))),
        false => drop(accept(sound_script(path))),
    }
});
