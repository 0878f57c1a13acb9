//! CladTorch's aims for a group, and whether a run reaches them.

use std::collections::BTreeSet;

use super::party::{BARE, OURS};
use super::qualities;
use super::record::{Record, fastest_peer};
use super::table::{Table, digits, seconds};

pub const LEGEND: &str = "What is wanted of CladTorch, and what this run shows. `MB/CPU-s`, `extra MB` and `first batch` \
are those of the table above; `x WHO`: its rate over that of the party; `x 1 thread`: the time on one thread over that on \
two; the others: medians of times on one thread. `codec alone`: the same figure of who does nothing but decompress, with \
CladTorch's libraries: no reader with them gets beyond it. `quality against WHO`: the difference over its standard error; \
`loaded, x fastest peer`: of the times without that before the libraries were loaded.";

/// A wanted figure, for the cases with these names.
pub struct Aim {
    pub cases: fn(&str) -> bool,
    pub wanted: Wanted,
}

pub enum Wanted {
    /// Raw megabytes per CPU-second on one thread, at least.
    Rate(f64),
    /// This many times the rate of this party, on one thread, at least.
    Against(&'static str, f64),
    /// This many times as fast on two threads as on one, at least.
    Threads(f64),
    /// Megabytes beyond the tensor, at most.
    Memory(f64),
    /// Seconds to the first batch, at most.
    FirstBatch(f64),
    /// This many times as fast as the fastest peer, on one thread, at least.
    Peers(f64),
    /// The same, for the times without the part before the libraries were loaded.
    PeersLoaded(f64),
    /// This many times as fast as this party, on one thread, at least.
    Faster(&'static str, f64),
    /// No worse in quality than this party by more than this many standard errors of the difference.
    Quality(&'static str, f64),
    /// This party, which is a part of CladTorch, takes this many times as long, on one thread, at most.
    Slower(&'static str, f64),
    /// The first party, which is a part of CladTorch, takes this many seconds more than the second, on one thread, at
    /// most.
    Above([&'static str; 2], f64),
    /// This multiple of the floor, on one thread, at most.
    Floor(f64),
    /// Seconds, on this many threads, at most.
    Seconds(usize, f64),
}

/// A row for each aim and case; `None` without aims.
pub fn table(aims: &[Aim], records: &[Record]) -> Option<Table> {
    // Only readers have such a bound.
    let bounded = records.iter().any(|record| record.who == BARE);
    let heads: &[&str] = match bounded {
        true => &["case", "figure", "wanted", "measured", "codec alone", ""],
        false => &["case", "figure", "wanted", "measured", ""],
    };
    let mut table = Table::new(heads, 2);
    let lines = lines(aims, records);
    let empty = lines.is_empty();
    for mut cells in lines {
        if !bounded {
            cells.remove(BOUND);
        }
        table.push(cells);
    }
    (!empty).then_some(table)
}

/// Number of aims reached, and number measured.
pub fn reached(aims: &[Aim], records: &[Record]) -> (usize, usize) {
    let lines = lines(aims, records);
    let verdicts = |wanted: &str| lines.iter().filter(|cells| cells.last().is_some_and(|last| last == wanted)).count();
    (verdicts(REACHED), verdicts(REACHED) + verdicts(MISSED))
}

const REACHED: &str = "reached";
const MISSED: &str = "MISSED";

/// The cells of each aim and case, with the bound.
fn lines(aims: &[Aim], records: &[Record]) -> Vec<Vec<String>> {
    let names: BTreeSet<&str> = records.iter().map(|record| record.case.as_str()).collect();
    let of = |case: &'_ str| {
        let aims = aims.iter().filter(|aim| (aim.cases)(case));
        aims.map(|aim| line(case, &aim.wanted, records)).collect::<Vec<_>>()
    };
    names.into_iter().flat_map(of).collect()
}

/// A figure: its name, the wanted and the measured value, and how to write it.
struct Figure {
    name: String,
    wanted: f64,
    measured: Option<f64>,
    /// The value if nothing but decompression took time.
    bound: Option<f64>,
    /// Whether less is better.
    at_most: bool,
    show: fn(f64) -> String,
}

impl Wanted {
    fn figure(&self, case: &str, records: &[Record]) -> Figure {
        let same = |record: &&Record, who: &str, threads| {
            record.case == case && record.who == who && record.threads == threads
        };
        let find = |who: &str, threads| records.iter().find(|record| same(record, who, threads));
        let ours = find(OURS, 1);
        let rate = |who: &str| find(who, 1).and_then(Record::cpu_rate);
        let (name, wanted, measured, bound) = match *self {
            Wanted::Rate(least) => {
                let megabytes = |who: &str| rate(who).map(|rate| rate / 1e6);
                ("MB/CPU-s".to_owned(), least, megabytes(OURS), megabytes(BARE))
            }
            Wanted::Against(who, least) => {
                let ratio = |ours: &str| rate(ours).zip(rate(who)).map(|(ours, theirs)| ours / theirs);
                (format!("x {who}"), least, ratio(OURS), ratio(BARE))
            }
            Wanted::Threads(least) => {
                let both = ours.zip(find(OURS, 2)).map(|(one, two)| one.median_s / two.median_s);
                ("x 1 thread".to_owned(), least, both, None)
            }
            Wanted::Memory(most) => {
                ("extra MB".to_owned(), most, ours.and_then(|ours| ours.extra_bytes).map(|bytes| bytes / 1e6), None)
            }
            Wanted::FirstBatch(most) => {
                ("first batch".to_owned(), most, ours.and_then(|ours| ours.first_batch_s), None)
            }
            Wanted::Peers(least) => {
                let peer = ours.and_then(|ours| fastest_peer(records, ours));
                ("x fastest peer".to_owned(), least, peer.map(|peer| peer.median_s / median(ours)), None)
            }
            Wanted::PeersLoaded(least) => {
                let loaded: Vec<_> = records
                    .iter()
                    .filter_map(|record| Some(Record { median_s: record.loaded_s?, ..record.clone() }))
                    .collect();
                let ours = loaded.iter().find(|record| same(record, OURS, 1));
                let peer = ours.and_then(|ours| fastest_peer(&loaded, ours));
                ("loaded, x fastest peer".to_owned(), least, peer.map(|peer| peer.median_s / median(ours)), None)
            }
            Wanted::Faster(who, least) => {
                (format!("faster than {who}"), least, find(who, 1).map(|peer| peer.median_s / median(ours)), None)
            }
            Wanted::Quality(who, errors) => {
                let both = ours.zip(find(who, 1)).and_then(|(ours, theirs)| qualities::significance(ours, theirs));
                (format!("quality against {who}"), -errors, both, None)
            }
            Wanted::Slower(who, most) => {
                (format!("{who} over ours"), most, find(who, 1).map(|part| part.median_s / median(ours)), None)
            }
            Wanted::Above([part, other], most) => {
                let more = find(part, 1).zip(find(other, 1)).map(|(part, other)| part.median_s - other.median_s);
                (format!("{part} above {other}"), most, more, None)
            }
            Wanted::Floor(most) => {
                let floor = ours.and_then(|ours| Some(ours.median_s / ours.floor_s?));
                ("of the floor".to_owned(), most, floor, None)
            }
            Wanted::Seconds(threads, most) => {
                let ours = find(OURS, threads);
                (format!("time, {threads} thread(s)"), most, ours.map(|ours| ours.median_s), None)
            }
        };
        let is_time = matches!(self, Wanted::FirstBatch(_) | Wanted::Seconds(..) | Wanted::Above(..));
        let at_most = is_time || matches!(self, Wanted::Memory(_) | Wanted::Slower(..) | Wanted::Floor(_));
        Figure { name, wanted, measured, bound, at_most, show: if is_time { seconds } else { digits } }
    }
}

fn median(record: Option<&Record>) -> f64 {
    record.map_or(f64::NAN, |record| record.median_s)
}

/// Place of the bound in the result of [`line`].
const BOUND: usize = 4;

fn line(case: &str, wanted: &Wanted, records: &[Record]) -> Vec<String> {
    let Figure { name, wanted, measured, bound, at_most, show } = wanted.figure(case, records);
    let verdict = match measured {
        None => "not measured",
        Some(measured) if measured.is_nan() => "not measured",
        Some(measured) if if at_most { measured <= wanted } else { measured >= wanted } => REACHED,
        Some(_) => MISSED,
    };
    let shown = |figure: Option<f64>| figure.map_or("-".to_owned(), show);
    vec![case.to_owned(), name, show(wanted), shown(measured), shown(bound), verdict.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::record;

    #[test]
    fn what_is_missed_is_named() {
        let ours =
            Record { bytes: Some(4_000_000), cpu_s: Some(0.002), extra_bytes: Some(50e6), ..record("none/a", OURS) };
        let bulk = Record { cpu_s: Some(0.003), ..Record { who: "root-bulk".to_owned(), ..ours.clone() } };
        let bare = Record { cpu_s: Some(0.001), ..Record { who: BARE.to_owned(), ..ours.clone() } };
        let records = [ours, bulk, bare];
        let verdict = |wanted: Wanted| line("none/a", &wanted, &records)[2..].join(" ");
        assert_eq!(verdict(Wanted::Rate(2000.0)), "2000 2000 4000 reached");
        assert_eq!(verdict(Wanted::Rate(2001.0)), "2001 2000 4000 MISSED");
        assert_eq!(verdict(Wanted::Against("root-bulk", 1.8)), "1.80 1.50 3.00 MISSED");
        assert_eq!(verdict(Wanted::Against("uproot", 1.8)), "1.80 - - not measured");
        assert_eq!(verdict(Wanted::Memory(64.0)), "64.0 50.0 - reached");
        assert_eq!(verdict(Wanted::Memory(49.0)), "49.0 50.0 - MISSED");
        assert_eq!(verdict(Wanted::FirstBatch(0.2)), "200 ms - - not measured");
        assert_eq!(verdict(Wanted::Threads(1.9)), "1.90 - - not measured");
    }

    #[test]
    fn times_are_held_against_peers_parts_and_the_floor() {
        let timed = |who: &str, median_s| Record { median_s, ..record("a", who) };
        let ours = Record { floor_s: Some(0.4), ..timed(OURS, 1.0) };
        let records = [ours, timed("libtorch", 3.0), timed("pytorch-eager", 4.0), timed("cladtorch-double", 2.0)];
        let unbounded = |mut cells: Vec<String>| {
            cells.remove(BOUND);
            cells[2..].join(" ")
        };
        let verdict = |wanted: Wanted| unbounded(line("a", &wanted, &records));
        assert_eq!(verdict(Wanted::Peers(3.0)), "3.00 3.00 reached");
        assert_eq!(verdict(Wanted::Peers(3.1)), "3.10 3.00 MISSED");
        assert_eq!(verdict(Wanted::Faster("pytorch-eager", 4.5)), "4.50 4.00 MISSED");
        assert_eq!(verdict(Wanted::Slower("cladtorch-double", 2.2)), "2.20 2.00 reached");
        assert_eq!(verdict(Wanted::Slower("cladtorch-double", 1.9)), "1.90 2.00 MISSED");
        assert_eq!(verdict(Wanted::Above(["cladtorch-double", OURS], 0.5)), "500 ms 1.00 s MISSED");
        assert_eq!(verdict(Wanted::Above(["cladtorch-double", "uproot"], 0.5)), "500 ms - not measured");
        assert_eq!(verdict(Wanted::Floor(2.5)), "2.50 2.50 reached");
        assert_eq!(verdict(Wanted::Seconds(1, 0.5)), "500 ms 1.00 s MISSED");
        assert_eq!(verdict(Wanted::Seconds(2, 0.5)), "500 ms - not measured");
        let graded =
            |who: &str, quality| Record { quality: Some(quality), quality_error: Some(0.03), ..timed(who, 1.0) };
        let records = [graded(OURS, 0.80), graded("pytorch", 0.86)];
        let against = |errors| unbounded(line("a", &Wanted::Quality("pytorch", errors), &records));
        assert_eq!(against(1.0), "-1.00 -1.41 MISSED");
        assert_eq!(against(2.0), "-2.00 -1.41 reached");
        let started = |who: &str, loaded| Record { loaded_s: Some(loaded), ..timed(who, 9.0) };
        let records = [started(OURS, 0.5), started("uproot", 2.5), started("libtorch", 2.0)];
        assert_eq!(unbounded(line("a", &Wanted::PeersLoaded(5.0), &records)), "5.00 4.00 MISSED");
        assert_eq!(unbounded(line("b", &Wanted::Peers(3.0), &records)), "3.00 - not measured");
    }
}
