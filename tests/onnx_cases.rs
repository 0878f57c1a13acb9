//! ONNX's own cases of operators, if Python has the package `onnx`: the result of a supported operator is ONNX's value,
//! and everything else is refused by name. The counts are printed.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use cladtorch::gradient::{CompileOptions, CompiledGraph, Wanted};
use cladtorch::graph::DType;
use cladtorch::import::{Computed, Element, File, Given, Known, Mode, Numbers, Recorded, Value, operators};
use serde::Deserialize;
use support::say::{not_tested, say};
use tch::{Kind, Tensor};

/// A tensor of a case.
#[derive(Deserialize)]
struct Stored {
    name: String,
    element: i64,
    shape: Vec<usize>,
    data: [usize; 2],
}

#[derive(Deserialize)]
struct Case {
    name: String,
    operator: String,
    operators: Vec<String>,
    rtol: f64,
    atol: f64,
    model: [usize; 2],
    /// None: not a tensor of numbers.
    inputs: Vec<Option<Stored>>,
    outputs: Vec<Option<Stored>>,
}

/// Cases that must pass.
const LEAST: usize = 800;

/// The error of half precision if every step is rounded to it: everything is computed in float32 here.
fn precision(element: i64) -> f64 {
    match element {
        10 => 2f64.powi(-9),
        16 => 2f64.powi(-6),
        _ => 0.0,
    }
}

fn is_float(element: i64) -> bool {
    matches!(element, 1 | 10 | 11 | 16)
}

impl Stored {
    fn known(&self, data: &[u8]) -> Result<Known, String> {
        let element = Element::of(self.element).map_err(|error| error.to_string())?;
        let words = data[self.data[0]..][..self.data[1]].as_chunks::<8>().0;
        let numbers = match is_float(self.element) {
            true => Numbers::Floats(words.iter().map(|word| f64::from_le_bytes(*word)).collect()),
            false => Numbers::Integers(words.iter().map(|word| i64::from_le_bytes(*word)).collect()),
        };
        Ok(Known::new(element, &self.shape, numbers))
    }
}

fn tensor(known: &Known, dtype: DType) -> Tensor {
    let kind = match dtype {
        DType::Float32 => Kind::Float,
        DType::Float64 => Kind::Double,
        DType::Int64 => Kind::Int64,
        DType::Bool => Kind::Bool,
    };
    let tensor = match &*known.numbers {
        Numbers::Floats(list) => Tensor::from_slice(list),
        Numbers::Integers(list) => Tensor::from_slice(list),
    };
    let shape: Vec<i64> = known.shape.iter().map(|&size| size as i64).collect();
    tensor.to_kind(kind).reshape(shape).contiguous()
}

/// The results of the recorded operators.
fn run(recorded: &Recorded, passed: &[Tensor], dtype: DType) -> Result<Vec<Known>, String> {
    let captured = recorded.captured.iter().map(|capture| {
        let known =
            Known { shape: capture.shape.clone(), numbers: capture.numbers.clone(), ..Known::floats(&[], vec![0.0]) };
        tensor(&known, capture.dtype)
    });
    let tensors: Vec<Tensor> = passed.iter().map(Tensor::shallow_clone).chain(captured).collect();
    let mut computed = Vec::new();
    if !recorded.graph.outputs.is_empty() {
        let options = CompileOptions {
            name: "case".into(),
            back_end: Wanted::Aot,
            reason: String::new(),
            gradients: vec![false; tensors.len()],
            time_limit: 60.0,
            gpu: None,
        };
        let compiled = CompiledGraph::new(&recorded.graph, &options).map_err(|error| error.to_string())?;
        let kind = if dtype == DType::Float32 { Kind::Float } else { Kind::Double };
        let outputs = compiled.signature().outputs;
        let results: Vec<Tensor> = outputs
            .iter()
            .map(|output| {
                assert!(output.is_contiguous());
                let shape: Vec<i64> = output.sizes.iter().map(|&size| size as i64).collect();
                Tensor::full(&shape[..], f64::NAN, (kind, tch::Device::Cpu))
            })
            .collect();
        let addresses =
            |tensors: &[Tensor]| tensors.iter().map(|tensor| tensor.data_ptr() as usize).collect::<Vec<_>>();
        // SAFETY: the tensors have the shapes and types of the recording, are dense and outlive the call.
        unsafe { compiled.infer(0, &addresses(&tensors), &addresses(&results)) }.map_err(|error| error.to_string())?;
        computed = results;
    }
    let mut computed = computed.into_iter();
    let value = |value: &Value| match value {
        Value::Known(known) => known.clone(),
        Value::Computed(Computed { shape, element, .. }) => {
            let tensor = computed.next().unwrap().to_kind(Kind::Double).flatten(0, -1);
            Known::new(*element, shape, Numbers::Floats(Vec::try_from(tensor).unwrap()))
        }
    };
    Ok(recorded.outputs.iter().map(value).collect())
}

