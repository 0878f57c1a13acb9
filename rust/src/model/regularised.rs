//! Perceptrons with normalisation and dropout: modules of the operators that LibTorch would be seen to run.

use super::mlp::Mlp;
use super::{FlatOffset, Model, Names};
use crate::error::{Error, Result};
use crate::graph::{
    Activation, AnyBatch, Captured, DType, Init, Mode, Module, Normalisation, Observed, ObservedArgument as Argument,
    Recording,
};

/// Numbers of events with which the operators are recorded: see `graph::Module`.
const EVENTS: usize = 6;
const OTHER_EVENTS: usize = 9;
/// The name of such a network, in model files too.
pub(super) const REGULARISED: &str = "Mlp";
/// As torch::nn's layers have them.
const MOMENTUM: f64 = 0.1;
const EPSILON: f64 = 1e-5;

/// The operators after each linear layer but the last.
#[derive(Clone, Copy, Debug)]
pub struct Hidden {
    /// Last but for dropout.
    pub activation: Activation,
    /// Before the activation.
    pub normalisation: Normalisation,
    /// Probability with which a number is 0 in training; the others are divided by its complement.
    pub dropout: f64,
}

/// A tensor that the operators read.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Drawn,
    Scale,
    Shift,
    Mean,
    Variance,
}

impl Kind {
    fn trains(self) -> bool {
        !matches!(self, Kind::Mean | Kind::Variance)
    }

    /// A new one, which is not drawn, is full of these.
    fn first(self) -> f32 {
        if matches!(self, Kind::Scale | Kind::Variance) { 1.0 } else { 0.0 }
    }
}

/// An observation that is being written.
struct Writer {
    recording: Recording,
    kinds: Vec<Kind>,
    names: Vec<String>,
}

impl Writer {
    fn captured(&mut self, kind: Kind, name: String, shape: &[usize]) -> Argument {
        let value = self.recording.value(DType::Float32, shape);
        self.recording.graph.constants.push(value);
        self.kinds.push(kind);
        self.names.push(name);
        Argument::Value(value)
    }

    /// The result of an operator, of this shape.
    fn call(&mut self, op: &str, arguments: Vec<Argument>, shape: &[usize]) -> u32 {
        self.recording.call(op, "", arguments, &[(DType::Float32, shape)], "")[0]
    }

    /// Everything behind a linear layer with the results `x` of that shape.
    fn hidden(&mut self, hidden: &Hidden, layer: usize, mut x: u32, shape: &[usize], training: bool) -> u32 {
        let width = &shape[1..];
        let scale_and_shift = |writer: &mut Writer| {
            let name = |part: &str| format!("layers.{layer}.norm.{part}");
            [(Kind::Scale, "weight"), (Kind::Shift, "bias")]
                .map(|(kind, part)| writer.captured(kind, name(part), width))
        };
        match hidden.normalisation {
            Normalisation::NoNormalisation => {}
            Normalisation::LayerNorm => {
                let [scale, shift] = scale_and_shift(self);
                let arguments = vec![
                    Argument::Value(x),
                    Argument::Integers(width.iter().map(|&size| size as i64).collect()),
                    scale,
                    shift,
                    Argument::Float(EPSILON),
                ];
                x = self.call("layer_norm", [arguments, vec![Argument::Bool(true)]].concat(), shape);
            }
            Normalisation::BatchNorm => {
                let [scale, shift] = scale_and_shift(self);
                let mean = self.captured(Kind::Mean, format!("layers.{layer}.norm.running_mean"), width);
                let variance = self.captured(Kind::Variance, format!("layers.{layer}.norm.running_var"), width);
                let numbers = [Argument::Float(MOMENTUM), Argument::Float(EPSILON), Argument::Bool(true)];
                let tensors = vec![Argument::Value(x), scale, shift, mean, variance, Argument::Bool(training)];
                x = self.call("batch_norm", [tensors, numbers.to_vec()].concat(), shape);
            }
        }
        if let Some((op, more)) = activation(hidden.activation) {
            x = self.call(op, [vec![Argument::Value(x)], more].concat(), shape);
        }
        if hidden.dropout > 0.0 {
            let arguments = vec![Argument::Value(x), Argument::Float(hidden.dropout), Argument::Bool(training)];
            x = self.call("dropout", arguments, shape);
        }
        x
    }
}

