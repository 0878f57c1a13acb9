//! From records of baskets to numbers, on any number of threads.

use std::sync::Mutex;

use rayon::prelude::*;
use zerocopy::IntoBytes;

use super::{BadValue, Check, EntrySelection, earlier, too_large};
use crate::columns::branch::{BasketPiece, Branch, DAMAGED, Scratch};
use crate::columns::file::{OpenFile, TreeFile};
use crate::columns::room;
use crate::error::{Error, Result};

/// Contiguous records are read at once up to this length, in bytes: they are then decompressed from the cache, and
/// there are several for each thread.
const READ_BYTES: u64 = 128 << 10;

/// Bytes between two records that are read rather than skipped.
const GAP_BYTES: u64 = 16 << 10;

/// Bytes of a line of the cache.
pub(super) const LINE_BYTES: usize = 64;

/// Shorter records are read with their neighbours, in bytes.
const IN_PLACE_BYTES: usize = 8 << 10;

/// No key of a basket is longer, in bytes, unless names have more than three thousand letters. Of a record that is read
/// directly to the place of its numbers, at most half is a key.
const KEY_BYTES: u64 = 4 << 10;

/// A basket to be decoded.
#[derive(Clone, Copy)]
pub(super) struct Job {
    /// Number of its branch, among those read together and in the file.
    pub cursor: usize,
    pub branch: usize,
    /// Its own number in the branch.
    pub basket: usize,
    pub place: BasketPiece,
    /// Whether its numbers keep the file's byte order.
    pub big_endian: bool,
    /// Where they begin in its room, in bytes.
    pub begin: usize,
}

impl Job {
    /// A basket that has not been decoded.
    pub fn new(cursor: usize, branch: usize, basket: usize, place: BasketPiece, big_endian: bool) -> Job {
        Job { cursor, branch, basket, place, big_endian, begin: 0 }
    }

    fn entries(&self) -> u64 {
        self.place.end - self.place.first
    }

    /// Numbers that it yields, at `wanted` per entry.
    pub fn length(&self, wanted: usize) -> Result<usize> {
        usize::try_from(self.entries()).ok().and_then(|entries| entries.checked_mul(wanted)).ok_or_else(too_large)
    }

    /// Numbers that it needs room for in an arena: whole lines of the cache.
    pub fn room(&self, wanted: usize) -> Result<usize> {
        let length = match self.key_length() {
            Some(_) => (self.place.bytes + LINE_BYTES).div_ceil(size_of::<f32>()),
            None => self.length(wanted)?,
        };
        length.checked_next_multiple_of(LINE_BYTES / size_of::<f32>()).ok_or_else(too_large)
    }

    /// Length of the key, if the record has the length of an uncompressed one, is not too short, and stays big-endian:
    /// it is then read directly to the place of its numbers.
    fn key_length(&self) -> Option<usize> {
        let bytes = self.entries().checked_mul(size_of::<f32>() as u64)?;
        let key = (self.place.bytes as u64).checked_sub(bytes)?;
        let in_place = self.big_endian && key <= KEY_BYTES && self.place.bytes >= IN_PLACE_BYTES;
        in_place.then_some(key as usize)
    }

    /// Whether its record is read together with those of `group`, which precede it.
    fn belongs_to(&self, group: &[(&mut Job, &mut [f32])]) -> bool {
        let (Some((first, _)), Some((last, _))) = (group.first(), group.last()) else { return true };
        let gap = self.place.seek.checked_sub(last.place.end_of_record());
        let is_near = gap.is_some_and(|gap| gap <= GAP_BYTES);
        let in_place = self.key_length().or(last.key_length()).is_some();
        is_near && !in_place && self.place.end_of_record() - first.place.seek <= READ_BYTES
    }
}

/// Buffers of one thread.
#[derive(Default)]
struct Worker {
    records: Vec<u8>,
    scratch: Scratch,
}

impl Worker {
    /// The first `length` bytes of the buffer for records.
    fn records(&mut self, length: usize) -> Result<&mut [u8], String> {
        room(&mut self.records, length)
    }
}

/// Turns records into numbers.
pub(super) struct Decoder<'a> {
    pub file: &'a TreeFile,
    pub rows: EntrySelection<'a>,
    check: Check,
    open: OpenFile<'a>,
    workers: Mutex<Vec<Worker>>,
}

