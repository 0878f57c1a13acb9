//! ONNX files: read, and asked for the prediction of an event.

#![no_main]

use cladtorch::{Error, import};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| match import::model(input, None, "network", "") {
    Ok(model) => {
        let (x, mut y) = (vec![0.5; model.inputs()], vec![0.0; model.outputs()]);
        let _ = model.score(&x, false, &mut y);
    }
    // A defect of ours is an internal error; every other error is as it should be.
    Err(error) => assert!(!matches!(error, Error::Internal(_)), "{error}"),
});
