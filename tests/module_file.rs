//! The model file of networks of operators: any network comes back unchanged, and continues in a fit as if it had never
//! been saved; damaged and forged files are refused or can be used.

use std::fs;
use std::path::Path;

use cladtorch::columns::Column;
use cladtorch::dataset::Dataset;
use cladtorch::graph::{AnyBatch, Captured, Gradient, Mode, Module, Observed};
use cladtorch::model::{FlatOffset, Model, Names};
use cladtorch::train::{Options, Trainer};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use support::damage::survives;
use support::data::spec;
use support::forged::{forge, resum, with_description};
use support::graph::modules;
use support::graph::modules::CASES;
use support::graph::recorder::A::{F, I, V};
use support::graph::recorder::Recorder;
use support::say::say;
use tch::{Device, Kind, Tensor};

/// A model whose tensors have names, except the last one.
fn model_of(module: Module, parameters: &[f32], state: &[f32]) -> Model {
    let count = module.captured().len();
    let name = |index: usize| if index + 1 < count { format!("part.{index}.weight") } else { String::new() };
    let place = |(index, captured): (usize, &Captured)| match captured {
        Captured::Parameter(range) => Some((FlatOffset::Parameter(range.start), name(index))),
        Captured::State(range) => Some((FlatOffset::State(range.start), name(index))),
        Captured::Fixed(_) => None,
    };
    let names = Names::new("", module.captured().iter().enumerate().filter_map(place).collect());
    Model::of_operators(module, names, parameters, state).unwrap()
}

fn floats(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&value| value as f32).collect()
}

/// A network with captured tensors of every type that do not train: an index, a mask, infinite numbers, and a
/// transposed matrix.
fn with_fixed_tensors() -> Model {
    let cpu = |kind| (kind, Device::Cpu);
    let fixed = [
        Tensor::from_slice(&[2i64, 0]),
        Tensor::from_slice(&[true, false]),
        Tensor::from_slice(&[f32::NEG_INFINITY, 0.0]),
        Tensor::arange(4, cpu(Kind::Float)).view([2, 2]).transpose(0, 1),
    ];
    let weights = [Tensor::ones([2, 2], cpu(Kind::Float)) * 0.3, Tensor::ones([2], cpu(Kind::Float)) * 0.1];
    let observed = |rows: i64| {
        let events = (Tensor::arange(rows * 3, cpu(Kind::Float)) * 0.7).sin().view([rows, 3]);
        let tensors: Vec<Tensor> =
            [events].into_iter().chain(weights.iter().chain(&fixed).map(Tensor::shallow_clone)).collect();
        let mut r = Recorder::new(&tensors);
        let t = |r: &Recorder, index: usize| r.tensors[index].shallow_clone();
        let chosen = r.record("index_select", "", &[V(0), I(1), V(3)], vec![t(&r, 0).index_select(1, &t(&r, 3))]);
        let value = t(&r, chosen).where_self(&t(&r, 4), &(t(&r, chosen) * 0.5));
        let half = r.record("mul", "Scalar", &[V(chosen), F(0.5)], vec![t(&r, chosen) * 0.5]);
        let masked = r.record("where", "self", &[V(4), V(chosen), V(half)], vec![value]);
        let value = t(&r, masked).maximum(&t(&r, 5));
        let above = r.record("maximum", "", &[V(masked), V(5)], vec![value]);
        let value = t(&r, above).matmul(&t(&r, 6));
        let turned = r.record("matmul", "", &[V(above), V(6)], vec![value]);
        let value = t(&r, turned).linear(&t(&r, 1), Some(t(&r, 2)));
        let output = r.record("linear", "", &[V(turned), V(1), V(2)], vec![value]);
        r.returns(&[output]);
        r.graph.constants = r.graph.inputs.split_off(1);
        r.graph
    };
    let mode = || Observed {
        batch: AnyBatch::new([observed(5), observed(6)], 5, &observed(8), 8, "another").unwrap(),
        one: Ok(observed(1)),
        constants: (0..6).collect(),
    };
    let words = |index: usize, bytes: usize| {
        let mut raw = match index {
            2 => [2i64, 0].iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>(),
            3 => vec![1, 0],
            4 => [f32::NEG_INFINITY, 0.0].iter().flat_map(|value| value.to_le_bytes()).collect(),
            _ => [0.0f32, 1.0, 2.0, 3.0].iter().flat_map(|value| value.to_le_bytes()).collect(),
        };
        assert_eq!(raw.len(), bytes);
        raw.resize(bytes.next_multiple_of(8), 0xff); // bytes after it belong to nothing
        raw.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
    };
    let is_parameter: Vec<bool> = (0..6).map(|index| index < 2).collect();
    let module = Module::new("fixed", &[3], [mode(), mode()], &is_parameter, words).unwrap();
    model_of(module, &[0.3, -0.2, 0.5, 0.1, 0.1, -0.1], &[])
}

/// A model of each of the networks, not trained.
fn models() -> Vec<(&'static str, Model)> {
    let of_case = |case: &modules::Case| {
        let module = case.module(Kind::Float);
        (case.name, model_of(module, &floats(&case.start()), &floats(&case.state())))
    };
    CASES.iter().map(of_case).chain([("fixed tensors", with_fixed_tensors())]).collect()
}

