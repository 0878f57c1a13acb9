//! Files of weights: those of every network come back, those of other programs are read, damaged and hostile ones are
//! refused.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use cladtorch::graph::{Activation, Init};
use cladtorch::model::Model;
use safetensors::tensor::{Dtype, TensorView};
use support::damage::survives;
use support::forged;
use support::forged::with_header;
use support::models::{models, predictions};
use support::say::say;

/// The same network with other numbers, and no results of a fit.
fn emptied(model: &Model) -> Model {
    let mut empty = model.copy().unwrap();
    empty.set_training(Default::default()).unwrap();
    let others = |values: &[f32]| (0..values.len()).map(|at| 0.1 + at as f32 * 0.01).collect::<Vec<_>>();
    empty.set_parameters(&others(model.parameters())).unwrap();
    empty.set_state(&others(model.state())).unwrap();
    empty
}

#[test]
fn weights_of_every_network_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    for (name, model) in models() {
        model.save_weights(&path).unwrap();
        let mut loaded = emptied(&model);
        assert_ne!(predictions(&loaded, 9), predictions(&model, 9), "{name}");
        assert!(loaded.load_weights(&path).unwrap());
        assert_eq!((loaded.parameters(), loaded.state()), (model.parameters(), model.state()), "{name}");
        assert_eq!(loaded.training(), model.training(), "{name}");
        assert_eq!(predictions(&loaded, 9), predictions(&model, 9), "{name}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
}

/// The names that PyTorch's `load_state_dict` expects of a module with such layers.
#[test]
fn other_programs_find_the_names_of_a_state_dict() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let found = |name: &str| {
        let (_, model) = models().into_iter().find(|(found, _)| found == name).unwrap();
        model.save_weights(&path).unwrap();
        let bytes = fs::read(&path).unwrap();
        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let start = bytes.len() - file.tensors().iter().map(|(_, tensor)| tensor.data().len()).sum::<usize>();
        let mut tensors: Vec<String> = file.names().into_iter().map(ToString::to_string).collect();
        tensors.sort();
        for (name, tensor) in file.tensors() {
            let at = tensor.data().as_ptr() as usize - bytes.as_ptr() as usize - start;
            assert_eq!(at % (tensor.dtype().bitsize() / 8), 0, "{name} is not aligned");
        }
        tensors
    };
    let layers = |parts: &[&str]| parts.iter().map(|part| format!("layers.{part}")).collect::<Vec<_>>();
    assert_eq!(found("classes"), layers(&["0.bias", "0.weight", "1.bias", "1.weight"]));
    let norm = ["bias", "num_batches_tracked", "running_mean", "running_var", "weight"];
    let mut expected = layers(&["0.bias", "0.weight", "1.bias", "1.weight", "2.bias", "2.weight"]);
    expected.extend((0..2).flat_map(|layer| norm.map(|part| format!("layers.{layer}.norm.{part}"))));
    expected.sort();
    assert_eq!(found("batch_norm"), expected);
}

fn small() -> Model {
    Model::new(&[2, 3, 1], Activation::GELU, Init::Xavier, 3).unwrap()
}

/// Tensors for [`small`] as another program writes them, changed by `change`.
fn foreign(change: impl Fn(&mut Vec<(String, Dtype, Vec<usize>, Vec<u8>)>)) -> Vec<u8> {
    let floats = |count: usize| (0..count).flat_map(|at| (at as f32 * 0.5).to_le_bytes()).collect::<Vec<u8>>();
    let tensor =
        |name: &str, shape: &[usize]| (name.to_owned(), Dtype::F32, shape.to_vec(), floats(shape.iter().product()));
    let mut tensors = vec![
        tensor("layers.0.weight", &[3, 2]),
        tensor("layers.0.bias", &[3]),
        tensor("layers.1.weight", &[1, 3]),
        tensor("layers.1.bias", &[1]),
    ];
    change(&mut tensors);
    let view = |(name, dtype, shape, bytes): &(String, Dtype, Vec<usize>, Vec<u8>)| {
        (name.clone(), TensorView::new(*dtype, shape.clone(), bytes).unwrap().data().to_vec())
    };
    let kept: HashMap<String, Vec<u8>> = tensors.iter().map(view).collect();
    let views = tensors
        .iter()
        .map(|(name, dtype, shape, _)| (name.clone(), TensorView::new(*dtype, shape.clone(), &kept[name]).unwrap()));
    safetensors::serialize(views.collect::<Vec<_>>(), None).unwrap()
}

