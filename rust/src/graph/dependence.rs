//! Dependence analysis: from which events of a batch each element of a program is computed.
//!
//! Every element of every buffer has a bit for each event whose features reach it, whatever shape the events have on the way.
//! The values do not matter: an element that is multiplied by 0 counts as used.

use std::collections::HashMap;

use super::outputs::reached;
use super::program::{Gather, Node, Origin, Primitive, Product, Scatter, Tensor};
use super::{Program, View};
use crate::error::{Error, Result};
use crate::kernels::strided::Ranking;

/// A bit for each event.
type Events = u8;

/// Why an event's results are not its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependence {
    /// That observed operator brings events together.
    Mixes(usize),
    /// Events come out at the places of others.
    Moves,
    /// That observed operator computes with the number of events.
    Counts(usize),
}

/// Gives each row of matrices [columns, side], down their columns, all that its elements have.
fn share_rows(value: &mut [Events], columns: usize, side: usize) {
    for matrix in value.chunks_mut(columns * side) {
        for column in 0..side {
            let all = matrix[column..].iter().step_by(side).fold(0, |all, found| all | found);
            matrix[column..].iter_mut().step_by(side).for_each(|element| *element = all);
        }
    }
}

/// The error that the prediction for an event would not be its own.
pub fn events_mix(what: &str) -> Error {
    Error::invalid(
        format!("{what}, in evaluation too: the prediction for an event would depend on its neighbours"),
        "use dimensions of an event only (the first dimension counts events), and batch normalisation with running \
         statistics",
    )
}

/// What makes results [events, ...] depend on other events. `programs` compute the same for two numbers of events, `events` and
/// another one; the features are the first argument.
pub fn dependence(programs: [&Program; 2], events: usize) -> Result<Option<Dependence>> {
    if events > Events::BITS as usize {
        return Err(Error::Internal(format!("bits for {events} events")));
    }
    let reached = reached(programs[0]);
    if let Some(found) = mixing(programs[0], events, &reached)? {
        return Ok(Some(found));
    }
    Ok(counting(programs, &reached).map(Dependence::Counts))
}

fn mixing(program: &Program, events: usize, reached: &[bool]) -> Result<Option<Dependence>> {
    let mut bits = Bits::new(program, events)?;
    let mut mixer = None;
    for node in program.nodes.iter().filter(|node| reached[node.buffer]) {
        let value = bits.value(program, node);
        if mixer.is_none() && value.iter().flatten().any(|events| events.count_ones() > 1) {
            mixer = Some(node.observed);
        }
        bits.0[node.buffer] = value;
    }
    let own = |output: &Tensor| {
        let numbers = (output.view.len() / events).max(1);
        let elements = bits.of(output).enumerate();
        let event = |index: usize| u32::try_from(index / numbers).ok().and_then(|event| Events::checked_shl(1, event));
        elements.map(|(index, found)| found & !event(index).unwrap_or(0)).all(|others| others == 0)
    };
    if program.outputs.iter().all(own) {
        return Ok(None);
    }
    Ok(Some(mixer.map_or(Dependence::Moves, Dependence::Mixes)))
}

/// Of each buffer, the bits of each of its elements; none where no event reaches it.
struct Bits(Vec<Option<Vec<Events>>>);

impl Bits {
    fn new(program: &Program, events: usize) -> Result<Self> {
        let mut bits = Bits(vec![None; program.buffers.len()]);
        let features = program.buffers.iter().position(|buffer| buffer.origin == Origin::Argument(0));
        let features = features.ok_or_else(|| Error::Internal("a program without features".into()))?;
        let length = program.buffers[features].length;
        let numbers = (length / events).max(1);
        bits.0[features] = Some((0..length).map(|index| 1 << (index / numbers)).collect());
        Ok(bits)
    }

    /// Of each element of a tensor, in its order.
    fn of<'a>(&'a self, tensor: &'a Tensor) -> Box<dyn Iterator<Item = Events> + 'a> {
        match &self.0[tensor.buffer] {
            Some(bits) => Box::new(tensor.view.offsets().map(|offset| bits[offset])),
            None => Box::new(std::iter::repeat_n(0, tensor.view.len())),
        }
    }

