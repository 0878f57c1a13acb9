//! Chunks of memory, and the threads that work on them.

use rayon::prelude::*;

use super::affinity::{Affinity, MOST_MEMBERS};
use crate::device::{share_chunks, shared_pool, team};

/// As many as work on the chunks of [`each_chunk`] where it is called from here.
pub fn threads() -> usize {
    match rayon::current_thread_index() {
        Some(_) => rayon::current_num_threads(),
        None => usize::try_from(tch::get_num_threads()).unwrap_or(1),
    }
}

/// Calls `run` with each of `count` chunks and its number, if there are several on the threads of the present pool. On a thread
/// of none as many work as LibTorch was told to use: its own, where they were offered, since they do not sleep between
/// its operators and would take turns with others; else those of a pool.
pub fn each_chunk<T: Send>(count: usize, memory: &mut [T], size: usize, run: impl Fn(usize, &mut [T]) + Send + Sync) {
    if count < 2 {
        return memory.chunks_mut(size).enumerate().for_each(|(index, part)| run(index, part));
    }
    let in_pool = rayon::current_thread_index().is_some();
    let here = in_pool && rayon::current_num_threads() > 1;
    let threads = if in_pool { 1 } else { threads().min(count) };
    if let (2.., Some(team)) = (threads, team()) {
        return share_chunks(team, threads, memory, size, run);
    }
    let pool = if threads > 1 { shared_pool(threads).ok() } else { None };
    if !here && pool.is_none() {
        return memory.chunks_mut(size).enumerate().for_each(|(index, part)| run(index, part));
    }
    let affinity = Affinity::new();
    let run_here = |(index, part): (usize, &mut [T])| {
        if let Some(member) = rayon::current_thread_index().filter(|&member| member < MOST_MEMBERS) {
            affinity.record(member);
            affinity.separate(member);
        }
        run(index, part);
    };
    let mut run_all = || memory.par_chunks_mut(size).enumerate().for_each(run_here);
    match pool {
        Some(pool) => pool.install(&mut run_all),
        None => run_all(),
    }
}
