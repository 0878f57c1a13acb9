//! Operators of the domain `ai.onnx.ml` that replace numbers by others: missing ones, categories, labels.

use super::super::call::{Call, Outputs, number};
use super::super::known::{Element, Known};
use super::super::value::Value;
use super::classic::columns;
use super::elementwise::cast_to;
use super::shape::reshaped;
use super::{Operator, but};
use crate::error::Result;
use crate::graph::ObservedArgument::{Bool, None as Absent};
use crate::graph::view::checked_length;
use crate::onnx::read::Attribute;

pub const TABLE: &[Operator] = &[
    but("Imputer", "texts", imputer),
    but("LabelEncoder", "texts", label_encoder),
    but("OneHotEncoder", "texts", one_hot_encoder),
];

/// Most categories of an operator.
const MOST: usize = 1 << 16;

/// Numbers of one of these attributes, which all hold a list.
fn numbers(call: &Call, names: [&str; 3]) -> Result<Option<(Vec<f64>, Element)>> {
    let [floats, integers, tensor] = names;
    if let Some(list) = call.floats(floats)? {
        return Ok(Some((list, Element::Float32)));
    }
    if let Some(list) = call.integers(integers)? {
        return Ok(Some((list.into_iter().map(|number| number as f64).collect(), Element::Int64)));
    }
    let Some(known) = call.tensor(tensor)? else { return Ok(None) };
    Ok(Some(((0..known.count()).map(|at| known.numbers.float(at)).collect(), known.element)))
}

/// Whether elements are that number, which may be NaN.
fn is(call: &mut Call, x: &Value, wanted: f64) -> Result<Value> {
    match wanted.is_nan() {
        true => {
            let tensor = call.number(x)?;
            call.op("isnan", "", vec![tensor], x.shape(), Element::Bool)
        }
        false => call.elementwise("eq", "Scalar", &[x, &number(wanted)], vec![], Element::Bool),
    }
}

/// Another number in the place of one: those that were not measured.
fn imputer(call: &mut Call) -> Outputs {
    let x = columns(call)?;
    let width = x.shape().last().copied().unwrap_or(0);
    let whole =
        call.integers("imputed_value_int64s")?.map(|list| list.into_iter().map(|number| number as f64).collect());
    let is_whole = whole.is_some();
    let list: Vec<f64> = whole.or(call.floats("imputed_value_floats")?).unwrap_or_default();
    let (float, integer) = (call.float("replaced_value_float", 0.0)?, call.integer("replaced_value_int64", 0)?);
    if list.len() != 1 && list.len() != width {
        return Err(call.wrong(format!("{} numbers for {width} columns", list.len())));
    }
    let missing = is(call, &x, if is_whole { integer as f64 } else { float })?;
    let replacement = Value::Known(Known::floats(&[list.len()], list));
    Ok(vec![call.elementwise("where", "self", &[&missing, &replacement, &x], vec![], Element::Float32)?])
}

/// Which of the keys each element is, along a new last dimension: numbers 0 and 1 [..., keys].
fn chosen(call: &mut Call, x: &Value, keys: &[f64]) -> Result<Value> {
    checked_length(&[keys.len()], MOST)?;
    let mut ordered: Vec<f64> = keys.iter().copied().filter(|key| !key.is_nan()).collect();
    ordered.sort_by(f64::total_cmp);
    if let Some(pair) = ordered.windows(2).find(|pair| pair[0] as f32 == pair[1] as f32) {
        return Err(call.refuse(format!("the keys {} and {}, which float32 does not tell apart", pair[0], pair[1])));
    }
    if keys.iter().any(|key| key.is_finite() && f64::from(*key as f32) != *key && key.fract() == 0.0) {
        return Err(call.refuse("an integer as a key that float32 does not have"));
    }
    let shape = [x.shape(), &[1]].concat();
    let column = reshaped(call, x, &shape)?;
    let list = Value::Known(Known::floats(&[keys.len()], keys.to_vec()));
    let mut found = call.elementwise("eq", "Tensor", &[&column, &list], vec![], Element::Bool)?;
    if keys.iter().any(|key| key.is_nan()) {
        let are_nan = keys.iter().map(|key| i64::from(key.is_nan())).collect();
        let are_nan = Value::Known(Known { element: Element::Bool, ..Known::integers(&[keys.len()], are_nan) });
        let missing = is(call, &column, f64::NAN)?;
        let both = call.elementwise("logical_and", "", &[&missing, &are_nan], vec![], Element::Bool)?;
        found = call.elementwise("logical_or", "", &[&found, &both], vec![], Element::Bool)?;
    }
    let tensor = call.b.tensor(&found)?;
    call.op("to", "", vec![tensor], found.shape(), Element::Float32)
}

