//! Losses, updates and roundings as the names and numbers that `step.hpp` and `tensor_cores.hpp` have for them.

use super::super::super::Settings;
use crate::graph::{Loss, Optimiser, Precision};
use crate::optimiser::{BETA1, BETA2, EPSILON};

/// C++'s class of a loss.
pub fn loss_name(loss: Loss) -> &'static str {
    match loss {
        Loss::BinaryCrossEntropy => "MeanLoss<BinaryCrossEntropyTerm>",
        Loss::SoftmaxCrossEntropy => "SoftmaxLoss",
        Loss::MeanSquaredError => "MeanLoss<SquaredErrorTerm>",
        Loss::Huber => "MeanLoss<HuberTerm>",
        Loss::Focal => "MeanLoss<FocalTerm>",
        Loss::Quantile => "MeanLoss<QuantileTerm>",
        Loss::Gaussian => "GaussianLoss",
    }
}

/// C++'s class of rounded factors.
pub fn factors_name(precision: Precision) -> Option<&'static str> {
    match precision {
        Precision::Float32 => None,
        Precision::BF16 => Some("Bf16"),
        Precision::TF32 => Some("Tf32"),
        Precision::TF32x3 => Some("Tf32x3"),
    }
}

/// C++'s class of an optimiser.
pub fn update_name(optimiser: Optimiser) -> &'static str {
    match optimiser {
        Optimiser::Adam | Optimiser::AdamW => "AdamUpdate",
        Optimiser::SGD => "SgdUpdate",
    }
}

/// The members of `Rule`.
pub fn rule_text(settings: &Settings) -> String {
    let decay = if settings.optimiser == Optimiser::AdamW { 0.0 } else { settings.weight_decay };
    let numbers = [decay, settings.momentum, BETA1, 1.0 - BETA1, BETA2, 1.0 - BETA2, EPSILON];
    numbers.map(|number| format!("{:?}f", number as f32)).join(", ")
}
