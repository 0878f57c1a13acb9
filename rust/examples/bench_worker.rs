//! CladTorch's side of `cargo xtask bench step`: trains on request and says how long a step takes.
//!
//!     bench_worker aot|aot-bf16|aot-double|autograd THREADS
//!     bench_worker ranks THREADS REQUEST
//!
//! Requests come a line each on the standard input, answers go to the standard output after the word `bench`:
//!
//! | request | answer |
//! |---|---|
//! | `case sizes=28,64,64,1 batch=32 rows=8192 data=FOLDER` | `ready` |
//! | `round steps=200` | `time SECONDS_A_STEP` |
//! | `check` | `check MEAN_LOSS` over all rows, with the present parameters |
//! | `sgemm size=512` | `rate FLOP_A_SECOND` of the faster product of matrices, LibTorch's or CladTorch's |
//!
//! The second form is a process of an MPI job, for `cargo xtask bench scale`: it makes the steps of REQUEST, `sizes=28,64,64,1 batch=1024
//! data=FOLDER steps=200`, where `batch` are the rows of each process, or `sum=NUMBERS steps=200`. Rank 0 prints
//! `bench SECONDS_A_STEP CHECK exchange=SECONDS_A_STEP`: the mean loss, or a sum, and the time spent with messages.
//!
//! FOLDER holds `features` [rows, sizes[0]], `labels` [rows] and `parameters` in the order of `Graph::mlp`, raw float32.

use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead, stdin};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use cladtorch::dataset::Scaler;
use cladtorch::gradient::aot::AotEngine;
use cladtorch::gradient::autograd::AutogradEngine;
use cladtorch::gradient::{Engine, Rows, Settings};
use cladtorch::graph::{Activation, Graph, Loss, Optimiser, Precision};
use cladtorch::kernels::Scalar;
use cladtorch::ranks::{self, Ranks};
use tch::{Device, Kind, Tensor};

type Answer<T> = Result<T, Box<dyn Error>>;

/// A network in training and the rows it walks over, again and again.
struct Training {
    engine: Box<dyn Engine>,
    features: Vec<f32>,
    labels: Vec<f32>,
    weights: Vec<f32>,
    scaler: Scaler,
    batch: usize,
    /// Batches taken so far.
    taken: usize,
}

impl Training {
    /// With `ranks` each of the processes has `batch` rows of a step.
    fn new(engine: &str, threads: usize, case: &Request, ranks: Option<Arc<Ranks>>) -> Answer<Self> {
        let sizes: Vec<usize> = case.text("sizes")?.split(',').map(str::parse).collect::<Result<_, _>>()?;
        let folder = Path::new(case.text("data")?);
        let batch = case.number("batch")? * ranks.as_ref().map_or(1, |ranks| ranks.size());
        let graph = Graph::mlp(&sizes, Activation::ReLU)?;
        let parameters = floats(&folder.join("parameters"))?;
        let settings = Settings {
            loss: if graph.outputs() == 1 { Loss::BinaryCrossEntropy } else { Loss::SoftmaxCrossEntropy },
            optimiser: Optimiser::Adam,
            batch_size: batch,
            precision: if engine == "aot-bf16" { Precision::BF16 } else { Precision::Float32 },
            ..Settings::default()
        };
        let engine: Box<dyn Engine> = match engine {
            "aot" | "aot-bf16" => {
                let engine = AotEngine::new(graph, &parameters, settings, threads)?;
                Box::new(match ranks {
                    Some(ranks) => engine.with_ranks(ranks)?,
                    None => engine,
                })
            }
            "aot-double" => {
                let parameters: Vec<f64> = parameters.iter().copied().map(f64::from).collect();
                Box::new(AotEngine::new(graph, &parameters, settings, threads)?)
            }
            "autograd" => Box::new(AutogradEngine::new(graph, &parameters, settings, Device::Cpu, threads)?),
            other => return Err(format!("no engine '{other}'").into()),
        };
        let labels = floats(&folder.join("labels"))?;
        Ok(Training {
            engine,
            features: floats(&folder.join("features"))?,
            weights: vec![1.0; labels.len()],
            scaler: Scaler::identity(sizes[0]),
            labels,
            batch,
            taken: 0,
        })
    }

    /// Seconds a step.
    fn round(&mut self, steps: usize) -> Answer<f64> {
        let batches = self.labels.len() / self.batch;
        let rows_of = |step: usize| (step % batches * self.batch..).take(self.batch);
        let order: Vec<u32> = (self.taken..self.taken + steps).flat_map(rows_of).map(|row| row as u32).collect();
        self.taken += steps;
        let start = Instant::now();
        self.with_rows(|engine, rows| engine.train(rows, &order, &1e-3))?;
        Ok(start.elapsed().as_secs_f64() / steps as f64)
    }

    /// Mean loss over all rows.
    fn check(&mut self) -> Answer<f64> {
        let all: Vec<u32> = (0..self.labels.len() as u32).collect();
        Ok(self.with_rows(|engine, rows| engine.evaluate(rows, &all))? / all.len() as f64)
    }

    fn with_rows(&mut self, work: impl FnOnce(&mut dyn Engine, Rows) -> cladtorch::Result<f64>) -> Answer<f64> {
        let Training { engine, features, labels, weights, scaler, .. } = self;
        Ok(work(engine.as_mut(), Rows { features, labels, weights, scaler, target: None, weight_scale: 1.0 })?)
    }
}

