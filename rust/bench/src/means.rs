//! How much longer the others take than CladTorch, over all kinds of cases of one size.

use std::collections::BTreeMap;

use super::case::Group;
use super::party::OURS;
use super::record::Record;
use super::table::{Table, digits};

/// The party that no back end may fall behind.
const EAGER: &str = "libtorch";

pub const LEGEND: &str = "Geometric mean, over the cases of a size, of each party's median over CladTorch's, with the \
least and the greatest ratio; `all` is over all sizes. Above 1 CladTorch is faster.";

/// A line for each size, number of threads and party; nothing for groups whose cases are not `kind/size`.
pub fn table(group: &Group, records: &[Record]) -> Option<Table> {
    let ratios = ratios(records);
    if !group.means || ratios.is_empty() {
        return None;
    }
    let mut table = Table::new(&["size", "thr", "who", "cases", "mean ratio", "least", "greatest"], 3);
    for ((size, threads, who), ratios) in ratios {
        let (least, greatest) = ratios.iter().fold((f64::INFINITY, 0.0f64), |(l, g), &r| (l.min(r), g.max(r)));
        table.push(vec![
            if size == u64::MAX { "all".to_owned() } else { size.to_string() },
            threads.to_string(),
            who.to_owned(),
            ratios.len().to_string(),
            digits(geometric_mean(&ratios)),
            digits(least),
            digits(greatest),
        ]);
    }
    Some(table)
}

/// Parties below this share of the speed of LibTorch's eager mode are named.
const TOLERATED: f64 = 0.95;

/// The cases in which a back end of CladTorch is slower than LibTorch's eager mode.
pub fn misses(group: &Group, records: &[Record]) -> Vec<String> {
    let line = |record: &Record| {
        let eager =
            |other: &&Record| other.who == EAGER && other.case == record.case && other.threads == record.threads;
        let ratio = records.iter().find(eager)?.median_s / record.median_s;
        let Record { case, who, threads, .. } = record;
        (ratio < TOLERATED)
            .then(|| format!("slower than {EAGER}: {who} in {case}, {threads} thread(s): {}", digits(ratio)))
    };
    let own = records.iter().filter(|record| group.means && record.who.starts_with(OURS));
    own.filter_map(line).collect()
}

type Ratios<'a> = BTreeMap<(u64, usize, &'a str), Vec<f64>>;

/// The ratios of every party by size (the largest number stands for all), threads and name.
fn ratios(records: &[Record]) -> Ratios<'_> {
    let mut ratios = Ratios::new();
    for record in records.iter().filter(|record| record.who != OURS) {
        let same = |other: &&Record| other.who == OURS && other.case == record.case && other.threads == record.threads;
        let ratio = records.iter().find(same).map(|ours| record.median_s / ours.median_s);
        if let (Some(ratio), Some(size)) = (ratio.filter(|ratio| ratio.is_finite()), size(&record.case)) {
            for size in [size, u64::MAX] {
                let key = (size, record.threads, record.who.as_str());
                ratios.entry(key).or_default().push(ratio);
            }
        }
    }
    ratios
}

/// The size in the name `kind/size` of a case.
pub fn size(case: &str) -> Option<u64> {
    case.rsplit_once('/')?.1.parse().ok()
}

pub fn geometric_mean(numbers: &[f64]) -> f64 {
    (numbers.iter().map(|number| number.ln()).sum::<f64>() / numbers.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_ratios_is_geometric() {
        assert!((geometric_mean(&[2.0, 8.0]) - 4.0).abs() < 1e-12);
    }
}
