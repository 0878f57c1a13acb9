//! The two readers of trees against each other, and the fast one against damaged files. ROOT writes the files, in a
//! session of its own.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cladtorch::columns::branch::{BasketPiece, Branch, ColumnPart, Element, Scratch, Shape};
use cladtorch::columns::file::TreeFile;
use cladtorch::columns::{Column, Request};
use cladtorch::dataset::Dataset;
use support::checkout::source;
use support::damage;
use support::say;
use support::session::{Outcome, Session, script};

fn macro_of(call: &str) -> Outcome {
    Session::root(&["-q", &script(call)]).run()
}

#[test]
fn both_readers_give_the_same_bits_and_so_does_uproot() {
    let outcome = macro_of("readers.C").passed().says(&[
        "fast reader: f, d, fixed, vi, leaves.y",
        "ROOT's reader (leaves of class TLeafF16 need ROOT): f16",
        "ROOT's reader (an expression): f * d",
        "ROOT's reader (its last basket lies inside the tree): x",
        "ROOT's reader (members and objects of class TVector3 need ROOT): tracks.fX",
    ]);
    uproot_agrees(outcome.folder.path());
}

/// Every file that `readers.C` left in `folder`, and ROOT's own, if uproot is available.
fn uproot_agrees(folder: &Path) {
    let modules = source().join(".deps/peers/site-packages");
    if !modules.join("uproot").is_dir() {
        return say::not_tested("beside uproot, which is not in .deps/peers: `cargo xtask bench read` fetches it");
    }
    let session = Session::python(&[&script("readers_uproot.py"), modules.to_str().unwrap()]).within(folder);
    session.run().passed().show("uproot");
}

#[test]
fn a_described_file_is_read_as_by_a_data_frame() {
    macro_of("described.C").passed().show("without ROOT");
}

#[test]
fn a_described_file_is_read_as_by_a_data_frame_wherever_it_lies() {
    macro_of("described_places.C").passed().show("without ROOT");
}

#[test]
fn both_readers_give_the_same_bits_with_threads() {
    macro_of("readers.C(true)").passed();
}

#[test]
fn every_branch_by_every_route_is_read_as_written_or_refused() {
    macro_of("routes.C").passed().show("routes");
}

#[test]
fn odd_trees_are_read_right_or_refused_by_name() {
    let outcome = macro_of("odd_trees.C").passed().says(&["the label column 'n' is also a feature"]);
    // The command reads files without ROOT, and identifies an RNTuple as such.
    let command = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cladtorch"));
        let output = command.args(arguments).current_dir(outcome.folder.path()).output().unwrap();
        (output.status.success(), format!("{output:?}"))
    };
    let (shown, text) = command(&["show", "tuple.root"]);
    assert!(shown && text.contains("tuple: an RNTuple, which needs ROOT") && !text.contains("no trees"), "{text}");
    let (converted, text) = command(&["convert", "tuple.root", "tuple"]);
    assert!(!converted && text.contains("'tuple' is an RNTuple"), "{text}");
    let (converted, text) = command(&["convert", "names.root", "t", "-c", "2x3Mat"]);
    assert!(converted && text.contains("1,2,3,4,5,6"), "{text}");
}

/// Without the classes' dictionaries, then with them.
#[test]
fn every_column_of_objects_and_of_the_tutorials_is_read_right_or_refused_by_name() {
    let session = Session::root(&["-q", "objects_write.C+g"]);
    for file in ["objects.h", "objects_link.h", "objects_write.C"] {
        fs::copy(script(file), session.folder().join(file)).unwrap();
    }
    let written = session.run();
    assert_eq!(written.code, Some(0), "{}", written.text);
    let folder = written.folder.path();
    for call in ["objects_read.C", "objects_read.C(\"./objects_write_C.so\")"] {
        Session::root(&["-q", &script(call)]).within(folder).run().passed().show(" equal, ");
    }
}

/// A basket of a file, alone.
struct Basket {
    branch: Branch,
    place: BasketPiece,
    record: Vec<u8>,
}

/// The baskets that `baskets.C` wrote, from `folder`.
fn baskets(folder: &Path) -> Vec<Basket> {
    let list = fs::read_to_string(folder.join("baskets.txt")).unwrap();
    list.lines()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |i: usize| words[i].parse::<usize>().unwrap();
            let (shape, wanted) = match number(3) {
                0 => (Shape::Fixed { entry_length: number(4), offset: number(5), length: number(6) }, number(6)),
                1 => (Shape::Array, 3),
                _ => (Shape::Vector, 3),
            };
            let (name, part) = (words[1].into(), ColumnPart::Features);
            let request = Request { name, part, place: 0, wanted, pad: -1.0, scalar: false };
            let (seek, bytes) = (number(7), number(8));
            let place = BasketPiece::whole(seek as u64, bytes, number(9) as u64, number(10) as u64);
            let record = fs::read(folder.join(words[0])).unwrap()[seek..][..bytes].to_vec();
            Basket { branch: request.branch(Element::ALL[number(2)], shape).unwrap(), place, record }
        })
        .collect()
}

/// Whether the numbers at `place` can be read: in the record, copied or decoded, they are the same.
fn bytes_agree(branch: &Branch, place: &BasketPiece, record: &[u8], scratch: &mut Scratch) -> bool {
    let length = (place.end - place.first) as usize;
    let (mut values, mut bytes) = (vec![0f32; length], vec![0; 4 * length]);
    let decoded = branch.decode(place, record, scratch, &mut values, |_| true);
    let copied = branch.copy(place, record, scratch, &mut bytes);
    assert_eq!(copied.is_ok(), decoded.is_ok(), "{}: {copied:?}, {decoded:?}", branch.name);
    let turned = bytes.as_chunks().0.iter().map(|bytes| f32::from_be_bytes(*bytes).to_bits());
    let same = turned.eq(values.iter().map(|value| value.to_bits()));
    assert!(copied.is_err() || same, "{}: copied and decoded numbers differ", branch.name);
    if let Ok(Some(begin)) = branch.stored_at(place, record) {
        assert_eq!(record[begin..][..bytes.len()], bytes, "{}: what is stored lies elsewhere", branch.name);
    }
    copied.is_ok()
}

