//! Where tensors live and who works on them: host memory handed out as slices, threads, and CUDA loaded on purpose.
//!
//! The linker drops `libtorch_cuda.so` because nothing refers to it, so it is opened here before the first use; each
//! part that can be missing is named.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::{c_int, c_uint};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW, Symbol};
use memmap2::{Advice, MmapMut};
use rayon::ThreadPool;
use tch::{Device, Tensor};

use crate::error::{Error, Result};
use crate::kernels::{self, Scalar};

/// Bytes of the pages that the system is asked for, where memory is large enough.
const LARGE_PAGE: usize = 2 << 20;

/// Numbers in host memory, seen as a slice, aligned to 64 bytes at least.
pub struct HostBuffer<T> {
    /// The first number: LibTorch takes longer to say it than a small product takes.
    data: NonNull<T>,
    length: usize,
    owner: Owner,
}

/// What a buffer's memory belongs to; never handed out or shared.
enum Owner {
    Tensor(#[expect(dead_code, reason = "it is there to be dropped")] Tensor),
    Pages(MmapMut),
}

// SAFETY: the buffer owns its numbers, and through a shared reference nothing but `&[T]` can be had.
unsafe impl<T: Send> Send for HostBuffer<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for HostBuffer<T> {}

impl<T: Scalar> HostBuffer<T> {
    /// `length` zeros, in a tensor.
    pub fn zeros(length: usize) -> Result<Self> {
        let size = i64::try_from(length)
            .map_err(|_| Error::invalid(format!("a buffer of {length} numbers"), "use smaller layers or batches"))?;
        let tensor = Tensor::f_zeros([size], (T::KIND, Device::Cpu))?;
        let data = NonNull::new(tensor.data_ptr().cast()).unwrap_or(NonNull::dangling()); // null: of no numbers
        Ok(HostBuffer { data, length, owner: Owner::Tensor(tensor) })
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
        // SAFETY: `data` is the first of `length` numbers of a tensor or of pages that live as long as this, and that
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
    Error::invalid(format!("memory for {length} numbers is refused: {why}"), "read fewer events or columns")
}

/// Number of the processor that this thread runs on now; 0 where the system does not say.
pub fn processor() -> usize {
    #[cfg(target_os = "linux")]
    return rustix::thread::sched_getcpu();
    #[cfg(not(target_os = "linux"))]
    0
}

/// Moves this thread to the first processor it may use that is `free`, and leaves it as free as it was to go on from
/// there. False if there is none.
pub fn move_to_processor(free: impl Fn(usize) -> bool) -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let Ok(allowed) = sched_getaffinity(None) else { return false };
        let Some(target) = (0..CpuSet::MAX_CPU).find(|&one| allowed.is_set(one) && free(one)) else { return false };
        let mut only = CpuSet::new();
        only.set(target);
        sched_setaffinity(None, &only).is_ok() && sched_setaffinity(None, &allowed).is_ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = free;
        false
    }
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

/// A pool of `threads` threads (0: as many as the machine has), each with its BLAS on one thread.
pub fn thread_pool(threads: usize) -> Result<ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|index| format!("cladtorch-{index}"))
        .start_handler(|_| {
            kernels::blas_single_thread();
        })
        .build()
        .map_err(|error| Error::invalid(format!("{threads} threads could not be started: {error}"), "use fewer"))
}

/// The pool of `threads` threads (0: as many as the machine has) that readers share. Its threads are started once and
/// sleep when there is nothing to read; a forked process, which has none of them, starts its own.
pub fn shared_pool(threads: usize) -> Result<Arc<ThreadPool>> {
    static POOLS: Mutex<BTreeMap<(u32, usize), Arc<ThreadPool>>> = Mutex::new(BTreeMap::new());
    // A panic elsewhere leaves the map as it was.
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    match pools.entry((std::process::id(), threads)) {
        Entry::Occupied(pool) => Ok(Arc::clone(pool.get())),
        Entry::Vacant(place) => Ok(Arc::clone(place.insert(Arc::new(thread_pool(threads)?)))),
    }
}

/// The device that `name` means (`cpu`, `cuda`, `cuda:N`), ready to be used.
pub fn open(name: &str) -> Result<Device> {
    let unknown = || Error::invalid(format!("device \"{name}\" is unknown"), "use \"cpu\", \"cuda\" or \"cuda:N\"");
    let index = match name {
        "cpu" => return Ok(Device::Cpu),
        "cuda" => 0,
        _ => name.strip_prefix("cuda:").and_then(|n| n.parse::<u8>().ok()).ok_or_else(unknown)?,
    };
    let gpus = load_cuda().map_err(|missing| {
        Error::invalid(format!("device \"{name}\" cannot be used: {missing}"), "fDevice = \"cpu\" works everywhere")
    })?;
    if u32::from(index) >= gpus {
        return Err(Error::invalid(
            format!("device \"{name}\" cannot be used: this machine has {gpus} GPU(s), counted from 0"),
            "give a smaller number",
        ));
    }
    Ok(Device::Cuda(usize::from(index)))
}

/// Number of GPUs, once the driver and LibTorch's CUDA part are loaded; else which part is missing.
fn load_cuda() -> std::result::Result<u32, String> {
    static LOADED: OnceLock<std::result::Result<u32, String>> = OnceLock::new();
    LOADED
        .get_or_init(|| {
            let gpus = count_gpus()?;
            load_libtorch_cuda()?;
            Ok(gpus)
        })
        .clone()
}

