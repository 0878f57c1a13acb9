//! The barrier at which the threads of a fit meet.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::affinity::Affinity;
pub use super::affinity::MOST_MEMBERS;

/// Looks at the counter between looks at the clock and at the pool's work: one to two microseconds, since a pause takes 40 to 140
/// cycles.
const LOOKS: usize = 16;

/// The threads of an undisturbed training wait for one another a few microseconds.
const PATIENCE: Duration = Duration::from_micros(50);

/// The same where those that wait help one that works for all: a pause between two calls for help is shorter than a nap.
const PATIENCE_OF_HELPERS: Duration = Duration::from_millis(2);

/// How long a thread sleeps that waited in vain; the system adds about as much.
const NAP: Duration = Duration::from_micros(50);

/// A barrier for threads of one rayon pool that are in step with one another most of the time: who waits looks for a
/// short time without giving up its processor, helps with the pool's work if there is any, then sleeps.
///
/// Who waits in vain, and shares its processor, moves: see [`Affinity`].
pub struct Barrier {
    members: usize,
    /// More members than processors: a member that waits only keeps another from coming.
    crowded: bool,
    patience: Duration,
    /// Of the members when they last came.
    affinity: Affinity,
    arrived: AtomicUsize,
    round: AtomicUsize,
    broken: AtomicBool,
}

impl Barrier {
    /// A barrier for `members` threads, at most [`MOST_MEMBERS`], on this many processors; those that wait may be helpers of
    /// one that works for all.
    pub fn new(members: usize, processors: usize, are_helpers: bool) -> Self {
        Barrier {
            members,
            crowded: members > processors,
            patience: if are_helpers { PATIENCE_OF_HELPERS } else { PATIENCE },
            affinity: Affinity::new(),
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// Runs `work` to its end; if it panics, the others no longer wait for this member.
    pub fn take_part<R>(&self, work: impl FnOnce() -> R) -> R {
        let leave = LeaveOnPanic(self);
        let result = work();
        std::mem::forget(leave);
        result
    }

    /// `member` waits until every member has come; the last of them runs `alone` before the others go on. False if a
    /// member will never come, because it panicked.
    pub fn meet(&self, member: usize, alone: impl FnOnce()) -> bool {
        let round = self.round.load(Ordering::Acquire);
        self.affinity.record(member);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.members {
            alone();
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round + 1, Ordering::Release);
            return true;
        }
        let mut waiting = Instant::now();
        while !self.passes(round) {
            if self.broken.load(Ordering::Acquire) {
                return false;
            }
            if rayon::yield_now() == Some(rayon::Yield::Executed) {
                waiting = Instant::now();
            } else if self.crowded {
                thread::yield_now();
            } else if waiting.elapsed() > self.patience {
                match self.affinity.separate(member) {
                    true => waiting = Instant::now(),
                    false => thread::sleep(NAP),
                }
            }
        }
        true
    }

    /// For `member`, when all have met for the first time: moves it from a processor that it shares with another one, which
    /// the system would do after some milliseconds. Member 0 stays.
    pub fn separate(&self, member: usize) {
        self.affinity.record(member);
        if member > 0 {
            self.affinity.separate(member);
        }
    }

    /// Whether the others went on from `round` while this looked.
    fn passes(&self, round: usize) -> bool {
        (0..LOOKS).any(|_| {
            std::hint::spin_loop();
            self.round.load(Ordering::Acquire) != round
        })
    }
}

struct LeaveOnPanic<'a>(&'a Barrier);

impl Drop for LeaveOnPanic<'_> {
    fn drop(&mut self) {
        self.0.broken.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Mutex;

    fn pool(threads: usize) -> rayon::ThreadPool {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
    }

    #[test]
    fn one_member_at_a_time_runs_alone_and_sees_what_all_did() {
        let (barrier, sum, seen) = (Barrier::new(3, 8, false), AtomicUsize::new(0), Mutex::new(Vec::new()));
        pool(3).broadcast(|member| {
            for _ in 0..1000 {
                sum.fetch_add(1, Ordering::Relaxed);
                assert!(barrier.meet(member.index(), || seen.lock().unwrap().push(sum.load(Ordering::Relaxed))));
            }
        });
        assert_eq!(seen.into_inner().unwrap(), (1..=1000).map(|round| 3 * round).collect::<Vec<_>>());
    }

    #[test]
    fn nobody_waits_for_a_member_that_panicked() {
        let barrier = Barrier::new(2, 1, false);
        let threads = pool(2);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            threads.broadcast(|member| {
                barrier.take_part(|| {
                    assert_ne!(member.index(), 1, "planned");
                    assert!(!barrier.meet(0, || unreachable!("one member is missing")));
                });
            });
        }));
        assert!(outcome.is_err());
    }
}
