//! The peers: pinned Python packages in a folder of their own, and programs compiled on first use.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, anyhow, bail};
use sha2::{Digest, Sha256};

use xtask::clad::Clad;
use xtask::process::{output, step};
use xtask::{plugin, project, python};

use super::Context;

const REQUIREMENTS: &str = include_str!("../peers/requirements.txt");
const ONNX_REQUIREMENTS: &str = include_str!("../peers/requirements_onnx.txt");
const OLDEST_PYTHON: u32 = 11;

/// Python with PyTorch, uproot and scikit-learn.
#[derive(Clone)]
pub struct Peers {
    python: PathBuf,
    minor: u32,
    pub site_packages: PathBuf,
}

impl Peers {
    /// Installs the packages unless an earlier run has.
    pub fn ensure() -> Result<Self> {
        let python = python::find()?;
        if python.minor < OLDEST_PYTHON {
            bail!("the peers need CPython 3.{OLDEST_PYTHON} or newer, {} is 3.{}", python.path.display(), python.minor);
        }
        let site_packages = folder().join("site-packages");
        let peers = Self { site_packages, python: python.path, minor: python.minor };
        let size = "the peers (PyTorch, uproot, scikit-learn) need 2.2 GB from the network and 4 GB";
        peers.install(REQUIREMENTS, &folder(), size)?;
        Ok(peers)
    }

    /// The folder of onnxruntime and of the packages with which PyTorch writes ONNX files, installed unless an earlier
    /// run has.
    pub fn onnx(&self) -> Result<PathBuf> {
        let folder = folder().join("onnx");
        self.install(ONNX_REQUIREMENTS, &folder, "onnxruntime and onnx need 45 MB from the network and 150 MB")?;
        Ok(folder.join("site-packages"))
    }

    /// Installs the packages of `list` into `folder`, unless they are there.
    fn install(&self, list: &str, folder: &Path, size: &str) -> Result<()> {
        let stamp = format!("3.{} compiled {}\n", self.minor, hash(list.as_bytes()));
        if fs::read_to_string(folder.join("stamp")).is_ok_and(|found| found == stamp) {
            return Ok(());
        }
        let (path, site_packages) = (folder.join("requirements.txt"), folder.join("site-packages"));
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        fs::write(&path, list).with_context(|| format!("cannot write {}", path.display()))?;
        if site_packages.exists() {
            fs::remove_dir_all(&site_packages).context("cannot remove the earlier peers")?;
        }
        println!("{size} in {}", folder.display());
        let mut pip = Command::new(&self.python);
        pip.args(["-m", "pip", "--disable-pip-version-check", "install", "--no-deps"]);
        // Compiled to bytecode, as in an ordinary installation: otherwise every import would compile PyTorch anew, and
        // be slow.
        pip.arg("--compile");
        pip.args(["--require-hashes", "--only-binary=:all:", "--target"]).arg(&site_packages).arg("-r").arg(&path);
        pip.env("PIP_USER", "0").env("PIP_REQUIRE_VIRTUALENV", "0").env("TMPDIR", folder);
        step("installing the peers", &mut pip)?;
        fs::write(folder.join("stamp"), stamp).context("cannot write the peers' stamp")
    }

    /// Python on one of the scripts in `peers`.
    pub fn script(&self, name: &str) -> Command {
        let mut command = Command::new(&self.python);
        command.env("PYTHONPATH", self.path(&[])).arg(source(name));
        // Files that Python and torch.compile would leave behind are kept out of the sources and of /tmp.
        command.env("PYTHONDONTWRITEBYTECODE", "1").env("TORCHINDUCTOR_CACHE_DIR", folder().join("inductor"));
        command
    }

    /// The same with packages of other folders.
    pub fn script_with(&self, name: &str, folders: &[PathBuf]) -> Command {
        let mut command = self.script(name);
        command.env("PYTHONPATH", self.path(folders));
        command
    }

    /// PYTHONPATH of the peers' packages and those of `folders`.
    fn path(&self, folders: &[PathBuf]) -> OsString {
        let all = [std::slice::from_ref(&self.site_packages), folders].concat();
        all.iter().map(|folder| folder.as_os_str()).collect::<Vec<_>>().join(":".as_ref())
    }

    /// Versions of the measured packages.
    pub fn versions(&self) -> Result<String> {
        let names = "('torch', 'numpy', 'uproot', 'scikit-learn')";
        let code =
            format!("from importlib.metadata import version as v; print(', '.join(n + ' ' + v(n) for n in {names}))");
        output(Command::new(&self.python).env("PYTHONPATH", &self.site_packages).args(["-c", &code]))
    }
}

/// The libraries that a peer in C++ uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Library {
    Torch,
    Root,
    /// A plugin of clang, which is then the compiler.
    Clad,
    /// The sources of our kernels.
    Kernels,
    /// The plugin, which is built first; its headers need the other two.
    CladTorch,
}

