//! Blocks of rows from the thread that reads to the one that uses them.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::Block;
use crate::dataset::Dataset;
use crate::error::{Error, Result};

/// The rows of one block that passed the cut.
pub struct BlockRows {
    pub(super) block: Block,
    /// Entry of each row in its source, rising.
    pub(super) entries: Vec<u64>,
    pub(super) data: Dataset,
}

impl BlockRows {
    /// The rows of `data` come from `entries` of `block`.
    pub fn new(block: Block, entries: &[u64], data: Dataset) -> Result<Self> {
        let inside = |entry: &u64| (block.first..block.first + block.entries).contains(entry);
        if entries.len() != data.rows() || !entries.is_sorted_by(|a, b| a < b) || !entries.iter().all(inside) {
            let (first, last) = (entries.first(), entries.last());
            return Err(Error::Internal(format!("{} rows, entries {first:?} to {last:?}, of {block:?}", data.rows())));
        }
        Ok(BlockRows { block, entries: entries.to_vec(), data })
    }
}

#[derive(Default)]
struct State {
    /// Number of the block to be read next.
    next: usize,
    /// Entries being read or waiting.
    ahead: u64,
    ready: VecDeque<BlockRows>,
    closed: bool,
    failure: Option<String>,
}

/// Hands out the blocks to be read, in order, never more ahead than `buffer` entries (or one block), and hands over
/// their rows in the same order.
pub struct Feed {
    blocks: Vec<Block>,
    buffer: u64,
    state: Mutex<State>,
    changed: Condvar,
}

impl Feed {
    pub(super) fn new(blocks: Vec<Block>, buffer: u64) -> Self {
        Feed { blocks, buffer, state: Mutex::default(), changed: Condvar::new() }
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

    /// Hands over the rows of the block that was wanted last.
    pub fn deliver(&self, rows: BlockRows) {
        self.lock().ready.push_back(rows);
        self.changed.notify_all();
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

    /// The next block's rows, as soon as they are there.
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
