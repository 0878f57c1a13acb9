//! Runs an observed function: a [`Program`] laid out once. With the `aot` back end each node is a call of a kernel that is
//! compiled into the library, and of its pullback in reverse; with `jit` one compiled function makes all of them.
//!
//! Memory: the values of all nodes lie in one arena, in the order of the nodes, behind the literals. What a node reads lies
//! before what it writes. A forward call keeps its values for backward calls; adjoints lie in another arena, for one call:
//! see [`Reverse`]. Nothing is allocated in a call but the arenas of the first ones.
//!
//! The first pullback that has something for every element of an adjoint writes it, the others add through the operand's
//! view, so that it does not matter how often a buffer is used, nor that views overlap.

use std::ops::Range;

use super::jit::CompiledFunction;
use super::layout::{Layout, Place};
use super::reverse::{Begin, Pullback, Reverse};
use crate::device::{Addresses, Element};
use crate::error::{Error, Result};
use crate::graph::program::{Buffer, Node, Origin, Primitive, Tensor};
use crate::graph::{DType, Program, View};
use crate::kernels::Scalar;
use crate::kernels::strided::{self, Adjoint, Factors, Matrix, Pick, Starts, Stream};

/// A program laid out for numbers of type T.
pub struct Executor<T> {
    steps: Vec<Step>,
    /// Runs all steps but the loads, where there is one.
    function: Option<CompiledFunction<T>>,
    literals: Vec<(Range<usize>, Vec<T>)>,
    outputs: Vec<Output>,
    adjoints: Adjoints,
    arguments: usize,
    /// Numbers in the arena of values.
    length: usize,
}

/// Adjoints at the ends of the reverse pass.
struct Adjoints {
    /// Of results.
    results: Vec<Option<Place>>,
    /// Those that are zero before any pullback, with their lengths.
    zero: Vec<(Place, usize)>,
    /// Gradients that a function leaves in the arena: argument, place.
    left: Vec<(usize, Range<usize>)>,
    /// Numbers in their arena.
    length: usize,
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
    value: Range<usize>,
    /// Where the value's adjoint starts, unless nothing comes back to it.
    adjoint: Option<usize>,
    /// Of the active operands.
    targets: Vec<Option<(Place, Begin)>>,
    observed: usize,
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
    /// See [`Node::bias`].
    bias: Option<usize>,
}

struct Output {
    source: Source,
    view: Stream,
    dense: Stream,
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
        let pullbacks: Vec<Pullback> = program.nodes.iter().map(Pullback::of).collect();
        let reverse = Reverse::new(program, &pullbacks);
        let (places, length) = reverse.places(program, &pullbacks);
        let literal = |(buffer, place): (&Buffer, &Place)| match (&buffer.origin, place) {
            (Origin::Literal(values), &Place::Arena(start)) => {
                Some((start..start + values.len(), values.iter().map(|&value| T::from_f64(value)).collect()))
            }
            _ => None,
        };
        let steps = program.nodes.iter().zip(&reverse.steps);
        let output = |tensor: &Tensor| -> Result<Output> {
            let (view, dense) = (tensor.view.stream()?, View::contiguous(&tensor.view.sizes).stream()?);
            Ok(Output { source: layout.source(program, tensor), view, dense })
        };
        Ok(Executor {
            function: None,
            steps: steps
                .map(|(node, begins)| Step::new(program, layout, node, begins, &places))
                .collect::<Result<_>>()?,
            adjoints: Adjoints::new(program, &reverse.zero, &places, length),
            literals: program.buffers.iter().zip(&layout.values).filter_map(literal).collect(),
            outputs: program.outputs.iter().map(output).collect::<Result<_>>()?,
            arguments: program.arguments.len(),
            length: layout.length,
        })
    }

    /// Runs the steps by `function` from now on, whose adjoints lie where the values do; those of `zero` are zero before it.
    pub fn replace_by(&mut self, function: CompiledFunction<T>, program: &Program, layout: &Layout, zero: &[usize]) {
        let places: Vec<Option<Place>> = layout.values.iter().copied().map(Some).collect();
        self.adjoints = Adjoints::new(program, zero, &places, layout.length);
        self.function = Some(function);
    }

    /// Numbers in an arena of values, and of adjoints.
    pub fn arenas(&self) -> [usize; 2] {
        [self.length, self.adjoints.length]
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
        let Adjoints { results, zero, left, .. } = &self.adjoints;
        assert!(inputs.len() == self.arguments && seeds.len() == results.len(), "wrong number of tensors");
        for &(place, length) in zero {
            place.write(adjoints, &mut gradients, length).fill(T::default());
        }
        for (index, (place, output)) in results.iter().zip(&self.outputs).enumerate() {
            if let Some(place) = place
                && seeds.is_given(index)
            {
                let seed = seeds.read(index, output.dense.count());
                let target = place.write(adjoints, &mut gradients, output.view.extent());
                strided::accumulate(seed, &output.dense, target, &output.view);
            }
        }
        if let Some(function) = &self.function {
            function.backward(inputs, values, adjoints, gradients);
            for (argument, range) in left {
                gradients.write(*argument, range.len()).copy_from_slice(&adjoints[range.clone()]);
            }
            return;
        }
        for step in self.steps.iter().rev() {
            if let Some(start) = step.adjoint {
                step.backward(values, inputs, start, adjoints, &mut gradients);
            }
        }
    }
}