/// Seeded events for a model, with a class each.
fn events(model: &Model, rows: usize) -> Dataset {
    let mut generator = ChaCha8Rng::seed_from_u64(7);
    let mut data = Dataset::new(&[Column::new("x", model.inputs())]).unwrap();
    data.begin("events").unwrap();
    for row in 0..rows {
        let class = row % model.outputs().max(2);
        let features: Vec<f32> = (0..model.inputs()).map(|_| generator.random::<f32>() + class as f32 * 0.3).collect();
        data.append(&features, &[class as f32], &[1.0 + generator.random::<f32>()]).unwrap();
    }
    data.commit().unwrap();
    data
}

/// With one thread the calling thread computes the events, with more threads others do: the bits are the same.
#[test]
fn predictions_are_the_same_whoever_computes_them() {
    for (name, model) in models() {
        let work = model.module().unwrap().cost().work.max(1);
        let rows = ((1 << 21) / work + 100).min(20_000);
        let (data, inputs, outputs) = (events(&model, rows), model.inputs(), model.outputs());
        let predicted = |rows: usize, threads: usize| -> Vec<u32> {
            let mut out = vec![0.0; rows * outputs];
            model.predict_rows(&data.features()[..rows * inputs], true, threads, &mut out).unwrap();
            out.into_iter().map(f32::to_bits).collect()
        };
        assert_eq!(predicted(rows, 2), predicted(rows, 1), "{name}");
    }
}

fn fitted(model: &mut Model, data: &Dataset, spec: &Options) {
    let mut trainer = Trainer::new(model, data, spec).unwrap();
    for _ in 0..2 {
        trainer.epoch(data).unwrap();
    }
    trainer.finish(model).unwrap();
}

/// Bits of all predictions and contents of a model.
fn bits(model: &Model, data: &Dataset) -> Vec<u32> {
    let mut logits = vec![0.0; data.rows() * model.outputs()];
    model.predict(data, true, 2, &mut logits).unwrap();
    let mut one = vec![0.0; model.outputs()];
    if model.module().unwrap().takes_one(Mode::Evaluation) {
        model.score(&data.features()[..model.inputs()], false, &mut one).unwrap();
    }
    [&logits, &one, model.parameters(), model.state()].concat().iter().map(|value| value.to_bits()).collect()
}

#[test]
fn every_network_comes_back_and_trains_on_as_if_it_had_never_been_saved() {
    let folder = tempfile::tempdir().unwrap();
    let (path, again) = (folder.path().join("model.ct"), folder.path().join("again.ct"));
    for (name, mut model) in models() {
        let data = events(&model, 333);
        let compare = |model: &Model| {
            model.save(&path).unwrap();
            let loaded = Model::load(&path, None).unwrap();
            assert_eq!(bits(&loaded, &data), bits(model, &data), "{name}");
            assert_eq!((loaded.describe(), loaded.training()), (model.describe(), model.training()), "{name}");
            loaded.save(&again).unwrap();
            assert_eq!(fs::read(&again).unwrap(), fs::read(&path).unwrap(), "{name}");
            loaded
        };
        compare(&model);
        fitted(&mut model, &data, &spec());
        let mut loaded = compare(&model);
        fitted(&mut model, &data, &Options { seed: 2, ..spec() });
        fitted(&mut loaded, &data, &Options { seed: 2, ..spec() });
        assert_eq!(bits(&loaded, &data), bits(&model, &data), "{name}: second fit");
        assert_eq!(loaded.batches(), model.batches());
        compare(&loaded);
    }
}

/// Any safetensors reader finds the parameters, by the module's names.
#[test]
fn other_programs_find_the_parameters_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    for (name, model) in models() {
        model.save(&path).unwrap();
        let bytes = fs::read(&path).unwrap();
        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let mut found = 0;
        for (index, captured) in model.module().unwrap().captured().iter().enumerate() {
            let Captured::Parameter(range) = captured else { continue };
            let tensor = file
                .tensor(&format!("part.{index}.weight"))
                .or_else(|_| file.tensor(&format!("cladtorch.captured.{index}")));
            let values: Vec<u8> =
                model.parameters()[range.clone()].iter().flat_map(|value| value.to_le_bytes()).collect();
            assert_eq!(tensor.unwrap().data(), values, "{name}");
            found += 1;
        }
        assert!(found > 0);
    }
}

/// The bytes of each network's file.
fn saved() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    let bytes = |(_, mut model): (_, Model)| {
        let data = events(&model, 100);
        fitted(&mut model, &data, &spec());
        model.save(&path).unwrap();
        fs::read(&path).unwrap()
    };
    models().into_iter().map(bytes).collect()
}

/// Loads a model from `bytes`; otherwise returns the message, which names the file and has no terminal controls.
fn load(path: &Path, bytes: &[u8]) -> Result<Model, String> {
    fs::write(path, bytes).unwrap();
    Model::load(path, None).map_err(|error| {
        let error = error.to_string();
        assert!(error.contains("model.ct") && error.len() < 4000, "{error}");
        assert!(!error.chars().any(char::is_control), "{error:?}");
        error
    })
}

