//! The report's plots, drawn by ROOT.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::case::Group;
use super::party::OURS;
use super::qualities;
use super::record::Record;
use crate::environment::Environment;
use crate::process::step;
use crate::project;

/// How the name of a case begins that is a point on a curve (the number follows), and the title of the axis.
const AXES: [(&str, &str); 3] =
    [("batch:", "rows a batch"), ("width:", "width of both hidden layers"), ("depth:", "hidden layers")];

/// What the macro needs for one picture.
struct Plot {
    kind: &'static str,
    /// Of its files, without the ending.
    name: String,
    caption: String,
    /// Of the plot and its axes, as ROOT takes them.
    titles: String,
    /// `series, x, label, y` a line, and the error of y where it has one; empty where there is nothing to draw.
    table: String,
}

/// Draws what the records allow; file names in `out`, with captions.
pub fn draw(environment: &Environment, group: &Group, records: &[Record], out: &Path) -> Result<Vec<(String, String)>> {
    let mut drawn = Vec::new();
    for plot in plots(group, records).into_iter().filter(|plot| !plot.table.is_empty()) {
        let (text, image) = (out.join(format!("{}.tsv", plot.name)), format!("{}.png", plot.name));
        fs::write(&text, &plot.table).with_context(|| format!("cannot write {}", text.display()))?;
        let script = project::root().join("rust/xtask/src/bench/plot.C");
        let path = out.join(&image);
        let arguments = [plot.kind, &text.to_string_lossy(), &path.to_string_lossy(), &plot.titles];
        let call = format!("{}(\"{}\")", script.display(), arguments.join("\", \""));
        step(&format!("drawing {image}"), environment.root_exe().args(["-l", "-b", "-q", &call]))?;
        drawn.push((image, plot.caption));
    }
    Ok(drawn)
}

fn plots(group: &Group, records: &[Record]) -> Vec<Plot> {
    let mut numbers: Vec<_> = records.iter().map(|record| record.threads).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut plots = Vec::new();
    for &threads in &numbers {
        let records: Vec<_> = records.iter().filter(|record| record.threads == threads).collect();
        plots.push(Plot {
            kind: "bars",
            name: format!("{}-ratio-{threads}", group.name),
            caption: format!("Time of each party over that of {OURS}, {threads} thread(s)."),
            titles: format!("{}, {threads} thread(s);;time over that of {OURS}", group.name),
            table: bars(&records),
        });
        plots.push(Plot {
            kind: "bars",
            name: format!("{}-shortfall-{threads}", group.name),
            caption: format!(
                "What each party's model lacks to a perfect one (1 - area, 1 - share, root mean squared error) over \
                 what that of {OURS} lacks, with standard errors: above 1 {OURS} is better."
            ),
            titles: format!("{};;shortfall over that of {OURS}", group.name),
            table: shortfalls(&records),
        });
        plots.extend(AXES.map(|(axis, title)| against(group, &records, threads, axis, title)));
    }
    if numbers.len() > 1 {
        plots.push(Plot {
            kind: "curves",
            name: format!("{}-threads", group.name),
            caption: format!("Time of {OURS} against threads."),
            titles: format!("{}, {OURS};threads;seconds", group.name),
            table: against_threads(records),
        });
    }
    plots
}

/// Qualities, or where there are none times, against what `axis` varies.
fn against(group: &Group, records: &[&Record], threads: usize, axis: &str, title: &str) -> Plot {
    let name = format!("{}-{}-{threads}", group.name, axis.trim_end_matches(':'));
    match qualities_against(records, axis) {
        table if table.is_empty() => Plot {
            kind: "curves",
            name,
            caption: format!("Time against {title}, {threads} thread(s); broken line: the floor."),
            titles: format!("{}, {threads} thread(s);{title};seconds", group.name),
            table: curves(records, axis),
        },
        table => Plot {
            kind: "qualities",
            name,
            caption: format!("Quality against {title}, with standard errors; higher is better."),
            titles: format!("{};{title};quality", group.name),
            table,
        },
    }
}

