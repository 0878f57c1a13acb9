//! Operators of the domain `ai.onnx.ml` for tables, as scikit-learn's exporters write them.

use super::super::call::{Call, Outputs, float_of, integers};
use super::super::known::{Element, Known};
use super::super::value::Value;
use super::elementwise::cast_to;
use super::{Operator, all, but};
use crate::error::Result;
use crate::graph::ObservedArgument::{Bool, Float, Integer, None as Absent};

pub const TABLE: &[Operator] = &[
    but("ArrayFeatureExtractor", "indices computed from the events", extract),
    all("Binarizer", binarizer),
    all("FeatureVectorizer", |call| {
        let parts = call.all_inputs()?;
        Ok(vec![super::shape::joined(call, &parts, 1)?])
    }),
    but("LinearClassifier", "labels", |call| Ok(vec![linear(call)?])),
    all("LinearRegressor", |call| Ok(vec![linear(call)?])),
    all("Normalizer", normalizer),
    all("Scaler", scaler),
    all("ZipMap", |call| Ok(vec![call.input(0)?])),
];

/// Columns that known indices choose.
fn extract(call: &mut Call) -> Outputs {
    let x = call.input(0)?;
    let Some(axis) = x.rank().checked_sub(1) else { return Err(call.wrong("the input has no columns")) };
    let places = call.known_integers(1)?;
    if places.iter().any(|&place| place < 0 || place as usize >= x.shape()[axis]) {
        return Err(call.wrong(format!("columns {places:?} of {}", x.shape()[axis])));
    }
    Ok(vec![super::chosen::selected(call, &x, axis, places)?])
}

/// 1 above a threshold, else 0.
fn binarizer(call: &mut Call) -> Outputs {
    let (x, threshold) = (call.input(0)?, call.float("threshold", 0.0)?);
    let tensor = call.number(&x)?;
    let mask = call.op("gt", "Scalar", vec![tensor, Float(threshold)], x.shape(), Element::Bool)?;
    let numbers = call.number(&mask)?;
    Ok(vec![call.op("clone", "", vec![numbers, Absent], x.shape(), float_of(x.element()))?])
}

/// Numbers for each column, or one for all of them, as a row.
fn row(call: &Call, name: &str, columns: usize, otherwise: f64) -> Result<Value> {
    let list = call.floats(name)?.unwrap_or_else(|| vec![otherwise]);
    match list.len() == 1 || list.len() == columns {
        true => Ok(Value::Known(Known::floats(&[list.len()], list))),
        false => Err(call.wrong(format!("{} numbers {name} for {columns} columns", list.len()))),
    }
}

/// The first input as float32: what tables compute has that type, whatever its columns have.
pub fn columns(call: &mut Call) -> Result<Value> {
    let x = call.input(0)?;
    cast_to(call, &x, Element::Float32)
}

/// `(x - offset) scale`
fn scaler(call: &mut Call) -> Outputs {
    let x = columns(call)?;
    let columns = x.shape().last().copied().unwrap_or(0);
    let (offset, scale) = (row(call, "offset", columns, 0.0)?, row(call, "scale", columns, 1.0)?);
    let centred = call.sub(&x, &offset)?;
    Ok(vec![call.mul(&centred, &scale)?])
}

/// Rows over their length, which is 1 where it would be 0.
fn normalizer(call: &mut Call) -> Outputs {
    let x = columns(call)?;
    let Some(axis) = x.rank().checked_sub(1) else { return Err(call.wrong("the input has no rows")) };
    let size = call.like("abs", &x, vec![])?;
    let mut shape = x.shape().to_vec();
    shape[axis] = 1;
    let (op, overload, tensor, more) = match call.text("norm", "MAX")? {
        "L1" => ("sum", "dim_IntList", call.number(&size)?, vec![Absent]),
        "L2" => (
            "sum",
            "dim_IntList",
            {
                let square = call.like("square", &x, vec![])?;
                call.number(&square)?
            },
            vec![Absent],
        ),
        "MAX" => ("amax", "", call.number(&x)?, vec![]),
        other => return Err(call.wrong(format!("norm {}", crate::text::name(other)))),
    };
    let arguments = [vec![tensor, integers(&[axis]), Bool(true)], more].concat();
    let mut length = call.op(op, overload, arguments, &shape, Element::Float32)?;
    if call.text("norm", "MAX")? == "L2" {
        length = call.like("sqrt", &length, vec![])?;
    }
    let (zero, one) = (super::super::call::number(0.0), super::super::call::number(1.0));
    let is_zero = call.elementwise("eq", "Scalar", &[&length, &zero], vec![], Element::Bool)?;
    let length = call.elementwise("where", "self", &[&is_zero, &one, &length], vec![], Element::Float32)?;
    Ok(vec![call.div(&x, &length)?])
}

/// Coefficients [targets, columns] times the columns, plus intercepts, and what is done then.
fn linear(call: &mut Call) -> Result<Value> {
    let x = columns(call)?;
    let columns = x.shape().last().copied().unwrap_or(0);
    let list = call.floats("coefficients")?.ok_or_else(|| call.wrong("there are no coefficients"))?;
    let targets = list.len() / columns.max(1);
    if targets * columns != list.len() || targets == 0 || x.rank() != 2 {
        return Err(call.wrong(format!("{} coefficients for {columns} columns", list.len())));
    }
    let own = call.node.outputs.last().copied().unwrap_or_default();
    let name = |part: &str| format!("{own}.{part}");
    let weight = Known { name: name("weight").into(), ..Known::floats(&[targets, columns], list) };
    let mut arguments =
        vec![call.number(&x)?, super::layers::parameter(call, &Value::Known(weight), &[targets, columns])?];
    let intercepts = call.floats("intercepts")?;
    arguments.push(match intercepts {
        Some(list) if list.len() == targets => {
            let bias = Known { name: name("bias").into(), ..Known::floats(&[targets], list) };
            super::layers::parameter(call, &Value::Known(bias), &[targets])?
        }
        Some(_) => return Err(call.wrong("another number of intercepts")),
        None => Absent,
    });
    let value = call.op("linear", "", arguments, &[x.shape()[0], targets], Element::Float32)?;
    transformed(call, &value)
}

/// Scores after `post_transform`.
pub fn transformed(call: &mut Call, scores: &Value) -> Result<Value> {
    match call.text("post_transform", "NONE")? {
        "NONE" => Ok(scores.clone()),
        "LOGISTIC" => call.like("sigmoid", scores, vec![]),
        "SOFTMAX" => call.like("softmax", scores, vec![Integer(1), Absent]),
        other => {
            let other = crate::text::name(other);
            Err(call.refuse(format!("the post_transform {other}")))
        }
    }
}
