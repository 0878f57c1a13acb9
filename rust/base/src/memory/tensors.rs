//! Tensors in host memory that a caller owns: pointers to their first elements, separated by their use.
//!
//! The pointers carry no lifetime and no length: [`ReadTensors`] and [`WriteTensors`] do, by the promise of their
//! creator.

use std::marker::PhantomData;
use std::ptr;

/// A tensor that is read: a pointer to its first element; null if there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct ReadPointer(*const u8);

/// A tensor that is written: a pointer to its first element; null if there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct WritePointer(*mut u8);

// SAFETY: a pointer alone reaches nothing; who makes tensors of it promises what threads may do with them.
unsafe impl Send for ReadPointer {}
// SAFETY: as above.
unsafe impl Sync for ReadPointer {}
// SAFETY: as above.
unsafe impl Send for WritePointer {}
// SAFETY: as above.
unsafe impl Sync for WritePointer {}

impl ReadPointer {
    /// No tensor.
    pub const NULL: Self = ReadPointer(ptr::null());

    /// The elements of a slice.
    pub fn of<X: Element>(slice: &[X]) -> Self {
        ReadPointer(slice.as_ptr().cast())
    }

    /// From an address that C++ passed as a number; 0 is no tensor.
    pub fn exposed(address: usize) -> Self {
        ReadPointer(ptr::with_exposed_provenance(address))
    }

    /// Its address, in the memory of any device; 0 is no tensor.
    pub fn address(self) -> usize {
        self.0.addr()
    }

    /// Whether there is no tensor.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// This many bytes further on in the tensor; no tensor stays none.
    #[inline]
    pub fn behind(self, bytes: usize) -> Self {
        if self.is_null() { self } else { ReadPointer(self.0.wrapping_add(bytes)) }
    }

    /// Element `index` of a tensor.
    #[inline]
    pub fn at<X: Element>(self, index: usize) -> Self {
        ReadPointer(self.0.cast::<X>().wrapping_add(index).cast())
    }
}

impl WritePointer {
    /// No tensor.
    pub const NULL: Self = WritePointer(ptr::null_mut());

    /// The elements of a slice.
    pub fn of<X: Element>(slice: &mut [X]) -> Self {
        WritePointer(slice.as_mut_ptr().cast())
    }

    /// From an address that C++ passed as a number; 0 is no tensor.
    pub fn exposed(address: usize) -> Self {
        WritePointer(ptr::with_exposed_provenance_mut(address))
    }

    /// Whether there is no tensor.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The same tensor, for reading.
    pub fn to_read(self) -> ReadPointer {
        ReadPointer(self.0)
    }

    /// This many bytes further on in the tensor; no tensor stays none.
    #[inline]
    pub fn behind(self, bytes: usize) -> Self {
        if self.is_null() { self } else { WritePointer(self.0.wrapping_add(bytes)) }
    }

    /// Element `index` of a tensor.
    #[inline]
    pub fn at<X: Element>(self, index: usize) -> Self {
        WritePointer(self.0.cast::<X>().wrapping_add(index).cast())
    }
}

/// Tensors that are read.
#[derive(Clone, Copy)]
pub struct ReadTensors<'a> {
    pointers: &'a [ReadPointer],
}

impl<'a> ReadTensors<'a> {
    /// # Safety
    /// For `'a` each memory that is not null must be readable, for the length that is later requested and as that type,
    /// and must not be written to.
    pub unsafe fn new(pointers: &'a [ReadPointer]) -> Self {
        ReadTensors { pointers }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.pointers.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pointers.is_empty()
    }

    /// The pointers themselves.
    pub fn as_slice(&self) -> &'a [ReadPointer] {
        self.pointers
    }

    /// Whether there is memory behind tensor `index`.
    pub fn is_given(&self, index: usize) -> bool {
        !self.pointers[index].is_null()
    }

    /// The first `length` elements of tensor `index`.
    #[inline]
    pub fn read<X: Element>(&self, index: usize, length: usize) -> &'a [X] {
        if length == 0 {
            return &[];
        }
        let data = self.pointers[index].0;
        check::<X>(index, data);
        // SAFETY: the constructor's promise; the pointer is neither null nor misaligned.
        unsafe { std::slice::from_raw_parts(data.cast(), length) }
    }
}

/// Tensors that are written. Each memory has only one value of this type, which is lent, not copied.
pub struct WriteTensors<'a> {
    pointers: &'a [WritePointer],
    /// Memory that is written is not used otherwise.
    _alone: PhantomData<&'a mut [u8]>,
}

