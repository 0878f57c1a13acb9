//! Threads in lockstep: they share the work of one stage, and begin the next one together.
//!
//! One thread leads, and does everything itself if no other comes: a thread of the pool that waits at a barrier comes within
//! microseconds, one that sleeps may need a hundred, and nobody waits for it. Between stages threads look at a counter
//! without giving up their processors, since a stage of a small batch takes tens of microseconds.

use std::array;
use std::cell::Cell;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::affinity::{Affinity, MOST_MEMBERS};

/// Shares of a stage, at most.
pub const MOST_SHARES: usize = 16;

/// Looks at a counter before a thread offers its processor to others between two looks: 2 to 12 microseconds.
const PATIENCE: usize = 100;

/// The stage after the last one.
const END: usize = usize::MAX;

thread_local! {
    /// Whether the thread takes part. A share that waits for work of the pool could otherwise begin to help another thread, which
    /// waits for that share.
    static TAKES_PART: Cell<bool> = const { Cell::new(false) };
}

/// Calls `run` with each number of a stage below `stages` and of a share below `shares`, at most [`MOST_SHARES`], on the threads of
/// the present pool; on the calling thread alone if it belongs to none. After all shares of a stage the calling thread
/// calls `between` with its number, which says whether the next stage follows. A thread begins with the same shares in each
/// stage, whose memory is in its caches, then helps the others. A panic is passed on.
pub fn in_lockstep(
    stages: usize,
    shares: usize,
    run: impl Fn(usize, usize) + Sync,
    mut between: impl FnMut(usize) -> bool + Send,
) {
    let threads = rayon::current_thread_index().map_or(1, |_| rayon::current_num_threads());
    let task = Task::new(shares, threads, &run);
    with_helpers(threads.min(shares).saturating_sub(1), &|| task.help(), &mut || task.lead(stages, &mut between));
}

/// Runs `lead` here, and `help` on as many other threads of the pool, of those that come in time.
fn with_helpers(helpers: usize, help: &(dyn Fn() + Sync), lead: &mut (dyn FnMut() + Send)) {
    match helpers {
        0 => lead(),
        _ => _ = rayon::join(|| with_helpers(helpers - 1, help, lead), help),
    }
}

/// What the threads share.
struct Task<'a> {
    run: &'a (dyn Fn(usize, usize) + Sync),
    shares: usize,
    threads: usize,
    stage: AtomicUsize,
    /// The next stage of each share that nobody has taken.
    next: [AtomicUsize; MOST_SHARES],
    /// Shares of all stages that are done. A helper may begin before the leader.
    done: AtomicUsize,
    /// A share panicked: it will never be done.
    broken: AtomicBool,
    affinity: Affinity,
}

impl<'a> Task<'a> {
    fn new(shares: usize, threads: usize, run: &'a (dyn Fn(usize, usize) + Sync)) -> Self {
        assert!(shares <= MOST_SHARES, "{shares} shares");
        Task {
            run,
            shares,
            threads,
            stage: AtomicUsize::new(0),
            next: array::from_fn(|_| AtomicUsize::new(0)),
            done: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            affinity: Affinity::new(),
        }
    }

    fn lead(&self, stages: usize, between: &mut dyn FnMut(usize) -> bool) {
        let _end = OnDrop(|| self.stage.store(END, Ordering::Release));
        let before = TAKES_PART.replace(true);
        let _left = OnDrop(|| TAKES_PART.set(before));
        for stage in 0..stages {
            self.stage.store(stage, Ordering::Release);
            self.work(stage);
            let all = (stage + 1) * self.shares;
            self.wait(|| self.done.load(Ordering::Acquire) == all || self.broken.load(Ordering::Acquire));
            if self.broken.load(Ordering::Acquire) || !between(stage) {
                return;
            }
        }
    }

    fn help(&self) {
        if TAKES_PART.replace(true) {
            return;
        }
        let _left = OnDrop(|| TAKES_PART.set(false));
        let mut stage = self.stage.load(Ordering::Acquire);
        while stage != END {
            self.work(stage);
            self.wait(|| self.stage.load(Ordering::Acquire) != stage);
            stage = self.stage.load(Ordering::Acquire);
        }
    }

