//! Checkpoints: files from which a fit continues with the same bits as if it had never stopped.
//!
//! The file is sealed as a model file is (see `model::file`): a safetensors file with a JSON text and its SHA-256. Tensors, all
//! float32: `parameters`, `state`, `moments.0` and `moments.1` (the optimiser's), `scaler.mean` and `scaler.inverse`, of a
//! regression `target.mean` and `target.inverse`, and of the best epoch `best.parameters` and `best.state`. The order of the
//! events and what dropout draws are functions of the seed and of the numbers of epochs and steps, which the record
//! has. No code in a checkpoint is run.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::schedule::Plateau;
use super::stopping::Kept;
use super::{EpochRecord, Options};
use crate::dataset::Scaler;
use crate::error::{Error, Result};
use crate::gradient::Snapshot;
use crate::model::sealed;
use crate::options::record;
use crate::tensor_file::{Tensor, TensorFile};
use crate::text;

const VERSION: u32 = 3;

/// A fit on its way.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Checkpoint {
    pub options: Options,
    /// See `Model::network_digest`.
    pub network: String,
    /// The expected fingerprint of the data, see `Job::fingerprint`.
    pub fingerprint: u64,
    pub snapshot: Snapshot,
    pub scaler: Scaler,
    pub target: Option<Scaler>,
    pub kept: Option<Kept>,
    pub progress: Progress,
}

/// How far a fit has come, and what its schedule and its early stopping have seen.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Progress {
    pub history: Vec<EpochRecord>,
    /// Finished rows of the current epoch, and the sum of weight times loss over them.
    pub rows: usize,
    pub loss_sum: f64,
    /// Events of an epoch, as a stream expects them.
    pub expected: u64,
    pub plateau: Plateau,
    /// The smallest validation loss with the number of its epoch; the loss to improve on with the epochs since.
    pub best: (f64, u32),
    pub reference: (f64, u32),
}

/// The JSON text. Numbers with fractions are texts, whose every bit comes back.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    checkpoint: u32,
    sha256: String,
    options: Vec<(String, String)>,
    network: String,
    fingerprint: u64,
    steps: u64,
    /// Training loss, validation loss, seconds and learning rate of each epoch.
    history: Vec<[String; 4]>,
    /// The figures of each epoch.
    metrics: Vec<Vec<String>>,
    rows: usize,
    loss_sum: String,
    expected: u64,
    plateau: [String; 2],
    plateau_waited: u32,
    best: (String, u32),
    reference: (String, u32),
    /// Whether these tensors exist.
    has_target: bool,
    has_best: bool,
    /// Their lengths.
    parameters: usize,
    state: usize,
    inputs: usize,
    targets: usize,
}

/// Refuses a path whose file is something else than a checkpoint, which the first one would replace.
pub(super) fn check_place(path: &Path) -> Result<()> {
    let is_data = fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() > 0);
    let is_checkpoint = || {
        let file = TensorFile::open(path).ok()?;
        file.metadata(sealed::KEY)?.contains("\"checkpoint\":").then_some(())
    };
    if is_data && is_checkpoint().is_none() {
        return Err(Error::invalid(
            format!("fCheckpoint = \"{}\" is a file that is no checkpoint", text::name(&path.display().to_string())),
            "give a name of its own",
        ));
    }
    Ok(())
}

