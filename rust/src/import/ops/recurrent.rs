//! Recurrent layers, unrolled step by step: each depends on the one before.

use super::super::call::{Call, Outputs};
use super::super::value::Value;
use super::shape::{joined, permuted, reshaped, sliced};
use super::{Operator, but};
use crate::error::Result;
use crate::graph::ObservedArgument::None as Absent;

pub const TABLE: &[Operator] = &[
    but("GRU", "activations but Sigmoid, Tanh and Relu; sequence lengths; clip", |call| recurrent(call, 3, gru)),
    but("LSTM", "activations but Sigmoid, Tanh and Relu; sequence lengths; clip; input_forget", |call| {
        recurrent(call, 4, lstm)
    }),
    but("RNN", "activations but Sigmoid, Tanh and Relu; sequence lengths; clip", |call| recurrent(call, 1, rnn)),
];

/// The layer of one direction.
struct Direction {
    /// Of the gates, from the inputs: [steps, events, gates hidden].
    inputs: Value,
    /// Weights [gates hidden, hidden], and the bias [gates hidden] that comes with them.
    weight: Value,
    bias: Option<Value>,
    /// Of LSTM: [3 hidden].
    peephole: Option<Value>,
    /// LibTorch's names.
    activations: Vec<&'static str>,
    hidden: usize,
}

/// From the inputs of the gates and the state the next state: hidden values and, of an LSTM, its cell.
type Step = fn(&mut Call, &Direction, Value, [Value; 2]) -> Result<[Value; 2]>;

fn activations(call: &Call, gates: usize, directions: usize) -> Result<Vec<&'static str>> {
    let each = match gates {
        1 => vec!["Tanh"],
        3 => vec!["Sigmoid", "Tanh"],
        _ => vec!["Sigmoid", "Tanh", "Tanh"],
    };
    let mut names = call.texts("activations")?;
    if names.is_empty() {
        names = each.iter().cycle().take(each.len() * directions).map(|name| (*name).to_owned()).collect();
    }
    if names.len() != each.len() * directions {
        return Err(call.wrong(format!("{} activations", names.len())));
    }
    let op = |name: &String| match name.to_lowercase().as_str() {
        "sigmoid" => Ok("sigmoid"),
        "tanh" => Ok("tanh"),
        "relu" => Ok("relu"),
        _ => Err(call.refuse(format!("the activation {}", crate::text::name(name)))),
    };
    names.iter().map(op).collect()
}

/// `X, W, R, B, sequence_lens, initial_h, initial_c, P` to `Y, Y_h, Y_c`.
fn recurrent(call: &mut Call, gates: usize, step: Step) -> Outputs {
    if call.has(4) && !is_whole(call)? || call.attribute("clip").is_some() || call.integer("input_forget", 0)? != 0 {
        return Err(call.refuse("sequence lengths, a clip or coupled gates"));
    }
    let is_batch_first = call.integer("layout", 0)? != 0;
    let mut x = call.input(0)?;
    if x.rank() != 3 {
        return Err(call.wrong("the input is no sequence"));
    }
    if is_batch_first {
        x = permuted(call, &x, &[1, 0, 2])?;
    }
    let directions = call.input(1)?.shape().first().copied().unwrap_or(0);
    if !(1..=2).contains(&directions) {
        return Err(call.wrong(format!("weights of {directions} directions")));
    }
    let names = activations(call, gates, directions)?;
    let is_backward = match (call.text("direction", "forward")?, directions) {
        ("forward", 1) => [false, false],
        ("reverse", 1) => [true, true],
        ("bidirectional", 2) => [false, true],
        _ => return Err(call.wrong("a direction of other weights")),
    };
    let (mut all, mut last) = (Vec::new(), [Vec::new(), Vec::new()]);
    for at in 0..directions {
        let own = names[at * names.len() / directions..(at + 1) * names.len() / directions].to_vec();
        let direction = direction(call, &x, at, gates, own)?;
        let (values, states) = run(call, &direction, at, is_backward[at], step, is_batch_first)?;
        all.push(values);
        for (list, state) in last.iter_mut().zip(states) {
            list.push(state);
        }
    }
    results(call, all, last, is_batch_first)
}

/// Whether the sequence lengths that are given are all whole.
fn is_whole(call: &Call) -> Result<bool> {
    let steps = call.input(0)?.shape().get(usize::from(call.integer("layout", 0)? != 0)).copied().unwrap_or(0);
    Ok(call.known_integers(4)?.iter().all(|&length| length == steps as i64))
}

