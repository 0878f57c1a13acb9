//! Runs a batch whose rows meet in batch statistics alone: in blocks of rows, on all threads, which wait for one another
//! at the moments of each batch normalisation, and backward at the sums of its pullback.
//!
//! What a block reads and writes between two meetings stays in a core's own cache, if its rows are few enough. The moments
//! of the batch follow from those of the blocks (Chan, Golub and LeVeque 1979, "Updating formulae and a pairwise algorithm
//! for computing sample variances", formula 2.1): `mean = sum n_b mean_b / n` and
//! `squares = sum squares_b + sum n_b (mean_b - mean)^2`.
//!
//! A shard is a run of neighbouring blocks that add up their gradients in one place. The numbers of blocks and shards depend on
//! the rows alone, and sums over them are made in order, which gives the same bits for any number of threads.
//!
//! Memory, one arena for a forward call: the values of what changes the state, the moments, then the values of each block.
//! Another one for a backward call: for each shard its gradients, and the adjoints of each of its blocks.

use std::array;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use super::blocks::{ArrayRanges, MOST_SHARDS, affordable_shards, split};
use super::buffer_assignment::{ALIGNMENT, BufferAssignment};
use super::executor::{Executor, Meeting, Meetings, OutOfRange, Run};
use super::lock;
use super::lockstep::in_lockstep;
use super::tensor_lists::{TensorLists, with_lists};
use crate::device::{Element, HostBuffer, ReadPointer, ReadTensors, WritePointer, WriteTensors};
use crate::error::Result;
use crate::graph::batch_statistics::{updates, without_updates};
use crate::graph::program::Argument;
use crate::graph::{Module, Program};
use crate::kernels::Scalar;

/// Rows of a block are a multiple of this many where there are several blocks: kernels take as many together.
const ROWS_TOGETHER: usize = 16;

/// A batch in blocks, for numbers of type T.
pub struct Stages<T> {
    block: Block<T>,
    /// The last block, where it has fewer rows.
    tail: Option<Block<T>>,
    count: usize,
    /// Blocks of a shard; the last one may have fewer.
    per_shard: usize,
    /// Computes the new state.
    updates: Executor<T>,
    /// Bytes of a block's part of each argument; 0 where all rows share it.
    steps: Vec<usize>,
    /// Bytes of a block's results.
    results: usize,
    /// The gradients of a shard, one for each argument: empty where none is wanted.
    gradients: ArrayRanges,
    /// The moments of each meeting.
    moments: ArrayRanges,
    statistics: Mutex<Statistics>,
}

/// Rows that are run together.
struct Block<T> {
    executor: Executor<T>,
    meetings: Meetings,
}

/// What blocks leave for one another.
struct Statistics {
    /// Of each block, [2, channels].
    blocks: HostBuffer<f64>,
    /// Of all.
    batch: Vec<f64>,
}

/// The parts of the shards, one for each at most.
struct Shards<'a, T> {
    parts: [Mutex<Part<'a, T>>; MOST_SHARDS],
    /// Statistics of a block.
    each: usize,
}

/// A shard's part of the memory, and its blocks' statistics.
type Part<'a, T> = (&'a mut [T], &'a mut [f64]);

impl<'a, T> Shards<'a, T> {
    /// Parts of `size` elements of `memory`, and with `each` statistics for each of `blocks` blocks.
    fn new(memory: &'a mut [T], size: usize, statistics: &'a mut [f64], [each, blocks]: [usize; 2]) -> Self {
        let mut parts = memory.chunks_mut(size).zip(statistics.chunks_mut(each * blocks));
        Shards { parts: array::from_fn(|_| Mutex::new(parts.next().unwrap_or_default())), each }
    }

    /// Calls `read` with the number of each block and its statistics.
    fn each_block(&self, mut read: impl FnMut(usize, &[f64])) {
        let mut index = 0;
        for part in self.parts.iter().map(lock) {
            for own in part.1.chunks(self.each) {
                read(index, own);
                index += 1;
            }
        }
    }
}

