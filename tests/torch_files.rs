//! PyTorch's files: its weights and networks are read, and damaged and hostile files are refused without harm.

use std::fs;
use std::path::{Path, PathBuf};

use cladtorch::torch_file::{StateDict, archive_of, exported, is_exported, is_legacy, sound_script};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use support::damage::survives;
use support::forged::forge;
use support::say::say;
use support::zip::zip_of;

/// The files that `data/pytorch/networks.py` wrote.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/pytorch").join(name)
}

const NETWORKS: [&str; 11] = [
    "mlp",
    "normalised",
    "window",
    "residual",
    "deep_set",
    "attention",
    "image",
    "recurrent",
    "positions",
    "frozen_start",
    "traced",
];

fn networks() -> Vec<Vec<u8>> {
    NETWORKS.iter().map(|name| fs::read(file(&format!("{name}.pt"))).unwrap()).collect()
}

/// The elements of a tensor that was read.
fn elements(dict: &mut StateDict, name: &str) -> (Vec<usize>, Vec<f32>) {
    let shape = dict.tensor(name).unwrap().1.to_vec();
    (shape, dict.read(name).unwrap().floats().collect())
}

/// LibTorch's own reader of the network returns the same numbers under the same names.
#[test]
fn weights_are_those_of_the_network() {
    let network = tch::CModule::load(file("normalised.pt")).unwrap();
    let mut dict = StateDict::open(&file("normalised_weights.pt")).unwrap();
    let mut checkpoint = StateDict::open(&file("checkpoint.ckpt")).unwrap();
    assert_eq!(checkpoint.names()[0], "net.0.weight");
    checkpoint.begin_at("0.weight");
    assert_eq!(checkpoint.names(), dict.names());
    let parameters = network.named_parameters().unwrap();
    assert_eq!(parameters.len(), 6);
    for (name, tensor) in parameters {
        let shape: Vec<usize> = tensor.size().iter().map(|&size| size as usize).collect();
        let expected = (shape, Vec::<f32>::try_from(tensor.flatten(0, -1)).unwrap());
        assert_eq!(elements(&mut dict, &name), expected, "{name}");
        assert_eq!(elements(&mut checkpoint, &name), expected, "{name}");
    }
}

const EXPORTED: [&str; 7] = ["normalised", "window", "residual", "attention", "positions", "jets", "sized"];

/// The tensors of torch.export's files are those that LibTorch reads from the same networks.
#[test]
fn tensors_of_exported_networks_are_those_of_the_network() {
    for name in EXPORTED {
        let path = file(&format!("{name}.pt2"));
        assert!(is_exported(&path) && !is_exported(&file(&format!("{name}.pt"))));
        let script = exported(&path).unwrap();
        let network = tch::CModule::load(file(&format!("{name}.pt"))).unwrap();
        for (parameter, tensor) in network.named_parameters().unwrap() {
            let found = script.tensors.iter().find(|found| found.name == parameter).unwrap();
            assert!(found.is_parameter && found.trains && found.is_used && found.same_as.is_none());
            let expected = Vec::<f32>::try_from(tensor.flatten(0, -1)).unwrap();
            assert_eq!(found.values.floats().collect::<Vec<_>>(), expected, "{name}: {parameter}");
        }
        for found in &script.tensors {
            assert_eq!(found.is_persistent, found.name != "shift", "{name}: {}", found.name); // persistent=False
        }
        assert!(script.text.starts_with("graph(%x0 : Tensor, %t0 : Tensor"), "{}", script.text);
    }
}

/// An archive of torch.export with one of its JSON texts replaced.
fn changed(name: &str, from: &str, to: &str) -> Vec<u8> {
    let mut archive = zip_of(&fs::read(file(name)).unwrap());
    let mut count = 0;
    for (_, content) in archive.iter_mut().filter(|(name, _)| name.ends_with(".json")) {
        let text = String::from_utf8(content.clone()).unwrap();
        count += text.matches(from).count();
        *content = text.replace(from, to).into_bytes();
    }
    assert!(count > 0, "{from} is not in {name}");
    archive_of(&archive).unwrap()
}

