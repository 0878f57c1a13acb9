//! Processes that train one model together, started by MPI.
//!
//! Each computes its share of every batch, and what they computed is summed in the order of the ranks: all of them have the same
//! bits, go through the same steps and come to the same decisions. A process that cannot go on ends the whole job, since the
//! others wait for its next message.

#[allow(unsafe_code)] // MPI's functions.
mod mpi;

use std::ops::Range;
use std::time::Duration;

use mpi::Mpi;

use crate::error::{Error, Result};
use crate::kernels::Scalar;

/// Numbers up to which everyone sends all to everyone: one message takes less time than two short ones.
const FEW_NUMBERS: usize = 1 << 14;
/// The variable that says how long to wait for another process.
const SECONDS: &str = "CLADTORCH_MPI_SECONDS";
/// Unless it is set: longer than what one process does alone takes.
const USUAL_SECONDS: u32 = 600;

/// The processes of a job, two at least.
pub struct Ranks {
    mpi: &'static Mpi,
    limit: Duration,
}

/// The job that this process belongs to; `None` where it is the only one.
pub fn open() -> Result<Option<Ranks>> {
    let limit = seconds()?;
    let mpi = mpi::open()?.filter(|mpi| mpi.size > 1);
    Ok(mpi.map(|mpi| Ranks { mpi, limit }))
}

/// This process among those of the job, from 0 on, and how many there are.
pub fn place() -> Result<[usize; 2]> {
    Ok(mpi::open()?.map_or([0, 1], |mpi| [mpi.rank, mpi.size]))
}

fn seconds() -> Result<Duration> {
    let Some(text) = std::env::var_os(SECONDS) else { return Ok(Duration::from_secs(USUAL_SECONDS.into())) };
    let seconds = text.to_str().and_then(|text| text.parse::<u32>().ok()).filter(|seconds| *seconds > 0);
    let seconds = seconds.ok_or_else(|| {
        Error::invalid(format!("{SECONDS} is \"{}\"", text.to_string_lossy()), "set it to a whole number above 0")
    })?;
    Ok(Duration::from_secs(seconds.into()))
}

/// The part of `count` things, in order, that number `rank` of `size` has.
fn share(count: usize, rank: usize, size: usize) -> Range<usize> {
    count * rank / size..count * (rank + 1) / size
}

impl Ranks {
    /// Parameters of the largest network that they train: a message holds all.
    pub const MOST_PARAMETERS: usize = mpi::MOST_BYTES / size_of::<f64>();

    /// This process, from 0 on.
    pub fn rank(&self) -> usize {
        self.mpi.rank
    }

    /// Processes of the job.
    pub fn size(&self) -> usize {
        self.mpi.size
    }

    /// The part of `count` things, in order, that is this process's.
    pub fn share(&self, count: usize) -> Range<usize> {
        share(count, self.rank(), self.size())
    }

    /// Numbers of scratch memory that [`sum`](Self::sum) of `count` numbers takes.
    pub fn scratch(&self, count: usize) -> usize {
        if count <= FEW_NUMBERS { self.size() * count } else { self.size() * count.div_ceil(self.size()) }
    }

    /// The sums of the processes' `values`, added in the order of the ranks.
    pub fn sum<T: Scalar>(&self, values: &mut [T], scratch: &mut [T]) {
        match values.len() <= FEW_NUMBERS {
            true => self.sum_part(values, scratch, |_| 0..usize::MAX),
            false => {
                // Everyone adds up a part, and gives the sums to the others.
                let count = values.len();
                let part = |rank: usize| share(count, rank, self.size());
                self.sum_part(values, scratch, part);
                self.give(values, part);
            }
        }
    }

    /// Leaves in this process's part of `values` the sums of what all have there.
    fn sum_part<T: Scalar>(&self, values: &mut [T], scratch: &mut [T], part: impl Fn(usize) -> Range<usize>) {
        let of = |rank: usize| part(rank).start..part(rank).end.min(values.len());
        let mine = of(self.rank());
        let mut rows: Vec<&mut [T]> = scratch[..self.size() * mine.len()].chunks_mut(mine.len().max(1)).collect();
        rows.resize_with(self.size(), Default::default); // of an empty part
        rows[self.rank()].copy_from_slice(&values[mine.clone()]);
        self.mpi.exchange(|rank| &values[of(rank)], &mut rows, self.limit);
        let (first, others) = rows.split_at_mut(1);
        others.iter().for_each(|row| T::add(row, first[0]));
        values[mine].copy_from_slice(first[0]);
    }

    /// Gives this process's part of `values` to the others, and takes theirs.
    fn give<T: Scalar>(&self, values: &mut [T], part: impl Fn(usize) -> Range<usize>) {
        let mine = values[part(self.rank())].to_vec();
        let mut rest = values;
        let mut rows = Vec::with_capacity(self.size());
        for rank in 0..self.size() {
            let (row, behind) = std::mem::take(&mut rest).split_at_mut(part(rank).len());
            rows.push(row);
            rest = behind;
        }
        self.mpi.exchange(|_| &mine, &mut rows, self.limit);
    }

    /// The sum of a number, added in the order of the ranks.
    pub fn total(&self, mut value: f64) -> f64 {
        let mut scratch = vec![0.0; self.size()];
        self.sum(std::slice::from_mut(&mut value), &mut scratch);
        value
    }

    /// Whether any of the processes says so.
    pub fn any(&self, says: bool) -> bool {
        self.total(f64::from(u8::from(says))) > 0.0
    }

    /// An error unless all processes have the same number; `what` has it.
    pub fn check_same(&self, what: &str, number: u64) -> Result<()> {
        // Halves of it are numbers that float64 has.
        let halves = [number >> 32, number & 0xffff_ffff].map(|half| half as f64);
        let mut found = vec![0.0; 2 * self.size()];
        let mut rows: Vec<&mut [f64]> = found.chunks_mut(2).collect();
        rows[self.rank()].copy_from_slice(&halves);
        self.mpi.exchange(|_| &halves, &mut rows, self.limit);
        match found.chunks(2).position(|of_rank| of_rank != &found[..2]) {
            None => Ok(()),
            Some(rank) => Err(Error::invalid(
                format!("{what} differ between rank {rank} and rank 0"),
                "run the same macro on the same files with the same options on all ranks",
            )),
        }
    }

    /// Makes `values` those of rank 0.
    pub fn take_first<T: Scalar>(&self, values: &mut [T]) {
        let count = values.len();
        self.give(values, |rank| if rank == 0 { 0..count } else { count..count });
    }

    /// Ends the job because this process cannot go on.
    pub fn fail(&self, why: &str) -> ! {
        // The mistakes of a macro are met by all: one says so.
        if self.rank() > 0 {
            std::thread::sleep(Duration::from_secs(1));
        }
        eprintln!("CladTorch: rank {} of {}: {why}", self.rank(), self.size());
        self.mpi.abort()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_all_of_it() {
        for (count, size) in (0..50).flat_map(|count| (1..9).map(move |size| (count, size))) {
            let shares: Vec<usize> = (0..size).flat_map(|rank| share(count, rank, size)).collect();
            assert_eq!(shares, (0..count).collect::<Vec<_>>());
        }
    }
}
