//! Streams: data larger than memory, the thread that reads it, and fits of it.

use std::path::Path;
use std::sync::Arc;

use super::columns::{ColumnSpec, column_specs, columns};
use super::loss::FitLoss;
use super::model::Gives;
use super::training::{EpochPart, EpochRecord, FitSpec, Judged, Losses};
use crate::dataset::{Dataset, Targets};
use crate::error::{Result, guard};
use crate::model::Model;
use crate::ranks;
use crate::stream::{self, Epoch, Events, Feed, Mixing, Split, Stream};
use crate::train::{self, StreamTrainer, stream_settings};
use ffi::{Batch, BlockSpec, StreamSpec};

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    /// How the events of a stream are mixed and read ahead.
    #[derive(Clone, Debug)]
    struct StreamSpec {
        /// Entries of a window; 0: as many as 64 MB hold, at most 65536.
        window: u64,
        /// Entries read ahead; 0: as many as a window.
        buffer: u64,
        /// All sources give as many entries as the largest.
        balanced: bool,
    }

    /// Neighbouring entries of one source of a stream.
    #[derive(Clone, Debug)]
    struct BlockSpec {
        /// Number of the source.
        source: usize,
        /// Its first entry.
        first: u64,
        /// How many.
        entries: u64,
        /// The first entry of those that are best read together with it.
        together_first: u64,
        /// The entry after the last of them.
        together_end: u64,
        /// Whether its events are copied out of those: the others do not come soon.
        copied: bool,
    }

    /// See `Batch` in `stream`.
    #[derive(Default)]
    struct Batch {
        /// [rows, width]
        features: Vec<f32>,
        /// [rows, targets]
        labels: Vec<f32>,
        /// [rows]
        weights: Vec<f32>,
    }

    unsafe extern "C++" {
        include!("cladtorch/src/bridge/columns.rs.h");
        include!("cladtorch/src/bridge/dataset.rs.h");
        include!("cladtorch/src/bridge/loss.rs.h");
        include!("cladtorch/src/bridge/model.rs.h");
        include!("cladtorch/src/bridge/training.rs.h");

        type ColumnSpec = crate::bridge::columns::ColumnSpec;
        type Dataset = crate::dataset::Dataset;
        type EpochPart = crate::bridge::training::EpochPart;
        type EpochRecord = crate::bridge::training::EpochRecord;
        type FitLoss = crate::bridge::loss::FitLoss;
        type FitSpec = crate::bridge::training::FitSpec;
        type Gives = crate::bridge::model::Gives;
        type Judged = crate::bridge::training::Judged;
        type Losses = crate::bridge::training::Losses;
        type Model = crate::model::Model;
    }

    extern "Rust" {
        type Stream;
        fn stream_new(columns: &Vec<ColumnSpec>) -> Result<Box<Stream>>;
        /// A source of the entries up to the last of `cluster_ends`, which rise; `targets` as for `dataset_begin`.
        fn stream_add(stream: &mut Stream, name: &str, targets: &Vec<String>, cluster_ends: &[u64]) -> Result<()>;
        fn stream_columns(stream: &Stream) -> Vec<ColumnSpec>;
        fn stream_targets(stream: &Stream) -> Vec<String>;
        fn stream_width(stream: &Stream) -> usize;
        fn stream_entries(stream: &Stream) -> u64;
        /// An error if a window cannot have this many entries.
        fn stream_check_window(entries: u64) -> Result<()>;
        /// Epoch `number` of the events for training, or of those for validation; 0: a sample. Its feed must be served.
        fn stream_epoch(
            stream: &Stream,
            number: u64,
            validation: bool,
            how: &StreamSpec,
            fit: &FitSpec,
        ) -> Result<Box<Epoch>>;
        /// Epoch `number` of the events to train on, of those that this process reads where others train, too.
        fn stream_epoch_of_rank(stream: &Stream, number: u64, how: &StreamSpec, fit: &FitSpec) -> Result<Box<Epoch>>;

        type Epoch;
        /// Makes `batch` the next one; without rows at the end. Waits for the feed.
        fn epoch_batch(epoch: &mut Epoch, batch: &mut Batch) -> Result<()>;
        fn epoch_feed(epoch: &Epoch) -> Box<FeedHandle>;

        /// For the reading thread; everything may be called beside the epoch's own functions.
        type FeedHandle;
        /// Waits for room; `false`: nothing more is wanted.
        fn feed_want(feed: &FeedHandle, block: &mut BlockSpec) -> bool;
        /// An empty dataset for up to `rows` rows.
        fn feed_dataset(feed: &FeedHandle, rows: u64) -> Result<Box<Dataset>>;
        /// The events of `block`, or more than those.
        fn feed_deliver(feed: &FeedHandle, block: &BlockSpec, events: &SharedEvents) -> Result<()>;
        fn feed_fail(feed: &FeedHandle, reason: &str);
        fn feed_close(feed: &FeedHandle);

        /// Events that the reading thread may keep beside those that it delivered them to.
        type SharedEvents;
        /// The rows of `data` come from all entries from `first` on, before `end`.
        fn events_all(first: u64, end: u64, data: Box<Dataset>) -> Result<Box<SharedEvents>>;
        /// The rows of `data` come from `entries`: those from `first` on, before `end`, that passed the cut.
        fn events_new(first: u64, end: u64, entries: &[u64], data: Box<Dataset>) -> Result<Box<SharedEvents>>;
        /// The same events.
        fn events_shared(events: &SharedEvents) -> Box<SharedEvents>;
        /// A copy of the events of the entries from `first` on, before `end`.
        fn events_part(events: &SharedEvents, first: u64, end: u64) -> Result<Box<SharedEvents>>;

        type StreamTrainer;
        /// `sample` is epoch 0 with the same settings.
        fn stream_trainer_new(
            model: &Model,
            stream: &Stream,
            spec: &FitSpec,
            loss: &FitLoss,
            sample: &mut Epoch,
        ) -> Result<Box<StreamTrainer>>;
        /// Trains on the next window of `epoch`.
        fn stream_trainer_window(trainer: &mut StreamTrainer, model: &Model, epoch: &mut Epoch) -> Result<EpochPart>;
        /// See `trainer_losses`, `trainer_judge` and `trainer_end_epoch`.
        fn stream_trainer_losses(trainer: &mut StreamTrainer) -> Result<Losses>;
        fn stream_trainer_judge(trainer: &StreamTrainer, model: &Model) -> Result<Judged>;
        fn stream_trainer_end_epoch(
            trainer: &mut StreamTrainer,
            losses: Losses,
            metrics: Vec<f64>,
        ) -> Result<EpochRecord>;
        /// The same with a dataset for validation; all events of the stream are for training.
        fn stream_trainer_validated(
            model: &Model,
            stream: &Stream,
            validation: &Dataset,
            spec: &FitSpec,
            loss: &FitLoss,
            sample: &mut Epoch,
        ) -> Result<Box<StreamTrainer>>;
        fn stream_trainer_losses_validated(trainer: &mut StreamTrainer, validation: &Dataset) -> Result<Losses>;
        fn stream_trainer_judge_validated(
            trainer: &StreamTrainer,
            model: &Model,
            validation: &Dataset,
        ) -> Result<Judged>;
        /// See `trainer_resume`, `trainer_checkpoint`, `trainer_history` and `trainer_restored`.
        fn stream_trainer_resume(trainer: &mut StreamTrainer, path: &str) -> Result<()>;
        fn stream_trainer_checkpoint(trainer: &mut StreamTrainer) -> Result<()>;
        fn stream_trainer_history(trainer: &StreamTrainer) -> Vec<EpochRecord>;
        fn stream_trainer_gives(trainer: &StreamTrainer) -> Gives;
        fn stream_trainer_ended(trainer: &StreamTrainer) -> String;
        fn stream_trainer_restored(trainer: &StreamTrainer) -> u32;
        fn stream_trainer_finish(trainer: &StreamTrainer, model: &mut Model) -> Result<()>;
        fn stream_trainer_describe(trainer: &StreamTrainer) -> String;
        fn stream_trainer_warnings(trainer: &mut StreamTrainer) -> Vec<String>;
    }
}

