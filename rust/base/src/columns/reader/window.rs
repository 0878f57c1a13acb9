//! The numbers of some entries, column by column, and how they become rows.

use std::collections::VecDeque;

use rayon::prelude::*;
use zerocopy::IntoBytes;

use super::decoder::{Decoder, Job, LINE_BYTES};
use super::{BadValue, Check, EntrySelection, Plane, earlier, too_large};
use crate::columns::branch::{BasketPiece, Branch, PIECE_BYTES};
use crate::columns::file::TreeFile;
use crate::error::Result;
use crate::kernels::{self, Column};
use crate::memory::HostBuffer;

/// Numbers of a window for each thread, in bytes. A window ends at the end of a basket: with ROOT's usual baskets of 32
/// kB and about ten columns it becomes about twice as long, and still fits in a core's own cache.
const WINDOW_BYTES: usize = 512 << 10;

/// Rows laid out at a time: a share of the level-2 cache.
const BLOCK_BYTES: usize = 256 << 10;

/// Columns, and rows, that the kernel lays out at a time. The bytes of fewer columns are turned over one number at a time.
const TOGETHER: usize = 8;

const NUMBER: usize = size_of::<f32>();

/// Numbers of one basket, [end - first, wanted].
#[derive(Clone, Copy)]
struct Chunk {
    first: u64,
    end: u64,
    /// Offset of its first number in the arena, in bytes.
    at: usize,
}

/// A branch being read: the baskets read so far that are still needed.
struct BranchCursor<'a> {
    number: usize,
    branch: &'a Branch,
    /// Whether its numbers are in the arena as they lie in the file.
    big_endian: bool,
    next: usize,
    chunks: VecDeque<Chunk>,
}

impl<'a> BranchCursor<'a> {
    fn new(number: usize, branch: &'a Branch) -> BranchCursor<'a> {
        BranchCursor { number, branch, big_endian: false, next: 0, chunks: VecDeque::new() }
    }

    /// Bytes of an entry's numbers.
    fn entry_bytes(&self) -> usize {
        self.branch.wanted * NUMBER
    }

    /// The end of the basket that holds `entry`.
    fn end_of(&self, entry: u64) -> u64 {
        let after = self.branch.baskets.partition_point(|place| place.end <= entry);
        self.branch.baskets.get(after).map_or(entry + 1, |place| place.end)
    }

    /// The numbers from `entry` up to the end of their basket.
    fn from<'b>(&self, entry: u64, arena: &'b [u8]) -> &'b [u8] {
        let chunk = self.chunks.iter().find(|chunk| (chunk.first..chunk.end).contains(&entry));
        let bytes = self.entry_bytes();
        chunk.map_or(&[], |chunk| {
            let skipped = (entry - chunk.first) as usize * bytes;
            &arena[chunk.at + skipped..][..(chunk.end - entry) as usize * bytes]
        })
    }

    /// Reports `value` at `entry`, if it is not finite.
    fn bad(&self, entry: u64, value: f32) -> Option<BadValue> {
        (!value.is_finite()).then(|| BadValue { branch: self.number, entry, value: value.into() })
    }
}

/// Columns, as cursors and their places in a row, that are laid out at once: neighbours of one number each, or one
/// column of several.
fn runs<'c>(columns: &'c [(usize, usize)], cursors: &[BranchCursor]) -> impl Iterator<Item = &'c [(usize, usize)]> {
    let is_single = |&(cursor, _): &(usize, usize)| cursors[cursor].branch.wanted == 1;
    columns.chunk_by(move |a, b| b.1 == a.1 + 1 && is_single(a) && is_single(b))
}

/// The cursors of columns that are laid out with enough others for the kernel to take them together.
fn together(columns: &[Vec<(usize, usize)>], cursors: &[BranchCursor]) -> Vec<usize> {
    let runs = columns.iter().flat_map(|columns| runs(columns, cursors));
    runs.filter(|run| run.len() >= TOGETHER).flatten().map(|&(cursor, _)| cursor).collect()
}

