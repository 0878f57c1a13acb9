//! The quality of the parties' models, beside the times.

use super::party::OURS;
use super::record::Record;
use super::table::{Table, digits, seconds};

/// The meaning of the columns of [`table`].
pub const LEGEND: &str = "`quality`: area under the ROC curve, share of right classes, or minus the (weighted) root mean squared error, \
with the standard error of its mean over the rounds; higher is better. `against cladtorch`: the difference over \
its standard error, the two errors added in quadrature. `time`: median of the whole time; where a training ends \
at a `target`, `epochs` is the median of what it took, `start` the time before the libraries were loaded, \
`loaded` the rest and `cpu` the processor time of the rest.";

/// A line for each record that has a quality; `None` where none has.
pub fn table(records: &[Record]) -> Option<Table> {
    let graded: Vec<_> = records.iter().filter(|record| record.quality.is_some()).collect();
    // Only some trainings have a target.
    let aimed = graded.iter().any(|record| record.target.is_some());
    let mut heading = vec!["case", "thr", "who", "quality", "error", "against cladtorch", "time"];
    heading.extend(aimed.then_some(["target", "epochs", "start", "loaded", "cpu"]).into_iter().flatten());
    let mut table = Table::new(&heading, 3);
    for record in &graded {
        let mut cells = line(record, &graded);
        cells.truncate(heading.len());
        table.push(cells);
    }
    (!graded.is_empty()).then_some(table)
}

fn line(record: &Record, all: &[&Record]) -> Vec<String> {
    let same = |other: &&&Record| other.case == record.case && other.threads == record.threads && other.who == OURS;
    let ours = all.iter().find(same).filter(|_| record.who != OURS);
    let shown = |value: Option<f64>, show: &dyn Fn(f64) -> String| value.map_or("-".to_owned(), show);
    vec![
        record.case.clone(),
        record.threads.to_string(),
        record.who.clone(),
        shown(record.quality, &score),
        shown(record.quality_error, &score),
        shown(ours.and_then(|ours| significance(record, ours)), &|errors| format!("{errors:+.1}")),
        seconds(record.median_s),
        shown(record.target, &score),
        shown(record.epochs, &digits),
        shown(record.start_s, &seconds),
        shown(record.loaded_s, &seconds),
        shown(record.cpu_s, &seconds),
    ]
}

/// By how many standard errors `one` is better than `other`; `None` without two qualities or any spread.
pub fn significance(one: &Record, other: &Record) -> Option<f64> {
    let error = one.quality_error?.hypot(other.quality_error?);
    (error > 0.0).then_some((one.quality? - other.quality?) / error)
}

/// The shortfall from the best possible model: 1 minus an area or a share, or the root mean squared error.
pub fn shortfall(quality: f64) -> f64 {
    if quality < 0.0 { -quality } else { 1.0 - quality }
}

fn score(value: f64) -> String {
    let decimals = if value.abs() < 1.0 { 4 } else { 2 };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::record;

    #[test]
    fn qualities_stand_beside_the_times() {
        let graded = |who: &str, quality, error| Record {
            median_s: 0.5,
            quality: Some(quality),
            quality_error: Some(error),
            ..record("higgs", who)
        };
        let (ours, theirs) = (graded(OURS, 0.74, 0.003), graded("pytorch", 0.73, 0.004));
        assert_eq!(significance(&ours, &theirs).map(|errors| (errors * 1e6).round()), Some(2e6));
        assert_eq!(significance(&ours, &record("higgs", "libtorch")), None);
        let aimed = Record { target: Some(0.72), loaded_s: Some(0.1), ..ours.clone() };
        let text = table(&[ours, theirs, record("other", OURS)]).unwrap().screen();
        assert!(text.contains("cladtorch   0.7400  0.0030"), "{text}");
        assert!(text.contains("pytorch     0.7300  0.0040               -2.0"), "{text}");
        assert!(!text.contains("other") && !text.contains("target"), "{text}");
        let text = table(&[aimed]).unwrap().screen();
        assert!(text.contains("0.7200       -      -  100 ms    -"), "{text}");
        assert!(table(&[record("other", OURS)]).is_none());
    }

    #[test]
    fn shortfalls_are_positive() {
        assert_eq!((shortfall(-7.5), shortfall(0.75)), (7.5, 0.25));
    }
}
