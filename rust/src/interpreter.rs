//! C++ modules of headers for ROOT's interpreter, made at first use in the user's cache. A plugin built from source has
//! them beside it; a wheel cannot, because a module belongs to one LibTorch and to the ROOT of one Python.
//!
//! An entry of the cache is laid out as the build's own folder, so that rootcling gets the same relative names:
//! `include` and `lib/cladtorch/include` are links to the headers of ROOT and of LibTorch, and the modules are made in
//! `lib/cladtorch`. A module is valid once it has its stamp, which is written last and states the module's size.

use std::env;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::cache::Cache;
use crate::error::{Error, Result};

/// The most bytes that the modules of all ROOTs and LibTorchs may take; one of each takes 170 MB.
const LIMIT: u64 = 1 << 30;

/// Longer than any module takes; a process that holds the lock for longer is stuck.
const PATIENCE: Duration = Duration::from_secs(600);

/// Tells rootcling, should it load the plugin, to make no modules.
const MAKING: &str = "CLADTORCH_MAKES_MODULE";

const MODULES: &str = "lib/cladtorch";

/// Whether this process is a rootcling that makes a module.
pub fn is_making() -> bool {
    env::var_os(MAKING).is_some()
}

/// Where the parts are that a module is made from.
pub struct HeaderFolders<'a> {
    /// Folder of the module maps and of `LinkDef.h`.
    pub maps: &'a Path,
    /// ROOT's headers, with CladTorch's among them.
    pub headers: &'a Path,
    /// LibTorch's headers.
    pub libtorch: &'a Path,
    /// Files that change with ROOT or LibTorch.
    pub marks: Vec<&'a Path>,
}

/// The folder for the modules of these headers: `lib/cladtorch` in an entry of the cache, with links and maps in place.
pub fn folder(places: &HeaderFolders) -> Result<PathBuf> {
    let cache = Cache::open().and_then(|cache| cache.within("modules", LIMIT)).map_err(unusable)?;
    let key = key(places)?;
    let entry = cache.folder().join(&key);
    let modules = entry.join(MODULES);
    let failed = |error: io::Error| unusable(format!("{}: {error}", entry.display()));
    if !modules.is_dir() {
        fs::create_dir_all(&modules).map_err(failed)?;
        cache.shrink(&key);
    }
    link(places.headers, &entry.join("include")).map_err(failed)?;
    link(places.libtorch, &modules.join("include")).map_err(failed)?;
    for name in ["CladTorch.modulemap", "LibTorch.modulemap", "CladTorchTorch.modulemap", "LinkDef.h"] {
        let text = fs::read(places.maps.join(name)).map_err(|error| Error::io(&places.maps.join(name), error))?;
        write(&modules.join(name), &text).map_err(failed)?;
    }
    Ok(modules)
}

/// Makes the module `name` of `header` in `folder`, unless it is there with the stamp of `versions`. `uses` names modules
/// that it takes headers from. Other processes wait meanwhile.
pub fn make(folder: &Path, name: &str, header: &str, uses: &[String], versions: &str, rootcling: &Path) -> Result<()> {
    let _lock = lock(&folder.join("lock"), name)?;
    let (module, stamp) = (folder.join(format!("{name}.pcm")), folder.join(format!("{name}.stamp")));
    let expected = |size: u64| format!("{size}\n{versions}");
    let size = || fs::metadata(&module).map(|about| about.len());
    if size().is_ok_and(|size| fs::read_to_string(&stamp).is_ok_and(|text| text == expected(size))) {
        return Ok(());
    }
    let entry = folder.ancestors().nth(2).unwrap_or(folder);
    eprintln!("CladTorch: making the C++ module {name} for ROOT's interpreter, once; kept in {}", entry.display());
    let start = Instant::now();
    let made = run(&mut command(entry, name, header, uses, rootcling));
    let _ = fs::remove_file(entry.join(format!("{name}Module.cxx")));
    let whole = made.and_then(|()| {
        File::open(&module)?.sync_all()?;
        write(&stamp, expected(size()?).as_bytes())
    });
    if let Err(error) = whole {
        remove_parts(folder, name);
        return Err(unusable(format!("the C++ module {name} could not be made in {}: {error}", folder.display())));
    }
    eprintln!("CladTorch: made in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Removes what a failed rootcling left of a module: on a full disk, that is what fills it.
fn remove_parts(folder: &Path, name: &str) {
    let is_part = |file: &str| {
        file.strip_prefix(name)
            .is_some_and(|rest| rest == ".pcm" || (rest.starts_with('-') && rest.ends_with(".pcm.tmp")))
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(is_part) {
            let _ = fs::remove_file(entry.path()); // The error that is reported is rootcling's.
        }
    }
}

/// rootcling, run in the entry of the cache; the same line as in `cmake/Modules.cmake`.
fn command(entry: &Path, name: &str, header: &str, uses: &[String], rootcling: &Path) -> Command {
    let folder = entry.join(MODULES);
    let mut command = Command::new(rootcling);
    command
        .arg("-f")
        .arg(format!("{name}Module.cxx"))
        .arg("-s")
        .arg(format!("{MODULES}/lib{name}.so"))
        .arg("-cxxmodule");
    for map in std::iter::once(name).chain(uses.iter().map(String::as_str)) {
        command.arg(format!("-moduleMapFile={}", folder.join(format!("{map}.modulemap")).display()));
    }
    for include in ["include", "lib/cladtorch/include", "lib/cladtorch/include/torch/csrc/api/include"] {
        command.arg(format!("-I{}", entry.join(include).display()));
    }
    command.arg(header).arg(folder.join("LinkDef.h")).current_dir(entry).env(MAKING, "1");
    command
}

/// Runs `command`; its first complaints are the error.
fn run(command: &mut Command) -> io::Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let complaints: Vec<_> = text.lines().filter(|line| line.to_lowercase().contains("error")).take(3).collect();
    let headers = if text.contains("'new' file not found") { "; install the headers of libstdc++" } else { "" };
    Err(io::Error::other(format!("rootcling ended with {}: {}{headers}", output.status, complaints.join("; "))))
}

/// The lock that one process holds while it makes modules. On a file system without locks there is none, and nothing
/// waits.
fn lock(path: &Path, name: &str) -> Result<Option<File>> {
    let failed = |error: io::Error| unusable(format!("{}: {error}", path.display()));
    let file = File::options().create(true).truncate(false).write(true).open(path).map_err(failed)?;
    let start = Instant::now();
    let mut waits = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::Error(_)) => return Ok(None),
            Err(TryLockError::WouldBlock) if start.elapsed() > PATIENCE => {
                return Err(unusable(format!("{} is held by another process that does not end", path.display())));
            }
            Err(TryLockError::WouldBlock) => {
                if !waits {
                    eprintln!(
                        "CladTorch: waiting for another process that makes C++ modules, for {name} in {}",
                        path.display()
                    );
                }
                waits = true;
                thread::sleep(Duration::from_millis(200));
            }
        }
    }
}