/// The entries in work: in an arena, column by column, then laid out as rows.
pub(super) struct Window<'a> {
    decoder: Decoder<'a>,
    cursors: Vec<BranchCursor<'a>>,
    /// Pages are kept from window to window, so that they are in the cache and the system clears them only once.
    arena: HostBuffer<f32>,
    bad: Option<BadValue>,
}

impl<'a> Window<'a> {
    /// A window on the entries `rows` of `file`.
    pub fn new(file: &'a TreeFile, rows: EntrySelection<'a>, check: Check) -> Result<Window<'a>> {
        // Only addresses: growth, which would cost large pages their places, is rare.
        let arena = HostBuffer::pages(PIECE_BYTES as usize / NUMBER)?;
        Ok(Window { decoder: Decoder::new(file, rows, check)?, cursors: Vec::new(), arena, bad: None })
    }

    /// The first number of a row that was not finite.
    pub fn finish(self) -> Result<Option<BadValue>> {
        self.decoder.check_unchanged()?;
        Ok(self.bad)
    }

    /// Reads all entries of the only branch in `plane`.
    pub fn fill(&mut self, branch: usize, plane: &mut Plane) -> Result<()> {
        let Branch { baskets, wanted, .. } = &self.decoder.file.branches()[branch];
        let job = |(basket, &place): (usize, &BasketPiece)| Job::new(0, branch, basket, place, false);
        let mut jobs: Vec<Job> = baskets.iter().enumerate().map(job).collect();
        let rooms: Vec<usize> = jobs.iter().map(|job| job.length(*wanted)).collect::<Result<_>>()?;
        let bad = self.decoder.decode_all(&mut jobs, &rooms, plane.rows)?;
        self.bad = earlier(self.bad.take(), bad);
        Ok(())
    }

    /// Reads the branches of `group`, from the first entry to the last.
    pub fn slide(&mut self, group: &[usize], planes: &mut [Plane]) -> Result<()> {
        let branches = self.decoder.file.branches();
        self.cursors = group.iter().map(|&number| BranchCursor::new(number, &branches[number])).collect();
        let cursor = |&(branch, place): &(usize, usize)| Some((group.binary_search(&branch).ok()?, place));
        let columns = |plane: &Plane| plane.columns.iter().filter_map(cursor).collect::<Vec<_>>();
        let columns: Vec<_> = planes.iter().map(columns).collect();
        for number in together(&columns, &self.cursors) {
            self.cursors[number].big_endian = self.cursors[number].branch.is_plain();
        }
        let per_entry: usize = self.cursors.iter().map(BranchCursor::entry_bytes).sum();
        let rows = (rayon::current_num_threads() * WINDOW_BYTES / per_entry.max(1)).max(1) as u64;
        let entries = self.decoder.file.entries();
        let mut from = 0;
        while let Some(first) = self.decoder.rows.next(from) {
            // To the end of a basket, so that at most one basket of each branch is kept for the next window.
            let last = first.saturating_add(rows).min(entries) - 1;
            let end = self.cursors.iter().map(|cursor| cursor.end_of(last)).min().unwrap_or(entries).min(entries);
            self.decode(first, end)?;
            for (plane, columns) in planes.iter_mut().zip(&columns) {
                let bad = self.lay_out(columns, plane, first, end);
                self.bad = earlier(self.bad.take(), bad);
            }
            from = end;
        }
        Ok(())
    }

    /// Decodes every basket that begins before `end` and has not been decoded yet; drops those that end before `first`.
    fn decode(&mut self, first: u64, end: u64) -> Result<()> {
        let kept = self.compact(first).next_multiple_of(LINE_BYTES) / NUMBER;
        let mut jobs = self.jobs(first, end);
        let room = |job: &Job| job.room(self.cursors[job.cursor].branch.wanted);
        let rooms: Vec<usize> = jobs.iter().map(room).collect::<Result<_>>()?;
        let total = rooms.iter().try_fold(kept, |sum, &room| sum.checked_add(room)).ok_or_else(too_large)?;
        self.arena.grow(total)?;
        let free = &mut self.arena.as_mut_slice()[kept..];
        let bad = self.decoder.decode_all(&mut jobs, &rooms, free)?;
        self.bad = earlier(self.bad.take(), bad);
        let mut at = kept * NUMBER;
        for (job, room) in jobs.iter().zip(rooms) {
            let BasketPiece { first, end, .. } = job.place;
            self.cursors[job.cursor].chunks.push_back(Chunk { first, end, at: at + job.begin });
            at += room * NUMBER;
        }
        for cursor in &mut self.cursors {
            cursor.chunks.make_contiguous().sort_unstable_by_key(|chunk| chunk.first);
        }
        Ok(())
    }

    /// Drops the chunks that end before `first` and moves the others to the front of the arena; returns their length in
    /// bytes.
    fn compact(&mut self, first: u64) -> usize {
        let mut kept: Vec<(&mut Chunk, usize)> = Vec::new();
        for cursor in &mut self.cursors {
            cursor.chunks.retain(|chunk| chunk.end > first);
            let bytes = cursor.entry_bytes();
            kept.extend(cursor.chunks.iter_mut().map(|chunk| (chunk, bytes)));
        }
        kept.sort_unstable_by_key(|(chunk, _)| chunk.at);
        let arena = self.arena.as_mut_slice().as_mut_bytes();
        let mut at = 0;
        for (chunk, bytes) in kept {
            let skipped = first.saturating_sub(chunk.first) as usize * bytes;
            chunk.first = chunk.first.max(first);
            let length = (chunk.end - chunk.first) as usize * bytes;
            arena.copy_within(chunk.at + skipped..chunk.at + skipped + length, at);
            chunk.at = at;
            at += length;
        }
        at
    }

    /// The baskets with rows that begin before `end` and have not been decoded yet, in the order of the file.
    fn jobs(&mut self, first: u64, end: u64) -> Vec<Job> {
        let rows = self.decoder.rows;
        let mut jobs = Vec::new();
        for (index, cursor) in self.cursors.iter_mut().enumerate() {
            while let Some(&place) = cursor.branch.baskets.get(cursor.next).filter(|place| place.first < end) {
                if place.end > first && !rows.within(place.first.max(first)..place.end).is_empty() {
                    jobs.push(Job::new(index, cursor.number, cursor.next, place, cursor.big_endian));
                }
                cursor.next += 1;
            }
        }
        jobs.sort_unstable_by_key(|job| job.place.seek);
        jobs
    }

    /// Writes the entries from `first` to `end` to their rows. `columns` are cursors and the places of their numbers in a
    /// row. Returns the first number that is not finite, of those that were big-endian.
    fn lay_out(&self, columns: &[(usize, usize)], plane: &mut Plane, first: u64, end: u64) -> Option<BadValue> {
        if columns.is_empty() {
            return None;
        }
        let width = plane.width;
        let within = self.decoder.rows.within(first..end);
        let rows = &mut plane.rows[within.start * width..within.end * width];
        let block = (BLOCK_BYTES / NUMBER / width).max(1).next_multiple_of(TOGETHER);
        let block_of = |(i, rows): (usize, &mut [f32])| match self.decoder.rows {
            EntrySelection::Between(begin, _) => {
                self.lay_out_all(columns, begin + (within.start + i * block) as u64, width, rows)
            }
            EntrySelection::Some(entries) => {
                let entries = &entries[within.start + i * block..][..rows.len() / width];
                match *entries {
                    [begin, .., last] if last - begin == entries.len() as u64 - 1 => {
                        self.lay_out_all(columns, begin, width, rows)
                    }
                    _ => columns.iter().fold(None, |bad, &(cursor, place)| {
                        earlier(bad, self.gather(&self.cursors[cursor], place, entries, width, rows))
                    }),
                }
            }
        };
        rows.par_chunks_mut(block * width).enumerate().map(block_of).reduce(|| None, earlier)
    }

    /// Writes the numbers of one branch for `entries`, a row each.
    fn gather(
        &self,
        cursor: &BranchCursor,
        place: usize,
        entries: &[u64],
        width: usize,
        rows: &mut [f32],
    ) -> Option<BadValue> {
        let length = cursor.entry_bytes();
        let (mut from, mut numbers): (u64, &[u8]) = (0, &[]);
        let mut bad = None;
        for (row, &entry) in rows.chunks_exact_mut(width).zip(entries) {
            if (entry - from) as usize * length >= numbers.len() {
                (from, numbers) = (entry, cursor.from(entry, self.arena.as_slice().as_bytes()));
            }
            let row = &mut row[place..][..cursor.branch.wanted];
            row.as_mut_bytes().copy_from_slice(&numbers[(entry - from) as usize * length..][..length]);
            if cursor.big_endian {
                row[0] = f32::from_bits(u32::from_be(row[0].to_bits()));
                bad = bad.or_else(|| cursor.bad(entry, row[0]));
            }
        }
        bad
    }

    /// Writes the entries from `entry` on, as many as there are `rows`.
    fn lay_out_all(
        &self,
        columns: &[(usize, usize)],
        mut entry: u64,
        width: usize,
        mut rows: &mut [f32],
    ) -> Option<BadValue> {
        let mut bad = None;
        while !rows.is_empty() {
            let count = self.lay_out_block(columns, entry, width, rows, &mut bad);
            entry += count as u64;
            rows = &mut rows[count * width..];
        }
        bad
    }

    /// Writes the entries from `entry` on, as many as lie in one basket of every branch and in `rows`; returns how many.
    fn lay_out_block(
        &self,
        columns: &[(usize, usize)],
        entry: u64,
        width: usize,
        rows: &mut [f32],
        bad: &mut Option<BadValue>,
    ) -> usize {
        let cursor = |column: usize| &self.cursors[columns[column].0];
        let arena = self.arena.as_slice().as_bytes();
        let numbers: Vec<&[u8]> = (0..columns.len()).map(|column| cursor(column).from(entry, arena)).collect();
        let lengths = numbers.iter().enumerate().map(|(column, bytes)| bytes.len() / cursor(column).entry_bytes());
        let count = lengths.min().unwrap_or(usize::MAX).min(rows.len() / width);
        assert!(count > 0, "entry {entry} was not decoded");
        let rows = &mut rows[..count * width];
        let mut numbers = numbers.as_slice();
        for run in runs(columns, &self.cursors) {
            let (own, others) = numbers.split_at(run.len());
            numbers = others;
            let (first, place) = run[0];
            let length = self.cursors[first].branch.wanted;
            if length > 1 {
                for (row, numbers) in rows.chunks_exact_mut(width).zip(own[0].chunks_exact(length * NUMBER)) {
                    row[place..][..length].as_mut_bytes().copy_from_slice(numbers);
                }
                continue;
            }
            let order = run.iter().map(|&(cursor, _)| self.cursors[cursor].big_endian);
            let scalars =
                own.iter().zip(order).map(|(bytes, big_endian)| Column { bytes: &bytes[..count * NUMBER], big_endian });
            let scalars: Vec<Column> = scalars.collect();
            if !kernels::interleave(&scalars, place, width, rows) {
                *bad = earlier(bad.take(), self.first_bad(run, entry, width, rows));
            }
        }
        count
    }

    /// The first number that is not finite in the big-endian ones of `columns`, laid out in `rows` from `entry` on.
    #[cold]
    fn first_bad(&self, columns: &[(usize, usize)], entry: u64, width: usize, rows: &[f32]) -> Option<BadValue> {
        rows.chunks_exact(width).zip(entry..).find_map(|(row, entry)| {
            let cursors = columns.iter().map(|&(cursor, place)| (&self.cursors[cursor], row[place]));
            let bad =
                cursors.filter(|(cursor, _)| cursor.big_endian).filter_map(|(cursor, value)| cursor.bad(entry, value));
            bad.min_by_key(|bad| bad.branch)
        })
    }
}
