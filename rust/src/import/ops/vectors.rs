//! Support vector machines of the domain `ai.onnx.ml`: kernels of an event and the support vectors, weighted and added.

use super::super::call::{Call, Outputs, integers, number};
use super::super::fold;
use super::super::known::{Element, Known};
use super::super::value::Value;
use super::chosen::selected;
use super::classic::{columns, transformed};
use super::shape::{expanded, joined, reshaped, sliced};
use super::{Operator, but};
use crate::error::Result;
use crate::graph::ObservedArgument::{Bool, Float, None as Absent};

pub const TABLE: &[Operator] = &[
    but(
        "SVMClassifier",
        "labels; two classes without probabilities; more than 64 classes; a post_transform",
        classifier,
    ),
    but("SVMRegressor", "", regressor),
];

/// Most classes: each pair of them has a machine.
const MOST_CLASSES: usize = 64;
/// Probabilities of one of two classes stay that far from 0 and 1, as in libsvm.
const LEAST: f64 = 1e-7;

/// A tensor of the machine's attributes, which trains.
fn named(call: &Call, part: &str, shape: &[usize], list: Vec<f64>) -> Known {
    let own = call.node.outputs.last().copied().unwrap_or_default();
    Known { name: format!("{own}.{part}").into(), ..Known::floats(shape, list) }
}

/// Kernels [events, count] of the events with the support vectors. A linear machine without them takes the columns themselves.
fn similarities(call: &mut Call, count: usize) -> Result<Value> {
    let x = columns(call)?;
    let [events, width] = x.shape()[..] else { return Err(call.wrong("the input has no columns")) };
    let vectors = call.floats("support_vectors")?.unwrap_or_default();
    match vectors.is_empty() && count == width {
        true => Ok(x),
        false if count > 0 && count.checked_mul(width) == Some(vectors.len()) => {
            let vectors = named(call, "support_vectors", &[count, width], vectors);
            kernels(call, &x, vectors, [events, count, width])
        }
        false => Err(call.wrong(format!("{} numbers of {count} support vectors with {width} columns", vectors.len()))),
    }
}

/// Sums [events, 1] of the kernels with all support vectors times their coefficients, plus `rho`.
fn decision(call: &mut Call) -> Result<Value> {
    let coefficients = call.floats("coefficients")?.unwrap_or_default();
    let rho = call.floats("rho")?.unwrap_or_default();
    let [rho] = rho[..] else { return Err(call.wrong(format!("{} numbers rho instead of one", rho.len()))) };
    let count = coefficients.len();
    let kernels = similarities(call, count)?;
    let events = kernels.shape()[0];
    let weights = Value::Known(named(call, "coefficients", &[count, 1], coefficients));
    let arguments = vec![call.number(&kernels)?, super::layers::parameter(call, &weights, &[count, 1])?];
    let value = call.op("matmul", "", arguments, &[events, 1], Element::Float32)?;
    call.affine(&value, 1.0, rho)
}

/// The pairs of classes, in the order of their machines.
fn pairs(classes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..classes).flat_map(move |first| (first + 1..classes).map(move |second| (first, second)))
}

