//! NVRTC, NVIDIA's run-time compiler of CUDA C++, found and opened; it needs neither a GPU nor the driver.

use std::ffi::{CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::ptr;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW, Symbol};

use super::folders::{VARIABLE, VERSIONS, named, usual};
use super::program::headers;

type Program = *mut std::ffi::c_void;
type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Get = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
type Name = unsafe extern "C" fn(c_int) -> *const c_char;
type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;

/// The compiler.
pub struct Nvrtc {
    create: Symbol<Create>,
    compile: Symbol<Compile>,
    log: [Symbol<Get>; 2],
    sizes: [Symbol<Size>; 2],
    destroy: Symbol<Destroy>,
    name: Symbol<Name>,
    version: String,
    /// Keeps the code where it is.
    _library: Library,
}

/// Machine code.
#[derive(Clone, Debug)]
pub struct Cubin {
    /// For the driver.
    pub code: Vec<u8>,
    /// The compiler's log: registers and spills of each kernel.
    pub log: String,
}

impl Nvrtc {
    /// Opens the newest one; else where it was looked for.
    pub fn find() -> Result<Self, String> {
        let mut tried = Vec::new();
        for folder in named().map_or_else(usual, |folder| vec![Some(folder)]) {
            for version in VERSIONS {
                match open(folder.as_deref(), version) {
                    Ok(found) => return Ok(found),
                    Err(why) => tried.push(why),
                }
            }
        }
        Err(format!(
            "NVRTC was not found ({}). It comes with CUDA, and as the Python package nvidia-cuda-nvrtc; {VARIABLE} names the \
             folder of libnvrtc.so.13",
            tried.join("; ")
        ))
    }

    /// For people, and for the names of what it made.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Compiles texts of [`CudaProgram`](super::CudaProgram) for an architecture as `sm_90`.
    pub fn compile(&self, text: &str, architecture: &str) -> Result<Cubin, String> {
        let source = text_of(&format!("{}{text}", include_str!("standin.hpp")))?;
        let (names, texts): (Vec<CString>, Vec<CString>) = included()?.into_iter().unzip();
        let [names, texts] = [&names, &texts].map(|list| list.iter().map(|text| text.as_ptr()).collect::<Vec<_>>());
        let mut program: Program = ptr::null_mut();
        // SAFETY: all are strings that outlive the call, as many as is said.
        let made = unsafe {
            let file = c"kernels.cu".as_ptr();
            (self.create)(&mut program, source.as_ptr(), file, names.len() as c_int, texts.as_ptr(), names.as_ptr())
        };
        if made != 0 {
            return Err(self.explain(made));
        }
        let result = self.compile_program(program, architecture);
        // SAFETY: it was created above, and nothing refers to it any more.
        unsafe { (self.destroy)(&mut program) };
        result
    }

    fn compile_program(&self, program: Program, architecture: &str) -> Result<Cubin, String> {
        let options = [
            format!("--gpu-architecture={architecture}"),
            "-std=c++17".into(),
            "-default-device".into(),
            // The text says by name where it wants a fused multiply-add: the same roundings everywhere.
            "--fmad=false".into(),
            "--ptxas-options=-v".into(),
            // Clad's text has variables that nothing reads.
            "-w".into(),
        ];
        let options: Vec<CString> = options.iter().map(|option| text_of(option)).collect::<Result<_, _>>()?;
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: the program is a live one, and the options are as many strings as is said.
        let code = unsafe { (self.compile)(program, options.len() as c_int, options.as_ptr()) };
        let log = String::from_utf8_lossy(&self.read(program, 0)?).trim_end_matches('\0').to_owned();
        if code != 0 {
            let errors: Vec<&str> = log.lines().filter(|line| line.contains("error")).take(5).collect();
            return Err(format!("{}: {}", self.explain(code), errors.join("; ")));
        }
        Ok(Cubin { code: self.read(program, 1)?, log })
    }

