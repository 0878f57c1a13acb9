//! Networks as modules: recorded operator by operator in both modes, as LibTorch would run them.

use cladtorch::graph::{AnyBatch, Module, Observed};
use tch::{Kind, Tensor};

use super::recorder::A::{self, B, F, I, L, V};
use super::recorder::Recorder;

/// Rows of the first observation.
const ROWS: usize = 5;

/// Sizes of the perceptron.
pub const MLP: [usize; 3] = [4, 16, 3];

/// A network of events of one shape. Its tensors are the events (0), the parameters, and the state.
pub struct Case {
    pub name: &'static str,
    pub event: &'static [i64],
    pub parameters: &'static [&'static [i64]],
    /// Running statistics.
    pub state: &'static [&'static [i64]],
    /// Whether it draws random numbers in training.
    pub draws: bool,
    pub build: &'static (dyn Fn(&mut Recorder, bool) -> usize + Sync),
}

pub const CASES: &[Case] = &[
    Case {
        name: "perceptron",
        event: &[4],
        parameters: &[&[16, 4], &[16], &[3, 16], &[3]],
        state: &[],
        draws: false,
        build: &perceptron,
    },
    Case {
        name: "residual MLP with batch normalisation",
        event: &[4],
        parameters: &[&[6, 4], &[6], &[6], &[6], &[6, 6], &[6], &[3, 6], &[3]],
        state: &[&[6], &[6]],
        draws: false,
        build: &residual,
    },
    Case {
        name: "CNN",
        event: &[1, 20],
        parameters: &[&[4, 1, 5], &[4], &[3, 4, 3], &[3], &[2, 18], &[2]],
        state: &[],
        draws: false,
        build: &cnn,
    },
    Case {
        name: "CNN with batch normalisation",
        event: &[2, 12],
        parameters: &[&[4, 1, 3], &[4], &[4], &[3, 4, 1], &[3], &[3], &[3], &[2, 30], &[2]],
        state: &[&[4], &[4], &[3], &[3]],
        draws: false,
        build: &normalised_cnn,
    },
    Case {
        name: "images with batch normalisation",
        event: &[2, 9, 6],
        parameters: &[
            &[4, 1, 3, 3],
            &[4],
            &[4],
            &[4, 4, 3, 3],
            &[4],
            &[4],
            &[4],
            &[6, 2, 3, 3],
            &[6],
            &[6],
            &[6],
            &[2, 48],
            &[2],
        ],
        state: &[&[4], &[4], &[4], &[4], &[6], &[6]],
        draws: false,
        build: &normalised_images,
    },
    Case {
        name: "layer normalisation",
        event: &[4],
        parameters: &[&[4], &[4], &[5, 4], &[5], &[2, 5], &[2]],
        state: &[],
        draws: false,
        build: &layer_norm,
    },
    Case {
        name: "dropout",
        event: &[4],
        parameters: &[&[16, 4], &[16], &[2, 16], &[2]],
        state: &[],
        draws: true,
        build: &dropout,
    },
    Case {
        name: "dropout of channels",
        event: &[6, 3],
        parameters: &[&[8, 3], &[8], &[2, 8], &[2]],
        state: &[],
        draws: true,
        build: &channel_dropout,
    },
    Case {
        name: "deep sets",
        event: &[6, 3],
        parameters: &[&[8, 3], &[8], &[2, 8], &[2]],
        state: &[],
        draws: false,
        build: &deep_sets,
    },
    Case {
        name: "attention",
        event: &[5, 4],
        parameters: &[&[12, 4], &[12], &[2, 4], &[2]],
        state: &[],
        draws: false,
        build: &attention,
    },
];

fn add(r: &mut Recorder, op: &str, overload: &str, arguments: &[A], value: Tensor) -> usize {
    r.record(op, overload, arguments, vec![value])
}

fn t(r: &Recorder, index: usize) -> Tensor {
    r.tensors[index].shallow_clone()
}

pub fn linear(r: &mut Recorder, x: usize, w: usize) -> usize {
    let value = t(r, x).linear(&t(r, w), Some(&t(r, w + 1)));
    add(r, "linear", "", &[V(x), V(w), V(w + 1)], value)
}