#[test]
fn exported_networks_that_are_none_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("n.pt2");
    for (from, to, word) in [
        ("torch.ops.aten.linear.default", "torch.ops.mine.linear.default", "torch.ops.mine.linear.default"),
        ("torch.ops.aten.linear.default", "torch.ops.aten.linear\\n", "no operator of LibTorch's"),
        ("torch.ops.aten.relu.default", "builtins.eval", "builtins.eval"),
        ("\"use_pickle\": false", "\"use_pickle\": true", "is pickled"),
        ("\"as_int\": 12", "\"as_int\": 13", "has more elements than the file"),
        ("\"storage_offset\": {\"as_int\": 0}", "\"storage_offset\": {\"as_int\": 1}", "reaches beyond its elements"),
        ("\"as_int\": 12", "\"as_int\": 99999999999999", "a size of a tensor"),
        ("\"path_name\": \"weight_0\"", "\"path_name\": \"../weight_0\"", "not in the file"),
        ("\"dtype\": 7", "\"dtype\": 9", "a tensor of a type"),
        ("\"0.weight\"", "\"0..weight\"", "has a name that none can have"),
        ("\"user_output\"", "\"buffer_mutation\"", "run_decompositions"),
        ("\"nodes\"", "\"knots\"", "there is no 'nodes'"),
    ] {
        fs::write(&path, changed("normalised.pt2", from, to)).unwrap();
        let error = exported(&path).err().unwrap_or_else(|| panic!("accepted: {from} as {to}")).to_string();
        assert!(error.contains(word) && error.contains("n.pt2") && error.len() < 2000, "{from} as {to}: {error}");
    }
}