fn load(path: &Path, bytes: &[u8]) -> Result<Model, String> {
    fs::write(path, bytes).unwrap();
    let mut model = small();
    let before = model.parameters().to_vec();
    match model.load_weights(path) {
        Ok(_) => Ok(model),
        Err(error) => {
            assert_eq!(model.parameters(), before, "a refused file changed the model");
            Err(error.to_string())
        }
    }
}

#[test]
fn weights_of_another_program_are_read_and_leave_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    fs::write(&path, foreign(|tensors| tensors.swap(0, 2))).unwrap();
    let (_, mut model) = models().into_iter().find(|(name, _)| name == "gelu regression").unwrap();
    model.load_weights(&path).unwrap_err();
    let mut model = small();
    let training = cladtorch::model::Training {
        scaler: Some(cladtorch::dataset::Scaler::new(&[1.0, 2.0], &[3.0, 4.0]).unwrap()),
        ..Default::default()
    };
    model.set_training(training.clone()).unwrap();
    assert!(!model.load_weights(&path).unwrap(), "the file has no description");
    assert_eq!(model.training(), &training);
    assert_eq!(model.parameters(), [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 0.0, 0.5, 1.0, 0.0, 0.5, 1.0, 0.0]);
}

/// The file that `small` writes, with a scaler and columns.
fn saved() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let mut model = small();
    let training = cladtorch::model::Training {
        scaler: Some(cladtorch::dataset::Scaler::new(&[1.0, 2.0], &[2.0, 4.0]).unwrap()),
        columns: ["x", "y"].map(|name| cladtorch::columns::Column::new(name, 1)).to_vec(),
        ..Default::default()
    };
    model.set_training(training).unwrap();
    model.save_weights(&path).unwrap();
    fs::read(path).unwrap()
}

