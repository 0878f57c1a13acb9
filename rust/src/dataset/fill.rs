//! How a dataset gets its rows: source by source, each whole or not at all.

use std::ops::Range;

use super::buffer::too_many;
use super::row_numbers::RowNumbers;
use super::{Dataset, RowOrigin, Targets};
use crate::columns::branch::{Branch, ColumnPart};
use crate::columns::file::TreeFile;
use crate::columns::{self, BadValue, Check, EntrySelection, Plane};
use crate::device;
use crate::error::{Error, Result};
use crate::interrupt;

/// The source being appended.
pub(super) struct Open {
    pub(super) name: String,
    pub(super) notes: Vec<String>,
    /// Description of the first value that is not finite.
    pub(super) unfinite: Option<String>,
    /// Targets of the dataset, as soon as this source is committed.
    pub(super) targets: Targets,
}

impl Dataset {
    /// Drops all rows and sources; the features' memory stays.
    pub fn clear(&mut self) {
        self.sources.clear();
        self.rollback();
        self.targets = Targets::default();
        self.labels = RowNumbers::default();
        self.weights = RowNumbers::default();
    }

    /// Rows that fit the memory there is.
    pub fn room(&self) -> usize {
        self.features.room() / self.width.max(1)
    }

    /// Makes room for `rows` more rows.
    pub fn reserve(&mut self, rows: usize) -> Result<()> {
        let numbers = rows.checked_mul(self.width).ok_or_else(|| too_many(rows, self.width))?;
        self.features.reserve(numbers)?;
        self.labels.reserve(rows)?;
        self.weights.reserve(rows)
    }

    /// Opens a source whose labels are single numbers without a name.
    pub fn begin(&mut self, source: &str) -> Result<()> {
        self.begin_with(source, &Targets::default())
    }

    /// Opens a source, whose labels are `targets`. Rows appended until [`commit`](Self::commit) can still be dropped.
    pub fn begin_with(&mut self, source: &str, targets: &Targets) -> Result<()> {
        if let Some(open) = &self.open {
            return Err(Error::Internal(format!("source \"{source}\" begun inside \"{}\"", open.name)));
        }
        if self.columns.is_empty() {
            return Err(Error::invalid("a dataset without columns", "name at least one feature column"));
        }
        let targets = match self.sources.is_empty() {
            true => targets.clone(),
            false => self.targets.joined(targets, source)?,
        };
        if self.labels.width() != targets.count() {
            self.labels = RowNumbers::new(targets.count());
        }
        self.open = Some(Open { name: source.to_owned(), notes: Vec::new(), unfinite: None, targets });
        Ok(())
    }

    /// Appends `weights.len()` rows to the open source. `features` is [rows, width], `labels` [rows, targets].
    pub fn append(&mut self, features: &[f32], labels: &[f32], weights: &[f32]) -> Result<()> {
        let rows = weights.len();
        let fits = |numbers: &[f32], width| rows.checked_mul(width) == Some(numbers.len());
        if self.open.is_none() || !fits(features, self.width) || !fits(labels, self.labels.width()) {
            return Err(Error::Internal(format!(
                "{} features, {} labels and {rows} weights appended to rows of {} numbers and {} labels (source {:?})",
                features.len(),
                labels.len(),
                self.width,
                self.labels.width(),
                self.open.as_ref().map(|open| &open.name),
            )));
        }
        self.check_finite(features, labels, weights);
        self.features.extend(features)?;
        self.labels.written()?.extend(labels)?;
        self.weights.written()?.extend(weights)
    }

    /// Notes the first number that is not finite among rows about to be appended.
    fn check_finite(&mut self, features: &[f32], labels: &[f32], weights: &[f32]) {
        let first = self.labels.len() - self.rows();
        let Some(Open { name, unfinite, targets, .. }) = &mut self.open else { return };
        let mut check = |values: &[f32], width: usize, what: &dyn Fn(usize) -> String| {
            if all_finite(values) {
                return;
            }
            if let Some(at) = values.iter().position(|value| !value.is_finite()) {
                let row = first + at / width;
                let text = format!("{} of \"{name}\" is {} in selected event {row}", what(at % width), values[at]);
                unfinite.get_or_insert(text);
            }
        };
        let column = |i| format!("column \"{}\"", columns::element_name(&self.columns, i));
        check(features, self.width, &column);
        check(labels, targets.count(), &|i| targets.describe(i));
        check(weights, 1, &|_| "the weight".to_owned());
    }

    /// Appends `rows` rows with `label` for every target and the weight 1 to the open source, for [`fill`](Self::fill) to
    /// fill in.
    pub fn append_empty(&mut self, rows: usize, label: f32) -> Result<()> {
        self.open.as_ref().ok_or_else(no_source)?;
        let numbers =
            rows.checked_mul(self.width).ok_or_else(|| Error::invalid(format!("{rows} rows"), "read fewer"))?;
        self.features.grow(numbers)?;
        self.labels.append(label, rows)?;
        self.weights.append(1.0, rows)
    }

