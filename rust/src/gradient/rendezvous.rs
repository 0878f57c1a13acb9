//! Where the threads of a training meet after each batch.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Looks at the counter before a waiting thread offers its time to others. About a microsecond: what the threads of an
/// undisturbed training wait for one another.
const LOOKS: usize = 200;

/// A barrier for threads of one rayon pool that are in step with one another most of the time: who waits looks for a
/// short time without giving up its processor, then helps with the pool's work or lets other programs run.
pub struct Rendezvous {
    members: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    broken: AtomicBool,
}

impl Rendezvous {
    /// For `members` threads.
    pub fn new(members: usize) -> Self {
        Rendezvous { members, arrived: AtomicUsize::new(0), round: AtomicUsize::new(0), broken: AtomicBool::new(false) }
    }

    /// Runs `work` to its end; should it panic, nobody waits for this member any more.
    pub fn take_part<R>(&self, work: impl FnOnce() -> R) -> R {
        let leave = LeaveOnPanic(self);
        let result = work();
        std::mem::forget(leave);
        result
    }

    /// Waits until every member has come; the last of them runs `alone` before the others go on. False if a member will
    /// never come, because it panicked.
    pub fn meet(&self, alone: impl FnOnce()) -> bool {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.members {
            alone();
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round + 1, Ordering::Release);
            return true;
        }
        let mut looks = 0;
        while self.round.load(Ordering::Acquire) == round {
            if self.broken.load(Ordering::Acquire) {
                return false;
            }
            looks += 1;
            if looks < LOOKS {
                std::hint::spin_loop();
            } else if rayon::yield_now() != Some(rayon::Yield::Executed) {
                thread::yield_now();
            }
        }
        true
    }
}

struct LeaveOnPanic<'a>(&'a Rendezvous);

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
        let (meeting, sum, seen) = (Rendezvous::new(3), AtomicUsize::new(0), Mutex::new(Vec::new()));
        pool(3).broadcast(|_| {
            for _ in 0..1000 {
                sum.fetch_add(1, Ordering::Relaxed);
                assert!(meeting.meet(|| seen.lock().unwrap().push(sum.load(Ordering::Relaxed))));
            }
        });
        assert_eq!(seen.into_inner().unwrap(), (1..=1000).map(|round| 3 * round).collect::<Vec<_>>());
    }

    #[test]
    fn nobody_waits_for_a_member_that_panicked() {
        let meeting = Rendezvous::new(2);
        let threads = pool(2);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            threads.broadcast(|member| {
                meeting.take_part(|| {
                    assert_ne!(member.index(), 1, "planned");
                    assert!(!meeting.meet(|| unreachable!("one member is missing")));
                });
            });
        }));
        assert!(outcome.is_err());
    }
}
