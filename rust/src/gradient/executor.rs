//! Runs an observed function: a [`Program`] laid out once. With the `aot` back end each node is a call of a kernel that is
//! compiled into the library, and of its pullback in reverse; with `jit` one compiled function makes all of them.
//!
//! Memory: the values of all nodes lie in one arena, in the order of the nodes, behind the literals; their adjoints lie at the
//! same places of another. What a node reads lies before what it writes. A forward call keeps its values for backward calls;
//! adjoints last for one call. Nothing is allocated in a call but the arenas of the first ones.
//!
//! An adjoint starts at zero and every pullback adds to it through the operand's view, so that it does not matter how often
//! a buffer is used, nor that views overlap.

use std::collections::HashMap;
use std::ops::Range;

use super::jit::CompiledFunction;
use crate::device::{Addresses, Element};
use crate::error::{Error, Result};
use crate::graph::program::{Buffer, Origin, Primitive, Tensor};
use crate::graph::{DType, Program, View};
use crate::kernels::Scalar;
use crate::kernels::strided::{self, Factors, Matrix, Pick, Starts, Stream};

/// Buffers start at multiples of this many numbers: a cache line of float32.
const ALIGNMENT: usize = 16;

/// A program laid out for numbers of type T.
pub struct Executor<T> {
    steps: Vec<Step>,
    /// Runs all steps but the loads, where there is one.
    function: Option<CompiledFunction<T>>,
    /// Gradients whose adjoints a function leaves in the arena: argument, place.
    left: Vec<(usize, Range<usize>)>,
    literals: Vec<(Range<usize>, Vec<T>)>,
    outputs: Vec<Output>,
    /// Gradients that are wanted: argument, elements.
    gradients: Vec<(usize, usize)>,
    /// Adjoints that no step begins: those of results, and of what nothing uses.
    begun: Vec<(Place, usize)>,
    arguments: usize,
    user_outputs: usize,
    /// Where the literals end in the arena, and its length.
    literals_end: usize,
    length: usize,
}

/// Where a buffer lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// In the caller's memory: values as argument, adjoints as gradient of that number.
    Caller(usize),
    /// In the arena, from there on.
    Arena(usize),
}

#[derive(Clone, Copy, Debug)]
struct Source {
    place: Place,
    length: usize,
}

/// One node, with everything that can be known before the numbers.
struct Step {
    kernel: Kernel,
    sources: Vec<Source>,
    views: Vec<Stream>,
    /// Of the active operands.
    adjoints: Vec<Option<Place>>,
    /// What the step does to each of these adjoints.
    begins: Vec<Begin>,
    value: Range<usize>,
    /// Where the value's adjoint starts.
    adjoint: Option<usize>,
    observed: usize,
}

/// Whether a pullback is the first one that an adjoint gets something from, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Begin {
    /// Others were before it.
    No,
    /// The adjoint is zero until then.
    Zero,
    /// It writes every element, so that it need not add.
    Whole,
}

enum Kernel {
    Load(DType),
    Map(u8),
    Sum(Stream),
    Greatest { columns: usize, even: bool },
    Softmax { columns: usize, logarithm: bool },
    Normalise { columns: usize, eps: f64, dense: Stream },
    Product(Products),
    Gather(Pick),
    Assemble { fill: f64, places: Vec<Stream> },
}

struct Products {
    sides: [usize; 3],
    orders: [Matrix; 2],
    batches: Vec<[usize; 2]>,
    /// The whole value.
    dense: Stream,
}

struct Output {
    source: Source,
    view: Stream,
    dense: Stream,
    adjoint: Option<Place>,
}

/// An index out of range, in the step of this observed node.
#[derive(Debug)]
pub struct OutOfRange {
    /// Index into the observed nodes.
    pub observed: usize,
}

