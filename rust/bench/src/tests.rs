//! The coordinator with workers that are shell scripts: no peer, no network, no time is measured.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::case::{Agreement, Case, Defaults, Group, Volume};
use super::party::Party;
use super::record::{Outcome, Record, Skipped};
use super::{Options, Settled, coordinator, qualities, quality, rates};

/// A record with only its names, on one thread.
pub fn record(case: &str, who: &str) -> Record {
    Record {
        case: case.to_owned(),
        who: who.to_owned(),
        threads: 1,
        median_s: 0.0,
        low_s: 0.0,
        high_s: 0.0,
        floor_s: None,
        rounds: 1,
        first_s: 0.0,
        start_s: None,
        loaded_s: None,
        bytes: None,
        cpu_s: None,
        first_batch_s: None,
        extra_bytes: None,
        quality: None,
        quality_error: None,
        target: None,
        epochs: None,
        exchange_s: None,
        check: 0.0,
        check_before: None,
        check_error: None,
        flag: None,
    }
}

/// Takes as many seconds as the round's number; its check is 0.9 before the first repetition and `$1` after.
const WORKER: &str = r#"
checks=0
while read -r verb rest; do
    case $verb in
        case) echo "noise of a library"; echo "bench ready" ;;
        round) echo "bench time ${rest##*seed=}" ;;
        check) checks=$((checks + 1)); if [ $checks = 1 ]; then echo "bench check 0.9"; else echo "bench check $1"; fi ;;
    esac
done
"#;

const GAUGE: &str = r#"while read -r line; do echo "bench rate 2e9"; done"#;

const LOSS: Agreement = Agreement::Loss { relative: 0.01, absolute: 1e-3 };

fn group(agreement: Agreement) -> Group {
    Group {
        name: "fake",
        title: "",
        notes: "",
        check: "loss",
        agreement,
        means: false,
        patience: None,
        defaults: Defaults::USUAL,
        short: |_| true,
        fresh: false,
        aims: &[],
        cases: |_| Ok(Vec::new()),
        parties: |_, _| Vec::new(),
    }
}

fn case(name: &str) -> Case {
    request(name, format!("name={name}"))
}

fn request(name: &str, request: String) -> Case {
    Case {
        name: name.to_owned(),
        prepare: Box::new(move |_| Ok(request.clone())),
        steps: 1,
        warm_up: 1,
        lead: 0,
        flops: Some(4e9),
        volume: None,
    }
}

fn script(who: &'static str, text: &str, check: &str) -> Party {
    let mut command = Command::new("sh");
    command.args(["-c", text, "sh", check]);
    Party::new(who, 1, Ok(command))
}

fn missing(who: &'static str) -> Party {
    Party::new(who, 1, Err(anyhow::anyhow!("not installed")))
}

fn run(name: &str, agreement: Agreement, cases: &[Case], parties: Vec<Party>) -> Outcome {
    run_group(name, &group(agreement), cases, parties)
}

fn run_group(name: &str, group: &Group, cases: &[Case], parties: Vec<Party>) -> Outcome {
    run_rounds(name, group, cases, parties, 3)
}

fn run_rounds(name: &str, group: &Group, cases: &[Case], parties: Vec<Party>, rounds: u32) -> Outcome {
    let folder = std::env::temp_dir().join(format!("cladtorch-bench-{name}-{}", std::process::id()));
    let outcome = coordinator::run(group, cases, parties, Some(script("gauge", GAUGE, "")), 1, rounds, &folder);
    let left = scratch_left(&folder);
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(left.is_empty(), "{left:?}");
    outcome.unwrap()
}

fn scratch_left(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| !path.ends_with("logs")).collect()
}

fn of<'a>(outcome: &'a Outcome, who: &str) -> &'a Record {
    outcome.records.iter().find(|record| record.who == who).unwrap()
}

#[test]
fn a_record_has_the_median_the_spread_and_the_floor() {
    let outcome = run("spread", LOSS, &[case("one")], vec![script("cladtorch", WORKER, "0.5")]);
    assert_eq!(
        serde_json::to_value(&outcome.records).unwrap(),
        serde_json::json!([{
            "case": "one", "who": "cladtorch", "threads": 1,
            "median_s": 2.0, "low_s": 1.0, "high_s": 3.0, "floor_s": 2.0,
            "rounds": 3, "first_s": 0.0, "check": 0.5, "check_before": 0.9,
        }])
    );
    assert_eq!(outcome.rates, [(1, 2e9)]);
    assert!(outcome.skipped.is_empty());
}

#[test]
fn who_disagrees_is_flagged() {
    let parties = vec![
        script("cladtorch", WORKER, "0.500"),
        script("libtorch", WORKER, "0.501"),
        script("pytorch-eager", WORKER, "0.520"),
    ];
    let outcome = run("flag", LOSS, &[case("one")], parties);
    assert_eq!(of(&outcome, "cladtorch").flag, None);
    assert_eq!(of(&outcome, "libtorch").flag, None);
    let flag = of(&outcome, "pytorch-eager").flag.as_deref();
    assert_eq!(flag, Some("0.52000 differs from the parties' median 0.50100 by more than 0.00501"));
}

