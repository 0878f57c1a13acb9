//! The plugin in root.exe and PyROOT. The checks are in the macros of `tests/root`; each runs here in a session of its
//! own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use support::checkout::source;
use support::session::{Outcome, Session, plugin, script};
use support::typos;
use support::typos::Mistake;

const FIRST_STEP: &str = "to the first trained step";

fn macro_of(call: &str) -> Outcome {
    Session::root(&["-q", &script(call)]).unoptimised().run()
}

/// The same with a home folder of its own.
fn macro_at_home(call: &str) -> Outcome {
    let session = Session::root(&["-q", &script(call)]).unoptimised();
    let home = session.folder().join("home");
    session.with("HOME", &home).run()
}

fn loads(outcome: Outcome) {
    outcome.passed().says(&[FIRST_STEP]).hides(&["rror in", "rror:"]).show(FIRST_STEP);
}

#[test]
fn load_at_the_prompt() {
    let lines = fs::read_to_string(script("prompt.txt")).unwrap().replace("SOURCE", &source().display().to_string());
    let session = Session::root(&[]).within(&plugin()).typing(&lines);
    loads(session.run());
}

#[test]
fn load_with_gsystem() {
    loads(Session::root(&["-q", &script("load_gsystem.C")]).run());
}

#[test]
fn load_with_r_load_library() {
    loads(Session::root(&["-q", &script("load_macro.C")]).run());
}

#[test]
fn load_with_threads_enabled() {
    loads(Session::root(&["-q", &script("load_macro.C(true)")]).run());
}

#[test]
fn load_by_the_rootmap() {
    loads(Session::root(&["-q", &script("load_auto.C")]).run());
}

#[test]
fn include_before_the_plugin_is_loaded() {
    let lines = "#include <CladTorch/CladTorch.hxx>\nCladTorch::kReLU\n.q\n";
    let session = Session::root(&[]).with("ROOT_INCLUDE_PATH", &plugin().join("../include")).typing(lines);
    session.run().says(&["(CladTorch::kReLU)"]).hides(&["rror:"]);
}

#[test]
fn include_without_a_line_that_loads() {
    for name in ["include_only.C", "include_torch_only.C"] {
        let session = Session::root(&["-q", &script(name)]);
        let session = session.with("ROOT_INCLUDE_PATH", &plugin().join("../include"));
        session.run().says(&["loaded by the header"]).hides(&["rror:"]);
    }
}

#[test]
fn load_in_python_after_numpy() {
    loads(Session::python(&[&script("first_step.py"), "numpy-first"]).run());
}

#[test]
fn load_in_python_before_numpy() {
    loads(Session::python(&[&script("first_step.py"), "root-first"]).run());
}

#[test]
fn load_in_python_with_threads_enabled() {
    loads(Session::python(&[&script("first_step.py"), "threads"]).run());
}

/// Enough for ROOT and too little for LibTorch. Nothing of the plugin runs yet: the user sees ROOT's message with the
/// dynamic loader's reason, which the documentation explains.
#[test]
fn too_little_memory_for_libtorch_is_said() {
    let load = "std::cout << gSystem->Load(\"libcladtorch\") << std::endl;";
    for session in [
        Session::root(&["-q", "-e", load]),
        Session::root(&["-q", "-e", "CladTorch::Dataset data;"]),
        Session::python(&["-c", "import ROOT; ROOT.gSystem.Load('libcladtorch'); ROOT.CladTorch.Dataset"]),
        Session::python(&["-c", "import ROOT; ROOT.CladTorch.Dataset"]),
    ] {
        let reason = "libtorch_cpu.so: failed to map segment from shared object";
        assert!(fs::read_to_string(source().join("cpp/doc/install.md")).unwrap().contains(reason));
        session.limited_to(700_000).run().says(&[reason]).hides(&["terminate", "Break"]);
    }
}

#[test]
fn columns_of_every_type_and_source() {
    macro_of("columns.C").passed();
}

#[test]
fn training_predictions_plots_and_files() {
    macro_of("train.C").passed().says(&["epoch 1/10", "epoch 10/10"]).wrote("history.png").wrote("roc.png");
}

