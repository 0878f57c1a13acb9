//! One layer's products, divided among the threads of the current pool: by panels of its outputs, and for the adjoint
//! of its inputs by panels of the inputs. A panel is computed whole by one thread, so the bits are the same for any
//! number of threads.

use std::ops::Range;

use rayon::prelude::*;

use crate::kernels::{Scalar, bf16};

/// Floating-point operations below which a product is done before a second thread has come: some 30 us of work.
const WORTH_SHARING: usize = 1 << 22;

/// Rows, inputs and outputs of a layer, and its number of threads.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    pub shape: [usize; 3],
    pub threads: usize,
}

/// The inputs of a layer's pullback: its value before `act`, and the adjoint of its value.
#[derive(Clone, Copy)]
pub struct Pulled<'a, T> {
    pub act: u8,
    pub x: &'a [T],
    pub dz: &'a [T],
}

/// The adjoint of a layer's input, which with `add` is added to what is there.
pub struct Input<'a, T> {
    pub dx: &'a mut [T],
    pub add: bool,
}

impl Shares {
    /// Whether there is more than one share.
    fn are_several<T: Scalar>(&self) -> bool {
        let [rows, inputs, outputs] = self.shape;
        let is_worth_it = self.threads > 1 && outputs > 1 && 2 * rows * inputs * outputs >= WORTH_SHARING;
        // A share of a single output would be taken for a layer of one.
        is_worth_it && outputs % self.width::<T>(outputs) != 1
    }

    /// Columns of each share: whole panels.
    fn width<T: Scalar>(&self, columns: usize) -> usize {
        T::padded(columns.div_ceil(self.threads))
    }

    /// Calls `run` for each share of `columns` columns with its part of `into`, which has this many numbers for each
    /// column.
    fn each<T: Scalar>(
        &self,
        columns: usize,
        each: usize,
        into: &mut [T],
        run: impl Fn(Range<usize>, &mut [T]) + Send + Sync,
    ) {
        if !self.are_several::<T>() {
            return run(0..columns, into);
        }
        let width = self.width::<T>(columns);
        into.par_chunks_mut(each * width).enumerate().for_each(|(index, part)| {
            let first = index * width;
            run(first..columns.min(first + width), part);
        });
    }

    /// Both, at once where there are several shares.
    fn both<T: Scalar>(&self, first: impl FnOnce() + Send, second: impl FnOnce() + Send) {
        if self.are_several::<T>() {
            rayon::join(first, second);
        } else {
            first();
            second();
        }
    }

    /// As [`Scalar::packed_linear`].
    pub fn linear<T: Scalar>(&self, act: u8, x: &[T], layer: &[T], z: &mut [T]) {
        let [rows, inputs, outputs] = self.shape;
        if outputs == 1 {
            return T::packed_linear(act, rows, inputs, outputs, x, layer, z);
        }
        self.each(outputs, rows, z, |columns, z| {
            T::packed_linear(act, rows, inputs, columns.len(), x, part(layer, inputs + 1, &columns), z);
        });
    }

    /// As [`bf16::linear`].
    pub fn rounded_linear<T: Scalar>(&self, act: u8, x: &[T], weight: &[T], layer: &[T], z: &mut [T]) {
        let [rows, inputs, outputs] = self.shape;
        self.each(outputs, rows, z, |columns, z| {
            let (weight, layer) = (part(weight, inputs.div_ceil(2), &columns), part(layer, inputs + 1, &columns));
            bf16::linear(act, [rows, inputs, columns.len()], x, weight, layer, z);
        });
    }

    /// As [`Scalar::packed_pullback`].
    pub fn pullback<T: Scalar>(
        &self,
        Pulled { act, x, dz }: Pulled<T>,
        transposed: &[T],
        sum: bool,
        input: Option<Input<T>>,
        dlayer: &mut [T],
    ) {
        let [rows, inputs, outputs] = self.shape;
        if !self.are_several::<T>() {
            let (dx, add) = input.map_or((None, false), |Input { dx, add }| (Some(dx), add));
            return T::packed_pullback(act, self.shape, x, transposed, dz, sum, dx, add, dlayer);
        }
        let mut weights = || {
            self.each(outputs, inputs + 1, dlayer, |columns, dlayer| {
                let dz = part(dz, rows, &columns);
                T::packed_weight_pullback([rows, inputs, columns.len()], x, dz, sum, dlayer);
            });
        };
        let Some(Input { dx, add }) = input else { return weights() };
        self.both::<T>(weights, || {
            self.each(inputs, rows, dx, |columns, dx| {
                let (x, transposed) = (part(x, rows, &columns), part(transposed, outputs, &columns));
                T::packed_input_pullback(act, [rows, columns.len(), outputs], x, transposed, dz, dx, add);
            });
        });
    }

    /// As [`bf16::weight_pullback`] and, if wanted, [`bf16::input_pullback`]: of `x_across`, the layer's input as pairs across rows,
    /// and with memory for `dz` as pairs, or more.
    #[allow(clippy::too_many_arguments)] // The mathematics has that many.
    pub fn rounded_pullback<T: Scalar>(
        &self,
        Pulled { act, x, dz }: Pulled<T>,
        x_across: &[T],
        transposed: &[T],
        pairs: &mut [T],
        sum: bool,
        input: Option<Input<T>>,
        dlayer: &mut [T],
    ) {
        let [rows, inputs, outputs] = self.shape;
        let (along, across) = pairs[..bf16::both::<T>(rows, outputs)].split_at_mut(bf16::along::<T>(rows, outputs));
        bf16::round(rows, outputs, dz, input.is_some().then_some(&mut *along), across);
        let (along, across) = (&*along, &*across);
        let mut weights = || {
            self.each(outputs, inputs + 1, dlayer, |columns, dlayer| {
                let (pairs, dz) = (part(across, rows.div_ceil(2), &columns), part(dz, rows, &columns));
                bf16::weight_pullback([rows, inputs, columns.len()], x_across, pairs, dz, sum, dlayer);
            });
        };
        let Some(Input { dx, add }) = input else { return weights() };
        self.both::<T>(weights, || {
            self.each(inputs, rows, dx, |columns, dx| {
                let (x, transposed) = (part(x, rows, &columns), part(transposed, outputs.div_ceil(2), &columns));
                bf16::input_pullback(act, [rows, columns.len(), outputs], x, transposed, along, dx, add);
            });
        });
    }
}

/// The panels of these columns, the first of which begins a panel, in a matrix with `each` numbers per column.
fn part<'a, T: Scalar>(matrix: &'a [T], each: usize, columns: &Range<usize>) -> &'a [T] {
    &matrix[each * columns.start..each * T::padded(columns.end)]
}
