//! The contents of a file: its header and the keys of its folders.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;

use super::REMEDY;
use crate::columns::bytes::{Cursor, Result};
use crate::columns::record::{Key, read};

/// Bytes of the longest header that is needed.
const HEADER: usize = 64;
/// Files beyond 2 GiB add this to their version, and have positions of eight bytes.
const WIDE_FILE: i32 = 1_000_000;
/// Before this version, baskets did not record whether they are compressed.
const OLDEST: i32 = 30402;
/// Folders with positions of eight bytes add this to their version.
const WIDE_FOLDER: u16 = 1000;
/// Bytes of the longest description of a folder.
const FOLDER: usize = 42;
/// Deeper nesting of folders means a malicious file.
const DEEPEST: usize = 64;
/// A folder's list of keys that claims more bytes is refused.
const LONGEST_LIST: usize = 256 << 20;

/// Classes that hold a `TTree`.
const TREES: [&str; 3] = ["TTree", "TNtuple", "TNtupleD"];

/// Classes of RNTuples, today's name and that of the years before 6.34.
const RNTUPLES: [&str; 2] = ["ROOT::RNTuple", "ROOT::Experimental::RNTuple"];

/// The fields of a file's header.
pub struct Header {
    /// Position of the description of the file's own folder.
    root: u64,
    /// ROOT's number, 100 * algorithm + level.
    pub compression: i32,
}

/// A key of a tree.
pub struct Found {
    /// With the path of its folders before it: `run1/events`.
    pub name: String,
    /// `TTree` or a class whose data begin with one.
    pub class: String,
    /// Its newest cycle.
    pub key: Key,
}

/// The contents of a file, named with their folders.
#[derive(Default)]
pub struct Contents {
    /// The newest key of each name.
    pub trees: Vec<Found>,
    /// Names of RNTuples.
    pub rntuples: BTreeSet<String>,
    /// Names of everything else.
    pub others: BTreeSet<String>,
}

/// Everything that the keys of the file's folders refer to.
pub fn contents(file: &File, size: u64, header: &Header) -> Result<Contents> {
    let (seen, numbers) = (HashSet::new(), HashMap::new());
    let mut search = Search { file, size, seen, listed: 0, numbers, found: Contents::default() };
    search.folder(header.root, "", 0)?;
    Ok(search.found)
}

/// Why a file is not read, and the remedy.
pub struct Refusal {
    pub what: String,
    pub remedy: &'static str,
}

impl From<String> for Refusal {
    fn from(what: String) -> Self {
        Refusal { what, remedy: REMEDY }
    }
}

impl From<&str> for Refusal {
    fn from(what: &str) -> Self {
        what.to_owned().into()
    }
}

/// Reads the header.
pub fn header(file: &File, size: u64) -> Result<Header, Refusal> {
    let header = read(file, size, 0, HEADER.min(size as usize))?;
    let mut cursor = Cursor::new(&header, 0);
    if cursor.take(4).ok() != Some(b"root") {
        let what = "it is not a ROOT file: those begin with the letters root".to_owned();
        return Err(Refusal { what, remedy: "check the name and how it was written or copied" });
    }
    let version = cursor.i32()?;
    let wide = version >= WIDE_FILE;
    if version % WIDE_FILE < OLDEST {
        return Err("it was written by a ROOT before 3.04".into());
    }
    let begin = cursor.length()?;
    let end = cursor.seek(wide)?;
    if end > size {
        let what = format!("it has {size} of its {end} bytes: it was cut short, or not closed");
        let remedy = "copy it again; of a file that was not closed ROOT recovers what it can, with TFile::Open(name, \"update\")";
        return Err(Refusal { what, remedy });
    }
    cursor.seek(wide)?; // free segments
    cursor.u32()?; // their bytes
    cursor.u32()?; // their number
    let root = begin.checked_add(cursor.length()?).ok_or("its folder lies nowhere")? as u64;
    cursor.u8()?; // bytes of a position
    Ok(Header { root, compression: cursor.i32()? })
}

struct Search<'a> {
    file: &'a File,
    size: u64,
    /// Folders that were visited.
    seen: HashSet<u64>,
    /// Bytes of the lists read so far: in a valid file they do not overlap.
    listed: u64,
    /// Places of the names in `found.trees`.
    numbers: HashMap<String, usize>,
    found: Contents,
}

impl Search<'_> {
    /// Adds the trees of the folder that is described at `position`.
    fn folder(&mut self, position: u64, path: &str, depth: usize) -> Result<()> {
        if depth > DEEPEST || !self.seen.insert(position) {
            return Err(format!("its folder '{path}' leads into itself, or too deep"));
        }
        for (key, class, name) in self.keys(position)? {
            let name = if path.is_empty() { name } else { format!("{path}/{name}") };
            if TREES.contains(&class.as_str()) {
                self.add(Found { name, class, key });
            } else if RNTUPLES.contains(&class.as_str()) {
                self.found.rntuples.insert(name);
            } else if ["TDirectoryFile", "TDirectory"].contains(&class.as_str()) {
                let description = key.seek.checked_add(key.length as u64).ok_or("a folder lies nowhere")?;
                self.folder(description, &name, depth + 1)?;
                self.found.others.insert(name);
            } else {
                self.found.others.insert(name);
            }
        }
        Ok(())
    }

    /// The last of several cycles counts.
    fn add(&mut self, found: Found) {
        let number = *self.numbers.entry(found.name.clone()).or_insert(self.found.trees.len());
        match self.found.trees.get_mut(number) {
            Some(known) if known.key.cycle < found.key.cycle => *known = found,
            Some(_) => (),
            None => self.found.trees.push(found),
        }
    }

    /// The keys of the folder that is described at `position`, with class and name.
    fn keys(&mut self, position: u64) -> Result<Vec<(Key, String, String)>> {
        let length = FOLDER.min(self.size.saturating_sub(position) as usize);
        let description = read(self.file, self.size, position, length)?;
        let mut cursor = Cursor::new(&description, 0);
        let wide = cursor.u16()? > WIDE_FOLDER;
        cursor.take(8)?; // dates
        let bytes = cursor.length()?;
        cursor.u32()?; // of the name
        cursor.seek(wide)?; // itself
        cursor.seek(wide)?; // the folder around it
        let list = cursor.seek(wide)?;
        if list == 0 {
            return Err(
                "it has no list of what it holds: it was not closed (opening it in ROOT recovers it)".to_owned()
            );
        }
        self.listed += bytes as u64;
        if bytes > LONGEST_LIST || self.listed > self.size {
            return Err(format!("the list of what it holds claims {bytes} bytes"));
        }
        let record = read(self.file, self.size, list, bytes)?;
        let mut cursor = Cursor::new(&record, 0);
        Key::parse(&mut cursor)?; // of the list itself
        let count = cursor.length()?;
        // A key has more than 16 bytes.
        if count > cursor.remaining() / 16 {
            return Err(format!("a list of {} bytes claims {count} keys", cursor.remaining()));
        }
        let owned = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
        let keys = (0..count).map(|_| Key::parse(&mut cursor));
        keys.map(|key| key.map(|(key, names)| (key, owned(names.class), owned(names.name)))).collect()
    }
}
