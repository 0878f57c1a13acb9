//! The `cladtorch` command, as a user types it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use support::places;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../data").join(name)
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cladtorch"));
    command.args(arguments).env_remove("RUST_BACKTRACE");
    command
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

/// Standard output of a successful run.
fn said(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The message of a failed run.
fn complaint(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn trees() -> String {
    data("trees.root").to_str().unwrap().to_owned()
}

#[test]
fn a_file_is_shown() {
    let text = said(&["show", &trees()]);
    assert!(text.starts_with("run1/events: 120 entries, 19 columns\n"), "{text}");
    for part in ["  ul      ULong64_t  ", "  a       float[3] ", "zstd-5", "not readable here: it is a string"] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
    assert_eq!(text, said(&["show", &trees(), "run1/events"]));
}

#[test]
fn columns_are_printed_as_csv() {
    let text = said(&["convert", &trees(), "run1/events", "--columns", "pair.n,m:2", "-c", "o", "--pad", "-9"]);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[..3], ["pair.n,m[0],m[1],o", "0,0,-9,1", "3,1,2,0"]);
    assert_eq!(lines.len(), 121);
}

#[test]
fn a_converted_file_replaces_the_old_one_only_when_all_went_well() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.safetensors");
    let output = path.to_str().unwrap();
    fs::write(&path, "old").unwrap();
    complaint(&["convert", &trees(), "run1/events", "-c", "t", "-o", output]);
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert!(said(&["convert", &trees(), "run1/events", "-o", output]).is_empty());
    assert!(fs::read(&path).unwrap().len() > 120 * 17 * 4);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_converted_file_respects_what_stands_at_its_path() {
    for name in ["table.safetensors", "table.csv", "table.root"] {
        places::saving_respects_what_is_there(name, |path| {
            let output = run(&["convert", &trees(), "run1/events", "-c", "o", "-o", path.to_str().unwrap()]);
            match output.status.success() {
                true => Ok(()),
                false => Err(String::from_utf8(output.stderr).unwrap()),
            }
        });
    }
}

#[test]
fn the_file_that_is_read_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let [file, link] = ["data.root", "link.root"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    fs::copy(trees(), &file).unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    for output in [&file, &link] {
        let text = complaint(&["convert", &file, "run1/events", "-c", "o", "-o", output]);
        assert!(text.contains("is the file that is read"), "{text}");
    }
    assert_eq!(fs::read(&file).unwrap(), fs::read(trees()).unwrap());
}

/// Names in a file, and of files, reach the terminal escaped: a tree's name is replaced by one of the same length.
#[test]
fn names_do_not_steer_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a\x1b[2J\n.root");
    let bytes = fs::read(trees()).unwrap();
    let mut hostile = bytes.clone();
    let places: Vec<_> = (0..bytes.len() - 6).filter(|&at| &bytes[at..at + 6] == b"events").collect();
    assert!(!places.is_empty());
    places.iter().for_each(|&at| hostile[at..at + 6].copy_from_slice(b"e\x1b[2J\n"));
    fs::write(&path, hostile).unwrap();
    let file = path.to_str().unwrap();
    let shown = said(&["show", file]);
    let unknown = complaint(&["show", file, "none\x07"]);
    assert!(shown.contains("run1/e\\u{1b}[2J\\n"), "{shown}");
    for text in [shown, unknown, complaint(&["show", "none\x1b"])] {
        assert!(text.lines().all(|line| !line.chars().any(char::is_control)), "{text:?}");
    }
}

#[test]
fn complaints_name_the_thing_and_the_remedy() {
    let trees = trees();
    let folder = tempfile::tempdir().unwrap();
    let [text, cut] = ["text.root", "cut.root"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    fs::write(&text, "pt,eta\n1,2\n").unwrap();
    let whole = fs::read(&trees).unwrap();
    fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    for (arguments, words) in [
        (vec!["show", "none.root"], ["none.root", "No such file"]),
        (vec!["show", &text], ["text.root: it is not a ROOT file", "check the name"]),
        (vec!["show", &cut], ["cut.root: it has", "copy it again"]),
        (vec!["show", &trees, "events"], ["no tree 'events'", "it has: run1/events"]),
        (vec!["convert", &trees, "run1/events", "-c", "v"], ["column 'v'", "jets:4"]),
        (vec!["convert", &trees, "run1/events", "-c", "h"], ["column 'h'", "read it with ROOT"]),
        (vec!["convert", &trees, "run1/events", "-o", "out.npy"], ["out.npy", ".safetensors"]),
        (vec!["convert", &trees, "run1/events", "-o", "/none/out.csv"], ["/none/out.csv", "there is no folder /none"]),
        (vec!["strain", &trees, "--out", "out.root"], ["trees.root: it cannot be read as HDF5", "copy the file again"]),
        (vec!["strain", "none.hdf5", "--out", "out.root"], ["none.hdf5", "No such file"]),
        (vec!["strain", &trees, "--out", &trees], ["is the file that is read", "--output"]),
    ] {
        let text = complaint(&arguments);
        assert!(text.starts_with("cladtorch: ") && words.iter().all(|word| text.contains(word)), "{text}");
        assert_eq!(text.lines().filter(|line| !line.contains("note:")).count(), 1, "{text}");
    }
    assert_eq!(run(&["convert", &trees]).status.code(), Some(2));
    assert_eq!(run(&["convert", &trees, "run1/events", "-c", "m:0"]).status.code(), Some(2));
}

/// Opening a pipe without a writer would wait for ever.
#[test]
fn a_pipe_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.root");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [pipe.as_path(), folder.path(), Path::new("/dev/null")] {
        let mut limited = Command::new("timeout");
        limited.args(["60", env!("CARGO_BIN_EXE_cladtorch"), "show"]).arg(path);
        let output = limited.output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && text.contains("not a regular file"), "{path:?}: {text}");
    }
}

