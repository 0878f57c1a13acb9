//! Files of PyTorch with a part in the place of another: checksums of the whole would refuse almost every damage.

use cladtorch::torch_file::archive_of;
use support::zip;

/// A sound file, and the end of the name of the record that is replaced.
pub struct Whole {
    bytes: &'static [u8],
    record: &'static str,
}

/// The first byte of an input says which of these has the rest as its record; none: the rest is the file.
#[allow(dead_code)] // Each target uses one of them.
pub const WEIGHTS: [Whole; 1] =
    [Whole { bytes: include_bytes!("../../data/pytorch/normalised_weights.pt"), record: "/data.pkl" }];
#[allow(dead_code)]
pub const NETWORKS: [Whole; 3] = [
    Whole { bytes: include_bytes!("../../data/pytorch/normalised.pt2"), record: "models/model.json" },
    Whole { bytes: include_bytes!("../../data/pytorch/normalised.pt"), record: "/data.pkl" },
    Whole { bytes: include_bytes!("../../data/pytorch/normalised.pt"), record: ".py" },
];

/// The file that an input stands for.
#[allow(dead_code)] // The corpus goes the other way.
pub fn whole(wholes: &[Whole], input: &[u8]) -> Vec<u8> {
    let Some((&which, rest)) = input.split_first() else { return Vec::new() };
    let Some(whole) = wholes.get(usize::from(which)) else { return rest.to_vec() };
    let mut records = zip::zip_of(whole.bytes);
    records
        .iter_mut()
        .filter(|(name, _)| name.ends_with(whole.record))
        .for_each(|(_, content)| *content = rest.to_vec());
    archive_of(&records).unwrap_or_default()
}

/// The inputs that stand for the sound files: by their parts, and as they are.
#[allow(dead_code)] // The targets go the other way.
pub fn inputs(wholes: &[Whole]) -> Vec<Vec<u8>> {
    let mut inputs = Vec::new();
    for (which, whole) in (0..).zip(wholes) {
        inputs.push([&[u8::MAX], whole.bytes].concat());
        let records = zip::zip_of(whole.bytes);
        let parts = records.iter().filter(|(name, _)| name.ends_with(whole.record));
        inputs.extend(parts.map(|(_, content)| [&[which], &content[..]].concat()));
    }
    inputs
}
