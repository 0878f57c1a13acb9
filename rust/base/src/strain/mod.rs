//! Strain of gravitational-wave detectors, as the Gravitational Wave Open Science Center publishes it in HDF5 files
//! (<https://gwosc.org>; Abbott et al., SoftwareX 13 (2021) 100658), without the C library.

mod candidates;
mod hdf5;
mod series;
mod table;

use std::path::Path;

pub use candidates::write_candidates;
pub use series::{GOOD, Strain};
pub use table::{StrainTable, Windows};

use crate::error::Result;

/// The values of the dataset `name` (with its groups, as in `meta/psd`) of an HDF5 file, in C order.
pub fn read_hdf5(path: &Path, name: &str) -> Result<Vec<f64>> {
    hdf5::File::open(path)?.numbers(name)
}
