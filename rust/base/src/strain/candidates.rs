//! The results of a search, in the file layout of the first mock-data challenge (MLGWSC-1, Phys. Rev. D 107 (2023)
//! 023021).

use std::fs;
use std::path::Path;

use hdf5_writer::{DatasetBuilder, Hdf5Builder};

use crate::atomic_file;
use crate::error::{Error, Result};

/// Writes the datasets `time` (s), `stat` and `var` (s), each a number for each candidate, of an HDF5 file.
///
/// `tolerance` is `var`: the distance from a signal up to which a candidate counts as that signal.
pub fn write_candidates(path: &Path, times: &[f64], statistics: &[f64], tolerance: f64) -> Result<()> {
    for (what, values) in [("time", times), ("statistic", statistics)] {
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            let what = format!("the {what} of candidate {at} is {}", values[at]);
            return Err(Error::invalid(what, "leave out candidates of strain that is not a number"));
        }
    }
    if !(tolerance.is_finite() && tolerance >= 0.0) {
        return Err(Error::invalid(format!("the tolerance is {tolerance} s"), "give a finite number from 0 on"));
    }
    let column = |name, values: &[f64]| DatasetBuilder::typed_data(name, [values.len() as u64], values);
    let encode = || {
        Hdf5Builder::new()
            .dataset(column("time", times)?)
            .dataset(column("stat", statistics)?)
            .dataset(column("var", &vec![tolerance; times.len()])?)
            .into_plan()?
            .encode(Default::default())
    };
    let bytes = encode().map_err(|error| Error::Internal(format!("HDF5: {error}")))?;
    atomic_file::replace(path, |new| fs::write(new, &bytes).map_err(|error| Error::io(path, error)))
}
