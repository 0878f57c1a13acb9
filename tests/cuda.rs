//! The back end `cuda` without a GPU: its code compiled for the host gives the results of `aot`, for every operator and
//! for random graphs, in whatever order blocks and threads run.

#[path = "cuda/gpu.rs"]
mod gpu;
#[path = "cuda/products.rs"]
mod products;

use std::any::Any;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use cladtorch::gradient::cuda::{self, CudaProgram, Gpu, Nvrtc};
use cladtorch::gradient::{BackEnd, CompileOptions, CompiledGraph, Failure, Wanted};
use cladtorch::graph::Program;
use support::cuda_host::{Fault, Host, LocalMemory, cublas_obstacle, driver, gpu_of_size, lowered};
use support::graph::cases::{Case, In, cases};
use support::graph::recorder::{A, Recorder, agree, compare, numbers};
use support::say;
use tch::{Device, Kind, Tensor};
use tempfile::TempDir;

/// A recorded program with its kernels.
struct Made {
    what: String,
    recorder: Recorder,
    program: Program,
    cuda: CudaProgram,
}

/// Programs per library: more take too much memory in the compiler.
const TOGETHER: usize = 100;

fn check(made: &[Made], rtol: f64, atol: f64) -> Vec<String> {
    check_with(made, rtol, atol, |_, _| {})
}

/// The same; `further` gets each library and its programs, since compiling takes most of the time.
fn check_with(made: &[Made], rtol: f64, atol: f64, mut further: impl FnMut(&Host, &[Made])) -> Vec<String> {
    let mut failures = Vec::new();
    for made in made.chunks(TOGETHER) {
        let mut host = Host::compile(&made.iter().map(|each| &each.cuda).collect::<Vec<_>>());
        further(&host, made);
        for Made { what, recorder, program, cuda } in made {
            let results = [(false, u32::MAX), (true, u32::MAX), (false, 2)].map(|(reverse, most_blocks)| {
                (host.reverse, host.most_blocks) = (reverse, most_blocks);
                host.results(recorder, program, cuda).map_err(|fault| failures.push(format!("{what}: {fault:?}")))
            });
            let [Ok(forwards), Ok(backwards), Ok(by_few)] = &results else { continue };
            let expected = recorder.actual(&recorder.compile().unwrap()).unwrap();
            for (index, (got, want)) in forwards.iter().zip(&expected).enumerate() {
                if let Err(error) = agree(&numbers(got), &numbers(want), rtol, atol) {
                    failures.push(format!("{what}: result {index}: {error}"));
                }
                if bits(got) != bits(&backwards[index]) {
                    failures.push(format!("{what}: result {index} depends on the order of threads"));
                }
                if bits(got) != bits(&by_few[index]) {
                    failures.push(format!("{what}: result {index} depends on the number of blocks"));
                }
            }
        }
    }
    failures
}

/// The programs of all operators. LibTorch leaves the elements of an unsorted `topk` in another order on the CPU.
fn made(kind: Kind) -> Vec<Made> {
    let is_unsorted = |op: &str, arguments: &[A]| op == "topk" && matches!(arguments, [.., A::B(false)]);
    let cases = cases();
    let compared = cases.iter().filter(|case| !is_unsorted(case.op, &case.arguments));
    let of_case = |case: &Case| {
        let inputs: Vec<Tensor> = case.inputs.iter().enumerate().map(|(i, input)| input.tensor(i, kind)).collect();
        of(format!("{case}, {kind:?}"), case.recorded(&inputs))
    };
    compared.map(of_case).collect()
}

fn bits(tensor: &Tensor) -> Vec<u64> {
    numbers(tensor).iter().map(|x| x.to_bits()).collect()
}

/// The last of these types, with relative and absolute bounds, since the code is the same; all of them if everything is
/// tested.
fn some<const N: usize>(kinds: &[(Kind, f64, f64); N]) -> &[(Kind, f64, f64)] {
    if say::is_complete() { kinds } else { &kinds[N - 1..] }
}

