//! Runs a program block by block of its rows: see [`crate::graph::rows`].
//!
//! Values that all rows share are computed before the blocks, those that depend on sums over rows after them; backward
//! the other way round. A block's values, written forward and read backward, fit in a core's own cache together with
//! its adjoints. A shard is a run of neighbouring blocks that add up their gradients of the shared values in one place.
//! The numbers of blocks and shards depend on the program alone, and sums over them are made in order, which gives the
//! same bits for any number of threads.
//!
//! Memory, one arena for a forward call: the values of the parts before and after, what they hand on, and the sums of
//! each block; then the values of each block. Another one for a backward call, likewise, with adjoints of a block for each
//! shard.

mod memory;
mod piece;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::buffer_assignment::ALIGNMENT;
use super::chunks::each_chunk;
use super::executor::{Executor, OutOfRange, Run};
use super::tensor_lists::with_lists;
use crate::device::{Element, ReadPointer, ReadTensors, WritePointer, WriteTensors};
use crate::error::Result;
use crate::graph::Program;
use crate::graph::outputs::{Outputs, selected};
use crate::graph::program::{Node, Primitive};
use crate::graph::rows::{Input, RowCut};
use crate::kernels::Scalar;
pub(super) use memory::split;
pub(super) use piece::ArrayRanges;
use piece::{Argument, Piece};

/// Bytes of the values of a block: with its adjoints they stay in a core's own cache of 1 to 2 MB. On a Xeon with 2 MB
/// twice or half as many make 0 to 15 % of difference; smaller products pay more often for laying out their weights.
const BLOCK_BYTES: usize = 512 << 10;

/// The same where no product lays out weights, so that what one operator leaves is near when the next one reads it: a sum of
/// squares of a million numbers takes half to two thirds of the time. With half as many bytes the calls begin to cost.
const SMALL_BLOCK_BYTES: usize = 128 << 10;

/// Elements that an operator has in a block at least, on the average: with fewer the calls take as long as the work, however
/// near the values are. From 512 to 4096 make little difference for chains of 150 to 1200 element-wise operators.
const FEWEST_ELEMENTS: usize = 1024;

/// Most shards, and most numbers that their gradients hold together.
pub(super) const MOST_SHARDS: usize = 16;
const MOST_GRADIENT_ELEMENTS: usize = 1 << 22;

/// Shards whose gradients may each have this length, one at least.
pub(super) fn affordable_shards(gradients: &ArrayRanges) -> usize {
    (MOST_GRADIENT_ELEMENTS / gradients.length.max(1)).clamp(1, MOST_SHARDS)
}

/// Rows of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockRows {
    /// As many as suit the caches; no blocks where there would be a single one.
    Suitable,
    /// So many.
    Given(usize),
}

/// A program in blocks of rows, for numbers of type T.
pub struct Blocks<T> {
    before: Piece<T>,
    block: Piece<T>,
    /// The last block, where it has fewer rows.
    tail: Option<Piece<T>>,
    after: Piece<T>,
    /// Of a block, and blocks.
    rows: usize,
    count: usize,
    /// Of the rows' numbers.
    bytes: usize,
    shards: usize,
    /// Of the whole program.
    arguments: Vec<Argument>,
    /// Outputs of the program that blocks write, with the bytes of a row.
    row_outputs: Vec<(usize, usize)>,
    /// Those that the part after them writes.
    other_outputs: Vec<usize>,
    /// The values that the part before the blocks hands on, and the sums over rows.
    shared: ArrayRanges,
    totals: ArrayRanges,
}

/// The inputs of parts.
struct BlockInputs<'a> {
    caller: &'a [ReadPointer],
    shared: ReadPointer,
    totals: ReadPointer,
}

