//! One node of a program: its kernel forward, and its pullback.

use std::ops::Range;

use super::super::layout::{Layout, Place};
use super::super::reverse::Begin;
use super::super::shares::{Input, Pulled, Shares};
use super::products::Products;
use super::{own, panels, rounded, standardise};
use crate::device::{Element, ReadTensors, WriteTensors};
use crate::error::{Error, Result};
use crate::graph::outputs::Outputs;
use crate::graph::program::{Digits, Gather, Kind, Linear, Node, Origin, Primitive, Scatter, Tensor, Ties};
use crate::graph::{Activation, DType, Own, Program, View};
use crate::kernels::Scalar;
use crate::kernels::strided::{self, Adjoint, Channels, Convolution, Index, Pick, Ranking, Stream};

/// What is read, and where it lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    place: Place,
    length: usize,
    /// Whether it holds int64.
    is_index: bool,
}

/// One node, with everything that can be known before the numbers.
pub(super) struct Step {
    pub kernel: Kernel,
    sources: Vec<Source>,
    views: Vec<Stream>,
    value: Value,
    /// Where the value's adjoint lies, unless nothing comes back to it.
    pub adjoint: Option<Given>,
    /// Of the active operands.
    targets: Vec<Option<(Place, Begin)>>,
    dependents: Outputs,
    /// Where memory begins, behind all adjoints, that its pullback may use meanwhile.
    scratch: usize,
    pub observed: usize,
}

/// Where a step writes its value.
enum Value {
    /// In the arena.
    Arena(Range<usize>),
    /// In the caller's output of that number, of so many elements.
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
    pub values: &'a [T],
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
}

/// What computes a node.
pub(super) enum Kernel {
    /// With the whole value where the argument is of the program's type.
    Load(DType, Digits, Option<Stream>),
    Map(u8),
    Own(Own),
    Sum(Stream),
    Greatest {
        columns: usize,
        ties: Ties,
    },
    Length(usize),
    Softmax {
        columns: usize,
        side: usize,
        logarithm: bool,
    },
    Normalise {
        columns: usize,
        eps: f64,
        dense: Stream,
    },
    Moments(Channels),
    Standardise {
        channels: Channels,
        eps: f64,
    },
    Product(Products),
    Linear(Linear),
    Round([usize; 2]),
    ToPanels([usize; 2]),
    FromPanels([usize; 2]),
    Convolve(Convolved),
    Argsort(Ranking),
    Gather(Pick),
    /// With the places in the value, and the whole of it.
    Scatter(Pick, [Stream; 2]),
    /// Filled first unless its parts are all of it.
    Assemble {
        fill: Option<f64>,
        places: Vec<Stream>,
    },
}

/// A convolution with the elements of its signals and weights, and its whole value.
pub(super) struct Convolved {
    convolution: Convolution,
    signals: usize,
    weights: usize,
    dense: Stream,
}

impl Convolved {
    fn new(convolution: Convolution, node: &Node) -> Result<Self> {
        let lengths = convolution.lengths();
        let [signals, weights, _] = lengths.ok_or_else(|| Error::Internal(format!("{convolution:?}")))?;
        Ok(Convolved { convolution, signals, weights, dense: View::contiguous(&node.shape).stream()? })
    }
}

impl Place {
    /// The adjoint at this place.
    #[inline]
    pub(super) fn write<'a, T: Element>(
        self,
        arena: &'a mut [T],
        caller: &'a mut WriteTensors,
        length: usize,
    ) -> &'a mut [T] {
        match self {
            Place::Caller(index) => caller.write(index, length),
            Place::Arena(start) => &mut arena[start..start + length],
        }
    }
}

impl Layout {
    pub(super) fn source(&self, program: &Program, tensor: &Tensor) -> Source {
        let (place, length) = (self.values[tensor.buffer], program.buffers[tensor.buffer].length);
        Source { place, length, is_index: tensor.kind == Kind::Index }
    }
}

