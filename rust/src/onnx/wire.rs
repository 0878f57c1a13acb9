//! The wire format of protocol buffers, as protobuf.dev/programming-guides/encoding has it, to write and to read.

use crate::error::{Error, Result};

/// A message that is being written.
#[derive(Clone, Default)]
pub struct Message(Vec<u8>);

/// Kinds of a field's value.
const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;
const FIXED32: u64 = 5;

impl Message {
    /// The bytes of the whole message.
    pub fn bytes(self) -> Vec<u8> {
        self.0
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// With an integer; negative ones have ten bytes.
    pub fn integer(mut self, field: u64, value: i64) -> Self {
        self.varint(field << 3 | VARINT);
        self.varint(value as u64);
        self
    }

    /// With a float.
    pub fn float(mut self, field: u64, value: f32) -> Self {
        self.varint(field << 3 | FIXED32);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// With bytes.
    pub fn raw(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | BYTES);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// With a text.
    pub fn text(self, field: u64, text: &str) -> Self {
        self.raw(field, text.as_bytes())
    }

    /// With a message.
    pub fn message(self, field: u64, message: &Message) -> Self {
        self.raw(field, &message.0)
    }

    /// With several, in one repeated field.
    pub fn messages(self, field: u64, messages: &[Message]) -> Self {
        messages.iter().fold(self, |all, message| all.message(field, message))
    }
}

/// A field's value. Nothing is copied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Field<'a> {
    /// An integer, as two's complement where it is signed.
    Varint(u64),
    /// Eight bytes.
    Fixed64([u8; 8]),
    /// Bytes, a text, a message, or several numbers.
    Bytes(&'a [u8]),
    /// Four bytes.
    Fixed32([u8; 4]),
}

/// The fields of a message that is read, with their numbers.
pub struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// Fields of the message with these bytes.
    pub fn of(bytes: &'a [u8]) -> Self {
        Fields(bytes)
    }

    fn take(&mut self, count: u64) -> Result<&'a [u8]> {
        let parts = usize::try_from(count).ok().and_then(|count| self.0.split_at_checked(count));
        let (own, rest) = parts.ok_or_else(|| damaged("a field ends behind its message"))?;
        self.0 = rest;
        Ok(own)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.take(N as u64)?;
        bytes.try_into().map_err(|_| damaged("a field ends behind its message"))
    }

