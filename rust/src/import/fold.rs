//! Operators whose inputs are known: computed while a file is read, integers exactly.

use std::iter;

use super::known::{Element, Known, Numbers};
use crate::error::{Error, Result};
use crate::graph::View;
use crate::graph::view::{broadcast, checked_length};

/// Most elements of what is computed here: a mask of 2 000 by 2 000 has as many.
const MOST: usize = 1 << 22;

/// Refuses more elements than are computed here.
pub fn check_length(shape: &[usize]) -> Result<usize> {
    checked_length(shape, MOST)
}

/// The elements that a view of a dense tensor shows; their name stays where nothing is left out.
pub fn viewed(known: &Known, view: &View) -> Result<Known> {
    check_length(&view.sizes)?;
    let name = if view.len() == known.count() { known.name.clone() } else { "".into() };
    let numbers = known.numbers.chosen(view.offsets());
    Ok(Known { name, ..Known::new(known.element, &view.sizes, numbers) })
}

/// The elements at these places of a tensor.
pub fn chosen(known: &Known, shape: &[usize], places: impl Iterator<Item = usize>) -> Result<Known> {
    check_length(shape)?;
    Ok(Known::new(known.element, shape, known.numbers.chosen(places)))
}

/// Tensors of one type, concatenated along an axis.
pub fn joined(parts: &[&Known], axis: usize, shape: &[usize]) -> Result<Known> {
    check_length(shape)?;
    let outer: usize = shape[..axis].iter().product();
    let block = |known: &Known| known.shape[axis..].iter().product::<usize>();
    let places =
        |at: usize| parts.iter().flat_map(move |known| (0..block(known)).map(move |i| (*known, at * block(known) + i)));
    let all = (0..outer).flat_map(places);
    let element = parts[0].element;
    let numbers = match element.is_float() {
        true => Numbers::Floats(all.map(|(known, at)| known.numbers.float(at)).collect()),
        false => Numbers::Integers(all.map(|(known, at)| integer(&known.numbers, at)).collect()),
    };
    Ok(Known::new(element, shape, numbers))
}

/// As an integer, cut off towards 0.
fn integer(numbers: &Numbers, at: usize) -> i64 {
    match numbers {
        Numbers::Integers(list) => list[at],
        Numbers::Floats(list) => list[at] as i64,
    }
}

/// As elements of another type.
pub fn cast(known: &Known, to: Element) -> Known {
    let all = 0..known.count();
    let numbers = match (&*known.numbers, to) {
        (numbers, to) if to.is_float() => Numbers::Floats(all.map(|at| to.rounded(numbers.float(at))).collect()),
        (Numbers::Floats(list), Element::Bool) => {
            Numbers::Integers(list.iter().map(|&x| i64::from(x != 0.0)).collect())
        }
        (numbers, to) => Numbers::Integers(all.map(|at| to.wrapped(integer(numbers, at))).collect()),
    };
    Known { name: known.name.clone(), ..Known::new(to, &known.shape, numbers) }
}

/// An operator element by element on tensors that broadcast; none: it is not computed here.
pub fn elementwise(operator: &str, inputs: &[&Known]) -> Result<Option<Known>> {
    let last = inputs.last().ok_or_else(|| Error::Internal(format!("{operator} of nothing")))?;
    // The power is of the type of its base. Where gives the type of its last operand; elsewhere all have the same.
    let typed = if operator == "Pow" { inputs[0] } else { last };
    if typed.element.is_integer() && last.element.is_float() {
        return Ok(None);
    }
    let both = |shape: Vec<usize>, known: &&Known| broadcast(&shape, &known.shape);
    let Some(shape) = inputs.iter().try_fold(Vec::new(), both) else { return Ok(None) };
    check_length(&shape)?;
    let views: Option<Vec<View>> = inputs.iter().map(|known| View::contiguous(&known.shape).expand(&shape)).collect();
    let Some(views) = views else { return Ok(None) };
    let places: Vec<Vec<usize>> = views.iter().map(|view| view.offsets().collect()).collect();
    let count: usize = shape.iter().product();
    let floats = |at: usize| iter::zip(inputs, &places).map(move |(known, places)| known.numbers.float(places[at]));
    let integers =
        |at: usize| iter::zip(inputs, &places).map(move |(known, places)| integer(&known.numbers, places[at]));
    let is_mask = matches!(
        operator,
        "Equal" | "Less" | "Greater" | "LessOrEqual" | "GreaterOrEqual" | "And" | "Or" | "Xor" | "Not"
    );
    let element = if is_mask { Element::Bool } else { typed.element };
    let numbers = match (typed.element.is_float(), is_mask) {
        (true, false) => {
            let values: Option<Vec<f64>> =
                (0..count).map(|at| of_floats(operator, &floats(at).collect::<Vec<_>>())).collect();
            values.map(|values| Numbers::Floats(values.into_iter().map(|value| element.rounded(value)).collect()))
        }
        (true, true) => {
            let values: Option<Vec<i64>> =
                (0..count).map(|at| comparison(operator, &floats(at).collect::<Vec<_>>())).collect();
            values.map(Numbers::Integers)
        }
        (false, _) => {
            let value = |at| of_integers(operator, &integers(at).collect::<Vec<_>>());
            let values: Option<Vec<i64>> = (0..count).map(value).collect();
            values.map(|values| Numbers::Integers(values.into_iter().map(|value| element.wrapped(value)).collect()))
        }
    };
    Ok(numbers.map(|numbers| Known::new(element, &shape, numbers)))
}

