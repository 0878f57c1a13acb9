//! Threads on processors of their own.
//!
//! Two threads that the system woke on the same processor would take turns there for many milliseconds, until it notices
//! that another is free.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::device::{move_to_processor, processor};

/// Threads that can be told apart.
pub const MOST_MEMBERS: usize = 8;

/// The processor of each thread of a pool when it last said so.
pub struct Seats([AtomicUsize; MOST_MEMBERS]);

impl Seats {
    /// Nobody has said so.
    pub fn new() -> Self {
        Seats(std::array::from_fn(|_| AtomicUsize::new(usize::MAX)))
    }

    /// Notes where `member`, the calling thread, runs now.
    pub fn take(&self, member: usize) {
        self.0[member].store(processor(), Ordering::Relaxed);
    }

    /// Moves `member`, the calling thread, to a processor of its own, if it shares one and another is free.
    pub fn part(&self, member: usize) -> bool {
        let own = self.0[member].load(Ordering::Relaxed);
        let mut others = self.0.iter().enumerate().filter(|&(other, _)| other != member);
        others.any(|(_, other)| other.load(Ordering::Relaxed) == own) && {
            let moved = move_to_processor(|one| self.0.iter().all(|seat| seat.load(Ordering::Relaxed) != one));
            self.take(member);
            moved
        }
    }
}
