//! The processes that train one model together, and which events each of them holds.
//!
//! A dataset is replicated, so that every process has all events, or sharded, so that each has some. The events of a
//! sharded dataset are numbered as in a single process: source by source, and within a source rank by rank. Splits and
//! orders use those numbers, the same on all processes, so that a fit does the same for any number of processes.

use std::borrow::Cow;
use std::sync::Arc;

use rayon::prelude::*;

use crate::dataset::Dataset;
use crate::device;
use crate::error::{Error, Result};
use crate::gradient::{Spread, batches};
use crate::options::{Options, Parallel};
use crate::ranks::{self, Ranks};
use crate::text;

/// The processes of a fit, and what this one holds of a dataset.
#[derive(Clone)]
pub(super) struct Job {
    /// The ranks, if there are other processes.
    pub ranks: Option<Arc<Ranks>>,
    shards: Option<Arc<Shards>>,
    /// Of this process.
    threads: usize,
}

/// Where the rows that this process holds stand among all.
struct Shards {
    rank: usize,
    pieces: Vec<Piece>,
    /// Rows of all processes.
    total: usize,
}

/// Rows of one source.
struct Piece {
    /// Number of the first among all rows.
    first: usize,
    /// Number of the first among the rows of this process.
    own: usize,
    rows: usize,
}

impl Job {
    /// Opens a fit with `options` to `data`, on which all processes agree.
    pub fn open(options: &Options, data: &Dataset) -> Result<Self> {
        let ranks = match options.parallel {
            Parallel::OneProcess => None,
            Parallel::Mpi => ranks::open()?.map(Arc::new),
        };
        Job { ranks, shards: None, threads: options.threads }.with(data)
    }

    /// The same processes, of other events.
    pub fn with(&self, data: &Dataset) -> Result<Self> {
        let whole = Job { shards: None, ..self.clone() };
        let Some(ranks) = &self.ranks else {
            return match data.is_sharded() {
                false => Ok(whole),
                true => Err(Error::invalid(
                    "a fit without fParallel = kMpi to events of which each process holds a part",
                    "set fParallel = kMpi for one fit, or leave out Dataset::SetSharding: several fits at once need all events",
                )),
            };
        };
        ranks.check_same("the shardings of the events", u64::from(data.is_sharded()))?;
        if !data.is_sharded() {
            return Ok(whole);
        }
        let rows: Vec<usize> = data.source_rows().collect();
        ranks.check_same("the numbers of sources", rows.len() as u64)?;
        let shape = format!("{:?} {:?}", data.columns(), data.targets());
        ranks.check_same("the columns or targets", text::checksum(&shape))?;
        for (index, (name, key)) in data.source_keys().enumerate() {
            let what = format!(
                "the entries, clusters, cuts, labels, weights or kinds of sharding of source {} ({})",
                index + 1,
                text::name(name)
            );
            ranks.check_same(&what, key)?;
        }
        // [sources, ranks]
        let mut counts = vec![0.0; rows.len() * ranks.size()];
        for (source, &rows) in rows.iter().enumerate() {
            counts[source * ranks.size() + ranks.rank()] = rows as f64;
        }
        let mut scratch = vec![0.0; counts.len()];
        ranks.sum(&mut counts, &mut scratch);
        let counts: Vec<usize> = counts.into_iter().map(|count| count as usize).collect();
        let is_empty = |counts: &[usize]| counts.iter().all(|&count| count == 0);
        if let Some(index) = counts.chunks(ranks.size()).position(is_empty) {
            let name = data.source_keys().nth(index).map_or_else(String::new, |(name, _)| text::name(name));
            return Err(Error::invalid(
                format!("source {} ({name}) has no events on any rank", index + 1),
                "check its cut, or leave the source out",
            ));
        }
        Ok(Job { shards: Some(Arc::new(Shards::new(ranks.rank(), ranks.size(), &counts))), ..whole })
    }

    /// Whether each process has some of the events.
    pub fn is_sharded(&self) -> bool {
        self.shards.is_some()
    }

    /// Rows of `data` on all processes; `what` names them in the error if there are none.
    pub fn rows(&self, data: &Dataset, what: &str) -> Result<usize> {
        match self.shards.as_ref().map_or(data.rows(), |shards| shards.total) {
            0 => Err(Error::invalid(format!("the {what} has no events"), "add a source with Dataset::Add")),
            count => Ok(count),
        }
    }

