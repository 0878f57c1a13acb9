//! The model file: whole round trips; damaged, foreign and absurd files are refused; what is at the path is respected.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use cladtorch::atomic_file::AtomicFile;
use cladtorch::dataset::{Dataset, Targets};
use cladtorch::graph::{Activation, Init, Loss};
use cladtorch::model::{Model, Training};
use cladtorch::train::{Options, Trainer};
use support::damage::survives;
use support::data::{circle, spec};
use support::forged;
use support::forged::{resum, with_header};
use support::places;
use support::say::say;

fn trained() -> Model {
    let data = circle(200, 1);
    let mut model = Model::new(&[2, 8, 1], Activation::GELU, Init::Xavier, 3).unwrap();
    let mut trainer = Trainer::new(&model, &data, &spec()).unwrap();
    trainer.epoch(&data).unwrap();
    trainer.finish(&mut model).unwrap();
    model
}

#[test]
fn a_model_comes_back_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    for model in [trained(), Model::new(&[2, 1], Activation::ReLU, Init::Kaiming, 1).unwrap()] {
        model.save(&path).unwrap();
        let loaded = Model::load(&path, None).unwrap();
        assert_eq!(loaded.parameters(), model.parameters());
        assert_eq!(loaded.columns(), model.columns());
        assert_eq!(loaded.targets(), model.targets());
        assert_eq!(loaded.describe(), model.describe());
        let data = circle(100, 2);
        let predict = |model: &Model| {
            let mut scores = vec![0.0; 100];
            model.predict(&data, false, 1, &mut scores).unwrap();
            scores
        };
        assert_eq!(predict(&loaded), predict(&model));
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
}

/// `Print()` shows the names that users type, and nothing empty.
#[test]
fn options_are_described_as_users_write_them() {
    const HEADER: &str = include_str!("../cpp/include/CladTorch/FitOptions.hxx");
    let description = trained().describe();
    let (_, options) = description.split_once("trained with ").unwrap();
    let options: Vec<_> = options.trim().split(", ").map(|option| option.split_once(" = ").expect(option)).collect();
    assert!(
        options.contains(&("fBatchSize", "64")) && options.contains(&("fLoss", "kBinaryCrossEntropy")),
        "{options:?}"
    );
    assert!(options.len() > 10);
    for (name, value) in options {
        assert!(HEADER.contains(&format!(" {name} = ")), "{name}");
        assert!(
            !value.is_empty() && (!value.starts_with('k') || HEADER.contains(&format!("   {value} = "))),
            "{name} = {value}"
        );
    }
}

#[test]
fn a_regression_comes_back_with_its_scale_and_options() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    let data = circle(200, 1);
    for standardise in [true, false] {
        let mut model = Model::new(&[2, 8, 1], Activation::GELU, Init::Xavier, 3).unwrap();
        let options = Options { loss: Some(Loss::MeanSquaredError), standardise, learning_rate: 0.1 + 0.2, ..spec() };
        let mut trainer = Trainer::new(&model, &data, &options).unwrap();
        trainer.epoch(&data).unwrap();
        trainer.finish(&mut model).unwrap();
        assert_eq!(model.training().target.is_some(), standardise);
        model.save(&path).unwrap();
        let loaded = Model::load(&path, None).unwrap();
        assert_eq!(loaded.training(), model.training());
        let recorded = loaded.training().options.clone().unwrap();
        assert_eq!(recorded, Options { epochs: 1, threads: 0, ..options });
    }
}

/// As the first version wrote it, byte by byte: such files exist on users' disks.
#[test]
fn a_file_of_the_first_version_is_read_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    let description = r#"{"version":1,"sha256":"CHECKSUM","sizes":[2,1],"activation":"relu","init":"uniform","seed":7,"training":{"scaler":true,"target":false,"columns":[{"name":"x","length":1,"pad":0.0},{"name":"y","length":1,"pad":0.0}],"options":[]}}"#;
    let description = description.replace("CHECKSUM", &"0".repeat(64)).replace('"', "\\\"");
    let tensor = |name: &str, shape: &str, first: usize, end: usize| {
        format!(r#""{name}":{{"dtype":"F32","shape":[{shape}],"data_offsets":[{first},{end}]}}"#)
    };
    let header = format!(
        r#"{{"__metadata__":{{"cladtorch":"{description}"}},{},{},{},{}}}"#,
        tensor("layers.0.weight", "1,2", 0, 8),
        tensor("layers.0.bias", "1", 8, 12),
        tensor("scaler.mean", "2", 12, 20),
        tensor("scaler.inverse", "2", 20, 28),
    );
    let numbers = [1.5f32, -2.0, 0.25, 1.0, 2.0, 1.0, 0.5];
    let numbers: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let bytes = resum([&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &numbers].concat());
    let model = load(&path, &bytes).unwrap();
    assert_eq!(model.parameters(), [1.5, -2.0, 0.25]);
    let mut logit = [0.0];
    model.score(&[3.0, 6.0], true, &mut logit).unwrap();
    assert_eq!(logit, [1.5 * 2.0 - 2.0 * 2.0 + 0.25]);
}

