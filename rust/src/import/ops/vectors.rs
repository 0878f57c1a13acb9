//! Support vector machines of the domain `ai.onnx.ml`: kernels of an event and the support vectors, weighted and added.

use super::super::call::{Call, Outputs, integers};
use super::super::known::{Element, Known};
use super::super::value::Value;
use super::classic::{columns, transformed};
use super::shape::reshaped;
use super::{Operator, but};
use crate::error::Result;
use crate::graph::ObservedArgument::{Bool, Float, None as Absent};

pub const TABLE: &[Operator] = &[
    but("SVMClassifier", "labels; other than two classes with probabilities", classifier),
    but("SVMRegressor", "", regressor),
];

/// Sums [events] of the kernels with all support vectors times their coefficients, plus `rho`.
fn decision(call: &mut Call) -> Result<Value> {
    let x = columns(call)?;
    let [events, width] = x.shape()[..] else { return Err(call.wrong("the input has no columns")) };
    let coefficients = call.floats("coefficients")?.unwrap_or_default();
    let rho = call.floats("rho")?.unwrap_or_default();
    let [rho] = rho[..] else { return Err(call.wrong(format!("{} numbers rho instead of one", rho.len()))) };
    let vectors = call.floats("support_vectors")?.unwrap_or_default();
    let count = coefficients.len();
    let own = call.node.outputs.last().copied().unwrap_or_default();
    let named = |part: &str, shape: &[usize], list| Known {
        name: format!("{own}.{part}").into(),
        ..Known::floats(shape, list)
    };
    let kernels = match vectors.is_empty() && count == width {
        true => x,
        false if count > 0 && vectors.len() == count * width => {
            let vectors = named("support_vectors", &[count, width], vectors);
            kernels(call, &x, vectors, [events, count, width])?
        }
        false => {
            return Err(
                call.wrong(format!("{} numbers of {count} support vectors with {width} columns", vectors.len()))
            );
        }
    };
    let weights = Value::Known(named("coefficients", &[count, 1], coefficients));
    let arguments = vec![call.number(&kernels)?, super::layers::parameter(call, &weights, &[count, 1])?];
    let value = call.op("matmul", "", arguments, &[events, 1], Element::Float32)?;
    call.affine(&value, 1.0, rho)
}

/// Kernels [events, vectors].
fn kernels(call: &mut Call, x: &Value, vectors: Known, [events, count, width]: [usize; 3]) -> Result<Value> {
    let [gamma, offset, degree] = match call.floats("kernel_params")?.as_deref() {
        Some([gamma, offset, degree]) => [*gamma, *offset, *degree],
        _ => [0.0, 0.0, 3.0],
    };
    let kind = call.text("kernel_type", "LINEAR")?.to_owned();
    if kind == "RBF" {
        let (x, vectors) =
            (reshaped(call, x, &[events, 1, width])?, Value::Known(Known { name: "".into(), ..vectors }));
        let difference = call.sub(&x, &vectors)?;
        let square = call.like("square", &difference, vec![])?;
        let arguments = vec![call.number(&square)?, integers(&[2]), Bool(false), Absent];
        let distance = call.op("sum", "dim_IntList", arguments, &[events, count], Element::Float32)?;
        let exponent = call.affine(&distance, -gamma, 0.0)?;
        return call.like("exp", &exponent, vec![]);
    }
    let turned: Vec<f64> =
        (0..width * count).map(|at| vectors.numbers.float(at % count * width + at / count)).collect();
    let turned = Value::Known(Known::floats(&[width, count], turned));
    let arguments = vec![call.number(x)?, call.b.tensor(&turned)?];
    let product = call.op("matmul", "", arguments, &[events, count], Element::Float32)?;
    if kind == "LINEAR" {
        return Ok(product);
    }
    let affine = call.affine(&product, gamma, offset)?;
    match kind.as_str() {
        "POLY" => call.like("pow", &affine, vec![Float(degree)]),
        "SIGMOID" => call.like("tanh", &affine, vec![]),
        other => Err(call.refuse(format!("the kernel {}", crate::text::name(other)))),
    }
}

fn regressor(call: &mut Call) -> Outputs {
    if call.integer("one_class", 0)? != 0 {
        return Err(call.refuse("the sign of a machine for one class"));
    }
    call.attribute("n_supports"); // which the coefficients tell
    let value = decision(call)?;
    Ok(vec![transformed(call, &value)?])
}

/// The probabilities of two classes (Platt 1999). Without them, programs disagree about the sign of the sum.
fn classifier(call: &mut Call) -> Outputs {
    let classes = call.integers("vectors_per_class")?.unwrap_or_default().len();
    if classes != 2 {
        return Err(call.refuse(format!("a machine of {classes} classes")));
    }
    let (slopes, offsets) = (call.floats("prob_a")?.unwrap_or_default(), call.floats("prob_b")?.unwrap_or_default());
    let ([slope], [offset]) = (&slopes[..], &offsets[..]) else {
        return Err(call.refuse("a machine without probabilities (scikit-learn: SVC(probability=True))"));
    };
    let (slope, offset) = (*slope, *offset);
    if call.text("post_transform", "NONE")? != "NONE" {
        return Err(call.refuse("a post_transform"));
    }
    let value = decision(call)?;
    let exponent = call.affine(&value, slope, offset)?;
    let opposite = call.like("neg", &exponent, vec![])?;
    let [first, second] = [call.like("sigmoid", &opposite, vec![])?, call.like("sigmoid", &exponent, vec![])?];
    Ok(vec![super::shape::joined(call, &[first, second], 1)?])
}
