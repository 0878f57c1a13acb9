//! Value and gradients of functions on a GPU: the kernels of the back end `cuda` and eager LibTorch with its autograd, in turns.

use std::time::Instant;

use cladtorch::device::{ReadPointer, WritePointer};
use cladtorch::gradient::cuda::{CudaFunction, Gpu};
use cladtorch::gradient::{Executable, Failure};
use cladtorch::graph::Program;
use serde_json::Value;
use support::cuda_host::lowered;
use support::graph::recorder::{A, Recorder, numbers};
use tch::{Cuda, Device, Kind, Tensor};

use super::{ROUNDS, microseconds, record};

/// Of a round; as many before the first are not timed.
const REPETITIONS: usize = 20;
/// How far values and gradients of the two may be apart, relative to the greatest of each.
const TOLERANCE: f64 = 1e-3;

/// A function of float32 tensors.
struct Case {
    name: String,
    inputs: Vec<Tensor>,
    run: fn(&[Tensor]) -> Tensor,
    /// The same, operator by operator; returns the number of the result.
    record: fn(&mut Recorder) -> usize,
}

/// The records of all cases.
pub fn measure(device: Device, gpu: &Gpu) -> Result<Vec<Value>, String> {
    let mut records = Vec::new();
    for case in cases() {
        let [ours, theirs] = in_turns(&case, device, gpu).map_err(|why| format!("{}: {why}", case.name))?;
        println!("{:<28} cladtorch-cuda {}, libtorch {}", case.name, microseconds(&ours), microseconds(&theirs));
        let check = "values and gradients agree";
        records.extend(
            [("cladtorch-cuda", ours), ("libtorch", theirs)].map(|(who, times)| record(&case.name, who, &times, check)),
        );
    }
    Ok(records)
}

/// Seconds of one repetition in each round, in order: ours, then LibTorch's.
fn in_turns(case: &Case, device: Device, gpu: &Gpu) -> Result<[Vec<f64>; 2], String> {
    let program = {
        let mut recorder = Recorder::new(&case.inputs);
        let result = (case.record)(&mut recorder);
        recorder.returns(&[result]);
        lowered(&recorder)?
    };
    let inputs: Vec<Tensor> = case.inputs.iter().map(|input| input.to_device(device).set_requires_grad(true)).collect();
    let mut ours = Ours::new(&program, gpu, &inputs)?;
    let theirs = || {
        let value = (case.run)(&inputs);
        let gradients = Tensor::run_backward(&[value.sum(Kind::Float)], &inputs, false, false);
        (value.detach(), gradients)
    };
    let (value, gradients) = theirs();
    ours.run()?;
    Cuda::synchronize(0);
    for (got, want) in [&ours.output].into_iter().chain(&ours.gradients).zip([&value].into_iter().chain(&gradients)) {
        let (got, want) = (numbers(&got.to_device(Device::Cpu)), numbers(&want.to_device(Device::Cpu)));
        let greatest = want.iter().fold(0.0_f64, |top, x| top.max(x.abs()));
        // Not a number is far off, too.
        if !got.iter().zip(&want).all(|(got, want)| (got - want).abs() <= TOLERANCE * greatest) {
            return Err("values or gradients differ from LibTorch's".into());
        }
    }
    let mut times = [Vec::new(), Vec::new()];
    let timed = |repetition: &mut dyn FnMut() -> Result<(), String>| -> Result<f64, String> {
        Cuda::synchronize(0);
        let start = Instant::now();
        (0..REPETITIONS).try_for_each(|_| repetition())?;
        Cuda::synchronize(0);
        Ok(start.elapsed().as_secs_f64() / REPETITIONS as f64)
    };
    for round in 0..=ROUNDS {
        let both = [
            timed(&mut || ours.run())?,
            timed(&mut || {
                drop(theirs());
                Ok(())
            })?,
        ];
        if round > 0 {
            times.iter_mut().zip(both).for_each(|(times, seconds)| times.push(seconds));
        }
    }
    times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
    Ok(times)
}

