//! Whole files, read without ROOT: directory, trees, and every column that is said to be readable.

#![no_main]

#[path = "../input.rs"]
mod input;

use cladtorch::columns::branch::Shape;
use cladtorch::rootfile::{RootFile, Wanted};
use input::{accept, file_of};
use libfuzzer_sys::fuzz_target;

/// Numbers of an entry where its length differs.
const LENGTH: usize = 3;

fuzz_target!(|input: &[u8]| {
    let Some(path) = file_of(input) else { return };
    let Some(file) = accept(RootFile::open(path)) else { return };
    let names: Vec<String> = file.trees().map(str::to_owned).collect();
    for name in names {
        let Some(tree) = accept(file.tree(&name)) else { continue };
        let readable = tree.columns.iter().filter_map(|column| {
            let fixed = matches!(column.layout.as_ref().ok()?.shape, Shape::Fixed { .. });
            Some(Wanted { name: column.name.clone(), length: if fixed { 0 } else { LENGTH } })
        });
        accept(tree.read(&readable.collect::<Vec<_>>(), -1.0));
    }
});
