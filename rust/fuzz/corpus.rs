//! `corpus FOLDER FILE…`: what the fuzzer starts from, made of sound files. `FOLDER/file` gets the files, `FOLDER/basket`
//! every basket of every readable column, `FOLDER/onnx`, `FOLDER/model`, `FOLDER/weights` and `FOLDER/network` small networks
//! that this writes itself or that PyTorch wrote.

#[allow(dead_code)] // The target needs the rest.
mod basket;
mod parts;

use std::fs;
use std::path::Path;

use cladtorch::columns::branch::Shape;
use cladtorch::graph::{Activation, Init};
use cladtorch::model::Model;
use cladtorch::rootfile::RootFile;

/// Numbers of an entry where its length differs.
const WANTED: usize = 3;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("name a folder for the corpus")?;
    for name in ["file", "basket", "onnx", "model", "weights", "network"] {
        fs::create_dir_all(Path::new(&folder).join(name))?;
    }
    for file in arguments {
        add(Path::new(&folder), Path::new(&file))?;
    }
    for (seed, activation) in Activation::ALL.iter().enumerate() {
        let model = Model::new(&[3, 4, 2], *activation, Init::Kaiming, seed as u64)?;
        let at = |target: &str| Path::new(&folder).join(target).join(activation.name());
        model.export_onnx(&at("onnx"))?;
        model.save(&at("model"))?;
        model.save_weights(&at("weights"))?;
        let bytes = fs::read(at("weights"))?;
        fs::write(at("weights"), [&[u8::MAX], &bytes[..]].concat())?;
    }
    for (target, wholes) in [("weights", &parts::WEIGHTS[..]), ("network", &parts::NETWORKS)] {
        for (number, input) in parts::inputs(wholes).into_iter().enumerate() {
            fs::write(Path::new(&folder).join(target).join(number.to_string()), input)?;
        }
    }
    Ok(())
}

/// One sound file.
fn add(folder: &Path, path: &Path) -> Outcome {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let bytes = fs::read(path)?;
    fs::write(folder.join("file").join(&*stem), &bytes)?;
    let file = RootFile::open(path)?;
    let names: Vec<String> = file.trees().map(str::to_owned).collect();
    for name in names {
        for column in file.tree(&name)?.columns {
            let Ok(layout) = column.layout else { continue };
            let wanted = if let Shape::Fixed { length, .. } = layout.shape { length } else { WANTED };
            let header = basket::header(layout.element, layout.shape, wanted);
            for (number, (&seek, &length)) in layout.baskets.seeks.iter().zip(&layout.baskets.bytes).enumerate() {
                let record = &bytes[seek as usize..][..length as usize];
                let seed = folder.join("basket").join(format!("{stem}-{}-{number}", column.name));
                fs::write(seed, [&header[..], record].concat())?;
            }
        }
    }
    Ok(())
}
