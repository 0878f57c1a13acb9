//! The charts that a group's records allow.

use super::axis::plain;
use super::case::Group;
use super::chart::{Axis, Body, Chart, FLOOR, Point, Series};
use super::means;
use super::party::OURS;
use super::qualities;
use super::record::Record;
use super::table;

/// How the name of a case begins that is a point on a curve (the number follows), and the title of the axis.
const AXES: [(&str, &str); 3] =
    [("batch:", "rows a batch"), ("width:", "width of both hidden layers"), ("depth:", "hidden layers")];

/// The largest number of cases in a chart of rows; more are drawn as means over the cases of a size.
const MOST_ROWS: usize = 60;

/// A value of a party in a case: who, case, value, ends of its error.
type Value = (String, String, f64, [f64; 2]);

pub fn charts(group: &Group, records: &[Record]) -> Vec<Chart> {
    let mut numbers: Vec<_> = records.iter().map(|record| record.threads).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut charts = Vec::new();
    for &threads in &numbers {
        let records: Vec<_> = records.iter().filter(|record| record.threads == threads).collect();
        charts.push(rows(
            format!("{}-ratio-{threads}", group.name),
            format!("Time of each party over that of {OURS}, {threads} thread(s): right of 1 {OURS} is faster."),
            (format!("time over that of {OURS}"), true),
            ratios(&records),
        ));
        charts.push(rows(
            format!("{}-shortfall-{threads}", group.name),
            format!(
                "What each party's model lacks to a perfect one (1 - area, 1 - share, root mean squared error) over \
                 what that of {OURS} lacks, with standard errors: right of 1 {OURS} is better."
            ),
            (format!("shortfall over that of {OURS}"), true),
            shortfalls(&records),
        ));
        charts.extend(AXES.map(|(axis, title)| against(group, &records, threads, axis, title)));
    }
    let least = numbers.first().copied().unwrap_or(1);
    charts.push(rows(
        format!("{}-threads", group.name),
        format!("How many times as fast {OURS} is on more threads than on {least}."),
        (format!("time on {least} thread(s) over time"), false),
        speed_ups(records, least),
    ));
    charts.retain(|chart| !chart.is_empty());
    charts
}

/// A chart with a line for each case, or for each size if there are too many.
fn rows(name: String, caption: String, (title, log): (String, bool), values: Vec<Value>) -> Chart {
    let mut cases: Vec<&str> = values.iter().map(|(_, case, ..)| case.as_str()).collect();
    cases.sort_unstable();
    cases.dedup();
    let many = cases.len() > MOST_ROWS;
    let (caption, values) = match many {
        true => (
            format!("{caption} Geometric means over the cases of a size, with the least and the greatest."),
            means_by_size(values),
        ),
        false => (caption, values),
    };
    let mut series: Vec<Series<String>> = Vec::new();
    for (who, case, value, range) in values {
        add(&mut series, &who, Point { at: case, value, range });
    }
    Chart { name, caption, body: Body::Rows { series, axis: Axis { title, log, show: plain } } }
}

/// Adds a point to the series of `who`, which is made if there is none.
fn add<Place>(all: &mut Vec<Series<Place>>, who: &str, point: Point<Place>) {
    match all.iter_mut().find(|series| series.name == who) {
        Some(series) => series.points.push(point),
        None => all.push(Series { name: who.to_owned(), points: vec![point] }),
    }
}

/// Mean, least and greatest value of each party for the cases of each size, in the order of the sizes.
fn means_by_size(values: Vec<Value>) -> Vec<Value> {
    let mut groups: Vec<(u64, String, Vec<f64>)> = Vec::new();
    for (who, case, value, _) in values {
        let Some(size) = means::size(&case) else { continue };
        match groups.iter_mut().find(|(other, name, _)| *other == size && *name == who) {
            Some((.., values)) => values.push(value),
            None => groups.push((size, who, vec![value])),
        }
    }
    groups.sort_by_key(|(size, ..)| *size);
    let value = |(size, who, values): (u64, String, Vec<f64>)| {
        let range = [values.iter().copied().fold(f64::INFINITY, f64::min), values.iter().copied().fold(0.0, f64::max)];
        (who, format!("size {size}"), means::geometric_mean(&values), range)
    };
    groups.into_iter().map(value).collect()
}

