//! The operands that layers with products in bfloat16 read as pairs. Shapes are rows, inputs and outputs.

use crate::graph::program::{Linear, Primitive};
use crate::kernels::{Scalar, bf16};

/// Packed rows as pairs, along rows and then across them.
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

/// Numbers that the pullback of a node needs meanwhile: for the adjoint as pairs.
pub(super) fn scratch<T: Scalar>(primitive: &Primitive) -> usize {
    match *primitive {
        Primitive::Linear(Linear { shape: [rows, _, outputs], is_rounded: true, .. }) => bf16::both::<T>(rows, outputs),
        _ => 0,
    }
}
