//! The record of a basket in a file: a key (big-endian), the entries one after the other and, where they differ in
//! length, an array of their offsets. The layout is that of ROOT's `TKey` and `TBasket` streamers.

use super::codec::Codecs;

/// Larger records are refused: ROOT's buffers end at 1 GiB.
pub const MOST_BYTES: usize = 1 << 30;

/// Keys of files beyond 2 GiB, and those of all baskets, say so by adding this to their version.
const WIDE_KEY: i16 = 1000;

/// Reads big-endian numbers off the front of a slice.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let (head, tail) = self.0.split_first_chunk::<N>().ok_or("its key is cut short")?;
        self.0 = tail;
        Ok(*head)
    }

    fn u8(&mut self) -> Result<u8, String> {
        Ok(u8::from_be_bytes(self.bytes()?))
    }

    fn i16(&mut self) -> Result<i16, String> {
        Ok(i16::from_be_bytes(self.bytes()?))
    }

    fn i32(&mut self) -> Result<i32, String> {
        Ok(i32::from_be_bytes(self.bytes()?))
    }

    fn i64(&mut self) -> Result<i64, String> {
        Ok(i64::from_be_bytes(self.bytes()?))
    }

    /// A string with its length before it: one byte, or 255 and four bytes.
    fn string(&mut self) -> Result<&'a [u8], String> {
        let length = match self.u8()? {
            255 => size(self.i32()?, "a string of its key")?,
            short => usize::from(short),
        };
        let (head, tail) = self.0.split_at_checked(length).ok_or("a string of its key is cut short")?;
        self.0 = tail;
        Ok(head)
    }
}

fn size(value: i32, what: &str) -> Result<usize, String> {
    usize::try_from(value).map_err(|_| format!("{what} has size {value}"))
}

/// What a basket's key says. All sizes are in bytes and have been checked against one another.
#[derive(Debug, PartialEq, Eq)]
pub struct Key {
    /// Of the key itself: where the record's data begin.
    pub key_length: usize,
    /// Of the data, uncompressed: entries and offsets.
    pub object_length: usize,
    /// Of the entries.
    pub entries_length: usize,
    /// Entries in the basket.
    pub entries: usize,
    /// Bytes of an entry, where all have the same.
    pub entry_length: usize,
}

impl Key {
    /// Reads the key of `record`, which lies at `position` in its file.
    pub fn parse(record: &[u8], position: u64) -> Result<Key, String> {
        let mut cursor = Cursor(record);
        let bytes = size(cursor.i32()?, "the record")?;
        let version = cursor.i16()?;
        let object_length = size(cursor.i32()?, "the object")?;
        cursor.i32()?; // date
        let key_length = size(cursor.i16()?.into(), "the key")?;
        cursor.i16()?; // cycle
        let seek = if version > WIDE_KEY { cursor.i64()? } else { cursor.i32()?.into() };
        if version > WIDE_KEY {
            cursor.i64()?
        } else {
            cursor.i32()?.into()
        }; // the folder
        if cursor.string()? != b"TBasket" {
            return Err("its key is not that of a basket".to_owned());
        }
        cursor.string()?; // the branch
        cursor.string()?; // the tree
        cursor.i16()?; // version of TBasket
        cursor.i32()?; // size of the buffer that wrote it
        let entry_length = cursor.i32()?;
        if entry_length < 0 {
            return Err("its offsets are left out, a feature for which ROOT's reader is needed".to_owned());
        }
        let entries = size(cursor.i32()?, "the number of entries")?;
        let last = size(cursor.i32()?, "the end of its entries")?;
        cursor.u8()?; // 0: no more than the header follows here
        if bytes != record.len() || u64::try_from(seek) != Ok(position) {
            return Err(format!("its key is that of {bytes} bytes at {seek}"));
        }
        if key_length != record.len() - cursor.0.len() || key_length > bytes {
            return Err(format!("its key claims {key_length} bytes, but has {}", record.len() - cursor.0.len()));
        }
        if object_length > MOST_BYTES || object_length < bytes - key_length {
            return Err(format!("it claims {object_length} bytes, of which {} are stored", bytes - key_length));
        }
        let entries_length = last.checked_sub(key_length).filter(|&length| length <= object_length);
        let entries_length = entries_length.ok_or_else(|| format!("its entries end at byte {last}"))?;
        Ok(Key { key_length, object_length, entries_length, entries, entry_length: entry_length as usize })
    }

    /// The data of `record`, in which this key was found: as they lie there or, decompressed, in `scratch`.
    pub fn object<'a>(
        &self,
        record: &'a [u8],
        codecs: &mut Codecs,
        scratch: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], String> {
        let stored = &record[self.key_length..];
        if stored.len() == self.object_length {
            return Ok(stored);
        }
        codecs.decompress(stored, self.object_length, scratch)
    }
}

/// The offsets after the entries of `object`: where each entry begins and the last one ends, in `object`.
pub fn offsets(key: &Key, object: &[u8], into: &mut Vec<usize>) -> Result<(), String> {
    let mut cursor = Cursor(&object[key.entries_length..]);
    let missing = |_| "its offsets are missing".to_owned();
    let count = size(cursor.i32().map_err(missing)?, "its list of offsets")?;
    let list = cursor.0.get(..count.saturating_mul(4)).ok_or("its list of offsets is cut short")?;
    // ROOT's list may have one more than there are entries.
    if count < key.entries {
        return Err(format!("it has {count} offsets for {} entries", key.entries));
    }
    into.clear();
    into.try_reserve(key.entries + 1).map_err(|_| format!("there is no memory for {count} offsets"))?;
    let mut before = 0;
    for bytes in list.chunks_exact(4).take(key.entries) {
        let at = i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let start = usize::try_from(at).ok().and_then(|at| at.checked_sub(key.key_length));
        let start = start.filter(|start| (before..=key.entries_length).contains(start));
        before = start.ok_or_else(|| format!("an entry begins at byte {at}"))?;
        into.push(before);
    }
    into.push(key.entries_length);
    Ok(())
}