impl Adjoints {
    /// With a place for every active buffer.
    fn new(program: &Program, zero: &[usize], places: &[Option<Place>], length: usize) -> Self {
        let active = |buffer: usize| places[buffer].filter(|_| program.buffers[buffer].active);
        let wanted = program.arguments.iter().enumerate().filter(|(_, argument)| argument.gradient);
        let left = wanted.filter_map(|(index, argument)| match active(argument.buffer) {
            Some(Place::Arena(start)) => Some((index, start..start + argument.view.len())),
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

impl Place {
    /// The adjoint at this place.
    fn write<'a, T: Element>(self, arena: &'a mut [T], caller: &'a mut Addresses, length: usize) -> &'a mut [T] {
        match self {
            Place::Caller(index) => caller.write(index, length),
            Place::Arena(start) => &mut arena[start..start + length],
        }
    }
}

impl Layout {
    fn source(&self, program: &Program, tensor: &Tensor) -> Source {
        Source { place: self.values[tensor.buffer], length: program.buffers[tensor.buffer].length }
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
    fn new(
        program: &Program,
        layout: &Layout,
        node: &Node,
        begins: &[Option<Begin>],
        places: &[Option<Place>],
    ) -> Result<Self> {
        let Place::Arena(start) = layout.values[node.buffer] else {
            return Err(Error::Internal("a node's value outside the arena".into()));
        };
        let targets = node.operands.iter().zip(begins);
        Ok(Step {
            kernel: kernel(program, node)?,
            sources: node.operands.iter().map(|operand| layout.source(program, operand)).collect(),
            views: node.operands.iter().map(|operand| operand.view.stream()).collect::<Result<_>>()?,
            value: start..start + program.buffers[node.buffer].length,
            adjoint: match places[node.buffer] {
                Some(Place::Arena(start)) if !begins.is_empty() => Some(start),
                _ => None,
            },
            targets: targets.map(|(operand, begin)| Some((places[operand.buffer]?, (*begin)?))).collect(),
            observed: node.observed,
        })
    }

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
                if let Some(start) = products.bias {
                    products.biased(read(0), read(1), &read(2)[start..], value);
                } else {
                    if self.sources.len() == 3 {
                        strided::copy(read(2), &self.views[2], value, &products.dense);
                    }
                    products.forward(read(0), read(1), self.sources.len() == 3, value);
                }
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

    /// Leaves in the adjoints of the operands what that of the value, from `start` on, gives them.
    fn backward<T: Scalar + Element>(
        &self,
        values: &[T],
        inputs: Addresses,
        start: usize,
        adjoints: &mut [T],
        gradients: &mut Addresses,
    ) {
        let value = &values[self.value.clone()];
        let read = |operand: usize| self.sources[operand].read(values, inputs);
        for (operand, target) in self.targets.iter().enumerate() {
            let Some((place, begin)) = *target else { continue };
            let (view, length) = (&self.views[operand], self.sources[operand].length);
            let (d, dx) = match place {
                Place::Caller(index) => (&adjoints[start..][..value.len()], gradients.write(index, length)),
                Place::Arena(to) => apart(adjoints, start..start + value.len(), to..to + length),
            };
            if begin == Begin::Zero {
                dx.fill(T::default());
            }
            let add = begin != Begin::Store;
            match &self.kernel {
                Kernel::Load(_) => unreachable!("an argument's adjoint is its gradient"),
                Kernel::Map(function) => {
                    let x = &self.operands(values, inputs)[..self.sources.len()];
                    strided::map_pullback(*function, operand, x, &self.views, d, Adjoint { data: dx, view, add });
                }
                Kernel::Sum(target) => strided::pass_on(d, target, Adjoint { data: dx, view, add }),
                Kernel::Greatest { columns, even } => {
                    let dx = Adjoint { data: dx, view, add };
                    strided::greatest_pullback(*even, *columns, read(0), view, value, d, dx);
                }
                Kernel::Softmax { columns, logarithm } => {
                    strided::softmax_pullback(*logarithm, *columns, value, d, Adjoint { data: dx, view, add });
                }
                Kernel::Normalise { columns, eps, dense } => {
                    let (x, w) = (&read(0)[..d.len()], &read(1)[..*columns]);
                    match operand {
                        0 => {
                            let dx = Adjoint { data: &mut dx[..d.len()], view, add };
                            strided::normalise_pullback(*columns, *eps, x, w, d, dx);
                        }
                        1 => strided::normalise_scale_pullback(*columns, *eps, x, d, &mut dx[..*columns]),
                        _ => strided::pass_on(d, dense, Adjoint { data: dx, view, add }),
                    }
                }
                Kernel::Product(products) => match operand {
                    0 => products.first_pullback(d, read(1), add, dx),
                    1 => products.second_pullback(d, read(0), add, dx),
                    _ => strided::pass_on(d, &products.dense, Adjoint { data: dx, view, add }),
                },
                Kernel::Gather(pick) => {
                    let Place::Caller(index) = self.sources[1].place else { continue };
                    let indices = inputs.read(index, self.sources[1].length);
                    // What was in range forward is in range now: the caller promised not to change it.
                    strided::gather_pullback(pick, d, indices, &self.views[1], dx, view);
                }
                Kernel::Assemble { places, .. } => {
                    strided::pass_on(d, &places[operand], Adjoint { data: dx, view, add });
                }
            }
        }
    }
}

/// Two parts of an arena, one to be read and one to be written.
fn apart<T>(arena: &mut [T], read: Range<usize>, write: Range<usize>) -> (&[T], &mut [T]) {
    if read.start < write.start {
        let (before, after) = arena.split_at_mut(write.start);
        (&before[read], &mut after[..write.len()])
    } else {
        let (before, after) = arena.split_at_mut(read.start);
        (&after[..read.len()], &mut before[write])
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

    /// c = a b + bias in every row.
    fn biased<T: Scalar>(&self, a: &[T], b: &[T], bias: &[T], c: &mut [T]) {
        let [[a_start, b_start], ..] = self.batches[..] else { return };
        let (a, b) = ((&a[a_start..], self.orders[0]), (&b[b_start..], self.orders[1]));
        strided::biased_product(self.sides, a, b, &bias[..self.sides[1]], c);
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

fn kernel(program: &Program, node: &Node) -> Result<Kernel> {
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
            bias: node.bias(),
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