/// An accepted model predicts, trains and is saved again.
fn use_it(model: &Model, folder: &Path) {
    let again = folder.join("again.ct");
    assert!(!model.describe().chars().any(|each| each.is_control() && each != '\n'), "{}", model.describe());
    let (x, mut out) = (vec![0.5; 3 * model.inputs()], vec![0.0; 3 * model.outputs()]);
    if model.module().unwrap().takes_one(Mode::Evaluation) {
        let _ = model.score(&x[..model.inputs()], false, &mut out[..model.outputs()]);
    }
    let mut data = Dataset::new(&[Column::new("x", model.inputs())]).unwrap();
    data.begin("events").unwrap();
    let labels: Vec<f32> = (0..3).map(|row| (row % model.outputs().max(2)) as f32).collect();
    data.append(&x, &labels, &[1.0; 3]).unwrap();
    data.commit().unwrap();
    let _ = model.predict(&data, true, 1, &mut out);
    if let Ok(mut trainer) = Trainer::new(model, &data, &Options { validation: 0.0, ..spec() }) {
        let _ = trainer.epoch(&data);
    }
    model.save(&again).unwrap();
    assert_eq!(Model::load(&again, None).unwrap().parameters(), model.parameters());
}

#[test]
fn a_damaged_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    let sound = saved();
    let (cases, refused) = survives(&sound, 1_000, |_, bytes, _| load(&path, bytes).is_ok());
    say(&format!("{refused} of {cases} damaged files of networks refused, the others as they were saved"));
    assert!(cases - refused >= sound.len());
}

/// The same with a valid checksum.
#[test]
fn a_file_with_changed_bytes_and_the_right_checksum_is_refused_or_can_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    let (cases, refused) = survives(&saved(), 1_000, |_, bytes, _| {
        let Ok(model) = load(&path, &resum(bytes.to_vec())) else { return false };
        use_it(&model, folder.path());
        true
    });
    say(&format!("{refused} of {cases} files of networks with changed bytes refused"));
    assert!(refused > 0 && refused < cases);
}

/// Every number, name and list of the description replaced by others.
#[test]
fn a_file_with_a_forged_description_is_refused_or_can_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    let (sound, mut random) = (saved(), ChaCha8Rng::seed_from_u64(3));
    let (cases, refused) = survives(&sound, 3_000, |number, _, _| {
        let bytes = with_description(&sound[number], |description| forge(description, &mut random));
        let Ok(model) = load(&path, &bytes) else { return false };
        use_it(&model, folder.path());
        true
    });
    say(&format!("{refused} of {cases} files of networks with forged descriptions refused"));
    assert!(refused > 0 && refused < cases);
}

#[test]
fn what_a_file_of_operators_cannot_hold_is_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    let whole = &saved()[0];
    type Change = fn(&mut Value);
    let cases: [(Change, &str); 13] = [
        (|d| d["version"] = json!(3), "this CladTorch reads versions 1 and 2"),
        (|d| d["version"] = json!(1), "description cannot be read"),
        (|d| d["network"]["name"] = json!("a\u{202e}b"), "is called"),
        (|d| d["network"]["shape"] = json!([1 << 30, 1 << 30]), "an event of shape"),
        (|d| d["network"]["training"]["rows"] = json!(0), "an observation with 0 rows"),
        (|d| d["network"]["evaluation"]["first"]["values"][0][1] = json!([1i64 << 40, 4]), "a tensor of shape"),
        (|d| d["network"]["evaluation"]["first"]["operators"][0][0] = json!("aten::system"), "has no kernel"),
        (|d| d["network"]["evaluation"]["first"]["operators"][0][2] = json!([0]), "or twice"),
        (|d| d["network"]["evaluation"]["first"]["operators"][0][1][0] = json!({"tensor": 7}), "nothing has made"),
        (|d| d["network"]["evaluation"]["captured"] = json!([9, 9, 9, 9]), "captured tensor 9 of 4"),
        (|d| d["captured"][0]["tensor"] = json!("other"), "tensor other is missing"),
        (|d| d["captured"][0]["parameter"] = json!(3), "description cannot be read"),
        (|d| d["last_activation"] = json!("Sine"), "unknown activation \"Sine\""),
    ];
    for (change, word) in cases {
        let error = load(&path, &with_description(whole, change)).err().unwrap_or_else(|| panic!("accepted: {word}"));
        assert!(error.contains(word), "{word}: {error}");
    }
}

/// LibTorch's autograd is not in the file.
#[test]
fn what_a_loaded_network_lacks_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ct");
    let (_, model) = models().remove(0);
    model.save(&path).unwrap();
    let loaded = Model::load(&path, None).unwrap();
    let autograd = Options { gradient: Gradient::Autograd, ..spec() };
    let error = Trainer::new(&loaded, &events(&loaded, 50), &autograd).err().unwrap().to_string();
    assert!(error.contains("read from a file") && error.contains("kClad"), "{error}");
}
