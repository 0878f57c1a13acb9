//! Code shared by the functions that users write: their place in the text, and the test of Clad's derivatives.

/// Step of difference quotients, and how far from them a derivative may be.
const STEP: f64 = 1e-6;
const TOLERANCE: f64 = 1e-4;

/// The text before every function that is compiled. Rust cannot let a C++ exception pass: exceptions from the user's
/// text become messages.
pub const HEAD: &str = r#"#include <clad/Differentiator/Differentiator.h>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <type_traits>

/// 0, or 1 with the reason in `why`.
template <class F>
static int cladtorch_caught(char *why, size_t room, F run)
{
   try {
      run();
      return 0;
   } catch (const std::exception &thrown) {
      std::snprintf(why, room, "it threw \"%s\"", thrown.what());
   } catch (...) {
      std::snprintf(why, room, "it threw something other than a std::exception");
   }
   return 1;
}

"#;

/// A function's arguments at some points, and what it gives there on the host.
pub struct Samples {
    /// Of each call the numbers that it takes first.
    pub x: Vec<f64>,
    /// Of each call the second argument, if the function has one.
    pub y: Vec<f64>,
    pub values: Vec<f64>,
    /// By the numbers of `x`.
    pub slopes: Vec<f64>,
}

/// The first parameter of the function `double name(...)` that the C++ text declares or defines.
pub fn first_parameter<'a>(source: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = source;
    while let Some((before, after)) = rest.split_once("double") {
        let named = after.trim_start().strip_prefix(name).map(str::trim_start);
        let whole_word = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if let Some(parameters) = named.and_then(|after| after.strip_prefix('(')).filter(|_| whole_word) {
            return parameters.split([',', ')']).next();
        }
        rest = after;
    }
    None
}

/// The difference quotient if `slope` agrees neither with it nor, at a kink, with that of one side. `value` is the
/// function's value, `beside` its value at that distance.
pub fn quotient_unlike(slope: f64, value: f64, beside: impl Fn(f64) -> f64) -> Option<f64> {
    let sides = [-STEP, STEP].map(|step| (beside(step) - value) / step);
    let middle = (sides[0] + sides[1]) / 2.0;
    let fits = |quotient: f64| (slope - quotient).abs() <= TOLERANCE * (1.0 + quotient.abs());
    (middle.is_finite() && ![middle, sides[0], sides[1]].into_iter().any(fits)).then_some(middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_found() {
        let loss = |source| first_parameter(source, "loss");
        assert_eq!(loss("double loss(double z, double y) { return z; }"), Some("double z"));
        assert_eq!(loss("double f(double *x);\ndouble  loss (const double *z, double y)"), Some("const double *z"));
        assert_eq!(loss("double losses(double *x); float loss(float, float);"), None);
    }

    #[test]
    fn a_slope_is_that_of_the_function_or_of_a_side() {
        let kink = |step: f64| step.abs();
        for slope in [-1.0, 0.0, 1.0] {
            assert_eq!(quotient_unlike(slope, 0.0, kink), None, "{slope}");
        }
        assert_eq!(quotient_unlike(0.5, 0.0, kink), Some(0.0));
        assert!(quotient_unlike(f64::NAN, 1.0, |step| 1.0 + 2.0 * step).is_some());
    }
}
