//! The fast reader: windows of entries, each decoded basket by basket and laid out as rows while it is in the cache.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Mutex;

use rayon::ThreadPool;
use rayon::prelude::*;

use super::branch::{Branch, DAMAGED, PIECE_BYTES, Part, Place, Scratch};
use super::file::{OpenFile, TreeFile};
use super::room;
use crate::device::{HostBuffer, LARGE_PAGE};
use crate::error::{Error, Result};
use crate::kernels::{self, To};

/// Decoded numbers of a window for each thread, in bytes. It goes on to the end of a basket: with ROOT's usual baskets of
/// 32 kB and some ten columns it becomes about twice as long, and still stays in a core's own cache.
const WINDOW_BYTES: usize = 512 << 10;

/// Records that lie side by side are read at once up to this length, in bytes: they are decompressed from the cache, and
/// there are several for each thread.
const READ_BYTES: u64 = 128 << 10;

/// Bytes between two records that are read rather than skipped.
const GAP_BYTES: u64 = 16 << 10;

/// Rows laid out at a time: a share of the level-2 cache, and a multiple of the kernel's eight.
const BLOCK_BYTES: usize = 256 << 10;

/// Which entries of a file are rows.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    /// Every one.
    All,
    /// These, in rising order.
    Some(&'a [u64]),
}

impl Rows<'_> {
    /// Entries beyond the file, or not in rising order, would be looked for in vain.
    fn check(self, file: &TreeFile) -> Result<()> {
        let Rows::Some(entries) = self else { return Ok(()) };
        if entries.is_sorted_by(|a, b| a < b) && entries.last().is_none_or(|&last| last < file.entries()) {
            return Ok(());
        }
        let path = file.path().display();
        Err(Error::Internal(format!("rows of {path} are not in the order of its {} entries", file.entries())))
    }

    /// The numbers of the rows whose entries lie in `range`.
    fn within(self, range: Range<u64>) -> Range<usize> {
        match self {
            Rows::All => range.start as usize..range.end as usize,
            Rows::Some(entries) => {
                let before = |limit| entries.partition_point(|&entry| entry < limit);
                before(range.start)..before(range.end)
            }
        }
    }

    /// The first entry from `from` on that is a row; `None` after the last.
    fn next(self, from: u64, entries: u64) -> Option<u64> {
        match self {
            Rows::All => (from < entries).then_some(from),
            Rows::Some(list) => list.get(list.partition_point(|&entry| entry < from)).copied(),
        }
    }
}

/// A table that rows are written to.
pub struct Plane<'a> {
    /// [rows, width], for all rows of the file.
    pub rows: &'a mut [f32],
    /// Numbers of a row.
    pub width: usize,
    /// A branch's number and its place in a row, in rising order of places.
    pub columns: Vec<(usize, usize)>,
}

