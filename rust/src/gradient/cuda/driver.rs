//! The CUDA driver, opened when the first GPU is requested: memory, modules and launches. It shares LibTorch's context.

use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_uint, c_void};
use std::path::Path;
use std::ptr;
use std::sync::{Arc, PoisonError, RwLock};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW, Symbol};

use super::functions::functions;
use crate::error::{Error, Result};

/// The driver's library.
pub const DRIVER: &str = "libcuda.so.1";

/// The oldest one that the machine code of CUDA 12 needs, as `cuDriverGetVersion` says it.
const OLDEST: c_int = 12000;

const NO_DEVICE: c_int = 100;

pub(super) type Handle = *mut c_void;

// Functions of the CUDA Driver API; those with a suffix have the types of that version.
functions! {
    init "cuInit" (c_uint);
    version "cuDriverGetVersion" (*mut c_int);
    error_name "cuGetErrorName" (c_int, *mut *const c_char);
    device "cuDeviceGet" (*mut c_int, c_int);
    attribute "cuDeviceGetAttribute" (*mut c_int, c_int, c_int);
    retain "cuDevicePrimaryCtxRetain" (*mut Handle, c_int);
    release "cuDevicePrimaryCtxRelease_v2" (c_int);
    push "cuCtxPushCurrent_v2" (Handle);
    pop "cuCtxPopCurrent_v2" (*mut Handle);
    synchronise "cuStreamSynchronize" (Handle);
    finish "cuCtxSynchronize" ();
    allocate "cuMemAlloc_v2" (*mut usize, usize);
    free "cuMemFree_v2" (usize);
    memory "cuMemGetInfo_v2" (*mut usize, *mut usize);
    upload "cuMemcpyHtoD_v2" (usize, *const c_void, usize);
    download "cuMemcpyDtoH_v2" (*mut c_void, usize, usize);
    load "cuModuleLoadData" (*mut Handle, *const c_void);
    unload "cuModuleUnload" (Handle);
    function "cuModuleGetFunction" (*mut Handle, Handle, *const c_char);
    launch "cuLaunchKernelEx" (*const LaunchConfig, Handle, *mut *mut c_void, *mut *mut c_void);
    clusters "cuOccupancyMaxActiveClusters" (*mut c_int, Handle, *const LaunchConfig);
    set_attribute "cuFuncSetAttribute" (Handle, c_int, c_int);
    fill "cuMemsetD8Async" (usize, c_uchar, usize, Handle);
    copy "cuMemcpyDtoDAsync_v2" (usize, usize, usize, Handle);
    begin_capture "cuStreamBeginCapture_v2" (Handle, c_int);
    end_capture "cuStreamEndCapture" (Handle, *mut Handle);
    instantiate "cuGraphInstantiateWithFlags" (*mut Handle, Handle, u64);
    upload_graph "cuGraphUpload" (Handle, Handle);
    launch_graph "cuGraphLaunch" (Handle, Handle);
    end_graph "cuGraphDestroy" (Handle);
    end_executable_graph "cuGraphExecDestroy" (Handle);
    new_stream "cuStreamCreate" (*mut Handle, c_uint);
    end_stream "cuStreamDestroy_v2" (Handle);
}

/// The limits of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Blocks that run side by side, if each needs most of a multiprocessor.
    pub multiprocessors: usize,
    /// Bytes of shared memory that a block may have.
    pub shared: usize,
    /// Whether blocks may read each other's shared memory, as they may since compute capability 9.0.
    pub has_clusters: bool,
    /// Whether tensor cores multiply in TF32 and bfloat16, as they do since compute capability 8.0.
    pub has_tensor_cores: bool,
}

/// `CUlaunchAttribute`.
#[repr(C)]
#[derive(Clone, Copy)]
struct LaunchAttribute {
    id: c_int,
    pad: c_int,
    /// A union of 64 bytes, which begins with what an attribute has: here 1, or blocks of a cluster along three directions.
    value: [c_uint; 16],
}

/// `CUlaunchConfig`.
#[repr(C)]
struct LaunchConfig {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    stream: Handle,
    attributes: *const LaunchAttribute,
    count: c_uint,
}

/// Where and how a function runs.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub blocks: u32,
    pub threads: u32,
    /// Blocks that share their memory; 1: each is alone.
    pub cluster: u32,
    /// Bytes of shared memory of a block, besides those that the text declares.
    pub shared: usize,
    /// Whether all blocks run at once, or none does.
    pub is_whole: bool,
    pub stream: usize,
}

