//! Memory of a growing dataset, and of a model while it is loaded: in a process of its own, whose peak can be read.

use std::fs::{self, File};
use std::io::Write;
use std::sync::Mutex;

use cladtorch::columns::Column;
use cladtorch::dataset::Dataset;
use cladtorch::graph::{Activation, Init};
use cladtorch::model::Model;
use support::say::say;

const WIDTH: usize = 16;
const ROWS: usize = 1_500_000;
/// Rows appended at a time.
const BLOCK: usize = 1000;
const MEGABYTE: usize = 1 << 20;

/// A line of the system's figures for this process's memory, in bytes.
fn memory(key: &str) -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}

/// The rows of a source, from `first` to `first + ROWS`.
fn add(data: &mut Dataset, name: &str, first: usize) {
    data.begin(name).unwrap();
    data.reserve(ROWS).unwrap();
    for block in (first..first + ROWS).step_by(BLOCK) {
        let features: Vec<f32> = (block..block + BLOCK).flat_map(|row| [row as f32; WIDTH]).collect();
        data.append(&features, &[1.0; BLOCK], &[0.5; BLOCK]).unwrap();
    }
    data.commit().unwrap();
}

/// One at a time.
static PEAK: Mutex<()> = Mutex::new(());

/// Bytes that `body` takes beyond the present memory, at its peak.
fn peak<T>(body: impl FnOnce() -> T) -> (usize, T) {
    let before = memory("VmRSS:");
    fs::write("/proc/self/clear_refs", "5").unwrap(); // restarts the peak
    let result = body();
    (memory("VmHWM:").saturating_sub(before), result)
}

#[test]
fn a_model_is_loaded_in_the_memory_of_its_weights_and_a_refused_one_in_none() {
    let _alone = PEAK.lock();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    // The last has a layer whose packed parameters are many times as large as its weights.
    for sizes in [vec![2, 3, 1], vec![1000, 4700, 4000, 1], vec![5_500_000, 4]] {
        Model::new(&sizes, Activation::ReLU, Init::Kaiming, 1).unwrap().save(&path).unwrap();
        let (taken, model) = peak(|| Model::load(&path, None).unwrap());
        let weights = size_of_val(model.parameters());
        say(&format!("{sizes:?}: {} MB at the peak for {} MB of weights", taken / MEGABYTE, weights / MEGABYTE));
        assert!(taken < 2 * weights + 8 * MEGABYTE);
    }
    // As above, except for its checksum; then holes of 3 GB after other beginnings.
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, &bytes).unwrap();
    let (header, length) = (bytes[..1024].to_vec(), bytes.len() as u64);
    let refused = |what: &str| {
        let (taken, loaded) = peak(|| Model::load(&path, None).map(|_| ()));
        let error = loaded.unwrap_err().to_string();
        say(&format!("{what}: {} kB at the peak: {error}", taken >> 10));
        assert!(taken < 32 * MEGABYTE && error.contains("damaged"), "{what}: {taken} bytes, {error}");
    };
    refused("another last byte");
    let hole = |start: &[u8], size: u64| {
        let mut file = File::create(&path).unwrap();
        file.write_all(start).unwrap();
        file.set_len(size).unwrap();
    };
    hole(&header, length);
    refused("a hole for weights");
    for (what, start) in
        [("a hole", &[][..]), ("a model's beginning", &header), ("a long header", &[0, 0, 0, 0x80, 0, 0, 0, 0])]
    {
        hole(start, 3 << 30);
        refused(what);
    }
}

#[test]
fn a_second_source_needs_no_second_copy_of_the_first() {
    let _alone = PEAK.lock();
    let mut data = Dataset::new(&[Column::new("x", WIDTH)]).unwrap();
    add(&mut Dataset::new(data.columns()).unwrap(), "what the process needs once", 0);
    let (taken, ()) =
        peak(|| [("first", 0), ("second", ROWS)].into_iter().for_each(|(name, row)| add(&mut data, name, row)));
    let tables = 2 * ROWS * (WIDTH + 2) * size_of::<f32>();
    say(&format!("peak memory {} MB for tables of {} MB", taken / MEGABYTE, tables / MEGABYTE));
    assert!(taken < tables + 64 * MEGABYTE);
    let rows = data.features().chunks(WIDTH).enumerate();
    assert!(rows.clone().count() == 2 * ROWS && rows.into_iter().all(|(row, x)| x == [row as f32; WIDTH]));
}
