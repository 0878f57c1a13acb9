//! A fit to events from any source: an engine, and what happens around each batch and each epoch.

#[cfg(test)]
mod late;
mod parts;
mod resume;

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use super::back_end;
use super::divergence::Suspects;
use super::job::Job;
use super::learned::Learned;
use super::schedule::{Rates, StepPosition};
use super::stopping::{Kept, Stopping};
use super::unit::Unit;
use super::warnings::{self, Watch};
use super::{EpochRecord, Judged, Losses, Options, checkpoint, checks, outliers, padding, resolution, scale};
use crate::columns::{self, Column};
use crate::dataset::{Dataset, Scaler, Targets};
use crate::error::{Error, Result};
use crate::gradient::{BackEnd, Choice, Engine, ObservedLoss, Rows, RowsOf, Spread, Steps, batches};
use crate::graph::{Loss, NegativeWeights};
use crate::model::{Model, Training};
use crate::stream::Batch;
use parts::{engine, scalers};
pub(super) use resume::other_fit;

/// Events in memory.
#[derive(Clone, Copy)]
pub(super) struct Events<'a> {
    /// [events, width]
    pub features: &'a [f32],
    /// [events, targets]
    pub labels: &'a [f32],
    /// [events]
    pub weights: &'a [f32],
}

impl<'a> Events<'a> {
    /// Those of a dataset.
    pub fn of(data: &'a Dataset) -> Result<Self> {
        Ok(Events { features: data.features(), labels: data.labels()?, weights: data.weights()? })
    }

    /// Those of a batch.
    pub fn of_batch(Batch { features, labels, weights }: &'a Batch) -> Self {
        Events { features, labels, weights }
    }

    /// With other weights, if there are any.
    pub fn weighted(self, weights: Option<&'a [f32]>) -> Self {
        Events { weights: weights.unwrap_or(self.weights), ..self }
    }

    /// The weights of the rows `order`, summed.
    pub fn weight_of(&self, order: &[u32]) -> f64 {
        order.iter().map(|&row| f64::from(self.weights[row as usize])).sum()
    }
}

/// `total`, an error unless it is positive. `part` is for the message.
pub(super) fn positive_weight(total: f64, part: &str) -> Result<f64> {
    match total > 0.0 {
        true => Ok(total),
        false => Err(Error::invalid(
            format!("the event weights of the {part} part sum to {total}"),
            "they must sum to more than 0",
        )),
    }
}

/// A model in training.
pub(super) struct Fit {
    pub options: Options,
    pub loss: Loss,
    engine: Box<dyn Engine>,
    job: Job,
    choice: Choice,
    scaler: Scaler,
    /// Of the labels.
    target: Option<Scaler>,
    unit: Unit,
    /// Factor that brings the mean weight of the training part to 1.
    weight_scale: f64,
    columns: Vec<Column>,
    targets: Targets,
    watch: Watch,
    suspects: Suspects,
    rates: Rates,
    stopping: Stopping,
    /// Events of an epoch, and steps.
    expected: u64,
    steps: usize,
    /// The epochs so far.
    history: Vec<EpochRecord>,
    /// Of the network and of the data, for checkpoints; empty and 0 where there are none.
    network: String,
    fingerprint: u64,
    /// When the last checkpoint was written, or the fit began.
    saved: Instant,
    /// Epochs that have ended.
    epochs: u32,
    /// Of the epoch that runs: rows that are done, and the sum of weight times loss over them.
    rows: usize,
    loss_sum: f64,
    /// When the epoch began.
    start: Instant,
}

