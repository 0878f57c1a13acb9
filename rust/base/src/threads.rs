//! Threads for work: pools, the threads of the surrounding program, and the processors that they run on.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::ThreadPool;

use crate::error::{Error, Result};
use crate::kernels;

/// Number of the processor on which this thread runs now; 0 if the system does not tell.
pub fn processor() -> usize {
    #[cfg(target_os = "linux")]
    return rustix::thread::sched_getcpu();
    #[cfg(not(target_os = "linux"))]
    0
}

/// Moves this thread to the next permitted processor that is `free`, and leaves it as free as before to move on from
/// there. False if there is none. Counted from its own, so that threads of several teams spread.
pub fn move_to_processor(free: impl Fn(usize) -> bool) -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let Ok(allowed) = sched_getaffinity(None) else { return false };
        let own = processor();
        let mut others = (1..=CpuSet::MAX_CPU).map(|step| (own + step) % CpuSet::MAX_CPU);
        let Some(target) = others.find(|&one| allowed.is_set(one) && free(one)) else { return false };
        let mut only = CpuSet::new();
        only.set(target);
        sched_setaffinity(None, &only).is_ok() && sched_setaffinity(None, &allowed).is_ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = free;
        false
    }
}

/// A pool of `threads` threads (0: as many as the machine has), each with its BLAS on one thread.
pub fn thread_pool(threads: usize) -> Result<ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|index| format!("cladtorch-{index}"))
        .start_handler(|_| {
            kernels::blas_single_thread();
        })
        .build()
        .map_err(|error| Error::invalid(format!("{threads} threads could not be started: {error}"), "use fewer"))
}

/// The pool of `threads` threads (0: as many as the machine has) that readers and predictions share. Its threads are
/// started once and sleep when idle; a forked process, which has none of them, starts its own.
pub fn shared_pool(threads: usize) -> Result<Arc<ThreadPool>> {
    static POOLS: Mutex<BTreeMap<(u32, usize), Arc<ThreadPool>>> = Mutex::new(BTreeMap::new());
    // A panic elsewhere leaves the map unchanged.
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    match pools.entry((std::process::id(), threads)) {
        Entry::Occupied(pool) => Ok(Arc::clone(pool.get())),
        Entry::Vacant(place) => Ok(Arc::clone(place.insert(Arc::new(thread_pool(threads)?)))),
    }
}

/// Threads that the program has beside ours: LibTorch's, which do not sleep between its operators.
pub trait Team: Send + Sync {
    /// Calls `share` once with each number below `members`, several at a time if there are threads for them, and
    /// returns when all calls have. `share` does not panic.
    fn run(&self, members: usize, share: &(dyn Fn(usize) + Sync));
}

/// With the process that owns its threads.
static TEAM: OnceLock<(u32, Box<dyn Team>)> = OnceLock::new();

/// Offers threads to [`team`]; the first ones offered are kept.
pub fn offer_team(team: Box<dyn Team>) {
    _ = TEAM.set((std::process::id(), team));
}

/// The threads that were offered; none in a forked process, where they do not run.
pub fn team() -> Option<&'static dyn Team> {
    TEAM.get().filter(|(process, _)| *process == std::process::id()).map(|(_, team)| &**team)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_moves_and_stays_free() {
        use rustix::thread::{CpuSet, sched_getaffinity};
        let before = sched_getaffinity(None).unwrap();
        assert!(!move_to_processor(|_| false));
        let last = (0..CpuSet::MAX_CPU).rfind(|&one| before.is_set(one)).unwrap();
        assert!(move_to_processor(|one| one == last));
        assert!(before.is_set(processor()));
        assert!(sched_getaffinity(None).unwrap() == before);
    }
}
