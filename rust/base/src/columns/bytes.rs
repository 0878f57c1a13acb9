//! ROOT's serialised objects, big-endian: numbers, strings, headers with versions, pointers to objects.
//!
//! Every length comes from the file and is compared with the bytes that exist. Errors state the fault, the caller adds
//! the place.

use std::collections::HashMap;

/// A fault in some bytes.
pub type Result<T, E = String> = std::result::Result<T, E>;

/// Set in a length that precedes a version.
const BYTE_COUNT: u32 = 1 << 30;
/// Marks a class whose name follows.
const NEW_CLASS: u32 = u32::MAX;
/// Set in a pointer that identifies a class by the place of its name.
const CLASS: u32 = 1 << 31;
/// Places are counted from 2, because 0 means no object.
const FIRST_PLACE: usize = 2;
/// Set in the bits of an object to which others refer; the number of a process follows.
const REFERENCED: u32 = 1 << 4;

/// Reads off the front of an object's bytes.
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Position of the first byte, as pointers count it: the length of the key before the object.
    origin: usize,
    classes: HashMap<usize, String>,
}

/// The header of an object: its version and its end.
pub struct Header {
    /// Version of the class's layout.
    pub version: u16,
    end: usize,
}

/// The target of a pointer.
pub enum Pointer {
    /// Nothing.
    Null,
    /// An object that was read before.
    Earlier,
    /// An object of this class, which follows and ends at `end`.
    New {
        /// Its class.
        class: String,
        /// To be passed to [`Cursor::leave`].
        end: usize,
    },
}

impl<'a> Cursor<'a> {
    /// A cursor on `bytes`, which begin `origin` bytes after the origin of pointers.
    pub fn new(bytes: &'a [u8], origin: usize) -> Self {
        Self { bytes, at: 0, origin, classes: HashMap::new() }
    }