/// Also by the driver's functions, with the memory that the back end itself sets aside.
#[test]
fn operators_give_on_the_host_what_aot_does() {
    let folder = tempfile::tempdir().unwrap();
    let gpu = Gpu::open_by(&driver(folder.path(), ""), 0).unwrap();
    let mut with_scratch = 0;
    for &(kind, rtol, atol) in some(&[(Kind::Double, 1e-11, 1e-12), (Kind::Float, 2e-5, 4e-6)]) {
        let made = made(kind);
        let failures = check_with(&made, rtol, atol, |host, made| with_scratch += same_by_the_driver(&gpu, host, made));
        assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    }
    assert!(with_scratch > 0, "no operator sums parts forward");
    let operators: BTreeSet<&str> = cases().iter().map(|case| case.op).collect();
    println!("{} operators have kernels", operators.len());
}

/// All kernels of all operators, and those for many elements, as machine code of one architecture, without register spills.
#[test]
fn operators_compile_for_a_gpu_without_spills() {
    let nvrtc = match Nvrtc::find() {
        Ok(nvrtc) => nvrtc,
        Err(why) => return say::not_tested(&format!("the kernels of cuda as machine code: {why}")),
    };
    let mut failures = Vec::new();
    let mut kernels = 0;
    for kind in [Kind::Double, Kind::Float] {
        let mut made = made(kind);
        let many = large(7, &|shape, step| wave(shape, step, kind)).into_iter();
        made.extend(many.map(|(what, recorder)| of(what.into(), recorder)));
        for made in made.chunks(TOGETHER) {
            let text = cuda::text(made.iter().map(|each| &each.cuda));
            let cubin = nvrtc.compile(&text, "sm_90").unwrap();
            assert!(cubin.code.starts_with(b"\x7fELF"), "no cubin");
            let (spilt, compiled) = spilt(&cubin.log);
            failures.extend(spilt);
            assert_eq!(compiled, text.matches("__global__").count());
            kernels += compiled;
        }
    }
    println!("{kernels} kernels by NVRTC {}", nvrtc.version());
    assert!(failures.is_empty(), "{} kernels spill:\n{}", failures.len(), failures.join("\n"));
}

/// Bytes of an array in CUDA's sine, cosine and tangent of large numbers.
const RANGE_REDUCTION: u32 = 40;

/// The kernels in NVRTC's log that spill or have arrays in memory, and their number.
fn spilt(log: &str) -> (Vec<String>, usize) {
    let mut name = "";
    let mut compiled = 0;
    let mut failures = Vec::new();
    for line in log.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            name = rest.split_once('\'').map_or("", |(name, _)| name);
            compiled += 1;
        } else if line.contains("spill") {
            let memory = LocalMemory::of(line).unwrap_or_else(|| panic!("{line}"));
            if memory.spilt > 0 || memory.frame > RANGE_REDUCTION {
                failures.push(format!("{name}: {memory:?}"));
            }
        }
    }
    (failures, compiled)
}

fn has(made: &Made, text: &str) -> bool {
    made.cuda.kernels.iter().any(|kernel| kernel.text.contains(text))
}

/// A wrong kernel is noticed: a swapped operator or derivative, a wrong factor, a wrong place.
#[test]
fn planted_errors_are_caught() {
    let plants = [
        ("sigmoid", "Sigmoid(x0)", "Tanh(x0)"),
        ("sigmoid", "Sigmoid_pushforward(", "Silu_pushforward("),
        ("mul", "Mul_pullback(x0, x1, d_t0, &d_x0, &d_x1)", "Mul_pullback(x0, x1, d_t0, &d_x1, &d_x0)"),
        ("sum", "Index d) -> T { return term(", "Index d) -> T { return 1.001 * term("),
        ("softmax", "Softmax<Alone, false", "Softmax<Alone, true"),
        ("layer_norm", "NormalisePullback<Alone, false>(Index(", "NormalisePullback<Alone, false>(Index(-1) + Index("),
        ("mm", "return p1[0 + i * ", "return p1[1 + i * "),
    ];
    for (op, text, wrong) in plants {
        let is_planted = |each: &Made| each.what.starts_with(&format!("{op}.")) && has(each, text);
        let mut made: Vec<Made> = made(Kind::Double).into_iter().filter(is_planted).collect();
        assert!(!made.is_empty(), "no case of {op} has {text}");
        made.truncate(1);
        assert!(check(&made, 1e-11, 1e-12).is_empty());
        made[0].cuda.kernels.iter_mut().for_each(|kernel| kernel.text = kernel.text.replace(text, wrong));
        assert!(!check(&made, 1e-11, 1e-12).is_empty(), "{op} with {wrong} passed");
    }
}

