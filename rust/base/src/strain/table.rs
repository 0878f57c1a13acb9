//! Strain of one or several detectors as a tree of the stretches that all of them have.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

use oxyroot::WriterTree;

use super::Strain;
use crate::atomic_file;
use crate::error::{Error, Result};
use crate::rootfile::{LARGEST_ROOT_FILE, write_tree};

/// Windows of a series, in s.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    /// Length of each.
    pub length: f64,
    /// Distance between the beginnings of two windows.
    pub stride: f64,
}

/// Strain of detectors at the same times.
pub struct StrainTable {
    rate: f64,
    /// GPS time of sample 0, s.
    origin: f64,
    /// Strain by detector name.
    detectors: BTreeMap<String, Vec<Piece>>,
    /// Stretches of samples that are taken.
    stretches: Vec<Range<usize>>,
    /// Whether only good seconds are taken.
    only_good: bool,
}

/// Strain without a gap.
struct Piece {
    /// Number of the first sample.
    first: usize,
    values: Vec<f64>,
    /// Samples of good seconds, in order; neighbours are joined.
    good: Vec<Range<usize>>,
}

/// Samples at which entries of a tree begin.
struct Entries {
    begins: Vec<usize>,
    /// Samples per entry; none: an entry is one sample of the series.
    length: Option<usize>,
}

impl StrainTable {
    /// Joins the contents of `strains`. The seconds taken are those in which all detectors have data of the quality
    /// `required` (see [`Strain::good`]), or, without `only_good`, any data.
    pub fn new(strains: Vec<Strain>, required: &[String], only_good: bool) -> Result<Self> {
        let Some(first) = strains.first() else {
            return Err(Error::invalid("no file of strain is given", "name one or more"));
        };
        let (rate, origin) = (first.rate, strains.iter().map(|each| each.start).fold(f64::INFINITY, f64::min));
        let mut detectors: BTreeMap<String, Vec<Piece>> = BTreeMap::new();
        let mut sorted = strains;
        sorted.sort_by(|a, b| a.start.total_cmp(&b.start));
        for strain in sorted {
            let first = first_sample(&strain, rate, origin)?;
            let good = good_samples(&strain, first, required)?;
            let pieces = detectors.entry(strain.detector.clone()).or_default();
            append(pieces, strain, first, good)?;
        }
        let mut stretches: Option<Vec<Range<usize>>> = None;
        for pieces in detectors.values() {
            let own: Vec<_> = pieces.iter().flat_map(|piece| piece.taken(only_good)).collect();
            stretches = Some(stretches.map_or_else(|| own.clone(), |others| common(&others, &own)));
        }
        Ok(Self { rate, origin, detectors, stretches: stretches.unwrap_or_default(), only_good })
    }

    /// Total length of the stretches in seconds.
    pub fn seconds(&self) -> f64 {
        self.stretches.iter().map(|stretch| stretch.len()).sum::<usize>() as f64 / self.rate
    }

    /// Writes a tree `strain` to `path`, whole or not at all: `gps`, the time of the (first) sample, s, and a column
    /// for each detector: one number per sample, or a list of the samples of each of the `windows`. If bad seconds are
    /// taken, `good` is 1 for entries without one. Returns the number of entries.
    pub fn write(self, path: &Path, windows: Option<Windows>) -> Result<usize> {
        if path.extension().is_none_or(|ending| ending != "root") {
            let what = format!("{} does not end in .root", path.display());
            return Err(Error::invalid(what, "strain is written to ROOT files only"));
        }
        let entries = Rc::new(self.entries(windows)?);
        let (count, columns) = (entries.begins.len(), self.detectors.len());
        if count == 0 {
            return Err(Error::invalid(
                format!("of {} s that may be taken, none makes an entry", self.seconds()),
                "require less of the data's quality, give shorter windows, or files in which the detectors overlap",
            ));
        }
        let numbers = entries.length.unwrap_or(1).checked_mul(columns).and_then(|of_one| count.checked_mul(of_one + 2));
        if numbers.is_none_or(|numbers| numbers > LARGEST_ROOT_FILE / size_of::<f64>()) {
            let what = format!("{count} entries are more than can be written to one ROOT file here");
            return Err(Error::invalid(what, "give fewer files at a time, or a longer stride"));
        }
        let table = Rc::new(self);
        atomic_file::replace(path, |new| write_tree(new, path, "strain", |tree| table.add_branches(&entries, tree)))?;
        Ok(count)
    }

    fn entries(&self, windows: Option<Windows>) -> Result<Entries> {
        let Some(windows) = windows else {
            return Ok(Entries { begins: self.stretches.iter().cloned().flatten().collect(), length: None });
        };
        let length = samples("length of the windows", windows.length, self.rate)?;
        let stride = samples("stride of the windows", windows.stride, self.rate)?;
        let begins = self.stretches.iter().flat_map(|stretch| {
            let last = (stretch.end + 1).saturating_sub(length).max(stretch.start);
            (stretch.start..last).step_by(stride)
        });
        Ok(Entries { begins: begins.collect(), length: Some(length) })
    }

