//! Calibration: whether predicted probabilities match the observed frequencies.

use super::{Sample, check_lengths, check_numbers, positive_total};
use crate::error::{Error, Result};

/// More bins than anybody can tell apart.
const MOST_BINS: usize = 10_000;

/// Predicted probability against the observed share of signal, in bins of equal width. Bins without weight are left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calibration {
    /// Mean predicted probability of each bin.
    pub predicted: Vec<f64>,
    /// Share of signal: the mean label.
    pub observed: Vec<f64>,
    /// Its interval of one standard deviation (Wilson, J. Am. Stat. Assoc. 22 (1927) 209), for as many events of equal
    /// weight as would be known as well.
    pub lower: Vec<f64>,
    /// The upper end.
    pub upper: Vec<f64>,
    /// Expected calibration error: the mean of |observed - predicted| over the events (Naeini, Cooper and Hauskrecht 2015).
    pub error: f64,
}

/// Throws for scores outside [0, 1].
pub fn calibration(sample: Sample, bins: usize) -> Result<Calibration> {
    if bins == 0 || bins > MOST_BINS {
        return Err(Error::invalid(format!("{bins} bins"), format!("give 1 to {MOST_BINS}")));
    }
    for (what, values) in [("score", sample.scores), ("label", sample.labels)] {
        if let Some(event) = values.iter().position(|value| !(0.0..=1.0).contains(value)) {
            return Err(Error::invalid(
                format!("the {what} of event {event} is {}", values[event]),
                "a calibration curve compares probabilities with shares: give scores and labels from 0 to 1",
            ));
        }
    }
    let total = positive_total("the events", sample.events().map(|event| event.2))?;
    // Sums of w, w^2, w p and w y.
    let mut sums = vec![[0.0f64; 4]; bins];
    for (score, label, weight) in sample.events() {
        let bin = ((f64::from(score) * bins as f64) as usize).min(bins - 1);
        let more = [weight, weight * weight, weight * f64::from(score), weight * f64::from(label)];
        sums[bin].iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    }
    let mut found = Calibration::default();
    for [weight, square, predicted, observed] in sums {
        if weight <= 0.0 {
            continue;
        }
        let (predicted, observed) = (predicted / weight, observed / weight);
        let (lower, upper) = wilson(observed, weight * weight / square);
        found.predicted.push(predicted);
        found.observed.push(observed);
        found.lower.push(lower);
        found.upper.push(upper);
        found.error += weight / total * (observed - predicted).abs();
    }
    Ok(found)
}

/// Of a share `p` of `n` events, at one standard deviation. Negative weights lead out of [0, 1], where it has no width.
pub(super) fn wilson(p: f64, n: f64) -> (f64, f64) {
    let inside = p.clamp(0.0, 1.0);
    let centre = (inside + 0.5 / n) / (1.0 + 1.0 / n);
    let half = (inside * (1.0 - inside) / n + 0.25 / (n * n)).sqrt() / (1.0 + 1.0 / n);
    (p.min(centre - half), p.max(centre + half))
}

/// The temperature T for which `logits` / T have the least cross-entropy (Guo, Pleiss, Sun and Weinberger, ICML 2017):
/// above 1 where the model is too certain.
///
/// `logits` [N, `outputs`]: with one output of label 1, else of each class; `labels` are 0 to 1, or whole numbers of classes.
pub fn temperature(logits: &[f32], outputs: usize, labels: &[f32], weights: &[f32]) -> Result<f64> {
    check_lengths(logits.len(), labels.len(), weights.len(), outputs)?;
    check_numbers(logits, labels, weights, outputs)?;
    super::classes::check_labels(labels, outputs)?;
    positive_total("the events", weights.iter().map(|&w| f64::from(w)))?;
    // The cross-entropy is convex in 1 / T: its slope rises, and is zero at the minimum.
    let slope = |inverse: f64| -> f64 {
        let rows = logits.chunks_exact(outputs).zip(labels).zip(weights);
        rows.map(|((row, &label), &weight)| f64::from(weight) * slope_of(row, f64::from(label), inverse)).sum()
    };
    if slope(0.0) >= 0.0 {
        return Err(Error::invalid(
            "logits that rank the events no better than chance",
            "no temperature calibrates them: train the model first",
        ));
    }
    let mut high = 1.0;
    while slope(high) <= 0.0 {
        high *= 2.0;
        if high > 1e9 {
            return Err(Error::invalid(
                "logits that tell all events apart",
                "no temperature calibrates them, as the least cross-entropy is at 0: use more events",
            ));
        }
    }
    let mut low = if high > 1.0 { high / 2.0 } else { 0.0 };
    while high - low > 1e-12 * high {
        let middle = 0.5 * (low + high);
        if slope(middle) < 0.0 { low = middle } else { high = middle }
    }
    Ok(2.0 / (low + high))
}

