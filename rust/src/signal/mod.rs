//! Signals in coloured Gaussian noise: spectra, whitening, waveforms, and the exact bounds that no classifier beats.
//!
//! Everything is float64. Strain is dimensionless, times are in s, frequencies and sampling rates in Hz, power
//! spectral densities in 1/Hz. A series has an even number `n` of samples; its spectra have `n / 2 + 1` bins at the
//! frequencies `k * rate / n`.
//!
//! Densities are one-sided at every bin, the first and the last too: white noise of variance σ² has S = 2σ²/rate
//! throughout. (SciPy leaves those two bins undoubled.) With that, a whitened series of Gaussian noise has
//! independent samples of variance 1, and the Euclidean norm of a whitened waveform is its optimal SNR.

mod bound;
mod check;
mod fourier;
mod noise;
mod psd;
mod waveform;
mod whitening;

pub use bound::{Phase, auc_bound, efficiency_bound, marcum_q1};
pub use noise::noise;
pub use psd::{detector_psd, welch};
pub use waveform::{chirp, phase_shift, sine_gaussian};
pub use whitening::{scale_to_snr, snr, whiten};
