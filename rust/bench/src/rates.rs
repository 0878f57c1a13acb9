//! The speed of readers in raw data per CPU-second, and its cost in memory.

use super::party::OURS;
use super::record::Record;
use super::table::{Table, digits, seconds};

/// The meaning of the columns of [`table`].
pub const LEGEND: &str = "`MB/CPU-s`: raw (uncompressed) megabytes of the columns over the CPU time of all threads; \
`cladtorch x`: how many times that rate is CladTorch's on one thread. `MB/s`: the same over the wall clock. `extra MB`: \
peak memory beyond the tensor. `first batch`: from the start of the reading to the first batch.";

/// A line for each record of a reader; `None` if there is none.
pub fn table(records: &[Record]) -> Option<Table> {
    let heading = ["case", "thr", "who", "MB/CPU-s", "cladtorch x", "MB/s", "extra MB", "first batch"];
    let mut table = Table::new(&heading, 3);
    let readers: Vec<_> = records.iter().filter_map(|record| Some((record, record.cpu_rate()?))).collect();
    for &(record, rate) in &readers {
        let same = |other: &Record| other.case == record.case && other.threads == 1 && other.who == OURS;
        let ours = readers.iter().find(|(other, _)| same(other));
        table.push(vec![
            record.case.clone(),
            record.threads.to_string(),
            record.who.clone(),
            digits(rate / 1e6),
            ours.map_or("-".to_owned(), |(_, ours)| digits(ours / rate)),
            record.bytes.map_or("-".to_owned(), |bytes| digits(bytes as f64 / record.median_s / 1e6)),
            record.extra_bytes.map_or("-".to_owned(), |extra| digits(extra / 1e6)),
            record.first_batch_s.map_or("-".to_owned(), seconds),
        ]);
    }
    (!readers.is_empty()).then_some(table)
}
