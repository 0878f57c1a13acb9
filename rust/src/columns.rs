//! Columns of a dataset, and the fast reader of [`cladtorch_base::columns`], which fills them.

use std::collections::HashSet;
use std::path::Path;

pub use cladtorch_base::columns::*;
use cladtorch_base::rootfile::{Baskets, Layout, RootFile};

use crate::columns::branch::{Branch, ColumnPart, Element, Shape};
use crate::columns::file::TreeFile;
use crate::error::{Error, Result};
use crate::text;

/// More features per event than this are a mistake in a length, not a dataset.
const WIDTH_LIMIT: usize = 1 << 24;

/// One feature column of a dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name in the tree or data frame, or an expression.
    pub name: String,
    /// Elements per event, 1 for a scalar.
    pub length: usize,
    /// Fills an event that has fewer.
    pub pad: f32,
    /// Elements of each inner list of a list of lists; 0: the column is not one.
    pub inner: usize,
    /// The column whose mask this is: 1 where an event has an element, 0 where it was padded; "": this is no mask.
    pub mask_of: String,
    /// Whether an event has exactly one element, where other columns of length 1 take the first of a list.
    pub scalar: bool,
}

/// A column to read, and where its elements go.
#[derive(Clone, Debug)]
pub struct Request {
    /// Name of the column.
    pub name: String,
    /// The part of the column that it fills.
    pub part: ColumnPart,
    /// Place of its first element in a row of features.
    pub place: usize,
    /// Elements per entry.
    pub wanted: usize,
    /// Stands in where an entry has fewer.
    pub pad: f32,
    /// Whether a list is refused.
    pub scalar: bool,
}

impl Request {
    /// The branch, without baskets, that fills it from entries of this layout.
    pub fn branch(&self, element: Element, shape: Shape) -> Result<Branch> {
        let Request { part, place, wanted, pad, .. } = *self;
        Branch { name: self.name.clone(), element, shape, part, place, wanted, pad, baskets: Vec::new() }.checked()
    }
}

impl Column {
    /// A column of `length` elements per event, the pad 0; of 1, the first of an event's elements.
    pub fn new(name: &str, length: usize) -> Self {
        Column { name: name.to_owned(), length, pad: 0.0, inner: 0, mask_of: String::new(), scalar: false }
    }
}

/// Checks names and lengths; returns the features per event.
pub fn checked_width(columns: &[Column]) -> Result<usize> {
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
        if column.scalar && column.length != 1 {
            return Err(Error::invalid(
                format!("column \"{}\" is a scalar of {} numbers", column.name, column.length),
                "give a scalar the length 1",
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

/// The columns, each with the place of its first number in a row.
pub fn starts(columns: &[Column]) -> impl Iterator<Item = (&Column, usize)> {
    columns.iter().scan(0, |next, column| Some((column, std::mem::replace(next, *next + column.length))))
}

/// For each number of a row, the place of the number that says whether it was padded; none where no column is its mask.
pub fn masks(columns: &[Column]) -> Vec<Option<usize>> {
    let mut masks = vec![None; columns.iter().map(|column| column.length).sum()];
    for (mask, first) in starts(columns).filter(|(mask, _)| !mask.mask_of.is_empty()) {
        let of = starts(columns).find(|(column, _)| column.name == mask.mask_of && column.mask_of.is_empty());
        if let Some((_, start)) = of.filter(|(column, _)| column.length == mask.length) {
            (0..mask.length).for_each(|i| masks[start + i] = Some(first + i));
        }
    }
    masks
}

/// The column that number `index` of a row belongs to, as a user would write it: `m_bb` or `strain[17]`.
pub fn element_name(columns: &[Column], index: usize) -> String {
    let mut first = 0;
    for column in columns {
        if index < first + column.length {
            let name = text::name(&column.name);
            return if column.length == 1 { name } else { format!("{name}[{}]", index - first) };
        }
        first += column.length;
    }
    format!("number {index}")
}

/// `jet_pt, strain[256]`: the columns as they appear in messages.
pub fn list(columns: &[Column]) -> String {
    let name = |column: &Column| match column.length {
        1 => column.name.clone(),
        length => format!("{}[{length}]", column.name),
    };
    text::list(columns.iter().map(name), ", ")
}

/// The columns `requests` of the tree `tree` in the file at `path`, as the file itself describes them. An error where ROOT may
/// find something else under these names, or would refuse them: then ROOT decides.
pub fn described(path: &Path, tree: &str, requests: &[Request]) -> Result<TreeFile> {
    let tree = RootFile::open(path)?.only_tree(tree)?;
    let mut file = tree.file()?;
    for request in requests {
        let unsure = || Error::invalid(format!("column '{}' needs ROOT", request.name), "ask ROOT what it is");
        let layout = tree.plain(&request.name).filter(|layout| suits(layout, request)).ok_or_else(unsure)?;
        let Baskets { seeks, bytes, firsts } = layout.baskets.as_ref();
        file.add(request.branch(layout.element, layout.shape)?, seeks, bytes, firsts)?;
    }
    Ok(file)
}

/// Whether a data frame has a type for these numbers, and `request` asks for no other shape.
fn suits(layout: &Layout, request: &Request) -> bool {
    let byte = matches!(layout.element, Element::I8 | Element::U8);
    match layout.shape {
        Shape::Fixed { length: 1, .. } => !byte && request.wanted == 1,
        _ => !byte && layout.element != Element::Bool && !request.scalar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_add_up_and_elements_have_names() {
        let columns = [Column::new("pt", 1), Column::new("strain", 4), Column::new("eta", 1)];
        assert_eq!(checked_width(&columns).unwrap(), 6);
        assert_eq!(element_name(&columns, 0), "pt");
        assert_eq!(element_name(&columns, 3), "strain[2]");
        assert_eq!(element_name(&columns, 5), "eta");
        assert_eq!(list(&columns), "pt, strain[4], eta");
    }

    #[test]
    fn masks_are_those_of_their_lists() {
        let mask = |of: &str, length| Column { mask_of: of.to_owned(), ..Column::new(&format!("mask({of})"), length) };
        let columns =
            [Column::new("met", 1), mask("jets", 2), Column::new("jets", 2), Column::new("hits", 2), mask("other", 2)];
        let jets = [None, None, None, Some(1), Some(2), None, None, None, None];
        assert_eq!(masks(&columns), jets);
    }

    #[test]
    fn bad_columns_are_named() {
        for (columns, word) in [
            (vec![Column::new("", 1)], "without a name"),
            (vec![Column::new("a", 1), Column::new("a", 1)], "\"a\" is listed twice"),
            (vec![Column { pad: f32::NAN, ..Column::new("a", 2) }], "\"a\" has pad NaN"),
            (vec![Column::new("a", 0)], "\"a\" has length 0"),
            (vec![Column { inner: 3, ..Column::new("a", 7) }], "7 numbers in lists of 3"),
            (vec![Column { scalar: true, ..Column::new("a", 2) }], "\"a\" is a scalar of 2 numbers"),
            (vec![Column::new("a", 2), Column::new("b", usize::MAX)], "\"b\" has length"),
        ] {
            let error = checked_width(&columns).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
