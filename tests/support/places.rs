//! The things that may be at the path of a save, and the expected results.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};

/// Before the save.
const OLD: &[u8] = b"the old contents";

/// Calls `save` (which returns how it failed) with a path at which each kind of thing is, and checks the result. `name`
/// is that of the file, with its extension.
pub fn saving_respects_what_is_there(name: &str, save: impl Fn(&Path) -> Result<(), String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let clear = || {
        fs::read_dir(folder.path()).unwrap().for_each(|entry| {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() { fs::remove_dir(path) } else { fs::remove_file(path) }.unwrap();
        });
    };
    // Everything that is there afterwards: nothing temporary.
    let left = || {
        let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names.iter().map(|name| name.to_str().unwrap().to_owned()).collect::<Vec<_>>()
    };

    for (kind, make) in refused() {
        make(&path);
        let before = fs::metadata(&path).unwrap();
        let text = save(&path).expect_err(kind);
        assert!(text.contains(kind) && text.contains(name), "{kind}: {text}");
        let after = fs::metadata(&path).unwrap();
        assert_eq!((before.ino(), before.mode(), before.mtime_nsec()), (after.ino(), after.mode(), after.mtime_nsec()));
        assert!(left().iter().all(|left| left == name || left == "behind"), "{kind}: {:?}", left());
        clear();
    }
    for mode in [0o600, 0o640, 0o644, 0o777, 0o4711] {
        old(&path);
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        save(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode);
        assert!(fs::read(&path).unwrap() != OLD && left() == [name]);
        clear();
    }
    for (link, target) in [("behind", "behind"), ("behind", "none")] {
        let (target, behind) = (folder.path().join(target), folder.path().join("second"));
        if link == target.file_name().unwrap() {
            old(&target);
        }
        symlink(&target, &behind).unwrap();
        symlink("second", &path).unwrap(); // relative, and a link to a link
        save(&path).unwrap();
        assert!(path.is_symlink() && behind.is_symlink() && !target.is_symlink());
        assert!(fs::read(&target).unwrap() != OLD && left().len() == 3);
        clear();
    }
    if rustix::process::geteuid().is_root() {
        old(&path);
        chown(&path, Some(12345), Some(54321)).unwrap();
        save(&path).unwrap();
        let about = fs::metadata(&path).unwrap();
        assert_eq!((about.uid(), about.gid(), left()), (12345, 54321, vec![name.to_owned()]));
    }
}

/// A word of the refusal, and a function that makes the thing.
type Refused = (&'static str, fn(&Path));

/// Things that stay unchanged, and the word with which each is refused.
fn refused() -> [Refused; 7] {
    [
        ("a named pipe", |path| pipe(path)),
        ("a named pipe", |path| {
            let behind = path.with_file_name("behind");
            pipe(&behind);
            symlink(behind, path).unwrap();
        }),
        ("a socket", |path| drop(UnixListener::bind(path).unwrap())),
        ("a folder", |path| fs::create_dir(path).unwrap()),
        ("read-only (mode 444", |path| read_only(path, 0o444)),
        ("read-only (mode 66", |path| read_only(path, 0o066)),
        ("read-only (mode 400", |path| {
            let behind = path.with_file_name("behind");
            read_only(&behind, 0o400);
            symlink(behind, path).unwrap();
        }),
    ]
}

fn old(path: &Path) {
    fs::write(path, OLD).unwrap();
}

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

fn read_only(path: &Path, mode: u32) {
    old(path);
    File::open(path).unwrap().set_permissions(Permissions::from_mode(mode)).unwrap();
}

/// The hidden folders of unfinished files in `folder`.
pub fn unfinished(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(".cladtorch-")).collect()
}