    /// The remaining bytes.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next `length` bytes.
    pub fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let taken = self.bytes[self.at..].get(..length);
        let taken = taken.ok_or_else(|| format!("{length} bytes are expected where {} are left", self.remaining()))?;
        self.at += length;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    /// Two bytes.
    pub fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_be_bytes)
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// Four bytes.
    pub fn i32(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    /// Eight bytes.
    pub fn i64(&mut self) -> Result<i64> {
        self.array().map(i64::from_be_bytes)
    }

    /// Four bytes that state a count or a length.
    pub fn length(&mut self) -> Result<usize> {
        let length = self.i32()?;
        usize::try_from(length).map_err(|_| format!("a length is {length}"))
    }

    /// A position in the file, of four or (`wide`) eight bytes.
    pub fn seek(&mut self, wide: bool) -> Result<u64> {
        let seek = if wide { self.i64()? } else { self.i32()?.into() };
        u64::try_from(seek).map_err(|_| format!("a position is {seek}"))
    }

    /// `count` numbers of eight bytes.
    pub fn i64s(&mut self, count: usize) -> Result<Vec<i64>> {
        let (numbers, _) = self.take(count.saturating_mul(8))?.as_chunks();
        Ok(numbers.iter().map(|bytes| i64::from_be_bytes(*bytes)).collect())
    }

    /// `count` numbers of four bytes.
    pub fn i32s(&mut self, count: usize) -> Result<Vec<i32>> {
        let (numbers, _) = self.take(count.saturating_mul(4))?.as_chunks();
        Ok(numbers.iter().map(|bytes| i32::from_be_bytes(*bytes)).collect())
    }

    /// A `TString`: its length in one byte, or 255 and the length in four.
    pub fn text(&mut self) -> Result<&'a [u8]> {
        let length = match self.u8()? {
            255 => self.length()?,
            short => short.into(),
        };
        self.take(length)
    }

    /// The same as a string.
    pub fn string(&mut self) -> Result<String> {
        Ok(String::from_utf8_lossy(self.text()?).into_owned())
    }

    /// The name of a class, which ends with a zero.
    fn zero_terminated(&mut self) -> Result<String> {
        let length = self.bytes[self.at..].iter().position(|&byte| byte == 0).ok_or("a class's name does not end")?;
        let name = String::from_utf8_lossy(self.take(length)?).into_owned();
        self.u8()?;
        Ok(name)
    }

    /// The header of an object whose class has a version.
    pub fn header(&mut self) -> Result<Header> {
        let count = self.u32()?;
        let length = count.checked_sub(BYTE_COUNT).ok_or("an object does not say how long it is")? as usize;
        let end = self.end_after(length)?;
        Ok(Header { version: self.u16()?, end })
    }

    fn end_after(&self, length: usize) -> Result<usize> {
        let end = self.at.checked_add(length).filter(|&end| end <= self.bytes.len());
        end.ok_or_else(|| format!("an object claims {length} bytes where {} are left", self.remaining()))
    }

    /// Skips the rest of an object.
    pub fn skip_to_end_of(&mut self, header: &Header) -> Result<()> {
        self.leave(header.end)
    }

    /// Skips the rest of an object that ends at `end`.
    pub fn leave(&mut self, end: usize) -> Result<()> {
        if end < self.at {
            return Err(format!("an object is {} bytes longer than it says", self.at - end));
        }
        self.at = end;
        Ok(())
    }

    /// The bytes of an object after its header.
    pub fn body(&mut self) -> Result<&'a [u8]> {
        let header = self.header()?;
        self.take(header.end.saturating_sub(self.at))
    }

    /// The members of `TObject`, which has no byte count.
    fn skip_root_object(&mut self) -> Result<()> {
        self.u16()?; // version
        self.u32()?; // unique number
        if self.u32()? & REFERENCED != 0 {
            self.u16()?;
        }
        Ok(())
    }

    /// Name and title of a `TNamed`.
    pub fn named(&mut self) -> Result<(String, String)> {
        let header = self.header()?;
        self.skip_root_object()?;
        let named = (self.string()?, self.string()?);
        self.skip_to_end_of(&header)?;
        Ok(named)
    }

    /// A pointer to an object.
    pub fn pointer(&mut self) -> Result<Pointer> {
        let first = self.u32()?;
        if first & BYTE_COUNT == 0 || first == NEW_CLASS {
            return match first {
                0 => Ok(Pointer::Null),
                earlier if earlier & CLASS == 0 => Ok(Pointer::Earlier),
                _ => Err("an object does not say how long it is".to_owned()),
            };
        }
        let end = self.end_after((first & !BYTE_COUNT) as usize)?;
        let place = self.origin + self.at + FIRST_PLACE;
        let class = match self.u32()? {
            NEW_CLASS => {
                let name = self.zero_terminated()?;
                self.classes.insert(place, name.clone());
                name
            }
            known => {
                let place = (known & !CLASS) as usize;
                let name = self.classes.get(&place).filter(|_| known & CLASS != 0);
                name.ok_or_else(|| format!("an object is of a class that was named at {place}, where none was"))?
                    .clone()
            }
        };
        Ok(Pointer::New { class, end })
    }

    /// Calls `each` with every object of a `TObjArray`, and skips what it leaves unread.
    pub fn objects(&mut self, mut each: impl FnMut(&mut Self, &str) -> Result<()>) -> Result<()> {
        let header = self.header()?;
        self.skip_root_object()?;
        self.string()?; // name
        let count = self.length()?;
        self.i32()?; // number of the first
        for _ in 0..count {
            if let Pointer::New { class, end } = self.pointer()? {
                each(self, &class)?;
                self.leave(end)?;
            }
        }
        self.skip_to_end_of(&header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_have_one_or_five_bytes_of_length() {
        assert_eq!(Cursor::new(b"\x02ptx", 0).string().unwrap(), "pt");
        assert_eq!(Cursor::new(b"\xff\0\0\0\x02ptx", 0).string().unwrap(), "pt");
        assert!(Cursor::new(b"\xff\xff\xff\xff\xffpt", 0).string().unwrap_err().contains("length is -1"));
        assert!(Cursor::new(b"\x09pt", 0).string().unwrap_err().contains("9 bytes are expected where 2"));
    }

    #[test]
    fn objects_end_inside_what_holds_them() {
        assert_eq!(Cursor::new(b"\x40\0\0\x02\0\x05", 0).header().unwrap().version, 5);
        assert!(Cursor::new(b"\x40\0\0\x03\0\x05", 0).header().is_err());
        assert!(Cursor::new(b"\0\0\0\x02\0\x05", 0).header().is_err());
        let mut cursor = Cursor::new(b"\x40\0\0\x02\0\x05\0", 0);
        let header = cursor.header().unwrap();
        cursor.u8().unwrap();
        assert!(cursor.skip_to_end_of(&header).unwrap_err().contains("1 bytes longer"));
    }

    #[test]
    fn classes_are_named_once() {
        // A new class "A" at place 4 + 2 after an origin of 100, an object of it, a reference, nothing, an unknown class.
        let bytes = [
            &[0x40, 0, 0, 6, 255, 255, 255, 255, b'A', 0][..],
            &[0x40, 0, 0, 4, 0x80, 0, 0, 106],
            &[0, 0, 0, 9],
            &[0, 0, 0, 0],
            &[0x40, 0, 0, 4, 0x80, 0, 0, 107],
        ]
        .concat();
        let mut cursor = Cursor::new(&bytes, 100);
        for _ in 0..2 {
            assert!(matches!(cursor.pointer().unwrap(), Pointer::New { class, .. } if class == "A"));
        }
        assert!(matches!(cursor.pointer().unwrap(), Pointer::Earlier));
        assert!(matches!(cursor.pointer().unwrap(), Pointer::Null));
        assert!(cursor.pointer().is_err());
    }
}