    /// Runs the shares of `stage` that nobody has taken, the calling thread's own first.
    fn work(&self, stage: usize) {
        let thread = rayon::current_thread_index().unwrap_or(0);
        if thread < MOST_MEMBERS {
            self.affinity.record(thread);
        }
        let first = self.shares * thread / self.threads;
        for share in (first..self.shares).chain(0..first) {
            let taken = self.next[share].compare_exchange(stage, stage + 1, Ordering::AcqRel, Ordering::Relaxed);
            if taken.is_ok() {
                let lost = OnDrop(|| self.broken.store(true, Ordering::Release));
                (self.run)(stage, share);
                std::mem::forget(lost);
                self.done.fetch_add(1, Ordering::AcqRel);
            }
        }
    }

    fn wait(&self, is_over: impl Fn() -> bool) {
        for _ in 0..PATIENCE {
            if is_over() {
                return;
            }
            spin_loop();
        }
        while !is_over() {
            if let Some(thread) = rayon::current_thread_index().filter(|&thread| thread < MOST_MEMBERS) {
                self.affinity.separate(thread);
            }
            thread::yield_now();
        }
    }
}

/// Runs a function when it is dropped.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
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

    /// The sum of all shares' numbers up to a stage, to which each of them adds.
    fn run(stages: usize, shares: usize, end: usize) -> Vec<usize> {
        let (sum, mut seen) = (AtomicUsize::new(0), Vec::new());
        let run = |stage: usize, share: usize| {
            sum.fetch_add(100 * stage + share, Ordering::Relaxed);
        };
        in_lockstep(stages, shares, run, |stage| {
            seen.push(sum.load(Ordering::Relaxed));
            stage + 1 < end
        });
        seen
    }

    #[test]
    fn each_stage_follows_all_shares_of_the_one_before() {
        for (threads, shares) in [(1, 1), (1, 5), (2, 1), (2, 2), (2, 7), (3, 16), (5, 3), (20, 16)] {
            let expected: Vec<usize> = (0..40)
                .scan(0, |sum, stage| {
                    *sum += shares * 100 * stage + shares * (shares - 1) / 2;
                    Some(*sum)
                })
                .collect();
            let threads = pool(threads);
            for _ in 0..50 {
                assert_eq!(threads.install(|| run(40, shares, 99)), expected);
                assert_eq!(threads.install(|| run(40, shares, 7)), expected[..7]);
            }
            assert_eq!(run(40, shares, 99), expected, "outside of the pool");
        }
    }

    #[test]
    fn a_helper_may_come_before_the_leader_begins() {
        let (count, mut seen) = (AtomicUsize::new(0), Vec::new());
        let run = |_: usize, _: usize| _ = count.fetch_add(1, Ordering::AcqRel);
        let task = Task::new(2, 2, &run);
        thread::scope(|scope| {
            scope.spawn(|| task.help());
            while count.load(Ordering::Acquire) < 2 {
                spin_loop();
            }
            task.lead(3, &mut |_| {
                seen.push(count.load(Ordering::Acquire));
                true
            });
        });
        assert_eq!(seen, [2, 4, 6]);
    }

    #[test]
    fn threads_that_come_help() {
        let helped = Mutex::new(std::collections::BTreeSet::new());
        let slow = |_: usize, _: usize| {
            helped.lock().unwrap().insert(rayon::current_thread_index());
            thread::sleep(std::time::Duration::from_millis(2));
        };
        pool(3).install(|| in_lockstep(50, 6, slow, |_| true));
        assert_eq!(helped.into_inner().unwrap().len(), 3);
    }

    #[test]
    fn a_share_that_waits_for_the_pool_helps_nobody() {
        let sum = AtomicUsize::new(0);
        let nested = |_: usize, _: usize| {
            let add = || _ = sum.fetch_add(1, Ordering::Relaxed);
            rayon::join(add, || rayon::join(add, add));
        };
        for threads in [2, 3, 8] {
            pool(threads).install(|| in_lockstep(500, 6, nested, |_| true));
        }
        assert_eq!(sum.into_inner(), 3 * 500 * 6 * 3);
    }

    #[test]
    fn a_panic_of_any_thread_comes_back() {
        for (threads, share) in [(1, 0), (2, 0), (2, 3), (3, 5)] {
            let fails = |stage: usize, each: usize| assert!(stage < 3 || each != share, "planned");
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                pool(threads).install(|| in_lockstep(10, 6, fails, |_| true));
            }));
            assert!(outcome.unwrap_err().downcast_ref::<&str>().is_some_and(|text| text.contains("planned")));
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                pool(threads).install(|| in_lockstep(10, 6, |_, _| (), |stage| panic!("planned for {stage}")));
            }));
            assert!(outcome.unwrap_err().downcast_ref::<String>().is_some_and(|text| text.contains("planned for 0")));
        }
    }
}
