//! Features, labels and event weights in LibTorch's memory, with what training needs to know of them: which rows are
//! for validation, and how features are standardised.

mod balance;
mod buffer;
mod row_numbers;
mod scaler;
mod split;
mod targets;

use std::ops::Range;

pub use row_numbers::PerRow;
pub use scaler::Scaler;
pub use split::{shuffle, split};
pub use targets::Targets;

use crate::columns::branch::{Branch, Part};
use crate::columns::file::TreeFile;
use crate::columns::{self, BadValue, Check, Column, Plane, Rows};
use crate::device;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::text;
use buffer::GrowingBuffer;
use row_numbers::RowNumbers;

/// One tree, chain or data frame that rows came from.
#[derive(Clone, Debug)]
struct Source {
    name: String,
    rows: usize,
    /// Which reader read which columns, and why.
    notes: Vec<String>,
    /// Of a part, a number that all processes have if they read the same in the same way.
    key: u64,
}

/// The source being appended.
struct Open {
    name: String,
    notes: Vec<String>,
    /// What is said of the first number that is not finite.
    unfinite: Option<String>,
    /// Of the dataset, as soon as this source is committed.
    targets: Targets,
}

fn no_source() -> Error {
    Error::Internal("no source is open".into())
}

fn too_many(rows: usize, width: usize) -> Error {
    Error::invalid(format!("{rows} rows of {width} numbers"), "read fewer rows")
}

/// A table of events: features [rows, width] float32, labels [rows, targets] and a weight for each row.
pub struct Dataset {
    columns: Vec<Column>,
    width: usize,
    targets: Targets,
    features: GrowingBuffer,
    labels: RowNumbers,
    weights: RowNumbers,
    sources: Vec<Source>,
    /// Not yet committed.
    open: Option<Open>,
    /// Whether other processes hold the rest of the sources.
    is_sharded: bool,
}

impl Dataset {
    /// An empty dataset of the given columns.
    pub fn new(columns: &[Column]) -> Result<Self> {
        Ok(Dataset {
            width: columns::checked_width(columns)?,
            columns: columns.to_vec(),
            targets: Targets::default(),
            features: GrowingBuffer::default(),
            labels: RowNumbers::default(),
            weights: RowNumbers::default(),
            sources: Vec::new(),
            open: None,
            is_sharded: false,
        })
    }

    /// The feature columns, in the order in which they lie in a row.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Events of all committed sources.
    pub fn rows(&self) -> usize {
        self.sources.iter().map(|source| source.rows).sum()
    }

    /// Events of each committed source.
    pub fn source_rows(&self) -> impl Iterator<Item = usize> {
        self.sources.iter().map(|source| source.rows)
    }

    /// Name and key of each committed source.
    pub fn source_keys(&self) -> impl Iterator<Item = (&str, u64)> {
        self.sources.iter().map(|source| (source.name.as_str(), source.key))
    }

    /// Gives the last source the key of `text`, which says what was read in which way.
    pub fn describe_part(&mut self, text: &str) {
        if let Some(source) = self.sources.last_mut() {
            source.key = text::checksum(text);
        }
    }

    /// Says whether the sources to come are parts, of which other processes hold the rest; a part may have no events.
    pub fn set_sharded(&mut self, is_sharded: bool) {
        self.is_sharded = is_sharded;
    }

    /// Whether other processes hold the rest of the sources.
    pub fn is_sharded(&self) -> bool {
        self.is_sharded
    }

    /// Numbers a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Names of the label columns of the committed sources.
    pub fn targets(&self) -> &Targets {
        &self.targets
    }

    /// Numbers in a label, including that of the open source.
    pub fn label_width(&self) -> usize {
        self.labels.width()
    }

    /// Features [rows, width].
    pub fn features(&self) -> &[f32] {
        &self.features.as_slice()[..self.rows() * self.width]
    }

    /// Features [_, width] of the rows of the open source, finite or not.
    pub fn open_features(&self) -> &[f32] {
        &self.features.as_slice()[self.rows() * self.width..]
    }

    /// Labels [rows, targets].
    pub fn labels(&self) -> Result<&[f32]> {
        Ok(&self.labels.as_slice()?[..self.rows() * self.labels.width()])
    }

    /// Event weights [rows].
    pub fn weights(&self) -> Result<&[f32]> {
        Ok(&self.weights.as_slice()?[..self.rows()])
    }

