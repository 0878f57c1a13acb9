//! A wheel in a virtual environment of its own: built, installed, used in every way that the documentation names, moved, damaged and
//! removed. ROOT and LibTorch of the set-up are linked into it, as pip would put them. The same wheel is tried in every other Python
//! whose ROOT is at hand; the others are named with the reason.

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use support::checkout::{copy_root, place, python, root_outside, source, succeed, xtask};
use support::say::{not_tested, say};
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

const ARRAYS: &str = "import cladtorch as ct, numpy as np; x = np.arange(64.0).reshape(64, 1); model = ct.Mlp([1, 4, 1]); \
                      model.Fit(x, x[:, 0] > 9, fEpochs=1, fVerbose=0); print('predicted', model.Predict(x).shape)";

/// The mlp of 1-4-1.
const TRAINED: &str = "parameters 13";
const MAKES: &str = "making the C++ module";
const SLOW: &str = "this will be slow";

/// Ways to the plugin at the prompt, none of which needs an environment variable.
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
    /// With the Python, the ROOT and the NumPy of the set-up.
    fn new() -> Venv {
        let made = Venv::of(&python(), &fetched());
        root_outside(&made.packages());
        made
    }

    /// With another Python and the ROOT that pip put into `folder`.
    fn other(python: &Path, folder: &Path) -> Venv {
        let made = Venv::of(python, folder);
        copy_root(folder, &made.packages());
        made
    }

    /// With LibTorch, and with NumPy and the description of ROOT from `folder`.
    fn of(python: &Path, folder: &Path) -> Venv {
        let temporary = tempfile::tempdir().unwrap();
        let venv = temporary.path().join("venv");
        succeed(Command::new(python).args(["-m", "venv", "--without-pip"]).arg(&venv));
        let cache = temporary.path().join("cache");
        let made = Venv { folder: temporary, venv, cache };
        let packages = made.packages();
        fs::create_dir_all(packages.join("torch/lib")).unwrap();
        for library in fs::read_dir(fetched().join("torch/lib")).unwrap().map(|entry| entry.unwrap()) {
            symlink(library.path(), packages.join("torch/lib").join(library.file_name())).unwrap();
        }
        symlink(fetched().join("torch/include"), packages.join("torch/include")).unwrap();
        symlink(fetched().join("nvidia"), packages.join("nvidia")).unwrap();
        fs::write(packages.join("others.pth"), folder.to_str().unwrap()).unwrap();
        made
    }

    /// `site-packages`.
    fn packages(&self) -> PathBuf {
        let versions = fs::read_dir(self.venv.join("lib")).unwrap();
        versions.map(|entry| entry.unwrap().path()).next().expect("a folder of Python's").join("site-packages")
    }

    /// A program of the environment, without variables that refer to ROOT, LibTorch or the plugin.
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

    /// root.exe with `lines` as input.
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

/// The folder where the set-up put its packages.
fn fetched() -> PathBuf {
    source().join(".deps/site-packages")
}