/// One GPU with its primary context, which LibTorch uses too.
pub(super) struct Context {
    functions: Functions,
    device: c_int,
    context: Handle,
    /// Number of the GPU.
    pub index: usize,
    /// As NVRTC calls it.
    pub architecture: String,
    pub limits: Limits,
    /// Read while a stream is captured: what waits for the whole context, or may, would break the capture, and writes.
    captures: RwLock<()>,
    /// Keeps the code where it is.
    _library: Library,
}

// SAFETY: the driver's functions may be called from any thread, and a context be current in several.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// Opens GPU number `index` with the driver at `path`.
    pub fn open(path: &Path, index: u32) -> Result<Self> {
        let refused = |what: String| Error::invalid(what, "use the CPU, or see that nvidia-smi lists the GPU");
        // SAFETY: the driver's library has no initialiser that depends on us; it is closed with the last handle to it.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }
            .map_err(|_| refused(format!("the NVIDIA driver is not installed (no {})", path.display())))?;
        let functions =
            Functions::new(&library).map_err(|error| refused(format!("the NVIDIA driver is too old ({error})")))?;
        let (mut version, mut device, mut context) = (0, 0, ptr::null_mut());
        let [mut major, mut minor, mut multiprocessors, mut shared] = [0; 4];
        // SAFETY: all addresses are those of variables of the right types.
        unsafe {
            match (functions.init)(0) {
                NO_DEVICE => return Err(refused("the driver sees no GPU".into())),
                code => functions.check(code, "cuInit")?,
            }
            functions.check((functions.version)(&mut version), "cuDriverGetVersion")?;
            if version < OLDEST {
                let [major, minor] = [version / 1000, version % 1000 / 10];
                return Err(Error::invalid(
                    format!("the NVIDIA driver is too old: it knows CUDA {major}.{minor}"),
                    "install one that knows CUDA 12.0, which is version 525",
                ));
            }
            functions.check((functions.device)(&mut device, index as c_int), &format!("GPU {index}"))?;
            // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR, _MULTIPROCESSOR_COUNT, _MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
            for (value, attribute) in
                [(&mut major, 75), (&mut minor, 76), (&mut multiprocessors, 16), (&mut shared, 97)]
            {
                functions.check((functions.attribute)(value, attribute, device), "cuDeviceGetAttribute")?;
            }
            functions.check((functions.retain)(&mut context, device), "cuDevicePrimaryCtxRetain")?;
        }
        let architecture = format!("sm_{major}{minor}");
        let size = |value: c_int| usize::try_from(value).unwrap_or(0);
        let limits = Limits {
            multiprocessors: size(multiprocessors),
            shared: size(shared),
            has_clusters: major >= 9,
            has_tensor_cores: major >= 8,
        };
        Ok(Context {
            functions,
            device,
            context,
            index: index as usize,
            architecture,
            limits,
            captures: RwLock::new(()),
            _library: library,
        })
    }

    /// Calls the driver with this context current.
    fn within(&self, what: &str, call: impl FnOnce(&Functions) -> c_int) -> Result<()> {
        let code = self.enter(|| call(&self.functions))?;
        self.functions.check(code, what)
    }

    /// Calls anything with this context current.
    pub fn enter<R>(&self, call: impl FnOnce() -> R) -> Result<R> {
        // SAFETY: the context lives as long as this does; what is pushed is popped by the same thread.
        unsafe {
            self.functions.check((self.functions.push)(self.context), "cuCtxPushCurrent")?;
            let result = call();
            let mut popped = ptr::null_mut();
            (self.functions.pop)(&mut popped);
            Ok(result)
        }
    }

    /// Allocates this many bytes and returns their address.
    pub fn allocate(&self, bytes: usize) -> Result<usize> {
        let mut address = 0;
        // SAFETY: the address is a variable's. Nothing is allocated for no bytes.
        self.within(&format!("{bytes} bytes on the GPU"), |f| unsafe { (f.allocate)(&mut address, bytes.max(1)) })?;
        Ok(address)
    }

    /// Gives them back.
    pub fn free(&self, address: usize) {
        let _no_capture = self.captures.write().unwrap_or_else(PoisonError::into_inner);
        // Best effort: a lost device has no memory any more.
        // SAFETY: `allocate` gave the address, and nobody uses it again.
        let _ = self.within("cuMemFree", |f| unsafe { (f.free)(address) });
    }

    /// Bytes of its memory: those that nobody uses, and all.
    pub fn bytes(&self) -> Result<[usize; 2]> {
        let (mut unused, mut all) = (0, 0);
        // SAFETY: the addresses are those of variables.
        self.within("cuMemGetInfo", |f| unsafe { (f.memory)(&mut unused, &mut all) })?;
        Ok([unused, all])
    }

    /// Copies to the GPU, after everything that runs there on the default stream.
    pub fn upload(&self, bytes: &[u8], to: usize) -> Result<()> {
        // SAFETY: the caller's memory on the GPU is as long as the slice.
        self.within("cuMemcpyHtoD", |f| unsafe { (f.upload)(to, bytes.as_ptr().cast(), bytes.len()) })
    }

    /// Copies from the GPU, after everything that runs there on the default stream.
    pub fn download(&self, from: usize, bytes: &mut [u8]) -> Result<()> {
        // SAFETY: as above.
        self.within("cuMemcpyDtoH", |f| unsafe { (f.download)(bytes.as_mut_ptr().cast(), from, bytes.len()) })
    }

    /// Waits for a stream.
    pub fn synchronise(&self, stream: usize) -> Result<()> {
        // SAFETY: the caller's stream is one of this context; 0 is the default one.
        self.within("the GPU", |f| unsafe { (f.synchronise)(stream as Handle) })
    }

    /// Fills with zeros on a stream.
    pub fn clear(&self, address: usize, bytes: usize, stream: usize) -> Result<()> {
        // SAFETY: the caller's memory on the GPU has so many bytes.
        self.within("cuMemsetD8Async", |f| unsafe { (f.fill)(address, 0, bytes, stream as Handle) })
    }

    /// Copies within the GPU's memory on a stream.
    pub fn copy(&self, from: usize, to: usize, bytes: usize, stream: usize) -> Result<()> {
        // SAFETY: the caller's memory on the GPU has so many bytes in both places, which are apart.
        self.within("cuMemcpyDtoDAsync", |f| unsafe { (f.copy)(to, from, bytes, stream as Handle) })
    }

    /// A stream that waits for no other one.
    pub fn new_stream(&self) -> Result<usize> {
        const NON_BLOCKING: c_uint = 1;
        let mut stream = ptr::null_mut();
        // SAFETY: the handle is a variable's.
        self.within("cuStreamCreate", |f| unsafe { (f.new_stream)(&mut stream, NON_BLOCKING) })?;
        Ok(stream as usize)
    }

    /// Gives it back, once it is done.
    pub fn end_stream(&self, stream: usize) {
        // Best effort, as for memory.
        // SAFETY: `new_stream` made it, and nobody uses it again.
        let _ = self.within("cuStreamDestroy", |f| unsafe { (f.end_stream)(stream as Handle) });
    }

    /// Allows a function this many bytes of shared memory.
    pub fn allow_shared(&self, function: Handle, name: &str, bytes: usize) -> Result<()> {
        const MAX_DYNAMIC_SHARED_SIZE_BYTES: c_int = 8;
        let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        // SAFETY: the function is one of a module that is loaded.
        let call = |f: &Functions| unsafe { (f.set_attribute)(function, MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes) };
        self.within(&format!("{bytes} bytes of shared memory for kernel {name}"), call)
    }

    /// Runs a function with these numbers as parameters, each of 8 bytes.
    pub fn launch(&self, function: Handle, name: &str, shape: Shape, mut parameters: Vec<usize>) -> Result<()> {
        let mut places: Vec<*mut c_void> = parameters.iter_mut().map(|address| ptr::from_mut(address).cast()).collect();
        // SAFETY: the function's parameters are as many numbers of that size, which the driver copies before it returns.
        self.within(&format!("kernel {name}"), |f| unsafe {
            shape.configured(|config| (f.launch)(config, function, places.as_mut_ptr(), ptr::null_mut()))
        })
    }

    /// Clusters of such blocks that run at once.
    pub fn clusters(&self, function: Handle, name: &str, shape: Shape) -> Result<usize> {
        let mut most = 0;
        // SAFETY: the number is a variable's, and the configuration a complete one.
        self.within(&format!("clusters of kernel {name}"), |f| unsafe {
            shape.configured(|config| (f.clusters)(&mut most, function, config))
        })?;
        Ok(usize::try_from(most).unwrap_or(0))
    }
}

