//! Training on a stream: window by window.

use std::time::Instant;

use super::{Trainer, options, record};
use crate::bridge::{Batch, EpochPart, EpochRecord, FitSpec};
use crate::dataset::{Dataset, Scaler};
use crate::error::{Error, Result};
use crate::gradient::Rows;
use crate::model::Model;
use crate::stream::{Epoch, Mixing, Settings, Stream};

/// Bytes of features of a window and of a block, where the user says nothing, and entries that are enough whatever
/// their width.
const WINDOW_BYTES: u64 = 64 << 20;
const WINDOW_ENTRIES: u64 = 1 << 16;
const BLOCK_BYTES: u64 = 8 << 20;
const BLOCK_ENTRIES: u64 = 1 << 13;
/// Bytes of a window and of what is read together because it shares baskets, with the number of each entry.
const KEPT_BYTES: u64 = 128 << 20;
const ENTRY_BYTES: u64 = 16;
/// A window's rows are counted in 32 bits.
const WINDOW_LIMIT: u64 = 1 << 30;

/// Checks the entries that are shuffled together.
pub fn check_window(entries: u64) -> Result<()> {
    match entries <= WINDOW_LIMIT {
        true => Ok(()),
        false => Err(Error::invalid(format!("a window of {entries} entries"), format!("at most {WINDOW_LIMIT} fit"))),
    }
}

/// Settings of a stream from what users say; a `window` of 0 stands for 64 MB of features, at most 65536 entries.
pub fn stream_settings(stream: &Stream, spec: &FitSpec, window: u64, mixing: Mixing) -> Result<Settings> {
    options::check_batches(spec)?;
    check_window(window)?;
    let row = (size_of::<f32>() * stream.width()) as u64;
    let fitting = |bytes: u64, most: u64| (bytes / row).clamp(64, most);
    let window = if window == 0 { fitting(WINDOW_BYTES, WINDOW_ENTRIES) } else { window };
    Ok(Settings {
        window,
        block: fitting(BLOCK_BYTES, BLOCK_ENTRIES),
        kept: (KEPT_BYTES / (row + ENTRY_BYTES)).saturating_sub(window),
        mixing,
        seed: spec.seed,
        shuffle: spec.shuffle,
        validation: spec.validation,
        batch: spec.batch_size,
    })
}

/// A model in training on one stream.
///
/// Scalers and mean weight are those of a sample spread over all sources: as many events for training as a window, fewer
/// where balanced sources have not as many. The validation loss is that of the validation events with the smallest
/// hashes, a window of them; they are gathered in the first epoch.
pub struct StreamTrainer {
    /// On the sample.
    trainer: Trainer,
    /// Events of the window in their order.
    table: Batch,
    held: Held,
    loss: f64,
    weight: f64,
    /// Events of the epoch that runs, and those expected of it: at most all, then those of the one before.
    rows: u64,
    expected: u64,
    start: Instant,
}

impl StreamTrainer {
    /// Checks the options, learns the scalers and lays out the engine. `sample` is epoch 0 with the same settings.
    pub fn new(model: &Model, stream: &Stream, spec: &FitSpec, sample: &mut Epoch) -> Result<Self> {
        let rows = sample.settings().window as usize;
        let mut data = Dataset::new(stream.columns())?;
        data.begin_with("a sample of the stream", stream.targets())?;
        let (mut table, mut taken) = (Batch::default(), 0);
        while taken < rows && sample.advance()? {
            let order = sample.window().order();
            let order = &order[..order.len().min(rows - taken)];
            sample.window().gather(order, &mut table)?;
            data.append(&table.features, &table.labels, &table.weights)?;
            taken += order.len();
        }
        data.commit()?;
        let mut trainer = Trainer::new(model, &data, &FitSpec { validation: 0.0, ..spec.clone() })?;
        trainer.spec.validation = spec.validation;
        Ok(StreamTrainer {
            trainer,
            table,
            held: Held::new(rows, stream.width(), stream.targets().count()),
            loss: 0.0,
            weight: 0.0,
            rows: 0,
            expected: (stream.entries() as f64 * (1.0 - spec.validation)) as u64,
            start: Instant::now(),
        })
    }

