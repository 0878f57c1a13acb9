//! Host memory as slices: own numbers, and tensors of others by pointers.

mod shared;
mod tensors;

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use memmap2::{Advice, MmapMut};

use crate::error::{Error, Result};
use crate::kernels::Scalar;

pub use shared::share_chunks;
pub use tensors::{Element, ReadPointer, ReadTensors, WritePointer, WriteTensors};

/// Bytes of the pages that are requested from the system, if the memory is large enough.
const LARGE_PAGE: usize = 2 << 20;

/// Alignment for the widest registers and for cache lines.
const ALIGNMENT: usize = 64;

/// Numbers in host memory, seen as a slice, aligned to 64 bytes at least.
pub struct HostBuffer<T> {
    data: NonNull<T>,
    length: usize,
    owner: Owner,
}

/// The kind of a buffer's memory; never handed out or shared.
enum Owner {
    Allocation(Layout),
    Pages(MmapMut),
}

impl<T> Drop for HostBuffer<T> {
    fn drop(&mut self) {
        if let Owner::Allocation(layout) = self.owner
            && layout.size() > 0
        {
            // SAFETY: `zeros` allocated it with this layout, and nobody else has it.
            unsafe { dealloc(self.data.as_ptr().cast(), layout) }
        }
    }
}

// SAFETY: the buffer owns its numbers, and through a shared reference nothing but `&[T]` can be had.
unsafe impl<T: Send> Send for HostBuffer<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for HostBuffer<T> {}

impl<T: Scalar> HostBuffer<T> {
    /// `length` zeros.
    pub fn zeros(length: usize) -> Result<Self> {
        let layout = Layout::array::<T>(length).and_then(|layout| layout.align_to(ALIGNMENT));
        let layout = layout.map_err(|_| refused(length, &"more than there are addresses"))?;
        if layout.size() == 0 {
            return Ok(HostBuffer { data: NonNull::dangling(), length, owner: Owner::Allocation(layout) });
        }
        // SAFETY: the size is not 0, and for the types of `Scalar` bytes of 0 are the number 0.
        let data = NonNull::new(unsafe { alloc_zeroed(layout) }.cast());
        let data = data.ok_or_else(|| refused(length, &"the system has no more"))?;
        Ok(HostBuffer { data, length, owner: Owner::Allocation(layout) })
    }

    /// `length` zeros in their own pages, for large tables: the system gives each page, zeroed, to the thread that
    /// first writes to it.
    pub fn pages(length: usize) -> Result<Self> {
        let mut pages = MmapMut::map_anon(mapped::<T>(length)?).map_err(|error| refused(length, &error))?;
        // Only advice: an older kernel may not know it.
        let _ = pages.advise(Advice::HugePage);
        let data = NonNull::new(pages.as_mut_ptr().cast()).unwrap_or(NonNull::dangling());
        Ok(HostBuffer { data, length, owner: Owner::Pages(pages) })
    }

    /// Makes it at least `length` numbers long; the new ones are zeros. Pages are moved, not copied, if the system can.
    pub fn grow(&mut self, length: usize) -> Result<()> {
        if length <= self.length {
            return Ok(());
        }
        #[cfg(target_os = "linux")]
        if let Owner::Pages(pages) = &mut self.owner {
            let move_them = memmap2::RemapOptions::new().may_move(true);
            // SAFETY: nobody else knows where the pages are: slices of them borrow this buffer.
            unsafe { pages.remap(mapped::<T>(length)?, move_them) }.map_err(|error| refused(length, &error))?;
            self.data = NonNull::new(pages.as_mut_ptr().cast()).unwrap_or(NonNull::dangling());
            self.length = length;
            return Ok(());
        }
        let mut larger = Self::pages(length)?;
        larger.as_mut_slice()[..self.length].copy_from_slice(self.as_slice());
        *self = larger;
        Ok(())
    }

    /// A copy of `values`.
    pub fn from_slice(values: &[T]) -> Result<Self> {
        let mut buffer = Self::zeros(values.len())?;
        buffer.as_mut_slice().copy_from_slice(values);
        Ok(buffer)
    }

    /// The numbers.
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: `data` is the first of `length` numbers of an allocation or of pages that live as long as this, and that
        // nobody else has.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr(), self.length) }
    }

    /// The numbers, mutable.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as in `as_slice`; `&mut self` makes the view the only one.
        unsafe { std::slice::from_raw_parts_mut(self.data.as_ptr(), self.length) }
    }
}

/// Bytes of the pages that hold `length` numbers.
fn mapped<T>(length: usize) -> Result<usize> {
    let bytes = length.checked_mul(size_of::<T>()).filter(|&bytes| bytes < isize::MAX as usize - LARGE_PAGE);
    let bytes = bytes.ok_or_else(|| refused(length, &"more than there are addresses"))?;
    // Only a mapping of whole large pages is sure to begin with one.
    Ok(if bytes < LARGE_PAGE { bytes.max(1) } else { bytes.next_multiple_of(LARGE_PAGE) })
}

fn refused(length: usize, why: &dyn std::fmt::Display) -> Error {
    Error::invalid(
        format!("cannot allocate memory for {length} numbers: {why}"),
        "use fewer events, columns, or smaller layers",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_grow_and_keep_their_numbers() {
        let rising = |length: usize| (0..length).map(|i| i as f32).collect::<Vec<_>>();
        for mut buffer in [HostBuffer::pages(3).unwrap(), HostBuffer::pages(0).unwrap(), HostBuffer::zeros(3).unwrap()]
        {
            let filled = rising(buffer.as_slice().len());
            buffer.as_mut_slice().copy_from_slice(&filled);
            for length in [2usize, 3, 4, 5000, 1 << 20, (1 << 22) + 1] {
                let before = buffer.as_slice().len();
                buffer.grow(length).unwrap();
                assert_eq!(buffer.as_slice().len(), length.max(before));
                assert!(buffer.as_slice()[..before] == rising(before));
                assert!(buffer.as_slice()[before..].iter().all(|&new| new == 0.0));
                buffer.as_mut_slice().copy_from_slice(&rising(length.max(before)));
            }
            let error = buffer.grow(usize::MAX / 4).unwrap_err().to_string();
            assert!(error.contains("cannot allocate memory"), "{error}");
            assert!(buffer.as_slice() == rising((1 << 22) + 1));
        }
    }
}
