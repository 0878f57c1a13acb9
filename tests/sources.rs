//! Every kind of source and column through ROOT's reader: the macros of `tests/root`, each in a session of its own.

use support::session::{Session, script};

fn passes(name: &str) {
    Session::root(&["-q", &script(name)]).run().passed();
}

#[test]
fn friends_entry_lists_and_variations() {
    passes("sources.C");
}

#[test]
fn chains_whose_files_differ() {
    passes("chains.C");
}

#[test]
fn chains_whose_files_differ_with_threads() {
    passes("chains.C(true)");
}

#[test]
fn members_lists_of_lists_masks_and_expressions() {
    passes("expressions.C");
}

#[test]
fn tensors_of_other_types_jagged_ones_and_balance() {
    passes("tensors.C");
}

#[test]
fn tensors_in_python() {
    Session::python(&[&script("tensors.py")]).run().passed();
}

#[test]
fn several_targets() {
    passes("targets.C");
}

#[test]
fn several_targets_with_threads() {
    passes("targets.C(2)");
}

#[test]
fn several_targets_in_python() {
    Session::python(&[&script("targets.py")]).run().passed();
}

#[test]
fn options_of_fits_in_python() {
    Session::python(&[&script("fit_options.py")]).run().passed();
}

#[test]
fn fits_are_watched_in_python() {
    Session::python(&[&script("watching.py")]).run().passed();
}

#[test]
fn tensors_back_to_root() {
    passes("back_to_root.C");
}

#[test]
fn files_that_fail_under_a_reader_and_a_full_disk() {
    passes("failing_files.C");
}
