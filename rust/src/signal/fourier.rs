//! Real Fourier transforms, X_k = Σ_j x_j exp(-2πi jk/n), with their plans kept.

use std::cell::RefCell;

use realfft::num_complex::Complex;
use realfft::{FftError, RealFftPlanner};

use crate::error::{Error, Result};

/// Plans of longer series are not kept: their tables are as large as the series.
const LONGEST_KEPT: usize = 1 << 17;

thread_local! {
    static PLANNER: RefCell<RealFftPlanner<f64>> = RefCell::new(RealFftPlanner::new());
}

fn with_planner<T>(samples: usize, plan: impl FnOnce(&mut RealFftPlanner<f64>) -> T) -> T {
    if samples > LONGEST_KEPT {
        return plan(&mut RealFftPlanner::new());
    }
    PLANNER.with_borrow_mut(plan)
}

fn internal(error: FftError) -> Error {
    Error::Internal(format!("Fourier transform: {error}"))
}

/// [n] to [n/2 + 1]; `series` is used up as scratch.
pub(super) fn forward(mut series: Vec<f64>) -> Result<Vec<Complex<f64>>> {
    let plan = with_planner(series.len(), |planner| planner.plan_fft_forward(series.len()));
    let mut spectrum = plan.make_output_vec();
    plan.process(&mut series, &mut spectrum).map_err(internal)?;
    Ok(spectrum)
}

/// [n/2 + 1] to [n], the inverse of [`forward`]. The first and last bins must be real.
pub(super) fn inverse(mut spectrum: Vec<Complex<f64>>) -> Result<Vec<f64>> {
    let samples = 2 * (spectrum.len() - 1);
    let plan = with_planner(samples, |planner| planner.plan_fft_inverse(samples));
    let mut series = plan.make_output_vec();
    plan.process(&mut spectrum, &mut series).map_err(internal)?;
    let scale = 1.0 / samples as f64;
    series.iter_mut().for_each(|x| *x *= scale);
    Ok(series)
}

/// [n/2 + 1] to [n]: the analytic signal, whose real part is [`inverse`] and whose imaginary part is that of the same
/// spectrum a quarter turn behind. The first and last bins are dropped.
pub(super) fn analytic(mut spectrum: Vec<Complex<f64>>) -> Result<Vec<Complex<f64>>> {
    drop_ends(&mut spectrum);
    let quarter = spectrum.iter().map(|bin| Complex::new(bin.im, -bin.re)).collect();
    let (re, im) = (inverse(spectrum)?, inverse(quarter)?);
    Ok(re.into_iter().zip(im).map(|(re, im)| Complex::new(re, im)).collect())
}

/// [n] to [n]: x_j = Σ_k X_k exp(2πi jk/n) / n of any complex spectrum with an even number of bins.
pub(super) fn complex_inverse(spectrum: &[Complex<f64>]) -> Result<Vec<Complex<f64>>> {
    let samples = spectrum.len();
    // The halves of X that belong to the real and to the imaginary part of x.
    let half = |factor: Complex<f64>| {
        let bins = 0..=samples / 2;
        let split = |k: usize| {
            let mirror = (spectrum[(samples - k) % samples] * factor).conj();
            let bin = 0.5 * (spectrum[k] * factor + mirror);
            if k == 0 || k == samples / 2 { Complex::new(bin.re, 0.0) } else { bin }
        };
        inverse(bins.map(split).collect())
    };
    let (re, im) = (half(Complex::new(1.0, 0.0))?, half(Complex::new(0.0, -1.0))?);
    Ok(re.into_iter().zip(im).map(|(re, im)| Complex::new(re, im)).collect())
}

/// The mean and the Nyquist bin have no phase.
pub(super) fn drop_ends(spectrum: &mut [Complex<f64>]) {
    if let [first, .., last] = spectrum {
        *first = 0.0.into();
        *last = 0.0.into();
    }
}
