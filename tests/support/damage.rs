//! Damaged files and the requirements on their readers: no crash, no hang, no excessive memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, process, thread};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A case on which this process works longer fails the test; one that does not end at all ends the process, even if it
/// only waits. Other processes of a busy machine do not count, except for the waiting time.
const SLOW: Duration = Duration::from_secs(30);
const HUNG: Duration = Duration::from_secs(120);
const WAITING: Duration = Duration::from_secs(1800);

/// Limit on the memory of the whole process in any case, bytes.
const MEMORY: usize = 1 << 30;

/// `CLADTORCH_DAMAGES` in the environment requests another number of cases.
fn cases(otherwise: usize) -> usize {
    env::var("CLADTORCH_DAMAGES").map_or(otherwise, |count| count.parse().unwrap())
}

/// Damages `sound` `otherwise` times, in turn, and calls `read(number, bytes)` with each; the first case of each is
/// undamaged. `read` returns whether it accepted the bytes, and asserts its results. Returns cases and refusals.
pub fn survives(
    sound: &[Vec<u8>],
    otherwise: usize,
    mut read: impl FnMut(usize, &[u8], bool) -> bool,
) -> (usize, usize) {
    let cases = cases(otherwise);
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let watched = watch();
    let (mut refused, mut slowest) = (0, Duration::ZERO);
    for case in 0..cases {
        let number = case % sound.len();
        let damaged = case >= sound.len();
        let mut bytes = sound[number].clone();
        if damaged {
            let other = random.random_range(0..sound.len());
            damage(&mut bytes, &sound[other], &mut random);
        }
        watched.store(case, Ordering::Relaxed);
        let start = processor_time();
        refused += usize::from(!read(number, &bytes, damaged));
        slowest = slowest.max(processor_time() - start);
        assert!(slowest < SLOW, "case {case} took {slowest:?}");
        let peak = memory_peak();
        assert!(peak < MEMORY, "case {case} took {peak} bytes of memory");
    }
    watched.store(usize::MAX, Ordering::Relaxed);
    (cases, refused)
}

/// Flips bits, sets bytes, cuts, lengthens or splices, once to three times.
fn damage(bytes: &mut Vec<u8>, other: &[u8], random: &mut ChaCha8Rng) {
    for _ in 0..random.random_range(1..4) {
        let at = random.random_range(0..bytes.len().max(1)).min(bytes.len().saturating_sub(1));
        // Half of the damage goes to the first bytes, where a record has its sizes.
        let at = if random.random() { at.min(at % 128) } else { at };
        match random.random_range(0..6) {
            0 | 1 if !bytes.is_empty() => bytes[at] ^= 1 << random.random_range(0..8),
            2 if !bytes.is_empty() => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random.random_range(0..5)],
            3 => bytes.truncate(at),
            4 => bytes.extend_from_slice(&other[..random.random_range(0..=other.len().min(64))]),
            _ => {
                let from = random.random_range(0..other.len());
                let count = random.random_range(0..64).min(other.len() - from).min(bytes.len() - at.min(bytes.len()));
                bytes[at..][..count].copy_from_slice(&other[from..][..count]);
            }
        }
    }
}

/// Ends the process when the number it returns stays the same for too long; `usize::MAX` ends the watch.
fn watch() -> Arc<AtomicUsize> {
    let watched = Arc::new(AtomicUsize::new(0));
    let case = Arc::clone(&watched);
    thread::spawn(move || {
        let begin = || (Instant::now(), processor_time());
        let (mut last, mut since) = (0, begin());
        while last != usize::MAX {
            thread::sleep(Duration::from_millis(200));
            let now = case.load(Ordering::Relaxed);
            if now != last {
                (last, since) = (now, begin());
                continue;
            }
            let (waited, worked) = (since.0.elapsed(), processor_time() - since.1);
            if worked > HUNG || waited > WAITING {
                eprintln!("case {now} still runs after {worked:?} of processor time in {waited:?}");
                process::abort();
            }
        }
    });
    watched
}

/// CPU time of all threads of this process, including those of other tests.
fn processor_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap(); // the name before may have spaces
    // utime and stime of proc_pid_stat(5), in hundredths of a second.
    let hundredths = fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<u64>().unwrap());
    Duration::from_millis(10 * hundredths.sum::<u64>())
}

/// Memory of this process, in bytes.
fn memory_peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}