/// The same of kernels for many elements.
#[test]
fn planted_errors_in_kernels_for_many_elements_are_caught() {
    let plants = [
        ("conv1d", "if (j < k || j - k >= 42)", "if (j <= k || j - k >= 42)"),
        ("conv1d", "if (j < k || j - k >= 42)", "if (j < k || j - k >= 41)"),
        ("conv1d", "j + i % 5 * 2", "j + i % 5"),
        ("conv1d", "i % 42 + j % 5 * 2", "i % 42 + j % 5"),
    ];
    for (what, text, wrong) in plants {
        let x = large(7, &|shape, step| wave(shape, step, Kind::Double));
        let mut made: Vec<Made> =
            x.into_iter().filter(|(name, _)| *name == what).map(|(name, x)| of(name.into(), x)).collect();
        assert!(made.len() == 1 && has(&made[0], text), "{what} has no {text}");
        made[0].cuda.kernels.iter_mut().for_each(|kernel| kernel.text = kernel.text.replace(text, wrong));
        assert!(!check(&made, 1e-10, 1e-11).is_empty(), "{what} with {wrong} passed");
    }
}

/// Kernels that lost a barrier, or leave their memory, are noticed also where the results come out right.
#[test]
fn races_and_wrong_accesses_are_caught() {
    let made: Vec<Made> = large(7, &|shape, step| wave(shape, step, Kind::Double))
        .into_iter()
        .map(|(what, x)| of(what.into(), x))
        .collect();
    for (what, right, wrong, told) in [
        ("sum", "values[threadIdx.x] = own;\n      __syncthreads();", "values[threadIdx.x] = own;", "of block 0 may "),
        (
            "sum",
            "         __syncthreads();\n      }\n      const V all",
            "      }\n      const V all",
            "of block 0 may ",
        ),
        ("amax", "__syncthreads(); // before the next call writes", "", "of block 0 may "),
        ("bmm", "         __syncthreads();\n      }", "      }", "of block 0 may "),
        ("bmm", "row + y + r * kSide < M", "true", "outside of all memory"),
        (
            "bmm",
            "         __syncthreads();\n      }",
            "         if (threadIdx.x % 2)\n            __syncthreads();\n         else\n            __syncthreads();\n      }",
            "meet",
        ),
        ("sum", "if (threadIdx.x < half)", "", "of block 0 may "),
        ("sum", "if (Team::Rank() == 0)\n         put(o, sum)", "put(o, sum)", "of block 0 may "),
        ("sum", "const V all = values[0]", "const V all = *(V *)(4 + (char *)values)", "no multiple of that"),
    ] {
        let Made { recorder, program, cuda, .. } = made.iter().find(|each| each.what == what).unwrap();
        let found = Cell::new(false);
        let kernels: Vec<_> = cuda.kernels.iter().collect();
        let mut host = Host::compile_changed(&cuda::text([cuda]), &kernels, |text| {
            found.set(found.get() || text.contains(right));
            text.replace(right, wrong)
        });
        host.most_blocks = 2;
        match host.results(recorder, program, cuda) {
            Err(Fault::Kernel(fault)) if found.get() && fault.contains(told) => (),
            other => panic!("{what} with {wrong:?} for {right:?}: {other:?}"),
        }
    }
}