/// The kernels with the tensors that they read and write, all on the GPU.
struct Ours {
    graph: CudaFunction,
    inputs: Vec<ReadPointer>,
    output: Tensor,
    seed: Tensor,
    gradients: Vec<Tensor>,
}

impl Ours {
    fn new(program: &Program, gpu: &Gpu, inputs: &[Tensor]) -> Result<Self, String> {
        let graph = CudaFunction::new(program, gpu).map_err(|error| error.to_string())?;
        let shape: Vec<i64> = program.outputs[0].view.sizes.iter().map(|&size| size as i64).collect();
        let options = (Kind::Float, inputs[0].device());
        Ok(Ours {
            graph,
            inputs: inputs.iter().map(read).collect(),
            output: Tensor::zeros(&shape, options),
            seed: Tensor::ones(&shape, options),
            gradients: inputs.iter().map(|input| input.detach().zeros_like()).collect(),
        })
    }

    /// On the default stream, which is LibTorch's here.
    fn run(&mut self) -> Result<(), String> {
        let gradients: Vec<WritePointer> = self.gradients.iter().map(written).collect();
        let (outputs, seeds) = ([written(&self.output)], [read(&self.seed)]);
        // SAFETY: the tensors are those of the program, on the GPU, and nobody else uses them.
        unsafe {
            let saved = self.graph.forward(0, &self.inputs, &outputs).map_err(|failure| match failure {
                Failure::Other(error) => error.to_string(),
                Failure::OutOfRange(operator) => format!("an index of operator {operator} is out of range"),
            })?;
            let ran = self.graph.backward(0, &saved, &self.inputs, &seeds, &gradients);
            ran.map_err(|error| error.to_string())
        }
    }
}

fn read(tensor: &Tensor) -> ReadPointer {
    ReadPointer::exposed(tensor.data_ptr() as usize)
}

fn written(tensor: &Tensor) -> WritePointer {
    WritePointer::exposed(tensor.data_ptr() as usize)
}

fn wave(shape: &[i64], step: f64) -> Tensor {
    let count = shape.iter().product::<i64>();
    (Tensor::arange(count, (Kind::Double, Device::Cpu)) * step).sin().reshape(shape).to_kind(Kind::Float)
}

