//! Debug symbols of a wheel's library and program, at the place where debuggers look for them:
//! `.build-id/AB/CDEF….debug` in a folder, by the build ID that the linker put into both.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::binary::{erase, places, private_folders};

/// An ELF note of the owner GNU, of type 3, with 20 bytes.
const NOTE: &[u8] = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0";
const ID_BYTES: usize = 20;

/// Moves the files in `folder` to their places there, without paths of this machine.
pub fn arrange(folder: &Path) -> Result<()> {
    let private = private_folders();
    for name in super::files(folder)? {
        let path = folder.join(&name);
        let mut bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let place = folder.join(place(&bytes).with_context(|| format!("{name} has no build ID"))?);
        erase(&mut bytes, &private);
        fs::create_dir_all(place.parent().unwrap_or(folder))?;
        fs::write(&place, bytes).with_context(|| format!("cannot write {}", place.display()))?;
        fs::remove_file(path)?;
    }
    Ok(())
}

/// The place where a debugger looks for the symbols of these bytes.
fn place(bytes: &[u8]) -> Option<PathBuf> {
    let start = places(bytes, NOTE).next()? + NOTE.len();
    let id: String = bytes.get(start..start + ID_BYTES)?.iter().map(|byte| format!("{byte:02x}")).collect();
    let (first, rest) = id.split_at(2);
    Some(Path::new(".build-id").join(first).join(format!("{rest}.debug")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_id_names_the_file() {
        let bytes = [b"\x7fELF".as_slice(), NOTE, &(0xab..0xab + 20).collect::<Vec<u8>>(), b"rest"].concat();
        let name = ".build-id/ab/acadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbe.debug";
        assert_eq!(place(&bytes).as_deref(), Some(Path::new(name)));
        assert_eq!(place(&bytes[..30]), None);
        assert_eq!(place(b"\x7fELF"), None);
    }
}
