//! Features, labels and event weights in LibTorch's memory, with what training needs to know of them: which rows are
//! for validation, and how features are standardised.

mod balance;
mod buffer;
mod scaler;
mod split;

pub use scaler::Scaler;
pub use split::{shuffle, split};

use crate::bridge::ColumnSpec;
use crate::columns;
use crate::error::{Error, Result};
use buffer::GrowingBuffer;

/// One tree, chain or data frame that rows came from.
#[derive(Clone, Debug)]
struct Source {
    name: String,
    rows: usize,
}

/// A table of events: features [rows, width] float32, a label and a weight for each row.
pub struct Dataset {
    columns: Vec<ColumnSpec>,
    width: usize,
    features: GrowingBuffer,
    labels: GrowingBuffer,
    weights: GrowingBuffer,
    sources: Vec<Source>,
    /// The source being appended, not yet committed.
    open: Option<String>,
}

impl Dataset {
    /// An empty dataset of the given columns.
    pub fn new(columns: &[ColumnSpec]) -> Result<Self> {
        Ok(Dataset {
            width: columns::checked_width(columns)?,
            columns: columns.to_vec(),
            features: GrowingBuffer::default(),
            labels: GrowingBuffer::default(),
            weights: GrowingBuffer::default(),
            sources: Vec::new(),
            open: None,
        })
    }

    /// The feature columns, in the order in which they lie in a row.
    pub fn columns(&self) -> &[ColumnSpec] {
        &self.columns
    }

    /// Events of all committed sources.
    pub fn rows(&self) -> usize {
        self.sources.iter().map(|source| source.rows).sum()
    }

    /// Numbers a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Features [rows, width].
    pub fn features(&self) -> &[f32] {
        &self.features.as_slice()[..self.rows() * self.width]
    }

    /// Labels [rows].
    pub fn labels(&self) -> &[f32] {
        &self.labels.as_slice()[..self.rows()]
    }

    /// Event weights [rows].
    pub fn weights(&self) -> &[f32] {
        &self.weights.as_slice()[..self.rows()]
    }

    /// Makes room for `rows` more rows.
    pub fn reserve(&mut self, rows: usize) -> Result<()> {
        let too_many = || Error::invalid(format!("{rows} rows of {} numbers", self.width), "read fewer rows");
        let numbers = rows.checked_mul(self.width).ok_or_else(too_many)?;
        self.features.reserve(numbers)?;
        self.labels.reserve(rows)?;
        self.weights.reserve(rows)
    }

    /// Opens a source. Rows appended until [`commit`](Self::commit) can still be dropped.
    pub fn begin(&mut self, source: &str) -> Result<()> {
        if let Some(open) = &self.open {
            return Err(Error::Internal(format!("source \"{source}\" begun inside \"{open}\"")));
        }
        if self.columns.is_empty() {
            return Err(Error::invalid("a dataset without columns", "name at least one feature column"));
        }
        self.open = Some(source.to_owned());
        Ok(())
    }

    /// Appends `labels.len()` rows to the open source. `features` is [rows, width], `weights` [rows].
    pub fn append(&mut self, features: &[f32], labels: &[f32], weights: &[f32]) -> Result<()> {
        let rows = labels.len();
        if self.open.is_none() || weights.len() != rows || Some(features.len()) != rows.checked_mul(self.width) {
            return Err(Error::Internal(format!(
                "{} features, {rows} labels and {} weights appended to rows of {} numbers (source {:?})",
                features.len(),
                weights.len(),
                self.width,
                self.open,
            )));
        }
        self.features.extend(features)?;
        self.labels.extend(labels)?;
        self.weights.extend(weights)
    }

    /// Checks the open source's numbers and keeps its rows.
    pub fn commit(&mut self) -> Result<()> {
        let name = self.open.take().ok_or_else(|| Error::Internal("no source is open".into()))?;
        let first = self.rows();
        let rows = self.labels.as_slice().len() - first;
        let checked = self.check_new_rows(&name, first);
        if checked.is_err() {
            self.rollback();
        }
        checked?;
        self.sources.push(Source { name, rows });
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

    fn check_new_rows(&self, source: &str, first: usize) -> Result<()> {
        let bad = |what: String, row: usize, value: f32| {
            Err(Error::invalid(
                format!("{what} of \"{source}\" is {value} in selected event {row}"),
                "cut such events away or give them a number (for example with Define)",
            ))
        };
        let features = &self.features.as_slice()[first * self.width..];
        if let Some(at) = features.iter().position(|value| !value.is_finite()) {
            let column = columns::element_name(&self.columns, at % self.width);
            return bad(format!("column \"{column}\""), at / self.width, features[at]);
        }
        for (what, values) in [("the label", &self.labels), ("the weight", &self.weights)] {
            let values = &values.as_slice()[first..];
            if let Some(row) = values.iter().position(|value| !value.is_finite()) {
                return bad(what.to_owned(), row, values[row]);
            }
        }
        if self.labels.as_slice().len() == first {
            return Err(Error::invalid(
                format!("\"{source}\" gives no events"),
                "check the cut and that the tree has entries",
            ));
        }
        Ok(())
    }

    /// The rows of a seeded split (see [`split`]): its first part, or its second.
    pub fn part(&self, first: f64, seed: u64, second: bool) -> Result<Self> {
        let (head, tail) = split(self.rows(), first, seed)?;
        let rows = if second { tail } else { head };
        let mut part = Dataset::new(&self.columns)?;
        part.reserve(rows.len())?;
        for &row in &rows {
            let row = row as usize;
            part.features.extend(&self.features()[row * self.width..][..self.width])?;
            part.labels.extend(&self.labels()[row..=row])?;
            part.weights.extend(&self.weights()[row..=row])?;
        }
        let names: Vec<_> = self.sources.iter().map(|source| source.name.as_str()).collect();
        part.sources.push(Source { name: format!("part of {}", names.join(" + ")), rows: rows.len() });
        Ok(part)
    }

    /// A copy that shares nothing, of the committed sources.
    pub fn copy(&self) -> Result<Self> {
        let mut copy = Dataset::new(&self.columns)?;
        copy.features.extend(self.features())?;
        copy.labels.extend(self.labels())?;
        copy.weights.extend(self.weights())?;
        copy.sources = self.sources.clone();
        Ok(copy)
    }

    /// Shape, columns and sources, for people.
    pub fn describe(&self) -> String {
        let mut text = format!("{} events x {} numbers: {}\n", self.rows(), self.width, columns::list(&self.columns));
        for source in &self.sources {
            text += &format!("  {:>10} events from {}\n", source.rows, source.name);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset() -> Dataset {
        Dataset::new(&[ColumnSpec::new("a", 1), ColumnSpec::new("v", 2)]).unwrap()
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