impl<'a> Plane<'a> {
    /// The columns of one part of `branches`, in `rows` of `width` numbers.
    pub fn new(rows: &'a mut [f32], width: usize, branches: &[Branch], part: Part) -> Result<Plane<'a>> {
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
    /// As it lies in the file.
    pub value: f64,
}

/// Reads the entries `rows` of `file` into `planes`. Numbers that are not finite are written as well; the first of a row
/// is returned.
pub fn read(file: &TreeFile, rows: Rows, planes: &mut [Plane], pool: &ThreadPool) -> Result<Option<BadValue>> {
    rows.check(file)?;
    let decoder = Decoder { file, rows, open: file.open()?, workers: Mutex::default() };
    let mut window = Window { decoder, streams: Vec::new(), arena: HostBuffer::pages(0)?, bad: None };
    let mut alone = Vec::new();
    for plane in planes.iter_mut() {
        if let Some(branch) = alone_in(plane, rows, file.branches()) {
            pool.install(|| window.fill(branch, plane))?;
            alone.push(branch);
        }
    }
    for group in groups(file.branches(), &alone) {
        window.streams = group.iter().map(|&number| Stream::new(number, &file.branches()[number])).collect();
        pool.install(|| window.slide(&group, planes))?;
    }
    window.decoder.open.check_unchanged()?;
    Ok(window.bad)
}

/// The branch whose decoded numbers are the rows of `plane`, one behind the other: they need no laying out.
fn alone_in(plane: &Plane, rows: Rows, branches: &[Branch]) -> Option<usize> {
    match (rows, plane.columns.as_slice()) {
        (Rows::All, &[(branch, 0)]) if branches[branch].wanted == plane.width => Some(branch),
        _ => None,
    }
}

/// The numbers of branches that are read together, but for those in `without`: so many that one piece of each fits the
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

/// Decoded numbers of one basket, [end - first, wanted].
#[derive(Clone, Copy)]
struct Chunk {
    first: u64,
    end: u64,
    /// Of its first number in the arena.
    at: usize,
}

/// A branch on its way: the baskets decoded so far that are still needed.
struct Stream<'a> {
    number: usize,
    branch: &'a Branch,
    next: usize,
    chunks: VecDeque<Chunk>,
}

impl<'a> Stream<'a> {
    fn new(number: usize, branch: &'a Branch) -> Stream<'a> {
        Stream { number, branch, next: 0, chunks: VecDeque::new() }
    }

    /// Where the basket ends that holds `entry`.
    fn end_of(&self, entry: u64) -> u64 {
        let after = self.branch.baskets.partition_point(|place| place.end <= entry);
        self.branch.baskets.get(after).map_or(entry + 1, |place| place.end)
    }

    /// The decoded numbers from `entry` on, up to the end of their basket.
    fn from<'b>(&self, entry: u64, arena: &'b [f32]) -> &'b [f32] {
        let chunk = self.chunks.iter().find(|chunk| (chunk.first..chunk.end).contains(&entry));
        let wanted = self.branch.wanted;
        chunk.map_or(&[], |chunk| {
            let skipped = (entry - chunk.first) as usize * wanted;
            &arena[chunk.at + skipped..][..(chunk.end - entry) as usize * wanted]
        })
    }
}

/// The entries being worked on: decoded in an arena, column by column, then laid out as rows.
struct Window<'a> {
    decoder: Decoder<'a>,
    streams: Vec<Stream<'a>>,
    /// Pages that stay from window to window, so that they are in the cache and the system clears them once.
    arena: HostBuffer<f32>,
    bad: Option<BadValue>,
}

