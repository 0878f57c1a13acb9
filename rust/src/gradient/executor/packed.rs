//! Pullbacks of packing rows and unpacking them.

use crate::kernels::Scalar;

/// `dx` [rows, columns] (`add`: +)= the adjoint `d` of it, packed.
pub(super) fn pack_pullback<T: Scalar>(rows: usize, columns: usize, d: &[T], add: bool, dx: &mut [T]) {
    if !add {
        return T::unpack_matrix(rows, columns, d, dx);
    }
    let width = T::padded(1);
    for (panel, d) in d.chunks_exact(rows * width).enumerate() {
        for (dx, d) in dx.chunks_exact_mut(columns).zip(d.chunks_exact(width)) {
            let end = columns.min((panel + 1) * width);
            T::add(&d[..end - panel * width], &mut dx[panel * width..end]);
        }
    }
}

/// `dx`, packed, (`add`: +)= the adjoint `d` [rows, columns] of the rows.
pub(super) fn unpack_pullback<T: Scalar>(rows: usize, columns: usize, d: &[T], add: bool, dx: &mut [T]) {
    if !add {
        return T::pack_matrix(rows, columns, d, dx);
    }
    let width = T::padded(1);
    for (panel, dx) in dx.chunks_exact_mut(rows * width).enumerate() {
        for (d, dx) in d.chunks_exact(columns).zip(dx.chunks_exact_mut(width)) {
            let end = columns.min((panel + 1) * width);
            T::add(&d[panel * width..end], &mut dx[..end - panel * width]);
        }
    }
}
