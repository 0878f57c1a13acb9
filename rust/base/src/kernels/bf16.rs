//! Products of linear layers whose factors are pairs of bfloat16 (`cpp/kernels/bf16.cpp`), with float32 sums.
//!
//! A pair occupies the space of one float32 number. Shapes are rows, inputs, outputs; layers have more than one output.

use std::ffi::c_int;

use super::{Scalar, check_length, check_sign_activation, packed_length, pointer};

/// `ct_bf16` of `cpp/kernels/kernels.h`; pairs are passed as the numbers whose space they occupy.
#[repr(C)]
#[doc(hidden)]
pub struct KernelTable<T> {
    round: unsafe extern "C" fn(usize, usize, *const T, *mut T, *mut T),
    round_layer: unsafe extern "C" fn(usize, usize, *const T, *mut T, *mut T),
    linear: unsafe extern "C" fn(c_int, usize, usize, usize, *const T, *const T, *const T, *mut T),
    input_pullback: unsafe extern "C" fn(c_int, usize, usize, usize, *const T, *const T, *const T, *mut T, c_int),
    weight_pullback: unsafe extern "C" fn(usize, usize, usize, *const T, *const T, *const T, c_int, *mut T),
}

/// Whether they run here for numbers of type T: float32 on a processor with AVX512-BF16.
pub fn is_available<T: Scalar>() -> bool {
    T::pairs().is_some()
}

fn table<T: Scalar>() -> &'static KernelTable<T> {
    T::pairs().expect("asked for where they run alone")
}

/// Pairs along the rows of [rows, columns], packed.
pub fn along<T: Scalar>(rows: usize, columns: usize) -> usize {
    packed_length::<T>(rows, columns) / 2
}

/// Pairs across its rows.
pub fn across<T: Scalar>(rows: usize, columns: usize) -> usize {
    packed_length::<T>(rows.div_ceil(2), columns)
}

/// Both pair forms of a matrix, one after the other.
pub fn both<T: Scalar>(rows: usize, columns: usize) -> usize {
    along::<T>(rows, columns) + across::<T>(rows, columns)
}

/// Rounds `from` [rows, columns], packed, to pairs along its rows, if wanted, and across them.
pub fn round<T: Scalar>(rows: usize, columns: usize, from: &[T], along_rows: Option<&mut [T]>, across_rows: &mut [T]) {
    check_length("packed", from.len(), packed_length::<T>(rows, columns));
    if let Some(along_rows) = &along_rows {
        check_length("pairs along rows", along_rows.len(), along::<T>(rows, columns));
    }
    check_length("pairs across rows", across_rows.len(), across::<T>(rows, columns));
    let round = table::<T>().round;
    // SAFETY: the lengths are those of the shapes; pairs along rows may be null.
    unsafe { round(rows, columns, from.as_ptr(), pointer(along_rows), across_rows.as_mut_ptr()) }
}

/// Rounds the weight of `layer` to pairs of inputs and, if wanted, to pairs of outputs, as the pullback reads it.
pub fn round_layer<T: Scalar>(
    inputs: usize,
    outputs: usize,
    layer: &[T],
    weight: &mut [T],
    transposed: Option<&mut [T]>,
) {
    check_outputs(outputs);
    check_length("layer", layer.len(), T::layer_length(inputs, outputs));
    check_length("weight", weight.len(), across::<T>(inputs, outputs));
    if let Some(transposed) = &transposed {
        check_length("transposed", transposed.len(), across::<T>(outputs, inputs));
    }
    let round_layer = table::<T>().round_layer;
    // SAFETY: the lengths are those of the shapes; the transposed weight may be null.
    unsafe { round_layer(inputs, outputs, layer.as_ptr(), weight.as_mut_ptr(), pointer(transposed)) }
}

/// `z = act(x wᵀ + b)`, all packed, with `x` as pairs along its rows; the bias is that of `layer`.
pub fn linear<T: Scalar>(act: u8, shape: [usize; 3], x: &[T], weight: &[T], layer: &[T], z: &mut [T]) {
    let [rows, inputs, outputs] = shape;
    check_sign_activation(act);
    check_outputs(outputs);
    check_length("x", x.len(), along::<T>(rows, inputs));
    check_length("weight", weight.len(), across::<T>(inputs, outputs));
    check_length("layer", layer.len(), T::layer_length(inputs, outputs));
    check_length("z", z.len(), packed_length::<T>(rows, outputs));
    let (kernel, layer) = (table::<T>().linear, layer.as_ptr());
    // SAFETY: the lengths are those of the shapes, and `z` is borrowed apart from the others.
    unsafe { kernel(act.into(), rows, inputs, outputs, x.as_ptr(), weight.as_ptr(), layer, z.as_mut_ptr()) }
}

/// As [`Scalar::packed_input_pullback`], with `dz` as pairs along its rows.
pub fn input_pullback<T: Scalar>(
    act: u8,
    shape: [usize; 3],
    x: &[T],
    transposed: &[T],
    dz: &[T],
    dx: &mut [T],
    add: bool,
) {
    let [rows, inputs, outputs] = shape;
    check_sign_activation(act);
    check_outputs(outputs);
    check_length("x", x.len(), packed_length::<T>(rows, inputs));
    check_length("transposed", transposed.len(), across::<T>(outputs, inputs));
    check_length("dz", dz.len(), along::<T>(rows, outputs));
    check_length("dx", dx.len(), x.len());
    let (kernel, x, w) = (table::<T>().input_pullback, x.as_ptr(), transposed.as_ptr());
    // SAFETY: the lengths are those of the shapes, and `dx` is borrowed apart from the others.
    unsafe { kernel(act.into(), rows, inputs, outputs, x, w, dz.as_ptr(), dx.as_mut_ptr(), add.into()) }
}

/// As [`Scalar::packed_weight_pullback`], with `x` and `dz_pairs` as pairs across their rows; the bias's gradient is
/// that of `dz`.
pub fn weight_pullback<T: Scalar>(shape: [usize; 3], x: &[T], dz_pairs: &[T], dz: &[T], sum: bool, dlayer: &mut [T]) {
    let [rows, inputs, outputs] = shape;
    check_outputs(outputs);
    check_length("x", x.len(), across::<T>(rows, inputs));
    check_length("dz_pairs", dz_pairs.len(), across::<T>(rows, outputs));
    check_length("dz", dz.len(), packed_length::<T>(rows, outputs));
    check_length("dlayer", dlayer.len(), T::layer_length(inputs, outputs));
    let (kernel, x, pairs) = (table::<T>().weight_pullback, x.as_ptr(), dz_pairs.as_ptr());
    // SAFETY: the lengths are those of the shapes, and `dlayer` is borrowed apart from the others.
    unsafe { kernel(rows, inputs, outputs, x, pairs, dz.as_ptr(), sum.into(), dlayer.as_mut_ptr()) }
}

fn check_outputs(outputs: usize) {
    assert!(outputs > 1, "a layer of one output has no products in bfloat16");
}
