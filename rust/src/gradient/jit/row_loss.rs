//! A loss that a user wrote in C++, differentiated by Clad: a function of the outputs and the label of one event.

use std::time::Duration;

use super::library::LossFunction;
use super::user::Samples;
use super::{LIBRARY, user};
use crate::error::{Error, Result, unwind};
use crate::kernels::Scalar;

/// Numbers that are converted to float64 and back at once; most outputs of a network with such a loss.
const BLOCK: usize = 128;

/// Number of points, 0 among them, at which the derivative is compared with difference quotients, for labels 0 and 1.
const POINTS: usize = 33;

/// A compiled loss.
pub struct RowLoss {
    function: LossFunction,
    columns: usize,
    /// Whether it takes the outputs by a pointer.
    takes_pointer: bool,
    source: String,
    derivatives: String,
}

impl RowLoss {
    /// Compiles `source`, which defines `double loss(double output, double label)` or
    /// `double loss(const double *outputs, double label)`; other code may precede it. It is called with `columns`
    /// outputs. The derivative is compared with difference quotients; none is trusted.
    pub fn compile(source: &str, columns: usize, limit: Duration) -> Result<Self> {
        let pointer =
            user::first_parameter(source, "loss").map(|parameter| parameter.contains('*')).ok_or_else(|| {
                let what = "fLossFunction does not define 'double loss(double output, double label)'";
                Error::invalid(what, "give the C++ text of that function")
            })?;
        if columns > BLOCK || (columns > 1 && !pointer) {
            return Err(Error::invalid(
                format!("the model has {columns} outputs, fLossFunction takes {}", if pointer { BLOCK } else { 1 }),
                format!("define 'double loss(const double *outputs, double label)' for up to {BLOCK}"),
            ));
        }
        let open = |folder: &std::path::Path| LossFunction::open(&folder.join(LIBRARY));
        let (function, folder) = super::build(&text(source, pointer), "the loss", limit, open).map_err(refused)?;
        let derivatives = super::derivatives(&folder);
        let loss = RowLoss { function, columns, takes_pointer: pointer, source: source.to_owned(), derivatives };
        loss.check().map_err(refused)?;
        Ok(loss)
    }

    /// The user's text, and Clad's text of the derivative.
    pub fn texts(&self) -> [&str; 2] {
        [&self.source, &self.derivatives]
    }

    /// Whether it takes the outputs as `const double *`, and its derivative is `loss_grad_0`; else it takes one output, and the
    /// derivative is `loss_darg0`.
    pub fn takes_pointer(&self) -> bool {
        self.takes_pointer
    }

    /// Outputs of an event.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// What it gives at the points where its derivative is compared.
    pub(crate) fn samples(&self) -> Result<Samples> {
        let mut samples = Samples { x: Vec::new(), y: Vec::new(), values: Vec::new(), slopes: Vec::new() };
        for (z, label) in self.points() {
            let (value, slopes) = self.at(&z, label).map_err(refused)?;
            samples.x.extend(z);
            samples.y.push(label);
            samples.values.push(value);
            samples.slopes.extend(slopes);
        }
        Ok(samples)
    }

    /// The sum of weight times loss over the rows of `outputs` [rows, columns]; `adjoint` gets the derivative of
    /// `scale * weight * loss`. An exception from the function unwinds as an error.
    pub fn run<T: Scalar>(
        &self,
        outputs: &[T],
        labels: &[T],
        weights: &[T],
        scale: f64,
        mut adjoint: Option<&mut [T]>,
    ) -> f64 {
        let rows = BLOCK / self.columns;
        let (mut z, mut y, mut values, mut slopes) = ([0.0; BLOCK], [0.0; BLOCK], [0.0; BLOCK], [0.0; BLOCK]);
        let mut sum = 0.0;
        for (block, labels) in labels.chunks(rows).enumerate() {
            let (first, count) = (block * rows * self.columns, labels.len() * self.columns);
            let (z, slopes) = (&mut z[..count], &mut slopes[..count]);
            convert(&outputs[first..][..count], z);
            convert(labels, &mut y);
            let ran = self.function.run(z, &y[..labels.len()], &mut values, slopes);
            ran.unwrap_or_else(|reason| unwind(refused(reason)));
            let weights = &weights[block * rows..][..labels.len()];
            for (row, (weight, value)) in weights.iter().zip(values).enumerate() {
                sum += weight.to_f64() * value;
                if let Some(adjoint) = &mut adjoint {
                    let to = &mut adjoint[first + row * self.columns..][..self.columns];
                    let slopes = &slopes[row * self.columns..];
                    to.iter_mut().zip(slopes).for_each(|(to, d)| *to = T::from_f64(scale * weight.to_f64() * d));
                }
            }
        }
        sum
    }

