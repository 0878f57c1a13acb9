//! One pass over a stream: windows of events, which stay where the reading thread put them until a batch takes them.

use std::collections::VecDeque;
use std::iter::Peekable;
use std::sync::Arc;

use super::feed::{BlockRows, Events, Feed};
use super::order::Walk;
use super::{Settings, mixed, mixed_into};
use crate::dataset::{PerRow, shuffle};
use crate::error::{Error, Result};
use crate::kernels;

/// Events that are trained on together.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// [rows, width]
    pub features: Vec<f32>,
    /// [rows, targets]
    pub labels: Vec<f32>,
    /// [rows]
    pub weights: Vec<f32>,
}

/// Which events are given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Those to train on.
    Training,
    /// Those kept for validation.
    Validation,
}

/// Where an event lies.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// 0: among those that wait; else the number of the window's events, from 1 on.
    events: u32,
    row: u32,
}

/// Rows of events, wherever they lie.
struct Table<'a> {
    /// [rows, width]
    features: &'a [f32],
    labels: PerRow<'a>,
    weights: PerRow<'a>,
}

/// Events that are shuffled together, and who of them is due.
#[derive(Default)]
pub struct Window {
    /// Numbers of features and of labels of an event.
    width: usize,
    targets: usize,
    /// Those that waited for their batch to fill up. Copies: each of them might hold a whole cluster.
    waiting: Batch,
    events: Vec<Arc<Events>>,
    /// Of the epoch's part.
    order: Vec<Place>,
    /// New ones of the other part.
    others: Vec<Place>,
    /// One for each of `others`.
    hashes: Vec<u64>,
}

impl Window {
    /// Events of the epoch's part in their order: whole batches, but for the last window.
    pub fn order(&self) -> &[Place] {
        &self.order
    }

    /// New events of the other part, and for each a hash, the same in every epoch.
    pub fn others(&self) -> (&[Place], &[u64]) {
        (&self.others, &self.hashes)
    }

    /// Makes `batch` the events at `places`.
    pub fn gather(&self, places: &[Place], batch: &mut Batch) -> Result<()> {
        const AT_ONCE: usize = 1 << 12; // rows whose addresses are noted
        let Batch { features, labels, weights } = &self.waiting;
        let (labels, weights) = (PerRow::Each(labels, self.targets), PerRow::Each(weights, 1));
        let mut tables = vec![Table { features, labels, weights }];
        for events in &self.events {
            let [labels, weights] = events.data().labels_and_weights()?;
            tables.push(Table { features: events.data().features(), labels, weights });
        }
        let table = |place: &Place| &tables[place.events as usize];
        let row_of = |place: &Place| &table(place).features[place.row as usize * self.width..][..self.width];
        batch.features.resize(places.len() * self.width, 0.0);
        for (places, into) in places.chunks(AT_ONCE).zip(batch.features.chunks_mut(AT_ONCE * self.width)) {
            let rows: Vec<&[f32]> = places.iter().map(row_of).collect();
            kernels::gather_rows(&rows, self.width, into);
        }
        batch.weights.clear();
        batch.weights.extend(places.iter().map(|place| table(place).weights.at(place.row as usize)));
        batch.labels.clear();
        match self.targets {
            1 => batch.labels.extend(places.iter().map(|place| table(place).labels.at(place.row as usize))),
            _ => places.iter().for_each(|p| batch.labels.extend_from_slice(table(p).labels.row(p.row as usize))),
        }
        Ok(())
    }

    /// Begins anew with the events at `rest`. Returns what it held.
    fn begin(&mut self, rest: &[Place]) -> Result<Vec<Arc<Events>>> {
        let mut waiting = Batch::default();
        self.gather(rest, &mut waiting)?;
        self.waiting = waiting;
        self.order.clear();
        self.order.extend((0..rest.len() as u32).map(|row| Place { events: 0, row }));
        self.others.clear();
        self.hashes.clear();
        Ok(std::mem::take(&mut self.events))
    }

    /// The number that `events` has in the places of this window. Neighbouring blocks often share theirs.
    fn number_of(&mut self, events: &Arc<Events>) -> u32 {
        if self.events.last().is_none_or(|last| !Arc::ptr_eq(last, events)) {
            self.events.push(Arc::clone(events));
        }
        self.events.len() as u32
    }
}

