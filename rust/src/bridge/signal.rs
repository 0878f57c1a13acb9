//! Strain data: spectra, noise, waveforms, whitening, bounds. Searches and detectors have a bridge of their own.

use crate::error::{Result, guard};
use crate::signal::{self, Approximant, Average, Design, OwnWhitening, SineGaussian, Window};

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    /// See `signal::Design`.
    enum SignalDesign {
        Analytic,
        ZeroDetunedHighPower,
    }

    /// See `signal::Window`.
    enum SignalWindow {
        Hann,
        Tukey,
        Blackman,
    }

    /// See `signal::Average`.
    enum SignalAverage {
        Mean,
        Median,
    }

    /// See `signal::Approximant`.
    enum SignalApproximant {
        TaylorF2,
        PhenomD,
    }

    /// See `signal::Binary`.
    struct SignalBinary {
        masses: [f64; 2],
        spins: [f64; 2],
        distance: f64,
        phase: f64,
        start: f64,
    }

    extern "Rust" {
        /// One-sided power spectral density [samples / 2 + 1], 1/Hz.
        fn signal_detector_psd(samples: usize, rate: f64, design: SignalDesign) -> Result<Vec<f64>>;
        fn signal_window(shape: SignalWindow, samples: usize, fraction: f64) -> Result<Vec<f64>>;
        fn signal_welch(
            strain: &[f64],
            segment: usize,
            rate: f64,
            average: SignalAverage,
            window: SignalWindow,
        ) -> Result<Vec<f64>>;
        fn signal_interpolate_psd(psd: &[f64], samples: usize) -> Result<Vec<f64>>;
        fn signal_truncate_inverse(psd: &[f64], rate: f64, filter: usize, lowest: f64) -> Result<Vec<f64>>;
        fn signal_band_pass(strain: &[f64], rate: f64, low: f64, high: f64) -> Result<Vec<f64>>;
        fn signal_notch(strain: &[f64], rate: f64, frequency: f64, width: f64) -> Result<Vec<f64>>;
        fn signal_whiten_by_own(
            strain: &[f64],
            rate: f64,
            segment: usize,
            filter: usize,
            lowest: f64,
        ) -> Result<Vec<f64>>;
        fn signal_whiten_in_blocks(
            strain: &[f64],
            rate: f64,
            block: usize,
            segment: usize,
            filter: usize,
            lowest: f64,
        ) -> Result<Vec<f64>>;
        /// Real and imaginary parts in turns, [2 frequencies].
        fn signal_binary_spectrum(
            binary: &SignalBinary,
            approximant: SignalApproximant,
            frequencies: &[f64],
        ) -> Result<Vec<f64>>;
        fn signal_binary_strain(
            binary: &SignalBinary,
            approximant: SignalApproximant,
            samples: usize,
            rate: f64,
            coalescence: f64,
        ) -> Result<Vec<f64>>;
        fn signal_ringdown(samples: usize, rate: f64, frequency: f64, quality: f64, start: f64) -> Result<Vec<f64>>;
        fn signal_blip(samples: usize, rate: f64, frequency: f64, arrival: f64) -> Result<Vec<f64>>;
        fn signal_scattered_light(
            samples: usize,
            rate: f64,
            frequency: f64,
            highest: f64,
            arrival: f64,
        ) -> Result<Vec<f64>>;
        fn signal_sine_gaussian_fisher(
            psd: &[f64],
            rate: f64,
            amplitude: f64,
            arrival: f64,
            phase: f64,
            frequency: f64,
            width: f64,
        ) -> Result<Vec<f64>>;
        /// [2 (psd.len() - 1)]
        fn signal_noise(psd: &[f64], rate: f64, seed: u64) -> Result<Vec<f64>>;
        fn signal_whiten(strain: &[f64], psd: &[f64], rate: f64) -> Result<Vec<f64>>;
        fn signal_chirp(samples: usize, rate: f64, chirp_mass: f64, start: f64, coalescence: f64) -> Result<Vec<f64>>;
        fn signal_sine_gaussian(
            samples: usize,
            rate: f64,
            frequency: f64,
            quality: f64,
            arrival: f64,
        ) -> Result<Vec<f64>>;
        fn signal_phase_shift(strain: &[f64], phase: f64) -> Result<Vec<f64>>;
        fn signal_snr(strain: &[f64], psd: &[f64], rate: f64) -> Result<f64>;
        fn signal_scale_to_snr(strain: &[f64], psd: &[f64], rate: f64, snr: f64) -> Result<Vec<f64>>;
        fn signal_auc_bound(snr: f64, known_phase: bool) -> Result<f64>;
        fn signal_efficiency_bound(snr: f64, false_alarm: f64, known_phase: bool) -> Result<f64>;
    }
}

use ffi::{SignalApproximant, SignalAverage, SignalBinary, SignalDesign, SignalWindow};

shared_enum!(SignalDesign is Design, "design": Analytic ZeroDetunedHighPower);
shared_enum!(SignalAverage is Average, "average": Mean Median);
shared_enum!(SignalApproximant is Approximant, "approximant": TaylorF2 PhenomD);

/// Default share of a Tukey window that rises or falls.
const TAPERED: f64 = 0.5;

fn window_of(shape: SignalWindow, fraction: f64) -> Result<Window> {
    match shape {
        SignalWindow::Hann => Ok(Window::Hann),
        SignalWindow::Tukey => Ok(Window::Tukey(fraction)),
        SignalWindow::Blackman => Ok(Window::Blackman),
        SignalWindow { repr } => Err(super::unknown_number("window", repr)),
    }
}

impl From<&SignalBinary> for signal::Binary {
    fn from(shared: &SignalBinary) -> Self {
        let SignalBinary { masses, spins, distance, phase, start } = *shared;
        Self { masses, spins, distance, phase, start }
    }
}

