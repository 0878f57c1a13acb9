//! The training loop: options checked, scaler learned, epochs run on a back end.

mod back_end;
pub mod metrics;
mod options;
pub(crate) mod record;
mod resolution;
mod scale;
mod streaming;
mod thin;
mod warnings;

pub use back_end::verbosity_of_back_end;
pub(crate) use options::check_columns;
pub use options::{check_count, decided_options};
pub use streaming::{StreamTrainer, check_window, stream_settings};

use std::sync::Arc;
use std::time::{Duration, Instant};

use tch::Device;

use crate::bridge::{EpochPart, EpochRecord, FitSpec};
use crate::dataset::{Dataset, Scaler, Targets, shuffle, split};
use crate::device;
use crate::error::{Error, Result};
use crate::gradient::aot::AotEngine;
use crate::gradient::autograd::AutogradEngine;
use crate::gradient::libtorch::LibTorchEngine;
use crate::gradient::{Engine, ModuleTiles, RowLoss, Rows, Settings};
use crate::graph::{Loss, Schedule};
use crate::model::{Model, Network, Training};
use back_end::{BackEnd, Choice};
use warnings::Watch;

/// How long compiling a user's loss may take.
const COMPILE_LIMIT: Duration = Duration::from_secs(60);

/// Limits of a part of an epoch, after which progress is shown and Ctrl-C is heard: batches, and multiplications
/// (some tenths of a second with Clad's kernels). They depend on nothing that changes from run to run, so that sums do
/// not.
const PART_BATCHES: usize = 1024;
const PART_WORK: usize = 1 << 30;

/// A model in training on one dataset.
pub struct Trainer {
    spec: FitSpec,
    loss: Loss,
    engine: Box<dyn Engine>,
    choice: Choice,
    scaler: Scaler,
    /// Of the labels.
    target: Option<Scaler>,
    train: Vec<u32>,
    validation: Vec<u32>,
    train_weight: f64,
    validation_weight: f64,
    /// Multiplications of an event, about.
    work: usize,
    /// Rows and width of the dataset, to notice another one.
    shape: (usize, usize),
    epoch: u64,
    /// The epoch that runs: rows that are done, the sum of weight times loss over them, and when it began.
    done: usize,
    loss_sum: f64,
    start: Instant,
    watch: Watch,
    columns: Vec<crate::bridge::ColumnSpec>,
    targets: Targets,
}

impl Trainer {
    /// Checks the options against model and data, splits, learns the scalers, lays out the engine.
    pub fn new(model: &Model, data: &Dataset, spec: &FitSpec) -> Result<Self> {
        let settings = options::checked(spec, model, data)?;
        model.check_finite()?;
        let (train, validation) = split(data.rows(), 1.0 - spec.validation, spec.seed)?;
        if train.is_empty() {
            return Err(Error::invalid(
                format!("no event is left to train on ({} events, fValidation = {})", data.rows(), spec.validation),
                "lower fValidation or add events",
            ));
        }
        let (scaler, target) = scalers(model, data, spec, settings.loss, &train)?;
        let parameters = model.parameters_for(&scaler, target.as_ref())?;
        let train_weight = total_weight(data, &train, "training")?;
        let validation_weight = match validation.is_empty() {
            true => 0.0,
            false => total_weight(data, &validation, "validation")?,
        };
        let choice = back_end::choose(spec, model)?;
        let mut watch = Watch::new(spec, settings.loss, model.outputs(), data, &train, target.as_ref())?;
        watch.tell(warnings::second_activation(spec, model, settings.loss).into_iter());
        watch.tell(scale::other_scale(model, data, &scaler, target.as_ref()));
        if spec.standardise {
            watch.tell(resolution::coarse(data, &train, &scaler, target.as_ref())?);
        }
        Ok(Trainer {
            engine: engine(model, &parameters, spec, settings, &choice)?,
            choice,
            loss: settings.loss,
            spec: spec.clone(),
            scaler,
            watch,
            target,
            train,
            validation,
            train_weight,
            validation_weight,
            work: model.work(),
            shape: (data.rows(), data.width()),
            epoch: 0,
            done: 0,
            loss_sum: 0.0,
            start: Instant::now(),
            columns: data.columns().to_vec(),
            targets: data.targets().clone(),
        })
    }

