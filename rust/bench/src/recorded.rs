//! The results of runs in a folder of groups: `FOLDER/GROUP/GROUP.json` and `meta.json`, or `error.txt` with the reason
//! for a failure.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::de::DeserializeOwned;

use super::case::Group;
use super::machine::Meta;
use super::record::Outcome;

/// A run of a group, as far as it came.
pub struct Recorded {
    pub group: &'static Group,
    pub run: Option<(Meta, Outcome)>,
    /// Why it did not finish.
    pub error: Option<String>,
}

const META: &str = "meta.json";
const ERROR: &str = "error.txt";

/// Writes the results of a run into the group's `folder`.
pub fn write(folder: &Path, group: &Group, meta: &Meta, outcome: &Outcome) -> Result<()> {
    write_json(&folder.join(records(group)), &outcome.records)?;
    write_json(&folder.join(META), meta)
}

/// Writes why a run did not finish.
pub fn write_error(folder: &Path, reason: &str) -> Result<()> {
    let path = folder.join(ERROR);
    fs::write(&path, format!("{reason}\n")).with_context(|| format!("cannot write {}", path.display()))
}

/// Removes the files of an earlier run.
pub fn clear(folder: &Path, group: &Group) -> Result<()> {
    for name in [&records(group), META, ERROR] {
        match fs::remove_file(folder.join(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {}", folder.join(name).display()));
            }
            _ => (),
        }
    }
    Ok(())
}

/// The run of `group` in `folder`, the folder of all groups.
pub fn read(folder: &Path, group: &'static Group) -> Result<Recorded> {
    let own = folder.join(group.name);
    let error = text(&own.join(ERROR))?.map(|reason| reason.trim().to_owned());
    let both = json::<Meta>(&own.join(META))?.zip(json(&own.join(records(group)))?);
    let run = both.map(|(meta, records)| {
        let (skipped, rates) = (meta.skipped.clone(), meta.sgemm_rates.clone());
        (meta, Outcome { records, skipped, rates })
    });
    Ok(Recorded { group, run, error })
}

fn records(group: &Group) -> String {
    format!("{}.json", group.name)
}

/// The file's text; `None` if there is no file.
fn text(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

fn json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let parse = |text: String| {
        serde_json::from_str(&text).with_context(|| format!("{} is none of this program's records", path.display()))
    };
    text(path)?.map(parse).transpose()
}

fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
}
