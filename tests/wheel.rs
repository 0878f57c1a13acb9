//! A wheel in a virtual environment of its own: built, installed, used in every way that the documentation names, moved, damaged and
//! removed. ROOT and LibTorch of the set-up are linked into it, as pip would put them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use support::checkout::{place, python, root_outside, source, succeed, xtask};
use support::say::not_tested;
use tempfile::TempDir;

/// Trains one epoch.
const MACRO: &str = r#"
R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>

void trains()
{
   auto frame = ROOT::RDataFrame(64).Define("x", "double(rdfentry_)").Define("y", "rdfentry_ % 2");
   CladTorch::Dataset data({"x"});
   data.Add(frame, "y");
   CladTorch::FitOptions options;
   options.fEpochs = 1;
   options.fVerbose = 0;
   CladTorch::Mlp model({1, 4, 1});
   model.Fit(data, options);
   std::cout << "parameters " << model.Parameters().Size() << std::endl;
}
"#;

const TORCH_MACRO: &str = r#"
R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/Torch.hxx>

void torches() { std::cout << "sum " << torch::ones({2, 3}).sum().item<double>() << std::endl; }
"#;

const SCRIPT: &str = "import ROOT; ROOT.gSystem.Load('libcladtorch'); \
                      print('parameters', ROOT.CladTorch.Mlp([1, 4, 1]).Parameters().Size())";

/// The mlp of 1-4-1.
const TRAINED: &str = "parameters 13";
const MAKES: &str = "making the C++ module";
const SLOW: &str = "this will be slow";

/// Ways to the plugin at the prompt, none of which needs a variable.
const LINES: &[&str] = &[
    "std::cout << \"parameters \" << CladTorch::Mlp({1, 4, 1}).Parameters().Size() << std::endl;",
    "gSystem->Load(\"libcladtorch\"); CladTorch::Mlp b({1, 4, 1}); std::cout << \"parameters \" << b.Parameters().Size() << std::endl;",
    ".L libcladtorch.so\nCladTorch::Mlp c({1, 4, 1}); std::cout << \"parameters \" << c.Parameters().Size() << std::endl;",
    "#include <CladTorch/CladTorch.hxx>\nCladTorch::Mlp d({1, 4, 1}); std::cout << \"parameters \" << d.Parameters().Size() << std::endl;",
];

/// A virtual environment with ROOT and LibTorch, and a folder for everything else.
struct Venv {
    folder: TempDir,
    venv: PathBuf,
    cache: PathBuf,
}

impl Venv {
    fn new() -> Venv {
        let folder = tempfile::tempdir().unwrap();
        let venv = folder.path().join("venv");
        succeed(Command::new(python()).args(["-m", "venv", "--without-pip"]).arg(&venv));
        let cache = folder.path().join("cache");
        let made = Venv { folder, venv, cache };
        let (packages, fetched) = (made.packages(), source().join(".deps/site-packages"));
        root_outside(&packages);
        fs::create_dir_all(packages.join("torch/lib")).unwrap();
        for library in fs::read_dir(fetched.join("torch/lib")).unwrap().map(|entry| entry.unwrap()) {
            symlink(library.path(), packages.join("torch/lib").join(library.file_name())).unwrap();
        }
        symlink(fetched.join("torch/include"), packages.join("torch/include")).unwrap();
        symlink(fetched.join("nvidia"), packages.join("nvidia")).unwrap();
        fs::write(packages.join("others.pth"), fetched.to_str().unwrap()).unwrap(); // NumPy, and what is installed
        made
    }

    /// `site-packages`.
    fn packages(&self) -> PathBuf {
        let versions = fs::read_dir(self.venv.join("lib")).unwrap();
        versions.map(|entry| entry.unwrap().path()).next().expect("a folder of Python's").join("site-packages")
    }

    /// A program of the environment, with no variable that leads to ROOT, LibTorch or the plugin.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        for name in ["LD_LIBRARY_PATH", "ROOTSYS", "ROOT_INCLUDE_PATH", "PYTHONPATH", "CLADTORCH_PLUGIN_DIR"] {
            command.env_remove(name);
        }
        command.current_dir(self.folder.path()).env("CLADTORCH_CACHE", &self.cache).stdin(Stdio::null());
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    fn python(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&self.venv.join("bin/python"));
        command.args(arguments);
        command
    }

    fn root(&self, name: &str, text: &str) -> Command {
        let file = self.folder.path().join(format!("{name}.C"));
        fs::write(&file, text).unwrap();
        let mut command = self.command(&self.packages().join("ROOT/bin/root.exe"));
        command.args(["-l", "-b", "-q"]).arg(file);
        command
    }

    /// root.exe that is told `lines`.
    fn prompt(&self, lines: &str) -> Command {
        let file = self.folder.path().join("lines");
        fs::write(&file, format!("{lines}\n")).unwrap();
        let mut command = self.command(&self.packages().join("ROOT/bin/root.exe"));
        command.args(["-l", "-b"]).stdin(File::open(file).unwrap());
        command
    }

    fn pip(&self, arguments: &[&str]) {
        let mut pip = self.command(&python());
        pip.args(["-m", "pip", "--disable-pip-version-check", "--python"]).arg(self.venv.join("bin/python"));
        succeed(pip.args(arguments).env("PIP_USER", "0").env("PIP_REQUIRE_VIRTUALENV", "0"));
    }

    fn files(&self) -> BTreeSet<String> {
        let output = succeed(Command::new("find").current_dir(&self.venv).args([".", "!", "-path", "*__pycache__*"]));
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }
}

