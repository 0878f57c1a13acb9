//! Common graphs: value and all gradients against LibTorch in float64 and float32.

use cladtorch::gradient::{CompiledGraph, Wanted};
use cladtorch::graph::{AnyBatch, ObservedArgument};
use support::graph::network::GRAPHS;
use support::graph::recorder;
use support::graph::recorder::{A, Recorder, check, numbers};
use tch::{Device, Kind, Tensor};

#[test]
fn networks_have_libtorchs_values_and_gradients() {
    for &(name, graph) in GRAPHS {
        for rows in [1, 7, 256] {
            for (kind, rtol, atol) in [(Kind::Double, 1e-10, 1e-12), (Kind::Float, 1e-4, 2e-5)] {
                check(&graph(rows, kind), rtol, atol).unwrap_or_else(|e| panic!("{name}, {rows} rows, {kind:?}: {e}"));
            }
        }
    }
}

/// A graph derived for another number of rows equals an observation with that number, and runs like it.
#[test]
fn one_observation_serves_every_number_of_rows() {
    for &(name, graph) in GRAPHS {
        let observed = |rows| graph(rows, Kind::Double).graph;
        let batch = AnyBatch::new([observed(8), observed(9)], 8, &observed(11), 11, "another").unwrap();
        for rows in [2, 3, 8, 64, 257] {
            let own = graph(rows, Kind::Double);
            let derived = batch.at(rows).unwrap();
            assert_eq!(derived.nodes, own.graph.nodes, "{name}, {rows} rows");
            let recorder = Recorder { graph: derived, ..own };
            check(&recorder, 1e-10, 1e-12).unwrap_or_else(|e| panic!("{name}, {rows} rows: {e}"));
        }
    }
}

/// `op` of a tensor [rows, 4], with an argument that depends on the rows.
fn of_rows(rows: i64, argument: impl Fn(i64) -> A, value: impl Fn(&Tensor) -> Tensor) -> Recorder {
    let x = Tensor::rand([rows, 4], (Kind::Double, Device::Cpu));
    let mut recorder = Recorder::new(&[x.shallow_clone()]);
    let y = recorder.record("mul", "Scalar", &[A::V(0), argument(rows)], vec![value(&x)]);
    recorder.returns(&[y]);
    recorder
}

#[test]
fn what_does_not_follow_the_rows_is_refused_by_name() {
    let batch = |observed: &dyn Fn(i64) -> Recorder| {
        let [first, second, other] = [8, 9, 11].map(|rows| observed(rows).graph);
        AnyBatch::new([first, second], 8, &other, 11, "without fDynamicBatch")
    };
    let linear = batch(&|rows| of_rows(rows, |rows| A::F(0.5 * rows as f64), |x| x * (0.5 * x.size()[0] as f64)));
    let derived = linear.unwrap().at(100).unwrap();
    let argument = &derived.nodes[0].arguments[1];
    assert!(matches!(argument, ObservedArgument::Float(number) if (number - 50.0).abs() < 1e-12), "{argument:?}");
    let inverse = batch(&|rows| of_rows(rows, |rows| A::F(1.0 / rows as f64), |x| x / x.size()[0] as f64));
    let half = batch(&|rows| of_rows(rows, |_| A::F(1.0), |x| x.slice(0, 0, x.size()[0] / 2, 1)));
    for (refused, said) in [(inverse, "aten::mul"), (half, "the shapes do not follow")] {
        let error = refused.err().expect("it does not follow").to_string();
        assert!(error.contains(said) && error.contains("without fDynamicBatch"), "{error}");
    }
}

/// Forward calls from several threads, each followed by its backward call when all others have begun.
#[test]
fn calls_from_several_threads_do_not_meet() {
    for &(name, graph) in GRAPHS {
        let recorder = graph(5, Kind::Double);
        calls_from_threads(name, graph, &recorder, &recorder.compile().unwrap());
        let in_blocks = recorder.compile_in_blocks(2, Wanted::Aot, 60.0).unwrap().expect("its rows are found");
        calls_from_threads(name, graph, &recorder, &in_blocks);
    }
}

fn calls_from_threads(name: &str, graph: fn(i64, Kind) -> Recorder, recorder: &Recorder, compiled: &CompiledGraph) {
    let want: Vec<Vec<f64>> = recorder.actual(compiled).unwrap().iter().map(numbers).collect();
    let want = &want;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(move || {
                let own = graph(5, Kind::Double);
                for _ in 0..20 {
                    let got: Vec<Vec<f64>> = own.actual(compiled).unwrap().iter().map(numbers).collect();
                    assert_eq!(&got, want, "{name}");
                }
            });
        }
    });
}

/// In blocks, whole ones and a shorter one at the end, with one thread and with two.
#[test]
fn blocks_of_rows_give_the_same_bits_for_any_number_of_threads() {
    let mut cut = 0;
    for &(name, graph) in GRAPHS {
        let recorder = graph(300, Kind::Float);
        let Some(compiled) = recorder.compile_in_blocks(64, Wanted::Aot, 60.0).unwrap() else { continue };
        let [one, two] = [1, 2].map(|threads| {
            tch::set_num_threads(threads);
            recorder.actual(&compiled).unwrap()
        });
        let bits = |tensors: &[Tensor]| tensors.iter().flat_map(numbers).map(f64::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(&one), bits(&two), "{name}");
        recorder::compare(&recorder, one, 1e-3, 2e-5).unwrap_or_else(|e| panic!("{name}: {e}"));
        cut += 1;
    }
    assert_eq!(cut, GRAPHS.len(), "graphs whose rows were found");
}

