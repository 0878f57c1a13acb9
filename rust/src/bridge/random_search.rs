//! Options of fits, drawn at random.

use super::training::FitSpec;
use crate::error::{Result, guard};
use crate::train::random_search::{Point, Space};

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    /// See `Point` in `random_search`.
    struct SearchPoint {
        network: usize,
        values: Vec<f64>,
    }

    unsafe extern "C++" {
        include!("cladtorch/src/bridge/training.rs.h");
        type FitSpec = crate::bridge::training::FitSpec;
    }

    extern "Rust" {
        type Space;
        fn space_new(networks: usize) -> Box<Space>;
        fn space_copy(space: &Space) -> Box<Space>;
        fn space_interval(space: &mut Space, option: &str, low: f64, high: f64, logarithmic: bool) -> Result<()>;
        fn space_choice(space: &mut Space, option: &str, values: &[f64]) -> Result<()>;
        /// Up to `count` points, in the order of the trials' numbers.
        fn space_draw(space: &Space, seed: u64, count: usize) -> Result<Vec<SearchPoint>>;
        fn space_apply(space: &Space, values: &[f64], spec: &FitSpec) -> Result<FitSpec>;
    }
}

fn space_new(networks: usize) -> Box<Space> {
    Box::new(Space::new(networks))
}

fn space_copy(space: &Space) -> Box<Space> {
    Box::new(space.clone())
}

fn space_interval(space: &mut Space, option: &str, low: f64, high: f64, logarithmic: bool) -> Result<()> {
    guard(|| space.interval(option, low, high, logarithmic))
}

fn space_choice(space: &mut Space, option: &str, values: &[f64]) -> Result<()> {
    guard(|| space.choice(option, values))
}

fn space_draw(space: &Space, seed: u64, count: usize) -> Result<Vec<ffi::SearchPoint>> {
    let point = |Point { network, values }: Point| ffi::SearchPoint { network, values };
    guard(|| Ok(space.draw(seed, count).into_iter().map(point).collect()))
}

fn space_apply(space: &Space, values: &[f64], spec: &FitSpec) -> Result<FitSpec> {
    guard(|| space.apply(values, &spec.options()?).map(|options| FitSpec::from(&options)))
}
