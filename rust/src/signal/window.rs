//! Windows that fade the ends of a series.
//!
//! Source: F. J. Harris, Proc. IEEE 66 (1978) 51. All are periodic (of n + 1 symmetric samples the first n), as spectra
//! want them.

use std::f64::consts::{PI, TAU};

use super::check;
use crate::error::Result;

/// The shape of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Window {
    /// sin²: falls to 0 at both ends.
    Hann,
    /// Flat, with a half cosine over `0.5 * fraction` of the length at each end: 0 is a rectangle, 1 is [`Window::Hann`].
    Tukey(f64),
    /// 0.42 - 0.5 cos + 0.08 cos of twice the angle: side lobes below -58 dB.
    Blackman,
}

/// The periodic window of `samples` samples, [samples].
pub fn window(shape: Window, samples: usize) -> Result<Vec<f64>> {
    check::samples("window", samples)?;
    if let Window::Tukey(fraction) = shape {
        check::within("tapered fraction of the Tukey window", fraction, 0.0, 1.0)?;
    }
    let value = |j: usize| {
        let x = j as f64 / samples as f64;
        match shape {
            Window::Hann => 0.5 - 0.5 * (TAU * x).cos(),
            Window::Blackman => 0.42 - 0.5 * (TAU * x).cos() + 0.08 * (2.0 * TAU * x).cos(),
            Window::Tukey(fraction) => {
                let edge = 2.0 * x.min(1.0 - x);
                if edge >= fraction { 1.0 } else { 0.5 - 0.5 * (PI * edge / fraction).cos() }
            }
        }
    };
    Ok((0..samples).map(value).collect())
}