/// An unsorted `topk` leaves elements as LibTorch does on a GPU: those that equal the last one last, else as in the row.
#[test]
fn an_unsorted_topk_leaves_elements_in_the_order_of_the_row() {
    const ROWS: [[f64; 7]; 3] = [
        [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0],
        [2.0, 7.0, 2.0, 7.0, 1.0, 7.0, 2.0],
        [f64::NAN, 1.0, f64::INFINITY, f64::NAN, -1.0, 0.0, f64::NEG_INFINITY],
    ];
    let greater = |a: f64, b: f64| a > b || a.is_nan() && !b.is_nan();
    let (mut made, mut wanted) = (Vec::new(), Vec::new());
    for (largest, count) in [true, false].into_iter().flat_map(|largest| (1..=7).map(move |count| (largest, count))) {
        let x = Tensor::from_slice2(&ROWS);
        let mut recorder = Recorder::new(&[x]);
        let (values, places) = recorder.tensors[0].topk(count, 1, largest, false);
        let arguments = [A::V(0), A::I(count), A::I(1), A::B(largest), A::B(false)];
        let first = recorder.record("topk", "", &arguments, vec![values, places]);
        let value = recorder.tensors[first + 1].to_kind(Kind::Double);
        let number =
            recorder.record("to", "dtype", &[A::V(first + 1), A::I(7), A::B(false), A::B(false), A::None], vec![value]);
        recorder.returns(&[number]);
        made.push(of(format!("topk {count} {largest}"), recorder));
        let mut want = Vec::new();
        for row in ROWS {
            let before = |a: f64, b: f64| if largest { greater(a, b) } else { greater(b, a) };
            let rank = |&c: &usize| row.iter().filter(|&&x| before(x, row[c])).count();
            // The greatest rank of a chosen element: that of the last one.
            let last = (0..7).map(|c| rank(&c)).filter(|&rank| rank < count as usize).max().unwrap();
            let better = (0..7).filter(|c| rank(c) < last);
            want.extend(better.chain((0..7).filter(|c| rank(c) == last)).take(count as usize).map(|c| c as f64));
        }
        wanted.push(want);
    }
    let mut host = Host::compile(&made.iter().map(|each| &each.cuda).collect::<Vec<_>>());
    for (made, want) in made.iter().zip(&wanted) {
        for reverse in [false, true] {
            host.reverse = reverse;
            let got = host.results(&made.recorder, &made.program, &made.cuda).unwrap();
            assert_eq!(&numbers(&got[0]), want, "{}", made.what);
        }
    }
}

