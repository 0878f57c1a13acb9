//! The code of the back end `cuda`, compiled for the host and run there.

use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex};

use cladtorch::gradient::cuda::{
    CudaProgram, Device, Gpu, Kernel, Matrix, MatrixProduct, Memory, Numbers, Waits, headers, text,
};
use cladtorch::graph::{DType, Program, lower};
use libloading::{Library, Symbol};
use tch::{Kind, Tensor};
use tempfile::TempDir;

use crate::graph::recorder::Recorder;

/// number of the kernel, blocks, threads, blocks of a cluster, whether they run in the reverse order, parameters;
/// returns what is wrong with it, or null
type Run = unsafe extern "C" fn(u32, u32, u32, u32, bool, *const usize) -> *const c_char;

/// Names the memory that kernels may use: first bytes in ascending order, sizes, how many.
type Allow = unsafe extern "C" fn(*const usize, *const usize, u32);

/// Programs per library.
pub struct Host {
    library: Library,
    numbers: HashMap<String, u32>,
    /// Whether blocks and threads run from the last to the first.
    pub reverse: bool,
    /// Blocks of a launch; of more of them the first ones do all of the work.
    pub most_blocks: u32,
    /// Of the library.
    pub path: PathBuf,
    _folder: TempDir,
}

/// Lowers a recorded program.
pub fn lowered(recorder: &Recorder) -> Result<Program, String> {
    let gradients: Vec<bool> = recorder.inputs().iter().map(Tensor::requires_grad).collect();
    lower::lower(&recorder.graph, &gradients).map_err(|error| error.to_string())
}

/// A driver whose GPU is the host, and cuBLASLt in the same library, with the given faults.
pub fn driver(folder: &Path, wrong: &str) -> PathBuf {
    let path = folder.join(format!("driver{wrong}.so"));
    if path.exists() {
        return path;
    }
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let sources =
        ["driver", "cublas"].map(|name| format!("{}/../../tests/cuda/{name}.cpp", env!("CARGO_MANIFEST_DIR")));
    let mut command = Command::new(compiler);
    command.args(["-std=c++17", "-O2", "-Wall", "-Wextra", "-fPIC", "-shared"]);
    command.args(sources).args(["-ldl", "-o"]).arg(&path);
    let made = command.args((!wrong.is_empty()).then(|| format!("-D{wrong}"))).status().expect("a C++ compiler");
    assert!(made.success());
    path
}

/// A kernel's memory beside registers, as a line of NVRTC's log says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalMemory {
    /// Bytes of arrays that are indexed by numbers known at run time only, and of others.
    pub frame: u32,
    /// Bytes of registers that do not fit.
    pub spilt: u32,
}

impl LocalMemory {
    /// Of a line `N bytes stack frame, N bytes spill stores, N bytes spill loads`; `None` for any other.
    pub fn of(line: &str) -> Option<Self> {
        let bytes =
            |what: &str| line.split(',').find_map(|part| part.strip_suffix(what)?.rsplit(' ').next()?.parse().ok());
        let [frame, stores, loads] = [" bytes stack frame", " bytes spill stores", " bytes spill loads"].map(bytes);
        Some(LocalMemory { frame: frame?, spilt: stores? + loads? })
    }
}

/// Why cuBLASLt multiplies nothing on a GPU.
pub fn cublas_obstacle(gpu: &Gpu) -> Option<String> {
    let matrix = Matrix { start: 0, is_transposed: false, leading: 64, stride: 0 };
    let (numbers, sizes) = (Numbers::Float, [1, 64, 64, 64]);
    gpu.obstacle(&MatrixProduct { numbers, sizes, matrices: [matrix; 3], adds: false, bias: None })
}

/// A GPU that is the host, by such a driver and cuBLASLt, whose compiler changes kernels and headers first.
pub fn gpu_on_host(folder: &Path, text: impl Fn(&str) -> String + Send + Sync + 'static) -> Gpu {
    gpu_of_size(folder, "", text)
}

/// The same by a driver with this fault or size.
pub fn gpu_of_size(folder: &Path, size: &str, text: impl Fn(&str) -> String + Send + Sync + 'static) -> Gpu {
    let libraries = Mutex::new(Vec::new());
    let driver = driver(folder, size);
    Gpu::open_by(&driver, 0).unwrap().with_cublas(&driver).with_compiler(move |of, kernels| {
        let host = Host::compile_changed(&text(of), kernels, &text);
        let image = [host.path.to_str().unwrap().as_bytes(), b"\0"].concat();
        libraries.lock().unwrap().push(host);
        Ok(image)
    })
}

impl Host {
    /// Compiles them with the compiler that also compiles the kernels of the library.
    pub fn compile(programs: &[&CudaProgram]) -> Self {
        let kernels: Vec<&Kernel> = programs.iter().flat_map(|program| &program.kernels).collect();
        Self::compile_kernels(&text(programs.iter().copied()), &kernels)
    }

    /// Compiles the text of some kernels.
    pub fn compile_kernels(text: &str, kernels: &[&Kernel]) -> Self {
        Self::compile_changed(text, kernels, str::to_owned)
    }