    /// Outputs and labels at which it is compared.
    fn points(&self) -> impl Iterator<Item = (Vec<f64>, f64)> + '_ {
        let outputs = |point: usize| {
            let at = move |j: usize| 3.0 * (point as f64 * (0.7 + 0.6 * j as f64)).sin();
            (0..self.columns).map(at).collect()
        };
        [0.0, 1.0].into_iter().flat_map(move |label| (0..POINTS).map(move |point| (outputs(point), label)))
    }

    /// Whether the derivative is the slope of the function, or at a kink that of one side.
    fn check(&self) -> Result<(), String> {
        for (z, label) in self.points() {
            let (value, slopes) = self.at(&z, label)?;
            for (column, &slope) in slopes.iter().enumerate() {
                let beside = |step: f64| {
                    let mut moved = z.clone();
                    moved[column] += step;
                    // Where it throws beside a point it has no quotient there.
                    self.at(&moved, label).map_or(f64::NAN, |(value, _)| value)
                };
                if let Some(quotient) = user::quotient_unlike(slope, value, beside) {
                    return Err(format!(
                        "Clad's derivative by output {column} is {slope} at {z:?} for label {label}, but the difference \
                         quotient is {quotient}: write it with a branch each side of which is smooth, and divide by \
                         floating-point numbers (3.0 instead of 3)"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Value and derivatives of one row.
    fn at(&self, z: &[f64], label: f64) -> Result<(f64, Vec<f64>), String> {
        let (mut value, mut slopes) = ([0.0], vec![0.0; z.len()]);
        self.function.run(z, &[label], &mut value, &mut slopes)?;
        Ok((value[0], slopes))
    }
}

fn refused(reason: String) -> Error {
    Error::invalid(format!("fLossFunction: {reason}"), "use one of the losses of fLoss")
}

fn convert<T: Scalar>(from: &[T], to: &mut [f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = from.to_f64());
}

/// The text that is compiled: the user's, and a loop over rows.
fn text(source: &str, pointer: bool) -> String {
    let (parameter, derivative, request, call) = match pointer {
        true => (
            "const double *",
            "void loss_grad_0(const double *, double, double *);",
            "clad::gradient(loss, \"0\")",
            "for (size_t j = 0; j < columns; ++j)\n         slope[i * columns + j] = 0;\n      \
             loss_grad_0(output + i * columns, label[i], slope + i * columns);",
        ),
        false => (
            "double",
            "double loss_darg0(double, double);",
            "clad::differentiate(loss, 0)",
            "slope[i] = loss_darg0(output[i], label[i]);",
        ),
    };
    let argument = if pointer { "output + i * columns" } else { "output[i]" };
    let head = user::HEAD;
    format!(
        "{head}#line 1 \"fLossFunction\"\n{source}\n\n\
         static_assert(std::is_same_v<decltype(loss), double({parameter}, double)>, \"loss takes something else\");\n\
         {derivative} // by Clad\n\
         [[maybe_unused]] static void requests()\n{{\n   {request};\n}}\n\n\
         extern \"C\" __attribute__((visibility(\"default\"))) int cladtorch_loss(size_t n, [[maybe_unused]] size_t columns, \
         const double *output, const double *label, double *value, double *slope, char *why, size_t room)\n{{\n\
         \x20  return cladtorch_caught(why, room, [=] {{\n   for (size_t i = 0; i < n; ++i) {{\n      \
         value[i] = loss({argument}, label[i]);\n      {call}\n   }}\n   }});\n}}\n"
    )
}
