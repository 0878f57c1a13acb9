//! `root_macros/gw_classify.C` and its PyROOT twin on small samples: the area under the ROC curve stays under the exact
//! bound and over a floor, the twins agree, and planted errors are caught by the same checks.

// Part of what it offers is for `root.rs` only.
#[allow(dead_code)]
#[path = "common/session.rs"]
mod session;

use session::{Outcome, Session, script, source};

/// Windows to train on, a third of the macro's own number; two thirds as many to test on.
const WINDOWS: u32 = 20_000;
/// The least area that this little data has to give at SNR 2, 3, 4 and 6: about five standard errors below what it
/// gives.
const FLOORS: [f64; 4] = [0.76, 0.915, 0.975, 0.999];

/// A line of the printed table.
#[derive(Debug)]
struct Row {
    snr: f64,
    auc: f64,
    error: f64,
    bound: f64,
}

/// The lines "SNR AUC +- error bound ..." of a printed table.
fn table(output: &str) -> Vec<Row> {
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.get(2) != Some(&"+-") {
            return None;
        }
        let number = |i: usize| words[i].parse().unwrap_or_else(|_| panic!("'{}' is no number: {line}", words[i]));
        Some(Row { snr: number(0), auc: number(1), error: number(3), bound: number(4) })
    };
    output.lines().filter_map(row).collect()
}

/// Says which area lies over its bound by more than three errors, or under its floor.
fn verdict(rows: &[Row]) -> Result<(), String> {
    assert_eq!(rows.iter().map(|r| r.snr).collect::<Vec<_>>(), [2.0, 3.0, 4.0, 6.0], "{rows:?}");
    for (row, floor) in rows.iter().zip(FLOORS) {
        assert!((1e-6..0.02).contains(&row.error), "{row:?}");
        if row.auc > row.bound + 3.0 * row.error {
            return Err(format!("over the bound: {row:?}"));
        }
        if row.auc < floor {
            return Err(format!("under the floor {floor}: {row:?}"));
        }
    }
    Ok(())
}

/// What a macro printed, and a check that it ended well and left picture, document, data and model.
fn finished(outcome: Outcome) -> Vec<Row> {
    assert_eq!(outcome.code, Some(0), "{}", outcome.text);
    let outcome = ["gw.png", "gw.pdf", "gw.root", "gw.ct"]
        .into_iter()
        .fold(outcome, |outcome, file| outcome.wrote(&format!("gw_classify_out/{file}")));
    table(&outcome.text)
}

fn macro_of(waveform: &str) -> Vec<Row> {
    let file = source().join("root_macros/gw_classify.C").display().to_string();
    let call = format!(r#"{file}("gw_classify_out", "{waveform}", {WINDOWS})"#);
    finished(Session::root(&["-q", &call]).run())
}

#[test]
fn twins_reach_the_floor_and_keep_under_the_bound() {
    let rows = macro_of("chirp");
    verdict(&rows).unwrap();

    let script = source().join("root_macros/gw_classify.py").display().to_string();
    let twin = finished(Session::python(&[&script, "gw_classify_out", "chirp", &WINDOWS.to_string()]).run());
    verdict(&twin).unwrap();
    for (ours, theirs) in rows.iter().zip(&twin) {
        assert!((ours.auc - theirs.auc).abs() < 0.1 * ours.error, "{ours:?} in C++, {theirs:?} in Python");
    }
}

#[test]
fn bursts_are_found_too() {
    verdict(&macro_of("sine-gaussian")).unwrap();
}

#[test]
fn planted_errors_are_caught() {
    let outcome = Session::root(&["-q", &format!("{}({WINDOWS})", script("gw_planted.C"))]).run();
    let (shuffled, loud) = outcome.text.split_once("signals louder than written").expect("two tables");

    let rows = table(shuffled);
    assert!(verdict(&rows).unwrap_err().starts_with("under the floor"), "{rows:?}");
    // Loud signals move a network without sense in a direction of its own: only the faint ones give one half.
    assert!((rows[0].auc - 0.5).abs() < 0.1, "labels without meaning give an area of {rows:?}");

    let rows = table(loud);
    assert!(verdict(&rows).unwrap_err().starts_with("over the bound"), "{rows:?}");
}

#[test]
fn numbers_and_errors_of_the_signal_functions_arrive() {
    Session::root(&["-q", &script("signal.C")]).run().passed();
}
