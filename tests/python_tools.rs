//! Tests that need Python packages beyond ROOT's, those of `python_tools.txt`: notebooks in Jupyter kernels, and type
//! checkers.

use std::env;
use std::path::PathBuf;

use support::checkout::source;
use support::say::not_tested;
use support::session::{Outcome, Session, script};

/// The folder of the packages; missing ones are looked for among those of Python itself.
fn packages() -> String {
    let usual = || source().join(".deps/checks");
    env::var_os("CLADTORCH_CHECKS").map_or_else(usual, PathBuf::from).display().to_string()
}

/// Runs a script of `tests/root` that reports what it leaves out.
fn run(name: &str, says: &str) -> Outcome {
    let outcome = Session::python(&[&script(name), &packages()]).run().passed();
    outcome.text.lines().filter_map(|line| line.split_once("left out: ")).for_each(|(_, what)| not_tested(what));
    outcome.show(says);
    outcome
}

/// The notebook for users prints the figures of the script of the same name.
#[test]
fn notebooks_show_what_cells_print_and_draw() {
    let notebook = run("notebook.py", "notebooks ran");
    if notebook.text.contains("left out") {
        return;
    }
    let script = source().join("root_macros/higgs_analysis.py").display().to_string();
    let twin = Session::python(&[&script, "out"]).run();
    let told = |line: &&str| {
        ["  AUC ", "the fit took", "best cut", "signal events pass"].iter().any(|part| line.contains(part))
    };
    let figures: Vec<_> = twin.text.lines().filter(told).collect();
    assert!(figures.len() >= 4, "{}", twin.text);
    notebook.says(&figures);
}

/// The stub is right for the code of the macros and the documentation, and finds planted mistakes.
#[test]
fn types_fit_the_macros_and_the_documentation() {
    run("python_types.py", "types were checked");
}
