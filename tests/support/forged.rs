//! Model files changed by one who knows the checksum.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Gives a damaged file the checksum that it has now, if its header still has a place for one.
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

/// The same with a part of the header replaced, which has to be there.
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