/// The result of a graph under `torch.no_grad()` is that of its call: tensors or sizes.
#[test]
fn results_without_gradients_have_their_kinds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("n.pt2");
    let (tensor, size) = (r#"{"as_tensor":{"name":"mean"}}"#, r#"{"as_sym_int":{"as_name":"mul"}}"#);
    let both = format!("[{size},{tensor}]");
    for (to, word) in [
        (format!("[{tensor},{size}]"), None),
        (format!(r#"[{tensor},{{"as_sym_float":{{"as_name":"mul"}}}}]"#), Some("gives a value as_sym_float")),
        (format!("[{tensor}]"), Some("before it is computed")),
    ] {
        fs::write(&path, changed("sized.pt2", &both, &to)).unwrap();
        let error = exported(&path).err().map(|error| error.to_string());
        assert_eq!(error.is_some(), word.is_some(), "{error:?}");
        assert!(word.is_none_or(|word| error.as_ref().unwrap().contains(word)), "{error:?}");
    }
    let inner = format!("\"outputs\":{both},\"nodes\"");
    let others = format!("\"outputs\":[{tensor},{size}],\"nodes\"");
    fs::write(&path, changed("sized.pt2", &inner, &others)).unwrap();
    let error = exported(&path).err().unwrap().to_string();
    assert!(error.contains("a graph that gives something else"), "{error}");
}

/// Archives with one of their records damaged, by names: each is read by `read`, which returns whether it accepted the
/// file.
fn with_damaged_records(
    archives: &[Vec<(String, Vec<u8>)>],
    is_read: impl Fn(&str) -> bool,
    otherwise: usize,
    mut read: impl FnMut(&Path, usize, bool) -> bool,
) -> (usize, usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("n.pt");
    let parts: Vec<(usize, usize)> = (0..archives.len())
        .flat_map(|archive| (0..archives[archive].len()).map(move |record| (archive, record)))
        .filter(|&(archive, record)| is_read(&archives[archive][record].0))
        .collect();
    let contents: Vec<Vec<u8>> = parts.iter().map(|&(archive, record)| archives[archive][record].1.clone()).collect();
    survives(&contents, otherwise, |number, bytes, damaged| {
        let (archive, record) = parts[number];
        let mut records = archives[archive].clone();
        records[record].1 = bytes.to_vec();
        fs::write(&path, archive_of(&records).unwrap()).unwrap();
        read(&path, number, damaged)
    })
}

/// Unchanged, and each of their texts with the checksums corrected.
#[test]
fn damaged_exported_networks_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("n.pt2");
    let sound = EXPORTED.map(|name| fs::read(file(&format!("{name}.pt2"))).unwrap());
    let read = |path: &Path, damaged: bool| {
        let is_read = exported(path).is_ok();
        assert!(is_read || damaged);
        is_read
    };
    let (cases, refused) = survives(&sound, 2_000, |_, bytes, damaged| {
        fs::write(&path, bytes).unwrap();
        read(&path, damaged)
    });
    let archives: Vec<_> = sound.iter().map(|bytes| zip_of(bytes)).collect();
    let (more, refused_texts) =
        with_damaged_records(&archives, |name| name.ends_with(".json"), 4_000, |path, _, damaged| read(path, damaged));
    say(&format!(
        "{refused} of {cases} damaged networks of torch.export and {refused_texts} of {more} with damaged texts refused"
    ));
    assert!(refused > 0 && refused < cases && refused_texts > 0 && refused_texts < more);
}

/// Every number, name and list of their texts replaced by others.
#[test]
fn exported_networks_with_damaged_values_do_no_harm() {
    let archives: Vec<_> =
        EXPORTED.iter().map(|name| zip_of(&fs::read(file(&format!("{name}.pt2"))).unwrap())).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("n.pt2");
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let sound = vec![vec![0]; archives.len()]; // the function that damages them knows JSON
    let (cases, refused) = survives(&sound, 4_000, |number, _, _| {
        let mut records = archives[number].clone();
        let texts: Vec<usize> = (0..records.len()).filter(|&at| records[at].0.ends_with(".json")).collect();
        let text = &mut records[texts[random.random_range(0..texts.len())]].1;
        let mut value = serde_json::from_slice(text).unwrap();
        forge(&mut value, &mut random);
        *text = value.to_string().into_bytes();
        fs::write(&path, archive_of(&records).unwrap()).unwrap();
        exported(&path).is_ok()
    });
    say(&format!("{refused} of {cases} networks of torch.export with forged texts refused"));
    assert!(refused > 0 && refused < cases);
}

/// Writes pickles: instructions and their arguments.
#[derive(Default)]
struct Pickle(Vec<u8>);

impl Pickle {
    fn new() -> Self {
        Pickle(b"\x80\x02".to_vec())
    }
    fn put(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }
    fn text(self, text: &str) -> Self {
        self.put(b"X").put(&(text.len() as u32).to_le_bytes()).put(text.as_bytes())
    }
    fn int(self, number: i32) -> Self {
        self.put(b"J").put(&number.to_le_bytes())
    }
    fn global(self, name: &str) -> Self {
        self.put(b"c").put(name.replace(' ', "\n").as_bytes()).put(b"\n")
    }
    fn tuple(self, numbers: &[i32]) -> Self {
        numbers.iter().fold(self.put(b"("), |pickle, &number| pickle.int(number)).put(b"t")
    }
    /// A tensor of the record data/0.
    fn tensor(self, storage: &str, elements: i32, offset: i32, shape: &[i32], strides: &[i32]) -> Self {
        let about = self.global("torch._utils _rebuild_tensor_v2").put(b"((").text("storage").global(storage).text("0");
        let placed = about.text("cpu").int(elements).put(b"tQ").int(offset).tuple(shape).tuple(strides);
        placed.put(b"\x89").global("collections OrderedDict").put(b")RtR")
    }
    /// A dictionary with that one tensor, "w".
    fn dict(storage: &str, elements: i32, offset: i32, shape: &[i32], strides: &[i32]) -> Self {
        Pickle::new().put(b"}").text("w").tensor(storage, elements, offset, shape, strides).put(b"s.")
    }
}

/// A file of this pickle and six numbers of float32.
fn weights(pickle: Pickle) -> Vec<u8> {
    let data = (1..=6).flat_map(|at| (at as f32).to_le_bytes()).collect();
    archive_of(&[("w/data.pkl".into(), pickle.0), ("w/data/0".into(), data)]).unwrap()
}

#[test]
fn views_of_a_storage_are_read_as_they_are() {
    let path = tempfile::tempdir().unwrap().keep().join("w.pt");
    for (offset, shape, strides, expected) in [
        (0, &[2, 3][..], &[3, 1][..], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0][..]),
        (0, &[3, 2], &[1, 3], &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]),
        (1, &[2], &[2], &[2.0, 4.0]),
        (5, &[1], &[1], &[6.0]),
        (2, &[], &[], &[3.0]),
        (0, &[3], &[0], &[1.0, 1.0, 1.0]),
        (6, &[0, 4], &[4, 1], &[]),
    ] {
        fs::write(&path, weights(Pickle::dict("torch FloatStorage", 6, offset, shape, strides))).unwrap();
        let mut dict = StateDict::open(&path).unwrap();
        let shape: Vec<usize> = shape.iter().map(|&size| size as usize).collect();
        assert_eq!(elements(&mut dict, "w"), (shape, expected.to_vec()), "{offset} {strides:?}");
    }
}

