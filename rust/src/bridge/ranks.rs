//! The processes of an MPI job.

use crate::error::{Result, guard};
use crate::ranks;

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    extern "Rust" {
        /// This process among those of the job, from 0 on.
        fn ranks_rank() -> Result<usize>;
        /// Processes of the job; 1 outside of one.
        fn ranks_size() -> Result<usize>;
        /// Whether any of the processes says so; all of them must call it.
        fn ranks_any(says: bool) -> Result<bool>;
        /// Ends the job with this reason; does nothing outside of one.
        fn ranks_fail(why: &str) -> Result<()>;
    }
}

fn ranks_rank() -> Result<usize> {
    guard(|| ranks::place().map(|[rank, _]| rank))
}

fn ranks_size() -> Result<usize> {
    guard(|| ranks::place().map(|[_, size]| size))
}

fn ranks_any(says: bool) -> Result<bool> {
    guard(|| Ok(ranks::open()?.map_or(says, |ranks| ranks.any(says))))
}

fn ranks_fail(why: &str) -> Result<()> {
    guard(|| match ranks::open()? {
        Some(ranks) => ranks.fail(why),
        None => Ok(()),
    })
}
