//! The forward pass of a node.

use super::{Convolved, Kernel, Step, Value, Values};
use crate::device::{Element, ReadTensors, WriteTensors};
use crate::gradient::buffer_assignment::Location;
use crate::gradient::executor::{custom, rounded, standardise};
use crate::gradient::shares::Shares;
use crate::graph::DType;
use crate::graph::program::{Digits, Linear};
use crate::kernels::Scalar;
use crate::kernels::strided::{self, StridedView};

impl Step {
    /// `None` where an index is out of range.
    pub fn forward<T: Scalar + Element>(
        &self,
        values: &mut [T],
        inputs: ReadTensors,
        outputs: &mut WriteTensors,
        threads: usize,
    ) -> Option<()> {
        let (value, others) = match &self.value {
            Value::Arena(range) => Values::beside(values, range),
            &Value::Output(index, length) => (outputs.write(index, length), Values::all(values)),
        };
        let read = |operand: usize| self.sources[operand].read(others, inputs);
        match &self.kernel {
            Kernel::Load(_, _, Some(dense)) => {
                let Location::Caller(index) = self.sources[0].place else { unreachable!("only arguments are loaded") };
                strided::copy(inputs.read::<T>(index, self.sources[0].length), &self.views[0], value, dense);
            }
            Kernel::Load(dtype, digits, None) => self.load(*dtype, *digits, inputs, value),
            Kernel::Map(function) => {
                strided::map(*function, 0, &self.operands(others, inputs)[..self.sources.len()], &self.views, value)
            }
            Kernel::Custom(function) => custom::values(function, read(0), value),
            Kernel::Sum(target) => {
                value.fill(T::default());
                strided::accumulate(read(0), &self.views[0], value, target);
            }
            Kernel::Max { columns, .. } => strided::max(*columns, read(0), &self.views[0], value),
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
                if channels.width != channels.channels {
                    value.fill(T::default()); // what lies between packed columns is multiplied by zeros
                }
                standardise::standardise(channels, threads, self.standardised(&channels, eps, others, inputs), value);
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
            &Kernel::Pack([rows, columns]) => T::pack_matrix(rows, columns, read(0), value),
            &Kernel::Unpack([rows, columns]) => T::unpack_matrix(rows, columns, read(0), value),
            Kernel::Convolve(Convolved { convolution: c, signals, weights, .. }) => {
                let bias = (self.sources.len() == 3).then(|| &read(2)[..c.groups * c.outputs]);
                strided::convolve(c, &read(0)[..*signals], &read(1)[..*weights], bias, value);
            }
            Kernel::Argsort(ranking) => strided::argsort(*ranking, read(0), &self.views[0], value),
            Kernel::Gather(pick) => {
                let indices = self.index(others, inputs);
                if !strided::gather(pick, read(0), &self.views[0], indices, &self.views[1], value) {
                    return None;
                }
            }
            Kernel::Scatter(pick, [places, dense]) => {
                let indices = self.index(others, inputs);
                strided::copy(read(2), &self.views[2], value, dense);
                let source = &read(0)[..self.views[0].count()];
                if !strided::gather_pullback(pick, source, indices, &self.views[1], value, places) {
                    return None;
                }
            }
            Kernel::Concat { blocks: Some(blocks), .. } => blocks.join(read, value),
            Kernel::Concat { fill, places, .. } => {
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

    /// An argument of another type as numbers.
    fn load<T: Scalar + Element>(&self, dtype: DType, digits: Digits, inputs: ReadTensors, value: &mut [T]) {
        let Location::Caller(index) = self.sources[0].place else { unreachable!("only arguments are loaded") };
        let (length, view) = (self.sources[0].length, &self.views[0]);
        match dtype {
            DType::Float32 => loaded(inputs.read::<f32>(index, length), view, value, f64::from),
            DType::Float64 => loaded(inputs.read::<f64>(index, length), view, value, |x| x),
            DType::Int64 => loaded(inputs.read::<i64>(index, length), view, value, |x| digits.of(x)),
            DType::Bool => loaded(inputs.read::<u8>(index, length), view, value, |x| f64::from(u8::from(x != 0))),
        }
    }
}

pub(super) fn loaded<X: Element, T: Scalar>(from: &[X], view: &StridedView, to: &mut [T], convert: impl Fn(X) -> f64) {
    let mut to = to.iter_mut();
    view.for_each(|offset| {
        if let Some(to) = to.next() {
            *to = T::from_f64(convert(from[offset]));
        }
    });
}