/// Tensors without elements, for operators of every kind.
#[test]
fn tensors_without_elements_give_on_the_host_what_aot_does() {
    let mut made = Vec::new();
    for case in cases().iter().filter(|case| case.is_elementwise) {
        for shape in [&[0, 3][..], &[], &[1, 1]] {
            let input = |(i, input): (usize, &In)| input.with_shape(shape).tensor(i, Kind::Double);
            let inputs: Vec<Tensor> = case.inputs.iter().enumerate().map(input).collect();
            made.push(of(format!("{case} of {shape:?}"), case.recorded(&inputs)));
        }
    }
    for (what, recorder) in large(0, &|shape, step| wave(shape, step, Kind::Double)) {
        made.push(of(format!("{what} of no rows"), recorder));
    }
    let failures = check(&made, 1e-11, 1e-12);
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// With its kernels, if it has any.
fn of(what: String, recorder: Recorder) -> Made {
    let program = lowered(&recorder).unwrap();
    let cuda = CudaProgram::new(&program).unwrap_or_else(|error| panic!("{what}: {error}"));
    Made { what, recorder, program, cuda }
}

fn wave(shape: &[i64], step: f64, kind: Kind) -> Tensor {
    let count = shape.iter().product::<i64>();
    (Tensor::arange(count, (Kind::Double, Device::Cpu)) * step).sin().reshape(shape).to_kind(kind)
}

/// Rows and sums of enough elements for a block to share them, tiles that do not fit, and products whose terms are
/// shared out.
#[test]
fn large_tensors_give_on_the_host_what_aot_does() {
    let folder = tempfile::tempdir().unwrap();
    let gpu = Gpu::open_by(&driver(folder.path(), ""), 0).unwrap();
    for &(kind, rtol, atol) in some(&[(Kind::Float, 2e-4, 4e-5), (Kind::Double, 1e-10, 1e-11)]) {
        let recorders = large(7, &|shape, step| wave(shape, step, kind));
        let named = |(what, recorder)| of(format!("{what}, {kind:?}"), recorder);
        let made: Vec<Made> = recorders.into_iter().map(named).collect();
        assert_eq!(made.len(), 10);
        for text in [
            "Sums<Block",
            "Softmax<Block",
            "Normalise<Block",
            "MaxPullback<Block",
            "Products<2, ",
            "Products<1, ",
            "Index(4), Index(256)",
        ] {
            assert!(made.iter().any(|each| has(each, text)), "no {text}");
        }
        let convolution = made.iter().find(|each| each.what.starts_with("conv1d")).unwrap();
        let tiled = convolution.cuda.kernels.iter().filter(|kernel| kernel.text.contains("Products<"));
        assert_eq!(tiled.count(), 3, "forward, and by the signals and the weights");
        let failures = check_with(&made, rtol, atol, |host, made| _ = same_by_the_driver(&gpu, host, made));
        assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    }
}

/// Convolutions of random shapes: some by tiles forward and backward, some in parts of that, and some by sums.
#[test]
fn convolutions_of_many_shapes_give_on_the_host_what_aot_does() {
    let mut state = 20_u64;
    let mut below = |count: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % count) as i64
    };
    let mut made = Vec::new();
    for _ in 0..24 {
        let [groups, inputs, outputs] = [1 + below(3), 1 + below(20), 1 + below(20)];
        let [taps, dilation, columns, events] = [1 + below(6), 1 + below(3), 1 + below(40), 1 + below(9)];
        let length = columns + (taps - 1) * dilation;
        let has_bias = below(2) == 1;
        let x = wave(&[events, groups * inputs, length], 0.13, Kind::Double);
        let w = wave(&[groups * outputs, inputs, taps], 0.29, Kind::Double);
        let mut recorder = Recorder::new(&[x, w, wave(&[groups * outputs], 0.5, Kind::Double)]);
        let bias = has_bias.then(|| recorder.tensors[2].shallow_clone());
        let t = &recorder.tensors;
        let value = t[0].conv1d(&t[1], bias, 1, 0, dilation, groups);
        let bias = if has_bias { A::V(2) } else { A::None };
        let [one, none, apart] = [1, 0, dilation].map(|number| A::L(vec![number]));
        let value =
            recorder.record("conv1d", "", &[A::V(0), A::V(1), bias, one, none, apart, A::I(groups)], vec![value]);
        recorder.returns(&[value]);
        let what = format!(
            "{groups} groups of {inputs} to {outputs} channels, {taps} taps {dilation} apart, {events} x {length}"
        );
        made.push(of(what, recorder));
    }
    let by = |text: &str| made.iter().filter(|each| has(each, text)).count();
    assert!(by("Products<") > 8 && by("Sums<") > 8, "{} and {}", by("Products<"), by("Sums<"));
    let failures = check(&made, 1e-11, 1e-12);
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// Functions of tensors of many long rows, made by `wave(shape, step)`.
fn large(rows: i64, wave: &dyn Fn(&[i64], f64) -> Tensor) -> Vec<(&'static str, Recorder)> {
    let one = |what: &'static str,
               inputs: &[Tensor],
               op: &str,
               overload: &str,
               arguments: &[A],
               value: &dyn Fn(&[Tensor]) -> Tensor| {
        let mut recorder = Recorder::new(inputs);
        let value = value(&recorder.tensors);
        let value = recorder.record(op, overload, arguments, vec![value]);
        recorder.returns(&[value]);
        (what, recorder)
    };
    let x = || wave(&[rows, 300], 0.37);
    let mut all = vec![
        one("sum", &[x()], "sum", "", &[A::V(0), A::None], &|t| t[0].sum(None)),
        one("softmax", &[x()], "softmax", "int", &[A::V(0), A::I(1), A::None], &|t| t[0].softmax(1, None)),
        one("log_softmax", &[x()], "log_softmax", "int", &[A::V(0), A::I(0), A::None], &|t| t[0].log_softmax(0, None)),
        one("amax", &[x().round()], "amax", "", &[A::V(0), A::L(vec![1]), A::B(false)], &|t| t[0].amax(1, false)),
        one(
            "layer_norm",
            &[x(), wave(&[300], 0.11), wave(&[300], 0.7)],
            "layer_norm",
            "",
            &[A::V(0), A::L(vec![300]), A::V(1), A::V(2), A::F(1e-5), A::B(true)],
            &|t| t[0].layer_norm([300], Some(&t[1]), Some(&t[2]), 1e-5, true),
        ),
        one(
            "linear",
            &[wave(&[rows * 143, 33], 0.13), wave(&[40, 33], 0.29), wave(&[40], 0.5)],
            "linear",
            "",
            &[A::V(0), A::V(1), A::V(2)],
            &|t| t[0].linear(&t[1], Some(&t[2])),
        ),
        one(
            "bmm",
            &[wave(&[rows, 130, 70], 0.13), wave(&[rows, 70, 150], 0.29)],
            "bmm",
            "",
            &[A::V(0), A::V(1)],
            &|t| t[0].bmm(&t[1]),
        ),
        // Of grouped channels, with gaps between the taps, and of so many events that tiles share the terms of the weights' gradient.
        one(
            "conv1d",
            &[wave(&[rows * 5, 24, 50], 0.13), wave(&[20, 12, 5], 0.29), wave(&[20], 0.5)],
            "conv1d",
            "",
            &[A::V(0), A::V(1), A::V(2), A::L(vec![1]), A::L(vec![0]), A::L(vec![2]), A::I(2)],
            &|t| t[0].conv1d(&t[1], Some(&t[2]), 1, 0, 2, 2),
        ),
        one("mul", &[wave(&[rows * 90, 5], 0.13), wave(&[5], 0.29)], "mul", "Tensor", &[A::V(0), A::V(1)], &|t| {
            &t[0] * &t[1]
        }),
    ];
    if rows > 0 {
        // There is no greatest of no elements.
        all.push(one("max", &[x().round()], "max", "", &[A::V(0)], &|t| t[0].max()));
    }
    all
}

