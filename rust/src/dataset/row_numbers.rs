//! Labels and event weights: one or several numbers for each row. Single numbers are written out only if neighbouring rows
//! differ or a caller asks for the array.

use std::slice;
use std::sync::OnceLock;

use super::buffer::GrowingBuffer;
use super::buffer::too_many;
use crate::error::Result;

/// `width` numbers for each row.
pub(super) struct RowNumbers {
    /// Numbers of a row.
    width: usize,
    /// Equal numbers of neighbouring rows, and the row after the last of them. Unused once `written` is set, and for a width
    /// above 1.
    runs: Vec<(f32, usize)>,
    /// All of them, [rows, width].
    written: OnceLock<GrowingBuffer>,
    /// Rows that are expected.
    reserved: usize,
}

/// The stored form of [`RowNumbers`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PerRow<'a> {
    /// One number, the same for every row.
    Same(f32),
    /// [rows, width], and the width.
    Each(&'a [f32], usize),
}

impl PerRow<'_> {
    /// The first of row `row`.
    pub fn at(self, row: usize) -> f32 {
        match self {
            PerRow::Same(value) => value,
            PerRow::Each(values, width) => values[row * width],
        }
    }

    /// Those of row `row`.
    pub fn row(&self, row: usize) -> &[f32] {
        match self {
            PerRow::Same(value) => slice::from_ref(value),
            PerRow::Each(values, width) => &values[row * width..][..*width],
        }
    }
}

impl Default for RowNumbers {
    fn default() -> Self {
        RowNumbers::new(1)
    }
}

impl RowNumbers {
    /// No rows yet.
    pub(super) fn new(width: usize) -> Self {
        RowNumbers { width, runs: Vec::new(), written: OnceLock::new(), reserved: 0 }
    }

    /// Those of some `rows` of `from`.
    pub(super) fn of_rows(from: PerRow, rows: impl ExactSizeIterator<Item = usize>) -> Result<Self> {
        let width = match from {
            PerRow::Same(_) => 1,
            PerRow::Each(_, width) => width,
        };
        let mut numbers = RowNumbers::new(width);
        numbers.reserve(rows.len())?;
        match from {
            PerRow::Same(value) => numbers.append(value, rows.len())?,
            PerRow::Each(values, 1) => {
                let into = numbers.grow(rows.len())?;
                into.iter_mut().zip(rows).for_each(|(number, row)| *number = values[row]);
            }
            PerRow::Each(..) => {
                let into = numbers.grow(rows.len())?.chunks_mut(width);
                into.zip(rows).for_each(|(numbers, row)| numbers.copy_from_slice(from.row(row)));
            }
        }
        Ok(numbers)
    }

    /// Numbers of a row.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// How many rows.
    pub(super) fn len(&self) -> usize {
        match self.written.get() {
            Some(written) => written.as_slice().len() / self.width,
            None => self.runs.last().map_or(0, |&(_, end)| end),
        }
    }

