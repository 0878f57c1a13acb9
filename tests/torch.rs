//! LibTorch's C++ API in ROOT's interpreter: `#include <CladTorch/Torch.hxx>` in a macro, at the prompt, in PyROOT and
//! through ACLiC, quickly if there is a module of LibTorch's headers and slowly if there is none.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use support::session::{Outcome, Session, plugin, script};

const FIRST_TENSOR: &str = "to the first tensor";
const SLOW: &str = "this will be slow";

fn macro_of(call: &str) -> Outcome {
    Session::root(&["-q", &script(call)]).run()
}

/// Input at the prompt runs, and a LibTorch exception leaves the session alive.
fn at_the_prompt(plugin: &Path) -> Outcome {
    let lines = fs::read_to_string(script("torch_prompt.txt")).unwrap();
    let outcome = Session::root(&[]).within(plugin).typing(&lines).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.text);
    outcome.says(&[FIRST_TENSOR, "gradient 6", "2x3 and 2x3", "STILL ALIVE 5"])
}

#[test]
fn at_the_prompt_with_the_module() {
    at_the_prompt(&plugin()).hides(&[SLOW]).show(FIRST_TENSOR);
}

/// The plugin beside a truncated module, as a full disk leaves it: clang would refuse it with an error.
#[test]
fn at_the_prompt_without_a_module_that_fits() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("lib");
    fs::create_dir_all(library.join("cladtorch")).unwrap();
    symlink(plugin().join("../include"), folder.path().join("include")).unwrap();
    for name in ["libcladtorch.so", "libcladtorch_rdict.pcm", "libcladtorch.rootmap"] {
        fs::copy(plugin().join(name), library.join(name)).unwrap();
    }
    for name in ["include", "LibTorch.modulemap", "LibTorch.stamp"] {
        symlink(plugin().join("cladtorch").join(name), library.join("cladtorch").join(name)).unwrap();
    }
    fs::write(library.join("cladtorch/LibTorch.pcm"), "cut short").unwrap();
    at_the_prompt(&library).says(&[SLOW]).show(FIRST_TENSOR);
}

#[test]
fn in_a_macro() {
    macro_of("torch_macro.C").passed().hides(&[SLOW]);
}

#[test]
fn conversions() {
    macro_of("torch_convert.C").passed();
}

#[test]
fn conversions_with_threads() {
    macro_of("torch_convert.C(true)").passed();
}

#[test]
fn in_python() {
    Session::python(&[&script("torch_python.py")]).run().passed().hides(&[SLOW]);
}

/// Without the plugin's include paths ACLiC does not find LibTorch's headers: the message names the remedy.
#[test]
fn in_compiled_code_before_the_plugin_is_loaded() {
    let session = Session::root(&["-q", "early.C+"]).with("ROOT_INCLUDE_PATH", &plugin().join("../include"));
    fs::write(session.folder().join("early.C"), "#include <CladTorch/Torch.hxx>\nvoid early() {}\n").unwrap();
    session
        .run()
        .says(&["LibTorch's headers are not on the include path", "load libcladtorch with gSystem->Load first"])
        .hides(&["segmentation violation"]);
}

#[test]
fn in_compiled_code() {
    let session = Session::root(&["-q", "-e", "gSystem->Load(\"libcladtorch\")", "torch_aclic.C+"]);
    for file in ["torch_aclic.C", "torch_api.h", "check.h"] {
        fs::copy(script(file), session.folder().join(file)).unwrap();
    }
    session.run().passed();
}
