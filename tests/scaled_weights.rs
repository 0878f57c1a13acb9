//! Batch normalisation merged into the weights of convolutions, in predictions: the same as separate, except for the
//! order of sums.

use cladtorch::gradient::{Memory, Packing, Pass};
use cladtorch::graph::Mode;
use support::graph::modules::{CASES, Case};
use tch::Kind;

const TOLERANCE: f32 = 1e-6;

#[test]
fn convolutions_with_scaled_weights_give_the_same() {
    let cases = CASES.iter().filter(|case| case.name.ends_with("with batch normalisation"));
    let cases: Vec<_> = cases.filter(|case| case.name != "residual MLP with batch normalisation").collect();
    assert_eq!(cases.len(), 2);
    cases.into_iter().for_each(gives_the_same);
}

fn gives_the_same(case: &Case) {
    let module = case.module(Kind::Float);
    let parameters: Vec<f32> = case.start().iter().map(|&value| value as f32).collect();
    let state: Vec<f32> = (0..module.state()).map(|at| 0.3 + 0.05 * at as f32).collect();
    let packing = Packing::plain(&module);
    for rows in [1, 7] {
        let x: Vec<f32> = (0..rows * module.inputs()).map(|at| (0.7 * at as f32).sin()).collect();
        let memory = Memory { x: &x, parameters: &parameters, derived: &[], state: &state };
        let outputs = |mut pass: Pass<f32>| {
            let mut outputs = vec![0.0; rows * module.outputs()];
            pass.forward(&module, &memory, 1, &mut outputs).unwrap();
            outputs
        };
        let program = module.program(Mode::Evaluation, rows).unwrap();
        let apart = outputs(Pass::of_program(&module, &packing, Mode::Evaluation, rows, &program).unwrap());
        let scaled = outputs(Pass::new(&module, &packing, Mode::Evaluation, rows).unwrap());
        let largest = apart.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
        let worst = apart.iter().zip(&scaled).fold(0.0_f32, |worst, (a, b)| worst.max((a - b).abs()));
        assert!(largest > 0.1 && worst <= TOLERANCE * largest, "{}, {rows} rows: {worst:e} of {largest}", case.name);
        assert!(rows == 1 || apart != scaled, "the weights were not scaled"); // two numbers may have the same bits
    }
}