#[test]
fn help_shows_the_way() {
    let text = said(&["--help"]);
    assert!(["show", "convert", "strain", "Needs no ROOT"].iter().all(|word| text.contains(word)), "{text}");
    assert!(said(&["convert", "--help"]).contains("NAME:LENGTH"));
}

/// Loading it takes a quarter of a second.
#[test]
fn the_command_does_not_load_libtorch() {
    let program = fs::read(env!("CARGO_BIN_EXE_cladtorch")).unwrap();
    for library in ["libtorch_cpu.so", "libtorch.so", "libc10.so"] {
        assert!(!program.windows(library.len()).any(|window| window == library.as_bytes()), "{library}");
    }
    assert_eq!(said(&["--version"]), concat!("cladtorch ", env!("CARGO_PKG_VERSION"), "\n"));
}

/// As under `cladtorch ... | head -0`.
#[test]
fn a_reader_that_goes_away_is_no_error() {
    for arguments in [&["show", &trees()][..], &["convert", &trees(), "run1/events"]] {
        let mut child = command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !text.contains("ipe"), "{arguments:?}: {text}");
    }
}

/// A disk that is full after 8 kB, as the system reports it; then one that accepts nothing.
#[test]
fn a_full_disk_is_an_error_and_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    for ending in ["safetensors", "csv", "root"] {
        let file = folder.path().join("table").with_extension(ending);
        fs::write(&file, "the old one").unwrap();
        let line = "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
        let mut limited = Command::new("bash");
        limited.args(["-c", line, env!("CARGO_BIN_EXE_cladtorch"), "convert", &trees(), "run1/events", "--output"]);
        let output = limited.arg(&file).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        let whole =
            text.contains(file.to_str().unwrap()) && !text.contains("internal error") && !text.contains("panic");
        assert!(output.status.code() == Some(1) && whole, "{ending}: {text}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "the old one");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "something was left behind");
    let full = fs::File::create("/dev/full").unwrap();
    let output = command(&["convert", &trees(), "run1/events"]).stdout(full).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && text.contains("standard output"), "{text}");
}
