//! Functions that the user wrote, element by element in float64.

use crate::graph::CustomActivation;
use crate::kernels::Scalar;

/// `to = f(x)`
pub(super) fn values<T: Scalar>(function: &CustomActivation, x: &[T], to: &mut [T]) {
    in_blocks(x, to, |x, to| function.values(x, to), |_, value| value);
}

/// `dx` (`add`: +)= f'(x) d
pub(super) fn pullback<T: Scalar>(function: &CustomActivation, x: &[T], d: &[T], add: bool, dx: &mut [T]) {
    if !add {
        dx.copy_from_slice(d);
        return in_blocks(x, dx, |x, to| function.slopes(x, to), |d, slope| d * slope);
    }
    let mut own = d.to_vec();
    in_blocks(x, &mut own, |x, to| function.slopes(x, to), |d, slope| d * slope);
    T::add(&own, dx);
}

/// Runs a function of float64 over `x`; `combine` makes each of `to` of what it is and what the function gave.
fn in_blocks<T: Scalar>(
    x: &[T],
    to: &mut [T],
    function: impl Fn(&[f64], &mut [f64]),
    combine: impl Fn(f64, f64) -> f64,
) {
    const BLOCK: usize = 256;
    let (mut from, mut results) = ([0.0; BLOCK], [0.0; BLOCK]);
    for (x, to) in x.chunks(BLOCK).zip(to.chunks_mut(BLOCK)) {
        let (from, results) = (&mut from[..x.len()], &mut results[..x.len()]);
        from.iter_mut().zip(x).for_each(|(from, x)| *from = x.to_f64());
        function(from, results);
        to.iter_mut().zip(results).for_each(|(to, result)| *to = T::from_f64(combine(to.to_f64(), *result)));
    }
}