/// CladTorch's times against the number of threads, a series for each case that stands for itself.
fn against_threads(records: &[Record]) -> String {
    let own = records.iter().filter(|record| record.who == OURS && !record.case.contains(':'));
    own.map(|record| format!("{}\t{}\t\t{}\n", record.case, record.threads, record.median_s)).collect()
}

/// Ratios of everybody but CladTorch, for the cases that stand for themselves.
fn bars(records: &[&Record]) -> String {
    let mut table = String::new();
    for record in records.iter().filter(|record| record.who != OURS && !record.case.contains(':')) {
        let ours = records.iter().find(|other| other.who == OURS && other.case == record.case);
        if let Some(ours) = ours {
            let _ = writeln!(table, "{}\t0\t{}\t{}", record.who, record.case, record.median_s / ours.median_s);
        }
    }
    table
}

/// What everybody's models lack over what CladTorch's lack, for the cases that stand for themselves.
fn shortfalls(records: &[&Record]) -> String {
    let mut table = String::new();
    for record in records.iter().filter(|record| record.who != OURS && !record.case.contains(':')) {
        let ours = records.iter().find(|other| other.who == OURS && other.case == record.case);
        if let Some(((lack, error), (own, own_error))) = shortfall(record).zip(ours.and_then(|ours| shortfall(ours))) {
            let ratio = lack / own;
            let error = ratio * (error / lack).hypot(own_error / own);
            let _ = writeln!(table, "{}\t0\t{}\t{ratio}\t{error}", record.who, record.case);
        }
    }
    table
}

/// With its error.
fn shortfall(record: &Record) -> Option<(f64, f64)> {
    Some((qualities::shortfall(record.quality?), record.quality_error?))
}

/// Qualities against what `axis` varies.
fn qualities_against(records: &[&Record], axis: &str) -> String {
    let points = records.iter().filter_map(|record| {
        let x = record.case.strip_prefix(axis)?;
        Some(format!("{}\t{x}\t\t{}\t{}\n", record.who, record.quality?, record.quality_error?))
    });
    points.collect()
}

/// Times and the floor against what `axis` varies.
fn curves(records: &[&Record], axis: &str) -> String {
    let mut table = String::new();
    let mut floor = String::new();
    for record in records {
        let Some(x) = record.case.strip_prefix(axis) else { continue };
        let _ = writeln!(table, "{}\t{x}\t\t{}", record.who, record.median_s);
        if let Some(seconds) = record.floor_s.filter(|_| record.who == OURS) {
            let _ = writeln!(floor, "floor\t{x}\t\t{seconds}");
        }
    }
    table + &floor
}

#[cfg(test)]
mod tests {
    use super::{curves, qualities_against, shortfalls};
    use crate::bench::record::Record;
    use crate::bench::tests::record;

    #[test]
    fn curves_end_with_the_floor() {
        let record = |who: &str| Record { median_s: 2.0, floor_s: Some(0.5), ..record("batch:32", who) };
        let (ours, theirs) = (record("cladtorch"), record("libtorch"));
        let text = curves(&[&ours, &theirs], "batch:");
        assert_eq!(text, "cladtorch\t32\t\t2\nlibtorch\t32\t\t2\nfloor\t32\t\t0.5\n");
        assert!(curves(&[&ours], "width:").is_empty());
    }
    #[test]
    fn qualities_are_drawn_with_their_errors() {
        let graded = |case: &str, who: &str, quality| Record {
            quality: Some(quality),
            quality_error: Some(0.02),
            ..record(case, who)
        };
        let (ours, theirs) = (graded("gw", "cladtorch", 0.8), graded("gw", "pytorch", 0.6));
        let table = shortfalls(&[&ours, &theirs]);
        assert!(table.starts_with("pytorch\t0\tgw\t2.0") && table.matches("0.22").count() == 1, "{table}");
        let point = graded("depth:3", "pytorch", 0.75);
        assert_eq!(qualities_against(&[&point, &ours], "depth:"), "pytorch\t3\t\t0.75\t0.02\n");
        assert!(shortfalls(&[&record("gw", "cladtorch"), &record("gw", "pytorch")]).is_empty());
    }
}