#[test]
fn files_that_do_not_fit_are_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let own = saved();
    let replaced = |from: &str, to: &str| forged::replaced(&own, from, to);
    let number = |value: f32| foreign(move |tensors| tensors[1].3[4..8].copy_from_slice(&value.to_le_bytes()));
    let twice = with_header(&foreign(|_| ()), |header| {
        let first = header.find("\"layers.0.bias\"").unwrap();
        let end = first + header[first..].find('}').unwrap() + 1;
        format!("{{{},{}", &header[first..end], &header[1..])
    });
    let model = folder.path().join("model.ct");
    small().save(&model).unwrap();
    for (bytes, word) in [
        (b"root\0\0\0\0 this is a ROOT file, not weights".to_vec(), "not a model file"),
        (Vec::new(), "shorter than its beginning"),
        ([&u64::MAX.to_le_bytes()[..], &own[8..]].concat(), "its header is too long"),
        ([&own[..], b"\0"].concat(), "do not fill it"),
        (own[..own.len() - 1].to_vec(), "do not fill it"),
        (with_header(&own, |_| "{}".into()), "do not fill it"),
        (with_header(&own, |_| "[".repeat(1 << 20)), "not a model file"),
        (fs::read(&model).unwrap(), "CladTorch::Model::Load reads a model"),
        (foreign(|tensors| tensors[0].0 = "net.weight".into()), "tensor layers.0.weight is missing: it has "),
        (foreign(|tensors| _ = tensors.pop()), "tensor layers.1.bias is missing"),
        (foreign(Vec::clear), "tensor layers.0.weight is missing: it has no tensor"),
        (foreign(|tensors| tensors[0].2 = vec![2, 3]), "tensor layers.0.weight is [2, 3] instead of [3, 2]"),
        (foreign(|tensors| tensors[0].2 = vec![6]), "tensor layers.0.weight is [6] instead of [3, 2]"),
        (foreign(|tensors| (tensors[1].1, tensors[1].2) = (Dtype::BF16, vec![6])), "is BF16 instead of F32"),
        (foreign(|tensors| (tensors[1].1, tensors[1].2) = (Dtype::I32, vec![3])), "is I32 instead of F32"),
        (foreign(|tensors| tensors.push(("extra".into(), Dtype::F32, vec![0], vec![]))), "extra is unknown"),
        (
            foreign(|tensors| tensors.push(("x.num_batches_tracked".into(), Dtype::I64, vec![1], vec![0; 8]))),
            "x.num_batches_tracked is unknown",
        ),
        (number(f32::NAN), "element 1 of tensor layers.0.bias is NaN"),
        (number(f32::NEG_INFINITY), "element 1 of tensor layers.0.bias is -inf"),
        (twice, "tensor layers.0.bias is listed twice"),
        (replaced("\\\"version\\\":1", "\\\"version\\\":7"), "version 7"),
        (replaced("\\\"version\\\":1", "\\\"version\\\":1,\\\"run\\\":1"), "unknown field"),
        (replaced("[1.0,2.0]", "[1.0]"), "a scaler of 1 means and 2 factors"),
        (replaced("[1.0,2.0]", "[1e300,2.0]"), "not finite"),
        (replaced("[0.5,0.25]", "[0.5,-0.25]"), "multiplies y by -0.25"),
        (replaced("\\\"name\\\":\\\"y\\\"", "\\\"name\\\":\\\"x\\\""), "listed twice"),
    ] {
        let error = load(&path, &bytes).err().unwrap_or_else(|| panic!("accepted: {word}"));
        assert!(error.contains(word) && error.contains("w.safetensors") && error.len() < 2000, "{word}: {error}");
        assert!(!error.chars().any(char::is_control), "{error:?}");
    }
    let count = foreign(|tensors| tensors.push(("x.num_batches_tracked".into(), Dtype::I64, vec![], vec![9; 8])));
    load(&path, &count).unwrap();
    let error = Model::load(&path, None).err().unwrap().to_string();
    assert!(error.contains("not written by CladTorch"), "{error}");
    fs::write(&path, &own).unwrap();
    let error = Model::load(&path, None).err().unwrap().to_string();
    assert!(error.contains("LoadWeights"), "{error}");
    load(&path, &own).unwrap();
    let missing = small().load_weights(&folder.path().join("none")).unwrap_err().to_string();
    assert!(missing.contains("none"), "{missing}");
    small().load_weights(folder.path()).unwrap_err();
    let mut infinite = small();
    let error = infinite.set_parameters(&[f32::NAN; 13]).unwrap_err().to_string();
    assert!(error.contains("NaN"), "{error}");
}

/// Predictions with it would be NaN.
#[test]
fn a_negative_variance_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let (_, mut model) = models().into_iter().find(|(name, _)| name == "batch_norm").unwrap();
    let sound = model.state().to_vec();
    model.set_state(&vec![-0.25; sound.len()]).unwrap();
    model.save_weights(&path).unwrap();
    model.set_state(&sound).unwrap();
    let error = model.load_weights(&path).unwrap_err().to_string();
    assert!(error.contains("norm.running_var is -0.25, and no variance is negative"), "{error}");
    assert_eq!(model.state(), sound);
}

/// Damage of every kind, as many cases as `CLADTORCH_DAMAGES` says: refused, or the model can be used.
#[test]
fn a_damaged_file_is_refused_or_can_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let again = folder.path().join("again.safetensors");
    let (cases, refused) = survives(&[saved(), foreign(|_| ())], 5_000, |_, bytes, damaged| {
        let model = match load(&path, bytes) {
            Ok(model) => model,
            Err(error) => {
                assert!(damaged && error.len() < 2000, "{error}");
                return false;
            }
        };
        assert!(model.parameters().iter().chain(model.state()).all(|value| value.is_finite()));
        predictions(&model, 2);
        model.save_weights(&again).unwrap();
        assert_eq!(load(&again, &fs::read(&again).unwrap()).unwrap().parameters(), model.parameters());
        true
    });
    say(&format!("{refused} of {cases} damaged files of weights refused, the others can be used"));
    assert!(refused > 0 && refused < cases);
}
