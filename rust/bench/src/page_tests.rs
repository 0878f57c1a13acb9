//! The page of the records that runs left.

use std::fs;
use std::path::Path;

use super::super::record::Record;
use super::super::tests::record;
use super::super::{GROUPS, graph, operators, step, train};
use super::*;

const META: &str = r#"{
  "command": "cargo xtask bench train --rounds 3 --threads 1", "commit": "4e4dcc91aef3", "date": "2026-11-26 00:18 UTC",
  "cpu": "AMD EPYC (AVX-512)", "cores": 2, "load_before": "0.95 0.75 0.97", "load_after": "1.88 1.28 1.99",
  "versions": [["ROOT", "6.40.00"]], "environment": ["OMP_NUM_THREADS = threads"], "sgemm_rates": [[1, 9.5e10]],
  "skipped": [{"who": "pytorch-compile", "threads": 1, "case": null, "reason": "no <compiler> & no cache"}]
}"#;

/// Two networks; `pytorch-eager` disagrees once, and its time is unknown once.
const RECORDS: &str = r#"[
  {"case": "residual-mlp/256", "who": "cladtorch", "threads": 1, "median_s": 0.001, "low_s": 0.0009, "high_s": 0.0011,
   "rounds": 3, "first_s": 0.01, "check": 0.5, "check_before": 0.7},
  {"case": "residual-mlp/256", "who": "libtorch", "threads": 1, "median_s": 0.004, "low_s": 0.0039, "high_s": 0.0041,
   "rounds": 3, "first_s": 0.02, "check": 0.5, "check_before": 0.7},
  {"case": "residual-mlp/256", "who": "pytorch-eager", "threads": 1, "median_s": 0.003, "low_s": 0.002, "high_s": 0.004,
   "rounds": 3, "first_s": 0.02, "check": 0.6, "check_before": 0.7, "flag": "0.6 differs"},
  {"case": "transformer/256", "who": "cladtorch", "threads": 1, "median_s": 0.008, "low_s": 0.007, "high_s": 0.009,
   "rounds": 3, "first_s": 0.03, "check": 0.4, "check_before": 0.7},
  {"case": "transformer/256", "who": "libtorch", "threads": 1, "median_s": 0.008, "low_s": 0.007, "high_s": 0.009,
   "rounds": 3, "first_s": 0.03, "check": 0.4, "check_before": 0.7},
  {"case": "transformer/256", "who": "pytorch-eager", "threads": 1, "median_s": null, "low_s": null, "high_s": 0.0,
   "rounds": 0, "first_s": 0.03, "check": null}
]"#;

fn put(folder: &Path, group: &str, name: &str, text: &str) {
    fs::create_dir_all(folder.join(group)).unwrap();
    fs::write(folder.join(group).join(name), text).unwrap();
}

fn page(folder: &Path) -> String {
    write(folder, &GROUPS).unwrap();
    fs::read_to_string(folder.join("report.html")).unwrap()
}

/// Every element that must be closed is, in order.
fn assert_whole(page: &str) {
    const PAIRS: [&str; 12] =
        ["html", "head", "body", "style", "svg", "table", "details", "figure", "ul", "div", "text", "path"];
    let mut open = Vec::new();
    for tag in page.split('<').skip(1) {
        let name = tag.split([' ', '>', '\n']).next().unwrap_or_default();
        match name.strip_prefix('/') {
            Some(name) if PAIRS.contains(&name) => assert_eq!(open.pop(), Some(name), "at {tag:.60}"),
            _ if PAIRS.contains(&name) => open.push(name),
            _ => (),
        }
    }
    assert!(open.is_empty(), "{open:?}");
    let strange = ["NaN", "inf\"", "\"-inf"].iter().find(|word| page.contains(**word));
    assert_eq!(strange, None);
    assert!(!page.contains("src=") && !page.contains("href=\"http"), "the page stands alone");
}