    /// Trains on the next window of `epoch`.
    pub fn window(&mut self, epoch: &mut Epoch, outputs: usize) -> Result<EpochPart> {
        if !epoch.advance()? {
            return Ok(EpochPart { rows: self.rows, expected: self.rows, ended: true });
        }
        let window = epoch.window();
        if !self.held.complete {
            let (others, hashes) = window.others();
            window.gather(others, &mut self.table)?;
            options::check_labels(self.trainer.loss, outputs, &self.table.labels)?;
            self.held.add(&self.table, hashes);
        }
        window.gather(window.order(), &mut self.table)?;
        options::check_labels(self.trainer.loss, outputs, &self.table.labels)?;
        self.trainer.set_rate();
        let weight_scale = self.trainer.weight_scale();
        let order = in_order(&self.table);
        let Trainer { engine, scaler, target, watch, .. } = &mut self.trainer;
        let rows = rows(&self.table, scaler, target.as_ref(), weight_scale);
        engine.forget();
        self.rows += order.len() as u64;
        if order.len() == 1 && !engine.takes_one() {
            // The last event of an epoch, behind whole batches: another one in each epoch where events are shuffled.
            return Ok(EpochPart { rows: self.rows, expected: self.expected.max(self.rows), ended: false });
        }
        watch.begin(&mut **engine, rows, &order)?;
        self.loss += engine.train(rows, &order)?;
        self.weight += total_weight(&self.table);
        self.trainer.check_finite("training loss", self.loss)?;
        Ok(EpochPart { rows: self.rows, expected: self.expected.max(self.rows), ended: false })
    }

    /// Ends an epoch: its losses.
    pub fn end_epoch(&mut self) -> Result<EpochRecord> {
        self.trainer.epoch += 1;
        self.held.finish();
        let (loss, weight) = (std::mem::take(&mut self.loss), std::mem::take(&mut self.weight));
        let unit = self.trainer.loss_unit();
        let train_loss = mean(loss, weight, "training")? * unit;
        self.trainer.watch.epoch(self.trainer.epoch, train_loss, unit);
        self.expected = std::mem::take(&mut self.rows);
        let validation_loss = match self.held.table.weights.is_empty() {
            true => f64::NAN,
            false => self.held_loss()?,
        };
        let seconds = self.start.elapsed().as_secs_f64();
        self.start = Instant::now();
        Ok(EpochRecord { train_loss, validation_loss, seconds })
    }

    fn held_loss(&mut self) -> Result<f64> {
        let (table, weight_scale) = (&self.held.table, self.trainer.weight_scale());
        let Trainer { engine, scaler, target, .. } = &mut self.trainer;
        let rows = rows(table, scaler, target.as_ref(), weight_scale);
        engine.forget();
        let loss = engine.evaluate(rows, &in_order(table))?;
        let mean = mean(loss, total_weight(table), "validation")? * self.trainer.loss_unit();
        self.trainer.check_finite("validation loss", mean)?;
        Ok(mean)
    }

    /// What there was to warn about since the last call.
    pub fn warnings(&mut self) -> Vec<String> {
        self.trainer.warnings()
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
            self.trainer.back_end(),
            record::loss_name(&self.trainer.decided())
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

/// All events of `table`, for the engine.
fn rows<'a>(table: &'a Batch, scaler: &'a Scaler, target: Option<&'a Scaler>, weight_scale: f64) -> Rows<'a> {
    let Batch { features, labels, weights } = table;
    Rows { features, labels, weights, scaler, target, weight_scale }
}

fn in_order(table: &Batch) -> Vec<u32> {
    (0..table.weights.len() as u32).collect()
}

fn total_weight(table: &Batch) -> f64 {
    table.weights.iter().map(|&weight| f64::from(weight)).sum()
}

/// Validation events that stay in memory: those of the smallest hashes, which is a random choice and always the same.
struct Held {
    limit: usize,
    /// Numbers of features and of labels of an event.
    width: usize,
    targets: usize,
    table: Batch,
    /// One an event.
    hashes: Vec<u64>,
    complete: bool,
}

impl Held {
    fn new(limit: usize, width: usize, targets: usize) -> Self {
        Held { limit, width, targets, table: Batch::default(), hashes: Vec::new(), complete: false }
    }

    /// Looks through the events of `more`, which have these hashes.
    fn add(&mut self, more: &Batch, hashes: &[u64]) {
        self.table.features.extend_from_slice(&more.features);
        self.table.labels.extend_from_slice(&more.labels);
        self.table.weights.extend_from_slice(&more.weights);
        self.hashes.extend_from_slice(hashes);
        if self.hashes.len() > 2 * self.limit {
            self.choose();
        }
    }

    fn finish(&mut self) {
        if !self.complete {
            self.choose();
        }
        self.complete = true;
    }

    /// Keeps `limit` events, in the order of their hashes.
    fn choose(&mut self) {
        let mut rows: Vec<usize> = (0..self.hashes.len()).collect();
        rows.sort_by_key(|&row| self.hashes[row]);
        rows.truncate(self.limit);
        let Batch { features, labels, weights } = &self.table;
        let of = |values: &[f32], width: usize| {
            rows.iter().flat_map(|&row| values[row * width..][..width].iter().copied()).collect()
        };
        self.table =
            Batch { features: of(features, self.width), labels: of(labels, self.targets), weights: of(weights, 1) };
        self.hashes = rows.iter().map(|&row| self.hashes[row]).collect();
    }
}
