//! Whole files, read without ROOT: directory, trees, and every column that is said to be readable.

#![no_main]

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::LazyLock;

use cladtorch::Error;
use cladtorch::columns::branch::Shape;
use cladtorch::rootfile::{RootFile, Wanted};
use libfuzzer_sys::fuzz_target;

/// Numbers of an entry where its length differs.
const LENGTH: usize = 3;

/// The file that inputs are written to, in memory where the system has such a folder. It has no name, so that nothing
/// is left of it however the process ends, and is opened again by its number.
static FILE: LazyLock<(File, PathBuf)> = LazyLock::new(|| {
    let shared = PathBuf::from("/dev/shm");
    let folder = if shared.is_dir() { shared } else { std::env::temp_dir() };
    let named = folder.join(format!("cladtorch-fuzz-{}.root", std::process::id()));
    let file = File::create(&named).expect("a file for the inputs");
    fs::remove_file(&named).expect("a file that can be removed");
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    (file, path)
});

/// A defect of ours is an internal error; every other error is as it should be.
fn accept<T>(result: cladtorch::Result<T>) -> Option<T> {
    assert!(!matches!(result, Err(Error::Internal(_))), "{}", result.err().map_or(String::new(), |e| e.to_string()));
    result.ok()
}

fuzz_target!(|input: &[u8]| {
    let (file, path) = &*FILE;
    if file.set_len(0).and_then(|()| file.write_all_at(input, 0)).is_err() {
        return;
    }
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