#[test]
fn training_predictions_plots_and_files_with_threads() {
    macro_of("train.C(true)").passed().wrote("scores.png");
}

#[test]
fn python_forked() {
    Session::python(&[&script("fork.py")]).run().passed();
}

#[test]
fn the_default_fit_learns_well() {
    macro_of("quality.C").passed().show("AUC");
}

#[test]
fn any_network_is_a_model() {
    macro_of("model.C").passed().show("AUC");
}

#[test]
fn an_event_is_predicted_with_the_same_bits_alone_and_among_others() {
    macro_of("event_bits.C").passed();
}

/// Another session knows neither the source of the networks nor LibTorch's headers.
#[test]
fn models_of_modules_are_saved_and_loaded() {
    let written = macro_of("saved_models_write.C").passed();
    let folder = written.folder.path();
    Session::root(&["-q", &script("saved_models_read.C")]).within(folder).run().passed();
    let headers = source().join("tests/root").display().to_string();
    Session::python(&[&script("saved_models.py"), &headers]).within(folder).run().passed();
}

#[test]
fn models_leave_for_other_programs() {
    macro_of("exports.C").passed();
    Session::python(&[&script("exports.py")]).run().passed().show("onnxruntime");
}

#[test]
fn networks_of_pytorch_become_models() {
    macro_of("torchscript.C").passed();
    Session::python(&[&script("torchscript.py")]).run().passed();
}

#[test]
fn frozen_parameters_keep_their_bits() {
    macro_of("freeze.C").passed();
}

/// The macro and its twin, each with its own points: one layer learns what the network did not know.
#[test]
fn a_pretrained_network_is_fine_tuned_in_cpp_and_in_python() {
    let file = |name: &str| source().join("root_macros").join(name).display().to_string();
    let cpp = Session::root(&["-q", &format!("{}(\"tuned\")", file("pretrained.C"))]).run().wrote("tuned/points.root");
    for outcome in [cpp, Session::python(&[&file("pretrained.py"), "tuned"]).run()] {
        assert_eq!(outcome.code, Some(0), "{}", outcome.text);
        let files = ["ring.ct", "ring.safetensors", "ring.onnx", "ring.hxx"];
        let outcome = files.into_iter().fold(outcome, |outcome, file| outcome.wrote(&format!("tuned/{file}")));
        let line = outcome.text.lines().find_map(|line| line.strip_prefix("AUC on the new ring: ")).unwrap();
        let mut figures = line.split(' ').filter_map(|word| word.parse::<f64>().ok());
        let (before, after) = (figures.next().unwrap(), figures.next().unwrap());
        assert!(after > before + 0.05 && after > 0.9, "{line}");
    }
}

#[test]
fn a_loss_of_libtorchs_operators() {
    macro_of("tensor_loss.C").passed();
}

#[test]
fn models_predict_each_event_by_itself() {
    macro_of("model_events.C").passed();
}

#[test]
fn libtorch_runs_what_has_no_kernels() {
    macro_of("model_libtorch.C").passed();
}

#[test]
fn models_say_what_is_wrong_with_a_network() {
    macro_of("model_messages.C").passed();
}

#[test]
fn options_of_fits() {
    macro_of("fit_options.C").passed();
}

#[test]
fn fits_are_watched() {
    macro_of("watching.C").passed();
}

#[test]
fn perceptrons_with_normalisation_and_dropout() {
    macro_of("regularised.C").passed();
}

#[test]
fn several_fits_at_once() {
    macro_of("several_fits.C").passed();
}

#[test]
fn regressions_with_an_uncertainty() {
    macro_of("gaussian.C").passed();
}

#[test]
fn a_random_search() {
    macro_of("random_search.C").passed();
    Session::python(&[&script("random_search.py")]).run().passed();
}

#[test]
fn models_go_on_from_where_they_are() {
    macro_of("refit.C").passed();
}

#[test]
fn python() {
    // Python shows the exception.
    Session::python(&[&script("python.py")]).run().passed().hides(&["Error in <CladTorch"]);
}

#[test]
fn bad_input_caught_in_a_macro() {
    macro_at_home("errors.C").passed();
}

