//! One node of a program: its kernel forward, and its pullback.

mod backward;
mod forward;
mod kernel;
mod row_blocks;

use std::ops::Range;

use super::super::buffer_assignment::{BufferAssignment, Location};
use super::super::reverse::Begin;
use super::standardise;
use crate::device::{Element, ReadTensors, WriteTensors};
use crate::error::{Error, Result};
use crate::graph::Program;
use crate::graph::outputs::{Outputs, selected};
use crate::graph::program::{Kind, Node, Tensor};
use crate::kernels::Scalar;
use crate::kernels::strided::{Channels, Index, StridedView};
use kernel::{Convolved, kernel};
use row_blocks::RowBlocks;

pub(super) use kernel::Kernel;

/// An operand and its place in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    place: Location,
    length: usize,
    /// Whether it holds int64.
    is_index: bool,
}

impl Operand {
    /// Whether it is the numbers there, of which there are some.
    fn lies_at(&self, range: &Range<usize>) -> bool {
        self.place == Location::Arena(range.start) && !range.is_empty() && self.length > 0
    }
}

/// One node, with everything that can be known before the numbers.
pub(super) struct Step {
    pub kernel: Kernel,
    sources: Vec<Operand>,
    views: Vec<StridedView>,
    value: Value,
    /// Where the value's adjoint lies, unless nothing comes back to it.
    pub adjoint: Option<Given>,
    /// Of the active operands.
    targets: Vec<Option<(Location, Begin)>>,
    dependents: Outputs,
    /// Where memory begins, behind all adjoints, that its pullback may use meanwhile.
    scratch: usize,
    pub observed: usize,
}

/// Where a step writes its value.
enum Value {
    /// In the arena.
    Arena(Range<usize>),
    /// In the caller's output of that number, which has this many elements.
    Output(usize, usize),
}

/// Where the adjoint of a value lies.
#[derive(Clone, Copy, Debug)]
pub(super) enum Given {
    /// In the arena, from there on.
    Arena(usize),
    /// It is the seed of that number.
    Seed(usize),
}

/// The outputs that a step's value and its adjoint are, where they have no place of their own.
pub(super) struct Direct {
    pub value: Option<usize>,
    pub seed: Option<usize>,
    /// The outputs that depend on the step.
    pub dependents: Outputs,
}

impl Value {
    fn len(&self) -> usize {
        match self {
            Value::Arena(range) => range.len(),
            Value::Output(_, length) => *length,
        }
    }
}

/// A reverse pass, as its steps see it.
pub(super) struct Backward<'a, 'b, T> {
    pub values: Values<'a, T>,
    pub inputs: ReadTensors<'a>,
    pub seeds: ReadTensors<'a>,
    /// The outputs that have seeds.
    pub given: Outputs,
    pub adjoints: &'a mut [T],
    /// Whether the caller's gradients are added to.
    pub sum: bool,
    pub gradients: &'a mut WriteTensors<'b>,
    /// For one operator.
    pub threads: usize,
    /// Where the rows are some of a batch: what batch normalisation that is pulled back now knows of all.
    pub batch: Option<BatchSums<'a>>,
}

/// Sums [2, channels] of the pullback of batch normalisation, of a batch of which a pass has some rows.
#[derive(Clone, Copy)]
pub struct BatchSums<'a> {
    /// Over the rows of the pass.
    pub own: &'a [f64],
    /// Over all rows.
    pub all: &'a [f64],
    /// Elements of a channel in all rows.
    pub count: usize,
}

impl<'a, 'b, T: Element> Backward<'a, 'b, T> {
    /// Over `values`, with `adjoints` as scratch.
    pub fn new(
        values: &'a [T],
        adjoints: &'a mut [T],
        inputs: ReadTensors<'a>,
        seeds: ReadTensors<'a>,
        sum: bool,
        gradients: &'a mut WriteTensors<'b>,
        threads: usize,
    ) -> Self {
        let given = selected((0..seeds.len()).map(|index| seeds.is_given(index)));
        Backward { values: Values::all(values), inputs, seeds, given, adjoints, sum, gradients, threads, batch: None }
    }

    /// The same for one step.
    pub fn again(&mut self) -> Backward<'_, 'b, T> {
        let &mut Backward { values, inputs, seeds, given, sum, threads, batch, .. } = self;
        let Backward { adjoints, gradients, .. } = self;
        Backward { values, inputs, seeds, given, adjoints, sum, gradients, threads, batch }
    }
}

impl Location {
    /// The adjoint at this place.
    #[inline]
    pub(super) fn write<'a, T: Element>(
        self,
        arena: &'a mut [T],
        caller: &'a mut WriteTensors,
        length: usize,
    ) -> &'a mut [T] {
        match self {
            Location::Caller(index) => caller.write(index, length),
            Location::Arena(start) => &mut arena[start..start + length],
        }
    }
}

impl BufferAssignment {
    pub(super) fn source(&self, program: &Program, tensor: &Tensor) -> Operand {
        let (place, length) = (self.values[tensor.buffer], program.buffers[tensor.buffer].length);
        Operand { place, length, is_index: tensor.kind == Kind::Index }
    }
}

/// An arena of values as a step reads it: whole, or what lies before and behind the value that it writes.
#[derive(Clone, Copy)]
pub(super) struct Values<'a, T> {
    before: &'a [T],
    behind: &'a [T],
    /// Where the second part begins.
    start: usize,
}

impl<'a, T> Values<'a, T> {
    /// All of them.
    pub fn all(values: &'a [T]) -> Self {
        Values { before: values, behind: &[], start: values.len() }
    }

