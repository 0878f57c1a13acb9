//! Means of the median of periodograms of Gaussian noise of density 1, for any number of segments.
//!
//! A bin of a periodogram is chi-squared over its degrees of freedom: two between the ends of the spectrum, where it is
//! exponential, and one at frequency 0 and at the Nyquist frequency, where the Fourier transform is real.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use libm::{erf, erfc, lgamma};

/// Degrees of freedom of one bin of a periodogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freedom {
    /// At frequency 0 and at the Nyquist frequency.
    One,
    /// Elsewhere.
    Two,
}

/// Mean of the median of `count` independent variables, chi-squared over their degrees of freedom. Of an even number the
/// median is the mean of the two in the middle. 1 of no variables, which have no median.
pub(super) fn median_bias(count: usize, freedom: Freedom) -> f64 {
    if count == 0 {
        return 1.0;
    }
    let order = |rank| match freedom {
        Freedom::One => order_of_squares(rank, count),
        Freedom::Two => order_of_exponentials(rank, count),
    };
    match count % 2 {
        0 => 0.5 * (order(count / 2) + order(count / 2 + 1)),
        _ => order(count / 2 + 1),
    }
}

/// The `rank`-th smallest of `count` has the mean Σ_(j < rank) 1 / (count - j). Of the median of an odd number this is
/// Σ (-1)^(i+1) / i up to i = `count`, tending to ln 2.
fn order_of_exponentials(rank: usize, count: usize) -> f64 {
    (0..rank).map(|j| 1.0 / (count - j) as f64).sum()
}

/// Mean of the `rank`-th smallest of `count` squares of standard normal numbers z: ∫ z² f(z) dz with the density
/// f(z) = n! / ((k - 1)! (n - k)!) F^(k-1) (1 - F)^(n-k) 2 φ(z), F = erf(z/√2), of the k-th smallest |z| (H. A. David and
/// H. N. Nagaraja, Order Statistics, 2003, ch. 2).
///
/// In ln z the integrand is smooth and falls off on both sides, so that the trapezoidal rule converges faster than any power
/// of its step: a tenth of 1/√n, where the peak is wider than 1/√n.
fn order_of_squares(rank: usize, count: usize) -> f64 {
    const LOW: f64 = -16.0; // z³ is 1e-21 there
    const HIGH: f64 = 2.8; // exp(-z²/2) is 1e-58 there
    let [n, k] = [count, rank].map(|number| number as f64);
    let scale = lgamma(n + 1.0) - lgamma(k) - lgamma(n - k + 1.0) + 0.5 * (2.0 / PI).ln();
    let step = 0.1 / n.sqrt();
    let term = |i: usize| {
        let logarithm = LOW + i as f64 * step;
        let z = logarithm.exp();
        let below = (k - 1.0) * erf(z * FRAC_1_SQRT_2).ln();
        let above = if rank < count { (n - k) * erfc(z * FRAC_1_SQRT_2).ln() } else { 0.0 };
        (scale + 3.0 * logarithm - 0.5 * z * z + below + above).exp()
    };
    let points = ((HIGH - LOW) / step) as usize;
    step * (0..=points).map(term).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn biases_have_their_limits() {
        for freedom in [Freedom::One, Freedom::Two] {
            // One variable is its own median, and so is the mean of two.
            for count in [0, 1, 2] {
                assert!((median_bias(count, freedom) - 1.0).abs() < 1e-12, "{count} {freedom:?}");
            }
            // The medians of the distributions: the square of the normal quantile of 3/4, and ln 2. The bias of the
            // median of n falls as 1/n.
            let median: f64 = if freedom == Freedom::One { 0.454_936_423_119_572_8 } else { 2f64.ln() };
            let excess = |count: usize| (median_bias(count, freedom) - median) * count as f64;
            assert!((excess(10_001) / excess(1001) - 1.0).abs() < 1e-2, "{freedom:?}");
        }
    }

    #[test]
    fn biases_are_those_of_high_precision() {
        // mpmath 1.3, 40 digits: mpmath.quad of the integral over z, from 0 to 12.
        let golden = [
            (3, 0.7045437354155758),
            (4, 0.7045437354155758),
            (5, 0.6159164941298644),
            (51, 0.4723967174420081),
            (100, 0.4639799918597223),
            (101, 0.4638019229230083),
            (1001, 0.4558355028447626),
        ];
        for (count, expected) in golden {
            let found = median_bias(count, Freedom::One);
            // ln n! is good to 1e-15 of itself, at most 1e4 here.
            assert!((found / expected - 1.0).abs() < 1e-10, "{count}: {found} {expected}");
        }
    }
}
