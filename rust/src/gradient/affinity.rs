//! Affinity: each thread of a team on a processor of its own.
//!
//! Two threads that the system woke on the same processor take turns there for many milliseconds, until the scheduler
//! notices that another processor is free.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::device::{move_to_processor, processor};

/// Threads of a team, at most.
pub const MOST_MEMBERS: usize = 8;

/// The processor on which each thread of a team last ran.
pub struct Affinity([AtomicUsize; MOST_MEMBERS]);

impl Affinity {
    /// No thread has run yet.
    pub fn new() -> Self {
        Affinity(std::array::from_fn(|_| AtomicUsize::new(usize::MAX)))
    }

    /// Records where `member`, the calling thread, runs now.
    pub fn record(&self, member: usize) {
        self.0[member].store(processor(), Ordering::Relaxed);
    }

    /// Moves `member`, the calling thread, to its own processor, if it shares one and another is free.
    pub fn separate(&self, member: usize) -> bool {
        let own = self.0[member].load(Ordering::Relaxed);
        let mut others = self.0.iter().enumerate().filter(|&(other, _)| other != member);
        others.any(|(_, other)| other.load(Ordering::Relaxed) == own) && {
            let moved = move_to_processor(|one| self.0.iter().all(|each| each.load(Ordering::Relaxed) != one));
            self.record(member);
            moved
        }
    }
}
