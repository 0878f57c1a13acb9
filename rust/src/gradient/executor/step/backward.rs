//! The pullback of a node.

use std::ops::Range;

use super::{Backward, BatchSums, Convolved, Given, Kernel, Step};
use crate::device::Element;
use crate::gradient::buffer_assignment::Location;
use crate::gradient::executor::{custom, packed, rounded, standardise};
use crate::gradient::reverse::Begin;
use crate::gradient::shares::{Input, Pulled, Shares};
use crate::graph::Activation;
use crate::graph::program::Linear;
use crate::kernels::Scalar;
use crate::kernels::strided::{self, Adjoint};

impl Step {
    /// Leaves in the adjoints of the operands what that of the value gives them; with `sum` added to what the caller's
    /// gradients are.
    pub fn backward<T: Scalar + Element>(&self, pass: Backward<T>, adjoint: Given) {
        let is_reached = self.dependents & pass.given != 0;
        if let (Kernel::Linear(layer), Given::Arena(start), true) = (&self.kernel, adjoint, is_reached) {
            return self.pull_back_layer(layer, pass, start);
        }
        let sums = if is_reached { self.sums(&pass, adjoint) } else { None };
        let batch = pass.batch;
        let Backward { values, inputs, seeds, adjoints, sum, gradients, threads, .. } = pass;
        let (value, count) = (self.value(values), self.value.len());
        let read = |operand: usize| self.sources[operand].read(values, inputs);
        for (operand, target) in self.targets.iter().enumerate() {
            let Some((place, begin)) = *target else { continue };
            let begin = if sum && matches!(place, Location::Caller(_)) { Begin::Add } else { begin };
            let (view, length) = (&self.views[operand], self.sources[operand].length);
            let (d, dx): (&[T], &mut [T]) = match (adjoint, place) {
                // 0 times an infinite slope is no number: what no given seed reaches has no adjoint at all.
                _ if !is_reached => (&[], place.write(adjoints, gradients, length)),
                (Given::Arena(start), Location::Caller(index)) => {
                    (&adjoints[start..][..count], gradients.write(index, length))
                }
                (Given::Arena(start), Location::Arena(to)) => apart(adjoints, start..start + count, to..to + length),
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
                Kernel::Custom(function) => custom::pullback(function, read(0), d, add, dx),
                Kernel::Sum(target) => strided::pass_on(d, target, Adjoint { data: dx, view, add }),
                Kernel::Max { columns, ties } => {
                    let dx = Adjoint { data: dx, view, add };
                    strided::max_pullback(*ties as u8, *columns, read(0), view, value, d, dx);
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
                    let (own, all, count) = match (&sums, batch) {
                        (_, Some(BatchSums { own, all, count })) => (own, all, count),
                        (Some(sums), None) => (sums.each(), sums.each(), channels.rows * channels.side),
                        (None, None) => unreachable!("made above for what is reached"),
                    };
                    let [shift, slope] = halves(own);
                    match operand {
                        0 => {
                            let operands = self.standardised(&channels, eps, values, inputs);
                            let dx = &mut dx[..d.len()];
                            standardise::pullback(channels, threads, operands, (halves(all), count), d, add, dx);
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
                &Kernel::Pack([rows, columns]) => packed::pack_pullback(rows, columns, d, add, dx),
                &Kernel::Unpack([rows, columns]) => packed::unpack_pullback(rows, columns, d, add, dx),
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
                Kernel::Concat { places, .. } => {
                    strided::pass_on(d, &places[operand], Adjoint { data: dx, view, add });
                }
            }
        }
    }

    /// [`backward`](Self::backward) of a layer of packed matrices.
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
            Some((Location::Arena(to), begin)) => {
                let (d, dx) = apart(adjoints, start..start + value.len(), to..to + self.sources[0].length);
                if begin == Begin::Zero {
                    dx.fill(T::default());
                }
                (d, Some((dx, begin != Begin::Store)))
            }
            _ => (&adjoints[start..][..value.len()], None),
        };
        let Some((Location::Caller(index), begin)) = self.targets[1] else { return };
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

    /// The sums of batch normalisation's pullback, which serve all its operands; none where they are those of a batch, and of
    /// other kernels.
    fn sums<T: Scalar + Element>(&self, pass: &Backward<T>, adjoint: Given) -> Option<standardise::Sums> {
        let &Kernel::Standardise { channels, .. } = &self.kernel else { return None };
        if pass.batch.is_some() {
            return None;
        }
        let mut sums = standardise::Sums::new(channels);
        self.sum_into(pass, adjoint, sums.get_mut());
        Some(sums)
    }

    /// Those sums [2, channels] over the rows of the pass.
    pub fn sum_into<T: Scalar + Element>(&self, pass: &Backward<T>, adjoint: Given, sums: &mut [f64]) {
        let &Kernel::Standardise { channels, eps } = &self.kernel else { return };
        let is_reached = self.dependents & pass.given != 0;
        let d = match adjoint {
            Given::Arena(start) => &pass.adjoints[start..][..self.value.len()],
            Given::Seed(index) if pass.seeds.is_given(index) => pass.seeds.read(index, self.value.len()),
            Given::Seed(_) => &[],
        };
        if !is_reached || d.is_empty() {
            return sums.fill(0.0);
        }
        let operands = self.standardised(&channels, eps, pass.values, pass.inputs);
        standardise::sums(channels, pass.threads, operands, d, sums);
    }
}

/// The rows of [2, channels].
fn halves(sums: &[f64]) -> [&[f64]; 2] {
    let (first, second) = sums.split_at(sums.len() / 2);
    [first, second]
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