#[test]
fn hostile_weights_are_refused_with_a_reason() {
    let path = tempfile::tempdir().unwrap().keep().join("w.pt");
    let float = |elements, offset, shape: &[i32], strides: &[i32]| {
        weights(Pickle::dict("torch FloatStorage", elements, offset, shape, strides))
    };
    let sound = float(6, 0, &[6], &[1]);
    let plain = |bytes: &[u8]| weights(Pickle::new().put(bytes));
    let system = Pickle::new().global("posix system").put(b"(").text("touch hacked").put(b"tR.");
    let deep = [&b")"[..], &[0x85; 100_000], b"."].concat();
    let cycle = b"]q\x00h\x00a.";
    // Each list holds the one before twice.
    let shared: Vec<u8> = (0..60).flat_map(|_| *b"q\x00h\x00\x86").collect();
    let shared = [&b")"[..], &shared, b"."].concat();
    let at = |bytes: &[u8], what: &[u8]| bytes.windows(what.len()).rposition(|window| window == what).unwrap();
    let changed = |from: usize, to: &[u8]| {
        let mut bytes = sound.clone();
        bytes[from..from + to.len()].copy_from_slice(to);
        bytes
    };
    let (central, end) = (at(&sound, b"PK\x01\x02"), at(&sound, b"PK\x05\x06"));
    let huge = u32::MAX.to_le_bytes();
    let twice = archive_of(&[("w/data.pkl".into(), vec![1]), ("w/data.pkl".into(), vec![2])]).unwrap();
    for (bytes, word) in [
        (weights(system), "posix.system, which is not run"),
        (weights(Pickle::new().global("builtins eval").put(b".")), "builtins.eval, which is not run"),
        (
            weights(Pickle::new().global("torch.nn.modules.linear Linear").put(b")\x81}b.")),
            "torch.nn.modules.linear.Linear",
        ),
        (plain(b"N."), "no dictionary of tensors"),
        (
            weights(Pickle::new().put(b"}").text("epoch").int(3).put(b"s.")),
            "its dictionary holds epoch, and no weights",
        ),
        (plain(&deep), "500 deep in one another"),
        (plain(cycle), "contain themselves"),
        (plain(&shared), "hold the same others more than"),
        (plain(b"h\x07."), "recalls what it did not remember"),
        (plain(b"t."), "a mark that it does not have"),
        (plain(b"R."), "takes a value that it does not have"),
        (plain(b"}(K\x01u."), "entries of what is no dictionary"),
        (plain(b"]K\x01s."), "no"),
        (plain(b"X\xff\xff\xff\xffabc"), "cut"),
        (plain(b"}"), "without an end"),
        (plain(b"\x95\0\0\0\0\0\0\0\0."), "instruction 0x95"),
        (weights(Pickle(b"\x80\x04}.".to_vec())), "protocol 4"),
        (float(6, 0, &[7], &[1]), "tensor w reaches beyond its storage"),
        (float(6, 1, &[6], &[1]), "tensor w reaches beyond its storage"),
        (float(6, 0, &[2], &[i32::MAX]), "tensor w reaches beyond its storage"),
        (float(6, 0, &[i32::MAX, i32::MAX, i32::MAX], &[0, 0, 0]), "tensor w reaches beyond its storage"),
        (float(6, 0, &[-1], &[1]), "tensor w is no tensor"),
        (float(6, -1, &[1], &[1]), "tensor w is no tensor"),
        (float(6, 0, &[6], &[1, 1]), "tensor w is no tensor"),
        (float(5, 0, &[1], &[1]), "a storage of another size"),
        (weights(Pickle::dict("torch DoubleStorage", 6, 0, &[1], &[1])), "a storage of another size"),
        (weights(Pickle::dict("torch QInt8Storage", 24, 0, &[1], &[1])), "torch.QInt8Storage, which is not run"),
        (sound[..sound.len() - 1].to_vec(), "was cut"),
        (b"PK\x03\x04".to_vec(), "its end is missing"),
        (changed(end + 16, &huge), "its directory is elsewhere"),
        (changed(end + 10, &[0xff, 0xff]), "its directory is too short"),
        (changed(central + 42, &huge), "lies outside"),
        (changed(central + 42, &[0, 0, 0, 0]), "records overlap"),
        (changed(central + 20, &huge), "has two sizes"),
        (changed(central + 8, &[1]), "is encrypted"),
        (changed(central + 10, &[99]), "compressed in an unknown way"),
        (changed(at(&sound, b"w/data/0"), b"v"), "records in two folders"),
        (twice, "listed twice"),
    ] {
        fs::write(&path, &bytes).unwrap();
        let error = StateDict::open(&path).err().unwrap_or_else(|| panic!("accepted: {word}")).to_string();
        assert!(error.contains(word) && error.contains("w.pt") && error.len() < 2000, "{word}: {error}");
    }
    let directory = sound.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    fs::write(&path, changed(directory - 3, &[9])).unwrap();
    let mut dict = StateDict::open(&path).unwrap();
    let error = dict.read("w").unwrap_err().to_string();
    assert!(error.contains("record data/0 has other bytes"), "{error}");
}

