//! ONNX files: their structure, read by the test's own reader of protocol buffers; the verdict of ONNX's checker, and
//! the results of onnxruntime, if Python has both; operators without a counterpart are refused by name.

use std::collections::HashSet;
use std::fs;
use std::process::Command;

use cladtorch::graph::{Graph, Init};
use cladtorch::model::Model;
use support::models::{cube, difference, features, models};
use support::say::{not_tested, say};

/// Fields of a message: number, and an integer or bytes.
#[derive(Debug)]
enum Field<'a> {
    Integer(u64),
    Bytes(&'a [u8]),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..70).step_by(7) {
        let (byte, rest) = bytes.split_first().expect("an integer");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return value;
        }
    }
    panic!("a long integer");
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let field = match key & 7 {
            0 => Field::Integer(varint(&mut bytes)),
            kind => {
                let length = if kind == 5 { 4 } else { varint(&mut bytes) as usize };
                assert!(kind == 2 || kind == 5, "kind {kind}");
                let (own, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(own)
            }
        };
        fields.push((key >> 3, field));
    }
    fields
}

/// All values of a repeated field of bytes.
fn all(bytes: &[u8], number: u64) -> Vec<&[u8]> {
    let of = |(found, field)| if let (true, Field::Bytes(own)) = (found == number, field) { Some(own) } else { None };
    fields(bytes).into_iter().filter_map(of).collect()
}

fn texts(bytes: &[u8], number: u64) -> Vec<&str> {
    all(bytes, number).into_iter().map(|text| std::str::from_utf8(text).unwrap()).collect()
}

fn integers(bytes: &[u8], number: u64) -> Vec<u64> {
    let of = |(found, field)| if let (true, Field::Integer(own)) = (found == number, field) { Some(own) } else { None };
    fields(bytes).into_iter().filter_map(of).collect()
}

/// Operators of opset 17 that may occur.
const KNOWN: &[&str] = &[
    "Abs",
    "Acos",
    "Acosh",
    "Add",
    "And",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "Cast",
    "Ceil",
    "Concat",
    "Conv",
    "Cos",
    "Cosh",
    "Div",
    "Elu",
    "Equal",
    "Erf",
    "Exp",
    "Floor",
    "Gather",
    "GatherElements",
    "Gemm",
    "Identity",
    "LayerNormalization",
    "LeakyRelu",
    "Less",
    "LessOrEqual",
    "Log",
    "LogSoftmax",
    "MatMul",
    "Max",
    "Min",
    "Mod",
    "Mul",
    "Neg",
    "Or",
    "Pow",
    "Reciprocal",
    "ReduceMax",
    "ReduceSum",
    "Relu",
    "Reshape",
    "Round",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Slice",
    "Softmax",
    "Sqrt",
    "Sub",
    "Tan",
    "Tanh",
    "TopK",
    "Transpose",
    "Where",
];

/// The operators of an exported model, or why it is not exported.
fn exported(model: &Model) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.onnx");
    let result = model.export_onnx(&path).map_err(|error| error.to_string());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), usize::from(result.is_ok()));
    result.map(|()| fs::read(&path).unwrap())
}

#[test]
fn every_file_is_a_graph_of_known_operators_in_order() {
    for (name, model) in models() {
        let file = exported(&model).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(integers(&file, 1), [8]);
        assert_eq!(integers(all(&file, 8)[0], 2), [17]);
        let graph = all(&file, 7)[0];
        let mut made: HashSet<String> = HashSet::new();
        let mut make = |name: &str| assert!(!name.is_empty() && made.insert(name.to_owned()), "{name} is made twice");
        let shape = |info: &[u8]| -> Vec<String> {
            let tensor = all(all(info, 2)[0], 1)[0];
            assert_eq!(integers(tensor, 1), [1], "float32");
            let dims = all(all(tensor, 2)[0], 1);
            dims.into_iter()
                .map(|dim| texts(dim, 2).concat() + &integers(dim, 1).first().map_or(String::new(), u64::to_string))
                .collect()
        };
        let (inputs, outputs) = (all(graph, 11), all(graph, 12));
        assert_eq!((texts(inputs[0], 1), texts(outputs[0], 1)), (vec!["features"], vec!["predictions"]));
        assert_eq!(shape(inputs[0]), ["events".to_owned(), model.inputs().to_string()], "{name}");
        assert_eq!(shape(outputs[0]), ["events".to_owned(), model.outputs().to_string()], "{name}");
        make("features");
        let taken: HashSet<&str> = all(graph, 1).into_iter().flat_map(|node| texts(node, 1)).collect();
        for tensor in all(graph, 5) {
            make(texts(tensor, 8)[0]);
            assert!(taken.contains(texts(tensor, 8)[0]), "{name}: no node takes {}", texts(tensor, 8)[0]);
            let elements: u64 = integers(tensor, 1).iter().product();
            let size = match integers(tensor, 2)[..] {
                [1] => 4,
                [7] => 8,
                [9] => 1,
                ref other => panic!("type {other:?}"),
            };
            assert_eq!(all(tensor, 9)[0].len() as u64, elements * size, "{name}");
        }
        for node in all(graph, 1) {
            assert!(KNOWN.contains(&texts(node, 4)[0]), "{name}: {:?}", texts(node, 4));
            for input in texts(node, 1) {
                assert!(made.contains(input), "{name}: {input} is not made yet");
            }
            let made_now = texts(node, 2);
            assert_eq!(made_now.len(), if texts(node, 4) == ["TopK"] { 2 } else { 1 }, "{name}");
            assert!(made_now.iter().all(|each| made.insert((*each).to_owned())), "{name}: {made_now:?}");
        }
        assert!(made.contains("predictions"));
    }
}

