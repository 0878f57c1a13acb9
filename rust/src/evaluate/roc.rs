//! Receiver operating characteristic: efficiencies, area, and the area's statistical error.

use crate::error::{Error, Result};

/// Efficiencies over falling thresholds, from (0, 0) to (1, 1), with the area under the whole curve. Points may have been
/// left out; see [`thin()`](super::thin()).
#[derive(Clone, Debug)]
pub struct RocCurve {
    /// Background efficiency.
    pub false_positive: Vec<f64>,
    /// Signal efficiency.
    pub true_positive: Vec<f64>,
    /// Area under the curve.
    pub auc: f64,
    /// Standard error of `auc` (DeLong, DeLong and Clarke-Pearson 1988).
    pub auc_error: f64,
}

/// Weighted counts of one class on either side of a score.
struct Placement {
    score: f32,
    signal: bool,
    weight: f64,
}

/// The curve of `scores` [rows] against `labels` [rows] (over 0.5: signal), with event weights. Events of equal score
/// form one point, and count half in the area. The error is that of DeLong, DeLong and Clarke-Pearson (Biometrics 44
/// (1988) 837), with sums weighted.
pub fn roc(scores: &[f32], labels: &[f32], weights: &[f32]) -> Result<RocCurve> {
    let mut events = placements(scores, labels, weights)?;
    events.sort_by(|a, b| b.score.total_cmp(&a.score));
    let (signal, background) = events.iter().fold((0.0, 0.0), |(s, b), event| match event.signal {
        true => (s + event.weight, b),
        false => (s, b + event.weight),
    });
    if !(signal > 0.0 && background > 0.0) {
        return Err(Error::invalid(
            format!("a ROC curve of signal weight {signal} and background weight {background}"),
            "both classes need events (labels over 0.5 are signal) and weights that sum to more than 0",
        ));
    }
    let mut curve = RocCurve { false_positive: vec![0.0], true_positive: vec![0.0], auc: 0.0, auc_error: 0.0 };
    // For each class: the sum of w, of w^2, w^2 v and w^2 v^2, where v is the share of the other class on the wrong
    // side (DeLong's structural components).
    let mut signal_moments = [0.0; 3];
    let mut background_moments = [0.0; 3];
    let (mut s_above, mut b_above) = (0.0, 0.0);
    // In order, by weight: whole numbers, and exact, for events that weigh 1.
    let mut pairs = 0.0;
    for tied in events.chunk_by(|a, b| a.score == b.score) {
        let of = |class: bool| tied.iter().filter(|e| e.signal == class).map(|e| e.weight).sum::<f64>();
        let (s_tied, b_tied) = (of(true), of(false));
        let below = 1.0 - (b_above + b_tied / 2.0) / background;
        let above = (s_above + s_tied / 2.0) / signal;
        pairs += s_tied * (background - b_above - b_tied / 2.0);
        for event in tied {
            let (moments, share) =
                if event.signal { (&mut signal_moments, below) } else { (&mut background_moments, above) };
            let square = event.weight * event.weight;
            moments[0] += square;
            moments[1] += square * share;
            moments[2] += square * share * share;
        }
        s_above += s_tied;
        b_above += b_tied;
        curve.false_positive.push(b_above / background);
        curve.true_positive.push(s_above / signal);
    }
    curve.auc = pairs / (signal * background);
    // A sample variance, which divides by n - 1, of the mean over n events: of n equal weights total^2 is n w, w being
    // the sum of squares. One event alone has no spread.
    let spread = |[w, wv, wvv]: [f64; 3], total: f64| {
        let degrees = total.powi(2) - w;
        if degrees > 0.0 { (wvv - 2.0 * curve.auc * wv + curve.auc.powi(2) * w) / degrees } else { 0.0 }
    };
    let variance = spread(signal_moments, signal) + spread(background_moments, background);
    curve.auc_error = variance.max(0.0).sqrt();
    Ok(curve)
}

