//! A zip archive of records in one folder, stored or deflated; every size and checksum is checked.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use libdeflater::{Decompressor, crc32};

use crate::error::{Error, Result};
use crate::text;

/// The pickled number with which PyTorch's files began before they were archives.
const LEGACY: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";
const LOCAL: [u8; 4] = *b"PK\x03\x04";
const CENTRAL: [u8; 4] = *b"PK\x01\x02";
const END: [u8; 4] = *b"PK\x05\x06";
const END64: [u8; 4] = *b"PK\x06\x06";
const LOCATOR64: [u8; 4] = *b"PK\x06\x07";
/// Bytes of these without names, comments and extra fields.
const LOCAL_BYTES: usize = 30;
const CENTRAL_BYTES: usize = 46;
const END_BYTES: usize = 22;
const END64_BYTES: usize = 56;
const LOCATOR64_BYTES: usize = 20;
/// Of the extra field with sizes of 64 bits.
const EXTRA64: u16 = 1;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// Bit of the flags: the record is encrypted.
const ENCRYPTED: u16 = 1;

/// Largest directory that is read, in bytes: about a million records.
const LONGEST_DIRECTORY: u64 = 1 << 26;
/// Total size of all deflated records, inflated: PyTorch deflates only source text, never numbers.
const MOST_DEFLATED: u64 = 1 << 26;

/// A record of an archive.
#[derive(Clone, Debug)]
pub struct Record {
    /// Name below the archive's folder: "data.pkl".
    pub name: String,
    /// Bytes of the record itself.
    pub size: u64,
    header: u64,
    start: u64,
    stored: u64,
    deflated: bool,
    checksum: u32,
}

/// An open archive whose directory agrees with the file.
pub struct Archive {
    path: PathBuf,
    file: File,
    records: Vec<Record>,
}

/// Whether the file at `path` begins like a zip archive.
pub fn is_archive(path: &Path) -> bool {
    begins_with(path, &LOCAL)
}

/// Whether it begins like weights that PyTorch wrote before version 1.6, as pickles without an archive.
pub fn is_legacy(path: &Path) -> bool {
    begins_with(path, LEGACY)
}

fn begins_with(path: &Path, expected: &[u8]) -> bool {
    let mut found = vec![0; expected.len()];
    // A pipe would wait for a writer.
    let is_file = fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    is_file && File::open(path).and_then(|mut file| file.read_exact(&mut found)).is_ok() && found == expected
}

