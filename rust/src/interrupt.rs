//! Ctrl-C: a flag of the whole process, which the signal handler of the C++ side sets and long loops poll.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Sets or clears the flag. Safe in a signal handler: a single store.
pub fn request(on: bool) {
    REQUESTED.store(on, Ordering::Relaxed);
}

/// Whether the work in progress must end.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// [`Error::Interrupted`] once the work in progress must end.
pub fn check(what: &'static str) -> Result<()> {
    if requested() { Err(Error::Interrupted(what)) } else { Ok(()) }
}
