//! Products of matrices by cuBLASLt: a stand-in for it, with plain sums.

use cladtorch::gradient::cuda::{MatrixProduct, Numbers, Run};

use super::*;

/// A GPU that is the host, with the stand-in and its faults.
fn gpu_with(folder: &TempDir, wrong: &str) -> Gpu {
    let path = driver(folder.path(), wrong);
    Gpu::open_by(&path, 0).unwrap().with_cublas(&path)
}

/// Programs of all operators, and of larger tensors, some of whose products the library takes.
fn programs(gpu: &Gpu, kind: Kind) -> Vec<Made> {
    programs_with(gpu, kind, Numbers::Float)
}

/// The same where it takes factors in float32 as `floats` says.
fn programs_with(gpu: &Gpu, kind: Kind, floats: Numbers) -> Vec<Made> {
    let operators = cases().into_iter().map(|case| {
        let inputs: Vec<Tensor> = case.inputs.iter().enumerate().map(|(i, input)| input.tensor(i, kind)).collect();
        (format!("{case}, {kind:?}"), case.recorded(&inputs))
    });
    let large = large(7, &|shape, step| wave(shape, step, kind)).into_iter().map(|(what, x)| (what.to_owned(), x));
    let made = operators.chain(large).filter_map(|(what, recorder)| {
        let program = lowered(&recorder).unwrap();
        let cuda = CudaProgram::multiplying(&program, floats, &|product| gpu.obstacle(product).is_none()).ok()?;
        (cuda.products().count() > 0).then_some(Made { what, recorder, program, cuda })
    });
    made.collect()
}

/// What differs from `aot`; `code` is the machine code of their kernels.
fn failures(gpu: &Gpu, code: &[u8], made: &[Made], [rtol, atol]: [f64; 2]) -> Vec<String> {
    let failure = |Made { what, recorder, program, cuda }: &Made| {
        let got = gpu::results(gpu, code, recorder, program, cuda).unwrap_or_else(|_| panic!("{what} failed"));
        compare(recorder, got, rtol, atol).err().map(|error| format!("{what}: {error}"))
    };
    made.iter().filter_map(failure).collect()
}

/// The same of their kernels compiled for the host.
fn failures_on_host(gpu: &Gpu, made: &[Made], bounds: [f64; 2]) -> Vec<String> {
    let host = Host::compile(&made.iter().map(|each| &each.cuda).collect::<Vec<_>>());
    failures(gpu, &[host.path.to_str().unwrap().as_bytes(), b"\0"].concat(), made, bounds)
}

const IN_FLOAT: [f64; 2] = [2e-4, 4e-5];
const IN_DOUBLE: [f64; 2] = [1e-10, 1e-11];
/// For sums of up to 1001 terms that cancel.
const IN_TF32: [f64; 2] = [1e-2, 5e-2];
const IN_BF16: [f64; 2] = [1e-1, 5e-1];

/// The same on a GPU, if there is one.
#[test]
fn cublaslt_gives_on_a_gpu_what_aot_does() {
    let gpu = match Gpu::open(0) {
        Ok(gpu) => gpu,
        Err(why) => return say::say(&format!("no GPU multiplied by cuBLASLt: {why}")),
    };
    if let Some(why) = cublas_obstacle(&gpu) {
        return say::not_tested(&format!("products by cuBLASLt on a GPU: {why}"));
    }
    let nvrtc = Nvrtc::find().unwrap();
    for (kind, bounds) in [(Kind::Double, IN_DOUBLE), (Kind::Float, IN_FLOAT)] {
        let made = programs(&gpu, kind);
        assert!(!made.is_empty(), "cuBLASLt multiplies nothing here");
        let text = cuda::text(made.iter().map(|each| &each.cuda));
        let code = nvrtc.compile(&text, gpu.architecture()).unwrap().code;
        let failures = failures(&gpu, &code, &made, bounds);
        assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    }
}

/// What products may have, each of which some product has.
const KINDS: [&str; 6] = [
    "a transposed first factor",
    "a transposed second factor",
    "several matrices",
    "one matrix for several others",
    "a sum with what is there",
    "a bias",
];