impl Source {
    #[inline]
    pub fn read<'a, T: Element>(&self, values: &'a [T], inputs: ReadTensors<'a>) -> &'a [T] {
        match self.place {
            Place::Caller(index) => inputs.read(index, self.length),
            Place::Arena(start) => &values[start..start + self.length],
        }
    }
}

impl Step {
    /// Of a node, whose operands' pullbacks begin as `begins` says, with adjoints in `places`, behind which `scratch` begins.
    pub fn new(
        program: &Program,
        layout: &Layout,
        node: &Node,
        begins: &[Option<Begin>],
        places: &[Option<Place>],
        direct: Direct,
        scratch: usize,
    ) -> Result<Self> {
        let Place::Arena(start) = layout.values[node.buffer] else {
            return Err(Error::Internal("a node's value outside the arena".into()));
        };
        let targets = node.operands.iter().zip(begins);
        let length = program.buffers[node.buffer].length;
        Ok(Step {
            kernel: kernel(program, node)?,
            sources: node.operands.iter().map(|operand| layout.source(program, operand)).collect(),
            views: node.operands.iter().map(|operand| operand.view.stream()).collect::<Result<_>>()?,
            value: direct.value.map_or(Value::Arena(start..start + length), |output| Value::Output(output, length)),
            adjoint: match (places[node.buffer], direct.seed) {
                _ if begins.is_empty() => None,
                (_, Some(output)) => Some(Given::Seed(output)),
                (Some(Place::Arena(start)), None) => Some(Given::Arena(start)),
                _ => None,
            },
            targets: targets.map(|(operand, begin)| Some((places[operand.buffer]?, (*begin)?))).collect(),
            dependents: direct.dependents,
            scratch,
            observed: node.observed,
        })
    }

