//! Runs an observed function: a [`Program`] laid out once. With the `aot` back end each node is a call of a kernel that is
//! compiled into the library, and of its pullback in reverse; with `jit` one compiled function makes all of them.
//!
//! Memory: the values of all nodes lie in one arena, behind the literals. A node writes to other memory than it reads, but for parts that
//! are joined where most of them lie.
//! With gradients a forward call keeps all values for backward calls; without them a value may reuse the memory of
//! values that nothing reads any more. Adjoints lie in another arena, for one call: see [`Reverse`]. Only the first
//! calls allocate: their arenas.
//!
//! The first pullback that contributes to every element of an adjoint writes it, the others add through the operand's
//! view, so that buffers may be used any number of times, and views may overlap.

mod custom;
mod packed;
mod products;
mod rounded;
mod staged;
mod standardise;
mod step;

use std::ops::Range;

use super::buffer_assignment::{BufferAssignment, Location};
use super::jit::CompiledFunction;
use super::reverse::{Pullback, Reverse};
use crate::device::{Element, ReadTensors, WriteTensors};
use crate::error::Result;
use crate::graph::outputs::{Outputs, dependents};
use crate::graph::program::{Buffer, Origin, Primitive, Tensor};
use crate::graph::{Program, View};
use crate::kernels::Scalar;
use crate::kernels::strided::{self, StridedView};
pub use staged::{Meeting, Meetings};
use step::{Backward, Direct, Kernel, Operand, Step, Values};

/// Runs a program in two arenas: all of it at once, or block by block.
pub trait Run<T> {
    /// Numbers in an arena of values, and of adjoints.
    fn arenas(&self) -> [usize; 2];

    /// Writes what never changes to a new arena of values.
    fn prepare(&self, values: &mut [T]);

    /// Runs every node and writes the outputs; large operators run on this many threads of the current pool.
    fn forward(
        &self,
        values: &mut [T],
        inputs: ReadTensors,
        outputs: WriteTensors,
        threads: usize,
    ) -> Result<(), OutOfRange>;

    /// The same where no backward call will follow, so that the values need not stay.
    fn infer(
        &self,
        values: &mut [T],
        inputs: ReadTensors,
        outputs: WriteTensors,
        threads: usize,
    ) -> Result<(), OutOfRange> {
        self.forward(values, inputs, outputs, threads)
    }

    /// Runs every pullback and leaves the gradients, with `sum` added to what is there; `adjoints` is scratch, `seeds` those
    /// of the user's outputs. Where arguments have rows of their own in blocks, their gradients are not added to.
    #[allow(clippy::too_many_arguments)] // What a reverse pass reads and writes.
    fn backward(
        &self,
        values: &[T],
        adjoints: &mut [T],
        inputs: ReadTensors,
        seeds: ReadTensors,
        sum: bool,
        gradients: WriteTensors,
        threads: usize,
    );
}

/// A program laid out for numbers of type T.
pub struct Executor<T> {
    steps: Vec<Step>,
    /// Runs all steps but the loads, where there is one.
    function: Option<CompiledFunction<T>>,
    literals: Vec<(Range<usize>, Vec<T>)>,
    outputs: Vec<Output>,
    adjoints: Adjoints,
    /// For each argument the outputs that depend on it.
    arguments: Vec<Outputs>,
    /// Numbers in the arena of values.
    length: usize,
}

/// Adjoints at the ends of the reverse pass.
struct Adjoints {
    /// Of results.
    results: Vec<Option<Location>>,
    /// Those that are zero before any pullback, with their lengths.
    zero: Vec<(Location, usize)>,
    /// Gradients that a function leaves in the arena: argument, place.
    left: Vec<(usize, Range<usize>)>,
    /// Numbers in their arena, with what pullbacks need meanwhile.
    length: usize,
}

struct Output {
    source: Operand,
    view: StridedView,
    dense: StridedView,
    /// Whether the step that computes it writes it: it is nowhere else.
    is_direct: bool,
}

/// For each buffer the output that it is, where no node and no other output reads it: its adjoint is the seed.
fn seeded_outputs(program: &Program) -> Vec<Option<usize>> {
    let mut direct = vec![None; program.buffers.len()];
    // The adjoint of what is loaded is a gradient; a packed layer takes its own from the arena.
    let no_pullback = |primitive: &Primitive| matches!(primitive, Primitive::Load(_) | Primitive::Linear(_));
    for node in program.nodes.iter().filter(|node| !no_pullback(&node.primitive)) {
        let is_whole = |output: &&Tensor| {
            output.view.offset == 0
                && output.view.is_contiguous()
                && output.view.len() == program.buffers[node.buffer].length
        };
        let mut outputs = program.outputs.iter().enumerate().filter(|(_, output)| output.buffer == node.buffer);
        if let (Some((index, output)), None) = (outputs.next(), outputs.next()) {
            direct[node.buffer] = Some(index).filter(|_| is_whole(&output) && !output.view.is_empty());
        }
    }
    for operand in program.nodes.iter().flat_map(|node| &node.operands) {
        direct[operand.buffer] = None;
    }
    direct
}