/// A source on its way through the epoch.
#[derive(Default)]
struct Lane {
    /// Blocks that are not used up, with the lane's entries before each.
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
    part: Part,
    settings: Settings,
    number: u64,
    /// Entries done after each window to come.
    windows: Peekable<Box<dyn Iterator<Item = u64> + Send>>,
    lanes: Vec<Lane>,
    window: Window,
    /// Whether other processes have events of the same batches.
    is_part: bool,
    /// Windows so far.
    count: u64,
    /// Events of the part that wait for their batch to fill up.
    rest: Vec<Place>,
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
        part: Part,
        settings: Settings,
        number: u64,
        [width, targets]: [usize; 2],
    ) -> Self {
        Epoch {
            windows: (Box::new(walk.windows()) as Box<dyn Iterator<Item = u64> + Send>).peekable(),
            lanes: walk.entries.iter().map(|_| Lane::default()).collect(),
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

    /// Makes the next window; `false` at the end of the epoch. After an error there is only that one again.
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
        for lane in 0..self.lanes.len() {
            self.collect(lane, self.walk.due(lane, done))?;
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
        let lane = &mut self.lanes[number];
        while lane.end < due {
            let rows = self.feed.take()?;
            let data = rows.events.data();
            let fits = data.width() == self.window.width
                && (data.rows() == 0 || data.targets().count() == self.window.targets);
            if rows.block.source != number || !fits {
                return Err(Error::Internal(format!("{:?} instead of one of source {number}", rows.block)));
            }
            let before = lane.end;
            lane.end += rows.block.entries;
            lane.blocks.push_back((before, rows));
        }
        let source = mixed(&[self.settings.split_seed, number as u64]);
        while let Some((before, BlockRows { block, events })) = lane.blocks.front().filter(|_| lane.taken < due) {
            let end = due.min(before + block.entries);
            let entry = |place: u64| block.first + (place - before);
            let rows = events.rows(entry(lane.taken), entry(end));
            let of_window = self.window.number_of(events);
            for row in rows {
                let entry = events.entry(row);
                let place = Place { events: of_window, row: row as u32 };
                let hash = mixed_into(source, entry);
                if in_validation(hash, self.settings.validation) == (self.part == Part::Validation) {
                    self.window.order.push(place);
                } else {
                    self.window.others.push(place);
                    self.window.hashes.push(hash);
                }
            }
            lane.taken = end;
            if end == before + block.entries {
                lane.blocks.pop_front();
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
mod tests {
    use std::thread;

    use super::*;
    use crate::columns::Column;
    use crate::dataset::Targets;
    use crate::stream::{Block, Mixing, Source, Stream};

    fn stream() -> Stream {
        let mut stream = Stream::new(&[Column::new("source", 1), Column::new("entry", 1)]).unwrap();
        for (name, cluster_ends) in [("a", vec![9000, 20_000, 20_001, 45_000]), ("b", vec![1000, 3000])] {
            stream.add(Source { name: name.into(), targets: Targets::default(), cluster_ends }).unwrap();
        }
        stream
    }

    fn settings() -> Settings {
        Settings {
            window: 7000,
            block: 8192,
            kept: 10_000,
            mixing: Mixing::Proportional,
            seed: 3,
            split_seed: 3,
            shuffle: true,
            validation: 0.25,
            batch: 64,
        }
    }

    /// Serves the feed as a reading thread does; every seventh entry is cut away.
    fn serve(feed: &Feed) {
        let mut last: Option<(Block, Arc<Events>)> = None;
        while let Some(block) = feed.want() {
            if let Some((other, events)) = &last
                && (other.source, other.together) == (block.source, block.together)
            {
                feed.deliver(block, Arc::clone(events)).unwrap();
                continue;
            }
            assert!(!block.copied);
            let covered = block.together.0..block.together.1;
            let entries: Vec<u64> = covered.clone().filter(|entry| entry % 7 != 0).collect();
            let mut data = feed.dataset(entries.len()).unwrap();
            if !entries.is_empty() {
                data.begin("s").unwrap();
                for &entry in &entries {
                    let source = block.source as f32;
                    data.append(&[source, entry as f32], &[source], &[1.0]).unwrap();
                }
                data.commit().unwrap();
            }
            let (_, events) = last.insert((block, Arc::new(Events::new(covered, &entries, data).unwrap())));
            feed.deliver(block, Arc::clone(events)).unwrap();
        }
    }

    /// (source, entry) of every event of every batch.
    fn batches(number: u64, part: Part, settings: &Settings, buffer: u64) -> Vec<Vec<(u32, u32)>> {
        let mut epoch = stream().epoch(number, part, settings, buffer).unwrap();
        let feed = epoch.feed();
        let reader = thread::spawn(move || serve(&feed));
        let (mut all, mut batch) = (Vec::new(), Batch::default());
        loop {
            epoch.batch(&mut batch).unwrap();
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
        for (buffer, block, kept) in [(2, 8192, 0), (8192, 8192, 5000), (20_000, 17, 100_000), (u64::MAX, 50_000, 0)] {
            assert_eq!(batches(1, Part::Training, &Settings { block, kept, ..settings() }, buffer), reference);
        }
        assert_ne!(batches(2, Part::Training, &settings(), 1), reference);
    }

    #[test]
    fn processes_read_all_events_between_them_in_as_many_windows() {
        for (size, mixing) in [(1, Mixing::Proportional), (3, Mixing::Proportional), (7, Mixing::Balanced)] {
            let settings = Settings { mixing, ..settings() };
            let (mut all, mut windows) = (Vec::new(), Vec::new());
            for rank in 0..size {
                let mut epoch = stream().epoch_of([rank, size], 1, Part::Training, &settings, 5000).unwrap();
                let feed = epoch.feed();
                let reader = thread::spawn(move || serve(&feed));
                let (mut batch, mut count, mut held) = (Batch::default(), 0, 0);
                while epoch.advance().unwrap() {
                    let (order, is_last) = (epoch.window().order().len(), epoch.is_last());
                    let limit = settings.window as usize / size + settings.batch + 2;
                    assert!(order <= held + limit, "{order} events of a part of a window");
                    held = if is_last { 0 } else { order % 10 };
                    if size > 1 {
                        epoch.hold_back(order - held);
                    }
                    let window = epoch.window();
                    window.gather(window.order(), &mut batch).unwrap();
                    all.extend(batch.features.chunks(2).map(|x| (x[0] as u32, x[1] as u32)));
                    count += 1;
                }
                windows.push(count);
                drop(epoch);
                reader.join().unwrap();
            }
            assert!(windows.iter().all(|&count| count == windows[0] && count > 3), "{windows:?}");
            all.sort_unstable();
            all.dedup(); // a smaller source comes again
            assert_eq!(
                all,
                sorted(batches(1, Part::Training, &Settings { mixing: Mixing::Proportional, ..settings }, 1))
            );
        }
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
        assert!(epoch.batch(&mut Batch::default()).unwrap_err().to_string().contains("file gone"));
        assert!(epoch.feed().want().is_none());
    }

    #[test]
    fn after_an_error_there_are_no_more_events() {
        let mut epoch = stream().epoch(1, Part::Training, &settings(), 1).unwrap();
        let feed = epoch.feed();
        let reader = thread::spawn(move || {
            for delivered in 0..4 {
                let block = feed.want().unwrap();
                if delivered == 3 {
                    return feed.fail("file gone");
                }
                let covered = block.first..block.first + block.entries;
                let entries: Vec<u64> = covered.clone().collect();
                let mut data = feed.dataset(entries.len()).unwrap();
                data.begin("s").unwrap();
                data.append(&vec![0.0; 2 * entries.len()], &vec![0.0; entries.len()], &vec![1.0; entries.len()])
                    .unwrap();
                data.commit().unwrap();
                feed.deliver(block, Arc::new(Events::new(covered, &entries, data).unwrap())).unwrap();
            }
        });
        let mut batch = Batch::default();
        let mut given = 0;
        while epoch.batch(&mut batch).is_ok() {
            given += batch.labels.len();
        }
        assert!(given > 0 && batch.labels.len() == 64);
        for _ in 0..3 {
            assert!(epoch.batch(&mut batch).unwrap_err().to_string().contains("file gone"));
        }
        reader.join().unwrap();
    }
}
