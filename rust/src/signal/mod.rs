//! Signals in coloured Gaussian noise: spectra, filters, waveforms, detectors, searches, and the bounds that no classifier
//! beats.
//!
//! Everything is float64. Strain is dimensionless, times are in s, frequencies and sampling rates in Hz, power
//! spectral densities in 1/Hz. A series has an even number `n` of samples; its spectra have `n / 2 + 1` bins at the
//! frequencies `k * rate / n`.
//!
//! Densities are one-sided at every bin, the first and the last too: white noise of variance σ² has S = 2σ²/rate
//! throughout. (SciPy leaves those two bins undoubled.) With that, a whitened series of Gaussian noise has
//! independent samples of variance 1, and the Euclidean norm of a whitened waveform is its optimal SNR.

mod bayes;
mod binary;
mod bound;
mod burst;
mod candidate;
mod check;
mod coherent;
mod detector;
mod filter;
mod fisher;
mod fourier;
mod inspiral;
mod matched_filter;
mod median_bias;
mod noise;
mod online;
mod phenom_d;
mod post_newtonian;
mod psd;
mod quasinormal;
mod response;
mod time_frequency;
mod waveform;
mod welch;
mod whitening;
mod window;
mod zero_detuned;

pub use bayes::{Bounds, Draws, Estimate, Reach, Search, bayes_statistic, search_bounds};
pub use binary::Binary;
pub use bound::{Phase, auc_bound, efficiency_bound, marcum_q1};
pub use burst::{blip, ringdown, scattered_light, sine_gaussian};
pub use candidate::{Candidate, Injection, Sensitivity, find_candidates, sensitive_distance};
pub use coherent::{Coherent, CoherentSearch};
pub use detector::{DETECTORS, Detector, Direction, network_snr, sidereal_time};
pub use filter::{band_pass, notch};
pub use fisher::{SineGaussian, sine_gaussian_fisher};
pub use inspiral::{Approximant, binary_spectrum, binary_strain};
pub use matched_filter::{MatchedFilter, Trigger};
pub use noise::noise;
pub use online::OnlineWhitener;
pub use psd::{Design, detector_psd, interpolate_psd, truncate_inverse};
pub use response::{Response, draw_responses};
pub use time_frequency::{QPlane, TimeFrequency, q_transform, spectrogram};
pub use waveform::{chirp, phase_shift};
pub use welch::{Average, welch};
pub use whitening::{OwnWhitening, scale_to_snr, snr, whiten, whiten_by_own, whiten_in_blocks};
pub use window::{Window, window};
