//! The fast reader of trees: it is told by ROOT where a branch's baskets lie, reads
//! and decodes them itself, and hands everything that it is not sure of back to ROOT.
//!
//! The way of a basket: `reader` reads the records of a window of entries, [`basket`] checks the key, [`codec`]
//! decompresses, [`branch`] turns the entries into float32, and the reader lays the windows' columns out as rows. Float32
//! numbers that lie side by side stay as they are until then.

pub mod basket;
pub mod branch;
pub(crate) mod bytes;
pub mod codec;
pub mod file;
mod reader;
pub(crate) mod record;

pub use reader::{BadValue, Check, EntrySelection, Plane, read};

/// The first `length` elements of a buffer that only grows.
fn room<T: Default + Clone>(buffer: &mut Vec<T>, length: usize) -> Result<&mut [T], String> {
    if buffer.len() < length {
        buffer.try_reserve(length - buffer.len()).map_err(|_| format!("there is no memory for {length} numbers"))?;
        buffer.resize(length, T::default());
    }
    Ok(&mut buffer[..length])
}
