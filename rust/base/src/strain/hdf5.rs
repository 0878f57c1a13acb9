//! Datasets of HDF5 files; every size is checked before memory is allocated.

use std::fs;
use std::path::{Path, PathBuf};

use hdf5_reader::{Dataset, Datatype, H5Type, Hdf5File, OpenOptions};

use crate::error::{Error, Result, guard};
use crate::text;

/// Largest dataset in bytes: 4096 s of float64 at 16384 Hz, the longest published files.
const LARGEST: usize = 1 << 29;

/// Bytes that one byte of a file can expand to: deflate makes at most 1032 of one.
const EXPANSION: usize = 1100;

/// Bytes of a dataset that is small by nature (masks, names, single numbers) in a file of any size.
const SMALL: usize = 1 << 23;

/// An open file.
pub(super) struct File {
    path: PathBuf,
    file: Hdf5File,
}

impl File {
    /// Opens the file at `path`, and no file that it links to.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let about = fs::metadata(path).map_err(|error| Error::io(path, error))?;
        // Opening a pipe would wait for its writer.
        if !about.is_file() {
            let what = format!("{} is not a regular file (a folder, a pipe or a device)", path.display());
            return Err(Error::invalid(what, "name an HDF5 file"));
        }
        let decoded = usize::try_from(about.len()).unwrap_or(LARGEST).saturating_mul(EXPANSION);
        let most = decoded.clamp(SMALL, LARGEST);
        let options = OpenOptions::default()
            .with_chunk_cache_bytes(0)
            .with_max_chunk_bytes(most.min(1 << 28))
            .with_max_read_bytes(most)
            .with_max_object_header_bytes(1 << 20);
        let file = guard(|| {
            Hdf5File::open_with_options(path, options).map_err(|error| {
                let what = text::name(&format!("{}: it cannot be read as HDF5 ({error})", path.display()));
                Error::invalid(what, "check the name and copy the file again")
            })
        })?;
        Ok(Self { path: path.to_path_buf(), file })
    }

    /// An error about the object `name`.
    pub(super) fn refusal(&self, name: &str, what: &str, remedy: &str) -> Error {
        Error::invalid(text::name(&format!("{}, {name}: {what}", self.path.display())), remedy)
    }

    fn damaged(&self, name: &str, error: &hdf5_reader::error::Error) -> Error {
        self.refusal(name, &error.to_string(), "check what the file holds, and copy it again")
    }

    fn dataset(&self, name: &str) -> Result<Dataset> {
        self.file.dataset(name).map_err(|error| self.damaged(name, &error))
    }

    /// Elements of the dataset `name`, if they fit into `most`.
    pub(super) fn count(&self, name: &str, most: usize) -> Result<usize> {
        guard(|| {
            let dataset = self.dataset(name)?;
            let count = dataset.num_elements().map_err(|error| self.damaged(name, &error))?;
            usize::try_from(count).ok().filter(|&count| count <= most).ok_or_else(|| {
                self.refusal(name, &format!("{count} elements are more than {most}"), "give a shorter file")
            })
        })
    }

    fn read<T: H5Type>(&self, name: &str, dataset: &Dataset) -> Result<Vec<T>> {
        let array = dataset.read_array::<T>().map_err(|error| self.damaged(name, &error))?;
        let (numbers, first) = array.into_raw_vec_and_offset();
        match first.unwrap_or(0) {
            0 => Ok(numbers),
            first => Err(Error::Internal(format!("an array whose first number is number {first}"))),
        }
    }

    /// The numbers of the dataset `name`, float32 or float64, in C order.
    pub(super) fn numbers(&self, name: &str) -> Result<Vec<f64>> {
        guard(|| {
            let dataset = self.dataset(name)?;
            self.count(name, LARGEST / size_of::<f64>())?;
            match *dataset.dtype() {
                Datatype::FloatingPoint { size: 8, .. } => self.read::<f64>(name, &dataset),
                Datatype::FloatingPoint { size: 4, .. } => {
                    Ok(self.read::<f32>(name, &dataset)?.into_iter().map(f64::from).collect())
                }
                _ => Err(self.refusal(name, "it does not hold float32 or float64", "convert it to float64")),
            }
        })
    }

    /// The dataset `name` of bits, as many as `count`.
    pub(super) fn bits(&self, name: &str, count: usize) -> Result<Vec<u32>> {
        guard(|| {
            let found = self.count(name, SMALL / size_of::<u32>())?;
            if found != count {
                let what = format!("it has {found} numbers for {count} seconds of strain");
                return Err(self.refusal(name, &what, "copy the file again"));
            }
            self.read(name, &self.dataset(name)?)
        })
    }

    /// The texts of the dataset `name`.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>> {
        guard(|| {
            self.count(name, 32)?; // bits of a mask
            self.dataset(name)?.read_strings().map_err(|error| self.damaged(name, &error))
        })
    }

    /// The text of the dataset `name`.
    pub(super) fn text(&self, name: &str) -> Result<String> {
        guard(|| self.dataset(name)?.read_string().map_err(|error| self.damaged(name, &error)))
    }

    /// An attribute, a number, of the dataset `name`.
    pub(super) fn attribute(&self, name: &str, attribute: &str) -> Result<f64> {
        guard(|| {
            let found = self.dataset(name)?.attribute(attribute).and_then(|found| found.read_as_f64());
            found.map_err(|error| self.damaged(&format!("{name}, attribute {attribute}"), &error))
        })
    }
}