impl<'a> WriteTensors<'a> {
    /// # Safety
    /// For `'a` each memory that is not null must be readable and writable, for the length that is later requested and
    /// as that type, and memory written through this value must not be used otherwise. Several tensors may be the same
    /// memory.
    pub unsafe fn new(pointers: &'a [WritePointer]) -> Self {
        WriteTensors { pointers, _alone: PhantomData }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.pointers.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pointers.is_empty()
    }

    /// The pointers themselves.
    pub fn as_slice(&self) -> &'a [WritePointer] {
        self.pointers
    }

    /// The first `length` elements of tensor `index`. One at a time: the tensors may be the same memory.
    #[inline]
    pub fn write<X: Element>(&mut self, index: usize, length: usize) -> &mut [X] {
        if length == 0 {
            return &mut [];
        }
        let data = self.pointers[index].0;
        check::<X>(index, data);
        // SAFETY: the constructor's promise; the pointer is neither null nor misaligned; the loan is exclusive.
        unsafe { std::slice::from_raw_parts_mut(data.cast(), length) }
    }
}

fn check<X>(index: usize, data: *const u8) {
    assert!(!data.is_null() && data.cast::<X>().is_aligned(), "tensor {index} has the address {data:p}");
}

/// The types as which the elements of a tensor may be read.
pub trait Element: Copy + 'static {}
impl Element for f32 {}
impl Element for f64 {}
impl Element for i64 {}
/// Element of a tensor that is kept in bytes.
impl Element for u64 {}
/// bool: any byte but 0 is true.
impl Element for u8 {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_are_read_and_written_from_any_of_their_elements() {
        let (x, mut y) = ([1.0_f32, 2.0, 3.0, 4.0], [0.0_f64; 4]);
        let read = [ReadPointer::of(&x), ReadPointer::of(&x).at::<f32>(1), ReadPointer::of(&x).behind(8)];
        // SAFETY: nobody writes to `x`.
        let read = unsafe { ReadTensors::new(&read) };
        let found: Vec<f32> = (0..3).flat_map(|index| read.read::<f32>(index, 2).to_vec()).collect();
        assert_eq!(found, [1.0, 2.0, 2.0, 3.0, 3.0, 4.0]);
        let start = WritePointer::of(&mut y);
        let written = [start, start.at::<f64>(2), start.behind(24)];
        // SAFETY: `y` is used again only below.
        let mut written = unsafe { WriteTensors::new(&written) };
        written.write(0, 2).copy_from_slice(&[1.0, 2.0]);
        written.write(1, 2).copy_from_slice(&[3.0, 4.0]);
        written.write::<f64>(2, 1)[0] += 1.0;
        assert_eq!(y, [1.0, 2.0, 3.0, 5.0]);
    }

    /// As C++ hands them over.
    #[test]
    fn exposed_addresses_are_tensors() {
        let mut x = [1_i64, 2, 3];
        let address = x.as_mut_ptr().expose_provenance();
        let (read, written) = ([ReadPointer::exposed(address)], [WritePointer::exposed(address + 8)]);
        // SAFETY: nobody writes to the first element, nor uses the second one otherwise.
        let (read, mut written) = unsafe { (ReadTensors::new(&read), WriteTensors::new(&written)) };
        written.write::<i64>(0, 1)[0] = read.read::<i64>(0, 1)[0] + 10;
        assert_eq!(x, [1, 11, 3]);
        assert_eq!(ReadPointer::exposed(0), ReadPointer::NULL);
    }

    #[test]
    fn no_tensor_stays_none_and_has_no_elements() {
        assert!(ReadPointer::NULL.behind(8).is_null() && WritePointer::NULL.behind(8).is_null());
        let null = [WritePointer::NULL];
        // SAFETY: there is no memory.
        let (read, mut written) = unsafe { (ReadTensors::new(&[ReadPointer::NULL]), WriteTensors::new(&null)) };
        assert!(!read.is_given(0) && read.read::<f32>(0, 0).is_empty() && written.write::<f32>(0, 0).is_empty());
    }

    #[test]
    #[should_panic(expected = "tensor 1 has the address")]
    fn a_misaligned_tensor_is_refused() {
        let x = [0.0_f32; 4];
        let pointers = [ReadPointer::of(&x), ReadPointer::of(&x).behind(2)];
        // SAFETY: nobody writes to `x`.
        unsafe { ReadTensors::new(&pointers) }.read::<f32>(1, 1);
    }
}
