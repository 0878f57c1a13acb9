//! Products of matrices.

use std::rc::Rc;

use super::super::build::Capture;
use super::super::call::{Call, Outputs, number};
use super::super::known::Known;
use super::super::value::{Computed, Value};
use super::shape::permuted;
use super::{Operator, all, but};
use crate::error::Result;
use crate::graph::ObservedArgument::{self as Argument, None as Absent, Text, Values};
use crate::graph::view::broadcast;

pub const TABLE: &[Operator] = &[but("Einsum", "the dots of `...`", einsum), all("Gemm", gemm), all("MatMul", matmul)];

/// A weight [outputs, inputs] as LibTorch's layers have it. One that the file has the other way round is turned where it is used
/// for nothing else, so that layers are packed.
fn weight(call: &mut Call, w: &Value, is_turned: bool) -> Result<Argument> {
    let turns = |known: &&Known| is_turned && known.may_train() && call.uses.get(&*known.name) == Some(&1);
    if let Some(known) = w.known().filter(turns) {
        let [rows, columns] = known.shape[..] else { return Err(call.wrong("the weight is no matrix")) };
        let places = (0..rows * columns).map(|at| at % rows * columns + at / rows);
        let capture = Capture {
            name: Rc::clone(&known.name),
            trains: true,
            dtype: call.b.dtype,
            shape: vec![columns, rows],
            numbers: Rc::new(known.numbers.chosen(places)),
        };
        return Ok(Argument::Value(call.b.capture(capture)));
    }
    let w = if is_turned { permuted(call, w, &[1, 0])? } else { w.clone() };
    call.b.tensor(&w)
}

/// `x w^T`
fn linear(call: &mut Call, x: &Value, w: &Value, is_turned: bool) -> Result<Value> {
    let outputs = w.shape()[usize::from(is_turned)];
    let shape = [&x.shape()[..x.rank() - 1], &[outputs]].concat();
    let arguments = vec![call.number(x)?, weight(call, w, is_turned)?, Absent];
    call.op("linear", "", arguments, &shape, x.element())
}

/// `x + term`, if the value `x`, input `at` of the operator, is that of the layer recorded last and the term a row that
/// can be its bias.
pub fn with_bias(call: &mut Call, at: usize, x: &Value, term: &Value) -> Result<Option<Value>> {
    let (Value::Computed(Computed { index, shape, .. }), Value::Known(known)) = (x, term) else { return Ok(None) };
    let is_used_once = call.node.inputs.get(at).is_some_and(|name| call.uses.get(name) == Some(&1));
    let is_last = call.b.recording.graph.nodes.last().is_some_and(|node| {
        node.op == "aten::linear" && node.outputs == [*index] && node.arguments.get(2) == Some(&Absent)
    });
    let is_row = shape.last().is_some_and(|&width| known.shape == [width]) && known.element.is_float();
    if !is_used_once || !is_last || !is_row {
        return Ok(None);
    }
    set_bias(call, known);
    Ok(Some(x.clone()))
}

/// Gives the layer recorded last a bias.
fn set_bias(call: &mut Call, known: &Known) {
    let capture = Capture {
        name: Rc::clone(&known.name),
        trains: !known.name.is_empty(),
        dtype: call.b.dtype,
        shape: known.shape.clone(),
        numbers: Rc::clone(&known.numbers),
    };
    let bias = Argument::Value(call.b.capture(capture));
    if let Some(node) = call.b.recording.graph.nodes.last_mut() {
        node.arguments[2] = bias;
    }
}

/// The shape of a product of tensors.
fn product_shape(call: &Call, a: &[usize], b: &[usize]) -> Result<Vec<usize>> {
    let wrong = || call.wrong(format!("a product of {a:?} and {b:?}"));
    let (row, column) = (a.len() == 1, b.len() == 1);
    let wide = |sizes: &[usize], is_row: bool| if is_row { [&[1], sizes].concat() } else { sizes.to_vec() };
    let (a2, b2) = (wide(a, row), if column { vec![b[0], 1] } else { b.to_vec() });
    let ([before_a @ .., m, k], [before_b @ .., k_b, n]) = (&a2[..], &b2[..]) else { return Err(wrong()) };
    let mut shape = broadcast(before_a, before_b).filter(|_| k == k_b).ok_or_else(wrong)?;
    shape.extend((!row).then_some(*m));
    shape.extend((!column).then_some(*n));
    Ok(shape)
}

