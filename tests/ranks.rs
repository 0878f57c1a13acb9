//! One fit by several processes that MPI starts, with every installed implementation.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{env, fs, thread};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use support::aclic::Library;
use support::launchers::{ALLOWANCES, launchers};
use support::say::{is_complete, not_tested, say};
use support::session::{Outcome, Session};

/// Runs `test` with every launcher; reports what was left out if there is none.
fn with_each(test: impl Fn(&Job)) {
    let launchers = launchers();
    if launchers.is_empty() {
        return not_tested("jobs of several processes: there is no mpirun (Debian: openmpi-bin or mpich)");
    }
    launchers.iter().for_each(|launcher| test(&Job { launcher }));
}

/// Runs `test` with one of them, in turn, to save time: its subject does not depend on the sender of the messages. With
/// every launcher if everything is tested.
fn with_one(turn: usize, test: impl Fn(&Job)) {
    let launchers = launchers();
    if launchers.is_empty() || is_complete() {
        return with_each(test);
    }
    test(&Job { launcher: &launchers[turn % launchers.len()] });
}

/// Numbers of processes: one to save time, or all if everything is tested.
fn numbers_of_processes() -> &'static [usize] {
    if is_complete() { &[2, 3, 4] } else { &[3] }
}

/// Runs `call` on the code of `ranks.C`, which is compiled once.
fn macro_session(call: &str) -> Session {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    let declaration = "void ranks(const char *given = \"fit\", int threads = 1);";
    let compiled = || Library::without_dictionary("ranks", env!("CARGO_TARGET_TMPDIR"), declaration);
    LIBRARY.get_or_init(compiled).session(call)
}

/// Calls one after the other: each session compiles expressions once for all of its calls.
fn calls(cases: &[&str]) -> String {
    cases.iter().map(|case| format!("ranks(\"{case}\");")).collect()
}

struct Job<'a> {
    launcher: &'a Path,
}

impl Job<'_> {
    /// `call` of a macro by `processes` processes, in `folder`.
    fn run(&self, processes: usize, call: &str, folder: &Path) -> Outcome {
        let count = processes.to_string();
        let session = macro_session(call);
        let session = session.behind(&self.launcher.display().to_string(), &["-n", &count]).within(folder);
        ALLOWANCES.iter().fold(session, |session, name| session.with(name, Path::new("1"))).run()
    }

    fn name(&self) -> String {
        self.launcher.display().to_string()
    }
}

/// The texts that the ranks printed after `label`, in any order.
fn said(outcome: &Outcome, label: &str) -> Vec<String> {
    let lines = outcome.text.lines().filter_map(|line| line.split_once(label));
    lines.map(|(_, rest)| rest.trim().to_owned()).collect()
}

fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace().map(|word| word.parse().unwrap_or_else(|_| panic!("\"{word}\" in \"{text}\""))).collect()
}

fn near(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    !a.is_empty() && a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance * b.abs().max(1.0))
}

#[test]
fn a_fit_by_several_processes_is_that_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let alone = macro_session("ranks()").within(folder.path()).run();
    assert_eq!(alone.code, Some(0), "{}", alone.text);
    let [losses, scores] = ["losses:", "scores:"].map(|label| said(&alone, label));
    assert_eq!([losses.len(), scores.len()], [1, 1], "{}", alone.text);
    with_each(|job| {
        for &processes in numbers_of_processes() {
            // With another number of threads the same bits.
            let outcome = job.run(processes, "ranks();ranks(\"fit\",2)", folder.path());
            assert_eq!(outcome.code, Some(0), "{} -n {processes}: {}", job.name(), outcome.text);
            let bits = said(&outcome, "bits:");
            assert_eq!(bits.len(), 2 * processes, "{}", outcome.text);
            assert!(bits.iter().all(|of_rank| *of_rank == bits[0]), "the ranks' models differ: {bits:?}");
            for (label, alone) in [("losses:", &losses), ("scores:", &scores)] {
                let found = &said(&outcome, &format!("fit,1 {label}"))[..];
                let [found] = found else { panic!("one rank prints: {}", outcome.text) };
                assert!(near(&numbers(found), &numbers(&alone[0]), 2e-4), "{label} {found} instead of {}", alone[0]);
            }
        }
    });
}

