//! The derivatives that Clad made, and the manual one of the matrix product, function by function: float64 against
//! LibTorch autograd and central differences, float32 against float64, at ordinary and at awkward points. The checkers
//! return a `Result`, so that the suite can also show that it catches a wrong pullback.

#[path = "gradients/activations.rs"]
mod activations;
#[path = "gradients/linear.rs"]
mod linear;
#[path = "gradients/losses.rs"]
mod losses;

use std::path::Path;
use std::process::Command;

use cladtorch::kernels::Scalar;
use support::numeric::{central_difference, compare};
use tch::{Kind, Tensor};

type Checked = Result<(), String>;

/// Zeros of both signs, denormals, large values, and where exp overflows or underflows in one of the types.
const AWKWARD: [f64; 25] = [
    0.0, -0.0, 1e-40, -1e-40, 5e-324, -5e-324, 1e-8, -1e-8, 1.0, -1.0, 16.5, -16.5, 20.0, -20.0, 88.0, -88.0, 100.0,
    -100.0, 104.0, -104.0, 750.0, -750.0, 1e4, -1e4, 37.0,
];

/// The awkward points and a grid from -12 to 12.
fn points() -> Vec<f64> {
    AWKWARD.into_iter().chain((-64..=64).map(|i| f64::from(i) * 0.1875)).collect()
}

/// Seeded numbers in [-1, 1].
fn numbers(count: usize, seed: u64) -> Vec<f64> {
    (1..=count).map(|i| (i as f64 * (seed as f64 + 0.37)).sin()).collect()
}

fn cast<T: Scalar>(values: &[f64]) -> Vec<T> {
    values.iter().map(|&v| T::from_f64(v)).collect()
}

fn widen<T: Scalar>(values: &[T]) -> Vec<f64> {
    values.iter().map(|v| v.to_f64()).collect()
}

fn tensor(values: &[f64], shape: [usize; 2]) -> Tensor {
    Tensor::from_slice(values).reshape(shape.map(|side| side as i64))
}

fn leaf(values: &[f64], shape: [usize; 2]) -> Tensor {
    tensor(values, shape).set_requires_grad(true)
}

fn values(tensor: &Tensor) -> Vec<f64> {
    Vec::try_from(tensor.to_kind(Kind::Double).flatten(0, -1)).unwrap()
}

/// The checked-in derivatives belong to the present kernels and, if Clad is installed, equal its output.
#[test]
fn generated_derivatives_are_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    // Not captured: the message that Clad is missing should be visible.
    let status =
        Command::new(env!("CARGO")).args(["xtask", "gradients", "--check"]).current_dir(root).status().unwrap();
    assert!(status.success(), "cargo xtask gradients --check: {status}");
}
