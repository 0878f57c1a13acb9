//! Memory that the members of a team share; each chunk of it belongs to one of them.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::threads::Team;

/// Members of a team that share work, at most.
const MOST_MEMBERS: usize = 64;

/// The beginning of a slice, for the threads that share it.
struct Shared<T>(*mut T);

// SAFETY: `share_chunks` gives each element to one thread only, which `T: Send` allows.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn start(&self) -> *mut T {
        self.0
    }
}

/// Calls `run` with each chunk of `size` elements of `memory` and its number. Each of `members` begins with
/// neighbouring chunks, the same ones in each call, then helps the others. A panic is passed on when all members have
/// stopped.
pub fn share_chunks<T: Send>(
    team: &dyn Team,
    members: usize,
    memory: &mut [T],
    size: usize,
    run: impl Fn(usize, &mut [T]) + Sync,
) {
    let (count, members, length) = (memory.len().div_ceil(size), members.clamp(1, MOST_MEMBERS), memory.len());
    let first = |member: usize| count * member / members;
    let next: [AtomicUsize; MOST_MEMBERS] = std::array::from_fn(|member| AtomicUsize::new(first(member)));
    let shared = Shared(memory.as_mut_ptr());
    let work = |member: usize| {
        for share in (member..members).chain(0..member) {
            loop {
                let chunk = next[share].fetch_add(1, Ordering::Relaxed);
                if chunk >= first(share + 1) {
                    break;
                }
                let (start, end) = (chunk * size, (chunk * size + size).min(length));
                // SAFETY: inside of `memory`, since chunk < count; the counters of the shares, whose ranges are apart, give
                // each chunk to one member, and chunks are apart; `memory` is borrowed until all members have stopped.
                let part = unsafe { std::slice::from_raw_parts_mut(shared.start().add(start), end - start) };
                run(chunk, part);
            }
        }
    };
    let panic: Mutex<Option<Box<dyn Any + Send>>> = Mutex::new(None);
    team.run(members, &|member| {
        if let Err(reason) = catch_unwind(AssertUnwindSafe(|| work(member))) {
            *panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
        }
    });
    if let Some(reason) = panic.into_inner().unwrap_or_else(PoisonError::into_inner) {
        resume_unwind(reason);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads of the standard library, or the caller's alone.
    struct Scoped {
        alone: bool,
    }

    impl Team for Scoped {
        fn run(&self, members: usize, share: &(dyn Fn(usize) + Sync)) {
            match self.alone {
                true => (0..members).for_each(share),
                false => std::thread::scope(|scope| (0..members).for_each(|one| _ = scope.spawn(move || share(one)))),
            }
        }
    }

    #[test]
    fn a_team_works_once_on_each_chunk() {
        let cases = [(1000, 7, 3), (1000, 1000, 2), (5, 2, 64), (6, 1, 1000), (0, 3, 2), (64, 4, 1)];
        for ((length, size, members), alone) in cases.into_iter().flat_map(|case| [(case, true), (case, false)]) {
            let mut memory: Vec<usize> = vec![0; length];
            share_chunks(&Scoped { alone }, members, &mut memory, size, |chunk, part| {
                part.iter_mut().for_each(|element| *element += chunk + 1);
            });
            assert!(memory.iter().enumerate().all(|(index, &found)| found == index / size + 1), "{memory:?}");
        }
    }

    #[test]
    fn a_panic_of_one_member_comes_back() {
        for alone in [true, false] {
            let mut memory = vec![0; 100];
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                let team = Scoped { alone };
                share_chunks(&team, 4, &mut memory, 1, |chunk, _| assert_ne!(chunk, 40, "planned"));
            }));
            let reason = outcome.unwrap_err();
            assert!(reason.downcast_ref::<String>().is_some_and(|text| text.contains("planned")));
        }
    }
}