impl<T: Scalar + Element> Executor<T> {
    /// For a program and its layout.
    pub fn new(program: &Program, layout: &Layout) -> Result<Self> {
        let literal = |(buffer, place): (&Buffer, &Place)| match (&buffer.origin, place) {
            (Origin::Literal(values), &Place::Arena(start)) => {
                Some((start..start + values.len(), values.iter().map(|&value| T::from_f64(value)).collect()))
            }
            _ => None,
        };
        let wanted = || program.arguments.iter().enumerate().filter(|(_, argument)| argument.gradient);
        let left = wanted().filter_map(|(index, argument)| match layout.values[argument.buffer] {
            Place::Arena(start) => Some((index, start..start + argument.view.len())),
            Place::Caller(_) => None,
        });
        let mut steps: Vec<Step> =
            program.nodes.iter().map(|node| layout.step(program, node)).collect::<Result<_>>()?;
        let outputs: Vec<Output> =
            program.outputs.iter().map(|output| layout.output(program, output)).collect::<Result<_>>()?;
        let begun = begin(program, layout, &mut steps, &outputs);
        Ok(Executor {
            function: None,
            left: left.collect(),
            steps,
            begun,
            literals: program.buffers.iter().zip(&layout.values).filter_map(literal).collect(),
            outputs,
            gradients: wanted().map(|(index, argument)| (index, argument.view.len())).collect(),
            arguments: program.arguments.len(),
            user_outputs: program.outputs.len() - program.updates.len(),
            literals_end: layout.literals,
            length: layout.length,
        })
    }

    /// Runs the steps by `function` from now on.
    pub fn replace_by(&mut self, function: CompiledFunction<T>) {
        self.function = Some(function);
    }

    /// Numbers in an arena, of values or of adjoints.
    pub fn arena(&self) -> usize {
        self.length
    }

    /// Writes what never changes to a new arena of values.
    pub fn prepare(&self, values: &mut [T]) {
        for (range, literal) in &self.literals {
            values[range.clone()].copy_from_slice(literal);
        }
    }

    /// Runs every node and writes the outputs.
    pub fn forward(&self, values: &mut [T], inputs: Addresses, mut outputs: Addresses) -> Result<(), OutOfRange> {
        assert!(inputs.len() == self.arguments && outputs.len() == self.outputs.len(), "wrong number of tensors");
        let is_mine = |step: &&Step| self.function.is_none() || matches!(step.kernel, Kernel::Load(_));
        for step in self.steps.iter().filter(is_mine) {
            step.forward(values, inputs).ok_or(OutOfRange { observed: step.observed })?;
        }
        if let Some(function) = &self.function
            && let Some(step) = function.forward(inputs, values)
        {
            return Err(OutOfRange { observed: self.steps[step].observed });
        }
        for (index, output) in self.outputs.iter().enumerate() {
            let to = outputs.write(index, output.dense.count());
            strided::copy(output.source.read(values, inputs), &output.view, to, &output.dense);
        }
        Ok(())
    }

    /// Runs every pullback and leaves the gradients; `adjoints` is scratch, `seeds` those of the user's outputs.
    pub fn backward(
        &self,
        values: &[T],
        adjoints: &mut [T],
        inputs: Addresses,
        seeds: Addresses,
        mut gradients: Addresses,
    ) {
        assert!(inputs.len() == self.arguments && seeds.len() == self.user_outputs, "wrong number of tensors");
        if self.function.is_some() {
            adjoints[self.literals_end..].fill(T::default());
            for &(argument, length) in &self.gradients {
                gradients.write::<T>(argument, length).fill(T::default());
            }
        } else {
            for &(place, length) in &self.begun {
                place.write(adjoints, &mut gradients, length).fill(T::default());
            }
        }
        for (index, output) in self.outputs[..self.user_outputs].iter().enumerate() {
            if let Some(place) = output.adjoint
                && seeds.is_given(index)
            {
                let seed = seeds.read(index, output.dense.count());
                let target = place.write(adjoints, &mut gradients, output.view.extent());
                strided::accumulate(seed, &output.dense, target, &output.view);
            }
        }
        if let Some(function) = &self.function {
            function.backward(inputs, values, adjoints, gradients);
            for (argument, range) in &self.left {
                T::add(&adjoints[range.clone()], gradients.write(*argument, range.len()));
            }
            return;
        }
        for step in self.steps.iter().rev() {
            if let Some(start) = step.adjoint {
                let (before, after) = adjoints.split_at_mut(start);
                step.backward(values, inputs, &after[..step.value.len()], before, &mut gradients);
            }
        }
    }
}

