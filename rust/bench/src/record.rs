//! The measured values.

use serde::{Deserialize, Deserializer, Serialize};

use super::party::is_peer;

/// One party in one case.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Record {
    pub case: String,
    pub who: String,
    pub threads: usize,
    /// Times of one repetition: median, least and largest over the rounds.
    #[serde(deserialize_with = "number")]
    pub median_s: f64,
    #[serde(deserialize_with = "number")]
    pub low_s: f64,
    #[serde(deserialize_with = "number")]
    pub high_s: f64,
    /// The repetition's floating-point operations over the best matrix-product rate of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_s: Option<f64>,
    pub rounds: u32,
    /// The very first repetition, compilation included.
    #[serde(deserialize_with = "number")]
    pub first_s: f64,
    /// The part of a repetition before the libraries were loaded, median of the rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_s: Option<f64>,
    /// Time of a repetition without that part, median of the rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loaded_s: Option<f64>,
    /// Bytes that one repetition reads, uncompressed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// CPU time of one repetition, all threads, median of the rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_s: Option<f64>,
    /// From the start of a repetition to the first batch, median of the rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_batch_s: Option<f64>,
    /// Peak memory beyond the resulting tensor, largest over the rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_bytes: Option<f64>,
    /// Mean over the rounds, each from another seed: area under the ROC curve, share of right classes or minus the root
    /// mean squared error; higher is better.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quality: Option<f64>,
    /// Its standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quality_error: Option<f64>,
    /// The quality at which a training stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<f64>,
    /// Epochs that a training took, median of the rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epochs: Option<f64>,
    /// Time that a repetition spends on messages between processes, median of the rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange_s: Option<f64>,
    /// Shows equal work: loss after all rounds, or mean score.
    #[serde(deserialize_with = "number")]
    pub check: f64,
    /// The check before the first repetition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check_before: Option<f64>,
    /// Standard error of a mean score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check_error: Option<f64>,
    /// Why the work was not equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<String>,
}

/// JSON has `null` for NaN and infinity.
fn number<'json, D: Deserializer<'json>>(json: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(json)?.unwrap_or(f64::NAN))
}

impl Record {
    /// Raw bytes per CPU-second.
    pub fn cpu_rate(&self) -> Option<f64> {
        Some(self.bytes? as f64 / self.cpu_s?)
    }
}

/// A party that took no part in a case, or in any.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Skipped {
    pub who: String,
    pub threads: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    pub reason: String,
}

/// All results of a run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub records: Vec<Record>,
    pub skipped: Vec<Skipped>,
    /// Best matrix-product rate seen, floating-point operations per second, by threads.
    pub rates: Vec<(usize, f64)>,
}

impl Outcome {
    pub fn append(&mut self, mut other: Outcome) {
        self.records.append(&mut other.records);
        self.skipped.append(&mut other.skipped);
        self.rates.append(&mut other.rates);
    }
}

/// The fastest peer on the case and threads of `ours`.
pub fn fastest_peer<'a>(records: &'a [Record], ours: &Record) -> Option<&'a Record> {
    let beside = |record: &&Record| record.case == ours.case && record.threads == ours.threads;
    let peers = records.iter().filter(beside).filter(|record| is_peer(&record.who) && record.flag.is_none());
    peers.min_by(|a, b| a.median_s.total_cmp(&b.median_s))
}

/// The middle of `values`; the mean of the two middle ones if their number is even.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

/// Mean and its standard error (0 for one value); `None` for no values.
pub fn mean_and_error(values: &[f64]) -> Option<(f64, f64)> {
    let (mean, variance) = mean_and_variance(values);
    (!values.is_empty()).then(|| (mean, (variance / values.len() as f64).sqrt()))
}

/// Mean and the variance of the sample (0 for one value).
pub fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, if values.len() > 1 { squares / (count - 1.0) } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 100.0]), 3.0);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn variance_of_the_sample() {
        assert_eq!(mean_and_variance(&[1.0, 2.0, 3.0]), (2.0, 1.0));
        assert_eq!(mean_and_variance(&[5.0]), (5.0, 0.0));
        assert_eq!(mean_and_error(&[1.0, 2.0, 3.0, 2.0]), Some((2.0, (2.0f64 / 3.0 / 4.0).sqrt())));
        assert_eq!(mean_and_error(&[]), None);
    }
}
