//! The kernels that move the parameters along their gradient, by the formulas of `optimiser`.

use std::ops::Range;

use super::super::super::Settings;
use super::super::super::jit::emit;
use super::super::kernel::kernel;
use super::super::program::{Kernel, Waits};
use super::super::writer::Work;
use super::laws::{rule_text, update_name};
use super::sums::summing;
use crate::optimiser::{Clip, NORM_EPSILON};

/// See the module's documentation.
pub struct Moves {
    /// Completes the gradient by the L1 term, bounds its components, or gives the sum of squares of each block: what the rule asks for.
    pub bound: Option<Kernel>,
    pub update: Kernel,
    /// Blocks and threads of both.
    pub grids: [[u32; 2]; 2],
}

impl Moves {
    /// For this many parameters, except those that are frozen.
    pub fn new(parameters: usize, settings: &Settings, frozen: &[Range<usize>]) -> Self {
        let bounding = summing(parameters);
        let moves = frozen.iter().map(|range| format!("(i < {}u || i >= {}u)", range.start, range.end));
        let moves = if frozen.is_empty() { "true".to_owned() } else { moves.collect::<Vec<_>>().join(" && ") };
        let changes = settings.rule().changes_gradient();
        Moves {
            bound: changes.then(|| bound(parameters, settings, &moves)),
            update: update(parameters, settings, &moves, bounding[0]),
            grids: [bounding, Work::Alone(parameters).grid()],
        }
    }
}

fn bound(parameters: usize, settings: &Settings, moves: &str) -> Kernel {
    let mut body = String::new();
    emit!(body, "   double own = 0;\n   Each({parameters}u, [&](unsigned i) {{\n      double g = gradient[i];");
    if settings.l1 > 0.0 {
        emit!(
            body,
            "      const double p = parameters[i];\n      g = float(g + {:?} * ((p > 0) - (p < 0)));",
            settings.l1
        );
    }
    if let Some(Clip::Value(most)) = settings.clip {
        emit!(body, "      g = float(g < -{most:?} ? -{most:?} : g > {most:?} ? {most:?} : g);");
    }
    emit!(body, "      gradient[i] = float(g);");
    if let Some(Clip::Norm(_)) = settings.clip {
        emit!(body, "      own += {moves} ? g * g : 0;");
    }
    emit!(body, "   }});");
    if let Some(Clip::Norm(_)) = settings.clip {
        emit!(
            body,
            "   const double sum = Block::Joined(own, [](double a, double b) {{ return a + b; }});\n   \
             if (threadIdx.x == 0)\n      squares[blockIdx.x] = sum;"
        );
    }
    kernel("bound", "", &["const float *parameters", "float *gradient", "double *squares"], body, Waits::ForBlock)
}

/// `blocks` have summed squares.
fn update(parameters: usize, settings: &Settings, moves: &str, blocks: u32) -> Kernel {
    let mut body = String::new();
    emit!(body, "   const Batch batch = batches[*place];\n   const Rule rule{{{}}};", rule_text(settings));
    let gradient = match settings.clip {
        Some(Clip::Norm(most)) => {
            emit!(
                body,
                "   double squared = 0;\n   for (unsigned b = 0; b < {blocks}u; ++b)\n      squared += squares[b];\n   \
                 const double factor = {most:?} / (std::sqrt(squared) + {NORM_EPSILON:?}), scale = factor < 1 ? factor : 1;"
            );
            "float(gradient[i] * scale)"
        }
        _ => "gradient[i]",
    };
    emit!(
        body,
        "   Each({parameters}u, [=](unsigned i) {{\n      if ({moves})\n         \
         {}::Step(rule, batch, parameters[i], {gradient}, first[i], second[i]);\n   }});",
        update_name(settings.optimiser)
    );
    let declared = ["float *parameters", "const float *gradient", "float *first", "float *second"];
    let batch = ["const Batch *batches", "const uint64_t *place", "const double *squares"];
    kernel("update", "", &[&declared[..], &batch].concat(), body, Waits::Never)
}
