//! Events of data larger than memory, in a seeded order.
//!
//! The order belongs to the definition of a stream, not to how it is read. Each source is a list of clusters of
//! entries; an epoch shuffles the clusters (those longer than a window in pieces) of every source, and walks through
//! all sources at once, each at the pace of its share. The walk is cut into windows of a fixed number of entries; the
//! events of a window are shuffled and handed out in batches, and a rest smaller than a batch goes into the next
//! window. Windows begin small, so that the first batch comes soon, and double up to their full size.
//!
//! If processes train together, each walks through its own part of every source, of the same length and in the same
//! number of windows as the others; the processes then agree on how the events of a window are divided into batches.
//!
//! [`Feed`] lies between the thread that reads blocks of entries ahead and the [`Epoch`] that makes windows of them.
//! The read-ahead affects nothing else. [`Events`] stay where they were decoded: blocks and windows share them, and
//! making a batch, or a table of a window, copies each event once.

mod epoch;
mod feed;
mod order;

pub use epoch::{Batch, Epoch, EventLocation, Split, Window};
pub use feed::{Events, Feed};
pub use order::Block;

use std::sync::Arc;

use crate::columns::{self, Column};
use crate::dataset::Targets;
use crate::error::{Error, Result};
use order::Walk;

/// How sources are mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mixing {
    /// Each source gives as many entries as it has.
    Proportional,
    /// Each source gives as many entries as the largest has; smaller ones come again, in another order.
    Balanced,
}

/// One source: where its clusters end, rising, the last with the number of its entries.
#[derive(Clone, Debug)]
pub struct Source {
    /// For messages.
    pub name: String,
    /// Names of its label columns.
    pub targets: Targets,
    /// Entry behind each cluster.
    pub cluster_ends: Vec<u64>,
}

impl Source {
    /// How many it has.
    pub fn entries(&self) -> u64 {
        self.cluster_ends.last().copied().unwrap_or(0)
    }
}

/// The settings that determine the order and the events of an epoch.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Entries of a window.
    pub window: u64,
    /// Most entries read in one go; changes nothing else.
    pub block: u64,
    /// Entries of all sources that may be read together, where they share baskets; changes no batch either.
    pub kept: u64,
    /// How sources are mixed.
    pub mixing: Mixing,
    /// Seed of every other choice.
    pub seed: u64,
    /// Seed of the choice of the events for validation.
    pub split_seed: u64,
    /// Whether clusters and windows are shuffled.
    pub shuffle: bool,
    /// Share of the events kept for validation, in [0, 1).
    pub validation: f64,
    /// Events of a batch.
    pub batch: usize,
}

/// The sources of a stream and their columns.
pub struct Stream {
    columns: Vec<Column>,
    width: usize,
    targets: Targets,
    sources: Vec<Source>,
}

impl Stream {
    /// A stream without sources.
    pub fn new(columns: &[Column]) -> Result<Self> {
        let width = columns::checked_width(columns)?;
        if width == 0 {
            return Err(Error::invalid("a stream without columns", "name at least one feature column"));
        }
        Ok(Stream { columns: columns.to_vec(), width, targets: Targets::default(), sources: Vec::new() })
    }

    /// The name of sources that read the same entries, if there are such: chains of as many files have one name, but hardly the same
    /// clusters.
    pub fn same_source(&self) -> Option<&str> {
        let is_same = |a: &Source, b: &Source| a.name == b.name && a.cluster_ends == b.cluster_ends;
        let mut all = self.sources.iter().enumerate();
        all.find(|(place, one)| self.sources[..*place].iter().any(|other| is_same(one, other)))
            .map(|(_, one)| &*one.name)
    }

    /// Adds a source behind the others.
    pub fn add(&mut self, source: Source) -> Result<()> {
        let ends = &source.cluster_ends;
        if ends.first().is_none_or(|&end| end == 0) || !ends.is_sorted_by(|a, b| a < b) {
            return Err(Error::invalid(
                format!("{} has no entries, or clusters out of order", source.name),
                "a stream needs sources with entries",
            ));
        }
        self.targets = match self.sources.is_empty() {
            true => source.targets.clone(),
            false => self.targets.joined(&source.targets, &source.name)?,
        };
        self.sources.push(source);
        Ok(())
    }

    /// The feature columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Numbers a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Names of the label columns of the sources so far.
    pub fn targets(&self) -> &Targets {
        &self.targets
    }

    /// Entries of all sources, before any cut.
    pub fn entries(&self) -> u64 {
        self.sources.iter().map(Source::entries).sum()
    }

    /// Epoch `number` of the events of `part`, with up to `buffer` entries read ahead. Epoch 0 is a sample: its first
    /// events are spread over all sources. A thread must serve its feed.
    pub fn epoch(&self, number: u64, part: Split, settings: &Settings, buffer: u64) -> Result<Epoch> {
        self.epoch_of([0, 1], number, part, settings, buffer)
    }

    /// The same for process `rank` of `size`: as many entries and as many windows as the others, from events of its
    /// own. The sample is that of all.
    pub fn epoch_of(
        &self,
        [rank, size]: [usize; 2],
        number: u64,
        part: Split,
        settings: &Settings,
        buffer: u64,
    ) -> Result<Epoch> {
        if self.sources.is_empty() {
            return Err(Error::invalid("a stream without sources", "add one with Stream::Add"));
        }
        let walk = match number {
            0 => Walk::sample(&self.sources, settings),
            _ => Walk::new(&self.sources, settings, number, [rank, size]),
        };
        let feed = Arc::new(Feed::new(&self.columns, walk.blocks(), buffer / size as u64));
        let epoch = Epoch::new(walk, feed, part, *settings, number, [self.width, self.targets.count()]);
        Ok(if size > 1 { epoch.in_parts() } else { epoch })
    }
}

/// A number that each of `parts` changes all over.
fn mixed(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |state, &part| mixed_into(state, part))
}

/// `state` with one part more (the finaliser of SplitMix64, Steele, Lea and Flood 2014).
fn mixed_into(state: u64, part: u64) -> u64 {
    let mut z = (state ^ part).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