#[test]
fn recorded_runs_become_one_page() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "train", "train.json", RECORDS);
    put(folder.path(), "train", "meta.json", META);
    put(folder.path(), "graph", "error.txt", "no clang-19 <here>\n");
    let page = page(folder.path());
    assert_whole(&page);
    for part in [
        "AMD EPYC (AVX-512), 2 cores",
        "commit 4e4dcc91aef3",
        "first group begun 2026-11-26 00:18 UTC, last 2026-11-26 00:18 UTC",
        // Two cases; libtorch is the fastest peer in both: for the other the work was not equal, or its time is
        // unknown.
        "<td class=n>2<td class=n>2.00 x (1.00 to 4.00)<td class=n>2 of 2<td class=bad>1<td class=n>1",
        "<td class=bad colspan=5>did not end",
        "no clang-19 &lt;here&gt;",
        "skipped: pytorch-compile, 1 thread(s): no &lt;compiler&gt; &amp; no cache",
        "<title>residual-mlp/256, libtorch: 4</title>",
        "<code>deep-sets</code>",
    ] {
        assert!(page.contains(part), "{part:?} is missing");
    }
    assert_eq!(page.matches("not run\n").count(), GROUPS.len() - 2);
}

#[test]
fn a_run_is_read_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "train", "train.json", RECORDS);
    put(folder.path(), "train", "meta.json", META);
    put(folder.path(), "train", "error.txt", "cut off");
    let read = || recorded::read(folder.path(), &train::GROUP).unwrap();
    let first = read();
    let (meta, outcome) = first.run.unwrap();
    assert_eq!((outcome.rates.len(), outcome.skipped.len(), first.error.as_deref()), (1, 1, Some("cut off")));
    assert!(outcome.records[5].median_s.is_nan() && outcome.records[5].check.is_nan());
    let own = folder.path().join("train");
    recorded::clear(&own, &train::GROUP).unwrap();
    let cleared = read();
    assert!(cleared.run.is_none() && cleared.error.is_none());
    recorded::write(&own, &train::GROUP, &meta, &outcome).unwrap();
    let (_, again) = read().run.unwrap();
    assert_eq!(again.records[..5], outcome.records[..5]);
    assert!(again.records[5].median_s.is_nan());
}

#[test]
fn records_of_another_program_are_named() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "step", "meta.json", META);
    put(folder.path(), "step", "step.json", "{\"case\": 1}");
    let error = format!("{:#}", recorded::read(folder.path(), &step::GROUP).err().unwrap());
    assert!(error.contains("step.json is none of this program's records"), "{error}");
}

/// As many as in the largest group: 95 operators in two ways and three sizes, on one and two threads.
#[test]
fn the_largest_groups_fit_into_a_file_to_attach() {
    let timed = |case: &str, who: &str, threads, median_s| Record {
        threads,
        median_s,
        low_s: 0.9 * median_s,
        high_s: 1.1 * median_s,
        check: 1.234_567,
        ..record(case, who)
    };
    let run = |group, cases: Vec<String>, parties: &[&str]| {
        let meta: Meta = serde_json::from_str(META).unwrap();
        let all = cases.iter().flat_map(|case| parties.iter().map(move |who| (case, who)));
        let both = all.flat_map(|(case, who)| [1, 2].map(|threads| timed(case, who, threads, 1.23e-5)));
        Recorded { group, run: Some((meta, Outcome { records: both.collect(), ..Outcome::default() })), error: None }
    };
    let cases = |kinds: usize, sizes: &[u32]| {
        let names =
            (0..kinds).flat_map(|kind| sizes.iter().map(move |size| format!("an operator {kind} forward/{size}")));
        names.collect::<Vec<_>>()
    };
    let page = html(&[
        run(&operators::GROUP, cases(190, &[256, 16_384, 1 << 20]), &[OURS, "libtorch"]),
        run(&graph::GROUP, cases(13, &[1, 32, 256, 4096]), &[OURS, "a", "b", "c", "d", "e", "f"]),
    ]);
    assert_whole(&page);
    assert!(page.contains("Table of 1140 lines"), "long tables are folded");
    assert!(page.len() < 2 << 20, "{} bytes", page.len());
}