impl Fit {
    /// Checks the options against the model and the events, which stand for all that it will train on; learns the scalers; lays
    /// out the engine.
    pub fn new(model: &Model, learned: Learned, options: &Options, own: Option<&Arc<ObservedLoss>>) -> Result<Self> {
        let Learned { data, rows, all, job } = learned;
        if model.parameters().is_empty() {
            return Err(Error::invalid(
                "the network has no parameters to train",
                "it predicts as it is; fit one that has layers with weights",
            ));
        }
        let settings = checks::checked(options, model, data)?;
        if !options.checkpoint.is_empty() {
            checkpoint::check_place(Path::new(&options.checkpoint))?;
        }
        model.check_finite("the fit")?;
        parts::check_others(options, model, &learned)?;
        let masks = padding::masks(&learned);
        let (scaler, target) = scalers(model, &learned, &masks, options, settings.loss)?;
        let of_outputs = target.as_ref().map(|target| settings.loss.gives().output_scaler(target));
        let mut parameters = model.parameters_for(&scaler, of_outputs.as_ref())?;
        if let Some(ranks) = &job.ranks {
            ranks.take_first(&mut parameters);
        }
        let events = Events::of(data)?;
        let weights = weights_of_loss(options, events);
        let weight = job.total_of(events.weighted(weights.as_deref()).weight_of(rows));
        let weight_scale = all.len() as f64 / positive_weight(weight, "training")?;
        let choice = back_end::choose(options, model)?;
        let mut watch = Watch::new(options, settings.loss, model.outputs(), &learned, target.as_ref())?;
        watch.tell(warnings::second_activation(options, model, settings.loss).into_iter());
        watch.tell(warnings::lost_activation(options, model, settings.loss).into_iter());
        watch.tell(warnings::bounded_outputs(options, model, &learned, settings.loss)?.into_iter());
        watch.tell(warnings::all_frozen(model).into_iter());
        watch.tell(scale::other_scale(model, data, &scaler, target.as_ref()));
        if options.standardise {
            watch.tell(resolution::coarse(data, rows, &scaler, target.as_ref())?);
        }
        // A scaler that stays says nothing of these data.
        if options.standardise && model.training().scaler.as_ref() != Some(&scaler) {
            watch.tell(outliers::extreme(data, rows, &masks, &scaler).into_iter());
            watch.tell(outliers::far_pads(data, &masks, &scaler).into_iter());
        }
        let wanted = choice.back_end;
        let (engine, choice) = engine(model, &parameters, options, own, settings, choice, job.ranks.as_ref())?;
        watch.tell(warnings::replaced(wanted, &choice).into_iter());
        Ok(Fit {
            engine,
            job: job.clone(),
            choice,
            loss: settings.loss,
            options: options.clone(),
            scaler,
            unit: Unit::of(settings.loss, target.as_ref()),
            target,
            weight_scale,
            columns: data.columns().to_vec(),
            targets: data.targets().clone(),
            watch,
            suspects: Suspects::of(model),
            rates: Rates::new(options),
            stopping: Stopping::new(options),
            expected: 0,
            steps: 1,
            history: Vec::new(),
            network: if options.checkpoint.is_empty() { String::new() } else { model.network_digest()? },
            fingerprint: if options.checkpoint.is_empty() { 0 } else { learned.fingerprint()? },
            saved: Instant::now(),
            epochs: 0,
            rows: 0,
            loss_sum: 0.0,
            start: Instant::now(),
        })
    }

    /// Epochs that have ended.
    pub fn epochs(&self) -> u32 {
        self.epochs
    }

    /// Rows of the epoch that runs which were trained on.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Whether the engine trains on a single event.
    pub fn takes_one(&self) -> bool {
        self.engine.takes_one()
    }

    /// Says that the next events are others than the last.
    pub fn forget(&mut self) {
        self.engine.forget();
    }

    /// See [`Engine::turn_to`].
    pub fn turn_to(&mut self, of: RowsOf) {
        self.engine.turn_to(of);
    }

    /// Waits for the steps of all calls, so that the sum of the loss is complete.
    pub fn settle(&mut self) -> Result<()> {
        // Where processes train together no engine works ahead.
        self.loss_sum += self.engine.settle()?;
        self.check_finite("training loss", self.loss_sum, self.epochs + 1)
    }