impl Place {
    /// The adjoint at this place.
    fn write<'a, T: Element>(self, arena: &'a mut [T], caller: &'a mut Addresses, length: usize) -> &'a mut [T] {
        match self {
            Place::Caller(index) => caller.write(index, length),
            Place::Arena(start) => &mut arena[start..start + length],
        }
    }
}

impl Source {
    fn read<'a, T: Element>(&self, values: &'a [T], inputs: Addresses<'a>) -> &'a [T] {
        match self.place {
            Place::Caller(index) => inputs.read(index, self.length),
            Place::Arena(start) => &values[start..start + self.length],
        }
    }
}

impl Step {
    /// `None` where an index is out of range.
    fn forward<T: Scalar + Element>(&self, values: &mut [T], inputs: Addresses) -> Option<()> {
        let (before, after) = values.split_at_mut(self.value.start);
        let before = &*before;
        let value = &mut after[..self.value.len()];
        let read = |operand: usize| self.sources[operand].read(before, inputs);
        match &self.kernel {
            Kernel::Load(dtype) => self.load(*dtype, inputs, value),
            Kernel::Map(function) => {
                strided::map(*function, 0, &self.operands(before, inputs)[..self.sources.len()], &self.views, value)
            }
            Kernel::Sum(target) => {
                value.fill(T::default());
                strided::accumulate(read(0), &self.views[0], value, target);
            }
            Kernel::Greatest { columns, .. } => strided::greatest(*columns, read(0), &self.views[0], value),
            Kernel::Softmax { columns, logarithm } => {
                strided::softmax(*logarithm, *columns, read(0), &self.views[0], value);
            }
            Kernel::Normalise { columns, eps, .. } => {
                let (x, [w, b]) = (&read(0)[..value.len()], [1, 2].map(|operand| &read(operand)[..*columns]));
                strided::normalise(*columns, *eps, x, w, b, value);
            }
            Kernel::Product(products) => {
                if self.sources.len() == 3 {
                    strided::copy(read(2), &self.views[2], value, &products.dense);
                }
                products.forward(read(0), read(1), self.sources.len() == 3, value);
            }
            Kernel::Gather(pick) => {
                let Place::Caller(index) = self.sources[1].place else { return None };
                let indices = inputs.read(index, self.sources[1].length);
                if !strided::gather(pick, read(0), &self.views[0], indices, &self.views[1], value) {
                    return None;
                }
            }
            Kernel::Assemble { fill, places } => {
                value.fill(T::from_f64(*fill));
                for (operand, place) in places.iter().enumerate() {
                    strided::copy(read(operand), &self.views[operand], value, place);
                }
            }
        }
        Some(())
    }