/// Qualities or, if there are none, times, against the number that `axis` varies.
fn against(group: &Group, records: &[&Record], threads: usize, axis: &str, title: &str) -> Chart {
    let across = Axis { title: title.to_owned(), log: true, show: plain };
    let name = format!("{}-{}-{threads}", group.name, axis.trim_end_matches(':'));
    match qualities_against(records, axis) {
        series if series.is_empty() => Chart {
            name,
            caption: format!("Time against {title}, {threads} thread(s); broken line: the floor."),
            body: Body::Curves {
                series: times_against(records, axis),
                across,
                up: Axis { title: "time".to_owned(), log: true, show: table::round_seconds },
            },
        },
        series => Chart {
            name,
            caption: format!("Quality against {title}, with standard errors; higher is better."),
            body: Body::Curves { series, across, up: Axis { title: "quality".to_owned(), log: false, show: plain } },
        },
    }
}

/// Whether the case stands alone, and is not a point on a curve.
fn is_single(record: &Record) -> bool {
    !record.case.contains(':')
}

/// The records of all parties except CladTorch in its cases, with CladTorch's record of the same case.
fn beside_ours(records: &[&Record], value: impl Fn(&Record, &Record) -> Option<(f64, [f64; 2])>) -> Vec<Value> {
    let others = records.iter().filter(|record| record.who != OURS && is_single(record));
    let value = |record: &&Record| {
        let ours = records.iter().find(|other| other.who == OURS && other.case == record.case)?;
        let (value, range) = value(record, ours)?;
        value.is_finite().then(|| (record.who.clone(), record.case.clone(), value, range))
    };
    others.filter_map(value).collect()
}

/// Times over CladTorch's.
fn ratios(records: &[&Record]) -> Vec<Value> {
    beside_ours(records, |record, ours| {
        let ratio = record.median_s / ours.median_s;
        Some((ratio, [ratio; 2]))
    })
}

/// The shortfall of the models over that of CladTorch's.
fn shortfalls(records: &[&Record]) -> Vec<Value> {
    let shortfall = |record: &Record| Some((qualities::shortfall(record.quality?), record.quality_error?));
    beside_ours(records, |record, ours| {
        let ((lack, error), (own, own_error)) = (shortfall(record)?, shortfall(ours)?);
        let ratio = lack / own;
        let error = ratio * (error / lack).hypot(own_error / own);
        Some((ratio, [ratio - error, ratio + error]))
    })
}

/// CladTorch's times on `least` threads over those on more.
fn speed_ups(records: &[Record], least: usize) -> Vec<Value> {
    let own = || records.iter().filter(|record| record.who == OURS && is_single(record));
    let value = |record: &Record| {
        let single = own().find(|other| other.threads == least && other.case == record.case)?;
        let ratio = single.median_s / record.median_s;
        ratio.is_finite().then(|| (format!("{} threads", record.threads), record.case.clone(), ratio, [ratio; 2]))
    };
    own().filter(|record| record.threads > least).filter_map(value).collect()
}

/// The number after `axis` in the case's name.
fn number(record: &Record, axis: &str) -> Option<f64> {
    record.case.strip_prefix(axis)?.parse().ok()
}

/// Qualities against the number that `axis` varies.
fn qualities_against(records: &[&Record], axis: &str) -> Vec<Series<f64>> {
    let mut series = Vec::new();
    for record in records {
        let graded = record.quality.zip(record.quality_error);
        if let Some((at, (value, error))) = number(record, axis).zip(graded) {
            add(&mut series, &record.who, Point { at, value, range: [value - error, value + error] });
        }
    }
    series
}

