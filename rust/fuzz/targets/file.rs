//! Whole files, read without ROOT: directory, trees, and every column that is said to be readable.

#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use cladtorch::Error;
use cladtorch::columns::branch::Shape;
use cladtorch::rootfile::{RootFile, Wanted};
use libfuzzer_sys::fuzz_target;

/// Numbers of an entry where its length differs.
const LENGTH: usize = 3;

/// In memory where the system has such a folder; one for each process.
static PATH: LazyLock<PathBuf> = LazyLock::new(|| {
    let shared = PathBuf::from("/dev/shm");
    let folder = if shared.is_dir() { shared } else { std::env::temp_dir() };
    folder.join(format!("cladtorch-fuzz-{}.root", std::process::id()))
});

/// A defect of ours is an internal error; every other error is as it should be.
fn accept<T>(result: cladtorch::Result<T>) -> Option<T> {
    assert!(!matches!(result, Err(Error::Internal(_))), "{}", result.err().map_or(String::new(), |e| e.to_string()));
    result.ok()
}

fuzz_target!(|input: &[u8]| {
    if fs::write(&*PATH, input).is_err() {
        return;
    }
    let Some(file) = accept(RootFile::open(&PATH)) else { return };
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