    /// The memory of up to three operands.
    fn operands<'a, T: Element>(&self, values: &'a [T], inputs: Addresses<'a>) -> [&'a [T]; 3] {
        std::array::from_fn(|i| self.sources.get(i).map_or(&[][..], |source| source.read(values, inputs)))
    }

    /// An argument of any type as numbers.
    fn load<T: Scalar + Element>(&self, dtype: DType, inputs: Addresses, value: &mut [T]) {
        let Place::Caller(index) = self.sources[0].place else { unreachable!("only arguments are loaded") };
        let (length, view) = (self.sources[0].length, &self.views[0]);
        match dtype {
            DType::Float32 => loaded(inputs.read::<f32>(index, length), view, value, f64::from),
            DType::Float64 => loaded(inputs.read::<f64>(index, length), view, value, |x| x),
            DType::Int64 => loaded(inputs.read::<i64>(index, length), view, value, |x| x as f64),
            DType::Bool => loaded(inputs.read::<u8>(index, length), view, value, |x| f64::from(u8::from(x != 0))),
        }
    }

    /// Adds to the adjoints of the operands what the value's adjoint `d` gives them.
    fn backward<T: Scalar + Element>(
        &self,
        values: &[T],
        inputs: Addresses,
        d: &[T],
        adjoints: &mut [T],
        gradients: &mut Addresses,
    ) {
        let value = &values[self.value.clone()];
        let read = |operand: usize| self.sources[operand].read(values, inputs);
        for (operand, place) in self.adjoints.iter().enumerate() {
            let Some(place) = place else { continue };
            let view = &self.views[operand];
            let dx = place.write(adjoints, gradients, self.sources[operand].length);
            let begin = self.begins[operand];
            if begin == Begin::Zero {
                dx.fill(T::default());
            }
            let add = begin != Begin::Whole;
            match &self.kernel {
                Kernel::Load(_) => unreachable!("an argument's adjoint is its gradient"),
                Kernel::Map(function) => {
                    let x = self.operands(values, inputs);
                    strided::map_pullback(*function, operand, &x[..self.sources.len()], &self.views, d, dx, view);
                }
                Kernel::Sum(target) => strided::accumulate(d, target, dx, view),
                Kernel::Greatest { columns, even } => {
                    strided::greatest_pullback(*even, *columns, read(0), view, value, d, dx, view);
                }
                Kernel::Softmax { columns, logarithm } => {
                    strided::softmax_pullback(*logarithm, *columns, value, d, dx, view);
                }
                Kernel::Normalise { columns, eps, dense } => {
                    let (x, w) = (&read(0)[..d.len()], &read(1)[..*columns]);
                    match operand {
                        0 => strided::normalise_pullback(*columns, *eps, x, w, d, &mut dx[..d.len()]),
                        1 => strided::normalise_scale_pullback(*columns, *eps, x, d, &mut dx[..*columns]),
                        _ => strided::accumulate(d, dense, dx, view),
                    }
                }
                Kernel::Product(products) => match operand {
                    0 => products.first_pullback(d, read(1), add, dx),
                    1 => products.second_pullback(d, read(0), add, dx),
                    _ => strided::accumulate(d, &products.dense, dx, view),
                },
                Kernel::Gather(pick) => {
                    let Place::Caller(index) = self.sources[1].place else { continue };
                    let indices = inputs.read(index, self.sources[1].length);
                    // What was in range forward is in range now: the caller promised not to change it.
                    strided::gather_pullback(pick, d, indices, &self.views[1], dx, view);
                }
                Kernel::Assemble { places, .. } => strided::accumulate(d, &places[operand], dx, view),
            }
        }
    }
}

fn loaded<X: Element, T: Scalar>(from: &[X], view: &Stream, to: &mut [T], convert: impl Fn(X) -> f64) {
    let mut to = to.iter_mut();
    view.for_each(|offset| {
        if let Some(to) = to.next() {
            *to = T::from_f64(convert(from[offset]));
        }
    });
}

impl Products {
    /// The first factor (0) or the second (1) of each product.
    fn factors<'a, T>(&'a self, which: usize, data: &'a [T]) -> Factors<'a, T> {
        Factors { data, order: self.orders[which], starts: Starts::Listed(&self.batches, which) }
    }

