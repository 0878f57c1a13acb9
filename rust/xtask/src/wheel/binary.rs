//! Programs and libraries of a wheel: removes paths of the build machine, and determines the tag of the systems they
//! run on.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use xtask::project;

/// Removes the build's paths from the binaries in `stage`; returns the platform tag, such as manylinux_2_34_x86_64 if
/// they need glibc 2.34.
pub fn finish(stage: &Path) -> Result<String> {
    let private = private_folders();
    let mut glibc = 17; // The oldest that such tags know.
    for name in super::files(stage)? {
        let path = stage.join(&name);
        let mut bytes = fs::read(&path)?;
        if bytes.starts_with(b"\x7fELF") {
            glibc = glibc.max(newest_glibc(&bytes));
            if erase(&mut bytes, &private) {
                fs::write(&path, &bytes).with_context(|| format!("cannot write {}", path.display()))?;
            }
        } else if erase(&mut bytes, &private) {
            bail!("{name} names a folder of this machine");
        }
    }
    Ok(format!("manylinux_2_{glibc}_{}", env::consts::ARCH))
}

/// Folders of this machine that compilers write into messages: of the sources, of fetched packages, of other crates.
pub fn private_folders() -> BTreeSet<PathBuf> {
    let home = env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo"));
    let cargo = env::var_os("CARGO_HOME").map(PathBuf::from);
    let given = [Some(project::root()), Some(project::deps()), cargo, home];
    let full = given.iter().flatten().filter_map(|folder| fs::canonicalize(folder).ok()).collect::<Vec<_>>();
    given.into_iter().flatten().chain(full).filter(|folder| folder.components().count() > 1).collect()
}

/// Overwrites the names of `folders`, alone and in paths below them, byte by byte: nothing moves. The compilers' own
/// options would have the same effect, but with them every crate and LibTorch's wrapper would be compiled again for the
/// wheel alone.
pub fn erase(bytes: &mut [u8], folders: &BTreeSet<PathBuf>) -> bool {
    let mut found = false;
    for folder in folders {
        let name = folder.display().to_string().into_bytes();
        let whole = |&place: &usize| matches!(bytes.get(place + name.len()), None | Some(b'/' | 0));
        let places: Vec<_> = places(bytes, &name).filter(whole).collect();
        for place in places {
            bytes[place + 1..place + name.len()].fill(b'-');
            found = true;
        }
    }
    found
}

/// The position of `text` in `bytes`.
pub fn places<'a>(bytes: &'a [u8], text: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let first = text[0];
    let candidates = bytes.iter().enumerate().filter(move |&(_, &byte)| byte == first);
    candidates.map(|(place, _)| place).filter(move |&place| bytes[place..].starts_with(text))
}

/// The N of the highest symbol version GLIBC_2.N that a binary requires.
fn newest_glibc(bytes: &[u8]) -> u32 {
    const VERSION: &[u8] = b"GLIBC_2.";
    let number = |place: usize| {
        let digits = bytes[place + VERSION.len()..].iter().take_while(|byte| byte.is_ascii_digit()).take(4);
        digits.fold(0, |number, byte| 10 * number + u32::from(byte - b'0'))
    };
    places(bytes, VERSION).map(number).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_overwritten_in_place_and_only_whole_folders() {
        let mut bytes = b"at /home/me/x/src.rs and /home/me/xy/src.rs\0/home/me/x\0/home/me/x/".to_vec();
        assert!(erase(&mut bytes, &BTreeSet::from([PathBuf::from("/home/me/x")])));
        assert_eq!(bytes, b"at /---------/src.rs and /home/me/xy/src.rs\0/---------\0/---------/");
        assert!(!erase(&mut bytes, &BTreeSet::from([PathBuf::from("/home/me/x")])));
    }

    #[test]
    fn the_newest_version_counts() {
        assert_eq!(newest_glibc(b"GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.4\0GLIBC_2.ABI_DT_RELR\0"), 34);
    }
}
