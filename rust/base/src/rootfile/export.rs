//! Numbers of a tree as a file for other programs.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::rc::Rc;

use oxyroot::{RootFile as NewFile, WriterTree};

use super::Table;
use crate::atomic_file;
use crate::error::{Error, Result, guard};
use crate::tensor_file::{self, Tensor};

/// `oxyroot` writes positions of four bytes.
pub(crate) const LARGEST_ROOT_FILE: usize = 1 << 30;

/// Kinds of file to which a table can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One tensor `features` [entries, width], float32; the metadata's `columns` is a JSON list of their names.
    Safetensors,
    /// Names in the first line, then one line per entry; numbers in the shortest form that reads back exactly.
    Csv,
    /// A tree of float branches, uncompressed.
    Root,
}

impl Format {
    /// The kind for the extension of `path`.
    pub fn of(path: &Path) -> Result<Self> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("safetensors") => Ok(Self::Safetensors),
            Some("csv") => Ok(Self::Csv),
            Some("root") => Ok(Self::Root),
            _ => Err(Error::invalid(
                format!("{} does not end in the name of a format", path.display()),
                "use .safetensors, .csv or .root",
            )),
        }
    }
}

impl Table {
    /// Writes the table to `path`, whole or not at all. `tree` is its name there, if the format has one.
    pub fn write(self, path: &Path, format: Format, tree: &str) -> Result<()> {
        let failed = |error| Error::io(path, error);
        atomic_file::replace(path, |new| match format {
            Format::Safetensors => self.write_safetensors(new, path),
            Format::Csv => File::create(new).and_then(|file| self.write_csv(BufWriter::new(file))).map_err(failed),
            Format::Root => self.write_root(new, path, tree),
        })
    }

    /// Writes to `new` the file that is to become `path`.
    fn write_safetensors(&self, new: &Path, path: &Path) -> Result<()> {
        let numbers = self.rows.as_slice();
        let shape = [numbers.len() / self.names.len().max(1), self.names.len()];
        let tensors = [Tensor::new("features", &shape, numbers)];
        let header = tensor_file::header(&tensors, ("columns", serde_json::json!(self.names).to_string()))?;
        tensor_file::write_new(new, path, &header, &tensors)
    }

    /// Writes the table as text.
    pub fn write_csv(&self, mut to: impl Write) -> io::Result<()> {
        let names: Vec<_> = self.names.iter().map(|name| quoted(name)).collect();
        writeln!(to, "{}", names.join(","))?;
        for row in self.rows.as_slice().chunks_exact(self.names.len()) {
            for (i, number) in row.iter().enumerate() {
                write!(to, "{}{number}", if i > 0 { "," } else { "" })?;
            }
            writeln!(to)?;
        }
        to.flush()
    }

    /// Writes to `new` the file that is to become `path`.
    fn write_root(self, new: &Path, path: &Path, tree: &str) -> Result<()> {
        if self.rows.as_slice().len() > LARGEST_ROOT_FILE / size_of::<f32>() {
            let what =
                format!("a ROOT file of {} numbers is more than can be written here", self.rows.as_slice().len());
            return Err(Error::invalid(what, "choose fewer columns, or .safetensors"));
        }
        let (width, rows) = (self.names.len(), Rc::new(self.rows));
        write_tree(new, path, tree, |written| {
            for (column, name) in self.names.iter().enumerate() {
                let rows = Rc::clone(&rows);
                written.new_branch(
                    name,
                    (0..rows.as_slice().len() / width).map(move |row| rows.as_slice()[row * width + column]),
                );
            }
        })
    }
}

/// Writes to `new`, which is to become `path`, a tree `name` with the branches that `add` adds to it.
pub(crate) fn write_tree(new: &Path, path: &Path, name: &str, add: impl FnOnce(&mut WriterTree)) -> Result<()> {
    let text = new.to_str().ok_or_else(|| Error::invalid(format!("{path:?} is no UTF-8"), "choose another name"))?;
    let failed = |error: &dyn std::fmt::Debug| {
        let what = format!("{} could not be written (oxyroot: {error:?})", path.display());
        Error::invalid(what, "check the free disk space and the permissions")
    };
    guard(|| {
        let mut file = NewFile::create(text).map_err(|error| failed(&error))?;
        let mut tree = WriterTree::new(name);
        add(&mut tree);
        tree.write(&mut file).map_err(|error| failed(&error))?;
        file.close().map_err(|error| failed(&error))
    })
}

/// A name as a field of a line.
fn quoted(name: &str) -> String {
    match name.contains([',', '"', '\n']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.to_owned(),
    }
}