    /// Of the elements of a node's value.
    fn value(&self, program: &Program, node: &Node) -> Option<Vec<Events>> {
        if node.operands.iter().all(|operand| self.0[operand.buffer].is_none()) {
            return None;
        }
        let mut value = vec![0; program.buffers[node.buffer].length];
        match &node.primitive {
            Primitive::Load(_) | Primitive::Map(_) | Primitive::Custom(_) => self.add(&node.operands, &mut value),
            Primitive::Sum(target) => self.place(&node.operands[0], target, &mut value),
            Primitive::Concat { places, .. } => {
                node.operands.iter().zip(places).for_each(|(operand, place)| self.place(operand, place, &mut value));
            }
            Primitive::Max { columns, .. } | Primitive::Length(columns) => {
                self.of(&node.operands[0]).enumerate().for_each(|(index, found)| value[index / columns] |= found);
            }
            Primitive::Argsort(Ranking { columns, count, .. }) => {
                let read: Vec<Events> = self.of(&node.operands[0]).collect();
                for (row, places) in read.chunks((*columns).max(1)).zip(value.chunks_mut((*count).max(1))) {
                    places.fill(row.iter().fold(0, |all, found| all | found));
                }
            }
            Primitive::Softmax { columns, side, .. } => {
                self.add(&node.operands[..1], &mut value);
                share_rows(&mut value, *columns, *side);
            }
            Primitive::Normalise { columns, .. } => {
                self.add(&node.operands[..1], &mut value);
                share_rows(&mut value, *columns, 1);
                self.add(&node.operands[1..], &mut value);
            }
            Primitive::Moments(_) => {
                let all = self.of(&node.operands[0]).fold(0, |all, found| all | found);
                value.fill(all);
            }
            Primitive::Standardise { .. } => {
                self.add(&node.operands[..1], &mut value);
                let others = node.operands[1..].iter().flat_map(|operand| self.of(operand));
                let shared = others.fold(0, |all, found| all | found);
                value.iter_mut().for_each(|found| *found |= shared);
            }
            // What is packed has been found to be sound before.
            Primitive::Linear(_) | Primitive::Round(_) | Primitive::Pack(_) | Primitive::Unpack(_) => {
                value.fill(Events::MAX)
            }
            Primitive::Product(product) => {
                self.multiply(product, &node.operands, &mut value);
                self.add(&node.operands[2..], &mut value);
            }
            // Every number of an event's value is said to have all of that event's signals.
            Primitive::Convolve(convolution) => {
                let signals: Vec<Events> = self.of(&node.operands[0]).collect();
                let weights = self.of(&node.operands[1]).fold(0, |all, found| all | found);
                let events = convolution.events.max(1);
                let [read, written] = [signals.len(), value.len()].map(|length| (length / events).max(1));
                for (signals, value) in signals.chunks(read).zip(value.chunks_mut(written)) {
                    value.fill(signals.iter().fold(weights, |all, found| all | found));
                }
                self.add(&node.operands[2..], &mut value);
            }
            Primitive::Scatter(Scatter { gather, places }) => {
                for step in 0..gather.size {
                    let mut place = places.clone();
                    place.offset += step * gather.stride;
                    self.place(&node.operands[0], &place, &mut value);
                    self.place(&node.operands[1], &place, &mut value);
                }
                self.add(&node.operands[2..], &mut value);
            }
            Primitive::Gather(gather) => {
                self.gather(gather, &node.operands[0], &mut value);
                self.add(&node.operands[1..], &mut value);
            }
        }
        Some(value)
    }

    /// Element by element.
    fn add(&self, operands: &[Tensor], value: &mut [Events]) {
        for operand in operands.iter().filter(|operand| self.0[operand.buffer].is_some()) {
            value.iter_mut().zip(self.of(operand)).for_each(|(value, found)| *value |= found);
        }
    }

    /// An index may choose any element behind the base; results have few different bases.
    fn gather(&self, gather: &Gather, from: &Tensor, value: &mut [Events]) {
        let Some(bits) = &self.0[from.buffer] else { return };
        let any = |base: usize| (0..gather.size).fold(0, |all, step| all | bits[base + step * gather.stride]);
        let mut found = HashMap::new();
        for (value, base) in value.iter_mut().zip(from.view.offsets()) {
            *value |= *found.entry(base).or_insert_with(|| any(base));
        }
    }

    /// To this view of the value.
    fn place(&self, operand: &Tensor, place: &View, value: &mut [Events]) {
        place.offsets().zip(self.of(operand)).for_each(|(offset, found)| value[offset] |= found);
    }

    /// Each number of a product has the events of a row of the first factor and of a column of the second one.
    fn multiply(&self, Product { m, n, k, batches }: &Product, operands: &[Tensor], value: &mut [Events]) {
        let lines = |operand: usize, start: usize, count: usize, along: [usize; 2]| -> Vec<Events> {
            let Tensor { buffer, view, .. } = &operands[operand];
            let Some(bits) = &self.0[*buffer] else { return vec![0; count] };
            let rank = view.rank();
            let [line, term] = along.map(|back| view.strides[rank - back]);
            let of_line = |at: usize| (0..*k).fold(0, |all, i| all | bits[start + at * line + i * term]);
            (0..count).map(of_line).collect()
        };
        for ([a, b], value) in batches.iter().zip(value.chunks_mut((m * n).max(1))) {
            let (rows, columns) = (lines(0, *a, *m, [2, 1]), lines(1, *b, *n, [1, 2]));
            for (value, row) in value.chunks_mut((*n).max(1)).zip(rows) {
                value.iter_mut().zip(&columns).for_each(|(value, column)| *value |= row | column);
            }
        }
    }
}

/// The first observed operator that computes with another number in the second program.
fn counting(programs: [&Program; 2], reached: &[bool]) -> Option<usize> {
    let [first, second] = programs.map(|program| &program.nodes);
    let mut pairs = first.iter().zip(second).filter(|(node, _)| reached[node.buffer]);
    let other = pairs.find(|(a, b)| a.observed != b.observed || numbers(programs[0], a) != numbers(programs[1], b));
    let longer = (first.len() != second.len()).then(|| first.iter().chain(second).last()).flatten();
    other.map(|(node, _)| node).or(longer).map(|node| node.observed)
}

/// The fixed numbers that a node computes with, as bits.
fn numbers(program: &Program, node: &Node) -> Vec<u64> {
    let literals = node.operands.iter().filter_map(|operand| match &program.buffers[operand.buffer].origin {
        Origin::Literal(numbers) => Some(numbers.iter()),
        Origin::Argument(_) | Origin::Node(_) => None,
    });
    let fill = match &node.primitive {
        Primitive::Concat { fill, .. } => Some(fill),
        _ => None,
    };
    literals.flatten().chain(fill).map(|number| number.to_bits()).collect()
}
