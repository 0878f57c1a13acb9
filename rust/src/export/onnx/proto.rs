//! Protocol buffers, as far as ONNX files need them: the wire format of protobuf.dev/programming-guides/encoding, and the messages
//! of `onnx.proto` (ONNX 1.12, IR version 8) by their field numbers.
//!
//! Written by hand: the twenty fields below are a page, a generated schema with its library would be two crates and 2 000 lines.

/// A message that is being written.
#[derive(Clone, Default)]
pub struct Message(Vec<u8>);

/// Kinds of a field's value.
const VARINT: u64 = 0;
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
    fn float(mut self, field: u64, value: f32) -> Self {
        self.varint(field << 3 | FIXED32);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// With bytes.
    fn raw(mut self, field: u64, bytes: &[u8]) -> Self {
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

/// The value of an operator's attribute.
#[derive(Clone, Debug)]
pub enum Attribute {
    Float(f32),
    Integer(i64),
    Integers(Vec<i64>),
}

/// `AttributeProto`.
fn attribute(name: &str, value: &Attribute) -> Message {
    let message = Message::default().text(1, name);
    match value {
        Attribute::Float(value) => message.float(2, *value).integer(20, 1),
        Attribute::Integer(value) => message.integer(3, *value).integer(20, 2),
        Attribute::Integers(list) => list.iter().fold(message, |all, value| all.integer(8, *value)).integer(20, 7),
    }
}

/// `NodeProto`.
pub fn node(name: &str, operator: &str, inputs: &[&str], output: &str, attributes: &[(&str, Attribute)]) -> Message {
    let message = inputs.iter().fold(Message::default(), |all, input| all.text(1, input));
    let message = message.text(2, output).text(3, name).text(4, operator);
    attributes.iter().fold(message, |all, (name, value)| all.message(5, &attribute(name, value)))
}

/// The elements of a tensor.
pub enum Elements<'a> {
    Floats(&'a [f32]),
    Integers(&'a [i64]),
    Bools(&'a [bool]),
}

/// `TensorProto`.
pub fn tensor(name: &str, dims: &[usize], elements: &Elements) -> Message {
    let (dtype, bytes): (i64, Vec<u8>) = match elements {
        Elements::Floats(values) => (1, values.iter().flat_map(|value| value.to_le_bytes()).collect()),
        Elements::Integers(values) => (7, values.iter().flat_map(|value| value.to_le_bytes()).collect()),
        Elements::Bools(values) => (9, values.iter().map(|&value| u8::from(value)).collect()),
    };
    let message = dims.iter().fold(Message::default(), |all, &size| all.integer(1, size as i64));
    message.integer(2, dtype).text(8, name).raw(9, &bytes)
}

/// `ValueInfoProto` of float32 numbers [`rows`, width].
pub fn rows_of_floats(name: &str, rows: &str, width: usize, about: &str) -> Message {
    let rows = Message::default().text(2, rows);
    let shape = Message::default().message(1, &rows).message(1, &Message::default().integer(1, width as i64));
    let tensor = Message::default().integer(1, 1).message(2, &shape);
    Message::default().text(1, name).message(2, &Message::default().message(1, &tensor)).text(3, about)
}

/// `StringStringEntryProto`.
pub fn entry(key: &str, value: &str) -> Message {
    Message::default().text(1, key).text(2, value)
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
}