fn is_of(product: &MatrixProduct, kind: &str) -> bool {
    let [a, b, _] = product.matrices;
    match kind {
        "a transposed first factor" => a.is_transposed,
        "a transposed second factor" => b.is_transposed,
        "several matrices" => product.sizes[0] > 1,
        "one matrix for several others" => product.sizes[0] > 1 && (a.stride == 0 || b.stride == 0),
        "a sum with what is there" => product.adds,
        "a bias" => product.bias.is_some(),
        _ => unreachable!("{kind}"),
    }
}

#[test]
fn cublaslt_gives_what_aot_does() {
    let folder = tempfile::tempdir().unwrap();
    let gpu = gpu_with(&folder, "");
    for (kind, bounds) in [(Kind::Double, IN_DOUBLE), (Kind::Float, IN_FLOAT)] {
        let made = programs(&gpu, kind);
        let all: Vec<&MatrixProduct> = made.iter().flat_map(|each| each.cuda.products()).collect();
        println!("{} products of {} programs", all.len(), made.len());
        let mut missing = BTreeSet::from(KINDS);
        all.iter().for_each(|product| missing.retain(|kind| !is_of(product, kind)));
        // The stand-in adds biases in float32 alone.
        let expected: &[&str] = if kind == Kind::Double { &["a bias"] } else { &[] };
        assert!(missing.iter().eq(expected), "no product with {missing:?}, {kind:?}");
        let failures = failures_on_host(&gpu, &made, bounds);
        assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    }
}

/// Rounded products have about as many digits as their factors: less than more precise ones.
#[test]
fn products_of_rounded_factors_are_rounded() {
    let folder = tempfile::tempdir().unwrap();
    let gpu = gpu_with(&folder, "");
    // It has none, or multiplies them wrongly.
    let without = ["WRONG=6", "WRONG=7"].map(|wrong| gpu_with(&folder, wrong));
    for (numbers, bounds, finer) in
        [(Numbers::FloatAsTf32, IN_TF32, IN_FLOAT), (Numbers::FloatAsBf16, IN_BF16, IN_TF32)]
    {
        let made = || programs_with(&gpu, Kind::Float, numbers);
        let failures = failures_on_host(&gpu, &made(), bounds);
        assert!(failures.is_empty(), "{numbers:?}: {} failures:\n{}", failures.len(), failures.join("\n"));
        assert!(!failures_on_host(&gpu, &made(), finer).is_empty(), "{numbers:?}: nothing was rounded");
        for gpu in &without {
            assert!(programs_with(gpu, Kind::Float, numbers).is_empty(), "{numbers:?}");
        }
    }
    assert!(without.iter().all(|gpu| !programs(gpu, Kind::Float).is_empty()));
}

/// A product that is described wrongly gives other results.
#[test]
fn planted_errors_in_products_are_caught() {
    let folder = tempfile::tempdir().unwrap();
    let gpu = gpu_with(&folder, "");
    let linear = |of: fn(&mut MatrixProduct)| ("linear", of);
    let bmm = |of: fn(&mut MatrixProduct)| ("bmm", of);
    let plants = [
        linear(|product| product.bias = None),
        linear(|product| product.sizes[2] -= 1),
        bmm(|product| product.adds = true),
        bmm(|product| product.matrices[2].stride = 0),
        bmm(|product| product.matrices[0].stride = 0),
    ];
    for (what, plant) in plants {
        // LibTorch differentiates a recorded function once.
        let mut made = programs(&gpu, Kind::Float);
        made.retain(|each| each.what == what);
        assert_eq!(made.len(), 1, "{what}");
        for launch in &mut made[0].cuda.forward {
            if let Run::Product(product) = &mut launch.run {
                plant(product);
            }
        }
        assert!(!failures_on_host(&gpu, &made, IN_FLOAT).is_empty(), "a planted error in {what} passed");
    }
}