fn matmul(call: &mut Call) -> Outputs {
    let (a, b) = (call.input(0)?, call.input(1)?);
    let shape = product_shape(call, a.shape(), b.shape())?;
    if a.element().is_integer() || b.element().is_integer() {
        return Err(call.refuse("a product of integers"));
    }
    if b.known().is_some() && b.rank() == 2 && a.rank() >= 2 && a.known().is_none() {
        return Ok(vec![linear(call, &a, &b, true)?]);
    }
    let arguments = vec![call.number(&a)?, call.number(&b)?];
    Ok(vec![call.op("matmul", "", arguments, &shape, a.element())?])
}

/// `alpha a b + beta c`
fn gemm(call: &mut Call) -> Outputs {
    let (a, b, c) = (call.input(0)?, call.input(1)?, call.optional(2));
    let (alpha, beta) = (call.float("alpha", 1.0)?, call.float("beta", 1.0)?);
    let (turns_a, turns_b) = (call.integer("transA", 0)? != 0, call.integer("transB", 0)? != 0);
    if a.rank() != 2 || b.rank() != 2 {
        return Err(call.wrong(format!("matrices of shapes {:?} and {:?}", a.shape(), b.shape())));
    }
    let a = if turns_a { permuted(call, &a, &[1, 0])? } else { a };
    let turned_b = if turns_b { vec![b.shape()[1], b.shape()[0]] } else { b.shape().to_vec() };
    let shape = product_shape(call, a.shape(), &turned_b)?;
    let value = linear(call, &a, &b, !turns_b)?;
    let row = c
        .as_ref()
        .and_then(Value::known)
        .filter(|known| known.element.is_float() && (known.shape == shape[1..] || known.shape == [1, shape[1]]));
    if let (Some(row), true) = (row, alpha == 1.0 && beta == 1.0) {
        set_bias(call, &Known { shape: vec![shape[1]], ..row.clone() });
        return Ok(vec![value]);
    }
    let value = call.affine(&value, alpha, 0.0)?;
    let Some(c) = c else { return Ok(vec![value]) };
    let c = if beta == 1.0 { c } else { call.mul(&c, &number(beta))? };
    Ok(vec![call.add(&value, &c)?])
}

fn einsum(call: &mut Call) -> Outputs {
    let equation: String = call.text("equation", "")?.chars().filter(|each| !each.is_whitespace()).collect();
    if equation.contains('.') || !equation.is_ascii() {
        return Err(call.refuse(format!("the equation {}", crate::text::name(&equation))));
    }
    let inputs = call.all_inputs()?;
    let (terms, output) = match equation.split_once("->") {
        Some((terms, output)) => (terms, output.to_owned()),
        None => (equation.as_str(), once(&equation)),
    };
    let terms: Vec<&[u8]> = terms.split(',').map(str::as_bytes).collect();
    let fits = terms.len() == inputs.len() && terms.iter().zip(&inputs).all(|(term, input)| term.len() == input.rank());
    if !fits {
        return Err(call.wrong(format!("the equation {} for other tensors", crate::text::name(&equation))));
    }
    let size = |letter: u8| {
        let found = terms
            .iter()
            .zip(&inputs)
            .find_map(|(term, input)| term.iter().position(|&each| each == letter).map(|at| input.shape()[at]));
        found.ok_or_else(|| call.wrong(format!("the letter {} of no tensor", char::from(letter))))
    };
    let shape = output.bytes().map(size).collect::<Result<Vec<_>>>()?;
    let mut tensors = Vec::new();
    for input in &inputs {
        let Argument::Value(index) = call.number(input)? else { return Err(call.refuse("this tensor")) };
        tensors.push(Some(index));
    }
    let arguments = vec![Text(equation.clone()), Values(tensors), Absent];
    Ok(vec![call.op("einsum", "", arguments, &shape, inputs[0].element())?])
}

/// The letters of an equation without result that appear once, in order of the alphabet.
fn once(terms: &str) -> String {
    let mut letters: Vec<char> = terms.chars().filter(char::is_ascii_alphabetic).collect();
    letters.sort_unstable();
    letters.chunk_by(|a, b| a == b).filter(|same| same.len() == 1).map(|same| same[0]).collect()
}