    fn field(&mut self) -> Result<(u64, Field<'a>)> {
        let key = varint(&mut self.0)?;
        let value = match key & 7 {
            VARINT => Field::Varint(varint(&mut self.0)?),
            FIXED64 => Field::Fixed64(self.array()?),
            BYTES => {
                let length = varint(&mut self.0)?;
                Field::Bytes(self.take(length)?)
            }
            FIXED32 => Field::Fixed32(self.array()?),
            kind => return Err(damaged(&format!("a field of kind {kind}"))),
        };
        Ok((key >> 3, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Field<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

/// Takes an integer from the front.
fn varint(bytes: &mut &[u8]) -> Result<u64> {
    let mut value = 0u64;
    for shift in (0..70).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or_else(|| damaged("an integer ends behind its message"))?;
        *bytes = rest;
        if shift == 63 && *byte > 1 {
            break;
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(damaged("an integer of more than 64 bits"))
}

impl<'a> Field<'a> {
    /// As bytes.
    pub fn bytes(self) -> Result<&'a [u8]> {
        if let Field::Bytes(bytes) = self { Ok(bytes) } else { Err(damaged("a number in place of bytes")) }
    }

    /// As text.
    pub fn text(self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|_| damaged("a text that is not UTF-8"))
    }

    /// As an integer.
    pub fn integer(self) -> Result<i64> {
        if let Field::Varint(value) = self { Ok(value as i64) } else { Err(damaged("no integer where one belongs")) }
    }

    /// As a float.
    pub fn float(self) -> Result<f32> {
        if let Field::Fixed32(bytes) = self {
            Ok(f32::from_le_bytes(bytes))
        } else {
            Err(damaged("no float where one belongs"))
        }
    }

    /// Adds the integers of a repeated field, one or several at once.
    pub fn add_integers(self, to: &mut Vec<i64>) -> Result<()> {
        let Field::Bytes(mut packed) = self else {
            to.push(self.integer()?);
            return Ok(());
        };
        while !packed.is_empty() {
            to.push(varint(&mut packed)? as i64);
        }
        Ok(())
    }

    /// The same for floats.
    pub fn add_floats(self, to: &mut Vec<f32>) -> Result<()> {
        let Field::Bytes(packed) = self else {
            to.push(self.float()?);
            return Ok(());
        };
        let (words, []) = packed.as_chunks::<4>() else { return Err(damaged("floats with bytes left over")) };
        to.extend(words.iter().map(|word| f32::from_le_bytes(*word)));
        Ok(())
    }

    /// The same for doubles.
    pub fn add_doubles(self, to: &mut Vec<f64>) -> Result<()> {
        match self {
            Field::Fixed64(word) => to.push(f64::from_le_bytes(word)),
            _ => {
                let (words, []) = self.bytes()?.as_chunks::<8>() else {
                    return Err(damaged("doubles with bytes left over"));
                };
                to.extend(words.iter().map(|word| f64::from_le_bytes(*word)));
            }
        }
        Ok(())
    }
}

/// The error that the bytes are none of a message.
pub fn damaged(what: &str) -> Error {
    Error::invalid(format!("damaged, or no ONNX file: {what}"), "export it again")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of protobuf's description of its encoding.
    #[test]
    fn messages_have_the_bytes_of_the_specification() {
        assert_eq!(Message::default().integer(1, 150).bytes(), [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().text(2, "testing").bytes(), *b"\x12\x07testing");
        let inner = Message::default().integer(1, 150);
        assert_eq!(Message::default().message(3, &inner).bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        let negative = Message::default().integer(1, -2).bytes();
        assert_eq!(negative, [0x08, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
        assert_eq!(Message::default().float(2, 1.0).bytes(), [0x15, 0, 0, 0x80, 0x3f]);
    }

    #[test]
    fn what_was_written_is_read() {
        let inner = Message::default().integer(1, -3);
        let bytes = Message::default().integer(1, i64::MIN).text(2, "ü").float(3, 0.5).message(4, &inner).bytes();
        let fields: Vec<_> = Fields::of(&bytes).collect::<Result<_>>().unwrap();
        assert_eq!(fields[0].1.integer().unwrap(), i64::MIN);
        assert_eq!(fields[1].1.text().unwrap(), "ü");
        assert_eq!(fields[2].1.float().unwrap(), 0.5);
        let nested: Vec<_> = Fields::of(fields[3].1.bytes().unwrap()).collect::<Result<_>>().unwrap();
        assert_eq!((nested[0].0, nested[0].1.integer().unwrap()), (1, -3));
        assert_eq!(fields.iter().map(|field| field.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
        let mut list = Vec::new();
        Field::Bytes(&[3, 0x8e, 0x02, 0x9e, 0xa7, 0x05]).add_integers(&mut list).unwrap();
        assert_eq!(list, [3, 270, 86942]); // the specification's example of a packed field
    }

    #[test]
    fn damaged_bytes_are_refused() {
        for bytes in [&[0x08][..], &[0x0a, 5, 1], &[0x0b], &[0x0d, 1, 2], &[0x09, 1], &[0xff; 11]] {
            assert!(Fields::of(bytes).any(|field| field.is_err()), "{bytes:?}");
        }
        let long = [[0x08].as_slice(), &[0xff; 9], &[2]].concat(); // 65 bits
        assert!(Fields::of(&long).any(|field| field.is_err()));
    }
}
