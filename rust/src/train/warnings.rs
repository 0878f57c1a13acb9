//! Warnings of a fit: data and options that are allowed but rarely intended. Each warning appears once.

use super::Options;
use super::job::Job;
use super::learned::Learned;
use super::unit::Unit;
use crate::dataset::Scaler;
use crate::error::Result;
use crate::gradient::{BackEnd, Choice, Engine, Rows};
use crate::graph::{Gives, Loss, Optimiser};
use crate::model::{Model, PROBABILITIES, TargetScaling};
use crate::stream::{Mixing, Stream};
use crate::text;

/// A training loss this many times that before the first step, and that of a network that answers 0 to every event, has
/// diverged.
const DIVERGED: f64 = 10.0;
/// Events whose loss is taken before the first step.
const FIRST_EVENTS: usize = 1024;
/// From this weight decay on its term outweighs any loss of standardised data.
const HEAVY: f64 = 1.0;
/// With AdamW, whose decay is no term of the loss: the share of the weights that a step takes away.
const HEAVY_SHARE: f64 = 0.1;
/// Events of a stream's sample that tell little.
const FEW: usize = 100;
/// Classes or columns that a warning names.
const NAMED: usize = 5;

/// Looks at the events before the first epoch and at the loss after each.
pub(super) struct Watch {
    learning_rate: f64,
    /// The larger of the losses before the first step and of a network that answers 0, which a loss of the user's own does
    /// not tell.
    start: f64,
    started: bool,
    negative_weights: bool,
    diverged: bool,
    below_zero: bool,
    messages: Vec<String>,
}

impl Watch {
    /// For the data that the fit learns from; `target` standardises the labels of a regression.
    pub fn new(
        options: &Options,
        loss: Loss,
        outputs: usize,
        &Learned { data, rows, job, .. }: &Learned,
        target: Option<&Scaler>,
    ) -> Result<Watch> {
        // Several targets have no label in common to look at; their start is the loss before the first step.
        let several = data.targets().count() > 1;
        let own = !options.loss_function.is_empty();
        let (labels, weights) = (data.labels()?, data.weights()?);
        let weight = |row: usize| f64::from(options.negative_weights.of(weights[row]));
        // What weighs nothing teaches nothing.
        let events =
            || rows.iter().map(|&row| (labels[row as usize], weight(row as usize))).filter(|event| event.1 != 0.0);
        let standardised = |(label, weight)| match target {
            Some(target) => ((label - target.mean[0]) * target.inverse[0], weight),
            None => (label, weight),
        };
        let messages = match loss {
            Loss::SoftmaxCrossEntropy => absent_classes(&sums(events(), outputs, job)),
            _ if several => one_hot(labels, rows, data.targets().count()).filter(|_| !own),
            _ => constant_label(events, job),
        };
        let bounded = match loss {
            Loss::BinaryCrossEntropy | Loss::Focal => unbounded(&halves(events(), job)),
            Loss::SoftmaxCrossEntropy => unbounded(&sums(events(), outputs, job)),
            Loss::MeanSquaredError | Loss::Huber | Loss::Quantile | Loss::Gaussian => None,
        };
        let start = match own || several {
            true => 0.0,
            false => loss_of_zero(loss, options.loss_parameter(loss), outputs, events().map(standardised), job),
        };
        let negative_weights = job.total_of(events().filter(|(_, weight)| *weight < 0.0).count() as f64) > 0.0;
        Ok(Watch {
            learning_rate: options.learning_rate,
            start,
            started: false,
            // A loss of the user's own may be below 0 for reasons of its own, and the logarithm of a density is.
            negative_weights: !own && loss != Loss::Gaussian && bounded.is_none() && negative_weights,
            diverged: false,
            below_zero: false,
            messages: messages.into_iter().chain(bounded).chain(heavy_decay(options)).collect(),
        })
    }

    /// Before the first step: takes the mean loss of some of the rows `order`.
    pub fn begin(&mut self, engine: &mut dyn Engine, rows: Rows, order: &[u32]) -> Result<()> {
        let order = &order[..order.len().min(FIRST_EVENTS)];
        let weight: f64 = order.iter().map(|&row| f64::from(rows.weights[row as usize])).sum();
        if !self.started && weight > 0.0 {
            self.start = self.start.max((engine.evaluate(rows, order)? / weight).abs());
        }
        self.started = true;
        Ok(())
    }