#[test]
fn who_does_not_learn_is_flagged() {
    let outcome = run("learn", LOSS, &[case("one")], vec![script("cladtorch", WORKER, "0.9")]);
    assert_eq!(of(&outcome, "cladtorch").flag.as_deref(), Some("the loss did not fall"));
}

#[test]
fn scores_are_compared_within_their_errors() {
    // The script says 0.9, 0.7, 0.7: their spread is the error of the mean.
    let steady = WORKER.replace("0.9", "$1");
    let score = Agreement::Score { absolute: 0.005 };
    for (other, flagged) in [("0.6", false), ("0.1", true)] {
        let parties = ["cladtorch", "libtorch"].map(|who| script(who, WORKER, "0.7"));
        let parties = parties.into_iter().chain([script("uproot", &steady, other)]).collect();
        let outcome = run("score", score, &[case("one")], parties);
        let ours = of(&outcome, "cladtorch");
        assert!((ours.check - 2.3 / 3.0).abs() < 1e-12 && ours.check_before.is_none() && ours.flag.is_none());
        assert!((ours.check_error.unwrap() - 0.2 / 3.0).abs() < 1e-12);
        assert_eq!(of(&outcome, "uproot").flag.is_some(), flagged, "{other}");
    }
}

/// Its first repetition takes no time, the others 1, 2, … s: patience is not exhausted. With 3 s for each it takes
/// three turns.
#[test]
fn a_slow_party_takes_fewer_turns() {
    let slow = WORKER.replace("bench time ${rest##*seed=}", "bench time 3");
    let parties =
        vec![script("cladtorch", &slow, "0.5"), script("uproot", &slow, "0.5"), script("root", WORKER, "0.5")];
    let group = Group { patience: Some(7.0), ..group(LOSS) };
    let outcome = run_rounds("slow", &group, &[case("one")], parties, 9);
    let rounds = ["cladtorch", "uproot", "root"].map(|who| of(&outcome, who).rounds);
    assert_eq!(rounds, [9, 3, 9]);
}

/// Parties that learn alike, one of which takes part in a third of the rounds: they are compared after equal steps.
#[test]
fn losses_are_compared_after_as_many_steps() {
    let learning = |seconds: &str| {
        format!(
            r#"
rounds=0
while read -r verb rest; do
    case $verb in
        case) echo "bench ready" ;;
        round) rounds=$((rounds + 1)); echo "bench time {seconds}" ;;
        check) echo "bench check 0.$((90 - 5 * rounds))" ;;
    esac
done
"#
        )
    };
    let parties = vec![script("cladtorch", &learning("1"), ""), script("uproot", &learning("3"), "")];
    let group = Group { patience: Some(7.0), ..group(LOSS) };
    let outcome = run_rounds("learning", &group, &[case("one")], parties, 9);
    let rounds = ["cladtorch", "uproot"].map(|who| of(&outcome, who).rounds);
    assert_eq!(rounds, [9, 3]);
    assert!(outcome.records.iter().all(|record| record.flag.is_none()), "{:?}", outcome.records);
}

#[test]
fn who_has_nothing_to_do_in_a_case_is_not_missed() {
    let parties = vec![script("cladtorch", WORKER, "0.5"), script("uproot", WORKER, "0.5").only(|case| case == "two")];
    let outcome = run("absent", LOSS, &[case("one"), case("two")], parties);
    let who: Vec<_> = outcome.records.iter().map(|record| (record.case.as_str(), record.who.as_str())).collect();
    assert_eq!(who, [("one", "cladtorch"), ("two", "cladtorch"), ("two", "uproot")]);
    assert!(outcome.skipped.is_empty());
}

#[test]
fn a_missing_peer_is_skipped_by_name() {
    let parties = vec![script("cladtorch", WORKER, "0.5"), missing("libtorch")];
    let outcome = run("missing", LOSS, &[case("one")], parties);
    assert_eq!(outcome.records.len(), 1);
    let skipped = Skipped { who: "libtorch".into(), threads: 1, case: None, reason: "not installed".into() };
    assert_eq!(outcome.skipped, [skipped]);
}

#[test]
fn a_worker_that_dies_is_skipped_with_its_last_words() {
    let dying = "read -r line; echo 'bench ready'; echo boom >&2; exit 3";
    let parties = vec![script("cladtorch", WORKER, "0.5"), script("libtorch", dying, "")];
    let outcome = run("dying", LOSS, &[case("one"), case("two")], parties);
    assert_eq!(outcome.records.len(), 2);
    let cases: Vec<_> = outcome.skipped.iter().map(|skipped| skipped.case.as_deref().unwrap()).collect();
    assert_eq!(cases, ["one", "two"]);
    assert!(outcome.skipped.iter().all(|skipped| skipped.reason.contains("boom")), "{:?}", outcome.skipped);
}