#[test]
fn a_fit_goes_on_with_another_number_of_processes() {
    with_one(0, |job| {
        let folder = tempfile::tempdir().unwrap();
        let begun = job.run(3, "ranks(\"begin\")", folder.path());
        assert_eq!(begun.code, Some(0), "{}", begun.text);
        assert!(folder.path().join("ranks.ckpt").exists());
        let ended = job.run(2, "ranks(\"resume\")", folder.path());
        assert_eq!(ended.code, Some(0), "{}", ended.text);
        let whole = job.run(2, "ranks()", folder.path());
        let [found, whole] = [&ended, &whole].map(|outcome| numbers(&said(outcome, "scores:")[0]));
        assert!(near(&found, &whole, 2e-4), "{found:?} instead of {whole:?}");
    });
}

#[test]
fn a_rank_that_cannot_go_on_ends_the_job_by_name() {
    let cases = [
        ("throws", "rank 1 of 3"),
        ("leaves", "rank 1 of 3 has ended"),
        ("other_events", "the events differ between rank 1 and rank 0"),
        ("other_validation", "the validation events differ between rank 1 and rank 0"),
        ("silent", "rank 1 of 3 has sent nothing for 2 s"),
        ("batch_norm", "batch normalisation"),
        ("damaged", "rank 1 of 3: "),
        ("damaged", "events_1.root"),
        ("several", "several fits at once with fParallel = kMpi"),
    ];
    with_one(1, |job| {
        for (case, message) in cases {
            let folder = tempfile::tempdir().unwrap();
            let outcome = job.run(3, &format!("ranks(\"{case}\")"), folder.path());
            assert!(outcome.text.contains(message), "{} {case}: {}", job.name(), outcome.text);
            assert_ne!(outcome.code, Some(0), "{} {case}: {}", job.name(), outcome.text);
            assert!(said(&outcome, "bits:").is_empty(), "{case}: a model came of it: {}", outcome.text);
        }
    });
}

/// Each rank reads its part of a stream: with one step per epoch the fit is that of one process, and shorter parts
/// leave all ranks the same model.
#[test]
fn a_stream_is_shared_by_the_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let alone = macro_session(&calls(&["stream_whole", "stream"])).within(folder.path()).run();
    assert_eq!(alone.code, Some(0), "{}", alone.text);
    with_one(0, |job| {
        for &processes in numbers_of_processes() {
            let call = calls(&["stream_whole", "stream"]) + "ranks(\"stream\",2)";
            let outcome = job.run(processes, &call, folder.path());
            assert_eq!(outcome.code, Some(0), "{} -n {processes}: {}", job.name(), outcome.text);
            for label in ["losses:", "scores:", "auc:"] {
                let of_both =
                    [&outcome, &alone].map(|outcome| said(outcome, &format!("stream_whole,1 {label}")).concat());
                let [found, wanted] = of_both;
                assert!(near(&numbers(&found), &numbers(&wanted), 2e-4), "{label} {found} instead of {wanted}");
            }
            let [bits, again] = [1, 2].map(|threads| said(&outcome, &format!("stream,{threads} bits:")));
            assert!(bits.len() == processes && bits.iter().all(|of_rank| *of_rank == bits[0]), "{}", outcome.text);
            assert_eq!(again, bits, "with another number of threads");
            let [found, wanted] =
                [&outcome, &alone].map(|outcome| numbers(&said(outcome, "stream,1 losses:").concat()));
            // Other events make up its batches.
            assert!(near(&found, &wanted, 0.05), "{found:?} instead of about {wanted:?}");
        }
        let outcome = job.run(4, "ranks(\"stream_few\")", folder.path());
        let bits = said(&outcome, "bits:");
        assert!(bits.len() == 4 && bits.iter().all(|of_rank| *of_rank == bits[0]), "{}", outcome.text);
    });
}