/// `CLADTORCH_DAMAGES` in the environment requests another number of cases; a million takes some minutes.
#[test]
fn damaged_baskets_are_refused_or_read_but_never_crash() {
    let outcome = macro_of("baskets.C").passed();
    let baskets = baskets(outcome.folder.path());
    let records: Vec<_> = baskets.iter().map(|basket| basket.record.clone()).collect();
    let mut scratch = Scratch::default();
    let mut values = vec![0f32; 1500 * 3];
    let mut plain = 0;
    let (cases, refused) = damage::survives(&records, 100_000, |number, record, damaged| {
        let Basket { branch, place, .. } = &baskets[number];
        let length = (place.end - place.first) as usize * branch.wanted;
        let decoded = branch.decode(place, record, &mut scratch, &mut values[..length], |_| true);
        assert!(damaged || decoded == Ok(None), "{}: {decoded:?}", branch.name);
        if branch.is_plain() {
            plain += usize::from(bytes_agree(branch, place, record, &mut scratch));
            let piece = BasketPiece { first: place.first + 1, end: place.first + 1 + length as u64 / 2, ..*place };
            plain += usize::from(bytes_agree(branch, &piece, record, &mut scratch));
        }
        decoded.is_ok()
    });
    assert!(refused > cases / 3, "{refused} of {cases} refused");
    assert!(plain > 0, "no basket of plain float32 was read");
}

/// The file of `baskets`, with one requested branch.
fn tree_file(path: &Path, baskets: &[&Basket]) -> cladtorch::Result<TreeFile> {
    let entries = baskets.last().unwrap().place.end;
    let mut file = TreeFile::new(path.to_str().unwrap(), entries)?;
    let seeks: Vec<i64> = baskets.iter().map(|basket| basket.place.seek as i64).collect();
    let bytes: Vec<i32> = baskets.iter().map(|basket| basket.place.bytes as i32).collect();
    let firsts: Vec<i64> = baskets.iter().map(|basket| basket.place.first as i64).collect();
    file.add(baskets[0].branch.clone(), &seeks, &bytes, &firsts)?;
    Ok(file)
}

fn dataset(width: usize) -> Dataset {
    Dataset::new(&[Column::new("x", width)]).unwrap()
}

#[test]
fn errors_name_file_branch_and_entries_and_keep_the_dataset() {
    let outcome = macro_of("baskets.C").passed();
    let folder = outcome.folder.path();
    let baskets = baskets(folder);
    // The doubles of the zlib file: several baskets.
    let count = baskets.len() / 6;
    let doubles: Vec<_> = baskets[count..2 * count].iter().filter(|basket| basket.branch.name == "d").collect();
    assert!(doubles.len() > 2);
    let path = folder.join("codec101.root");
    let sound = fs::read(&path).unwrap();
    let mut data = dataset(1);
    data.begin("sound").unwrap();
    data.read(&tree_file(&path, &doubles).unwrap(), 1.0, 1).unwrap();
    data.commit().unwrap();
    let before = data.features().to_vec();

    let place = doubles[1].place;
    let entries = format!("entries {} to {}", place.first, place.end - 1);
    let mut refuses = |damage: &dyn Fn(&mut Vec<u8>), words: &[&str]| {
        let mut bytes = sound.clone();
        damage(&mut bytes);
        fs::write(&path, bytes).unwrap();
        data.begin("damaged").unwrap();
        let read = tree_file(&path, &doubles).and_then(|file| data.read(&file, 1.0, 1));
        let error = read.unwrap_err().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{words:?} are not all in: {error}");
        data.rollback();
        assert_eq!(data.features(), before);
    };
    let middle = place.seek as usize + place.bytes / 2;
    refuses(&|bytes| bytes[middle] ^= 4, &["codec101.root", "'d'", &entries, "Zlib", "damaged"]);
    refuses(&|bytes| bytes[place.seek as usize] ^= 1, &["codec101.root", "'d'", &entries, "key"]);
    refuses(&|bytes| bytes.truncate(middle), &["codec101.root", "'d'", "claims"]);
}

#[test]
fn a_file_that_is_changed_cut_or_removed_after_it_was_described_is_an_error() {
    let outcome = macro_of("baskets.C").passed();
    let folder = outcome.folder.path();
    let baskets = baskets(folder);
    let floats: Vec<_> = baskets.iter().filter(|basket| basket.branch.name == "f").take(2).collect();
    let path = folder.join("codec0.root");
    let sound = fs::read(&path).unwrap();
    let changes: [(&dyn Fn(), &str); 3] = [
        (&|| fs::write(&path, &sound).unwrap(), "changed while it was being read"),
        (&|| fs::write(&path, &sound[..200]).unwrap(), "changed while it was being read"),
        (&|| fs::remove_file(&path).unwrap(), "No such file"),
    ];
    for (change, word) in changes {
        fs::write(&path, &sound).unwrap();
        let file = tree_file(&path, &floats).unwrap();
        // File times have a resolution of some milliseconds.
        std::thread::sleep(Duration::from_millis(50));
        change();
        let mut data = dataset(1);
        data.begin("changed").unwrap();
        let error = data.read(&file, 1.0, 1).unwrap_err().to_string();
        assert!(error.contains(word) && error.contains("codec0.root"), "{error}");
    }
}
