//! Networks in training on the back end `cuda`: the kernels, compiled for the host, make the same steps as `aot`, and
//! also on a GPU if there is one.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use cladtorch::dataset::Scaler;
use cladtorch::error::Error;
use cladtorch::gradient::aot::AotEngine;
use cladtorch::gradient::cuda::{CudaEngine, Epoch, Form, Gpu, Nvrtc, Perceptron, Sharing, Start, Stepwise, Tiling};
use cladtorch::gradient::{
    CustomLoss, Engine, ModuleTiles, RowLoss, Rows, RowsOf, Settings, Snapshot, compile_activation,
};
use cladtorch::graph::{Activation, DType, Graph, Loss, Module, Op, Optimiser, Precision};
use cladtorch::optimiser::Clip;
use support::cuda_host::{LocalMemory, cublas_obstacle, driver, gpu_of_size, gpu_on_host};
use support::events::Events;
use support::graph::losses;
use support::graph::modules::{self, CASES};
use support::graph::recorder::A;
use support::models::cube;
use support::say;
use tch::{Kind, Tensor};

/// A network in training.
struct Case {
    sizes: &'static [usize],
    activation: Activation,
    settings: Settings,
    tiling: Tiling,
    events: usize,
}

impl Case {
    /// In float32.
    fn exact(&self) -> Case {
        Case { settings: Settings { precision: Precision::Float32, ..self.settings }, ..*self }
    }

    fn graph(&self) -> Graph {
        Graph::mlp(self.sizes, self.activation).unwrap()
    }
}

/// Rows of the whole dataset, of which an epoch takes some in another order.
struct Data {
    features: Vec<f32>,
    labels: Vec<f32>,
    weights: Vec<f32>,
    scaler: Scaler,
}

fn wave(count: usize, step: f64) -> Vec<f32> {
    (0..count).map(|i| (i as f64 * step + 0.3).sin() as f32).collect()
}

impl Data {
    fn new(case: &Case) -> Self {
        let (inputs, outputs) = (case.sizes[0], case.sizes[case.sizes.len() - 1]);
        let loss = case.settings.loss;
        let label = |number: f32| match loss {
            Loss::BinaryCrossEntropy | Loss::Focal => f32::from(number > 0.2),
            Loss::SoftmaxCrossEntropy => ((number + 1.0) * 0.499 * outputs as f32).floor(),
            _ => number,
        };
        let labels = wave(case.events * loss.targets(outputs), 1.37).into_iter().map(label).collect();
        let scaler = Scaler { mean: wave(inputs, 0.9), inverse: wave(inputs, 0.4).iter().map(|x| x + 1.5).collect() };
        let weights = wave(case.events, 0.77).iter().map(|x| x + 1.2).collect();
        Data { features: wave(case.events * inputs, 0.713), labels, weights, scaler }
    }

    fn rows(&self) -> Rows<'_> {
        let Data { features, labels, weights, scaler } = self;
        Rows { features, labels, weights, scaler, target: None, weight_scale: 0.8 }
    }

    /// All but a few, and not in order.
    fn order(&self) -> Vec<u32> {
        let count = self.weights.len() as u32;
        (0..count).map(|i| i * 7 % count).filter(|row| row % 11 != 3).collect()
    }
}

fn settings(loss: Loss, optimiser: Optimiser, batch_size: usize) -> Settings {
    Settings { loss, optimiser, batch_size, ..Settings::default() }
}

fn cases() -> Vec<Case> {
    use Activation as A;
    let case = |sizes, activation, settings, [rows, cluster]: [usize; 2], events| {
        let tiling = Tiling { rows, cluster };
        Case { sizes, activation, settings, tiling, events }
    };
    let adam = |loss, batch_size| settings(loss, Optimiser::Adam, batch_size);
    vec![
        case(&[28, 64, 64, 1], A::ReLU, adam(Loss::BinaryCrossEntropy, 100), [16, 0], 260),
        case(&[28, 64, 64, 1], A::ReLU, adam(Loss::BinaryCrossEntropy, 100), [16, 2], 260),
        case(&[3, 5, 1], A::Tanh, adam(Loss::MeanSquaredError, 32), [8, 2], 150),
        case(
            &[7, 33, 40, 12],
            A::SiLU,
            Settings { loss_parameter: 0.1, ..adam(Loss::SoftmaxCrossEntropy, 50) },
            [16, 2],
            170,
        ),
        case(&[5, 17, 3], A::GELU, adam(Loss::SoftmaxCrossEntropy, 300), [32, 1], 170),
        case(&[4, 9, 20, 4], A::LeakyReLU, Settings { loss_parameter: -18.5, ..adam(Loss::Gaussian, 40) }, [8, 4], 100),
        case(&[4, 70, 1], A::Softplus, adam(Loss::Huber, 33), [16, 0], 100),
        case(
            &[6, 8, 2],
            A::Sigmoid,
            Settings { loss_parameter: 2.0, weight_decay: 0.05, ..adam(Loss::Focal, 20) },
            [8, 2],
            90,
        ),
        case(
            &[6, 20, 9],
            A::ReLU,
            Settings { loss_parameter: 0.3, momentum: 0.9, ..settings(Loss::Quantile, Optimiser::SGD, 25) },
            [8, 2],
            90,
        ),
        case(
            &[9, 130, 1],
            A::Tanh,
            Settings { weight_decay: 0.1, ..settings(Loss::BinaryCrossEntropy, Optimiser::AdamW, 70) },
            [32, 0],
            210,
        ),
        case(&[5, 1], A::ReLU, adam(Loss::BinaryCrossEntropy, 10), [8, 2], 40),
        // So few parameters for a block that groups of its threads share them.
        case(&[3, 5, 1], A::Tanh, adam(Loss::MeanSquaredError, 32), [8, 0], 150),
    ]
}

/// Results of two calls of training and one of evaluation.
struct Outcome {
    losses: [f64; 3],
    end: Snapshot,
}

/// The loss of the steps, when they are made.
fn trained(engine: &mut dyn Engine, rows: Rows, order: &[u32], rate: f64) -> Result<f64, Error> {
    Ok(engine.train(rows, order, &rate)? + engine.settle()?)
}

fn outcome(engine: &mut dyn Engine, data: &Data) -> Outcome {
    try_outcome(engine, data).unwrap()
}

fn try_outcome(engine: &mut dyn Engine, data: &Data) -> Result<Outcome, Error> {
    let order = data.order();
    let first = trained(engine, data.rows(), &order, 0.01)?;
    // The remembered state continues elsewhere.
    let snapshot = engine.snapshot()?;
    engine.restore(&snapshot)?;
    let second = trained(engine, data.rows(), &order[..order.len() / 2], 0.003)?;
    let judged = engine.evaluate(data.rows(), &order[5..])?;
    Ok(Outcome { losses: [first, second, judged], end: engine.snapshot()? })
}

/// What tells that a GPU does not make the steps of `expected`: an error, or the distance.
fn fault(gpu: &Gpu, case: &Case, is_whole: bool, data: &Data, expected: &Outcome) -> Option<String> {
    match try_outcome(&mut engine(gpu, case, is_whole), data) {
        Ok(got) => too_far("the outcome", distance(&got, expected)),
        Err(error) => Some(error.to_string()),
    }
}

