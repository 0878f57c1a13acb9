//! What a column of a dataset is, and the fast reader of [`cladtorch_base::columns`] as the bridge describes branches.

use std::collections::HashSet;
use std::path::Path;

pub use cladtorch_base::columns::*;
use cladtorch_base::rootfile::{Baskets, Layout, RootFile};

use crate::bridge::{ColumnSpec, LeafSpec, TargetSpec};
use crate::columns::branch::{Branch, Element, Part, Shape};
use crate::columns::file::TreeFile;
use crate::error::{Error, Result};
use crate::text;

/// More numbers an event than this are a mistake in a length, not a dataset.
const WIDTH_LIMIT: usize = 1 << 24;

impl ColumnSpec {
    /// A column of `length` numbers an event, the pad 0; of 1, the first of an event's numbers.
    pub fn new(name: &str, length: usize) -> Self {
        ColumnSpec { name: name.to_owned(), length, pad: 0.0, inner: 0, mask_of: String::new(), scalar: false }
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

/// The column that number `index` of a row belongs to, as a user would write it: `m_bb` or `strain[17]`.
pub fn element_name(columns: &[ColumnSpec], index: usize) -> String {
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
pub fn list(columns: &[ColumnSpec]) -> String {
    let name = |column: &ColumnSpec| match column.length {
        1 => column.name.clone(),
        length => format!("{}[{length}]", column.name),
    };
    text::list(columns.iter().map(name), ", ")
}

/// The branch, without baskets, that `leaf` describes.
pub fn branch_of(leaf: &LeafSpec) -> Result<Branch> {
    let unknown = || Error::Internal(format!("column '{}' has a layout of unknown kind", leaf.target.name));
    let element = *Element::ALL.get(usize::from(leaf.element)).ok_or_else(unknown)?;
    let shape = match leaf.shape {
        0 => Shape::Fixed { entry_length: leaf.entry_length, offset: leaf.offset, length: leaf.length },
        1 => Shape::Array,
        2 => Shape::Vector,
        _ => return Err(unknown()),
    };
    branch(&leaf.target, element, shape)
}

fn branch(target: &TargetSpec, element: Element, shape: Shape) -> Result<Branch> {
    let parts = [Part::Features, Part::Label, Part::Weight];
    let unknown = || Error::Internal(format!("column '{}' is of an unknown part", target.name));
    let part = *parts.get(usize::from(target.part)).ok_or_else(unknown)?;
    let (name, baskets) = (target.name.clone(), Vec::new());
    Branch { name, element, shape, part, place: target.place, wanted: target.wanted, pad: target.pad, baskets }
        .checked()
}

/// The columns `targets` of the tree `tree` in the file at `path`, as the file itself describes them. An error where ROOT may
/// find something else under these names, or would refuse them: then ROOT decides.
pub fn described(path: &Path, tree: &str, targets: &[TargetSpec]) -> Result<TreeFile> {
    let tree = RootFile::open(path)?.only_tree(tree)?;
    let mut file = tree.file()?;
    for target in targets {
        let unsure = || Error::invalid(format!("column '{}' needs ROOT", target.name), "ask ROOT what it is");
        let layout = tree.plain(&target.name).filter(|layout| suits(layout, target)).ok_or_else(unsure)?;
        let Baskets { seeks, bytes, firsts } = layout.baskets.as_ref();
        file.add(branch(target, layout.element, layout.shape)?, seeks, bytes, firsts)?;
    }
    Ok(file)
}

/// Whether a data frame has a type for these numbers, and `target` asks for no other shape.
fn suits(layout: &Layout, target: &TargetSpec) -> bool {
    let byte = matches!(layout.element, Element::I8 | Element::U8);
    match layout.shape {
        Shape::Fixed { length: 1, .. } => !byte && target.wanted == 1,
        _ => !byte && layout.element != Element::Bool && !target.scalar,
    }
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
            (vec![ColumnSpec { scalar: true, ..ColumnSpec::new("a", 2) }], "\"a\" is a scalar of 2 numbers"),
            (vec![ColumnSpec::new("a", 2), ColumnSpec::new("b", usize::MAX)], "\"b\" has length"),
        ] {
            let error = checked_width(&columns).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