/// Derivative of one event's cross-entropy by `inverse`, which multiplies its logits.
fn slope_of(row: &[f32], label: f64, inverse: f64) -> f64 {
    if let &[logit] = row {
        let logit = f64::from(logit);
        return logit * (1.0 / (1.0 + (-inverse * logit).exp()) - label);
    }
    let highest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let shares = row.iter().map(|&z| (f64::from(z), (inverse * f64::from(z - highest)).exp()));
    let (sum, mean) = shares.fold((0.0, 0.0), |(sum, mean), (z, share)| (sum + share, mean + share * z));
    mean / sum - f64::from(row[label as usize])
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::super::testing::Events;
    use super::*;

    #[test]
    fn bins_are_those_of_the_events() {
        let events = Events::draw(500, 3, 1e6, 0.1);
        let found = calibration(events.sample(), 7).unwrap();
        let (mut error, mut total, mut place) = (0.0, 0.0, 0);
        for bin in 0..7 {
            let range = bin as f64 / 7.0..(bin + 1) as f64 / 7.0;
            let inside: Vec<_> = events.sample().events().filter(|event| range.contains(&f64::from(event.0))).collect();
            if inside.is_empty() {
                continue;
            }
            let sum = |of: fn(&(f32, f32, f64)) -> f64| inside.iter().map(of).sum::<f64>();
            let weight = sum(|event| event.2);
            let predicted = sum(|event| event.2 * f64::from(event.0)) / weight;
            let observed = sum(|event| event.2 * f64::from(event.1)) / weight;
            assert!((found.predicted[place] - predicted).abs() < 1e-12);
            assert!((found.observed[place] - observed).abs() < 1e-12);
            assert!(found.lower[place] <= observed && observed <= found.upper[place]);
            assert!(found.lower[place] < found.upper[place]);
            error += weight * (observed - predicted).abs();
            total += weight;
            place += 1;
        }
        assert_eq!(place, found.predicted.len());
        assert!((found.error - error / total).abs() < 1e-12);
    }

    #[test]
    fn the_interval_is_wilsons() {
        // Of 10 events of which 3 are signal, by hand from equation 1 with z = 1.
        let (lower, upper) = wilson(0.3, 10.0);
        let exact = |sign: f64| (0.3 + 0.05 + sign * f64::sqrt(0.021 + 0.0025)) / 1.1;
        assert!((lower - exact(-1.0)).abs() < 1e-12 && (upper - exact(1.0)).abs() < 1e-12);
        assert!(wilson(0.0, 5.0).0 == 0.0 && wilson(1.0, 5.0).1 == 1.0 && wilson(0.0, 5.0).1 > 0.1);
    }

    /// Logits whose labels are drawn with a temperature are found to have it.
    #[test]
    fn the_temperature_is_that_with_which_labels_were_drawn() {
        let mut generator = ChaCha8Rng::seed_from_u64(9);
        for (outputs, true_temperature) in [(1, 0.5), (1, 3.0), (4, 0.7), (4, 2.5)] {
            let events = 40_000;
            let logits: Vec<f32> = (0..events * outputs).map(|_| 6.0 * (generator.random::<f32>() - 0.5)).collect();
            let labels: Vec<f32> =
                logits.chunks(outputs).map(|row| draw(row, true_temperature, &mut generator)).collect();
            let found = temperature(&logits, outputs, &labels, &vec![1.0; events]).unwrap();
            assert!(
                (found / true_temperature - 1.0).abs() < 0.05,
                "{outputs} outputs: {found}, not {true_temperature}"
            );
        }
    }

    fn draw(row: &[f32], temperature: f64, generator: &mut ChaCha8Rng) -> f32 {
        let chance = generator.random::<f64>();
        if let &[logit] = row {
            return f32::from(u8::from(chance < 1.0 / (1.0 + (-f64::from(logit) / temperature).exp())));
        }
        let shares: Vec<f64> = row.iter().map(|&z| (f64::from(z) / temperature).exp()).collect();
        let mut left = chance * shares.iter().sum::<f64>();
        shares
            .iter()
            .position(|share| {
                left -= share;
                left <= 0.0
            })
            .unwrap_or(row.len() - 1) as f32
    }

    #[test]
    fn what_no_temperature_calibrates_is_refused() {
        let of = |logits: &[f32], labels: &[f32]| temperature(logits, 1, labels, &vec![1.0; labels.len()]);
        assert!(of(&[-1.0, 1.0], &[0.0, 1.0]).unwrap_err().to_string().contains("apart"));
        assert!(of(&[1.0, -1.0], &[0.0, 1.0]).unwrap_err().to_string().contains("chance"));
        assert!(of(&[1.0, -1.0], &[0.0, 2.0]).is_err());
        assert!(temperature(&[0.0; 6], 3, &[1.0, 3.0], &[1.0; 2]).is_err());
        assert!(calibration(Sample::new(&[1.5], &[1.0], &[1.0]).unwrap(), 10).is_err());
    }
}