#[test]
fn a_case_that_one_party_cannot_do_leaves_it_in_the_others() {
    let picky = WORKER.replace(
        r#"echo "bench ready""#,
        r#"[ $rest = name=one ] && echo "bench error no such size" || echo "bench ready""#,
    );
    let outcome = run("picky", LOSS, &[case("one"), case("two")], vec![script("cladtorch", &picky, "0.5")]);
    assert_eq!(outcome.records.iter().map(|record| record.case.as_str()).collect::<Vec<_>>(), ["two"]);
    assert_eq!(outcome.skipped[0].reason, "no such size");
}

#[test]
fn an_endless_reason_is_cut_in_the_middle() {
    let talkative = "while read -r line; do printf 'bench error begun '; printf '%09999d' 0; echo ' ended'; done";
    let parties = vec![script("cladtorch", WORKER, "0.5"), script("libtorch", talkative, "")];
    let reason = &run("talkative", LOSS, &[case("one")], parties).skipped[0].reason;
    assert!(reason.starts_with("begun 0") && reason.ends_with("0 ended") && reason.len() < 300, "{reason}");
}

#[test]
fn readers_say_what_they_used_and_have_to_agree_to_the_bit() {
    const RIGHT: &str = "4503599627370497"; // beyond single precision
    let reading = WORKER.replace("bench time ${rest##*seed=}", "bench time 2 cpu=4 memory=1500").replace("0.9", "$1");
    let volume = Volume { raw: 8000, tensor: 900 };
    let cases = [Case { flops: None, volume: Some(volume), ..case("one") }];
    for (other, flagged) in [(RIGHT, false), ("4503599627370498", true)] {
        let checks = [("cladtorch", RIGHT), ("root-bulk", RIGHT), ("uproot", other)];
        let parties = checks.map(|(who, check)| script(who, &reading, check)).into_iter().collect();
        let outcome = run("exact", Agreement::Exact, &cases, parties);
        let ours = of(&outcome, "cladtorch");
        assert_eq!((ours.bytes, ours.cpu_s, ours.extra_bytes), (Some(8000), Some(4.0), Some(600.0)));
        assert_eq!(of(&outcome, "uproot").flag.is_some(), flagged);
        assert!(ours.flag.is_none());
        let text = rates::table(&outcome.records).unwrap().screen();
        assert!(text.contains("one   1    cladtorch"), "{text}");
    }
}

#[test]
fn qualities_are_means_over_the_rounds_with_their_error() {
    let learning = WORKER.replace("bench time ${rest##*seed=}", "bench time 2 quality=0.${rest##*seed=}");
    let outcome = run("quality", Agreement::Exact, &[case("one")], vec![script("cladtorch", &learning, "7")]);
    let ours = of(&outcome, "cladtorch");
    let rounded = |value: Option<f64>| value.map(|value| (value * 1e4).round() / 1e4);
    assert_eq!((rounded(ours.quality), rounded(ours.quality_error)), (Some(0.2), Some(0.0577)));
    let text = qualities::table(&outcome.records).unwrap().screen();
    assert!(text.contains("0.2000  0.0577"), "{text}");
}

/// Each of its processes takes a while to load, and does only one round: it answers a second one with an error.
const FRESH: &str = r#"
sleep 0.2
while read -r verb rest; do
    case $verb in
        case) echo "bench ready" ;;
        round) [ "$taken" ] && echo "bench error a second round" || echo "bench time 0.001 epochs=4"; taken=1 ;;
        check) echo "bench check $1" ;;
    esac
done
"#;

#[test]
fn a_round_from_the_start_is_a_process_of_its_own() {
    let group = Group { fresh: true, ..group(Agreement::Reached) };
    let parties = vec![script("cladtorch", FRESH, "0.01"), script("libtorch", FRESH, "-0.01")];
    let outcome = run_group("fresh", &group, &[request("one", "target=0.4 epochs=9".to_owned())], parties);
    assert!(outcome.skipped.is_empty(), "{:?}", outcome.skipped);
    let ours = of(&outcome, "cladtorch");
    assert_eq!((ours.rounds, ours.epochs, ours.target, ours.flag.as_deref()), (3, Some(4.0), Some(0.4), None));
    assert!(ours.start_s.unwrap() >= 0.2 && ours.median_s >= ours.start_s.unwrap(), "{ours:?}");
    assert!((ours.loaded_s.unwrap() - 0.001).abs() < 1e-9, "{ours:?}");
    assert_eq!(of(&outcome, "libtorch").flag.as_deref(), Some("the target was not reached"));
}

#[test]
fn the_command_line_goes_before_the_defaults_of_a_group() {
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }
    let settled = |words: &[&str]| {
        let line = <Line as clap::Parser>::try_parse_from(words).unwrap();
        let Settled { rounds, threads } = line.options.settled(&quality::GROUP);
        (rounds, threads)
    };
    assert_eq!(settled(&["bench", "quality", "--out", "folder"]), (10, vec![1]));
    let given = ["bench", "quality", "--out", "folder", "--rounds", "3", "--threads", "1,2"];
    assert_eq!(settled(&given), (3, vec![1, 2]));
}
