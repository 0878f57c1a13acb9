//! Batch normalisation on several threads: sums over rows by channels, the rest by rows, or both by panels. One thread
//! sums each channel, which gives the same bits for any number of threads.

use std::cell::RefCell;

use crate::gradient::chunks::each_chunk;
use crate::kernels::Scalar;
use crate::kernels::strided::{Channels, Given, Moments};

/// Elements below which one thread is done before a second one has come.
const WORTH_SHARING: usize = 1 << 17;

/// Shares, at most.
const MOST_SHARES: usize = 64;

/// Channels of a share are a multiple of this many: neighbours are computed together.
const NEIGHBOURS: usize = 16;

thread_local! {
    /// The sums of the batch normalisation that is being pulled back.
    static SUMS: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
}

/// Some channels of a batch: where the first of them lies among all, and their layout.
fn channels_of(all: Channels, first: usize, channels: usize) -> (usize, Channels) {
    let start = if all.width == all.channels { first * all.side } else { first / all.width * all.panel() };
    (start, Channels { channels, ..all })
}

/// Channels that each thread sums.
fn share_of_channels(all: Channels, threads: usize) -> usize {
    let unit = if all.width == all.channels { NEIGHBOURS } else { all.width };
    match threads > 1 && all.len() >= WORTH_SHARING {
        true => all.channels.div_ceil(threads.min(MOST_SHARES)).next_multiple_of(unit),
        false => all.channels.max(1),
    }
}

/// Number of elements that each thread but the last writes: whole rows, or whole panels.
fn share_of_elements(all: Channels, threads: usize) -> usize {
    let unit = if all.width == all.channels { all.channels * all.side } else { all.panel() };
    let units = all.len() / unit.max(1);
    let share = if threads > 1 && all.len() >= WORTH_SHARING { units.div_ceil(threads) } else { units };
    (share * unit).max(1)
}

/// The channels of elements `start..start + length` of a batch, whole rows or panels, and the layout of these.
fn layout_of(all: Channels, start: usize, length: usize) -> (std::ops::Range<usize>, Channels) {
    if all.width == all.channels {
        return (0..all.channels, Channels { rows: length / (all.channels * all.side), ..all });
    }
    let [first, end] = [start, start + length].map(|element| element / all.panel() * all.width);
    let range = first..end.min(all.channels);
    (range.clone(), Channels { channels: range.len(), ..all })
}

fn part<'a, T>(moments: Moments<'a, T>, range: &std::ops::Range<usize>) -> Moments<'a, T> {
    Moments { mean: &moments.mean[range.clone()], deviation: &moments.deviation[range.clone()], ..moments }
}

/// Calls `run` with each share of two numbers for each channel, and its number.
fn each_share<N: Send>(
    share: usize,
    first: &mut [N],
    second: &mut [N],
    run: impl Fn(usize, &mut [N], &mut [N]) + Send + Sync,
) {
    let mut chunks = first.chunks_mut(share).zip(second.chunks_mut(share));
    let count = chunks.len();
    let mut shares: [_; MOST_SHARES] = std::array::from_fn(|_| chunks.next().unwrap_or_default());
    each_chunk(count, &mut shares[..count], 1, |index, one| {
        one.iter_mut().for_each(|(first, second)| run(index, first, second))
    });
}

/// `value` [2, channels] = the moments of `x`.
pub(super) fn moments<T: Scalar>(all: Channels, threads: usize, x: &[T], value: &mut [T]) {
    let (mean, deviation) = value.split_at_mut(all.channels);
    let share = share_of_channels(all, threads);
    each_share(share, mean, deviation, |index, mean, deviation| {
        let (start, own) = channels_of(all, index * share, mean.len());
        own.moments(&x[start..], mean, deviation);
    });
}

/// What [`standardise`] and its pullback read.
#[derive(Clone, Copy)]
pub(super) struct Operands<'a, T> {
    pub x: &'a [T],
    pub moments: Moments<'a, T>,
    pub w: &'a [T],
    pub b: &'a [T],
}

impl<'a, T> Operands<'a, T> {
    /// Of values [.., channels]; `moments` are [2, channels].
    pub fn new(channels: &Channels, eps: f64, x: &'a [T], moments: &'a [T], w: &'a [T], b: &'a [T]) -> Self {
        let (mean, deviation) = moments.split_at(channels.channels);
        let deviation = &deviation[..channels.channels];
        let [w, b] = [w, b].map(|numbers| &numbers[..channels.channels]);
        Operands { x: &x[..channels.len()], moments: Moments { mean, deviation, eps }, w, b }
    }
}

/// `y` = the channels of `x` standardised, scaled and shifted.
pub(super) fn standardise<T: Scalar>(all: Channels, threads: usize, operands: Operands<T>, y: &mut [T]) {
    let Operands { x, moments, w, b } = operands;
    let share = share_of_elements(all, threads);
    each_chunk(y.len().div_ceil(share), y, share, |index, y| {
        let start = index * share;
        let (range, own) = layout_of(all, start, y.len());
        let x = &x[start..start + y.len()];
        own.standardise(x, part(moments, &range), &w[range.clone()], &b[range.clone()], y);
    });
}

