//! Archives of stored records, as PyTorch writes them.

/// Names and contents of the records of an archive of stored ones.
pub fn zip_of(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let number = |at: usize, size: usize| {
        bytes[at..at + size].iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte))
    };
    let mut at = bytes.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    let mut records = Vec::new();
    while &bytes[at..at + 4] == b"PK\x01\x02" {
        let (size, name, extra, header) =
            (number(at + 24, 4), number(at + 28, 2), number(at + 30, 2), number(at + 42, 4));
        let start = header + 30 + number(header + 26, 2) + number(header + 28, 2);
        let text = String::from_utf8(bytes[at + 46..][..name].to_vec()).unwrap();
        records.push((text, bytes[start..start + size].to_vec()));
        at += 46 + name + extra;
    }
    records
}
