//! An installation that was moved, with the ROOT of the set-up copied away too: nothing may come from the source tree.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::checkout::{place, python, root_outside, source, succeed};
use support::pages::Page;
use tempfile::TempDir;

/// Trains one epoch and prints what this process has mapped and where its interpreter looks for headers.
const MACRO: &str = r#"
R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>

void moved()
{
   auto frame = ROOT::RDataFrame(64).Define("x", "double(rdfentry_)").Define("y", "rdfentry_ % 2");
   CladTorch::Dataset data({"x"});
   data.Add(frame, 1, "y == 1").Add(frame, 0, "y == 0");
   CladTorch::FitOptions options;
   options.fEpochs = 1;
   options.fVerbose = 0;
   CladTorch::Mlp model({1, 4, 1});
   model.Fit(data, options);
   std::cout << std::ifstream("/proc/self/maps").rdbuf() << gInterpreter->GetIncludePath() << "\nfinished" << std::endl;
}
"#;

/// LibTorch at the prompt; a module that did not fit here would be skipped with a warning.
const TORCH_MACRO: &str = r#"
R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/Torch.hxx>

void moved_torch()
{
   std::cout << "sum " << torch::ones({2, 3}).sum().item<double>() << "\n";
   std::cout << std::ifstream("/proc/self/maps").rdbuf() << gInterpreter->GetIncludePath() << "\nfinished" << std::endl;
}
"#;

/// The rootmap loads the plugin; loading it once more by name is then no error.
const SCRIPT: &str = r#"
import ROOT
print(ROOT.CladTorch.Mlp([3, 4, 1]).Parameters().Size(), open("/proc/self/maps").read())
assert ROOT.gSystem.Load("libcladtorch") >= 0
import cladtorch
assert cladtorch.Mlp is ROOT.CladTorch.Mlp
print("finished", cladtorch.__file__)
"#;

/// Added to the project of the page on installing.
const TORCH_PROJECT: &str = r#"
add_executable(selection_torch torch.cxx)
target_link_libraries(selection_torch PRIVATE CladTorch::Torch)
"#;

const TORCH_PROGRAM: &str = r#"
#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Torch.hxx>
#include <iostream>
int main()
{
   CladTorch::Mlp model({3, 4, 1});
   std::cout << "sum " << torch::ones({2, 3}).sum().item<double>() << std::endl;
}
"#;

fn cmake() -> Command {
    Command::new(place("CLADTORCH_CMAKE", ".deps/site-packages/cmake/data/bin/cmake"))
}

/// A moved installation and a ROOT, both outside the source tree.
struct Moved {
    folder: TempDir,
    root: PathBuf,
}

impl Moved {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let first = folder.path().join("first");
        let build = source().join("build");
        succeed(cmake().arg("--install").arg(build).arg("--prefix").arg(&first));
        fs::rename(&first, folder.path().join("moved")).expect("the installation can be moved");
        let root = root_outside(folder.path());
        Self { folder, root }
    }

    fn prefix(&self) -> PathBuf {
        self.folder.path().join("moved")
    }

    /// `program` with only the plugin on its paths.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.folder.path())
            .env("ROOTSYS", &self.root)
            .env("LD_LIBRARY_PATH", self.prefix().join("lib"));
        command.env_remove("ROOT_INCLUDE_PATH").env_remove("PYTHONPATH");
        command
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).expect("the temporary folder can be written");
        path
    }
}

fn assert_stands_alone(output: &Output, prefix: &Path) {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("finished"), "{text}");
    for library in ["lib/libcladtorch.so", "lib/cladtorch/libtorch_cpu.so"] {
        let path = prefix.join(library);
        if path.exists() {
            assert!(text.contains(path.to_str().unwrap()), "{library} is not what was loaded:\n{text}");
        }
    }
    let source = source();
    assert!(!text.contains(source.to_str().unwrap()), "{} is in use:\n{text}", source.display());
}

#[test]
fn a_macro_runs_from_a_moved_installation() {
    let moved = Moved::new();
    let file = moved.write("moved.C", MACRO);
    let output = succeed(moved.command(&moved.root.join("bin/root.exe")).args(["-l", "-b", "-q"]).arg(file));
    assert_stands_alone(&output, &moved.prefix());
}

#[test]
fn libtorch_is_at_the_prompt_of_a_moved_installation() {
    let moved = Moved::new();
    let file = moved.write("moved_torch.C", TORCH_MACRO);
    let output = succeed(moved.command(&moved.root.join("bin/root.exe")).args(["-l", "-b", "-q"]).arg(file));
    assert_stands_alone(&output, &moved.prefix());
    assert!(String::from_utf8_lossy(&output.stdout).contains("sum 6"));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("this will be slow"), "the module is not used");
}

