//! What layers with products in bfloat16 read as pairs. Shapes are rows, inputs and outputs.

use crate::graph::program::{Linear, Primitive};
use crate::kernels::{Scalar, bf16};

/// Rows in panels as pairs, along rows and then across them.
pub(super) fn round<T: Scalar>(rows: usize, columns: usize, x: &[T], pairs: &mut [T]) {
    let (along, across) = pairs.split_at_mut(bf16::along::<T>(rows, columns));
    bf16::round(rows, columns, x, Some(along), across);
}

/// The parts of the input that [`round`] made.
pub(super) fn input<T: Scalar>([rows, inputs, _]: [usize; 3], pairs: &[T]) -> [&[T]; 2] {
    let (along, across) = pairs.split_at(bf16::along::<T>(rows, inputs));
    [along, across]
}

/// The weight as pairs of inputs and, where something goes back to the layer's input, of outputs.
pub(super) fn weight<T: Scalar>([_, inputs, outputs]: [usize; 3], pairs: &[T]) -> [&[T]; 2] {
    let (weight, transposed) = pairs.split_at(bf16::across::<T>(inputs, outputs));
    [weight, transposed]
}

/// Numbers that the pullback needs for the adjoint as pairs.
pub(super) fn scratch<T: Scalar>([rows, _, outputs]: [usize; 3]) -> usize {
    bf16::both::<T>(rows, outputs)
}

/// The most of them that a step of these needs.
pub(super) fn most_scratch<'a, T: Scalar>(steps: impl Iterator<Item = &'a Primitive>) -> usize {
    let needed = steps.map(|primitive| match primitive {
        &Primitive::Linear(Linear { shape, is_rounded: true, .. }) => scratch::<T>(shape),
        _ => 0,
    });
    needed.max().unwrap_or(0)
}
