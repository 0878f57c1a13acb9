//! Host memory as slices: numbers of one's own, and tensors of others by their addresses.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use memmap2::{Advice, MmapMut};

use crate::error::{Error, Result};
use crate::kernels::Scalar;
use crate::threads::Team;

/// Bytes of the pages that the system is asked for, where memory is large enough.
const LARGE_PAGE: usize = 2 << 20;

/// As the widest registers, and the lines of the caches, want numbers to lie.
const ALIGNMENT: usize = 64;

/// Numbers in host memory, seen as a slice, aligned to 64 bytes at least.
pub struct HostBuffer<T> {
    data: NonNull<T>,
    length: usize,
    owner: Owner,
}

/// What a buffer's memory belongs to; never handed out or shared.
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

    /// `length` zeros in pages of their own, for large tables: the system gives each page, zeroed, to the thread that
    /// first writes to it.
    pub fn pages(length: usize) -> Result<Self> {
        let mut pages = MmapMut::map_anon(mapped::<T>(length)?).map_err(|error| refused(length, &error))?;
        // Only advice: an older kernel need not know it.
        let _ = pages.advise(Advice::HugePage);
        let data = NonNull::new(pages.as_mut_ptr().cast()).unwrap_or(NonNull::dangling());
        Ok(HostBuffer { data, length, owner: Owner::Pages(pages) })
    }

    /// Makes it `length` numbers long at least, the new ones zeros. Pages are moved, not copied, where the system can.
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

    /// The numbers, to be changed.
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

/// Tensors in host memory that a caller owns, by the addresses of their first elements.
#[derive(Clone, Copy)]
pub struct Addresses<'a> {
    addresses: &'a [usize],
}

impl<'a> Addresses<'a> {
    /// # Safety
    /// While this value lives nobody writes to what is read through it, and what is written through it is not used
    /// otherwise; each memory is as long, and of the type, as it is later asked for.
    pub unsafe fn new(addresses: &'a [usize]) -> Self {
        Addresses { addresses }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.addresses.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    /// The addresses themselves.
    pub fn as_slice(&self) -> &'a [usize] {
        self.addresses
    }

    /// Whether there is memory behind number `index`.
    pub fn is_given(&self, index: usize) -> bool {
        self.addresses[index] != 0
    }

    /// The first `length` elements of number `index`.
    pub fn read<X: Element>(&self, index: usize, length: usize) -> &'a [X] {
        if length == 0 {
            return &[];
        }
        let address = self.checked::<X>(index);
        // SAFETY: the constructor's promise; the address is neither null nor misaligned.
        unsafe { std::slice::from_raw_parts(address as *const X, length) }
    }

    /// The first `length` elements of number `index`, to be written. One at a time: the numbers may be the same memory.
    pub fn write<X: Element>(&mut self, index: usize, length: usize) -> &mut [X] {
        if length == 0 {
            return &mut [];
        }
        let address = self.checked::<X>(index);
        // SAFETY: the constructor's promise; the address is neither null nor misaligned; the loan is exclusive.
        unsafe { std::slice::from_raw_parts_mut(address as *mut X, length) }
    }

    fn checked<X>(&self, index: usize) -> usize {
        let address = self.addresses[index];
        assert!(address != 0 && address.is_multiple_of(align_of::<X>()), "tensor {index} has the address {address:#x}");
        address
    }
}

/// What the elements of a tensor may be read as.
pub trait Element: Copy + 'static {}
impl Element for f32 {}
impl Element for f64 {}
impl Element for i64 {}
/// bool: any byte but 0 is true.
impl Element for u8 {}

/// Members of a team that share work, at most.
const MOST_MEMBERS: usize = 64;

/// Where a slice begins, for the threads that share it.
struct Shared<T>(*mut T);

// SAFETY: `share_chunks` gives each element to one thread only, which `T: Send` allows.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn start(&self) -> *mut T {
        self.0
    }
}

/// Calls `run` with each chunk of `size` elements of `memory` and its number. Each of `members` begins with neighbouring chunks,
/// the same ones in each call, then helps the others. A panic comes back when all members have stopped.
pub fn share_chunks<T: Send>(
    team: &dyn Team,
    members: usize,
    memory: &mut [T],
    size: usize,
    run: impl Fn(usize, &mut [T]) + Sync,
) {
    let (count, members, length) = (memory.len().div_ceil(size), members.clamp(1, MOST_MEMBERS), memory.len());
    let first = |member: usize| count * member / members;
    let next: [AtomicUsize; MOST_MEMBERS] = std::array::from_fn(|member| AtomicUsize::new(first(member)));
    let shared = Shared(memory.as_mut_ptr());
    let work = |member: usize| {
        for share in (member..members).chain(0..member) {
            loop {
                let chunk = next[share].fetch_add(1, Ordering::Relaxed);
                if chunk >= first(share + 1) {
                    break;
                }
                let (start, end) = (chunk * size, (chunk * size + size).min(length));
                // SAFETY: inside of `memory`, since chunk < count; the counters of the shares, whose ranges are apart, give
                // each chunk to one member, and chunks are apart; `memory` is borrowed until all members have stopped.
                let part = unsafe { std::slice::from_raw_parts_mut(shared.start().add(start), end - start) };
                run(chunk, part);
            }
        }
    };
    let panic: Mutex<Option<Box<dyn Any + Send>>> = Mutex::new(None);
    team.run(members, &|member| {
        if let Err(reason) = catch_unwind(AssertUnwindSafe(|| work(member))) {
            *panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
        }
    });
    if let Some(reason) = panic.into_inner().unwrap_or_else(PoisonError::into_inner) {
        resume_unwind(reason);
    }
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

    /// Threads of the standard library, or the caller's alone.
    struct Scoped {
        alone: bool,
    }

    impl Team for Scoped {
        fn run(&self, members: usize, share: &(dyn Fn(usize) + Sync)) {
            match self.alone {
                true => (0..members).for_each(share),
                false => std::thread::scope(|scope| (0..members).for_each(|one| _ = scope.spawn(move || share(one)))),
            }
        }
    }

    #[test]
    fn a_team_works_once_on_each_chunk() {
        let cases = [(1000, 7, 3), (1000, 1000, 2), (5, 2, 64), (6, 1, 1000), (0, 3, 2), (64, 4, 1)];
        for ((length, size, members), alone) in cases.into_iter().flat_map(|case| [(case, true), (case, false)]) {
            let mut memory: Vec<usize> = vec![0; length];
            share_chunks(&Scoped { alone }, members, &mut memory, size, |chunk, part| {
                part.iter_mut().for_each(|element| *element += chunk + 1);
            });
            assert!(memory.iter().enumerate().all(|(index, &found)| found == index / size + 1), "{memory:?}");
        }
    }

    #[test]
    fn a_panic_of_one_member_comes_back() {
        for alone in [true, false] {
            let mut memory = vec![0; 100];
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                let team = Scoped { alone };
                share_chunks(&team, 4, &mut memory, 1, |chunk, _| assert_ne!(chunk, 40, "planned"));
            }));
            let reason = outcome.unwrap_err();
            assert!(reason.downcast_ref::<String>().is_some_and(|text| text.contains("planned")));
        }
    }
}
