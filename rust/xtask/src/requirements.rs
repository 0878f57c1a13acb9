//! The lock file `requirements.txt`: the packages to fetch, with the hashes of their wheels.

use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

const LOCK: &str = include_str!("../requirements.txt");

/// A group of packages that are fetched together, because users have all of it or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// CMake and Ninja.
    Tools,
    /// ROOT and NumPy.
    Root,
    /// LibTorch, as contained in PyTorch's wheel.
    Libtorch,
    /// The compiler of kernels for GPUs; only on request.
    Cuda,
}

impl Group {
    /// In the order of the lock file.
    pub const ALL: [Self; 4] = [Self::Tools, Self::Root, Self::Libtorch, Self::Cuda];

    /// Its name in the lock file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Root => "root",
            Self::Libtorch => "libtorch",
            Self::Cuda => "cuda",
        }
    }
}

/// One pinned package.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// The group with which it is fetched.
    pub group: Group,
    /// Its name in the package index.
    pub name: String,
    /// The only version that is fetched.
    pub version: String,
    /// SHA-256 of its wheels in hexadecimal, one of which fits this Python.
    pub hashes: Vec<String>,
}

impl Requirement {
    /// The requirement as pip reads it.
    pub fn to_pip(&self) -> String {
        let mut text = format!("{}=={}", self.name, self.version);
        for hash in &self.hashes {
            let _ = write!(text, " --hash=sha256:{hash}");
        }
        text
    }

    /// Its wheel in `folder`, if it exists and is whole.
    pub fn wheel_in(&self, folder: &Path) -> Result<Option<PathBuf>> {
        let stem = format!("{}-{}-", self.name.replace('-', "_").to_lowercase(), self.version);
        let entries = folder.read_dir().with_context(|| format!("cannot read {}", folder.display()))?;
        for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.to_lowercase().starts_with(&stem) && self.hashes.contains(&sha256(&path)?) {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }
}

/// A hash of this lock file's lines for `groups`; another hash makes an existing set-up stale. The last section counts
/// only for set-ups that requested it.
pub fn lock_hash(groups: &[Group]) -> String {
    let without = LOCK.split_once("\n# [cuda]").map_or(LOCK, |(others, _)| others);
    hexadecimal(&Sha256::digest(if groups.contains(&Group::Cuda) { LOCK } else { without }))
}

/// What `groups` need on CPython 3.`minor`.
pub fn select(groups: &[Group], minor: u32) -> Result<Vec<Requirement>> {
    Ok(parse(LOCK, minor)?.into_iter().filter(|requirement| groups.contains(&requirement.group)).collect())
}

fn parse(text: &str, minor: u32) -> Result<Vec<Requirement>> {
    let mut group = Group::Tools;
    let mut found = Vec::new();
    for line in text.replace("\\\n", " ").lines() {
        if let Some(section) = line.strip_prefix("# [").and_then(|rest| rest.strip_suffix(']')) {
            let known = Group::ALL.into_iter().find(|group| group.name() == section);
            group = known.with_context(|| format!("unknown section '{section}'"))?;
        } else if !line.is_empty() && !line.starts_with('#') {
            found.extend(parse_line(line, group, minor)?);
        }
    }
    Ok(found)
}

/// `name==version [; python_version OP "3.N"] --hash=sha256:…`; `None` where the marker excludes this Python.
fn parse_line(line: &str, group: Group, minor: u32) -> Result<Option<Requirement>> {
    let mut parts = line.split(" --hash=sha256:").map(str::trim);
    let head = parts.next().unwrap_or_default();
    let (package, marker) = head.split_once(';').unwrap_or((head, ""));
    let (name, version) = package.trim().split_once("==").with_context(|| format!("'{package}' is not pinned"))?;
    let hashes: Vec<_> = parts.map(str::to_owned).collect();
    if hashes.is_empty() {
        bail!("'{name}' has no hash");
    }
    let fits = marker_fits(marker.trim(), minor)?;
    Ok(fits.then(|| Requirement { group, name: name.to_owned(), version: version.to_owned(), hashes }))
}

fn marker_fits(marker: &str, minor: u32) -> Result<bool> {
    if marker.is_empty() {
        return Ok(true);
    }
    let unknown = || format!("marker '{marker}' is not understood");
    let rest = marker.strip_prefix("python_version ").with_context(unknown)?;
    let (operator, version) = rest.split_once(' ').with_context(unknown)?;
    let bound: u32 = version.trim_matches('"').strip_prefix("3.").with_context(unknown)?.parse()?;
    match operator {
        "<" => Ok(minor < bound),
        ">=" => Ok(minor >= bound),
        _ => bail!(unknown()),
    }
}

fn sha256(path: &Path) -> Result<String> {
    let mut hasher = Sha256::new();
    let mut file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    io::copy(&mut file, &mut HashWriter(&mut hasher)).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(hexadecimal(&hasher.finalize()))
}

/// Lets `io::copy` feed a hash.
struct HashWriter<'a>(&'a mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_python_gets_each_package_once() {
        for minor in 10..=14 {
            let of = |groups: &[Group]| {
                let mut names: Vec<_> = select(groups, minor).unwrap().into_iter().map(|found| found.name).collect();
                names.sort();
                names
            };
            let usual = ["ROOT", "cmake", "ninja", "numpy", "nvidia-cuda-cupti", "nvidia-cuda-runtime", "torch"];
            assert_eq!(of(&[Group::Tools, Group::Root, Group::Libtorch]), usual);
            assert_eq!(of(&[Group::Cuda]), ["nvidia-cuda-nvrtc"]);
        }
    }

    #[test]
    fn a_new_compiler_for_gpus_makes_stale_what_has_one() {
        let usual = [Group::Tools, Group::Root, Group::Libtorch];
        let without = LOCK.split_once("\n# [cuda]").unwrap().0;
        assert_eq!(lock_hash(&usual), hexadecimal(&Sha256::digest(without)));
        assert_eq!(lock_hash(&Group::ALL), hexadecimal(&Sha256::digest(LOCK)));
        assert!(!without.contains("nvrtc"));
    }

    #[test]
    fn markers_choose_by_python() {
        let text =
            "a==1 ; python_version < \"3.11\" --hash=sha256:00\na==2 ; python_version >= \"3.11\" --hash=sha256:11";
        assert_eq!(parse(text, 10).unwrap()[0].version, "1");
        assert_eq!(parse(text, 11).unwrap()[0].version, "2");
    }

    #[test]
    fn unpinned_or_unhashed_lines_are_refused() {
        assert!(parse("a>=1 --hash=sha256:00", 11).is_err());
        assert!(parse("a==1", 11).is_err());
        assert!(parse("a==1 ; sys_platform == \"linux\" --hash=sha256:00", 11).is_err());
    }

    #[test]
    fn a_cut_wheel_is_not_taken() {
        let folder = std::env::temp_dir().join(format!("cladtorch-wheels-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let wheel = folder.join("some_package-1.0-py3-none-any.whl");
        let requirement = Requirement {
            group: Group::Tools,
            name: "Some-Package".to_owned(),
            version: "1.0".to_owned(),
            hashes: vec![hexadecimal(&Sha256::digest(b"whole"))],
        };
        std::fs::write(&wheel, b"whol").unwrap();
        assert_eq!(requirement.wheel_in(&folder).unwrap(), None);
        std::fs::write(&wheel, b"whole").unwrap();
        assert_eq!(requirement.wheel_in(&folder).unwrap(), Some(wheel));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