#[test]
fn python_runs_from_a_moved_installation() {
    let moved = Moved::new();
    let script = moved.write("moved.py", SCRIPT);
    let wheel = moved.root.join("__init__.py").exists();
    let modules = if wheel { moved.folder.path().to_path_buf() } else { place("CLADTORCH_PYTHONPATH", "") };
    let modules = env::join_paths([moved.prefix().join("lib/python"), modules]).expect("paths without colons");
    let output = succeed(moved.command(&python()).env("PYTHONPATH", modules).arg(script));
    assert_stands_alone(&output, &moved.prefix());
}

/// It needs neither ROOT nor a search path.
#[test]
fn the_command_runs_from_a_moved_installation() {
    let moved = Moved::new();
    let command = moved.prefix().join("bin/cladtorch");
    let output = succeed(Command::new(&command).env_clear().arg("show").arg(source().join("data/trees.root")));
    assert!(String::from_utf8_lossy(&output.stdout).contains("run1/events: 120 entries"));
    let libraries =
        String::from_utf8(succeed(Command::new("ldd").env_remove("LD_LIBRARY_PATH").arg(command)).stdout).unwrap();
    assert!(!libraries.contains("torch"), "{libraries}");
    assert!(!libraries.contains(source().to_str().unwrap()), "{libraries}");
}

/// Pages refer to one another, to pictures and to sources.
#[test]
fn links_of_installed_pages_lead_somewhere() {
    let moved = Moved::new();
    let doc = moved.prefix().join("share/doc/cladtorch");
    let markdown = |folder: &Path| {
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|kind| kind == "md")).collect::<Vec<_>>()
    };
    let pages = [markdown(&doc), markdown(&doc.join("cpp/doc"))].concat();
    assert!(pages.len() > 15, "{pages:?}");
    for path in pages {
        for target in Page::read(&path).links().iter().filter(|target| !target.starts_with("https://")) {
            assert!(path.parent().unwrap().join(target).exists(), "{}: {target} leads nowhere", path.display());
        }
    }
}

#[test]
fn a_cmake_project_builds_against_a_moved_installation() {
    let moved = Moved::new();
    let root = place("CLADTORCH_ROOTSYS", ".deps/site-packages/ROOT");
    let page = Page::read(&source().join("cpp/doc/install.md"));
    let snippet = |language: &str, part: &str| {
        let mut snippets = page.snippets.iter().filter(|snippet| snippet.language == language);
        snippets.find(|snippet| snippet.text.contains(part)).expect(part).text.clone()
    };
    moved.write("CMakeLists.txt", &(snippet("text", "find_package(CladTorch") + TORCH_PROJECT));
    moved.write("selection.cxx", &snippet("cpp", "int main()"));
    moved.write("torch.cxx", TORCH_PROGRAM);
    let (project, build) = (moved.folder.path(), moved.folder.path().join("build"));
    let mut configure = cmake();
    configure.arg("-S").arg(project).arg("-B").arg(&build);
    configure.arg(format!("-DCMAKE_PREFIX_PATH={};{}", moved.prefix().display(), root.display()));
    succeed(&mut configure);
    succeed(cmake().arg("--build").arg(&build));
    for (name, said) in [("selection", "AUC 0.7"), ("selection_torch", "sum 6")] {
        let mut program = Command::new(build.join(name));
        let libraries = [moved.prefix().join("lib"), root.join("lib")];
        program.env("ROOTSYS", &root).env("LD_LIBRARY_PATH", env::join_paths(libraries).unwrap());
        let text = String::from_utf8(succeed(&mut program).stdout).expect("it is text");
        assert!(text.contains(said), "{text}");
    }
}

/// What Ninja would run in `build`, without the words that name the build folder or the search path.
fn commands(build: &Path) -> Vec<String> {
    let ninja = place("CLADTORCH_NINJA", ".deps/site-packages/bin/ninja");
    let output = succeed(Command::new(ninja).arg("-C").arg(build).args(["-t", "commands"]));
    let text = String::from_utf8(output.stdout).expect("commands are text");
    let text = text.replace(build.to_str().unwrap(), "BUILD");
    let kept = |line: &str| line.split(' ').filter(|word| !word.starts_with("PATH=")).collect::<Vec<_>>().join(" ");
    text.lines().map(kept).collect()
}

#[test]
fn plain_cmake_builds_what_the_command_builds() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ninja = place("CLADTORCH_NINJA", ".deps/site-packages/bin/ninja");
    let mut configure = cmake();
    configure.args(["-G", "Ninja"]).arg(format!("-DCMAKE_MAKE_PROGRAM={}", ninja.display()));
    configure.arg("-S").arg(source().join("cpp")).arg("-B").arg(folder.path());
    // A machine's own ROOT and LibTorch, given to the command, are passed to CMake by the same variables.
    configure.env("ROOTSYS", place("CLADTORCH_ROOTSYS", ".deps/site-packages/ROOT"));
    configure.env("LIBTORCH", place("CLADTORCH_LIBTORCH", ".deps/site-packages/torch"));
    succeed(&mut configure);
    let plain = commands(&fs::canonicalize(folder.path()).expect("it is there"));
    assert!(plain.len() > 10, "{plain:?}");
    assert_eq!(plain, commands(&source().join("build")));
}