/// Logits of 50 events.
fn logits(model: &Model) -> Vec<f32> {
    let mut scores = vec![0.0; 50];
    model.predict(&circle(50, 2), true, 1, &mut scores).unwrap();
    scores
}

/// The bytes of a saved model.
fn saved() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    trained().save(&path).unwrap();
    fs::read(path).unwrap()
}

/// Loads a model from `bytes`; otherwise returns the message.
fn load(path: &Path, bytes: &[u8]) -> Result<Model, String> {
    fs::write(path, bytes).unwrap();
    Model::load(path, None).map_err(|error| error.to_string())
}

#[test]
fn targets_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    let base = circle(50, 1);
    let mut data = Dataset::new(base.columns()).unwrap();
    data.begin_with("s", &Targets::new(&["sum".into(), "product".into()]).unwrap()).unwrap();
    data.append(base.features(), base.features(), base.weights().unwrap()).unwrap();
    data.commit().unwrap();
    let mut model = Model::new(&[2, 2], Activation::ReLU, Init::Kaiming, 1).unwrap();
    let mut trainer = Trainer::new(&model, &data, &spec()).unwrap();
    trainer.epoch(&data).unwrap();
    trainer.finish(&mut model).unwrap();
    model.save(&path).unwrap();
    let whole = fs::read(&path).unwrap();
    let names = r#"[\"sum\",\"product\"]"#;
    for (other, word) in [
        (r#"[\"sum\",\"sum\"]"#, "listed twice"),
        (r#"[\"sum\",\"\"]"#, "without a name"),
        (r#"[\"a\",\"b\",\"c\"]"#, "3 targets (a, b, c) for a model of 2 outputs"),
    ] {
        let changed = with_header(&whole, |header| {
            assert!(header.contains(names), "{header}");
            header.replace(names, other)
        });
        let error = load(&path, &changed).err().unwrap_or_else(|| panic!("accepted: {other}"));
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn a_file_that_is_not_as_it_was_saved_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    let whole = saved();
    let refused = |bytes: &[u8], what: &str| {
        let error = load(&path, bytes).err().unwrap_or_else(|| panic!("{what}: accepted"));
        assert!(error.contains("model.ct") && error.len() < 1000, "{what}: {error}");
        let reasons = ["damaged", "this CladTorch reads versions 1 and 2", "not written by CladTorch", "no checksum"];
        assert!(reasons.iter().any(|reason| error.contains(reason)), "{what}: {error}");
    };
    for length in 0..whole.len() {
        refused(&whole[..length], &format!("{length} bytes"));
    }
    for at in 0..whole.len() {
        for flip in [0x01, 0x10, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            refused(&bytes, &format!("byte {at} changed by {flip:#x}"));
        }
    }
    refused(&[&whole[..], b"\0"].concat(), "a byte more");
    refused(&[&whole[..], &whole[..]].concat(), "twice the file");
    assert_eq!(logits(&load(&path, &whole).unwrap()), logits(&trained()));
}

/// Damage of every kind, as many cases as `CLADTORCH_DAMAGES` says: refused, or the same predictions.
#[test]
fn a_damaged_file_is_refused_or_predicts_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    let (sound, expected) = ([saved()], logits(&trained()));
    let (cases, refused) = survives(&sound, 20_000, |_, bytes, _| match load(&path, bytes) {
        Ok(model) => logits(&model) == expected,
        Err(error) => {
            assert!(error.len() < 2000, "{error}");
            false
        }
    });
    say(&format!("{refused} of {cases} damaged model files refused, the others as they were saved"));
}

/// The same damage with a valid checksum: no crash, no excessive memory, and accepted files can be used.
#[test]
fn a_forged_file_is_refused_or_can_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let (path, again) = (folder.path().join("model.ct"), folder.path().join("again.ct"));
    let (cases, refused) = survives(&[saved()], 3_000, |_, bytes, _| {
        let Ok(model) = load(&path, &resum(bytes.to_vec())) else { return false };
        assert!(!model.describe().chars().any(|each| each.is_control() && each != '\n'), "{}", model.describe());
        let mut score = vec![0.0; model.outputs()];
        model.score(&vec![0.5; model.inputs()], false, &mut score).unwrap();
        model.save(&again).unwrap();
        assert_eq!(Model::load(&again, None).unwrap().parameters(), model.parameters());
        true
    });
    say(&format!("{refused} of {cases} forged model files refused"));
    assert!(refused > 0 && refused < cases);
}

#[test]
fn foreign_files_and_absurd_contents_are_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    let whole = saved();
    let replaced = |from: &str, to: &str| forged::replaced(&whole, from, to);
    // Numbers after the header, the last two tensors of which are the scaler's.
    let with_number = |from_end: usize, number: f32| {
        let mut bytes = whole.clone();
        let at = bytes.len() - 4 * from_end;
        bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        resum(bytes)
    };
    let mut large = whole.clone();
    let weights = large.len() - 4 * (trained().parameters().len() + 4)..large.len() - 4 * 4;
    large[weights].as_chunks_mut::<4>().0.iter_mut().for_each(|number| *number = 1e30f32.to_le_bytes());
    let large = resum(large);
    let sizes = vec!["1"; 1_000_000].join(",");
    for (bytes, word) in [
        (b"root\0\0\0\0 this is a ROOT file, not a model".to_vec(), "not a model file"),
        (with_header(&whole, |_| "{}".into()), "do not fill it"),
        (with_header(&whole, |_| "[".repeat(1 << 20)), "not a model file"),
        ([&u64::MAX.to_le_bytes()[..], &whole[8..]].concat(), "its header is too long"),
        (replaced("\"cladtorch\":", "\"other\":"), "not written by CladTorch"),
        (replaced("version\\\":1", "version\\\":9"), "version 9"),
        (
            replaced("version\\\":1", "version\\\":1,\\\"version\\\":1"),
            "damaged: its description cannot be read (duplicate",
        ),
        (replaced("\\\"sha256\\\"", "\\\"sha255\\\""), "no checksum"),
        (replaced("[2,8,1]", "[2,4000000000000,1]"), "more weights than it holds"),
        (replaced("[2,8,1]", &format!("[{sizes}]")), "more weights than it holds"),
        (replaced("[2,8,1]", "[8,2,1]"), "layers.0.weight"),
        (replaced("[2,8,1]", "[]"), "without layer sizes"),
        (replaced("gelu", "sine"), "unknown activation \"sine\""),
        (replaced("gelu", "a\\\\u001b[31m\\\\u0007\\\\nb"), "\"a\\u{1b}[31m\\u{7}\\nb\""),
        (replaced("scaler.mean", "scaler.moan"), "scaler.mean is missing"),
        (with_number(1, 0.0), "multiplies y by 0"),
        (with_number(2, -1.0), "multiplies x by -1"),
        (with_number(1, f32::NAN), "not finite"),
        (large, "predictions are not finite"),
        (replaced("\"scaler.", "\"target."), "scaler.mean is missing"),
        (replaced("batch_size", "batch_seize"), "batch_seize"),
        (replaced("binary_cross_entropy", "binary_cross_entrapy"), "binary_cross_entrapy"),
    ] {
        let error = load(&path, &bytes).err().unwrap_or_else(|| panic!("accepted: {word}"));
        assert!(error.contains(word) && error.contains("model.ct") && error.len() < 2000, "{word}: {error}");
        assert!(!error.chars().any(char::is_control), "{error:?}");
    }
}

