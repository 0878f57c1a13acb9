//! Columns of trees as C++ describes them, and local files for the fast reader.

use std::path::Path;

pub use ffi::ColumnSpec;

use crate::columns::branch::{self, Branch};
use crate::columns::{Column, Request, described, file};
use crate::error::{Result, guard};
use ffi::{ColumnPart, Element, LeafSpec, Shape, TargetSpec};

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    /// See `Column` in `columns`.
    struct ColumnSpec {
        name: String,
        length: usize,
        pad: f32,
        inner: usize,
        mask_of: String,
        scalar: bool,
    }

    /// The part of a dataset that a column fills.
    enum ColumnPart {
        Features,
        Label,
        Weight,
    }

    /// Types of numbers in a file.
    enum Element {
        Bool,
        I8,
        U8,
        I16,
        U16,
        I32,
        U32,
        I64,
        U64,
        F32,
        F64,
    }

    /// How the numbers of an entry lie in it.
    enum Shape {
        /// Entries of one length.
        Fixed,
        /// Arrays with a count.
        Array,
        /// `std::vector` or `RVec`.
        Vector,
    }

    /// See `Request` in `columns`.
    struct TargetSpec {
        name: String,
        part: ColumnPart,
        place: usize,
        wanted: usize,
        pad: f32,
        scalar: bool,
    }

    /// A leaf of a branch, and what it fills; its name is for messages.
    struct LeafSpec {
        target: TargetSpec,
        element: Element,
        shape: Shape,
        /// Bytes of an entry, of a fixed shape.
        entry_length: usize,
        /// Bytes before the leaf in an entry, of a fixed shape.
        offset: usize,
        /// Elements of the leaf, of a fixed shape.
        length: usize,
    }

    extern "Rust" {
        #[derive(ExternType)]
        type TreeFile;
        /// A local file whose tree has `entries` entries.
        fn tree_file_new(path: &str, entries: u64) -> Result<Box<TreeFile>>;
        /// The tree `tree` of a local file with the columns `targets`, without ROOT; an error where only ROOT can say what
        /// they are.
        fn tree_file_described(path: &str, tree: &str, targets: &Vec<TargetSpec>) -> Result<Box<TreeFile>>;
        fn tree_file_entries(file: &TreeFile) -> u64;
        fn tree_file_path(file: &TreeFile) -> String;
        /// See `file::TreeFile::common_ends`.
        fn tree_file_common_ends(file: &TreeFile) -> Vec<u64>;
        /// Adds a column, with the position, size and first entry of each basket.
        fn tree_file_add(
            file: &mut TreeFile,
            leaf: &LeafSpec,
            seeks: &[i64],
            bytes: &[i32],
            firsts: &[i64],
        ) -> Result<()>;
    }

    impl Vec<ColumnSpec> {}
}

shared_enum!(ColumnPart is branch::ColumnPart, "the part of a column": Features Label Weight);
shared_enum!(Element is branch::Element, "the type of a leaf": Bool I8 U8 I16 U16 I32 U32 I64 U64 F32 F64);

impl From<&ColumnSpec> for Column {
    fn from(ColumnSpec { name, length, pad, inner, mask_of, scalar }: &ColumnSpec) -> Self {
        let (name, mask_of) = (name.clone(), mask_of.clone());
        Column { name, length: *length, pad: *pad, inner: *inner, mask_of, scalar: *scalar }
    }
}

impl From<&Column> for ColumnSpec {
    fn from(Column { name, length, pad, inner, mask_of, scalar }: &Column) -> Self {
        let (name, mask_of) = (name.clone(), mask_of.clone());
        ColumnSpec { name, length: *length, pad: *pad, inner: *inner, mask_of, scalar: *scalar }
    }
}

/// The domain's columns.
pub(super) fn columns(specs: &[ColumnSpec]) -> Vec<Column> {
    specs.iter().map(Column::from).collect()
}

/// Columns for C++.
pub(super) fn column_specs(columns: &[Column]) -> Vec<ColumnSpec> {
    columns.iter().map(ColumnSpec::from).collect()
}

impl TryFrom<&TargetSpec> for Request {
    type Error = crate::Error;

    fn try_from(TargetSpec { name, part, place, wanted, pad, scalar }: &TargetSpec) -> Result<Self> {
        let (name, part) = (name.clone(), (*part).try_into()?);
        Ok(Request { name, part, place: *place, wanted: *wanted, pad: *pad, scalar: *scalar })
    }
}

fn branch_of(leaf: &LeafSpec) -> Result<Branch> {
    let LeafSpec { entry_length, offset, length, .. } = *leaf;
    let shape = match leaf.shape {
        Shape::Fixed => branch::Shape::Fixed { entry_length, offset, length },
        Shape::Array => branch::Shape::Array,
        Shape::Vector => branch::Shape::Vector,
        Shape { repr } => return Err(super::unknown_number("the shape of a leaf", repr)),
    };
    Request::try_from(&leaf.target)?.branch(leaf.element.try_into()?, shape)
}

fn tree_file_new(path: &str, entries: u64) -> Result<Box<TreeFile>> {
    guard(|| Ok(Box::new(TreeFile(file::TreeFile::new(path, entries)?))))
}

#[allow(clippy::ptr_arg)] // What cxx makes of `rust::Vec`.
fn tree_file_described(path: &str, tree: &str, targets: &Vec<TargetSpec>) -> Result<Box<TreeFile>> {
    guard(|| {
        let requests = targets.iter().map(Request::try_from).collect::<Result<Vec<_>>>()?;
        Ok(Box::new(TreeFile(described(Path::new(path), tree, &requests)?)))
    })
}

fn tree_file_entries(file: &TreeFile) -> u64 {
    file.0.entries()
}

fn tree_file_path(file: &TreeFile) -> String {
    file.0.path().display().to_string()
}

fn tree_file_common_ends(file: &TreeFile) -> Vec<u64> {
    file.0.common_ends()
}

fn tree_file_add(file: &mut TreeFile, leaf: &LeafSpec, seeks: &[i64], bytes: &[i32], firsts: &[i64]) -> Result<()> {
    guard(|| file.0.add(branch_of(leaf)?, seeks, bytes, firsts))
}

/// A tree's file as ROOT describes it.
pub struct TreeFile(pub(super) file::TreeFile);