/// Sums [...] over the last dimension.
fn sum(call: &mut Call, x: &Value) -> Result<Value> {
    let axis = x.rank() - 1;
    let arguments = vec![call.number(x)?, super::super::call::integers(&[axis]), Bool(false), Absent];
    let shape = x.shape()[..axis].to_vec();
    call.op("sum", "dim_IntList", arguments, &shape, Element::Float32)
}

/// A value for each key, another one for what is none of them.
fn label_encoder(call: &mut Call) -> Outputs {
    let x = call.input(0)?;
    let keys = numbers(call, ["keys_floats", "keys_int64s", "keys_tensor"])?;
    let values = numbers(call, ["values_floats", "values_int64s", "values_tensor"])?;
    let (Some((keys, _)), Some((values, element))) = (keys, values) else {
        return Err(call.refuse("a text as key or value"));
    };
    let [float, integer] = [call.float("default_float", -0.0)?, call.integer("default_int64", -1)? as f64];
    let otherwise = match call.tensor("default_tensor")? {
        Some(known) if known.count() == 1 => known.numbers.float(0),
        Some(_) => return Err(call.wrong("several defaults")),
        None if element.is_float() => float,
        None => integer,
    };
    if keys.len() != values.len() {
        return Err(call.wrong(format!("{} values for {} keys", values.len(), keys.len())));
    }
    let found = chosen(call, &x, &keys)?;
    let values = Value::Known(Known::floats(&[values.len()], values));
    // Each product but one is 0: their sum is the value itself.
    let is_key = call.mask(&found)?;
    let each = call.elementwise("where", "self", &[&is_key, &values, &number(0.0)], vec![], Element::Float32)?;
    let (value, count) = (sum(call, &each)?, sum(call, &found)?);
    let is_none = is(call, &count, 0.0)?;
    let value = call.elementwise("where", "self", &[&is_none, &number(otherwise), &value], vec![], Element::Float32)?;
    Ok(vec![cast_to(call, &value, if element.is_integer() { Element::Int64 } else { Element::Float32 })?])
}

/// For each category whether an element is it, as 0 and 1. What is none of them has only zeros if those are allowed, else NaN.
fn one_hot_encoder(call: &mut Call) -> Outputs {
    let x = columns(call)?;
    let categories = call.integers("cats_int64s")?.ok_or_else(|| call.refuse("categories that are texts"))?;
    let allows_others = call.integer("zeros", 1)? != 0;
    let whole = call.like("trunc", &x, vec![])?;
    let keys: Vec<f64> = categories.iter().map(|&category| category as f64).collect();
    let found = chosen(call, &whole, &keys)?;
    if allows_others {
        return Ok(vec![found]);
    }
    let count = sum(call, &found)?;
    let shape = [x.shape(), &[1]].concat();
    let count = reshaped(call, &count, &shape)?;
    let is_none = is(call, &count, 0.0)?;
    Ok(vec![call.elementwise("where", "self", &[&is_none, &number(f64::NAN), &found], vec![], Element::Float32)?])
}

impl Call<'_, '_> {
    /// A tensor that is an attribute.
    fn tensor(&self, name: &str) -> Result<Option<Known>> {
        match self.attribute(name) {
            None => Ok(None),
            Some(Attribute::Tensor(tensor)) => {
                Known::of(tensor, |_, _| Err(self.refuse("a table in another file"))).map(Some)
            }
            Some(_) => Err(self.wrong(format!("attribute {name} is no tensor"))),
        }
    }
}