/// Element `at` of the first dimension, which disappears.
fn element(call: &mut Call, x: &Value, at: usize) -> Result<Value> {
    if at >= x.shape().first().copied().unwrap_or(0) {
        return Err(call.wrong("a direction or step that is missing"));
    }
    let value = sliced(call, x, 0, at, 1, 1)?;
    let shape = x.shape()[1..].to_vec();
    reshaped(call, &value, &shape)
}

fn direction(call: &mut Call, x: &Value, at: usize, gates: usize, activations: Vec<&'static str>) -> Result<Direction> {
    let (w, r) = (call.input(1)?, call.input(2)?);
    let (w, weight) = (element(call, &w, at)?, element(call, &r, at)?);
    let ([rows, width], [_, hidden]) = (w.shape(), weight.shape()) else {
        return Err(call.wrong("weights of other sizes"));
    };
    let (rows, hidden) = (*rows, *hidden);
    if Some(rows) != hidden.checked_mul(gates) || weight.shape()[0] != rows || *width != x.shape()[2] {
        return Err(call.wrong(format!("weights {:?} and {:?} for {gates} gates", w.shape(), weight.shape())));
    }
    let biases = match call.optional(3) {
        Some(both) => {
            let both = element(call, &both, at)?;
            if both.shape() != [2 * rows] {
                return Err(call.wrong(format!("a bias {:?}", both.shape())));
            }
            Some([sliced(call, &both, 0, 0, rows, 1)?, sliced(call, &both, 0, rows, rows, 1)?])
        }
        None => None,
    };
    let peephole = match call.optional(7) {
        Some(all) => Some(element(call, &all, at)?),
        None => None,
    };
    if peephole.as_ref().is_some_and(|peephole| peephole.shape() != [3 * hidden]) {
        return Err(call.wrong("peepholes of another size"));
    }
    let mut arguments = vec![call.number(x)?, call.b.tensor(&w)?];
    arguments.push(match &biases {
        Some([bias, _]) => call.b.tensor(bias)?,
        None => Absent,
    });
    let inputs = call.op("linear", "", arguments, &[x.shape()[0], x.shape()[1], rows], x.element())?;
    Ok(Direction { inputs, weight, bias: biases.map(|[_, bias]| bias), peephole, activations, hidden })
}

/// The first state of a direction, zeros where none is given.
fn state(call: &mut Call, at: usize, input: usize, shape: [usize; 2], is_batch_first: bool) -> Result<Value> {
    let Some(given) = call.optional(input) else {
        let zeros = call.b.filled(0.0, &shape)?;
        return call.op("clone", "", vec![zeros, Absent], &shape, super::super::known::Element::Float32);
    };
    let given = if is_batch_first { permuted(call, &given, &[1, 0, 2])? } else { given };
    let value = element(call, &given, at)?;
    if value.shape() == shape { Ok(value) } else { Err(call.wrong(format!("a state {:?}", value.shape()))) }
}

/// All hidden values [steps, events, hidden] in order, and the last state.
fn run(
    call: &mut Call,
    direction: &Direction,
    at: usize,
    is_backward: bool,
    step: Step,
    is_batch_first: bool,
) -> Result<(Value, [Value; 2])> {
    let [steps, events, _] = direction.inputs.shape()[..] else { return Err(call.wrong("no sequence")) };
    let shape = [events, direction.hidden];
    let mut states = [state(call, at, 5, shape, is_batch_first)?, state(call, at, 6, shape, is_batch_first)?];
    let mut values = Vec::new();
    for number in 0..steps {
        let number = if is_backward { steps - 1 - number } else { number };
        let inputs = element(call, &direction.inputs, number)?;
        states = step(call, direction, inputs, states)?;
        values.push(reshaped(call, &states[0], &[1, events, direction.hidden])?);
    }
    if is_backward {
        values.reverse();
    }
    Ok((joined(call, &values, 0)?, states))
}

fn results(call: &mut Call, all: Vec<Value>, last: [Vec<Value>; 2], is_batch_first: bool) -> Outputs {
    let stacked = |call: &mut Call, parts: Vec<Value>, axis: usize| {
        let parts = parts.iter().map(|part| {
            let mut shape = part.shape().to_vec();
            shape.insert(axis, 1);
            reshaped(call, part, &shape)
        });
        let parts = parts.collect::<Result<Vec<_>>>()?;
        joined(call, &parts, axis)
    };
    let y = stacked(call, all, 1)?;
    let [h, c] = last;
    let (h, c) = (stacked(call, h, 0)?, stacked(call, c, 0)?);
    if !is_batch_first {
        return Ok(vec![y, h, c]);
    }
    Ok(vec![permuted(call, &y, &[2, 0, 1, 3])?, permuted(call, &h, &[1, 0, 2])?, permuted(call, &c, &[1, 0, 2])?])
}

