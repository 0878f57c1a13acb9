//! Files written whole or not at all, and text that is safe to show.

use std::fs;
use std::path::Path;

use crate::atomic_file;
use crate::error::{Error, Result, guard};
use crate::text;
use crate::torch_file;

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    extern "Rust" {
        type AtomicFile;
        /// A file that is to stand at `path`; gone without a trace unless it is published.
        fn file_new(path: &str) -> Result<Box<AtomicFile>>;
        /// Where it is written until then.
        fn file_path(file: &AtomicFile) -> Result<String>;
        fn file_publish(file: Box<AtomicFile>) -> Result<()>;
        /// Writes the bytes to `path`, whole or not at all.
        fn write_file(path: &str, bytes: &[u8]) -> Result<()>;
        /// A TorchScript network's archive for LibTorch to load: see [`torch_file::sound_script`].
        fn torch_script(path: &str) -> Result<Vec<u8>>;
        /// A name (of a column, a tree, a file; UTF-8 or not) on one line, without what would steer a terminal.
        fn text_name(name: &[u8]) -> String;
        /// The same for a message, whose lines stay.
        fn text_message(message: &[u8]) -> String;
    }
}

fn file_new(path: &str) -> Result<Box<AtomicFile>> {
    guard(|| Ok(Box::new(AtomicFile(atomic_file::AtomicFile::new(Path::new(path))?))))
}

fn file_path(file: &AtomicFile) -> Result<String> {
    let text = file.0.path().to_str().map(str::to_owned);
    text.ok_or_else(|| Error::invalid(format!("{:?} is no UTF-8", file.0.path()), "choose another name"))
}

fn file_publish(file: Box<AtomicFile>) -> Result<()> {
    guard(|| file.0.publish())
}

fn write_file(path: &str, bytes: &[u8]) -> Result<()> {
    let path = Path::new(path);
    guard(|| atomic_file::replace(path, |new| fs::write(new, bytes).map_err(|error| Error::io(path, error))))
}

fn torch_script(path: &str) -> Result<Vec<u8>> {
    guard(|| torch_file::sound_script(Path::new(path)))
}

fn text_name(name: &[u8]) -> String {
    text::name(&String::from_utf8_lossy(name))
}

fn text_message(message: &[u8]) -> String {
    text::message(&String::from_utf8_lossy(message))
}

/// A file on its way to its place.
pub struct AtomicFile(atomic_file::AtomicFile);