    /// After epoch `number` with the mean loss `found` of the engine.
    pub fn epoch(&mut self, number: u64, found: f64, unit: Unit) {
        let [start, train_loss] = [self.start, found].map(|loss| unit.of_labels(loss));
        if !self.diverged && self.start > 0.0 && found > DIVERGED * self.start {
            self.diverged = true;
            self.messages.push(format!(
                "the training loss is {train_loss:.3e} after epoch {number}, and was {:.3e} or less before the first: \
                 lower fLearningRate (now {})",
                start,
                text::number(self.learning_rate)
            ));
        }
        if !self.below_zero && self.negative_weights && found < 0.0 {
            self.below_zero = true;
            self.messages.push(format!(
                "the training loss is {train_loss:.3e} after epoch {number}: the network singles out events of negative \
                 weight, and then the loss has no lower bound; set fNegativeWeights, use fewer epochs or a smaller network"
            ));
        }
    }

    /// Says these too.
    pub fn tell(&mut self, messages: impl Iterator<Item = String>) {
        self.messages.extend(messages);
    }

    /// Warnings that have not been shown yet.
    pub fn said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.messages)
    }
}

/// If the sample of a stream with so many entries is one small window.
pub(super) fn small_sample(events: usize, entries: u64) -> Option<String> {
    (events < FEW && entries > 10 * FEW as u64).then(|| {
        format!(
            "scalers, validation loss and warnings come from one window, {events} events of the stream's {entries} entries: \
             give SetWindow more"
        )
    })
}

/// If sources that shall contribute as many entries each are the same entries, with different cuts.
pub(super) fn already_balanced(stream: &Stream, mixing: Mixing) -> Option<String> {
    let same = stream.same_source().filter(|_| mixing == Mixing::Balanced)?;
    Some(format!(
        "kBalanced counts entries before the cuts, of which the sources that read {same} have as many each: it balances nothing \
         there; fClassWeights balances the labels"
    ))
}

/// The first few of `names`.
pub(super) fn shown(names: &[String]) -> String {
    let more = if names.len() > NAMED { ", ..." } else { "" };
    format!("{}{more}", names[..names.len().min(NAMED)].join(", "))
}

/// Sum of the weights of each of `classes` classes, and number of its events.
fn sums(events: impl Iterator<Item = (f32, f64)>, classes: usize, job: &Job) -> Vec<[f64; 2]> {
    let mut sums = vec![[0.0; 2]; classes];
    for (label, weight) in events {
        let [sum, count] = &mut sums[label as usize];
        *sum += weight;
        *count += 1.0;
    }
    job.total(sums.as_flattened_mut());
    sums
}

/// The same of labels 0 and 1; a label p between them counts as p of the second and 1 - p of the first.
fn halves(events: impl Iterator<Item = (f32, f64)>, job: &Job) -> Vec<[f64; 2]> {
    let mut sums = vec![[0.0; 2]; 2];
    for (label, weight) in events {
        for (class, share) in [(0, 1.0 - f64::from(label)), (1, f64::from(label))] {
            sums[class][0] += share * weight;
            sums[class][1] += f64::from(u8::from(share > 0.0));
        }
    }
    job.total(sums.as_flattened_mut());
    sums
}

/// Of several targets: the first events have one 1 among zeros each, which other libraries take as classes.
fn one_hot(labels: &[f32], rows: &[u32], targets: usize) -> Option<String> {
    let first = || rows.iter().take(FIRST_EVENTS).map(|&row| &labels[row as usize * targets..][..targets]);
    let is_class = |label: &[f32]| {
        let ones = label.iter().filter(|&&number| number == 1.0).count();
        ones == 1 && label.iter().filter(|&&number| number == 0.0).count() == targets - 1
    };
    (first().len() > targets && first().all(is_class)).then(|| {
        format!(
            "each label is a single 1 among {targets} numbers, of which the network learns a regression: to train a classifier, give \
             each event the number of its class as its only label"
        )
    })
}