fn start(graph: &Graph) -> Vec<f32> {
    wave(graph.parameters(), 2.7).iter().map(|x| x * 0.3).collect()
}

/// The distance of two outcomes: of losses, and of parameters and moments, relative to the largest.
fn distance(a: &Outcome, b: &Outcome) -> f64 {
    let apart = |a: &[f32], b: &[f32]| {
        assert_eq!(a.len(), b.len());
        let largest = b.iter().fold(1e-3_f64, |most, x| most.max(f64::from(x.abs())));
        a.iter().zip(b).map(|(a, b)| (f64::from(*a) - f64::from(*b)).abs() / largest).fold(0.0, nan_or_max)
    };
    let losses = a.losses.iter().zip(b.losses).map(|(a, b)| (a - b).abs() / b.abs()).fold(0.0, nan_or_max);
    let states = [
        apart(&a.end.parameters, &b.end.parameters),
        apart(&a.end.moments[0], &b.end.moments[0]),
        apart(&a.end.moments[1], &b.end.moments[1]),
    ];
    assert_eq!(a.end.steps, b.end.steps);
    states.into_iter().fold(losses, nan_or_max)
}

fn nan_or_max(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

fn by_aot(case: &Case, data: &Data) -> Outcome {
    let graph = case.graph();
    let start = start(&graph);
    outcome(&mut AotEngine::new(graph, &start, case.settings, 1).unwrap(), data)
}

fn name(case: &Case, is_whole: bool) -> String {
    let Settings { loss, optimiser, batch_size, precision, .. } = case.settings;
    let how = if is_whole { format!("{:?}", case.tiling) } else { "step by step".into() };
    let Case { sizes, activation, .. } = case;
    format!("{sizes:?} {activation:?} {loss:?} {optimiser:?}, batches of {batch_size}, {how}, {precision:?}")
}

/// An engine whose epochs are one kernel, or whose steps are one launch each.
fn engine(gpu: &Gpu, case: &Case, is_whole: bool) -> CudaEngine {
    let graph = case.graph();
    let form: Box<dyn Form> = match is_whole {
        true => Box::new(Epoch::new(Perceptron::new(&graph, &case.settings, case.tiling).unwrap(), gpu).unwrap()),
        false => {
            let module = Arc::new(Module::of_graph(&graph, DType::Float32));
            Box::new(Stepwise::new(&module, Start::default(), case.settings, gpu).unwrap())
        }
    };
    let targets = case.settings.loss.targets(graph.outputs());
    CudaEngine::of(form, targets, &start(&graph), case.settings, gpu.clone()).unwrap()
}

/// Bounded gradients, an L1 term, and frozen layers: step by step, as in `aot`.
fn other_moves(gpu: &Gpu) -> Vec<String> {
    // 1431 parameters: several blocks.
    let case = &cases()[9];
    let (data, graph) = (Data::new(case), case.graph());
    let (module, parameters) = (Arc::new(Module::of_graph(&graph, DType::Float32)), start(&graph));
    let plain = case.settings;
    let rules = [
        ("L1", Settings { l1: 0.03, ..plain }),
        ("components", Settings { clip: Some(Clip::Value(0.02)), ..plain }),
        ("norm", Settings { clip: Some(Clip::Norm(0.05)), l1: 0.01, ..plain }),
        ("SGD's norm", Settings { clip: Some(Clip::Norm(0.05)), optimiser: Optimiser::SGD, ..plain }),
        ("frozen", plain),
    ];
    let some = [3..7, parameters.len() - 2..parameters.len()];
    let mut failures = Vec::new();
    for ((what, settings), frozen) in rules.into_iter().flat_map(|rule| [(rule, &some[..0]), (rule, &some[..])]) {
        let start = Start { parameters: &parameters, frozen, ..Start::default() };
        let mut ours = CudaEngine::new(&module, Some(&graph), start, settings, gpu.clone()).unwrap();
        let aot = AotEngine::new(graph.clone(), &parameters, settings, 1).unwrap();
        let (ours, aot) = (outcome(&mut ours, &data), outcome(&mut aot.with_frozen(frozen).unwrap(), &data));
        let moved = frozen.iter().flat_map(Range::clone).any(|i| ours.end.parameters[i] != parameters[i]);
        let apart = distance(&ours, &aot);
        println!("{what}, {} frozen: {apart:.1e}", frozen.len());
        if apart.is_nan() || apart > TOLERANCE || moved {
            failures.push(format!("{what}, {} frozen: {apart:e}, or what is frozen moved", frozen.len()));
        }
    }
    failures
}

const TOLERANCE: f64 = 2e-4;

/// Prints a distance; a failure if it is larger than rounding, or not a number.
fn too_far(what: &str, apart: f64) -> Option<String> {
    println!("{what}: {apart:.1e}");
    (apart.is_nan() || apart > TOLERANCE).then(|| format!("{what}: {apart:e}"))
}

/// Dropout's factors, which are those of `aot` if a batch is one tile.
const SEED: u64 = 5;

#[test]
fn the_host_makes_the_steps_of_aot() {
    let folder = tempfile::tempdir().unwrap();
    let gpu = gpu_on_host(folder.path(), str::to_owned);
    let mut failures = Vec::new();
    for (case, is_whole) in cases().iter().flat_map(|case| [(case, true), (case, false)]) {
        let data = Data::new(case);
        let apart = distance(&outcome(&mut engine(&gpu, case, is_whole), &data), &by_aot(case, &data));
        failures.extend(too_far(&name(case, is_whole), apart));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The products of a layer that is wide, forward and backward.
fn wide(gpu: &Gpu, precision: Precision) -> f64 {
    let settings = rounded(settings(Loss::BinaryCrossEntropy, Optimiser::Adam, 256), precision);
    let tiling = Tiling { rows: 8, cluster: 0 };
    let case = Case { sizes: &[8, 512, 512, 1], activation: Activation::Tanh, settings, tiling, events: 290 };
    let data = Data::new(&case);
    let mut ours = engine(gpu, &case, false);
    assert!(ours.describe().ends_with("a step as one launch, 3 products by cuBLASLt"), "{}", ours.describe());
    distance(&outcome(&mut ours, &data), &by_aot(&case.exact(), &data))
}

/// Where the distance of rounded steps from those in float32 lies: 11 and 8 significant bits are 4e-4 and 3e-3 from the nearest.
fn distances(precision: Precision) -> Range<f64> {
    match precision {
        Precision::Float32 | Precision::TF32x3 => 0.0..TOLERANCE,
        Precision::TF32 => 1e-5..0.02,
        Precision::BF16 => 1e-3..0.2,
    }
}

/// Adam makes steps of the signs of gradients that are almost 0, and rounding changes signs.
fn rounded(settings: Settings, precision: Precision) -> Settings {
    let changes_signs = matches!(precision, Precision::TF32 | Precision::BF16);
    let optimiser = if changes_signs { Optimiser::SGD } else { settings.optimiser };
    Settings { precision, optimiser, ..settings }
}

/// The first cases in every precision: the widths of a narrow last layer and of others, tiles of all sizes, both exchanges of gradients.
fn rounded_cases() -> Vec<Case> {
    let all = [Precision::TF32x3, Precision::TF32, Precision::BF16];
    let with = |precision| move |case: Case| Case { settings: rounded(case.settings, precision), ..case };
    let some = || cases().into_iter().take(6).chain(cases().into_iter().skip(9).take(1));
    all.into_iter().flat_map(|precision| some().map(with(precision))).collect()
}

fn in_each_precision(gpu: &Gpu) -> Vec<String> {
    let mut failures = Vec::new();
    for case in rounded_cases() {
        let data = Data::new(&case);
        let apart = distance(&outcome(&mut engine(gpu, &case, true), &data), &by_aot(&case.exact(), &data));
        println!("{}: {apart:.1e}", name(&case, true));
        if !distances(case.settings.precision).contains(&apart) {
            failures.push(format!("{}: {apart:e}", name(&case, true)));
        }
    }
    failures
}

#[test]
fn the_host_multiplies_in_each_precision() {
    let folder = tempfile::tempdir().unwrap();
    let failures = in_each_precision(&gpu_on_host(folder.path(), str::to_owned));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// `rounds`: whether factors are rounded for sure, as a library that only may round them does not say.
fn by_cublaslt(gpu: &Gpu, rounds: bool) -> Vec<String> {
    let all = [Precision::Float32, Precision::TF32, Precision::BF16];
    let bounds = |precision| if rounds { distances(precision) } else { 0.0..distances(precision).end };
    let apart = all.map(|precision| (precision, bounds(precision), wide(gpu, precision)));
    println!("wide layers: {apart:?}");
    let failures = apart.into_iter().filter(|(_, bounds, apart)| !bounds.contains(apart));
    failures.map(|(precision, _, apart)| format!("a wide layer in {precision:?}: {apart:e}")).collect()
}

#[test]
fn the_host_trains_wide_layers_by_cublaslt() {
    let folder = tempfile::tempdir().unwrap();
    let failures = by_cublaslt(&gpu_on_host(folder.path(), str::to_owned), true);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_precision_is_refused_where_nothing_would_be_rounded() {
    let folder = tempfile::tempdir().unwrap();
    let gpu = gpu_on_host(folder.path(), str::to_owned);
    let missing = gpu_on_host(folder.path(), str::to_owned).with_cublas(&folder.path().join("no.so"));
    let [wide, narrow] = [&cases()[0], &cases()[10]];
    let clipped = |precision| Settings { clip: Some(Clip::Norm(1.0)), precision, ..wide.settings };
    let many = Settings { batch_size: 1 << 14, ..clipped(Precision::TF32) };
    for (case, settings, gpu, why) in [
        (wide, clipped(Precision::TF32), &gpu, "fPrecision = kTF32, but no product would be rounded"),
        (wide, clipped(Precision::BF16), &gpu, "no product of a batch has 67 million multiplications"),
        (wide, clipped(Precision::TF32x3), &gpu, "does not train by one kernel"),
        (wide, many, &missing, "no cuBLASLt"),
        (narrow, Settings { precision: Precision::BF16, ..narrow.settings }, &gpu, "fPrecision = kBF16"),
    ] {
        let (graph, start) = (case.graph(), start(&case.graph()));
        let module = Arc::new(Module::of_graph(&graph, DType::Float32));
        let from = Start { parameters: &start, ..Start::default() };
        let made = CudaEngine::new(&module, Some(&graph), from, settings, gpu.clone());
        let error = made.err().expect(why).to_string();
        assert!(error.contains(why), "{error}");
    }
    for precision in [Precision::TF32, Precision::TF32x3] {
        let settings = Settings { precision, ..wide.settings };
        let on_host =
            AotEngine::new(wide.graph(), &start(&wide.graph()), settings, 1).err().expect("the CPU").to_string();
        assert!(on_host.contains(&format!("fPrecision = {}", precision.enumerator())), "{on_host}");
    }
}

/// Tensor cores that multiply otherwise than their description says are noticed before a network trains.
#[test]
fn tensor_cores_are_tried_first() {
    let (folder, case) = (tempfile::tempdir().unwrap(), &cases()[0]);
    let (graph, start) = (case.graph(), start(&case.graph()));
    let module = Arc::new(Module::of_graph(&graph, DType::Float32));
    for precision in [Precision::TF32x3, Precision::TF32, Precision::BF16] {
        let made = |wrong: &'static str| {
            let gpu = gpu_on_host(folder.path(), move |text| text.replace("(a, b, c)", wrong));
            let from = Start { parameters: &start, ..Start::default() };
            CudaEngine::new(&module, Some(&graph), from, Settings { precision, ..case.settings }, gpu)
        };
        let says = made("(a, b, c)").unwrap().describe();
        assert!(says.ends_with(&format!("products in {}", precision.name())), "{says}");
        let error = made("(a, a, c)").err().expect("wrong factors").to_string();
        assert!(error.contains("the products of tensor cores are wrong here"), "{error}");
    }
}

/// Networks in training at once, each by a thread and on a stream of its own, make the steps that they make alone.
fn side_by_side(gpu: &Gpu) -> Vec<String> {
    let cases = cases();
    let wholes = [true, false, true, false];
    let train = |case: &Case, is_whole| outcome(&mut engine(gpu, case, is_whole), &Data::new(case));
    let alone: Vec<Outcome> = cases.iter().zip(wholes).map(|(case, is_whole)| train(case, is_whole)).collect();
    let together: Vec<Outcome> = thread::scope(|scope| {
        let threads = cases.iter().zip(wholes).map(|(case, is_whole)| scope.spawn(move || train(case, is_whole)));
        threads.collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let differs =
        |(alone, together): (&Outcome, &Outcome)| alone.losses != together.losses || alone.end != together.end;
    let failures = cases.iter().zip(wholes).zip(alone.iter().zip(&together)).filter(|(_, pair)| differs(*pair));
    failures.map(|((case, is_whole), _)| format!("{}: other bits beside others", name(case, is_whole))).collect()
}

#[test]
fn the_host_trains_several_networks_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let failures = side_by_side(&gpu_on_host(folder.path(), str::to_owned));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The next call is prepared while the last one runs: other events, which a stream brings, or other ones for validation.
fn overlapping(gpu: &Gpu) -> Vec<String> {
    let mut failures = Vec::new();
    for (case, is_whole) in [(&cases()[0], true), (&cases()[1], true), (&cases()[0], false)] {
        let [first, mut second] = [Data::new(case), Data::new(case)];
        second.features.iter_mut().for_each(|x| *x = 1.0 - *x);
        let order = first.order();
        let run = |engine: &mut dyn Engine| {
            let mut loss = engine.train(first.rows(), &order, &0.01).unwrap();
            engine.forget();
            loss += engine.train(second.rows(), &order, &0.01).unwrap();
            // Shorter and longer ones in the memory of those before.
            for count in [30, 210] {
                loss += engine.train(second.rows(), &order[..count], &0.01).unwrap();
            }
            engine.turn_to(RowsOf::Validation);
            let judged = engine.evaluate(first.rows(), &order).unwrap();
            engine.turn_to(RowsOf::Training);
            loss += engine.train(second.rows(), &order, &0.01).unwrap();
            let end = engine.snapshot().unwrap();
            loss += engine.settle().unwrap();
            Outcome { losses: [loss, judged, engine.settle().unwrap() + 1.0], end }
        };
        let mut aot = AotEngine::new(case.graph(), &start(&case.graph()), case.settings, 1).unwrap();
        let apart = distance(&run(&mut engine(gpu, case, is_whole)), &run(&mut aot));
        failures.extend(too_far(&format!("{}, overlapping", name(case, is_whole)), apart));
    }
    failures
}

#[test]
fn calls_that_overlap_make_the_steps_of_aot() {
    let folder = tempfile::tempdir().unwrap();
    let failures = overlapping(&gpu_on_host(folder.path(), str::to_owned));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Where only one of the datasets fits, each makes room for the other: for validation, and for the window of a stream that comes while
/// the GPU trains on the one before. Where none fits the fit ends with words, and can go on.
#[test]
fn datasets_take_turns_where_memory_is_short() {
    let folder = tempfile::tempdir().unwrap();
    let large = |case: Case| Case { events: 20_000, ..case };
    for (case, is_whole) in [(large(cases().swap_remove(0)), true), (large(cases().swap_remove(0)), false)] {
        let [first, mut second] = [Data::new(&case), Data::new(&case)];
        second.features.iter_mut().for_each(|x| *x = 1.0 - *x);
        let order = &first.order()[..200];
        let run = |engine: &mut dyn Engine| {
            let mut loss = engine.train(first.rows(), order, &0.01).unwrap();
            engine.turn_to(RowsOf::Validation);
            let judged = engine.evaluate(second.rows(), order).unwrap();
            engine.turn_to(RowsOf::Training);
            loss += engine.train(first.rows(), order, &0.01).unwrap();
            engine.forget();
            loss += engine.train(second.rows(), order, &0.01).unwrap();
            loss += engine.settle().unwrap();
            Outcome { losses: [loss, judged, 1.0], end: engine.snapshot().unwrap() }
        };
        // A copy has 2.4 MB.
        let gpu = gpu_of_size(folder.path(), "ROOM=4200000", str::to_owned);
        let mut ours = engine(&gpu, &case, is_whole);
        let mut aot = AotEngine::new(case.graph(), &start(&case.graph()), case.settings, 1).unwrap();
        let apart = distance(&run(&mut ours), &run(&mut aot));
        assert!(apart <= TOLERANCE, "{}: {apart:e}", name(&case, is_whole));
        ours.forget();
        let rest = gpu.memory(1_500_000).unwrap();
        let error = ours.train(first.rows(), order, &0.01).unwrap_err().to_string();
        assert!(error.contains("OUT_OF_MEMORY") && error.contains("use fewer events"), "{error}");
        drop(rest);
        ours.train(first.rows(), order, &0.01).unwrap();
    }
}

/// A part of a GPU makes the same steps, up to the order of sums.
fn in_parts(gpu: &Gpu) -> Vec<String> {
    let mut failures = Vec::new();
    for (case, parts) in [(&cases()[0], 2), (&cases()[0], 6), (&cases()[4], 3), (&cases()[7], 100)] {
        let (graph, parameters, data) = (case.graph(), start(&case.graph()), Data::new(case));
        let start = Start { parameters: &parameters, ..Start::default() };
        let module = Arc::new(Module::of_graph(&graph, DType::Float32));
        let mut ours = CudaEngine::new(&module, Some(&graph), start, case.settings, gpu.clone().part(parts)).unwrap();
        assert!(ours.describe().contains("many steps in one kernel"), "{}", ours.describe());
        let apart = distance(&outcome(&mut ours, &data), &by_aot(case, &data));
        failures.extend(too_far(&format!("{} in {parts} parts", name(case, true)), apart));
    }
    failures
}

#[test]
fn parts_of_a_gpu_make_the_steps_of_aot() {
    let folder = tempfile::tempdir().unwrap();
    let failures = in_parts(&gpu_on_host(folder.path(), str::to_owned));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Fits share the multiprocessors by their number and size; how many run at once depends on the memory that is unused, too.
#[test]
fn fits_share_a_gpu() {
    let folder = tempfile::tempdir().unwrap();
    let open = |size: &str| Gpu::open_by(&driver(folder.path(), size), 0).unwrap();
    // Of 8 GiB of which 4 are unused.
    let [small, large, huge] = [1 << 20, 1500 << 20, usize::MAX / 2];
    let [h100, little] = [open("MULTIPROCESSORS=132"), open("MULTIPROCESSORS=6")];
    for (gpu, fits, bytes, parts, at_once) in [
        (&h100, 5, small, 5, 5),
        (&h100, 100, small, 8, 8),
        (&h100, 5, large, 4, 2),
        (&h100, 5, huge, 1, 1),
        (&h100, 1, small, 1, 1),
        (&little, 5, small, 1, 1),
    ] {
        assert_eq!(Sharing::new(gpu, fits, bytes), Sharing { parts, at_once }, "{fits} fits of {bytes} bytes");
    }
    assert_eq!(h100.part(8).limits().multiprocessors, 16);
}

/// Modules of all kinds, step by step.
fn every_module(gpu: &Gpu) -> Vec<String> {
    let floats = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect::<Vec<_>>();
    let mut failures = Vec::new();
    for case in CASES.iter().chain([&DROPOUTS]) {
        let (module, start, state) = (Arc::new(case.module(Kind::Float)), floats(case.start()), floats(case.state()));
        // The last batch has 17 rows, except for the second draw of a batch, which begins after the rows of a full one.
        let events = Events::new(if case.name == DROPOUTS.name { 80 } else { 57 }, case.inputs(), case.outputs());
        // Adam would turn the rounding of a gradient that is 0 into steps.
        let settings = settings(Loss::SoftmaxCrossEntropy, Optimiser::SGD, 40);
        let from = Start { parameters: &start, state: &state, seed: SEED, ..Start::default() };
        let mut ours = CudaEngine::new(&module, None, from, settings, gpu.clone()).unwrap();
        let tiles = ModuleTiles::new(module, &state, SEED, Precision::Float32).unwrap();
        let mut aot = AotEngine::of(tiles, &start, settings, 1).unwrap();
        let run = |engine: &mut dyn Engine| {
            let order = events.order();
            let losses = [0.1, 0.02].map(|rate| trained(engine, events.rows(), &order, rate).unwrap());
            let judged = engine.evaluate(events.rows(), &order).unwrap();
            Outcome { losses: [losses[0], losses[1], judged], end: engine.snapshot().unwrap() }
        };
        let (ours, aot) = (run(&mut ours), run(&mut aot));
        let state: f64 = ours.end.state.iter().zip(&aot.end.state).map(|(a, b)| f64::from((a - b).abs())).sum();
        let apart = distance(&ours, &aot).max(state);
        failures.extend(too_far(case.name, apart));
    }
    failures
}

/// Two draws, each by several blocks of threads.
const DROPOUTS: modules::Case = modules::Case {
    name: "two dropouts",
    event: &[4],
    parameters: &[&[150, 4], &[150], &[150, 150], &[150], &[2, 150], &[2]],
    state: &[],
    draws: true,
    build: &|r, training| {
        let mut x = 0;
        for layer in [1, 3] {
            let value = r.tensors[x].linear(&r.tensors[layer], Some(&r.tensors[layer + 1]));
            x = r.record("linear", "", &[A::V(x), A::V(layer), A::V(layer + 1)], vec![value]);
            let value = r.tensors[x].tanh();
            x = r.record("tanh", "", &[A::V(x)], vec![value]);
            let value = r.tensors[x].dropout(0.3, training);
            x = r.record("dropout", "", &[A::V(x), A::F(0.3), A::B(training)], vec![value]);
        }
        let value = r.tensors[x].linear(&r.tensors[5], Some(&r.tensors[6]));
        r.record("linear", "", &[A::V(x), A::V(5), A::V(6)], vec![value])
    },
};

/// Two features, each of which chooses a row of a table of three.
const CATEGORIES: modules::Case = modules::Case {
    name: "categories",
    event: &[2],
    parameters: &[&[3, 4], &[2, 8], &[2]],
    state: &[],
    draws: false,
    build: &|r, _| {
        let value = r.tensors[0].abs();
        let x = r.record("abs", "", &[A::V(0)], vec![value]);
        let value = r.tensors[x].to_kind(Kind::Int64);
        let x = r.record("to", "dtype", &[A::V(x), A::I(4), A::B(false), A::B(false), A::None], vec![value]);
        let value = Tensor::embedding(&r.tensors[1], &r.tensors[x], -1, false, false);
        let arguments = [A::V(1), A::V(x), A::I(-1), A::B(false), A::B(false)];
        let x = r.record("embedding", "", &arguments, vec![value]);
        let value = r.tensors[x].flatten(1, -1);
        let x = r.record("flatten", "using_ints", &[A::V(x), A::I(1), A::I(-1)], vec![value]);
        let value = r.tensors[x].linear(&r.tensors[2], Some(&r.tensors[3]));
        r.record("linear", "", &[A::V(x), A::V(2), A::V(3)], vec![value])
    },
};

/// Events whose category the network does not know are refused, wherever they are in an epoch; the others train as in
/// `aot`.
fn categories(gpu: &Gpu) -> Vec<String> {
    let module = Arc::new(CATEGORIES.module(Kind::Float));
    let parameters: Vec<f32> = CATEGORIES.start().into_iter().map(|value| value as f32).collect();
    let settings = settings(Loss::SoftmaxCrossEntropy, Optimiser::SGD, 16);
    let start = Start { parameters: &parameters, ..Start::default() };
    let tiles = ModuleTiles::new(Arc::clone(&module), &[], SEED, Precision::Float32).unwrap();
    let mut aot = AotEngine::of(tiles, &parameters, settings, 1).unwrap();
    let mut ours = CudaEngine::new(&module, None, start, settings, gpu.clone()).unwrap();
    let mut events = Events::new(50, 2, 2);
    events.features = (0..100).map(|i| (i * 5 % 7 % 3) as f32).collect();
    let order = events.order();
    let run = |engine: &mut dyn Engine| {
        let losses = [0.1, 0.02].map(|rate| trained(engine, events.rows(), &order, rate).unwrap());
        let judged = engine.evaluate(events.rows(), &order).unwrap();
        Outcome { losses: [losses[0], losses[1], judged], end: engine.snapshot().unwrap() }
    };
    let apart = distance(&run(&mut ours), &run(&mut aot));
    let mut failures = Vec::new();
    if apart.is_nan() || apart > TOLERANCE {
        failures.push(format!("categories: {apart:e}"));
    }
    events.features[37] = 3.0;
    ours.forget();
    let asked = [trained(&mut ours, events.rows(), &order, 0.1), ours.evaluate(events.rows(), &order)];
    failures.extend(asked.into_iter().filter_map(|answer| match answer {
        Err(error) if error.to_string().contains("an index is out of range") => None,
        other => Some(format!("an unknown category: {other:?}")),
    }));
    failures
}

/// Losses that a user wrote with LibTorch's operators.
fn own_losses(gpu: &Gpu) -> Vec<String> {
    losses::CASES.iter().filter_map(|case| own_loss(gpu, case).err()).collect()
}

/// Labels of 0 and 1.
fn two_classes(features: usize, labels: usize) -> Data {
    Data {
        features: wave(100 * features, 0.713),
        labels: wave(100 * labels, 1.37).iter().map(|&number| f32::from(number > 0.2)).collect(),
        weights: wave(100, 0.77).iter().map(|x| x + 1.2).collect(),
        scaler: Scaler { mean: wave(features, 0.9), inverse: vec![1.3; features] },
    }
}

fn loss_of_classes() -> &'static losses::Case {
    losses::CASES.iter().find(|case| case.has_index).expect("a loss of classes")
}

fn own_loss(gpu: &Gpu, case: &losses::Case) -> Result<(), String> {
    let sizes = [4, 9, case.outputs];
    let graph = Graph::mlp(&sizes, Activation::Tanh).unwrap();
    let (module, parameters) = (Arc::new(Module::of_graph(&graph, DType::Float32)), start(&graph));
    let loss = Arc::new(case.loss(false).unwrap());
    let settings = settings(Loss::MeanSquaredError, Optimiser::Adam, 33);
    let (loss, same) = (Arc::new(CustomLoss::Observed(Arc::clone(&loss))), CustomLoss::Observed(loss));
    let start = Start { parameters: &parameters, loss: Some(&loss), ..Start::default() };
    let ours = CudaEngine::new(&module, Some(&graph), start, settings, gpu.clone());
    if !case.is_apart {
        return match ours.err().map(|error| error.to_string()) {
            Some(error) if error.contains("the loss of each event") => Ok(()),
            other => Err(format!("{}: {other:?}", case.name)),
        };
    }
    let mut ours = ours.map_err(|error| format!("{}: {error}", case.name))?;
    let mut data = two_classes(sizes[0], case.labels);
    let mut aot = AotEngine::new(graph, &parameters, settings, 1).unwrap().with_custom_loss(same);
    let apart = distance(&outcome(&mut ours, &data), &outcome(&mut aot, &data));
    println!("{}: {apart:.1e}", case.name);
    if apart.is_nan() || apart > TOLERANCE {
        return Err(format!("{}: {apart:e}", case.name));
    }
    if case.has_index {
        data.labels[50] = 3.0;
        ours.forget();
        let error = trained(&mut ours, data.rows(), &data.order(), 0.01).err().map(|error| error.to_string());
        if !error.as_ref().is_some_and(|error| error.contains("the loss: an index is out of range")) {
            return Err(format!("{}: label 3 of 3 classes: {error:?}", case.name));
        }
    }
    Ok(())
}

#[test]
fn the_host_minimises_losses_of_ones_own_as_aot_does() {
    let folder = tempfile::tempdir().unwrap();
    let failures = own_losses(&gpu_on_host(folder.path(), str::to_owned));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// A loss as C++ text for so many outputs.
const LOSS_TEXTS: [(usize, &str); 3] = [
    (
        1,
        "double softplus(double z) { return z > 0 ? z + log1p(exp(-z)) : log1p(exp(z)); }
        double loss(double output, double label) { return 3 * label * softplus(-output) + (1 - label) * softplus(output); }",
    ),
    (
        1,
        "#include <algorithm>
        #include <cmath>
        double loss(double z, double y)
        {
           const double d = z - y;
           return std::pow(std::fabs(d), 1.5) + std::pow(d, 2) + 0.1 * std::max(d, 0.25) + std::min(d, 1.0) + std::atan2(d, 2.0)
              + std::hypot(d, 1.0) + fmax(d, 0.5) + fmin(d, 0.125) + std::abs(d - 0.375) / M_PI + std::cbrt(3 + d * d) + std::floor(0.1 * d + 0.5)
              + std::tanh(d) + std::sqrt(1 + d * d) + std::sin(d) + std::erf(d);
        }",
    ),
    (
        3,
        "double loss(const double *outputs, double label)
        {
           double sum = 0;
           for (int c = 0; c < 3; ++c)
              sum += std::exp(outputs[c]);
           return std::log(sum) - outputs[static_cast<int>(label)] + std::max(outputs[0], outputs[1]) + std::pow(outputs[2], 4);
        }",
    ),
];

const ACTIVATION_TEXTS: [&str; 3] = [
    "double activation(double x)
    {
       const double u = 0.09 * x;
       const double large = 2 + u * u;
       return x + std::exp(u) + std::exp2(u) + std::expm1(u) + std::log(large) + std::log1p(u) + std::log2(large) + std::log10(large)
          + std::sqrt(large) + std::cbrt(large) + std::sin(u) + std::cos(u) + std::tan(u) + std::asin(u) + std::acos(u) + std::atan(u)
          + std::sinh(u) + std::cosh(u) + std::tanh(u) + std::asinh(u) + std::acosh(large) + std::atanh(u) + std::erf(u)
          + std::erfc(u) + std::floor(0.1) + std::ceil(0.1) + std::pow(large, u) + std::atan2(u, large) + std::hypot(u, large)
          + exp(u) + log(large) + sqrt(large) + sin(u) + cos(u) + tan(u) + tanh(u) + pow(large, 3) + fabs(large) + erf(u);
    }",
    "double activation(double x) { return x / (1 + std::fabs(x)); }",
    "double half(double x) { return 0.5 * x; }
    double activation(double x) { return x > 0 ? half(x) + std::log1p(x) : std::expm1(half(x)); }",
];

const LIMIT: Duration = Duration::from_secs(300);

/// How a network trains with a loss as text.
fn trained_by_text(gpu: &Gpu, outputs: usize, source: &str) -> Result<[Outcome; 2], Error> {
    let compiled = || RowLoss::compile(source, outputs, LIMIT).map(CustomLoss::Text);
    let graph = Graph::mlp(&[4, 9, outputs], Activation::Tanh)?;
    let (module, parameters) = (Arc::new(Module::of_graph(&graph, DType::Float32)), start(&graph));
    let (loss, data) = (Arc::new(compiled()?), two_classes(4, 1));
    let settings = settings(Loss::MeanSquaredError, Optimiser::Adam, 33);
    let start = Start { parameters: &parameters, loss: Some(&loss), ..Start::default() };
    let mut ours = CudaEngine::new(&module, Some(&graph), start, settings, gpu.clone())?;
    let mut aot = AotEngine::new(graph, &parameters, settings, 1)?.with_custom_loss(compiled()?);
    Ok([outcome(&mut ours, &data), outcome(&mut aot, &data)])
}

/// The same with an activation of the user's own.
fn trained_through(gpu: &Gpu, activation: Op) -> Result<[Outcome; 2], Error> {
    let graph = Graph::mlp(&[4, 9, 5, 1], activation)?;
    let (module, parameters) = (Arc::new(Module::of_graph(&graph, DType::Float32)), start(&graph));
    let (settings, data) = (settings(Loss::BinaryCrossEntropy, Optimiser::Adam, 33), two_classes(4, 1));
    let start = Start { parameters: &parameters, ..Start::default() };
    let mut ours = CudaEngine::new(&module, Some(&graph), start, settings, gpu.clone())?;
    Ok([outcome(&mut ours, &data), outcome(&mut AotEngine::new(graph, &parameters, settings, 1)?, &data)])
}

/// Whether the machine has Clad, which differentiates texts; else says so.
fn has_clad() -> bool {
    let probe = RowLoss::compile(LOSS_TEXTS[0].1, 1, LIMIT);
    match probe.err().map(|error| error.to_string()) {
        Some(error) if error.contains("no clang++") => {
            say::not_tested(&format!("C++ text of users on a GPU: {error}"));
            false
        }
        _ => true,
    }
}

/// Losses and activations that a user wrote as C++ text.
fn own_texts(gpu: &Gpu) -> Vec<String> {
    let losses = LOSS_TEXTS.map(|(outputs, source)| (source, trained_by_text(gpu, outputs, source)));
    let through = |source| compile_activation(source, LIMIT).and_then(|own| trained_through(gpu, Op::Custom(own)));
    let activations = ACTIVATION_TEXTS.map(|source| (source, through(source)));
    let failure = |(source, outcomes): (&str, Result<[Outcome; 2], Error>)| match outcomes {
        Err(error) => Some(format!("{source}: {error}")),
        Ok([ours, aot]) => {
            let apart = distance(&ours, &aot);
            println!("text of {} characters: {apart:.1e}", source.len());
            (apart.is_nan() || apart > TOLERANCE).then(|| format!("{source}: {apart:e}"))
        }
    };
    losses.into_iter().chain(activations).filter_map(failure).collect()
}

#[test]
fn the_host_runs_text_of_users_as_aot_does() {
    if !has_clad() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let failures = own_texts(&gpu_on_host(folder.path(), str::to_owned));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    // A GPU that computes something else is noticed before the fit.
    for (right, wrong, of) in [
        ("_d_output = 1;", "_d_output = 1.0001;", "a derivative of fLossFunction"),
        ("log1p(exp(z))", "log1p(1.0001 * exp(z))", "a value of fLossFunction"),
    ] {
        let gpu = gpu_on_host(folder.path(), move |text| text.replace(right, wrong));
        let error = trained_by_text(&gpu, 1, LOSS_TEXTS[0].1).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(&format!("on the GPU {of} is")), "{wrong:?}: {error:?}");
    }
    let source = "#define C 2\ndouble loss(double z, double y) { return C * (z - y) * (z - y); }";
    let gpu = gpu_on_host(folder.path(), str::to_owned);
    let error = trained_by_text(&gpu, 1, source).err().expect("a macro for all kernels").to_string();
    assert!(error.contains("fLossFunction on a GPU: it has the line \"#define C 2\""), "{error}");
    // What the kernels make of the functions.
    for (text, right, wrong) in [
        (2, "weight * slopes[c]", "slopes[c]"),
        (0, "own += weight * Own", "own += Own"),
        (0, "dz[r] = float(batch.fScale * weight", "dz[r] = float(batch.fScale"),
    ] {
        let gpu = gpu_on_host(folder.path(), move |text| text.replace(right, wrong));
        let (outputs, source) = LOSS_TEXTS[text];
        let [ours, aot] = trained_by_text(&gpu, outputs, source).unwrap();
        let apart = distance(&ours, &aot);
        assert!(apart.is_nan() || apart > TOLERANCE, "{wrong:?} for {right:?} passed: {apart:e}");
    }
}

#[test]
fn the_host_runs_activations_of_users_as_aot_does() {
    let folder = tempfile::tempdir().unwrap();
    let apart = |[ours, aot]: [Outcome; 2]| distance(&ours, &aot);
    let right = apart(trained_through(&gpu_on_host(folder.path(), str::to_owned), cube()).unwrap());
    assert!(right <= TOLERANCE, "{right:e}");
    let gpu = gpu_on_host(folder.path(), |text| text.replace("double(p1[i]) * ", ""));
    let wrong = apart(trained_through(&gpu, cube()).unwrap());
    assert!(wrong.is_nan() || wrong > TOLERANCE, "slopes without adjoints passed: {wrong:e}");
    for (right, wrong, of) in [("3 * x * x", "3.001 * x * x", "derivative"), ("x * x * x", "x * x", "value")] {
        let gpu = gpu_on_host(folder.path(), move |text| text.replace(right, wrong));
        let error = trained_through(&gpu, cube()).err().expect("another activation").to_string();
        assert!(error.contains(&format!("on the GPU a {of} of the activation is")), "{error}");
    }
}

#[test]
fn a_gpu_refuses_labels_that_are_no_classes_before_it_trains() {
    let folder = tempfile::tempdir().unwrap();
    let case = loss_of_classes();
    let graph = Graph::mlp(&[2, case.outputs], Activation::Tanh).unwrap();
    let (module, parameters) = (Arc::new(Module::of_graph(&graph, DType::Float32)), start(&graph));
    let loss = Arc::new(CustomLoss::Observed(Arc::new(case.loss(true).unwrap())));
    let start = Start { parameters: &parameters, loss: Some(&loss), ..Start::default() };
    let gpu = gpu_on_host(folder.path(), str::to_owned);
    let settings = settings(Loss::MeanSquaredError, Optimiser::SGD, 10);
    let mut engine = CudaEngine::new(&module, None, start, settings, gpu).unwrap();
    let mut events = Events::new(20, 2, 3);
    engine.train(events.rows(), &events.order(), &0.01).unwrap();
    engine.forget();
    events.labels[7] = 0.5;
    let error = engine.train(events.rows(), &events.order(), &0.01).unwrap_err().to_string();
    assert!(error.contains("label 0.5") && error.contains("class numbers from 0 to 2"), "{error}");
}

#[test]
fn the_host_trains_modules_as_aot_does() {
    let folder = tempfile::tempdir().unwrap();
    let gpu = gpu_on_host(folder.path(), str::to_owned);
    let failures = [every_module(&gpu), other_moves(&gpu), categories(&gpu)].concat();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_gpu_trains_modules_as_aot_does() {
    match Gpu::open(0) {
        Ok(gpu) => {
            let mut failures = [every_module(&gpu), other_moves(&gpu), categories(&gpu), own_losses(&gpu)].concat();
            if has_clad() {
                failures.extend(own_texts(&gpu));
            }
            assert!(failures.is_empty(), "{}", failures.join("\n"));
        }
        Err(why) => say::say(&format!("no GPU trained a module: {why}")),
    }
}

/// A wrong kernel is noticed: another slope, a lost barrier, a row that counts twice, a gap in the sums.
#[test]
fn planted_errors_are_caught() {
    let folder = tempfile::tempdir().unwrap();
    let cases = cases();
    let (plain, clustered) = (&cases[0], &cases[1]);
    let data = Data::new(plain);
    let expected = by_aot(plain, &data);
    for (case, is_whole, right, wrong) in [
        (plain, true, "ReluActivation", "TanhActivation"),
        (plain, true, "adds = true", "adds = false"),
        (plain, true, "tiles < gridDim.x ? tiles : gridDim.x", "1"),
        (plain, true, "MoveShare<AdamUpdate>", "MoveShare<SgdUpdate>"),
        (plain, true, "WaitForCopies();", ""),
        (clustered, true, "gradient[i] = 0", "gradient[i] = 1"),
        (clustered, true, "mover.End(", "if (0) mover.End("),
        (clustered, true, "mover.Begin(", "if (0) mover.Begin("),
        (plain, false, "weights[row(r)] : 0", "weights[row(r)] : weights[row(0)]"),
        (
            plain,
            false,
            "AdamUpdate::Step(rule, batch, parameters[i]",
            "AdamUpdate::Step(rule, batches[0], parameters[i]",
        ),
        (plain, false, "++*place", "*place = 1"),
    ] {
        let gpu = gpu_on_host(folder.path(), move |text| text.replace(right, wrong));
        assert!(fault(&gpu, case, is_whole, &data, &expected).is_some(), "{wrong:?} for {right:?} passed");
    }
    // Each of these where nothing else is wrong.
    let wrong = |text: &str| {
        let text = text.replace("((p > 0) - (p < 0))", "(p > 0)").replace("factor < 1 ? factor : 1", "1.0");
        let text = text.replace("g > 0.02 ?", "g > 0.2 ?");
        text.replace("(i < 3u || i >= 7u)", "true")
    };
    let failures = other_moves(&gpu_on_host(folder.path(), wrong));
    for what in ["L1, 0 frozen", "components, 0 frozen", "SGD's norm, 0 frozen", "frozen, 2 frozen"] {
        assert!(failures.iter().any(|failure| failure.starts_with(what)), "{what} passed: {failures:?}");
    }
    let gpu = gpu_on_host(folder.path(), |text| text.replace("*refused |= flags[f]", ""));
    assert!(!categories(&gpu).is_empty(), "flags that nobody reads passed");
    for (right, wrong) in [
        ("scale * double(w[r])", "scale"),
        ("own += double(w[r]) * double(values[r])", "own += double(values[r])"),
        ("float *dz, double *losses)\n{\n   double own = 0;", "float *dz, double *losses)\n{\n   double own = 1;"),
        ("= y[r *", "= 0.5f * y[r *"),
        ("flags[f] ? 2u : 0u", "0u"),
        ("= gradient[r * 4 + c]", "= gradient[r * 4]"),
    ] {
        let gpu = gpu_on_host(folder.path(), move |text| text.replace(right, wrong));
        assert!(own_loss(&gpu, loss_of_classes()).is_err(), "{wrong:?} for {right:?} passed");
    }
}

/// What kernels of whole epochs call to wait.
const WAITS: [&str; 5] =
    ["__syncthreads();", "WaitForCopies();", "MeetCluster();", " meeting.Wait();", "fMeeting.Wait();"];

/// The text without one of its waits, the `index`-th.
fn without_wait(text: &str, index: usize) -> Option<String> {
    let mut waits: Vec<(usize, &str)> = WAITS.iter().flat_map(|wait| text.match_indices(wait)).collect();
    waits.sort_unstable();
    let &(at, wait) = waits.get(index)?;
    Some(format!("{} ; {}", &text[..at], &text[at + wait.len()..]))
}

/// A network, its data, and what it comes to.
struct Known {
    case: Case,
    data: Data,
    expected: Outcome,
}

impl Known {
    fn new(folder: &Path, case: Case) -> Self {
        let data = Data::new(&case);
        let expected = outcome(&mut engine(&gpu_on_host(folder, str::to_owned), &case, true), &data);
        Known { case, data, expected }
    }

    /// What tells that this wait of the text with `source` in it is missing, if anything does; `None` if it has no such wait.
    fn without_wait(&self, folder: &Path, source: &'static str, index: usize) -> Option<Option<String>> {
        let removed = Arc::new(AtomicBool::new(false));
        let told = removed.clone();
        let gpu = gpu_on_host(folder, move |text| {
            let mended = text.contains(source).then(|| without_wait(text, index)).flatten();
            told.fetch_or(mended.is_some(), Ordering::Relaxed);
            mended.unwrap_or_else(|| text.to_owned())
        });
        let fault = fault(&gpu, &self.case, true, &self.data, &self.expected);
        removed.load(Ordering::Relaxed).then_some(fault)
    }
}

/// Every wait of these kernels is needed: without it accesses race, blocks lose one another, or the outcome is another one.
#[test]
fn every_wait_of_a_whole_epoch_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    let case = |index| cases().swap_remove(index);
    let rounded = Case { settings: rounded(case(0).settings, Precision::TF32), ..case(0) };
    let known = [case(0), case(1), case(11), case(3), rounded].map(|case| Known::new(folder.path(), case));
    // Each network has a kernel of its own, and all of them the same header.
    let networks = if say::is_complete() { known.len() } else { 1 };
    let kernels = known[..networks].chunks(1);
    for (source, fewest, of) in [("\\file epoch.hpp", 7, vec![&known[..3]]), ("__global__", 15, kernels.collect())] {
        for known in of {
            let mut index = 0;
            while let Some(faults) =
                known.iter().map(|known| known.without_wait(folder.path(), source, index)).collect::<Option<Vec<_>>>()
            {
                let case = name(&known[0].case, true);
                assert!(faults.iter().any(Option::is_some), "{source} passes without its wait {index}: {case}");
                index += 1;
            }
            assert!(index >= fewest, "{source} has {index} waits");
        }
    }
}

/// Lines of NVRTC's log of kernels that spill registers; as many others as there are kernels.
fn spills(nvrtc: &Nvrtc, text: &str, architecture: &str) -> (Vec<String>, usize) {
    let log = nvrtc.compile(text, architecture).unwrap().log;
    let lines = log.lines().filter(|line| line.contains("spill")).map(str::to_owned);
    // A user's loss of several outputs has arrays that its labels index.
    let may_have_arrays = text.contains("own.hpp");
    let is_spilt = |line: &String| match LocalMemory::of(line) {
        Some(LocalMemory { frame, spilt }) => spilt > 0 || frame > 0 && !may_have_arrays,
        None => panic!("{line}"),
    };
    let (spilt, whole): (Vec<String>, Vec<String>) = lines.partition(is_spilt);
    (spilt, whole.len())
}

#[test]
fn kernels_compile_for_a_gpu_without_spills() {
    let nvrtc = match Nvrtc::find() {
        Ok(nvrtc) => nvrtc,
        Err(why) => return say::not_tested(&format!("the kernels of networks in training as machine code: {why}")),
    };
    for case in cases().iter().chain(&rounded_cases()) {
        let text = Perceptron::new(&case.graph(), &case.settings, case.tiling).unwrap().text();
        // GPUs without clusters use the kernels that have none.
        let architecture = if case.tiling.cluster == 0 { "sm_80" } else { "sm_90" };
        let (spilt, whole) = spills(&nvrtc, &text, architecture);
        assert!(spilt.is_empty() && whole == 2, "{}: {}", name(case, true), spilt.join("\n"));
    }
    // Those of steps, on their way to the host's compiler.
    let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Mutex::new((Vec::new(), 0))));
    let gpu = gpu_on_host(folder.path(), {
        let seen = Arc::clone(&seen);
        move |text| {
            let (spilt, whole) = spills(&Nvrtc::find().unwrap(), text, "sm_80");
            let mut seen = seen.lock().unwrap();
            seen.0.extend(spilt);
            seen.1 += whole;
            text.to_owned()
        }
    });
    let plain = settings(Loss::SoftmaxCrossEntropy, Optimiser::Adam, 40);
    let some = 1..3;
    for (case, settings, frozen) in [
        (&DROPOUTS, Settings { l1: 0.1, clip: Some(Clip::Norm(1.0)), ..plain }, &[][..]),
        (&CATEGORIES, Settings { clip: Some(Clip::Value(1.0)), ..plain }, std::slice::from_ref(&some)),
    ] {
        let parameters: Vec<f32> = case.start().into_iter().map(|value| value as f32).collect();
        let start = Start { parameters: &parameters, frozen, ..Start::default() };
        CudaEngine::new(&Arc::new(case.module(Kind::Float)), None, start, settings, gpu.clone()).unwrap();
    }
    own_loss(&gpu, loss_of_classes()).unwrap();
    if has_clad() {
        assert_eq!(own_texts(&gpu), Vec::<String>::new());
    }
    let (spilt, whole) = &*seen.lock().unwrap();
    // Rows, loss, bound, update, the next place: beside those of the networks and of the user's loss.
    assert!(spilt.is_empty() && *whole > 2 * 5, "{whole} kernels: {}", spilt.join("\n"));
}

/// The same on a GPU, if there is one.
#[test]
fn a_gpu_makes_the_steps_of_aot() {
    let gpu = match Gpu::open(0) {
        Ok(gpu) => gpu,
        Err(why) => return say::say(&format!("no GPU trained a network: {why}")),
    };
    let mut failures = Vec::new();
    for (case, is_whole) in cases().iter().flat_map(|case| [(case, true), (case, false)]) {
        let (data, name) = (Data::new(case), name(case, is_whole));
        let run = || outcome(&mut engine(&gpu, case, is_whole), &data);
        let (first, second) = (run(), run());
        let apart = distance(&first, &by_aot(case, &data));
        failures.extend(too_far(&name, apart));
        if first.end != second.end || first.losses != second.losses {
            failures.push(format!("{name}: other bits in another run"));
        }
    }
    failures.extend([side_by_side(&gpu), in_each_precision(&gpu), overlapping(&gpu), in_parts(&gpu)].concat());
    match cublas_obstacle(&gpu) {
        None => failures.extend(by_cublaslt(&gpu, false)),
        Some(why) => say::not_tested(&format!("wide layers by cuBLASLt on a GPU: {why}")),
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
