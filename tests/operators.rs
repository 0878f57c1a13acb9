//! Every operator that a graph can be lowered from: value and all gradients against LibTorch in float64 and float32, with
//! dense and strided inputs, empty ones and single elements, NaN and infinity; central differences in float64.

use std::collections::HashSet;

use cladtorch::gradient::Wanted;
use cladtorch::graph::lower;
use support::graph::cases::{Case, In, cases};
use support::graph::recorder;
use support::graph::recorder::{A, Recorder, check, numbers};
use support::numeric::{central_difference, compare};
use support::variants;
use tch::{Device, Kind, Tensor};

/// Layout of an input's memory.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Layout {
    Dense,
    /// Every dimension but the last in reverse order of memory.
    Transposed,
    /// Every second element of a larger tensor.
    Stepped,
}

/// The same elements with another layout.
fn laid_out(tensor: &Tensor, layout: Layout) -> Tensor {
    let rank = tensor.dim() as i64;
    let order: Vec<i64> = (0..rank).rev().collect();
    match layout {
        Layout::Transposed if rank > 1 => tensor.permute(&order).contiguous().permute(&order),
        Layout::Stepped if rank > 0 && tensor.numel() > 0 => {
            let wide = tensor.repeat_interleave_self_int(2, rank - 1, None);
            wide.slice(rank - 1, 0, None, 2)
        }
        _ => tensor.contiguous(),
    }
}

fn check_case(case: &Case, kind: Kind, layout: Layout) -> Result<(), String> {
    let inputs: Vec<Tensor> =
        case.inputs.iter().enumerate().map(|(i, input)| laid_out(&input.tensor(i, kind), layout)).collect();
    let recorder = case.recorded(&inputs);
    let (rtol, atol) = if kind == Kind::Double { (1e-11, 1e-12) } else { (2e-5, 4e-6) };
    let compiled = check(&recorder, rtol, atol)?;
    if kind == Kind::Double && layout == Layout::Dense && case.is_smooth {
        check_differences(&recorder, &compiled, &inputs)?;
    }
    Ok(())
}

/// The gradients against central differences of the compiled graph's own value.
fn check_differences(
    recorder: &Recorder,
    compiled: &cladtorch::gradient::CompiledGraph,
    inputs: &[Tensor],
) -> Result<(), String> {
    let results = recorder.actual(compiled)?;
    let mut gradients = results[recorder.graph.outputs.len()..].iter();
    for (index, input) in inputs.iter().enumerate().filter(|(_, input)| input.kind() == Kind::Double) {
        let gradient = gradients.next().expect("one for each");
        let value = |point: &[f64]| {
            let mut moved: Vec<Tensor> = inputs.iter().map(Tensor::shallow_clone).collect();
            moved[index] = Tensor::from_slice(point).reshape(input.size());
            recorder.total(compiled, &moved)
        };
        let numeric = central_difference(value, &numbers(input));
        compare(&numbers(gradient), &numeric, 1e-6, 1e-6).map_err(|e| format!("differences by input {index}: {e}"))?;
    }
    Ok(())
}

/// Operators whose rows must be found, in at least one of their cases: one for each way to keep rows apart.
const CUT: &str = "add sum mean amax softmax layer_norm linear bmm matmul embedding gather index_select cat where \
masked_fill conv1d max_pool1d cross_entropy_loss nll_loss_nd";

#[test]
fn rows_are_found_whatever_keeps_them_apart() {
    let is_cut = |case: &Case| {
        let inputs: Vec<Tensor> =
            case.inputs.iter().enumerate().map(|(i, input)| input.tensor(i, Kind::Double)).collect();
        matches!(case.recorded(&inputs).compile_in_blocks(1, Wanted::Aot, 60.0), Ok(Some(_)))
    };
    let cut: Vec<&str> = cases().iter().filter(|case| is_cut(case)).map(|case| case.op).collect();
    let missing: Vec<&str> = CUT.split_whitespace().filter(|op| !cut.contains(op)).collect();
    assert!(missing.is_empty(), "no rows found in {missing:?}, only in {cut:?}");
}

