//! The user's cache of compiled functions and of C++ modules for ROOT's interpreter, in a folder that nobody else can
//! read. The key of an entry is the hash of everything that it was made from. A function appears whole or not at all,
//! so that processes can share the cache, and crash.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, process};

use sha2::{Digest, Sha256};

/// The most that the folder of functions may hold; the oldest are deleted first.
const SIZE_LIMIT: u64 = 256 << 20;

/// The file that a whole function has.
pub const LIBRARY: &str = "function.so";

/// Prefix of the names of work folders; those of functions are hexadecimal SHA-256.
const WORK: &str = "work-";
const KEY_LENGTH: usize = 64;

/// Work folders older than this were left by a crash.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// A folder of this user's, with a limit in bytes.
pub struct Cache {
    folder: PathBuf,
    limit: u64,
}

impl Cache {
    /// `$CLADTORCH_CACHE`, `$XDG_CACHE_HOME/cladtorch` or `~/.cache/cladtorch`, made with mode 0700 where it is missing.
    pub fn open() -> Result<Self, String> {
        let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        if let Some(folder) = absolute("CLADTORCH_CACHE") {
            return Self::at(&folder);
        }
        let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
        let folder =
            base.ok_or("none of CLADTORCH_CACHE, XDG_CACHE_HOME and HOME says where to keep compiled functions")?;
        Self::at(&folder.join("cladtorch"))
    }

    /// The cache in that folder.
    pub fn at(folder: &Path) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        let metadata = fs::symlink_metadata(folder).map_err(failed)?;
        let own = fs::metadata("/proc/self").map_err(failed)?.uid();
        if !metadata.is_dir() || metadata.uid() != own || metadata.permissions().mode() & 0o077 != 0 {
            return Err(format!("{} is not a folder that this user alone can use (mode 0700)", folder.display()));
        }
        Ok(Cache { folder: folder.to_owned(), limit: SIZE_LIMIT })
    }

    /// A cache of its own within this one, for things of another kind.
    pub fn within(&self, name: &str, limit: u64) -> Result<Self, String> {
        Ok(Cache { limit, ..Self::at(&self.folder.join(name))? })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The name of what is made from these texts.
    pub fn key(parts: &[&str]) -> String {
        let mut hash = Sha256::new();
        for part in parts {
            // Lengths keep one part's end apart from the next one's start.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The folder of a finished function.
    pub fn find(&self, key: &str) -> Option<PathBuf> {
        let folder = self.folder.join(key);
        folder.join(LIBRARY).is_file().then_some(folder)
    }

    /// A folder to work in, gone when it is dropped.
    pub fn work(&self) -> Result<Work, String> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Machines that share the folder have processes of the same number, but hardly at the same nanosecond.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let folder = self.folder.join(format!("{WORK}{}-{number}-{now}", process::id()));
        DirBuilder::new().mode(0o700).create(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Work(folder))
    }

    /// Makes the work folder the function `key`; where another process was faster, its function stays.
    pub fn publish(&self, work: &Work, key: &str) -> Result<PathBuf, String> {
        let folder = self.folder.join(key);
        if fs::rename(&work.0, &folder).is_err() && self.find(key).is_none() {
            // What is there is the rest of one that somebody was removing.
            self.remove(key);
            fs::rename(&work.0, &folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        self.shrink(key);
        Ok(folder)
    }

    /// Takes out a function that cannot be opened.
    pub fn remove(&self, key: &str) {
        let _ = fs::remove_dir_all(self.folder.join(key)); // Another process may have done it.
    }

    /// Removes the oldest entries beyond the limit but `keep`, and what crashes left; nothing that is not the cache's own, for the
    /// folder is the user's choice. Best effort: others work here too.
    pub fn shrink(&self, keep: &str) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let mut functions: Vec<(SystemTime, u64, PathBuf)> = entries
            .flatten()
            .filter(|entry| entry.file_name() != keep && entry.file_name().to_str().is_some_and(is_own))
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, size(&entry.path()), entry.path())))
            .collect();
        functions.sort();
        let mut total: u64 = functions.iter().map(|(_, size, _)| size).sum();
        for (time, size, path) in functions {
            let is_work = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(WORK));
            let is_abandoned = is_work && time.elapsed().is_ok_and(|age| age > ABANDONED);
            if is_abandoned || (!is_work && total > self.limit) {
                let _ = fs::remove_dir_all(&path);
                total -= size;
            }
        }
    }
}

/// Whether a folder of this name is a function or a work folder.
fn is_own(name: &str) -> bool {
    match name.strip_prefix(WORK) {
        Some(numbers) => numbers.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'),
        None => name.len() == KEY_LENGTH && name.bytes().all(|byte| byte.is_ascii_hexdigit()),
    }
}

/// Bytes of the files in a folder and in its folders; links are not followed.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = entries.filter_map(|entry| Some((entry.metadata().ok()?, entry.path())));
    bytes.map(|(about, path)| if about.is_dir() { size(&path) } else { about.len() }).sum()
}

/// A folder to work in.
pub struct Work(PathBuf);

impl Work {
    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.0
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0); // Renamed, if it was published.
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Publishes a function of `size` bytes, which take no room on the disk.
    fn publish(cache: &Cache, name: char, size: u64) -> PathBuf {
        let work = cache.work().unwrap();
        fs::File::create(work.folder().join(LIBRARY)).unwrap().set_len(size).unwrap();
        cache.publish(&work, &String::from(name).repeat(KEY_LENGTH)).unwrap()
    }

    #[test]
    fn only_functions_are_removed_and_the_oldest_first() {
        let home = tempfile::tempdir().unwrap();
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let thesis = home.path().join("work-of-years");
        fs::create_dir(&thesis).unwrap();
        fs::File::create(thesis.join("data")).unwrap().set_len(2 * SIZE_LIMIT).unwrap();
        let cache = Cache::at(home.path()).unwrap();
        let first = publish(&cache, 'a', SIZE_LIMIT / 2);
        std::thread::sleep(Duration::from_millis(20)); // The times of change tell them apart.
        let second = publish(&cache, 'b', SIZE_LIMIT / 2);
        std::thread::sleep(Duration::from_millis(20));
        let third = publish(&cache, 'c', SIZE_LIMIT / 4);
        assert!(first.exists() && second.exists(), "together they fit beside the newest");
        let fourth = publish(&cache, 'd', 1);
        assert!(!first.exists() && second.exists() && third.exists() && fourth.exists());
        assert!(thesis.join("data").exists());
    }

    #[test]
    fn the_rest_of_a_function_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(&folder.path().join("cache")).unwrap();
        let key = String::from('a').repeat(KEY_LENGTH);
        fs::create_dir(cache.folder.join(&key)).unwrap();
        fs::write(cache.folder.join(&key).join("function.cpp"), "").unwrap();
        assert_eq!(cache.find(&key), None);
        let published = publish(&cache, 'a', 1);
        assert_eq!(cache.find(&key), Some(published));
    }
}