impl<T: Scalar + Element> Blocks<T> {
    /// Lays out the program; `None` where its rows cannot be told apart, or there would be a single block.
    pub fn new(program: &Program, wanted: BlockRows) -> Result<Option<Self>> {
        let Some(cut) = RowCut::find(program) else { return Ok(None) };
        let rows = match wanted {
            BlockRows::Suitable => suitable::<T>(&cut, block_bytes(program)),
            BlockRows::Given(rows) => rows.max(1),
        };
        let (count, left) = (cut.count().div_ceil(rows), cut.count() % rows);
        if count < 2 {
            return Ok(None);
        }
        let block = Piece::new(cut.block(rows)?, &cut)?;
        let before = Piece::new(cut.before()?, &cut)?;
        let shared = ArrayRanges::new(before.part.program.outputs.iter().map(|output| output.view.len()));
        Ok(Some(Blocks {
            tail: if left > 0 { Some(Piece::new(cut.block(left)?, &cut)?) } else { None },
            after: Piece::new(cut.after()?, &cut)?,
            rows,
            count,
            bytes: cut.count() * cut.numbers() * size_of::<T>(),
            shards: affordable_shards(&block.gradients).min(count),
            block,
            arguments: (0..program.arguments.len()).map(|index| Argument::new::<T>(program, &cut, index)).collect(),
            row_outputs: cut
                .row_outputs()
                .into_iter()
                .map(|output| (output, row_bytes::<T>(program, &cut, output)))
                .collect(),
            other_outputs: cut.other_outputs(),
            shared,
            totals: ArrayRanges::new(cut.totals()),
            before,
        }))
    }

    /// The program of one block and its buffer assignment, from which a function can be made that takes the place of its steps.
    pub fn block(&mut self) -> (&Program, &mut Executor<T>) {
        (&self.block.part.program, &mut self.block.executor)
    }

    /// The parts in which there is something to do, and the block, each with what it is for people.
    pub fn parts(&self) -> Vec<(String, &Program)> {
        let Blocks { before, block, after, count, rows, .. } = self;
        let is_idle = |piece: &Piece<T>| piece.part.program.nodes.is_empty();
        let mut parts = Vec::new();
        if !is_idle(before) {
            parts.push(("once for all rows".to_owned(), &before.part.program));
        }
        parts.push((format!("in {count} blocks of {rows} rows"), &block.part.program));
        if !is_idle(after) {
            parts.push(("once for the sums over rows".to_owned(), &after.part.program));
        }
        parts
    }
}

impl<T: Scalar + Element> Run<T> for Blocks<T> {
    fn arenas(&self) -> [usize; 2] {
        let values: usize = self.value_regions().iter().sum();
        let adjoints: usize = self.adjoint_regions().iter().sum();
        [values + self.count * self.block_values(), adjoints + self.shards * self.shard_length()]
    }

