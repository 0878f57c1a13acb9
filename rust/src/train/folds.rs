//! Cross-validation: which events belong to which fold, and which of the others are for validation.

use super::{Options, Trainer, checks};
use crate::dataset::{Dataset, shuffle};
use crate::error::{Error, Result};
use crate::graph::Gives;
use crate::model::Model;

/// The fold of each event, from 0 to `count` - 1: sizes differ by at most one, and for classifiers the events of each class
/// are spread evenly (stratified). The seed of the split decides.
pub fn folds(model: &Model, data: &Dataset, options: &Options, count: usize) -> Result<Vec<u32>> {
    let settings = checks::checked(options, model, data)?;
    if count < 2 || count > data.rows() {
        return Err(Error::invalid(
            format!("{count} folds of {} events", data.rows()),
            "give a number from 2 to that of the events; 5 and 10 are usual",
        ));
    }
    let mut order: Vec<u32> = (0..data.rows() as u32).collect();
    shuffle(&mut order, options.seed_of_split(), 0);
    if !settings.loss.is_regression() {
        let labels = data.labels()?;
        order.sort_by(|&a, &b| labels[a as usize].total_cmp(&labels[b as usize]));
    }
    let mut folds = vec![0; order.len()];
    (0..count as u32).cycle().zip(order).for_each(|(fold, row)| folds[row as usize] = fold);
    if !settings.loss.is_regression() {
        check_figures(&folds, count, model.outputs(), data.labels()?, options)?;
    }
    Ok(folds)
}

/// The predictions of a model that was fitted with these options.
pub fn gives(model: &Model, data: &Dataset, options: &Options) -> Result<Gives> {
    Ok(checks::checked(options, model, data)?.loss.gives())
}

/// Figures of [`Options::metrics`] that are not defined where a class has no events.
const OF_ALL_CLASSES: [&str; 2] = ["AUC", "significance"];

/// Refuses, before anything is trained, figures of validation events among which a class is missing.
fn check_figures(folds: &[u32], count: usize, outputs: usize, labels: &[f32], options: &Options) -> Result<()> {
    let Some(figure) = OF_ALL_CLASSES.iter().find(|name| options.metrics.iter().any(|given| given == **name)) else {
        return Ok(());
    };
    for fold in 0..count as u32 {
        let rows: Vec<u32> = (0..).zip(folds).filter(|(_, of)| **of != fold).map(|(row, _)| row).collect();
        let (_, validation) = stratified(&rows, labels, options);
        let has = |class: usize| validation.iter().any(|&row| class_of(labels[row as usize], outputs) == class);
        if let Some(missing) = (0..outputs.max(2)).find(|&class| !has(class)) {
            return Err(Error::invalid(
                format!(
                    "fMetrics has {figure}, but of fold {fold} none of the {} validation events has label {missing}",
                    validation.len()
                ),
                "raise fValidation, take fewer folds, add events of this class, or leave that figure out",
            ));
        }
    }
    Ok(())
}

/// As evaluations see it: over 0.5 is signal, or the number of the class.
fn class_of(label: f32, outputs: usize) -> usize {
    if outputs == 1 { usize::from(label > 0.5) } else { label as usize }
}

/// Splits `rows` into those for training and those for validation, both in rising order, with the same share of each label.
pub(super) fn stratified(rows: &[u32], labels: &[f32], options: &Options) -> (Vec<u32>, Vec<u32>) {
    let mut order = rows.to_vec();
    shuffle(&mut order, options.seed_of_split(), 1);
    order.sort_by(|&a, &b| labels[a as usize].total_cmp(&labels[b as usize]));
    // Every event at which the number of validation events, rounded, rises by one.
    let count = |events: usize| (events as f64 * options.validation).round() as usize;
    let (validation, train): (Vec<_>, Vec<_>) = order.iter().zip(0..).partition(|&(_, at)| count(at + 1) > count(at));
    let sorted = |part: Vec<(&u32, usize)>| {
        let mut rows: Vec<u32> = part.into_iter().map(|(&row, _)| row).collect();
        rows.sort_unstable();
        rows
    };
    (sorted(train), sorted(validation))
}

impl Trainer {
    /// For the rows `rows` of `data` alone; fValidation is a share of these.
    pub fn of_rows(model: &Model, data: &Dataset, rows: &[u32], options: &Options) -> Result<Self> {
        if rows.iter().any(|&row| row as usize >= data.rows()) {
            return Err(Error::Internal(format!("rows of another dataset than one of {}", data.rows())));
        }
        Self::on(model, data, None, Some(rows), options, None)
    }
}