/// Floating-point operations a second of a product of square matrices by LibTorch, or of a tile of rows by as large a layer on
/// each of the `threads`: the faster one, as either may leave half of a machine unused. Best of a few.
fn sgemm_rate(size: usize, threads: usize) -> Answer<f64> {
    let side = size as i64;
    let matrix = || Tensor::f_rand([side, side], (Kind::Float, Device::Cpu));
    let (a, b, c) = (matrix()?, matrix()?, matrix()?);
    let torch = best_seconds(|| {
        let _ = a.f_mm_out(&c, &b)?;
        Ok(())
    })?;
    let x = vec![0.5; TILE * f32::padded(size)];
    let (layer, mut z) = (vec![0.5; f32::layer_length(size, size)], x.clone());
    let own = best_seconds(|| {
        f32::packed_linear(Activation::Identity as u8, TILE, size, size, &x, &layer, &mut z);
        Ok(())
    })?;
    let flops = |rows: usize| 2.0 * (rows * size * size) as f64;
    Ok((flops(size) / torch).max(threads as f64 * flops(TILE) / own))
}

/// Rows of CladTorch's product.
const TILE: usize = 128;

fn best_seconds(mut work: impl FnMut() -> Answer<()>) -> Answer<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        work()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best)
}

/// A line of the form `verb key=value key=value`.
struct Request<'a> {
    verb: &'a str,
    values: HashMap<&'a str, &'a str>,
}

impl<'a> Request<'a> {
    fn parse(line: &'a str) -> Self {
        let mut words = line.split_whitespace();
        Request { verb: words.next().unwrap_or_default(), values: words.filter_map(|w| w.split_once('=')).collect() }
    }

    fn text(&self, key: &str) -> Answer<&'a str> {
        Ok(self.values.get(key).ok_or_else(|| format!("'{}' needs {key}=", self.verb))?)
    }

    fn number(&self, key: &str) -> Answer<usize> {
        Ok(self.text(key)?.parse()?)
    }
}

fn floats(path: &Path) -> Answer<Vec<f32>> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
}

fn answer(line: &str, training: &mut Option<Training>, engine: &str, threads: usize) -> Answer<String> {
    let request = Request::parse(line);
    let running = || "no case was given yet";
    match request.verb {
        "case" => {
            *training = None;
            *training = Some(Training::new(engine, threads, &request, None)?);
            Ok("ready".to_owned())
        }
        "round" => {
            let steps = request.number("steps")?;
            Ok(format!("time {:e}", training.as_mut().ok_or_else(running)?.round(steps)?))
        }
        "check" => Ok(format!("check {:e}", training.as_mut().ok_or_else(running)?.check()?)),
        "sgemm" => Ok(format!("rate {:e}", sgemm_rate(request.number("size")?, threads)?)),
        other => Err(format!("no request '{other}'").into()),
    }
}

/// One of the things that the processes of a job do step by step.
enum Work {
    Training(Box<Training>),
    /// Numbers of this process, and the memory to sum them in.
    Sum(Vec<f32>, [Vec<f32>; 2]),
}

impl Work {
    /// Seconds a step.
    fn steps(&mut self, ranks: Option<&Ranks>, steps: usize) -> Answer<f64> {
        match self {
            Work::Training(training) => training.round(steps),
            Work::Sum(numbers, [sums, scratch]) => {
                let start = Instant::now();
                for _ in 0..steps {
                    sums.copy_from_slice(numbers);
                    ranks.into_iter().for_each(|ranks| ranks.sum(sums, scratch));
                }
                Ok(start.elapsed().as_secs_f64() / steps as f64)
            }
        }
    }

    fn check(&mut self) -> Answer<f64> {
        match self {
            Work::Training(training) => training.check(),
            Work::Sum(_, [sums, _]) => Ok(sums.last().copied().unwrap_or_default().into()),
        }
    }
}

/// A process of a job.
fn take_part(threads: usize, request: &str) -> Answer<()> {
    let request = format!("steps {request}");
    let request = Request::parse(&request);
    let ranks = ranks::open()?.map(Arc::new);
    let rank = ranks.as_ref().map_or(0, |ranks| ranks.rank());
    let mut work = match request.number("sum") {
        Ok(count) => Work::Sum(vec![(rank + 1) as f32; count], [vec![0.0; count], vec![0.0; count]]),
        Err(_) => Work::Training(Box::new(Training::new("aot", threads, &request, ranks.clone())?)),
    };
    let waited = || ranks.as_ref().map_or(0.0, |ranks| ranks.waited().as_secs_f64());
    let steps = request.number("steps")?;
    work.steps(ranks.as_deref(), steps / 3 + 1)?;
    let _together = ranks.as_ref().map(|ranks| ranks.total(0.0));
    let before = waited();
    let seconds = work.steps(ranks.as_deref(), steps)?;
    let exchange = (waited() - before) / steps as f64;
    let check = work.check()?;
    if rank == 0 {
        println!("bench {seconds:e} {check:e} exchange={exchange:e}");
    }
    Ok(())
}

fn main() -> Answer<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let (engine, threads, request) = match &arguments[..] {
        [_, engine, threads] => (engine, threads, None),
        [_, engine, threads, request] if engine == "ranks" => (engine, threads, Some(request)),
        _ => {
            return Err("usage: bench_worker aot|aot-bf16|aot-double|autograd THREADS, or ranks THREADS REQUEST".into());
        }
    };
    let threads: usize = threads.parse()?;
    tch::set_num_threads(i32::try_from(threads)?);
    if let Some(request) = request {
        return take_part(threads, request);
    }
    let mut training = None;
    for line in stdin().lock().lines() {
        match answer(&line?, &mut training, engine, threads) {
            Ok(text) => println!("bench {text}"),
            Err(error) => println!("bench error {error}"),
        }
    }
    Ok(())
}