impl Archive {
    /// Opens the file at `path`. Memory is allocated only for its directory, whose size is limited.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |error| Error::io(path, error);
        if !fs::metadata(path).map_err(failed)?.is_file() {
            return Err(Error::ModelFile { path: path.to_path_buf(), what: "not a file".into() });
        }
        let file = File::open(path).map_err(failed)?;
        let mut archive = Archive { path: path.to_path_buf(), file, records: Vec::new() };
        archive.read_directory()?;
        Ok(archive)
    }

    /// Records in the order of the directory.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The record of this name.
    pub fn record(&self, name: &str) -> Option<&Record> {
        self.records.iter().find(|record| record.name == name)
    }

    /// An error about this file.
    pub fn bad(&self, what: impl Into<String>) -> Error {
        Error::ModelFile { path: self.path.clone(), what: what.into() }
    }

    fn damaged(&self, what: &str) -> Error {
        self.bad(format!("no zip archive of PyTorch, or damaged ({what})"))
    }

    fn bytes(&mut self, start: u64, count: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        let read = self.file.seek(SeekFrom::Start(start)).and_then(|_| self.file.read_exact(&mut bytes));
        read.map_err(|error| Error::io(&self.path, error))?;
        Ok(bytes)
    }

    fn read_directory(&mut self) -> Result<()> {
        let size = self.file.metadata().map_err(|error| Error::io(&self.path, error))?.len();
        let (start, length, count) = self.find_directory(size)?;
        let directory = self.bytes(start, length)?;
        let (mut at, mut names, mut deflated) = (0, HashSet::new(), 0_u64);
        let mut folder = None;
        for _ in 0..count {
            let (mut record, end) = self.central(&directory, at)?;
            at = end;
            let (top, name) =
                record.name.split_once('/').ok_or_else(|| self.damaged("a record outside of its folder"))?;
            if *folder.get_or_insert_with(|| top.to_owned()) != top {
                return Err(self.damaged("records in two folders"));
            }
            record.name = name.to_owned();
            if !names.insert(record.name.clone()) {
                return Err(self.damaged(&format!("record {} is listed twice", text::name(&record.name))));
            }
            deflated = deflated.saturating_add(if record.deflated { record.size } else { 0 });
            if deflated > MOST_DEFLATED {
                return Err(self.bad(format!("its deflated records have more than {MOST_DEFLATED} bytes")));
            }
            self.records.push(record);
        }
        if at != directory.len() {
            return Err(self.damaged("its directory has another length"));
        }
        self.place(start)
    }

    /// Start, length and count of the records of the directory.
    fn find_directory(&mut self, size: u64) -> Result<(u64, usize, u64)> {
        // PyTorch writes no comment: the end record is at the end.
        let missing = |archive: &Self| {
            archive.damaged("its end is missing: the file was cut, or is none of PyTorch 1.6 or newer")
        };
        let end_at = size.checked_sub(END_BYTES as u64).ok_or_else(|| missing(self))?;
        let end = self.bytes(end_at, END_BYTES)?;
        if end[..4] != END {
            return Err(missing(self));
        }
        let (mut count, mut length, mut start) = (number(&end, 10, 2), number(&end, 12, 4), number(&end, 16, 4));
        let mut before = end_at;
        let locator = end_at.checked_sub(LOCATOR64_BYTES as u64);
        if let Some(locator_at) = locator {
            let locator = self.bytes(locator_at, LOCATOR64_BYTES)?;
            let end64_at = number(&locator, 8, 8);
            if locator[..4] == LOCATOR64 {
                if end64_at.checked_add(END64_BYTES as u64).is_none_or(|end| end > locator_at) {
                    return Err(self.damaged("its end is elsewhere"));
                }
                let end64 = self.bytes(end64_at, END64_BYTES)?;
                if end64[..4] != END64 {
                    return Err(self.damaged("its end is elsewhere"));
                }
                (count, length, start) = (number(&end64, 32, 8), number(&end64, 40, 8), number(&end64, 48, 8));
                before = end64_at;
            }
        }
        if start.checked_add(length) != Some(before) || length > LONGEST_DIRECTORY {
            return Err(self.damaged("its directory is elsewhere, or too long"));
        }
        if count > length / CENTRAL_BYTES as u64 {
            return Err(self.damaged("its directory is too short"));
        }
        Ok((start, length as usize, count))
    }

    /// The record that `directory` describes at `at`, and the place of the next description. The name includes the
    /// folder.
    fn central(&self, directory: &[u8], at: usize) -> Result<(Record, usize)> {
        let short = || self.damaged("its directory is too short");
        let fixed = directory.get(at..).and_then(|rest| rest.get(..CENTRAL_BYTES)).ok_or_else(short)?;
        if fixed[..4] != CENTRAL {
            return Err(self.damaged("its directory is no directory"));
        }
        let [name, extra, comment] = [28, 30, 32].map(|field| number(fixed, field, 2) as usize);
        let rest = directory[at + CENTRAL_BYTES..].get(..name + extra + comment).ok_or_else(short)?;
        let name_text = std::str::from_utf8(&rest[..name]).map_err(|_| self.damaged("a name is not UTF-8"))?;
        let shown = || text::name(name_text);
        let [flags, method] = [8, 10].map(|field| number(fixed, field, 2) as u16);
        if flags & ENCRYPTED != 0 || ![STORED, DEFLATED].contains(&method) {
            return Err(self.bad(format!("record {} is encrypted or compressed in an unknown way", shown())));
        }
        let mut sizes = [24, 20, 42].map(|field| number(fixed, field, 4));
        self.widen(&mut sizes, &rest[name..name + extra])?;
        let [size, stored, header] = sizes;
        let deflated = method == DEFLATED;
        if !deflated && size != stored {
            return Err(self.damaged(&format!("record {} has two sizes", shown())));
        }
        let checksum = number(fixed, 16, 4) as u32;
        let record = Record { name: name_text.to_owned(), size, header, start: 0, stored, deflated, checksum };
        Ok((record, at + CENTRAL_BYTES + rest.len()))
    }

    /// Replaces those of `sizes` that did not fit into 32 bits by those of the extra field.
    fn widen(&self, sizes: &mut [u64; 3], mut extra: &[u8]) -> Result<()> {
        let wide = u64::from(u32::MAX);
        while extra.len() >= 4 && sizes.contains(&wide) {
            let (id, length) = (number(extra, 0, 2) as u16, number(extra, 2, 2) as usize);
            let field = extra[4..].get(..length).ok_or_else(|| self.damaged("an extra field is cut"))?;
            if id == EXTRA64 {
                let mut found = field.chunks_exact(8).map(|bytes| number(bytes, 0, 8));
                for size in sizes.iter_mut().filter(|size| **size == wide) {
                    *size = found.next().ok_or_else(|| self.damaged("a size of 64 bits is missing"))?;
                }
                return Ok(());
            }
            extra = &extra[4 + length..];
        }
        Ok(())
    }

    /// Finds the records' bytes, which end before `end` and must not overlap.
    fn place(&mut self, end: u64) -> Result<()> {
        for index in 0..self.records.len() {
            let header = self.records[index].header;
            if header.checked_add(LOCAL_BYTES as u64).is_none_or(|start| start > end) {
                return Err(self.damaged("a record lies outside of the file"));
            }
            let local = self.bytes(header, LOCAL_BYTES)?;
            let record = &mut self.records[index];
            record.start = header + LOCAL_BYTES as u64 + number(&local, 26, 2) + number(&local, 28, 2);
            let inside = record.start.checked_add(record.stored).is_some_and(|last| last <= end);
            if local[..4] != LOCAL || !inside {
                let name = text::name(&record.name);
                return Err(self.damaged(&format!("record {name} lies outside of the file")));
            }
        }
        let mut places: Vec<_> =
            self.records.iter().map(|record| (record.header, record.start + record.stored)).collect();
        places.sort_unstable();
        match places.windows(2).all(|pair| pair[0].1 <= pair[1].0) {
            true => Ok(()),
            false => Err(self.damaged("records overlap")),
        }
    }

    /// The bytes of a record, whose number and checksum are checked.
    pub fn read(&mut self, record: &Record) -> Result<Vec<u8>> {
        let failed = |archive: &Self| archive.damaged(&format!("record {} has other bytes", text::name(&record.name)));
        // Both are limited: by the file, and by the limit on deflated records.
        let stored = self.bytes(record.start, usize::try_from(record.stored).map_err(|_| failed(self))?)?;
        let bytes = match record.deflated {
            false => stored,
            true => {
                let mut bytes = vec![0; record.size as usize];
                let inflated = Decompressor::new().deflate_decompress(&stored, &mut bytes);
                if inflated.is_ok_and(|count| count == bytes.len()) { bytes } else { return Err(failed(self)) }
            }
        };
        if crc32(&bytes) != record.checksum { Err(failed(self)) } else { Ok(bytes) }
    }
}

