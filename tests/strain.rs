//! Files of strain: their contents arrive, bad seconds do not, and damage is refused with a message.

use std::fs;
use std::path::{Path, PathBuf};

use cladtorch::rootfile::RootFile;
use cladtorch::strain::{GOOD, Strain, StrainTable, Windows, read_hdf5};
use cladtorch::{Error, Result};
use hdf5_writer::{AttributeBuilder, DatasetBuilder, FilterDescription, Hdf5Builder};
use support::damage;

const RATE: usize = 64;
const SECONDS: usize = 8;
const START: f64 = 1_126_259_446.0;
const QUALITY: [&str; 4] = ["DATA", "CBC_CAT1", "CBC_CAT2", "CBC_CAT3"];
const INJECTIONS: [&str; 5] =
    ["NO_CBC_HW_INJ", "NO_BURST_HW_INJ", "NO_DETCHAR_HW_INJ", "NO_CW_HW_INJ", "NO_STOCH_HW_INJ"];

/// A file as the Open Science Center lays it out.
#[derive(Clone)]
struct File {
    detector: &'static str,
    start: f64,
    spacing: f64,
    values: Vec<f64>,
    quality: Vec<u32>,
    injections: Vec<u32>,
}

impl File {
    /// Good, except for continuous waves, which are injected all the time.
    fn sound(detector: &'static str, start: f64) -> Self {
        let values = (0..RATE * SECONDS).map(|i| 1e-21 * (i as f64 + 0.25)).collect();
        let spacing = 1.0 / RATE as f64;
        Self { detector, start, spacing, values, quality: vec![15; SECONDS], injections: vec![23; SECONDS] }
    }

    fn bytes(&self, packed: bool) -> Vec<u8> {
        let deflate = FilterDescription { id: 1, name: None, client_data: vec![4] };
        let shuffle = FilterDescription { id: 2, name: None, client_data: vec![8] };
        let strain = DatasetBuilder::typed_data("strain/Strain", [self.values.len() as u64], &self.values).unwrap();
        let strain = if packed { strain.chunked([100u64]).filter(shuffle).filter(deflate) } else { strain };
        let mask = |name, bits: &Vec<u32>| {
            let mask = DatasetBuilder::typed_data(name, [bits.len() as u64], bits).unwrap();
            self.axis(mask, 1.0)
        };
        let names =
            |name, texts: &[&str]| DatasetBuilder::fixed_string_data(name, [texts.len() as u64], texts).unwrap();
        let file = Hdf5Builder::new()
            .dataset(self.axis(strain, self.spacing))
            .dataset(mask("quality/simple/DQmask", &self.quality))
            .dataset(names("quality/simple/DQShortnames", &QUALITY))
            .dataset(mask("quality/injections/Injmask", &self.injections))
            .dataset(names("quality/injections/InjShortnames", &INJECTIONS))
            .dataset(DatasetBuilder::vlen_string_data("meta/Detector", [], &[self.detector]).unwrap());
        file.into_plan().unwrap().encode(Default::default()).unwrap()
    }

    fn axis(&self, dataset: DatasetBuilder, spacing: f64) -> DatasetBuilder {
        let start = AttributeBuilder::scalar("Xstart", self.start).unwrap();
        dataset.attribute(start).attribute(AttributeBuilder::scalar("Xspacing", spacing).unwrap())
    }

    fn write(&self, folder: &Path, name: &str) -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, self.bytes(true)).unwrap();
        path
    }
}

fn refusal<T>(result: Result<T>) -> String {
    match result {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it was not refused"),
    }
}

/// The numbers of columns of a tree `strain`, in float32.
fn columns(path: &Path) -> (Vec<String>, u64, Vec<f32>) {
    let tree = RootFile::open(path).unwrap().tree("strain").unwrap();
    let names = tree.columns.iter().map(|column| column.name.clone()).collect();
    let table = tree.read(&tree.fixed(), 0.0).unwrap();
    (names, tree.entries, table.rows.as_slice().to_vec())
}

#[test]
fn a_file_is_read_to_the_bit() {
    let folder = tempfile::tempdir().unwrap();
    let file = File::sound("H1", START);
    for packed in [false, true] {
        let path = folder.path().join("file.hdf5");
        fs::write(&path, file.bytes(packed)).unwrap();
        let read = Strain::read(&path).unwrap();
        assert_eq!((read.detector.as_str(), read.rate, read.start), ("H1", RATE as f64, START));
        assert_eq!(read.values, file.values);
        assert_eq!((read.quality.as_slice(), read.injections.as_slice()), (&[15; SECONDS][..], &[23; SECONDS][..]));
        assert_eq!(read.bits, [QUALITY.map(str::to_owned).to_vec(), INJECTIONS.map(str::to_owned).to_vec()]);
        assert_eq!(read_hdf5(&path, "strain/Strain").unwrap(), file.values);
        assert!(refusal(read_hdf5(&path, "quality/simple/DQmask")).contains("float64"));
    }
}

