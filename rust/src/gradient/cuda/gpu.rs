//! A GPU that runs the kernels of programs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::cublas::{Cublas, Places};
pub use super::driver::Limits;
use super::driver::{Captured, Context, DRIVER, Handle, Module, Shape};
use super::library::{Multiplier, Place};
use super::multiply::MatrixProduct;
use super::nvrtc::Nvrtc;
use super::program::{Kernel, Waits, headers, kernels_text};
use super::run::Device;
use crate::cache::{Cache, LIBRARY};
use crate::error::{Error, Result};

/// The most that the folder of machine code in the user's cache may hold.
const CACHE_LIMIT: u64 = 128 << 20;

/// Makes machine code of a text with these kernels.
type Compiler = dyn Fn(&str, &[&Kernel]) -> Result<Vec<u8>, String> + Send + Sync;

/// One GPU.
#[derive(Clone)]
pub struct Gpu {
    context: Arc<Context>,
    multiplier: Arc<Multiplier>,
    /// Instead of NVRTC.
    compiler: Option<Arc<Compiler>>,
    /// Equal parts of its multiprocessors, of which this one is used.
    parts: usize,
    /// What has been tried, and is right.
    tried: Arc<Mutex<BTreeSet<&'static str>>>,
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "GPU {} ({})", self.index(), self.architecture())
    }
}

/// Memory on a GPU, given back when it is dropped.
pub struct GpuMemory {
    context: Arc<Context>,
    address: usize,
    bytes: usize,
}

/// The kernels of a program on a GPU.
pub struct GpuKernels {
    functions: HashMap<String, Function>,
    gpu: Gpu,
    /// Keeps the code where it is.
    _module: Module,
}

/// The same on a stream of LibTorch's; 0 is the default one.
pub struct OnStream<'a> {
    kernels: &'a GpuKernels,
    stream: usize,
}

#[derive(Clone, Copy)]
struct Function(Handle);

// SAFETY: functions of a module may be launched from any thread.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

impl Gpu {
    /// GPU number `index`, or why there is none.
    pub fn open(index: u32) -> Result<Self> {
        Ok(Self::open_by(Path::new(DRIVER), index)?.multiplying(Place::Beside))
    }

    /// By the driver at `path`, and without a library of products.
    pub fn open_by(path: &Path, index: u32) -> Result<Self> {
        let multiplier = Arc::new(Multiplier::new(Place::Nowhere));
        Ok(Gpu {
            context: Arc::new(Context::open(path, index)?),
            multiplier,
            compiler: None,
            parts: 1,
            tried: Arc::default(),
        })
    }

    fn multiplying(self, place: Place) -> Self {
        Gpu { multiplier: Arc::new(Multiplier::new(place)), ..self }
    }

    /// With the cuBLASLt at `path`.
    pub fn with_cublas(self, path: &Path) -> Self {
        self.multiplying(Place::At(path.to_owned()))
    }

    /// The same GPU for all callers; if it cannot be opened, each call tries again.
    pub fn shared(index: u32) -> Result<Self> {
        static OPEN: Mutex<BTreeMap<u32, Gpu>> = Mutex::new(BTreeMap::new());
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gpu) = open.get(&index) {
            return Ok(gpu.clone());
        }
        let gpu = Self::open(index)?;
        open.insert(index, gpu.clone());
        Ok(gpu)
    }

    /// With another compiler than NVRTC.
    pub fn with_compiler(
        self,
        make: impl Fn(&str, &[&Kernel]) -> Result<Vec<u8>, String> + Send + Sync + 'static,
    ) -> Self {
        Gpu { compiler: Some(Arc::new(make)), ..self }
    }

    /// One of so many equal parts of its multiprocessors, for one of several networks that train at once. The memory is that of all.
    pub fn part(self, parts: usize) -> Self {
        Gpu { parts: parts.max(1), ..self }
    }

    /// In how many parts it trains.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Bytes of its memory: those that nobody uses, and all.
    pub fn bytes(&self) -> Result<[usize; 2]> {
        self.context.bytes()
    }

    /// Whether `try_it` has succeeded here under this name, or does now.
    pub fn tried(&self, name: &'static str, try_it: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        if !tried.contains(name) {
            try_it()?;
            tried.insert(name);
        }
        Ok(())
    }

    /// Its number, from 0 on.
    pub fn index(&self) -> usize {
        self.context.index
    }

    /// As NVRTC calls it: `sm_90`.
    pub fn architecture(&self) -> &str {
        &self.context.architecture
    }

    /// Its limits.
    pub fn limits(&self) -> Limits {
        let all = self.context.limits;
        Limits { multiprocessors: (all.multiprocessors / self.parts).max(1), ..all }
    }

    /// Why cuBLASLt does not multiply these matrices; `None`: it does.
    pub fn obstacle(&self, product: &MatrixProduct) -> Option<String> {
        match self.cublas() {
            Ok(cublas) => cublas.check(product).err().map(|error| error.to_string()),
            Err(why) => Some(why),
        }
    }

    fn cublas(&self) -> Result<Arc<Cublas>, String> {
        self.multiplier.get(self, &self.context)
    }

    /// A stream that waits for no other one.
    pub fn stream(&self) -> Result<GpuStream> {
        Ok(GpuStream { number: self.context.new_stream()?, context: self.context.clone() })
    }

    /// So many bytes, whatever is in them.
    pub fn memory(&self, bytes: usize) -> Result<GpuMemory> {
        Ok(GpuMemory { address: self.context.allocate(bytes)?, context: self.context.clone(), bytes })
    }

    /// Machine code of these kernels, whose text includes these headers: what this user's cache has, or NVRTC makes.
    pub fn compile(&self, includes: &[&str], kernels: &[&Kernel]) -> Result<Vec<u8>> {
        let text = kernels_text(includes, kernels.iter().copied());
        let made = match &self.compiler {
            Some(make) => make(&text, kernels),
            None => compile(&text, self.architecture()),
        };
        made.map_err(|why| Error::invalid(format!("back end cuda: {why}"), "run it on LibTorch"))
    }

    /// Puts machine code of some kernels on the GPU.
    pub fn load(&self, kernels: &[&Kernel], code: &[u8]) -> Result<GpuKernels> {
        let module = Module::load(self.context.clone(), code)?;
        let function = |kernel: &Kernel| -> Result<(String, Function)> {
            let function = module.function(&kernel.name)?;
            if kernel.shared > 0 {
                self.context.allow_shared(function, &kernel.name, kernel.shared)?;
            }
            Ok((kernel.name.clone(), Function(function)))
        };
        let functions = kernels.iter().copied().map(function).collect::<Result<_>>()?;
        Ok(GpuKernels { functions, gpu: self.clone(), _module: module })
    }
}