#[test]
fn bad_input_caught_in_a_macro_with_threads() {
    macro_at_home("errors.C(true)").passed();
}

#[test]
fn bad_input_at_the_prompt_leaves_the_session_alive() {
    let lines = fs::read_to_string(script("bad_prompt.txt")).unwrap();
    let outcome = Session::root(&[]).within(&plugin()).typing(&lines).run();
    let outcome = outcome.says(&[
        "Error in <CladTorch::Dataset::Add>: file nowhere.root cannot be opened",
        "Error in <CladTorch::Mlp>: a network of one size (0)",
        "Error in <CladTorch::Mlp::Load>: nowhere.ct",
        "Error in <CladTorch::Testing::ProvokePanic>: internal error",
        "STILL ALIVE 5",
    ]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.text);
}

#[test]
fn bad_input_not_caught_in_a_macro_ends_with_the_whole_message() {
    let outcome = macro_of("bad_macro.C")
        .says(&["Error in <CladTorch::Dataset::Add>: file nowhere.root cannot be opened as a ROOT file"])
        .hides(&["NOT REACHED"]);
    assert_ne!(outcome.code, Some(0), "{}", outcome.text);
}

#[test]
fn bad_input_in_compiled_code() {
    let session = Session::root(&["-q", "-e", "gSystem->Load(\"libcladtorch\")", "bad_aclic.C+"]);
    for file in ["bad_aclic.C", "check.h"] {
        fs::copy(script(file), session.folder().join(file)).unwrap();
    }
    session.run().passed();
}

#[test]
fn interrupt_ends_the_training_and_keeps_the_model() {
    let outcome = Session::root(&["-q", &script("interrupt.C")]).run_interrupted_at("epoch 1/");
    outcome.passed().says(&["interrupted after epoch"]);
}

#[test]
fn interrupt_ends_the_reading_and_keeps_the_dataset() {
    let outcome = Session::root(&["-q", &script("reading_interrupt.C")]).run_interrupted_at("reading now");
    outcome.passed();
}

const LONG_CALLS: [&str; 15] = [
    "Add of a tree",
    "Add of a frame",
    "Add of an expression",
    "Jagged::Read",
    "Fit by Clad",
    "Fit by autograd",
    "Fit of a stream",
    "Predict",
    "WriteScores",
    "CrossValidate",
    "Ensemble::Fit",
    "RandomSearch::Run",
    "Importance",
    "Report",
    "SearchBounds",
];

#[test]
fn interrupt_ends_a_macro_with_every_long_call() {
    for call in LONG_CALLS {
        let macro_call = format!("{}(\"{call}\")", script("interrupted.C"));
        let outcome = Session::root(&["-q", &macro_call]).unoptimised().run_interrupted_at_each("NOW ");
        assert_eq!(outcome.code, Some(130), "{call}: {}", outcome.text);
        outcome.says(&["Warning in <CladTorch::", "interrupted"]).hides(&["terminate called", "NOT REACHED", "Break"]);
    }
}

/// Calls of a second or so, each with Ctrl-C pressed within.
#[test]
fn interrupt_leaves_the_session_alive_in_every_call() {
    macro_of("interrupt_each.C").passed().hides(&["Break", "terminate"]);
}

/// The second comes while the process ends.
#[test]
fn interrupt_pressed_twice_ends_a_macro() {
    for milliseconds in [0, 1, 2, 5, 10, 20, 50, 80, 100, 120, 150, 200] {
        let macro_call = format!("{}(\"Fit by Clad\")", script("interrupted.C"));
        let outcome = Session::root(&["-q", &macro_call])
            .unoptimised()
            .run_interrupted_twice_at("NOW ", Duration::from_millis(milliseconds))
            .hides(&["NOT REACHED"]);
        assert_eq!(outcome.code, Some(130), "{milliseconds} ms: {}", outcome.text);
    }
}

