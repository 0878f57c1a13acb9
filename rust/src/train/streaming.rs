//! Training on a stream: window by window.

use std::time::Instant;

use super::{Trainer, options};
use crate::bridge::{EpochRecord, FitSpec};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::gradient::Rows;
use crate::model::Model;
use crate::stream::{Epoch, Mixing, Settings, Stream, Window};

/// Bytes of features of a window and of a block, where the user says nothing, and entries that are enough whatever
/// their width.
const WINDOW_BYTES: u64 = 64 << 20;
const WINDOW_ENTRIES: u64 = 1 << 16;
const BLOCK_BYTES: u64 = 8 << 20;
const BLOCK_ENTRIES: u64 = 1 << 13;
/// A window's rows are counted in 32 bits.
const WINDOW_LIMIT: u64 = 1 << 30;

/// Settings of a stream from what users say; a `window` of 0 stands for 64 MB of features, at most 65536 entries.
pub fn stream_settings(stream: &Stream, spec: &FitSpec, window: u64, mixing: Mixing) -> Result<Settings> {
    options::check_batches(spec)?;
    if window > WINDOW_LIMIT {
        return Err(Error::invalid(format!("a window of {window} entries"), format!("at most {WINDOW_LIMIT} fit")));
    }
    let fitting = |bytes: u64, most: u64| (bytes / (4 * stream.width() as u64)).clamp(64, most);
    Ok(Settings {
        window: if window == 0 { fitting(WINDOW_BYTES, WINDOW_ENTRIES) } else { window },
        block: fitting(BLOCK_BYTES, BLOCK_ENTRIES),
        mixing,
        seed: spec.seed,
        shuffle: spec.shuffle,
        validation: spec.validation,
        batch: spec.batch_size,
    })
}

/// A model in training on one stream.
///
/// Scaler and mean weight are those of a sample spread over all sources: as many events for training as a window, fewer
/// where balanced sources have not as many. The validation loss is that of the validation events with the smallest
/// hashes, a window of them; they are gathered in the first epoch.
pub struct StreamTrainer {
    /// On the sample.
    trainer: Trainer,
    held: Held,
    loss: f64,
    weight: f64,
    start: Instant,
}

impl StreamTrainer {
    /// Checks the options, learns the scaler and lays out the engine. `sample` is epoch 0 with the same settings.
    pub fn new(model: &Model, stream: &Stream, spec: &FitSpec, sample: &mut Epoch) -> Result<Self> {
        let rows = sample.settings().window as usize;
        let mut data = Dataset::new(stream.columns())?;
        data.begin("a sample of the stream")?;
        let mut taken = 0;
        while taken < rows && sample.advance()? {
            let window = sample.window();
            for &row in window.order.iter().take(rows - taken) {
                let row = row as usize;
                let features = &window.features[row * stream.width()..][..stream.width()];
                data.append(features, &window.labels[row..=row], &window.weights[row..=row])?;
                taken += 1;
            }
        }
        data.commit()?;
        let mut trainer = Trainer::new(model, &data, &FitSpec { validation: 0.0, ..spec.clone() })?;
        trainer.spec.validation = spec.validation;
        Ok(StreamTrainer {
            trainer,
            held: Held::new(rows, stream.width()),
            loss: 0.0,
            weight: 0.0,
            start: Instant::now(),
        })
    }

    /// Trains on the next window of `epoch`; `false` at its end.
    pub fn window(&mut self, epoch: &mut Epoch, outputs: usize) -> Result<bool> {
        if !epoch.advance()? {
            return Ok(false);
        }
        let window = epoch.window();
        options::check_labels(self.trainer.loss, outputs, &window.labels)?;
        if !self.held.complete {
            self.held.add(window);
        }
        let rows = Rows {
            features: &window.features,
            labels: &window.labels,
            weights: &window.weights,
            scaler: &self.trainer.scaler,
            weight_scale: self.weight_scale(),
        };
        self.trainer.engine.forget();
        self.loss += self.trainer.engine.train(rows, &window.order)?;
        self.weight += window.order.iter().map(|&row| f64::from(window.weights[row as usize])).sum::<f64>();
        self.trainer.check_finite("training loss", self.loss)?;
        Ok(true)
    }

