//! Labels and event weights: one number a row, written out only where rows differ one by one or somebody looks.

use std::sync::OnceLock;

use super::buffer::GrowingBuffer;
use crate::error::Result;

/// One number for each row.
#[derive(Default)]
pub(super) struct RowNumbers {
    /// Numbers of neighbouring rows, and the row behind the last of them; of no meaning once they are written out.
    runs: Vec<(f32, usize)>,
    /// All of them.
    written: OnceLock<GrowingBuffer>,
    /// Rows that are expected.
    reserved: usize,
}

/// What [`RowNumbers`] are, as they lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PerRow<'a> {
    /// The same for every row.
    Same(f32),
    /// One after the other.
    Each(&'a [f32]),
}

impl PerRow<'_> {
    /// That of row `row`.
    pub fn at(self, row: usize) -> f32 {
        match self {
            PerRow::Same(value) => value,
            PerRow::Each(values) => values[row],
        }
    }
}

impl RowNumbers {
    /// Those of some `rows` of `from`.
    pub(super) fn of_rows(from: PerRow, rows: impl ExactSizeIterator<Item = usize>) -> Result<Self> {
        let mut numbers = RowNumbers::default();
        numbers.reserve(rows.len())?;
        match from {
            PerRow::Same(value) => numbers.append(value, rows.len())?,
            PerRow::Each(values) => {
                let into = numbers.written()?.grow(rows.len())?;
                into.iter_mut().zip(rows).for_each(|(number, row)| *number = values[row]);
            }
        }
        Ok(numbers)
    }

    /// How many rows.
    pub(super) fn len(&self) -> usize {
        match self.written.get() {
            Some(written) => written.as_slice().len(),
            None => self.runs.last().map_or(0, |&(_, end)| end),
        }
    }

    /// Those of the first `rows` rows, as they lie.
    pub(super) fn per_row(&self, rows: usize) -> Result<PerRow<'_>> {
        match (self.written.get(), self.runs.first()) {
            (None, Some(&(value, end))) if end >= rows => Ok(PerRow::Same(value)),
            _ => Ok(PerRow::Each(&self.as_slice()?[..rows])),
        }
    }

    /// That of row `row`.
    pub(super) fn at(&self, row: usize) -> f32 {
        match self.written.get() {
            Some(written) => written.as_slice()[row],
            None => self.runs[self.runs.partition_point(|&(_, end)| end <= row)].0,
        }
    }

    /// Expects `rows` rows more.
    pub(super) fn reserve(&mut self, rows: usize) -> Result<()> {
        self.reserved = self.len().saturating_add(rows);
        self.written.get_mut().map_or(Ok(()), |written| written.reserve(rows))
    }

    /// Appends `rows` rows of one number.
    pub(super) fn append(&mut self, value: f32, rows: usize) -> Result<()> {
        if rows == 0 {
            return Ok(());
        }
        if let Some(written) = self.written.get_mut() {
            written.grow(rows)?.fill(value);
            return Ok(());
        }
        let end = self.len() + rows;
        match self.runs.last_mut() {
            Some(last) if last.0.to_bits() == value.to_bits() => last.1 = end,
            _ => self.runs.push((value, end)),
        }
        Ok(())
    }

    /// All numbers [rows].
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

    fn write_out(&self) -> Result<GrowingBuffer> {
        let mut written = GrowingBuffer::default();
        written.reserve(self.len().max(self.reserved))?;
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
            Some(written) => written.truncate(rows),
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
        assert_eq!(same.per_row(1).unwrap(), PerRow::Each(&[0.5]));
    }

    #[test]
    fn runs_and_single_numbers_follow_one_another() {
        let expected = [1.0, 1.0, 0.0, -0.0, 7.0, 8.0, 2.0, 2.0];
        for look in [false, true] {
            let mut mixed = numbers(&[(1.0, 2), (0.0, 1), (-0.0, 1)]);
            if look {
                assert_eq!(mixed.as_slice().unwrap(), &expected[..4]);
            }
            assert!((0..4).all(|row| mixed.at(row) == expected[row]));
            mixed.written().unwrap().extend(&[7.0, 8.0]).unwrap();
            mixed.append(2.0, 2).unwrap();
            assert_eq!(mixed.len(), 8);
            assert!((0..8).all(|row| mixed.at(row) == expected[row]));
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
}
