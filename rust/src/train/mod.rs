//! The training loop: options checked, scaler learned, epochs run on a back end.

pub mod metrics;
mod options;
mod streaming;

pub(crate) use options::check_columns;
pub use streaming::{StreamTrainer, stream_settings};

use std::time::{Duration, Instant};

use crate::bridge::{EpochRecord, FitSpec};
use crate::dataset::{Dataset, Scaler, shuffle, split};
use crate::device;
use crate::error::{Error, Result};
use crate::gradient::aot::AotEngine;
use crate::gradient::autograd::AutogradEngine;
use crate::gradient::{Engine, RowLoss, Rows, Settings};
use crate::graph::Loss;
use crate::model::{Model, Training};
use options::Gradient;

/// How long compiling a user's loss may take.
const COMPILE_LIMIT: Duration = Duration::from_secs(60);

/// A model in training on one dataset.
pub struct Trainer {
    spec: FitSpec,
    loss: Loss,
    engine: Box<dyn Engine>,
    scaler: Scaler,
    train: Vec<u32>,
    validation: Vec<u32>,
    train_weight: f64,
    validation_weight: f64,
    /// Rows and width of the dataset, to notice another one.
    shape: (usize, usize),
    epoch: u64,
    columns: Vec<crate::bridge::ColumnSpec>,
}

impl Trainer {
    /// Checks the options against model and data, splits, learns the scaler, lays out the engine.
    pub fn new(model: &Model, data: &Dataset, spec: &FitSpec) -> Result<Self> {
        let (settings, gradient) = options::checked(spec, model, data)?;
        let (train, validation) = split(data.rows(), 1.0 - spec.validation, spec.seed)?;
        if train.is_empty() {
            return Err(Error::invalid(
                format!("no event is left to train on ({} events, fValidation = {})", data.rows(), spec.validation),
                "lower fValidation or add events",
            ));
        }
        let scaler = match spec.standardise {
            true => device::thread_pool(spec.threads)?.install(|| Scaler::learn(data.features(), data.width(), &train)),
            false => Scaler::identity(data.width()),
        };
        let train_weight = total_weight(data, &train, "training")?;
        let validation_weight = match validation.is_empty() {
            true => 0.0,
            false => total_weight(data, &validation, "validation")?,
        };
        Ok(Trainer {
            engine: engine(model, spec, settings, gradient)?,
            loss: settings.loss,
            spec: spec.clone(),
            scaler,
            train,
            validation,
            train_weight,
            validation_weight,
            shape: (data.rows(), data.width()),
            epoch: 0,
            columns: data.columns().to_vec(),
        })
    }

    /// One pass over the training part, then the validation part.
    pub fn epoch(&mut self, data: &Dataset) -> Result<EpochRecord> {
        if (data.rows(), data.width()) != self.shape {
            return Err(Error::Internal("the dataset changed during the training".into()));
        }
        let start = Instant::now();
        self.epoch += 1;
        if self.spec.shuffle {
            shuffle(&mut self.train, self.spec.seed, self.epoch);
        }
        let rows = Rows {
            features: data.features(),
            labels: data.labels()?,
            weights: data.weights()?,
            scaler: &self.scaler,
            weight_scale: self.train.len() as f64 / self.train_weight,
        };
        let train_loss = self.engine.train(rows, &self.train)? / self.train_weight;
        self.check_finite("training loss", train_loss)?;
        let validation_loss = match self.validation.is_empty() {
            true => f64::NAN,
            false => self.engine.evaluate(rows, &self.validation)? / self.validation_weight,
        };
        if !self.validation.is_empty() {
            self.check_finite("validation loss", validation_loss)?;
        }
        Ok(EpochRecord { train_loss, validation_loss, seconds: start.elapsed().as_secs_f64() })
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
            loss: self.spec.loss_function.is_empty().then_some(self.loss),
            scaler: self.scaler.clone(),
            columns: self.columns.clone(),
            options: options::record(&self.spec, self.loss, self.epoch),
        };
        let parameters = self.engine.parameters()?;
        let extreme = parameters.iter().copied().find(|parameter| !parameter.is_finite());
        self.check_finite("largest parameter", extreme.unwrap_or(0.0).into())?;
        model.set_trained(&parameters, training)
    }

    /// Which back end runs where.
    pub fn describe(&self) -> String {
        format!(
            "{}: {} events for training, {} for validation, loss {}",
            self.engine.describe(),
            self.train.len(),
            self.validation.len(),
            options::loss_name(&self.spec, self.loss)
        )
    }
}

fn engine(model: &Model, spec: &FitSpec, settings: Settings, gradient: Gradient) -> Result<Box<dyn Engine>> {
    let device = device::open(&spec.device)?;
    let graph = model.graph().clone();
    let on_gpu = device != tch::Device::Cpu;
    Ok(match gradient {
        Gradient::Clad if !on_gpu => {
            let outputs = graph.outputs();
            let engine = AotEngine::<f32>::new(graph, model.parameters(), settings, spec.threads)?;
            Box::new(match spec.loss_function.as_str() {
                "" => engine,
                text => engine.with_row_loss(RowLoss::compile(text, outputs, COMPILE_LIMIT)?),
            })
        }
        _ => Box::new(AutogradEngine::new(graph, model.parameters(), settings, device, spec.threads)?),
    })
}

fn total_weight(data: &Dataset, rows: &[u32], part: &str) -> Result<f64> {
    let weights = data.weights()?;
    let total: f64 = rows.iter().map(|&row| f64::from(weights[row as usize])).sum();
    if total > 0.0 {
        return Ok(total);
    }
    Err(Error::invalid(format!("the event weights of the {part} part sum to {total}"), "they must sum to more than 0"))
}