/// A record that is deflated from 4 GB of zeros, and a directory that says so.
#[test]
fn bombs_are_refused_before_any_memory_is_taken() {
    let path = tempfile::tempdir().unwrap().keep().join("bomb.pt");
    let mut bytes = archive_of(&[("w/data.pkl".into(), vec![0; 64])]).unwrap();
    let central = bytes.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap();
    bytes[central + 10] = 8;
    bytes[central + 24..central + 28].copy_from_slice(&(u32::MAX - 1).to_le_bytes());
    fs::write(&path, &bytes).unwrap();
    for error in [StateDict::open(&path).err().unwrap(), sound_script(&path).unwrap_err()] {
        assert!(error.to_string().contains("its deflated records have more than"), "{error}");
    }
}

/// A network with another file in it.
fn with_record(name: &str, content: &[u8]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.pt");
    fs::write(&path, sound_script(&file("mlp.pt")).unwrap()).unwrap();
    let mut records: Vec<(String, Vec<u8>)> = records(&fs::read(&path).unwrap());
    let full = format!("network/{name}");
    records.retain(|(other, _)| *other != full);
    records.push((full, content.to_vec()));
    archive_of(&records).unwrap()
}

/// The records of an archive that [`sound_script`] wrote: stored, with the sizes in front.
fn records(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let (mut rest, mut records) = (bytes, Vec::new());
    while rest.starts_with(b"PK\x03\x04") {
        let number = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap()) as usize;
        let (size, name) = (number(18), number(26) & 0xffff);
        records.push((String::from_utf8(rest[30..30 + name].to_vec()).unwrap(), rest[30 + name..][..size].to_vec()));
        rest = &rest[30 + name + size..];
    }
    records
}