/// What `command` printed, on both streams.
fn said(command: &mut Command) -> String {
    let output = succeed(command);
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn says(command: &mut Command, parts: &[&str], never: &[&str]) {
    let text = said(command);
    parts.iter().for_each(|part| assert!(text.contains(part), "{part:?} is missing from {command:?}:\n{text}"));
    never.iter().for_each(|part| assert!(!text.contains(part), "{part:?} should not be in {command:?}:\n{text}"));
}

/// The wheel, in `folder`.
fn wheel(folder: &Path) -> String {
    succeed(xtask().args(["wheel", "--no-build", "--out"]).arg(folder));
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [wheel] = &files[..] else { panic!("{files:?}") };
    let size = fs::metadata(wheel).unwrap().len();
    assert!(size < 20 << 20, "{size} bytes");
    wheel.to_str().unwrap().to_owned()
}

#[test]
fn a_wheel_serves_an_empty_environment_and_leaves_it_without_a_trace() {
    if !place("CLADTORCH_ROOTSYS", ".deps/site-packages/ROOT").join("__init__.py").exists() {
        return not_tested("a wheel: this ROOT is none of the Python package index");
    }
    let mut venv = Venv::new();
    let wheel = wheel(&venv.folder.path().join("wheels"));
    let before = venv.files();
    venv.pip(&["install", "--no-index", "--no-deps", &wheel]);
    two_at_once_make_the_module_once(&venv);
    LINES.iter().for_each(|lines| says(&mut venv.prompt(lines), &[TRAINED], &[MAKES, "rror"]));
    says(&mut venv.root("trains", MACRO), &[TRAINED], &[MAKES, "arning"]);
    says(&mut venv.root("torches", TORCH_MACRO), &["sum 6", "making the C++ module LibTorch"], &[SLOW]);
    says(&mut venv.root("torches", TORCH_MACRO), &["sum 6"], &[SLOW, MAKES]);
    let trees = source().join("data/trees.root");
    let mut show = venv.command(&venv.venv.join("bin/cladtorch"));
    says(show.arg("show").arg(trees), &["run1/events: 120 entries"], &[]);
    says(venv.command(&venv.venv.join("bin/cladtorch-demo")).arg("--help"), &["gravitational-wave"], &[]);
    hostile_surroundings(&venv);
    fs::rename(&venv.venv, venv.folder.path().join("moved")).unwrap();
    venv.venv = venv.folder.path().join("moved");
    says(&mut venv.root("trains", MACRO), &[TRAINED, MAKES], &["arning"]);
    fs::rename(&venv.venv, venv.folder.path().join("venv")).unwrap();
    venv.venv = venv.folder.path().join("venv");
    another_libtorch_is_named(&venv);
    venv.pip(&["uninstall", "--yes", "cladtorch"]);
    assert_eq!(before, venv.files());
}

fn two_at_once_make_the_module_once(venv: &Venv) {
    let both = thread::scope(|scope| {
        let run = || said(&mut venv.python(&["-W", "ignore", "-c", SCRIPT]));
        [scope.spawn(run), scope.spawn(run)].map(|thread| thread.join().unwrap()).concat()
    });
    assert_eq!((both.matches(TRAINED).count(), both.matches(MAKES).count()), (2, 1), "{both}");
}

/// A cache that cannot be written, and libraries of another LibTorch on the linker's path.
fn hostile_surroundings(venv: &Venv) {
    let mut root = venv.root("trains", MACRO);
    says(root.env("CLADTORCH_CACHE", "/dev/null/cache"), &[TRAINED, "/dev/null/cache", "CLADTORCH_CACHE may"], &[]);
    let other = venv.folder.path().join("other");
    fs::create_dir_all(&other).unwrap();
    ["libtorch_cpu.so", "libc10.so"].iter().for_each(|name| fs::write(other.join(name), "another").unwrap());
    says(venv.root("trains", MACRO).env("LD_LIBRARY_PATH", &other), &[TRAINED], &["arning"]);
}

fn another_libtorch_is_named(venv: &Venv) {
    let include = venv.packages().join("torch/include");
    let fetched = fs::read_link(&include).unwrap();
    fs::remove_file(&include).unwrap();
    fs::create_dir_all(include.join("torch/headeronly")).unwrap();
    let text = fs::read_to_string(fetched.join("torch/headeronly/version.h")).unwrap();
    fs::write(include.join("torch/headeronly/version.h"), text.replace("MINOR 11", "MINOR 99")).unwrap();
    let output = venv.prompt("gSystem->Load(\"libcladtorch\");").output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("was built for LibTorch 2.11.0") && text.contains("2.99.0"), "{text}");
    fs::remove_dir_all(&include).unwrap();
    symlink(fetched, include).unwrap();
}