fn relu(r: &mut Recorder, x: usize) -> usize {
    let value = t(r, x).relu();
    add(r, "relu", "", &[V(x)], value)
}

pub fn plus(r: &mut Recorder, x: usize, y: usize) -> usize {
    let value = t(r, x) + t(r, y);
    add(r, "add", "Tensor", &[V(x), V(y), I(1)], value)
}

pub fn silu(r: &mut Recorder, x: usize) -> usize {
    let value = t(r, x).silu();
    add(r, "silu", "", &[V(x)], value)
}

fn perceptron(r: &mut Recorder, _training: bool) -> usize {
    let h = linear(r, 0, 1);
    let h = relu(r, h);
    linear(r, h, 3)
}

/// With the tensors from `w` on as weight and bias, and those from `statistics` on as mean and variance.
pub fn batch_norm(r: &mut Recorder, x: usize, w: usize, statistics: usize, training: bool) -> usize {
    let [weight, bias, mean, variance] = [w, w + 1, statistics, statistics + 1].map(|index| t(r, index));
    let value =
        t(r, x).batch_norm(Some(&weight), Some(&bias), Some(&mean), Some(&variance), training, 0.1, 1e-5, false);
    let tensors = [x, w, w + 1, statistics, statistics + 1].map(V);
    let arguments = [&tensors[..], &[B(training), F(0.1), F(1e-5), B(false)]].concat();
    add(r, "batch_norm", "", &arguments, value)
}

fn residual(r: &mut Recorder, training: bool) -> usize {
    let x = linear(r, 0, 1);
    let h = batch_norm(r, x, 3, 9, training);
    let h = silu(r, h);
    let h = linear(r, h, 5);
    let h = plus(r, x, h);
    linear(r, h, 7)
}

/// In groups and without a bias, then with one.
fn normalised_cnn(r: &mut Recorder, training: bool) -> usize {
    let value = t(r, 0).conv1d(&t(r, 1), None::<Tensor>, 1, 0, 1, 2);
    let arguments = [V(0), V(1), A::None, L(vec![1]), L(vec![0]), L(vec![1]), I(2)];
    let x = add(r, "conv1d", "", &arguments, value);
    let x = batch_norm(r, x, 2, 10, training);
    let x = silu(r, x);
    let value = t(r, x).conv1d(&t(r, 4), Some(t(r, 5)), 1, 0, 1, 1);
    let arguments = [V(x), V(4), V(5), L(vec![1]), L(vec![0]), L(vec![1]), I(1)];
    let x = add(r, "conv1d", "", &arguments, value);
    let x = batch_norm(r, x, 6, 12, training);
    let x = silu(r, x);
    let value = t(r, x).flatten(1, -1);
    let x = add(r, "flatten", "using_ints", &[V(x), I(1), I(-1)], value);
    linear(r, x, 8)
}

/// With a bias after the weight `w` or without one, and with a padding of the window's reach on each side, or a stride.
fn conv2d(r: &mut Recorder, x: usize, w: usize, has_bias: bool, [stride, padding, groups]: [i64; 3]) -> usize {
    let bias = has_bias.then(|| t(r, w + 1));
    let value = t(r, x).conv2d(&t(r, w), bias, [stride; 2], [padding; 2], [1; 2], groups);
    let given = if has_bias { V(w + 1) } else { A::None };
    let [strides, paddings, dilations] = [stride, padding, 1].map(|number| L(vec![number; 2]));
    add(r, "conv2d", "", &[V(x), V(w), given, strides, paddings, dilations, I(groups)], value)
}

