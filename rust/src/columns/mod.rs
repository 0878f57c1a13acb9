//! What a column of a dataset is, and the fast reader of trees: it is told by ROOT where a branch's baskets lie, reads
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

pub use reader::{BadValue, Plane, Rows, read};

use std::collections::HashSet;

use crate::bridge::ColumnSpec;
use crate::error::{Error, Result};

/// More numbers an event than this are a mistake in a length, not a dataset.
const WIDTH_LIMIT: usize = 1 << 24;

impl ColumnSpec {
    /// A column of `length` numbers an event, the pad 0.
    pub fn new(name: &str, length: usize) -> Self {
        ColumnSpec { name: name.to_owned(), length, pad: 0.0, inner: 0, mask_of: String::new() }
    }
}

/// Checks names and lengths; returns the numbers an event.
pub fn checked_width(columns: &[ColumnSpec]) -> Result<usize> {
    let mut names = HashSet::new();
    let mut width = 0usize;
    for column in columns {
        if column.name.is_empty() {
            return Err(Error::invalid("a column without a name", "give every column a name"));
        }
        if !column.pad.is_finite() {
            return Err(Error::invalid(
                format!("column \"{}\" has pad {}", column.name, column.pad),
                "give a finite number",
            ));
        }
        if column.inner > 0 && column.length % column.inner != 0 {
            return Err(Error::invalid(
                format!("column \"{}\" has {} numbers in lists of {}", column.name, column.length, column.inner),
                "give its shape as {lists, numbers of each}",
            ));
        }
        if !names.insert(&column.name) {
            return Err(Error::invalid(format!("column \"{}\" is listed twice", column.name), "list it once"));
        }
        width = width
            .checked_add(column.length)
            .filter(|&total| column.length > 0 && total <= WIDTH_LIMIT)
            .ok_or_else(|| {
                Error::invalid(
                    format!("column \"{}\" has length {}", column.name, column.length),
                    format!("give a length from 1 on, at most {WIDTH_LIMIT} numbers an event in all"),
                )
            })?;
    }
    Ok(width)
}

/// The column that number `index` of a row belongs to, as a user would write it: `m_bb` or `strain[17]`.
pub fn element_name(columns: &[ColumnSpec], index: usize) -> String {
    let mut first = 0;
    for column in columns {
        if index < first + column.length {
            return match column.length {
                1 => column.name.clone(),
                _ => format!("{}[{}]", column.name, index - first),
            };
        }
        first += column.length;
    }
    format!("number {index}")
}

/// `jet_pt, strain[256]`: the columns as they appear in messages.
pub fn list(columns: &[ColumnSpec]) -> String {
    let name = |column: &ColumnSpec| match column.length {
        1 => column.name.clone(),
        length => format!("{}[{length}]", column.name),
    };
    columns.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// The first `length` elements of a buffer that only grows.
fn room<T: Default + Clone>(buffer: &mut Vec<T>, length: usize) -> Result<&mut [T], String> {
    if buffer.len() < length {
        buffer.try_reserve(length - buffer.len()).map_err(|_| format!("there is no memory for {length} numbers"))?;
        buffer.resize(length, T::default());
    }
    Ok(&mut buffer[..length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_add_up_and_elements_have_names() {
        let columns = [ColumnSpec::new("pt", 1), ColumnSpec::new("strain", 4), ColumnSpec::new("eta", 1)];
        assert_eq!(checked_width(&columns).unwrap(), 6);
        assert_eq!(element_name(&columns, 0), "pt");
        assert_eq!(element_name(&columns, 3), "strain[2]");
        assert_eq!(element_name(&columns, 5), "eta");
        assert_eq!(list(&columns), "pt, strain[4], eta");
    }

    #[test]
    fn bad_columns_are_named() {
        for (columns, word) in [
            (vec![ColumnSpec::new("", 1)], "without a name"),
            (vec![ColumnSpec::new("a", 1), ColumnSpec::new("a", 1)], "\"a\" is listed twice"),
            (vec![ColumnSpec { pad: f32::NAN, ..ColumnSpec::new("a", 2) }], "\"a\" has pad NaN"),
            (vec![ColumnSpec::new("a", 0)], "\"a\" has length 0"),
            (vec![ColumnSpec { inner: 3, ..ColumnSpec::new("a", 7) }], "7 numbers in lists of 3"),
            (vec![ColumnSpec::new("a", 2), ColumnSpec::new("b", usize::MAX)], "\"b\" has length"),
        ] {
            let error = checked_width(&columns).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
