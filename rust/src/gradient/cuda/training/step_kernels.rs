//! The kernels of a training step besides those of its network and of the loss: rows, and the update of the parameters. They read
//! the place of their batch from the GPU's memory, so that the host can launch step after step without sending
//! anything.

use std::ops::Range;

use super::super::super::Settings;
use super::super::super::jit::emit;
use super::super::kernel::kernel;
use super::super::program::{Kernel, Waits};
use super::moves::Moves;

/// Numbers of a step.
#[derive(Clone, Copy)]
pub struct Sizes {
    pub rows: usize,
    /// Of a row.
    pub features: usize,
    pub outputs: usize,
    pub targets: usize,
    pub parameters: usize,
}

impl Sizes {
    /// Whether the 32 bits of the kernels' indices count all, with room for a last stride of a whole grid.
    pub fn are_counted(&self) -> bool {
        let widest = self.features.max(self.outputs + self.targets);
        self.rows.saturating_mul(widest).max(self.parameters) < 1 << 31
    }
}

/// See the module's documentation.
pub struct StepKernels {
    pub gather: Kernel,
    pub moves: Moves,
    pub next: Kernel,
}

impl StepKernels {
    /// All parameters move except those that are frozen. The network sets `flags` flags if an index is out of range.
    pub fn new(sizes: Sizes, flags: usize, settings: &Settings, frozen: &[Range<usize>]) -> Self {
        let Sizes { rows, features, targets, parameters, .. } = sizes;
        let mut gather = String::new();
        emit!(
            gather,
            "   const Batch batch = batches[*place];\n   const auto row = [=](unsigned r) {{ return \
             size_t(order[batch.fFirst + (r < batch.fCount ? r : 0)]); }};\n   \
             Each({rows}u * {features}u, [=](unsigned i) {{ x[i] = features[row(i / {features}) * {features} + i % {features}]; }});\n   \
             Each({rows}u * {targets}u, [=](unsigned i) {{ y[i] = labels[row(i / {targets}) * {targets} + i % {targets}]; }});\n   \
             Each({rows}u, [=](unsigned r) {{ w[r] = r < batch.fCount ? weights[row(r)] : 0; }});"
        );
        let tables = ["const float *features", "const float *labels", "const float *weights", "const uint32_t *order"];
        let place = ["const Batch *batches", "const uint64_t *place"];
        StepKernels {
            gather: kernel(
                "gather",
                "",
                &[&tables[..], &place, &["float *x", "float *y", "float *w"]].concat(),
                gather,
                Waits::Never,
            ),
            moves: Moves::new(parameters, settings, frozen),
            next: kernel(
                "next",
                "",
                &["uint64_t *place", "const int32_t *flags", "uint32_t *refused"],
                format!(
                    "   Each(1u, [=](unsigned) {{\n      ++*place;\n      for (unsigned f = 0; f < {flags}u; ++f)\n         \
                     *refused |= flags[f];\n   }});\n"
                ),
                Waits::Never,
            ),
        }
    }

    pub fn all(&self) -> impl Iterator<Item = &Kernel> {
        let Moves { bound, update, .. } = &self.moves;
        [&self.gather, update, &self.next].into_iter().chain(bound)
    }
}