/// Times and the floor against the number that `axis` varies.
fn times_against(records: &[&Record], axis: &str) -> Vec<Series<f64>> {
    let (mut series, mut floor) = (Vec::new(), Vec::new());
    for record in records {
        let Some(at) = number(record, axis) else { continue };
        add(&mut series, &record.who, Point { at, value: record.median_s, range: [record.median_s; 2] });
        if let Some(value) = record.floor_s.filter(|_| record.who == OURS) {
            add(&mut floor, FLOOR, Point { at, value, range: [value; 2] });
        }
    }
    series.append(&mut floor);
    series
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::record;

    /// `who: at value` for each point.
    fn told(series: &[Series<f64>]) -> Vec<String> {
        let point = |name: &str, point: &Point<f64>| format!("{name}: {} {}", point.at, point.value);
        series.iter().flat_map(|series| series.points.iter().map(|p| point(&series.name, p))).collect()
    }

    #[test]
    fn curves_end_with_the_floor() {
        let record = |who: &str| Record { median_s: 2.0, floor_s: Some(0.5), ..record("batch:32", who) };
        let (ours, theirs) = (record("cladtorch"), record("libtorch"));
        let series = times_against(&[&ours, &theirs], "batch:");
        assert_eq!(told(&series), ["cladtorch: 32 2", "libtorch: 32 2", "floor: 32 0.5"]);
        assert!(times_against(&[&ours], "width:").is_empty());
    }

    #[test]
    fn qualities_are_drawn_with_their_errors() {
        let graded = |case: &str, who: &str, quality| Record {
            quality: Some(quality),
            quality_error: Some(0.02),
            ..record(case, who)
        };
        let (ours, theirs) = (graded("gw", "cladtorch", 0.8), graded("gw", "pytorch", 0.6));
        let [(who, case, value, range)] = &shortfalls(&[&ours, &theirs])[..] else { panic!("one value") };
        assert_eq!((who.as_str(), case.as_str(), (value * 1e6).round()), ("pytorch", "gw", 2e6));
        assert!((value - range[0] - 0.223607).abs() < 1e-6 && (range[1] - value - 0.223607).abs() < 1e-6);
        let point = graded("depth:3", "pytorch", 0.75);
        assert_eq!(told(&qualities_against(&[&point, &ours], "depth:")), ["pytorch: 3 0.75"]);
        assert!(shortfalls(&[&record("gw", "cladtorch"), &record("gw", "pytorch")]).is_empty());
    }

    #[test]
    fn threads_are_held_against_the_fewest() {
        let timed = |threads, median_s| Record { threads, median_s, ..record("a/1", OURS) };
        let [(who, _, value, _)] = &speed_ups(&[timed(1, 3.0), timed(2, 2.0)], 1)[..] else { panic!("one value") };
        assert_eq!((who.as_str(), *value), ("2 threads", 1.5));
    }

    #[test]
    fn many_cases_become_means_over_the_sizes() {
        let value = |kind: usize, size: u64| {
            ("libtorch".to_owned(), format!("k{kind}/{size}"), if kind == 0 { 8.0 } else { 2.0 }, [0.0; 2])
        };
        let values: Vec<_> = (0..40).flat_map(|kind| [value(kind, 256), value(kind, 16)]).collect();
        let chart = rows(String::new(), String::new(), (String::new(), true), values);
        let Body::Rows { series, .. } = &chart.body else { panic!("rows") };
        let [libtorch] = &series[..] else { panic!("one series") };
        let labels: Vec<_> = libtorch.points.iter().map(|point| (point.at.as_str(), point.range)).collect();
        assert_eq!(labels, [("size 16", [2.0, 8.0]), ("size 256", [2.0, 8.0])]);
        assert!((libtorch.points[0].value - 2.0 * 4f64.powf(1.0 / 40.0)).abs() < 1e-12);
    }
}