fn absent_classes(classes: &[[f64; 2]]) -> Option<String> {
    let absent: Vec<String> = classes
        .iter()
        .enumerate()
        .filter(|(_, [_, count])| *count == 0.0)
        .map(|(class, _)| class.to_string())
        .collect();
    (!absent.is_empty()).then(|| {
        format!(
            "no event for training has label {} ({} of {} classes): add such events, or give the model fewer outputs",
            shown(&absent),
            absent.len(),
            classes.len()
        )
    })
}

fn constant_label<I: Iterator<Item = (f32, f64)>>(events: impl Fn() -> I, job: &Job) -> Option<String> {
    let labels = || events().map(|(label, _)| f64::from(label));
    let mut sums = [labels().count() as f64, labels().sum()];
    job.total(&mut sums);
    // Sums of one label are exact, and so is their mean.
    let mean = sums[1] / sums[0];
    let apart = job.total_of(labels().map(|label| (label - mean).abs()).sum());
    (apart == 0.0 && sums[0] > 0.0).then(|| {
        format!(
            "every event for training has label {}: the network learns to give that; add events with other labels",
            mean as f32
        )
    })
}

/// A network that ends in what the loss does itself.
pub(super) fn second_activation(options: &Options, model: &Model, loss: Loss) -> Option<String> {
    let last = model.names().last_activation();
    if !last.is_empty() && options.logits {
        return Some(format!(
            "the network ends in {last}, but fLogits says that it ends in logits, which Predict() turns into probabilities: leave \
             the last {last} out, or fLogits"
        ));
    }
    if last == PROBABILITIES && options.loss_function.is_empty() && !loss.is_regression() {
        return Some(format!(
            "the network gives probabilities, but {} takes logits and makes probabilities of them, as Predict() then does: give \
             it labels of 0 and 1 for each class and kMeanSquaredError, or a network that ends in logits",
            loss.name()
        ));
    }
    (!last.is_empty() && options.loss_function.is_empty() && !loss.is_regression()).then(|| {
        format!(
            "the network ends in {last}, but {} takes what comes before it and applies the like itself, as Predict() does: \
             leave the last {last} out",
            loss.name()
        )
    })
}

/// A network whose last activation was left to Predict(), which a regression does without.
pub(super) fn lost_activation(options: &Options, model: &Model, loss: Loss) -> Option<String> {
    let is_known = model.training().scaler.is_some() && model.gives() == Gives::Probabilities;
    (is_known && options.loss_function.is_empty() && loss.is_regression()).then(|| {
        format!(
            "the model predicts probabilities, and after a fit with {} it predicts what they are made of, its logits, as \
             values: take kBinaryCrossEntropy or kSoftmaxCrossEntropy for probabilities",
            loss.name()
        )
    })
}

/// What the targets of a regression may become, so that the network's outputs can be theirs. A normal distribution has outputs of two
/// kinds.
pub(super) fn target_scaling(model: &Model, loss: Loss) -> TargetScaling {
    match loss {
        Loss::Gaussian => TargetScaling::Full,
        _ => model.names().target_scaling(),
    }
}

/// A regression by a network that cannot reach some of its targets, or may not.
pub(super) fn bounded_outputs(
    options: &Options,
    model: &Model,
    &Learned { data, rows, .. }: &Learned,
    loss: Loss,
) -> Result<Option<String>> {
    let scaling = target_scaling(model, loss);
    let learns = options.standardise
        && options.loss_function.is_empty()
        && loss.is_regression()
        && model.training().options.is_none();
    if scaling == TargetScaling::Full || !learns {
        return Ok(None);
    }
    let last = model.names().last_function();
    let Some([least, greatest]) = model.names().bounds() else {
        let kept =
            if scaling == TargetScaling::None { "not standardised" } else { "scaled, but not shifted to mean 0" };
        return Ok(Some(format!(
            "the network ends in {last}, which does not give every number: the targets are {kept}"
        )));
    };
    let (labels, count) = (data.labels()?, data.targets().count());
    let reaches = |label: &f32| (least..=greatest).contains(label);
    let all = rows.iter().all(|&row| labels[row as usize * count..][..count].iter().all(reaches));
    Ok((!all).then(|| {
        let side = match [least.is_finite(), greatest.is_finite()] {
            [true, true] => format!("below {least} or above {greatest}"),
            [true, false] => format!("below {least}"),
            [false, _] => format!("above {greatest}"),
        };
        format!("the network ends in {last}, which does not give every number, and cannot reach the targets {side}: leave the last {last} out")
    }))
}