/// Names and options of a file are shown on one line, whatever they contain.
#[test]
fn what_a_file_says_does_not_reach_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a\x1b[2Jb\nc.ct");
    let hostile = "x\\\\u001b]0;title\\\\u0007\\\\nError in <y>: \\\\u202etxt";
    let bytes = with_header(&saved(), |header| {
        header.replace("\\\"name\\\":\\\"x\\\"", &format!("\\\"name\\\":\\\"{hostile}\\\""))
    });
    let model = load(&path, &bytes).unwrap();
    assert!(model.columns()[0].name.contains('\x1b'));
    let data = circle(10, 1);
    let error = model.predict(&data, true, 1, &mut [0.0; 10]).unwrap_err().to_string();
    let missing = Model::load(&folder.path().join("\x07"), None).err().unwrap().to_string();
    for text in [model.describe(), error, load(&path, b"nothing").err().unwrap(), missing] {
        let shown = text.lines().all(|line| !line.chars().any(char::is_control) && !line.starts_with("Error"));
        assert!(shown && !text.contains('\u{202e}'), "{text:?}");
    }
    assert!(
        model.describe().contains("x\\u{1b}]0;title\\u{7}\\nError in <y>: \\u{202e}txt, y"),
        "{}",
        model.describe()
    );
}