    /// Refuses a validation dataset of other columns or targets.
    pub fn check_alike(&self, other: &Dataset) -> Result<()> {
        let key = |column: &Column| (column.name.clone(), column.length, column.inner);
        if !self.columns.iter().map(key).eq(other.columns().iter().map(key)) {
            let [found, own] = [other.columns(), &self.columns].map(columns::list);
            return Err(Error::invalid(
                format!("the validation dataset's columns ({found}) are not those of the training events ({own})"),
                "name the same columns in the same order",
            ));
        }
        self.targets.joined(other.targets(), "the validation dataset").map(|_| ())
    }

    /// Says that the events of `own` judge the fit, and returns what this process holds of them.
    pub fn judge_by(&mut self, own: &Dataset) -> Result<Job> {
        let job = self.job.with(own)?;
        if job.ranks.is_none() && self.options.checkpoint.is_empty() {
            return Ok(job);
        }
        let events = job.fingerprint(own, 0)?;
        if let Some(ranks) = &job.ranks {
            ranks.check_same("the validation events", events)?;
        }
        if !self.options.checkpoint.is_empty() {
            self.fingerprint = self.fingerprint.rotate_left(1) ^ events;
        }
        Ok(job)
    }

    /// Says how many events are for training, so that schedules know an epoch's steps.
    pub fn expect(&mut self, events: u64) {
        let size = self.options.batch_size;
        self.expected = events;
        self.steps = batches::count(usize::try_from(events).unwrap_or(usize::MAX), size, self.takes_one()).max(1);
    }

    /// The weights of the events in the loss; none: they are used unchanged.
    pub fn loss_weights(&self, events: Events) -> Option<Vec<f32>> {
        weights_of_loss(&self.options, events)
    }

    /// How the events that this process and the others hold, `count` of this one, are divided into batches; `None` if
    /// there are no others. `is_last`: nothing more follows in this epoch.
    pub fn spread(&self, count: usize, is_last: bool) -> Option<Spread> {
        let ranks = self.job.ranks.as_ref()?;
        let counts: Vec<usize> = ranks.all(count as f64).into_iter().map(|count| count as usize).collect();
        Some(Spread::new(ranks.rank(), &counts, self.options.batch_size, is_last))
    }

    /// Trains on the batches of `order`, which continues the rows before; `first` are those that the epoch begins with.
    /// Without a `spread` other processes have the same events.
    pub fn train(&mut self, events: Events, order: &[u32], first: &[u32], spread: Option<&Spread>) -> Result<()> {
        let Fit { engine, scaler, target, watch, rates, options, suspects, .. } = self;
        let rows = rows(events, scaler, target.as_ref(), self.weight_scale);
        watch.begin(&mut **engine, rows, first)?;
        let steps = PartSteps {
            rates,
            epoch: self.epochs,
            done: self.rows / options.batch_size,
            steps: self.steps,
            spread,
            diverged: OnceLock::new(),
        };
        let outcome = engine.train(rows, order, &steps);
        if let Some(&(batch, loss)) = steps.diverged.get() {
            let of_batch = match spread {
                Some(spread) => &order[spread.part(batch)],
                None => batches::batches(order, options.batch_size, engine.takes_one()).nth(batch).unwrap_or_default(),
            };
            let first = suspects.first(rows, of_batch, &engine.parameters()?)?;
            let place = format!("in batch {} of epoch {}: {first}", steps.done + batch + 1, self.epochs + 1);
            return Err(diverged("training loss", loss, &place, options));
        }
        self.loss_sum += self.total(outcome?);
        self.rows += spread.map_or(order.len(), Spread::total);
        self.check_finite("training loss", self.loss_sum, self.epochs + 1)
    }

    /// The mean loss over the rows `order`, which weigh `weight` together, in the units of the labels. All processes have them.
    pub fn evaluate(&mut self, events: Events, order: &[u32], weight: f64) -> Result<f64> {
        let share = self.job.ranks.as_ref().map_or(0..order.len(), |ranks| ranks.share(order.len()));
        self.evaluate_own(events, &order[share], weight)
    }

