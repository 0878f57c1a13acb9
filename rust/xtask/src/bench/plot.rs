//! The report's plots, drawn by ROOT.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::case::Group;
use super::record::Record;
use super::report::OURS;
use crate::environment::Environment;
use crate::process::step;
use crate::project;

/// How a plot of step times against something begins in the name of a case, and the title of its axis.
const AXES: [(&str, &str); 3] =
    [("batch:", "rows a batch"), ("width:", "width of both hidden layers"), ("depth:", "hidden layers")];

/// Draws what the records allow; file names in `out`, with captions.
pub fn draw(environment: &Environment, group: &Group, records: &[Record], out: &Path) -> Result<Vec<(String, String)>> {
    let mut threads: Vec<_> = records.iter().map(|record| record.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    let mut plots = Vec::new();
    for threads in threads {
        let records: Vec<_> = records.iter().filter(|record| record.threads == threads).collect();
        let titles = format!("{}, {threads} thread(s);;time over that of {OURS}", group.name);
        let name = format!("{}-ratio-{threads}", group.name);
        let caption = format!("Time of each party over that of {OURS}, {threads} thread(s).");
        plots.extend(one(environment, out, "bars", &name, &bars(&records), &titles)?.map(|file| (file, caption)));
        for (axis, title) in AXES {
            let kind = axis.trim_end_matches(':');
            let titles = format!("{}, {threads} thread(s);{title};seconds", group.name);
            let name = format!("{}-{kind}-{threads}", group.name);
            let caption = format!("Time against {title}, {threads} thread(s); broken line: the floor.");
            plots.extend(
                one(environment, out, "curves", &name, &curves(&records, axis), &titles)?.map(|file| (file, caption)),
            );
        }
    }
    Ok(plots)
}

/// Draws `table`, unless it is empty.
fn one(
    environment: &Environment,
    out: &Path,
    kind: &str,
    name: &str,
    table: &str,
    titles: &str,
) -> Result<Option<String>> {
    if table.is_empty() {
        return Ok(None);
    }
    let (text, image) = (out.join(format!("{name}.tsv")), format!("{name}.png"));
    fs::write(&text, table).with_context(|| format!("cannot write {}", text.display()))?;
    let script = project::root().join("rust/xtask/src/bench/plot.C");
    let path = out.join(&image);
    let call =
        format!("{}(\"{kind}\", \"{}\", \"{}\", \"{titles}\")", script.display(), text.display(), path.display());
    step(&format!("drawing {image}"), environment.root_exe().args(["-l", "-b", "-q", &call]))?;
    Ok(Some(image))
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

/// Times and the floor against what `axis` varies.
fn curves(records: &[&Record], axis: &str) -> String {
    let mut table = String::new();
    let mut floor = String::new();
    for record in records {
        let Some(x) = record.case.strip_prefix(axis).and_then(|case| position(axis, case)) else { continue };
        let _ = writeln!(table, "{}\t{x}\t\t{}", record.who, record.median_s);
        if let Some(seconds) = record.floor_s.filter(|_| record.who == OURS) {
            let _ = writeln!(floor, "floor\t{x}\t\t{seconds}");
        }
    }
    table + &floor
}

/// Where `28-64-64-1/256` lies on `axis`.
fn position(axis: &str, case: &str) -> Option<usize> {
    let (sizes, batch) = case.split_once('/')?;
    match axis {
        "batch:" => batch.parse().ok(),
        "width:" => sizes.split('-').nth(1)?.parse().ok(),
        _ => sizes.split('-').count().checked_sub(2),
    }
}

#[cfg(test)]
mod tests {
    use super::position;

    #[test]
    fn cases_lie_on_their_axis() {
        assert_eq!(position("batch:", "28-64-64-1/32"), Some(32));
        assert_eq!(position("width:", "28-64-64-1/32"), Some(64));
        assert_eq!(position("depth:", "28-64-64-1/32"), Some(2));
    }
}