/// Why the case is refused; `Ok` with the fault of its values, or nothing.
fn attempt(case: &Case, data: &[u8]) -> Result<Option<String>, String> {
    let bytes = &data[case.model[0]..][..case.model[1]];
    let file = File::of(bytes, None).map_err(|error| error.to_string())?;
    let tensors: Option<Vec<&Stored>> = case.inputs.iter().map(Option::as_ref).collect();
    let tensors = tensors.ok_or("inputs that are no tensors of numbers")?;
    let has = |element: i64| tensors.iter().any(|tensor| tensor.element == element);
    let dtype = if has(11) && !has(1) { DType::Float64 } else { DType::Float32 };
    let (mut given, mut passed) = (Vec::new(), Vec::new());
    for stored in &tensors {
        let known = stored.known(data)?;
        let element = known.element;
        given.push((
            stored.name.as_str(),
            match element {
                // Numbers without dimensions are parameters of operators, which are constants in a file.
                _ if known.shape.is_empty() => Given::Known(known),
                Element::Bool => {
                    passed.push(tensor(&known, DType::Bool));
                    Given::Passed(known.shape.clone(), element)
                }
                _ if element.is_float() => {
                    passed.push(tensor(&known, dtype));
                    Given::Passed(known.shape.clone(), element)
                }
                _ => Given::Known(known),
            },
        ));
    }
    let wanted: Option<Vec<&Stored>> = case.outputs.iter().map(Option::as_ref).collect();
    let wanted = wanted.ok_or("outputs that are no tensors of numbers")?;
    let names: Vec<&str> = wanted.iter().map(|tensor| tensor.name.as_str()).collect();
    let mode = Mode { dtype, training: false, rows: None };
    let recorded = file.record(&given, &names, mode).map_err(|error| error.to_string())?;
    let got = run(&recorded, &passed, dtype)?;
    for (got, wanted) in got.iter().zip(&wanted) {
        let want = wanted.known(data)?;
        let rtol = case.rtol.max(precision(wanted.element));
        if got.shape != want.shape {
            return Ok(Some(format!("{} is {:?} instead of {:?}", wanted.name, got.shape, want.shape)));
        }
        for at in 0..want.count() {
            let (got, want) = (got.numbers.float(at), want.numbers.float(at));
            let close = (got - want).abs() <= case.atol + rtol * want.abs();
            if !(close || got == want || got.is_nan() && want.is_nan()) {
                return Ok(Some(format!("element {at} of {} is {got:e} instead of {want:e}", wanted.name)));
            }
        }
    }
    Ok(None)
}

#[test]
fn supported_operators_have_the_values_of_onnxs_own_cases() {
    let folder = tempfile::tempdir().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/onnx/collect.py");
    let output = Command::new("python3").arg(script).arg(folder.path()).output();
    let output = match output {
        Ok(output) if output.status.success() => output,
        other => {
            let why = other.map(|output| String::from_utf8_lossy(&output.stderr).into_owned());
            let why = why.unwrap_or_else(|error| error.to_string());
            let why = why.trim().lines().last().unwrap_or_default();
            not_tested(&format!("ONNX's own cases: {why} (pip install onnx)"));
            return;
        }
    };
    let cases: Vec<Case> = serde_json::from_slice(&fs::read(folder.path().join("cases.json")).unwrap()).unwrap();
    let data = fs::read(folder.path().join("data.bin")).unwrap();
    let (mut counts, mut wrong, mut reasons) = (BTreeMap::<&str, [usize; 2]>::new(), Vec::new(), Vec::new());
    for case in &cases {
        let count = counts.entry(&case.operator).or_default();
        match attempt(case, &data) {
            Ok(None) => count[0] += 1,
            Ok(Some(why)) => wrong.push(format!("{} ({}): {why}", case.name, case.operators.join(", "))),
            Err(why) => {
                assert!(!why.contains("internal error"), "{}: {why}", case.name);
                count[1] += 1;
                reasons.push(format!("{}: {why}", case.name));
            }
        }
    }
    if std::env::var_os("CLADTORCH_ONNX_REFUSALS").is_some() {
        reasons.iter().for_each(|reason| say(reason));
    }
    let total = |which: usize| counts.values().map(|count| count[which]).sum::<usize>();
    let list: Vec<String> = counts
        .iter()
        .map(|(operator, [passed, refused])| format!("{operator} {passed}/{}", passed + refused))
        .collect();
    say(&format!(
        "onnx {}: {} of {} cases pass, {} are refused by name\n{}",
        String::from_utf8_lossy(&output.stdout).trim(),
        total(0),
        cases.len(),
        total(1),
        list.join(", ")
    ));
    assert!(wrong.is_empty(), "{} wrong values:\n{}", wrong.len(), wrong.join("\n"));
    assert!(total(0) >= LEAST, "{} cases pass", total(0));
    assert!(operators().count() > 100);
}