    /// Labels [rows, targets] and event weights [rows] as they lie: one number for all rows needs no memory.
    pub fn labels_and_weights(&self) -> Result<[PerRow<'_>; 2]> {
        let rows = self.rows();
        Ok([self.labels.per_row(rows)?, self.weights.per_row(rows)?])
    }

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
        for (numbers, part, value) in [(&mut self.labels, Part::Label, label), (&mut self.weights, Part::Weight, 1.0)] {
            if file.gives(part) {
                numbers.grow(rows)?;
            } else {
                numbers.append(value, rows)?;
            }
        }
        self.read_into(file, Rows::Between(0, file.entries()), first..first + rows, threads, || {
            interrupt::check("the reading")
        })
    }

    /// Fills the columns of `file` in the rows of the open source from `first` on with those `entries` of the file.
    pub fn fill(&mut self, file: &TreeFile, entries: Rows, first: usize, threads: usize) -> Result<()> {
        let first = self.rows() + first;
        // Streams read ahead by this: Ctrl-C ends what is called, not what waits to be.
        self.read_into(file, entries, first..first + entries.count(), threads, || Ok(()))
    }

    fn read_into(
        &mut self,
        file: &TreeFile,
        entries: Rows,
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
            Part::Features,
        )?];
        for (numbers, part) in [(&mut self.labels, Part::Label), (&mut self.weights, Part::Weight)] {
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

    /// Keeps the rows of the open source; an error where there are none, or a number is not finite.
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
        self.sources.push(Source { name: open.name, rows, notes: open.notes, key: 0 });
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

    /// Appends the events of `other`, which must have the same columns and targets.
    pub fn join(&mut self, other: &Dataset) -> Result<()> {
        if self.columns != other.columns {
            let (ours, theirs) = (columns::list(&self.columns), columns::list(&other.columns));
            let problem = match ours == theirs {
                true => format!("the datasets have the columns {ours} with different pads or masks"),
                false => format!("a dataset of the columns {theirs} cannot be added to one of {ours}"),
            };
            return Err(Error::invalid(problem, "make both with the same columns in the same order"));
        }
        if other.sources.is_empty() || other.rows() == 0 && !other.is_sharded {
            return Ok(());
        }
        if self.is_sharded != other.is_sharded {
            return Err(Error::invalid(
                "a dataset of which each process holds a part cannot be joined with one that each holds whole",
                "call SetSharding with the same argument on both, before their first source",
            ));
        }
        self.begin_with("the dataset that is added", &other.targets)?;
        let appended = other.labels().and_then(|labels| self.append(other.features(), labels, other.weights()?));
        if let Err(error) = appended {
            self.rollback();
            return Err(error);
        }
        self.commit()?;
        self.sources.pop();
        self.sources.extend_from_slice(&other.sources);
        Ok(())
    }

    /// Drops the rows of the open source.
    pub fn rollback(&mut self) {
        self.open = None;
        let rows = self.rows();
        self.features.truncate(rows * self.width);
        self.labels.truncate(rows);
        self.weights.truncate(rows);
    }

    /// The rows of a seeded split (see [`split`]): its first part, or its second.
    pub fn part(&self, first: f64, seed: u64, second: bool) -> Result<Self> {
        let (head, tail) = split(self.rows(), first, seed)?;
        let rows = if second { tail } else { head };
        self.taken(rows.into_iter().map(|row| row as usize))
    }

    /// A copy of neighbouring rows.
    pub fn slice(&self, rows: Range<usize>) -> Result<Self> {
        self.taken(rows)
    }

    fn taken(&self, rows: impl ExactSizeIterator<Item = usize> + Clone) -> Result<Self> {
        let mut part = self.without_rows()?;
        part.features.reserve(rows.len() * self.width)?;
        for row in rows.clone() {
            part.features.extend(&self.features()[row * self.width..][..self.width])?;
        }
        let [labels, weights] = self.labels_and_weights()?;
        part.labels = RowNumbers::of_rows(labels, rows.clone())?;
        part.weights = RowNumbers::of_rows(weights, rows.clone())?;
        let names: Vec<_> = self.sources.iter().map(|source| source.name.as_str()).collect();
        let name = format!("part of {}", names.join(" + "));
        part.sources.push(Source { name, rows: rows.len(), notes: Vec::new(), key: 0 });
        Ok(part)
    }

    /// Another of the same columns and targets.
    fn without_rows(&self) -> Result<Self> {
        let Dataset { targets, is_sharded, .. } = self;
        Ok(Dataset { targets: targets.clone(), is_sharded: *is_sharded, ..Dataset::new(&self.columns)? })
    }

    /// A copy that shares nothing, of the committed sources.
    pub fn copy(&self) -> Result<Self> {
        let mut copy = self.without_rows()?;
        copy.features.extend(self.features())?;
        let [labels, weights] = self.labels_and_weights()?;
        copy.labels = RowNumbers::of_rows(labels, 0..self.rows())?;
        copy.weights = RowNumbers::of_rows(weights, 0..self.rows())?;
        copy.sources = self.sources.clone();
        Ok(copy)
    }

    /// Shape, columns and sources, for people.
    pub fn describe(&self) -> String {
        let mut shown = format!("{} events x {} numbers: {}\n", self.rows(), self.width, columns::list(&self.columns));
        if self.targets.count() > 1 {
            shown += &format!("  {}\n", self.targets);
        }
        for source in &self.sources {
            shown += &format!("  {:>10} events from {}\n", source.rows, text::name(&source.name));
            source.notes.iter().for_each(|note| shown += &format!("{:13}{}\n", "", text::name(note)));
        }
        shown
    }
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
        Part::Features => "column",
        Part::Label => "label column",
        Part::Weight => "weight column",
    };
    // As C++ prints it.
    let value = if bad.value.is_nan() { "nan".to_owned() } else { format!("{:e}", bad.value).replace('e', "e+") };
    format!("{what} '{name}' holds {value} in entry {} of {}", bad.entry, file.path().display())
}

