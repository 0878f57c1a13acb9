//! Hands blocks of rows from the reading thread to the one that uses them.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::Block;
use crate::columns::Column;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::text;

/// Events of neighbouring entries in memory, read once and shared by all blocks that are parts of them.
pub struct Events {
    covered: Range<u64>,
    /// Entry of each row in its source, rising; `None`: all that are covered.
    entries: Option<Vec<u64>>,
    data: Dataset,
}

impl Events {
    /// The rows of `data`, less than 2^32, are those of all entries in `covered`.
    pub fn all(covered: Range<u64>, data: Dataset) -> Result<Self> {
        let entries = covered.end.checked_sub(covered.start);
        if u32::try_from(data.rows()).is_err() || entries != Some(data.rows() as u64) {
            return Err(Error::Internal(format!("{} rows of the entries {covered:?}", data.rows())));
        }
        Ok(Events { covered, entries: None, data })
    }

    /// The rows of `data`, less than 2^32, come from `entries`: those among `covered` that passed the cut.
    pub fn new(covered: Range<u64>, entries: &[u64], data: Dataset) -> Result<Self> {
        let inside = entries.first().is_none_or(|first| covered.contains(first))
            && entries.last().is_none_or(|last| covered.contains(last));
        let counted = u32::try_from(data.rows()).is_ok();
        if entries.len() != data.rows() || !inside || !counted || !entries.is_sorted_by(|a, b| a < b) {
            let (first, last) = (entries.first(), entries.last());
            return Err(Error::Internal(format!(
                "{} rows, entries {first:?} to {last:?}, of {covered:?}",
                data.rows()
            )));
        }
        Ok(Events { covered, entries: Some(entries.to_vec()), data })
    }

    /// A copy of the events of the entries from `first` on, before `end`.
    pub fn part(&self, first: u64, end: u64) -> Result<Self> {
        let rows = self.rows(first, end);
        let data = self.data.slice(rows.clone())?;
        match &self.entries {
            Some(entries) => Events::new(first..end, &entries[rows], data),
            None => Events::all(first..end, data),
        }
    }

    /// Features, labels and weights.
    pub(super) fn data(&self) -> &Dataset {
        &self.data
    }

    /// The entry of row `row`.
    pub(super) fn entry(&self, row: usize) -> u64 {
        self.entries.as_ref().map_or(self.covered.start + row as u64, |entries| entries[row])
    }

    /// Where row `row` is from, for messages.
    pub(super) fn describe(&self, row: usize) -> String {
        let source = self.data.source_keys().next().map_or("the stream", |(name, _)| name);
        format!("entry {} of {}{}", self.entry(row), text::name(source), self.data.targets().column())
    }

    /// The rows of the entries from `first` on, before `end`.
    pub(super) fn rows(&self, first: u64, end: u64) -> Range<usize> {
        let before = |limit: u64| match &self.entries {
            Some(entries) => entries.partition_point(|&entry| entry < limit),
            None => (limit.clamp(self.covered.start, self.covered.end) - self.covered.start) as usize,
        };
        before(first)..before(end)
    }
}

/// The events of one block.
pub(super) struct BlockRows {
    pub(super) block: Block,
    pub(super) events: Arc<Events>,
}

#[derive(Default)]
struct State {
    /// Number of the block to be read next.
    next: usize,
    /// Entries being read or waiting.
    ahead: u64,
    ready: VecDeque<BlockRows>,
    /// Empty datasets whose memory waits to be used again: the system need not clear other pages.
    spare: Vec<Dataset>,
    closed: bool,
    failure: Option<String>,
}

/// Hands out the blocks to be read, in order, never more ahead than `buffer` entries (or one block), and hands over
/// their rows in the same order.
pub struct Feed {
    columns: Vec<Column>,
    blocks: Vec<Block>,
    buffer: u64,
    state: Mutex<State>,
    changed: Condvar,
}

impl Feed {
    pub(super) fn new(columns: &[Column], blocks: Vec<Block>, buffer: u64) -> Self {
        Feed { columns: columns.to_vec(), blocks, buffer, state: Mutex::default(), changed: Condvar::new() }
    }

    /// The next block to read, as soon as there is room for it; `None` when there is nothing left to do.
    pub fn want(&self) -> Option<Block> {
        let mut state = self.lock();
        loop {
            let block = *self.blocks.get(state.next)?;
            if state.closed || state.failure.is_some() {
                return None;
            }
            if state.ahead == 0 || state.ahead.saturating_add(block.entries) <= self.buffer {
                state.next += 1;
                state.ahead += block.entries;
                return Some(block);
            }
            state = self.wait(state);
        }
    }

    /// An empty dataset for up to `rows` rows. Memory that was given back is used again where it is not much too large;
    /// else the oldest of it is freed, so that there is never more than was once in use.
    pub fn dataset(&self, rows: usize) -> Result<Dataset> {
        let mut state = self.lock();
        if let Some(fitting) = state.spare.iter().position(|data| data.room() <= rows.saturating_mul(2)) {
            return Ok(state.spare.remove(fitting));
        }
        let oldest = (!state.spare.is_empty()).then(|| state.spare.remove(0));
        drop(state);
        drop(oldest);
        Dataset::new(&self.columns)
    }

