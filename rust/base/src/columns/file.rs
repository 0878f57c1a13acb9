//! A tree's file as ROOT describes it: one descriptor, read at given positions, and checked for changes after the
//! reading.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::branch::{Branch, ColumnPart, DAMAGED};
use crate::error::{Error, Result};

/// The identity of a file, which also changes when the file changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    /// Seconds and nanoseconds.
    changed: (i64, i64),
}

impl Identity {
    /// The identity of an open file; an error if it is not a regular file.
    pub fn of(file: &File, path: &Path) -> Result<Identity> {
        let data = file.metadata().map_err(|error| Error::io(path, error))?;
        if !data.is_file() {
            return Err(Error::invalid(format!("{} is not a regular file", path.display()), "use ROOT's reader"));
        }
        Ok(Identity {
            device: data.dev(),
            inode: data.ino(),
            size: data.size(),
            changed: (data.mtime(), data.mtime_nsec()),
        })
    }

    /// Bytes.
    pub fn size(&self) -> u64 {
        self.size
    }
}

/// One file of a tree, with the requested branches.
pub struct TreeFile {
    path: PathBuf,
    /// Absolute path: the working directory may have changed when the file is read.
    place: PathBuf,
    identity: Identity,
    entries: u64,
    branches: Vec<Branch>,
}

impl TreeFile {
    /// The file at `path`, whose tree has `entries` entries.
    pub fn new(path: &str, entries: u64) -> Result<TreeFile> {
        let path = PathBuf::from(path);
        let place = std::path::absolute(&path).map_err(|error| Error::io(&path, error))?;
        let file = open(&place)?;
        let identity = Identity::of(&file, &path)?;
        Ok(TreeFile { path, place, identity, entries, branches: Vec::new() })
    }

    /// The same if the file is still the described one.
    pub fn described(path: &str, entries: u64, identity: Identity) -> Result<TreeFile> {
        let file = TreeFile::new(path, entries)?;
        if file.identity == identity { Ok(file) } else { Err(changed(&file.path)) }
    }

    /// Adds a branch; see [`Branch::set_baskets`] for the lists.
    pub fn add(&mut self, mut branch: Branch, seeks: &[i64], bytes: &[i32], firsts: &[i64]) -> Result<()> {
        branch
            .set_baskets(seeks, bytes, firsts, self.entries, self.identity.size)
            .map_err(|what| Error::invalid(format!("{}: {what}", self.path.display()), DAMAGED))?;
        self.branches.push(branch);
        Ok(())
    }

    /// Entries of the tree in this file.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Branches in the order in which they were added.
    pub fn branches(&self) -> &[Branch] {
        &self.branches
    }

    /// Whether one of them is a column of `part`.
    pub fn gives(&self, part: ColumnPart) -> bool {
        self.branches.iter().any(|branch| branch.part == part)
    }

    /// The entries at which a basket of every branch ends, in ascending order: reading from one to the next decodes no
    /// basket twice.
    pub fn common_ends(&self) -> Vec<u64> {
        let mut ends = vec![self.entries];
        if let Some((first, others)) = self.branches.split_first() {
            let ends_of = |branch: &Branch| branch.baskets.iter().map(|place| place.end).collect::<Vec<_>>();
            let others: Vec<_> = others.iter().map(ends_of).collect();
            ends = ends_of(first);
            ends.retain(|end| others.iter().all(|other| other.binary_search(end).is_ok()));
        }
        ends.retain(|&end| end > 0);
        ends.dedup();
        ends
    }

    /// The path as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file for reading; an error if it is no longer the one that ROOT described.
    pub(super) fn open(&self) -> Result<OpenFile<'_>> {
        let open = OpenFile { file: open(&self.place)?, described: self };
        open.check_unchanged()?;
        Ok(open)
    }
}

fn changed(path: &Path) -> Error {
    Error::invalid(
        format!("{} changed while it was being read", path.display()),
        "read it again after the writer has finished",
    )
}

fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|error| Error::io(path, error))
}

/// An open file.
pub(super) struct OpenFile<'a> {
    file: File,
    described: &'a TreeFile,
}

impl OpenFile<'_> {
    /// Fills `bytes` from `position` on.
    pub(super) fn read(&self, position: u64, bytes: &mut [u8]) -> Result<()> {
        self.file.read_exact_at(bytes, position).map_err(|error| Error::io(&self.described.path, error))
    }

    /// An error if the file has been written to since ROOT described it.
    pub(super) fn check_unchanged(&self) -> Result<()> {
        let path = &self.described.path;
        if Identity::of(&self.file, path)? == self.described.identity { Ok(()) } else { Err(changed(path)) }
    }
}
