//! Files of tensors with a JSON text that holds the SHA-256 of the whole file in which its 64 digits are zeros: a file that
//! differs in any byte from what was written is refused.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::tensor_file::{self, Elements, Packed, Tensor, TensorFile};

/// Under which the text stands in the file's metadata.
pub(crate) const KEY: &str = "cladtorch";
/// In the place of the checksum while it is computed.
pub(crate) const NO_CHECKSUM: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Writes a file of `tensors` whose description is `header`, whose field `sha256` is [`NO_CHECKSUM`]: whole or not at all.
pub(crate) fn write(path: &Path, header: &impl Serialize, tensors: &[Tensor<Elements>]) -> Result<()> {
    let text = serde_json::to_string(header).map_err(|error| Error::Internal(error.to_string()))?;
    let mut header = tensor_file::header(tensors, (KEY, text))?;
    let failed = |error| Error::io(path, error);
    let mut checksum = Sha256::new_with_prefix(&header);
    for tensor in tensors {
        let add = |bytes: &[u8]| {
            checksum.update(bytes);
            Ok(())
        };
        tensor_file::pieces(tensor.values, add).map_err(failed)?;
    }
    let place = checksum_place(&header, NO_CHECKSUM).ok_or_else(|| Error::Internal("no checksum".to_owned()))?;
    header[place].copy_from_slice(digits(checksum).as_bytes());
    tensor_file::write(path, &header, tensors)
}

/// The expected checksum of a file.
pub(crate) struct Checksum {
    expected: String,
    /// As far as the first tensor.
    beginning: Sha256,
}

impl Checksum {
    /// For a file with this header before its tensors, in which the digits are `expected`.
    pub(crate) fn new(expected: &str, header: &[u8]) -> Result<Self> {
        if expected.len() != NO_CHECKSUM.len() {
            return Err(Error::invalid("it has no checksum: fit and save the model again with this CladTorch", ""));
        }
        let place = checksum_place(header, expected);
        let place = place.ok_or_else(|| Error::invalid("damaged: its checksum is not where it belongs", ""))?;
        let mut without = header.to_vec();
        without[place].copy_from_slice(NO_CHECKSUM.as_bytes());
        Ok(Checksum { expected: expected.to_owned(), beginning: Sha256::new_with_prefix(without) })
    }

    /// Goes through all of `file`, without memory for its tensors, and refuses it unless it is as it was written.
    pub(crate) fn scan(&self, file: &mut TensorFile) -> Result<()> {
        let mut found = self.beginning.clone();
        file.scan(|bytes| found.update(bytes))?;
        self.check(found)
    }

    /// Reads all tensors of `file`, and refuses them unless they are those that were written.
    pub(crate) fn read(&self, file: &mut TensorFile, tensors: Vec<Tensor<&mut [f32]>>) -> Result<()> {
        let mut found = self.beginning.clone();
        file.read(tensors, |bytes| found.update(bytes))?;
        self.check(found)
    }

    /// The same for tensors of any type and size, with as much memory as the file has bytes.
    pub(crate) fn read_all(&self, file: &mut TensorFile) -> Result<HashMap<String, Tensor<Packed>>> {
        let mut found = self.beginning.clone();
        let tensors = file.read_all(|bytes| found.update(bytes))?;
        self.check(found)?;
        Ok(tensors)
    }

    fn check(&self, found: Sha256) -> Result<()> {
        match digits(found) == self.expected {
            true => Ok(()),
            false => Err(Error::invalid("damaged: it is not as it was saved (its checksum differs)", "")),
        }
    }
}

/// Hexadecimal.
pub(super) fn digits(checksum: Sha256) -> String {
    checksum.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Where the digits of `checksum` lie in a file's header; none if not at exactly one place.
fn checksum_place(header: &[u8], checksum: &str) -> Option<Range<usize>> {
    // A JSON text as a string in another.
    let entry = format!(r#"\"sha256\":\"{checksum}\""#);
    let mut places = header.windows(entry.len()).enumerate().filter(|(_, bytes)| *bytes == entry.as_bytes());
    let (place, None) = (places.next()?.0, places.next()) else { return None };
    let first = place + entry.len() - 2 - checksum.len();
    Some(first..first + checksum.len())
}
