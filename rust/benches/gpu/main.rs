//! What runs on a GPU: functions with their gradients, and networks in training. Writes the records that `cargo xtask bench`
//! describes to the file that is named; without a GPU it says what is missing. A second argument is the Python that has PyTorch
//! for its GPUs; without it the peer is LibTorch alone.

mod functions;
mod pytorch;
mod training;

use std::path::PathBuf;

use cladtorch::device;
use cladtorch::gradient::cuda::Gpu;
use serde_json::{Value, json};

const ROUNDS: usize = 9;

fn main() {
    // Cargo's own arguments begin with two dashes.
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let (out, python) = (arguments.next().map(PathBuf::from), arguments.next());
    if let Err(why) = measure(out, python.as_deref()) {
        println!("nothing was measured on a GPU: {why}");
    }
}

fn measure(out: Option<PathBuf>, python: Option<&str>) -> Result<(), String> {
    let device = device::open("cuda:0").map_err(|error| error.to_string())?;
    let gpu = Gpu::open(0).map_err(|error| error.to_string())?;
    let mut records = training::measure(device, &gpu, python)?;
    records.extend(functions::measure(device, &gpu)?);
    if let Some(path) = out {
        let text = serde_json::to_string_pretty(&records).map_err(|error| error.to_string())?;
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// `times` are those of the rounds, in order of size.
fn record(case: &str, who: &str, times: &[f64], check: &str) -> Value {
    let [median, low, high] = [ROUNDS / 2, 0, ROUNDS - 1].map(|at| times[at]);
    json!({"case": case, "who": who, "threads": 1, "median_s": median, "low_s": low, "high_s": high, "rounds": ROUNDS,
           "check": check})
}

/// Median, lowest and highest for people.
fn microseconds(times: &[f64]) -> String {
    let [median, low, high] = [ROUNDS / 2, 0, ROUNDS - 1].map(|at| times[at] * 1e6);
    format!("{median:9.2} us ({low:.2} to {high:.2})")
}