    /// The products themselves, or their adjoints.
    fn values<'a, T>(&self, data: &'a [T]) -> Factors<'a, T> {
        Factors { data, order: self.dense_order(), starts: Starts::Every(self.sides[0] * self.sides[1]) }
    }

    fn dense_order(&self) -> Matrix {
        Matrix { row: self.sides[1].max(1), column: 1 }
    }

    /// c = a b for each of the batches.
    fn forward<T: Scalar>(&self, a: &[T], b: &[T], add: bool, c: &mut [T]) {
        let [m, n, _] = self.sides;
        let (a, b, count) = (self.factors(0, a), self.factors(1, b), self.batches.len());
        strided::products(count, self.sides, a, b, add, c, self.dense_order(), Starts::Every(m * n));
    }

    /// da (add: +)= dc b^T
    fn first_pullback<T: Scalar>(&self, dc: &[T], b: &[T], add: bool, da: &mut [T]) {
        let [m, n, k] = self.sides;
        let (dc, b, to) = (self.values(dc), transposed(self.factors(1, b)), Starts::Listed(&self.batches, 0));
        strided::products(self.batches.len(), [m, k, n], dc, b, add, da, self.orders[0], to);
    }

    /// db (add: +)= a^T dc
    fn second_pullback<T: Scalar>(&self, dc: &[T], a: &[T], add: bool, db: &mut [T]) {
        let [m, n, k] = self.sides;
        let (a, dc, to) = (transposed(self.factors(0, a)), self.values(dc), Starts::Listed(&self.batches, 1));
        strided::products(self.batches.len(), [k, n, m], a, dc, add, db, self.orders[1], to);
    }
}