    /// Those of `rows`, numbered among all, that this process has, by its own numbers.
    pub fn own<'a>(&self, rows: &'a [u32]) -> Cow<'a, [u32]> {
        match &self.shards {
            None => Cow::Borrowed(rows),
            Some(shards) => rows.iter().filter_map(|&row| shards.own(row)).collect(),
        }
    }

    /// The batches of `rows`, numbered among all, where each process has some of them: the rows of this one.
    pub fn batches(&self, rows: &[u32], size: usize, takes_one: bool) -> Option<(Vec<u32>, Spread)> {
        let shards = self.shards.as_ref()?;
        let (mut own, mut ends, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        for batch in batches::batches(rows, size, takes_one) {
            own.extend(batch.iter().filter_map(|&row| shards.own(row)));
            ends.push(own.len());
            counts.push(batch.len());
        }
        Some((own, Spread::of_batches(shards.rank, ends, counts)))
    }

    /// Adds the `numbers` of the processes, if each has computed them from its own events.
    pub fn total(&self, numbers: &mut [f64]) {
        if let Some(ranks) = self.ranks.as_ref().filter(|_| self.is_sharded()) {
            ranks.sum(numbers, &mut vec![0.0; numbers.len()]);
        }
    }

    /// The same of one.
    pub fn total_of(&self, mut number: f64) -> f64 {
        self.total(std::slice::from_mut(&mut number));
        number
    }

    /// A number that differs for other events, or another order of them; `count` of them are for training. It is the
    /// same for any number of processes.
    pub fn fingerprint(&self, data: &Dataset, count: usize) -> Result<u64> {
        let (width, labels, weights) = (data.label_width(), data.labels()?, data.weights()?);
        let of_row = |row: usize| {
            let number = self.shards.as_ref().map_or(row, |shards| shards.number(row));
            let features = &data.features()[row * data.width()..][..data.width()];
            let values = features.iter().chain(&labels[row * width..][..width]).chain([&weights[row]]);
            scattered(values.fold(number as u64, |hash, value| mixed(hash, value.to_bits().into())))
        };
        let sum = || (0..data.rows()).into_par_iter().map(of_row).reduce(|| 0, u64::wrapping_add);
        let own = device::thread_pool(self.threads)?.install(sum);
        let all = match self.ranks.as_ref().filter(|_| self.is_sharded()) {
            None => own,
            Some(ranks) => {
                // Halves of it are numbers that float64 has.
                let [high, low] = [own >> 32, own & 0xffff_ffff].map(|half| ranks.all(half as f64));
                let of_rank = |(high, low): (f64, f64)| (high as u64) << 32 | low as u64;
                high.into_iter().zip(low).map(of_rank).fold(0, u64::wrapping_add)
            }
        };
        Ok(mixed(all, count as u64))
    }
}

fn mixed(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95)
}

/// Every bit of it depends on every bit of `hash`, so that sums tell sets of them apart.
fn scattered(hash: u64) -> u64 {
    mixed(hash ^ (hash >> 32), hash >> 29)
}

impl Shards {
    /// For sources with this many rows on each process, [sources, ranks].
    fn new(rank: usize, size: usize, counts: &[usize]) -> Self {
        let (mut pieces, mut total, mut own) = (Vec::new(), 0, 0);
        for counts in counts.chunks(size) {
            pieces.push(Piece { first: total + counts[..rank].iter().sum::<usize>(), own, rows: counts[rank] });
            total += counts.iter().sum::<usize>();
            own += counts[rank];
        }
        Shards { rank, pieces, total }
    }

    /// This process's number of the row that has `number` among all, if it has that row.
    fn own(&self, number: u32) -> Option<u32> {
        let number = number as usize;
        let piece = &self.pieces[self.pieces.partition_point(|piece| piece.first <= number).checked_sub(1)?];
        let at = number - piece.first;
        (at < piece.rows).then(|| (piece.own + at) as u32)
    }

    /// The number among all of this process's row `own`.
    fn number(&self, own: usize) -> usize {
        let piece = &self.pieces[self.pieces.partition_point(|piece| piece.own <= own) - 1];
        // Of pieces that begin at the same row all but the last are empty.
        piece.first + own - piece.own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shards of the processes; each holds `rows[rank][source]` rows of a source.
    fn shards(rows: &[Vec<usize>]) -> Vec<Shards> {
        let counts: Vec<usize> =
            (0..rows[0].len()).flat_map(|source| rows.iter().map(move |of_rank| of_rank[source])).collect();
        (0..rows.len()).map(|rank| Shards::new(rank, rows.len(), &counts)).collect()
    }

    #[test]
    fn every_row_is_held_once_and_knows_its_number() {
        let cases: [&[Vec<usize>]; 4] = [
            &[vec![5], vec![3], vec![0]],
            &[vec![2, 0, 4], vec![0, 0, 1], vec![3, 7, 0]],
            &[vec![0, 0], vec![0, 9]],
            &[vec![1, 1, 1]],
        ];
        for rows in cases {
            let all = shards(rows);
            let total: usize = rows.iter().flatten().sum();
            let mut before = 0;
            for source in 0..rows[0].len() {
                for (rank, rows) in rows.iter().enumerate() {
                    let own: usize = rows[..source].iter().sum();
                    for row in 0..rows[source] {
                        for (other, shards) in all.iter().enumerate() {
                            let expected = (other == rank).then_some((own + row) as u32);
                            assert_eq!(shards.own(before as u32), expected, "row {before} on {other}");
                        }
                        assert_eq!(all[rank].number(own + row), before);
                        before += 1;
                    }
                }
            }
            assert!(all.iter().all(|shards| shards.total == total && shards.own(total as u32).is_none()));
        }
    }
}
