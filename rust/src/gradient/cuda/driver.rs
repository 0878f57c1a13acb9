//! The CUDA driver, opened when the first GPU is asked for: memory, modules and launches. It shares LibTorch's context.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW, Symbol};

use crate::error::{Error, Result};

/// The driver's library.
pub const DRIVER: &str = "libcuda.so.1";

/// The oldest one that the machine code of CUDA 12 needs, as `cuDriverGetVersion` says it.
const OLDEST: c_int = 12000;

const NO_DEVICE: c_int = 100;

pub(super) type Handle = *mut c_void;

/// Functions of the CUDA Driver API; those with a suffix have the types of that version.
macro_rules! functions {
    ($($field:ident $name:literal ($($argument:ty),*);)*) => {
        struct Functions { $($field: Symbol<unsafe extern "C" fn($($argument),*) -> c_int>,)* }

        impl Functions {
            fn new(library: &Library) -> Result<Self, String> {
                // SAFETY: these are the types of the functions of that name.
                unsafe { Ok(Functions { $($field: library.get(concat!($name, "\0").as_bytes()).map_err(|error| error.to_string())?,)* }) }
            }
        }
    };
}

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
    allocate "cuMemAlloc_v2" (*mut usize, usize);
    free "cuMemFree_v2" (usize);
    upload "cuMemcpyHtoD_v2" (usize, *const c_void, usize);
    download "cuMemcpyDtoH_v2" (*mut c_void, usize, usize);
    load "cuModuleLoadData" (*mut Handle, *const c_void);
    unload "cuModuleUnload" (Handle);
    function "cuModuleGetFunction" (*mut Handle, Handle, *const c_char);
    launch "cuLaunchKernel" (Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void);
}

/// One GPU with its primary context, which LibTorch uses too.
pub(super) struct Context {
    functions: Functions,
    device: c_int,
    context: Handle,
    /// As NVRTC calls it.
    pub architecture: String,
    /// Keeps the code where it is.
    _library: Library,
}

// SAFETY: the driver's functions may be called from any thread, and a context be current in several.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// Of GPU number `index`, by the driver at `path`.
    pub fn open(path: &Path, index: u32) -> Result<Self> {
        let refused = |what: String| Error::invalid(what, "use the CPU, or see that nvidia-smi lists the GPU");
        // SAFETY: the driver's library has no initialiser that depends on us; it is closed with the last handle to it.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }
            .map_err(|_| refused(format!("the NVIDIA driver is not installed (no {})", path.display())))?;
        let functions =
            Functions::new(&library).map_err(|error| refused(format!("the NVIDIA driver is too old ({error})")))?;
        let (mut version, mut device, mut context) = (0, 0, ptr::null_mut());
        let [mut major, mut minor] = [0; 2];
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
            // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
            functions.check((functions.attribute)(&mut major, 75, device), "cuDeviceGetAttribute")?;
            functions.check((functions.attribute)(&mut minor, 76, device), "cuDeviceGetAttribute")?;
            functions.check((functions.retain)(&mut context, device), "cuDevicePrimaryCtxRetain")?;
        }
        let architecture = format!("sm_{major}{minor}");
        Ok(Context { functions, device, context, architecture, _library: library })
    }

    /// Calls the driver with this context current.
    fn within(&self, what: &str, call: impl FnOnce(&Functions) -> c_int) -> Result<()> {
        // SAFETY: the context lives as long as this does; what is pushed is popped by the same thread.
        unsafe {
            self.functions.check((self.functions.push)(self.context), what)?;
            let code = call(&self.functions);
            let mut popped = ptr::null_mut();
            (self.functions.pop)(&mut popped);
            self.functions.check(code, what)
        }
    }

    /// The address of so many new bytes.
    pub fn allocate(&self, bytes: usize) -> Result<usize> {
        let mut address = 0;
        // SAFETY: the address is a variable's. Nothing is allocated for no bytes.
        self.within(&format!("{bytes} bytes on the GPU"), |f| unsafe { (f.allocate)(&mut address, bytes.max(1)) })?;
        Ok(address)
    }

    /// Gives them back.
    pub fn free(&self, address: usize) {
        // Best effort: a lost device has no memory any more.
        // SAFETY: `allocate` gave the address, and nobody uses it again.
        let _ = self.within("cuMemFree", |f| unsafe { (f.free)(address) });
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

    /// Runs a function with these addresses as parameters.
    pub fn launch(
        &self,
        function: Handle,
        name: &str,
        [grid, block]: [u32; 2],
        stream: usize,
        mut parameters: Vec<usize>,
    ) -> Result<()> {
        let mut places: Vec<*mut c_void> = parameters.iter_mut().map(|address| ptr::from_mut(address).cast()).collect();
        // SAFETY: the function's parameters are as many pointers, which the driver copies before it returns.
        self.within(&format!("kernel {name}"), |f| unsafe {
            (f.launch)(function, grid, 1, 1, block, 1, 1, 0, stream as Handle, places.as_mut_ptr(), ptr::null_mut())
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
            2 => "use smaller batches, or end what else uses the GPU",
            // What was launched before failed, or the hardware: nothing on this GPU works in this process any more.
            46 | 214 | 304 | 700..=719 | 999 => "the GPU is lost to this process: save, and start it again",
            _ => "run it on the CPU, and please report it",
        };
        Err(Error::invalid(format!("{what}: {} ({code})", name.to_string_lossy()), remedy))
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
        // SAFETY: nobody has its functions any more.
        let _ = self.context.within("cuModuleUnload", |f| unsafe { (f.unload)(self.module) });
    }
}
