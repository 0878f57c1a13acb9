//! Operators of graphs at special numbers (zeros of both signs, denormal and large ones, infinities, NaN, and the kinks of each):
//! values and gradients against LibTorch, with every variant of the kernels.

use cladtorch::graph::ObservedArgument;
use support::graph::cases::{Case, In, cases};
use support::graph::recorder::{A, Recorder, agree, numbers};
use support::variants;
use tch::{Kind, Tensor};

/// Zeros, denormals, kinks, values where exp overflows, infinities and NaN.
const AWKWARD: [f64; 24] = [
    0.0,
    -0.0,
    1e-40,
    -1e-40,
    5e-324,
    1.0,
    -1.0,
    2.0,
    -2.0,
    0.5,
    -0.5,
    20.0,
    -20.0,
    88.0,
    -88.0,
    100.0,
    -100.0,
    104.0,
    1e4,
    -1e4,
    3.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// Element-by-element operators at awkward numbers, every pair of them for two operands.
#[test]
fn awkward_numbers_come_out_in_the_same_places() {
    let mut failures = Vec::new();
    for case in cases().into_iter().filter(|case| case.is_elementwise) {
        for kind in [Kind::Double, Kind::Float] {
            let floats = case.inputs.iter().filter(|input| input.is_floating()).count();
            let grid = Tensor::from_slice(&AWKWARD).to_kind(kind);
            let n = AWKWARD.len() as i64;
            let mut float = 0;
            let awkward = |(i, input): (usize, &In)| match input {
                input if input.is_floating() => {
                    float += 1;
                    let shape = if float == 1 { [n, 1] } else { [1, n] };
                    let whole = grid.reshape(shape);
                    if floats == 1 { whole } else { whole.expand([n, n], true).contiguous() }
                }
                other => other.with_shape(&[n, if floats == 1 { 1 } else { n }]).tensor(i, kind),
            };
            let inputs: Vec<Tensor> = case.inputs.iter().enumerate().map(awkward).collect();
            // Absolutely: LibTorch computes some derivatives from values that have lost digits, exp(x) as expm1(x) + 1.
            let (rtol, atol) = if kind == Kind::Double { (1e-11, 1e-15) } else { (2e-6, 4e-7) };
            if let Err(error) = check_awkward(&case.recorded(&inputs), rtol, atol) {
                failures.push(format!("{case}, {kind:?}: {error}"));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// As [`check`], but names the point and leaves out the few where LibTorch or the rule is known to be off.
fn check_awkward(recorder: &Recorder, rtol: f64, atol: f64) -> Result<(), String> {
    let compiled = recorder.compile()?;
    let got = recorder.actual(&compiled)?;
    for (index, (got, want)) in got.iter().zip(recorder.expected()).enumerate() {
        let (got, want) = (numbers(got), numbers(&want));
        let points: Vec<Vec<f64>> = recorder.tensors[..recorder.graph.inputs.len()].iter().map(numbers).collect();
        for (i, (&got, &want)) in got.iter().zip(&want).enumerate() {
            let close = (got - want).abs() <= rtol * want.abs() + atol;
            let at: Vec<f64> = points.iter().map(|x| x[i % x.len()]).collect();
            if !(close || got == want || got.is_nan() && want.is_nan() || is_known(recorder, &at)) {
                return Err(format!("result {index} at {at:?} is {got:e} instead of {want:e}"));
            }
            // The sign of a zero decides what 1 / x and atan2 make of it.
            let is_value = index < recorder.graph.outputs.len();
            // LibTorch's gelu of -0 is 0 with AVX2 and -0 with AVX-512.
            let keeps_it = !matches!(recorder.graph.nodes[0].op.as_str(), "aten::relu" | "aten::relu6" | "aten::gelu");
            if is_value && keeps_it && got == 0.0 && want == 0.0 && got.is_sign_negative() != want.is_sign_negative() {
                return Err(format!("result {index} at {at:?} is {got:?} instead of {want:?}"));
            }
        }
    }
    Ok(())
}

/// Where a difference from LibTorch is expected.
fn is_known(recorder: &Recorder, at: &[f64]) -> bool {
    let node = &recorder.graph.nodes[0];
    match node.op.as_str() {
        // LibTorch's value is that of rsqrt, its derivative that of pow.
        "aten::pow" => node.arguments[1] == ObservedArgument::Float(-0.5) && at[0] == f64::NEG_INFINITY,
        // LibTorch's derivative of a NaN depends on its neighbours.
        "aten::elu" | "aten::selu" | "aten::celu" | "aten::hardtanh" | "aten::relu6" | "aten::softshrink"
        | "aten::hardswish" => at[0].is_nan(),
        // LibTorch multiplies by the adjoint before it divides, which denormal numbers do not bear.
        "aten::hypot" => at.iter().all(|number| number.abs() < f64::from(f32::MIN_POSITIVE)),
        // LibTorch's value takes infinity from infinity; it is infinite. No label is infinite.
        "aten::binary_cross_entropy_with_logits" => at[0] == f64::NEG_INFINITY || at[1].is_infinite(),
        // LibTorch's vector function loses what is left of a number by a denormal one.
        "aten::remainder" | "aten::fmod" => {
            at.get(1).is_some_and(|divisor| divisor.abs() < f64::from(f32::MIN_POSITIVE))
        }
        // With AVX-512, LibTorch's gelu of float32 infinity is NaN; it is infinity.
        "aten::gelu" => at[0] == f64::INFINITY,
        _ => false,
    }
}

/// One special number in one place of one input of every operator, whatever it does with its elements.
#[test]
fn a_special_number_among_others_comes_out_as_with_libtorch() {
    let mut failures = Vec::new();
    let mut compared = 0;
    for case in cases().into_iter().filter(|case| !case.has_other_kinks) {
        for kind in [Kind::Double, Kind::Float] {
            match check_special(&case, kind) {
                Ok(count) => compared += count,
                Err(errors) => failures.extend(errors.into_iter().map(|error| format!("{case}, {kind:?}: {error}"))),
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(compared > 5000, "only {compared} comparisons");
}

/// The numbers that are special for every operator, and those that are given to this one: bounds, thresholds.
fn special_for(case: &Case) -> Vec<f64> {
    let given = case.arguments.iter().filter_map(|argument| match *argument {
        A::F(number) => Some(number),
        A::I(number) => Some(number as f64),
        _ => None,
    });
    let mut all = vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1e-40, 1.0, 1e4];
    for number in given.flat_map(|number| [number, -number]).filter(|number| number.is_finite()) {
        if !all.contains(&number) {
            all.push(number);
        }
    }
    all
}

/// How many comparisons passed, or what failed.
fn check_special(case: &Case, kind: Kind) -> Result<usize, Vec<String>> {
    let plain: Vec<Tensor> = case.inputs.iter().enumerate().map(|(i, input)| input.tensor(i, kind)).collect();
    if plain.iter().any(|input| input.numel() > MOST) {
        return Ok(0);
    }
    let compiled = case.recorded(&plain).compile().map_err(|error| vec![error])?;
    let mut compared = 0;
    let mut failures = Vec::new();
    for (input, tensor) in plain.iter().enumerate().filter(|(_, input)| input.is_floating_point() && input.numel() > 0)
    {
        for (place, &special) in special_for(case).iter().enumerate() {
            let mut inputs: Vec<Tensor> = plain.iter().map(Tensor::shallow_clone).collect();
            inputs[input] = tensor.copy();
            let _ = inputs[input].flatten(0, -1).get((3 * place + 1) as i64 % tensor.numel() as i64).fill_(special);
            let recorder = case.recorded(&inputs);
            let got = recorder.actual(&compiled).map_err(|error| vec![error])?;
            let same = same_specials(&recorder, &got, kind, special);
            compared += 1;
            failures.extend(same.err().map(|error| format!("{special:e} in input {input}: {error}")));
        }
    }
    if failures.is_empty() { Ok(compared) } else { Err(failures) }
}

/// Elements of an input, beyond which a case is left to tests of its own.
const MOST: usize = 150;

/// Whether results agree. Where LibTorch's are infinite or NaN, ours have to be one of these: which one, where they meet others,
/// depends on the order of sums.
fn same_specials(recorder: &Recorder, got: &[Tensor], kind: Kind, special: f64) -> Result<(), String> {
    let (rtol, atol) = if kind == Kind::Double { (1e-10, 1e-12) } else { (1e-4, 1e-5) };
    let is_loose = has_loose_gradients(recorder);
    for (index, (got, want)) in got.iter().zip(recorder.expected()).enumerate() {
        let is_value = index < recorder.graph.outputs.len();
        let finite = |number: f64| if number.is_finite() { number } else { f64::NAN };
        let (got, want): (Vec<f64>, Vec<f64>) = numbers(got)
            .into_iter()
            .zip(numbers(&want))
            .filter(|&(got, _)| is_value || !is_loose || !(got.is_nan() || special.is_nan()))
            .map(|(got, want)| (finite(got), finite(want)))
            .unzip();
        agree(&got, &want, rtol, atol).map_err(|error| format!("result {index}: {error}"))?;
    }
    Ok(())
}

/// Whether gradients are NaN in more places than LibTorch's: at the ends of a signal, where kernels multiply weights by zeros, and
/// where LibTorch's value is that of rsqrt and its derivative that of pow. Or LibTorch's, at a NaN, depend on its neighbours.
fn has_loose_gradients(recorder: &Recorder) -> bool {
    const LOOSE: &str = "conv1d conv2d conv3d convolution _convolution _convolution_mode pow elu selu celu hardtanh relu6 softshrink hardswish";
    let name = recorder.graph.nodes[0].op.trim_start_matches("aten::");
    LOOSE.split(' ').any(|loose| loose == name)
}

/// Rows of lengths that kernels know as constants, others, and more than a block: ties, one NaN, two, infinities.
#[test]
fn the_greatest_of_a_row_is_found_among_ties_and_nan() {
    for columns in [2, 3, 8, 16, 300] {
        for kind in [Kind::Double, Kind::Float] {
            let x = (In::Index(vec![12, columns], 5).tensor(0, kind)).to_kind(kind);
            let plant = |row: i64, column: i64, value: f64| {
                let _ = x.get(row).get(column).fill_(value);
            };
            plant(1, 0, f64::NAN);
            plant(2, columns - 1, f64::NAN);
            plant(3, 0, f64::NAN);
            plant(3, columns - 1, f64::NAN);
            plant(4, 1, f64::INFINITY);
            let _ = x.get(5).fill_(f64::NEG_INFINITY);
            let mut greatest = Recorder::new(&[x.shallow_clone()]);
            let value = greatest.tensors[0].amax(&[1i64][..], false);
            let value = greatest.record("amax", "", &[A::V(0), A::L(vec![1]), A::B(false)], vec![value]);
            greatest.returns(&[value]);
            check_awkward(&greatest, 1e-6, 0.0).unwrap_or_else(|error| panic!("amax of {columns}, {kind:?}: {error}"));

            let mut pool = Recorder::new(&[x.unsqueeze(0)]);
            let value = pool.tensors[0].max_pool1d(columns, columns, 0, 1, false);
            let [size, zero, one] = [columns, 0, 1].map(|size| A::L(vec![size]));
            let arguments = [A::V(0), size, A::L(vec![columns]), zero, one, A::B(false)];
            let value = pool.record("max_pool1d", "", &arguments, vec![value]);
            pool.returns(&[value]);
            check_awkward(&pool, 1e-6, 0.0).unwrap_or_else(|error| panic!("pool of {columns}, {kind:?}: {error}"));
        }
    }
}

/// Of equals in an image the first one, row by row, has the derivative.
#[test]
fn the_greatest_of_an_image_is_found_among_ties() {
    for (sizes, strides) in [([2, 2], [2, 2]), ([3, 3], [1, 2]), ([6, 8], [1, 1])] {
        let x = In::Index(vec![2, 3, 6, 8], 3).tensor(0, Kind::Double).to_kind(Kind::Double);
        let mut pool = Recorder::new(&[x]);
        let value = pool.tensors[0].max_pool2d(sizes, strides, [0, 0], [1, 1], false);
        let steps = [sizes, strides, [0, 0], [1, 1]].map(|sizes| A::L(sizes.to_vec()));
        let arguments: Vec<A> = [A::V(0)].into_iter().chain(steps).chain([A::B(false)]).collect();
        let value = pool.record("max_pool2d", "", &arguments, vec![value]);
        pool.returns(&[value]);
        check_awkward(&pool, 1e-12, 0.0).unwrap_or_else(|error| panic!("pool of {sizes:?}: {error}"));
    }
}

#[test]
fn the_variants_of_the_kernels_pass_too() {
    variants::pass_too(&[
        "awkward_numbers_come_out_in_the_same_places",
        "the_greatest_of_a_row_is_found_among_ties_and_nan",
        "the_greatest_of_an_image_is_found_among_ties",
        "the_variants_of_the_kernels_pass_too",
    ]);
}