#[test]
fn operators_have_libtorchs_values_and_gradients() {
    let mut failures = Vec::new();
    for case in cases() {
        for kind in [Kind::Double, Kind::Float] {
            for layout in [Layout::Dense, Layout::Transposed, Layout::Stepped] {
                if let Err(error) = check_case(&case, kind, layout) {
                    failures.push(format!("{case}, {kind:?}, {layout:?}: {error}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// A gradient that is wrong by a factor, by its sign, or in one element, is caught for every operator that has one.
#[test]
fn a_wrong_derivative_is_caught() {
    let mut planted = 0;
    for case in cases() {
        let inputs: Vec<Tensor> = case.inputs.iter().enumerate().map(|(i, x)| x.tensor(i, Kind::Double)).collect();
        let recorder = case.recorded(&inputs);
        let outputs = recorder.graph.outputs.len();
        let compiled = recorder.compile().unwrap();
        let plant = |name: &str, index: usize, error: &dyn Fn(&Tensor) -> Tensor| {
            let mut results = recorder.actual(&compiled).unwrap();
            results[index] = error(&results[index]);
            let got = recorder::compare(&case.recorded(&inputs), results, 1e-11, 1e-12);
            assert!(got.is_err(), "{case}: {name} in gradient {} passed", index - outputs);
        };
        let results = recorder.actual(&compiled).unwrap();
        for (index, gradient) in results.iter().enumerate().skip(outputs) {
            if gradient.numel() == 0 || gradient.abs().max().double_value(&[]) == 0.0 {
                continue;
            }
            planted += 1;
            plant("a factor of 1 + 1e-6", index, &|d| d * (1.0 + 1e-6));
            plant("a sign", index, &|d| -d);
            plant("an element", index, &|d| {
                let d = d.copy();
                let mut last = d.flatten(0, -1).select(0, -1);
                let _ = last.fill_(1234.5);
                d
            });
        }
    }
    assert!(planted > 300, "only {planted} gradients");
}

#[test]
fn every_operator_on_the_list_has_a_case() {
    let tested: HashSet<&str> = cases().iter().map(|case| case.op).collect();
    let missing: Vec<&str> =
        lower::operators().map(|operator| operator.name).filter(|name| !tested.contains(name)).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}

/// Strain of gravitational waves is of the order of 1e-21; float32 cannot hold squares of such numbers, nor of equally
/// large ones.
#[test]
fn operators_hold_at_any_scale() {
    let mut failures = Vec::new();
    for case in cases() {
        for (kind, scale) in [(Kind::Float, 1e-22), (Kind::Float, 1e20), (Kind::Double, 1e-150), (Kind::Double, 1e150)]
        {
            let inputs = |kind: Kind| -> Vec<Tensor> {
                let scaled = |(i, input): (usize, &In)| {
                    let tensor = input.tensor(i, kind);
                    if i == 0 && input.is_floating() { tensor * scale } else { tensor }
                };
                case.inputs.iter().enumerate().map(scaled).collect()
            };
            // Also with adjoints as large as the numbers are small.
            for factor in [1.0, 1.0 / scale] {
                let recorded = |kind: Kind| multiplied(case.recorded(&inputs(kind)), factor);
                if let Err(error) = check_scaled(&recorded(kind), &recorded(Kind::Double).expected(), factor) {
                    failures.push(format!("{case}, {kind:?} times {scale:e}, results times {factor:e}: {error}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// With its floating-point results multiplied by a number.
fn multiplied(mut recorder: Recorder, factor: f64) -> Recorder {
    if factor == 1.0 {
        return recorder;
    }
    let results: Vec<usize> = recorder.graph.outputs.iter().map(|&output| output as usize).collect();
    let multiplied = results.into_iter().map(|result| {
        let value = &recorder.tensors[result] * factor;
        recorder.record("mul", "Tensor", &[A::V(result), A::F(factor)], vec![value])
    });
    let multiplied: Vec<usize> = multiplied.collect();
    recorder.graph.outputs.clear();
    recorder.returns(&multiplied);
    recorder
}

/// Against LibTorch's results in float64, relative to the greatest number of each. If LibTorch's own results, of the
/// recorder's type, are further off, ours may be, too; where they are infinite or NaN, nothing is required, and no
/// digits of denormal numbers.
fn check_scaled(recorder: &Recorder, exact: &[Tensor], factor: f64) -> Result<(), String> {
    let compiled = recorder.compile()?;
    let got = recorder.actual(&compiled)?;
    for (index, ((got, theirs), exact)) in got.iter().zip(recorder.expected()).zip(exact).enumerate() {
        let (rtol, atol) = if theirs.kind() == Kind::Double {
            (1e-11, 1e-16)
        } else {
            (2e-5, f64::from(f32::MIN_POSITIVE) * factor.max(1.0))
        };
        let (got, theirs, exact) = (numbers(got), numbers(&theirs), numbers(exact));
        let greatest = exact.iter().filter(|exact| exact.is_finite()).fold(0.0, |top: f64, exact| top.max(exact.abs()));
        for ((got, theirs), exact) in got.iter().zip(&theirs).zip(&exact).filter(|((_, theirs), _)| theirs.is_finite())
        {
            let theirs = (theirs - exact).abs();
            let close = (got - exact).abs() <= rtol * greatest + atol + 2.0 * theirs;
            if !close {
                return Err(format!("result {index} is {got:e} instead of {exact:e}"));
            }
        }
    }
    Ok(())
}

#[test]
fn empty_tensors_and_single_elements_pass() {
    let mut failures = Vec::new();
    for case in cases().into_iter().filter(|case| case.is_elementwise) {
        for shape in [&[0, 3][..], &[1, 1], &[], &[0], &[1]] {
            let inputs: Vec<Tensor> = case
                .inputs
                .iter()
                .enumerate()
                .map(|(i, input)| input.with_shape(shape).tensor(i, Kind::Double))
                .collect();
            if let Err(error) = check(&case.recorded(&inputs), 1e-11, 1e-12) {
                failures.push(format!("{case}, {shape:?}: {error}"));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// Some columns of a batch without rows: a view that begins beyond its memory.
#[test]
fn parts_of_the_columns_of_no_rows_pass() {
    let [w, b] = [vec![3, 4], vec![3]].map(|shape: Vec<i64>| Tensor::ones(&shape[..], (Kind::Double, Device::Cpu)));
    type Call = fn(&[Tensor], usize) -> (Tensor, Vec<A>);
    let calls: [(&str, Call); 5] = [
        ("linear", |t, x| (t[x].linear(&t[1], Some(&t[2])), vec![A::V(x), A::V(1), A::V(2)])),
        ("linear", |t, x| (t[x].linear(&t[1], None::<&Tensor>), vec![A::V(x), A::V(1), A::None])),
        ("relu", |t, x| (t[x].relu(), vec![A::V(x)])),
        ("softmax", |t, x| (t[x].softmax(1, Kind::Double), vec![A::V(x), A::I(1), A::None])),
        ("mul", |t, x| (&t[x] * &t[x], vec![A::V(x), A::V(x)])),
    ];
    for (op, call) in calls {
        for (rows, first) in [(0, 1), (0, 2), (2, 2), (1, 0)] {
            let x = Tensor::ones([rows, 6], (Kind::Double, Device::Cpu));
            let mut recorder = Recorder::new(&[x, w.copy(), b.copy()]);
            let part = recorder.tensors[0].slice(1, first, first + 4, 1);
            let part = recorder.record(
                "slice",
                "Tensor",
                &[A::V(0), A::I(1), A::I(first), A::I(first + 4), A::I(1)],
                vec![part],
            );
            let (value, arguments) = call(&recorder.tensors, part);
            let overload = match op {
                "mul" => "Tensor",
                "softmax" => "int",
                _ => "",
            };
            let value = recorder.record(op, overload, &arguments, vec![value]);
            recorder.returns(&[value]);
            check(&recorder, 1e-11, 1e-12).unwrap_or_else(|error| panic!("{op} of {rows} rows from {first}: {error}"));
        }
    }
}

/// Far below zero gelu is tiny but not zero: relative to erfc of LibTorch in float64.
#[test]
fn gelu_keeps_its_digits_where_it_is_small() {
    for (kind, tolerance) in [(Kind::Float, 2e-5), (Kind::Double, 1e-12)] {
        let z = Tensor::linspace(-12.5, -3.0, 2000, (kind, Device::Cpu));
        let mut recorder = Recorder::new(&[z.shallow_clone()]);
        let value = recorder.tensors[0].gelu("none");
        let value = recorder.record("gelu", "", &[A::V(0), A::S("none")], vec![value]);
        recorder.returns(&[value]);
        let compiled = recorder.compile().unwrap();
        let got = numbers(&recorder.actual(&compiled).unwrap()[0]);
        let exact = z.to_kind(Kind::Double);
        let exact = numbers(&(&exact * 0.5 * (&exact * -std::f64::consts::FRAC_1_SQRT_2).special_erfc()));
        compare(&got, &exact, tolerance, 1e-37).unwrap_or_else(|error| panic!("{kind:?}: {error}"));
    }
}

#[test]
fn the_variants_of_the_kernels_pass_too() {
    variants::pass_too(&[
        "operators_have_libtorchs_values_and_gradients",
        "empty_tensors_and_single_elements_pass",
        "operators_hold_at_any_scale",
        "gelu_keeps_its_digits_where_it_is_small",
        "the_variants_of_the_kernels_pass_too",
    ]);
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    let x = Tensor::rand([3], (Kind::Double, Device::Cpu));
    let mut recorder = Recorder::new(&[x.shallow_clone()]);
    let y = recorder.record("cumsum", "", &[A::V(0), A::I(0)], vec![x.cumsum(0, None)]);
    recorder.returns(&[y]);
    let error = recorder.compile().err().expect("cumsum is not on the list");
    assert!(error.contains("aten::cumsum") && error.contains("only LibTorch"), "{error}");
}

/// An operator is on one list or on the other.
#[test]
fn what_libtorch_runs_has_no_kernels() {
    let kernels: HashSet<&str> = lower::operators().map(|operator| operator.name).collect();
    let theirs = lower::ON_LIBTORCH.iter().flat_map(|(names, _)| names.split(' '));
    let is_ours = |name: &&str| match name.strip_suffix('*') {
        Some(beginning) => kernels.iter().any(|ours| ours.starts_with(beginning)),
        None => kernels.contains(name),
    };
    let both: Vec<&str> = theirs.filter(is_ours).collect();
    assert!(both.is_empty(), "{both:?} are on both lists");
}

/// The table in the documentation is that of the list; CLADTORCH_WRITE_TABLE=1 writes it.
#[test]
fn the_documented_table_is_that_of_the_list() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/graph/lower/operators.md");
    let table = cladtorch::graph::lower::documentation();
    if std::env::var_os("CLADTORCH_WRITE_TABLE").is_some() {
        std::fs::write(&path, &table).unwrap();
    }
    assert!(std::fs::read_to_string(&path).unwrap() == table, "run this test again with CLADTORCH_WRITE_TABLE=1");
}