fn unusable(what: String) -> Error {
    Error::invalid(what, "CLADTORCH_CACHE may name another folder for what CladTorch keeps")
}

/// Writes a file whole, unless it exists with these bytes.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|found| found == bytes) {
        return Ok(());
    }
    let draft = path.with_extension(format!("{}.draft", process::id()));
    let written = fs::write(&draft, bytes).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(draft);
    }
    written
}

/// A symbolic link at `path`; an existing one stays, since the key names its target.
fn link(target: &Path, path: &Path) -> io::Result<()> {
    match symlink(target, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Another one for other headers of CladTorch's, and for another ROOT or LibTorch, be it at the same place.
fn key(places: &HeaderFolders) -> Result<String> {
    let mut parts = vec![env!("CARGO_PKG_VERSION").to_owned()];
    parts.extend([places.headers, places.libtorch].map(|path| path.display().to_string()));
    parts.extend(places.marks.iter().map(|path| mark(path)));
    let failed = |error: io::Error| unusable(format!("{}: {error}", places.headers.display()));
    texts(&places.headers.join("CladTorch"), &mut parts).map_err(failed)?;
    Ok(Cache::key(&parts.iter().map(String::as_str).collect::<Vec<_>>()))
}

/// Name, size and time of a file.
fn mark(path: &Path) -> String {
    let about = fs::metadata(path).ok();
    let time = about.as_ref().and_then(|about| about.modified().ok());
    format!("{} {:?} {time:?}", path.display(), about.map(|about| about.len()))
}

/// The files of a folder and of its folders, in the order of their names.
fn texts(folder: &Path, into: &mut Vec<String>) -> io::Result<()> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            texts(&path, into)?;
            continue;
        }
        let mut text = path.display().to_string();
        File::open(&path)?.read_to_string(&mut text)?;
        into.push(text);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A rootcling that counts its calls, takes a moment, and writes a module, or half of one and an error.
    fn rootcling(folder: &Path, works: bool) -> PathBuf {
        let path = folder.join(if works { "works" } else { "fails" });
        let end = if works { "exit 0" } else { "echo 'error: disk full' >&2; exit 1" };
        let write = format!("printf whole | tee {MODULES}/One-718c.pcm.tmp > {MODULES}/One.pcm");
        let script = format!("#!/bin/sh\necho call >> calls\nsleep 0.3\n{write}\n{end}\n");
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn modules(entry: &Path) -> PathBuf {
        let folder = entry.join(MODULES);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn two_processes_make_a_module_once_and_another_version_makes_it_again() {
        let entry = tempfile::tempdir().unwrap();
        let (folder, rootcling) = (modules(entry.path()), rootcling(entry.path(), true));
        let make = |versions| make(&folder, "One", "One.h", &[], versions, &rootcling).unwrap();
        thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(|| make("6.40")))));
        assert_eq!(fs::read_to_string(folder.join("One.stamp")).unwrap(), "5\n6.40");
        make("6.42");
        assert_eq!(fs::read_to_string(entry.path().join("calls")).unwrap().lines().count(), 2);
    }

    #[test]
    fn half_a_module_is_removed_and_the_reason_given() {
        let entry = tempfile::tempdir().unwrap();
        let (folder, rootcling) = (modules(entry.path()), rootcling(entry.path(), false));
        let error = make(&folder, "One", "One.h", &[], "6.40", &rootcling).unwrap_err().to_string();
        assert!(error.contains("disk full") && error.contains(folder.to_str().unwrap()), "{error}");
        let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["lock"]);
    }

    #[test]
    fn another_place_header_or_library_has_another_key() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
        let header = |root: &Path, text| {
            fs::create_dir_all(root.join("CladTorch/Torch")).unwrap();
            fs::write(root.join("CladTorch/Torch/Model.hxx"), text).unwrap();
        };
        header(&a, "one");
        header(&b, "one");
        let mark = folder.path().join("libCling.so");
        let key_of =
            |root: &Path| key(&HeaderFolders { maps: &b, headers: root, libtorch: &b, marks: vec![&mark] }).unwrap();
        let mut keys = vec![key_of(&a), key_of(&b)];
        header(&a, "two");
        keys.push(key_of(&a));
        fs::write(&mark, "another ROOT").unwrap();
        keys.push(key_of(&a));
        assert_eq!(keys.last(), Some(&key_of(&a)));
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 4);
    }
}