impl Checkpoint {
    /// Writes it to `path`: whole or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        let Progress { history, rows, loss_sum, expected, plateau, best, reference } = &self.progress;
        let texts = |r: &EpochRecord| {
            [r.train_loss, r.validation_loss, r.seconds, r.learning_rate].map(|value| value.to_string())
        };
        let record = Record {
            checkpoint: VERSION,
            sha256: sealed::NO_CHECKSUM.to_owned(),
            options: record::write(&self.options),
            network: self.network.clone(),
            fingerprint: self.fingerprint,
            steps: self.snapshot.steps,
            history: history.iter().map(texts).collect(),
            metrics: history.iter().map(|r| r.metrics.iter().map(f64::to_string).collect()).collect(),
            rows: *rows,
            loss_sum: loss_sum.to_string(),
            expected: *expected,
            plateau: [plateau.factor, plateau.best].map(|value| value.to_string()),
            plateau_waited: plateau.waited,
            best: (best.0.to_string(), best.1),
            reference: (reference.0.to_string(), reference.1),
            has_target: self.target.is_some(),
            has_best: self.kept.is_some(),
            parameters: self.snapshot.parameters.len(),
            state: self.snapshot.state.len(),
            inputs: self.scaler.mean.len(),
            targets: self.target.as_ref().map_or(0, |target| target.mean.len()),
        };
        let mut copy = self.clone();
        let tensors = copy.tensors();
        let tensors: Vec<_> = tensors.iter().map(|t| Tensor::new(&*t.name, &t.shape, (&*t.values).into())).collect();
        sealed::write(path, &record, &tensors)
    }

    /// All its tensors.
    fn tensors(&mut self) -> Vec<Tensor<&mut [f32]>> {
        let Checkpoint { snapshot, scaler, target, kept, .. } = self;
        let Snapshot { parameters, state, moments: [first, second], .. } = snapshot;
        let mut parts: Vec<(&str, &mut Vec<f32>)> = vec![
            ("parameters", parameters),
            ("state", state),
            ("moments.0", first),
            ("moments.1", second),
            ("scaler.mean", &mut scaler.mean),
            ("scaler.inverse", &mut scaler.inverse),
        ];
        if let Some(target) = target {
            parts.extend([("target.mean", &mut target.mean), ("target.inverse", &mut target.inverse)]);
        }
        if let Some(kept) = kept {
            parts.extend([("best.parameters", &mut kept.parameters), ("best.state", &mut kept.state)]);
        }
        parts.into_iter().map(|(name, values)| Tensor::new(name, &[values.len()], &mut values[..])).collect()
    }

    /// Reads what [`save`](Self::save) wrote. Every size is checked before memory is taken for it.
    pub fn load(path: &Path) -> Result<Self> {
        let bad = |what: String| Error::ModelFile { path: path.to_path_buf(), what };
        let mut file = TensorFile::open(path)?;
        let text = file.metadata(sealed::KEY).ok_or_else(|| bad("not written by CladTorch".into()))?.to_owned();
        if text.starts_with("{\"version\":") {
            return Err(bad("a model, not a checkpoint of a fit: CladTorch::Model::Load reads it".into()));
        }
        let record: Record = serde_json::from_str(&text)
            .map_err(|error| bad(format!("not a checkpoint, or damaged ({})", text::name(&error.to_string()))))?;
        Self::of_record(&record, &mut file).map_err(|error| match error {
            Error::Invalid { what, .. } => bad(what),
            other => other,
        })
    }

    fn of_record(record: &Record, file: &mut TensorFile) -> Result<Self> {
        if record.checkpoint != VERSION {
            let what = format!("a checkpoint of version {}, this CladTorch reads version {VERSION}", record.checkpoint);
            return Err(Error::invalid(what, ""));
        }
        let seal = sealed::Checksum::new(&record.sha256, file.header())?;
        seal.scan(file)?;
        // Before memory is taken for them.
        let best = 1 + usize::from(record.has_best);
        let parts = [(record.parameters, 2 + best), (record.state, best), (record.inputs, 2), (record.targets, 2)];
        let claimed =
            parts.iter().try_fold(0usize, |sum, &(length, count)| sum.checked_add(length.checked_mul(count)?));
        if claimed != Some(file.numbers()) || (record.targets > 0) != record.has_target {
            return Err(Error::invalid("damaged: its tensors have other sizes than it says", ""));
        }
        let scaler = |length: usize| Scaler { mean: vec![0.0; length], inverse: vec![1.0; length] };
        let [parameters, state] = [record.parameters, record.state].map(|length| vec![0.0; length]);
        let mut checkpoint = Checkpoint {
            options: record::read(&record.options)?,
            network: record.network.clone(),
            fingerprint: record.fingerprint,
            snapshot: Snapshot {
                moments: [parameters.clone(), parameters.clone()],
                parameters: parameters.clone(),
                state: state.clone(),
                steps: record.steps,
            },
            scaler: scaler(record.inputs),
            target: record.has_target.then(|| scaler(record.targets)),
            kept: record.has_best.then_some(Kept { parameters, state }),
            progress: record.progress()?,
        };
        seal.read(file, checkpoint.tensors())?;
        Ok(checkpoint)
    }
}

impl Record {
    fn progress(&self) -> Result<Progress> {
        let number = |text: &String| {
            let bad = || Error::invalid(format!("damaged: \"{}\" is no number", text::name(text)), "");
            text.parse::<f64>().map_err(|_| bad())
        };
        if self.metrics.len() != self.history.len() {
            return Err(Error::invalid("damaged: it has figures of other epochs than losses", ""));
        }
        let epoch = |([train_loss, validation_loss, seconds, learning_rate], metrics): (&[String; 4], &Vec<String>)| {
            Ok(EpochRecord {
                train_loss: number(train_loss)?,
                validation_loss: number(validation_loss)?,
                seconds: number(seconds)?,
                learning_rate: number(learning_rate)?,
                metrics: metrics.iter().map(number).collect::<Result<_>>()?,
                last: false,
            })
        };
        Ok(Progress {
            history: self.history.iter().zip(&self.metrics).map(epoch).collect::<Result<_>>()?,
            rows: self.rows,
            loss_sum: number(&self.loss_sum)?,
            expected: self.expected,
            plateau: Plateau {
                factor: number(&self.plateau[0])?,
                best: number(&self.plateau[1])?,
                waited: self.plateau_waited,
            },
            best: (number(&self.best.0)?, self.best.1),
            reference: (number(&self.reference.0)?, self.reference.1),
        })
    }
}
