//! Datasets: filled source by source, split, read.

use super::columns::{ColumnSpec, TreeFile, column_specs, columns};
use crate::columns::EntrySelection;
use crate::dataset::{Dataset, Targets};
use crate::error::{Result, guard};

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    unsafe extern "C++" {
        include!("cladtorch/src/bridge/columns.rs.h");

        type ColumnSpec = crate::bridge::columns::ColumnSpec;
        type TreeFile = crate::bridge::columns::TreeFile;
    }

    extern "Rust" {
        #[derive(ExternType)]
        type Dataset;
        fn dataset_new(columns: &Vec<ColumnSpec>) -> Result<Box<Dataset>>;
        /// Whether other processes hold the rest of the sources to come.
        fn dataset_set_sharded(data: &mut Dataset, is_sharded: bool);
        fn dataset_is_sharded(data: &Dataset) -> bool;
        fn dataset_columns(data: &Dataset) -> Vec<ColumnSpec>;
        fn dataset_rows(data: &Dataset) -> usize;
        fn dataset_has_sources(data: &Dataset) -> bool;
        /// Says of the last source, a part, what was read in which way, for the comparison with the other processes.
        fn dataset_describe_part(data: &mut Dataset, text: &str);
        /// Numbers in a row: the sum of the columns' lengths.
        fn dataset_width(data: &Dataset) -> usize;
        /// Opens a source; what follows until `dataset_commit` is dropped by `dataset_rollback`. `targets` are the label
        /// columns; empty: the label is a number.
        fn dataset_begin(data: &mut Dataset, source: &str, targets: &Vec<String>) -> Result<()>;
        /// Label columns of the committed sources; empty if labels are numbers, or come from columns of different names.
        fn dataset_targets(data: &Dataset) -> Vec<String>;
        /// Numbers in a label, including that of the open source.
        fn dataset_label_width(data: &Dataset) -> usize;
        /// Appends `weights.len()` rows; `features` is [rows, width], `labels` [rows, label width].
        fn dataset_append(data: &mut Dataset, features: &[f32], labels: &[f32], weights: &[f32]) -> Result<()>;
        /// Rows for `dataset_fill`, of this label and the weight 1.
        fn dataset_append_empty(data: &mut Dataset, rows: usize, label: f32) -> Result<()>;
        fn dataset_commit(data: &mut Dataset) -> Result<()>;
        fn dataset_rollback(data: &mut Dataset);
        /// [rows, width], valid until the dataset changes.
        fn dataset_features(data: &Dataset) -> &[f32];
        /// [rows, width] of the source that is open, finite or not.
        fn dataset_open_features(data: &Dataset) -> &[f32];
        /// [rows, label width]
        fn dataset_labels(data: &Dataset) -> Result<&[f32]>;
        fn dataset_weights(data: &Dataset) -> Result<&[f32]>;
        /// A seeded share of the rows, `first` of [0, 1]; `second` gives the rest instead.
        fn dataset_part(data: &Dataset, first: f64, seed: u64, second: bool) -> Result<Box<Dataset>>;
        fn dataset_clone(data: &Dataset) -> Result<Box<Dataset>>;
        /// Appends the events of `other`, which has the same columns and targets.
        fn dataset_join(data: &mut Dataset, other: &Dataset) -> Result<()>;
        /// Scales the weights: all labels weigh the same, the total stays.
        fn dataset_balance(data: &mut Dataset) -> Result<()>;
        fn dataset_describe(data: &Dataset) -> String;
        /// Makes room for exactly `rows` more rows.
        fn dataset_reserve(data: &mut Dataset, rows: usize) -> Result<()>;
        /// Appends all entries of `file`, read by the fast reader; `label` where no column gives it. `threads` 0: all.
        fn dataset_read(data: &mut Dataset, file: &TreeFile, label: f32, threads: usize) -> Result<()>;
        /// Fills the columns of `file` in the rows of the open source from `first` on, which come from `entries` of the
        /// file, in rising order.
        fn dataset_fill(
            data: &mut Dataset,
            file: &TreeFile,
            entries: &[u64],
            first: usize,
            threads: usize,
        ) -> Result<()>;
        /// The same with the entries from `begin` on, before `end`.
        fn dataset_fill_between(
            data: &mut Dataset,
            file: &TreeFile,
            begin: u64,
            end: u64,
            first: usize,
            threads: usize,
        ) -> Result<()>;
        /// Adds lines to what `dataset_describe` says of the open source.
        fn dataset_note(data: &mut Dataset, lines: &str) -> Result<()>;
    }
}