    fn prepare(&self, values: &mut [T]) {
        let ([before, _, after, ..], blocks) = split(values, self.value_regions());
        self.before.executor.prepare(before);
        self.after.executor.prepare(after);
        for (index, values) in blocks.chunks_mut(self.block_values()).enumerate() {
            self.piece(index).executor.prepare(values);
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
        self.run(values, inputs, outputs, self.count)
    }

    /// In the memory of a few blocks, which stays in the caches.
    fn infer(
        &self,
        values: &mut [T],
        inputs: ReadTensors,
        outputs: WriteTensors,
        _threads: usize,
    ) -> Result<(), OutOfRange> {
        self.run(values, inputs, outputs, self.count.min(MOST_SHARDS))
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
        let mut start = 0;
        let [before, shared, after, totals, _] = self.value_regions().map(|length| {
            start += length;
            &values[start - length..start]
        });
        let blocks = &values[start..];
        let sources =
            BlockInputs { caller: inputs.as_slice(), shared: ReadPointer::of(shared), totals: ReadPointer::of(totals) };
        let seeds = seeds.as_slice();
        let ([after_adjoints, of_after, of_shared, before_adjoints, of_before], shards) =
            split(adjoints, self.adjoint_regions());

        let results = self.other_outputs.iter().map(|&output| seeds[output]);
        let (found, given_after) = (WritePointer::of(of_after), selected(results.clone().map(|seed| !seed.is_null())));
        self.run_backward(&self.after, after, after_adjoints, &sources, 0, results, |_, at| found.at::<T>(at));
        let found = found.to_read();

        let caller = gradients.as_slice();
        let (length, common) = (self.shard_length(), self.block.gradients.length);
        self.each_chunk(self.shards, shards, length, |shard, memory| {
            let (adjoints, own) = memory.split_at_mut(length - 2 * common);
            let (total, term) = own.split_at_mut(common);
            let blocks_of_shard = self.share(shard, self.shards);
            for index in blocks_of_shard.clone() {
                let is_first = index == blocks_of_shard.start;
                let target = WritePointer::of(if is_first { &mut *total } else { &mut *term });
                let rows =
                    self.row_outputs.iter().map(|&(output, step)| seeds[output].behind(index * self.rows * step));
                let results = rows.chain(self.total_seeds(found, given_after));
                let values = &blocks[index * self.block_values()..][..self.block_values()];
                let gradient = |argument: Option<usize>, at: usize| match argument {
                    // Behind the arguments that have gradients come those that are drawn.
                    Some(row) => caller.get(row).map_or(WritePointer::NULL, |first| {
                        first.behind(index * self.rows * self.arguments[row].gradient_step)
                    }),
                    None => target.at::<T>(at),
                };
                self.run_backward(self.piece(index), values, adjoints, &sources, index, results, gradient);
                if !is_first {
                    T::add(term, total);
                }
            }
        });
        let own = length - 2 * common..length - common;
        let (first, others) = shards.split_at_mut(length);
        others.chunks(length).for_each(|shard| T::add(&shard[own.clone()], &mut first[own.clone()]));

        of_shared.fill(T::default());
        for (index, argument) in self.arguments.iter().enumerate().filter(|_| !sum) {
            if let Some(length) = argument.common {
                gradients.write::<T>(index, length).fill(T::default());
            }
        }
        self.give(&self.block, &first[own], of_shared, &mut gradients);
        self.give(&self.after, of_after, of_shared, &mut gradients);
        let row_seeds = self.row_outputs.iter().map(|&(output, _)| seeds[output]);
        let block_seeds = row_seeds.chain(self.total_seeds(found, given_after));
        let given_block = selected(block_seeds.map(|seed| !seed.is_null()));
        let is_reached = |shared: usize| {
            let reaches = |piece: &Piece<T>, given: Outputs| {
                let inputs = piece.part.inputs.iter().enumerate();
                let mut places = inputs.filter(|(_, input)| **input == Input::Shared(shared)).map(|(place, _)| place);
                places.any(|place| piece.executor.reaches(place, given))
            };
            reaches(&self.after, given_after) || reaches(&self.block, given_block)
        };
        let (seeds, found) = (ReadPointer::of(of_shared), WritePointer::of(of_before));
        let ranges = self.shared.ranges.iter().enumerate();
        let results = ranges.map(|(shared, range)| match is_reached(shared) {
            true => seeds.at::<T>(range.start),
            false => ReadPointer::NULL,
        });
        self.run_backward(&self.before, before, before_adjoints, &sources, 0, results, |_, at| found.at::<T>(at));
        self.give(&self.before, of_before, of_shared, &mut gradients);
    }
}

impl<T: Scalar + Element> Blocks<T> {
    /// On several threads, unless there are so few numbers that waking them would cost more.
    fn each_chunk(&self, count: usize, memory: &mut [T], size: usize, run: impl Fn(usize, &mut [T]) + Send + Sync) {
        match self.bytes > BLOCK_BYTES {
            true => each_chunk(count, memory, size, run),
            false => memory.chunks_mut(size).enumerate().for_each(|(index, part)| run(index, part)),
        }
    }

    /// The blocks of one of `shards` shards.
    fn share(&self, shard: usize, shards: usize) -> Range<usize> {
        self.count * shard / shards..self.count * (shard + 1) / shards
    }