/// Asks the driver itself (CUDA Driver API, `cuInit` and `cuDeviceGetCount`), which needs no other CUDA library.
fn count_gpus() -> std::result::Result<u32, String> {
    type Init = unsafe extern "C" fn(c_uint) -> c_int;
    type Count = unsafe extern "C" fn(*mut c_int) -> c_int;
    // SAFETY: the driver's library has no initialiser that depends on us, and it stays loaded (leaked below).
    let driver = unsafe { Library::open(Some("libcuda.so.1"), RTLD_NOW | RTLD_GLOBAL) }
        .map_err(|_| "the NVIDIA driver is not installed (no libcuda.so.1)".to_owned())?;
    // SAFETY: both functions have these types in every version of the CUDA Driver API; `count` outlives the call.
    let outcome = unsafe {
        let init: Result<Symbol<Init>, _> = driver.get(b"cuInit\0");
        let count_of: Result<Symbol<Count>, _> = driver.get(b"cuDeviceGetCount\0");
        match (init, count_of) {
            (Ok(init), Ok(count_of)) => {
                let mut count = 0;
                let code = init(0);
                let code = if code == 0 { count_of(&mut count) } else { code };
                if code == 0 { Ok(count) } else { Err(code) }
            }
            _ => return Err("the NVIDIA driver's libcuda.so.1 lacks cuInit or cuDeviceGetCount".to_owned()),
        }
    };
    std::mem::forget(driver);
    match outcome {
        Ok(count) if count > 0 => Ok(count as u32),
        // 100 is CUDA_ERROR_NO_DEVICE.
        Ok(_) | Err(100) => Err("the driver sees no GPU (is CUDA_VISIBLE_DEVICES empty?)".to_owned()),
        Err(code) => Err(format!("the driver's cuInit failed with code {code}")),
    }
}

fn load_libtorch_cuda() -> std::result::Result<(), String> {
    let folder = libtorch_folder().ok_or("the folder of libtorch_cpu.so was not found in this process")?;
    let path = folder.join("libtorch_cuda.so");
    if !path.exists() {
        return Err(format!("there is no {} (a LibTorch for the CPU, or only its CPU part installed)", path.display()));
    }
    // SAFETY: it is the companion of the libtorch_cpu.so already running here, opened once and never closed.
    match unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_GLOBAL) } {
        Ok(library) => {
            std::mem::forget(library);
            Ok(())
        }
        Err(error) => Err(missing_cuda_library(&error.to_string())),
    }
}

/// Which package to install, from the dynamic linker's "libX.so.N: cannot open shared object file".
fn missing_cuda_library(message: &str) -> String {
    const PACKAGES: &[(&str, &str)] = &[
        ("libcublas", "nvidia-cublas"),
        ("libcudnn", "nvidia-cudnn-cu13"),
        ("libcufft", "nvidia-cufft"),
        ("libcurand", "nvidia-curand"),
        ("libcusolver", "nvidia-cusolver"),
        ("libcusparseLt", "nvidia-cusparselt-cu13"),
        ("libcusparse", "nvidia-cusparse"),
        ("libnccl", "nvidia-nccl-cu13"),
        ("libnvshmem", "nvidia-nvshmem-cu13"),
        ("libnvJitLink", "nvidia-nvjitlink"),
        ("libnvrtc", "nvidia-cuda-nvrtc"),
        ("libcufile", "nvidia-cufile"),
        ("libcudart", "nvidia-cuda-runtime"),
        ("libcupti", "nvidia-cuda-cupti"),
    ];
    let package = PACKAGES.iter().find(|(library, _)| message.contains(library)).map(|(_, package)| package);
    match package {
        Some(package) => {
            format!("libtorch_cuda.so lacks a CUDA library, found in the Python package {package} ({message})")
        }
        None => format!("libtorch_cuda.so could not be loaded ({message})"),
    }
}

/// The folder that this process loaded libtorch_cpu.so from.
fn libtorch_folder() -> Option<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with("/libtorch_cpu.so"))?;
    Path::new(&line[line.find('/')?..]).parent().map(Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_devices_are_named() {
        for name in ["", "gpu", "cuda:", "cuda:-1", "cuda:999", "CPU"] {
            let error = open(name).unwrap_err().to_string();
            assert!(error.contains(&format!("\"{name}\"")), "{error}");
        }
    }

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
            assert!(error.contains("refused"), "{error}");
            assert!(buffer.as_slice() == rising((1 << 22) + 1));
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_moves_and_stays_free() {
        use rustix::thread::{CpuSet, sched_getaffinity};
        let before = sched_getaffinity(None).unwrap();
        assert!(!move_to_processor(|_| false));
        let last = (0..CpuSet::MAX_CPU).rfind(|&one| before.is_set(one)).unwrap();
        assert!(move_to_processor(|one| one == last));
        assert!(before.is_set(processor()));
        assert!(sched_getaffinity(None).unwrap() == before);
    }

    #[test]
    fn a_missing_cuda_wheel_is_named() {
        let text = missing_cuda_library("libcudnn.so.9: cannot open shared object file: No such file or directory");
        assert!(text.contains("nvidia-cudnn-cu13") && text.contains("libcudnn.so.9"), "{text}");
        let text = missing_cuda_library("libcusparseLt.so.0: cannot open shared object file");
        assert!(text.contains("nvidia-cusparselt-cu13"), "{text}");
    }

    #[test]
    fn libtorch_is_found_in_this_process() {
        let _loaded = Tensor::zeros([1], (tch::Kind::Float, Device::Cpu));
        assert!(libtorch_folder().is_some_and(|folder| folder.join("libtorch_cpu.so").exists()));
    }
}