    fn add_branches(self: &Rc<Self>, entries: &Rc<Entries>, tree: &mut WriterTree) {
        let numbers = || 0..entries.begins.len();
        let (table, all) = (Rc::clone(self), Rc::clone(entries));
        tree.new_branch("gps", numbers().map(move |entry| table.origin + all.begins[entry] as f64 / table.rate));
        for name in self.detectors.keys() {
            let (table, all, detector) = (Rc::clone(self), Rc::clone(entries), name.clone());
            match entries.length {
                Some(length) => {
                    let window = move |begin: usize| table.samples(&detector, begin..begin + length).to_vec();
                    tree.new_branch(name, numbers().map(move |entry| window(all.begins[entry])));
                }
                None => {
                    let sample = move |at: usize| table.samples(&detector, at..at + 1)[0];
                    tree.new_branch(name, numbers().map(move |entry| sample(all.begins[entry])));
                }
            }
        }
        if !self.only_good {
            let (table, all) = (Rc::clone(self), Rc::clone(entries));
            let is_good = move |entry: usize| {
                let begin = all.begins[entry];
                i32::from(table.is_good(&(begin..begin + all.length.unwrap_or(1))))
            };
            tree.new_branch("good", numbers().map(is_good));
        }
    }

    /// The windows of samples that are in one stretch.
    fn samples(&self, detector: &str, samples: Range<usize>) -> &[f64] {
        let piece = self.piece(detector, samples.start);
        &piece.values[samples.start - piece.first..samples.end - piece.first]
    }

    fn is_good(&self, samples: &Range<usize>) -> bool {
        self.detectors.keys().all(|detector| {
            let good = &self.piece(detector, samples.start).good;
            let last = good.partition_point(|good| good.start <= samples.start).checked_sub(1);
            last.is_some_and(|last| samples.end <= good[last].end)
        })
    }

    /// The last piece that begins at or before a sample.
    fn piece(&self, detector: &str, sample: usize) -> &Piece {
        let pieces = &self.detectors[detector];
        &pieces[pieces.partition_point(|piece| piece.first <= sample) - 1]
    }
}

impl Piece {
    fn taken(&self, only_good: bool) -> Vec<Range<usize>> {
        match only_good {
            true => self.good.clone(),
            false => std::iter::once(self.first..self.first + self.values.len()).collect(),
        }
    }
}

/// The number of the first sample of `strain`, counted from the GPS time `origin`.
fn first_sample(strain: &Strain, rate: f64, origin: f64) -> Result<usize> {
    let wrong =
        |what: String| Error::invalid(format!("{}: {what}", strain.path.display()), "give files that fit together");
    if strain.rate != rate {
        return Err(wrong(format!("its sampling rate is {} Hz, that of the first file {rate} Hz", strain.rate)));
    }
    let sample = (strain.start - origin) * rate;
    match (sample - sample.round()).abs() < 1e-3 && sample < 2f64.powi(52) {
        true => Ok(sample.round() as usize),
        false => Err(wrong(format!("it begins {} s after the first one, no whole number of samples", sample / rate))),
    }
}

/// Samples of the good seconds of `strain`, which begins at sample `first`.
fn good_samples(strain: &Strain, first: usize, required: &[String]) -> Result<Vec<Range<usize>>> {
    let second = strain.samples_a_second();
    let mut good = Vec::new();
    for (number, is_good) in strain.good(required)?.into_iter().enumerate() {
        if is_good {
            let begin = first + number * second;
            join(&mut good, begin..begin + second);
        }
    }
    Ok(good)
}

/// Appends a range, joined with the last one if it continues that.
fn join(ranges: &mut Vec<Range<usize>>, next: Range<usize>) {
    match ranges.last_mut() {
        Some(last) if last.end == next.start => last.end = next.end,
        _ => ranges.push(next),
    }
}

/// Appends the strain of a file to its detector's earlier strain.
fn append(pieces: &mut Vec<Piece>, strain: Strain, first: usize, good: Vec<Range<usize>>) -> Result<()> {
    let end = pieces.last().map_or(0, |last| last.first + last.values.len());
    if first < end {
        let what = format!("{}: it repeats strain of {} from another file", strain.path.display(), strain.detector);
        return Err(Error::invalid(what, "give each stretch once"));
    }
    match pieces.last_mut() {
        Some(last) if first == end => {
            last.values.extend(strain.values);
            good.into_iter().for_each(|range| join(&mut last.good, range));
        }
        _ => pieces.push(Piece { first, values: strain.values, good }),
    }
    Ok(())
}

/// The ranges that both lists cover.
fn common(a: &[Range<usize>], b: &[Range<usize>]) -> Vec<Range<usize>> {
    let (mut found, mut i, mut j) = (Vec::new(), 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        let both = x.start.max(y.start)..x.end.min(y.end);
        if !both.is_empty() {
            found.push(both);
        }
        if x.end < y.end { i += 1 } else { j += 1 }
    }
    found
}

/// `seconds` as a number of samples, at least one.
fn samples(what: &str, seconds: f64, rate: f64) -> Result<usize> {
    let samples = seconds * rate;
    match (1.0..=2f64.powi(27)).contains(&samples) && (samples - samples.round()).abs() < 1e-6 * samples {
        true => Ok(samples.round() as usize),
        false => Err(Error::invalid(
            format!("the {what} is {seconds} s, {samples} samples"),
            format!("give a multiple of 1/{rate} s"),
        )),
    }
}
