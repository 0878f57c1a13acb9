//! Training: options checked, scalers learned, epochs run on a back end.
//!
//! [`Trainer`] trains on a dataset and [`StreamTrainer`] on a stream. They differ in where the events of a batch come from; what
//! happens around a batch and an epoch is in `fit`.

mod back_end;
mod checkpoint;
mod checks;
mod divergence;
mod fit;
mod folds;
mod job;
mod learned;
mod order;
mod outliers;
mod padding;
pub mod random_search;
mod resolution;
mod scale;
mod schedule;
mod stopping;
mod streaming;
mod unit;
mod validation;
mod warnings;

use crate::options::OBSERVED;
pub use crate::options::Options;
pub use back_end::{sharing, verbosity_of_back_end};
pub use checks::{check_count, decided_options};
pub use folds::{folds, gives};
pub use streaming::{StreamTrainer, check_window, stream_settings};

use std::path::Path;
use std::sync::Arc;

use crate::dataset::{Dataset, split};
use crate::error::{Error, Result};
use crate::gradient::{ObservedLoss, RowsOf};
use crate::graph::Gives;
use crate::model::Model;

use checkpoint::Checkpoint;
use fit::{Events, Fit, positive_weight};
use job::Job;
use learned::Learned;
use order::Order;
use validation::Validation;

/// Limits of a part of an epoch, after which progress is shown and Ctrl-C is heard: batches, and multiplications
/// (some tenths of a second with Clad's kernels). They depend on nothing that changes from run to run, so that sums do
/// not.
const PART_BATCHES: usize = 1024;
const PART_WORK: usize = 1 << 30;
/// The same on a GPU.
const PART_WORK_ON_GPU: usize = 1 << 38;

/// Weighted mean losses of an epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Losses {
    /// Over the training part, while it was trained on.
    pub train: f64,
    /// Over the validation part, after the epoch; none without one.
    pub validation: Option<f64>,
}

/// The record of one epoch.
#[derive(Clone, Debug, PartialEq)]
pub struct EpochRecord {
    /// Over the training part, while it was trained on.
    pub train_loss: f64,
    /// Over the validation part, after the epoch; NaN without one.
    pub validation_loss: f64,
    /// Wall-clock time.
    pub seconds: f64,
    /// Learning rate of its last step.
    pub learning_rate: f64,
    /// Figures of the validation events, those of [`Options::metrics`].
    pub metrics: Vec<f64>,
    /// Whether the fit ends here: at its last epoch, or early.
    pub last: bool,
}

/// How far an epoch has come.
#[derive(Clone, Copy, Debug)]
pub struct EpochPart {
    /// Events that it has trained on.
    pub rows: u64,
    /// Events that it will have trained on at its end; an estimate for streams.
    pub expected: u64,
    /// Whether nothing is left to train on.
    pub ended: bool,
}

/// Predictions, labels and weights of the validation events after an epoch.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The kind of the predictions.
    pub gives: Gives,
    /// Outputs [events, outputs] as the model predicts them, and before the sigmoid or the softmax of a classifier.
    pub predictions: Vec<f32>,
    /// See there.
    pub logits: Vec<f32>,
    /// [events, targets]
    pub labels: Vec<f32>,
    /// [events]
    pub weights: Vec<f32>,
}

/// The options of the fit whose checkpoint is at `path`, which it continues to write; `given` are those of the user,
/// which may not contradict them, and determine the number of threads.
pub fn resumed_options(path: &Path, given: &Options) -> Result<Options> {
    let options = Checkpoint::load(path)?.options;
    checks::check_resumed(given, &options)?;
    let metrics = match (given.metrics.is_empty(), given.metrics == options.metrics) {
        (true, _) | (_, true) => options.metrics.clone(),
        (false, false) => {
            let [given, begun] = [&given.metrics, &options.metrics].map(|names| names.join(", "));
            return Err(Error::invalid(
                format!("fMetrics = {{{given}}}, but the checkpoint's fit has {{{begun}}}"),
                "give the same, in the same order",
            ));
        }
    };
    let Options { threads, parallel, .. } = *given;
    let verbose = if given.verbose == Options::default().verbose { options.verbose } else { given.verbose };
    Ok(Options { checkpoint: path.to_string_lossy().into_owned(), threads, parallel, metrics, verbose, ..options })
}

