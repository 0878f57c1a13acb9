//! Files that appear whole or not at all: written in a hidden folder beside their place, made durable, renamed.
//!
//! The file at the path decides. A regular file is replaced, and its mode, owner and access list pass to the new one (a
//! hard link to it keeps the old contents); a symbolic link is followed; a device, a pipe, a socket, a folder and a
//! file without write permission are refused, for root as well.
//!
//! The hidden folder is readable only by its owner and holds a file that the writing process keeps locked (`flock`).
//! The next save into the same place removes every such folder of the same user whose lock is free: its process is
//! dead.

use std::fs::{self, DirBuilder, File, FileType, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Access, AtFlags, CWD, XattrFlags, accessat, fsetxattr, getxattr};
use rustix::io::Errno;

use crate::error::{Error, Result};

/// Ending of the names of hidden folders: `.cladtorch-PID-NUMBER.tmp`.
const PREFIX: &str = ".cladtorch-";
const SUFFIX: &str = ".tmp";
/// In a hidden folder, locked as long as its process writes. No saved file has this name.
const LOCK: &str = ".lock";
/// As many as Linux follows.
const MOST_LINKS: usize = 40;
/// Hidden folders that another process may take from us between their creation and the lock.
const MOST_ATTEMPTS: usize = 100;
/// The attribute that holds a file's access list, and the largest value that Linux keeps in one.
const ACCESS_LIST: &str = "system.posix_acl_access";
const LARGEST_ATTRIBUTE: usize = 1 << 16;

/// A file that is being written at [`path`](Self::path) until [`publish`](Self::publish) moves it to its place. If it
/// is dropped before that, the earlier file stays.
pub struct AtomicFile {
    /// Its final place; not a symbolic link.
    place: PathBuf,
    /// The file there now.
    old: Option<Metadata>,
    /// Its place until then: in the hidden folder.
    path: PathBuf,
    _hidden: HiddenFolder,
}

impl AtomicFile {
    /// Prepares to write the file at `path`, if it may be written.
    pub fn new(path: &Path) -> Result<Self> {
        let failed = |error| Error::io(path, error);
        let (Some(_), false) = (path.file_name(), path.as_os_str().as_bytes().ends_with(b"/")) else {
            return Err(Error::invalid(format!("\"{}\" names no file", path.display()), "give a file's path"));
        };
        let old = match fs::metadata(path) {
            Ok(about) => Some(about),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        let place = follow(path)?;
        if let Some(old) = &old {
            check(path, old)?;
            // As for a link in /proc to a file that was removed.
            if !place.exists() {
                let what = format!("{} has no file name", path.display());
                return Err(Error::invalid(what, "give a file's path"));
            }
        }
        let beside = folder(&place);
        if !beside.exists() {
            let what = format!("{} cannot be written: there is no folder {}", path.display(), beside.display());
            return Err(Error::invalid(what, "make the folder first, or choose another path"));
        }
        let hidden = HiddenFolder::new(beside).map_err(failed)?;
        let path = hidden.path.join(place.file_name().unwrap_or(path.as_os_str()));
        Ok(AtomicFile { place, old, path, _hidden: hidden })
    }

    /// Where to write it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the finished file in its place: fsync, rename, fsync of the folder. A crash leaves the old file or the new.
    pub fn publish(self) -> Result<()> {
        let failed = |error| Error::io(&self.place, error);
        let file = File::open(&self.path).map_err(failed)?;
        if let Some(old) = &self.old {
            self.inherit(&file, old)?;
        }
        file.sync_all().and_then(|()| fs::rename(&self.path, &self.place)).map_err(failed)?;
        match File::open(folder(&self.place)) {
            Ok(folder) => folder.sync_all().map_err(failed),
            // Some folders can be written to, but not read: the file is in place, and nothing more can be done.
            Err(_) => Ok(()),
        }
    }

    /// Gives the new `file` the owner, the mode and the access list of the `old` one.
    fn inherit(&self, file: &File, old: &Metadata) -> Result<()> {
        let failed = |error| Error::io(&self.place, error);
        let new = file.metadata().map_err(failed)?;
        if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
            fchown(file, Some(old.uid()), Some(old.gid())).map_err(|error| {
                let (uid, gid) = (old.uid(), old.gid());
                let what =
                    format!("{}: its owner (user {uid}, group {gid}) cannot be kept ({error})", self.place.display());
                Error::invalid(what, "remove the file first, or choose another name")
            })?;
        }
        file.set_permissions(Permissions::from_mode(old.mode() & 0o7777)).map_err(failed)?;
        let mut list = vec![0; LARGEST_ATTRIBUTE];
        // Most files have none, and many file systems do not support it.
        if let Ok(length) = getxattr(&self.place, ACCESS_LIST, &mut list[..]) {
            fsetxattr(file, ACCESS_LIST, &list[..length], XattrFlags::empty()).map_err(|error| failed(error.into()))?;
        }
        Ok(())
    }
}

/// Lets `write` make a file beside `path`, which then takes its place. A crash or an error leaves the earlier file.
pub fn replace(path: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let file = AtomicFile::new(path)?;
    write(file.path())?;
    file.publish()
}

