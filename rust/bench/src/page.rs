//! One HTML file with the runs of all groups, which needs no other file.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::aims;
use super::case::Group;
use super::chart::escape;
use super::machine::Meta;
use super::means::geometric_mean;
use super::party::OURS;
use super::record::{Outcome, fastest_peer};
use super::recorded::{self, Recorded};
use super::report::Document;
use super::sections::{Block, Section};
use super::table::{Table, digits};

const STYLE: &str = include_str!("page.css");

/// Lines of a table that are shown without a click.
const SHORT: usize = 24;

const LEGEND: &str = "`fastest peer`: the geometric mean over the cases, on the fewest threads, of the time of the fastest \
peer over that of `cladtorch`, with the least and the greatest. `aims`: figures that CladTorch wants to reach, and how many of \
those that were measured it reached. `flagged`: parties whose work was not equal to that of the others. `skipped`: parties \
that took no part in a case.";

/// Writes `report.html` of the groups' runs in `folder`.
pub fn write(folder: &Path, groups: &'static [Group]) -> Result<()> {
    let runs: Vec<_> = groups.iter().map(|group| recorded::read(folder, group)).collect::<Result<_>>()?;
    let path = folder.join("report.html");
    fs::write(&path, html(&runs)).with_context(|| format!("cannot write {}", path.display()))?;
    println!("the report of all groups is {}", path.display());
    Ok(())
}

pub fn html(runs: &[Recorded]) -> String {
    let title = "CladTorch: benchmarks";
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<title>{title}</title>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<style>\n{STYLE}</style></head><body>\n\
         <h1>{title}</h1>\n"
    );
    text += &conditions(runs);
    text += &overview(runs);
    text += &paragraph(LEGEND);
    for run in runs.iter().filter(|run| run.run.is_some() || run.error.is_some()) {
        text += &group(run);
    }
    text + "</body></html>\n"
}

/// Machines, commits, and times of the runs.
fn conditions(runs: &[Recorded]) -> String {
    let metas: Vec<&Meta> = runs.iter().filter_map(|run| Some(&run.run.as_ref()?.0)).collect();
    let all = |said: &dyn Fn(&Meta) -> String| {
        let different: BTreeSet<_> = metas.iter().map(|meta| said(meta)).collect();
        escape(&different.into_iter().collect::<Vec<_>>().join("; "))
    };
    let dates: BTreeSet<_> = metas.iter().map(|meta| meta.date.as_str()).collect();
    let [first, last] = [dates.first(), dates.last()].map(|date| escape(date.unwrap_or(&"never")));
    format!(
        "<p>{}<br>\ncommit {}<br>\nfirst group begun {first}, last {last}</p>\n<p class=notes>Compare ratios, not seconds: your processor is another \
         one. All parties of a group take their turns in the same run.</p>\n",
        all(&|meta| format!("{}, {} cores", meta.cpu, meta.cores)),
        all(&|meta| meta.commit.clone()),
    )
}

/// A line for each group, with a link to its figures or the reason why there are none.
fn overview(runs: &[Recorded]) -> String {
    let heads = "<tr><th>group<th>what is measured<th class=n>cases<th class=n>fastest peer<th class=n>aims\
                 <th class=n>flagged<th class=n>skipped\n";
    let line = |run: &Recorded| {
        let Group { name, title, .. } = run.group;
        let title = escape(title);
        match (&run.run, &run.error) {
            (Some((_, outcome)), _) => {
                let cells: String = figures(run.group, outcome).concat();
                format!("<tr><td><a href=\"#{name}\">{name}</a><td class=text>{title}{cells}\n")
            }
            (None, Some(_)) => format!(
                "<tr><td><a href=\"#{name}\">{name}</a><td class=text>{title}<td class=bad colspan=5>did not end\n"
            ),
            (None, None) => format!("<tr><td>{name}<td class=text>{title}<td class=n colspan=5>not run\n"),
        }
    };
    format!("<div class=wide><table>\n{heads}{}</table></div>\n", runs.iter().map(line).collect::<String>())
}

/// Cells: cases, how many times as fast as the fastest peer, aims, flagged and skipped parties.
fn figures(group: &Group, outcome: &Outcome) -> [String; 5] {
    let records = &outcome.records;
    let cases: BTreeSet<_> = records.iter().map(|record| &record.case).collect();
    let threads = records.iter().map(|record| record.threads).min();
    let ours = records.iter().filter(|record| record.who == OURS && Some(record.threads) == threads);
    let ratio = |ours| Some(fastest_peer(records, ours)?.median_s / ours.median_s);
    let ratios: Vec<f64> = ours.filter_map(ratio).filter(|ratio| ratio.is_finite()).collect();
    let (least, most) = ratios.iter().fold((f64::INFINITY, 0.0f64), |(l, m), &ratio| (l.min(ratio), m.max(ratio)));
    let peer = match ratios.len() {
        0 => "-".to_owned(),
        1 => format!("{} x", digits(least)),
        _ => format!("{} x ({} to {})", digits(geometric_mean(&ratios)), digits(least), digits(most)),
    };
    let aims = match aims::reached(group.aims, records) {
        (_, 0) => "-".to_owned(),
        (reached, measured) => format!("{reached} of {measured}"),
    };
    let flagged = records.iter().filter(|record| record.flag.is_some()).count();
    let cell = |text: String| format!("<td class=n>{text}");
    let alarm = |number: usize| if number > 0 { format!("<td class=bad>{number}") } else { cell(number.to_string()) };
    [cell(cases.len().to_string()), cell(peer), cell(aims), alarm(flagged), cell(outcome.skipped.len().to_string())]
}

fn group(run: &Recorded) -> String {
    let Group { name, title, .. } = run.group;
    let mut text = format!("<h2 id=\"{name}\">{name}: {}</h2>\n", escape(title));
    if let Some(reason) = &run.error {
        text += &format!("<p><b class=bad>Did not come to its end:</b> {}</p>\n", escape(reason));
    }
    if let Some((meta, outcome)) = &run.run {
        let document = Document { group: run.group, meta, outcome };
        text += &document.sections().iter().map(section).collect::<String>();
    }
    text
}

/// Sections with a heading can be folded.
fn section(section: &Section) -> String {
    let blocks: String = section.blocks.iter().map(|block| html_of(block, section.heading.is_none())).collect();
    match section.heading {
        None => blocks,
        Some(heading) => format!("<details><summary>{}</summary>\n{blocks}</details>\n", escape(heading)),
    }
}

/// With `fold`, a long table is shown on a click.
fn html_of(block: &Block, fold: bool) -> String {
    match block {
        Block::Text(text) => paragraph(text),
        Block::Table(table) if fold && table.len() > SHORT => folded(table),
        Block::Table(table) => table.html(),
        Block::List(lines) => {
            let items: String = lines.iter().map(|line| format!("<li>{}\n", inline(line))).collect();
            format!("<ul class=notes>\n{items}</ul>\n")
        }
        Block::Chart(chart) => {
            format!("<figure>{}<figcaption>{}</figcaption></figure>\n", chart.svg(), escape(&chart.caption))
        }
    }
}

fn folded(table: &Table) -> String {
    format!("<details><summary>Table of {} lines</summary>\n{}</details>\n", table.len(), table.html())
}

fn paragraph(text: &str) -> String {
    format!("<p class=notes>{}</p>\n", inline(text))
}

/// Code between backticks.
fn inline(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts.map(|(i, part)| if i % 2 == 1 { format!("<code>{}</code>", escape(part)) } else { escape(part) }).collect()
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
