//! The stamp inside `.deps/site-packages`: the lock file, Python and groups from which it was made.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::python::Python;
use crate::requirements::{Group, lock_hash};

#[derive(Clone, Debug, PartialEq)]
pub struct Stamp {
    pub lock: String,
    pub python: Python,
    pub groups: Vec<Group>,
}

impl Stamp {
    /// The stamp of a finished set-up in `site_packages`; `None` if there is none or it cannot be read.
    pub fn read(site_packages: &Path) -> Option<Self> {
        let text = fs::read_to_string(file(site_packages)).ok()?;
        let mut lines = text.lines();
        let lock = lines.next()?.strip_prefix("lock ")?.to_owned();
        let path = PathBuf::from(lines.next()?.strip_prefix("python ")?);
        let minor = lines.next()?.strip_prefix("minor ")?.parse().ok()?;
        let names: Vec<_> = lines.next()?.strip_prefix("groups ")?.split(' ').collect();
        let groups = Group::ALL.into_iter().filter(|group| names.contains(&group.name())).collect();
        Some(Self { lock, python: Python { path, minor }, groups })
    }

    pub fn write(&self, site_packages: &Path) -> Result<()> {
        let names: Vec<_> = self.groups.iter().map(|group| group.name()).collect();
        let (python, minor) = (self.python.path.display(), self.python.minor);
        let text = format!("lock {}\npython {python}\nminor {minor}\ngroups {}\n", self.lock, names.join(" "));
        let path = file(site_packages);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Whether nothing needs to be fetched for `groups`.
    pub fn covers(&self, groups: &[Group]) -> bool {
        self.lock == lock_hash(&self.groups)
            && self.python.path.exists()
            && groups.iter().all(|group| self.groups.contains(group))
    }
}

fn file(site_packages: &Path) -> PathBuf {
    site_packages.join("cladtorch-setup.txt")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_as_written_and_covers_what_it_names() {
        let folder = std::env::temp_dir().join(format!("cladtorch-stamp-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let python = Python { path: std::env::current_exe().unwrap(), minor: 12 };
        let groups = vec![Group::Tools, Group::Root];
        let stamp = Stamp { lock: lock_hash(&groups), python, groups };
        stamp.write(&folder).unwrap();
        let read = Stamp::read(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(read, stamp);
        assert!(read.covers(&[Group::Root]));
        assert!(!read.covers(&Group::ALL));
        assert!(!Stamp { lock: "another".to_owned(), ..read }.covers(&[]));
    }
}
