//! What a user asks of a fit, and its record in model files.

pub(crate) mod record;

use crate::graph::{Gradient, Loss, OWN, Optimiser, Schedule};

/// The options of a fit, not yet checked. The defaults are those of `FitOptions` in C++.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Passes over the training part.
    pub epochs: u32,
    /// Rows a step.
    pub batch_size: usize,
    /// Step size that the schedule starts from.
    pub learning_rate: f64,
    /// How the step size changes.
    pub schedule: Schedule,
    /// See [`crate::kernels::Sweep::weight_decay`].
    pub weight_decay: f64,
    /// Of SGD.
    pub momentum: f64,
    /// Share of the events kept for validation, in [0, 1).
    pub validation: f64,
    /// Of split and order of the events, and of dropout.
    pub seed: u64,
    /// A new order of the training part each epoch.
    pub shuffle: bool,
    /// Features, and labels of a regression, to mean 0 and standard deviation 1.
    pub standardise: bool,
    /// 0: as many as the machine has.
    pub threads: usize,
    /// `cpu`, `cuda` or `cuda:N`.
    pub device: String,
    /// How the parameters move.
    pub optimiser: Optimiser,
    /// None: by the numbers of outputs and targets, or `loss_function`.
    pub loss: Option<Loss>,
    /// C++ text of a loss instead of that; may be empty.
    pub loss_function: String,
    /// Who provides the gradient.
    pub gradient: Gradient,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            epochs: 20,
            batch_size: 256,
            learning_rate: 3e-3,
            schedule: Schedule::Cosine,
            weight_decay: 0.0,
            momentum: 0.9,
            validation: 0.2,
            seed: 1,
            shuffle: true,
            standardise: true,
            threads: 0,
            device: "cpu".into(),
            optimiser: Optimiser::Adam,
            loss: None,
            loss_function: String::new(),
            gradient: Gradient::Clad,
        }
    }
}

impl Options {
    /// The loss to minimise, for people, of options whose loss is decided.
    pub(crate) fn loss_name(&self) -> &'static str {
        self.loss.map_or(OWN, Loss::name)
    }
}
