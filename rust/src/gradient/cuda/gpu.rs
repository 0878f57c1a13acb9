//! A GPU that runs the kernels of programs.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::driver::{Context, DRIVER, Handle, Module};
use super::nvrtc::Nvrtc;
use super::program::{CudaProgram, Kernel, headers, text};
use super::run::Device;
use crate::cache::{Cache, LIBRARY};
use crate::error::{Error, Result};

/// What the folder of machine code in the user's cache may hold.
const CACHE_LIMIT: u64 = 128 << 20;

/// One GPU.
#[derive(Clone)]
pub struct Gpu {
    context: Arc<Context>,
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
    context: Arc<Context>,
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
        Self::open_by(Path::new(DRIVER), index)
    }

    /// By the driver at `path`.
    pub fn open_by(path: &Path, index: u32) -> Result<Self> {
        Ok(Gpu { context: Arc::new(Context::open(path, index)?) })
    }

    /// As NVRTC calls it: `sm_90`.
    pub fn architecture(&self) -> &str {
        &self.context.architecture
    }

    /// So many bytes, whatever is in them.
    pub fn memory(&self, bytes: usize) -> Result<GpuMemory> {
        Ok(GpuMemory { address: self.context.allocate(bytes)?, context: self.context.clone(), bytes })
    }

    /// Machine code for this GPU: what this user's cache has, or NVRTC makes.
    pub fn compile(&self, program: &CudaProgram) -> Result<Vec<u8>> {
        let made = compile(&text([program]), self.architecture());
        made.map_err(|why| Error::invalid(format!("back end cuda: {why}"), "run it on LibTorch"))
    }

    /// Puts machine code of a program on the GPU.
    pub fn load(&self, program: &CudaProgram, code: &[u8]) -> Result<GpuKernels> {
        let module = Module::load(self.context.clone(), code)?;
        let functions =
            program.kernels.iter().map(|kernel| Ok((kernel.name.clone(), Function(module.function(&kernel.name)?))));
        let functions = functions.collect::<Result<_>>()?;
        Ok(GpuKernels { functions, context: self.context.clone(), _module: module })
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

/// What the cache has under this key, or `make` makes for it.
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

    /// Fills it from the host, before any kernel that is launched later.
    pub fn upload(&self, bytes: &[u8]) -> Result<()> {
        assert_eq!(bytes.len(), self.bytes);
        if bytes.is_empty() {
            return Ok(());
        }
        self.context.upload(bytes, self.address)?;
        // What is copied is on its way only: other streams do not wait for the default one.
        self.context.synchronise(0)
    }

    /// Copies it to the host, once the kernels on the default stream are done.
    pub fn download(&self, bytes: &mut [u8]) -> Result<()> {
        self.download_from(0, bytes)
    }

    /// Copies what begins so many bytes behind its start.
    pub fn download_from(&self, start: usize, bytes: &mut [u8]) -> Result<()> {
        assert!(start + bytes.len() <= self.bytes);
        if bytes.is_empty() { Ok(()) } else { self.context.download(self.address + start, bytes) }
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

    /// Waits until a stream is done; an error of its kernels is told now.
    pub fn synchronise(&self, stream: usize) -> Result<()> {
        self.context.synchronise(stream)
    }
}

impl Device for OnStream<'_> {
    fn launch(&self, kernel: &Kernel, grid: [u32; 2], parameters: &[usize]) -> Result<()> {
        let Some(&Function(function)) = self.kernels.functions.get(&kernel.name) else {
            return Err(Error::Internal(format!("no kernel {}", kernel.name)));
        };
        self.kernels.context.launch(function, &kernel.name, grid, self.stream, parameters.to_vec())
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
