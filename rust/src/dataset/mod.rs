//! Features, labels and event weights in LibTorch's memory, with what training needs to know about them: which rows are
//! for validation, and how features are standardised.

mod balance;
mod buffer;
mod fill;
mod parts;
mod row_numbers;
mod scaler;
mod split;
mod targets;

pub use row_numbers::PerRow;
pub use scaler::Scaler;
pub use split::{shuffle, split};
pub use targets::Targets;

use crate::columns::{self, Column};
use crate::error::Result;
use crate::text;
use buffer::GrowingBuffer;
use fill::Open;
use row_numbers::RowNumbers;

/// One tree, chain or data frame that rows came from.
#[derive(Clone, Debug)]
struct RowOrigin {
    name: String,
    rows: usize,
    /// Which reader read which columns, and why.
    notes: Vec<String>,
    /// For a part, a number that is the same on all processes if they read the same in the same way.
    key: u64,
}

/// A table of events: features [rows, width] float32, labels [rows, targets] and a weight for each row.
pub struct Dataset {
    columns: Vec<Column>,
    width: usize,
    targets: Targets,
    features: GrowingBuffer,
    labels: RowNumbers,
    weights: RowNumbers,
    sources: Vec<RowOrigin>,
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

    /// Says whether the following sources are parts, of which other processes hold the rest; a part may have no events.
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

    /// Labels [rows, targets] and event weights [rows] as stored: one number for all rows needs no memory.
    pub fn labels_and_weights(&self) -> Result<[PerRow<'_>; 2]> {
        let rows = self.rows();
        Ok([self.labels.per_row(rows)?, self.weights.per_row(rows)?])
    }

    /// Where a row is from, for messages.
    pub fn describe_row(&self, row: usize) -> String {
        let mut event = row;
        for source in &self.sources {
            if event < source.rows {
                return format!("selected event {event} of {}{}", text::name(&source.name), self.targets.column());
            }
            event -= source.rows;
        }
        format!("event {row}")
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