/// Rows of a block for a batch of this many, if `most` are suitable; `None` if there would be a single block. No block has a single
/// row.
pub fn block_rows(rows: usize, most: usize) -> Option<usize> {
    let count = rows.div_ceil(most.max(1));
    let even = rows.div_ceil(count.max(1)).next_multiple_of(ROWS_TOGETHER).min(most);
    let multiples = (1..=even / ROWS_TOGETHER).rev().map(|multiple| multiple * ROWS_TOGETHER);
    multiples.chain((2..=even).rev()).find(|&own| rows % own != 1).filter(|_| count > 1)
}

impl<T: Scalar + Element> Stages<T> {
    /// For `whole`, the program of `rows` rows in training, in blocks of `own` rows; `program` is the same for another number of
    /// rows. `None` if blocks of it would compute something else.
    pub fn new(
        module: &Module,
        whole: &Program,
        [rows, own]: [usize; 2],
        program: impl Fn(usize) -> Result<Program>,
    ) -> Result<Option<Self>> {
        let (count, left) = (rows.div_ceil(own), rows % own);
        // A function that takes the whole batch may take no block of it.
        let Ok(of_block) = program(own) else { return Ok(None) };
        let Ok(of_tail) = (left > 0).then(|| program(left)).transpose() else { return Ok(None) };
        let Some(of_updates) = updates(whole)? else { return Ok(None) };
        let of_block = without_updates(&of_block)?;
        let of_tail = of_tail.map(|tail| without_updates(&tail)).transpose()?;
        let first_drawn = whole.arguments.len() - whole.dropout.len();
        let has_rows = |index: usize| index == 0 || index >= first_drawn;
        let length = |program: &Program, index: usize| program.arguments[index].view.len();
        let adds_up = (0..whole.arguments.len()).filter(|&index| has_rows(index)).all(|index| {
            let tail = of_tail.as_ref().map_or(0, |tail| length(tail, index));
            length(whole, index) == (rows / own) * length(&of_block, index) + tail
        });
        let block = Block::new(&of_block)?;
        let tail = of_tail.as_ref().map(Block::new).transpose()?;
        let given = of_updates.arguments.len() - whole.arguments.len();
        let of_whole = Block::new(&without_updates(whole)?)?;
        if !adds_up || given == 0 || given != block.meetings.forward.len() || !of_whole.is_made_of(&block, count, &tail)
        {
            return Ok(None);
        }
        let bytes = |index: usize| if has_rows(index) { length(&of_block, index) * size_of::<T>() } else { 0 };
        let gradient = |argument: &Argument| if argument.gradient { argument.view.len() } else { 0 };
        let gradients = ArrayRanges::new(of_block.arguments.iter().map(gradient));
        let most = block.most_statistics();
        Ok(Some(Stages {
            steps: (0..whole.arguments.len()).map(bytes).collect(),
            results: own * module.outputs() * size_of::<T>(),
            per_shard: count.div_ceil(affordable_shards(&gradients)),
            gradients,
            moments: ArrayRanges::new(block.meetings.forward.iter().map(Meeting::statistics)),
            statistics: Mutex::new(Statistics { blocks: HostBuffer::zeros(count * most)?, batch: vec![0.0; most] }),
            updates: Executor::new(&of_updates, &BufferAssignment::new(&of_updates))?,
            block,
            tail,
            count,
        }))
    }

    fn shards(&self) -> usize {
        self.count.div_ceil(self.per_shard)
    }

    fn block(&self, index: usize) -> &Block<T> {
        self.tail.as_ref().filter(|_| index + 1 == self.count).unwrap_or(&self.block)
    }

    /// Numbers of a block's arena, of values or adjoints.
    fn block_length(&self, which: usize) -> usize {
        let length = |block: &Block<T>| block.executor.arenas()[which];
        self.tail.as_ref().map_or(0, length).max(length(&self.block)).next_multiple_of(ALIGNMENT).max(ALIGNMENT)
    }

