//! `corpus FOLDER FILE…`: what the fuzzer starts from, made of sound files. `FOLDER/file` gets the files, `FOLDER/basket`
//! every basket of every readable column, `FOLDER/onnx` small
//! networks that this writes itself.

#[allow(dead_code)] // The target needs the rest.
mod basket;

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
    for name in ["file", "basket", "onnx"] {
        fs::create_dir_all(Path::new(&folder).join(name))?;
    }
    for file in arguments {
        add(Path::new(&folder), Path::new(&file))?;
    }
    for (seed, activation) in Activation::ALL.iter().enumerate() {
        let model = Model::new(&[3, 4, 2], *activation, Init::Kaiming, seed as u64)?;
        model.export_onnx(&Path::new(&folder).join("onnx").join(activation.name()))?;
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
