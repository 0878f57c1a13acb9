//! One pass over a stream: windows of rows in memory.

use std::collections::VecDeque;
use std::sync::Arc;

use super::feed::{BlockRows, Feed};
use super::order::Walk;
use super::{Settings, mixed};
use crate::bridge::Batch;
use crate::dataset::shuffle;
use crate::error::{Error, Result};

/// Which events are given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Those to train on.
    Training,
    /// Those kept for validation.
    Validation,
}

/// Rows in memory, and who of them is due.
#[derive(Default)]
pub struct Window {
    /// [rows, width]
    pub features: Vec<f32>,
    /// One a row.
    pub labels: Vec<f32>,
    /// One a row.
    pub weights: Vec<f32>,
    /// One a row: below the share of the validation part it belongs there.
    pub hashes: Vec<u64>,
    /// Rows of the epoch's part in their order: whole batches, but for the last window.
    pub order: Vec<u32>,
    /// New rows of the other part.
    pub others: Vec<u32>,
}

/// A source on its way through the epoch.
#[derive(Default)]
struct Lane {
    /// Blocks that are not used up, with the lane's entries before each.
    blocks: VecDeque<(u64, BlockRows)>,
    /// The first block's row that comes next.
    row: usize,
    /// Entries up to the end of the last block.
    end: u64,
}

/// One pass over a stream. Its feed is served by a reading thread.
pub struct Epoch {
    walk: Walk,
    feed: Arc<Feed>,
    part: Part,
    settings: Settings,
    number: u64,
    width: usize,
    /// Entries done after each window to come.
    windows: Box<dyn Iterator<Item = u64> + Send>,
    lanes: Vec<Lane>,
    window: Window,
    /// Windows so far.
    count: u64,
    /// Rows of the part that wait for their batch to fill up.
    rest: Vec<u32>,
    /// Place in the window's order, for single batches.
    at: usize,
}

impl Drop for Epoch {
    fn drop(&mut self) {
        self.feed.close();
    }
}

impl Epoch {
    pub(super) fn new(walk: Walk, feed: Arc<Feed>, part: Part, settings: Settings, number: u64, width: usize) -> Self {
        Epoch {
            windows: Box::new(walk.windows()),
            lanes: walk.entries.iter().map(|_| Lane::default()).collect(),
            walk,
            feed,
            part,
            settings,
            number,
            width,
            window: Window::default(),
            count: 0,
            rest: Vec::new(),
            at: 0,
        }
    }

    /// What the reading thread serves.
    pub fn feed(&self) -> Arc<Feed> {
        Arc::clone(&self.feed)
    }

    /// What decides on its order.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The window made last.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// Makes the next window; `false` at the end of the epoch.
    pub fn advance(&mut self) -> Result<bool> {
        let Some(done) = self.windows.next() else { return Ok(false) };
        self.keep_rest();
        let first = self.window.labels.len();
        for lane in 0..self.lanes.len() {
            self.collect(lane, self.walk.due(lane, done))?;
        }
        self.count += 1;
        self.arrange(first, done == self.walk.total());
        Ok(true)
    }

    /// The next batch; without rows at the end of the epoch.
    pub fn batch(&mut self) -> Result<Batch> {
        while self.at == self.window.order.len() && self.advance()? {
            self.at = 0;
        }
        let end = (self.at + self.settings.batch).min(self.window.order.len());
        let rows = &self.window.order[self.at..end];
        self.at = end;
        let Window { features, labels, weights, .. } = &self.window;
        Ok(Batch {
            features: gathered(features, self.width, rows),
            labels: gathered(labels, 1, rows),
            weights: gathered(weights, 1, rows),
        })
    }

    /// Moves the rows that wait to the front and drops all others.
    fn keep_rest(&mut self) {
        let Window { features, labels, weights, hashes, .. } = &mut self.window;
        keep(features, self.width, &self.rest);
        keep(labels, 1, &self.rest);
        keep(weights, 1, &self.rest);
        keep(hashes, 1, &self.rest);
        self.rest = (0..self.rest.len() as u32).collect();
    }

