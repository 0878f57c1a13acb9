//! Checks of arguments that all functions of this module share.

use crate::error::{Error, Result};

/// Longest series accepted, 1 GiB of float64: a mistyped size is an error, not the end of the process.
pub(super) const MAX_SAMPLES: usize = 1 << 27;

/// `samples` is even, so that the spectrum ends at the Nyquist frequency, and of a sane size.
pub(super) fn samples(what: &str, samples: usize) -> Result<()> {
    if (4..=MAX_SAMPLES).contains(&samples) && samples.is_multiple_of(2) {
        return Ok(());
    }
    Err(Error::invalid(format!("{what} has {samples} samples"), format!("give an even number from 4 to {MAX_SAMPLES}")))
}

/// `value` lies in [least, most].
pub(super) fn count(what: &str, value: usize, least: usize, most: usize) -> Result<()> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(Error::invalid(format!("{what} is {value}"), format!("give an integer from {least} to {most}")))
}

/// `value` is a finite number above zero.
pub(super) fn positive(what: &str, value: f64) -> Result<()> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(Error::invalid(format!("{what} is {value}"), "give a finite number above 0"))
}

/// `value` lies in [low, high].
pub(super) fn within(what: &str, value: f64, low: f64, high: f64) -> Result<()> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    let allowed = match (low == -f64::MAX, high == f64::MAX) {
        (true, true) => "finite number".to_owned(),
        (_, true) => format!("finite number from {low} on"),
        _ => format!("number from {low} to {high}"),
    };
    Err(Error::invalid(format!("{what} is {value}"), format!("give a {allowed}")))
}

/// No NaN and no infinity among `values`.
pub(super) fn finite(what: &str, values: &[f64]) -> Result<()> {
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(i) => Err(Error::invalid(
            format!("{what} is {} at sample {i}", values[i]),
            "give finite numbers in units in which float64 neither overflows nor underflows",
        )),
    }
}

/// Every bin of `psd` can be divided by.
pub(super) fn psd(psd: &[f64]) -> Result<()> {
    match psd.iter().position(|s| !(s.is_finite() && *s > 0.0)) {
        None => Ok(()),
        Some(k) => Err(Error::invalid(
            format!("power spectral density is {} at bin {k} of {}", psd[k], psd.len()),
            "give finite densities above 0, for example by holding the density constant below the lowest frequency used",
        )),
    }
}

/// `psd` is valid and belongs to series of `samples` samples.
pub(super) fn psd_for(psd_values: &[f64], samples: usize) -> Result<()> {
    if psd_values.len() != samples / 2 + 1 {
        return Err(Error::invalid(
            format!("power spectral density has {} bins for a series of {samples} samples", psd_values.len()),
            format!("give {} bins: interpolate the density to {samples} samples", samples / 2 + 1),
        ));
    }
    psd(psd_values)
}