#[test]
fn hostile_networks_are_refused_with_a_reason() {
    let path = tempfile::tempdir().unwrap().keep().join("n.pt");
    let source = "code/__torch__/torch/nn/modules/activation.py";
    let deep = "more than 1000 deep";
    let run = "class SiLU(Module):\n  def __setstate__(self, state: int) -> NoneType:\n    return None\n";
    for (bytes, word) in [
        (with_record(source, run.as_bytes()), "__setstate__, which would run while it is read"),
        (with_record(source, &[b'('; 5000]), deep),
        (with_record(source, "- ".repeat(5000).as_bytes()), deep),
        (with_record(source, format!("x{}", " if x else x".repeat(5000)).as_bytes()), deep),
        (with_record(source, format!("x{}", "()".repeat(5000)).as_bytes()), deep),
        (with_record(source, format!("x{}", ".a\\\n".repeat(5000)).as_bytes()), "behind a backslash"),
        (with_record(source, format!("f({}", "x+".repeat(5000)).as_bytes()), deep),
        (with_record(source, "elif x:\n".repeat(5000).as_bytes()), deep),
        (with_record(source, " ".repeat(5000).as_bytes()), deep),
        (with_record(source, "def f():\n".repeat(20_001).as_bytes()), "more than 20000 functions"),
        (with_record(source, b"x = 1 # type: int"), "a comment"),
        (with_record(source, b"x = '''((('''"), "a text in quotes without an end"),
        (with_record(source, &[0xff]), "is not UTF-8"),
        (with_record("data.pkl", &Pickle::new().global("posix system").put(b".").0), "posix.system"),
        (
            with_record("data.pkl", &Pickle::new().global("__torch__.torch.classes.quantized Packed").put(b".").0),
            "quantized",
        ),
        (with_record("constants.pkl", &[&b"\x80\x02)"[..], &[0x85; 100_000], b"."].concat()), "500 deep"),
        (with_record("constants.pkl", b"\x80\x02)r\x00\x00\x00\x10."), "as number 268435456"),
        (fs::read(file("normalised_weights.pt")).unwrap(), "LoadWeights reads a state_dict"),
    ] {
        fs::write(&path, &bytes).unwrap();
        let error = sound_script(&path).err().unwrap_or_else(|| panic!("accepted: {word}")).to_string();
        assert!(error.contains(word) && error.contains("n.pt") && error.len() < 2000, "{word}: {error}");
    }
}

/// LibTorch computes the same from the rewritten archive.
#[test]
fn sound_networks_are_the_same_networks() {
    for name in NETWORKS.iter().filter(|name| **name != "deep_set") {
        let shape: &[i64] = match *name {
            "mlp" | "frozen_start" => &[4, 3],
            "window" => &[4, 1, 32],
            "residual" => &[4, 6],
            "attention" => &[4, 7, 4],
            "image" => &[4, 1, 6, 6],
            "recurrent" => &[4, 5, 2],
            "positions" => &[4, 5, 3],
            _ => &[4, 4],
        };
        let path = file(&format!("{name}.pt"));
        let bytes = sound_script(&path).unwrap();
        let outputs = |mut module: tch::CModule| {
            module.set_eval();
            module
                .forward_ts(&[tch::Tensor::arange(shape.iter().product::<i64>(), tch::kind::FLOAT_CPU)
                    .view(shape)
                    .sin()])
                .unwrap()
        };
        let [a, b] = [tch::CModule::load(&path), tch::CModule::load_data(&mut &bytes[..])]
            .map(|module| outputs(module.unwrap()));
        assert_eq!(a, b, "{name}");
    }
}

