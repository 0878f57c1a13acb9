//! Checkpoints: a resumed fit has the bits of one that never stopped; hostile files are refused; a killed process
//! leaves the last checkpoint whole.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cladtorch::dataset::Dataset;
use cladtorch::graph::{Activation, Gradient, Init, Optimiser, Schedule};
use cladtorch::model::Model;
use cladtorch::train::{self, EpochRecord, Options, Trainer};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use support::data::{circle, spec};
use support::say::say;

fn network(seed: u64) -> Model {
    Model::new(&[2, 19, 16, 1], Activation::ReLU, Init::default(), seed).unwrap()
}

/// The bits of a model's parameters, and losses and rates of the epochs.
type Outcome = (Vec<u32>, Vec<[u64; 3]>);

fn outcome(trainer: &Trainer, model: &mut Model) -> Outcome {
    trainer.finish(model).unwrap();
    let bits = |e: &EpochRecord| [e.train_loss, e.validation_loss, e.learning_rate].map(f64::to_bits);
    (model.parameters().iter().map(|p| p.to_bits()).collect(), trainer.history().iter().map(bits).collect())
}

fn resumed_options(path: &Path) -> cladtorch::Result<Options> {
    train::resumed_options(path, &Options::default())
}

/// Fits to the end, unless already there; `after` sees the trainer after each part and each epoch.
fn run(trainer: &mut Trainer, data: &Dataset, mut after: impl FnMut(&mut Trainer)) {
    while trainer.ended().is_none() {
        if !trainer.part(data).unwrap().ended {
            after(trainer);
            continue;
        }
        let losses = trainer.losses(data).unwrap();
        let last = trainer.end_epoch(losses, Vec::new()).unwrap().last;
        assert_eq!(last, trainer.ended().is_some());
        after(trainer);
    }
}

#[test]
fn a_fit_that_goes_on_has_the_bits_of_one_that_never_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ckpt");
    let checkpoint = path.to_str().unwrap().to_owned();
    // Batches of one: three parts an epoch.
    let data = circle(2700, 3);
    let base = Options { batch_size: 1, epochs: 3, learning_rate: 1e-3, checkpoint, ..spec() };
    let small = Options { batch_size: 64, epochs: 7, learning_rate: 0.02, ..base.clone() };
    let cases = [
        Options { schedule: Schedule::Cosine, threads: 1, ..base.clone() },
        Options { schedule: Schedule::OneCycle, optimiser: Optimiser::AdamW, weight_decay: 0.01, ..small.clone() },
        Options { optimiser: Optimiser::SGD, clip_norm: 0.1, patience: 3, ..small.clone() },
        Options { schedule: Schedule::Plateau, decay_epochs: 1, keep_best: true, l1: 1e-4, ..small.clone() },
        Options { gradient: Gradient::Autograd, patience: 2, warm_up: 2.0, shuffle: false, ..small.clone() },
        Options { gradient: Gradient::Autograd, optimiser: Optimiser::SGD, ..small.clone() },
    ];
    for options in cases {
        let mut whole = network(1);
        let mut trainer = Trainer::new(&whole, &data, &options).unwrap();
        let mut copies = Vec::new();
        run(&mut trainer, &data, |trainer| {
            trainer.checkpoint().unwrap();
            copies.push(fs::read(&path).unwrap());
        });
        let expected = outcome(&trainer, &mut whole);
        for (number, copy) in copies.iter().enumerate() {
            fs::write(&path, copy).unwrap();
            let read = resumed_options(&path).unwrap();
            assert_eq!(Options { threads: options.threads, ..read.clone() }, options);
            let mut model = network(99);
            let mut trainer = Trainer::new(&model, &data, &Options { threads: 2, ..read }).unwrap();
            trainer.resume(&path).unwrap();
            run(&mut trainer, &data, |_| ());
            assert!(outcome(&trainer, &mut model) == expected, "from checkpoint {number} of {options:?}");
        }
    }
}

