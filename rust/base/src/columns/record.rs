//! Records of a file: a key, which states the kind and length of the object that follows, and that object, usually
//! compressed.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::bytes::{Cursor, Result};
use super::codec::Codecs;

/// Added to the version of keys with positions of eight bytes.
const WIDE: u16 = 1000;
/// Lists and trees that claim more than this are refused, bytes.
const LARGEST: usize = 256 << 20;

/// The fields of a key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Bytes of the record.
    pub bytes: usize,
    /// Bytes of the object, uncompressed.
    pub object: usize,
    /// Bytes of the key.
    pub length: usize,
    /// Increases when an object is written again under its name.
    pub cycle: u16,
    /// Where the record begins.
    pub seek: u64,
}

/// The names of a key's object.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// Its class.
    pub class: &'a [u8],
    /// Its own name.
    pub name: &'a [u8],
}

impl Key {
    /// Reads a key at the front.
    pub fn parse<'a>(cursor: &mut Cursor<'a>) -> Result<(Self, Names<'a>)> {
        let bytes = cursor.length()?;
        let wide = cursor.u16()? > WIDE;
        let object = cursor.length()?;
        cursor.u32()?; // date
        let length = usize::from(cursor.u16()?);
        let cycle = cursor.u16()?;
        let seek = cursor.seek(wide)?;
        cursor.seek(wide)?; // the folder
        let names = Names { class: cursor.text()?, name: cursor.text()? };
        cursor.text()?; // title
        Ok((Self { bytes, object, length, cycle, seek }, names))
    }

    /// The object that the key leads to, in a file of `size` bytes.
    pub fn object(&self, file: &File, size: u64) -> Result<Vec<u8>> {
        let stored = self.bytes.checked_sub(self.length).ok_or("a record is shorter than its key")?;
        if self.object > LARGEST || stored > self.object {
            return Err(format!("it claims {} bytes, of which {stored} are stored", self.object));
        }
        let object = read(file, size, self.seek + self.length as u64, stored)?;
        if stored == self.object {
            return Ok(object);
        }
        let mut into = Vec::new();
        Codecs::default().decompress(&object, self.object, &mut into)?;
        Ok(into)
    }
}

/// `length` bytes from `position` on of a file of `size` bytes.
pub fn read(file: &File, size: u64, position: u64, length: usize) -> Result<Vec<u8>> {
    if position.checked_add(length as u64).is_none_or(|end| end > size) {
        return Err(format!("{length} bytes at {position} lie beyond the end of the file, {size} bytes"));
    }
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, position).map_err(|error| error.to_string())?;
    Ok(bytes)
}