    /// `None` where an index is out of range.
    pub fn forward<T: Scalar + Element>(
        &self,
        values: &mut [T],
        inputs: ReadTensors,
        outputs: &mut WriteTensors,
        threads: usize,
    ) -> Option<()> {
        let (before, value): (&[T], &mut [T]) = match &self.value {
            Value::Arena(range) => {
                let (before, after) = values.split_at_mut(range.start);
                (before, &mut after[..range.len()])
            }
            &Value::Output(index, length) => (values, outputs.write(index, length)),
        };
        let read = |operand: usize| self.sources[operand].read(before, inputs);
        match &self.kernel {
            Kernel::Load(_, _, Some(dense)) => {
                let Place::Caller(index) = self.sources[0].place else { unreachable!("only arguments are loaded") };
                strided::copy(inputs.read::<T>(index, self.sources[0].length), &self.views[0], value, dense);
            }
            Kernel::Load(dtype, digits, None) => self.load(*dtype, *digits, inputs, value),
            Kernel::Map(function) => {
                strided::map(*function, 0, &self.operands(before, inputs)[..self.sources.len()], &self.views, value)
            }
            Kernel::Own(function) => own::values(function, read(0), value),
            Kernel::Sum(target) => {
                value.fill(T::default());
                strided::accumulate(read(0), &self.views[0], value, target);
            }
            Kernel::Greatest { columns, .. } => strided::greatest(*columns, read(0), &self.views[0], value),
            Kernel::Length(columns) => strided::length(*columns, read(0), &self.views[0], value),
            &Kernel::Softmax { columns, side, logarithm } if side > 1 => {
                let x = &read(0)[..value.len()];
                strided::softmax_down(logarithm, [columns, side], x, value);
            }
            Kernel::Softmax { columns, logarithm, .. } => {
                strided::softmax(*logarithm, *columns, read(0), &self.views[0], value);
            }
            Kernel::Normalise { columns, eps, .. } => {
                let (x, [w, b]) = (&read(0)[..value.len()], [1, 2].map(|operand| &read(operand)[..*columns]));
                strided::normalise(*columns, *eps, x, w, b, value);
            }
            &Kernel::Moments(channels) => standardise::moments(channels, threads, read(0), value),
            &Kernel::Standardise { channels, eps } => {
                standardise::standardise(channels, threads, self.standardised(&channels, eps, before, inputs), value);
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
            &Kernel::Linear(Linear { shape, behind, is_rounded, .. }) => {
                let (shares, behind) = (Shares { shape, threads }, behind as u8);
                if is_rounded {
                    let [x, weight] = [rounded::input(shape, read(3))[0], rounded::weight(shape, read(2))[0]];
                    shares.rounded_linear(behind, x, weight, read(1), value);
                } else {
                    shares.linear(behind, read(0), read(1), value);
                }
            }
            &Kernel::Round([rows, columns]) => {
                rounded::round(rows, columns, read(0), value);
            }
            &Kernel::ToPanels([rows, columns]) => T::to_panels(rows, columns, read(0), value),
            &Kernel::FromPanels([rows, columns]) => T::from_panels(rows, columns, read(0), value),
            Kernel::Convolve(Convolved { convolution: c, signals, weights, .. }) => {
                let bias = (self.sources.len() == 3).then(|| &read(2)[..c.groups * c.outputs]);
                strided::convolve(c, &read(0)[..*signals], &read(1)[..*weights], bias, value);
            }
            Kernel::Argsort(ranking) => strided::argsort(*ranking, read(0), &self.views[0], value),
            Kernel::Gather(pick) => {
                let indices = self.index(before, inputs);
                if !strided::gather(pick, read(0), &self.views[0], indices, &self.views[1], value) {
                    return None;
                }
            }
            Kernel::Scatter(pick, [places, dense]) => {
                let indices = self.index(before, inputs);
                strided::copy(read(2), &self.views[2], value, dense);
                let source = &read(0)[..self.views[0].count()];
                if !strided::gather_pullback(pick, source, indices, &self.views[1], value, places) {
                    return None;
                }
            }
            Kernel::Assemble { fill, places } => {
                if let Some(fill) = fill {
                    value.fill(T::from_f64(*fill));
                }
                for (operand, place) in places.iter().enumerate() {
                    strided::copy(read(operand), &self.views[operand], value, place);
                }
            }
        }
        Some(())
    }

    /// What chooses elements: the second operand, an argument of integers or numbers that a kernel made.
    fn index<'a, T: Element>(&self, values: &'a [T], inputs: ReadTensors<'a>) -> Index<'a, T> {
        let source = self.sources[1];
        match source.place {
            Place::Caller(index) if source.is_index => Index::Integers(inputs.read(index, source.length)),
            _ => Index::Numbers(source.read(values, inputs)),
        }
    }

    /// The memory of up to three operands.
    fn operands<'a, T: Element>(&self, values: &'a [T], inputs: ReadTensors<'a>) -> [&'a [T]; 3] {
        std::array::from_fn(|i| self.sources.get(i).map_or(&[][..], |source| source.read(values, inputs)))
    }

    /// An argument of another type as numbers.
    fn load<T: Scalar + Element>(&self, dtype: DType, digits: Digits, inputs: ReadTensors, value: &mut [T]) {
        let Place::Caller(index) = self.sources[0].place else { unreachable!("only arguments are loaded") };
        let (length, view) = (self.sources[0].length, &self.views[0]);
        match dtype {
            DType::Float32 => loaded(inputs.read::<f32>(index, length), view, value, f64::from),
            DType::Float64 => loaded(inputs.read::<f64>(index, length), view, value, |x| x),
            DType::Int64 => loaded(inputs.read::<i64>(index, length), view, value, |x| digits.of(x)),
            DType::Bool => loaded(inputs.read::<u8>(index, length), view, value, |x| f64::from(u8::from(x != 0))),
        }
    }

