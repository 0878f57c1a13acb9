//! Files of trees without ROOT: right to the bit, or refused with the reason. ROOT writes the fixtures in a session.

use std::fs;
use std::path::{Path, PathBuf};

use cladtorch::rootfile::{Format, RootFile, Table, Tree, Wanted};
use cladtorch::{Error, Result};

use support::checkout::source;
use support::damage;
use support::session::Session;

/// The columns of `data/trees.C` in the order of `trees.f32`, and the number of values requested from each.
const COLUMNS: [(&str, usize); 19] = [
    ("b", 0),
    ("ub", 0),
    ("s", 0),
    ("us", 0),
    ("i", 0),
    ("ui", 0),
    ("l", 0),
    ("ul", 0),
    ("f", 0),
    ("d", 0),
    ("o", 0),
    ("a", 0),
    ("pair.x", 0),
    ("pair.n", 0),
    ("k", 0),
    ("m", 4),
    ("v", 4),
    ("h", 0),
    ("t", 0),
];
/// The last two cannot be read without ROOT.
const READABLE: usize = 17;

fn wanted(columns: &[(&str, usize)]) -> Vec<Wanted> {
    columns.iter().map(|&(name, length)| Wanted { name: name.into(), length }).collect()
}

fn committed() -> PathBuf {
    source().join("data/trees.root")
}

fn open(path: &Path) -> Result<Tree> {
    RootFile::open(path)?.tree("run1/events")
}

fn read(path: &Path) -> Result<Table> {
    open(path)?.read(&wanted(&COLUMNS[..READABLE]), -1.0)
}

/// The numbers that were written, beside `path`.
fn written(path: &Path) -> Vec<u32> {
    let bytes = fs::read(path.with_extension("f32")).unwrap();
    bytes.chunks_exact(4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

fn bits(table: &Table) -> Vec<u32> {
    table.rows.as_slice().iter().map(|number| number.to_bits()).collect()
}

fn refusal<T>(result: Result<T>) -> String {
    match result {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it was not refused"),
    }
}

/// Writes files as `data/trees.C` does, by its arguments after the name.
fn write<Arguments: AsRef<str>>(calls: &[(&str, Arguments)]) -> tempfile::TempDir {
    let mut lines = format!(".L {}\n", source().join("data/trees.C").display());
    for (name, arguments) in calls {
        lines += &format!("trees(\"{name}\", {});\n", arguments.as_ref());
    }
    let outcome = Session::root(&[]).typing(&(lines + ".q\n")).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.text);
    outcome.folder
}

#[test]
fn every_kind_of_column_is_right_to_the_bit() {
    let table = read(&committed()).unwrap();
    assert_eq!(table.names.len(), 25);
    assert_eq!(table.names[11..15], ["a[0]", "a[1]", "a[2]", "pair.x"]);
    assert_eq!(bits(&table), written(&committed()));
    assert!(table.bad.is_none());
}

#[test]
fn a_tree_says_what_its_columns_are() {
    let tree = open(&committed()).unwrap();
    assert_eq!((tree.name.as_str(), tree.entries), ("run1/events", 120));
    let names: Vec<_> = tree.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, COLUMNS.map(|(name, _)| name));
    let type_of = |name: &str| tree.columns.iter().find(|column| column.name == name).unwrap().type_name.clone();
    let expected =
        [("ub", "unsigned char"), ("l", "Long64_t"), ("a", "float[3]"), ("m", "float[]"), ("h", "Float16_t")];
    for (name, type_name) in expected {
        assert_eq!(type_of(name), type_name);
    }
    assert_eq!(type_of("v"), "vector<double>");
    assert!(tree.columns.iter().all(|column| column.codec == "zstd-5"));
}

#[test]
fn what_needs_root_is_refused_by_name() {
    let tree = open(&committed()).unwrap();
    for (columns, words) in [
        (&[("h", 0)][..], ["column 'h'", "TLeafF16 need ROOT"]),
        (&[("t", 0)], ["column 't'", "string"]),
        (&[("m", 0)], ["column 'm'", "different lengths; say how many"]),
        (&[("a", 4)], ["column 'a'", "4 numbers are wanted of 3"]),
        (&[("none", 0)], ["column 'none'", "there is none"]),
        (&[("v", usize::MAX)], ["run1/events", "too many"]),
        (&[], ["run1/events", "no numbers"]),
    ] {
        let message = refusal(tree.read(&wanted(columns), 0.0));
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    }
    let message = refusal(RootFile::open(&committed()).unwrap().tree("events"));
    assert!(message.contains("has no tree 'events'; it has: run1/events"), "{message}");
}

/// All of ROOT's codecs and no codec; baskets of several compression blocks (16 MiB); many baskets and few.
#[test]
fn every_codec_and_size_of_basket_is_right_to_the_bit() {
    let calls = [
        ("none", "0, 3000, 2000"),
        ("zlib", "101, 3000, 2000"),
        ("lzma", "207, 3000, 2000"),
        ("cs", "301, 3000, 2000"),
        ("lz4", "404, 3000, 2000"),
        ("zstd", "505, 3000, 32000"),
        ("blocks", "101, 2200000, 100000000"),
    ];
    let folder = write(&calls);
    for (name, _) in calls {
        let path = folder.path().join(name).with_extension("root");
        assert!(bits(&read(&path).unwrap()) == written(&path), "{name}");
    }
    let stored = fs::read(folder.path().join("cs.root")).unwrap();
    assert!(stored.windows(3).any(|bytes| bytes == b"CS\x08"), "ROOT wrote no CS block");
}