    /// The value in `range`, to be written, and the others.
    fn beside(values: &'a mut [T], range: &Range<usize>) -> (&'a mut [T], Self) {
        let (before, rest) = values.split_at_mut(range.start);
        let (value, behind) = rest.split_at_mut(range.len());
        (value, Values { before, behind, start: range.end })
    }

    #[inline]
    fn get(self, start: usize, length: usize) -> &'a [T] {
        if length == 0 {
            return &[]; // it has no place of its own
        }
        match start.checked_sub(self.start) {
            Some(start) => &self.behind[start..start + length],
            None => &self.before[start..start + length],
        }
    }
}

impl Operand {
    #[inline]
    pub fn read<'a, T: Element>(&self, values: Values<'a, T>, inputs: ReadTensors<'a>) -> &'a [T] {
        match self.place {
            Location::Caller(index) => inputs.read(index, self.length),
            Location::Arena(start) => values.get(start, self.length),
        }
    }
}

impl Step {
    /// Of a node, whose operands' pullbacks begin as `begins` says, with adjoints in `places`, behind which `scratch` begins.
    pub fn new(
        program: &Program,
        assignment: &BufferAssignment,
        node: &Node,
        begins: &[Option<Begin>],
        places: &[Option<Location>],
        direct: Direct,
        scratch: usize,
    ) -> Result<Self> {
        let Location::Arena(start) = assignment.values[node.buffer] else {
            return Err(Error::Internal("a node's value outside the arena".into()));
        };
        let targets = node.operands.iter().zip(begins);
        let length = program.buffers[node.buffer].length;
        let mut step = Step {
            kernel: kernel(program, node)?,
            sources: node.operands.iter().map(|operand| assignment.source(program, operand)).collect(),
            views: node.operands.iter().map(|operand| operand.view.strided()).collect::<Result<_>>()?,
            value: direct.value.map_or(Value::Arena(start..start + length), |output| Value::Output(output, length)),
            adjoint: match (places[node.buffer], direct.seed) {
                _ if begins.is_empty() => None,
                (_, Some(output)) => Some(Given::Seed(output)),
                (Some(Location::Arena(start)), None) => Some(Given::Arena(start)),
                _ => None,
            },
            targets: targets.map(|(operand, begin)| Some((places[operand.buffer]?, (*begin)?))).collect(),
            dependents: direct.dependents,
            scratch,
            observed: node.observed,
        };
        step.leave_what_stays(program, node)?;
        Ok(step)
    }

    /// Parts that are joined in their own memory are there already.
    fn leave_what_stays(&mut self, program: &Program, node: &Node) -> Result<()> {
        let Kernel::Concat { places, blocks, .. } = &mut self.kernel else { return Ok(()) };
        let stays = |source: &Operand| matches!(&self.value, Value::Arena(own) if source.lies_at(own));
        let moves: Vec<bool> = self.sources.iter().map(|source| !stays(source)).collect();
        *blocks = RowBlocks::new(program, node, &moves)?;
        retain(places, &moves);
        retain(&mut self.views, &moves);
        retain(&mut self.sources, &moves);
        Ok(())
    }

    /// The index that chooses elements: the second operand, an argument of integers or numbers that a kernel made.
    fn index<'a, T: Element>(&self, values: Values<'a, T>, inputs: ReadTensors<'a>) -> Index<'a, T> {
        let source = self.sources[1];
        match source.place {
            Location::Caller(index) if source.is_index => Index::Integers(inputs.read(index, source.length)),
            _ => Index::Numbers(source.read(values, inputs)),
        }
    }

    /// The memory of up to three operands.
    fn operands<'a, T: Element>(&self, values: Values<'a, T>, inputs: ReadTensors<'a>) -> [&'a [T]; 3] {
        std::array::from_fn(|i| self.sources.get(i).map_or(&[][..], |source| source.read(values, inputs)))
    }

    /// The operands of batch normalisation.
    fn standardised<'a, T: Element>(
        &self,
        channels: &Channels,
        eps: f64,
        values: Values<'a, T>,
        inputs: ReadTensors<'a>,
    ) -> standardise::Operands<'a, T> {
        let read = |operand: usize| self.sources[operand].read(values, inputs);
        standardise::Operands::new(channels, eps, read(0), read(1), read(2), read(3))
    }

    /// Where in the arena it writes its value; nowhere if that is the caller's.
    pub fn value_range(&self) -> Range<usize> {
        match &self.value {
            Value::Arena(range) => range.clone(),
            Value::Output(..) => 0..0,
        }
    }

    /// `spread` [2, channels] = the means of the channels of the operand, and the sums of squared deviations.
    pub fn spread<T: Scalar + Element>(
        &self,
        channels: Channels,
        values: &[T],
        inputs: ReadTensors,
        spread: &mut [f64],
    ) {
        let (mean, squares) = spread.split_at_mut(channels.channels);
        let x: &[T] = self.sources[0].read(Values::all(values), inputs);
        channels.spread(x, mean, squares);
    }

    /// The value that a forward pass left in the arena; empty if it is the caller's.
    fn value<'a, T>(&self, values: Values<'a, T>) -> &'a [T] {
        match &self.value {
            Value::Arena(range) => values.get(range.start, range.len()),
            Value::Output(..) => &[],
        }
    }
}

/// Keeps the elements with such a mark.
fn retain<V>(list: &mut Vec<V>, marks: &[bool]) {
    let mut marks = marks.iter();
    list.retain(|_| marks.next().is_some_and(|&mark| mark));
}