fn placements(scores: &[f32], labels: &[f32], weights: &[f32]) -> Result<Vec<Placement>> {
    if scores.len() != labels.len() || scores.len() != weights.len() {
        return Err(Error::invalid(
            format!("{} scores, {} labels and {} weights", scores.len(), labels.len(), weights.len()),
            "give one of each for an event",
        ));
    }
    if let Some(event) = scores.iter().zip(weights).position(|(s, w)| s.is_nan() || !w.is_finite()) {
        return Err(Error::invalid(
            format!("event {event} has score {} and weight {}", scores[event], weights[event]),
            "scores and weights must be numbers",
        ));
    }
    let events = scores.iter().zip(labels).zip(weights);
    Ok(events
        .map(|((&score, &label), &weight)| Placement {
            // Adding 0 makes -0 and 0 one score.
            score: score + 0.0,
            signal: label > 0.5,
            weight: f64::from(weight),
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_is_the_share_of_pairs_in_order() {
        let scores = [0.1, 0.4, 0.35, 0.8, 0.4, -0.0, 0.0];
        let labels = [0., 0., 1., 1., 1., 0., 1.];
        let curve = roc(&scores, &labels, &[1.0; 7]).unwrap();
        let (mut pairs, mut ordered) = (0.0, 0.0);
        for (s, l) in scores.iter().zip(labels) {
            for (t, k) in scores.iter().zip(labels) {
                if l > k {
                    pairs += 1.0;
                    ordered += if s > t {
                        1.0
                    } else if s == t {
                        0.5
                    } else {
                        0.0
                    };
                }
            }
        }
        assert_eq!(curve.auc, ordered / pairs);
        assert_eq!((curve.true_positive.last(), curve.false_positive.last()), (Some(&1.0), Some(&1.0)));
    }

    #[test]
    fn classes_apart_have_an_area_of_one() {
        for events in [2, 800, 10_007] {
            let scores: Vec<f32> = (0..events).map(|event| event as f32).collect();
            let labels: Vec<f32> = (0..events).map(|event| f32::from(u8::from(3 * event >= events))).collect();
            let curve = roc(&scores, &labels, &vec![1.0; events]).unwrap();
            assert_eq!((curve.auc, curve.auc_error), (1.0, 0.0));
        }
    }

    #[test]
    fn weights_count_as_repeated_events() {
        let weighted = roc(&[0.2, 0.6, 0.5], &[0., 1., 0.], &[3.0, 2.0, 1.0]).unwrap();
        let repeated = roc(&[0.2, 0.2, 0.2, 0.6, 0.6, 0.5], &[0., 0., 0., 1., 1., 0.], &[1.0; 6]).unwrap();
        assert!((weighted.auc - repeated.auc).abs() < 1e-12);
    }

    /// The paper's equations 2 and 3 as they stand there: components of each event, and their sample variances.
    fn by_the_paper(scores: &[f32], labels: &[f32]) -> f64 {
        let of = |label: f32| scores.iter().zip(labels).filter(move |(_, l)| **l == label).map(|(s, _)| f64::from(*s));
        let (signal, background): (Vec<f64>, Vec<f64>) = (of(1.0).collect(), of(0.0).collect());
        let order = |x: f64, y: f64| if x > y { 1.0 } else { 0.5 * f64::from(u8::from(x == y)) };
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let variance = |values: Vec<f64>| {
            let centre = mean(&values);
            values.iter().map(|v| (v - centre).powi(2)).sum::<f64>() / (values.len() - 1) as f64 / values.len() as f64
        };
        let v10 = signal.iter().map(|x| mean(&background.iter().map(|y| order(*x, *y)).collect::<Vec<_>>())).collect();
        let v01 = background.iter().map(|y| mean(&signal.iter().map(|x| order(*x, *y)).collect::<Vec<_>>())).collect();
        (variance(v10) + variance(v01)).sqrt()
    }

    #[test]
    fn the_error_is_that_of_the_paper() {
        use rand::{RngExt, SeedableRng};
        let mut generator = rand_chacha::ChaCha8Rng::seed_from_u64(8);
        for (signal, background, steps) in [(2, 2, 1e6), (3, 40, 10.0), (40, 3, 1e6), (100, 100, 5.0), (2, 100, 1e6)] {
            let labels: Vec<f32> = (0..signal + background).map(|i| f32::from(u8::from(i < signal))).collect();
            // Steps make ties.
            let score = |label: &f32| ((generator.random::<f32>() + label * 0.3) * steps).floor();
            let scores: Vec<f32> = labels.iter().map(score).collect();
            let (stated, expected) =
                (roc(&scores, &labels, &vec![0.7; labels.len()]).unwrap().auc_error, by_the_paper(&scores, &labels));
            assert!((stated - expected).abs() < 1e-9, "{signal} and {background}: {stated}, not {expected}");
        }
        assert_eq!(roc(&[0.1, 0.2], &[0., 1.], &[1.0; 2]).unwrap().auc_error, 0.0);
    }

    #[test]
    fn the_error_is_the_spread_of_many_samples() {
        use rand::{RngExt, SeedableRng};
        let mut generator = rand_chacha::ChaCha8Rng::seed_from_u64(5);
        let labels: Vec<f32> = (0..400).map(|i| (i % 2) as f32).collect();
        let (mut aucs, mut errors) = (Vec::new(), Vec::new());
        for _ in 0..400 {
            let scores: Vec<f32> = labels.iter().map(|l| l * 0.3 + generator.random::<f32>()).collect();
            let curve = roc(&scores, &labels, &[1.0; 400]).unwrap();
            aucs.push(curve.auc);
            errors.push(curve.auc_error);
        }
        let mean = aucs.iter().sum::<f64>() / 400.0;
        let spread = (aucs.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / 399.0).sqrt();
        let stated = errors.iter().sum::<f64>() / 400.0;
        assert!((stated / spread - 1.0).abs() < 0.15, "stated {stated}, seen {spread}");
    }

    #[test]
    fn one_class_or_a_nan_is_refused() {
        assert!(roc(&[0.1, 0.2], &[1., 1.], &[1., 1.]).is_err());
        assert!(roc(&[0.1, f32::NAN], &[0., 1.], &[1., 1.]).is_err());
        assert!(roc(&[0.1], &[0., 1.], &[1., 1.]).is_err());
    }
}