/// `h w^T + b` for some of the gates.
fn from_state(call: &mut Call, direction: &Direction, h: &Value, gates: std::ops::Range<usize>) -> Result<Value> {
    let (first, rows) = (gates.start * direction.hidden, gates.len() * direction.hidden);
    let weight = sliced(call, &direction.weight, 0, first, rows, 1)?;
    let mut arguments = vec![call.number(h)?, call.b.tensor(&weight)?];
    arguments.push(match &direction.bias {
        Some(bias) => {
            let bias = sliced(call, bias, 0, first, rows, 1)?;
            call.b.tensor(&bias)?
        }
        None => Absent,
    });
    call.op("linear", "", arguments, &[h.shape()[0], rows], h.element())
}

fn gate(call: &mut Call, x: &Value, at: usize, hidden: usize) -> Result<Value> {
    sliced(call, x, 1, at * hidden, hidden, 1)
}

fn rnn(call: &mut Call, direction: &Direction, inputs: Value, [h, c]: [Value; 2]) -> Result<[Value; 2]> {
    let own = from_state(call, direction, &h, 0..1)?;
    let sum = call.add(&inputs, &own)?;
    Ok([call.like(direction.activations[0], &sum, vec![])?, c])
}

/// Gates z, r, h; `linear_before_reset` is how LibTorch computes it (Cho et al. 2014, with the reset behind the product).
fn gru(call: &mut Call, direction: &Direction, inputs: Value, [h, c]: [Value; 2]) -> Result<[Value; 2]> {
    let (hidden, f, g) = (direction.hidden, direction.activations[0], direction.activations[1]);
    let is_before = call.integer("linear_before_reset", 0)? != 0;
    let own = from_state(call, direction, &h, if is_before { 0..3 } else { 0..2 })?;
    let mut gates = Vec::new();
    for at in 0..2 {
        let (x, own) = (gate(call, &inputs, at, hidden)?, gate(call, &own, at, hidden)?);
        let sum = call.add(&x, &own)?;
        gates.push(call.like(f, &sum, vec![])?);
    }
    let (z, r) = (&gates[0], &gates[1]);
    let own = if is_before {
        let own = gate(call, &own, 2, hidden)?;
        call.mul(r, &own)?
    } else {
        let kept = call.mul(r, &h)?;
        from_state(call, direction, &kept, 2..3)?
    };
    let x = gate(call, &inputs, 2, hidden)?;
    let sum = call.add(&x, &own)?;
    let next = call.like(g, &sum, vec![])?;
    // (1 - z) next + z h = next + z (h - next)
    let way = call.sub(&h, &next)?;
    let way = call.mul(z, &way)?;
    Ok([call.add(&next, &way)?, c])
}

/// Gates i, o, f, c (Hochreiter and Schmidhuber 1997, with forget gates and, where given, peepholes).
fn lstm(call: &mut Call, direction: &Direction, inputs: Value, [h, c]: [Value; 2]) -> Result<[Value; 2]> {
    let hidden = direction.hidden;
    let own = from_state(call, direction, &h, 0..4)?;
    let sum = call.add(&inputs, &own)?;
    let part = |call: &mut Call, at: usize, cell: Option<&Value>, op: &str| {
        let mut x = gate(call, &sum, at, hidden)?;
        if let (Some(cell), Some(peephole)) = (cell, &direction.peephole) {
            let weight = sliced(call, peephole, 0, at * hidden, hidden, 1)?;
            let seen = call.mul(cell, &weight)?;
            x = call.add(&x, &seen)?;
        }
        call.like(op, &x, vec![])
    };
    let [f, g, out] = [0, 1, 2].map(|at| direction.activations[at]);
    let (i, forget) = (part(call, 0, Some(&c), f)?, part(call, 2, Some(&c), f)?);
    let new = part(call, 3, None, g)?;
    let (kept, added) = (call.mul(&forget, &c)?, call.mul(&i, &new)?);
    let cell = call.add(&kept, &added)?;
    let o = part(call, 1, Some(&cell), f)?;
    let shown = call.like(out, &cell, vec![])?;
    Ok([call.mul(&o, &shown)?, cell])
}
