//! One pass over a stream: windows of events, which stay where the reading thread put them until a batch takes them.

mod window;

use std::collections::VecDeque;
use std::iter::Peekable;
use std::sync::Arc;

use super::feed::{BlockRows, Feed};
use super::order::Walk;
use super::{Settings, mixed, mixed_into};
use crate::dataset::shuffle;
use crate::error::{Error, Result};

pub use window::{Batch, EventLocation, Window};

/// Which events are given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Those to train on.
    Training,
    /// Those kept for validation.
    Validation,
}

/// A source on its way through the epoch.
#[derive(Default)]
struct SourceProgress {
    /// Blocks that are not used up, with the source's entries before each.
    blocks: VecDeque<(u64, BlockRows)>,
    /// Entries up to the end of the last block.
    end: u64,
    /// Entries that were in a window.
    taken: u64,
}

/// One pass over a stream. Its feed is served by a reading thread.
pub struct Epoch {
    walk: Walk,
    feed: Arc<Feed>,
    part: Split,
    settings: Settings,
    number: u64,
    /// Entries done after each window to come.
    windows: Peekable<Box<dyn Iterator<Item = u64> + Send>>,
    sources: Vec<SourceProgress>,
    window: Window,
    /// Whether other processes have events of the same batches.
    is_part: bool,
    /// Windows so far.
    count: u64,
    /// Events of the part that wait for their batch to fill up.
    rest: Vec<EventLocation>,
    /// Place in the window's order, for single batches.
    at: usize,
    /// Why there is no next window.
    failure: Option<String>,
}

impl Drop for Epoch {
    fn drop(&mut self) {
        self.feed.close();
    }
}

impl Epoch {
    /// An event has `width` features and `targets` labels.
    pub(super) fn new(
        walk: Walk,
        feed: Arc<Feed>,
        part: Split,
        settings: Settings,
        number: u64,
        [width, targets]: [usize; 2],
    ) -> Self {
        Epoch {
            windows: (Box::new(walk.windows()) as Box<dyn Iterator<Item = u64> + Send>).peekable(),
            sources: walk.entries.iter().map(|_| SourceProgress::default()).collect(),
            walk,
            feed,
            part,
            settings,
            number,
            window: Window { width, targets, ..Window::default() },
            is_part: false,
            count: 0,
            rest: Vec::new(),
            at: 0,
            failure: None,
        }
    }

    /// Leaves it to [`hold_back`](Self::hold_back) which events wait for the next window.
    pub(super) fn in_parts(mut self) -> Self {
        self.is_part = true;
        self
    }

    /// The feed that the reading thread serves.
    pub fn feed(&self) -> Arc<Feed> {
        Arc::clone(&self.feed)
    }

    /// The settings that determine its order.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The window made last.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// Makes the next window; `false` at the end of the epoch. After an error it returns the same error again.
    pub fn advance(&mut self) -> Result<bool> {
        if let Some(failure) = &self.failure {
            return Err(Error::Stream(failure.clone()));
        }
        let advanced = self.fill_window();
        if let Err(error) = &advanced {
            self.window.order.clear();
            self.at = 0;
            self.failure = Some(match error {
                Error::Stream(reason) => reason.clone(),
                other => other.to_string(),
            });
        }
        advanced
    }

    fn fill_window(&mut self) -> Result<bool> {
        let Some(done) = self.windows.next() else { return Ok(false) };
        for events in self.window.begin(&std::mem::take(&mut self.rest))? {
            self.feed.give_back(events);
        }
        let first = self.window.order.len();
        for source in 0..self.sources.len() {
            self.collect(source, self.walk.due(source, done))?;
        }
        self.count += 1;
        if self.settings.shuffle {
            let mark = mixed(&[2, self.number, self.count]);
            shuffle(&mut self.window.order[first..], self.settings.seed, mark);
        }
        if !self.is_part && !self.is_last() {
            self.hold_back(self.window.order.len() / self.settings.batch * self.settings.batch);
        }
        Ok(true)
    }

    /// Makes `batch` the next one; without rows at the end of the epoch.
    pub fn batch(&mut self, batch: &mut Batch) -> Result<()> {
        while self.at == self.window.order.len() && self.advance()? {
            self.at = 0;
        }
        let end = (self.at + self.settings.batch).min(self.window.order.len());
        self.window.gather(&self.window.order[self.at..end], batch)?;
        self.at = end;
        Ok(())
    }

    /// Adds the events of source `number` up to its first `due` entries.
    fn collect(&mut self, number: usize, due: u64) -> Result<()> {
        let progress = &mut self.sources[number];
        while progress.end < due {
            let rows = self.feed.take()?;
            let data = rows.events.data();
            let fits = data.width() == self.window.width
                && (data.rows() == 0 || data.targets().count() == self.window.targets);
            if rows.block.source != number || !fits {
                return Err(Error::Internal(format!("{:?} instead of one of source {number}", rows.block)));
            }
            let before = progress.end;
            progress.end += rows.block.entries;
            progress.blocks.push_back((before, rows));
        }
        let source = mixed(&[self.settings.split_seed, number as u64]);
        while let Some((before, BlockRows { block, events })) = progress.blocks.front().filter(|_| progress.taken < due)
        {
            let end = due.min(before + block.entries);
            let entry = |place: u64| block.first + (place - before);
            let rows = events.rows(entry(progress.taken), entry(end));
            let of_window = self.window.number_of(events);
            for row in rows {
                let entry = events.entry(row);
                let place = EventLocation { events: of_window, row: row as u32 };
                let hash = mixed_into(source, entry);
                if in_validation(hash, self.settings.validation) == (self.part == Split::Validation) {
                    self.window.order.push(place);
                } else {
                    self.window.others.push(place);
                    self.window.hashes.push(hash);
                }
            }
            progress.taken = end;
            if end == before + block.entries {
                progress.blocks.pop_front();
            }
        }
        Ok(())
    }

    /// Whether the window made last is the epoch's last one.
    pub fn is_last(&mut self) -> bool {
        self.windows.peek().is_none()
    }

    /// Lets the window's events behind the first `used` wait for the next window.
    pub fn hold_back(&mut self, used: usize) {
        self.rest = self.window.order.split_off(used);
    }
}

/// Whether an event of this hash is kept for validation; so it is in every epoch, whatever is read when.
fn in_validation(hash: u64, share: f64) -> bool {
    // The 53 bits that a float64 holds: the share of the range that lies below the hash.
    ((hash >> 11) as f64) < share * (1u64 << 53) as f64
}

#[cfg(test)]
mod tests;
