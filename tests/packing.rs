//! Random networks of linear layers and element-wise functions, whose values stay packed from layer to layer, trained
//! by the engine: loss and gradient against LibTorch autograd, whatever is used twice, left out or combined. In some of
//! them an event is several particles, each with its own row until they are summed.

#[allow(dead_code)] // Differences are not needed here.
use std::sync::Arc;

use cladtorch::gradient::aot::AotEngine;
use cladtorch::gradient::{ModuleTiles, Packing, Settings, autograd};
use cladtorch::graph::program::Primitive;
use cladtorch::graph::{AnyBatch, Loss, Mode, Module, Observed, Optimiser, Precision};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use support::events::Events;
use support::graph::recorder;
use support::graph::recorder::A::{B, F, I, L, V};
use support::graph::recorder::Recorder;
use support::numeric::compare;
use support::say::say;
use tch::{Device, Kind, Tensor};

/// Around the widths of registers and panels.
const WIDTHS: [i64; 9] = [1, 2, 7, 8, 15, 16, 17, 32, 40];

/// One operator; values are numbered from the events (0) on.
#[derive(Clone, Debug)]
enum Step {
    /// A linear layer on a value, with its own weight and bias, or without a bias.
    Linear { of: usize, outputs: i64, bias: bool },
    /// A linear layer with the parameters of an earlier step, which has the same widths.
    Again { of: usize, step: usize },
    /// A function by its name.
    Unary { of: usize, name: &'static str },
    /// Sum, difference or product of two values of one width.
    Pair { of: [usize; 2], name: &'static str },
    /// A sum over the particles of a value.
    Sum { of: usize },
}

struct Network {
    /// Particles of an event; with one, there is no dimension of particles.
    particles: i64,
    /// Features of a particle.
    features: i64,
    steps: Vec<Step>,
}

impl Network {
    fn random(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let features = WIDTHS[random.random_range(0..WIDTHS.len())];
        let particles = [1, 1, 3, 7][random.random_range(0..4)];
        let mut network = Network { particles, features, steps: Vec::new() };
        for _ in 0..random.random_range(2..9) {
            let (widths, summed) = (network.widths(), network.summed());
            let last = widths.len() - 1;
            // Usually the newest value, so that there are chains.
            let of = if random.random_range(0..4) == 0 { random.random_range(0..=last) } else { last };
            let outputs = WIDTHS[random.random_range(0..WIDTHS.len())];
            let step = match random.random_range(0..11) {
                10 if !summed[of] => Step::Sum { of },
                0..=3 => Step::Linear { of, outputs, bias: random.random_range(0..6) > 0 },
                4..=6 => {
                    let names = ["relu", "leaky_relu", "tanh", "gelu", "abs", "exp", "sigmoid"];
                    Step::Unary { of, name: names[random.random_range(0..names.len())] }
                }
                7..=8 => {
                    let is_equal = |&other: &usize| widths[other] == widths[of] && summed[other] == summed[of];
                    let equal: Vec<usize> = (0..=last).filter(is_equal).collect();
                    let other = equal[random.random_range(0..equal.len())];
                    Step::Pair { of: [of, other], name: ["add", "sub", "mul"][random.random_range(0..3)] }
                }
                _ => match network.steps.iter().position(|step| match step {
                    Step::Linear { of: before, .. } => widths[*before] == widths[of],
                    _ => false,
                }) {
                    Some(step) => Step::Again { of, step },
                    None => Step::Linear { of, outputs, bias: true },
                },
            };
            network.steps.push(step);
        }
        if !network.summed()[network.steps.len()] {
            network.steps.push(Step::Sum { of: network.steps.len() });
        }
        let of = network.steps.len();
        network.steps.push(Step::Linear { of, outputs: [1, 3, 20][random.random_range(0..3)], bias: true });
        network
    }

    fn widths(&self) -> Vec<i64> {
        let mut widths = vec![self.features];
        for step in &self.steps {
            widths.push(match step {
                Step::Linear { outputs, .. } => *outputs,
                Step::Again { step, .. } => widths[step + 1],
                Step::Unary { of, .. } | Step::Pair { of: [of, _], .. } | Step::Sum { of } => widths[*of],
            });
        }
        widths
    }

    /// For each value, whether it has a row per event, not per particle.
    fn summed(&self) -> Vec<bool> {
        let mut summed = vec![self.particles == 1];
        for step in &self.steps {
            summed.push(match step {
                Step::Linear { of, .. }
                | Step::Again { of, .. }
                | Step::Unary { of, .. }
                | Step::Pair { of: [of, _], .. } => summed[*of],
                Step::Sum { .. } => true,
            });
        }
        summed
    }

    /// Of so many events.
    fn shape(&self, rows: i64) -> Vec<i64> {
        if self.particles == 1 { vec![rows, self.features] } else { vec![rows, self.particles, self.features] }
    }

    fn outputs(&self) -> usize {
        self.widths()[self.steps.len()] as usize
    }

    /// Shapes of the parameters, with the step that each belongs to.
    fn shapes(&self) -> Vec<(usize, Vec<i64>)> {
        let widths = self.widths();
        let mut shapes = Vec::new();
        for (index, step) in self.steps.iter().enumerate() {
            if let Step::Linear { of, outputs, bias } = *step {
                shapes.push((index, vec![outputs, widths[of]]));
                shapes.extend(bias.then(|| (index, vec![outputs])));
            }
        }
        shapes
    }

    fn start(&self) -> Vec<f64> {
        let count: i64 = self.shapes().iter().map(|(_, shape)| shape.iter().product::<i64>()).sum();
        (0..count).map(|i| ((i as f64 + 0.7) * 1.9).sin() * 0.3).collect()
    }

    /// A recording for the events `x`, with the number of its output.
    fn recorded(&self, x: &Tensor, kind: Kind) -> (Recorder, usize) {
        let (shapes, start) = (self.shapes(), Tensor::from_slice(&self.start()).to_kind(kind));
        let (mut tensors, mut at) = (vec![x.to_kind(kind)], 0);
        for (_, shape) in &shapes {
            let length = shape.iter().product();
            tensors.push(start.narrow(0, at, length).reshape(shape.as_slice()).copy());
            at += length;
        }
        let (mut r, mut values) = (Recorder::new(&tensors), vec![0]);
        let parameters = |step: usize| -> Vec<usize> {
            let mine = shapes.iter().enumerate().filter(|(_, (of, _))| *of == step);
            mine.map(|(index, _)| index + 1).collect()
        };
        for (index, step) in self.steps.iter().enumerate() {
            let value = match *step {
                Step::Linear { of, .. } => linear(&mut r, values[of], &parameters(index)),
                Step::Again { of, step } => linear(&mut r, values[of], &parameters(step)),
                Step::Unary { of, name } => unary(&mut r, values[of], name),
                Step::Pair { of: [a, b], name } => pair(&mut r, [values[a], values[b]], name),
                Step::Sum { of } => sum(&mut r, values[of]),
            };
            values.push(value);
        }
        let output = values[self.steps.len()];
        r.returns(&[output]);
        r.graph.constants = r.graph.inputs.split_off(1);
        (r, output)
    }

    fn module(&self, kind: Kind) -> Module {
        let at = |rows: i64| self.recorded(&Tensor::ones(self.shape(rows), (kind, Device::Cpu)), kind).0.graph;
        let captured = self.shapes().len();
        let observed = || Observed {
            batch: AnyBatch::new([at(5), at(6)], 5, &at(8), 8, "").unwrap(),
            one: Ok(at(1)),
            constants: (0..captured).collect(),
        };
        let shape: Vec<usize> = self.shape(1)[1..].iter().map(|&size| size as usize).collect();
        Module::new("network", &shape, [observed(), observed()], &vec![true; captured], |_, _| Vec::new()).unwrap()
    }

    fn events(&self, rows: usize) -> Events {
        let mut events = Events::new(rows, (self.particles * self.features) as usize, 2);
        events.labels = (0..rows * self.outputs()).map(|i| (i as f32 * 1.3).sin()).collect();
        events.scaler.mean.iter_mut().enumerate().for_each(|(i, mean)| *mean = 0.1 * (i % 3) as f32);
        events
    }

    /// The mean loss of the engine and its gradient, in batches of all rows.
    fn ours(&self, rows: usize, threads: usize) -> (f64, Vec<f64>) {
        let settings = Settings {
            loss: Loss::MeanSquaredError,
            optimiser: Optimiser::Adam,
            batch_size: rows,
            ..Settings::default()
        };
        let (events, scale) = (self.events(rows), 1.0 / rows as f64);
        let tiles = ModuleTiles::new(Arc::new(self.module(Kind::Double)), &[], 1, Precision::Float32).unwrap();
        let mut engine = AotEngine::of(tiles, &self.start(), settings, threads).unwrap();
        let (loss, gradient) = engine.loss_and_gradient(events.rows(), &events.order(), scale).unwrap();
        (loss * scale, gradient)
    }

    fn theirs(&self, rows: usize) -> (f64, Vec<f64>) {
        let events = self.events(rows);
        let mut x = vec![0.0f64; events.features.len()];
        events.scaler.standardise(&events.features, &mut x);
        let (r, output) = self.recorded(&Tensor::from_slice(&x).view(&self.shape(rows as i64)[..]), Kind::Double);
        let labels = Tensor::from_slice(&events.labels).to_kind(Kind::Double).view([rows as i64, -1]);
        let losses = autograd::row_losses(Loss::MeanSquaredError, 0.0, &r.tensors[output], &labels).unwrap();
        let total = (losses * Tensor::from_slice(&events.weights).to_kind(Kind::Double)).mean(Kind::Double);
        total.backward();
        let gradient = |index: usize| {
            let (leaf, gradient) = (&r.tensors[index], r.tensors[index].grad());
            recorder::numbers(&if gradient.defined() { gradient } else { leaf.zeros_like() })
        };
        (total.double_value(&[]), (1..=self.shapes().len()).flat_map(gradient).collect())
    }
}

fn linear(r: &mut Recorder, x: usize, parameters: &[usize]) -> usize {
    let (w, b) = (parameters[0], parameters.get(1).copied());
    if r.tensors[x].dim() == 3 {
        // LibTorch's own `linear` comes down to these.
        let turned = r.tensors[w].tr();
        let turned = r.record("t", "", &[V(w)], vec![turned]);
        let value = r.tensors[x].matmul(&r.tensors[turned]);
        let value = r.record("matmul", "", &[V(x), V(turned)], vec![value]);
        return b.map_or(value, |b| pair(r, [value, b], "add"));
    }
    let value = r.tensors[x].linear(&r.tensors[w], b.map(|b| &r.tensors[b]));
    r.record("linear", "", &[V(x), V(w), b.map_or(recorder::A::None, V)], vec![value])
}

fn sum(r: &mut Recorder, x: usize) -> usize {
    let value = r.tensors[x].sum_dim_intlist([1i64].as_slice(), false, None);
    r.record("sum", "dim_IntList", &[V(x), L(vec![1]), B(false), recorder::A::None], vec![value])
}

fn unary(r: &mut Recorder, x: usize, name: &'static str) -> usize {
    let of = &r.tensors[x];
    let (value, arguments) = match name {
        "relu" => (of.relu(), vec![V(x)]),
        "leaky_relu" => (of.leaky_relu(), vec![V(x), F(0.01)]),
        "tanh" => (of.tanh(), vec![V(x)]),
        "gelu" => (of.gelu("none"), vec![V(x), recorder::A::S("none")]),
        "abs" => (of.abs(), vec![V(x)]),
        "exp" => ((of * 0.1).exp(), vec![]),
        _ => (of.sigmoid(), vec![V(x)]),
    };
    if name == "exp" {
        let scaled = of * 0.1;
        let scaled = r.record("mul", "Scalar", &[V(x), F(0.1)], vec![scaled]);
        let value = r.tensors[scaled].exp();
        return r.record("exp", "", &[V(scaled)], vec![value]);
    }
    r.record(name, "", &arguments, vec![value])
}

fn pair(r: &mut Recorder, [a, b]: [usize; 2], name: &'static str) -> usize {
    let (x, y) = (&r.tensors[a], &r.tensors[b]);
    let value = match name {
        "add" => x + y,
        "sub" => x - y,
        _ => x * y,
    };
    let arguments = if name == "mul" { vec![V(a), V(b)] } else { vec![V(a), V(b), I(1)] };
    r.record(name, "Tensor", &arguments, vec![value])
}

/// Seeds of the networks.
const NETWORKS: u64 = 600;

#[test]
fn random_networks_agree_with_libtorch_autograd() {
    let mut packed = [0; 4];
    for seed in 0..NETWORKS {
        let network = Network::random(seed);
        let layers = Packing::<f64>::new(&network.module(Kind::Double), 5, Precision::Float32).unwrap().layers();
        packed[layers.min(3)] += 1;
        for (rows, threads) in [(1, 1), (5, 1), (130, 2), (1300, 2)] {
            let (loss, gradient) = network.ours(rows, threads);
            let (expected, theirs) = network.theirs(rows);
            let Network { particles, features, steps } = &network;
            let what =
                || format!("network {seed}, {rows} rows: {steps:?} of {particles} particles of {features} features");
            compare(&[loss], &[expected], 1e-9, 1e-12).unwrap_or_else(|e| panic!("loss, {}: {e}", what()));
            compare(&gradient, &theirs, 1e-7, 1e-10).unwrap_or_else(|e| panic!("gradient, {}: {e}", what()));
        }
    }
    say(&format!("networks with 0, 1, 2, and more packed layers: {packed:?}"));
    assert!(packed.iter().all(|&networks| networks > 5), "{packed:?}");
}

/// Two layers of each particle, their sum, and two layers of the event.
fn sets(width: i64, outputs: i64) -> Vec<Step> {
    let linear = |of, outputs| Step::Linear { of, outputs, bias: true };
    let relu = |of| Step::Unary { of, name: "relu" };
    let each = [linear(0, width), relu(1), linear(2, width), relu(3), Step::Sum { of: 4 }];
    each.into_iter().chain([linear(5, width), relu(6), linear(7, outputs)]).collect()
}

/// Parameters of a layer that cannot be packed stay unchanged.
#[test]
fn layers_are_packed_where_their_parameters_are_theirs_alone() {
    let relu = |of| Step::Unary { of, name: "relu" };
    let linear = |of, bias| Step::Linear { of, outputs: 8, bias };
    for (steps, layers) in [
        (sets(8, 8), 4),
        (vec![linear(0, true), relu(1), linear(2, true)], 2),
        (vec![linear(0, false), relu(1), linear(2, true)], 0),
        (vec![linear(0, true), relu(1), Step::Again { of: 2, step: 0 }, linear(3, true)], 0),
        (vec![linear(0, true), linear(0, true), Step::Pair { of: [1, 2], name: "add" }, linear(3, true)], 3),
        (vec![linear(0, true), Step::Unary { of: 1, name: "exp" }, linear(3 - 1, true)], 1),
    ] {
        let particles = if steps.iter().any(|step| matches!(step, Step::Sum { .. })) { 3 } else { 1 };
        let network = Network { particles, features: 8, steps };
        let module = network.module(Kind::Float);
        assert!(module.program(Mode::Training, 5).is_ok());
        assert_eq!(
            Packing::<f32>::new(&module, 5, Precision::Float32).unwrap().layers(),
            layers,
            "{:?}",
            network.steps
        );
    }
}

/// If its columns fill whole panels, a sum over particles reads the panels, and its adjoint is written there.
#[test]
fn sums_of_whole_panels_need_no_copy() {
    for (width, copies) in [(64, 0), (40, 1)] {
        let module = Network { particles: 3, features: 8, steps: sets(width, 1) }.module(Kind::Float);
        let packing = Packing::<f32>::new(&module, 5, Precision::Float32).unwrap();
        let packed = packing.apply(&module, Mode::Training, 5).unwrap().program;
        let count = |is: fn(&Primitive) -> bool| packed.nodes.iter().filter(|node| is(&node.primitive)).count();
        assert_eq!(count(|primitive| matches!(primitive, Primitive::Linear(_))), 4);
        assert_eq!(count(|primitive| matches!(primitive, Primitive::Unpack(_))), copies, "{width} columns");
    }
}
