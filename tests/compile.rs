//! `CladTorch::Compile`: the checks are in `tests/root/compile_checks.h`, which here runs in a plain macro, through
//! ACLiC and in PyROOT, and in the other macros `compile_*`.

use std::env;
use std::path::PathBuf;
use std::sync::OnceLock;

use support::aclic::Library;
use support::checkout::source;
use support::say;
use support::session::{Session, plugin, script};

#[test]
fn in_a_plain_macro() {
    Session::root(&["-q", &script("compile.C")]).run().passed();
}

/// Runs `call` on the code of `compile_aclic.C`, which ACLiC compiles once for all tests, in a minute.
fn through_aclic(call: &str) {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| Library::new("compile_aclic", env!("CARGO_TARGET_TMPDIR"))).session(call).run().passed();
}

#[test]
fn in_compiled_code() {
    through_aclic("compile_aclic()");
}

#[test]
fn with_captured_tensors() {
    through_aclic("compile_captured()");
}

/// Custom derivatives, values that are read, own tensors: impure functions run on LibTorch.
#[test]
fn what_is_not_pure() {
    through_aclic("compile_pure()");
}

#[test]
fn everyday_functions() {
    Session::root(&["-q", &script("compile_everyday.C")]).run().passed();
}

/// Formulas of physics, statistics and signal analysis.
#[test]
fn formulas() {
    Session::root(&["-q", &script("compile_physics.C")]).run().passed();
}

/// Outputs some of which are not used, zeros of both signs in any order of memory, conversions without effect.
#[test]
fn outputs() {
    Session::root(&["-q", &script("compile_outputs.C")]).run().passed();
}

/// Random factors and exact sums for enough rows to run in blocks.
#[test]
fn many_rows() {
    Session::root(&["-q", &script("compile_many_rows.C")]).run().passed();
}

/// Compiled programs of random steps against eager ones: 500, or as many as `CLADTORCH_PROGRAMS` says.
#[test]
fn random_programs() {
    Session::root(&["-q", &script("compile_programs.C")]).run().passed().show("programs on");
}

/// Prices of options, tensor contractions and a shock tube, each checked by the macro itself; on a GPU, if there is
/// one.
#[test]
fn cases_of_the_macros() {
    let cases = [
        ("black_scholes", r#""", 10000"#, "prices and Greeks"),
        ("contraction", r#""", 16"#, "value and gradient"),
        ("shock", r#""", 200, 40, "out""#, "density against Sod's exact solution"),
    ];
    for (name, arguments, says) in cases {
        let file = source().join(format!("root_macros/{name}.C")).display().to_string();
        let outcome = Session::root(&["-q", &format!("{file}({arguments})")]).run();
        assert_eq!(outcome.code, Some(0), "{}", outcome.text);
        outcome.show(says);
        if name == "shock" {
            outcome.wrote("out/shock.png");
        }
    }
}

/// On a GPU, if there is one; otherwise the same functions on the CPU.
#[test]
fn on_a_gpu() {
    let outcome = Session::root(&["-q", &script("compile_cuda.C")]).run().passed();
    outcome.show("compiled functions");
    outcome.show("functions on");
}

#[test]
fn in_threads() {
    Session::root(&["-q", &script("compile_threads.C")]).run().passed();
}

#[test]
fn in_a_forked_process() {
    Session::root(&["-q", &script("compile_forked.C")]).run().passed();
}

#[test]
fn without_clad() {
    let empty = tempfile::tempdir().unwrap();
    Session::root(&["-q", &script("compile_without_clad.C")]).with("CLAD_ROOT", empty.path()).run().passed();
}

#[test]
fn in_python() {
    Session::python(&[&script("compile.py")]).run().passed();
}

/// The full PyTorch has gigabytes that the set-up does not fetch; the benchmark does, into `.deps/peers`.
#[test]
fn operators_in_pytorch() {
    let usual = || source().join(".deps/peers/site-packages");
    let pytorch = env::var_os("CLADTORCH_PYTORCH").map_or_else(usual, PathBuf::from);
    if !pytorch.join("torch").exists() {
        let why = format!("no PyTorch in {}; name its site-packages by CLADTORCH_PYTORCH", pytorch.display());
        say::not_tested(&format!("operators in PyTorch: {why}"));
        return;
    }
    let library = plugin().join("libcladtorch.so").display().to_string();
    let folder = pytorch.display().to_string();
    Session::python(&[&script("compile_operators.py"), &library, &folder]).run().passed().show("SUCCESS");
}