/// Each bit that good seconds have, and a NaN.
#[test]
fn seconds_that_are_not_good_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let good = |file: &File, required: &[&str]| {
        let required: Vec<_> = required.iter().map(|&name| name.to_owned()).collect();
        Strain::read(&file.write(folder.path(), "file.hdf5")).unwrap().good(&required)
    };
    for name in GOOD {
        let mut file = File::sound("H1", START);
        match QUALITY.iter().position(|&each| each == name) {
            Some(bit) => file.quality[3] &= !(1 << bit),
            None => file.injections[3] &= !(1 << INJECTIONS.iter().position(|&each| each == name).unwrap()),
        }
        let expected: Vec<_> = (0..SECONDS).map(|second| second != 3).collect();
        assert_eq!(good(&file, &[]).unwrap(), expected, "{name}");
        let others: Vec<_> = GOOD.into_iter().filter(|&each| each != name).collect();
        assert_eq!(good(&file, &others).unwrap(), [true; SECONDS], "{name}");
    }
    let mut file = File::sound("H1", START);
    file.values[5 * RATE + 1] = f64::NAN;
    assert_eq!(good(&file, &["DATA"]).unwrap().iter().position(|good| !good), Some(5));
    assert_eq!(good(&file, &["NO_CW_HW_INJ"]).unwrap(), [false; SECONDS]);
    let message = refusal(good(&file, &["CBC_CAT4"]));
    assert!(message.contains("no quality bit 'CBC_CAT4'; require some of: DATA, CBC_CAT1"), "{message}");
}

/// Two files of H1 one after the other, one of L1 that begins in the first and ends in the second, a bad second in each.
#[test]
fn a_tree_holds_what_all_detectors_have() {
    let folder = tempfile::tempdir().unwrap();
    let [mut first, mut second] = [START, START + SECONDS as f64].map(|start| File::sound("H1", start));
    let mut other = File::sound("L1", START + 2.0);
    first.quality[4] = 0;
    second.injections[1] = 0;
    other.values.iter_mut().for_each(|value| *value += 1e-18);
    other.quality[5] = 0;
    // Good in both: seconds 2, 3, 5, 6 and 8.
    let table = |only_good| {
        let files = [&second, &other, &first].map(|file| Strain::read(&file.write(folder.path(), "f.hdf5")).unwrap());
        StrainTable::new(files.to_vec(), &[], only_good).unwrap()
    };
    assert_eq!((table(true).seconds(), table(false).seconds()), (5.0, 8.0));
    let path = folder.path().join("strain.root");
    assert_eq!(table(true).write(&path, None).unwrap(), 5 * RATE);
    let (names, entries, numbers) = columns(&path);
    assert_eq!((names, entries), (vec!["gps".to_owned(), "H1".to_owned(), "L1".to_owned()], 5 * RATE as u64));
    for (entry, row) in numbers.chunks_exact(3).enumerate() {
        let sample = [2, 3, 5, 6, 8][entry / RATE] * RATE + entry % RATE;
        assert_eq!(row[0], (START + sample as f64 / RATE as f64) as f32);
        let of_first = sample.checked_sub(SECONDS * RATE);
        let (h1, l1) =
            (of_first.map_or_else(|| first.values[sample], |at| second.values[at]), other.values[sample - 2 * RATE]);
        assert_eq!(row[1..], [h1 as f32, l1 as f32], "entry {entry}");
    }
    assert_eq!(table(false).write(&path, None).unwrap(), 8 * RATE);
    let (names, _, numbers) = columns(&path);
    assert_eq!(names, ["gps", "H1", "L1", "good"]);
    let good: Vec<_> = numbers.chunks_exact(4).step_by(RATE).map(|row| row[3]).collect();
    assert_eq!(good, [1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0]);
}

#[test]
fn windows_lie_in_good_stretches() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = File::sound("H1", START);
    file.quality[3] = 0;
    let table =
        || StrainTable::new(vec![Strain::read(&file.write(folder.path(), "f.hdf5")).unwrap()], &[], true).unwrap();
    let path = folder.path().join("windows.root");
    // [0, 3) has begins at 0, .75, 1.5; [4, 8) at 4, 4.75, 5.5, 6.25.
    assert_eq!(table().write(&path, Some(Windows { length: 1.25, stride: 0.75 })).unwrap(), 7);
    let tree = RootFile::open(&path).unwrap().tree("strain").unwrap();
    let wanted = cladtorch::rootfile::Wanted { name: "H1".into(), length: 80 };
    let rows = tree.read(&[wanted], 0.0).map(|table| table.rows.as_slice().to_vec()).unwrap();
    for (row, begin) in rows.chunks_exact(80).zip([0.0, 0.75, 1.5, 4.0, 4.75, 5.5, 6.25]) {
        let begin = (begin * RATE as f64) as usize;
        let expected: Vec<_> = file.values[begin..begin + 80].iter().map(|&value| value as f32).collect();
        assert_eq!(row, expected);
    }
    let message = refusal(table().write(&path, Some(Windows { length: 5.0, stride: 1.0 })));
    assert!(message.contains("of 7 s") && message.contains("shorter windows"), "{message}");
    for windows in [(0.0, 1.0), (1.0, 0.0), (f64::NAN, 1.0), (0.01, 1.0), (1.0, -1.0), (1e300, 1.0)] {
        let message = refusal(table().write(&path, Some(Windows { length: windows.0, stride: windows.1 })));
        assert!(message.contains("give a multiple of 1/64 s"), "{message}");
    }
    assert!(refusal(table().write(&folder.path().join("windows.csv"), None)).contains(".root"));
}

