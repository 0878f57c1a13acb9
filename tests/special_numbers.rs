//! Operators of graphs at special numbers (zeros of both signs, denormal and large ones, infinities, NaN, and the kinks of each):
//! values and gradients against LibTorch, with every variant of the kernels.

use support::graph::awkward;
use support::graph::cases::{Case, In, cases};
use support::graph::recorder::{A, Recorder, agree, numbers};
use support::variants;
use tch::{Kind, Tensor};

/// Element-wise operators at awkward numbers, every pair of them for two operands.
#[test]
fn awkward_numbers_come_out_in_the_same_places() {
    let mut failures = Vec::new();
    for case in cases().into_iter().filter(|case| case.is_elementwise) {
        for kind in [Kind::Double, Kind::Float] {
            if let Err(error) = check_awkward(&case.recorded(&awkward::inputs(&case, kind)), awkward::tolerance(kind)) {
                failures.push(format!("{case}, {kind:?}: {error}"));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

fn check_awkward(recorder: &Recorder, tolerance: [f64; 2]) -> Result<(), String> {
    let got = recorder.actual(&recorder.compile()?)?;
    let points = &recorder.tensors[..recorder.graph.inputs.len()];
    for (index, (got, want)) in got.iter().zip(recorder.expected()).enumerate() {
        let is_value = index < recorder.graph.outputs.len();
        awkward::agree(&recorder.graph.nodes[0], points, is_value, got, &want, tolerance)
            .map_err(|error| format!("result {index} {error}"))?;
    }
    Ok(())
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

/// A weight or a factor of 1, 0 or -1 beside operands of other scales: nothing of a large operand may remain where
/// LibTorch has only the small one.
#[test]
fn operands_of_other_scales_leave_nothing_behind() {
    let mut failures = Vec::new();
    let mut compared = 0;
    for case in cases().into_iter().filter(|case| case.is_elementwise && case.inputs.len() > 1) {
        let plain: Vec<Tensor> =
            case.inputs.iter().enumerate().map(|(i, input)| input.tensor(i, Kind::Float)).collect();
        if plain.iter().any(|input| !input.is_floating_point() || input.numel() == 0 || input.numel() > MOST) {
            continue;
        }
        for (special, large) in [1.0, 0.0, -1.0].into_iter().flat_map(|x| (0..plain.len()).map(move |input| (x, input)))
        {
            for input in (0..plain.len()).filter(|&input| input != large) {
                let mut inputs: Vec<Tensor> = plain.iter().map(Tensor::copy).collect();
                inputs[large] = &inputs[large] * 1e8;
                let _ = inputs[input].fill_(special);
                let recorder = case.recorded(&inputs);
                let outputs = recorder.graph.outputs.len();
                let got = recorder.compile().and_then(|compiled| recorder.actual(&compiled)).unwrap();
                compared += 1;
                for (got, want) in got.iter().zip(recorder.expected()).take(outputs) {
                    if let Err(error) = agree(&numbers(got), &numbers(&want), 1e-4, 0.0) {
                        failures.push(format!("{case}, {special} in input {input}, 1e8 in {large}: {error}"));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(compared > 100, "only {compared} comparisons");
}

/// The numbers that are special for every operator, and those of this operator's arguments: bounds, thresholds.
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

/// The number of passed comparisons, or the failures.
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

/// The largest number of elements of an input; larger ones have their own tests.
const MOST: usize = 150;

/// Whether results agree. Where LibTorch's are infinite or NaN, ours must be one of these: which one, if several meet,
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

/// Whether gradients are NaN in more places than LibTorch's: at the ends of a signal, where kernels multiply weights by
/// zeros, and where LibTorch's value is that of rsqrt and its derivative that of pow. Or LibTorch's, at a NaN, depend
/// on its neighbours.
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
            check_awkward(&greatest, [1e-6, 0.0])
                .unwrap_or_else(|error| panic!("amax of {columns}, {kind:?}: {error}"));

            let mut pool = Recorder::new(&[x.unsqueeze(0)]);
            let value = pool.tensors[0].max_pool1d(columns, columns, 0, 1, false);
            let [size, zero, one] = [columns, 0, 1].map(|size| A::L(vec![size]));
            let arguments = [A::V(0), size, A::L(vec![columns]), zero, one, A::B(false)];
            let value = pool.record("max_pool1d", "", &arguments, vec![value]);
            pool.returns(&[value]);
            check_awkward(&pool, [1e-6, 0.0]).unwrap_or_else(|error| panic!("pool of {columns}, {kind:?}: {error}"));
        }
    }
}

/// Of equal elements in an image the first one, row by row, has the derivative.
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
        check_awkward(&pool, [1e-12, 0.0]).unwrap_or_else(|error| panic!("pool of {sizes:?}: {error}"));
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