    /// Adds the rows of source `number` up to its first `due` entries.
    fn collect(&mut self, number: usize, due: u64) -> Result<()> {
        let lane = &mut self.lanes[number];
        while lane.end < due {
            let block = self.feed.take()?;
            if block.block.source != number || block.data.width() != self.width {
                return Err(Error::Internal(format!("{:?} instead of one of source {number}", block.block)));
            }
            let end = lane.end + block.block.entries;
            lane.blocks.push_back((lane.end, block));
            lane.end = end;
        }
        while let Some((before, block)) = lane.blocks.front() {
            let place = |row: usize| before + (block.entries[row] - block.block.first);
            let mut row = lane.row;
            while row < block.entries.len() && place(row) < due {
                self.window.hashes.push(mixed(&[self.settings.seed, number as u64, block.entries[row]]));
                row += 1;
            }
            let width = self.width;
            self.window.features.extend(&block.data.features()[lane.row * width..row * width]);
            self.window.labels.extend(&block.data.labels()[lane.row..row]);
            self.window.weights.extend(&block.data.weights()[lane.row..row]);
            lane.row = row;
            if before + block.block.entries > due {
                break;
            }
            lane.row = 0;
            lane.blocks.pop_front();
        }
        Ok(())
    }

    /// Divides the rows from `first` on into the parts and puts those that are due in order.
    fn arrange(&mut self, first: usize, last_window: bool) {
        let window = &mut self.window;
        let new = first as u32..window.labels.len() as u32;
        let is_validation = |row: &u32| in_validation(window.hashes[*row as usize], self.settings.validation);
        let (validation, training): (Vec<u32>, Vec<u32>) = new.partition(is_validation);
        let (mut due, others) = match self.part {
            Part::Training => (training, validation),
            Part::Validation => (validation, training),
        };
        if self.settings.shuffle {
            shuffle(&mut due, self.settings.seed, mixed(&[2, self.number, self.count]));
        }
        window.others = others;
        window.order = std::mem::take(&mut self.rest);
        window.order.append(&mut due);
        if !last_window {
            let whole = window.order.len() / self.settings.batch * self.settings.batch;
            self.rest = window.order.split_off(whole);
        }
    }
}

/// Leaves the given rows of `values` [_, width] and its memory, which the next window fills again.
fn keep<T: Copy>(values: &mut Vec<T>, width: usize, rows: &[u32]) {
    let kept = gathered(values, width, rows);
    values.clear();
    values.extend_from_slice(&kept);
}

/// The given rows of `values` [_, width].
fn gathered<T: Copy>(values: &[T], width: usize, rows: &[u32]) -> Vec<T> {
    let mut gathered = Vec::with_capacity(rows.len() * width);
    for &row in rows {
        gathered.extend_from_slice(&values[row as usize * width..][..width]);
    }
    gathered
}