/// The same sums [events, pairs] for each pair of classes, of which one has so many support vectors. In the file a vector has a
/// coefficient for each of the other classes (libsvm's layout, [classes - 1, vectors]).
fn decisions(call: &mut Call, sizes: &[usize]) -> Result<Value> {
    let classes = sizes.len();
    let coefficients = call.floats("coefficients")?.unwrap_or_default();
    let rho = call.floats("rho")?.unwrap_or_default();
    let machines = pairs(classes).count();
    let count = sizes.iter().try_fold(0_usize, |count, &size| count.checked_add(size));
    let Some(count) = count.filter(|count| count.checked_mul(classes - 1) == Some(coefficients.len())) else {
        return Err(call.wrong(format!("{} coefficients of support vectors for {classes} classes", coefficients.len())));
    };
    if rho.len() != machines {
        return Err(call.wrong(format!("{} numbers rho instead of {machines}", rho.len())));
    }
    fold::check_length(&[count, machines])?;
    let kernels = similarities(call, count)?;
    let of_vectors = sizes.iter().enumerate().flat_map(|(class, &size)| std::iter::repeat_n(class, size)).enumerate();
    let absent = coefficients.len();
    let places = of_vectors.flat_map(|(vector, class)| {
        pairs(classes).map(move |(first, second)| match class {
            _ if class == first => ((second - 1) * count + vector) as i64,
            _ if class == second => (first * count + vector) as i64,
            _ => absent as i64,
        })
    });
    let places: Vec<i64> = places.collect();
    let own = Value::Known(named(call, "coefficients", &[absent], coefficients));
    let all = joined(call, &[own, Value::Known(Known::floats(&[1], vec![0.0]))], 0)?;
    let weights = selected(call, &all, 0, places)?;
    let weights = reshaped(call, &weights, &[count, machines])?;
    let shape = [kernels.shape()[0], machines];
    let arguments = vec![call.number(&kernels)?, call.b.tensor(&weights)?];
    let value = call.op("matmul", "", arguments, &shape, Element::Float32)?;
    call.add(&value, &Value::Known(Known::floats(&[machines], rho)))
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

fn classifier(call: &mut Call) -> Outputs {
    if call.text("post_transform", "NONE")? != "NONE" {
        return Err(call.refuse("a post_transform"));
    }
    let sizes = call.integers("vectors_per_class")?.unwrap_or_default();
    let sizes = call.sizes(&sizes)?;
    let (slopes, offsets) = (call.floats("prob_a")?.unwrap_or_default(), call.floats("prob_b")?.unwrap_or_default());
    let machines = pairs(sizes.len().min(MOST_CLASSES)).count();
    match (sizes.len(), slopes.len()) {
        (0 | 1, _) => Err(call.refuse(format!("a machine of {} classes", sizes.len()))),
        (classes, _) if classes > MOST_CLASSES => {
            Err(call.refuse(format!("a machine of {classes} classes, more than {MOST_CLASSES},")))
        }
        // Programs disagree about the sign of the sum.
        (2, 0) => {
            Err(call.refuse("a machine of two classes without probabilities (scikit-learn: SVC(probability=True))"))
        }
        (_, 0) => Ok(vec![decisions(call, &sizes)?]),
        (_, found) if found != machines || offsets.len() != machines => {
            Err(call.wrong(format!("{found} and {} numbers prob_a and prob_b instead of {machines}", offsets.len())))
        }
        (2, _) => of_two(call, slopes[0], offsets[0]),
        (classes, _) => {
            let sums = decisions(call, &sizes)?;
            let row = |list: Vec<f64>| Value::Known(Known::floats(&[machines], list));
            let exponent = call.mul(&sums, &row(slopes))?;
            let exponent = call.add(&exponent, &row(offsets))?;
            let opposite = call.like("neg", &exponent, vec![])?;
            let first = call.like("sigmoid", &opposite, vec![])?;
            let first = call.like("clamp", &first, vec![Float(LEAST), Float(1.0 - LEAST)])?;
            Ok(vec![coupled(call, &first, classes)?])
        }
    }
}

/// The probabilities of two classes (Platt 1999).
fn of_two(call: &mut Call, slope: f64, offset: f64) -> Outputs {
    let value = decision(call)?;
    let exponent = call.affine(&value, slope, offset)?;
    let opposite = call.like("neg", &exponent, vec![])?;
    let [first, second] = [call.like("sigmoid", &opposite, vec![])?, call.like("sigmoid", &exponent, vec![])?];
    Ok(vec![joined(call, &[first, second], 1)?])
}

/// Probabilities [events, classes] of those of the first class of each pair, [events, pairs]: r_ij of class i, where it is i or j.
/// They minimise the sum over i and j of (r_ji p_i - r_ij p_j)^2 = 2 p Q p (Wu, Lin and Weng 2004, method 2), towards which libsvm and
/// onnxruntime iterate until 0.005 / classes. At the minimum Q p is the same for all classes, so that p is the solution of
/// (Q + 1) p = 1 over its sum: the matrix 1 of ones leaves the direction alone, and makes that of Q positive definite, which
/// is singular where the pairs agree.
fn coupled(call: &mut Call, first: &Value, classes: usize) -> Result<Value> {
    let (events, machines) = (first.shape()[0], first.shape()[1]);
    let square = [events, classes, classes];
    let second = call.affine(first, -1.0, 1.0)?;
    let both = joined(call, &[first.clone(), second], 1)?;
    let mut places = vec![0; classes * classes]; // of r_ij; those of its diagonal are not used
    for (machine, (i, j)) in pairs(classes).enumerate() {
        (places[i * classes + j], places[j * classes + i]) = (machine as i64, (machines + machine) as i64);
    }
    let turned = (0..places.len()).map(|at| places[at % classes * classes + at / classes]).collect();
    let mut matrix = |places| {
        let flat = selected(call, &both, 1, places)?;
        reshaped(call, &flat, &square)
    };
    let (of_first, of_second) = (matrix(places)?, matrix(turned)?); // r_ij and r_ji
    let is_diagonal = |at: usize| at / classes == at % classes;
    let mask = |value: fn(bool) -> bool| {
        let list = (0..classes * classes).map(|at| f64::from(value(is_diagonal(at)))).collect();
        Value::Known(Known::floats(&[classes, classes], list))
    };
    let (diagonal, others) = (mask(|is| is), mask(|is| !is));
    let products = call.mul(&of_first, &of_second)?;
    let products = call.mul(&products, &others)?;
    let squares = call.mul(&of_second, &of_second)?;
    let squares = call.mul(&squares, &others)?;
    let arguments = vec![call.number(&squares)?, integers(&[2]), Bool(true), Absent];
    let sums = call.op("sum", "dim_IntList", arguments, &[events, classes, 1], Element::Float32)?;
    let sums = call.mul(&sums, &diagonal)?;
    let q = call.sub(&sums, &products)?;
    let matrix = call.affine(&q, 1.0, 1.0)?;
    let ones = expanded(call, &number(1.0), &[events, classes, 1])?;
    let solution = solved(call, &matrix, &ones)?;
    let solution = reshaped(call, &solution, &[events, classes])?;
    let arguments = vec![call.number(&solution)?, integers(&[1]), Bool(true), Absent];
    let sum = call.op("sum", "dim_IntList", arguments, &[events, 1], Element::Float32)?;
    call.div(&solution, &sum)
}

/// The solution [events, n, 1] of positive definite equations [events, n, n] with the right sides [events, n, 1], by the elimination
/// of Gauss and Jordan. The row that has been eliminated goes to the end, and its column is left out.
fn solved(call: &mut Call, matrix: &Value, right: &Value) -> Result<Value> {
    let n = matrix.shape()[1];
    let mut rows = joined(call, &[matrix.clone(), right.clone()], 2)?;
    for columns in (1..=n).rev() {
        let (top, below) = (sliced(call, &rows, 1, 0, 1, 1)?, sliced(call, &rows, 1, 1, n - 1, 1)?);
        let (pivot, row) = (sliced(call, &top, 2, 0, 1, 1)?, sliced(call, &top, 2, 1, columns, 1)?);
        let (factors, rest) = (sliced(call, &below, 2, 0, 1, 1)?, sliced(call, &below, 2, 1, columns, 1)?);
        let row = call.div(&row, &pivot)?;
        let product = call.mul(&factors, &row)?;
        let rest = call.sub(&rest, &product)?;
        rows = joined(call, &[rest, row], 1)?;
    }
    Ok(rows)
}
