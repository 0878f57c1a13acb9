//! Model files, and JSON texts of other files, changed with valid checksums.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Gives a damaged file its present checksum, if its header still has a place for one.
pub fn resum(mut bytes: Vec<u8>) -> Vec<u8> {
    let key = br#"\"sha256\":\""#;
    let Some(at) = bytes.windows(key.len()).position(|window| window == key).map(|at| at + key.len()) else {
        return bytes;
    };
    if at + 64 <= bytes.len() {
        bytes[at..at + 64].fill(b'0');
        let digits: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        bytes[at..at + 64].copy_from_slice(digits.as_bytes());
    }
    bytes
}

/// The file with its header changed by `change`, and the right length and checksum.
pub fn with_header(whole: &[u8], change: impl FnOnce(&str) -> String) -> Vec<u8> {
    let length = u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
    let header = change(std::str::from_utf8(&whole[8..8 + length]).unwrap());
    resum([&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &whole[8 + length..]].concat())
}

/// The same with a part of the header replaced, which must exist.
pub fn replaced(whole: &[u8], from: &str, to: &str) -> Vec<u8> {
    with_header(whole, |header| {
        assert!(header.contains(from), "{from} in {header}");
        header.replace(from, to)
    })
}

/// The same for the description that is a text in the header.
pub fn with_description(whole: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    with_header(whole, |header| {
        let mut header: Value = serde_json::from_str(header).unwrap();
        let text = &mut header["__metadata__"]["cladtorch"];
        let mut description: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
        change(&mut description);
        *text = Value::String(description.to_string());
        header.to_string()
    })
}

/// Paths to the values in a JSON text.
fn places(value: &Value, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    found.push(path.clone());
    let children: Vec<(String, &Value)> = match value {
        Value::Array(list) => list.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        _ => Vec::new(),
    };
    for (key, child) in children {
        path.push(key);
        places(child, path, found);
        path.pop();
    }
}

fn at<'a>(value: &'a mut Value, path: &[String]) -> &'a mut Value {
    path.iter().fold(value, |value, key| match value {
        Value::Array(list) => &mut list[key.parse::<usize>().unwrap()],
        other => &mut other[key],
    })
}

/// Changes one to three values to hostile ones, or to others of the same text.
pub fn forge(description: &mut Value, random: &mut ChaCha8Rng) {
    for _ in 0..random.random_range(1..4) {
        let mut found = Vec::new();
        places(description, &mut Vec::new(), &mut found);
        let mut pick = || found[random.random_range(0..found.len())].clone();
        let (to, from) = (pick(), pick());
        let numbers = [0, 1, -1, 2, 3, 5, 7, 64, 1 << 16, 1 << 24, 1 << 31, 1 << 40, i64::MAX, i64::MIN];
        let number = numbers[random.random_range(0..numbers.len())];
        let old = at(description, &to).clone();
        let new = match random.random_range(0..14) {
            0..5 => json!(number),
            5 => old.as_i64().map_or(json!(number), |old| json!(old.wrapping_add(random.random_range(-2..3)))),
            6 => json!(u64::MAX),
            7 => json!(["1e400", "NaN", "-inf", "", "\u{1b}[31m", "none"][random.random_range(0..6)]),
            8 => json!(vec![number; random.random_range(0..70)]),
            9 => json!({"tensor": number}),
            10 => json!({"integers": [number, number]}),
            11 => Value::Null,
            _ => at(description, &from).clone(),
        };
        *at(description, &to) = new;
        if let (Value::Array(list), 0) = (&mut *at(description, &to), random.random_range(0..4)) {
            if list.is_empty() || random.random() {
                list.push(json!(number));
            } else {
                list.remove(random.random_range(0..list.len()));
            }
        }
        if !description.is_object() {
            return;
        }
    }
}
