//! Functions that users wrote as C++ text, in kernels: their text, followed by Clad's text of their derivatives. The host has
//! compared that with difference quotients; before a kernel uses it, the GPU compares both with the host.

use super::super::jit::{Samples, emit, samples_of_activation};
use super::gpu::{Gpu, downloaded, uploaded};
use super::kernel::kernel;
use super::program::{INCLUDES, Kernel, Waits};
use super::run::Device;
use super::writer::Work;
use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::graph::program::Primitive;
use crate::graph::{CustomActivation, Program};

/// Largest difference from the host, beside 1 or the number itself.
const TOLERANCE: f64 = 1e-9;

/// A user's function in the text of kernels.
pub struct Own {
    /// The namespace of the function and of its derivative.
    pub space: String,
    /// Stands before kernels that call them: see [`Kernel::before`].
    pub before: String,
    /// A line of the preprocessor in it, which all kernels would see.
    directive: Option<String>,
}

impl Own {
    /// The function that `source` defines, with Clad's text of its derivative.
    pub fn new(source: &str, derivatives: &str) -> Self {
        let space = format!("Own_{}", &Cache::key(&[source, derivatives])[..32]);
        // Headers stand outside of the namespace.
        let directive = |line: &&str| line.trim_start().starts_with('#');
        let is_header = |line: &&str| line.trim_start().trim_start_matches('#').trim_start().starts_with("include");
        let (headers, rest): (Vec<&str>, Vec<&str>) =
            source.lines().partition(|line| directive(line) && is_header(line));
        let before = format!(
            "{}\nnamespace CladTorch::Kernels::{space} {{\nusing clad::ValueAndPushforward;\n{}\n{derivatives}\n}}\n",
            headers.join("\n"),
            rest.join("\n")
        );
        Own { space, before, directive: rest.into_iter().find(directive).map(str::to_owned) }
    }

    pub fn of(activation: &CustomActivation) -> Self {
        Own::new(activation.text(), activation.derivatives())
    }

    /// Whether the GPU computes what the host does: `call` are statements that set `values[i]` and `slopes[]` of call number `i` from
    /// `x` and `y`.
    pub fn check(&self, gpu: &Gpu, what: &str, call: &str, samples: &Samples) -> Result<()> {
        if let Some(line) = &self.directive {
            return Err(refused(what, Error::invalid(format!("it has the line {line:?}"), "")));
        }
        let count = samples.values.len();
        let mut body = String::new();
        emit!(body, "   Each({count}u, [=](unsigned i) {{\n{call}\n   }});");
        let parameters = ["const double *x", "const double *y", "double *values", "double *slopes"];
        let kernel = Kernel { before: self.before.clone(), ..kernel("own", "", &parameters, body, Waits::Never) };
        let code = gpu.compile(&INCLUDES, &[&kernel]).map_err(|error| refused(what, error))?;
        let loaded = gpu.load(&[&kernel], &code)?;
        let [x, y] = [&samples.x, &samples.y].map(|numbers| uploaded(gpu, &numbers[..]));
        let zeros = |numbers: &[f64]| uploaded(gpu, &vec![0.0_f64; numbers.len()]);
        let (x, y, values, slopes) = (x?, y?, zeros(&samples.values)?, zeros(&samples.slopes)?);
        let stream = gpu.stream()?;
        let places = [x.address(), y.address(), values.address(), slopes.address()];
        loaded.on_stream(stream.number()).launch(&kernel, Work::Alone(count).grid(), &places)?;
        stream.synchronise()?;
        for (memory, expected, of) in [(&values, &samples.values, "value"), (&slopes, &samples.slopes, "derivative")] {
            let found: Vec<f64> = downloaded(memory, expected.len())?;
            let wrong = found.iter().zip(expected).find(|(found, expected)| !is_near(**found, **expected));
            if let Some((found, expected)) = wrong {
                let why = format!("on the GPU a {of} of {what} is {found}, on the host {expected}");
                return Err(Error::invalid(why, "train it with fDevice = \"cpu\""));
            }
        }
        Ok(())
    }
}

/// Whether a GPU computes the users' activations of a program as the host does.
pub fn check_activations(program: &Program, gpu: &Gpu) -> Result<()> {
    let mut checked: Vec<&CustomActivation> = Vec::new();
    for node in &program.nodes {
        let Primitive::Custom(activation) = &node.primitive else { continue };
        if checked.contains(&activation) {
            continue;
        }
        let own = Own::of(activation);
        let call = format!(
            "      values[i] = {0}::activation(x[i]);\n      slopes[i] = {0}::activation_darg0(x[i]);",
            own.space
        );
        own.check(gpu, "the activation", &call, &samples_of_activation(activation))?;
        checked.push(activation);
    }
    Ok(())
}

fn is_near(found: f64, expected: f64) -> bool {
    let same = found.is_nan() && expected.is_nan() || found == expected;
    same || (found - expected).abs() <= TOLERANCE * expected.abs().max(1.0)
}

fn refused(function: &str, error: Error) -> Error {
    let remedy = "train it with fDevice = \"cpu\"";
    match error {
        Error::Invalid { what, .. } => Error::invalid(format!("{function} on a GPU: {what}"), remedy),
        other => other,
    }
}
