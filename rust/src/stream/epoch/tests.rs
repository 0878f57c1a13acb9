//! Epochs of a stream whose feed a thread serves.

use std::thread;

use super::*;
use crate::columns::Column;
use crate::dataset::Targets;
use crate::stream::feed::Events;
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
fn batches(number: u64, part: Split, settings: &Settings, buffer: u64) -> Vec<Vec<(u32, u32)>> {
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
    let reference = batches(1, Split::Training, &settings(), 1);
    assert!(reference.iter().rev().skip(1).all(|batch| batch.len() == 64));
    for (buffer, block, kept) in [(2, 8192, 0), (8192, 8192, 5000), (20_000, 17, 100_000), (u64::MAX, 50_000, 0)] {
        assert_eq!(batches(1, Split::Training, &Settings { block, kept, ..settings() }, buffer), reference);
    }
    assert_ne!(batches(2, Split::Training, &settings(), 1), reference);
}

#[test]
fn processes_read_all_events_between_them_in_as_many_windows() {
    for (size, mixing) in [(1, Mixing::Proportional), (3, Mixing::Proportional), (7, Mixing::Balanced)] {
        let settings = Settings { mixing, ..settings() };
        let (mut all, mut windows) = (Vec::new(), Vec::new());
        for rank in 0..size {
            let mut epoch = stream().epoch_of([rank, size], 1, Split::Training, &settings, 5000).unwrap();
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
        assert_eq!(all, sorted(batches(1, Split::Training, &Settings { mixing: Mixing::Proportional, ..settings }, 1)));
    }
}

#[test]
fn the_parts_share_no_event_and_stay_the_same_in_every_order() {
    let training = sorted(batches(1, Split::Training, &settings(), 1));
    let validation = sorted(batches(1, Split::Validation, &settings(), 1));
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
    assert_eq!(sorted(batches(5, Split::Validation, &other, 9000)), validation);
}

#[test]
fn sources_are_mixed_in_every_batch_where_balanced() {
    let balanced = Settings { mixing: Mixing::Balanced, validation: 0.0, ..settings() };
    let all = batches(1, Split::Training, &balanced, 1);
    let second = all.concat().iter().filter(|event| event.0 == 1).count() as f64 / all.concat().len() as f64;
    assert!((second - 0.5).abs() < 0.01, "{second}");
    let extreme =
        all.iter().filter(|batch| batch.len() == 64).map(|batch| batch.iter().filter(|event| event.0 == 1).count());
    assert!(extreme.clone().min() > Some(8) && extreme.max() < Some(56));
}

#[test]
fn without_shuffling_the_entries_come_in_order() {
    let straight = Settings { shuffle: false, validation: 0.0, ..settings() };
    let events = batches(1, Split::Training, &straight, 1).concat();
    let first: Vec<_> = events.iter().filter(|event| event.0 == 0).collect();
    assert!(first.is_sorted());
}

#[test]
fn the_end_of_reading_reaches_the_reader_and_an_error_the_epoch() {
    let epoch = stream().epoch(1, Split::Training, &settings(), 1).unwrap();
    let feed = epoch.feed();
    let reader = thread::spawn(move || serve(&feed));
    drop(epoch);
    reader.join().unwrap(); // or the test hangs
    let mut epoch = stream().epoch(1, Split::Training, &settings(), 1).unwrap();
    epoch.feed().fail("file gone");
    assert!(epoch.batch(&mut Batch::default()).unwrap_err().to_string().contains("file gone"));
    assert!(epoch.feed().want().is_none());
}

#[test]
fn after_an_error_there_are_no_more_events() {
    let mut epoch = stream().epoch(1, Split::Training, &settings(), 1).unwrap();
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
            data.append(&vec![0.0; 2 * entries.len()], &vec![0.0; entries.len()], &vec![1.0; entries.len()]).unwrap();
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
