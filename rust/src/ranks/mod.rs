//! Processes that train one model together, started by MPI.
//!
//! Each computes its share of every batch, and what they computed is summed in a fixed order of the ranks ([`sums`]): all of
//! them have the same bits, go through the same steps and come to the same decisions. A process that cannot go on ends the
//! whole job, since the others wait for its next message.

#[allow(unsafe_code)] // MPI's functions.
mod mpi;
mod sums;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mpi::Mpi;
use sums::Wire;

use crate::error::{Error, Result};
use crate::kernels::Scalar;

/// The variable that says how long to wait for another process.
const SECONDS: &str = "CLADTORCH_MPI_SECONDS";
/// Unless it is set: longer than what one process does alone takes.
const USUAL_SECONDS: u32 = 600;

/// The processes of a job, two at least.
pub struct Ranks {
    mpi: &'static Mpi,
    limit: Duration,
    /// Time spent with messages, ns.
    waited: AtomicU64,
}

/// The job that this process belongs to; `None` where it is the only one.
pub fn open() -> Result<Option<Ranks>> {
    let limit = seconds()?;
    let mpi = mpi::open()?.filter(|mpi| mpi.size > 1);
    Ok(mpi.map(|mpi| Ranks { mpi, limit, waited: AtomicU64::new(0) }))
}

/// The number of this process in the job, from 0 on, and the number of processes.
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

    /// Time that this process spent with messages so far, waiting for others included.
    pub fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited.load(Ordering::Relaxed))
    }

    /// The sums of the processes' `values`, added in a fixed order; `scratch` has as many numbers, and nothing is allocated.
    pub fn sum<T: Scalar>(&self, values: &mut [T], scratch: &mut [T]) {
        let start = Instant::now();
        sums::sum(self, values, scratch);
        self.waited.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }

    /// The sum of a number.
    pub fn total(&self, mut value: f64) -> f64 {
        self.sum(std::slice::from_mut(&mut value), &mut [0.0]);
        value
    }

    /// Whether any of the processes says so.
    pub fn any(&self, says: bool) -> bool {
        self.total(f64::from(u8::from(says))) > 0.0
    }

    /// The number of each process, in their order.
    pub fn all(&self, number: f64) -> Vec<f64> {
        let mut numbers = vec![0.0; self.size()];
        numbers[self.rank()] = number;
        self.sum(&mut numbers, &mut vec![0.0; self.size()]);
        numbers
    }

    /// The numbers of all processes, those of rank 0 first.
    pub fn joined(&self, values: &[f32]) -> Vec<f32> {
        let counts = self.all(values.len() as f64);
        let before = counts[..self.rank()].iter().sum::<f64>() as usize;
        // A negative zero changes no number that it is added to.
        let mut all = vec![-0.0; counts.iter().sum::<f64>() as usize];
        all[before..][..values.len()].copy_from_slice(values);
        let mut scratch = vec![0.0; all.len().min(Self::MOST_PARAMETERS)];
        all.chunks_mut(Self::MOST_PARAMETERS).for_each(|part| self.sum(part, &mut scratch));
        all
    }

    /// An error unless all processes have the same number; `what` has it.
    pub fn check_same(&self, what: &str, number: u64) -> Result<()> {
        // Halves of it are numbers that float64 has.
        for half in [number >> 32, number & 0xffff_ffff] {
            let found = self.all(half as f64);
            if let Some(rank) = found.iter().position(|of_rank| *of_rank != found[0]) {
                return Err(Error::invalid(
                    format!("{what} differ between rank {rank} and rank 0"),
                    "run the same macro on the same files with the same options on all ranks",
                ));
            }
        }
        Ok(())
    }

    /// Makes `values` those of rank 0.
    pub fn take_first<T: Scalar>(&self, values: &mut [T]) {
        if self.rank() > 0 {
            values.fill(T::from_f64(-0.0)); // which changes no number that it is added to
        }
        self.sum(values, &mut vec![T::default(); values.len()]);
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

impl Wire for Ranks {
    fn place(&self) -> [usize; 2] {
        [self.rank(), self.size()]
    }

    /// Whoever waits in a later round, for a process that itself waits, gives it the time to say for whom.
    fn swap<T: Scalar>(&self, with: usize, to: &[T], from: &mut [T], round: u32) {
        self.mpi.swap(with, to, from, self.limit * (round + 1));
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
