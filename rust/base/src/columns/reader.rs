//! The fast reader: windows of entries, each decoded basket by basket and laid out as rows while it is in the cache.
//!
//! A `window` holds the numbers of some entries, column by column; the `decoder` fills it. Columns of plain float32
//! wait there with the file's byte order: swapping their bytes is part of laying them out.

mod decoder;
mod window;

use std::ops::Range;

use rayon::ThreadPool;

use super::branch::{Branch, ColumnPart, DAMAGED, PIECE_BYTES};
use super::file::TreeFile;
use crate::error::{Error, Result};
use window::Window;

/// The entries of a file that become rows.
#[derive(Clone, Copy, Debug)]
pub enum EntrySelection<'a> {
    /// Those from the first on, before the second.
    Between(u64, u64),
    /// These, in rising order.
    Some(&'a [u64]),
}

impl EntrySelection<'_> {
    /// Entries beyond the file, or not in ascending order, would never be found.
    fn check(self, file: &TreeFile) -> Result<()> {
        let sound = match self {
            EntrySelection::Between(first, end) => first <= end && end <= file.entries(),
            EntrySelection::Some(list) => {
                list.is_sorted_by(|a, b| a < b) && list.last().is_none_or(|&last| last < file.entries())
            }
        };
        if sound {
            return Ok(());
        }
        let path = file.path().display();
        Err(Error::Internal(format!("rows of {path} are not in order, or none of its {} entries", file.entries())))
    }

    /// Number of rows.
    pub fn count(self) -> usize {
        match self {
            EntrySelection::Between(first, end) => end.saturating_sub(first) as usize,
            EntrySelection::Some(entries) => entries.len(),
        }
    }

    /// The indices of the rows whose entries are in `range`.
    fn within(self, range: Range<u64>) -> Range<usize> {
        match self {
            EntrySelection::Between(first, end) => {
                let row = |entry: u64| (entry.clamp(first, end) - first) as usize;
                row(range.start)..row(range.end)
            }
            EntrySelection::Some(entries) => {
                let before = |limit| entries.partition_point(|&entry| entry < limit);
                before(range.start)..before(range.end)
            }
        }
    }

    /// The first entry from `from` on that is a row; `None` after the last.
    fn next(self, from: u64) -> Option<u64> {
        match self {
            EntrySelection::Between(first, end) => Some(from.max(first)).filter(|&entry| entry < end),
            EntrySelection::Some(list) => list.get(list.partition_point(|&entry| entry < from)).copied(),
        }
    }
}

/// A table that rows are written to.
pub struct Plane<'a> {
    /// [rows, width], for all rows of the file.
    pub rows: &'a mut [f32],
    /// Numbers per row.
    pub width: usize,
    /// A branch's number and its place in a row, in ascending order of places.
    pub columns: Vec<(usize, usize)>,
}

impl<'a> Plane<'a> {
    /// The columns of one part of `branches`, in `rows` of `width` numbers.
    pub fn new(rows: &'a mut [f32], width: usize, branches: &[Branch], part: ColumnPart) -> Result<Plane<'a>> {
        let numbered = branches.iter().enumerate().filter(|(_, branch)| branch.part == part);
        let mut columns: Vec<_> = numbered.map(|(number, branch)| (number, branch.place)).collect();
        columns.sort_unstable_by_key(|&(_, place)| place);
        let mut end = 0;
        for &(branch, place) in &columns {
            let wanted = branches[branch].wanted;
            if wanted == 0 || place < end || place.saturating_add(wanted) > width {
                return Err(Error::Internal(format!("{wanted} numbers from {place} on in rows of {width}")));
            }
            end = place + wanted;
        }
        Ok(Plane { rows, width, columns })
    }
}

/// The first number that is not finite as float32.
#[derive(Clone, Debug, PartialEq)]
pub struct BadValue {
    /// Number of the branch.
    pub branch: usize,
    /// Entry in the file.
    pub entry: u64,
    /// As stored in the file.
    pub value: f64,
}

/// Called between baskets: an error ends the reading.
pub type Check = fn() -> Result<()>;

/// Reads the entries `rows` of `file` into `planes`. Numbers that are not finite are written as well; returns the first
/// one in a row.
pub fn read(
    file: &TreeFile,
    rows: EntrySelection,
    planes: &mut [Plane],
    pool: &ThreadPool,
    check: Check,
) -> Result<Option<BadValue>> {
    rows.check(file)?;
    let mut window = Window::new(file, rows, check)?;
    let mut alone = Vec::new();
    for plane in planes.iter_mut() {
        if let Some(branch) = alone_in(plane, rows, file) {
            pool.install(|| window.fill(branch, plane))?;
            alone.push(branch);
        }
    }
    for group in groups(file.branches(), &alone) {
        pool.install(|| window.slide(&group, planes))?;
    }
    window.finish()
}

/// The branch whose decoded numbers are the rows of `plane`, one after the other: they need no laying out.
fn alone_in(plane: &Plane, rows: EntrySelection, file: &TreeFile) -> Option<usize> {
    match (rows, plane.columns.as_slice()) {
        (EntrySelection::Between(0, end), &[(branch, 0)])
            if end == file.entries() && file.branches()[branch].wanted == plane.width =>
        {
            Some(branch)
        }
        _ => None,
    }
}

/// The numbers of branches that are read together, except those in `without`: as many as have one piece each in the
/// arena.
fn groups(branches: &[Branch], without: &[usize]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut bytes = 0u64;
    for (number, branch) in branches.iter().enumerate().filter(|(number, _)| !without.contains(number)) {
        let largest = branch.baskets.iter().map(|place| place.end - place.first).max().unwrap_or(0);
        let more = largest.saturating_mul(branch.row_bytes());
        bytes = bytes.saturating_add(more);
        match groups.last_mut() {
            Some(group) if bytes <= PIECE_BYTES => group.push(number),
            _ => {
                groups.push(vec![number]);
                bytes = more;
            }
        }
    }
    groups
}

/// The earlier of two bad numbers.
fn earlier(a: Option<BadValue>, b: Option<BadValue>) -> Option<BadValue> {
    a.into_iter().chain(b).min_by_key(|bad| (bad.entry, bad.branch))
}

fn too_large() -> Error {
    Error::invalid("a basket with more numbers than there are addresses", DAMAGED)
}
