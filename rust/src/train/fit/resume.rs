//! Checkpoints of a fit, and resuming from one.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::super::Options;
use super::super::checkpoint::{self, Checkpoint};
use super::super::stopping::Stopping;
use super::super::unit::Unit;
use super::Fit;
use crate::error::{Error, Result};
use crate::gradient::Snapshot;
use crate::options::Parallel;
use crate::text;

impl Fit {
    /// Writes a checkpoint, if the options name a file for it.
    pub fn checkpoint(&mut self) -> Result<()> {
        self.settle()?;
        let path = &PathBuf::from(&self.options.checkpoint);
        let is_first = self.job.ranks.as_ref().is_none_or(|ranks| ranks.rank() == 0);
        if path.as_os_str().is_empty() || !is_first {
            return Ok(());
        }
        let Stopping { best, best_epoch, reference, waited, kept, .. } = &self.stopping;
        let checkpoint = Checkpoint {
            options: Options { threads: 0, parallel: Parallel::OneProcess, ..self.options.clone() },
            network: self.network.clone(),
            fingerprint: self.fingerprint,
            snapshot: self.engine.snapshot()?,
            scaler: self.scaler.clone(),
            target: self.target.clone(),
            kept: kept.clone(),
            progress: checkpoint::Progress {
                history: self.history.clone(),
                rows: self.rows,
                loss_sum: self.loss_sum,
                expected: self.expected,
                plateau: self.rates.plateau,
                best: (*best, *best_epoch),
                reference: (*reference, *waited),
            },
        };
        checkpoint.save(path)?;
        self.saved = Instant::now();
        Ok(())
    }

    /// The same if the last one is as long ago as the options say.
    pub fn checkpoint_if_late(&mut self) -> Result<()> {
        let minutes = self.options.checkpoint_minutes;
        match minutes > 0.0 && self.saved.elapsed().as_secs_f64() >= 60.0 * minutes {
            true => self.checkpoint(),
            false => Ok(()),
        }
    }

    /// Goes on from `checkpoint`, which was read from `path`.
    pub fn restore(&mut self, checkpoint: Checkpoint, path: &Path) -> Result<()> {
        let Checkpoint { network, fingerprint, snapshot, scaler, target, kept, progress, .. } = checkpoint;
        let lengths = |snapshot: &Snapshot| [&snapshot.parameters, &snapshot.state].map(Vec::len);
        let (found, own) = (lengths(&snapshot), lengths(&self.engine.snapshot()?));
        if found != own || scaler.mean.len() != self.scaler.mean.len() {
            return Err(other_fit(path, &format!("it has {} parameters, the model {}", found[0], own[0])));
        }
        if network != self.network {
            return Err(other_fit(path, "its network has other operators or activations"));
        }
        if target.as_ref().map(|target| target.mean.len()) != self.target.as_ref().map(|target| target.mean.len()) {
            return Err(other_fit(path, "its targets are others"));
        }
        if fingerprint != self.fingerprint {
            return Err(other_fit(
                path,
                "the events, or those for validation, are not those of its fit, or in another order",
            ));
        }
        self.engine.restore(&snapshot)?;
        self.unit = Unit::of(self.loss, target.as_ref());
        (self.scaler, self.target) = (scaler, target);
        self.epochs = u32::try_from(progress.history.len()).unwrap_or(u32::MAX);
        (self.rows, self.loss_sum, self.history) = (progress.rows, progress.loss_sum, progress.history);
        self.rates.plateau = progress.plateau;
        (self.stopping.best, self.stopping.best_epoch) = progress.best;
        (self.stopping.reference, self.stopping.waited) = progress.reference;
        self.stopping.kept = kept;
        Ok(())
    }

    /// How the fit ended, if nothing is left to train: as that of a checkpoint after the last epoch.
    pub fn ended(&self) -> Option<&'static str> {
        if self.epochs >= self.options.epochs {
            Some("has reached its last epoch")
        } else if self.stopping.is_over() {
            Some("has ended early, as fPatience says")
        } else {
            None
        }
    }
}

/// A checkpoint of another fit.
pub(in crate::train) fn other_fit(path: &Path, why: &str) -> Error {
    Error::invalid(
        format!("the checkpoint {} does not fit: {why}", text::name(&path.display().to_string())),
        "give the network and the data of its fit",
    )
}