/// Normalised images that a convolution reads, and a sum; then windows in groups that move by two.
fn normalised_images(r: &mut Recorder, training: bool) -> usize {
    let x = conv2d(r, 0, 1, false, [1, 1, 2]);
    let first = batch_norm(r, x, 2, 14, training);
    let x = conv2d(r, first, 4, true, [1, 1, 1]);
    let x = batch_norm(r, x, 6, 16, training);
    let x = plus(r, first, x);
    let x = silu(r, x);
    let x = conv2d(r, x, 8, true, [2, 0, 2]);
    let x = batch_norm(r, x, 10, 18, training);
    let x = silu(r, x);
    let value = t(r, x).flatten(1, -1);
    let x = add(r, "flatten", "using_ints", &[V(x), I(1), I(-1)], value);
    linear(r, x, 12)
}

fn cnn(r: &mut Recorder, _training: bool) -> usize {
    let mut x = 0;
    for (w, padding) in [(1, 2), (3, 0)] {
        let value = t(r, x).conv1d(&t(r, w), Some(t(r, w + 1)), 1, padding, 1, 1);
        let arguments = [V(x), V(w), V(w + 1), L(vec![1]), L(vec![padding]), L(vec![1]), I(1)];
        x = add(r, "conv1d", "", &arguments, value);
        x = silu(r, x);
        if padding == 2 {
            let value = t(r, x).max_pool1d(2, 2, 0, 1, false);
            let arguments = [V(x), L(vec![2]), L(vec![2]), L(vec![0]), L(vec![1]), B(false)];
            x = add(r, "max_pool1d", "", &arguments, value);
        }
    }
    // Of 8 places only the first 6 count.
    let value = t(r, x).slice(2, 0, 6, 1);
    x = add(r, "slice", "Tensor", &[V(x), I(2), I(0), I(6), I(1)], value);
    let value = t(r, x).flatten(1, -1);
    x = add(r, "flatten", "using_ints", &[V(x), I(1), I(-1)], value);
    linear(r, x, 5)
}

fn layer_norm(r: &mut Recorder, _training: bool) -> usize {
    let value = t(r, 0).layer_norm([4], Some(t(r, 1)), Some(t(r, 2)), 1e-5, false);
    let h = add(r, "layer_norm", "", &[V(0), L(vec![4]), V(1), V(2), F(1e-5), B(false)], value);
    let h = linear(r, h, 3);
    let h = silu(r, h);
    linear(r, h, 5)
}

/// Each number is kept or dropped by itself.
pub fn dropped(r: &mut Recorder, x: usize, training: bool) -> usize {
    let value = t(r, x).dropout(0.4, training);
    add(r, "dropout", "", &[V(x), F(0.4), B(training)], value)
}

fn dropout(r: &mut Recorder, training: bool) -> usize {
    let h = linear(r, 0, 1);
    let h = silu(r, h);
    let h = dropped(r, h, training);
    linear(r, h, 3)
}

/// Each of six particles is kept or dropped with all its features.
fn channel_dropout(r: &mut Recorder, training: bool) -> usize {
    let h = linear(r, 0, 1);
    let h = silu(r, h);
    let value = t(r, h).feature_dropout(0.4, training);
    let h = add(r, "feature_dropout", "", &[V(h), F(0.4), B(training)], value);
    let kind = t(r, h).kind();
    let value = t(r, h).sum_dim_intlist(&[1i64][..], false, kind);
    let h = add(r, "sum", "dim_IntList", &[V(h), L(vec![1]), B(false), A::None], value);
    linear(r, h, 3)
}

fn deep_sets(r: &mut Recorder, _training: bool) -> usize {
    let h = linear(r, 0, 1);
    let h = silu(r, h);
    let kind = t(r, h).kind();
    let value = t(r, h).sum_dim_intlist(&[1i64][..], false, kind);
    let h = add(r, "sum", "dim_IntList", &[V(h), L(vec![1]), B(false), A::None], value);
    linear(r, h, 3)
}