/// A function with arguments of several types and strides, a literal, a result that is a view, and a sum.
fn function() -> Made {
    let numbers = |shape: &[i64]| wave(shape, 0.7, Kind::Float);
    let mut recorder = Recorder::new(&[numbers(&[5, 3]).tr(), numbers(&[5]), Tensor::from_slice(&[2_i64, 0, 2])]);
    let t = |recorder: &Recorder, index: usize| recorder.tensors[index].shallow_clone();
    let value = t(&recorder, 0).sigmoid();
    let sigmoid = recorder.record("sigmoid", "", &[A::V(0)], vec![value]);
    let value = t(&recorder, sigmoid) * t(&recorder, 1);
    let product = recorder.record("mul", "Tensor", &[A::V(sigmoid), A::V(1)], vec![value]);
    let value = t(&recorder, product) + 2.5;
    let shifted = recorder.record("add", "Scalar", &[A::V(product), A::F(2.5), A::I(1)], vec![value]);
    let value = t(&recorder, shifted).index_select(0, &t(&recorder, 2));
    let chosen = recorder.record("index_select", "", &[A::V(shifted), A::I(0), A::V(2)], vec![value]);
    let value = t(&recorder, chosen).transpose(0, 1);
    let turned = recorder.record("transpose", "int", &[A::V(chosen), A::I(0), A::I(1)], vec![value]);
    let value = t(&recorder, chosen).sum(None);
    let sum = recorder.record("sum", "", &[A::V(chosen), A::None], vec![value]);
    recorder.returns(&[turned, sum]);
    of("a function".to_owned(), recorder)
}

/// Memory, modules and launches by the driver's functions, on a driver without a GPU.
#[test]
fn the_driver_runs_what_the_host_does() {
    let folder = tempfile::tempdir().unwrap();
    let gpu = Gpu::open_by(&driver(folder.path(), ""), 0).unwrap();
    assert_eq!(gpu.architecture(), "sm_90");
    let Made { recorder, program, cuda, .. } = function();
    let host = Host::compile(&[&cuda]);
    let image = [host.path.to_str().unwrap().as_bytes(), b"\0"].concat();
    let got = gpu::results(&gpu, &image, &recorder, &program, &cuda).unwrap();
    compare(&recorder, got, 2e-5, 4e-6).unwrap();
    let mut index = recorder.inputs()[2].shallow_clone();
    let _ = index.fill_(3);
    match gpu::results(&gpu, &image, &recorder, &program, &cuda) {
        Err(Failure::OutOfRange(failed)) => assert_eq!(recorder.graph.nodes[failed].op, "aten::index_select"),
        other => panic!("{other:?}"),
    }
}