    /// Runs all blocks, in `shards` shards that the threads share, each in the memory of one block; a last block with fewer rows
    /// has its own.
    fn run(
        &self,
        values: &mut [T],
        inputs: ReadTensors,
        outputs: WriteTensors,
        shards: usize,
    ) -> Result<(), OutOfRange> {
        let ([before, shared, after, totals, sums], blocks) = split(values, self.value_regions());
        let shared = WritePointer::of(shared);
        let read_totals = |totals: &[T]| BlockInputs {
            caller: inputs.as_slice(),
            shared: shared.to_read(),
            totals: ReadPointer::of(totals),
        };
        let sources = read_totals(totals);
        let outputs = outputs.as_slice();
        let handed_on = self.shared.ranges.iter().map(|range| shared.at::<T>(range.start));
        self.run_forward(&self.before, before, &sources, 0, handed_on)?;

        let (failed, sums_at) = (AtomicUsize::new(usize::MAX), WritePointer::of(sums));
        let run = |index: usize, values: &mut [T]| {
            let rows = self.row_outputs.iter().map(|&(output, step)| outputs[output].behind(index * self.rows * step));
            let own = sums_at.at::<T>(index * self.totals.length);
            let results = rows.chain(self.totals.ranges.iter().map(|range| own.at::<T>(range.start)));
            if let Err(OutOfRange { observed }) = self.run_forward(self.piece(index), values, &sources, index, results)
            {
                failed.fetch_min(observed, Ordering::Relaxed);
            }
        };
        let size = self.block_values();
        if shards == self.count {
            self.each_chunk(shards, blocks, size, run);
        } else {
            let (blocks, last) = blocks.split_at_mut((self.count - 1) * size);
            let last = Mutex::new(last);
            self.each_chunk(shards, &mut blocks[..shards * size], size, |shard, values| {
                for index in self.share(shard, shards) {
                    match index + 1 == self.count {
                        true => run(index, &mut last.lock().unwrap_or_else(PoisonError::into_inner)),
                        false => run(index, values),
                    }
                }
            });
        }
        let observed = failed.into_inner();
        if observed < usize::MAX {
            return Err(OutOfRange { observed });
        }
        if !totals.is_empty() {
            add_in_pairs(sums, totals.len());
            totals.copy_from_slice(&sums[..totals.len()]);
        }
        let results = self.other_outputs.iter().map(|&output| outputs[output]);
        self.run_forward(&self.after, after, &read_totals(totals), 0, results)
    }

    fn run_forward(
        &self,
        piece: &Piece<T>,
        values: &mut [T],
        sources: &BlockInputs,
        index: usize,
        results: impl Iterator<Item = WritePointer>,
    ) -> Result<(), OutOfRange> {
        with_lists(|lists| {
            lists.inputs.extend(self.inputs(piece, sources, index));
            lists.written.extend(results);
            // SAFETY: the caller's tensors, by the promises of `ReadTensors` and `WriteTensors`, from the block's own rows on,
            // and regions of the arena that nobody else has: as long as the part says, for it was cut out of the whole program.
            let (inputs, outputs) = unsafe { (ReadTensors::new(&lists.inputs), WriteTensors::new(&lists.written)) };
            piece.executor.forward(values, inputs, outputs, 1)
        })
    }

    /// `gradient`: where that of an argument goes, by its number if rows have their own, and by its place.
    #[allow(clippy::too_many_arguments)] // Those of the executor, and where to take them.
    fn run_backward(
        &self,
        piece: &Piece<T>,
        values: &[T],
        adjoints: &mut [T],
        sources: &BlockInputs,
        index: usize,
        seeds: impl Iterator<Item = ReadPointer>,
        gradient: impl Fn(Option<usize>, usize) -> WritePointer,
    ) {
        with_lists(|lists| {
            lists.inputs.extend(self.inputs(piece, sources, index));
            lists.seeds.extend(seeds);
            let places = piece.part.inputs.iter().zip(&piece.gradients.ranges);
            lists.written.extend(places.map(|(input, range)| match *input {
                Input::Argument(argument) if self.arguments[argument].has_rows() => {
                    gradient(Some(argument), range.start)
                }
                _ => gradient(None, range.start),
            }));
            // SAFETY: as in `run_forward`.
            let (inputs, seeds, gradients) = unsafe {
                (ReadTensors::new(&lists.inputs), ReadTensors::new(&lists.seeds), WriteTensors::new(&lists.written))
            };
            piece.executor.backward(values, adjoints, inputs, seeds, false, gradients, 1);
        });
    }

    /// Adds the gradients that a part found to those of the caller's arguments, and of what the first part handed on.
    fn give(&self, piece: &Piece<T>, found: &[T], of_shared: &mut [T], gradients: &mut WriteTensors) {
        for (input, range) in
            piece.part.inputs.iter().zip(&piece.gradients.ranges).filter(|(_, range)| !range.is_empty())
        {
            match *input {
                Input::Argument(index) => T::add(&found[range.clone()], gradients.write(index, range.len())),
                Input::Shared(index) => {
                    T::add(&found[range.clone()], &mut of_shared[self.shared.ranges[index].clone()])
                }
                Input::Total(_) => (),
            }
        }
    }