/// An archive of stored records, "folder/name" each.
pub fn archive_of(records: &[(String, Vec<u8>)]) -> Option<Vec<u8>> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in records {
        let (size, at, length) =
            (u32::try_from(content.len()).ok()?, u32::try_from(bytes.len()).ok()?, u16::try_from(name.len()).ok()?);
        // Version, flags, method, time and date are 0; then checksum, both sizes and the lengths of name and extra
        // field.
        let mut about = [0; 10].to_vec();
        about.extend(crc32(content).to_le_bytes());
        about.extend([size, size].map(u32::to_le_bytes).concat());
        about.extend([length, 0].map(u16::to_le_bytes).concat());
        bytes.extend([&LOCAL[..], &about, name.as_bytes(), content].concat());
        // Before them the version of the writer, after them comment, disk, attributes, place.
        directory.extend([&CENTRAL[..], &[0; 2], &about, &[0; 10], &at.to_le_bytes(), name.as_bytes()].concat());
    }
    let (count, length, start) =
        (u16::try_from(records.len()).ok()?, u32::try_from(directory.len()).ok()?, u32::try_from(bytes.len()).ok()?);
    bytes.extend(directory);
    bytes.extend([&END[..], &[0; 4], &[count, count].map(u16::to_le_bytes).concat()].concat());
    bytes.extend([[length, start].map(u32::to_le_bytes).concat(), vec![0; 2]].concat());
    Some(bytes)
}

/// The little-endian number of `count` bytes at `at`.
fn number(bytes: &[u8], at: usize, count: usize) -> u64 {
    bytes[at..at + count].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}