/// What waits for everything on a GPU, in other threads too, does so after a capture, which it would break.
#[test]
fn memory_and_kernels_are_given_back_after_a_capture() {
    let folder = tempfile::tempdir().unwrap();
    let gpu = Gpu::open_by(&driver(folder.path(), ""), 0).unwrap();
    let Made { cuda, .. } = function();
    let host = Host::compile(&[&cuda]);
    let image = [host.path.to_str().unwrap().as_bytes(), b"\0"].concat();
    let stream = gpu.stream().unwrap();
    let load = || gpu.load(&cuda.kernels.iter().collect::<Vec<_>>(), &image).unwrap();
    let things: [Box<dyn Any + Send>; 2] = [Box::new(gpu.memory(8).unwrap()), Box::new(load())];
    for thing in things {
        thread::scope(|scope| {
            let (begins, begun) = mpsc::channel();
            scope.spawn(move || {
                begun.recv().unwrap();
                drop(thing);
            });
            // Long enough for the other thread to give it back, if it did not wait.
            let captured = stream.captured(|| {
                begins.send(()).unwrap();
                thread::sleep(Duration::from_millis(100));
                Ok(())
            });
            captured.unwrap();
        });
    }
}

/// Compares the driver's results with those of `host`; returns how many programs set memory aside forward.
fn same_by_the_driver(gpu: &Gpu, host: &Host, made: &[Made]) -> usize {
    let image = [host.path.to_str().unwrap().as_bytes(), b"\0"].concat();
    for Made { what, recorder, program, cuda } in made {
        let got =
            gpu::results(gpu, &image, recorder, program, cuda).unwrap_or_else(|failure| panic!("{what}: {failure:?}"));
        let want = host.results(recorder, program, cuda).unwrap_or_else(|fault| panic!("{what}: {fault:?}"));
        assert!(got.iter().zip(&want).all(|(got, want)| bits(got) == bits(want)), "{what}");
    }
    made.iter().filter(|each| each.cuda.forward_has_scratch()).count()
}

/// Compiled functions on that GPU: the calls that C++ makes, from the choice of the back end to gradients.
#[test]
fn compiled_functions_run_on_a_gpu() {
    let folder = tempfile::tempdir().unwrap();
    let gpu = gpu_of_size(folder.path(), "ANYWHERE", str::to_owned);
    let on_gpu = |recorder: &Recorder, wanted: Wanted| {
        let options = CompileOptions { gpu: Some(gpu.clone()), ..recorder.options(wanted, 60.0) };
        CompiledGraph::new(&recorder.graph, &options).map_err(|error| error.to_string())
    };
    for wanted in [Wanted::Any, Wanted::Fastest] {
        let Made { recorder, .. } = function();
        let compiled = on_gpu(&recorder, wanted).unwrap();
        assert_eq!((compiled.back_end(), compiled.obstacle()), (BackEnd::Cuda, ""));
        assert!(compiled.text().contains("__global__") && compiled.describe().contains("back end cuda ("));
        assert!(compiled.signature().passed_on.iter().all(Option::is_none));
        compare(&recorder, recorder.actual(&compiled).unwrap(), 2e-5, 4e-6).unwrap();
    }
    let Made { recorder, .. } = function();
    let compiled = on_gpu(&recorder, Wanted::Any).unwrap();
    let mut index = recorder.inputs()[2].shallow_clone();
    let _ = index.fill_(3);
    let error = recorder.actual(&compiled).unwrap_err();
    assert!(error.contains("index_select") && error.contains("out of range"), "{error}");
    let _ = index.fill_(1);
    let [after, expected] = [&compiled, &recorder.compile().unwrap()].map(|of| recorder.actual(of).unwrap());
    for (got, want) in after.iter().zip(&expected) {
        agree(&numbers(got), &numbers(want), 2e-5, 4e-6).unwrap();
    }
    for wanted in [Wanted::Aot, Wanted::Jit] {
        let error = on_gpu(&recorder, wanted).err().expect("a back end of the CPU");
        assert!(error.contains("runs on the CPU, and the tensors are on a GPU"), "{error}");
    }
}

/// An NVRTC failure, and a function without kernels, is an obstacle for the caller.
#[test]
fn what_kernels_cannot_run_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let gpu = Gpu::open_by(&driver(folder.path(), ""), 0).unwrap().with_compiler(|_, _| Err("no NVRTC".into()));
    let told = |recorder: &Recorder| {
        let options = CompileOptions { gpu: Some(gpu.clone()), ..recorder.options(Wanted::Any, 60.0) };
        CompiledGraph::new(&recorder.graph, &options).err().expect("no kernels").to_string()
    };
    assert!(told(&function().recorder).starts_with("back end cuda: no NVRTC; "));
}

