//! ONNX files as models.
#[path = "common/models.rs"]
#[allow(dead_code)] // Each test uses a part of it.
mod models;
#[path = "graph/modules.rs"]
#[allow(dead_code)] // Each test uses a part of it.
mod modules;
#[path = "graph/recorder.rs"]
#[allow(dead_code)] // Each test uses a part of it.
mod recorder;
#[path = "common/say.rs"]
mod say;
#[path = "graph/single_operators.rs"]
mod single_operators;

use cladtorch::model::Model;
use models::{difference, features, models};

/// Predictions of the network that `model` was written to a file as.
#[test]
fn what_was_exported_is_read_as_it_predicts() {
    const ROWS: usize = 50;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.onnx");
    let mut wrong = Vec::new();
    for (name, model) in models() {
        model.export_onnx(&path).unwrap();
        let read = match Model::load_onnx(&path, "") {
            Ok(read) => read,
            Err(error) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        let mut predictions = vec![0.0; ROWS * read.outputs()];
        read.predict_rows(&features(&read, ROWS), false, 2, &mut predictions).unwrap();
        let worst = difference(&model, ROWS, &predictions);
        if worst.is_nan() || worst > 1e-6 {
            wrong.push(format!("{name}: {worst:e}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
