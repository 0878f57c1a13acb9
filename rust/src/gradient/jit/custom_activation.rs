//! An activation that a user wrote in C++, differentiated by Clad: a function of one number.

use std::path::Path;
use std::time::Duration;

use super::library::ActivationFunction;
use super::user::Samples;
use super::{LIBRARY, user};
use crate::error::{Error, Result, unwind};
use crate::graph::{Activation, CustomActivation, ScalarFunction};

/// Number of points on either side of 0 at which the derivative is compared with difference quotients.
const POINTS: i32 = 40;
const SPACING: f64 = 0.25;

/// Where it is compared.
fn points() -> impl Iterator<Item = f64> {
    (-POINTS..=POINTS).map(|point| f64::from(point) * SPACING)
}

/// What an activation gives at those points.
pub fn samples(activation: &CustomActivation) -> Samples {
    let x: Vec<f64> = points().collect();
    let (mut values, mut slopes) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    activation.values(&x, &mut values);
    activation.slopes(&x, &mut slopes);
    Samples { y: x.clone(), x, values, slopes }
}

struct CompiledActivation {
    function: ActivationFunction,
    text: String,
    derivatives: String,
}

/// Compiles `source`, which defines `double activation(double x)`; other code may precede it. The derivative is
/// compared with difference quotients; none is trusted.
pub fn compile(source: &str, limit: Duration) -> Result<CustomActivation> {
    if user::first_parameter(source, "activation").is_none() {
        let what = "the text does not define 'double activation(double x)'";
        return Err(Error::invalid(what, remedy(source)));
    }
    let open = |folder: &Path| ActivationFunction::open(&folder.join(LIBRARY));
    let (function, folder) = super::build(&text(source), "the activation", limit, open).map_err(refused)?;
    let derivatives = super::derivatives(&folder);
    let activation = CompiledActivation { function, text: source.to_owned(), derivatives };
    activation.check().map_err(refused)?;
    Ok(CustomActivation::new(activation))
}

/// "relu" and "LeakyReLU" are names that other libraries take; "kReLU" and "ct.kReLU" are ours in quotation marks.
fn remedy(source: &str) -> String {
    let plain = |text: &str| text.trim().to_lowercase().replace(['_', '-'], "");
    let last = source.rsplit([':', '.']).next().unwrap_or(source);
    let means = |known: &&Activation| [known.name(), known.enumerator()].map(plain).contains(&plain(last));
    match Activation::ALL.iter().find(means) {
        Some(known) => {
            format!("write CladTorch::{}, without quotation marks, for the named activation", known.enumerator())
        }
        None => {
            let names: Vec<_> = Activation::ALL.iter().map(|known| known.enumerator()).collect();
            format!("give the C++ text of that function, or, of namespace CladTorch, one of {}", names.join(", "))
        }
    }
}

impl CompiledActivation {
    fn at(&self, x: f64) -> Result<(f64, f64), String> {
        let (mut value, mut slope) = ([0.0], [0.0]);
        self.function.values(&[x], &mut value)?;
        self.function.slopes(&[x], &mut slope)?;
        Ok((value[0], slope[0]))
    }

    fn check(&self) -> Result<(), String> {
        let (value, slope) = self.at(0.0)?;
        if !value.is_finite() || !slope.is_finite() {
            return Err(format!("at 0 it is {value} and its derivative {slope}: both must be finite there"));
        }
        for x in points() {
            let (value, slope) = self.at(x)?;
            // Where it throws beside a point it has no quotient there.
            let beside = |step| self.at(x + step).map_or(f64::NAN, |(value, _)| value);
            if let Some(quotient) = user::quotient_unlike(slope, value, beside) {
                return Err(format!(
                    "Clad's derivative is {slope} at {x}, but the difference quotient is {quotient}: write it with a \
                     branch each side of which is smooth"
                ));
            }
        }
        Ok(())
    }
}

impl ScalarFunction for CompiledActivation {
    fn text(&self) -> &str {
        &self.text
    }

    fn derivatives(&self) -> &str {
        &self.derivatives
    }

    fn values(&self, x: &[f64], values: &mut [f64]) {
        self.function.values(x, values).unwrap_or_else(|reason| unwind(refused(reason)));
    }

    fn slopes(&self, x: &[f64], slopes: &mut [f64]) {
        self.function.slopes(x, slopes).unwrap_or_else(|reason| unwind(refused(reason)));
    }
}

fn refused(reason: String) -> Error {
    Error::invalid(format!("activation: {reason}"), "use one of the named activations")
}

/// The text that is compiled: the user's, and loops.
fn text(source: &str) -> String {
    let head = user::HEAD;
    let way_in = |name: &str, function: &str| {
        format!(
            "extern \"C\" __attribute__((visibility(\"default\"))) int {name}(size_t n, const double *x, double *y, char *why, size_t room)\n{{\n\
             \x20  return cladtorch_caught(why, room, [=] {{\n   for (size_t i = 0; i < n; ++i)\n      \
             y[i] = {function}(x[i]);\n   }});\n}}\n"
        )
    };
    format!(
        "{head}#line 1 \"activation\"\n{source}\n\n\
         static_assert(std::is_same_v<decltype(activation), double(double)>, \"activation takes something else\");\n\
         double activation_darg0(double); // by Clad\n\
         [[maybe_unused]] static void requests()\n{{\n   clad::differentiate(activation, 0);\n}}\n\n{}\n{}",
        way_in("cladtorch_values", "activation"),
        way_in("cladtorch_slopes", "activation_darg0"),
    )
}