/// LibTorch's operator, with its arguments after the first.
fn activation(activation: Activation) -> Option<(&'static str, Vec<Argument>)> {
    Some(match activation {
        Activation::Identity => return None,
        Activation::ReLU => ("relu", vec![]),
        Activation::LeakyReLU => ("leaky_relu", vec![Argument::Float(0.01)]),
        Activation::Tanh => ("tanh", vec![]),
        Activation::Sigmoid => ("sigmoid", vec![]),
        Activation::SiLU => ("silu", vec![]),
        Activation::GELU => ("gelu", vec![Argument::Text("none".into())]),
        Activation::Softplus => ("softplus", vec![Argument::Float(1.0), Argument::Float(20.0)]),
    })
}

/// The operators for `rows` events.
fn written(sizes: &[usize], hidden: &Hidden, rows: usize, training: bool) -> Writer {
    let mut writer = Writer { recording: Recording::default(), kinds: vec![], names: vec![] };
    let mut x = writer.recording.value(DType::Float32, &[rows, sizes[0]]);
    writer.recording.graph.inputs.push(x);
    let layers = sizes.len() - 1;
    for (layer, pair) in sizes.windows(2).enumerate() {
        let (inputs, outputs) = (pair[0], pair[1]);
        let weight = writer.captured(Kind::Drawn, format!("layers.{layer}.weight"), &[outputs, inputs]);
        let bias = writer.captured(Kind::Drawn, format!("layers.{layer}.bias"), &[outputs]);
        let shape = [rows, outputs];
        x = writer.call("linear", vec![Argument::Value(x), weight, bias], &shape);
        if layer + 1 < layers {
            x = writer.hidden(hidden, layer, x, &shape, training);
        }
    }
    writer.recording.graph.outputs.push(x);
    writer
}

fn observed(sizes: &[usize], hidden: &Hidden, training: bool) -> Result<Observed> {
    let graph = |rows: usize| written(sizes, hidden, rows, training).recording.graph;
    let other = graph(OTHER_EVENTS);
    let batch = AnyBatch::new([graph(EVENTS), graph(EVENTS + 1)], EVENTS as i64, &other, OTHER_EVENTS as i64, "")?;
    let one = match training && hidden.normalisation == Normalisation::BatchNorm {
        true => Err("batch normalisation takes no single event in training".to_owned()),
        false => Ok(graph(1)),
    };
    Ok(Observed { batch, one, constants: (0..other.constants.len()).collect() })
}

impl Model {
    /// A perceptron whose hidden layers are followed by more than an activation, its weights drawn from `seed`.
    pub fn regularised(sizes: &[usize], hidden: &Hidden, init: Init, seed: u64) -> Result<Self> {
        if !(0.0..1.0).contains(&hidden.dropout) {
            return Err(Error::invalid(format!("fDropout = {}", hidden.dropout), "it must be in [0, 1)"));
        }
        let plain = Mlp::new(sizes, hidden.activation.into(), init, seed)?;
        let drawn = plain.draw()?;
        let mut drawn = drawn.as_slice().iter().copied();
        let Writer { kinds, names, .. } = written(sizes, hidden, EVENTS, false);
        let trains: Vec<bool> = kinds.iter().map(|kind| kind.trains()).collect();
        let modes = [observed(sizes, hidden, true)?, observed(sizes, hidden, false)?];
        let module = Module::new(REGULARISED, &sizes[..1], modes, &trains, |_, _| Vec::new())?;
        let (mut parameters, mut state) = (vec![0.0; module.parameters()], vec![0.0; module.state()]);
        let mut places = Vec::new();
        for ((captured, kind), name) in module.captured().iter().zip(&kinds).zip(names) {
            let (place, values) = match captured {
                Captured::Parameter(range) => (FlatOffset::Parameter(range.start), &mut parameters[range.clone()]),
                Captured::State(range) => (FlatOffset::State(range.start), &mut state[range.clone()]),
                Captured::Fixed(_) => return Err(Error::Internal(format!("{name} stays as it is"))),
            };
            places.push((place, name));
            match kind {
                Kind::Drawn => values.iter_mut().zip(&mut drawn).for_each(|(value, drawn)| *value = drawn),
                kind => values.fill(kind.first()),
            }
        }
        debug_assert!(module.takes_one(Mode::Evaluation));
        Self::of_operators(module, Names::new("", places), &parameters, &state)
    }
}