impl Shape {
    /// As the driver takes it.
    fn configured<R>(self, call: impl FnOnce(*const LaunchConfig) -> R) -> R {
        // CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION and _COOPERATIVE
        let of = |id: c_int, value: [c_uint; 3]| {
            let mut whole = [0; 16];
            whole[..3].copy_from_slice(&value);
            LaunchAttribute { id, pad: 0, value: whole }
        };
        let mut attributes = Vec::new();
        if self.cluster > 1 {
            attributes.push(of(4, [self.cluster, 1, 1]));
        }
        if self.is_whole {
            attributes.push(of(2, [1, 0, 0]));
        }
        call(&LaunchConfig {
            grid: [self.blocks, 1, 1],
            block: [self.threads, 1, 1],
            shared: c_uint::try_from(self.shared).unwrap_or(c_uint::MAX),
            stream: self.stream as Handle,
            attributes: attributes.as_ptr(),
            count: attributes.len() as c_uint,
        })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: it was retained once.
        unsafe { (self.functions.release)(self.device) };
    }
}

impl Functions {
    fn check(&self, code: c_int, what: &str) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        let mut name = ptr::null();
        // SAFETY: the driver's answer is a constant, or null.
        let name = unsafe {
            (self.error_name)(code, &mut name);
            if name.is_null() { c"an unknown error" } else { CStr::from_ptr(name) }
        };
        let remedy = match code {
            1 | 101 => "give the number of a GPU that nvidia-smi lists",
            2 => "use fewer events or smaller batches, or end what else uses the GPU",
            // What was launched before failed, or the hardware: nothing on this GPU works in this process any more.
            46 | 214 | 304 | 700..=719 | 999 => "the GPU is lost to this process: save, and start it again",
            _ => "run it on the CPU, and please report it",
        };
        Err(Error::invalid(format!("{what}: {} ({code})", name.to_string_lossy()), remedy))
    }
}

