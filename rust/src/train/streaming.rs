//! Training on a stream: window by window.

use std::path::Path;
use std::sync::Arc;

use super::checkpoint::Checkpoint;
use super::fit::{Events, Fit, positive_weight};
use super::job::Job;
use super::learned::Learned;
use super::validation::{Validation, judge};
use super::{EpochPart, EpochRecord, Judged, Losses, Options, checks, warnings};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::gradient::{ObservedLoss, RowsOf, Spread};
use crate::graph::Gives;
use crate::model::Model;
use crate::stream::{Batch, Epoch, EventLocation, Mixing, Settings, Stream, Window};

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
pub fn stream_settings(stream: &Stream, options: &Options, window: u64, mixing: Mixing) -> Result<Settings> {
    checks::check_batches(options)?;
    check_window(window)?;
    let row = (size_of::<f32>() * stream.width()) as u64;
    let fitting = |bytes: u64, most: u64| (bytes / row).clamp(64, most);
    let window = if window == 0 { fitting(WINDOW_BYTES, WINDOW_ENTRIES) } else { window };
    Ok(Settings {
        window,
        block: fitting(BLOCK_BYTES, BLOCK_ENTRIES),
        kept: (KEPT_BYTES / (row + ENTRY_BYTES)).saturating_sub(window),
        mixing,
        seed: options.seed,
        split_seed: options.seed_of_split(),
        shuffle: options.shuffle,
        validation: options.validation,
        batch: options.batch_size,
    })
}

/// A model in training on one stream.
///
/// Scalers and mean weight are those of a sample spread over all sources: as many events for training as a window, fewer
/// where balanced sources have not as many. The validation loss is that of the validation events with the smallest
/// hashes, a window of them; they are gathered in the first epoch.
///
/// Where processes train together, all look at the same sample. Then each has events of its own to train on and, unless
/// there is a dataset for it, to validate with.
pub struct StreamTrainer {
    fit: Fit,
    /// Events of the sample.
    sample: usize,
    /// Events of the window in their order.
    table: Batch,
    held: Held,
    /// Instead of those: a dataset of their own.
    own: Option<Validation>,
    /// Sum of the weights of the epoch that runs.
    weight: f64,
    /// Events of the epoch that runs, and those expected of it: at most all, then those of the one before.
    rows: u64,
    expected: u64,
}

impl StreamTrainer {
    /// Checks the options, learns the scalers and lays out the engine. `sample` is epoch 0 with the same settings. With a
    /// dataset for `validation`, all events of the stream are for training; with `own`, that loss is minimised instead of those
    /// of the options.
    pub fn new(
        model: &Model,
        stream: &Stream,
        validation: Option<&Dataset>,
        options: &Options,
        own: Option<&Arc<ObservedLoss>>,
        sample: &mut Epoch,
    ) -> Result<Self> {
        checks::check_monitored(options, validation.is_some())?;
        let most = sample.settings().window as usize;
        let mut data = Dataset::new(stream.columns())?;
        data.begin_with("a sample of the stream", stream.targets())?;
        let (mut table, mut taken) = (Batch::default(), 0);
        let loss = own.is_none().then(|| checks::loss(options, model, stream.targets())).transpose()?;
        while taken < most && sample.advance()? {
            let order = sample.window().order();
            let order = &order[..order.len().min(most - taken)];
            sample.window().gather(order, &mut table)?;
            if let Some(loss) = loss {
                let place = |row: usize| sample.window().describe(&order[row]);
                checks::check_labels(options, loss, model.outputs(), &table.labels, &place)?;
            }
            data.append(&table.features, &table.labels, &table.weights)?;
            taken += order.len();
        }
        data.commit()?;
        let all: Vec<u32> = (0..data.rows() as u32).collect();
        let options = &checks::with_custom_loss(options, own, model, &data)?;
        let job = Job::open(options, &data)?;
        let learned = Learned { data: &data, rows: &all, all: &all, job: &job };
        let mut fit = Fit::new(model, learned, options, own)?;
        fit.tell(warnings::small_sample(all.len(), stream.entries()));
        fit.tell(warnings::already_balanced(stream, sample.settings().mixing));
        Ok(StreamTrainer {
            own: validation.map(|judges| Validation::of_own(&mut fit, model.outputs(), judges)).transpose()?,
            sample: all.len(),
            table,
            held: Held::new(fit.part_of(most), stream.width(), stream.targets().count()),
            fit,
            weight: 0.0,
            rows: 0,
            expected: (stream.entries() as f64 * (1.0 - options.validation)) as u64,
        })
    }

    /// See [`Trainer::resume`](super::Trainer::resume).
    pub fn resume(&mut self, path: &Path) -> Result<()> {
        let checkpoint = Checkpoint::load(path)?;
        self.expected = checkpoint.progress.expected;
        self.fit.restore(checkpoint, path)?;
        match self.fit.rows() {
            0 => Ok(()),
            _ => Err(super::fit::other_fit(path, "it was written within an epoch, as no fit of a stream does")),
        }
    }