#[test]
fn a_model_that_cannot_be_used_is_not_saved() {
    let folder = tempfile::tempdir().unwrap();
    let mut model = Model::new(&[2, 8, 1], Activation::ReLU, Init::Xavier, 3).unwrap();
    let huge = vec![1e30; model.parameters().len()];
    model.set_parameters(&huge).unwrap();
    let error = model.save(&folder.path().join("model.ct")).unwrap_err().to_string();
    assert!(error.contains("not finite") && error.contains("fLearningRate"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn saving_respects_what_stands_at_the_path() {
    let model = trained();
    places::saving_respects_what_is_there("model.ct", |path| model.save(path).map_err(|error| error.to_string()));
}

#[test]
fn a_failed_save_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    let model = trained();
    model.save(&path).unwrap();
    let before = fs::read(&path).unwrap();
    assert!(model.save(&folder.path().join("missing/model.ct")).unwrap_err().to_string().contains("missing"));
    for nothing in ["", "/", "..", "model.ct/", "new/"] {
        let error = model.save(&folder.path().join(nothing)).unwrap_err().to_string();
        assert!(error.contains("file") || error.contains("folder") || error.contains("Not a directory"), "{error}");
    }
    assert!(Model::load(Path::new("/dev/zero"), None).err().unwrap().to_string().contains("not a file"));
    assert!(Model::load(&folder.path().join("none.ct"), None).err().unwrap().to_string().contains("none.ct"));
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// The work of a process that [`start`] starts: "hold" an unfinished file until it is killed, or "save" a model
/// repeatedly.
#[test]
fn another_process() {
    let (Ok(task), Ok(path)) = (std::env::var("CLADTORCH_TEST_TASK"), std::env::var("CLADTORCH_TEST_PATH")) else {
        return;
    };
    let path = Path::new(&path);
    let model = trained();
    println!("\nready");
    if task == "save" {
        return (0..200).for_each(|_| model.save(path).unwrap());
    }
    let file = AtomicFile::new(path).unwrap();
    fs::write(file.path(), "half of it").unwrap();
    println!("\nwritten");
    std::thread::sleep(std::time::Duration::from_secs(120));
}

/// Starts another process and waits until it prints `word`.
fn start(task: &str, path: &Path, word: &str) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "another_process", "--nocapture"]).stdout(Stdio::piped());
    let mut child = child.env("CLADTORCH_TEST_TASK", task).env("CLADTORCH_TEST_PATH", path).spawn().unwrap();
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == word), "{task} never said {word}");
    child
}

#[test]
fn the_next_save_removes_what_killed_processes_left_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    let others = [".cladtorch-1.tmp", ".cladtorch-x-1.tmp", "cladtorch-1-1.tmp"].map(|name| folder.path().join(name));
    others.iter().for_each(|other| fs::create_dir(other).unwrap());
    std::os::unix::fs::symlink(&others[0], folder.path().join(".cladtorch-1-7.tmp")).unwrap();
    fs::create_dir(folder.path().join(".cladtorch-1-8.tmp")).unwrap(); // killed before it had a lock
    let mut processes = [(); 4].map(|()| start("hold", &path, "written"));
    let (alive, dead) = processes.split_first_mut().unwrap();
    dead.iter_mut().for_each(|child| child.kill().and_then(|()| child.wait().map(|_| ())).unwrap());
    let model = trained();
    model.save(&path).unwrap();
    let left = |kept: usize| {
        let hidden = places::unfinished(folder.path());
        assert!(hidden.len() == 3 + kept && others.iter().all(|other| other.exists()), "{hidden:?}");
    };
    left(1);
    assert!(alive.try_wait().unwrap().is_none());
    alive.kill().and_then(|()| alive.wait()).unwrap();
    model.save(&path).unwrap();
    left(0);
}

#[test]
fn processes_may_save_one_path_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    let model = trained();
    let mut other = start("save", &path, "ready");
    for _ in 0..200 {
        model.save(&path).unwrap();
        assert_eq!(Model::load(&path, None).unwrap().parameters(), model.parameters());
    }
    assert!(other.wait().unwrap().success());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "something is left behind");
}

/// A header that Load would refuse is not written.
#[test]
fn more_text_than_is_read_is_not_saved() {
    let folder = tempfile::tempdir().unwrap();
    let mut model = trained();
    let path = folder.path().join("model.ct");
    let with_text = |model: &mut Model, length: usize| {
        let options = Some(Options { loss_function: "a".repeat(length), ..model.training().options.clone().unwrap() });
        model.set_training(Training { options, ..model.training().clone() }).unwrap();
    };
    with_text(&mut model, 1 << 22);
    model.save(&path).unwrap();
    assert!(Model::load(&path, None).unwrap().describe().len() < 5000);
    with_text(&mut model, 1 << 23);
    let error = model.save(&path).unwrap_err().to_string();
    assert!(error.contains("bytes of text"), "{error}");
}