    /// Numbers of a shard's gradients and adjoints.
    fn shard_length(&self) -> usize {
        self.gradients.length + self.per_shard * self.block_length(1)
    }

    /// Values of what changes the state, and moments.
    fn value_regions(&self) -> [usize; 2] {
        [self.updates.arenas()[0].next_multiple_of(ALIGNMENT), self.moments.length]
    }

    fn statistics(&self) -> MutexGuard<'_, Statistics> {
        lock(&self.statistics)
    }

    /// `memory` in parts of `size` elements for the shards.
    fn shards_of<'a>(&self, memory: &'a mut [T], size: usize, statistics: &'a mut HostBuffer<f64>) -> Shards<'a, T> {
        let statistics = statistics.as_mut_slice();
        let each = statistics.len() / self.count;
        Shards::new(memory, size, statistics, [each, self.per_shard])
    }

    /// The arguments as block `index` reads them.
    fn list_inputs(&self, lists: &mut TensorLists, inputs: &[ReadPointer], index: usize) {
        lists.inputs.extend(inputs.iter().zip(&self.steps).map(|(input, step)| input.behind(index * step)));
    }

    /// The moments of meeting `number` from those of the blocks.
    fn combine(&self, number: usize, shards: &Shards<T>, batch: &mut [f64], moments: &mut [T]) {
        let channels = moments.len() / 2;
        let (means, squares) = batch[..2 * channels].split_at_mut(channels);
        let count = |index: usize| self.block(index).meetings.forward[number].count() as f64;
        let all: f64 = (0..self.count).map(count).sum();
        means.fill(0.0);
        squares.fill(0.0);
        shards.each_block(|index, own| {
            means.iter_mut().zip(own).for_each(|(sum, own)| *sum += count(index) * own);
        });
        means.iter_mut().for_each(|sum| *sum /= all);
        shards.each_block(|index, own| {
            let (own_means, own_squares) = own[..2 * channels].split_at(channels);
            let apart = means.iter().zip(own_means).map(|(mean, own)| count(index) * (own - mean).powi(2));
            squares.iter_mut().zip(own_squares).zip(apart).for_each(|((sum, own), apart)| *sum += own + apart);
        });
        let deviations = squares.iter().map(|squares| (squares / all).sqrt());
        let found = means.iter().copied().chain(deviations);
        moments.iter_mut().zip(found).for_each(|(moment, found)| *moment = T::from_f64(found));
    }

    /// Elements of a channel in all blocks, at a meeting of the reverse pass.
    fn elements(&self, number: usize) -> usize {
        (0..self.count).map(|index| self.block(index).meetings.backward[number].count()).sum()
    }
}

impl<T: Scalar + Element> Block<T> {
    fn new(program: &Program) -> Result<Self> {
        let executor = Executor::new(program, &BufferAssignment::new(program))?;
        Ok(Block { meetings: executor.meetings(), executor })
    }

    /// Whether `count` blocks, of which the last is `tail` if there is one, come to the same meetings, each with its share of the
    /// elements and no others. Rows that all events share, such as `batch_norm(cat([x, anchors]))`, would count in every block.
    fn is_made_of(&self, block: &Block<T>, count: usize, tail: &Option<Block<T>>) -> bool {
        let alike = count - usize::from(tail.is_some());
        let agree = |of: fn(&Meetings) -> &[Meeting]| {
            let [own, of_block] = [self, block].map(|each| of(&each.meetings));
            let of_tail = tail.as_ref().map(|tail| of(&tail.meetings));
            own.len() == of_block.len()
                && of_tail.is_none_or(|tail| tail.len() == own.len())
                && own.iter().zip(of_block).enumerate().all(|(at, (own, of_block))| {
                    let last = of_tail.map(|tail| &tail[at]);
                    own.is_as(of_block)
                        && last.is_none_or(|last| own.is_as(last))
                        && own.count() == alike * of_block.count() + last.map_or(0, Meeting::count)
                })
        };
        agree(|meetings| &meetings.forward) && agree(|meetings| &meetings.backward)
    }

