//! From turns to records, and the check that the work was equal.

use super::case::{Agreement, Case, Group};
use super::record::{Record, mean_and_error, median};
use super::worker::Turn;

/// The results of a party in one case.
#[derive(Default)]
pub struct Tried {
    /// Time of the very first repetition, s.
    pub first: f64,
    pub turns: Vec<Turn>,
    pub checks: Vec<f64>,
    /// The check before the first repetition.
    pub before: Option<f64>,
}

impl Tried {
    /// The values of one quantity in all turns; empty unless all have it.
    fn values(&self, quantity: impl Fn(&Turn) -> Option<f64>) -> Vec<f64> {
        self.turns.iter().map(quantity).collect::<Option<_>>().unwrap_or_default()
    }

    fn middle(&self, quantity: impl Fn(&Turn) -> Option<f64>) -> Option<f64> {
        let values = self.values(quantity);
        (!values.is_empty()).then(|| median(&values))
    }
}

/// Records of the parties that finished, by name, flagged if the work was not equal.
///
/// `request` is the request to the parties; a target in it is recorded.
pub fn conclude(group: &Group, case: &Case, request: &str, threads: usize, tried: &[(&str, &Tried)]) -> Vec<Record> {
    let target = request.split(' ').find_map(|word| word.strip_prefix("target=")?.parse().ok());
    let record = |&(who, tried): &(&str, &Tried)| Record { target, ..record(group, case, threads, who, tried) };
    let mut records: Vec<_> = tried.iter().map(record).collect();
    flag(group.agreement, &mut records);
    records
}

fn record(group: &Group, case: &Case, threads: usize, who: &str, tried: &Tried) -> Record {
    let (mean, error) = mean_and_error(&tried.checks).unwrap_or((f64::NAN, f64::NAN));
    let (check, check_error) = match group.agreement {
        Agreement::Reached => (tried.checks.iter().copied().fold(f64::INFINITY, f64::min), None),
        Agreement::Score { .. } => (mean, Some(error)),
        _ => (mean, None),
    };
    let quality = mean_and_error(&tried.values(|turn| turn.quality));
    let times = tried.values(|turn| Some(turn.seconds));
    let peak = tried.values(|turn| turn.memory).into_iter().reduce(f64::max);
    Record {
        case: case.name.clone(),
        who: who.to_owned(),
        threads,
        median_s: median(&times),
        low_s: times.iter().copied().fold(f64::INFINITY, f64::min),
        high_s: times.iter().copied().fold(0.0, f64::max),
        floor_s: None,
        rounds: times.len() as u32,
        first_s: tried.first,
        start_s: tried.middle(|turn| turn.start),
        loaded_s: tried.middle(|turn| Some(turn.seconds - turn.start?)),
        bytes: case.volume.map(|volume| volume.raw),
        cpu_s: tried.middle(|turn| turn.cpu),
        first_batch_s: tried.middle(|turn| turn.first),
        extra_bytes: peak.zip(case.volume).map(|(peak, volume)| peak - volume.tensor as f64),
        quality: quality.map(|(mean, _)| mean),
        quality_error: quality.map(|(_, error)| error),
        target: None,
        epochs: tried.middle(|turn| turn.epochs),
        exchange_s: tried.middle(|turn| turn.exchange),
        check,
        check_before: tried.before,
        check_error,
        flag: None,
    }
}

/// Marks every record of one case whose check is far from the others'.
fn flag(agreement: Agreement, records: &mut [Record]) {
    let middle = median(&records.iter().map(|record| record.check).collect::<Vec<_>>());
    // The parties' scores have the same variance: their errors are pooled, and the median's is about that of one party.
    let variances = records.iter().map(|record| record.check_error.unwrap_or(0.0).powi(2));
    let error = (2.0 * variances.sum::<f64>() / records.len().max(1) as f64).sqrt();
    for record in records {
        record.flag = match agreement {
            Agreement::None => None,
            Agreement::Reached => (record.check < 0.0).then(|| "the target was not reached".to_owned()),
            Agreement::Exact => disagreement(record.check, middle, 0.0),
            Agreement::Value { relative, absolute } => {
                disagreement(record.check, middle, (relative * middle.abs()).max(absolute))
            }
            Agreement::Loss { relative, absolute } => {
                let tolerance = (relative * middle.abs()).max(absolute);
                let learnt = record.check_before.is_none_or(|before| record.check < before);
                disagreement(record.check, middle, tolerance)
                    .or_else(|| (!learnt).then(|| "the loss did not fall".to_owned()))
            }
            Agreement::Score { absolute } => disagreement(record.check, middle, (3.0 * error).max(absolute)),
        };
    }
}

fn disagreement(check: f64, middle: f64, tolerance: f64) -> Option<String> {
    let within = (check - middle).abs() <= tolerance;
    (!within).then(|| format!("{check:.5} differs from the parties' median {middle:.5} by more than {tolerance:.5}"))
}
