//! The two-sample test of Kolmogorov and Smirnov on weighted events.

use super::positive_total;
use crate::error::{Error, Result};

/// How far two cumulative distributions are apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// The largest distance.
    pub distance: f64,
    /// n m / (n + m), with n and m the events of equal weight that would be known as well: sqrt(events) distance follows
    /// Kolmogorov's distribution.
    pub events: f64,
}

/// The distance of two sets of scores with their weights.
pub fn distance(scores: [&[f32]; 2], weights: [&[f32]; 2]) -> Result<Distance> {
    let mut events = Vec::new();
    let mut counts = [0.0; 2];
    for (set, (scores, weights)) in scores.iter().zip(weights).enumerate() {
        if scores.len() != weights.len() {
            let what = format!("{} scores and {} weights", scores.len(), weights.len());
            return Err(Error::invalid(what, "give one weight for each score"));
        }
        let finite = |weight: &f32| weight.is_finite();
        if scores.iter().any(|score| score.is_nan()) || !weights.iter().all(finite) {
            return Err(Error::invalid("a score or weight that is no number", "remove that event"));
        }
        let total = positive_total("a sample", weights.iter().map(|&w| f64::from(w)))?;
        let square: f64 = weights.iter().map(|&w| f64::from(w).powi(2)).sum();
        counts[set] = total * total / square;
        let sign = if set == 0 { 1.0 } else { -1.0 };
        events.extend(scores.iter().zip(weights).map(|(&score, &w)| (score + 0.0, sign * f64::from(w) / total)));
    }
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut apart, mut distance) = (0.0, 0.0f64);
    for tied in events.chunk_by(|a, b| a.0 == b.0) {
        apart += tied.iter().map(|event| event.1).sum::<f64>();
        distance = distance.max(f64::abs(apart));
    }
    Ok(Distance { distance, events: counts[0] * counts[1] / (counts[0] + counts[1]) })
}

#[cfg(test)]
mod tests {
    use super::super::testing::Events;
    use super::*;

    #[test]
    fn the_distance_is_the_largest_over_all_places() {
        for (seed, steps, lowest) in [(1, 1e6, 1.0), (2, 9.0, 0.1)] {
            let (a, b) = (Events::draw(130, seed, steps, lowest), Events::draw(90, seed + 50, steps, lowest));
            let found = distance([&a.scores, &b.scores], [&a.weights, &b.weights]).unwrap();
            let below = |events: &Events, place: f32| {
                let all: f64 = events.sample().events().map(|event| event.2).sum();
                events.sample().events().filter(|event| event.0 <= place).map(|event| event.2).sum::<f64>() / all
            };
            let places = a.scores.iter().chain(&b.scores);
            let slow = places.map(|&place| (below(&a, place) - below(&b, place)).abs()).fold(0.0, f64::max);
            assert!((found.distance - slow).abs() < 1e-12, "{} not {slow}", found.distance);
        }
        let same = distance([&[1.0, 2.0], &[1.0, 2.0]], [&[1.0; 2], &[1.0; 2]]).unwrap();
        assert_eq!(same, Distance { distance: 0.0, events: 1.0 });
        assert!(distance([&[], &[1.0]], [&[], &[1.0]]).is_err());
        assert!(distance([&[f32::NAN], &[1.0]], [&[1.0], &[1.0]]).is_err());
    }
}
