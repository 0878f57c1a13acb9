//! Writing files whole or not at all.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// Lets `write` make a file beside `path`, which then takes its place: temporary file, fsync, rename, fsync of the
/// folder. A crash or an error leaves what was there before.
pub fn replace(path: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let name = path
        .file_name()
        .ok_or_else(|| Error::invalid(format!("\"{}\" names no file", path.display()), "give a file's path"))?;
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let mark = (std::process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed));
    let temporary = folder.join(format!(".{}.{}-{}.tmp", name.to_string_lossy(), mark.0, mark.1));
    let written = write(&temporary).and_then(|()| {
        let keep = || {
            File::open(&temporary)?.sync_all()?;
            fs::rename(&temporary, path)?;
            File::open(&folder)?.sync_all()
        };
        keep().map_err(|error| Error::io(path, error))
    });
    if written.is_err() {
        // The error to report is the first one; a temporary file that was never made cannot be removed either.
        let _ = fs::remove_file(&temporary);
    }
    written
}