/// Those of them that a step can write where the caller wants them, since no pullback reads its own value.
fn direct_outputs(program: &Program, seeded: &[Option<usize>]) -> Vec<Option<usize>> {
    let mut direct = seeded.to_vec();
    for node in program.nodes.iter().filter(|node| needs_value(&node.primitive)) {
        direct[node.buffer] = None;
    }
    direct
}

/// Whether the pullback reads the result of the forward pass, or the forward operation is not a step of its own.
fn needs_value(primitive: &Primitive) -> bool {
    match primitive {
        Primitive::Map(_)
        | Primitive::Sum(_)
        | Primitive::Normalise { .. }
        | Primitive::Standardise { .. }
        | Primitive::Product(_)
        | Primitive::Convolve(_)
        | Primitive::Argsort(_)
        | Primitive::Gather(_)
        | Primitive::Scatter(_)
        | Primitive::Concat { .. } => false,
        Primitive::Load(_)
        | Primitive::Custom(_)
        | Primitive::Max { .. }
        | Primitive::Length(_)
        | Primitive::Moments(_)
        | Primitive::Softmax { .. }
        | Primitive::Linear(_)
        | Primitive::Round(_)
        | Primitive::Pack(_)
        | Primitive::Unpack(_) => true,
    }
}

/// An index out of range, in the step of this observed node.
#[derive(Debug)]
pub struct OutOfRange {
    /// Index into the observed nodes.
    pub observed: usize,
}

impl<T: Scalar + Element> Executor<T> {
    /// For a program and its buffer assignment.
    pub fn new(program: &Program, assignment: &BufferAssignment) -> Result<Self> {
        let pullbacks: Vec<Pullback> = program.nodes.iter().map(Pullback::of).collect();
        let reverse = Reverse::new(program, &pullbacks);
        let (places, length) = reverse.places(program, &pullbacks);
        let literal = |(buffer, place): (&Buffer, &Location)| match (&buffer.origin, place) {
            (Origin::Literal(values), &Location::Arena(start)) => {
                Some((start..start + values.len(), values.iter().map(|&value| T::from_f64(value)).collect()))
            }
            _ => None,
        };
        let steps = program.nodes.iter().zip(&reverse.steps);
        let scratch = program.nodes.iter().map(|node| rounded::scratch::<T>(&node.primitive)).max().unwrap_or(0);
        let (seeded, dependents) = (seeded_outputs(program), dependents(program, program.results()));
        let direct = direct_outputs(program, &seeded);
        let output = |tensor: &Tensor| -> Result<Output> {
            let (view, dense) = (tensor.view.strided()?, View::contiguous(&tensor.view.sizes).strided()?);
            let is_direct = direct[tensor.buffer].is_some();
            Ok(Output { source: assignment.source(program, tensor), view, dense, is_direct })
        };
        Ok(Executor {
            function: None,
            steps: steps
                .map(|(node, begins)| {
                    let [value, seed] = [&direct, &seeded].map(|outputs| outputs[node.buffer]);
                    let dependents = dependents[node.buffer];
                    let direct = Direct { value, seed, dependents };
                    Step::new(program, assignment, node, begins, &places, direct, length)
                })
                .collect::<Result<_>>()?,
            adjoints: Adjoints::new(program, &reverse.zero, &places, &seeded, length + scratch),
            literals: program.buffers.iter().zip(&assignment.values).filter_map(literal).collect(),
            outputs: program.outputs.iter().map(output).collect::<Result<_>>()?,
            arguments: program.arguments.iter().map(|argument| dependents[argument.buffer]).collect(),
            length: assignment.length,
        })
    }

    /// Whether an argument has a gradient by any of these outputs.
    pub fn reaches(&self, argument: usize, given: Outputs) -> bool {
        self.arguments[argument] & given != 0
    }

    /// The same where `function` runs all steps but the loads, whose adjoints lie where the values do; those of `zero` are zero
    /// before it.
    pub fn compiled(
        function: CompiledFunction<T>,
        program: &Program,
        assignment: &BufferAssignment,
        zero: &[usize],
    ) -> Result<Self> {
        let mut executor = Executor::new(program, assignment)?;
        let places: Vec<Option<Location>> = assignment.values.iter().copied().map(Some).collect();
        executor.adjoints = Adjoints::new(program, zero, &places, &vec![None; places.len()], assignment.length);
        executor.outputs.iter_mut().for_each(|output| output.is_direct = false);
        executor.function = Some(function);
        Ok(executor)
    }
}

impl<T: Scalar + Element> Run<T> for Executor<T> {
    fn arenas(&self) -> [usize; 2] {
        [self.length, self.adjoints.length]
    }

