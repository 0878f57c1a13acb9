//! Strain data: spectra, noise, waveforms, whitening, bounds.

use crate::error::{Result, guard};
use crate::signal;

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    extern "Rust" {
        /// One-sided power spectral density [samples / 2 + 1], 1/Hz.
        fn signal_detector_psd(samples: usize, rate: f64) -> Result<Vec<f64>>;
        fn signal_welch(strain: &[f64], segment: usize, rate: f64) -> Result<Vec<f64>>;
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

fn signal_detector_psd(samples: usize, rate: f64) -> Result<Vec<f64>> {
    guard(|| signal::detector_psd(samples, rate))
}

fn signal_welch(strain: &[f64], segment: usize, rate: f64) -> Result<Vec<f64>> {
    guard(|| signal::welch(strain, segment, rate))
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
