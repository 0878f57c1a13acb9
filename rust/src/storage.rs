//! Files that appear whole or not at all: written under another name, made durable, renamed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// A name beside `path` that nobody else uses, for the file until it is whole.
pub fn temporary(path: &Path) -> Result<PathBuf> {
    let name = path
        .file_name()
        .ok_or_else(|| Error::invalid(format!("\"{}\" names no file", path.display()), "give a file's path"))?;
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mark = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    Ok(folder(path).join(format!(".{}.{}-{}.tmp", name.to_string_lossy(), mark.0, mark.1)))
}

/// Puts the finished file `temporary` in the place of `path`: fsync, rename, fsync of the folder. A crash leaves the old
/// file or the new one; an error removes `temporary`.
pub fn publish(temporary: &Path, path: &Path) -> Result<()> {
    let published = (|| {
        File::open(temporary)?.sync_all()?;
        fs::rename(temporary, path)?;
        File::open(folder(path))?.sync_all()
    })();
    published.map_err(|error| {
        discard(temporary);
        Error::io(path, error)
    })
}

/// Lets `write` make a file beside `path`, which then takes its place. A crash or an error leaves what was there before.
pub fn replace(path: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let temporary = temporary(path)?;
    write(&temporary).inspect_err(|_| discard(&temporary))?;
    publish(&temporary, path)
}

/// After an error, which is the one to report; a temporary file that was never made cannot be removed either.
fn discard(temporary: &Path) {
    let _ = fs::remove_file(temporary);
}

fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}