    /// Compiles it with headers that are changed first.
    pub fn compile_changed(text: &str, kernels: &[&Kernel], change: impl Fn(&str) -> String) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("generated")).unwrap();
        for (name, text) in headers() {
            fs::write(folder.path().join(name), change(text)).unwrap();
        }
        // In the place of those of a GPU.
        fs::write(folder.path().join("host.hpp"), include_str!("../cuda/host.hpp")).unwrap();
        fs::write(folder.path().join("machine.hpp"), include_str!("../cuda/machine.hpp")).unwrap();
        let mut numbers = HashMap::new();
        let (mut calls, mut list) = (String::new(), String::new());
        for kernel in kernels {
            let number = numbers.len();
            if numbers.contains_key(&kernel.name) {
                continue;
            }
            numbers.insert(kernel.name.clone(), number as u32);
            assert!(kernel.parameters.len() <= 64, "{} has more parameters than the driver takes", kernel.name);
            let pointer = |of: &str| of.replace("T *", &format!("{} *", kernel.types[0]));
            let parameters: Vec<String> =
                kernel.parameters.iter().enumerate().map(|(at, of)| format!("({})own[{at}]", pointer(of))).collect();
            writeln!(list, "   {{\"{}\", {}}},", kernel.name, parameters.len()).unwrap();
            writeln!(
                calls,
                "   case {number}: return Launch({{grid, block, cluster, {}, reverse, \"{}\"}}, For::{}, [&] {{ {}::{}({}); }});",
                kernel.shared,
                kernel.name,
                match kernel.waits {
                    Waits::Never => "kNobody",
                    Waits::ForBlock => "kBlock",
                    Waits::ForGrid => "kGrid",
                },
                kernel.space(),
                kernel.name,
                parameters.join(", ")
            )
            .unwrap();
        }
        let source = format!(
            "#include \"host.hpp\"\n{text}\
             namespace CladTorch::Device {{}}\nusing namespace CladTorch::Device;\n\
             struct Kernel {{ const char *fName; unsigned fParameters; }};\nextern \"C\" const Kernel kernels[] = {{\n{list}   {{}}}};\n\
             extern \"C\" const char *run(unsigned kernel, unsigned grid, unsigned block, unsigned cluster, bool reverse, const size_t *p)\n\
             {{\n   size_t own[64]; // on the stack, which threads may read\n   \
             std::memcpy(own, p, kernels[kernel].fParameters * sizeof *p);\n   switch (kernel) {{\n{calls}   }}\n   return \"no such kernel\";\n}}\n"
        );
        fs::write(folder.path().join("kernels.cpp"), &source).unwrap();
        // What the compiler adds for a sanitizer calls watch.cpp, not the sanitizer's library.
        let flags = ["-O0", "-D__FMA__=1", "-ffp-contract=off", "-w", "-fsanitize=thread", "-c", "kernels.cpp"];
        let mut errors = compiled(folder.path(), &flags);
        if errors.is_empty() {
            let [host, watch] = machine();
            let of_machine = [host.to_str().unwrap(), watch.to_str().unwrap()];
            let flags = [&["-shared", "-Wl,-Bsymbolic", "-o", "kernels.so", "kernels.o"], &of_machine[..]].concat();
            errors = compiled(folder.path(), &flags);
        }
        if !errors.is_empty() {
            let kept = folder.keep();
            panic!("in {}:\n{errors}", kept.display());
        }
        let path = folder.path().join("kernels.so");
        // SAFETY: the library was made from the text above, and runs nothing when it is opened.
        let library = unsafe { Library::new(&path) }.unwrap();
        Host { library, numbers, reverse: false, most_blocks: u32::MAX, path, _folder: folder }
    }

    /// From now on kernels may use the elements of these tensors alone.
    fn allow(&self, tensors: &[&Tensor]) {
        let mut ranges: Vec<(usize, usize)> =
            tensors.iter().filter(|x| x.numel() > 0).map(|x| (x.data_ptr() as usize, extent(x))).collect();
        ranges.sort_unstable();
        let (begins, sizes): (Vec<usize>, Vec<usize>) = ranges.into_iter().unzip();
        // SAFETY: the function has this type, and both lists have as many elements as it is told.
        unsafe {
            let allow: Symbol<Allow> = self.library.get(b"memory\0").unwrap();
            allow(begins.as_ptr(), sizes.as_ptr(), begins.len() as u32);
        }
    }

    /// Outputs and gradients of a recorded program, in the order of [`Recorder::actual`].
    pub fn results(&self, recorder: &Recorder, program: &Program, cuda: &CudaProgram) -> Result<Vec<Tensor>, Fault> {
        let kind = if program.dtype == DType::Float32 { Kind::Float } else { Kind::Double };
        let fresh = |like: &Tensor| Tensor::full(like.size(), f64::NAN, (like.kind(), tch::Device::Cpu));
        let arena = |length: usize| Tensor::full([length as i64 + 1], f64::NAN, (kind, tch::Device::Cpu));
        let (values, adjoints, seeds) = (arena(cuda.values), arena(cuda.adjoints), recorder.seeds());
        for (start, numbers) in &cuda.literals {
            let numbers_there = Tensor::from_slice(numbers).to_kind(kind);
            values.narrow(0, *start as i64, numbers.len() as i64).copy_(&numbers_there);
        }
        let flags = Tensor::zeros([cuda.flags.len() as i64], (Kind::Int, tch::Device::Cpu));
        let mut results: Vec<Tensor> = seeds.iter().map(fresh).collect();
        let gradients: Vec<Option<Tensor>> =
            recorder.inputs().iter().map(|input| input.requires_grad().then(|| fresh(input))).collect();
        let used = [&values, &adjoints, &flags].into_iter().chain(recorder.inputs()).chain(&seeds).chain(&results);
        self.allow(&used.chain(gradients.iter().flatten()).collect::<Vec<_>>());
        let addresses = |tensors: &[Tensor]| tensors.iter().map(|x| x.data_ptr() as usize).collect::<Vec<_>>();
        let memory = Memory {
            size: kind.elt_size_in_bytes(),
            values: values.data_ptr() as usize,
            adjoints: adjoints.data_ptr() as usize,
            flags: flags.data_ptr() as usize,
            inputs: &addresses(recorder.inputs()),
            outputs: &addresses(&results),
            seeds: &addresses(&seeds),
            gradients: &gradients.iter().map(|x| x.as_ref().map_or(0, |x| x.data_ptr() as usize)).collect::<Vec<_>>(),
        };
        let wrong = |error: cladtorch::Error| Fault::Kernel(error.to_string());
        cuda.run_forward(self, &memory).map_err(wrong)?;
        let raised = Vec::<i32>::try_from(&flags).unwrap();
        if let Some(failed) = raised.iter().position(|&flag| flag != 0) {
            return Err(Fault::Index(cuda.flags[failed]));
        }
        for _ in 0..2 {
            // Twice: a reverse pass leaves the values unchanged.
            cuda.run_backward(self, &memory).map_err(wrong)?;
        }
        results.extend(gradients.into_iter().flatten());
        Ok(results)
    }
}