/// Each rank has a part of a dataset, and the fit is that of the whole dataset.
#[test]
fn a_dataset_is_sharded() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        "shards",
        "shards_few",
        "shards_validated",
        "shards_memory",
        "shards_own",
        "shards_weighted",
        "shards_targets",
    ];
    let alone = macro_session(&calls(&cases)).within(folder.path()).run();
    assert_eq!(alone.code, Some(0), "{}", alone.text);
    let results = |outcome: &Outcome, call: &str| {
        ["losses:", "scores:", "auc:"].map(|label| numbers(&said(outcome, &format!("{call} {label}")).concat()))
    };
    // Of a call with the results of `case` alone; returns the bits of the model.
    let agrees = |outcome: &Outcome, processes: usize, call: &str, case: &str| {
        assert_eq!(outcome.code, Some(0), "{}", outcome.text);
        let bits = said(outcome, &format!("{call} bits:"));
        assert!(bits.len() == processes && bits.iter().all(|of_rank| *of_rank == bits[0]), "{call}: {}", outcome.text);
        let (found, wanted) = (results(outcome, call), results(&alone, &format!("{case},1")));
        for (found, wanted) in found.iter().zip(&wanted) {
            assert!(near(found, wanted, 2e-4), "{call}: {found:?} instead of {wanted:?}: {}", outcome.text);
        }
        bits[0].clone()
    };
    with_one(1, |job| {
        let three =
            calls(&["shards", "shards_validated", "shards_own"]) + "ranks(\"shards\",2);ranks(\"shards_begin\")";
        let three = job.run(3, &three, folder.path());
        let bits = agrees(&three, 3, "shards,1", "shards");
        assert_eq!(agrees(&three, 3, "shards,2", "shards"), bits, "with more threads");
        agrees(&three, 3, "shards_validated,1", "shards_validated");
        agrees(&three, 3, "shards_own,1", "shards_own");
        let four = job.run(4, &calls(&["shards_few"]), folder.path());
        agrees(&four, 4, "shards_few,1", "shards_few");
        let pairs = ["shards_memory", "shards_weighted", "shards_targets"];
        let two = job.run(2, &(calls(&pairs) + "ranks(\"shards_resume\")"), folder.path());
        pairs.iter().for_each(|case| _ = agrees(&two, 2, &format!("{case},1"), case));
        agrees(&two, 2, "shards_resume,1", "shards");
    });
    // Checks that do not depend on the sender of the messages.
    if let Some(launcher) = launchers().first() {
        for (case, message) in [
            ("shards_mixed", "the shardings of the events differ"),
            ("shards_sources", "the numbers of sources differ"),
            ("shards_alone", "a fit without fParallel = kMpi to events of which each process holds a part"),
            ("shards_none", "has no events on any rank; check its cut"),
            ("shards_kinds", "kinds of sharding of source 1"),
            ("shards_cuts", "labels, weights or kinds of sharding of source 1"),
            ("shards_labels", "the columns or targets differ"),
            ("shards_columns", "the columns or targets differ"),
            ("shards_entries", "the entries, clusters, cuts"),
            ("shards_balanced", "Balance of events of which each process holds a part; give FitOptions::fClassWeights"),
        ] {
            let outcome = Job { launcher }.run(2, &format!("ranks(\"{case}\")"), folder.path());
            assert!(outcome.text.contains(message) && outcome.code != Some(0), "{case}: {}", outcome.text);
        }
    }
}

/// A callback that only rank 0 has ends the fit on all ranks.
#[test]
fn one_rank_may_end_the_fit() {
    with_one(0, |job| {
        let folder = tempfile::tempdir().unwrap();
        let outcome = job.run(3, "ranks(\"one_callback\")", folder.path());
        assert_eq!(outcome.code, Some(0), "{}: {}", job.name(), outcome.text);
        let bits = said(&outcome, "bits:");
        assert!(bits.len() == 3 && bits.iter().all(|of_rank| *of_rank == bits[0]), "{bits:?}");
        assert_eq!(numbers(&said(&outcome, "losses:")[0]).len(), 2, "{}", outcome.text);
    });
}

