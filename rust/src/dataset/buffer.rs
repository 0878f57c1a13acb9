//! A float32 buffer in LibTorch's memory that grows by doubling.

use crate::device::HostBuffer;
use crate::error::{Error, Result};

#[derive(Default)]
pub(super) struct GrowingBuffer {
    buffer: Option<HostBuffer<f32>>,
    length: usize,
}

impl GrowingBuffer {
    pub(super) fn as_slice(&self) -> &[f32] {
        self.buffer.as_ref().map_or(&[], |buffer| &buffer.as_slice()[..self.length])
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [f32] {
        let length = self.length;
        self.buffer.as_mut().map_or(&mut [], |buffer| &mut buffer.as_mut_slice()[..length])
    }

    /// Numbers that fit the memory there is.
    pub(super) fn room(&self) -> usize {
        self.buffer.as_ref().map_or(0, |buffer| buffer.as_slice().len())
    }

    /// Makes room for `more` numbers beyond the present ones; allocates exactly that if there were none.
    pub(super) fn reserve(&mut self, more: usize) -> Result<()> {
        let capacity = self.room();
        let needed = self.length.saturating_add(more);
        if needed <= capacity {
            return Ok(());
        }
        let room = needed.max(capacity.saturating_mul(2));
        if let Some(buffer) = &mut self.buffer {
            return buffer.grow(room);
        }
        self.buffer = Some(HostBuffer::pages(room)?);
        Ok(())
    }

    pub(super) fn extend(&mut self, values: &[f32]) -> Result<()> {
        self.grow(values.len())?.copy_from_slice(values);
        Ok(())
    }

    /// Appends `more` numbers of any value, to be overwritten.
    pub(super) fn grow(&mut self, more: usize) -> Result<&mut [f32]> {
        self.reserve(more)?;
        let Some(buffer) = &mut self.buffer else { return Ok(&mut []) };
        let first = self.length;
        self.length += more;
        Ok(&mut buffer.as_mut_slice()[first..self.length])
    }

    pub(super) fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }
}

/// More numbers than memory has addresses for.
pub(super) fn too_many(rows: usize, width: usize) -> Error {
    Error::invalid(format!("{rows} rows of {width} numbers"), "read fewer rows")
}
