//! Losses that a user wrote with LibTorch's operators, on the CPU: each event's loss and its gradient are LibTorch's.

use cladtorch::gradient::ObservedLoss;
use support::graph::losses::{CASES, Case};

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
        let loss = case.loss(false);
        for rows in [1, 2, 3, 33, ROWS] {
            let apart = apart(case, &loss, rows);
            assert!(apart < 2e-6, "{}, {rows} events: {apart:e}", case.name);
        }
        assert_eq!(loss.program(ROWS).is_ok(), case.is_apart, "{}", case.name);
    }
}

#[test]
fn a_wrong_loss_is_noticed() {
    let case = |name: &str| CASES.iter().find(|case| case.name == name).expect("a loss of that name");
    for (expected, wrong) in [
        ("a mean", "a sum of means"),
        ("a mean", "a mean plus a constant"),
        ("a mean of all elements", "a captured tensor"),
    ] {
        let apart = apart(case(expected), &case(wrong).loss(false), ROWS);
        assert!(apart > 1e-3, "{wrong} for {expected}: {apart:e}");
    }
}
