//! Strain of detectors in files.

use std::path::Path;

use cladtorch_base::strain::{self, Strain};

use crate::error::{Result, guard};

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    /// See `strain::Strain`.
    struct StrainOfFile {
        detector: String,
        rate: f64,
        start: f64,
        values: Vec<f64>,
        /// 1 for good seconds.
        good: Vec<i32>,
        quality: Vec<u32>,
        injections: Vec<u32>,
        quality_bits: Vec<String>,
        injection_bits: Vec<String>,
    }

    extern "Rust" {
        fn strain_read(path: &str, required: Vec<String>) -> Result<StrainOfFile>;
        fn strain_read_hdf5(path: &str, dataset: &str) -> Result<Vec<f64>>;
        fn strain_write_candidates(path: &str, times: &[f64], statistics: &[f64], tolerance: f64) -> Result<()>;
    }
}

fn strain_read(path: &str, required: Vec<String>) -> Result<ffi::StrainOfFile> {
    guard(|| {
        let read = Strain::read(Path::new(path))?;
        let good = read.good(&required)?.into_iter().map(i32::from).collect();
        let Strain { detector, rate, start, values, quality, injections, bits, .. } = read;
        let [quality_bits, injection_bits] = bits;
        Ok(ffi::StrainOfFile { detector, rate, start, values, good, quality, injections, quality_bits, injection_bits })
    })
}

fn strain_read_hdf5(path: &str, dataset: &str) -> Result<Vec<f64>> {
    guard(|| strain::read_hdf5(Path::new(path), dataset))
}

fn strain_write_candidates(path: &str, times: &[f64], statistics: &[f64], tolerance: f64) -> Result<()> {
    guard(|| strain::write_candidates(Path::new(path), times, statistics, tolerance))
}
