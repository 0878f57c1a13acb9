//! Fewer points of a ROC curve, for drawing it.

use super::RocCurve;

/// How far a point that is left out may lie from the point before it that is kept, along each axis, as a share of the
/// distance from there to the nearer of 0 and 1. Both ends of both axes so keep their single events.
const TOLERANCE: f64 = 0.01;
/// Most points that are kept. Curves of weights of one sign have fewer: about 200 for each factor of e between 0.5 and
/// the efficiency of one event, for both axes and both ends.
const MOST: usize = 1 << 14;

/// Some of the points of `curve`, the first and the last among them; its areas are those of all points.
pub fn thin(curve: &RocCurve) -> RocCurve {
    let kept = kept_points(&curve.false_positive, &curve.true_positive);
    let of = |all: &[f64]| kept.iter().map(|&point| all[point]).collect();
    RocCurve { false_positive: of(&curve.false_positive), true_positive: of(&curve.true_positive), ..*curve }
}

/// The points of the curve through (x, y), both from 0 to 1, that a drawing needs, the first and the last among them.
///
/// Each point that is left out lies in the box of [`TOLERANCE`] around the kept point before it, and so does the line from
/// there to the next kept point. Where negative weights lead the curve back and forth through more than [`MOST`] such
/// boxes, the tolerance is doubled, and holds for the distance from 0 or 1 or itself, whichever is larger, until they
/// suffice.
pub fn kept_points(x: &[f64], y: &[f64]) -> Vec<usize> {
    let (mut tolerance, mut floor) = (TOLERANCE, 0.0);
    loop {
        let kept = bends(x, y, tolerance, floor);
        if kept.len() <= MOST {
            return kept;
        }
        tolerance *= 2.0;
        floor = tolerance;
    }
}

/// The numbers of the points where the curve leaves the box of the last kept point, and of those just before.
fn bends(x: &[f64], y: &[f64], tolerance: f64, floor: f64) -> Vec<usize> {
    let near = |a: f64, b: f64| (a - b).abs() <= tolerance * a.abs().min((1.0 - a).abs()).max(floor);
    let mut kept = vec![0];
    for point in 1..x.len() {
        let last = kept[kept.len() - 1];
        if near(x[last], x[point]) && near(y[last], y[point]) {
            continue;
        }
        if point - 1 > last {
            kept.push(point - 1);
        }
        if point - 1 == last || !(near(x[point - 1], x[point]) && near(y[point - 1], y[point])) {
            kept.push(point);
        }
    }
    if kept.last() != Some(&(x.len() - 1)) {
        kept.push(x.len() - 1);
    }
    kept
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::super::roc;
    use super::*;

    /// A curve of `events` events whose scores overlap, rounded so that some are equal, with weights from `lowest` to 1.
    fn curve(events: usize, lowest: f32, seed: u64) -> RocCurve {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        let labels: Vec<f32> = (0..events).map(|_| f32::from(u8::from(generator.random::<f32>() < 0.3))).collect();
        let weights: Vec<f32> = labels.iter().map(|_| lowest + (1.0 - lowest) * generator.random::<f32>()).collect();
        let sum_of_four = |generator: &mut ChaCha8Rng| (0..4).map(|_| generator.random::<f32>()).sum::<f32>();
        let scores: Vec<f32> =
            labels.iter().map(|label| ((sum_of_four(&mut generator) + 0.8 * label) * 1e5).round() / 1e5).collect();
        roc(&scores, &labels, &weights).unwrap()
    }

    /// The largest distance of a point of `all` from the kept point before it, as a share of the distance from there to the
    /// nearer of 0 and 1.
    fn largest_distance(all: &RocCurve, kept: &RocCurve) -> f64 {
        let (mut next, mut largest) = (0, 0.0f64);
        let points = |curve: &RocCurve| {
            curve.false_positive.iter().copied().zip(curve.true_positive.clone()).collect::<Vec<_>>()
        };
        let (all, kept) = (points(all), points(kept));
        for point in all {
            if kept.get(next) == Some(&point) {
                next += 1;
                continue;
            }
            let before = kept[next - 1];
            for (from, to) in [(before.0, point.0), (before.1, point.1)] {
                if to != from {
                    largest = largest.max((to - from).abs() / from.abs().min((1.0 - from).abs()));
                }
            }
        }
        assert_eq!(next, kept.len(), "a kept point is none of the curve");
        largest
    }

    #[test]
    fn what_is_left_out_lies_within_the_tolerance() {
        for (events, lowest) in [(2, 1.0), (50, 1.0), (3000, 0.1), (300_000, 1.0), (300_000, 0.0), (100_000, -0.05)] {
            let all = curve(events, lowest, events as u64);
            let kept = thin(&all);
            assert!(kept.false_positive.len() <= MOST.min(all.false_positive.len()));
            let largest = largest_distance(&all, &kept);
            assert!(largest <= TOLERANCE * (1.0 + 1e-9), "{largest} of {events} events, weights from {lowest} on");
            assert_eq!((kept.auc, kept.auc_error), (all.auc, all.auc_error));
        }
    }

    #[test]
    fn both_ends_keep_single_events() {
        let all = curve(2_000_000, 1.0, 1);
        let kept = thin(&all);
        assert!(
            all.false_positive.len() > 100_000 && kept.false_positive.len() < 12_000,
            "{}",
            kept.false_positive.len()
        );
        let axes = |curve: &RocCurve| {
            let distinct = |values: &[f64]| values.chunk_by(|a, b| a == b).map(|same| same[0]).collect::<Vec<_>>();
            [distinct(&curve.false_positive), distinct(&curve.true_positive)]
        };
        for (all, kept) in axes(&all).iter().zip(axes(&kept)) {
            assert_eq!(all[..50], kept[..50]);
            assert_eq!(all[all.len() - 50..], kept[kept.len() - 50..]);
        }
    }

    #[test]
    fn a_curve_that_goes_back_and_forth_is_bounded_too() {
        let all = curve(400_000, -0.9, 3);
        let kept = thin(&all);
        assert!(all.false_positive.len() > MOST && kept.false_positive.len() <= MOST, "{}", kept.false_positive.len());
        assert_eq!((kept.false_positive[0], kept.true_positive[0]), (0.0, 0.0));
        assert_eq!(kept.true_positive.last(), all.true_positive.last());
    }
}