fn cases() -> Vec<Case> {
    let mlp = |rows: i64, inputs: i64, width: i64| Case {
        name: format!("gradients of {inputs}-{width}-{width}-1/{rows}"),
        inputs: vec![
            wave(&[rows, inputs], 0.37),
            wave(&[width, inputs], 0.11) / 8.0,
            wave(&[width], 0.7),
            wave(&[width, width], 0.13) / 8.0,
            wave(&[width], 0.3),
            wave(&[1, width], 0.17) / 8.0,
            wave(&[1], 0.9),
        ],
        run: |t| {
            let first = t[0].linear(&t[1], Some(&t[2])).relu();
            first.linear(&t[3], Some(&t[4])).relu().linear(&t[5], Some(&t[6]))
        },
        record: |recorder| {
            let layer = |recorder: &mut Recorder, x: usize, w: usize| {
                let value = recorder.tensors[x].linear(&recorder.tensors[w], Some(&recorder.tensors[w + 1]));
                recorder.record("linear", "", &[A::V(x), A::V(w), A::V(w + 1)], vec![value])
            };
            let relu = |recorder: &mut Recorder, x: usize| {
                let value = recorder.tensors[x].relu();
                recorder.record("relu", "", &[A::V(x)], vec![value])
            };
            let first = layer(recorder, 0, 1);
            let first = relu(recorder, first);
            let second = layer(recorder, first, 3);
            let second = relu(recorder, second);
            layer(recorder, second, 5)
        },
    };
    let conv1d = |channels: [i64; 2], length: i64| Case {
        name: format!("conv1d/256x{}x{length}, {} filters of 16", channels[0], channels[1]),
        inputs: vec![
            wave(&[256, channels[0], length], 0.37),
            wave(&[channels[1], channels[0], 16], 0.11) / 8.0,
            wave(&[channels[1]], 0.7),
        ],
        run: |t| t[0].conv1d(&t[1], Some(&t[2]), 1, 0, 1, 1).square(),
        record: |recorder| {
            let t = &recorder.tensors;
            let value = t[0].conv1d(&t[1], Some(&t[2]), 1, 0, 1, 1);
            let one = || A::L(vec![1]);
            let arguments = [A::V(0), A::V(1), A::V(2), one(), A::L(vec![0]), one(), A::I(1)];
            let convolved = recorder.record("conv1d", "", &arguments, vec![value]);
            let value = recorder.tensors[convolved].square();
            recorder.record("square", "", &[A::V(convolved)], vec![value])
        },
    };
    vec![
        mlp(256, 28, 64),
        mlp(1024, 28, 64),
        mlp(1024, 28, 128),
        mlp(16384, 28, 64),
        conv1d([2, 16], 1024),
        conv1d([16, 32], 256),
        Case {
            name: "chain/4194304".into(),
            inputs: vec![wave(&[1 << 22], 0.37), wave(&[1 << 22], 0.11)],
            run: |t| (&t[0] * &t[1]).sigmoid() * t[0].tanh(),
            record: |recorder| {
                let product = &recorder.tensors[0] * &recorder.tensors[1];
                let product = recorder.record("mul", "Tensor", &[A::V(0), A::V(1)], vec![product]);
                let sigmoid = recorder.tensors[product].sigmoid();
                let sigmoid = recorder.record("sigmoid", "", &[A::V(product)], vec![sigmoid]);
                let tanh = recorder.tensors[0].tanh();
                let tanh = recorder.record("tanh", "", &[A::V(0)], vec![tanh]);
                let value = &recorder.tensors[sigmoid] * &recorder.tensors[tanh];
                recorder.record("mul", "Tensor", &[A::V(sigmoid), A::V(tanh)], vec![value])
            },
        },
        Case {
            name: "layer_norm/8192x512".into(),
            inputs: vec![wave(&[8192, 512], 0.37), wave(&[512], 0.11), wave(&[512], 0.7)],
            run: |t| t[0].layer_norm([512], Some(&t[1]), Some(&t[2]), 1e-5, true),
            record: |recorder| {
                let t = &recorder.tensors;
                let value = t[0].layer_norm([512], Some(&t[1]), Some(&t[2]), 1e-5, true);
                let arguments = [A::V(0), A::L(vec![512]), A::V(1), A::V(2), A::F(1e-5), A::B(true)];
                recorder.record("layer_norm", "", &arguments, vec![value])
            },
        },
        Case {
            name: "softmax/8192x512".into(),
            inputs: vec![wave(&[8192, 512], 0.37)],
            // Of its square: the sum of softmax itself is flat.
            run: |t| t[0].softmax(1, None).square(),
            record: |recorder| {
                let value = recorder.tensors[0].softmax(1, None);
                let softmax = recorder.record("softmax", "int", &[A::V(0), A::I(1), A::None], vec![value]);
                let value = recorder.tensors[softmax].square();
                recorder.record("square", "", &[A::V(softmax)], vec![value])
            },
        },
        Case {
            name: "matmul/2048".into(),
            inputs: vec![wave(&[2048, 2048], 0.37), wave(&[2048, 2048], 0.11)],
            run: |t| t[0].matmul(&t[1]),
            record: |recorder| {
                let value = recorder.tensors[0].matmul(&recorder.tensors[1]);
                recorder.record("matmul", "", &[A::V(0), A::V(1)], vec![value])
            },
        },
    ]
}
