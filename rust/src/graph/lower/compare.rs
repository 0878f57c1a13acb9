//! Comparisons, of integers exactly.

use super::{Call, Lowered};
use crate::error::Result;
use crate::graph::Function;
use crate::graph::program::{Digits, Kind, Tensor};

/// Integers below this in size are exact in float32, and no other integer rounds to one of them.
pub const EXACT: u64 = 1 << 24;

/// A comparison of two numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `a < b`
    Less,
    /// `a <= b`
    LessEqual,
    /// `a == b`
    Equal,
    /// `a != b`
    NotEqual,
}

impl Comparison {
    fn function(self) -> Function {
        match self {
            Comparison::Less => Function::Less,
            Comparison::LessEqual => Function::LessEqual,
            Comparison::Equal => Function::Equal,
            Comparison::NotEqual => Function::NotEqual,
        }
    }
}

/// An operand that is an integer.
enum Integer {
    Tensor(Tensor),
    /// Numbers that are whole.
    Count(Tensor),
    Literal(i64),
}

impl Integer {
    /// The argument at `position`; `None` for one that floating point compares exactly.
    fn new(call: &mut Call, position: usize) -> Result<Option<Integer>> {
        if call.is_integer(position) {
            let value = call.integer(position)?;
            return Ok((value.unsigned_abs() >= EXACT).then_some(Integer::Literal(value)));
        }
        if call.is_number(position) {
            return Ok(None);
        }
        let tensor = call.tensor(position)?;
        Ok(match tensor.kind {
            Kind::Index => Some(Integer::Tensor(tensor)),
            Kind::Count => Some(Integer::Count(tensor)),
            Kind::Number | Kind::Mask => None,
        })
    }

    fn digits(&self, call: &mut Call, digits: Digits) -> Result<Tensor> {
        match self {
            Integer::Tensor(tensor) => call.digits(tensor, digits),
            Integer::Count(tensor) => parts_of(call, tensor, digits),
            Integer::Literal(value) => call.literal(digits.of(*value)),
        }
    }
}

/// The same parts of whole numbers: dividing by powers of two and taking off the leading digits rounds nothing.
fn parts_of(call: &mut Call, x: &Tensor, digits: Digits) -> Result<Tensor> {
    const STEP: f64 = (1 << 22) as f64;
    let above = |call: &mut Call, x: &Tensor| {
        let x = call.scaled(x, 1.0 / STEP)?;
        call.map(Function::Floor, &[&x])
    };
    let rest = |call: &mut Call, x: &Tensor, above: &Tensor| {
        let above = call.scaled(above, STEP)?;
        call.map(Function::Sub, &[x, &above])
    };
    let middle = above(call, x)?;
    match digits {
        Digits::All => Ok(x.clone()),
        Digits::Bottom => rest(call, x, &middle),
        Digits::Middle => {
            let top = above(call, &middle)?;
            rest(call, &middle, &top)
        }
        Digits::Top => above(call, &middle),
    }
}

/// `a ? b`, or `b ? a` if `swapped`.
pub fn compared(call: &mut Call, comparison: Comparison, swapped: bool) -> Lowered {
    let [a, b] = if swapped { [1, 0] } else { [0, 1] };
    match (Integer::new(call, a)?, Integer::new(call, b)?) {
        (Some(Integer::Count(a)), Some(Integer::Count(b))) => {
            return Ok(vec![call.map(comparison.function(), &[&a, &b])?]);
        }
        (Some(a), Some(b)) => return Ok(vec![exactly(call, comparison, &a, &b)?]),
        _ => (),
    }
    let (a, b) = (call.tensor(a)?, call.tensor(b)?);
    Ok(vec![call.map(comparison.function(), &[&a, &b])?])
}

/// Part by part, from the lowest up: a higher part decides unless it is the same in both.
fn exactly(call: &mut Call, comparison: Comparison, a: &Integer, b: &Integer) -> Result<Tensor> {
    let mut answer: Option<Tensor> = None;
    for digits in Digits::PARTS.into_iter().rev() {
        let (a, b) = (a.digits(call, digits)?, b.digits(call, digits)?);
        answer = Some(match (answer, comparison) {
            (None, _) => call.map(comparison.function(), &[&a, &b])?,
            (Some(lower), Comparison::Equal) => {
                let same = call.map(Function::Equal, &[&a, &b])?;
                call.map(Function::And, &[&same, &lower])?
            }
            (Some(lower), Comparison::NotEqual) => {
                let differ = call.map(Function::NotEqual, &[&a, &b])?;
                call.map(Function::Or, &[&differ, &lower])?
            }
            (Some(lower), _) => {
                let (less, same) = (call.map(Function::Less, &[&a, &b])?, call.map(Function::Equal, &[&a, &b])?);
                let undecided = call.map(Function::And, &[&same, &lower])?;
                call.map(Function::Or, &[&less, &undecided])?
            }
        });
    }
    answer.ok_or_else(|| call.refuse("compares nothing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_an_integer_are_exact_and_ordered() {
        let near = [0, 1, 3, 1 << 22, 1 << 24, 1 << 44, 1 << 53, i64::MAX];
        let mut values: Vec<i64> = near.iter().flat_map(|&n| [n, n - 1, -n, 1 - n]).chain([i64::MIN]).collect();
        values.sort_unstable();
        values.dedup();
        let parts = |value: i64| Digits::PARTS.map(|digits| digits.of(value) as f32);
        for value in &values {
            assert!(Digits::PARTS.iter().all(|digits| f64::from(digits.of(*value) as f32) == digits.of(*value)));
        }
        assert!(values.windows(2).all(|pair| parts(pair[0]) < parts(pair[1])));
    }
}
