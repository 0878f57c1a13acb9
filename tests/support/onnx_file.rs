//! ONNX files, written message by message: fields by their numbers in `onnx.proto`.

#[derive(Clone, Default)]
pub struct Message(pub Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub fn integer(mut self, field: u64, value: i64) -> Self {
        self.varint(field << 3);
        self.varint(value as u64);
        self
    }

    fn float(mut self, field: u64, value: f32) -> Self {
        self.varint(field << 3 | 5);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    pub fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }
}

/// The value of an attribute.
#[derive(Clone)]
pub enum At {
    F(f32),
    I(i64),
    S(&'static str),
    L(Vec<i64>),
    Fs(Vec<f32>),
    Ss(Vec<&'static str>),
}

fn attribute(name: &str, value: &At) -> Message {
    let message = Message::default().text(1, name);
    match value {
        At::F(value) => message.float(2, *value).integer(20, 1),
        At::I(value) => message.integer(3, *value).integer(20, 2),
        At::S(text) => message.text(4, text).integer(20, 3),
        At::Fs(list) => list.iter().fold(message, |all, value| all.float(7, *value)).integer(20, 6),
        At::L(list) => list.iter().fold(message, |all, value| all.integer(8, *value)).integer(20, 7),
        At::Ss(list) => list.iter().fold(message, |all, text| all.text(9, text)).integer(20, 8),
    }
}

/// `Relu(x) -> y` with attributes, of a domain.
pub fn node_of(domain: &str, call: &str, attributes: &[(&str, At)]) -> Message {
    let (head, outputs) = call.split_once(" -> ").unwrap();
    let (operator, inputs) = head.trim_end_matches(')').split_once('(').unwrap();
    let message = inputs.split(", ").fold(Message::default(), |all, name| all.text(1, name));
    let message = outputs.split(", ").fold(message, |all, name| all.text(2, name));
    let message = message.text(4, operator).text(7, domain);
    attributes.iter().fold(message, |all, (name, value)| all.bytes(5, &attribute(name, value).0))
}

pub fn node(call: &str, attributes: &[(&str, At)]) -> Message {
    node_of("", call, attributes)
}

/// Numbers that look like a weight's.
pub fn weights(seed: usize, count: usize) -> Vec<f32> {
    (0..count).map(|at| ((seed * 37 + at * 13) as f32 * 0.7).sin() * 0.4).collect()
}

pub fn floats(name: &str, dims: &[i64], values: &[f32]) -> Message {
    let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let message = dims.iter().fold(Message::default(), |all, size| all.integer(1, *size));
    message.integer(2, 1).text(8, name).bytes(9, &raw)
}

pub fn weight(name: &str, dims: &[i64]) -> Message {
    floats(name, dims, &weights(name.len() + dims.len(), dims.iter().product::<i64>() as usize))
}

pub fn integers(name: &str, dims: &[i64], values: &[i64]) -> Message {
    let message = dims.iter().fold(Message::default(), |all, size| all.integer(1, *size));
    values.iter().fold(message.integer(2, 7).text(8, name), |all, value| all.integer(7, *value))
}

/// A float32 tensor; sizes of 0 mean any size.
pub fn info(name: &str, dims: &[i64]) -> Message {
    let dim = |size: &i64| match size {
        0 => Message::default().text(2, "any"),
        size => Message::default().integer(1, *size),
    };
    let shape = dims.iter().fold(Message::default(), |all, size| all.bytes(1, &dim(size).0));
    let tensor = Message::default().integer(1, 1).bytes(2, &shape.0);
    Message::default().text(1, name).bytes(2, &Message::default().bytes(1, &tensor.0).0)
}

/// A file of that opset.
pub fn file(opset: i64, nodes: &[Message], tensors: &[Message], inputs: &[Message], outputs: &[Message]) -> Vec<u8> {
    let graph = [(1, nodes), (5, tensors), (11, inputs), (12, outputs)]
        .into_iter()
        .fold(Message::default(), |all, (field, list)| {
            list.iter().fold(all, |all, message| all.bytes(field, &message.0))
        });
    let version = |domain: &str, version: i64| Message::default().text(1, domain).integer(2, version).0;
    let model = Message::default().integer(1, 8).bytes(7, &graph.0);
    model.bytes(8, &version("", opset)).bytes(8, &version("ai.onnx.ml", 3)).0
}