/// The program of the C++ file `name`, compiled as LibTorch's users would: -O3 for this machine.
///
/// It is linked to `with`.
pub fn program(context: &Context, name: &str, with: &[Library]) -> Result<Command> {
    let mut text = Vec::new();
    for file in ["lines.h", "checksum.h", "network.h", "graphs.h", "networks.h", "training.h", name] {
        text.extend(fs::read(source(file)).with_context(|| format!("cannot read {}", source(file).display()))?);
    }
    let mut compiler = match with.contains(&Library::Clad) {
        true => Clad::find()?.command(),
        false => Command::new(env::var_os("CXX").unwrap_or_else(|| "c++".into())),
    };
    let (torch, root) = (&context.environment.libtorch, &context.environment.root);
    // The libraries' own dependencies are resolved when they are loaded, without CUDA.
    compiler.args(["-O3", "-march=native", "-std=c++17", "-Wl,--allow-shlib-undefined"]).arg(source(name));
    if with.contains(&Library::Torch) {
        compiler.arg("-isystem").arg(torch.join("include"));
        compiler.arg("-isystem").arg(torch.join("include/torch/csrc/api/include"));
        compiler.args(["-ltorch_cpu", "-lc10"]).args(libraries(&torch.join("lib")));
    }
    if with.contains(&Library::Root) {
        compiler.arg("-isystem").arg(root.dir.join("include")).args(libraries(&root.libraries));
        compiler.args(["-lCore", "-lRIO", "-lTree", "-lROOTDataFrame", "-lROOTVecOps"]);
    }
    let mut read = |folder: &Path| -> Result<()> {
        for file in files(folder)? {
            text.extend(fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?);
        }
        Ok(())
    };
    if with.contains(&Library::Kernels) {
        let kernels = project::root().join("cpp/kernels");
        read(&kernels)?;
        // Compiled like the library's matrix products.
        compiler.args(["-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-mprefer-vector-width=512"]);
        compiler.arg("-I").arg(kernels);
    }
    if with.contains(&Library::CladTorch) {
        plugin::build(&context.environment)?;
        let include = project::root().join("cpp/include");
        read(&include.join("CladTorch"))?;
        compiler.arg("-I").arg(include).args(libraries(&project::build().join("lib"))).arg("-lcladtorch");
    }
    let key = format!("{}{compiler:?}", hash(&text));
    let program = folder().join(format!("{name}-{}", &hash(key.as_bytes())[..16]));
    if !program.exists() {
        fs::create_dir_all(folder()).with_context(|| format!("cannot make {}", folder().display()))?;
        let partial = program.with_extension("partial");
        step(&format!("compiling {name}"), compiler.arg("-o").arg(&partial))?;
        fs::rename(&partial, &program).context("cannot put the compiled peer into place")?;
    }
    let mut command = Command::new(program);
    if with.contains(&Library::Root) {
        command.env("ROOTSYS", &root.dir);
    }
    Ok(command)
}

/// One of the crate's examples, built: CladTorch's workers that need no ROOT.
pub fn example(context: &Context, name: &str) -> Result<PathBuf> {
    let mut cargo = context.environment.cargo();
    cargo.args(["build", "--release", "--package", "cladtorch", "--example", name]);
    step(&format!("building {name}"), &mut cargo)?;
    Ok(project::root().join("target/release/examples").join(name))
}

/// The files in a folder and its subfolders, in order.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    found.sort();
    Ok(found)
}

/// Runs root.exe on the macro `name`, which has a function of that name, with the plugin.
pub fn macro_with_plugin(context: &Context, name: &str, arguments: &str) -> Result<Command> {
    plugin::build(&context.environment)?;
    let call = format!("{}({arguments})", source(name).display());
    let mut root = context.environment.root_exe();
    root.args(["-l", "-b", "-q", &call]);
    Ok(root)
}

/// `command`, one of the peers' scripts, with ROOT's modules.
pub fn with_root(context: &Context, mut command: Command) -> Result<Command> {
    let peers = context.peers.as_ref().map_err(|reason| anyhow!("{reason}"))?;
    // PyTorch of the peers first: ROOT's folder may hold a LibTorch that Python cannot import.
    let path = env::join_paths([&peers.site_packages, &context.environment.root.modules])?;
    command.env("PYTHONPATH", path).env("ROOTSYS", &context.environment.root.dir);
    Ok(command)
}

/// Links with the libraries of `folder`, at link time and at run time.
fn libraries(folder: &Path) -> [String; 2] {
    [format!("-L{}", folder.display()), format!("-Wl,-rpath,{}", folder.display())]
}

/// A file in `peers`.
pub fn source(name: &str) -> PathBuf {
    project::root().join("rust/bench/peers").join(name)
}

/// The folder of Debian's dataset-fashion-mnist; says so where it is missing.
pub fn fashion_mnist() -> Option<&'static Path> {
    let folder = Path::new("/usr/share/datasets/fashion-mnist");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("left out: Fashion-MNIST, because {} (Debian's dataset-fashion-mnist) is not there", folder.display());
    None
}

/// The git-ignored folder of everything that only the peers need.
pub fn folder() -> PathBuf {
    project::deps().join("peers")
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