fn transposed<T>(factors: Factors<'_, T>) -> Factors<'_, T> {
    let Matrix { row, column } = factors.order;
    Factors { order: Matrix { row: column, column: row }, ..factors }
}

/// Where everything lies. An adjoint lies where its value does, in an arena of its own.
pub struct Layout {
    /// Of each buffer's numbers.
    pub values: Vec<Place>,
    adjoints: Vec<Option<Place>>,
    literals: usize,
    length: usize,
}

impl Layout {
    /// Lays out the program.
    pub fn new(program: &Program) -> Self {
        let mut length = 0;
        let mut place = |buffer: &Buffer| {
            let start = length;
            length += buffer.length.next_multiple_of(ALIGNMENT);
            Place::Arena(start)
        };
        // Literals first: they are written once.
        let is_literal = |buffer: &&Buffer| matches!(buffer.origin, Origin::Literal(_));
        let mut first: Vec<Place> = program.buffers.iter().filter(is_literal).map(&mut place).collect();
        let mut literals = first.drain(..);
        let values = program.buffers.iter().map(|buffer| match buffer.origin {
            Origin::Argument(index) => Place::Caller(index),
            Origin::Literal(_) => literals.next().expect("one for each"),
            Origin::Node(_) => place(buffer),
        });
        let values: Vec<Place> = values.collect();
        let is_literal = |(buffer, _): &(&Buffer, &Place)| matches!(buffer.origin, Origin::Literal(_));
        let end = |(buffer, place): (&Buffer, &Place)| match place {
            Place::Arena(start) => start + buffer.length.next_multiple_of(ALIGNMENT),
            Place::Caller(_) => 0,
        };
        let literals = program.buffers.iter().zip(&values).filter(is_literal).map(end).max().unwrap_or(0);
        let adjoint = |(index, buffer): (usize, &Buffer)| {
            let argument = program.arguments.iter().position(|argument| argument.gradient && argument.buffer == index);
            buffer.active.then(|| argument.map_or(values[index], Place::Caller))
        };
        let adjoints = program.buffers.iter().enumerate().map(adjoint).collect();
        Layout { values, adjoints, literals, length }
    }

    fn source(&self, program: &Program, tensor: &Tensor) -> Source {
        Source { place: self.values[tensor.buffer], length: program.buffers[tensor.buffer].length }
    }

    fn step(&self, program: &Program, node: &crate::graph::program::Node) -> Result<Step> {
        let Place::Arena(start) = self.values[node.buffer] else {
            return Err(Error::Internal("a node's value outside the arena".into()));
        };
        let views = node.operands.iter().map(|operand| operand.view.stream()).collect::<Result<Vec<_>>>()?;
        let is_load = matches!(node.primitive, Primitive::Load);
        let adjoint = |operand: &Tensor| self.adjoints[operand.buffer].filter(|_| !is_load);
        Ok(Step {
            kernel: kernel(program, node)?,
            sources: node.operands.iter().map(|operand| self.source(program, operand)).collect(),
            views,
            adjoints: node.operands.iter().map(adjoint).collect(),
            begins: vec![Begin::No; node.operands.len()],
            value: start..start + program.buffers[node.buffer].length,
            adjoint: match self.adjoints[node.buffer] {
                Some(Place::Arena(start)) => Some(start),
                _ => None,
            },
            observed: node.observed,
        })
    }

    fn output(&self, program: &Program, tensor: &Tensor) -> Result<Output> {
        Ok(Output {
            source: self.source(program, tensor),
            view: tensor.view.stream()?,
            dense: View::contiguous(&tensor.view.sizes).stream()?,
            adjoint: self.adjoints[tensor.buffer],
        })
    }
}

/// Finds for every adjoint the pullback that begins it; returns the others.
fn begin(program: &Program, layout: &Layout, steps: &mut [Step], outputs: &[Output]) -> Vec<(Place, usize)> {
    let lengths = program.buffers.iter().zip(&layout.adjoints);
    let lengths = lengths.filter_map(|(buffer, place)| (*place).map(|place| (place, buffer.length)));
    let lengths = lengths.filter(|(_, length)| *length > 0);
    let mut open: HashMap<Place, usize> = lengths.collect();
    let is_result = |place: &Place| outputs.iter().any(|output| output.adjoint == Some(*place));
    let mut begun: Vec<(Place, usize)> =
        open.iter().filter(|(place, _)| is_result(place)).map(|(&place, &length)| (place, length)).collect();
    open.retain(|place, _| !is_result(place));
    for (step, node) in steps.iter_mut().zip(&program.nodes).rev() {
        let own = step.adjoint.map(Place::Arena);
        // Nothing used its value.
        begun.extend(own.and_then(|own| open.remove_entry(&own)));
        if own.is_none() {
            continue;
        }
        for (operand, tensor) in node.operands.iter().enumerate() {
            // An empty buffer has the place of the next one.
            let place = step.adjoints[operand].filter(|_| step.sources[operand].length > 0);
            let Some(length) = place.and_then(|place| open.remove(&place)) else { continue };
            let is_whole = matches!(node.primitive, Primitive::Product(_))
                && operand < 2
                && tensor.view.is_injective()
                && tensor.view.len() == length;
            step.begins[operand] = if is_whole { Begin::Whole } else { Begin::Zero };
        }
    }
    begun.extend(open);
    begun
}

fn kernel(program: &Program, node: &crate::graph::program::Node) -> Result<Kernel> {
    Ok(match &node.primitive {
        Primitive::Load => {
            let Origin::Argument(argument) = program.buffers[node.operands[0].buffer].origin else {
                return Err(Error::Internal("only arguments are loaded".into()));
            };
            Kernel::Load(program.arguments[argument].dtype)
        }
        Primitive::Map(function) => Kernel::Map(*function as u8),
        Primitive::Sum(target) => Kernel::Sum(target.stream()?),
        &Primitive::Greatest { columns, even } => Kernel::Greatest { columns, even },
        &Primitive::Softmax { columns, logarithm } => Kernel::Softmax { columns, logarithm },
        &Primitive::Normalise { columns, eps } => {
            Kernel::Normalise { columns, eps, dense: View::contiguous(&node.shape).stream()? }
        }
        Primitive::Product(product) => Kernel::Product(Products {
            sides: [product.m, product.n, product.k],
            orders: [order(&node.operands[0].view), order(&node.operands[1].view)],
            batches: product.batches.clone(),
            dense: View::contiguous(&node.shape).stream()?,
        }),
        Primitive::Gather(gather) => {
            Kernel::Gather(Pick::new(gather.size, gather.stride, gather.from_end, gather.skip))
        }
        Primitive::Assemble { fill, places } => {
            Kernel::Assemble { fill: *fill, places: places.iter().map(View::stream).collect::<Result<_>>()? }
        }
    })
}

/// Of the matrices that the last two dimensions are.
fn order(view: &View) -> Matrix {
    let rank = view.rank();
    Matrix { row: view.strides[rank - 2], column: view.strides[rank - 1] }
}
