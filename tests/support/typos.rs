//! Typical mistakes: a working macro, and what is wrong in it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::session::script;

/// The kind of mistake, the text of the good macro, and its replacement.
pub type Mistake = (&'static str, &'static str, &'static str);

/// In `analysis.C`. Not among them: an unclosed brace, at which ROOT itself never stops parsing a macro.
pub const IN_AN_ANALYSIS: &[Mistake] = &[
    ("undeclared_name", "model.Fit(", "modle.Fit("),
    ("undeclared_function", "events.Rows()", "rows_of(events)"),
    ("missing_semicolon", "options.fEpochs = 2;", "options.fEpochs = 2"),
    ("wrong_member", "history.Epochs()", "history.Epoch()"),
    ("wrong_argument", "model.Predict(events)", "model.Predict(options)"),
    ("unknown_header", "CladTorch.hxx>", "CladTorch.hxx>\n#include <CladTorch/Nowhere.hxx>"),
    ("redefinition", "options.fVerbose = 0;", "options.fVerbose = 0; double options;"),
    ("bad_template", "std::vector<float> scores", "std::vector<float, int, int> scores"),
    ("wrong_namespace", "CladTorch::Mlp model", "CladTorsch::Mlp model"),
    ("misspelled_option", "options.fEpochs", "options.fEpoch"),
    ("misspelled_enumerator", "CladTorch::kReLU", "CladTorch::kRelu"),
    ("wrong_enumeration", "CladTorch::kAuto", "CladTorch::kReLU"),
    ("misspelled_class", "CladTorch::Dataset", "CladTorch::DataSet"),
];

/// In `compiled.C`.
pub const WITH_LIBTORCH: &[Mistake] = &[
    ("undeclared_name", "compiled.Forward", "complied.Forward"),
    ("undeclared_function", "torch::ones_like(y)", "ones_as(y)"),
    ("missing_semicolon", "options.fName = \"graph\";", "options.fName = \"graph\""),
    ("wrong_member", ".relu()", ".rellu()"),
    ("wrong_argument", "{x, w}, options", "\"x, w\", options"),
    ("unknown_header", "Torch.hxx>", "Torch.hxx>\n#include <torch/nowhere.h>"),
    ("redefinition", "auto y =", "int y = 0; auto y ="),
    ("bad_template", "y.item<double>()", "y.item<double, int>()"),
    ("wrong_namespace", "torch::randn", "tortch::randn"),
    ("misspelled_option", "options.fBackEnd", "options.fBackend"),
    ("misspelled_enumerator", "CladTorch::kAotBackEnd", "CladTorch::kAOTBackEnd"),
    ("wrong_enumeration", "CladTorch::kAotBackEnd", "CladTorch::kReLU"),
    ("misspelled_class", "CladTorch::CompileOptions", "CladTorch::CompilerOptions"),
];

/// `macro_name` of `tests/root` as the function `function`, with the mistake.
/// \param loading Whether R__LOAD_LIBRARY stays in it.
pub fn text(macro_name: &str, function: &str, mistake: Option<&Mistake>, loading: bool) -> String {
    let mut text = fs::read_to_string(script(macro_name)).unwrap().replace("FUNCTION", function);
    if let Some((name, good, bad)) = mistake {
        assert!(text.contains(good), "{name}: {good:?} is not in {macro_name}");
        text = text.replacen(good, bad, 1);
    }
    if !loading {
        text = text.replace("R__LOAD_LIBRARY(libcladtorch)\n", "");
    }
    text
}

/// Writes text() into a file of that name in `folder`.
pub fn write(folder: &Path, macro_name: &str, function: &str, mistake: Option<&Mistake>, loading: bool) -> PathBuf {
    let path = folder.join(format!("{function}.C"));
    fs::write(&path, text(macro_name, function, mistake, loading)).unwrap();
    path
}
