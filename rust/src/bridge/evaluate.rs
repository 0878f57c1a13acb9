//! Evaluation of predictions: operating points, calibration, confusion, residuals, importance.

use crate::columns;
use crate::dataset::Dataset;
use crate::error::{Result, guard};
use crate::evaluate::{self, Expected, OperatingPoints, Quality, Sample, Significance};
use crate::model::Model;

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    /// Efficiencies over falling cuts, thinned out for drawing; see `evaluate::Curve`.
    struct OperatingCurve {
        cut: Vec<f64>,
        background: Vec<f64>,
        background_error: Vec<f64>,
        signal: Vec<f64>,
        signal_error: Vec<f64>,
        band: Vec<f64>,
    }

    /// See `evaluate::RocCurve`.
    struct RocCurve {
        false_positive: Vec<f64>,
        true_positive: Vec<f64>,
        auc: f64,
        auc_error: f64,
    }

    /// Significances over falling cuts, and the best of all; see `evaluate::Working`.
    struct SignificanceCurve {
        cut: Vec<f64>,
        value: Vec<f64>,
        best_cut: f64,
        best: f64,
    }

    /// See `evaluate::Calibration`.
    struct CalibrationCurve {
        predicted: Vec<f64>,
        observed: Vec<f64>,
        lower: Vec<f64>,
        upper: Vec<f64>,
        error: f64,
    }

    /// See `evaluate::Efficiency`.
    struct EfficiencyCurve {
        middle: Vec<f64>,
        value: Vec<f64>,
        lower: Vec<f64>,
        upper: Vec<f64>,
    }

    /// Sums of weights on both sides of a cut.
    struct DecisionCounts {
        true_positive: f64,
        false_positive: f64,
        true_negative: f64,
        false_negative: f64,
    }

    /// See `evaluate::Residuals`.
    struct ResidualFigures {
        bias: f64,
        rmse: f64,
        resolution: f64,
        explained: f64,
    }

    /// See `evaluate::Distance`.
    struct SampleDistance {
        distance: f64,
        events: f64,
    }

    /// See `evaluate::Importance`.
    struct ColumnImportance {
        name: String,
        value: f64,
        error: f64,
    }

    unsafe extern "C++" {
        include!("cladtorch/src/bridge/dataset.rs.h");
        include!("cladtorch/src/bridge/model.rs.h");

        type Dataset = crate::dataset::Dataset;
        type Model = crate::model::Model;
    }

    extern "Rust" {
        /// `labels` over 0.5 are signal; the curve is thinned for drawing.
        fn roc(scores: &[f32], labels: &[f32], weights: &[f32]) -> Result<RocCurve>;
        fn evaluate_points(scores: &[f32], labels: &[f32], weights: &[f32]) -> Result<OperatingCurve>;
        fn evaluate_significance(
            scores: &[f32],
            labels: &[f32],
            weights: &[f32],
            signal: f64,
            background: f64,
            background_error: f64,
            asimov: bool,
        ) -> Result<SignificanceCurve>;
        fn evaluate_calibration(scores: &[f32], labels: &[f32], weights: &[f32], bins: i32)
        -> Result<CalibrationCurve>;
        fn evaluate_efficiency(
            scores: &[f32],
            labels: &[f32],
            weights: &[f32],
            against: &[f32],
            edges: &[f64],
            false_alarm: f64,
        ) -> Result<EfficiencyCurve>;
        /// `logits` [rows, outputs]
        fn evaluate_temperature(logits: &[f32], outputs: usize, labels: &[f32], weights: &[f32]) -> Result<f64>;
        fn evaluate_counts(scores: &[f32], labels: &[f32], weights: &[f32], cut: f64) -> Result<DecisionCounts>;
        /// [true class, predicted class]; `scores` [rows, classes]
        fn evaluate_confusion(scores: &[f32], classes: usize, labels: &[f32], weights: &[f32]) -> Result<Vec<f64>>;
        /// `predictions` and `truth` [rows, targets]
        fn evaluate_residuals(
            predictions: &[f32],
            truth: &[f32],
            weights: &[f32],
            targets: usize,
            target: usize,
        ) -> Result<ResidualFigures>;
        fn evaluate_distance(
            first: &[f32],
            second: &[f32],
            first_weights: &[f32],
            second_weights: &[f32],
        ) -> Result<SampleDistance>;
        /// [columns, columns]; `values` [rows, columns]
        fn evaluate_correlation(values: &[f32], columns: usize, weights: &[f32]) -> Result<Vec<f64>>;
        fn evaluate_importance(
            model: &Model,
            data: &Dataset,
            repeats: i32,
            seed: u64,
            threads: usize,
        ) -> Result<Vec<ColumnImportance>>;
        /// [outputs, columns]
        fn evaluate_gradient_importance(model: &Model, data: &Dataset, threads: usize)
        -> Result<Vec<ColumnImportance>>;
        /// The change of the figure of merit, for an axis.
        fn evaluate_quality(model: &Model) -> String;
        /// A name for each element of a row.
        fn dataset_element_names(data: &Dataset) -> Vec<String>;
    }
}

fn roc(scores: &[f32], labels: &[f32], weights: &[f32]) -> Result<ffi::RocCurve> {
    guard(|| {
        let curve = evaluate::thin(&evaluate::roc(scores, labels, weights)?);
        let evaluate::RocCurve { false_positive, true_positive, auc, auc_error } = curve;
        Ok(ffi::RocCurve { false_positive, true_positive, auc, auc_error })
    })
}