/// The parameters are in the file under their names, and columns in the metadata.
#[test]
fn a_perceptron_is_written_as_one_reads_it() {
    let (_, model) = models().into_iter().find(|(name, _)| name == "relu regression").unwrap();
    let file = exported(&model).unwrap();
    let graph = all(&file, 7)[0];
    let operators: Vec<&str> = all(graph, 1).iter().flat_map(|node| texts(node, 4)).collect();
    let layers = ["Gemm", "Relu", "Gemm", "Relu", "Gemm"];
    assert_eq!(operators, [&["Sub", "Mul"][..], &layers, &["Div", "Add", "Identity"]].concat());
    let weight = all(graph, 5).into_iter().find(|tensor| texts(tensor, 8) == ["layers.0.weight"]).unwrap();
    let values: Vec<u8> = model.parameters()[..33 * 5].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!((integers(weight, 1), all(weight, 9)[0]), (vec![33, 5], &values[..]));
    let metadata: Vec<Vec<&str>> =
        all(&file, 14).iter().map(|entry| [texts(entry, 1), texts(entry, 2)].concat()).collect();
    let columns = r#"["column_0","column_1","column_2","column_3","column_4"]"#;
    assert_eq!(metadata[0], ["columns", columns]);
}

#[test]
fn what_onnx_cannot_say_is_refused_by_name() {
    let own = Model::new(&[2, 3, 1], cube(), Init::Xavier, 1).unwrap();
    let error = exported(&own).unwrap_err();
    assert!(error.contains("Custom is C++ of the user's own"), "{error}");
    assert!(Graph::mlp(&[2, 3, 1], cube()).is_ok());
    let (_, model) = models().into_iter().next().unwrap();
    let error = model.export_onnx(std::path::Path::new("/dev/null")).unwrap_err().to_string();
    assert!(error.contains("/dev/null"), "{error}");
}

/// Whether Python can import the packages that check and run ONNX files; otherwise its last words.
fn runtime() -> Result<(), String> {
    let output = Command::new("python3").args(["-c", "import numpy, onnx, onnxruntime"]).output();
    let output = output.map_err(|error| format!("python3: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr).trim().lines().last().unwrap_or_default().to_owned();
    if output.status.success() { Ok(()) } else { Err(said) }
}

#[test]
fn onnxruntime_computes_what_predict_gives() {
    if let Err(why) = runtime() {
        not_tested(&format!("beside onnxruntime: {why} (pip install onnx onnxruntime)"));
        return;
    }
    const ROWS: usize = 50;
    let folder = tempfile::tempdir().unwrap();
    let models = models();
    let mut list = String::new();
    for (index, (name, model)) in models.iter().enumerate() {
        model.export_onnx(&folder.path().join(format!("m{index}.onnx"))).unwrap_or_else(|e| panic!("{name}: {e}"));
        let x: Vec<u8> = features(model, ROWS).iter().flat_map(|value| value.to_le_bytes()).collect();
        fs::write(folder.path().join(format!("m{index}.x")), x).unwrap();
        list += &format!("m{index}\n");
    }
    fs::write(folder.path().join("list.txt"), list).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/onnx/run.py");
    let output = Command::new("python3").arg(script).arg(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut wrong = Vec::new();
    for (index, (name, model)) in models.iter().enumerate() {
        let bytes = fs::read(folder.path().join(format!("m{index}.y"))).unwrap();
        let found: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|word| f32::from_le_bytes(*word)).collect();
        let worst = difference(model, ROWS, &found);
        if worst.is_nan() || worst > 1e-6 {
            wrong.push(format!("{name}: {worst:e}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    say(&format!("onnxruntime computed {} models as they predict", models.len()));
}