    /// The same over the rows `order` of this process and those of the others, if each has events of its own.
    pub fn evaluate_own(&mut self, events: Events, order: &[u32], weight: f64) -> Result<f64> {
        let Fit { engine, scaler, target, .. } = self;
        let loss = engine.evaluate(rows(events, scaler, target.as_ref(), self.weight_scale), order)?;
        let mean = self.unit.of_labels(self.total(loss) / weight);
        self.check_finite("validation loss", mean, self.epochs + 1)?;
        Ok(mean)
    }

    /// The sum over all processes.
    pub fn total(&self, number: f64) -> f64 {
        self.job.ranks.as_ref().map_or(number, |ranks| ranks.total(number))
    }

    /// This process's part of a count `whole` that all processes share.
    pub fn part_of(&self, whole: usize) -> usize {
        self.job.ranks.as_ref().map_or(whole, |ranks| whole.div_ceil(ranks.size()))
    }

    /// What `judged` says of this process's events and of those of the others, in their order.
    pub fn of_all(&self, judged: Judged) -> Judged {
        let Some(ranks) = &self.job.ranks else { return judged };
        let Judged { gives, predictions, logits, labels, weights } = judged;
        let [predictions, logits, labels, weights] =
            [predictions, logits, labels, weights].map(|values| ranks.joined(&values));
        Judged { gives, predictions, logits, labels, weights }
    }

    /// The mean loss of the epoch that ends here, when all its steps are [made](Self::settle), whose events weigh `weight` together, in the units of the labels.
    pub fn train_loss(&mut self, weight: f64) -> Result<f64> {
        let loss = std::mem::take(&mut self.loss_sum) / weight;
        self.check_finite("training loss", loss, self.epochs + 1)?;
        self.watch.epoch(u64::from(self.epochs) + 1, loss, self.unit);
        Ok(self.unit.of_labels(loss))
    }

    /// Ends an epoch with these losses and figures.
    pub fn end_epoch(&mut self, losses: Losses, mut metrics: Vec<f64>) -> Result<EpochRecord> {
        if let Some(ranks) = &self.job.ranks {
            ranks.take_first(&mut metrics);
        }
        let place = StepPosition { epoch: self.epochs, step: self.steps - 1, steps: self.steps };
        let learning_rate = self.rates.at(place);
        self.epochs += 1;
        self.rows = 0;
        let mut last = self.epochs == self.options.epochs;
        if let Some(loss) = losses.validation {
            self.rates.epoch(loss);
            let Fit { engine, stopping, .. } = self;
            let keep = || Ok(Kept { parameters: engine.parameters()?, state: engine.state() });
            last |= stopping.epoch(self.epochs, loss, keep)?;
        }
        let seconds = self.start.elapsed().as_secs_f64();
        self.start = Instant::now();
        let validation_loss = losses.validation.unwrap_or(f64::NAN);
        let epoch = EpochRecord { train_loss: losses.train, validation_loss, seconds, learning_rate, metrics, last };
        self.history.push(epoch.clone());
        if last || self.epochs.is_multiple_of(self.options.checkpoint_epochs) {
            self.checkpoint()?;
        }
        Ok(epoch)
    }

    /// The epochs so far.
    pub fn history(&self) -> &[EpochRecord] {
        &self.history
    }

    /// The number of the epoch whose parameters the model gets, from 1 on, if they are not the last; else 0.
    pub fn restored(&self) -> u32 {
        let Stopping { kept, best_epoch, .. } = &self.stopping;
        if kept.is_some() { *best_epoch } else { 0 }
    }

    /// Adds a warning.
    pub fn tell(&mut self, message: Option<String>) {
        self.watch.tell(message.into_iter());
    }

    /// Warnings since the last call.
    pub fn warnings(&mut self) -> Vec<String> {
        self.watch.said()
    }

    fn check_finite(&self, what: &str, value: f64, epoch: u32) -> Result<()> {
        match value.is_finite() {
            true => Ok(()),
            false => Err(diverged(what, value, &format!("after epoch {epoch}"), &self.options)),
        }
    }

    /// Puts what was learned into `model`: the parameters of the best epoch, if they are kept, else the last.
    pub fn finish(&self, model: &mut Model) -> Result<()> {
        let learned = self.stopping.kept.clone().map_or_else(|| self.last(), Ok)?;
        self.put(learned, model)?;
        model.add_batches(self.engine.batches());
        Ok(())
    }

