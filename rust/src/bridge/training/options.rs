//! Options of fits and results of epochs, as the core has them and as they cross the border.

use super::{EpochPart, EpochRecord, FitSpec, Judged, Losses};
use crate::error::{Error, Result};
use crate::graph::{Gradient, Loss, NegativeWeights, Optimiser, Precision, Schedule};
use crate::options::Parallel;
use crate::train::{self, Options};

impl FitSpec {
    /// The options, with members of lists instead of their numbers.
    pub(in crate::bridge) fn options(&self) -> Result<Options> {
        let Self { schedule, optimiser, loss, negative_weights, gradient, precision, .. } = *self;
        let unknown = |name: &str, number: u8| {
            Error::invalid(format!("{name} = {number} is unknown"), "use one of the named constants")
        };
        Ok(Options {
            epochs: self.epochs,
            batch_size: self.batch_size,
            learning_rate: self.learning_rate,
            schedule: Schedule::from_number(schedule).ok_or_else(|| unknown("fSchedule", schedule))?,
            decay: self.decay,
            decay_epochs: self.decay_epochs,
            warm_up: self.warm_up,
            weight_decay: self.weight_decay,
            l1: self.l1,
            clip_norm: self.clip_norm,
            clip_value: self.clip_value,
            momentum: self.momentum,
            validation: self.validation,
            seed: self.seed,
            split_seed: self.split_seed,
            shuffle: self.shuffle,
            standardise: self.standardise,
            threads: self.threads,
            gpu_parts: self.gpu_parts,
            device: self.device.clone(),
            optimiser: Optimiser::from_number(optimiser).ok_or_else(|| unknown("fOptimiser", optimiser))?,
            loss: match loss {
                0 => None,
                number => Some(Loss::from_number(number - 1).ok_or_else(|| unknown("fLoss", number))?),
            },
            loss_function: self.loss_function.clone(),
            logits: self.logits,
            label_smoothing: self.label_smoothing,
            focus: self.focus,
            quantile: self.quantile,
            class_weights: self.class_weights.clone(),
            negative_weights: NegativeWeights::from_number(negative_weights)
                .ok_or_else(|| unknown("fNegativeWeights", negative_weights))?,
            patience: self.patience,
            min_improvement: self.min_improvement,
            keep_best: self.keep_best,
            checkpoint: self.checkpoint.clone(),
            checkpoint_epochs: self.checkpoint_epochs,
            checkpoint_minutes: self.checkpoint_minutes,
            metrics: self.metrics.clone(),
            gradient: Gradient::from_number(gradient).ok_or_else(|| unknown("fGradient", gradient))?,
            precision: Precision::from_number(precision).ok_or_else(|| unknown("fPrecision", precision))?,
            parallel: if self.mpi { Parallel::Mpi } else { Parallel::OneProcess },
            verbose: self.verbose,
        })
    }
}

impl From<&Options> for FitSpec {
    fn from(options: &Options) -> Self {
        FitSpec {
            epochs: options.epochs,
            batch_size: options.batch_size,
            learning_rate: options.learning_rate,
            schedule: options.schedule as u8,
            decay: options.decay,
            decay_epochs: options.decay_epochs,
            warm_up: options.warm_up,
            weight_decay: options.weight_decay,
            l1: options.l1,
            clip_norm: options.clip_norm,
            clip_value: options.clip_value,
            momentum: options.momentum,
            validation: options.validation,
            seed: options.seed,
            split_seed: options.split_seed,
            shuffle: options.shuffle,
            standardise: options.standardise,
            threads: options.threads,
            gpu_parts: options.gpu_parts,
            device: options.device.clone(),
            optimiser: options.optimiser as u8,
            loss: options.loss.map_or(0, |loss| 1 + loss as u8),
            loss_function: options.loss_function.clone(),
            logits: options.logits,
            label_smoothing: options.label_smoothing,
            focus: options.focus,
            quantile: options.quantile,
            class_weights: options.class_weights.clone(),
            negative_weights: options.negative_weights as u8,
            patience: options.patience,
            min_improvement: options.min_improvement,
            keep_best: options.keep_best,
            checkpoint: options.checkpoint.clone(),
            checkpoint_epochs: options.checkpoint_epochs,
            checkpoint_minutes: options.checkpoint_minutes,
            metrics: options.metrics.clone(),
            gradient: options.gradient as u8,
            precision: options.precision as u8,
            mpi: options.parallel == Parallel::Mpi,
            verbose: options.verbose,
        }
    }
}

impl From<train::EpochPart> for EpochPart {
    fn from(train::EpochPart { rows, expected, ended }: train::EpochPart) -> Self {
        EpochPart { rows, expected, ended }
    }
}

impl From<train::EpochRecord> for EpochRecord {
    fn from(record: train::EpochRecord) -> Self {
        let train::EpochRecord { train_loss, validation_loss, seconds, learning_rate, metrics, last } = record;
        EpochRecord { train_loss, validation_loss, seconds, learning_rate, metrics, last }
    }
}

impl From<train::Losses> for Losses {
    fn from(train::Losses { train, validation }: train::Losses) -> Self {
        Losses { train, validation: validation.unwrap_or(f64::NAN) }
    }
}

impl From<Losses> for train::Losses {
    fn from(Losses { train, validation }: Losses) -> Self {
        train::Losses { train, validation: (!validation.is_nan()).then_some(validation) }
    }
}

impl From<train::Judged> for Judged {
    fn from(train::Judged { gives, predictions, logits, labels, weights }: train::Judged) -> Self {
        Judged { gives: gives.into(), predictions, logits, labels, weights }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_cross_the_border_unchanged_and_unknown_numbers_are_refused_by_name() {
        let spec =
            FitSpec::from(&Options { loss: Some(Loss::Huber), gradient: Gradient::Autograd, ..Options::default() });
        assert_eq!(FitSpec::from(&spec.options().unwrap()), spec);
        for (spec, name) in [
            (FitSpec { schedule: 99, ..spec.clone() }, "fSchedule"),
            (FitSpec { optimiser: 99, ..spec.clone() }, "fOptimiser"),
            (FitSpec { loss: 99, ..spec.clone() }, "fLoss"),
            (FitSpec { negative_weights: 99, ..spec.clone() }, "fNegativeWeights"),
            (FitSpec { gradient: 99, ..spec.clone() }, "fGradient"),
            (FitSpec { precision: 99, ..spec.clone() }, "fPrecision"),
        ] {
            let error = spec.options().unwrap_err().to_string();
            assert!(error.contains(&format!("{name} = 99")), "{error}");
        }
    }
}
