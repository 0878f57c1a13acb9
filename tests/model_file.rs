//! The model file: whole round trips, and every damaged or foreign file refused.

#[path = "common/data.rs"]
mod data;

use std::fs;

use cladtorch::graph::{Activation, Init};
use cladtorch::model::Model;
use cladtorch::train::Trainer;
use data::{circle, spec};

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

#[test]
fn every_cut_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    trained().save(&path).unwrap();
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let error = Model::load(&path, None).err().unwrap_or_else(|| panic!("{length} bytes were accepted"));
        assert!(error.to_string().contains("model.ct"), "{error}");
    }
}

#[test]
fn no_flipped_byte_panics_or_asks_for_much_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    trained().save(&path).unwrap();
    let whole = fs::read(&path).unwrap();
    let mut refused = 0;
    for at in 0..whole.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            fs::write(&path, &bytes).unwrap();
            refused += usize::from(Model::load(&path, None).is_err());
        }
    }
    println!("{refused} of {} flips refused (the others change a weight or a text)", 3 * whole.len());
    assert!(refused > 0);
}

#[test]
fn foreign_files_and_absurd_sizes_are_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    trained().save(&path).unwrap();
    let whole = fs::read(&path).unwrap();
    let length = u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
    let header = String::from_utf8(whole[8..8 + length].to_vec()).unwrap();
    let with_header = |header: &str| {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend(&whole[8 + length..]);
        bytes
    };
    for (bytes, word) in [
        (b"root\0\0\0\0 this is a ROOT file, not a model".to_vec(), "not a model file"),
        (with_header("{}"), "damaged"),
        (with_header(&header.replace("\"cladtorch\":", "\"other\":")), "not written by CladTorch"),
        (with_header(&header.replace("version\\\":1", "version\\\":9")), "version 9"),
        (with_header(&header.replace("[2,8,1]", "[2,4000000000000,1]")), "more weights than it holds"),
        (with_header(&header.replace("[2,8,1]", "[8,2,1]")), "layers.0.weight"),
        (with_header(&header.replace("gelu", "sine")), "unknown activation \"sine\""),
        (with_header(&header.replace("scaler.mean", "scaler.moan")), "scaler.mean is missing"),
    ] {
        fs::write(&path, bytes).unwrap();
        let error = Model::load(&path, None).err().unwrap_or_else(|| panic!("accepted: {word}")).to_string();
        assert!(error.contains(word) && error.contains("model.ct"), "{error}");
    }
}

#[test]
fn a_failed_save_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    let model = trained();
    model.save(&path).unwrap();
    let before = fs::read(&path).unwrap();
    assert!(model.save(&folder.path().join("missing/model.ct")).unwrap_err().to_string().contains("missing"));
    assert!(model.save(folder.path()).is_err());
    assert!(Model::load(std::path::Path::new("/dev/zero"), None).err().unwrap().to_string().contains("not a file"));
    assert!(Model::load(&folder.path().join("none.ct"), None).err().unwrap().to_string().contains("none.ct"));
    assert_eq!(fs::read(&path).unwrap(), before);
}
