//! What a dataset takes while it grows: a process of its own, whose peak can be asked for.

#[path = "common/say.rs"]
mod say;

use std::fs;

use cladtorch::bridge::ColumnSpec;
use cladtorch::dataset::Dataset;
use say::say;

const WIDTH: usize = 16;
const ROWS: usize = 1_500_000;
/// Rows appended at a time.
const BLOCK: usize = 1000;
const MEGABYTE: usize = 1 << 20;

/// A line of what the system says of this process's memory, in bytes.
fn memory(key: &str) -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}

/// The rows of a source, which go from `first` to `first + ROWS`.
fn add(data: &mut Dataset, name: &str, first: usize) {
    data.begin(name).unwrap();
    data.reserve(ROWS).unwrap();
    for block in (first..first + ROWS).step_by(BLOCK) {
        let features: Vec<f32> = (block..block + BLOCK).flat_map(|row| [row as f32; WIDTH]).collect();
        data.append(&features, &[1.0; BLOCK], &[0.5; BLOCK]).unwrap();
    }
    data.commit().unwrap();
}

#[test]
fn a_second_source_needs_no_second_copy_of_the_first() {
    let mut data = Dataset::new(&[ColumnSpec::new("x", WIDTH)]).unwrap();
    add(&mut Dataset::new(data.columns()).unwrap(), "what the process needs once", 0);
    let before = memory("VmRSS:");
    fs::write("/proc/self/clear_refs", "5").unwrap(); // the peak starts anew
    add(&mut data, "first", 0);
    add(&mut data, "second", ROWS);
    let tables = 2 * ROWS * (WIDTH + 2) * size_of::<f32>();
    let taken = memory("VmHWM:") - before;
    say(&format!("peak memory {} MB for tables of {} MB", taken / MEGABYTE, tables / MEGABYTE));
    assert!(taken < tables + 64 * MEGABYTE);
    let rows = data.features().chunks(WIDTH).enumerate();
    assert!(rows.clone().count() == 2 * ROWS && rows.into_iter().all(|(row, x)| x == [row as f32; WIDTH]));
}