/// A killed process takes the others with it: the launcher ensures that.
#[test]
fn a_rank_that_is_killed_ends_the_job() {
    with_each(|job| {
        let folder = tempfile::tempdir().unwrap();
        let outcome = job.run(3, "ranks(\"killed\")", folder.path());
        assert_ne!(outcome.code, Some(0), "{}", outcome.text);
        assert!(said(&outcome, "bits:").is_empty(), "{}", outcome.text);
    });
}

/// Ends the process whose number a rank has written into `folder`, some time after the first checkpoint, unless all
/// have ended.
fn kill_later(folder: &Path, rank: usize, after: Duration, has_ended: &AtomicBool) {
    while !folder.join("long.ckpt").exists() {
        if has_ended.load(Ordering::Relaxed) {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    thread::sleep(after);
    let number = fs::read_to_string(folder.join(format!("pid_{rank}"))).unwrap();
    assert!(
        Command::new("kill").args(["-9", number.trim()]).status().unwrap().success(),
        "there is no process {number}"
    );
}

/// Ranks that are killed at random: the job ends, its launcher reports it (Open MPI's names the rank; MPICH's names a
/// process, which may be one that it ended itself as a result), and another number of ranks continues from the
/// checkpoint to the same end. `CLADTORCH_RANK_KILLS` in the environment requests another number than 3.
#[test]
fn a_job_goes_on_after_any_rank_was_killed() {
    let kills: usize = env::var("CLADTORCH_RANK_KILLS").map_or(3, |text| text.parse().expect("a number"));
    let mut generator = ChaCha8Rng::seed_from_u64(kills as u64);
    let launchers = launchers();
    if launchers.is_empty() {
        return not_tested("ranks that are killed: there is no mpirun (Debian: openmpi-bin or mpich)");
    }
    let reference = tempfile::tempdir().unwrap();
    let whole = macro_session("ranks(\"whole_long\")").within(reference.path()).run();
    let wanted = numbers(&said(&whole, "losses:").concat());
    assert_eq!(wanted.len(), 40, "{}", whole.text);
    for kill in 0..kills {
        let job = Job { launcher: &launchers[kill % launchers.len()] };
        let folder = tempfile::tempdir().unwrap();
        let (rank, after) = (generator.random_range(0..3), Duration::from_millis(generator.random_range(0..1000)));
        let has_ended = AtomicBool::new(false);
        let ended = thread::scope(|scope| {
            let killer = scope.spawn(|| kill_later(folder.path(), rank, after, &has_ended));
            let ended = job.run(3, "ranks(\"long\")", folder.path());
            has_ended.store(true, Ordering::Relaxed);
            killer.join().unwrap();
            ended
        });
        let case = format!("{}, rank {rank} after {after:?}: {}", job.name(), ended.text);
        assert!(ended.code != Some(0) && said(&ended, "bits:").is_empty(), "{case}");
        let names = [format!("rank {rank} "), "PID ".to_owned()];
        assert!(names.iter().any(|name| ended.text.contains(name)), "nobody names the rank: {case}");
        let resumed = job.run(1 + kill % 4, "ranks(\"resume_long\")", folder.path());
        assert_eq!(resumed.code, Some(0), "{case}{}", resumed.text);
        let found = numbers(&said(&resumed, "losses:").concat());
        assert!(near(&found, &wanted, 2e-3), "{case}{found:?} instead of {wanted:?}");
    }
    say(&format!("{kills} ranks were killed, and all fits went on"));
}

#[test]
fn a_job_without_its_library_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("none.so"), "no library").unwrap();
    let session = macro_session("ranks()").with("PMI_RANK", Path::new("0"));
    let outcome = session.with("CLADTORCH_MPI", &folder.path().join("none.so")).run();
    assert!(outcome.text.contains("MPI cannot be used") && outcome.text.contains("CLADTORCH_MPI"), "{}", outcome.text);
}