/// The place that `path` refers to through symbolic links, whether or not there is a file.
fn follow(path: &Path) -> Result<PathBuf> {
    let mut place = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::symlink_metadata(&place) {
            Ok(about) if about.is_symlink() => {
                let link = fs::read_link(&place).map_err(|error| Error::io(path, error))?;
                place = folder(&place).join(link);
            }
            _ => return Ok(place),
        }
    }
    Err(Error::invalid(format!("{}: too many symbolic links", path.display()), "give the file's own path"))
}

/// Refuses to replace the file that `about` describes, unless it is a regular file with write permission.
fn check(path: &Path, about: &Metadata) -> Result<()> {
    let path_shown = path.display();
    if let Some(kind) = foreign_kind(about.file_type()) {
        return Err(Error::invalid(format!("{path_shown} is {kind}, which is not replaced"), "give a file's path"));
    }
    let owner_writes = about.mode() & 0o200 != 0;
    let refused = accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS);
    if !owner_writes || matches!(refused, Err(Errno::ACCESS | Errno::PERM | Errno::ROFS)) {
        let what = format!("{path_shown} is read-only (mode {:o}, user {})", about.mode() & 0o7777, about.uid());
        return Err(Error::invalid(what, "make it writable (chmod u+w), or choose another name"));
    }
    Ok(())
}

/// The kind of thing that is there instead of a regular file.
fn foreign_kind(kind: FileType) -> Option<&'static str> {
    match kind {
        _ if kind.is_file() => None,
        _ if kind.is_dir() => Some("a folder"),
        _ if kind.is_fifo() => Some("a named pipe"),
        _ if kind.is_socket() => Some("a socket"),
        _ if kind.is_char_device() || kind.is_block_device() => Some("a device"),
        _ => Some("no regular file"),
    }
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A folder for one file that is being written.
struct HiddenFolder {
    path: PathBuf,
    /// Locked until it is dropped, at the latest when the process ends.
    _lock: File,
}

impl HiddenFolder {
    /// Makes one in `beside`, after removing those that dead processes left there.
    fn new(beside: &Path) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        remove_abandoned(beside);
        for _ in 0..MOST_ATTEMPTS {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = beside.join(format!("{PREFIX}{}-{number}{SUFFIX}", process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
            if let Some(lock) = lock_new(&path)? {
                return Ok(HiddenFolder { path, _lock: lock });
            }
        }
        Err(io::Error::other(format!("no folder {PREFIX}*{SUFFIX} can be made and kept")))
    }
}

impl Drop for HiddenFolder {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Locks the new hidden folder at `path`. None: another process took it for abandoned before it was locked.
fn lock_new(path: &Path) -> io::Result<Option<File>> {
    let lock = match File::create_new(path.join(LOCK)) {
        Ok(lock) => lock,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::AlreadyExists) => return Ok(None),
        Err(error) => {
            remove(path);
            return Err(error);
        }
    };
    // If the file system has no locks, no process can take one either, and nothing is ever taken for abandoned.
    let taken = matches!(lock.try_lock(), Err(fs::TryLockError::WouldBlock));
    Ok((!taken && lock.metadata()?.nlink() > 0).then_some(lock))
}

/// Removes the hidden folders in `beside` whose processes are dead. A failure to remove one is not reported.
fn remove_abandoned(beside: &Path) {
    let Ok(entries) = fs::read_dir(beside) else { return };
    let user = rustix::process::geteuid().as_raw();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let hidden = name.to_str().is_some_and(is_hidden);
        // Not followed: a link of that name would refer to another place.
        if hidden && entry.metadata().is_ok_and(|about| about.is_dir() && about.uid() == user) {
            let lock = File::options().create(true).truncate(false).write(true).open(entry.path().join(LOCK));
            if lock.as_ref().is_ok_and(|lock| lock.try_lock().is_ok()) {
                remove(&entry.path());
            }
        }
    }
}

/// Whether `name` is that of a hidden folder.
fn is_hidden(name: &str) -> bool {
    let numbers = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.and_then(|numbers| numbers.split_once('-')).is_some_and(|(pid, count)| is_number(pid) && is_number(count))
}

/// Removes a hidden folder and its files. Errors are ignored: after an earlier error that one is reported, and the next
/// save tries again.
fn remove(hidden: &Path) {
    for entry in fs::read_dir(hidden).into_iter().flatten().flatten() {
        let _ = fs::remove_file(entry.path());
    }
    let _ = fs::remove_dir(hidden);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_told_from_files_and_hidden_folders_from_others() {
        let kind = |path: &str| foreign_kind(fs::metadata(path).unwrap().file_type());
        assert_eq!((kind("/dev/null"), kind("/")), (Some("a device"), Some("a folder")));
        assert_eq!(kind("/proc/self/exe"), None);
        assert!(check(Path::new("/dev/null"), &fs::metadata("/dev/null").unwrap()).is_err());
        for (name, hidden) in [
            (".cladtorch-12-0.tmp", true),
            (".cladtorch-12-.tmp", false),
            (".cladtorch-1x-0.tmp", false),
            (".cladtorch.tmp", false),
            ("model.ct", false),
        ] {
            assert_eq!(is_hidden(name), hidden, "{name}");
        }
    }

    #[test]
    fn a_folder_that_was_taken_before_it_was_locked_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let locked = lock_new(folder.path()).unwrap().unwrap();
        assert!(lock_new(folder.path()).unwrap().is_none());
        drop(locked);
        assert!(lock_new(&folder.path().join("gone")).unwrap().is_none());
    }
}