impl Window<'_> {
    /// All entries of the branch that is alone in `plane`.
    fn fill(&mut self, branch: usize, plane: &mut Plane) -> Result<()> {
        let Branch { baskets, wanted, .. } = &self.decoder.file.branches()[branch];
        let job = |(basket, &place): (usize, &Place)| Job { stream: 0, branch, basket, place };
        let jobs: Vec<Job> = baskets.iter().enumerate().map(job).collect();
        let lengths = lengths(&jobs, |_| *wanted)?;
        let to = To::of(plane.rows.len());
        let bad = self.decoder.decode_all(&jobs, &lengths, plane.rows, to)?;
        self.bad = earlier(self.bad.take(), bad);
        Ok(())
    }

    /// From the first entry to the last, with the branches of `group`.
    fn slide(&mut self, group: &[usize], planes: &mut [Plane]) -> Result<()> {
        let per_entry: usize = self.streams.iter().map(|stream| stream.branch.wanted * size_of::<f32>()).sum();
        let rows = (rayon::current_num_threads() * WINDOW_BYTES / per_entry.max(1)).max(1) as u64;
        let entries = self.decoder.file.entries();
        let mut from = 0;
        while let Some(first) = self.decoder.rows.next(from, entries) {
            // To the end of a basket, so that no more than one basket of each branch is kept for the next window.
            let last = first.saturating_add(rows).min(entries) - 1;
            let end = self.streams.iter().map(|stream| stream.end_of(last)).min().unwrap_or(entries).min(entries);
            self.decode(first, end)?;
            for plane in planes.iter_mut() {
                let stream = |&(branch, place): &(usize, usize)| Some((group.binary_search(&branch).ok()?, place));
                let columns: Vec<_> = plane.columns.iter().filter_map(stream).collect();
                self.lay_out(&columns, plane, first, end);
            }
            from = end;
        }
        Ok(())
    }

    /// Decodes every basket that begins before `end` and has not been decoded yet; drops those that end before `first`.
    fn decode(&mut self, first: u64, end: u64) -> Result<()> {
        let kept = self.compact(first);
        let jobs = self.jobs(first, end);
        let lengths = lengths(&jobs, |stream| self.streams[stream].branch.wanted)?;
        let total = lengths.iter().try_fold(kept, |sum, &length| sum.checked_add(length)).ok_or_else(too_large)?;
        self.reserve(kept, total)?;
        let free = &mut self.arena.as_mut_slice()[kept..];
        let bad = self.decoder.decode_all(&jobs, &lengths, free, To::of(total))?;
        self.bad = earlier(self.bad.take(), bad);
        let mut at = kept;
        for (job, length) in jobs.iter().zip(lengths) {
            let Place { first, end, .. } = job.place;
            self.streams[job.stream].chunks.push_back(Chunk { first, end, at });
            at += length;
        }
        for stream in &mut self.streams {
            stream.chunks.make_contiguous().sort_unstable_by_key(|chunk| chunk.first);
        }
        Ok(())
    }

    /// Drops the chunks that end before `first` and moves the others to the front of the arena; returns their length.
    fn compact(&mut self, first: u64) -> usize {
        let mut kept: Vec<(&mut Chunk, usize)> = Vec::new();
        for stream in &mut self.streams {
            stream.chunks.retain(|chunk| chunk.end > first);
            let wanted = stream.branch.wanted;
            kept.extend(stream.chunks.iter_mut().map(|chunk| (chunk, wanted)));
        }
        kept.sort_unstable_by_key(|(chunk, _)| chunk.at);
        let arena = self.arena.as_mut_slice();
        let mut at = 0;
        for (chunk, wanted) in kept {
            let skipped = first.saturating_sub(chunk.first) as usize * wanted;
            chunk.first = chunk.first.max(first);
            let length = (chunk.end - chunk.first) as usize * wanted;
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
        for (index, stream) in self.streams.iter_mut().enumerate() {
            while let Some(&place) = stream.branch.baskets.get(stream.next).filter(|place| place.first < end) {
                if place.end > first && !rows.within(place.first.max(first)..place.end).is_empty() {
                    jobs.push(Job { stream: index, branch: stream.number, basket: stream.next, place });
                }
                stream.next += 1;
            }
        }
        jobs.sort_unstable_by_key(|job| job.place.seek);
        jobs
    }

    /// Makes the arena `length` numbers long at least; the first `kept` stay.
    fn reserve(&mut self, kept: usize, length: usize) -> Result<()> {
        if self.arena.as_slice().len() < length {
            // A large page at least: in small ones there would be more of them than the processor remembers the places of.
            let mut larger = HostBuffer::pages(length.max(LARGE_PAGE / size_of::<f32>()))?;
            larger.as_mut_slice()[..kept].copy_from_slice(&self.arena.as_slice()[..kept]);
            self.arena = larger;
        }
        Ok(())
    }

    /// Writes the entries from `first` to `end` to their rows.
    /// `columns` are streams and the places of their numbers in a row.
    fn lay_out(&self, columns: &[(usize, usize)], plane: &mut Plane, first: u64, end: u64) {
        if columns.is_empty() {
            return;
        }
        let (width, to) = (plane.width, To::of(plane.rows.len()));
        let within = self.decoder.rows.within(first..end);
        let rows = &mut plane.rows[within.start * width..within.end * width];
        let block = (BLOCK_BYTES / size_of::<f32>() / width).max(1).next_multiple_of(8);
        rows.par_chunks_mut(block * width).enumerate().for_each(|(i, rows)| match self.decoder.rows {
            Rows::All => self.lay_out_all(columns, first + (i * block) as u64, width, rows, to),
            Rows::Some(entries) => {
                let entries = &entries[within.start + i * block..][..rows.len() / width];
                match *entries {
                    [begin, .., last] if last - begin == entries.len() as u64 - 1 => {
                        self.lay_out_all(columns, begin, width, rows, to)
                    }
                    _ => columns.iter().for_each(|&(stream, place)| {
                        self.gather(&self.streams[stream], place, entries, width, rows);
                    }),
                }
            }
        });
    }

    /// Writes the numbers of one branch for `entries`, a row each.
    fn gather(&self, stream: &Stream, place: usize, entries: &[u64], width: usize, rows: &mut [f32]) {
        let wanted = stream.branch.wanted;
        let (mut from, mut values): (u64, &[f32]) = (0, &[]);
        for (row, &entry) in rows.chunks_exact_mut(width).zip(entries) {
            if (entry - from) as usize * wanted >= values.len() {
                (from, values) = (entry, stream.from(entry, self.arena.as_slice()));
            }
            row[place..][..wanted].copy_from_slice(&values[(entry - from) as usize * wanted..][..wanted]);
        }
    }

    /// Writes the entries from `entry` on, as many as there are `rows`.
    fn lay_out_all(&self, columns: &[(usize, usize)], mut entry: u64, width: usize, mut rows: &mut [f32], to: To) {
        while !rows.is_empty() {
            let written = self.lay_out_block(columns, entry, width, rows, to);
            entry += written as u64;
            rows = &mut rows[written * width..];
        }
    }

    /// Writes the entries from `entry` on, as many as lie in one basket of every branch and in `rows`; returns how many.
    fn lay_out_block(&self, columns: &[(usize, usize)], entry: u64, width: usize, rows: &mut [f32], to: To) -> usize {
        let wanted = |stream: usize| self.streams[stream].branch.wanted;
        let arena = self.arena.as_slice();
        let values: Vec<&[f32]> = columns.iter().map(|&(stream, _)| self.streams[stream].from(entry, arena)).collect();
        let lengths = columns.iter().zip(&values).map(|(&(stream, _), values)| values.len() / wanted(stream));
        let count = lengths.min().unwrap_or(usize::MAX).min(rows.len() / width);
        assert!(count > 0, "entry {entry} was not decoded");
        let rows = &mut rows[..count * width];
        let mut column = 0;
        while column < columns.len() {
            let (stream, place) = columns[column];
            let length = wanted(stream);
            let mut side_by_side = 1;
            if length == 1 {
                let follows = |i: usize| columns[column + i].1 == place + i && wanted(columns[column + i].0) == 1;
                while column + side_by_side < columns.len() && follows(side_by_side) {
                    side_by_side += 1;
                }
                let scalars: Vec<&[f32]> =
                    values[column..][..side_by_side].iter().map(|values| &values[..count]).collect();
                kernels::interleave(&scalars, place, width, rows, to);
            } else {
                for (row, values) in rows.chunks_exact_mut(width).zip(values[column].chunks_exact(length)) {
                    row[place..][..length].copy_from_slice(values);
                }
            }
            column += side_by_side;
        }
        count
    }
}