    /// [`backward`](Self::backward) of a layer in panels.
    fn pull_back_layer<T: Scalar + Element>(&self, layer: &Linear, pass: Backward<T>, start: usize) {
        let Backward { values, inputs, adjoints, sum, gradients, threads, .. } = pass;
        let (adjoints, scratch) = adjoints.split_at_mut(self.scratch);
        let &Linear { shape, behind, before, is_pulled_back, is_rounded } = layer;
        let value = self.value(values);
        if !is_pulled_back && behind != Activation::Identity {
            T::activation_pullback(behind as u8, value, &mut adjoints[start..][..value.len()]);
        }
        let read = |operand: usize| self.sources[operand].read(values, inputs);
        let (d, dx) = match self.targets[0] {
            Some((Place::Arena(to), begin)) => {
                let (d, dx) = apart(adjoints, start..start + value.len(), to..to + self.sources[0].length);
                if begin == Begin::Zero {
                    dx.fill(T::default());
                }
                (d, Some((dx, begin != Begin::Store)))
            }
            _ => (&adjoints[start..][..value.len()], None),
        };
        let Some((Place::Caller(index), begin)) = self.targets[1] else { return };
        let input = dx.map(|(dx, add)| Input { dx, add });
        let dlayer = gradients.write(index, self.sources[1].length);
        let sum = sum || begin != Begin::Store;
        let (shares, pulled) = (Shares { shape, threads }, Pulled { act: before as u8, x: read(0), dz: d });
        if is_rounded {
            let [x, transposed] = [rounded::input(shape, read(3))[1], rounded::weight(shape, read(2))[1]];
            shares.rounded_pullback(pulled, x, transposed, scratch, sum, input, dlayer);
        } else {
            shares.pullback(pulled, read(2), sum, input, dlayer);
        }
    }

