//! The gravitational-wave macros of `root_macros/` and their PyROOT twins on small samples. `gw_classify`: the area
//! under the ROC curve stays below the exact bound and above a floor, the twins agree, and the same checks catch
//! planted errors. `gw_search`: filter and likelihood ratio reach the values of an independent program, and no network
//! beats it. `gw_parameters`: the Fisher matrix equals the closed form, and errors have the stated width.
//! `gw_real_noise`: GW150914 is found where it was published.

use support::checkout::source;
use support::say;
use support::session::{Outcome, Session, script};

/// Windows to train on, a third of the macro's own number; two thirds as many to test on.
const WINDOWS: u32 = 20_000;
/// The least area required from this little data at SNR 2, 3, 4 and 6: about five standard errors below the typical
/// value.
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

/// Reports which area is above its bound by more than three errors, or below its floor.
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

/// The output of a macro, and a check that it ended well and left picture, document, data and model.
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
    // Loud signals push a meaningless network in one direction: only the faint ones give one half.
    assert!((rows[0].auc - 0.5).abs() < 0.1, "labels without meaning give an area of {rows:?}");

    let rows = table(loud);
    assert!(verdict(&rows).unwrap_err().starts_with("over the bound"), "{rows:?}");
}

/// The number that follows `words` in a macro's output.
fn number_after(text: &str, words: &str) -> f64 {
    let (_, rest) = text.split_once(words).unwrap_or_else(|| panic!("{words:?} is missing in:\n{text}"));
    let number = rest.trim_start().split(|c: char| c.is_whitespace() || c == ',').next().unwrap_or_default();
    number.parse().unwrap_or_else(|_| panic!("'{number}' after {words:?} is no number:\n{text}"))
}

/// The lines with figures, except that of the speed.
fn figures(text: &str) -> Vec<&str> {
    let is_figure = |line: &&str| ["Fisher", "   ", "chirp mass", "pulls"].iter().any(|start| line.starts_with(start));
    text.lines().filter(is_figure).collect()
}