/// A basket to be decoded.
#[derive(Clone, Copy)]
struct Job {
    stream: usize,
    branch: usize,
    basket: usize,
    place: Place,
}

impl Job {
    /// Numbers that it gives.
    fn length(&self, wanted: usize) -> Option<usize> {
        usize::try_from(self.place.end - self.place.first).ok()?.checked_mul(wanted)
    }

    /// Whether its record is read with those of `group`, which lie before it.
    fn belongs_to(&self, group: &[(Job, &mut [f32])]) -> bool {
        let (Some((first, _)), Some((last, _))) = (group.first(), group.last()) else { return true };
        let gap = self.place.seek.checked_sub(last.place.end_of_record());
        gap.is_some_and(|gap| gap <= GAP_BYTES) && self.place.end_of_record() - first.place.seek <= READ_BYTES
    }
}

/// Buffers of one thread.
#[derive(Default)]
struct Worker {
    records: Vec<u8>,
    scratch: Scratch,
}

/// Turns records into numbers, on any number of threads.
struct Decoder<'a> {
    file: &'a TreeFile,
    rows: Rows<'a>,
    open: OpenFile<'a>,
    workers: Mutex<Vec<Worker>>,
}

impl Decoder<'_> {
    /// Decodes each of `jobs`, which lie in the order of the file, into as many of `values` as its length, one behind the
    /// other.
    fn decode_all(&self, jobs: &[Job], lengths: &[usize], mut values: &mut [f32], to: To) -> Result<Option<BadValue>> {
        let mut groups: Vec<Vec<(Job, &mut [f32])>> = Vec::new();
        for (job, &length) in jobs.iter().zip(lengths) {
            let own = values.split_off_mut(..length).ok_or_else(too_large)?;
            match groups.last_mut() {
                Some(group) if job.belongs_to(group) => group.push((*job, own)),
                _ => groups.push(vec![(*job, own)]),
            }
        }
        groups.into_par_iter().map(|group| self.decode(group, to)).try_reduce(|| None, |a, b| Ok(earlier(a, b)))
    }

    /// Reads the records of `group`, which lie one behind the other, at once and decodes them.
    fn decode(&self, group: Vec<(Job, &mut [f32])>, to: To) -> Result<Option<BadValue>> {
        let (Some((first, _)), Some((last, _))) = (group.first(), group.last()) else { return Ok(None) };
        let (begin, end) = (first.place.seek, last.place.end_of_record());
        // A panic elsewhere leaves the stack as it was.
        let workers = || self.workers.lock().unwrap_or_else(|poison| poison.into_inner());
        let mut worker = workers().pop().unwrap_or_default();
        worker.scratch.to = to;
        let records = room(&mut worker.records, (end - begin) as usize)
            .map_err(|what| Error::invalid(format!("{}: {what}", self.file.path().display()), DAMAGED))?;
        self.open.read(begin, records)?;
        let mut bad = None;
        for (job, values) in group {
            let record = &records[(job.place.seek - begin) as usize..][..job.place.bytes];
            bad = earlier(bad, self.decode_record(&job, record, &mut worker.scratch, values)?);
        }
        workers().push(worker);
        Ok(bad)
    }

    fn decode_record(
        &self,
        job: &Job,
        record: &[u8],
        scratch: &mut Scratch,
        values: &mut [f32],
    ) -> Result<Option<BadValue>> {
        let branch = &self.file.branches()[job.branch];
        let Place { first, end, .. } = job.place;
        let is_row = |i: usize| !self.rows.within(first + i as u64..first + i as u64 + 1).is_empty();
        let bad = branch.decode(&job.place, record, scratch, values, is_row).map_err(|what| {
            Error::invalid(
                format!(
                    "{}: basket {} of branch '{}', entries {first} to {}: {what}",
                    self.file.path().display(),
                    job.basket,
                    branch.name,
                    end - 1
                ),
                DAMAGED,
            )
        })?;
        Ok(bad.map(|bad| BadValue { branch: job.branch, entry: first + bad.entry as u64, value: bad.value }))
    }
}

/// Numbers that each of `jobs` gives, `wanted` an entry of its stream.
fn lengths(jobs: &[Job], wanted: impl Fn(usize) -> usize) -> Result<Vec<usize>> {
    jobs.iter().map(|job| job.length(wanted(job.stream))).collect::<Option<_>>().ok_or_else(too_large)
}

/// Of two bad numbers the one that comes first.
fn earlier(a: Option<BadValue>, b: Option<BadValue>) -> Option<BadValue> {
    a.into_iter().chain(b).min_by_key(|bad| (bad.entry, bad.branch))
}

fn too_large() -> Error {
    Error::invalid("a basket with more numbers than there are addresses", DAMAGED)
}