/// Why a program did not run on the host.
#[derive(Debug)]
pub enum Fault {
    /// An index of this observed operator was out of range.
    Index(usize),
    /// What a kernel did that a GPU does not forgive.
    Kernel(String),
}

/// Bytes from a tensor's first element to the end of its last.
fn extent(tensor: &Tensor) -> usize {
    let last: i64 = tensor.size().iter().zip(tensor.stride()).map(|(&size, stride)| (size - 1) * stride).sum();
    (last as usize + 1) * tensor.kind().elt_size_in_bytes()
}

/// The first lines of what the compiler says in this folder, if it fails.
fn compiled(folder: &Path, flags: &[&str]) -> String {
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let mut command = Command::new(compiler);
    // Libraries that run at the same time share nothing.
    command.args(["-std=c++17", "-fPIC", "-fno-gnu-unique"]).args(flags).current_dir(folder);
    let made = command.output().expect("a C++ compiler");
    let errors = String::from_utf8_lossy(&made.stderr);
    let first: Vec<&str> = errors.lines().take(40).collect();
    if made.status.success() { String::new() } else { first.join("\n") + "\nthe compiler failed" }
}

/// The objects of host.cpp and watch.cpp.
fn machine() -> [&'static Path; 2] {
    static MADE: LazyLock<(TempDir, [PathBuf; 2])> = LazyLock::new(|| {
        let folder = tempfile::tempdir().unwrap();
        let made = ["host", "watch"].map(|name| {
            let source = format!("{}/../../tests/cuda/{name}.cpp", env!("CARGO_MANIFEST_DIR"));
            let errors = compiled(folder.path(), &["-O2", "-Wall", "-Wextra", "-c", &source]);
            assert!(errors.is_empty(), "{errors}");
            folder.path().join(format!("{name}.o"))
        });
        (folder, made)
    });
    [&MADE.1[0], &MADE.1[1]]
}

impl Device for Host {
    fn launch(&self, kernel: &Kernel, [grid, block]: [u32; 2], parameters: &[usize]) -> cladtorch::Result<()> {
        // SAFETY: the function has this type, the parameters are addresses of what the program says, and the answer is a
        // text that stays until the next launch.
        let wrong = unsafe {
            let run: Symbol<Run> = self.library.get(b"run\0").unwrap();
            let grid = grid.min(self.most_blocks);
            let wrong = run(self.numbers[&kernel.name], grid, block, 1, self.reverse, parameters.as_ptr());
            (!wrong.is_null()).then(|| CStr::from_ptr(wrong).to_string_lossy().into_owned())
        };
        wrong.map_or(Ok(()), |wrong| Err(cladtorch::Error::invalid(wrong, "mend the kernel")))
    }

    fn multiply(&self, product: &MatrixProduct, _: &[usize]) -> cladtorch::Result<()> {
        panic!("the host has no library for {product:?}")
    }
}
