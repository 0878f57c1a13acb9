//! Datasets made from others: joined, partial, copied.

use std::ops::Range;

use super::row_numbers::RowNumbers;
use super::split::split;
use super::{Dataset, RowOrigin};
use crate::columns;
use crate::error::{Error, Result};

impl Dataset {
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

    pub(super) fn taken(&self, rows: impl ExactSizeIterator<Item = usize> + Clone) -> Result<Self> {
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
        part.sources.push(RowOrigin { name, rows: rows.len(), notes: Vec::new(), key: 0 });
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
}