#[test]
fn minutes_write_checkpoints_within_an_epoch() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ckpt");
    let data = circle(2700, 3);
    let checkpoint = path.to_str().unwrap().to_owned();
    // Batches of one: three parts an epoch. No epoch writes one.
    let never = Options { batch_size: 1, epochs: 2, checkpoint, checkpoint_epochs: 100, ..spec() };
    let (now, later) =
        (Options { checkpoint_minutes: 1e-9, ..never.clone() }, Options { checkpoint_minutes: 1e3, ..never.clone() });
    for (options, writes) in [(&now, true), (&never, false), (&later, false)] {
        let mut trainer = Trainer::new(&network(1), &data, options).unwrap();
        assert!(!trainer.part(&data).unwrap().ended, "the epoch has one part");
        assert_eq!(path.exists(), writes, "every {} minutes", options.checkpoint_minutes);
        if !writes {
            continue;
        }
        let mut model = network(99);
        let mut resumed = Trainer::new(&model, &data, &resumed_options(&path).unwrap()).unwrap();
        resumed.resume(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let mut whole = network(1);
        run(&mut trainer, &data, |_| ());
        run(&mut resumed, &data, |_| ());
        assert!(outcome(&resumed, &mut model) == outcome(&trainer, &mut whole));
        fs::remove_file(&path).unwrap();
    }
}

/// A checkpoint of an unfinished fit with the best epoch kept.
fn written(path: &Path) -> (Dataset, Options) {
    let data = circle(300, 3);
    let checkpoint = path.to_str().unwrap().to_owned();
    let options = Options { epochs: 4, patience: 9, checkpoint, ..spec() };
    let mut trainer = Trainer::new(&network(1), &data, &options).unwrap();
    trainer.epoch(&data).unwrap();
    (data, options)
}

#[test]
fn a_fit_that_goes_on_prints_as_it_did_unless_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ckpt");
    let data = circle(300, 3);
    let given = |verbose| Options { verbose, ..Options::default() };
    for (of_fit, asked, expected) in [(0, 1, 0), (2, 1, 2), (1, 1, 1), (0, 2, 2), (1, 0, 0)] {
        let checkpoint = path.to_str().unwrap().to_owned();
        let options = Options { verbose: of_fit, checkpoint, ..spec() };
        Trainer::new(&network(1), &data, &options).unwrap().epoch(&data).unwrap();
        assert_eq!(train::resumed_options(&path, &given(asked)).unwrap().verbose, expected, "{of_fit}, {asked}");
    }
}

#[test]
fn what_is_not_this_fits_checkpoint_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ckpt");
    let (data, options) = written(&path);
    let refused = |model: &Model, data: &Dataset, options: &Options| {
        let mut trainer = Trainer::new(model, data, options).unwrap();
        trainer.resume(&path).expect_err("accepted").to_string()
    };
    let own = |judges: &Dataset| {
        let options = Options { validation: 0.0, ..options.clone() };
        let mut trainer = Trainer::validated(&network(1), &data, judges, &options, None).unwrap();
        trainer.resume(&path).expect_err("accepted").to_string()
    };
    assert!(own(&circle(50, 2)).contains("validation"));
    let wide = Model::new(&[2, 20, 16, 1], Activation::ReLU, Init::default(), 1).unwrap();
    let tanh = Model::new(&[2, 19, 16, 1], Activation::Tanh, Init::default(), 1).unwrap();
    for (error, words) in [
        (refused(&tanh, &data, &options), "operators or activations"),
        (refused(&wide, &data, &options), "parameters"),
        (refused(&network(1), &circle(300, 4), &options), "events"),
        (refused(&network(1), &circle(299, 3), &options), "events"),
    ] {
        assert!(error.contains("run.ckpt") && error.contains(words), "{error}");
    }
    let mut model = network(1);
    Trainer::new(&model, &data, &spec()).unwrap().finish(&mut model).unwrap();
    model.save(&path).unwrap();
    assert!(resumed_options(&path).unwrap_err().to_string().contains("not a checkpoint"));
    assert!(resumed_options(&folder.path().join("none")).is_err());
    let error = Trainer::new(&network(1), &data, &options).err().expect("a model file is replaced").to_string();
    assert!(error.contains("is a file that is no checkpoint"), "{error}");
    let own = Options { loss_function: "double loss(double output, double label) { return 0; }".into(), ..options };
    let error = Trainer::new(&network(1), &data, &own).err().expect("accepted").to_string();
    assert!(error.contains("fCheckpoint beside fLossFunction"), "{error}");
}