/// A model in training on one dataset.
pub struct Trainer {
    fit: Fit,
    /// The events that this process holds.
    job: Job,
    /// Numbers of the events to train on, among those of all processes.
    train: Order,
    train_weight: f64,
    validation: Validation,
    /// The events' weights where classes have weights.
    weights: Option<Vec<f32>>,
    /// Multiplications of an event, about.
    work: usize,
    /// Rows and width of the dataset, to notice another one.
    shape: (usize, usize),
}

impl Trainer {
    /// Checks the options against model and data, splits, learns the scalers, lays out the engine.
    pub fn new(model: &Model, data: &Dataset, options: &Options) -> Result<Self> {
        Self::with_loss(model, data, options, None)
    }

    /// The same with a loss of LibTorch's operators instead of those of the options.
    pub fn with_loss(
        model: &Model,
        data: &Dataset,
        options: &Options,
        own: Option<&Arc<ObservedLoss>>,
    ) -> Result<Self> {
        Self::on(model, data, None, None, &checks::with_custom_loss(options, own, model, data)?, own)
    }

    /// The same with `validation` instead of a part of `data`; all of the latter is for training.
    pub fn validated(
        model: &Model,
        data: &Dataset,
        validation: &Dataset,
        options: &Options,
        own: Option<&Arc<ObservedLoss>>,
    ) -> Result<Self> {
        let options = Options { validation: 0.0, ..checks::with_custom_loss(options, own, model, data)? };
        Self::on(model, data, Some(validation), None, &options, own)
    }

    /// Goes on from the checkpoint at `path` of a fit of the same network to the same data, whose [`resumed_options`] these are.
    pub fn resume(&mut self, path: &Path) -> Result<()> {
        let Trainer { fit, train, .. } = self;
        fit.restore(Checkpoint::load(path)?, path)?;
        if fit.rows() > train.rows().len() {
            return Err(fit::other_fit(path, "it is further in an epoch than the data are long"));
        }
        let begun = fit.epochs() + u32::from(fit.rows() > 0);
        (1..=begun).for_each(|epoch| train.begin(epoch, epoch == begun));
        Ok(())
    }

    /// Writes a checkpoint now, if the options name a file for it.
    pub fn checkpoint(&mut self) -> Result<()> {
        self.fit.checkpoint()
    }

    /// The epochs before the checkpoint from which it continues.
    pub fn history(&self) -> &[EpochRecord] {
        self.fit.history()
    }

    /// With validation events from `judges`, or from `data`; on its rows `rows`, or on all.
    fn on(
        model: &Model,
        data: &Dataset,
        judges: Option<&Dataset>,
        rows: Option<&[u32]>,
        options: &Options,
        own: Option<&Arc<ObservedLoss>>,
    ) -> Result<Self> {
        let settings = checks::checked(options, model, data)?;
        checks::check_monitored(options, judges.is_some())?;
        let job = Job::open(options, data)?;
        let all = job.rows(data, "dataset")?;
        let count = rows.map_or(all, <[u32]>::len);
        let (train, validation) = match rows {
            Some(rows) if !settings.loss.is_regression() => folds::stratified(rows, data.labels()?, options),
            _ => {
                let (mut train, mut validation) = split(count, 1.0 - options.validation, options.seed_of_split())?;
                if let Some(rows) = rows {
                    train.iter_mut().chain(&mut validation).for_each(|row| *row = rows[*row as usize]);
                }
                (train, validation)
            }
        };
        if train.is_empty() {
            return Err(Error::invalid(
                format!("no event is left to train on ({count} events, fValidation = {})", options.validation),
                "lower fValidation or add events",
            ));
        }
        let own_train = job.own(&train);
        let learned = Learned { data, rows: &own_train, all: &train, job: &job };
        let mut fit = Fit::new(model, learned, options, own)?;
        fit.expect(train.len() as u64);
        let weights = fit.loss_weights(Events::of(data)?);
        let events = Events::of(data)?.weighted(weights.as_deref());
        let validation = match judges {
            None => Validation::of_part(&validation, events, &job)?,
            Some(judges) => Validation::of_own(&mut fit, model.outputs(), judges)?,
        };
        let (seed, is_ahead) = (fit.options.shuffle.then_some(fit.options.seed), fit.runs_on_gpu());
        Ok(Trainer {
            fit,
            train_weight: positive_weight(job.total_of(events.weight_of(&own_train)), "training")?,
            train: Order::new(train, seed, is_ahead),
            job,
            validation,
            weights,
            work: model.work(),
            shape: (data.rows(), data.width()),
        })
    }