    /// Writes a checkpoint now, if the options name a file for it and no epoch runs.
    pub fn checkpoint(&mut self) -> Result<()> {
        if self.rows == 0 { self.fit.checkpoint() } else { self.fit.settle() }
    }

    /// Epochs that have ended.
    pub fn epochs(&self) -> u32 {
        self.fit.epochs()
    }

    /// The epochs before the checkpoint from which it continues.
    pub fn history(&self) -> &[EpochRecord] {
        self.fit.history()
    }

    /// Trains on the next window of `epoch`.
    pub fn window(&mut self, epoch: &mut Epoch, outputs: usize) -> Result<EpochPart> {
        if !epoch.advance()? {
            self.fit.settle()?;
            return Ok(EpochPart { rows: self.rows, expected: self.rows, ended: true });
        }
        let spread = self.fit.spread(epoch.window().order().len(), epoch.is_last());
        if let Some(spread) = &spread {
            epoch.hold_back(spread.used());
        }
        let window = epoch.window();
        if !self.held.complete {
            let (others, hashes) = window.others();
            self.gather(window, others, outputs)?;
            self.held.add(&self.table, hashes);
        }
        self.gather(window, window.order(), outputs)?;
        let order = in_order(&self.table);
        if self.rows == 0 {
            self.fit.expect(self.expected);
        }
        let used = spread.as_ref().map_or(order.len(), Spread::total);
        self.rows += used as u64;
        // A single event is the last one of an epoch, behind whole batches: another one in each epoch where events are shuffled.
        if used > 1 || self.fit.takes_one() {
            self.fit.turn_to(RowsOf::Training);
            self.fit.forget();
            let weights = self.fit.loss_weights(Events::of_batch(&self.table));
            let events = Events::of_batch(&self.table).weighted(weights.as_deref());
            self.fit.train(events, &order, &order, spread.as_ref())?;
            self.weight += events.weights.iter().map(|&weight| f64::from(weight)).sum::<f64>();
        }
        Ok(EpochPart { rows: self.rows, expected: self.expected.max(self.rows), ended: false })
    }

    /// Makes the table the events at `places`.
    fn gather(&mut self, window: &Window, places: &[EventLocation], outputs: usize) -> Result<()> {
        window.gather(places, &mut self.table)?;
        let place = |row: usize| window.describe(&places[row]);
        checks::check_labels(&self.fit.options, self.fit.loss, outputs, &self.table.labels, &place)?;
        checks::check_classes(&self.fit.options, &self.table.labels, &place)
    }

    /// After the last window: the losses of the epoch. `validation` is the dataset that [`new`](Self::new) got for it.
    pub fn losses(&mut self, validation: Option<&Dataset>) -> Result<Losses> {
        self.fit.turn_to(RowsOf::Validation);
        if self.held.finish() {
            self.fit.forget();
        }
        let weight = self.fit.total(std::mem::take(&mut self.weight));
        let train = self.fit.train_loss(positive_weight(weight, "training")?)?;
        self.expected = std::mem::take(&mut self.rows);
        self.fit.expect(self.expected);
        let validation = match (&self.own, validation) {
            (Some(own), Some(data)) => own.loss(&mut self.fit, data, None)?,
            _ if self.fit.total(self.held.table.weights.len() as f64) == 0.0 => None,
            _ => Some(self.held_loss()?),
        };
        Ok(Losses { train, validation })
    }

    /// See [`Trainer::judge`](super::Trainer::judge); `validation` as for [`losses`](Self::losses), after which it has events.
    pub fn judge(&self, model: &Model, validation: Option<&Dataset>) -> Result<Judged> {
        let model = self.fit.present(model)?;
        match (&self.own, validation) {
            (Some(own), Some(data)) => own.judge(&self.fit, &model, data),
            _ => {
                let events = Events::of_batch(&self.held.table);
                judge(&model, events, self.fit.options.threads).map(|judged| self.fit.of_all(judged))
            }
        }
    }

    /// Ends the epoch with its losses and figures.
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

    fn held_loss(&mut self) -> Result<f64> {
        let events = Events::of_batch(&self.held.table);
        let weights = self.fit.loss_weights(events);
        let (events, order) = (events.weighted(weights.as_deref()), in_order(&self.held.table));
        let weight = self.fit.total(events.weight_of(&order));
        self.fit.evaluate_own(events, &order, positive_weight(weight, "validation")?)
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
            "{}: a stream, standardised by {} of its events, loss {}",
            self.fit.back_end(),
            self.sample,
            self.fit.decided().loss_name()
        )
    }
}

fn in_order(table: &Batch) -> Vec<u32> {
    (0..table.weights.len() as u32).collect()
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

    /// Chooses, once; returns whether that was now.
    fn finish(&mut self) -> bool {
        let chooses = !self.complete;
        if chooses {
            self.choose();
        }
        self.complete = true;
        chooses
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