    /// The most numbers of a meeting.
    fn most_statistics(&self) -> usize {
        let meetings = self.meetings.forward.iter().chain(&self.meetings.backward);
        meetings.map(Meeting::statistics).max().unwrap_or(0)
    }
}

impl<T: Scalar + Element> Run<T> for Stages<T> {
    fn arenas(&self) -> [usize; 2] {
        let values: usize = self.value_regions().iter().sum();
        [values + self.count * self.block_length(0), self.shards() * self.shard_length()]
    }

    fn prepare(&self, values: &mut [T]) {
        let ([of_updates, _], blocks) = split(values, self.value_regions());
        self.updates.prepare(of_updates);
        for (index, values) in blocks.chunks_mut(self.block_length(0)).enumerate() {
            self.block(index).executor.prepare(values);
        }
    }

    /// Blocks are what the threads share.
    fn forward(
        &self,
        values: &mut [T],
        inputs: ReadTensors,
        outputs: WriteTensors,
        _threads: usize,
    ) -> Result<(), OutOfRange> {
        let ([of_updates, moments], blocks) = split(values, self.value_regions());
        let (size, per_shard) = (self.block_length(0), self.per_shard);
        let (inputs, outputs) = (inputs.as_slice(), outputs.as_slice());
        let Statistics { blocks: statistics, batch } = &mut *self.statistics();
        let shards = self.shards_of(blocks, per_shard * size, statistics);
        let (failed, known) = (AtomicUsize::new(usize::MAX), RwLock::new(&mut *moments));
        let run = |stage: usize, shard: usize| {
            let before = stage.checked_sub(1);
            let known = known.read().unwrap_or_else(PoisonError::into_inner);
            let known = before.map_or(&[][..], |before| &known[self.moments.ranges[before].clone()]);
            let (values, statistics) = &mut *lock(&shards.parts[shard]);
            let parts = values.chunks_mut(size).zip(statistics.chunks_mut(shards.each));
            for (index, (values, own)) in (shard * per_shard..).zip(parts) {
                let Block { executor, meetings } = self.block(index);
                let meeting = |number: Option<usize>| meetings.forward.get(number?);
                with_lists(|lists| {
                    self.list_inputs(lists, inputs, index);
                    lists.written.push(outputs[0].behind(index * self.results));
                    // SAFETY: the caller's tensors, by the promises of `ReadTensors` and `WriteTensors`, from the block's own rows
                    // on, as long as those of the block's program; no other block writes these results.
                    let (inputs, outputs) =
                        unsafe { (ReadTensors::new(&lists.inputs), WriteTensors::new(&lists.written)) };
                    let between = [meeting(before), meeting(Some(stage))];
                    let done = executor.forward_between(between, known, values, inputs, outputs, own);
                    if let Err(OutOfRange { observed }) = done {
                        failed.fetch_min(observed, Ordering::Relaxed);
                    }
                });
            }
        };
        in_lockstep(self.moments.ranges.len() + 1, self.shards(), run, |stage| {
            if let Some(range) = self.moments.ranges.get(stage) {
                let mut moments = known.write().unwrap_or_else(PoisonError::into_inner);
                self.combine(stage, &shards, batch, &mut moments[range.clone()]);
            }
            failed.load(Ordering::Relaxed) == usize::MAX
        });
        if let observed @ ..usize::MAX = failed.into_inner() {
            return Err(OutOfRange { observed });
        }
        let moments = ReadPointer::of(moments);
        with_lists(|lists| {
            lists.inputs.extend(inputs);
            lists.inputs.extend(self.moments.ranges.iter().map(|range| moments.at::<T>(range.start)));
            lists.written.extend(&outputs[1..]);
            // SAFETY: the caller's tensors, and moments of the arena, which nobody changes any more.
            let (inputs, outputs) = unsafe { (ReadTensors::new(&lists.inputs), WriteTensors::new(&lists.written)) };
            self.updates.forward(of_updates, inputs, outputs, 1)
        })
    }