    /// One pass over the training part, then the validation part of `data`.
    pub fn epoch(&mut self, data: &Dataset) -> Result<EpochRecord> {
        while !self.part(data)?.ended {}
        let losses = self.losses(data)?;
        self.end_epoch(losses, Vec::new())
    }

    /// Trains on the next part of an epoch: whole batches, so that the parts make the same steps as the whole.
    pub fn part(&mut self, data: &Dataset) -> Result<EpochPart> {
        if (data.rows(), data.width()) != self.shape {
            return Err(Error::Internal("the dataset changed during the training".into()));
        }
        let Trainer { fit, job, train, weights, .. } = self;
        let (done, size) = (fit.rows(), fit.options.batch_size);
        if done == 0 {
            fit.turn_to(RowsOf::Training);
            let epoch = fit.epochs() + 1;
            train.begin(epoch, epoch == fit.options.epochs);
        }
        let train = train.rows();
        let work = if fit.runs_on_gpu() { PART_WORK_ON_GPU } else { PART_WORK };
        let batches = (work / self.work / size).clamp(1, PART_BATCHES);
        let mut end = (done + batches * size).min(train.len());
        if end + 1 == train.len() {
            end += 1; // batch normalisation takes no batch of one event, and joins it to the one before
        }
        let events = Events::of(data)?.weighted(weights.as_deref());
        match job.batches(&train[done..end], size, fit.takes_one()) {
            None => fit.train(events, &train[done..end], train, None)?,
            Some((own, spread)) => fit.train(events, &own, &own, Some(&spread))?,
        }
        fit.checkpoint_if_late()?;
        if end == train.len() {
            // What fails in the last steps fails here, as it does in all others.
            fit.settle()?;
        }
        let expected = train.len();
        Ok(EpochPart { rows: end as u64, expected: expected as u64, ended: end == expected })
    }

    /// After the last part: the losses of the epoch. The validation events are in `data`, which is what [`validated`](Self::validated)
    /// got for them, if that was called.
    pub fn losses(&mut self, data: &Dataset) -> Result<Losses> {
        let Trainer { fit, validation, weights, .. } = self;
        let train = fit.train_loss(self.train_weight)?;
        Ok(Losses { train, validation: validation.loss(fit, data, weights.as_deref())? })
    }

    /// The predictions of `model`, which is in training, for the validation events, which are in `data`, with its
    /// current parameters.
    pub fn judge(&self, model: &Model, data: &Dataset) -> Result<Judged> {
        self.validation.judge(&self.fit, &self.fit.present(model)?, data)
    }

    /// Ends the epoch with its [`losses`](Self::losses) and figures.
    pub fn end_epoch(&mut self, losses: Losses, metrics: Vec<f64>) -> Result<EpochRecord> {
        self.fit.end_epoch(losses, metrics)
    }

    /// The number of the epoch whose parameters the model gets, from 1 on, if they are kept; else 0.
    pub fn restored(&self) -> u32 {
        self.fit.restored()
    }

    /// The kind of the model's predictions.
    pub fn gives(&self) -> Gives {
        self.fit.loss.gives()
    }

    /// How the fit ended, if nothing is left to train after a [`resume`](Self::resume).
    pub fn ended(&self) -> Option<&'static str> {
        self.fit.ended()
    }

    /// Warnings since the last call.
    pub fn warnings(&mut self) -> Vec<String> {
        self.fit.warnings()
    }

    /// Puts what was learned into `model`.
    pub fn finish(&self, model: &mut Model) -> Result<()> {
        self.fit.finish(model)
    }

    /// Which back end runs where.
    pub fn describe(&self) -> String {
        format!(
            "{}: {} events for training, {} for validation, loss {}",
            self.fit.back_end(),
            self.train.rows().len(),
            self.validation.count,
            self.fit.decided().loss_name()
        )
    }
}
