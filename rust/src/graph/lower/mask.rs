//! Masks: tests of numbers, and logic of masks.

use super::compare::EXACT;
use super::{Call, Lowered, Operator};
use crate::error::Result;
use crate::graph::Function;
use crate::graph::program::{Kind, Tensor, Ties};

pub(super) const TABLE: &[Operator] = &[
    Operator { name: "logical_and", does: "mask of both", lower: |call| both(call, Function::And) },
    Operator { name: "logical_or", does: "mask of either", lower: |call| both(call, Function::Or) },
    Operator { name: "logical_not", does: "mask of `x == 0`", lower: logical_not },
    Operator { name: "logical_xor", does: "mask of one but not both", lower: logical_xor },
    Operator { name: "bitwise_and", does: "of masks: both", lower: |call| bitwise(call, Function::And) },
    Operator { name: "bitwise_or", does: "of masks: either", lower: |call| bitwise(call, Function::Or) },
    Operator {
        name: "bitwise_xor",
        does: "of masks: one but not both",
        lower: |call| bitwise(call, Function::NotEqual),
    },
    Operator { name: "__and__", does: "of masks: both", lower: |call| bitwise(call, Function::And) },
    Operator { name: "__or__", does: "of masks: either", lower: |call| bitwise(call, Function::Or) },
    Operator { name: "__xor__", does: "of masks: one but not both", lower: |call| bitwise(call, Function::NotEqual) },
    Operator { name: "bitwise_not", does: "of a mask: its opposite", lower: bitwise_not },
    Operator { name: "isnan", does: "mask of what is no number", lower: isnan },
    Operator { name: "isinf", does: "mask of infinities", lower: isinf },
    Operator { name: "isfinite", does: "mask of finite numbers", lower: isfinite },
    Operator { name: "nan_to_num", does: "`x`, other numbers for NaN and infinities", lower: nan_to_num },
    Operator { name: "any", does: "mask: any element over dimensions is not 0", lower: any },
    Operator { name: "count_nonzero", does: "how many elements over dimensions are not 0", lower: count_nonzero },
    Operator { name: "all", does: "mask: no element over dimensions is 0", lower: all },
];

fn both(call: &mut Call, function: Function) -> Lowered {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    Ok(vec![call.map(function, &[&a, &b])?])
}

/// Whether each element is not 0.
pub(super) fn truth(call: &mut Call, x: &Tensor) -> Result<Tensor> {
    if x.kind == Kind::Mask { Ok(x.clone()) } else { call.map_number(Function::NotEqual, x, 0.0) }
}

fn opposite(call: &mut Call, x: &Tensor) -> Result<Tensor> {
    call.map_number(Function::Equal, x, 0.0)
}

fn logical_not(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    Ok(vec![opposite(call, &x)?])
}

fn logical_xor(call: &mut Call) -> Lowered {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let (a, b) = (truth(call, &a)?, truth(call, &b)?);
    Ok(vec![call.map(Function::NotEqual, &[&a, &b])?])
}

/// Of integers, LibTorch's own digits are needed.
fn mask_at(call: &mut Call, position: usize) -> Result<Tensor> {
    let x = call.tensor(position)?;
    if x.kind == Kind::Mask { Ok(x) } else { Err(call.refuse("takes something else than masks")) }
}

fn bitwise(call: &mut Call, function: Function) -> Lowered {
    let (a, b) = (mask_at(call, 0)?, mask_at(call, 1)?);
    Ok(vec![call.map(function, &[&a, &b])?])
}

fn bitwise_not(call: &mut Call) -> Lowered {
    let x = mask_at(call, 0)?;
    Ok(vec![opposite(call, &x)?])
}

fn is_nan(call: &mut Call, x: &Tensor) -> Result<Tensor> {
    call.map(Function::NotEqual, &[x, x])
}

fn isnan(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    Ok(vec![is_nan(call, &x)?])
}

fn isinf(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let size = call.map(Function::Abs, &[&x])?;
    Ok(vec![call.map_number(Function::Equal, &size, f64::INFINITY)?])
}

/// A NaN is not below infinity.
fn isfinite(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let size = call.map(Function::Abs, &[&x])?;
    Ok(vec![call.map_number(Function::Less, &size, f64::INFINITY)?])
}

/// `nan_to_num(x, nan, posinf, neginf)`: 0 and the greatest finite numbers where none are given.
fn nan_to_num(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let greatest = call.greatest_number();
    let [nan, up, down] = [call.number_or(1, 0.0)?, call.number_or(2, greatest)?, call.number_or(3, -greatest)?];
    if [up, down] == [greatest, -greatest] {
        return Ok(vec![call.map_number(Function::FiniteOr, &x, nan)?]);
    }
    let (is, number) = (is_nan(call, &x)?, call.literal(nan)?);
    let mut value = x.clone();
    for (infinity, number) in [(f64::INFINITY, up), (f64::NEG_INFINITY, down)] {
        let (is, number) = (call.map_number(Function::Equal, &x, infinity)?, call.literal(number)?);
        value = call.map(Function::Where, &[&is, &number, &value])?;
    }
    Ok(vec![call.map(Function::Where, &[&is, &number, &value])?])
}

/// Whether the greatest of `truths` over the call's dimensions is 1.
fn any_of(call: &mut Call, truths: &Tensor) -> Result<Tensor> {
    let rank = truths.view.rank();
    let dims = if call.overload().is_empty() { (0..rank).collect() } else { call.dims(1, rank)? };
    let keep = !call.overload().is_empty() && call.flag(2)?;
    let greatest = call.max(truths, &dims, keep, Ties::Even)?;
    call.map_number(Function::NotEqual, &greatest, 0.0)
}

/// How many of `truths` over `dims` are 1; a number that float32 holds.
pub(super) fn counted(call: &mut Call, truths: &Tensor, dims: &[usize], keep: bool) -> Result<Tensor> {
    let most: usize = dims.iter().map(|&dim| truths.view.sizes[dim]).product();
    if most as u64 >= EXACT {
        return Err(call.refuse("counts more elements than float32 has whole numbers"));
    }
    Ok(Tensor { kind: Kind::Count, ..call.sum(truths, dims, keep)? })
}

fn count_nonzero(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let truths = truth(call, &x)?;
    let rank = x.view.rank();
    let dims = if call.is_none(1) { (0..rank).collect() } else { call.dims(1, rank)? };
    Ok(vec![counted(call, &truths, &dims, false)?])
}

fn any(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let truths = truth(call, &x)?;
    Ok(vec![any_of(call, &truths)?])
}

fn all(call: &mut Call) -> Lowered {
    let x = call.tensor(0)?;
    let falsehoods = opposite(call, &x)?;
    let any = any_of(call, &falsehoods)?;
    Ok(vec![opposite(call, &any)?])
}