    /// Appends all entries of `file`, read by the fast reader on `threads` threads (0: as many as the machine has).
    /// `label` is that of all events where no column gives it; a weight that no column gives is 1.
    pub fn read(&mut self, file: &TreeFile, label: f32, threads: usize) -> Result<()> {
        self.open.as_ref().ok_or_else(no_source)?;
        let rows = usize::try_from(file.entries()).unwrap_or(usize::MAX);
        let numbers = rows.checked_mul(self.width).ok_or_else(|| too_many(rows, self.width))?;
        let first = self.labels.len();
        self.features.grow(numbers)?;
        for (numbers, part, value) in
            [(&mut self.labels, ColumnPart::Label, label), (&mut self.weights, ColumnPart::Weight, 1.0)]
        {
            if file.gives(part) {
                numbers.grow(rows)?;
            } else {
                numbers.append(value, rows)?;
            }
        }
        self.read_into(file, EntrySelection::Between(0, file.entries()), first..first + rows, threads, || {
            interrupt::check("the reading")
        })
    }

    /// Fills the columns of `file` in the rows of the open source from `first` on with those `entries` of the file.
    pub fn fill(&mut self, file: &TreeFile, entries: EntrySelection, first: usize, threads: usize) -> Result<()> {
        let first = self.rows() + first;
        // Streams read ahead by this: Ctrl-C ends what is called, not what waits to be.
        self.read_into(file, entries, first..first + entries.count(), threads, || Ok(()))
    }

    fn read_into(
        &mut self,
        file: &TreeFile,
        entries: EntrySelection,
        rows: Range<usize>,
        threads: usize,
        check: Check,
    ) -> Result<()> {
        let open = self.open.as_mut().ok_or_else(no_source)?;
        if rows.end > self.labels.len() {
            return Err(Error::Internal(format!("rows {rows:?} of {}", self.labels.len())));
        }
        let pool = device::shared_pool(threads)?;
        let mut planes = vec![Plane::new(
            &mut self.features.as_mut_slice()[rows.start * self.width..rows.end * self.width],
            self.width,
            file.branches(),
            ColumnPart::Features,
        )?];
        for (numbers, part) in [(&mut self.labels, ColumnPart::Label), (&mut self.weights, ColumnPart::Weight)] {
            if file.gives(part) {
                let width = numbers.width();
                let table = &mut numbers.written()?.as_mut_slice()[rows.start * width..rows.end * width];
                planes.push(Plane::new(table, width, file.branches(), part)?);
            }
        }
        if let Some(bad) = columns::read(file, entries, &mut planes, &pool, check)? {
            open.unfinite.get_or_insert_with(|| describe_bad(file, &bad));
        }
        Ok(())
    }

    /// Adds lines to what [`describe`](Self::describe) says of the open source.
    pub fn note(&mut self, lines: &str) -> Result<()> {
        self.open.as_mut().ok_or_else(no_source)?.notes.extend(lines.lines().map(str::to_owned));
        Ok(())
    }

    /// Keeps the rows of the open source; an error if there are none, or a value is not finite.
    pub fn commit(&mut self) -> Result<()> {
        let open = self.open.take().ok_or_else(no_source)?;
        let first = self.rows();
        let rows = self.labels.len() - first;
        let refused = match open.unfinite {
            Some(text) => Some(Error::invalid(
                format!("{text} ({}; {} with such values)", open.name, events(self.unfinite_rows(first))),
                "features, labels and weights must be finite as float32: remove these events with a cut, or define a \
                 column that replaces the values",
            )),
            None if rows == 0 && !self.is_sharded => Some(Error::invalid(
                format!("{} gives no events", open.name),
                "check the cut and that the tree has entries",
            )),
            None => None,
        };
        if let Some(error) = refused {
            self.rollback();
            return Err(error);
        }
        self.targets = open.targets;
        self.sources.push(RowOrigin { name: open.name, rows, notes: open.notes, key: 0 });
        Ok(())
    }

    /// How many rows from `first` on have a number that is not finite.
    fn unfinite_rows(&self, first: usize) -> usize {
        let features = self.features.as_slice()[first * self.width..].chunks(self.width).enumerate();
        let is_bad = |&(row, features): &(usize, &[f32])| {
            let numbers = [self.labels.row(first + row), self.weights.row(first + row), features];
            numbers.iter().any(|numbers| !all_finite(numbers))
        };
        features.filter(is_bad).count()
    }

    /// Drops the rows of the open source.
    pub fn rollback(&mut self) {
        self.open = None;
        let rows = self.rows();
        self.features.truncate(rows * self.width);
        self.labels.truncate(rows);
        self.weights.truncate(rows);
    }
}

fn no_source() -> Error {
    Error::Internal("no source is open".into())
}

/// Whether none is infinite or NaN, by the largest magnitude: in one sweep that the processor does many at a time.
fn all_finite(values: &[f32]) -> bool {
    const MAGNITUDE: u32 = u32::MAX >> 1;
    let largest = values.iter().fold(0, |largest, value| (value.to_bits() & MAGNITUDE).max(largest));
    f32::from_bits(largest).is_finite()
}

/// Where the fast reader found a number that is not finite.
fn describe_bad(file: &TreeFile, bad: &BadValue) -> String {
    let Branch { name, part, .. } = &file.branches()[bad.branch];
    let what = match part {
        ColumnPart::Features => "column",
        ColumnPart::Label => "label column",
        ColumnPart::Weight => "weight column",
    };
    // As C++ prints it.
    let value = if bad.value.is_nan() { "nan".to_owned() } else { format!("{:e}", bad.value).replace('e', "e+") };
    format!("{what} '{name}' holds {value} in entry {} of {}", bad.entry, file.path().display())
}

pub(super) fn events(count: usize) -> String {
    format!("{count} event{}", if count == 1 { "" } else { "s" })
}