    /// The stored form of the first `rows` rows.
    pub(super) fn per_row(&self, rows: usize) -> Result<PerRow<'_>> {
        match (self.written.get(), self.runs.first()) {
            (None, Some(&(value, end))) if end >= rows => Ok(PerRow::Same(value)),
            _ => Ok(PerRow::Each(&self.as_slice()?[..rows * self.width], self.width)),
        }
    }

    /// Those of row `row`.
    pub(super) fn row(&self, row: usize) -> &[f32] {
        match self.written.get() {
            Some(written) => &written.as_slice()[row * self.width..][..self.width],
            None => slice::from_ref(&self.runs[self.runs.partition_point(|&(_, end)| end <= row)].0),
        }
    }

    /// Expects `rows` rows more.
    pub(super) fn reserve(&mut self, rows: usize) -> Result<()> {
        self.reserved = self.len().saturating_add(rows);
        let numbers = rows.saturating_mul(self.width);
        self.written.get_mut().map_or(Ok(()), |written| written.reserve(numbers))
    }

    /// Appends `rows` rows filled with one number.
    pub(super) fn append(&mut self, value: f32, rows: usize) -> Result<()> {
        if rows == 0 {
            return Ok(());
        }
        if self.written.get().is_some() || self.width > 1 {
            self.grow(rows)?.fill(value);
            return Ok(());
        }
        let end = self.len() + rows;
        match self.runs.last_mut() {
            Some(last) if last.0.to_bits() == value.to_bits() => last.1 = end,
            _ => self.runs.push((value, end)),
        }
        Ok(())
    }

    /// All numbers [rows, width].
    pub(super) fn as_slice(&self) -> Result<&[f32]> {
        if let Some(written) = self.written.get() {
            return Ok(written.as_slice());
        }
        let written = self.write_out()?;
        Ok(self.written.get_or_init(|| written).as_slice())
    }

    /// All numbers, to be changed or appended to.
    pub(super) fn written(&mut self) -> Result<&mut GrowingBuffer> {
        let written = match self.written.take() {
            Some(written) => written,
            None => self.write_out()?,
        };
        self.written.get_or_init(|| written);
        Ok(self.written.get_mut().expect("set in the line before"))
    }

    /// Appends `rows` rows with undefined content, for the caller to overwrite.
    pub(super) fn grow(&mut self, rows: usize) -> Result<&mut [f32]> {
        let numbers = rows.checked_mul(self.width).ok_or_else(|| too_many(rows, self.width))?;
        self.written()?.grow(numbers)
    }

    fn write_out(&self) -> Result<GrowingBuffer> {
        let mut written = GrowingBuffer::default();
        let rows = self.len().max(self.reserved);
        written.reserve(rows.checked_mul(self.width).ok_or_else(|| too_many(rows, self.width))?)?;
        let mut first = 0;
        for &(value, end) in &self.runs {
            written.grow(end - first)?.fill(value);
            first = end;
        }
        Ok(written)
    }

    /// Keeps the first `rows` rows.
    pub(super) fn truncate(&mut self, rows: usize) {
        self.reserved = 0;
        match self.written.get_mut() {
            Some(written) => written.truncate(rows.saturating_mul(self.width)),
            None => {
                let kept = self.runs.partition_point(|&(_, end)| end < rows);
                self.runs.truncate(if rows > 0 { kept + 1 } else { 0 });
                if let Some(last) = self.runs.last_mut() {
                    last.1 = last.1.min(rows);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(runs: &[(f32, usize)]) -> RowNumbers {
        let mut numbers = RowNumbers::default();
        runs.iter().for_each(|&(value, rows)| numbers.append(value, rows).unwrap());
        numbers
    }

    #[test]
    fn one_number_for_all_rows_takes_no_memory() {
        let mut same = numbers(&[(0.5, 3), (0.5, 1 << 40)]);
        assert_eq!((same.len(), same.per_row(7).unwrap()), (3 + (1 << 40), PerRow::Same(0.5)));
        same.truncate(2);
        assert_eq!(same.as_slice().unwrap(), [0.5, 0.5]);
        assert_eq!(same.per_row(1).unwrap(), PerRow::Each(&[0.5], 1));
    }

    #[test]
    fn runs_and_single_numbers_follow_one_another() {
        let expected = [1.0, 1.0, 0.0, -0.0, 7.0, 8.0, 2.0, 2.0];
        for look in [false, true] {
            let mut mixed = numbers(&[(1.0, 2), (0.0, 1), (-0.0, 1)]);
            if look {
                assert_eq!(mixed.as_slice().unwrap(), &expected[..4]);
            }
            assert!((0..4).all(|row| mixed.row(row) == [expected[row]]));
            mixed.written().unwrap().extend(&[7.0, 8.0]).unwrap();
            mixed.append(2.0, 2).unwrap();
            assert_eq!(mixed.len(), 8);
            assert!((0..8).all(|row| mixed.row(row) == [expected[row]]));
            assert_eq!(mixed.as_slice().unwrap(), expected);
            assert!(mixed.as_slice().unwrap()[3].is_sign_negative());
        }
    }

    #[test]
    fn truncated_they_go_on_as_before() {
        for rows in 0..=6 {
            let mut cut = numbers(&[(1.0, 2), (3.0, 2), (1.0, 2)]);
            cut.truncate(rows);
            cut.append(5.0, 1).unwrap();
            let expected = [&[1.0, 1.0, 3.0, 3.0, 1.0, 1.0][..rows], &[5.0]].concat();
            assert_eq!(cut.as_slice().unwrap(), expected);
        }
        let mut again = numbers(&[(1.0, 2)]);
        again.truncate(0);
        again.append(2.0, 3).unwrap();
        again.append(7.0, 0).unwrap();
        assert_eq!(again.per_row(3).unwrap(), PerRow::Same(2.0));
    }

    #[test]
    fn several_numbers_of_a_row_stay_together() {
        let mut pairs = RowNumbers::new(2);
        pairs.append(7.0, 1).unwrap();
        pairs.grow(2).unwrap().copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!((pairs.len(), pairs.row(0), pairs.row(2)), (3, &[7.0, 7.0][..], &[3.0, 4.0][..]));
        let taken = RowNumbers::of_rows(pairs.per_row(3).unwrap(), [2, 0, 1].into_iter()).unwrap();
        assert_eq!(taken.as_slice().unwrap(), [3.0, 4.0, 7.0, 7.0, 1.0, 2.0]);
        assert_eq!(taken.per_row(2).unwrap(), PerRow::Each(&[3.0, 4.0, 7.0, 7.0], 2));
        pairs.truncate(1);
        assert_eq!((pairs.len(), pairs.as_slice().unwrap()), (1, &[7.0, 7.0][..]));
        assert!(pairs.grow(usize::MAX).is_err());
    }
}
