//! Candidates of a continuous search, and how far it sees.
//!
//! Sources: M. Schäfer et al. (MLGWSC-1), Phys. Rev. D 107 (2023) 023021, sec. III; the volume: S. Usman et al., Class. Quantum
//! Grav. 33 (2016) 215004.

use std::f64::consts::PI;

use super::bayes::Estimate;
use super::check;
use crate::error::{Error, Result};

/// A time at which a search sees something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// s
    pub time: f64,
    /// The statistic that the search ranks by.
    pub statistic: f64,
}

/// A signal that was put into the strain.
#[derive(Clone, Copy, Debug)]
pub struct Injection {
    /// Time of the coalescence, s.
    pub time: f64,
    /// Mpc
    pub distance: f64,
    /// Solar masses.
    pub chirp_mass: f64,
}

/// How far a search sees at one false-alarm rate.
#[derive(Clone, Copy, Debug)]
pub struct Sensitivity {
    /// The threshold that candidates must exceed.
    pub threshold: f64,
    /// Share of the injections that are found.
    pub fraction: Estimate,
    /// Radius in Mpc of the sphere whose volume is the sensitive one.
    pub distance: Estimate,
}

/// The largest of each cluster of `scores` above `threshold`; score i is at `start + i step` (s). Scores belong to one cluster
/// as long as no more than `gap` (s) lies between two above the threshold.
pub fn find_candidates(scores: &[f32], start: f64, step: f64, threshold: f64, gap: f64) -> Result<Vec<Candidate>> {
    check::positive("distance of the scores (s)", step)?;
    check::within("gap between clusters (s)", gap, 0.0, f64::MAX)?;
    check::within("time of the first score (s)", start, -f64::MAX, f64::MAX)?;
    check::within("threshold", threshold, -f64::MAX, f64::MAX)?;
    if let Some(at) = scores.iter().position(|score| score.is_nan()) {
        return Err(Error::invalid(format!("score {at} is no number"), "leave out strain that is not a number"));
    }
    let mut found: Vec<Candidate> = Vec::new();
    let mut last = usize::MAX;
    // In whole steps, lest rounding of large times decides.
    let most = (gap / step * (1.0 + 1e-9)).floor();
    for (index, &score) in scores.iter().enumerate().filter(|(_, score)| f64::from(**score) > threshold) {
        let candidate = Candidate { time: start + index as f64 * step, statistic: f64::from(score) };
        match found.last_mut() {
            Some(loudest) if (index - last) as f64 <= most => {
                if candidate.statistic > loudest.statistic {
                    *loudest = candidate;
                }
            }
            _ => found.push(candidate),
        }
        last = index;
    }
    Ok(found)
}

/// For each of `rates` (false alarms per s) how far the search sees, as the mock-data challenge defines it.
///
/// `background` are the candidates of `duration` s of noise; a threshold lets `rate duration` of them pass, rounded down. An
/// injection is found if a candidate above the threshold lies within `tolerance` (s) of it, and nearer to it than to any other
/// injection. The volume is 4/3 pi d^3 with the largest distance d, times the share of the injections that are found, each
/// weighted by chirp mass^(5/2): they are to be drawn uniformly in the cube of the chirp distance, d (chirp mass)^(-5/6).
pub fn sensitive_distance(
    foreground: &[Candidate],
    background: &[Candidate],
    injections: &[Injection],
    duration: f64,
    rates: &[f64],
    tolerance: f64,
) -> Result<Vec<Sensitivity>> {
    check::positive("duration of the background (s)", duration)?;
    check::positive("tolerance (s)", tolerance)?;
    let loudest = loudest(foreground, injections, tolerance)?;
    let mut noise: Vec<f64> = background.iter().map(|candidate| candidate.statistic).collect();
    check::finite("statistic of the background", &noise)?;
    noise.sort_by(|a, b| b.total_cmp(a));
    rates.iter().map(|&rate| of_threshold(threshold(&noise, duration, rate)?, &loudest, injections)).collect()
}

/// Statistics of noise are sorted from the largest.
fn threshold(noise: &[f64], duration: f64, rate: f64) -> Result<f64> {
    let most = noise.len() as f64 / duration;
    check::within("false-alarm rate (1/s)", rate, 0.0, f64::MAX)?;
    // Lest rounding decides: 1/duration is one alarm.
    let alarms = (rate * duration * (1.0 + 1e-9)).floor();
    if alarms < 1.0 || alarms >= noise.len() as f64 {
        return Err(Error::invalid(
            format!("a false-alarm rate of {rate} per s with {} candidates in {duration} s of noise", noise.len()),
            format!(
                "give rates from {} to below {most}, more noise, or a lower threshold for candidates",
                1.0 / duration
            ),
        ));
    }
    Ok(noise[alarms as usize])
}

/// For each injection the largest statistic of its candidates; minus infinity where it has none.
fn loudest(foreground: &[Candidate], injections: &[Injection], tolerance: f64) -> Result<Vec<f64>> {
    for Injection { time, distance, chirp_mass } in injections {
        check::finite("time of an injection", &[*time])?;
        check::positive("distance of an injection (Mpc)", *distance)?;
        check::positive("chirp mass of an injection", *chirp_mass)?;
    }
    let mut order: Vec<usize> = (0..injections.len()).collect();
    order.sort_by(|&a, &b| injections[a].time.total_cmp(&injections[b].time));
    let mut loudest = vec![f64::NEG_INFINITY; injections.len()];
    for candidate in foreground {
        check::finite("a candidate", &[candidate.time, candidate.statistic])?;
        let away = |&&index: &&usize| (injections[index].time - candidate.time).abs();
        let behind = order.partition_point(|&index| injections[index].time < candidate.time);
        let nearest = order[behind.saturating_sub(1)..(behind + 1).min(order.len())].iter();
        let nearest = nearest.min_by(|a, b| away(a).total_cmp(&away(b)));
        if let Some(&index) = nearest.filter(|index| away(index) <= tolerance) {
            loudest[index] = loudest[index].max(candidate.statistic);
        }
    }
    Ok(loudest)
}

fn of_threshold(threshold: f64, loudest: &[f64], injections: &[Injection]) -> Result<Sensitivity> {
    if injections.is_empty() {
        return Err(Error::invalid("no injections", "put signals into the strain"));
    }
    let count = injections.len() as f64;
    let largest = |of: fn(&Injection) -> f64| injections.iter().map(of).fold(0.0, f64::max);
    let (farthest, heaviest) = (largest(|one| one.distance), largest(|one| one.chirp_mass));
    let found = |index: usize| f64::from(u8::from(loudest[index] > threshold));
    let mean = |of: &dyn Fn(usize) -> f64| (0..injections.len()).map(of).sum::<f64>() / count;
    let weighted = |index: usize| found(index) * (injections[index].chirp_mass / heaviest).powf(2.5);
    let error = |mean: f64, of_squares: f64| ((of_squares - mean * mean).max(0.0) / count).sqrt();
    let (fraction, share) = (mean(&found), mean(&weighted));
    let share_error = error(share, mean(&|index| weighted(index).powi(2)));
    let volume = 4.0 / 3.0 * PI * farthest.powi(3);
    let radius = |volume: f64| (3.0 * volume / (4.0 * PI)).cbrt();
    let distance = radius(volume * share);
    // d r = r/3 dV/V
    let distance_error = if share > 0.0 { distance / 3.0 * share_error / share } else { 0.0 };
    Ok(Sensitivity {
        threshold,
        fraction: Estimate { value: fraction, error: error(fraction, fraction) },
        distance: Estimate { value: distance, error: distance_error },
    })
}
