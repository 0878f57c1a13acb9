//! Graphs that people use: value and all gradients against LibTorch in float64 and float32.

#[path = "graph/network.rs"]
mod network;
#[path = "graph/recorder.rs"]
#[allow(dead_code)] // Each test uses a part of it.
mod recorder;

use network::GRAPHS;
use recorder::{check, numbers};
use tch::Kind;

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

/// Forward calls from several threads, each followed by its backward call when all others have begun.
#[test]
fn calls_from_several_threads_do_not_meet() {
    for &(name, graph) in GRAPHS {
        let recorder = graph(5, Kind::Double);
        let compiled = recorder.compile().unwrap();
        let want: Vec<Vec<f64>> = recorder.actual(&compiled).unwrap().iter().map(numbers).collect();
        let (compiled, want) = (&compiled, &want);
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
}

/// What the compiled graph says of itself names what runs.
#[test]
fn a_graph_describes_itself() {
    let compiled = GRAPHS[1].1(4, Kind::Float).compile().unwrap();
    let text = compiled.describe();
    for part in ["float32", "aot", "Product", "[4, 64]", "aten::linear", "bytes"] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
}
