//! Losses that a user wrote with LibTorch's operators, on the CPU: each event's loss and its gradient are LibTorch's.

use cladtorch::error::guard;
use cladtorch::gradient::ObservedLoss;
use support::graph::losses::{CASES, Case, OF_POSITIVE_LABELS, REFUSED, WEIGHTED_BY_LABELS};

/// More than one block.
const ROWS: usize = 300;

struct Events {
    outputs: Vec<f32>,
    labels: Vec<f32>,
    weights: Vec<f32>,
}

impl Events {
    fn new(case: &Case, rows: usize) -> Self {
        Events {
            outputs: (0..rows * case.outputs).map(|i| (i as f32 * 0.61).sin() * 1.5).collect(),
            labels: (0..rows * case.labels).map(|i| (i / case.labels % 2) as f32).collect(),
            weights: (0..rows).map(|row| 0.5 + (row % 4) as f32 * 0.3).collect(),
        }
    }

    fn rows(&self, case: &Case) -> Vec<f32> {
        let rows = self.outputs.chunks(case.outputs).zip(self.labels.chunks(case.labels));
        rows.flat_map(|(outputs, labels)| [outputs, labels].concat()).collect()
    }
}

const SCALE: f64 = 0.7;

/// The largest difference from LibTorch, of the sum of losses and of the gradient by the outputs.
fn apart(case: &Case, loss: &ObservedLoss, rows: usize) -> f64 {
    let events = Events::new(case, rows);
    let mut adjoint = vec![0.0; events.outputs.len()];
    let sum = loss.run(&events.outputs, &events.labels, &events.weights, SCALE, Some(&mut adjoint));
    let (losses, slopes) = case.by_libtorch(&events.rows(case));
    let weighted: f64 = losses.iter().zip(&events.weights).map(|(loss, &weight)| loss * f64::from(weight)).sum();
    let expected = slopes.chunks(case.outputs + case.labels).zip(&events.weights).flat_map(|(slopes, &weight)| {
        slopes[..case.outputs].iter().map(move |&slope| SCALE * f64::from(slope) * f64::from(weight))
    });
    let differences = adjoint.iter().zip(expected).map(|(&got, want)| (f64::from(got) - want).abs());
    differences.fold((sum - weighted).abs() / weighted.abs(), f64::max)
}

#[test]
fn losses_of_events_and_means_are_those_of_libtorch() {
    for case in CASES {
        let loss = case.loss(false).unwrap();
        for rows in [1, 2, 3, 33, ROWS, 1024] {
            let apart = apart(case, &loss, rows);
            assert!(apart < 2e-6, "{}, {rows} events: {apart:e}", case.name);
        }
        assert_eq!(loss.program(ROWS).is_ok(), case.is_apart, "{}", case.name);
    }
}

#[test]
fn one_number_that_is_no_mean_is_refused() {
    for case in REFUSED {
        let error = case.loss(false).err().unwrap_or_else(|| panic!("{} was taken", case.name)).to_string();
        assert!(error.contains("is not the mean"), "{}: {error}", case.name);
    }
}

#[test]
fn a_loss_without_a_value_for_some_labels_is_taken() {
    let loss = OF_POSITIVE_LABELS.loss(false).unwrap();
    assert!(loss.program(ROWS).is_ok());
    let run = |label| loss.run(&[0.5_f32, 0.25], &[label], &[1.0], 1.0, None);
    let expected = (0.5 - 2_f64.ln()).powi(2) / 2.0 + (0.25 - 2_f64.ln()).powi(2) / 2.0;
    assert!((run(2.0) - expected).abs() < 1e-6 && run(0.0).is_infinite());
}

/// What no example before the fit shows ends the fit.
#[test]
fn one_number_that_is_no_mean_of_some_events_is_refused_there() {
    let loss = WEIGHTED_BY_LABELS.loss(false).unwrap();
    assert!(apart(&WEIGHTED_BY_LABELS, &loss, 33) < 2e-6);
    let mut events = Events::new(&WEIGHTED_BY_LABELS, 33);
    events.labels[4] = 101.0;
    let error = guard(|| Ok(loss.run(&events.outputs, &events.labels, &events.weights, SCALE, None))).unwrap_err();
    assert!(error.to_string().contains("is not the mean of its events' losses"), "{error}");
}

#[test]
fn a_wrong_loss_is_noticed() {
    let case = |name: &str| CASES.iter().find(|case| case.name == name).expect("a loss of that name");
    for (expected, wrong) in [
        ("a mean", "a sum of means"),
        ("a mean", "a mean plus a constant"),
        ("a mean of all elements", "a captured tensor"),
    ] {
        let apart = apart(case(expected), &case(wrong).loss(false).unwrap(), ROWS);
        assert!(apart > 1e-3, "{wrong} for {expected}: {apart:e}");
    }
}