/// The output of `command`, on both streams.
fn said(command: &mut Command) -> String {
    let output = succeed(command);
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn says(command: &mut Command, parts: &[&str], never: &[&str]) {
    let text = said(command);
    parts.iter().for_each(|part| assert!(text.contains(part), "{part:?} is missing from {command:?}:\n{text}"));
    never.iter().for_each(|part| assert!(!text.contains(part), "{part:?} should not be in {command:?}:\n{text}"));
}

/// The only folder in which the build lays out wheels is free.
static LAYING_OUT: Mutex<()> = Mutex::new(());

/// The wheel and its debug symbols, in `folder`; `None` if there is no wheel for this ROOT.
fn wheel(folder: &Path) -> Option<(String, PathBuf)> {
    if !place("CLADTORCH_ROOTSYS", ".deps/site-packages/ROOT").join("__init__.py").exists() {
        not_tested("a wheel: this ROOT is none of the Python package index");
        return None;
    }
    let _alone = LAYING_OUT.lock();
    succeed(xtask().args(["wheel", "--no-build", "--out"]).arg(folder));
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let [symbols, wheel] = &files[..] else { panic!("{files:?}") };
    let size = fs::metadata(wheel).unwrap().len();
    assert!(size < 20 << 20, "{size} bytes");
    Some((wheel.to_str().unwrap().to_owned(), symbols.clone()))
}

#[test]
fn a_wheel_serves_an_empty_environment_and_leaves_it_without_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let Some((wheel, symbols)) = wheel(folder.path()) else { return };
    let mut venv = Venv::new();
    let before = venv.files();
    venv.pip(&["install", "--no-index", "--no-deps", &wheel]);
    two_at_once_make_the_module_once(&venv);
    the_commands_run(&venv);
    the_documents_are_there(&venv);
    nothing_names_this_machine(&venv);
    debuggers_find_the_symbols(&venv, &symbols);
    LINES.iter().for_each(|lines| says(&mut venv.prompt(lines), &[TRAINED], &[MAKES, "rror"]));
    says(&mut venv.root("trains", MACRO), &[TRAINED], &[MAKES, "arning"]);
    says(&mut venv.root("torches", TORCH_MACRO), &["sum 6", "making the C++ module LibTorch"], &[SLOW]);
    says(&mut venv.root("torches", TORCH_MACRO), &["sum 6"], &[SLOW, MAKES]);
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

#[test]
fn the_same_wheel_serves_every_other_python() {
    let folder = tempfile::tempdir().unwrap();
    let Some((wheel, _)) = wheel(folder.path()) else { return };
    let own = version(&python());
    for wanted in (10..=14).map(|minor| format!("3.{minor}")).filter(|wanted| own.as_ref() != Some(wanted)) {
        match other_python(&wanted) {
            Ok((python, packages)) => in_another_python(&Venv::other(&python, &packages), &wheel),
            Err(reason) => say(&format!("the wheel was not tried in Python {wanted}: {reason}")),
        }
    }
}

fn in_another_python(venv: &Venv, wheel: &str) {
    said(&mut venv.prompt(".q")); // At its first start ROOT leaves a file of its own beside its libraries.
    let before = venv.files();
    venv.pip(&["install", "--no-index", "--no-deps", wheel]);
    says(&mut venv.python(&["-W", "ignore", "-c", SCRIPT]), &[TRAINED, MAKES], &[]);
    says(&mut venv.python(&["-W", "ignore", "-c", ARRAYS]), &["predicted (64,)"], &[]);
    says(&mut venv.root("trains", MACRO), &[TRAINED], &[MAKES, "arning"]);
    the_commands_run(venv);
    venv.pip(&["uninstall", "--yes", "cladtorch"]);
    assert_eq!(before, venv.files());
}

/// `3.11`; `None` if there is no such program.
fn version(python: &Path) -> Option<String> {
    let code = "import sys; print('%d.%d' % sys.version_info[:2])";
    let output = Command::new(python).args(["-c", code]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// CPython of `version` and the folder with its ROOT and NumPy; or why it cannot be tried.
fn other_python(wanted: &str) -> Result<(PathBuf, PathBuf), String> {
    let program = PathBuf::from(format!("python{wanted}"));
    if version(&program).as_deref() != Some(wanted) {
        return Err(format!("no python{wanted} on PATH"));
    }
    let folders = env::var_os("CLADTORCH_PYTHONS").map_or_else(|| source().join(".deps/pythons"), PathBuf::from);
    let folder = folders.join(wanted);
    if !folder.join("ROOT/__init__.py").exists() {
        return Err(format!(
            "no ROOT in {0}: `{1} -m pip install --no-deps --target {0} ROOT==… numpy==…` puts it there, in the versions of \
             rust/xtask/requirements.txt",
            folder.display(),
            program.display()
        ));
    }
    Ok((program, folder))
}

fn the_commands_run(venv: &Venv) {
    let trees = source().join("data/trees.root");
    let mut show = venv.command(&venv.venv.join("bin/cladtorch"));
    says(show.arg("show").arg(trees), &["run1/events: 120 entries"], &[]);
    says(venv.command(&venv.venv.join("bin/cladtorch-demo")).arg("--help"), &["gravitational-wave"], &[]);
}

/// The files that users read and copy: each link refers to a file of the wheel, or to the web.
fn the_documents_are_there(venv: &Venv) {
    let (packages, files) = (venv.packages(), installed(venv));
    let has = |path: &Path| assert!(path.exists(), "{} is missing", path.display());
    for name in ["gw_classify.C", "gw_classify.py", "gw_injections.h", "gw_tutorial.ipynb"] {
        has(&packages.join("cladtorch/macros").join(name));
    }
    let page = |path: &&PathBuf| path.extension().is_some_and(|end| end == "md");
    let pages: Vec<_> = files.iter().filter(page).map(|path| path.as_path()).collect();
    assert!(pages.len() > 15, "{pages:?}");
    let description = files.iter().find(|path| path.ends_with("METADATA")).expect("METADATA").as_path();
    for path in pages.into_iter().chain([description]) {
        for target in local_links(&fs::read_to_string(path).unwrap()) {
            assert!(path != description, "the description links to {target}");
            has(&path.with_file_name(target));
        }
    }
    let text = fs::read_to_string(description).unwrap();
    let named: Vec<_> = text.split('`').filter(|part| part.starts_with("cladtorch/")).collect();
    assert!(named.len() > 10, "{named:?}");
    named.iter().for_each(|name| has(&packages.join(name)));
}

/// Targets of the links outside of code that are files.
fn local_links(page: &str) -> Vec<String> {
    let mut in_code = false;
    let text = page.lines().filter(|line| {
        in_code ^= line.starts_with("```");
        !in_code && !line.starts_with("    ")
    });
    let targets = text.flat_map(|line| line.split("](").skip(1)).filter_map(|rest| rest.split([')', '#']).next());
    let is_file = |target: &&str| !target.is_empty() && !target.contains("://") && !target.contains(' '); // a lambda has spaces
    targets.filter(is_file).map(str::to_owned).collect()
}

/// Files of the wheel by their places in the environment, according to its own list.
fn installed(venv: &Venv) -> Vec<PathBuf> {
    let packages = venv.packages();
    let lists = fs::read_dir(&packages).unwrap().map(|entry| entry.unwrap().path().join("RECORD"));
    let list = lists.filter(|path| path.display().to_string().contains("cladtorch-")).find(|path| path.exists());
    let text = fs::read_to_string(list.expect("RECORD")).unwrap();
    let names = text.lines().filter_map(|line| line.split(',').next()).filter(|name| !name.contains("__pycache__"));
    names.map(|name| packages.join(name)).collect()
}

/// Except for changes by pip itself: the first lines of scripts, and the origin of the wheel.
fn nothing_names_this_machine(venv: &Venv) {
    let checkout = source();
    let registry = env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo/registry"));
    let folders = [Some(checkout), registry].into_iter().flatten().map(|folder| folder.display().to_string());
    let folders: Vec<_> = folders.collect();
    let files = installed(venv);
    assert!(files.len() > 40, "{files:?}");
    for path in files.iter().filter(|path| !path.ends_with("direct_url.json")) {
        let bytes = fs::read(path).unwrap();
        let found = folders.iter().find(|folder| bytes.windows(folder.len()).any(|part| part == folder.as_bytes()));
        assert_eq!(found, None, "{}", path.display());
    }
}

/// The symbols of the installed library and program are under their build IDs, and map an address to a line.
fn debuggers_find_the_symbols(venv: &Venv, symbols: &Path) {
    let folder = venv.folder.path().join("symbols");
    succeed(Command::new(python()).args(["-m", "zipfile", "-e"]).arg(symbols).arg(&folder));
    for binary in [venv.packages().join("ROOT/lib/libcladtorch.so"), venv.venv.join("bin/cladtorch")] {
        let sections = said(Command::new("readelf").args(["-S", "-W"]).arg(&binary));
        assert!(!sections.contains(".debug_info") && !sections.contains(".symtab"), "{}: {sections}", binary.display());
        let notes = said(Command::new("readelf").arg("-n").arg(&binary));
        let id = notes.split("Build ID: ").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("a build ID");
        let debug = folder.join(".build-id").join(&id[..2]).join(format!("{}.debug", &id[2..]));
        let functions = said(Command::new("nm").arg("--defined-only").arg(&debug));
        let own = functions.lines().filter(|line| line.to_lowercase().contains(" t ") && line.contains("cladtorch"));
        let addresses = own.take(50).filter_map(|line| line.split(' ').next());
        let places = said(Command::new("addr2line").arg("-e").arg(&debug).args(addresses));
        assert!(places.contains(".rs:"), "{}: {places}", debug.display());
        assert!(!places.contains(source().to_str().unwrap()), "{}: {places}", debug.display());
    }
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