impl<'a> Decoder<'a> {
    pub fn new(file: &'a TreeFile, rows: EntrySelection<'a>, check: Check) -> Result<Decoder<'a>> {
        Ok(Decoder { file, rows, check, open: file.open()?, workers: Mutex::default() })
    }

    /// An error if the file has been written to.
    pub fn check_unchanged(&self) -> Result<()> {
        self.open.check_unchanged()
    }

    /// Decodes each of `jobs`, which are in the order of the file, into `rooms` of `values`, one after the other.
    /// Returns the first number of a row that is not finite, except in those that stay big-endian.
    pub fn decode_all(&self, jobs: &mut [Job], rooms: &[usize], mut values: &mut [f32]) -> Result<Option<BadValue>> {
        let mut groups: Vec<Vec<(&mut Job, &mut [f32])>> = Vec::new();
        for (job, &room) in jobs.iter_mut().zip(rooms) {
            let own = values.split_off_mut(..room).ok_or_else(too_large)?;
            match groups.last_mut() {
                Some(group) if job.belongs_to(group) => group.push((job, own)),
                _ => groups.push(vec![(job, own)]),
            }
        }
        groups.into_par_iter().map(|group| self.decode(group)).try_reduce(|| None, |a, b| Ok(earlier(a, b)))
    }

    fn decode(&self, mut group: Vec<(&mut Job, &mut [f32])>) -> Result<Option<BadValue>> {
        (self.check)()?;
        // A panic elsewhere leaves the stack unchanged.
        let workers = || self.workers.lock().unwrap_or_else(|poison| poison.into_inner());
        let mut worker = workers().pop().unwrap_or_default();
        let bad = match group.as_mut_slice() {
            [(job, room)] if job.key_length().is_some() => self.read_in_place(job, &mut worker, room)?,
            _ => self.decode_together(group, &mut worker)?,
        };
        workers().push(worker);
        Ok(bad)
    }

    /// Reads the contiguous records of `group` at once and decodes them.
    fn decode_together(&self, group: Vec<(&mut Job, &mut [f32])>, worker: &mut Worker) -> Result<Option<BadValue>> {
        let (Some((first, _)), Some((last, _))) = (group.first(), group.last()) else { return Ok(None) };
        let (begin, end) = (first.place.seek, last.place.end_of_record());
        let length = (end - begin) as usize;
        let records = worker.records(length).map_err(|what| self.refused(first, what))?;
        self.open.read(begin, records)?;
        let mut bad = None;
        for (job, values) in group {
            let record = &worker.records[(job.place.seek - begin) as usize..][..job.place.bytes];
            bad = earlier(bad, self.decode_record(job, record, &mut worker.scratch, values)?);
        }
        Ok(bad)
    }

    /// Reads one record to `room`, where its numbers stay unchanged.
    fn read_in_place(&self, job: &mut Job, worker: &mut Worker, room: &mut [f32]) -> Result<Option<BadValue>> {
        let bytes = room.as_mut_bytes();
        // So that the numbers after the key begin at a cache line.
        let key = job.key_length().unwrap_or_default();
        let skipped = bytes[key..].as_ptr().align_offset(LINE_BYTES).min(LINE_BYTES);
        let record = &mut bytes[skipped..][..job.place.bytes];
        self.open.read(job.place.seek, record)?;
        if let Some(begin) = self.branch(job).stored_at(&job.place, record).map_err(|what| self.refused(job, what))? {
            job.begin = skipped + begin;
            return Ok(None);
        }
        let copy = worker.records(record.len()).map_err(|what| self.refused(job, what))?;
        copy.copy_from_slice(record);
        self.decode_record(job, &worker.records[..job.place.bytes], &mut worker.scratch, room)
    }

    /// Decodes `record` to the beginning of `room`.
    fn decode_record(
        &self,
        job: &Job,
        record: &[u8],
        scratch: &mut Scratch,
        room: &mut [f32],
    ) -> Result<Option<BadValue>> {
        let branch = self.branch(job);
        let values = &mut room[..job.length(branch.wanted)?];
        if job.big_endian {
            let copied = branch.copy(&job.place, record, scratch, values.as_mut_bytes());
            return copied.map(|()| None).map_err(|what| self.refused(job, what));
        }
        let first = job.place.first;
        let is_row = |i: usize| !self.rows.within(first + i as u64..first + i as u64 + 1).is_empty();
        let bad = branch.decode(&job.place, record, scratch, values, is_row);
        let bad = bad.map_err(|what| self.refused(job, what))?;
        Ok(bad.map(|bad| BadValue { branch: job.branch, entry: first + bad.entry as u64, value: bad.value }))
    }

    fn branch(&self, job: &Job) -> &Branch {
        &self.file.branches()[job.branch]
    }

    fn refused(&self, job: &Job, what: String) -> Error {
        let (path, name) = (self.file.path().display(), &self.branch(job).name);
        let BasketPiece { first, end, .. } = job.place;
        Error::invalid(
            format!("{path}: basket {} of branch '{name}', entries {first} to {}: {what}", job.basket, end - 1),
            DAMAGED,
        )
    }
}