fn events(count: usize) -> String {
    format!("{count} event{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset() -> Dataset {
        Dataset::new(&[Column::new("a", 1), Column::new("v", 2)]).unwrap()
    }

    #[test]
    fn a_failed_source_leaves_the_dataset_as_it_was() {
        let mut data = dataset();
        data.begin("good").unwrap();
        data.append(&[1., 2., 3., 4., 5., 6.], &[0., 1.], &[1., 1.]).unwrap();
        data.commit().unwrap();
        data.begin("bad").unwrap();
        data.append(&[1., 2., 3., 4., 5., f32::NAN], &[0., 1.], &[1., 1.]).unwrap();
        let error = data.commit().unwrap_err().to_string();
        assert!(error.contains("\"v[1]\"") && error.contains("\"bad\"") && error.contains("event 1"), "{error}");
        data.begin("empty").unwrap();
        assert!(data.commit().unwrap_err().to_string().contains("no events"));
        assert_eq!(data.features(), [1., 2., 3., 4., 5., 6.]);
        assert_eq!(data.rows(), 2);
    }

    #[test]
    fn datasets_are_joined_or_stay_as_they_were() {
        let (mut first, mut second) = (dataset(), dataset());
        for (data, name, weight) in [(&mut first, "s", 1.0), (&mut second, "b", 0.5)] {
            data.begin(name).unwrap();
            data.append(&[1., 2., 3., 4., 5., 6.], &[0., 1.], &[weight; 2]).unwrap();
            data.commit().unwrap();
        }
        first.join(&second).unwrap();
        first.join(&dataset()).unwrap();
        assert_eq!((first.rows(), first.labels().unwrap()), (4, &[0., 1., 0., 1.][..]));
        assert_eq!(first.weights().unwrap(), [1.0, 1.0, 0.5, 0.5]);
        assert!(first.describe().contains("2 events from b"));
        let padded = Column { pad: 1.0, ..Column::new("v", 2) };
        let other = [
            vec![Column::new("a", 1)],
            vec![Column::new("v", 2), Column::new("a", 1)],
            vec![Column::new("a", 1), padded],
        ];
        for columns in other {
            let error = first.join(&Dataset::new(&columns).unwrap()).unwrap_err().to_string();
            assert!(error.contains("the same columns"), "{error}");
        }
        let mut targets = dataset();
        targets.begin_with("t", &Targets::new(&["x".to_owned(), "y".to_owned()]).unwrap()).unwrap();
        targets.append(&[1., 2., 3.], &[0., 1.], &[1.]).unwrap();
        targets.commit().unwrap();
        assert!(first.join(&targets).unwrap_err().to_string().contains("the same targets"));
        assert_eq!((first.rows(), first.label_width()), (4, 1));
    }

    #[test]
    fn a_dataset_without_columns_takes_no_source() {
        let error = Dataset::new(&[]).unwrap().begin("s").unwrap_err().to_string();
        assert!(error.contains("without columns"), "{error}");
    }

    #[test]
    fn sources_of_any_length_lie_one_after_the_other() {
        let mut data = dataset();
        for (source, rows) in [("s", 3), ("b", 1), ("t", 700)] {
            data.begin(source).unwrap();
            for row in 0..rows {
                data.append(&[row as f32; 3], &[1.0], &[0.5]).unwrap();
            }
            data.commit().unwrap();
        }
        assert_eq!(data.rows(), 704);
        assert_eq!(data.features()[3 * 3..4 * 3], [0.0; 3]);
        assert_eq!(data.features()[703 * 3], 699.0);
        assert!(data.describe().contains("700 events from t"));
    }

    #[test]
    fn parts_share_no_row_and_lose_none() {
        let mut data = dataset();
        data.begin("s").unwrap();
        for row in 0..100 {
            data.append(&[row as f32; 3], &[0.0], &[1.0]).unwrap();
        }
        data.commit().unwrap();
        let first = data.part(0.7, 3, false).unwrap();
        let second = data.part(0.7, 3, true).unwrap();
        assert_eq!((first.rows(), second.rows()), (70, 30));
        let mut seen: Vec<_> = first.features().iter().chain(second.features()).step_by(3).copied().collect();
        seen.sort_by(f32::total_cmp);
        assert_eq!(seen, (0..100).map(|row| row as f32).collect::<Vec<_>>());
    }
}