fn attention(r: &mut Recorder, _training: bool) -> usize {
    let qkv = linear(r, 0, 1);
    let parts: Vec<usize> = (0..3)
        .map(|part| {
            let value = t(r, qkv).slice(2, 4 * part, 4 * part + 4, 1);
            add(r, "slice", "Tensor", &[V(qkv), I(2), I(4 * part), I(4 * part + 4), I(1)], value)
        })
        .collect();
    let [q, k, v] = [parts[0], parts[1], parts[2]];
    let value =
        Tensor::scaled_dot_product_attention(&t(r, q), &t(r, k), &t(r, v), None::<Tensor>, 0.0, false, None, false);
    let arguments = [V(q), V(k), V(v), A::None, F(0.0), B(false), A::None, B(false)];
    let h = add(r, "scaled_dot_product_attention", "", &arguments, value);
    let h = plus(r, h, 0);
    let value = t(r, h).mean_dim(&[1i64][..], false, t(r, h).kind());
    let h = add(r, "mean", "dim", &[V(h), L(vec![1]), B(false), A::None], value);
    linear(r, h, 3)
}

fn length(shape: &[i64]) -> usize {
    shape.iter().product::<i64>() as usize
}

impl Case {
    /// Numbers per event.
    pub fn inputs(&self) -> usize {
        length(self.event)
    }

    /// The last parameter is a bias.
    pub fn outputs(&self) -> usize {
        length(self.parameters[self.parameters.len() - 1])
    }

    /// Initial parameters.
    pub fn start(&self) -> Vec<f64> {
        let count: usize = self.parameters.iter().map(|shape| length(shape)).sum();
        (0..count).map(|i| f64::from(((i as f32 + 0.7) * 1.9).sin() * 0.4)).collect()
    }

    /// Initial running means and variances.
    pub fn state(&self) -> Vec<f64> {
        let fill = |(index, shape): (usize, &&[i64])| vec![(index % 2) as f64; length(shape)];
        self.state.iter().enumerate().flat_map(fill).collect()
    }

    /// A recording for these events and parameters, with the number of its output.
    pub fn recorded(
        &self,
        x: &[f64],
        parameters: &[f64],
        rows: usize,
        training: bool,
        kind: Kind,
    ) -> (Recorder, usize) {
        let (mut rest, state) = (parameters, self.state());
        let mut states = &state[..];
        let mut event = vec![rows as i64];
        event.extend(self.event);
        let mut tensors = vec![Tensor::from_slice(x).reshape(event).to_kind(kind)];
        for (shapes, values) in [(self.parameters, &mut rest), (self.state, &mut states)] {
            for shape in shapes {
                let (own, behind) = values.split_at(length(shape));
                *values = behind;
                tensors.push(Tensor::from_slice(own).reshape(*shape).to_kind(kind));
            }
        }
        let mut recorder = Recorder::new(&tensors);
        for tensor in &mut recorder.tensors[1 + self.parameters.len()..] {
            *tensor = tensor.set_requires_grad(false);
        }
        let output = (self.build)(&mut recorder, training);
        recorder.returns(&[output]);
        recorder.graph.constants = recorder.graph.inputs.split_off(1);
        (recorder, output)
    }

    /// In the form that the engine gets.
    pub fn module(&self, kind: Kind) -> Module {
        let captured = self.parameters.len() + self.state.len();
        let observed = |training| {
            let at = |rows: usize| {
                let x: Vec<f64> = (0..rows * self.inputs()).map(|i| (i as f64 * 0.3).sin()).collect();
                self.recorded(&x, &self.start(), rows, training, kind).0.graph
            };
            let [first, second, other] = [ROWS, ROWS + 1, ROWS + 3].map(at);
            let takes_one = !training || self.state.is_empty();
            Observed {
                batch: AnyBatch::new([first, second], ROWS as i64, &other, ROWS as i64 + 3, "another").unwrap(),
                one: if takes_one { Ok(at(1)) } else { Err("it has one value a channel".to_owned()) },
                constants: (0..captured).collect(),
            }
        };
        let is_parameter: Vec<bool> = (0..captured).map(|index| index < self.parameters.len()).collect();
        // In evaluation the running statistics are fixed, in training they are not: all of them are state.
        let read = |index: usize, _| panic!("captured tensor {index} is not fixed");
        Module::new(
            self.name,
            &self.event.iter().map(|&n| n as usize).collect::<Vec<_>>(),
            [observed(true), observed(false)],
            &is_parameter,
            read,
        )
        .unwrap()
    }
}
