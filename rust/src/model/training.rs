//! What a fit leaves in a model besides its parameters.

use crate::columns::{self, Column};
use crate::dataset::{Scaler, Targets};
use crate::error::{Error, Result};
use crate::graph::Gives;
use crate::options::Options;

/// What a fit leaves in a model besides its parameters, or what a user sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Training {
    /// Applied to features before the first layer; none: they are not scaled.
    pub scaler: Option<Scaler>,
    /// Undone on the outputs [outputs] of a regression, see [`Gives`]; none: they are not scaled.
    pub target: Option<Scaler>,
    /// The feature columns, in order; empty: unknown.
    pub columns: Vec<Column>,
    /// Names of the label columns.
    pub targets: Targets,
    /// Options of the last fit, with the loss decided and the epochs that were run; none: there was no fit.
    pub options: Option<Options>,
}

impl Training {
    /// The kind of the outputs: values after a regression, or with a loss of the user's own.
    pub(super) fn gives(&self) -> Gives {
        match (&self.options, &self.target) {
            (Some(options), _) => options.gives(),
            (None, Some(_)) => Gives::Values,
            (None, None) => Gives::Probabilities,
        }
    }

    /// The scaler of the labels of a regression: the part of the scaler `target` that belongs to values.
    pub fn label_scaler(&self) -> Option<Scaler> {
        self.target.as_ref().map(|target| self.gives().label_scaler(target))
    }

    /// With a scaler of the labels instead of the one that there is.
    pub fn with_label_scaler(mut self, labels: Option<Scaler>) -> Self {
        let gives = self.gives();
        self.target = labels.map(|labels| gives.output_scaler(&labels));
        self
    }

    /// Checks the widths against those of a network, and that only values are scaled.
    pub(super) fn check(&self, inputs: usize, outputs: usize) -> Result<()> {
        let width = |scaler: &Option<Scaler>| scaler.as_ref().map(|scaler| scaler.mean.len());
        let columns = (!self.columns.is_empty()).then(|| columns::checked_width(&self.columns)).transpose()?;
        for (what, found, expected) in [
            ("a scaler", width(&self.scaler), inputs),
            ("a scaler of the target", width(&self.target), outputs),
            ("columns", columns, inputs),
        ] {
            if let Some(found) = found.filter(|found| *found != expected) {
                return Err(Error::invalid(
                    format!("{what} of {found} numbers for a model of {inputs} inputs and {outputs} outputs"),
                    format!("give {expected}"),
                ));
            }
        }
        let (gives, targets) = (self.gives(), self.targets.count());
        if gives == Gives::Gaussians && !outputs.is_multiple_of(2) {
            return Err(Error::invalid(
                format!("fLoss = kGaussian for a model of {outputs} output(s)"),
                "it takes two outputs for each target: a mean and the logarithm of a variance",
            ));
        }
        if targets > 1 && (gives.outputs(targets) != outputs || gives == Gives::Probabilities) {
            return Err(Error::invalid(
                format!("{} for a model of {outputs} outputs", self.targets),
                "several targets need a regression, and one output each, with kGaussian two",
            ));
        }
        match self.target.is_some() && gives == Gives::Probabilities {
            false => Ok(()),
            true => Err(Error::invalid(
                "a scaler of the target for a classifier",
                "only the outputs of a regression have a scale: its fLoss is kMeanSquaredError or kHuber",
            )),
        }
    }
}
