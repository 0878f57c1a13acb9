//! Code that every gradient test needs: a derivative by differences, and a comparison that names the worst element.

/// The gradient of `f` at `x` by central differences with a step of 6e-6 (the cube root of float64's epsilon) times
/// max(1, |x|): good to about 1e-9 of the values involved, and wrong within a step of a kink.
pub fn central_difference(f: impl Fn(&[f64]) -> f64, x: &[f64]) -> Vec<f64> {
    let mut point = x.to_vec();
    let mut derivative = |i: usize| {
        let step = f64::EPSILON.cbrt() * x[i].abs().max(1.0);
        let (low, high) = (x[i] - step, x[i] + step);
        point[i] = high;
        let above = f(&point);
        point[i] = low;
        let below = f(&point);
        point[i] = x[i];
        (above - below) / (high - low)
    };
    (0..x.len()).map(&mut derivative).collect()
}

/// Whether |got - want| <= atol + rtol |want| everywhere; otherwise names the element furthest beyond. A NaN fails.
pub fn compare(got: &[f64], want: &[f64], rtol: f64, atol: f64) -> Result<(), String> {
    if got.len() != want.len() {
        return Err(format!("{} elements instead of {}", got.len(), want.len()));
    }
    let excess = |(&got, &want): (&f64, &f64)| {
        let ratio = (got - want).abs() / (atol + rtol * want.abs());
        if ratio.is_nan() && got != want { f64::INFINITY } else { ratio }
    };
    let excesses = got.iter().zip(want).map(excess).enumerate();
    match excesses.max_by(|(_, a), (_, b)| a.total_cmp(b)) {
        Some((i, worst)) if worst > 1.0 => {
            Err(format!("element {i} is {:e} instead of {:e} (rtol {rtol:e}, atol {atol:e})", got[i], want[i]))
        }
        _ => Ok(()),
    }
}
