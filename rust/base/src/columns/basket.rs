//! The record of a basket in a file: a key (big-endian), the entries one after the other and, where they differ in
//! length, an array of their offsets. The layout is that of ROOT's `TKey` and `TBasket` streamers.

use super::bytes::{Cursor, Result};
use super::codec::Codecs;
use super::record;

/// Larger records are refused: ROOT's buffers end at 1 GiB.
pub const MOST_BYTES: usize = 1 << 30;

/// What a basket's key says. All sizes are in bytes and have been checked against one another.
#[derive(Debug, PartialEq, Eq)]
pub struct Key {
    /// Bytes of the key itself: the record's data begin after them.
    pub key_length: usize,
    /// Bytes of the data, uncompressed: entries and offsets.
    pub object_length: usize,
    /// Bytes of the entries.
    pub entries_length: usize,
    /// Entries in the basket.
    pub entries: usize,
    /// Bytes of an entry, if all have the same length.
    pub entry_length: usize,
}

impl Key {
    /// Reads the key of `record`, which is at `position` in its file.
    pub fn parse(record: &[u8], position: u64) -> Result<Key> {
        let mut cursor = Cursor::new(record, 0);
        let (header, names) = record::Key::parse(&mut cursor).map_err(in_key)?;
        if names.class != b"TBasket" {
            return Err("its key is not that of a basket".to_owned());
        }
        let [entry_length, entries, last] = own_members(&mut cursor).map_err(in_key)?;
        let record::Key { bytes, object: object_length, length: key_length, seek, .. } = header;
        let read = record.len() - cursor.remaining();
        if bytes != record.len() || seek != position {
            return Err(format!("its key is that of {bytes} bytes at {seek}"));
        }
        if key_length != read {
            return Err(format!("its key claims {key_length} bytes, but has {read}"));
        }
        if object_length > MOST_BYTES || object_length < bytes - key_length {
            return Err(format!("it claims {object_length} bytes, of which {} are stored", bytes - key_length));
        }
        let entries_length = last.checked_sub(key_length).filter(|&length| length <= object_length);
        let entries_length = entries_length.ok_or_else(|| format!("its entries end at byte {last}"))?;
        Ok(Key { key_length, object_length, entries_length, entries, entry_length })
    }

    /// Whether the data of `record`, in which this key was found, are not compressed.
    pub fn is_stored(&self, record: &[u8]) -> bool {
        record.len() - self.key_length == self.object_length
    }

    /// The data of `record`, in which this key was found: in place or, decompressed, in `scratch`.
    pub fn object<'a>(&self, record: &'a [u8], codecs: &mut Codecs, scratch: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        let stored = &record[self.key_length..];
        if self.is_stored(record) {
            return Ok(stored);
        }
        codecs.decompress(stored, self.object_length, scratch)
    }
}

fn in_key(what: String) -> String {
    format!("its key: {what}")
}

/// The fields that a basket adds to a key: bytes of an entry, entries, and the end of the last one in the record.
fn own_members(cursor: &mut Cursor) -> Result<[usize; 3]> {
    cursor.u16()?; // version of TBasket
    cursor.i32()?; // size of the buffer that wrote it
    let entry_length = cursor.i32()?;
    let entry_length = usize::try_from(entry_length)
        .map_err(|_| "the offsets are left out, a feature for which ROOT's reader is needed".to_owned())?;
    let members = [entry_length, cursor.length()?, cursor.length()?];
    cursor.u8()?; // 0: only the header follows here
    Ok(members)
}

/// The offsets after the entries of `object`: the beginning of each entry and the end of the last one, in `object`.
pub fn offsets(key: &Key, object: &[u8], into: &mut Vec<usize>) -> Result<()> {
    let mut cursor = Cursor::new(&object[key.entries_length..], 0);
    let count = cursor.length().map_err(|what| format!("its list of offsets: {what}"))?;
    let list = cursor.take(count.saturating_mul(4)).map_err(|what| format!("its list of offsets: {what}"))?;
    // ROOT's list may be one longer than the number of entries.
    let (list, _) = list.as_chunks();
    let Some(list) = list.get(..key.entries) else {
        return Err(format!("it has {count} offsets for {} entries", key.entries));
    };
    into.clear();
    into.try_reserve(key.entries + 1).map_err(|_| format!("there is no memory for {count} offsets"))?;
    // A place before the entries becomes one far after their end.
    let begin = |bytes: &[u8; 4]| (i32::from_be_bytes(*bytes) as usize).wrapping_sub(key.key_length);
    into.extend(list.iter().map(begin));
    into.push(key.entries_length);
    // Without an early exit, so that many are compared at a time.
    if into.windows(2).fold(true, |rising, ends| rising & (ends[0] <= ends[1])) {
        return Ok(());
    }
    let wrong = into.windows(2).position(|ends| ends[0] > ends[1]).unwrap_or_default();
    Err(format!("entry {wrong} does not end behind its beginning at byte {}", i32::from_be_bytes(list[wrong])))
}