fn compile(text: &str, architecture: &str) -> Result<Vec<u8>, String> {
    let nvrtc = Nvrtc::find()?;
    let cache = Cache::open()?.within("cuda", CACHE_LIMIT)?;
    let mut parts = vec![env!("CARGO_PKG_VERSION"), nvrtc.version(), architecture, text, include_str!("standin.hpp")];
    let headers = headers();
    parts.extend(headers.iter().map(|(_, text)| *text));
    kept(&cache, &Cache::key(&parts), || Ok(nvrtc.compile(text, architecture)?.code))
}

/// The cache's entry under this key, or a new one by `make`.
fn kept(cache: &Cache, key: &str, make: impl FnOnce() -> Result<Vec<u8>, String>) -> Result<Vec<u8>, String> {
    if let Some(code) = cache.find(key).and_then(|folder| std::fs::read(folder.join(LIBRARY)).ok()) {
        return Ok(code);
    }
    let code = make()?;
    let work = cache.work()?;
    let path = work.folder().join(LIBRARY);
    std::fs::write(&path, &code).map_err(|error| format!("{}: {error}", path.display()))?;
    cache.publish(&work, key)?;
    Ok(code)
}

impl GpuMemory {
    /// Where it is.
    pub fn address(&self) -> usize {
        self.address
    }

    /// Number of bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Fills it from the host, before any kernel that is launched later.
    pub fn upload<T: Plain>(&self, numbers: &[T]) -> Result<()> {
        assert_eq!(size_of_val(numbers), self.bytes);
        self.upload_at(0, numbers)
    }

    /// The same, from this many bytes after its start on.
    pub fn upload_at<T: Plain>(&self, start: usize, numbers: &[T]) -> Result<()> {
        let bytes = bytes_of(numbers);
        assert!(start + bytes.len() <= self.bytes);
        if bytes.is_empty() {
            return Ok(());
        }
        self.context.upload(bytes, self.address + start)?;
        // What is copied is on its way only: other streams do not wait for the default one.
        self.context.synchronise(0)
    }

    /// Fills it with zeros on a stream.
    pub fn clear(&self, stream: usize) -> Result<()> {
        self.context.clear(self.address, self.bytes, stream)
    }

    /// Copies it to the host, once the kernels on the default stream are done.
    pub fn download<T: Plain>(&self, numbers: &mut [T]) -> Result<()> {
        self.download_from(0, numbers)
    }

    /// Copies the part that begins this many bytes after its start.
    pub fn download_from<T: Plain>(&self, start: usize, numbers: &mut [T]) -> Result<()> {
        let bytes = bytes_of_mut(numbers);
        assert!(start + bytes.len() <= self.bytes);
        if bytes.is_empty() { Ok(()) } else { self.context.download(self.address + start, bytes) }
    }
}

/// Types that may be copied to and from a GPU byte by byte: they have no padding, and any bits are a valid value.
pub trait Plain: Copy {}

impl Plain for u8 {}
impl Plain for u32 {}
impl Plain for u64 {}
impl Plain for f32 {}
impl Plain for f64 {}