    /// Where the adjoint of each sum over rows lies, if the part after the blocks left its gradients at `found`; null for
    /// those that it does not read, or of which it has found nothing.
    fn total_seeds(&self, found: ReadPointer, given: Outputs) -> impl Iterator<Item = ReadPointer> {
        (0..self.totals.ranges.len()).map(move |total| {
            let position = self.after.part.inputs.iter().position(|input| *input == Input::Total(total));
            let position = position.filter(|&input| self.after.executor.reaches(input, given));
            position.map_or(ReadPointer::NULL, |input| found.at::<T>(self.after.gradients.ranges[input].start))
        })
    }

    fn inputs<'a>(
        &'a self,
        piece: &'a Piece<T>,
        sources: &'a BlockInputs,
        index: usize,
    ) -> impl Iterator<Item = ReadPointer> + 'a {
        piece.part.inputs.iter().map(move |input| match *input {
            Input::Argument(argument) => {
                sources.caller[argument].behind(index * self.rows * self.arguments[argument].step)
            }
            Input::Shared(output) => sources.shared.at::<T>(self.shared.ranges[output].start),
            Input::Total(total) => sources.totals.at::<T>(self.totals.ranges[total].start),
        })
    }

    /// That runs block `index`.
    fn piece(&self, index: usize) -> &Piece<T> {
        self.tail.as_ref().filter(|_| index + 1 == self.count).unwrap_or(&self.block)
    }

    /// Values of the part before the blocks, what it hands on; values of the part after them; the sums over rows, and
    /// of each block.
    fn value_regions(&self) -> [usize; 5] {
        let totals = self.totals.length;
        [self.before.values(), self.shared.length, self.after.values(), totals, self.count * totals]
    }

    /// Adjoints of the part after the blocks, its gradients; those of what the part before them handed on; adjoints of
    /// that part, its gradients.
    fn adjoint_regions(&self) -> [usize; 5] {
        let Blocks { before, after, shared, .. } = self;
        [after.adjoints(), after.gradients.length, shared.length, before.adjoints(), before.gradients.length]
    }

    /// Values of a block. Where they share memory, fewer rows may leave more of it unused.
    fn block_values(&self) -> usize {
        self.tail.as_ref().map_or(0, Piece::values).max(self.block.values())
    }

    /// Adjoints of a block, of some length in any case, then the gradients that rows have in common twice: of the shard,
    /// and of one block.
    fn shard_length(&self) -> usize {
        let tail = self.tail.as_ref().map_or(0, Piece::adjoints);
        self.block.adjoints().max(tail).max(ALIGNMENT) + 2 * self.block.gradients.length
    }
}

/// Rows of a block whose values suit the cache. What all rows share, which every block reads, and whose gradients it
/// writes, is not to be more than that. Values that share memory leave room for more rows, but every thread is to have a block;
/// and calls are not to take longer than their work.
fn suitable<T>(cut: &RowCut, bytes: usize) -> usize {
    let fitting = |numbers: usize| 1 << (bytes / size_of::<T>() / numbers.max(1)).max(1).ilog2();
    let shared = cut.count().div_ceil(MOST_SHARDS).next_power_of_two();
    let common = (cut.common_elements() / cut.numbers().max(1)).next_power_of_two();
    let worthwhile = cut.rows_with(FEWEST_ELEMENTS).next_power_of_two();
    fitting(cut.numbers_at_once()).min(shared.max(fitting(cut.numbers()))).max(common).max(worthwhile)
}

/// The sum of all `terms`, each of `length` numbers, in place of the first one: neighbours first, so that errors do not grow with
/// their number.
fn add_in_pairs<T: Scalar>(terms: &mut [T], length: usize) {
    let mut apart = length;
    while apart < terms.len() {
        for pair in terms.chunks_mut(2 * apart).filter(|pair| pair.len() > apart) {
            let (sum, term) = pair.split_at_mut(apart);
            T::add(&term[..length], &mut sum[..length]);
        }
        apart *= 2;
    }
}

fn block_bytes(program: &Program) -> usize {
    let lays_out = |node: &Node| matches!(node.primitive, Primitive::Product(_) | Primitive::Convolve(_));
    if program.nodes.iter().any(lays_out) { BLOCK_BYTES } else { SMALL_BLOCK_BYTES }
}

fn row_bytes<T>(program: &Program, cut: &RowCut, output: usize) -> usize {
    program.outputs[output].view.len() / cut.count() * size_of::<T>()
}