/// A back end that turned out to be impossible.
pub(super) fn replaced(wanted: BackEnd, choice: &Choice) -> Option<String> {
    let why = choice.instead.as_ref().filter(|_| choice.back_end != wanted)?;
    Some(format!("the fit runs on LibTorch's autograd: {why}"))
}

/// A fit that has nothing to train.
pub(super) fn all_frozen(model: &Model) -> Option<String> {
    let frozen: usize = model.frozen().iter().map(|range| range.len()).sum();
    (frozen > 0 && frozen == model.parameters().len()).then(|| {
        "all parameters are frozen, so that the fit changes none: call Unfreeze() with the name of what it shall train".to_owned()
    })
}

/// A weight decay that leaves nothing of the weights.
fn heavy_decay(options: &Options) -> Option<String> {
    let Options { weight_decay, learning_rate, optimiser, .. } = *options;
    let bound = match optimiser {
        Optimiser::AdamW => HEAVY_SHARE / learning_rate,
        Optimiser::Adam | Optimiser::SGD => HEAVY,
    };
    (weight_decay >= bound).then(|| {
        let [decay, bound] = [weight_decay, bound].map(text::number);
        format!("fWeightDecay = {decay} draws the weights to 0 whatever the data: take one far below {bound}")
    })
}

/// A class that weighs less than nothing draws the loss down for ever.
fn unbounded(classes: &[[f64; 2]]) -> Option<String> {
    let negative = classes.iter().enumerate().find(|(_, [sum, count])| *count > 0.0 && *sum < 0.0);
    negative.map(|(class, [sum, _])| {
        format!(
            "the weights of the events with label {class} sum to {sum:.4}, so the loss has no lower bound: check the weight \
             column and the cut, or set fNegativeWeights"
        )
    })
}

/// The weighted mean loss where every output is 0.
fn loss_of_zero(
    loss: Loss,
    parameter: f64,
    outputs: usize,
    events: impl Iterator<Item = (f32, f64)>,
    job: &Job,
) -> f64 {
    let mean = |of: &dyn Fn(f64) -> f64| {
        let mut sums = events.fold([0.0; 2], |[sum, total], (label, weight)| {
            [sum + weight.abs() * of(f64::from(label)), total + weight.abs()]
        });
        job.total(&mut sums);
        sums[0] / sums[1]
    };
    match loss {
        Loss::BinaryCrossEntropy => std::f64::consts::LN_2,
        Loss::SoftmaxCrossEntropy => (outputs as f64).ln(),
        Loss::MeanSquaredError => mean(&|y| y * y),
        Loss::Gaussian => mean(&|y| y * y / 2.0),
        Loss::Huber => mean(&|y| if y.abs() < 1.0 { y * y / 2.0 } else { y.abs() - 0.5 }),
        Loss::Focal => 0.5_f64.powf(parameter) * std::f64::consts::LN_2,
        Loss::Quantile => mean(&|y| if y > 0.0 { parameter * y } else { (parameter - 1.0) * y }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_as_several_targets_are_told() {
        let classes: Vec<f32> =
            (0..12).flat_map(|event| (0..3).map(move |class| f32::from(u8::from(event % 3 == class)))).collect();
        let rows: Vec<u32> = (0..12).collect();
        assert!(one_hot(&classes, &rows, 3).is_some_and(|text| text.contains("number of its class")));
        // Too few events to tell, another number, two ones, none.
        assert_eq!(one_hot(&classes, &rows[..3], 3), None);
        for other in [[0.5, 0.5, 0.0], [1.0, 1.0, 0.0], [0.0; 3]] {
            let mut labels = classes.clone();
            labels[6..9].copy_from_slice(&other);
            assert_eq!(one_hot(&labels, &rows, 3), None, "{other:?}");
            assert!(one_hot(&labels, &rows[3..], 3).is_some(), "of the rows that are trained on");
        }
    }
}
