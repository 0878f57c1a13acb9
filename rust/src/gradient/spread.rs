//! Batches whose events are spread over several processes, each of which holds some of every batch.

use std::ops::Range;

/// How the events that the processes hold become batches. All processes have the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// This process.
    rank: usize,
    /// The event of this process behind each batch.
    ends: Vec<usize>,
    /// Events of each batch, of all processes together.
    rows: Vec<usize>,
}

impl Spread {
    /// For `counts[rank]` events of each process, in batches of about `batch`: each process spreads its events evenly over them.
    /// Those that fill no batch are left, but for the last of an epoch.
    pub fn new(rank: usize, counts: &[usize], batch: usize, is_last: bool) -> Self {
        let all: usize = counts.iter().sum();
        let steps = if is_last { all.div_ceil(batch) } else { all / batch };
        let wanted = if is_last { all } else { steps * batch };
        // Exactly as many as are wanted, and of no process more than it has.
        let mut before = 0;
        let used: Vec<usize> = counts
            .iter()
            .map(|count| {
                let first = part(wanted, before, all);
                before += count;
                part(wanted, before, all) - first
            })
            .collect();
        let rows = (0..steps).map(|step| used.iter().map(|&used| share(used, step, steps).len()).sum()).collect();
        let ends = (0..steps).map(|step| share(used[rank], step, steps).end).collect();
        Spread { rank, ends, rows }
    }

    /// For batches of `rows` events; `ends` are the events of this process up to the end of each.
    pub fn of_batches(rank: usize, ends: Vec<usize>, rows: Vec<usize>) -> Self {
        Spread { rank, ends, rows }
    }

    /// Number of batches.
    pub fn steps(&self) -> usize {
        self.rows.len()
    }

    /// Events of this process that are used, from the first one on.
    pub fn used(&self) -> usize {
        self.ends.last().copied().unwrap_or_default()
    }

    /// Events of all processes that are used.
    pub fn total(&self) -> usize {
        self.rows.iter().sum()
    }

    /// Which of this process's events are in batch `step`.
    pub fn part(&self, step: usize) -> Range<usize> {
        step.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[step]
    }

    /// Events of batch `step`, of all processes together.
    pub fn rows(&self, step: usize) -> usize {
        self.rows[step]
    }

    /// This process.
    pub fn rank(&self) -> usize {
        self.rank
    }
}

fn share(count: usize, step: usize, steps: usize) -> Range<usize> {
    part(count, step, steps)..part(count, step + 1, steps)
}

/// `whole` times `part` / `total`.
fn part(whole: usize, part: usize, total: usize) -> usize {
    (whole as u128 * part as u128 / total.max(1) as u128) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_have_their_size_and_every_event_is_in_one() {
        let cases: [&[usize]; 6] =
            [&[1000, 1000, 1000], &[5, 900, 0], &[0, 0, 700], &[1, 1, 1], &[0, 0, 0], &[333, 1, 64, 4000, 12]];
        for (counts, batch, is_last) in cases.iter().flat_map(|c| [(c, 64, false), (c, 64, true), (c, 7, false)]) {
            let all: usize = counts.iter().sum();
            let of = |rank| Spread::new(rank, counts, batch, is_last);
            let (first, size) = (of(0), counts.len());
            assert_eq!(first.steps(), if is_last { all.div_ceil(batch) } else { all / batch }, "{counts:?}");
            assert_eq!(first.total(), if is_last { all } else { all / batch * batch });
            for (rank, &count) in counts.iter().enumerate() {
                let own = of(rank);
                assert!(own.used() <= count, "{counts:?}: {own:?}");
                let parts: Vec<usize> = (0..own.steps()).flat_map(|step| own.part(step)).collect();
                assert_eq!(parts, (0..own.used()).collect::<Vec<_>>());
                assert_eq!(own.rows, first.rows, "all processes agree");
            }
            for step in 0..first.steps() {
                assert_eq!((0..size).map(|rank| of(rank).part(step).len()).sum::<usize>(), first.rows(step));
                assert!(first.rows(step) > 0 && first.rows(step) <= batch + size, "{counts:?}: {first:?}");
            }
        }
    }

    #[test]
    fn a_process_alone_has_whole_batches() {
        let spread = Spread::new(0, &[1000], 64, false);
        assert_eq!((spread.steps(), spread.used(), spread.part(3)), (15, 960, 192..256));
    }
}