    /// What batch normalisation reads.
    fn standardised<'a, T: Element>(
        &self,
        channels: &Channels,
        eps: f64,
        values: &'a [T],
        inputs: ReadTensors<'a>,
    ) -> standardise::Operands<'a, T> {
        let read = |operand: usize| self.sources[operand].read(values, inputs);
        standardise::Operands::new(channels, eps, read(0), read(1), read(2), read(3))
    }

    /// The sums of batch normalisation's pullback, which serve all its operands; of other kernels none.
    fn sums<T: Scalar + Element>(&self, pass: &Backward<T>, adjoint: Given) -> Option<standardise::Sums> {
        let &Kernel::Standardise { channels, eps } = &self.kernel else { return None };
        let d = match adjoint {
            Given::Arena(start) => &pass.adjoints[start..][..self.value.len()],
            Given::Seed(index) => pass.seeds.read(index, self.value.len()),
        };
        let operands = self.standardised(&channels, eps, pass.values, pass.inputs);
        Some(standardise::sums(channels, pass.threads, operands, d))
    }

    /// What a forward pass left in the arena: nothing where that is the caller's.
    fn value<'a, T>(&self, values: &'a [T]) -> &'a [T] {
        match &self.value {
            Value::Arena(range) => &values[range.clone()],
            Value::Output(..) => &[],
        }
    }

    /// Leaves in the adjoints of the operands what that of the value gives them; with `sum` added to what the caller's
    /// gradients are.
    pub fn backward<T: Scalar + Element>(&self, pass: Backward<T>, adjoint: Given) {
        let is_reached = self.dependents & pass.given != 0;
        if let (Kernel::Linear(layer), Given::Arena(start), true) = (&self.kernel, adjoint, is_reached) {
            return self.pull_back_layer(layer, pass, start);
        }
        let sums = if is_reached { self.sums(&pass, adjoint) } else { None };
        let Backward { values, inputs, seeds, adjoints, sum, gradients, threads, .. } = pass;
        let (value, count) = (self.value(values), self.value.len());
        let read = |operand: usize| self.sources[operand].read(values, inputs);
        for (operand, target) in self.targets.iter().enumerate() {
            let Some((place, begin)) = *target else { continue };
            let begin = if sum && matches!(place, Place::Caller(_)) { Begin::Add } else { begin };
            let (view, length) = (&self.views[operand], self.sources[operand].length);
            let (d, dx): (&[T], &mut [T]) = match (adjoint, place) {
                // 0 times an infinite slope is no number: what no given seed reaches has no adjoint at all.
                _ if !is_reached => (&[], place.write(adjoints, gradients, length)),
                (Given::Arena(start), Place::Caller(index)) => {
                    (&adjoints[start..][..count], gradients.write(index, length))
                }
                (Given::Arena(start), Place::Arena(to)) => apart(adjoints, start..start + count, to..to + length),
                (Given::Seed(index), _) if seeds.is_given(index) => {
                    (seeds.read(index, count), place.write(adjoints, gradients, length))
                }
                (Given::Seed(_), _) => (&[], place.write(adjoints, gradients, length)),
            };
            if begin == Begin::Zero || (d.is_empty() && begin == Begin::Store) {
                dx.fill(T::default());
            }
            if d.is_empty() {
                continue;
            }
            let add = begin != Begin::Store;
            match &self.kernel {
                Kernel::Load(..) => unreachable!("an argument's adjoint is its gradient"),
                Kernel::Map(function) => {
                    let x = &self.operands(values, inputs)[..self.sources.len()];
                    strided::map_pullback(*function, operand, x, &self.views, d, Adjoint { data: dx, view, add });
                }
                Kernel::Own(function) => own::pullback(function, read(0), d, add, dx),
                Kernel::Sum(target) => strided::pass_on(d, target, Adjoint { data: dx, view, add }),
                Kernel::Greatest { columns, ties } => {
                    let dx = Adjoint { data: dx, view, add };
                    strided::greatest_pullback(*ties as u8, *columns, read(0), view, value, d, dx);
                }
                Kernel::Length(columns) => {
                    strided::length_pullback(*columns, read(0), view, value, d, Adjoint { data: dx, view, add });
                }
                &Kernel::Softmax { columns, side, logarithm } if side > 1 => {
                    strided::softmax_down_pullback(logarithm, [columns, side], value, d, add, &mut dx[..d.len()]);
                }
                Kernel::Softmax { columns, logarithm, .. } => {
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
                Kernel::Moments(_) => unreachable!("moments are constants of the reverse pass"),
                &Kernel::Standardise { channels, eps } => {
                    let Some(sums) = &sums else { unreachable!("made above for what is reached") };
                    let [shift, slope] = sums.each();
                    match operand {
                        0 => {
                            let operands = self.standardised(&channels, eps, values, inputs);
                            standardise::pullback(
                                channels,
                                threads,
                                operands,
                                [shift, slope],
                                d,
                                add,
                                &mut dx[..d.len()],
                            );
                        }
                        2 => standardise::give(slope, add, &mut dx[..channels.channels]),
                        _ => standardise::give(shift, add, &mut dx[..channels.channels]),
                    }
                }
                Kernel::Product(products) => match operand {
                    0 => products.first_pullback(d, read(1), add, dx),
                    1 => products.second_pullback(d, read(0), add, dx),
                    _ => strided::pass_on(d, &products.dense, Adjoint { data: dx, view, add }),
                },
                Kernel::Linear(_) => unreachable!("pulled back above"),
                Kernel::Round(_) => unreachable!("pairs are constants of the reverse pass"),
                &Kernel::ToPanels([rows, columns]) => panels::to_panels_pullback(rows, columns, d, add, dx),
                &Kernel::FromPanels([rows, columns]) => panels::from_panels_pullback(rows, columns, d, add, dx),
                Kernel::Convolve(Convolved { convolution: c, signals, weights, dense }) => match operand {
                    0 => strided::convolve_pullback(c, &read(1)[..*weights], d, add, &mut dx[..*signals]),
                    1 => strided::convolve_weight_pullback(c, &read(0)[..*signals], d, add, &mut dx[..*weights]),
                    _ => strided::pass_on(d, dense, Adjoint { data: dx, view, add }),
                },
                Kernel::Argsort(_) => unreachable!("places have no derivative"),
                Kernel::Gather(pick) => {
                    let indices = self.index(values, inputs);
                    // What was in range forward is in range now: the caller promised not to change it.
                    strided::gather_pullback(pick, d, indices, &self.views[1], dx, view);
                }
                Kernel::Scatter(pick, [places, dense]) => {
                    let indices = self.index(values, inputs);
                    match operand {
                        // A copy that nothing else uses: there is no adjoint to add to.
                        0 => _ = strided::gather(pick, d, places, indices, &self.views[1], &mut dx[..view.count()]),
                        _ => strided::pass_on(d, dense, Adjoint { data: dx, view, add }),
                    }
                }
                Kernel::Assemble { places, .. } => {
                    strided::pass_on(d, &places[operand], Adjoint { data: dx, view, add });
                }
            }
        }
    }
}