/// A feed that the C++ side holds beside the epoch.
pub struct FeedHandle(Arc<Feed>);

/// Events that the C++ side holds beside the feed.
pub struct SharedEvents(Arc<Events>);

#[allow(clippy::ptr_arg)] // What cxx makes of `rust::Vec`.
fn stream_new(specs: &Vec<ColumnSpec>) -> Result<Box<Stream>> {
    guard(|| Stream::new(&columns(specs)).map(Box::new))
}

#[allow(clippy::ptr_arg)] // What cxx makes of `rust::Vec`.
fn stream_add(stream: &mut Stream, name: &str, targets: &Vec<String>, cluster_ends: &[u64]) -> Result<()> {
    guard(|| {
        let (targets, cluster_ends) = (Targets::new(targets)?, cluster_ends.to_vec());
        stream.add(stream::Source { name: name.to_owned(), targets, cluster_ends })
    })
}

fn stream_columns(stream: &Stream) -> Vec<ColumnSpec> {
    column_specs(stream.columns())
}

fn stream_targets(stream: &Stream) -> Vec<String> {
    stream.targets().names().to_vec()
}

fn stream_width(stream: &Stream) -> usize {
    stream.width()
}

fn stream_entries(stream: &Stream) -> u64 {
    stream.entries()
}