#[test]
fn parameters_have_the_errors_that_the_fisher_matrix_and_the_network_say() {
    let windows = 2500;
    let finished = |session: Session| {
        let outcome = session.run();
        assert_eq!(outcome.code, Some(0), "{}", outcome.text);
        outcome.wrote("out/gw_parameters.png").wrote("out/gw_parameters.pdf")
    };
    let file = |ending: &str| source().join(format!("root_macros/gw_parameters.{ending}")).display().to_string();
    let outcome = finished(Session::root(&["-q", &format!(r#"{}("out", {windows})"#, file("C"))]));
    outcome.show("likelihoods and gradients a second");
    let text = &outcome.text;
    assert!(number_after(text, "Fisher matrix: within") < 1e-8, "{text}");
    assert!(text.contains("a second by 'aot'"), "{text}");
    for name in ["amplitude", "arrival [s]", "phase [rad]", "frequency [Hz]", "width [s]"] {
        // Of 400 fits: the width has a standard error of 1/sqrt(800), the mean 1/20, to which a bias of order 1/SNR is
        // added.
        let pulls = format!("pulls, Likelihood: {name}: mean");
        assert!(number_after(text, &pulls).abs() < 0.3, "{name}: {text}");
        let (_, of_name) = text.split_once(&pulls).unwrap();
        assert!((number_after(of_name, "width") - 1.0).abs() < 0.15, "{name}: {text}");
    }
    // Of 750 windows, with the error of what the network learned from 1750.
    assert!((number_after(text, "solar masses,") - 68.3).abs() < 7.0, "{text}");
    assert!((0.5..2.0).contains(&number_after(text, "RMSE")), "{text}");

    let twin = finished(Session::python(&[&file("py"), "out", &windows.to_string()]));
    assert_eq!(figures(text), figures(&twin.text));
}

/// The data are published, but not part of this project.
#[test]
fn gw150914_is_found_in_published_strain() {
    let missing = Session::python(&[&source().join("root_macros/gw_real_noise.py").display().to_string()]).run();
    assert!(missing.code == Some(1) && missing.text.contains("get the data of GW150914 from"), "{}", missing.text);
    let data = source().join("../shared/data/gw150914");
    if !data.is_dir() {
        return say::not_tested(&format!("GW150914 in published strain: there is no {}", data.display()));
    }
    let data = data.display().to_string();
    let file = |ending: &str| source().join(format!("root_macros/gw_real_noise.{ending}")).display().to_string();
    let outcome = Session::root(&["-q", &format!(r#"{}("out", "{data}")"#, file("C"))]).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.text);
    let outcome = outcome.wrote("out/gw_real_noise.png").wrote("out/gw_real_noise.pdf");
    let text = &outcome.text;
    for (detector, snr, gps) in [("H1", 18.56, 1126259462.4395), ("L1", 13.21, 1126259462.4324)] {
        let words = format!("{detector}, template of the tutorial: SNR");
        assert!((number_after(text, &words) - snr).abs() < 0.1, "{text}");
        let (_, of_detector) = text.split_once(&words).unwrap();
        assert!((number_after(of_detector, "at GPS") - gps).abs() < 1e-3, "{text}");
        // A model of the same source by other authors: their overlap is above 0.97.
        assert!(number_after(text, &format!("{detector}, IMRPhenomD: SNR")) > 0.97 * snr, "{text}");
    }
    let twin = Session::python(&[&file("py"), "out", &data]).run();
    assert_eq!(twin.code, Some(0), "{}", twin.text);
    let found = |text: &str| text.lines().filter(|line| line.contains("SNR")).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(found(text), found(&twin.text));
    assert_eq!(found(text).len(), 5, "{text}");
}

#[test]
fn injections_have_the_distributions_of_their_recipes() {
    Session::root(&["-q", &script("gw_injections.C")]).run().passed();
}

/// A line of gw_search's table: the area with its error, and the efficiencies with their binomial errors.
fn reach(text: &str, name: &str) -> Vec<[f64; 2]> {
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no '{name}' in:\n{text}"));
    let numbers: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert!(numbers.len() == 8, "{line}");
    numbers.chunks(2).map(|pair| [pair[0], pair[1]]).collect()
}

/// One chirp of known masses in one detector at SNR 4.5, with an arrival uniform over 0.2 s.
#[test]
fn a_search_reaches_its_bound_and_no_network_beats_it() {
    let noise = 54_000.0;
    let file = |ending: &str| source().join(format!("root_macros/gw_search.{ending}")).display().to_string();
    let outcome = Session::root(&["-q", &format!(r#"{}("out", 8, 8000, {noise}, true)"#, file("C"))]).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.text);
    let outcome = outcome.wrote("out/gw_search.ct");
    let text = &outcome.text;

    // By another program, from 3e6 windows of noise and 2e5 signals: the areas, and the efficiencies of the likelihood
    // ratio at false-alarm probabilities of 1e-2 and 1e-3, with errors of 0.0003, 0.002 and 0.004.
    let [likelihood, filter] = ["Likelihood ratio", "Matched filter"].map(|name| reach(text, name));
    for ([area, error], expected) in [(likelihood[0], 0.9699), (filter[0], 0.9693)] {
        assert!((1e-4..0.003).contains(&error) && (area - expected).abs() < 3.0 * error.hypot(0.0003), "{text}");
    }
    for (i, alarm, expected, known) in [(2, 1e-2, 0.741, 0.002), (3, 1e-3, 0.528, 0.004)] {
        let [value, binomial] = likelihood[i];
        // A false-alarm probability ten times as large gives 0.2 more: so the error of the threshold counts.
        let threshold: f64 = 0.2 / f64::ln(10.0) / f64::sqrt(alarm * noise);
        assert!((value - expected).abs() < 3.0 * binomial.hypot(threshold).hypot(known), "{value} at {alarm}:\n{text}");
    }

    // The floors are the results of so little training, less five standard errors.
    for (name, floor) in [("Convolutional", 0.95), ("Perceptron", 0.958)] {
        let [area, error] = reach(text, name)[0];
        assert!(area > floor && area < 0.9699 + 3.0 * error.hypot(0.0003), "{name}:\n{text}");
    }

    let twin = Session::python(&[&file("py"), "out", "8", "8000", &noise.to_string(), "quick"]).run();
    assert_eq!(twin.code, Some(0), "{}", twin.text);
    for name in ["Likelihood ratio", "Matched filter", "Convolutional", "Perceptron"] {
        assert_eq!(reach(text, name), reach(&twin.text, name), "{name}");
    }
}

#[test]
fn numbers_and_errors_of_the_signal_functions_arrive() {
    Session::root(&["-q", &script("signal.C")]).run().passed();
}

#[test]
fn networks_slide_over_series() {
    Session::root(&["-q", &script("network_filter.C")]).run().passed();
    Session::python(&[&script("network_filter.py")]).run().passed();
}

#[test]
fn blocks_are_scored_as_they_arrive() {
    Session::root(&["-q", &script("online.C")]).run().passed();
}

/// Of the last 8 s and a window of 1 s, a score for each block.
#[test]
fn online_searches_read_simulated_and_served_strain() {
    let file = source().join("root_macros/gw_online.py").display().to_string();
    let simulated = Session::python(&[&file, "none", "12"]).run();
    assert_eq!(simulated.code, Some(0), "{}", simulated.text);
    simulated.show("from block to score");
    // The memory is full with block 128, and a window with block 143 of 192.
    assert!(simulated.text.contains("50 scores, the largest "), "{}", simulated.text);
    let served = Session::python(&[&script("online_arrakis.py"), &file]).run().passed();
    served.show("from block to score");
    if !served.text.contains(say::NOT_TESTED) {
        assert!(served.text.contains(" scores, the largest "), "{}", served.text);
    }
    let short = Session::python(&[&file, "none", "5"]).run();
    assert!(
        short.code == Some(1)
            && short.text.contains("no scores: memory and window fill")
            && short.text.contains("they take 9 s"),
        "{}",
        short.text
    );
}

/// A network that has hardly learned detects more with more false alarms, and its twin the same from the same file.
#[test]
fn a_continuous_search_finds_what_was_injected() {
    let file = |ending: &str| source().join(format!("root_macros/gw_continuous.{ending}")).display().to_string();
    let outcome = Session::root(&["-q", &format!(r#"{}("out", 2, 1, "", 4, 4000)"#, file("C"))]).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.text);
    let outcome = ["png", "pdf", "ct", "root"]
        .into_iter()
        .fold(outcome, |outcome, ending| outcome.wrote(&format!("out/gw_continuous.{ending}")))
        .wrote("out/foreground.hdf")
        .wrote("out/background.hdf");
    outcome.show("searched in");
    let text = &outcome.text;
    assert!(!text.contains("window by window"), "{text}");
    // Two stretches, and the background once more with a slide.
    assert!(text.contains("2048 s with ") && text.contains(" signals and 4096 s of noise searched"), "{text}");
    let rows = sensitivities(text);
    assert!(rows.len() >= 4, "{text}");
    for pair in rows.windows(2) {
        assert!(pair[0][0] < pair[1][0] && pair[0][1] >= pair[1][1] && pair[0][2] <= pair[1][2], "{text}");
    }
    // The nearest and heaviest signals are loud for any network.
    let [_, _, share, distance] = rows[rows.len() - 1];
    assert!((0.05..1.0).contains(&share) && (300.0..4000.0).contains(&distance), "{text}");

    let network = outcome.path("out/gw_continuous.ct").display().to_string();
    let twin = Session::python(&[&file("py"), "out", "2", "1", &network]).run();
    assert_eq!(twin.code, Some(0), "{}", twin.text);
    assert_eq!(sensitivities(text), sensitivities(&twin.text));
}

/// The lines of gw_continuous's table: false alarms a month, threshold, share of the signals found, sensitive distance.
fn sensitivities(text: &str) -> Vec<[f64; 4]> {
    let (_, table) = text.split_once("sensitive distance [Mpc]\n").unwrap_or_else(|| panic!("no table in:\n{text}"));
    let row = |line: &str| {
        let numbers: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        (numbers.len() == 6).then(|| [numbers[0], numbers[1], numbers[2], numbers[4]])
    };
    table.lines().map_while(row).collect()
}
