//! The one error of the crate, and the guard that every call from C++ goes through.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

use crate::text::{message, name};

/// The fault, its object, and the remedy. Displayed without characters that control a terminal.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A value from the user, a file or the environment that cannot be used.
    #[error("{}; {}", message(what), message(remedy))]
    Invalid {
        /// The fault, with the object's name and the value found.
        what: String,
        /// The remedy.
        remedy: String,
    },
    /// A file that could not be read or written.
    #[error("{}: {source}", shown(path))]
    Io {
        /// The file.
        path: PathBuf,
        /// The message of the operating system.
        source: std::io::Error,
    },
    /// A model file that is damaged, foreign or of another version.
    #[error("model file {}: {}", shown(path), message(what))]
    ModelFile {
        /// The file.
        path: PathBuf,
        /// What was found instead.
        what: String,
    },
    /// A failure of the thread that reads a stream.
    #[error("{}", message(.0))]
    Stream(String),
    /// Work that Ctrl-C ended.
    #[error("{0} was interrupted")]
    Interrupted(&'static str),
    /// An error that LibTorch reported.
    #[error("LibTorch: {}", message(.0))]
    Torch(String),
    /// A defect of this library, caught before it could end the process.
    #[error("internal error (please report it): {}", message(.0))]
    Internal(String),
}

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An [`Error::Invalid`].
    pub fn invalid(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Error::Invalid { what: what.into(), remedy: remedy.into() }
    }

    /// An [`Error::Io`] on `path`.
    pub fn io(path: &Path, source: std::io::Error) -> Self {
        Error::Io { path: path.to_path_buf(), source }
    }
}

fn shown(path: &Path) -> String {
    name(&path.to_string_lossy())
}

/// Ends the work of [`guard`] with `error`, from a place that cannot return a result: inside the threads of a step,
/// when a function of the user's failed. Unlike a panic it prints nothing.
pub fn unwind(error: Error) -> ! {
    resume_unwind(Box::new(error))
}

/// Runs `body`; a panic in it becomes [`Error::Internal`], and [`unwind`] the error that it was called with. cxx aborts
/// the process on a panic that reaches C++.
pub fn guard<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    // A panic can leave only the argument's own state half-changed: the caller drops it or (for datasets) rolls it back
    // to its last committed source.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let panic = match panic.downcast::<Error>() {
            Ok(error) => return Err(*error),
            Err(panic) => panic,
        };
        let text = panic
            .downcast_ref::<&str>()
            .map(|s| (*s).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a panic without a message".to_owned());
        Err(Error::Internal(text))
    })
}