/// What `work` launches on a stream, as one launch; nothing of it runs yet.
pub(super) struct Captured {
    context: Arc<Context>,
    graph: Handle,
}

// SAFETY: as for the context.
unsafe impl Send for Captured {}
// SAFETY: as for the context.
unsafe impl Sync for Captured {}

impl Captured {
    pub fn new(context: Arc<Context>, stream: usize, work: impl FnOnce() -> Result<()>) -> Result<Self> {
        /// Calls of other threads do not matter.
        const RELAXED: c_int = 2;
        let (mut captured, mut graph) = (ptr::null_mut(), ptr::null_mut());
        let capture = context.captures.read().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the stream is one of this context, and the handles are variables'.
        context.within("cuStreamBeginCapture", |f| unsafe { (f.begin_capture)(stream as Handle, RELAXED) })?;
        let worked = work();
        // SAFETY: as above.
        let ended =
            context.within("cuStreamEndCapture", |f| unsafe { (f.end_capture)(stream as Handle, &mut captured) });
        drop(capture);
        // What failed within says more than that nothing was captured.
        worked.and(ended)?;
        // SAFETY: the captured graph is a complete one, and the handle a variable's.
        let made = context.within("cuGraphInstantiate", |f| unsafe { (f.instantiate)(&mut graph, captured, 0) });
        // Best effort: the executable graph is a copy.
        // SAFETY: nobody uses it again.
        let _ = context.within("cuGraphDestroy", |f| unsafe { (f.end_graph)(captured) });
        made?;
        Ok(Captured { context, graph })
    }

    /// Makes room for it, so that a launch needs no more.
    pub fn upload(&self, stream: usize) -> Result<()> {
        // SAFETY: the graph is a live one, and the stream one of its context.
        self.context.within("cuGraphUpload", |f| unsafe { (f.upload_graph)(self.graph, stream as Handle) })
    }

    /// Runs it once.
    pub fn launch(&self, stream: usize) -> Result<()> {
        // SAFETY: the graph is a live one, and the stream one of its context.
        self.context.within("cuGraphLaunch", |f| unsafe { (f.launch_graph)(self.graph, stream as Handle) })
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        // SAFETY: nobody uses it again.
        let _ = self.context.within("cuGraphExecDestroy", |f| unsafe { (f.end_executable_graph)(self.graph) });
    }
}

/// Kernels on a GPU.
pub(super) struct Module {
    context: Arc<Context>,
    module: Handle,
}

// SAFETY: as for the context.
unsafe impl Send for Module {}
// SAFETY: as for the context.
unsafe impl Sync for Module {}

impl Module {
    pub fn load(context: Arc<Context>, code: &[u8]) -> Result<Self> {
        let mut module = ptr::null_mut();
        // SAFETY: machine code says how long it is, and the driver checks it.
        context.within("the kernels", |f| unsafe { (f.load)(&mut module, code.as_ptr().cast()) })?;
        Ok(Module { context, module })
    }

    pub fn function(&self, name: &str) -> Result<Handle> {
        let text = CString::new(name).map_err(|_| Error::Internal(format!("a kernel called {name:?}")))?;
        let mut function = ptr::null_mut();
        // SAFETY: the module is loaded, and the name a string.
        let call = |f: &Functions| unsafe { (f.function)(&mut function, self.module, text.as_ptr()) };
        self.context.within(&format!("kernel {name}"), call)?;
        Ok(function)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        let _no_capture = self.context.captures.write().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: nobody has its functions any more, and what was launched has run.
        let _ = self.context.within("cuModuleUnload", |f| unsafe {
            (f.finish)();
            (f.unload)(self.module)
        });
    }
}
