//! One layer's products, shared out over the threads of the present pool: by panels of its outputs, and for the adjoint
//! of its inputs by theirs. A panel is computed whole by one thread, so the bits are the same for any number of threads.

use rayon::prelude::*;

use crate::kernels::Scalar;

/// Floating-point operations below which a product is done before a second thread has come: some 30 us of work.
const WORTH_SHARING: usize = 1 << 22;

/// Rows, inputs and outputs of a layer, and the threads there are for it.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    pub shape: [usize; 3],
    pub threads: usize,
}

impl Shares {
    /// Columns of each thread's share of the outputs; none where one thread computes them all.
    fn shares<T: Scalar>(&self) -> Option<usize> {
        let [rows, inputs, outputs] = self.shape;
        let is_worth_it = self.threads > 1 && outputs > 1 && 2 * rows * inputs * outputs >= WORTH_SHARING;
        // A share of a single output would be taken for a layer of one.
        is_worth_it.then(|| self.width::<T>(outputs)).filter(|width| outputs % width != 1)
    }

    /// Columns of each share: whole panels.
    fn width<T: Scalar>(&self, columns: usize) -> usize {
        T::padded(columns.div_ceil(self.threads))
    }

    /// As [`Scalar::panel_linear`].
    pub fn linear<T: Scalar>(&self, act: u8, x: &[T], layer: &[T], z: &mut [T]) {
        let [rows, inputs, outputs] = self.shape;
        let Some(width) = self.shares::<T>() else {
            return T::panel_linear(act, rows, inputs, outputs, x, layer, z);
        };
        let shares = z.par_chunks_mut(rows * width).zip(layer.par_chunks((inputs + 1) * width));
        shares.enumerate().for_each(|(index, (z, layer))| {
            T::panel_linear(act, rows, inputs, width.min(outputs - index * width), x, layer, z);
        });
    }

    /// As [`Scalar::panel_pullback`].
    #[allow(clippy::too_many_arguments)] // The mathematics has that many.
    pub fn pullback<T: Scalar>(
        &self,
        act: u8,
        x: &[T],
        transposed: &[T],
        dz: &[T],
        sum: bool,
        dx: Option<&mut [T]>,
        add: bool,
        dlayer: &mut [T],
    ) {
        let [rows, inputs, outputs] = self.shape;
        let Some(width) = self.shares::<T>() else {
            return T::panel_pullback(act, self.shape, x, transposed, dz, sum, dx, add, dlayer);
        };
        let mut weights = || {
            let shares = dlayer.par_chunks_mut((inputs + 1) * width).zip(dz.par_chunks(rows * width));
            shares.enumerate().for_each(|(index, (dlayer, dz))| {
                let columns = width.min(outputs - index * width);
                T::panel_weight_pullback([rows, inputs, columns], x, dz, sum, dlayer);
            });
        };
        let Some(dx) = dx else { return weights() };
        rayon::join(weights, || {
            let width = self.width::<T>(inputs);
            let shares = dx.par_chunks_mut(rows * width).zip(x.par_chunks(rows * width));
            let shares = shares.zip(transposed.par_chunks(outputs * width));
            shares.enumerate().for_each(|(index, ((dx, x), transposed))| {
                let columns = width.min(inputs - index * width);
                T::panel_input_pullback(act, [rows, columns, outputs], x, transposed, dz, dx, add);
            });
        });
    }
}