    /// Takes back events that are used up. Their memory is kept for later blocks, if nothing else refers to them.
    pub(super) fn give_back(&self, events: Arc<Events>) {
        let Some(Events { mut data, .. }) = Arc::into_inner(events) else { return };
        data.clear();
        let mut state = self.lock();
        if state.next < self.blocks.len() && !state.closed {
            state.spare.push(data);
        }
    }

    /// Hands over the events of the block that was wanted last, or more than those.
    pub fn deliver(&self, block: Block, events: Arc<Events>) -> Result<()> {
        let Range { start, end } = events.covered;
        if block.first < start || block.first + block.entries > end {
            return Err(Error::Internal(format!("events of {start} to {end} instead of {block:?}")));
        }
        self.lock().ready.push_back(BlockRows { block, events });
        self.changed.notify_all();
        Ok(())
    }

    /// Nothing more will come, because of `reason`.
    pub fn fail(&self, reason: &str) {
        self.lock().failure = Some(reason.to_owned());
        self.changed.notify_all();
    }

    /// Nothing more is wanted.
    pub fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// The next block's rows, as soon as they are available.
    pub(super) fn take(&self) -> Result<BlockRows> {
        let mut state = self.lock();
        loop {
            if let Some(rows) = state.ready.pop_front() {
                state.ahead -= rows.block.entries;
                self.changed.notify_all();
                return Ok(rows);
            }
            if let Some(reason) = &state.failure {
                return Err(Error::Stream(reason.clone()));
            }
            if state.closed {
                return Err(Error::Internal("the stream was closed while it was read".into()));
            }
            state = self.wait(state);
        }
    }

    // A panic with the lock held is impossible but for lack of memory, and then the state is still whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(first: u64, entries: u64) -> Block {
        Block { source: 0, first, entries, together: (first, first + entries), copied: false }
    }

    fn feed() -> Feed {
        Feed::new(&[Column::new("x", 1)], vec![block(0, 1)], 1)
    }

    fn data(feed: &Feed, rows: usize) -> Dataset {
        let mut data = feed.dataset(rows).unwrap();
        data.begin("s").unwrap();
        data.append(&vec![0.0; rows], &vec![0.0; rows], &vec![1.0; rows]).unwrap();
        data.commit().unwrap();
        data
    }

    #[test]
    fn events_are_those_of_their_entries() {
        let feed = feed();
        let events = Events::new(10..20, &[11, 15, 19], data(&feed, 3)).unwrap();
        assert_eq!([events.rows(10, 12), events.rows(12, 15), events.rows(15, 20)], [0..1, 1..1, 1..3]);
        let part = events.part(12, 20).unwrap();
        assert_eq!((part.entry(0), part.entry(1), part.rows(16, 20)), (15, 19, 1..2));
        for wrong in [&[11, 15][..], &[9, 11, 12], &[18, 19, 20], &[11, 15, 15]] {
            assert!(Events::new(10..20, wrong, data(&feed, 3)).is_err(), "{wrong:?}");
        }
        let all = Events::all(10..13, data(&feed, 3)).unwrap();
        assert_eq!((all.entry(2), all.rows(0, 11), all.rows(12, 99)), (12, 0..1, 2..3));
        let part = all.part(11, 13).unwrap();
        assert_eq!((part.entry(0), part.rows(10, 12)), (11, 0..1));
        assert!(Events::all(10..12, data(&feed, 3)).is_err());
        assert!(Events::all(10..14, data(&feed, 3)).is_err());
    }

    #[test]
    fn events_of_other_entries_are_not_taken() {
        let feed = feed();
        let events = Arc::new(Events::new(10..20, &[11], data(&feed, 1)).unwrap());
        for (first, entries, fits) in [(10, 10, true), (12, 3, true), (9, 2, false), (15, 6, false)] {
            assert_eq!(feed.deliver(block(first, entries), Arc::clone(&events)).is_ok(), fits, "{first}, {entries}");
        }
    }

    #[test]
    fn memory_is_used_again_where_it_fits_and_nobody_has_it() {
        let feed = feed();
        let shared = Arc::new(Events::new(0..100, &(0..100).collect::<Vec<_>>(), data(&feed, 100)).unwrap());
        let address = shared.data().features().as_ptr();
        feed.give_back(Arc::clone(&shared));
        assert_ne!(data(&feed, 100).features().as_ptr(), address);
        feed.give_back(shared);
        let again = data(&feed, 60);
        assert_eq!((again.features().as_ptr(), again.rows()), (address, 60));
        let events = |data| Arc::new(Events::new(0..60, &(0..60).collect::<Vec<_>>(), data).unwrap());
        feed.give_back(events(again));
        assert_eq!(feed.dataset(49).unwrap().room(), 0);
        assert_eq!(feed.dataset(100).unwrap().room(), 0, "what did not fit is freed");
        let last = data(&feed, 60);
        assert_eq!(feed.want().map(|block| block.entries), Some(1));
        feed.give_back(events(last));
        assert_eq!(feed.dataset(60).unwrap().room(), 0, "nothing more is to be read");
    }
}