    /// One pass over the training part, then the validation part.
    pub fn epoch(&mut self, data: &Dataset) -> Result<EpochRecord> {
        while !self.part(data)?.ended {}
        self.end_epoch(data)
    }

    /// Trains on the next part of an epoch: whole batches, so that the parts make the same steps as the whole.
    pub fn part(&mut self, data: &Dataset) -> Result<EpochPart> {
        if (data.rows(), data.width()) != self.shape {
            return Err(Error::Internal("the dataset changed during the training".into()));
        }
        if self.done == 0 {
            self.start = Instant::now();
            self.set_rate();
            self.epoch += 1;
            if self.spec.shuffle {
                shuffle(&mut self.train, self.spec.seed, self.epoch);
            }
        }
        let batches = (PART_WORK / self.work / self.spec.batch_size).clamp(1, PART_BATCHES);
        let mut end = (self.done + batches * self.spec.batch_size).min(self.train.len());
        if end + 1 == self.train.len() {
            end += 1; // batch normalisation takes no batch of one event, and joins it to the one before
        }
        let rows = rows_of(data, &self.scaler, self.target.as_ref(), self.weight_scale())?;
        self.watch.begin(&mut *self.engine, rows, &self.train)?;
        self.loss_sum += self.engine.train(rows, &self.train[self.done..end])?;
        self.done = end;
        let expected = self.train.len();
        Ok(EpochPart { rows: end as u64, expected: expected as u64, ended: end == expected })
    }

    /// After the last part: the losses of the epoch.
    pub fn end_epoch(&mut self, data: &Dataset) -> Result<EpochRecord> {
        self.done = 0;
        let unit = self.loss_unit();
        let train_loss = std::mem::take(&mut self.loss_sum) / self.train_weight * unit;
        self.check_finite("training loss", train_loss)?;
        self.watch.epoch(self.epoch, train_loss, unit);
        let rows = rows_of(data, &self.scaler, self.target.as_ref(), self.weight_scale())?;
        let validation_loss = match self.validation.is_empty() {
            true => f64::NAN,
            false => self.engine.evaluate(rows, &self.validation)? / self.validation_weight * unit,
        };
        if !self.validation.is_empty() {
            self.check_finite("validation loss", validation_loss)?;
        }
        Ok(EpochRecord { train_loss, validation_loss, seconds: self.start.elapsed().as_secs_f64() })
    }

    /// Factor that brings the mean weight of the training part to 1.
    fn weight_scale(&self) -> f64 {
        self.train.len() as f64 / self.train_weight
    }

    /// What there was to warn about since the last call.
    pub fn warnings(&mut self) -> Vec<String> {
        self.watch.said()
    }

    /// Gives the engine the learning rate of the next epoch.
    fn set_rate(&mut self) {
        let schedule = Schedule::from_number(self.spec.schedule).unwrap_or(Schedule::Constant);
        self.engine.set_learning_rate(self.spec.learning_rate * schedule.factor(self.epoch, self.spec.epochs));
    }

    /// What a loss of 1 of the engine stands for: the square of the target's standard deviation. Several targets have no
    /// unit in common; their loss stays relative to their variances.
    fn loss_unit(&self) -> f64 {
        match self.target.as_ref().map(|target| target.inverse.as_slice()) {
            Some(&[inverse]) => f64::from(inverse).powi(-2),
            _ => 1.0,
        }
    }

    fn check_finite(&self, what: &str, value: f64) -> Result<()> {
        if value.is_finite() {
            return Ok(());
        }
        Err(Error::invalid(
            format!("the {what} is {value} after epoch {}", self.epoch),
            format!("lower fLearningRate (now {}) or look for extreme features", self.spec.learning_rate),
        ))
    }

    /// Puts what was learned into `model`.
    pub fn finish(&self, model: &mut Model) -> Result<()> {
        let training = Training {
            scaler: Some(self.scaler.clone()),
            target: self.target.clone(),
            columns: self.columns.clone(),
            targets: self.targets.clone(),
            options: Some(self.decided()),
        };
        let parameters = self.engine.parameters()?;
        let extreme = parameters.iter().copied().find(|parameter| !parameter.is_finite());
        self.check_finite("largest parameter", extreme.unwrap_or(0.0).into())?;
        model.set_parameters(&parameters)?;
        model.set_state(&self.engine.state())?;
        model.add_batches(self.engine.batches());
        model.set_training(training)
    }