fn bytes_of<T: Plain>(numbers: &[T]) -> &[u8] {
    // SAFETY: the slice is as long in bytes, and numbers have no padding.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

fn bytes_of_mut<T: Plain>(numbers: &mut [T]) -> &mut [u8] {
    // SAFETY: as above, and any bytes are numbers.
    unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), size_of_val(numbers)) }
}

/// The numbers in memory of the GPU.
pub(super) fn uploaded<T: Plain>(gpu: &Gpu, numbers: &[T]) -> Result<GpuMemory> {
    let memory = gpu.memory(size_of_val(numbers))?;
    memory.upload(numbers)?;
    Ok(memory)
}

/// As many numbers from the start of the memory on, once the kernels on the default stream are done.
pub(super) fn downloaded<T: Plain + Default>(memory: &GpuMemory, count: usize) -> Result<Vec<T>> {
    let mut numbers = vec![T::default(); count];
    memory.download(&mut numbers)?;
    Ok(numbers)
}

/// A stream of one's own.
pub struct GpuStream {
    context: Arc<Context>,
    number: usize,
}

impl GpuStream {
    /// As kernels are launched on it.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Waits until it is done; reports an error of its kernels now.
    pub fn synchronise(&self) -> Result<()> {
        self.context.synchronise(self.number)
    }

    /// What `work` launches on it, as one launch, for which there is room.
    pub fn captured(&self, work: impl FnOnce() -> Result<()>) -> Result<Recording> {
        let captured = Captured::new(self.context.clone(), self.number, work)?;
        captured.upload(self.number)?;
        Ok(Recording(captured))
    }

    /// Runs what was captured.
    pub fn replay(&self, recording: &Recording) -> Result<()> {
        recording.0.launch(self.number)
    }

    /// Copies this many bytes within the GPU's memory.
    pub fn copy(&self, from: usize, to: usize, bytes: usize) -> Result<()> {
        self.context.copy(from, to, bytes, self.number)
    }
}

/// Launches of a stream as one: a CUDA graph.
pub struct Recording(Captured);

impl Drop for GpuStream {
    fn drop(&mut self) {
        self.context.end_stream(self.number);
    }
}

impl Drop for GpuMemory {
    fn drop(&mut self) {
        self.context.free(self.address);
    }
}

impl GpuKernels {
    /// To run them there.
    pub fn on_stream(&self, stream: usize) -> OnStream<'_> {
        OnStream { kernels: self, stream }
    }

    /// Waits until a stream is done; reports an error of its kernels now.
    pub fn synchronise(&self, stream: usize) -> Result<()> {
        self.gpu.context.synchronise(stream)
    }

    /// The number of clusters of this kernel, with this many threads per block, that run at once.
    pub fn clusters(&self, kernel: &Kernel, threads: u32) -> Result<usize> {
        let (cluster, shared) = (kernel.cluster, kernel.shared);
        let shape = Shape { blocks: cluster, threads, cluster, shared, is_whole: false, stream: 0 };
        self.gpu.context.clusters(self.function(kernel)?, &kernel.name, shape)
    }

    fn function(&self, kernel: &Kernel) -> Result<Handle> {
        let found = self.functions.get(&kernel.name).map(|&Function(function)| function);
        found.ok_or_else(|| Error::Internal(format!("no kernel {}", kernel.name)))
    }
}

impl Device for OnStream<'_> {
    fn launch(&self, kernel: &Kernel, grid: [u32; 2], parameters: &[usize]) -> Result<()> {
        let shape = Shape {
            blocks: grid[0],
            threads: grid[1],
            cluster: kernel.cluster,
            shared: kernel.shared,
            is_whole: kernel.waits == Waits::ForGrid,
            stream: self.stream,
        };
        self.kernels.gpu.context.launch(self.kernels.function(kernel)?, &kernel.name, shape, parameters.to_vec())
    }

    fn multiply(&self, product: &MatrixProduct, parameters: &[usize]) -> Result<()> {
        let &[a, b, c, bias, aside] = parameters else {
            return Err(Error::Internal(format!("{} parameters of a product", parameters.len())));
        };
        let cublas = self.kernels.gpu.cublas().map_err(Error::Internal)?;
        cublas.multiply(product, Places { matrices: [a, b, c], bias, aside }, self.stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_code_is_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(&folder.path().join("cache")).unwrap();
        let [key, other] = ["a", "b"].map(|text| Cache::key(&[text]));
        assert_eq!(kept(&cache, &key, || Err("no NVRTC".into())), Err("no NVRTC".into()));
        assert_eq!(kept(&cache, &key, || Ok(vec![1, 2])), Ok(vec![1, 2]));
        assert_eq!(kept(&cache, &key, || panic!("made before")), Ok(vec![1, 2]));
        assert_eq!(kept(&cache, &other, || Ok(vec![3])), Ok(vec![3]));
    }
}