/// Damaged files, as many as `CLADTORCH_DAMAGES` says: unchanged, and with corrected checksums, so that the damage
/// reaches LibTorch. Each is refused by us or by LibTorch, or read.
#[test]
fn damaged_networks_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("n.pt");
    let mut reached = 0;
    let (cases, refused) = survives(&networks(), 4_000, |case, bytes, damaged| {
        fs::write(&path, bytes).unwrap();
        let Ok(sound) = sound_script(&path) else {
            assert!(damaged, "case {case}");
            return false;
        };
        reached += 1;
        tch::CModule::load_data(&mut &sound[..]).is_ok()
    });
    say(&format!("{refused} of {cases} damaged networks refused, {reached} reached LibTorch"));
    assert!(refused > 0 && refused < cases);
}

#[test]
fn damaged_parts_of_networks_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("n.pt");
    let sound = |bytes: &Vec<u8>| {
        fs::write(&path, bytes).unwrap();
        records(&sound_script(&path).unwrap())
    };
    let whole: Vec<_> = networks().iter().map(sound).collect();
    let is_read = |name: &str| name.ends_with(".pkl") || name.ends_with(".py");
    let mut reached = 0;
    let (cases, refused) = with_damaged_records(&whole, is_read, 4_000, |path, case, damaged| {
        let Ok(sound) = sound_script(path) else {
            assert!(damaged, "case {case}");
            return false;
        };
        reached += 1;
        tch::CModule::load_data(&mut &sound[..]).is_ok()
    });
    say(&format!("{refused} of {cases} networks with damaged parts refused, {reached} reached LibTorch"));
    assert!(refused > 0 && refused < cases && reached > cases / 10);
}

/// Files of PyTorch before 1.6 are recognised by their beginning.
#[test]
fn files_of_old_versions_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.pt");
    fs::write(&path, b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.").unwrap();
    assert!(is_legacy(&path) && !is_legacy(&file("mlp.pt")));
}

/// The same for weights: accepted files can be read, or report why not.
#[test]
fn damaged_weights_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.pt");
    let read = |bytes: &[u8]| -> bool {
        fs::write(&path, bytes).unwrap();
        let Ok(mut dict) = StateDict::open(&path) else { return false };
        dict.names().to_vec().iter().all(|name| {
            let (_, shape) = dict.tensor(name).unwrap();
            let elements = shape.iter().try_fold(1_usize, |count, size| count.checked_mul(*size)).unwrap();
            elements > 1 << 20 || dict.read(name).is_ok()
        })
    };
    let files = ["normalised_weights.pt", "checkpoint.ckpt"].map(|name| fs::read(file(name)).unwrap());
    let (cases, refused) = survives(&files, 5_000, |_, bytes, damaged| {
        let is_read = read(bytes);
        assert!(is_read || damaged);
        is_read
    });
    let pickle = Pickle::dict("torch FloatStorage", 6, 0, &[2, 3], &[3, 1]).0;
    let (more, refused_pickles) = survives(&[pickle], 5_000, |_, bytes, _| read(&weights(Pickle(bytes.to_vec()))));
    say(&format!(
        "{refused} of {cases} damaged files and {refused_pickles} of {more} damaged pickles of weights refused"
    ));
    assert!(refused > 0 && refused < cases && refused_pickles > 0 && refused_pickles < more);
}
