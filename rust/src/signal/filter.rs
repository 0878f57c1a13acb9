//! Filters without delay: every frequency is multiplied by a gain and keeps its phase.
//!
//! The series is taken as periodic. Fade the ends of one that is not, or drop them afterwards.

use super::{check, fourier};
use crate::error::{Error, Result};

/// Slope of the band's edges: the gain of a Butterworth filter of order 8 run forwards and backwards.
const ORDER: i32 = 16;

/// `strain` ([n]) between the frequencies `low` and `high` (Hz), [n]; `low` 0 and `high` at the Nyquist frequency leave that
/// side open. At the edges the gain is 1/2, an octave outside it is 1.5e-5.
pub fn band_pass(strain: &[f64], rate: f64, low: f64, high: f64) -> Result<Vec<f64>> {
    check::positive("sampling rate (Hz)", rate)?;
    check::within("lower edge of the band (Hz)", low, 0.0, 0.5 * rate)?;
    check::within("upper edge of the band (Hz)", high, 0.0, 0.5 * rate)?;
    if low >= high {
        return Err(Error::invalid(
            format!("the band goes from {low} Hz to {high} Hz"),
            "give a lower edge below the upper one",
        ));
    }
    filtered(strain, rate, |frequency| {
        let above = if low > 0.0 { 1.0 / (1.0 + (low / frequency).powi(ORDER)) } else { 1.0 };
        let below = if high < 0.5 * rate { 1.0 / (1.0 + (frequency / high).powi(ORDER)) } else { 1.0 };
        above * below
    })
}

/// `strain` ([n]) without the line at `frequency` (Hz), [n]. The gain is x²/(1 + x²), x counting from the line in units of
/// half the `width` (Hz): 0 at the line, 1/2 at half the width on each side.
pub fn notch(strain: &[f64], rate: f64, frequency: f64, width: f64) -> Result<Vec<f64>> {
    check::positive("sampling rate (Hz)", rate)?;
    check::within("frequency of the line (Hz)", frequency, 0.0, 0.5 * rate)?;
    check::positive("width of the notch (Hz)", width)?;
    filtered(strain, rate, |f| {
        let x2 = ((f - frequency) / (0.5 * width)).powi(2);
        if x2.is_finite() { x2 / (1.0 + x2) } else { 1.0 }
    })
}

fn filtered(strain: &[f64], rate: f64, gain: impl Fn(f64) -> f64) -> Result<Vec<f64>> {
    check::samples("strain", strain.len())?;
    check::finite("strain", strain)?;
    let mut spectrum = fourier::forward(strain.to_vec())?;
    for (k, bin) in spectrum.iter_mut().enumerate() {
        *bin *= gain(k as f64 * rate / strain.len() as f64);
    }
    let series = fourier::inverse(spectrum)?;
    check::finite("filtered strain", &series)?;
    Ok(series)
}