fn stream_check_window(entries: u64) -> Result<()> {
    guard(|| train::check_window(entries))
}

fn stream_epoch(stream: &Stream, number: u64, validation: bool, how: &StreamSpec, fit: &FitSpec) -> Result<Box<Epoch>> {
    let part = if validation { Split::Validation } else { Split::Training };
    guard(|| epoch_of([0, 1], stream, number, part, how, fit))
}

fn stream_epoch_of_rank(stream: &Stream, number: u64, how: &StreamSpec, fit: &FitSpec) -> Result<Box<Epoch>> {
    guard(|| {
        let place = if fit.mpi { ranks::place()? } else { [0, 1] };
        epoch_of(place, stream, number, Split::Training, how, fit)
    })
}

fn epoch_of(
    place: [usize; 2],
    stream: &Stream,
    number: u64,
    part: Split,
    how: &StreamSpec,
    fit: &FitSpec,
) -> Result<Box<Epoch>> {
    let mixing = if how.balanced { Mixing::Balanced } else { Mixing::Proportional };
    let settings = stream_settings(stream, &fit.options()?, how.window, mixing)?;
    let buffer = if how.buffer == 0 { settings.window } else { how.buffer };
    stream.epoch_of(place, number, part, &settings, buffer).map(Box::new)
}

fn epoch_batch(epoch: &mut Epoch, batch: &mut Batch) -> Result<()> {
    guard(|| {
        let Batch { features, labels, weights } = std::mem::take(batch);
        let mut filled = stream::Batch { features, labels, weights };
        let done = epoch.batch(&mut filled);
        let stream::Batch { features, labels, weights } = filled;
        *batch = Batch { features, labels, weights };
        done
    })
}

fn epoch_feed(epoch: &Epoch) -> Box<FeedHandle> {
    Box::new(FeedHandle(epoch.feed()))
}

fn feed_want(feed: &FeedHandle, block: &mut BlockSpec) -> bool {
    let Some(stream::Block { source, first, entries, together, copied }) = feed.0.want() else { return false };
    *block = BlockSpec { source, first, entries, together_first: together.0, together_end: together.1, copied };
    true
}

fn feed_dataset(feed: &FeedHandle, rows: u64) -> Result<Box<Dataset>> {
    guard(|| feed.0.dataset(rows as usize).map(Box::new))
}

fn feed_deliver(feed: &FeedHandle, block: &BlockSpec, events: &SharedEvents) -> Result<()> {
    let &BlockSpec { source, first, entries, together_first, together_end, copied } = block;
    let block = stream::Block { source, first, entries, together: (together_first, together_end), copied };
    guard(|| feed.0.deliver(block, Arc::clone(&events.0)))
}

fn events_all(first: u64, end: u64, data: Box<Dataset>) -> Result<Box<SharedEvents>> {
    guard(|| Ok(Box::new(SharedEvents(Arc::new(Events::all(first..end, *data)?)))))
}

