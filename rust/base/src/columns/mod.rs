//! The fast reader of trees: ROOT tells it the positions of a branch's baskets; it reads and decodes them itself, and
//! leaves everything that it does not support to ROOT.
//!
//! The path of a basket: `reader` reads the records of a window of entries, [`basket`] checks the key, [`codec`]
//! decompresses, [`branch`] turns the entries into float32, and the reader lays out the windows' columns as rows.
//! Contiguous float32 numbers stay unchanged until then.

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
