//! Streams in root.exe and PyROOT: the macros of `tests/root`, each in a session of its own.

use support::session::{Session, script};

#[test]
fn batches_errors_and_training() {
    Session::root(&["-q", &script("stream.C")]).run().passed().show("first batch after");
}

/// `CLADTORCH_STREAM_GB` in the environment requests a chain of another length than 1 GB; 10 take a minute.
#[test]
fn memory_stays_bounded() {
    let gigabytes = std::env::var("CLADTORCH_STREAM_GB").unwrap_or("1".into());
    Session::root(&["-q", &format!("{}({gigabytes})", script("stream_memory.C"))]).run().passed().show("peak memory");
}

#[test]
fn interrupt_ends_the_training_and_the_reading() {
    let outcome = Session::root(&["-q", &format!("{}(true)", script("interrupt.C"))]).run_interrupted_at("epoch 1/");
    outcome.passed().says(&["interrupted after epoch"]);
}

#[test]
fn batches_in_python() {
    Session::python(&[&script("stream.py")]).run().passed();
}