#[test]
fn baskets_inside_the_tree_are_refused() {
    let folder = write(&[("embedded", "505, 120, 400, true")]);
    let tree = open(&folder.path().join("embedded.root")).unwrap();
    assert!(refusal(tree.read(&wanted(&[("f", 0)]), f32::NAN)).contains("the pad is NaN"));
    let message = refusal(tree.read(&wanted(&[("f", 0)]), 0.0));
    assert!(message.contains("column 'f': a basket lies inside the tree"), "{message}");
}

/// In a file without compression the version follows the name and the title of the tree's key.
#[test]
fn a_tree_that_is_too_new_is_refused() {
    let folder = write(&[("new", "0, 120, 400")]);
    let path = folder.path().join("new.root");
    let mut bytes = fs::read(&path).unwrap();
    let key = b"\x05TTree\x06events\x18one column of every kind";
    let at = bytes.windows(key.len()).position(|window| window == key).unwrap() + key.len();
    assert_eq!(bytes[at + 4..at + 6], [0, 20]);
    bytes[at + 5] = 21;
    fs::write(&path, &bytes).unwrap();
    let message = refusal(open(&path));
    assert!(message.contains("a TTree of version 21, and 16 to 20 are known; read it with ROOT"), "{message}");
}

#[test]
fn what_is_no_file_of_root_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.root");
    let whole = fs::read(committed()).unwrap();
    for (bytes, words) in [
        (&b""[..], "not a ROOT file"),
        (b"PK\x03\x04", "not a ROOT file"),
        (&whole[..whole.len() / 2], "cut short, or not closed"),
    ] {
        fs::write(&path, bytes).unwrap();
        let message = refusal(RootFile::open(&path).map(|_| ()));
        assert!(message.contains(words) && message.contains("file.root"), "{message}");
    }
    assert!(refusal(RootFile::open(folder.path()).map(|_| ())).contains("not a regular file"));
    assert!(matches!(RootFile::open(&folder.path().join("none")), Err(Error::Io { .. })));
}

/// No panic, no hang, no excessive memory; the result is numbers or an error. `CLADTORCH_DAMAGES` in the environment
/// requests another number of cases.
#[test]
fn damaged_files_are_survived() {
    let names = ["none", "zlib", "lzma", "cs", "lz4", "zstd"];
    let folder = write(&[0, 101, 207, 301, 404, 505].map(|codec| (names[codec / 100], format!("{codec}, 12, 100"))));
    let sound = names.map(|name| fs::read(folder.path().join(name).with_extension("root")).unwrap());
    let path = folder.path().join("damaged.root");
    let (cases, refused) = damage::survives(&sound, 100_000, |_, bytes, damaged| {
        fs::write(&path, bytes).unwrap();
        match read(&path) {
            Ok(table) => assert_eq!(table.rows.as_slice().len() % 25, 0),
            Err(Error::Internal(what)) => panic!("{what}"),
            Err(error) => {
                assert!(damaged && error.to_string().contains("damaged.root"), "{error}");
                return false;
            }
        }
        true
    });
    assert!(refused > cases / 2, "{refused} of {cases} were refused");
}

#[test]
fn what_is_written_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let table = || read(&committed()).unwrap();
    let tree = folder.path().join("copy.root");
    table().write(&tree, Format::Root, "events").unwrap();
    let copy = RootFile::open(&tree).unwrap().tree("events").unwrap();
    let copy = copy.read(&copy.fixed(), 0.0).unwrap();
    assert_eq!(copy.names, table().names);
    assert_eq!(bits(&copy), written(&committed()));

    let tensors = folder.path().join("copy.safetensors");
    table().write(&tensors, Format::Safetensors, "").unwrap();
    let bytes = fs::read(&tensors).unwrap();
    let (_, metadata) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    let names: Vec<String> = serde_json::from_str(&metadata.metadata().as_ref().unwrap()["columns"]).unwrap();
    assert_eq!(names, table().names);
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let view = tensors.tensor("features").unwrap();
    assert_eq!(view.shape(), [120, 25]);
    assert_eq!(view.data(), fs::read(committed().with_extension("f32")).unwrap());

    let mut text = Vec::new();
    table().write_csv(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let numbers = text.lines().skip(1).flat_map(|line| line.split(',').map(|number| number.parse::<f32>().unwrap()));
    assert_eq!(numbers.map(f32::to_bits).collect::<Vec<_>>(), written(&committed()));
}

/// ROOT's own view of the files written without it.
#[test]
fn root_reads_what_is_written_without_it() {
    let session = Session::root(&[]);
    read(&committed()).unwrap().write(&session.folder().join("copy.root"), Format::Root, "events").unwrap();
    let lines = "ROOT::RDataFrame frame(\"events\", \"copy.root\");\n\
                 std::cout << frame.Count().GetValue() << \" entries, d up to \" << frame.Max<float>(\"d\").GetValue() << std::endl;\n.q\n";
    session.typing(lines).run().says(&["120 entries, d up to 39.6667"]);
}
