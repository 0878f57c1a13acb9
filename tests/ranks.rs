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

/// Runs `call` on the code of `ranks.C`, which ACLiC compiles once.
fn macro_session(call: &str) -> Session {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| Library::new("ranks", env!("CARGO_TARGET_TMPDIR"))).session(call)
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
            let outcome = job.run(processes, "ranks()", folder.path());
            assert_eq!(outcome.code, Some(0), "{} -n {processes}: {}", job.name(), outcome.text);
            let bits = said(&outcome, "bits:");
            assert_eq!(bits.len(), processes, "{}", outcome.text);
            assert!(bits.iter().all(|of_rank| *of_rank == bits[0]), "the ranks' models differ: {bits:?}");
            for (label, alone) in [("losses:", &losses), ("scores:", &scores)] {
                let [found] = &said(&outcome, label)[..] else { panic!("one rank prints: {}", outcome.text) };
                assert!(near(&numbers(found), &numbers(&alone[0]), 2e-4), "{label} {found} instead of {}", alone[0]);
            }
            // With another number of threads the same bits.
            let again = job.run(processes, "ranks(\"fit\",2)", folder.path());
            assert_eq!(said(&again, "bits:")[0], bits[0], "{}", again.text);
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
    let alone = macro_session("ranks(\"stream_whole\")").within(folder.path()).run();
    let begun = macro_session("ranks(\"stream\")").within(folder.path()).run();
    assert_eq!([alone.code, begun.code], [Some(0), Some(0)], "{}{}", alone.text, begun.text);
    with_one(0, |job| {
        for &processes in numbers_of_processes() {
            let outcome = job.run(processes, "ranks(\"stream_whole\")", folder.path());
            assert_eq!(outcome.code, Some(0), "{} -n {processes}: {}", job.name(), outcome.text);
            for label in ["losses:", "scores:", "auc:"] {
                let [found, wanted] = [&outcome, &alone].map(|outcome| said(outcome, label).concat());
                assert!(near(&numbers(&found), &numbers(&wanted), 2e-4), "{label} {found} instead of {wanted}");
            }
            let [once, again] = [1, 2].map(|threads| {
                let outcome = job.run(processes, &format!("ranks(\"stream\",{threads})"), folder.path());
                assert_eq!(outcome.code, Some(0), "{} -n {processes}: {}", job.name(), outcome.text);
                outcome
            });
            let bits = said(&once, "bits:");
            assert!(bits.len() == processes && bits.iter().all(|of_rank| *of_rank == bits[0]), "{}", once.text);
            assert_eq!(said(&again, "bits:"), bits, "with another number of threads");
            let [found, wanted] = [&once, &begun].map(|outcome| numbers(&said(outcome, "losses:").concat()));
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
    let wanted = |call: &str| {
        let alone = macro_session(call).within(folder.path()).run();
        assert_eq!(alone.code, Some(0), "{}", alone.text);
        ["losses:", "scores:", "auc:"].map(|label| numbers(&said(&alone, label).concat()))
    };
    let agrees = |outcome: &Outcome, processes: usize, wanted: &[Vec<f64>], tolerance: f64| {
        assert_eq!(outcome.code, Some(0), "{}", outcome.text);
        let bits = said(outcome, "bits:");
        assert!(bits.len() == processes && bits.iter().all(|of_rank| *of_rank == bits[0]), "{}", outcome.text);
        for (label, wanted) in ["losses:", "scores:", "auc:"].iter().zip(wanted) {
            let found = numbers(&said(outcome, label).concat());
            assert!(near(&found, wanted, tolerance), "{label} {found:?} instead of {wanted:?}: {}", outcome.text);
        }
        bits[0].clone()
    };
    let [whole, few, validated, memory, own, weighted, targets] =
        ["", "_few", "_validated", "_memory", "_own", "_weighted", "_targets"]
            .map(|case| wanted(&format!("ranks(\"shards{case}\")")));
    with_one(1, |job| {
        let run = |processes, call: &str| job.run(processes, &format!("ranks({call})"), folder.path());
        let bits = agrees(&run(3, "\"shards\""), 3, &whole, 2e-4);
        assert_eq!(agrees(&run(3, "\"shards\",2"), 3, &whole, 2e-4), bits, "with more threads");
        agrees(&run(4, "\"shards_few\""), 4, &few, 2e-4);
        agrees(&run(3, "\"shards_validated\""), 3, &validated, 2e-4);
        agrees(&run(2, "\"shards_memory\""), 2, &memory, 2e-4);
        agrees(&run(3, "\"shards_own\""), 3, &own, 2e-4);
        agrees(&run(2, "\"shards_weighted\""), 2, &weighted, 2e-4);
        agrees(&run(2, "\"shards_targets\""), 2, &targets, 2e-4);
        let begun = run(3, "\"shards_begin\"");
        assert_eq!(begun.code, Some(0), "{}", begun.text);
        agrees(&run(2, "\"shards_resume\""), 2, &whole, 2e-4);
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