fn of_floats(operator: &str, x: &[f64]) -> Option<f64> {
    Some(match (operator, x) {
        ("Neg", [a]) => -a,
        ("Abs", [a]) => a.abs(),
        ("Sqrt", [a]) => a.sqrt(),
        ("Exp", [a]) => a.exp(),
        ("Log", [a]) => a.ln(),
        ("Reciprocal", [a]) => 1.0 / a,
        ("Floor", [a]) => a.floor(),
        ("Ceil", [a]) => a.ceil(),
        ("Round", [a]) => a.round_ties_even(),
        ("Sign", [a]) if *a == 0.0 || a.is_nan() => *a,
        ("Sign", [a]) => a.signum(),
        ("Sin", [a]) => a.sin(),
        ("Cos", [a]) => a.cos(),
        ("Add", [a, b]) => a + b,
        ("Sub", [a, b]) => a - b,
        ("Mul", [a, b]) => a * b,
        ("Div", [a, b]) => a / b,
        ("Pow", [a, b]) => a.powf(*b),
        ("Max", [a, b]) => {
            if a.is_nan() || a > b {
                *a
            } else {
                *b
            }
        }
        ("Min", [a, b]) => {
            if a.is_nan() || a < b {
                *a
            } else {
                *b
            }
        }
        ("Where", [mask, a, b]) => {
            if *mask != 0.0 {
                *a
            } else {
                *b
            }
        }
        _ => return None,
    })
}

fn comparison(operator: &str, x: &[f64]) -> Option<i64> {
    Some(i64::from(match (operator, x) {
        ("Equal", [a, b]) => a == b,
        ("Less", [a, b]) => a < b,
        ("Greater", [a, b]) => a > b,
        ("LessOrEqual", [a, b]) => a <= b,
        ("GreaterOrEqual", [a, b]) => a >= b,
        _ => return None,
    }))
}

fn of_integers(operator: &str, x: &[i64]) -> Option<i64> {
    let is = i64::from;
    Some(match (operator, x) {
        ("Neg", [a]) => a.wrapping_neg(),
        ("Abs", [a]) => a.wrapping_abs(),
        ("Sign", [a]) => a.signum(),
        ("Not", [a]) => is(*a == 0),
        ("BitwiseNot", [a]) => !a,
        ("Add", [a, b]) => a.wrapping_add(*b),
        ("Sub", [a, b]) => a.wrapping_sub(*b),
        ("Mul", [a, b]) => a.wrapping_mul(*b),
        ("Div", [a, b]) => a.checked_div(*b)?,
        ("Mod", [a, b]) => {
            a.checked_rem(*b).map(|rest| if rest != 0 && (rest < 0) != (*b < 0) { rest + b } else { rest })?
        }
        ("Pow", [a, b]) => a.wrapping_pow(u32::try_from(*b).ok()?),
        ("Max", [a, b]) => *a.max(b),
        ("Min", [a, b]) => *a.min(b),
        ("Equal", [a, b]) => is(a == b),
        ("Less", [a, b]) => is(a < b),
        ("Greater", [a, b]) => is(a > b),
        ("LessOrEqual", [a, b]) => is(a <= b),
        ("GreaterOrEqual", [a, b]) => is(a >= b),
        ("And", [a, b]) => is(*a != 0 && *b != 0),
        ("Or", [a, b]) => is(*a != 0 || *b != 0),
        ("Xor", [a, b]) => is((*a != 0) != (*b != 0)),
        ("BitwiseAnd", [a, b]) => a & b,
        ("BitwiseOr", [a, b]) => a | b,
        ("BitwiseXor", [a, b]) => a ^ b,
        ("BitShiftLeft", [a, b]) => u32::try_from(*b).ok().and_then(|b| a.checked_shl(b)).unwrap_or(0),
        // Of a negative number the sign moves in; a number of bits that is none moves all of them.
        ("BitShiftRight", [a, b]) => a >> if (0..64).contains(b) { *b } else { 63 },
        ("Where", [mask, a, b]) => {
            if *mask != 0 {
                *a
            } else {
                *b
            }
        }
        _ => return None,
    })
}

/// A reduction of integers over axes, which stay with one element; none: it is not computed here.
pub fn reduced(operator: &str, known: &Known, axes: &[usize]) -> Result<Option<Known>> {
    let Numbers::Integers(list) = &*known.numbers else { return Ok(None) };
    let mut shape = known.shape.clone();
    axes.iter().for_each(|&axis| shape[axis] = 1);
    let mut target = View::contiguous(&shape);
    axes.iter().for_each(|&axis| target.strides[axis] = 0);
    target.sizes.clone_from(&known.shape);
    check_length(&known.shape)?;
    let (first, combine): (i64, fn(i64, i64) -> i64) = match operator {
        "ReduceSum" => (0, i64::wrapping_add),
        "ReduceProd" => (1, i64::wrapping_mul),
        "ReduceMax" => (i64::MIN, i64::max),
        "ReduceMin" => (i64::MAX, i64::min),
        _ => return Ok(None),
    };
    let mut values = vec![first; check_length(&shape)?];
    for (&value, place) in list.iter().zip(target.offsets()) {
        values[place] = combine(values[place], value);
    }
    let values = values.into_iter().map(|value| known.element.wrapped(value)).collect();
    Ok(Some(Known::new(known.element, &shape, Numbers::Integers(values))))
}