#[allow(clippy::ptr_arg)] // What cxx makes of `rust::Vec`.
fn dataset_new(specs: &Vec<ColumnSpec>) -> Result<Box<Dataset>> {
    guard(|| Dataset::new(&columns(specs)).map(Box::new))
}

fn dataset_set_sharded(data: &mut Dataset, is_sharded: bool) {
    data.set_sharded(is_sharded);
}

fn dataset_describe_part(data: &mut Dataset, text: &str) {
    data.describe_part(text);
}

fn dataset_has_sources(data: &Dataset) -> bool {
    data.source_rows().next().is_some()
}

fn dataset_is_sharded(data: &Dataset) -> bool {
    data.is_sharded()
}

fn dataset_columns(data: &Dataset) -> Vec<ColumnSpec> {
    column_specs(data.columns())
}

fn dataset_rows(data: &Dataset) -> usize {
    data.rows()
}

fn dataset_width(data: &Dataset) -> usize {
    data.width()
}

#[allow(clippy::ptr_arg)] // What cxx makes of `rust::Vec`.
fn dataset_begin(data: &mut Dataset, source: &str, targets: &Vec<String>) -> Result<()> {
    guard(|| data.begin_with(source, &Targets::new(targets)?))
}

fn dataset_targets(data: &Dataset) -> Vec<String> {
    data.targets().names().to_vec()
}

fn dataset_label_width(data: &Dataset) -> usize {
    data.label_width()
}

fn dataset_append(data: &mut Dataset, features: &[f32], labels: &[f32], weights: &[f32]) -> Result<()> {
    guard(|| data.append(features, labels, weights))
}

fn dataset_append_empty(data: &mut Dataset, rows: usize, label: f32) -> Result<()> {
    guard(|| data.append_empty(rows, label))
}

fn dataset_commit(data: &mut Dataset) -> Result<()> {
    guard(|| data.commit())
}

fn dataset_rollback(data: &mut Dataset) {
    data.rollback();
}

fn dataset_features(data: &Dataset) -> &[f32] {
    data.features()
}

fn dataset_open_features(data: &Dataset) -> &[f32] {
    data.open_features()
}

fn dataset_labels(data: &Dataset) -> Result<&[f32]> {
    guard(|| data.labels())
}

fn dataset_weights(data: &Dataset) -> Result<&[f32]> {
    guard(|| data.weights())
}

fn dataset_part(data: &Dataset, first: f64, seed: u64, second: bool) -> Result<Box<Dataset>> {
    guard(|| data.part(first, seed, second).map(Box::new))
}

fn dataset_clone(data: &Dataset) -> Result<Box<Dataset>> {
    guard(|| data.copy().map(Box::new))
}

fn dataset_join(data: &mut Dataset, other: &Dataset) -> Result<()> {
    guard(|| data.join(other))
}

fn dataset_balance(data: &mut Dataset) -> Result<()> {
    guard(|| data.balance())
}

fn dataset_describe(data: &Dataset) -> String {
    data.describe()
}

fn dataset_reserve(data: &mut Dataset, rows: usize) -> Result<()> {
    guard(|| data.reserve(rows))
}

fn dataset_read(data: &mut Dataset, file: &TreeFile, label: f32, threads: usize) -> Result<()> {
    guard(|| data.read(&file.0, label, threads))
}

fn dataset_fill(data: &mut Dataset, file: &TreeFile, entries: &[u64], first: usize, threads: usize) -> Result<()> {
    guard(|| data.fill(&file.0, EntrySelection::Some(entries), first, threads))
}

fn dataset_fill_between(
    data: &mut Dataset,
    file: &TreeFile,
    begin: u64,
    end: u64,
    first: usize,
    threads: usize,
) -> Result<()> {
    guard(|| data.fill(&file.0, EntrySelection::Between(begin, end), first, threads))
}

fn dataset_note(data: &mut Dataset, lines: &str) -> Result<()> {
    guard(|| data.note(lines))
}