    /// The options as they were followed. An epoch that was interrupted does not count.
    fn decided(&self) -> FitSpec {
        let epochs = self.epoch - u64::from(self.done > 0);
        FitSpec { epochs: u32::try_from(epochs).unwrap_or(u32::MAX), ..options::decided(&self.spec, self.loss) }
    }

    fn back_end(&self) -> String {
        self.choice.describe(&self.engine.describe())
    }

    /// Which back end runs where.
    pub fn describe(&self) -> String {
        format!(
            "{}: {} events for training, {} for validation, loss {}",
            self.back_end(),
            self.train.len(),
            self.validation.len(),
            record::loss_name(&self.decided())
        )
    }
}

/// The scalers of features and labels: learned on the rows `train`, or, without fStandardise, those of the model. The
/// labels of classifiers have none, nor those of a user's loss, which is a function of values as they are.
fn scalers(
    model: &Model,
    data: &Dataset,
    spec: &FitSpec,
    loss: Loss,
    train: &[u32],
) -> Result<(Scaler, Option<Scaler>)> {
    let before = model.training();
    let regression = loss.is_regression() && spec.loss_function.is_empty();
    // A module's parameters cannot follow another scale.
    let stays = matches!(model.network(), Network::Module(_)) && before.scaler.is_some();
    let target_stays = !spec.standardise || stays && before.options.is_some();
    let labels = (regression && !target_stays).then(|| data.labels()).transpose()?;
    Ok(device::thread_pool(spec.threads)?.install(|| {
        let scaler = match &before.scaler {
            Some(scaler) if stays || !spec.standardise => scaler.clone(),
            None if !spec.standardise => Scaler::identity(data.width()),
            _ => Scaler::learn(data.features(), data.width(), train),
        };
        let target = labels.map(|labels| Scaler::learn(labels, model.outputs(), train));
        (scaler, target.or_else(|| before.target.clone().filter(|_| regression && target_stays)))
    }))
}

fn engine(
    model: &Model,
    parameters: &[f32],
    spec: &FitSpec,
    settings: Settings,
    choice: &Choice,
) -> Result<Box<dyn Engine>> {
    let device = device::open(&spec.device)?;
    let own_loss = match spec.loss_function.as_str() {
        "" => None,
        text => Some(RowLoss::compile(text, model.outputs(), COMPILE_LIMIT)?),
    };
    Ok(match (model.network(), choice.back_end) {
        (_, BackEnd::Aot) => {
            let module = model.module().ok_or_else(|| Error::Internal("a network without operators".into()))?;
            let tiles = ModuleTiles::new(Arc::clone(module), model.state(), spec.seed)?;
            let engine = AotEngine::of(tiles, parameters, settings, spec.threads)?;
            Box::new(match own_loss {
                None => engine,
                Some(loss) => engine.with_row_loss(loss),
            })
        }
        (Network::Mlp(mlp), BackEnd::Autograd) => {
            Box::new(AutogradEngine::new(mlp.graph().clone(), parameters, settings, device, spec.threads)?)
        }
        (Network::Module(module), BackEnd::Autograd) => {
            if device != Device::Cpu {
                return Err(Error::invalid(
                    format!("{} with fDevice = \"{}\"", module.name(), spec.device),
                    "leave it as it is: a model of a module trains on the CPU",
                ));
            }
            let engine =
                LibTorchEngine::new(module.libtorch(), parameters, model.state(), settings, spec.seed, spec.threads)?;
            Box::new(match own_loss {
                None => engine,
                Some(loss) => engine.with_row_loss(loss),
            })
        }
    })
}

/// The rows of `data` for the engine.
fn rows_of<'a>(
    data: &'a Dataset,
    scaler: &'a Scaler,
    target: Option<&'a Scaler>,
    weight_scale: f64,
) -> Result<Rows<'a>> {
    let (features, labels, weights) = (data.features(), data.labels()?, data.weights()?);
    Ok(Rows { features, labels, weights, scaler, target, weight_scale })
}

fn total_weight(data: &Dataset, rows: &[u32], part: &str) -> Result<f64> {
    let weights = data.weights()?;
    let total: f64 = rows.iter().map(|&row| f64::from(weights[row as usize])).sum();
    if total > 0.0 {
        return Ok(total);
    }
    Err(Error::invalid(format!("the event weights of the {part} part sum to {total}"), "they must sum to more than 0"))
}