/// Whether an event of this hash is kept for validation; so it is in every epoch, whatever is read when.
fn in_validation(hash: u64, share: f64) -> bool {
    // The 53 bits that a float64 holds: the share of the range that lies below the hash.
    ((hash >> 11) as f64) < share * (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::bridge::ColumnSpec;
    use crate::dataset::Dataset;
    use crate::stream::{Mixing, Source, Stream};

    fn stream() -> Stream {
        let mut stream = Stream::new(&[ColumnSpec::new("source", 1), ColumnSpec::new("entry", 1)]).unwrap();
        for (name, cluster_ends) in [("a", vec![9000, 20_000, 20_001, 45_000]), ("b", vec![1000, 3000])] {
            stream.add(Source { name: name.into(), cluster_ends }).unwrap();
        }
        stream
    }

    fn settings() -> Settings {
        Settings {
            window: 7000,
            block: 8192,
            mixing: Mixing::Proportional,
            seed: 3,
            shuffle: true,
            validation: 0.25,
            batch: 64,
        }
    }

    /// Serves the feed as a reading thread does; every seventh entry is cut away.
    fn serve(feed: &Feed) {
        while let Some(block) = feed.want() {
            let entries: Vec<u64> = (block.first..block.first + block.entries).filter(|entry| entry % 7 != 0).collect();
            let mut data = Dataset::new(stream().columns()).unwrap();
            if !entries.is_empty() {
                data.begin("s").unwrap();
                for &entry in &entries {
                    let source = block.source as f32;
                    data.append(&[source, entry as f32], &[source], &[1.0]).unwrap();
                }
                data.commit().unwrap();
            }
            feed.deliver(BlockRows::new(block, &entries, data).unwrap());
        }
    }

    /// (source, entry) of every event of every batch.
    fn batches(number: u64, part: Part, settings: &Settings, buffer: u64) -> Vec<Vec<(u32, u32)>> {
        let mut epoch = stream().epoch(number, part, settings, buffer).unwrap();
        let feed = epoch.feed();
        let reader = thread::spawn(move || serve(&feed));
        let mut all = Vec::new();
        loop {
            let batch = epoch.batch().unwrap();
            if batch.labels.is_empty() {
                break;
            }
            assert!(batch.weights.iter().all(|&weight| weight == 1.0));
            let events = batch.features.chunks(2).zip(&batch.labels);
            all.push(
                events
                    .map(|(x, &label)| {
                        assert_eq!(x[0], label);
                        (x[0] as u32, x[1] as u32)
                    })
                    .collect(),
            );
        }
        drop(epoch);
        reader.join().unwrap();
        all
    }

    fn sorted(batches: Vec<Vec<(u32, u32)>>) -> Vec<(u32, u32)> {
        let mut events = batches.concat();
        events.sort_unstable();
        events
    }

    #[test]
    fn batches_do_not_depend_on_the_buffer() {
        let reference = batches(1, Part::Training, &settings(), 1);
        assert!(reference.iter().rev().skip(1).all(|batch| batch.len() == 64));
        for (buffer, block) in [(2, 8192), (8192, 8192), (20_000, 17), (u64::MAX, 50_000)] {
            assert_eq!(batches(1, Part::Training, &Settings { block, ..settings() }, buffer), reference);
        }
        assert_ne!(batches(2, Part::Training, &settings(), 1), reference);
    }

    #[test]
    fn the_parts_share_no_event_and_stay_the_same_in_every_order() {
        let training = sorted(batches(1, Part::Training, &settings(), 1));
        let validation = sorted(batches(1, Part::Validation, &settings(), 1));
        let expected: Vec<_> = [(0, 45_000), (1, 3000)]
            .iter()
            .flat_map(|&(source, entries)| (0..entries).filter(|entry| entry % 7 != 0).map(move |e| (source, e)))
            .collect();
        let mut all = [training.clone(), validation.clone()].concat();
        all.sort_unstable();
        assert_eq!(all, expected);
        let share = validation.len() as f64 / all.len() as f64;
        assert!((share - 0.25).abs() < 0.01, "{share}");
        let other = Settings { window: 100, block: 999, shuffle: false, batch: 1, ..settings() };
        assert_eq!(sorted(batches(5, Part::Validation, &other, 9000)), validation);
    }

    #[test]
    fn sources_are_mixed_in_every_batch_where_balanced() {
        let balanced = Settings { mixing: Mixing::Balanced, validation: 0.0, ..settings() };
        let all = batches(1, Part::Training, &balanced, 1);
        let second = all.concat().iter().filter(|event| event.0 == 1).count() as f64 / all.concat().len() as f64;
        assert!((second - 0.5).abs() < 0.01, "{second}");
        let extreme =
            all.iter().filter(|batch| batch.len() == 64).map(|batch| batch.iter().filter(|event| event.0 == 1).count());
        assert!(extreme.clone().min() > Some(8) && extreme.max() < Some(56));
    }

    #[test]
    fn without_shuffling_the_entries_come_in_order() {
        let straight = Settings { shuffle: false, validation: 0.0, ..settings() };
        let events = batches(1, Part::Training, &straight, 1).concat();
        let first: Vec<_> = events.iter().filter(|event| event.0 == 0).collect();
        assert!(first.is_sorted());
    }

    #[test]
    fn the_end_of_reading_reaches_the_reader_and_an_error_the_epoch() {
        let epoch = stream().epoch(1, Part::Training, &settings(), 1).unwrap();
        let feed = epoch.feed();
        let reader = thread::spawn(move || serve(&feed));
        drop(epoch);
        reader.join().unwrap(); // or the test hangs
        let mut epoch = stream().epoch(1, Part::Training, &settings(), 1).unwrap();
        epoch.feed().fail("file gone");
        assert!(epoch.batch().unwrap_err().to_string().contains("file gone"));
        assert!(epoch.feed().want().is_none());
    }
}