#[test]
fn interrupt_brings_back_the_prompt_from_every_long_call() {
    let mut lines = format!("R__LOAD_LIBRARY(libcladtorch)\n#include \"{}\"\n", script("long_calls.h"));
    for call in LONG_CALLS {
        lines += &format!("Call(\"{call}\")\nprintf(\"AFTER %s\\n\", \"{call}\");\n");
    }
    let outcome = Session::root(&[]).typing(&(lines + ".q\n")).run_interrupted_at_each("NOW ");
    let after = LONG_CALLS.map(|call| format!("AFTER {call}"));
    let outcome =
        outcome.says(&after.each_ref().map(String::as_str)).hides(&["terminate called", "NOT REACHED", "Break"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.text);
}

#[test]
fn interrupt_in_a_macro_before_the_prompt_brings_the_prompt() {
    let macro_call = format!("{}(\"Fit by Clad\")", script("interrupted.C"));
    let session = Session::root(&[&macro_call]).typing("printf(\"AT THE PROMPT %d\\n\", 2 + 3);\n.q\n");
    let outcome = session.run_interrupted_at_each("NOW ").says(&["AT THE PROMPT 5"]).hides(&["NOT REACHED"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.text);
}

#[test]
fn interrupt_raises_keyboard_interrupt_from_every_long_call() {
    Session::python(&[&script("interrupted.py")]).run_interrupted_at_each("NOW ").passed();
}

#[test]
fn interrupt_at_the_beginning_of_a_call_is_heard() {
    Session::python(&[&script("interrupted_early.py")]).run().passed();
}

#[test]
fn the_first_use_of_a_class_may_be_in_several_threads() {
    Session::python(&[&script("first_use.py")]).run().passed();
}

#[test]
fn long_calls_leave_the_lock_of_python_to_others() {
    Session::python(&[&script("python_threads.py")]).run().passed().says(&["has label 1"]);
}

#[test]
fn options_without_effect_and_progress_are_said() {
    let outcome = macro_of("fit_messages.C").passed();
    let between = |first: &str, last: &str| {
        let (_, rest) = outcome.text.split_once(first).unwrap();
        rest.split_once(last).unwrap().0.lines().filter(|line| line.starts_with("epoch ")).collect::<Vec<_>>()
    };
    let short = between("PROGRESS OF SHORT EPOCHS", "PROGRESS OF A LONG EPOCH");
    assert!(short[0].starts_with("epoch 1/1000000000  loss ") && (3..6).contains(&short.len()), "{short:?}");
    assert!(short.iter().all(|line| line.contains(" left  ") && line.ends_with(" events/s")), "{short:?}");
    let long = between("PROGRESS OF A LONG EPOCH", "\nSILENCE");
    assert!((1..6).contains(&long.len()) && long[0].contains(" %"), "{long:?}");
    assert!(between("\nSILENCE", "END OF SILENCE").is_empty(), "{}", outcome.text);
}

#[test]
fn a_loss_of_ones_own() {
    macro_of("loss_function.C").passed();
}

#[test]
fn an_activation_of_ones_own() {
    macro_of("custom_activation.C").passed();
}

#[test]
fn interrupt_ends_a_compiler() {
    let folder = tempfile::tempdir().unwrap();
    for part in ["bin", "lib", "include/clad/Differentiator"] {
        fs::create_dir_all(folder.path().join(part)).unwrap();
    }
    for file in ["lib/clad.so", "include/clad/Differentiator/Differentiator.h"] {
        fs::write(folder.path().join(file), "").unwrap();
    }
    let compiler = folder.path().join("bin/clang++");
    fs::write(&compiler, "#!/bin/sh\ncase \"$*\" in *-fsyntax-only*) exit 0 ;; esac\nexec sleep 1000\n").unwrap();
    fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();
    let call = format!("{}(true)", script("loss_function.C"));
    let session = Session::root(&["-q", &call]).with("CLAD_ROOT", folder.path());
    session.run_interrupted_at("compiling the loss with Clad").passed();
}

/// A session that neither ended in a signal nor announced that, and printed only the compiler's own errors.
fn survived(outcome: &Outcome) {
    assert!(outcome.code.is_some(), "it ended with a signal:\n{}", outcome.text);
    for sign in ["segmentation violation", "AutoParse", "unresolved while linking", "Failed to materialize"] {
        assert!(!outcome.text.contains(sign), "{sign:?} in:\n{}", outcome.text);
    }
}

/// Each mistake first in a session of its own, then the good macro.
fn survives_each(macro_name: &str, mistakes: &[Mistake]) {
    for (number, mistake) in mistakes.iter().enumerate() {
        let session = Session::root(&[]).with("ROOT_INCLUDE_PATH", &plugin().join("../include"));
        let loading = number % 2 == 0;
        typos::write(session.folder(), macro_name, mistake.0, Some(mistake), loading);
        typos::write(session.folder(), macro_name, "corrected", None, loading);
        let outcome = session.typing(&format!(".x {}.C\n.x corrected.C\n.q\n", mistake.0)).run();
        survived(&outcome);
        outcome.says(&["error:", "corrected PASSED"]);
    }
}

/// All mistakes in one session in which the plugin has been used before; at the end it still works.
fn survives_all(macro_name: &str, mistakes: &[Mistake]) {
    let session = Session::root(&[]);
    typos::write(session.folder(), macro_name, "first", None, true);
    typos::write(session.folder(), macro_name, "corrected", None, true);
    let mut lines = ".x first.C\n".to_owned();
    for mistake in mistakes {
        typos::write(session.folder(), macro_name, mistake.0, Some(mistake), true);
        lines += &format!(".x {}.C\n", mistake.0);
    }
    let outcome = session.typing(&(lines + ".x corrected.C\n.q\n")).run();
    survived(&outcome);
    let errors = outcome.text.matches("error:").count();
    assert!(errors >= mistakes.len(), "{errors} errors of {} mistakes:\n{}", mistakes.len(), outcome.text);
    outcome.says(&["first PASSED", "corrected PASSED"]);
}

#[test]
fn a_mistake_in_a_macro_before_the_first_use() {
    survives_each("analysis.C", &typos::IN_AN_ANALYSIS[..4]);
}

#[test]
fn mistakes_in_macros_after_the_first_use() {
    survives_all("analysis.C", typos::IN_AN_ANALYSIS);
}

/// The session lives. LibTorch's own inline functions are not linked after that: those that a valid function of a
/// faulty declaration used first (`Tensor f(Tensor x) { return x.relu(); } int g() { return nosuch; }`) are compiled
/// and discarded with it, and ROOT does not compile them again. The documentation says so.
#[test]
fn a_mistake_in_a_macro_with_libtorch_before_the_first_use() {
    for mistake in &typos::WITH_LIBTORCH[..2] {
        let session = Session::root(&[]).with("ROOT_INCLUDE_PATH", &plugin().join("../include"));
        typos::write(session.folder(), "compiled.C", mistake.0, Some(mistake), true);
        let good = "CladTorch::Mlp model({2, 4, 1});\nmodel.Inputs() + model.Functor().Inputs()\n";
        let outcome = session.typing(&format!(".x {}.C\n{good}.q\n", mistake.0)).run();
        survived(&outcome);
        outcome.says(&["error:", "(unsigned long) 4"]);
    }
}

#[test]
fn mistakes_in_macros_with_libtorch_after_the_first_use() {
    survives_all("compiled.C", &typos::WITH_LIBTORCH[..4]);
}

#[test]
fn a_mistake_ends_a_macro_run_in_batch_with_an_exit_code() {
    let session = Session::root(&["-q", "typo.C"]);
    let mistake = &typos::IN_AN_ANALYSIS[0];
    typos::write(session.folder(), "analysis.C", "typo", Some(mistake), true);
    let outcome = session.run();
    survived(&outcome);
    outcome.says(&["error: use of undeclared identifier 'modle'"]);
}

#[test]
fn mistakes_at_the_prompt() {
    let good = "CladTorch::Mlp model({2, 4, 1});\nmodel.Inputs() + model.Functor().Inputs()\n";
    let lines = "#include <CladTorch/CladTorch.hxx>\nundeclared(3);\nCladTorch::Mlp wrong({2, 4, 1}, CladTorch::kRelu);\n\
                 CladTorch::FitOptions options; options.fEpoch = 3;\nCladTorsch::Mlp other;\n";
    let session = Session::root(&[]).with("ROOT_INCLUDE_PATH", &plugin().join("../include"));
    let outcome = session.typing(&format!("{lines}{good}.q\n")).run();
    survived(&outcome);
    outcome.says(&["(unsigned long) 4"]);
}

#[test]
fn mistakes_in_compiled_code() {
    let session = Session::root(&["-e", "gSystem->Load(\"libcladtorch\")"]);
    let mut lines = String::new();
    for mistake in &typos::IN_AN_ANALYSIS[2..4] {
        typos::write(session.folder(), "analysis.C", mistake.0, Some(mistake), true);
        lines += &format!(".x {}.C+\n", mistake.0);
    }
    typos::write(session.folder(), "analysis.C", "corrected", None, true);
    let outcome = session.typing(&(lines + ".x corrected.C+\n.q\n")).run();
    survived(&outcome);
    outcome.says(&["error:", "corrected PASSED"]);
}

/// gInterpreter.Declare and, as JupyROOT runs a cell, gInterpreter.ProcessLine with the text of a cell. LibTorch's
/// inline functions must have been used before: ROOT does not compile those that it met first in a faulty declaration.
#[test]
fn mistakes_in_python_and_in_notebook_cells() {
    for used_before in ["False", "True"] {
        let session = Session::python(&[&script("typos.py"), used_before]);
        for mistake in typos::IN_AN_ANALYSIS {
            typos::write(session.folder(), "analysis.C", mistake.0, Some(mistake), false);
        }
        typos::write(session.folder(), "analysis.C", "corrected", None, false);
        let outcome = session.with("ROOT_INCLUDE_PATH", &plugin().join("../include")).run();
        survived(&outcome);
        outcome.passed().says(&["corrected PASSED"]);
    }
}

#[test]
fn arguments_and_options_in_python() {
    let outcome = Session::python(&[&script("manners.py")]).run().passed();
    assert_eq!(outcome.text.matches("elsewhere.root cannot be opened").count(), 1, "once: {}", outcome.text);
}

#[test]
fn pictures_can_be_read() {
    Session::python(&[&script("pictures.py")]).run().passed();
}

#[test]
fn views_and_jagged_are_sequences_in_python() {
    Session::python(&[&script("sequences.py")]).run().passed();
}

#[test]
fn copies_and_pickles_in_python() {
    Session::python(&[&script("copies.py")]).run().passed();
}

/// Real pandas frames are tried if the benchmark's peers are installed.
#[test]
fn events_in_the_memory_of_python() {
    let peers = source().join(".deps/peers/site-packages").display().to_string();
    Session::python(&[&script("tables.py"), &peers]).run().passed().show("pandas");
}

/// With Dask if it is installed, in `.deps/dask` or the folder that `CLADTORCH_DASK` names.
#[test]
fn frames_of_workers() {
    let folder = std::env::var_os("CLADTORCH_DASK").map_or_else(|| source().join(".deps/dask"), Into::into);
    let outcome = Session::python(&[&script("workers.py"), &folder.display().to_string()]).run().passed();
    outcome.show("skipped");
    outcome.show("the workers");
}

#[test]
fn fits_to_events_in_the_memory_of_python() {
    let peers = source().join(".deps/peers/site-packages").display().to_string();
    Session::python(&[&script("fit_tables.py"), &peers]).run().passed().show("pandas");
}

#[test]
fn objects_are_at_home_in_python() {
    Session::python(&[&script("at_home.py")]).run().passed();
}

#[test]
fn the_stub_has_what_the_headers_have() {
    let generator = source().join("cpp/python/make_stub.py").display().to_string();
    Session::python(&[&generator, "--check"]).run().passed();
}

#[test]
fn files_and_trees_refuse_the_classes() {
    macro_of("streamers.C").passed();
}

#[test]
fn lists_get_a_score_for_each_object_and_variations_their_own() {
    macro_of("object_scores.C").passed();
    macro_of("object_scores.C(true)").passed();
}

#[test]
fn batched_scores_are_those_of_predict() {
    macro_of("batched_scores.C").passed();
}

#[test]
fn evaluations_of_predictions() {
    let outcome = macro_of("evaluation.C").passed();
    outcome.wrote("classifier.pdf").wrote("classes.pdf").wrote("regression.pdf");
}

#[test]
fn scores_of_any_number_of_events() {
    macro_of("write_scores.C").passed();
}