fn signal_detector_psd(samples: usize, rate: f64, design: SignalDesign) -> Result<Vec<f64>> {
    guard(|| signal::detector_psd(samples, rate, design.try_into()?))
}

fn signal_window(shape: SignalWindow, samples: usize, fraction: f64) -> Result<Vec<f64>> {
    guard(|| signal::window(window_of(shape, fraction)?, samples))
}

fn signal_welch(
    strain: &[f64],
    segment: usize,
    rate: f64,
    average: SignalAverage,
    window: SignalWindow,
) -> Result<Vec<f64>> {
    guard(|| signal::welch(strain, segment, rate, average.try_into()?, window_of(window, TAPERED)?))
}

fn signal_interpolate_psd(psd: &[f64], samples: usize) -> Result<Vec<f64>> {
    guard(|| signal::interpolate_psd(psd, samples))
}

fn signal_truncate_inverse(psd: &[f64], rate: f64, filter: usize, lowest: f64) -> Result<Vec<f64>> {
    guard(|| signal::truncate_inverse(psd, rate, filter, lowest))
}

fn signal_band_pass(strain: &[f64], rate: f64, low: f64, high: f64) -> Result<Vec<f64>> {
    guard(|| signal::band_pass(strain, rate, low, high))
}

fn signal_notch(strain: &[f64], rate: f64, frequency: f64, width: f64) -> Result<Vec<f64>> {
    guard(|| signal::notch(strain, rate, frequency, width))
}

fn signal_whiten_by_own(strain: &[f64], rate: f64, segment: usize, filter: usize, lowest: f64) -> Result<Vec<f64>> {
    guard(|| signal::whiten_by_own(strain, rate, OwnWhitening { segment, filter, lowest }))
}

fn signal_whiten_in_blocks(
    strain: &[f64],
    rate: f64,
    block: usize,
    segment: usize,
    filter: usize,
    lowest: f64,
) -> Result<Vec<f64>> {
    guard(|| signal::whiten_in_blocks(strain, rate, block, OwnWhitening { segment, filter, lowest }))
}

fn signal_binary_spectrum(
    binary: &SignalBinary,
    approximant: SignalApproximant,
    frequencies: &[f64],
) -> Result<Vec<f64>> {
    guard(|| {
        let spectrum = signal::binary_spectrum(&binary.into(), approximant.try_into()?, frequencies)?;
        Ok(spectrum.iter().flat_map(|bin| [bin.re, bin.im]).collect())
    })
}

fn signal_binary_strain(
    binary: &SignalBinary,
    approximant: SignalApproximant,
    samples: usize,
    rate: f64,
    coalescence: f64,
) -> Result<Vec<f64>> {
    guard(|| signal::binary_strain(&binary.into(), approximant.try_into()?, samples, rate, coalescence))
}

fn signal_ringdown(samples: usize, rate: f64, frequency: f64, quality: f64, start: f64) -> Result<Vec<f64>> {
    guard(|| signal::ringdown(samples, rate, frequency, quality, start))
}

fn signal_blip(samples: usize, rate: f64, frequency: f64, arrival: f64) -> Result<Vec<f64>> {
    guard(|| signal::blip(samples, rate, frequency, arrival))
}

fn signal_scattered_light(samples: usize, rate: f64, frequency: f64, highest: f64, arrival: f64) -> Result<Vec<f64>> {
    guard(|| signal::scattered_light(samples, rate, frequency, highest, arrival))
}

fn signal_sine_gaussian_fisher(
    psd: &[f64],
    rate: f64,
    amplitude: f64,
    arrival: f64,
    phase: f64,
    frequency: f64,
    width: f64,
) -> Result<Vec<f64>> {
    guard(|| {
        let wave = SineGaussian { amplitude, arrival, phase, frequency, width };
        signal::sine_gaussian_fisher(&wave, psd, rate)
    })
}

fn signal_noise(psd: &[f64], rate: f64, seed: u64) -> Result<Vec<f64>> {
    guard(|| signal::noise(psd, rate, seed))
}

fn signal_whiten(strain: &[f64], psd: &[f64], rate: f64) -> Result<Vec<f64>> {
    guard(|| signal::whiten(strain, psd, rate))
}

fn signal_chirp(samples: usize, rate: f64, chirp_mass: f64, start: f64, coalescence: f64) -> Result<Vec<f64>> {
    guard(|| signal::chirp(samples, rate, chirp_mass, start, coalescence))
}

fn signal_sine_gaussian(samples: usize, rate: f64, frequency: f64, quality: f64, arrival: f64) -> Result<Vec<f64>> {
    guard(|| signal::sine_gaussian(samples, rate, frequency, quality, arrival))
}

fn signal_phase_shift(strain: &[f64], phase: f64) -> Result<Vec<f64>> {
    guard(|| signal::phase_shift(strain, phase))
}

fn signal_snr(strain: &[f64], psd: &[f64], rate: f64) -> Result<f64> {
    guard(|| signal::snr(strain, psd, rate))
}

fn signal_scale_to_snr(strain: &[f64], psd: &[f64], rate: f64, snr: f64) -> Result<Vec<f64>> {
    guard(|| signal::scale_to_snr(strain, psd, rate, snr))
}

fn signal_auc_bound(snr: f64, known_phase: bool) -> Result<f64> {
    guard(|| signal::auc_bound(snr, signal::Phase::from(known_phase)))
}

fn signal_efficiency_bound(snr: f64, false_alarm: f64, known_phase: bool) -> Result<f64> {
    guard(|| signal::efficiency_bound(snr, false_alarm, signal::Phase::from(known_phase)))
}
