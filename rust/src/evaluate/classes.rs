//! Right and wrong decisions of classifiers.

use super::{Sample, check_lengths, check_numbers};
use crate::error::{Error, Result};

/// Classes beyond which a confusion matrix is of no help and takes too much memory.
const MOST_CLASSES: usize = 4096;

/// Sums of weights of the events on both sides of a cut.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Signal that passes.
    pub true_positive: f64,
    /// Background that passes.
    pub false_positive: f64,
    /// Background that fails.
    pub true_negative: f64,
    /// Signal that fails.
    pub false_negative: f64,
}

/// An event passes if its score is at least `cut`.
pub fn counts(sample: Sample, cut: f64) -> Result<Counts> {
    if cut.is_nan() {
        return Err(Error::invalid("a cut at nan", "give a number"));
    }
    let mut counts = Counts::default();
    for (score, label, weight) in sample.events() {
        *match (f64::from(score) >= cut, label > 0.5) {
            (true, true) => &mut counts.true_positive,
            (true, false) => &mut counts.false_positive,
            (false, false) => &mut counts.true_negative,
            (false, true) => &mut counts.false_negative,
        } += weight;
    }
    Ok(counts)
}

/// Throws unless labels are those that `outputs` logits learn: 0 to 1 for one, else whole numbers of classes.
pub(super) fn check_labels(labels: &[f32], outputs: usize) -> Result<()> {
    let fits = |label: f32| match outputs {
        1 => (0.0..=1.0).contains(&label),
        _ => label >= 0.0 && label.fract() == 0.0 && (label as usize) < outputs,
    };
    let Some(event) = labels.iter().position(|&label| !fits(label)) else { return Ok(()) };
    let remedy = match outputs {
        1 => "labels of a classifier with one output lie between 0 and 1".to_owned(),
        _ => format!("labels of {outputs} classes are 0, 1, ..., {}", outputs - 1),
    };
    Err(Error::invalid(format!("the label of event {event} is {}", labels[event]), remedy))
}

/// Sums of weights, [true class, predicted class] row-major: the predicted one has the largest of the event's `scores`
/// [N, `classes`], the first of several.
pub fn confusion(scores: &[f32], classes: usize, labels: &[f32], weights: &[f32]) -> Result<Vec<f64>> {
    if !(2..=MOST_CLASSES).contains(&classes) {
        return Err(Error::invalid(
            format!("a confusion matrix of {classes} class(es)"),
            format!("give scores of 2 to {MOST_CLASSES} classes"),
        ));
    }
    check_lengths(scores.len(), labels.len(), weights.len(), classes)?;
    check_numbers(scores, labels, weights, classes)?;
    check_labels(labels, classes)?;
    let mut matrix = vec![0.0; classes * classes];
    for ((row, &label), &weight) in scores.chunks_exact(classes).zip(labels).zip(weights) {
        matrix[label as usize * classes + largest(row)] += f64::from(weight);
    }
    Ok(matrix)
}

fn largest(row: &[f32]) -> usize {
    (0..row.len()).reduce(|best, next| if row[next] > row[best] { next } else { best }).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::testing::Events;
    use super::*;

    #[test]
    fn counts_are_those_of_the_events() {
        let events = Events::draw(300, 4, 20.0, 0.2);
        for cut in [-1.0, 0.0, 0.35, 0.5, 0.95, 2.0] {
            let found = counts(events.sample(), cut).unwrap();
            let sum = |passes: bool, signal: bool| -> f64 {
                let wanted =
                    |event: &(f32, f32, f64)| (f64::from(event.0) >= cut) == passes && (event.1 > 0.5) == signal;
                events.sample().events().filter(wanted).map(|event| event.2).sum()
            };
            assert_eq!(found.true_positive, sum(true, true));
            assert_eq!(found.false_positive, sum(true, false));
            assert_eq!(found.true_negative, sum(false, false));
            assert_eq!(found.false_negative, sum(false, true));
        }
        assert!(counts(events.sample(), f64::NAN).is_err());
    }

    #[test]
    fn the_matrix_has_true_classes_down_and_predicted_ones_across() {
        let scores = [0.1, 0.7, 0.2, 0.5, 0.5, 0.0, 0.0, 0.1, 0.9];
        let matrix = confusion(&scores, 3, &[1.0, 1.0, 0.0], &[1.0, 2.0, 4.0]).unwrap();
        assert_eq!(matrix, [0.0, 0.0, 4.0, 2.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        assert!(confusion(&scores, 3, &[1.0, 1.5, 0.0], &[1.0; 3]).is_err());
        assert!(confusion(&scores, 3, &[1.0, 3.0, 0.0], &[1.0; 3]).is_err());
        assert!(confusion(&scores, 2, &[1.0, 1.0, 0.0], &[1.0; 3]).is_err());
        assert!(confusion(&scores, 1, &[1.0; 9], &[1.0; 9]).is_err());
    }
}