    fn prepare(&self, values: &mut [T]) {
        for (range, literal) in &self.literals {
            values[range.clone()].copy_from_slice(literal);
        }
    }

    fn forward(
        &self,
        values: &mut [T],
        inputs: ReadTensors,
        mut outputs: WriteTensors,
        threads: usize,
    ) -> Result<(), OutOfRange> {
        self.run_steps(0..self.steps.len(), values, inputs, &mut outputs, threads)?;
        if let Some(function) = &self.function
            && let Some(step) = function.forward(inputs, values)
        {
            return Err(OutOfRange { observed: self.steps[step].observed });
        }
        self.write_outputs(values, inputs, &mut outputs);
        Ok(())
    }

    fn backward(
        &self,
        values: &[T],
        adjoints: &mut [T],
        inputs: ReadTensors,
        seeds: ReadTensors,
        sum: bool,
        mut gradients: WriteTensors,
        threads: usize,
    ) {
        let mut pass = Backward::new(values, adjoints, inputs, seeds, sum, &mut gradients, threads);
        self.begin_backward(&mut pass);
        let Some(function) = &self.function else {
            return self.pull_back_steps(0..self.steps.len(), &mut pass);
        };
        function.backward(inputs, values, adjoints, &mut gradients);
        for (argument, range) in &self.adjoints.left {
            let (found, to) = (&adjoints[range.clone()], gradients.write(*argument, range.len()));
            if sum { T::add(found, to) } else { to.copy_from_slice(found) }
        }
    }
}

/// The parts of a call.
impl<T: Scalar + Element> Executor<T> {
    /// The steps in `range`; where a function runs them, only the loads.
    fn run_steps(
        &self,
        range: Range<usize>,
        values: &mut [T],
        inputs: ReadTensors,
        outputs: &mut WriteTensors,
        threads: usize,
    ) -> Result<(), OutOfRange> {
        assert!(inputs.len() == self.arguments.len() && outputs.len() == self.outputs.len(), "wrong number of tensors");
        let is_mine = |step: &&Step| self.function.is_none() || matches!(step.kernel, Kernel::Load(..));
        for step in self.steps[range].iter().filter(is_mine) {
            step.forward(values, inputs, outputs, threads).ok_or(OutOfRange { observed: step.observed })?;
        }
        Ok(())
    }

    /// Those outputs that no step wrote.
    fn write_outputs(&self, values: &[T], inputs: ReadTensors, outputs: &mut WriteTensors) {
        for (index, output) in self.outputs.iter().enumerate().filter(|(_, output)| !output.is_direct) {
            let to = outputs.write(index, output.dense.count());
            strided::copy(output.source.read(Values::all(values), inputs), &output.view, to, &output.dense);
        }
    }

    /// Adjoints before any pullback: zeros, and the seeds.
    fn begin_backward(&self, pass: &mut Backward<T>) {
        let Adjoints { results, zero, .. } = &self.adjoints;
        let Backward { inputs, seeds, sum, adjoints, gradients, .. } = pass;
        assert!(inputs.len() == self.arguments.len() && seeds.len() == results.len(), "wrong number of tensors");
        let stays = |place: Location| *sum && matches!(place, Location::Caller(_));
        for &(place, length) in zero.iter().filter(|(place, _)| !stays(*place)) {
            place.write(adjoints, gradients, length).fill(T::default());
        }
        for (index, (place, output)) in results.iter().zip(&self.outputs).enumerate() {
            if let Some(place) = place
                && seeds.is_given(index)
            {
                let seed = seeds.read(index, output.dense.count());
                let target = place.write(adjoints, gradients, output.view.extent());
                strided::accumulate(seed, &output.dense, target, &output.view);
            }
        }
    }

    /// The pullbacks of the steps in `range`, from the last one on.
    fn pull_back_steps(&self, range: Range<usize>, pass: &mut Backward<T>) {
        for step in self.steps[range].iter().rev() {
            if let Some(adjoint) = step.adjoint {
                step.backward(pass.again(), adjoint);
            }
        }
    }
}

impl Adjoints {
    /// With a place for every active buffer, but for those whose adjoints are the seeds.
    fn new(
        program: &Program,
        zero: &[usize],
        places: &[Option<Location>],
        seeded: &[Option<usize>],
        length: usize,
    ) -> Self {
        let active =
            |buffer: usize| places[buffer].filter(|_| program.buffers[buffer].active && seeded[buffer].is_none());
        let wanted = program.arguments.iter().enumerate().filter(|(_, argument)| argument.gradient);
        let left = wanted.filter_map(|(index, argument)| match active(argument.buffer) {
            Some(Location::Arena(start)) => Some((index, start..start + argument.view.len())),
            _ => None,
        });
        Adjoints {
            results: program.results().iter().map(|result| active(result.buffer)).collect(),
            zero: zero.iter().filter_map(|&buffer| Some((active(buffer)?, program.buffers[buffer].length))).collect(),
            left: left.collect(),
            length,
        }
    }
}