    /// A copy of `model`, which is in training, with what was learned so far.
    pub fn present(&self, model: &Model) -> Result<Model> {
        let mut copy = model.copy()?;
        copy.freeze();
        self.put(self.last()?, &mut copy)?;
        Ok(copy)
    }

    fn last(&self) -> Result<Kept> {
        Ok(Kept { parameters: self.engine.parameters()?, state: self.engine.state() })
    }

    fn put(&self, Kept { parameters, state }: Kept, model: &mut Model) -> Result<()> {
        let training = Training {
            scaler: Some(self.scaler.clone()),
            target: self.target.as_ref().map(|target| self.loss.gives().output_scaler(target)),
            columns: self.columns.clone(),
            targets: self.targets.clone(),
            options: Some(self.decided()),
        };
        let extreme = parameters.iter().copied().find(|parameter| !parameter.is_finite());
        self.check_finite("largest parameter", extreme.unwrap_or(0.0).into(), self.epochs)?;
        model.set_parameters(&parameters)?;
        model.set_state(&state)?;
        model.set_training(training)
    }

    /// The options as they were followed. An epoch that was interrupted does not count.
    pub fn decided(&self) -> Options {
        Options { epochs: self.epochs, ..checks::decided(&self.options, self.loss) }
    }

    /// Whether kernels of a GPU run it.
    pub fn runs_on_gpu(&self) -> bool {
        self.choice.back_end == BackEnd::Cuda
    }

    /// Which back end runs where, and why.
    pub fn back_end(&self) -> String {
        self.choice.describe(&self.engine.describe())
    }
}

/// The steps of a call of an engine: the schedule's rates, and an end if the loss is not finite.
struct PartSteps<'a> {
    rates: &'a Rates,
    epoch: u32,
    /// Steps of the epoch before the call, and in all.
    done: usize,
    steps: usize,
    /// Where each process has events of its own.
    spread: Option<&'a Spread>,
    /// The batch of the call whose loss is not finite, with that loss.
    diverged: OnceLock<(usize, f64)>,
}

impl Steps for PartSteps<'_> {
    fn rate(&self, batch: usize, loss: f64) -> Result<f64> {
        let step = self.done + batch;
        match loss.is_finite() {
            true => Ok(self.rates.at(StepPosition { epoch: self.epoch, step, steps: self.steps })),
            false => {
                self.diverged.get_or_init(|| (batch, loss));
                Err(Error::invalid(format!("the training loss is {loss}"), ""))
            }
        }
    }

    fn spread(&self) -> Option<&Spread> {
        self.spread
    }
}

fn diverged(what: &str, value: f64, place: &str, options: &Options) -> Error {
    Error::invalid(
        format!("the {what} is {value} {place}"),
        format!(
            "lower fLearningRate (now {}) or look for extreme features{}",
            options.learning_rate,
            if options.loss_function.is_empty() { "" } else { ", or for events for which your loss has no value" }
        ),
    )
}

/// For the engine.
fn rows<'a>(events: Events<'a>, scaler: &'a Scaler, target: Option<&'a Scaler>, weight_scale: f64) -> Rows<'a> {
    let Events { features, labels, weights } = events;
    Rows { features, labels, weights, scaler, target, weight_scale }
}

/// The weights of the events in the loss, times the weights of their classes; none: they are used unchanged.
fn weights_of_loss(options: &Options, Events { labels, weights, .. }: Events) -> Option<Vec<f32>> {
    let Options { class_weights, negative_weights, .. } = options;
    let counted = weights.iter().map(|&weight| negative_weights.of(weight));
    if class_weights.is_empty() {
        return (*negative_weights != NegativeWeights::KeepNegative).then(|| counted.collect());
    }
    let weighted = |(&label, weight): (&f32, f32)| (f64::from(weight) * class_weights[label as usize]) as f32;
    Some(labels.iter().zip(counted).map(weighted).collect())
}
