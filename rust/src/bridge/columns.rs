//! Columns of trees as C++ describes them, and local files for the fast reader.

use std::path::Path;

pub use ffi::{ColumnSpec, LeafSpec, TargetSpec};

use crate::columns::{branch_of, described, file};
use crate::error::{Result, guard};

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    /// One feature column of a dataset: `length` numbers an event (1 for a scalar).
    #[derive(Clone, Debug, PartialEq)]
    struct ColumnSpec {
        /// Name in the tree or data frame, or an expression.
        name: String,
        /// Numbers an event.
        length: usize,
        /// What fills an event that has fewer.
        pad: f32,
        /// Numbers of each inner list of a list of lists; 0: the column is no such thing.
        inner: usize,
        /// The column whose mask this is: 1 where an event has a number, 0 where the pad stands in; "": this is none.
        mask_of: String,
        /// Whether an event has exactly one number, where other columns of length 1 take the first of a list.
        scalar: bool,
    }

    /// What is wanted of a column.
    #[derive(Clone, Debug)]
    struct TargetSpec {
        /// Of the column.
        name: String,
        /// 0: features, 1: label, 2: weight.
        part: u8,
        /// Of its first number in a row of features.
        place: usize,
        /// Numbers wanted of an entry.
        wanted: usize,
        /// Stands in where an entry has fewer.
        pad: f32,
        /// Whether a list is refused.
        scalar: bool,
    }

    /// A leaf of a branch and what is wanted of it; see `Branch` in `columns`.
    #[derive(Clone, Debug)]
    struct LeafSpec {
        /// Its name is for messages.
        target: TargetSpec,
        /// Number in `Element::ALL`.
        element: u8,
        /// 0: entries of one length, 1: arrays with a count, 2: `std::vector` or `RVec`.
        shape: u8,
        /// Bytes of an entry (shape 0).
        entry_length: usize,
        /// Bytes before the leaf in an entry (shape 0).
        offset: usize,
        /// Numbers of the leaf (shape 0).
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

fn tree_file_new(path: &str, entries: u64) -> Result<Box<TreeFile>> {
    guard(|| Ok(Box::new(TreeFile(file::TreeFile::new(path, entries)?))))
}

#[allow(clippy::ptr_arg)] // What cxx makes of `rust::Vec`.
fn tree_file_described(path: &str, tree: &str, targets: &Vec<TargetSpec>) -> Result<Box<TreeFile>> {
    guard(|| Ok(Box::new(TreeFile(described(Path::new(path), tree, targets)?))))
}

fn tree_file_entries(file: &TreeFile) -> u64 {
    file.0.entries()
}

fn tree_file_add(file: &mut TreeFile, leaf: &LeafSpec, seeks: &[i64], bytes: &[i32], firsts: &[i64]) -> Result<()> {
    guard(|| file.0.add(branch_of(leaf)?, seeks, bytes, firsts))
}

/// A tree's file as ROOT describes it.
pub struct TreeFile(pub(super) file::TreeFile);