    /// The log (0) or the machine code (1).
    fn read(&self, program: Program, which: usize) -> Result<Vec<u8>, String> {
        let mut length = 0;
        // SAFETY: the program is a live one, and the buffer is as long as was asked for.
        let (code, bytes) = unsafe {
            let code = (self.sizes[which])(program, &mut length);
            let mut bytes = vec![0; if code == 0 { length } else { 0 }];
            (if code == 0 { (self.log[which])(program, bytes.as_mut_ptr().cast()) } else { code }, bytes)
        };
        if code == 0 { Ok(bytes) } else { Err(self.explain(code)) }
    }

    fn explain(&self, code: c_int) -> String {
        // SAFETY: the function knows every code, and its answer is a constant.
        let name = unsafe { std::ffi::CStr::from_ptr((self.name)(code)) };
        format!("NVRTC {}: {}", self.version, name.to_string_lossy())
    }
}

fn open(folder: Option<&Path>, version: u32) -> Result<Nvrtc, String> {
    let path = |name: &str| folder.map_or_else(|| PathBuf::from(name), |folder| folder.join(name));
    if let Some(folder) = folder {
        // The packages have no RPATH: what the compiler opens by name has to be there already.
        let builtins = folder.read_dir().ok().into_iter().flatten().flatten().map(|entry| entry.path());
        let begin = format!("libnvrtc-builtins.so.{version}.");
        let is_one = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&begin));
        for path in builtins.filter(is_one) {
            // SAFETY: NVIDIA's library, which runs nothing of ours when it is opened; it stays open.
            let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_GLOBAL) };
            std::mem::forget(library.map_err(|error| error.to_string())?);
        }
    }
    let path = path(&format!("libnvrtc.so.{version}"));
    // SAFETY: as above; the functions have these types in every version of NVRTC since 11.1.
    unsafe {
        let library = Library::open(Some(&path), RTLD_NOW | RTLD_GLOBAL).map_err(|error| error.to_string())?;
        let missing = |error: libloading::Error| error.to_string();
        let version_of: Symbol<Version> = library.get(b"nvrtcVersion\0").map_err(missing)?;
        let (mut major, mut minor) = (0, 0);
        version_of(&mut major, &mut minor);
        Ok(Nvrtc {
            create: library.get(b"nvrtcCreateProgram\0").map_err(missing)?,
            compile: library.get(b"nvrtcCompileProgram\0").map_err(missing)?,
            sizes: [
                library.get(b"nvrtcGetProgramLogSize\0").map_err(missing)?,
                library.get(b"nvrtcGetCUBINSize\0").map_err(missing)?,
            ],
            log: [
                library.get(b"nvrtcGetProgramLog\0").map_err(missing)?,
                library.get(b"nvrtcGetCUBIN\0").map_err(missing)?,
            ],
            destroy: library.get(b"nvrtcDestroyProgram\0").map_err(missing)?,
            name: library.get(b"nvrtcGetErrorString\0").map_err(missing)?,
            version: format!("{major}.{minor}"),
            _library: library,
        })
    }
}

/// Names and texts of what the text includes: those of C++ are empty, for the stand-in comes first, and those in another folder
/// lead to the ones that are there.
fn included() -> Result<Vec<(CString, CString)>, String> {
    let of_cpp =
        ["algorithm", "cmath", "cstdint", "cstring", "limits", "math.h", "utility"].map(|name| (name, String::new()));
    let beside = [("../operators.hpp", "operators.hpp"), ("../pushforwards.hpp", "pushforwards.hpp")];
    let beside = beside.map(|(name, file)| (name, format!("#include \"{file}\"\n")));
    let own = headers().map(|(name, text)| (name, text.to_owned()));
    let all = of_cpp.into_iter().chain(beside).chain(own);
    all.map(|(name, text)| Ok((text_of(name)?, text_of(&text)?))).collect()
}

fn text_of(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|_| "a text with a zero in it".to_owned())
}