/// Before the first product: the library is opened and its sums are compared with the host's.
#[test]
fn a_library_that_is_not_right_multiplies_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let faults = [
        ("WRONG=1", "the sums of cuBLASLt are wrong here"),
        ("WRONG=2", "the sums of cuBLASLt are wrong here"),
        ("WRONG=3", "cublasLtMatmulAlgoGetHeuristic: status 15"),
        ("WRONG=4", "cublasLtCreate: status 1"),
        ("WRONG=5", "cuBLASLt proposes no algorithm"),
    ];
    let program = lowered(&large_product(1 << 8)).unwrap();
    assert_eq!(CudaProgram::on(&program, Numbers::Float, &gpu_with(&folder, "")).unwrap().products().count(), 3);
    let product = *programs(&gpu_with(&folder, ""), Kind::Float)[0].cuda.products().next().unwrap();
    for (wrong, why) in faults {
        let gpu = gpu_with(&folder, wrong);
        let obstacle = gpu.obstacle(&product).expect(wrong);
        assert!(obstacle.contains(why), "{wrong}: {obstacle}");
        let made = CudaProgram::on(&program, Numbers::Float, &gpu).unwrap();
        assert_eq!((made.products().count(), made.obstacle.as_deref()), (0, Some(&*obstacle)));
    }
    let missing = Gpu::open_by(&driver(folder.path(), ""), 0).unwrap().with_cublas(&folder.path().join("no.so"));
    let obstacle = missing.obstacle(&product).unwrap();
    assert!(obstacle.contains("no cuBLASLt") && obstacle.contains("nvidia-cublas"), "{obstacle}");
}

/// A product [rows, 1024] by [1024, 256].
fn large_product(rows: i64) -> Recorder {
    let wave = |shape: &[i64], step| wave(shape, step, Kind::Float).set_requires_grad(true);
    let mut recorder = Recorder::new(&[wave(&[rows, 1 << 10], 0.13), wave(&[1 << 10, 1 << 8], 0.29)]);
    let value = recorder.tensors[0].mm(&recorder.tensors[1]);
    let value = recorder.record("mm", "", &[A::V(0), A::V(1)], vec![value]);
    recorder.returns(&[value]);
    recorder
}

/// The stand-in adds no bias to float64: its refusal is no obstacle, as the product runs without.
#[test]
fn a_bias_that_is_refused_is_added_apart() {
    let folder = tempfile::tempdir().unwrap();
    let wave = |shape: &[i64], step| wave(shape, step, Kind::Double);
    let mut recorder = Recorder::new(&[wave(&[512, 512], 0.13), wave(&[256, 512], 0.29), wave(&[256], 0.5)]);
    let value = recorder.tensors[0].linear(&recorder.tensors[1], Some(&recorder.tensors[2]));
    let value = recorder.record("linear", "", &[A::V(0), A::V(1), A::V(2)], vec![value]);
    recorder.returns(&[value]);
    let program = lowered(&recorder).unwrap();
    let made = CudaProgram::on(&program, Numbers::Float, &gpu_with(&folder, "")).unwrap();
    assert!(made.products().count() > 0 && made.obstacle.is_none(), "{:?}", made.obstacle);
    assert!(made.products().all(|product| product.bias.is_none()));
}

/// Only products that are worth it, and the description of the function says so.
#[test]
fn large_products_of_compiled_functions_are_by_cublaslt() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        (1 << 8, true, "  product by cuBLASLt: 1 of [256, 1024] by [1024, 256]\n"),
        (1 << 7, true, ""),
        (1 << 8, false, "  large products by kernels: no cuBLASLt"),
    ];
    for (rows, has_library, expected) in cases {
        let gpu = gpu_of_size(folder.path(), "ANYWHERE", str::to_owned);
        let gpu = if has_library { gpu } else { gpu.with_cublas(&folder.path().join("no.so")) };
        let recorder = large_product(rows);
        let options = CompileOptions { gpu: Some(gpu), ..recorder.options(Wanted::Any, 60.0) };
        let compiled = CompiledGraph::new(&recorder.graph, &options).unwrap();
        let text = compiled.describe();
        assert!(text.contains(expected) && (text.contains("cuBLASLt") != expected.is_empty()), "{text}");
        if has_library {
            compare(&recorder, recorder.actual(&compiled).unwrap(), 2e-4, 4e-5).unwrap();
        }
    }
}