fn events_new(first: u64, end: u64, entries: &[u64], data: Box<Dataset>) -> Result<Box<SharedEvents>> {
    guard(|| Ok(Box::new(SharedEvents(Arc::new(Events::new(first..end, entries, *data)?)))))
}

fn events_shared(events: &SharedEvents) -> Box<SharedEvents> {
    Box::new(SharedEvents(Arc::clone(&events.0)))
}

fn events_part(events: &SharedEvents, first: u64, end: u64) -> Result<Box<SharedEvents>> {
    guard(|| Ok(Box::new(SharedEvents(Arc::new(events.0.part(first, end)?)))))
}

fn feed_fail(feed: &FeedHandle, reason: &str) {
    feed.0.fail(reason);
}

fn feed_close(feed: &FeedHandle) {
    feed.0.close();
}

fn stream_trainer_new(
    model: &Model,
    stream: &Stream,
    spec: &FitSpec,
    loss: &FitLoss,
    sample: &mut Epoch,
) -> Result<Box<StreamTrainer>> {
    guard(|| StreamTrainer::new(model, stream, None, &spec.options()?, loss.0.as_ref(), sample).map(Box::new))
}

fn stream_trainer_window(trainer: &mut StreamTrainer, model: &Model, epoch: &mut Epoch) -> Result<EpochPart> {
    guard(|| trainer.window(epoch, model.outputs()).map(EpochPart::from))
}

fn stream_trainer_losses(trainer: &mut StreamTrainer) -> Result<Losses> {
    guard(|| trainer.losses(None).map(Losses::from))
}

fn stream_trainer_judge(trainer: &StreamTrainer, model: &Model) -> Result<Judged> {
    guard(|| trainer.judge(model, None).map(Judged::from))
}

fn stream_trainer_end_epoch(trainer: &mut StreamTrainer, losses: Losses, metrics: Vec<f64>) -> Result<EpochRecord> {
    guard(|| trainer.end_epoch(losses.into(), metrics).map(EpochRecord::from))
}

fn stream_trainer_validated(
    model: &Model,
    stream: &Stream,
    validation: &Dataset,
    spec: &FitSpec,
    loss: &FitLoss,
    sample: &mut Epoch,
) -> Result<Box<StreamTrainer>> {
    let own = loss.0.as_ref();
    guard(|| StreamTrainer::new(model, stream, Some(validation), &spec.options()?, own, sample).map(Box::new))
}

fn stream_trainer_losses_validated(trainer: &mut StreamTrainer, validation: &Dataset) -> Result<Losses> {
    guard(|| trainer.losses(Some(validation)).map(Losses::from))
}

fn stream_trainer_judge_validated(trainer: &StreamTrainer, model: &Model, validation: &Dataset) -> Result<Judged> {
    guard(|| trainer.judge(model, Some(validation)).map(Judged::from))
}

fn stream_trainer_resume(trainer: &mut StreamTrainer, path: &str) -> Result<()> {
    guard(|| trainer.resume(Path::new(path)))
}

fn stream_trainer_checkpoint(trainer: &mut StreamTrainer) -> Result<()> {
    guard(|| trainer.checkpoint())
}

fn stream_trainer_history(trainer: &StreamTrainer) -> Vec<EpochRecord> {
    trainer.history().iter().cloned().map(EpochRecord::from).collect()
}

fn stream_trainer_gives(trainer: &StreamTrainer) -> Gives {
    trainer.gives().into()
}

fn stream_trainer_ended(trainer: &StreamTrainer) -> String {
    trainer.ended().unwrap_or_default().to_owned()
}

fn stream_trainer_restored(trainer: &StreamTrainer) -> u32 {
    trainer.restored()
}

fn stream_trainer_finish(trainer: &StreamTrainer, model: &mut Model) -> Result<()> {
    guard(|| trainer.finish(model))
}

fn stream_trainer_describe(trainer: &StreamTrainer) -> String {
    trainer.describe()
}

fn stream_trainer_warnings(trainer: &mut StreamTrainer) -> Vec<String> {
    trainer.warnings()
}