#[test]
fn files_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let sound = File::sound("H1", START);
    let read = |change: &dyn Fn(&mut File)| {
        let mut file = sound.clone();
        change(&mut file);
        Strain::read(&file.write(folder.path(), "file.hdf5"))
    };
    for (change, words) in [
        (&(|file: &mut File| file.spacing = 0.3) as &dyn Fn(&mut File), "0.3 s apart"),
        (&|file| file.spacing = 0.0, "0 s apart"),
        (&|file| file.spacing = f64::NAN, "NaN s apart"),
        (&|file| file.values.truncate(100), "100 samples at 64 Hz are no whole number of seconds"),
        (&|file| file.values.clear(), "0 samples"),
        (&|file| file.quality.truncate(5), "5 numbers for 8 seconds"),
        (&|file| file.injections.push(0), "9 numbers for 8 seconds"),
        (&|file| file.start = f64::INFINITY, "begins at GPS inf"),
        (&|file| file.detector = "H1;", "'H1;' is no name of a detector"),
    ] {
        let message = refusal(read(change));
        assert!(message.contains(words) && message.contains("file.hdf5"), "{message}");
    }
    let joined =
        |change: &dyn Fn(&mut File)| StrainTable::new(vec![read(&|_| ()).unwrap(), read(change).unwrap()], &[], true);
    for (change, words) in [
        (
            &(|file: &mut File| file.spacing *= 2.0) as &dyn Fn(&mut File),
            "sampling rate is 32 Hz, that of the first file 64",
        ),
        (&|file| file.start += 4.0, "repeats strain of H1"),
        (&|file| file.start += 8.001, "no whole number of samples"),
    ] {
        let change = |file: &mut File| {
            change(file);
            if file.spacing * RATE as f64 > 1.5 {
                file.values.truncate(RATE * SECONDS / 2);
            }
        };
        let message = refusal(joined(&change));
        assert!(message.contains(words) && message.contains("file.hdf5"), "{message}");
    }
    let path = folder.path().join("text.hdf5");
    fs::write(&path, "no file of this kind").unwrap();
    assert!(refusal(Strain::read(&path)).contains("text.hdf5: it cannot be read as HDF5"));
    assert!(refusal(Strain::read(folder.path())).contains("not a regular file"));
    assert!(matches!(Strain::read(&folder.path().join("none")), Err(Error::Io { .. })));
}

/// No panic, no hang, no excessive memory; the result is numbers or an error. `CLADTORCH_DAMAGES` in the environment
/// requests another number of cases.
#[test]
fn damaged_files_are_survived() {
    let folder = tempfile::tempdir().unwrap();
    let sound = [true, false].map(|packed| File::sound("H1", START).bytes(packed));
    let path = folder.path().join("damaged.hdf5");
    damage::survives(&sound, 20_000, |_, bytes, damaged| {
        fs::write(&path, bytes).unwrap();
        match Strain::read(&path) {
            Ok(strain) => assert_eq!(strain.values.len(), strain.quality.len() * strain.samples_a_second()),
            Err(Error::Internal(what)) => panic!("{what}"),
            Err(error) => {
                assert!(damaged && error.to_string().contains("damaged.hdf5"), "{error}");
                return false;
            }
        }
        true
    });
}

/// A size far too large, in each place of the file that may declare one: it is not trusted, and memory is allocated
/// only for existing data.
#[test]
fn declared_sizes_are_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("forged.hdf5");
    let sizes = [u64::MAX, 1 << 62, 1 << 40, 1 << 32];
    let forged = |sound: Vec<u8>| {
        let forge = |at: usize| {
            let mut bytes = sound.clone();
            bytes[at..at + 8].copy_from_slice(&sizes[at % sizes.len()].to_le_bytes());
            bytes
        };
        (0..sound.len() - 8).map(forge).collect::<Vec<_>>()
    };
    let files = [true, false].map(|packed| File::sound("H1", START).bytes(packed)).map(forged).concat();
    assert!(files.len() > 5000, "{}", files.len());
    let (_, refused) = damage::survives(&files, files.len(), |_, bytes, _| {
        fs::write(&path, bytes).unwrap();
        match Strain::read(&path) {
            Ok(strain) => assert_eq!(strain.values.len(), RATE * SECONDS),
            Err(Error::Internal(what)) => panic!("{what}"),
            Err(error) => {
                assert!(error.to_string().contains("forged.hdf5"), "{error}");
                return false;
            }
        }
        true
    });
    // Most of a file is strain, which may contain any number.
    assert!(refused > 1000, "{refused}");
}
