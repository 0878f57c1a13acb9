//! Input at the prompt of root.exe: first lines, mistakes, and values that are not kept.

use support::session::{Outcome, Session, plugin};

const ALIVE: &str = "STILL ALIVE 5";

/// Types `lines` at a fresh prompt that finds the headers and the plugin; the session must survive to the end.
fn typed(lines: &str) -> Outcome {
    let lines = format!("{lines}\nprintf(\"STILL ALIVE %d\\n\", int(CladTorch::Mlp({{2, 4, 1}}).Inputs()) + 3);\n.q\n");
    let session = Session::root(&[]).with("ROOT_INCLUDE_PATH", &plugin().join("../include")).typing(&lines);
    let outcome = session.run().says(&[ALIVE]).hides(&["Failed to materialize", "segmentation violation"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.text);
    outcome
}

const NO_NUMBERS: [&str; 6] = ["int", "unsigned int", "unsigned long", "char", "bool", "long double"];
const NO_VIEW: &str = "hold float, double, std::int64_t or Long64_t";

/// A missing symbol would make the session useless.
#[test]
fn numbers_of_other_types_are_refused_by_the_compiler() {
    for (first, of) in [("Jagged", "::Read({\"t\", \"nowhere.root\"}, \"x\").Rows()"), ("View", "().Size()")] {
        let lines = NO_NUMBERS.map(|number| format!("CladTorch::{first}<{number}>{of}")).join("\n");
        let outcome = typed(&format!("#include <CladTorch/CladTorch.hxx>\n{lines}"));
        assert_eq!(outcome.text.matches(NO_VIEW).count(), NO_NUMBERS.len(), "{}", outcome.text);
    }
}

#[test]
fn numbers_of_other_types_are_refused_in_python() {
    let code = format!(
        "import ROOT\nROOT.gSystem.Load('libcladtorch')\nct = ROOT.CladTorch\n\
         for number in {NO_NUMBERS:?}:\n    try:\n        ct.Jagged[number].Read(ct.Source('t', 'nowhere.root'), 'x')\n    \
         except TypeError as error:\n        print('TypeError', error)\n\
         print('STILL ALIVE', ct.Mlp([2, 4, 1]).Inputs() + 3)\n"
    );
    let outcome = Session::python(&["-c", &code]).run().says(&[ALIVE]).hides(&["Failed to materialize"]);
    for number in NO_NUMBERS {
        let refusal = format!("TypeError 'CladTorch::Jagged<{number}>' is not a known C++ class");
        assert!(outcome.text.contains(&refusal), "{}", outcome.text);
    }
}

/// Expressions that throw where they should return an object. Cling keeps the value of an expression without a name,
/// and takes memory for a value that was written to before the exception.
const THROWING: &[&str] = &[
    "CladTorch::Mlp({0})",
    "CladTorch::Mlp({2, 4, 1}, \"no function\")",
    "CladTorch::Mlp::Load(\"nowhere.ct\")",
    "CladTorch::Dataset({\"\"})",
    "CladTorch::Stream(std::vector<std::string>())",
    "CladTorch::Stream({\"x\"}).Batches()",
    "none.Split(5)",
    "model.Fit(none)",
    "model.Roc(none)",
    "model.Define(ROOT::RDataFrame(1), \"y\")",
    "CladTorch::Jagged<double>::Read({\"t\", \"nowhere.root\"}, \"x\")",
    "CladTorch::ToFrame({})",
    "CladTorch::ToMatrix(CladTorch::FloatView(nullptr, std::size_t(1) << 40, 1, nullptr))",
    "CladTorch::Signal::Whitener({}, 0, 0, 0)",
    "CladTorch::Compile(product, {x, x})",
    "CladTorch::Compile([](torch::Tensor a) { return a.matmul(a); }, {x})",
    "compiled.Forward({x, x})",
    "compiled.Jacobian({x})",
];

#[test]
fn values_that_were_never_made() {
    let mut lines = "#include <CladTorch/Torch.hxx>\n#include <CladTorch/CladTorch.hxx>\n\
        torch::Tensor product(torch::Tensor x, torch::Tensor w) { return x.matmul(w).relu().sum(); }\n\
        auto x = torch::randn({8, 4}), w = torch::randn({4, 2});\n\
        auto compiled = CladTorch::Compile(product, {x, w});\n\
        CladTorch::Dataset none({\"x\"}); CladTorch::Mlp model({1, 1});\n"
        .to_owned();
    for expression in THROWING {
        // After a value of the class, whose memory the next one reuses; then in that of another.
        lines += &format!("CladTorch::Compile(product, {{x, w}});\n{expression};\n{expression};\n");
    }
    let outcome = typed(&lines).hides(&["error: "]);
    assert_eq!(outcome.text.matches("Error in <CladTorch::").count(), 2 * THROWING.len(), "{}", outcome.text);
}

#[test]
fn using_the_namespace_first() {
    for class in ["Dataset data({\"pt\"})", "Mlp model({2, 4, 1})", "FitOptions options", "Label label(1)"] {
        typed(&format!("using namespace CladTorch;\n{class}")).hides(&["error:"]);
        typed(&format!("using namespace CladTorch;\nCladTorch::{class}")).hides(&["error:"]);
    }
}