#[test]
fn a_checkpoint_of_a_fit_that_ended_says_how() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ckpt");
    let (data, options) = written(&path);
    let early = Options { patience: 1, epochs: 500, learning_rate: 0.1, ..options.clone() };
    let short = Options { epochs: 2, ..options };
    for (options, words) in [(early, "ended early"), (short, "its last epoch")] {
        let mut trainer = Trainer::new(&network(1), &data, &options).unwrap();
        while !trainer.epoch(&data).unwrap().last {}
        let mut resumed = Trainer::new(&network(2), &data, &options).unwrap();
        assert!(resumed.ended().is_none());
        resumed.resume(&path).unwrap();
        assert!(resumed.ended().is_some_and(|how| how.contains(words)), "{:?}", resumed.ended());
        let losses =
            |trainer: &Trainer| trainer.history().iter().map(|epoch| epoch.validation_loss).collect::<Vec<_>>();
        assert_eq!((losses(&resumed), resumed.restored()), (losses(&trainer), trainer.restored()));
    }
}

#[test]
fn damaged_checkpoints_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ckpt");
    written(&path);
    let whole = fs::read(&path).unwrap();
    let mut generator = ChaCha8Rng::seed_from_u64(1);
    for round in 0..3000 {
        let mut bytes = whole.clone();
        let place =
            if round % 2 == 0 { generator.random_range(0..2500) } else { generator.random_range(0..whole.len()) };
        match round % 5 {
            0 => bytes.truncate(place),
            1 => bytes.extend_from_slice(&[0; 3]),
            2 => bytes[place] = b'9',
            _ => bytes[place] ^= 1 << generator.random_range(0..8),
        }
        if bytes == whole {
            continue;
        }
        fs::write(&path, &bytes).unwrap();
        assert!(resumed_options(&path).is_err(), "round {round}, byte {place}");
    }
}

/// In the environment of a process that fits without end: the checkpoint.
const CHILD: &str = "CLADTORCH_TEST_CHECKPOINT";

#[test]
fn fits_until_it_is_killed() {
    let Ok(checkpoint) = std::env::var(CHILD) else { return };
    let data = circle(200, 3);
    let options = Options { epochs: 1_000_000, schedule: Schedule::Constant, threads: 1, checkpoint, ..spec() };
    let mut trainer = Trainer::new(&network(1), &data, &options).unwrap();
    loop {
        trainer.epoch(&data).unwrap();
    }
}

fn child(path: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "fits_until_it_is_killed"]).env(CHILD, path).stdout(Stdio::null());
    command.spawn().unwrap()
}

/// `CLADTORCH_KILLS` in the environment requests another number than 20.
#[test]
fn a_killed_process_leaves_the_last_checkpoint_whole() {
    let kills: usize = std::env::var("CLADTORCH_KILLS").map_or(20, |text| text.parse().expect("a number"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ckpt");
    let (data, mut generator) = (circle(200, 3), ChaCha8Rng::seed_from_u64(kills as u64));
    let mut epochs = 0;
    for _ in 0..kills {
        let _ = fs::remove_file(&path);
        let mut child = child(&path);
        while !path.exists() {
            assert!(child.try_wait().unwrap().is_none(), "the fit ended");
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(Duration::from_micros(generator.random_range(0..30_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        let options = resumed_options(&path).unwrap();
        let mut trainer = Trainer::new(&network(1), &data, &options).unwrap();
        trainer.resume(&path).unwrap();
        epochs += trainer.history().len();
    }
    say(&format!("{kills} processes were killed after {epochs} epochs in all"));
}