fn evaluate_points(scores: &[f32], labels: &[f32], weights: &[f32]) -> Result<ffi::OperatingCurve> {
    guard(|| {
        let curve = OperatingPoints::new(Sample::new(scores, labels, weights)?)?.curve();
        let evaluate::Curve { cut, background, background_error, signal, signal_error, band } = curve;
        Ok(ffi::OperatingCurve { cut, background, background_error, signal, signal_error, band })
    })
}

fn evaluate_significance(
    scores: &[f32],
    labels: &[f32],
    weights: &[f32],
    signal: f64,
    background: f64,
    background_error: f64,
    asimov: bool,
) -> Result<ffi::SignificanceCurve> {
    guard(|| {
        let points = OperatingPoints::new(Sample::new(scores, labels, weights)?)?;
        let kind = if asimov { Significance::Asimov } else { Significance::Simple };
        let found = evaluate::significance(&points, Expected { signal, background, background_error }, kind)?;
        let evaluate::Working { cut, value, best_cut, best } = found;
        Ok(ffi::SignificanceCurve { cut, value, best_cut, best })
    })
}

fn evaluate_calibration(scores: &[f32], labels: &[f32], weights: &[f32], bins: i32) -> Result<ffi::CalibrationCurve> {
    guard(|| {
        let bins = usize::try_from(bins).unwrap_or(0); // which is refused
        let found = evaluate::calibration(Sample::new(scores, labels, weights)?, bins)?;
        let evaluate::Calibration { predicted, observed, lower, upper, error } = found;
        Ok(ffi::CalibrationCurve { predicted, observed, lower, upper, error })
    })
}

fn evaluate_efficiency(
    scores: &[f32],
    labels: &[f32],
    weights: &[f32],
    against: &[f32],
    edges: &[f64],
    false_alarm: f64,
) -> Result<ffi::EfficiencyCurve> {
    guard(|| {
        let found = evaluate::efficiency(Sample::new(scores, labels, weights)?, against, edges, false_alarm)?;
        let evaluate::Efficiency { middle, value, lower, upper } = found;
        Ok(ffi::EfficiencyCurve { middle, value, lower, upper })
    })
}

fn evaluate_temperature(logits: &[f32], outputs: usize, labels: &[f32], weights: &[f32]) -> Result<f64> {
    guard(|| evaluate::temperature(logits, outputs, labels, weights))
}

fn evaluate_counts(scores: &[f32], labels: &[f32], weights: &[f32], cut: f64) -> Result<ffi::DecisionCounts> {
    guard(|| {
        let evaluate::Counts { true_positive, false_positive, true_negative, false_negative } =
            evaluate::counts(Sample::new(scores, labels, weights)?, cut)?;
        Ok(ffi::DecisionCounts { true_positive, false_positive, true_negative, false_negative })
    })
}

fn evaluate_confusion(scores: &[f32], classes: usize, labels: &[f32], weights: &[f32]) -> Result<Vec<f64>> {
    guard(|| evaluate::confusion(scores, classes, labels, weights))
}

fn evaluate_residuals(
    predictions: &[f32],
    truth: &[f32],
    weights: &[f32],
    targets: usize,
    target: usize,
) -> Result<ffi::ResidualFigures> {
    guard(|| {
        let evaluate::Residuals { bias, rmse, resolution, explained } =
            evaluate::residuals(predictions, truth, weights, targets, target)?;
        Ok(ffi::ResidualFigures { bias, rmse, resolution, explained })
    })
}

fn evaluate_distance(
    first: &[f32],
    second: &[f32],
    first_weights: &[f32],
    second_weights: &[f32],
) -> Result<ffi::SampleDistance> {
    guard(|| {
        let evaluate::Distance { distance, events } =
            evaluate::distance([first, second], [first_weights, second_weights])?;
        Ok(ffi::SampleDistance { distance, events })
    })
}

fn evaluate_correlation(values: &[f32], columns: usize, weights: &[f32]) -> Result<Vec<f64>> {
    guard(|| evaluate::correlation(values, columns, weights))
}

fn evaluate_importance(
    model: &Model,
    data: &Dataset,
    repeats: i32,
    seed: u64,
    threads: usize,
) -> Result<Vec<ffi::ColumnImportance>> {
    guard(|| {
        let repeats = usize::try_from(repeats).unwrap_or(0); // which is refused
        let found = evaluate::importance(model, data, repeats, seed, threads)?;
        Ok(found.into_iter().map(importance_spec).collect())
    })
}

fn evaluate_gradient_importance(model: &Model, data: &Dataset, threads: usize) -> Result<Vec<ffi::ColumnImportance>> {
    guard(|| Ok(evaluate::gradient_importance(model, data, threads)?.into_iter().map(importance_spec).collect()))
}

fn importance_spec(evaluate::Importance { name, value, error }: evaluate::Importance) -> ffi::ColumnImportance {
    ffi::ColumnImportance { name, value, error }
}

fn evaluate_quality(model: &Model) -> String {
    match Quality::of(model) {
        Quality::Auc => "Fall of the AUC",
        Quality::Accuracy => "Fall of the accuracy",
        Quality::Error => "Rise of the relative RMSE",
    }
    .to_owned()
}

fn dataset_element_names(data: &Dataset) -> Vec<String> {
    (0..data.width()).map(|at| columns::element_name(data.columns(), at)).collect()
}
