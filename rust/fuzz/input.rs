//! What targets that read files share: a file for the input, and what becomes of a result.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use cladtorch::{Error, Result};

/// The file that inputs are written to, in memory where the system has such a folder. It has no name, so that nothing
/// is left of it however the process ends, and is opened again by its number.
static FILE: LazyLock<(File, PathBuf)> = LazyLock::new(|| {
    let shared = PathBuf::from("/dev/shm");
    let folder = if shared.is_dir() { shared } else { std::env::temp_dir() };
    let named = folder.join(format!("cladtorch-fuzz-{}", std::process::id()));
    let file = File::create(&named).expect("a file for the inputs");
    fs::remove_file(&named).expect("a file that can be removed");
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    (file, path)
});

/// A file with these bytes, until the next one.
pub fn file_of(bytes: &[u8]) -> Option<&'static Path> {
    let (file, path) = &*FILE;
    file.set_len(0).and_then(|()| file.write_all_at(bytes, 0)).ok()?;
    Some(path)
}

/// A defect of ours is an internal error; every other error is as it should be.
pub fn accept<T>(result: Result<T>) -> Option<T> {
    assert!(!matches!(result, Err(Error::Internal(_))), "{}", result.err().map_or(String::new(), |e| e.to_string()));
    result.ok()
}