/// `sums` [2, channels] = what `dy` gives the shift and the scale.
pub(super) fn sums<T: Scalar>(all: Channels, threads: usize, operands: Operands<T>, dy: &[T], sums: &mut [f64]) {
    let (shift, slope) = sums.split_at_mut(all.channels);
    let share = share_of_channels(all, threads);
    each_share(share, shift, slope, |index, shift, slope| {
        let first = index * share;
        let (start, own) = channels_of(all, first, shift.len());
        let moments = part(operands.moments, &(first..first + shift.len()));
        own.sums(&operands.x[start..], moments, &dy[start..], shift, slope);
    });
}

/// Sums of a reverse pass, whose memory the thread uses again.
pub(super) struct Sums(Vec<f64>);

impl Sums {
    /// For these channels, with any values.
    pub fn new(channels: Channels) -> Self {
        let mut sums = Sums(SUMS.take());
        sums.0.resize(2 * channels.channels, 0.0);
        sums
    }

    /// Sums [channels] of the adjoint itself, for the shift, and of its products with the standardised values, for the scale.
    pub fn each(&self) -> &[f64] {
        &self.0
    }

    pub fn get_mut(&mut self) -> &mut [f64] {
        &mut self.0
    }
}

impl Drop for Sums {
    fn drop(&mut self) {
        SUMS.set(std::mem::take(&mut self.0));
    }
}

/// `dx` (add: +)= what `dy` gives `x`, from its [`sums`] over so many elements a channel.
pub(super) fn pullback<T: Scalar>(
    all: Channels,
    threads: usize,
    operands: Operands<T>,
    ([shift, slope], count): ([&[f64]; 2], usize),
    dy: &[T],
    add: bool,
    dx: &mut [T],
) {
    let share = share_of_elements(all, threads);
    each_chunk(dx.len().div_ceil(share), dx, share, |index, dx| {
        let start = index * share;
        let (range, own) = layout_of(all, start, dx.len());
        let [x, dy] = [operands.x, dy].map(|elements| &elements[start..start + dx.len()]);
        let w = &operands.w[range.clone()];
        let given = Given { w, shift: &shift[range.clone()], slope: &slope[range.clone()], count };
        own.pullback(x, part(operands.moments, &range), given, dy, add, dx);
    });
}

/// `to` (add: +)= the sums.
pub(super) fn give<T: Scalar>(sums: &[f64], add: bool, to: &mut [T]) {
    for (to, &sum) in to.iter_mut().zip(sums) {
        *to = T::from_f64(if add { to.to_f64() + sum } else { sum });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that is computed for a batch of this layout on this many threads.
    fn computed(all: Channels, threads: usize) -> Vec<f64> {
        let wave = |step: f64, count: usize| (0..count).map(|i| (i as f64 * step).sin()).collect::<Vec<_>>();
        let (x, dy) = (wave(0.7, all.len()), wave(1.3, all.len()));
        let (w, b) = (wave(0.9, all.channels), wave(1.1, all.channels));
        let mut found = vec![0.0; 2 * all.channels];
        moments(all, threads, &x, &mut found);
        let operands = Operands::new(&all, 1e-3, &x, &found, &w, &b);
        let mut y = vec![0.0; all.len()];
        standardise(all, threads, operands, &mut y);
        let mut both = vec![0.0; 2 * all.channels];
        sums(all, threads, operands, &dy, &mut both);
        let given = || (<[&[f64]; 2]>::from(both.split_at(all.channels)), all.rows * all.side);
        let [mut stored, mut added] = [(); 2].map(|()| vec![0.5; all.len()]);
        pullback(all, threads, operands, given(), &dy, false, &mut stored);
        pullback(all, threads, operands, given(), &dy, true, &mut added);
        [&found[..], &y, &both, &stored, &added].concat()
    }

    /// Batches that are worth sharing, in every layout, with channels that do not share out evenly.
    #[test]
    fn the_bits_do_not_depend_on_the_number_of_threads() {
        let panels = |channels, width| Channels { rows: 5000, channels, side: 1, width };
        let dense = [(5000, 37, 1), (3000, 16, 3), (7, 100, 200), (200_000, 1, 1)];
        let dense = dense.map(|(rows, channels, side)| Channels::dense(rows, channels, side));
        for all in dense.into_iter().chain([panels(100, 32), panels(40, 8), panels(32, 32), panels(30, 32)]) {
            assert!(all.len() >= WORTH_SHARING, "{all:?} is not shared");
            let alone = computed(all, 1);
            for threads in [2, 3, 7] {
                assert!(computed(all, threads) == alone, "{all:?} on {threads} threads");
            }
        }
    }
}
