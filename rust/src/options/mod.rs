//! The options of a fit, and their record in model files.

pub(crate) mod record;

use crate::graph::{
    CUSTOM, Gives, Gradient, LEAST_LOG_VARIANCE, Loss, NegativeWeights, Optimiser, Precision, Schedule,
};

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
    /// Factor of the step size in [`Schedule::Step`] and [`Schedule::Plateau`].
    pub decay: f64,
    /// Epochs between two of those, or without improvement before one.
    pub decay_epochs: u32,
    /// Epochs, or parts of one, over which the step size first rises from 0, in proportion to the steps.
    pub warm_up: f64,
    /// See [`crate::kernels::UpdateSettings::weight_decay`].
    pub weight_decay: f64,
    /// See [`crate::optimiser::Rule::l1`].
    pub l1: f64,
    /// Bound of the gradient's norm; 0: none.
    pub clip_norm: f64,
    /// Bound of the gradient's components; 0: none.
    pub clip_value: f64,
    /// Momentum of SGD.
    pub momentum: f64,
    /// Share of the events kept for validation, in [0, 1).
    pub validation: f64,
    /// Seed of the order of the events and of dropout.
    pub seed: u64,
    /// Seed of the split into parts; 0: `seed`.
    pub split_seed: u64,
    /// A new order of the training part each epoch.
    pub shuffle: bool,
    /// Features, and labels of a regression, to mean 0 and standard deviation 1.
    pub standardise: bool,
    /// 0: as many as the machine has.
    pub threads: usize,
    /// Equal parts of a GPU, of which this fit has one.
    pub gpu_parts: usize,
    /// `cpu`, `cuda` or `cuda:N`.
    pub device: String,
    /// How the parameters move.
    pub optimiser: Optimiser,
    /// None: by the numbers of outputs and targets, or `loss_function`.
    pub loss: Option<Loss>,
    /// C++ text of a loss instead of that; may be empty.
    pub loss_function: String,
    /// The outputs that such a loss takes are logits of classes, not values.
    pub logits: bool,
    /// Part of each label that the cross-entropies give to all labels in equal shares.
    pub label_smoothing: f64,
    /// Exponent of the focal loss.
    pub focus: f64,
    /// That [`Loss::Quantile`] estimates.
    pub quantile: f64,
    /// Factors of the weights of events with label 0, 1, ...; none: 1.
    pub class_weights: Vec<f64>,
    /// How events of negative weight count in the loss.
    pub negative_weights: NegativeWeights,
    /// Epochs without improvement of the validation loss after which the fit ends; 0: it runs to its last epoch.
    pub patience: u32,
    /// By how much a loss must be smaller to be an improvement.
    pub min_improvement: f64,
    /// The model gets the parameters of the epoch of the smallest validation loss, as with `patience`.
    pub keep_best: bool,
    /// The file for checkpoints; empty: none.
    pub checkpoint: String,
    /// Epochs between two of them.
    pub checkpoint_epochs: u32,
    /// Minutes after which there is one within an epoch; 0: never.
    pub checkpoint_minutes: f64,
    /// Names of the figures of the validation events that the history records after each epoch.
    pub metrics: Vec<String>,
    /// Who provides the gradient.
    pub gradient: Gradient,
    /// Precision of the factors of products.
    pub precision: Precision,
    /// Which processes train together.
    pub parallel: Parallel,
    /// How much the fit prints.
    pub verbose: i32,
}

/// Which processes train one model together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parallel {
    /// This one alone.
    OneProcess,
    /// Those of the MPI job that it belongs to.
    Mpi,
}

/// In the place of the text of [`Options::loss_function`]: a loss of LibTorch's operators.
pub(crate) const OBSERVED: &str = "a function of LibTorch's tensors";

impl Default for Options {
    fn default() -> Self {
        Options {
            epochs: 20,
            batch_size: 256,
            learning_rate: 3e-3,
            schedule: Schedule::Cosine,
            decay: 0.1,
            decay_epochs: 10,
            warm_up: 0.0,
            weight_decay: 0.0,
            l1: 0.0,
            clip_norm: 0.0,
            clip_value: 0.0,
            momentum: 0.9,
            validation: 0.2,
            seed: 1,
            split_seed: 0,
            shuffle: true,
            standardise: true,
            threads: 0,
            gpu_parts: 1,
            device: "cpu".into(),
            optimiser: Optimiser::Adam,
            loss: None,
            loss_function: String::new(),
            logits: false,
            label_smoothing: 0.0,
            focus: 2.0,
            quantile: 0.5,
            class_weights: Vec::new(),
            negative_weights: NegativeWeights::KeepNegative,
            patience: 0,
            min_improvement: 0.0,
            keep_best: false,
            checkpoint: String::new(),
            checkpoint_epochs: 1,
            checkpoint_minutes: 0.0,
            metrics: Vec::new(),
            gradient: Gradient::Clad,
            precision: Precision::Float32,
            parallel: Parallel::OneProcess,
            verbose: 1,
        }
    }
}

impl Options {
    /// The options that a resumed fit cannot change: all except the machine's threads and processes, the names of
    /// figures, and what it prints.
    pub(crate) fn of_fit(&self) -> Options {
        Options {
            threads: 0,
            gpu_parts: 1,
            parallel: Parallel::OneProcess,
            metrics: Vec::new(),
            verbose: 1,
            ..self.clone()
        }
    }

    /// See [`crate::kernels::Scalar::loss`].
    pub(crate) fn loss_parameter(&self, loss: Loss) -> f64 {
        match loss {
            Loss::BinaryCrossEntropy | Loss::SoftmaxCrossEntropy => self.label_smoothing,
            Loss::Focal => self.focus,
            Loss::Quantile => self.quantile,
            Loss::Gaussian => LEAST_LOG_VARIANCE,
            Loss::MeanSquaredError | Loss::Huber => 0.0,
        }
    }

    /// The predictions of a model that was trained with these options, whose loss is decided.
    pub(crate) fn gives(&self) -> Gives {
        match self.loss {
            Some(loss) => loss.gives(),
            None if self.logits => Gives::Probabilities,
            None => Gives::Values,
        }
    }

    /// The seed of the split into parts.
    pub(crate) fn seed_of_split(&self) -> u64 {
        if self.split_seed == 0 { self.seed } else { self.split_seed }
    }

    /// Whether the parameters of the best epoch are kept.
    pub(crate) fn keeps_best(&self) -> bool {
        self.keep_best || self.patience > 0
    }

    /// The loss to minimise, for people, of options whose loss is decided.
    pub(crate) fn loss_name(&self) -> &'static str {
        self.loss.map_or(CUSTOM, Loss::name)
    }
}
