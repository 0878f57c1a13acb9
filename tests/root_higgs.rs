//! `root_macros/higgs_classify.C` and its PyROOT twin: Clad's gradients and LibTorch's autograd, from the same initial
//! weights, end at the same area under the ROC curve.

use support::checkout::source;
use support::session::{Outcome, Session};

const FOLDER: &str = "higgs_classify_out";

/// The number after `name` in the printed table.
fn auc(text: &str, name: &str) -> f64 {
    let mut lines = text.lines().filter_map(|line| line.trim().strip_prefix(name)?.split_whitespace().next());
    let found = lines.find_map(|word| word.parse().ok());
    found.unwrap_or_else(|| panic!("no AUC of {name} in:\n{text}"))
}

/// Both areas agree within 0.005 and show that something was learnt; returns Clad's.
fn checked(outcome: Outcome) -> f64 {
    assert_eq!(outcome.code, Some(0), "{}", outcome.text);
    let files = ["loss.png", "scores.png", "roc.png", "higgs.ct"];
    let outcome = files.into_iter().fold(outcome, |outcome, file| outcome.wrote(&format!("{FOLDER}/{file}")));
    let [clad, autograd] = ["Clad", "LibTorch autograd"].map(|name| auc(&outcome.text, name));
    assert!((clad - autograd).abs() < 0.005, "Clad {clad}, autograd {autograd}");
    assert!((0.67..0.8).contains(&clad), "{clad}");
    clad
}

#[test]
fn clad_and_autograd_reach_the_same_area_in_cpp_and_in_python() {
    let file = |name: &str| source().join("root_macros").join(name).display().to_string();
    let cpp = checked(Session::root(&["-q", &format!("{}(\"{FOLDER}\", 5)", file("higgs_classify.C"))]).run());
    let python = checked(Session::python(&[&file("higgs_classify.py"), FOLDER, "5"]).run());
    assert!((cpp - python).abs() < 1e-4, "C++ {cpp}, Python {python}");
}

/// The macro and its twin do the same: all figures that they print are equal. They come through two streams, whose lines meet in
/// any order.
#[test]
fn the_analysis_is_the_same_in_cpp_and_in_python() {
    let file = |name: &str| source().join("root_macros").join(name).display().to_string();
    let figures = |outcome: Outcome| -> Vec<String> {
        assert_eq!(outcome.code, Some(0), "{}", outcome.text);
        let files = ["loss.png", "report.pdf", "higgs.ct", "scores.root"];
        let outcome = files.into_iter().fold(outcome, |outcome, file| outcome.wrote(&format!("analysis_out/{file}")));
        let told = |line: &&str| {
            ["AUC ", "the fit took", "best cut", "signal events pass"].iter().any(|part| line.contains(part))
        };
        let mut figures: Vec<String> = outcome.text.lines().filter(told).map(str::to_owned).collect();
        figures.sort();
        figures
    };
    let cpp = figures(Session::root(&["-q", &format!("{}(\"analysis_out\")", file("higgs_analysis.C"))]).run());
    let python = figures(Session::python(&[&file("higgs_analysis.py"), "analysis_out"]).run());
    assert!(cpp.len() >= 4, "{cpp:?}");
    assert_eq!(cpp, python);
}