fn kernel(program: &Program, node: &Node) -> Result<Kernel> {
    Ok(match &node.primitive {
        &Primitive::Load(digits) => {
            let Origin::Argument(argument) = program.buffers[node.operands[0].buffer].origin else {
                return Err(Error::Internal("only arguments are loaded".into()));
            };
            let dtype = program.arguments[argument].dtype;
            let dense = (dtype == program.dtype).then(|| View::contiguous(&node.shape).stream()).transpose()?;
            Kernel::Load(dtype, digits, dense)
        }
        Primitive::Map(function) => Kernel::Map(*function as u8),
        Primitive::Own(function) => Kernel::Own(function.clone()),
        Primitive::Sum(target) => Kernel::Sum(target.stream()?),
        &Primitive::Greatest { columns, ties } => Kernel::Greatest { columns, ties },
        &Primitive::Length(columns) => Kernel::Length(columns),
        &Primitive::Softmax { columns, side, logarithm } => Kernel::Softmax { columns, side, logarithm },
        &Primitive::Normalise { columns, eps } => {
            Kernel::Normalise { columns, eps, dense: View::contiguous(&node.shape).stream()? }
        }
        &Primitive::Moments(channels) => Kernel::Moments(channels),
        &Primitive::Standardise { channels, eps } => Kernel::Standardise { channels, eps },
        Primitive::Product(product) => Kernel::Product(Products::new(product, node)?),
        &Primitive::Linear(layer) => Kernel::Linear(layer),
        &Primitive::Round(shape) => Kernel::Round(shape),
        &Primitive::ToPanels(shape) => Kernel::ToPanels(shape),
        &Primitive::FromPanels(shape) => Kernel::FromPanels(shape),
        &Primitive::Convolve(convolution) => Kernel::Convolve(Convolved::new(convolution, node)?),
        &Primitive::Argsort(ranking) => Kernel::Argsort(ranking),
        Primitive::Gather(gather) => Kernel::Gather(pick(gather)),
        Primitive::Scatter(Scatter { gather, places }) => {
            Kernel::Scatter(pick(gather), [places.stream()?, View::contiguous(&node.shape).stream()?])
        }
        Primitive::Assemble { fill, places } => {
            let places_of_all: usize = places.iter().map(View::len).sum();
            let is_whole = places_of_all == node.shape.iter().product::<usize>();
            Kernel::Assemble {
                fill: (!is_whole).then_some(*fill),
                places: places.iter().map(View::stream).collect::<Result<_>>()?,
            }
        }
    })
}

fn pick(gather: &Gather) -> Pick {
    Pick::new(gather.size, gather.stride, gather.from_end, gather.skip)
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