    fn backward(
        &self,
        values: &[T],
        adjoints: &mut [T],
        inputs: ReadTensors,
        seeds: ReadTensors,
        sum: bool,
        mut gradients: WriteTensors,
        _threads: usize,
    ) {
        let blocks = &values[self.value_regions().iter().sum()..];
        let [size, of_adjoints] = [0, 1].map(|which| self.block_length(which));
        let (per_shard, own_length) = (self.per_shard, self.gradients.length);
        let (inputs, seeds) = (inputs.as_slice(), seeds.as_slice());
        let Statistics { blocks: statistics, batch } = &mut *self.statistics();
        let shards = self.shards_of(adjoints, self.shard_length(), statistics);
        let sums = RwLock::new(batch);
        let run = |stage: usize, shard: usize| {
            let before = stage.checked_sub(1);
            let all = sums.read().unwrap_or_else(PoisonError::into_inner);
            let count = before.map_or(0, |before| self.elements(before));
            let (memory, statistics) = &mut *lock(&shards.parts[shard]);
            let (found, adjoints) = memory.split_at_mut(own_length);
            let found = WritePointer::of(found);
            let parts = adjoints.chunks_mut(of_adjoints).zip(statistics.chunks_mut(shards.each));
            for (index, (adjoints, own)) in (shard * per_shard..).zip(parts) {
                let Block { executor, meetings } = self.block(index);
                let meeting = |number: Option<usize>| meetings.backward.get(number?);
                let values = &blocks[index * size..][..size];
                with_lists(|lists| {
                    self.list_inputs(lists, inputs, index);
                    lists.seeds.push(seeds[0].behind(index * self.results));
                    lists.written.extend(self.gradients.ranges.iter().map(|range| match range.is_empty() {
                        true => WritePointer::NULL,
                        false => found.at::<T>(range.start),
                    }));
                    // SAFETY: as in `forward`; the gradients are parts of the shard's memory.
                    let (inputs, seeds, gradients) = unsafe {
                        (
                            ReadTensors::new(&lists.inputs),
                            ReadTensors::new(&lists.seeds),
                            WriteTensors::new(&lists.written),
                        )
                    };
                    let between = [meeting(before), meeting(Some(stage))];
                    let is_first = index == shard * per_shard;
                    executor.backward_between(
                        between,
                        (own, &all[..], count),
                        values,
                        adjoints,
                        inputs,
                        seeds,
                        !is_first,
                        gradients,
                    );
                });
            }
        };
        in_lockstep(self.block.meetings.backward.len() + 1, self.shards(), run, |stage| {
            if let Some(meeting) = self.block.meetings.backward.get(stage) {
                let sums = &mut sums.write().unwrap_or_else(PoisonError::into_inner)[..meeting.statistics()];
                sums.fill(0.0);
                shards.each_block(|_, own| sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own));
            }
            true
        });
        for (index, range) in self.gradients.ranges.iter().enumerate().filter(|(_, range)| !range.is_empty()) {
            let to = gradients.write::<T>(index, range.len());
            for (shard, memory) in adjoints.chunks(self.shard_length()).enumerate() {
                let found = &memory[range.clone()];
                match sum || shard > 0 {
                    true => T::add(found, to),
                    false => to.copy_from_slice(found),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_similar_numbers_of_rows_and_none_has_a_single_one() {
        for (rows, most) in (1..2000).flat_map(|rows| [1, 2, 3, 4, 48, 128].map(|most| (rows, most))) {
            let Some(own) = block_rows(rows, most) else {
                let leaves_one = (2..=most).all(|own| rows % own == 1);
                assert!(leaves_one || rows <= most, "{rows} rows in blocks of {most}");
                continue;
            };
            assert!((2..=most).contains(&own) && rows % own != 1, "{rows} rows in blocks of {own}");
            assert!(rows > own, "{rows} rows in blocks of {own}");
        }
        let of_128 = |rows: usize| block_rows(rows, 128);
        assert_eq!([256, 513, 4096, 4097].map(of_128), [128, 112, 128, 112].map(Some));
        assert_eq!(of_128(128), None);
    }
}