/// An index out of range is reported with its operator, and nothing is read or written there.
#[test]
fn an_index_out_of_range_is_told() {
    let made = function();
    let host = Host::compile(&[&made.cuda]);
    assert!(host.results(&made.recorder, &made.program, &made.cuda).is_ok());
    let mut index = made.recorder.inputs()[2].shallow_clone();
    for wrong in [3, -4, i64::MAX, i64::MIN] {
        let _ = index.fill_(wrong);
        let failed = host.results(&made.recorder, &made.program, &made.cuda);
        let Err(Fault::Index(failed)) = failed else { panic!("{wrong}: {failed:?}") };
        assert_eq!(made.recorder.graph.nodes[failed].op, "aten::index_select", "{wrong}");
    }
}

fn told(got: Result<Vec<Tensor>, Failure>) -> String {
    match got {
        Err(Failure::Other(error)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_gpu_lacks_is_told_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let error =
        |wrong: &str, index: u32| Gpu::open_by(&driver(folder.path(), wrong), index).expect_err(wrong).to_string();
    let expect = |error: String, parts: &[&str]| {
        for part in parts {
            assert!(error.contains(part), "{part} is not in: {error}");
        }
    };
    let missing = Gpu::open_by(&folder.path().join("libcuda.so.1"), 0).expect_err("no driver").to_string();
    expect(missing, &["the NVIDIA driver is not installed", "use the CPU"]);
    expect(error("DEVICES=0", 0), &["the driver sees no GPU"]);
    expect(error("VERSION=11080", 0), &["too old", "CUDA 11.8", "525"]);
    expect(error("DEVICES=2", 2), &["GPU 2", "CUDA_ERROR_INVALID_DEVICE", "nvidia-smi"]);
    let gpu = Gpu::open_by(&driver(folder.path(), ""), 0).unwrap();
    let full = gpu.memory(1 << 30).err().expect("so much memory").to_string();
    expect(full, &["1073741824 bytes on the GPU", "CUDA_ERROR_OUT_OF_MEMORY", "smaller batches"]);
    let Made { recorder, program, cuda, .. } = function();
    expect(told(gpu::results(&gpu, b"/no/module\0", &recorder, &program, &cuda)), &["the kernels"]);
    let lost = Gpu::open_by(&driver(folder.path(), "LOST=1"), 0).unwrap();
    let image = Host::compile(&[&cuda]);
    let image = [image.path.to_str().unwrap().as_bytes(), b"\0"].concat();
    let lost = told(gpu::results(&lost, &image, &recorder, &program, &cuda));
    expect(lost, &["kernel ct_", "CUDA_ERROR_ILLEGAL_ADDRESS", "lost to this process"]);
}

/// The same on a GPU, if there is one.
#[test]
fn operators_give_on_a_gpu_what_aot_does() {
    let gpu = match Gpu::open(0) {
        Ok(gpu) => gpu,
        Err(why) => return say::say(&format!("no GPU ran the kernels of cuda: {why}")),
    };
    let nvrtc = Nvrtc::find().unwrap();
    let mut failures = Vec::new();
    // Functions of CUDA's mathematical library differ by a few units in the last place from those of the host.
    for (kind, rtol, atol) in [(Kind::Double, 1e-11, 1e-12), (Kind::Float, 2e-5, 4e-6)] {
        for made in made(kind).chunks(TOGETHER) {
            let text = cuda::text(made.iter().map(|each| &each.cuda));
            let code = nvrtc.compile(&text, gpu.architecture()).unwrap().code;
            for Made { what, recorder, program, cuda } in made {
                let run = || gpu::results(&gpu, &code, recorder, program, cuda).unwrap();
                let (first, second) = (run(), run());
                let expected = recorder.actual(&recorder.compile().unwrap()).unwrap();
                for (index, (got, want)) in first.iter().zip(&expected).enumerate() {
                    if let Err(error) = agree(&numbers(got), &numbers(want), rtol, atol) {
                        failures.push(format!("{what}: result {index}: {error}"));
                    }
                    if bits(got) != bits(&second[index]) {
                        failures.push(format!("{what}: result {index} differs from run to run"));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}
