//! One fit by several processes that MPI starts, with every implementation that is installed: `mpirun.openmpi` and
//! `mpirun.mpich` (Debian's packages `openmpi-bin` and `mpich`), or else `mpirun`.

use std::path::{Path, PathBuf};
use std::{env, fs};

use support::say::not_tested;
use support::session::{Outcome, Session, script};

/// The launchers that are there.
fn launchers() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = |name: &str| env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.exists());
    let by_name: Vec<PathBuf> = ["mpirun.openmpi", "mpirun.mpich"].into_iter().filter_map(found).collect();
    if by_name.is_empty() { found("mpirun").into_iter().collect() } else { by_name }
}

/// Runs `test` with every launcher; says what was missed where there is none.
fn with_each(test: impl Fn(&Job)) {
    let launchers = launchers();
    if launchers.is_empty() {
        return not_tested("jobs of several processes: there is no mpirun (Debian: openmpi-bin or mpich)");
    }
    launchers.iter().for_each(|launcher| test(&Job { launcher }));
}

struct Job<'a> {
    launcher: &'a Path,
}

impl Job<'_> {
    /// `call` of a macro by so many processes, in `folder`.
    fn run(&self, processes: usize, call: &str, folder: &Path) -> Outcome {
        let count = processes.to_string();
        let macro_call = script(call);
        let session = Session::root(&["-q", &macro_call]);
        let session = session.behind(&self.launcher.display().to_string(), &["-n", &count]).within(folder);
        // Open MPI's: more processes than cores, and root in a container.
        let names = ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"];
        names.iter().fold(session, |session, name| session.with(name, Path::new("1"))).run()
    }

    fn name(&self) -> String {
        self.launcher.display().to_string()
    }
}

/// What the ranks printed behind `label`, in any order.
fn said(outcome: &Outcome, label: &str) -> Vec<String> {
    let lines = outcome.text.lines().filter_map(|line| line.split_once(label));
    lines.map(|(_, rest)| rest.trim().to_owned()).collect()
}

fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

fn near(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    !a.is_empty() && a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance * b.abs().max(1.0))
}

#[test]
fn a_fit_by_several_processes_is_that_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let alone = Session::root(&["-q", &script("ranks.C")]).within(folder.path()).run();
    assert_eq!(alone.code, Some(0), "{}", alone.text);
    let [losses, scores] = ["losses:", "scores:"].map(|label| said(&alone, label));
    assert_eq!([losses.len(), scores.len()], [1, 1], "{}", alone.text);
    with_each(|job| {
        for processes in [2, 3, 4] {
            let outcome = job.run(processes, "ranks.C", folder.path());
            assert_eq!(outcome.code, Some(0), "{} -n {processes}: {}", job.name(), outcome.text);
            let bits = said(&outcome, "bits:");
            assert_eq!(bits.len(), processes, "{}", outcome.text);
            assert!(bits.iter().all(|of_rank| *of_rank == bits[0]), "the ranks' models differ: {bits:?}");
            for (label, alone) in [("losses:", &losses), ("scores:", &scores)] {
                let [found] = &said(&outcome, label)[..] else { panic!("one rank prints: {}", outcome.text) };
                assert!(near(&numbers(found), &numbers(&alone[0]), 2e-4), "{label} {found} instead of {}", alone[0]);
            }
            // With another number of threads the same bits.
            let again = job.run(processes, "ranks.C(\"fit\",2)", folder.path());
            assert_eq!(said(&again, "bits:")[0], bits[0], "{}", again.text);
        }
    });
}

#[test]
fn a_fit_goes_on_with_another_number_of_processes() {
    with_each(|job| {
        let folder = tempfile::tempdir().unwrap();
        let begun = job.run(3, "ranks.C(\"begin\")", folder.path());
        assert_eq!(begun.code, Some(0), "{}", begun.text);
        assert!(folder.path().join("ranks.ckpt").exists());
        let ended = job.run(2, "ranks.C(\"resume\")", folder.path());
        assert_eq!(ended.code, Some(0), "{}", ended.text);
        let whole = job.run(2, "ranks.C", folder.path());
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
        ("stream", "a Stream with fParallel = kMpi"),
        ("several", "several fits at once with fParallel = kMpi"),
    ];
    with_each(|job| {
        for (case, message) in cases {
            let folder = tempfile::tempdir().unwrap();
            let outcome = job.run(3, &format!("ranks.C(\"{case}\")"), folder.path());
            assert!(outcome.text.contains(message), "{} {case}: {}", job.name(), outcome.text);
            assert_ne!(outcome.code, Some(0), "{} {case}: {}", job.name(), outcome.text);
            assert!(said(&outcome, "bits:").is_empty(), "{case}: a model came of it: {}", outcome.text);
        }
    });
}

/// A callback that only rank 0 has ends the fit on all of them.
#[test]
fn one_rank_may_end_the_fit() {
    with_each(|job| {
        let folder = tempfile::tempdir().unwrap();
        let outcome = job.run(3, "ranks.C(\"one_callback\")", folder.path());
        assert_eq!(outcome.code, Some(0), "{}: {}", job.name(), outcome.text);
        let bits = said(&outcome, "bits:");
        assert!(bits.len() == 3 && bits.iter().all(|of_rank| *of_rank == bits[0]), "{bits:?}");
        assert_eq!(numbers(&said(&outcome, "losses:")[0]).len(), 2, "{}", outcome.text);
    });
}

/// A process that is killed takes the others with it: the launcher sees to that.
#[test]
fn a_rank_that_is_killed_ends_the_job() {
    with_each(|job| {
        let folder = tempfile::tempdir().unwrap();
        let outcome = job.run(3, "ranks.C(\"killed\")", folder.path());
        assert_ne!(outcome.code, Some(0), "{}", outcome.text);
        assert!(said(&outcome, "bits:").is_empty(), "{}", outcome.text);
    });
}

#[test]
fn a_job_without_its_library_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("none.so"), "no library").unwrap();
    let session = Session::root(&["-q", &script("ranks.C")]).with("PMI_RANK", Path::new("0"));
    let outcome = session.with("CLADTORCH_MPI", &folder.path().join("none.so")).run();
    assert!(outcome.text.contains("MPI cannot be used") && outcome.text.contains("CLADTORCH_MPI"), "{}", outcome.text);
}
