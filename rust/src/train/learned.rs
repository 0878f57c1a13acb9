//! The events of a fit.

use super::job::Job;
use crate::dataset::Dataset;
use crate::error::Result;

/// The events that a fit learns from.
#[derive(Clone, Copy)]
pub struct Learned<'a> {
    pub data: &'a Dataset,
    /// Those of this process.
    pub rows: &'a [u32],
    /// Those of all processes, by their numbers among all events.
    pub all: &'a [u32],
    pub job: &'a Job,
}

impl Learned<'_> {
    /// See [`Job::fingerprint`].
    pub fn fingerprint(&self) -> Result<u64> {
        self.job.fingerprint(self.data, self.all.len())
    }
}