/// A weight matrix and a bias that are as long as the batch are not treated as rows of it.
#[test]
fn a_batch_as_long_as_a_layer_is_wide_is_cut_too() {
    let shapes: [&[i64]; 3] = [&[6, 6], &[6, 6], &[6]];
    let inputs = shapes.map(|shape| Tensor::rand(shape, (Kind::Double, Device::Cpu)));
    let mut recorder = Recorder::new(&inputs);
    let [x, w, b] = std::array::from_fn(|index| recorder.tensors[index].shallow_clone());
    let y = recorder.record("linear", "", &[A::V(0), A::V(1), A::V(2)], vec![x.linear(&w, Some(&b))]);
    recorder.returns(&[y]);
    assert!(recorder.compile_in_blocks(2, Wanted::Aot, 60.0).unwrap().is_some());
    check(&recorder, 1e-12, 1e-12).unwrap();
}

fn one_operator(inputs: &[Tensor], op: &str, arguments: &[A], run: impl Fn(&[Tensor]) -> Tensor) -> Recorder {
    let mut recorder = Recorder::new(inputs);
    let value = run(&recorder.tensors);
    let result = recorder.record(op, "", arguments, vec![value]);
    recorder.returns(&[result]);
    recorder
}

/// Rows with gaps between them, which are missing in a block of one row: there is nothing to compute in it.
#[test]
fn rows_with_gaps_are_cut() {
    let x = Tensor::rand([4, 7], (Kind::Double, Device::Cpu)).slice(1, 0, 6, 1);
    let recorder = one_operator(&[x], "reshape", &[A::V(0), A::L(vec![4, 2, 3])], |x| x[0].reshape([4, 2, 3]));
    assert!(recorder.compile_in_blocks(1, Wanted::Aot, 60.0).unwrap().is_some());
    check(&recorder, 1e-12, 1e-12).unwrap();
}

/// Chosen rows of a table that all rows share, by an int64 that belongs to each.
#[test]
fn an_index_out_of_range_in_a_block_is_named() {
    let indices = |last: i64| Tensor::from_slice(&[0, 1, 2, 1, last]);
    let table = Tensor::rand([3, 2], (Kind::Double, Device::Cpu));
    let arguments = [A::V(0), A::V(1), A::I(-1), A::B(false), A::B(false)];
    let look_up = |x: &[Tensor]| Tensor::embedding(&x[0], &x[1], -1, false, false);
    let recorder = one_operator(&[table, indices(2)], "embedding", &arguments, look_up);
    let compiled = recorder.compile_in_blocks(2, Wanted::Aot, 60.0).unwrap().expect("its rows are found");
    check(&recorder, 1e-12, 1e-12).unwrap();
    let (table, wrong, value) = (&recorder.tensors[0], indices(3), Tensor::zeros([5, 2], (Kind::Double, Device::Cpu)));
    let address = |tensor: &Tensor| tensor.data_ptr() as usize;
    // SAFETY: the tensors have the shapes and types of the observation and outlive the call.
    let failed = unsafe { compiled.infer(0, &[address(table), address(&wrong)], &[address(&value)]) };
    let error = failed.expect_err("3 is no row of the table").to_string();
    assert!(error.contains("aten::embedding") && error.contains("out of range"), "{error}");
}

/// An adjoint that LibTorch leaves undefined is zero: of a result with rows, and of a sum over them.
#[test]
fn adjoints_that_are_not_given_are_zero_in_blocks() {
    let kind = (Kind::Double, Device::Cpu);
    let x = Tensor::rand([5, 2], kind);
    let mut recorder = Recorder::new(&[x]);
    let (double, total) = (&recorder.tensors[0] * 2, recorder.tensors[0].sum(None));
    let rows = recorder.record("mul", "Scalar", &[A::V(0), A::F(2.0)], vec![double]);
    let sum = recorder.record("sum", "", &[A::V(0), A::None], vec![total]);
    recorder.returns(&[rows, sum]);
    let compiled = recorder.compile_in_blocks(2, Wanted::Aot, 60.0).unwrap().expect("its rows are found");
    let address = |tensor: &Tensor| tensor.data_ptr() as usize;
    let (ones, one, x) = (Tensor::ones([5, 2], kind), Tensor::ones([] as [i64; 0], kind), &recorder.tensors[0]);
    let results = [Tensor::zeros([5, 2], kind), Tensor::zeros([] as [i64; 0], kind)];
    for (seeds, want) in [([address(&ones), 0], 2.0), ([0, address(&one)], 1.0), ([0, 0], 0.0)] {
        let gradient = Tensor::full([5, 2], f64::NAN, kind);
        // SAFETY: the tensors have the shapes and types of the observation and outlive the calls.
        unsafe {
            let saved = compiled.forward(0, &[address(x)], &[address(&results[0]), address(&results[1])]).unwrap();
            compiled.backward(0, &saved, &[address(x)], &seeds, &[address(&gradient)]).unwrap();
        }
        assert_eq!(numbers(&gradient), [want; 10]);
    }
}

/// The compiled graph's description names what runs.
#[test]
fn a_graph_describes_itself() {
    let compiled = GRAPHS[1].1(4, Kind::Float).compile().unwrap();
    let text = compiled.describe();
    for part in ["float32", "aot", "Product", "[4, 64]", "aten::linear", "bytes"] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
}
