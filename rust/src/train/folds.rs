//! Cross-validation: which events belong to which fold.

use super::{Options, Trainer, checks};
use crate::dataset::{Dataset, shuffle};
use crate::error::{Error, Result};
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
    Ok(folds)
}

impl Trainer {
    /// On the rows `rows` of `data` alone, of which fValidation stands for a part.
    pub fn of_rows(model: &Model, data: &Dataset, rows: &[u32], options: &Options) -> Result<Self> {
        if rows.iter().any(|&row| row as usize >= data.rows()) {
            return Err(Error::Internal(format!("rows of another dataset than one of {}", data.rows())));
        }
        Self::on(model, data, None, Some(rows), options, None)
    }
}