    /// Ends an epoch: its losses.
    pub fn end_epoch(&mut self) -> Result<EpochRecord> {
        self.trainer.epoch += 1;
        self.held.finish();
        let (loss, weight) = (std::mem::take(&mut self.loss), std::mem::take(&mut self.weight));
        let train_loss = mean(loss, weight, "training")?;
        let validation_loss = match self.held.order.is_empty() {
            true => f64::NAN,
            false => self.held_loss()?,
        };
        let seconds = self.start.elapsed().as_secs_f64();
        self.start = Instant::now();
        Ok(EpochRecord { train_loss, validation_loss, seconds })
    }

    fn held_loss(&mut self) -> Result<f64> {
        let rows = Rows {
            features: &self.held.window.features,
            labels: &self.held.window.labels,
            weights: &self.held.window.weights,
            scaler: &self.trainer.scaler,
            weight_scale: self.weight_scale(),
        };
        self.trainer.engine.forget();
        let loss = self.trainer.engine.evaluate(rows, &self.held.order)?;
        let weight = self.held.window.weights.iter().map(|&weight| f64::from(weight)).sum();
        let mean = mean(loss, weight, "validation")?;
        self.trainer.check_finite("validation loss", mean)?;
        Ok(mean)
    }

    fn weight_scale(&self) -> f64 {
        self.trainer.train.len() as f64 / self.trainer.train_weight
    }

    /// Puts what was learned into `model`.
    pub fn finish(&self, model: &mut Model) -> Result<()> {
        self.trainer.finish(model)
    }

    /// Which back end runs where.
    pub fn describe(&self) -> String {
        let sample = self.trainer.train.len();
        format!(
            "{}: a stream, standardised by {sample} of its events, loss {}",
            self.trainer.engine.describe(),
            options::loss_name(&self.trainer.spec, self.trainer.loss)
        )
    }
}

fn mean(loss: f64, weight: f64, part: &str) -> Result<f64> {
    match weight > 0.0 {
        true => Ok(loss / weight),
        false => Err(Error::invalid(
            format!("the event weights of the {part} part sum to {weight}"),
            "they must sum to more than 0",
        )),
    }
}

/// Validation events that stay in memory: those of the smallest hashes, which is a random choice and always the same.
struct Held {
    limit: usize,
    width: usize,
    window: Window,
    order: Vec<u32>,
    complete: bool,
}

impl Held {
    fn new(limit: usize, width: usize) -> Self {
        Held { limit, width, window: Window::default(), order: Vec::new(), complete: false }
    }

    /// Looks through the validation events of `window`.
    fn add(&mut self, window: &Window) {
        for &row in &window.others {
            let row = row as usize;
            self.window.features.extend(&window.features[row * self.width..][..self.width]);
            self.window.labels.push(window.labels[row]);
            self.window.weights.push(window.weights[row]);
            self.window.hashes.push(window.hashes[row]);
        }
        if self.window.labels.len() > 2 * self.limit {
            self.choose();
        }
    }

    fn finish(&mut self) {
        if !self.complete {
            self.choose();
            self.order = (0..self.window.labels.len() as u32).collect();
        }
        self.complete = true;
    }

    /// Keeps `limit` events, in the order of their hashes.
    fn choose(&mut self) {
        let Window { features, labels, weights, hashes, .. } = &self.window;
        let mut rows: Vec<usize> = (0..hashes.len()).collect();
        rows.sort_by_key(|&row| hashes[row]);
        rows.truncate(self.limit);
        let features =
            rows.iter().flat_map(|&row| features[row * self.width..][..self.width].iter().copied()).collect();
        let of = |values: &[f32]| rows.iter().map(|&row| values[row]).collect::<Vec<f32>>();
        let (labels, weights) = (of(labels), of(weights));
        let hashes = rows.iter().map(|&row| hashes[row]).collect();
        self.window = Window { features, labels, weights, hashes, ..Window::default() };
    }
}
