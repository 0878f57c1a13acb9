//! The losses of a batch on a GPU, and the adjoint of the network's outputs: by a formula, by C++ text that a user wrote, or by
//! the program of a loss that a user wrote with LibTorch's operators.

use super::super::super::Settings;
use super::super::super::jit::emit;
use super::super::gpu::{Gpu, GpuMemory, uploaded};
use super::super::kernel::kernel;
use super::super::multiply::Numbers;
use super::super::own::Own;
use super::super::program::{CudaProgram, Kernel, Waits};
use super::super::run::{Device, Memory};
use super::super::writer::Work;
use super::arenas::arenas;
use super::laws::loss_name;
use super::step_kernels::Sizes;
use super::sums::summing;
use crate::error::{Error, Result};
use crate::gradient::{CustomLoss, ObservedLoss, RowLoss};

/// Addresses that a loss reads and writes.
pub struct Places<'a> {
    /// Outputs of the network, labels and weights of the batch.
    pub z: usize,
    pub y: usize,
    pub w: usize,
    /// All batches, and the number of this one.
    pub batches: usize,
    pub place: usize,
    /// Adjoint of the outputs.
    pub dz: usize,
    /// Sums of weight times loss.
    pub losses: usize,
    /// Bits of what was out of range.
    pub refused: usize,
    /// What the user's function captured: see [`constants`].
    pub constants: &'a [GpuMemory],
}

/// The bit of an index out of range in a loss of the user's own.
pub const IN_LOSS: u32 = 2;

/// The loss of batches of some rows.
pub enum BatchLoss {
    /// One kernel, of a row for each thread.
    Kernel {
        kernel: Kernel,
        rows: usize,
    },
    Observed(Box<Observed>),
}

/// The program of a loss that a user wrote, between kernels that give it rows and take its results.
pub struct Observed {
    trains: bool,
    rows: usize,
    program: CudaProgram,
    enter: Kernel,
    leave: Kernel,
    refuse: Option<Kernel>,
    arenas: [GpuMemory; 2],
    /// Outputs and labels of each row, and the gradient by them.
    x: GpuMemory,
    gradient: GpuMemory,
    /// Of each row, and its adjoint.
    losses: GpuMemory,
    seeds: GpuMemory,
}

impl BatchLoss {
    /// That of the settings, or the user's own; without gradients unless the batch `trains`.
    pub fn new(own: Option<&CustomLoss>, settings: &Settings, sizes: Sizes, trains: bool, gpu: &Gpu) -> Result<Self> {
        match own {
            None => Ok(Self::formula(settings, sizes)),
            Some(CustomLoss::Text(loss)) => Ok(Self::text(loss, sizes.rows)),
            Some(CustomLoss::Observed(loss)) => Self::observed(loss, sizes, trains, gpu),
        }
    }

    /// By the formula of the settings.
    fn formula(settings: &Settings, sizes: Sizes) -> Self {
        let Sizes { rows, outputs, targets, .. } = sizes;
        let row = format!(
            "      own += weight * {}::Row({outputs}u, {:?}f, z + r * {outputs}, y + r * {targets}, batch.fScale * weight, dz + r * {outputs});",
            loss_name(settings.loss),
            settings.loss_parameter
        );
        BatchLoss::Kernel { kernel: of_rows(rows, &row), rows }
    }

    /// By a user's text and Clad's text of its derivative, in float64.
    fn text(loss: &RowLoss, rows: usize) -> Self {
        let (Own { space, before, .. }, columns) = (own(loss), loss.columns());
        let row = match loss.takes_pointer() {
            true => format!(
                "      double at[{columns}], slopes[{columns}] = {{}};\n      \
                 for (unsigned c = 0; c < {columns}u; ++c)\n         at[c] = z[r * {columns} + c];\n      \
                 own += weight * {space}::loss(at, y[r]);\n      {space}::loss_grad_0(at, y[r], slopes);\n      \
                 for (unsigned c = 0; c < {columns}u; ++c)\n         dz[r * {columns} + c] = float(batch.fScale * weight * slopes[c]);"
            ),
            false => format!(
                "      own += weight * {space}::loss(z[r], y[r]);\n      \
                 dz[r] = float(batch.fScale * weight * {space}::loss_darg0(z[r], y[r]));"
            ),
        };
        BatchLoss::Kernel { kernel: Kernel { before, ..of_rows(rows, &row) }, rows }
    }

    /// By the program of a user's function.
    fn observed(loss: &ObservedLoss, sizes: Sizes, trains: bool, gpu: &Gpu) -> Result<Self> {
        let Sizes { rows, outputs, targets, .. } = sizes;
        let width = outputs + targets;
        let graph = loss.program(rows)?;
        let program = CudaProgram::on(&graph, Numbers::Float, gpu)?;
        let numbers = |count: usize| gpu.memory(count * size_of::<f32>());
        Ok(BatchLoss::Observed(Box::new(Observed {
            trains,
            rows,
            enter: enter(rows, outputs, targets),
            leave: leave(rows, outputs, targets, trains),
            refuse: (!program.flags.is_empty()).then(|| refuse(program.flags.len())),
            arenas: arenas(&program, gpu)?,
            x: numbers(rows * width)?,
            gradient: numbers(rows * width)?,
            losses: numbers(rows)?,
            seeds: numbers(rows)?,
            program,
        })))
    }

    pub fn kernels(&self) -> Vec<&Kernel> {
        match self {
            BatchLoss::Kernel { kernel, .. } => vec![kernel],
            BatchLoss::Observed(observed) => {
                let Observed { program, enter, leave, refuse, .. } = &**observed;
                program.kernels.iter().chain([enter, leave]).chain(refuse).collect()
            }
        }
    }

    /// Adds the batch's losses to their sums; the adjoint of the outputs where it trains.
    pub fn launch(&self, device: &impl Device, at: &Places) -> Result<()> {
        match self {
            BatchLoss::Kernel { kernel, rows } => {
                let parameters = [at.z, at.y, at.w, at.batches, at.place, at.dz, at.losses];
                device.launch(kernel, summing(*rows), &parameters)
            }
            BatchLoss::Observed(observed) => observed.launch(device, at),
        }
    }
}

impl Observed {
    fn launch(&self, device: &impl Device, at: &Places) -> Result<()> {
        let [x, gradient, losses, seeds] = [&self.x, &self.gradient, &self.losses, &self.seeds].map(GpuMemory::address);
        let [values, adjoints] = self.arenas.each_ref().map(GpuMemory::address);
        let inputs: Vec<usize> = std::iter::once(x).chain(at.constants.iter().map(GpuMemory::address)).collect();
        let mut gradients = vec![0; inputs.len()];
        gradients[0] = gradient;
        let memory = Memory {
            size: size_of::<f32>(),
            values,
            adjoints,
            flags: values + self.program.values * size_of::<f32>(),
            inputs: &inputs,
            outputs: &[losses],
            seeds: &[seeds],
            gradients: &gradients,
        };
        let batch = [at.z, at.y, at.w, at.batches, at.place];
        device.launch(&self.enter, Work::Alone(self.rows).grid(), &[&batch[..], &[x, seeds]].concat())?;
        self.program.run_forward(device, &memory)?;
        if self.trains {
            self.program.run_backward(device, &memory)?;
        }
        device.launch(&self.leave, summing(self.rows), &[losses, gradient, at.w, at.dz, at.losses])?;
        match &self.refuse {
            Some(refuse) => device.launch(refuse, [1, 32], &[memory.flags, at.refused]),
            None => Ok(()),
        }
    }
}

/// What a loss reads of a batch.
const BATCH: [&str; 5] =
    ["const float *z", "const float *y", "const float *w", "const Batch *batches", "const uint64_t *place"];

/// The kernel that runs these statements for each row `r`: they add to `own`, and set `dz`.
fn of_rows(rows: usize, statements: &str) -> Kernel {
    let mut body = String::new();
    emit!(
        body,
        "   const Batch batch = batches[*place];\n   double own = 0;\n   Each({rows}u, [&](unsigned r) {{\n      \
         const double weight = w[r];\n{statements}\n   }});\n   AddLosses(own, losses);"
    );
    kernel("loss", "", &[&BATCH[..], &["float *dz", "double *losses"]].concat(), body, Waits::ForBlock)
}

/// Joins each row's outputs and labels, and gives it the adjoint of its loss.
fn enter(rows: usize, outputs: usize, targets: usize) -> Kernel {
    let width = outputs + targets;
    let mut body = String::new();
    emit!(
        body,
        "   const double scale = batches[*place].fScale;\n   Each({rows}u, [=](unsigned r) {{\n      \
         for (unsigned c = 0; c < {outputs}u; ++c)\n         x[r * {width} + c] = z[r * {outputs} + c];\n      \
         for (unsigned t = 0; t < {targets}u; ++t)\n         x[r * {width} + {outputs} + t] = y[r * {targets} + t];\n      \
         seeds[r] = float(scale * double(w[r]));\n   }});"
    );
    kernel("enter", "", &[&BATCH[..], &["float *x", "float *seeds"]].concat(), body, Waits::Never)
}

/// Sums the losses of the rows, and takes the gradient by the outputs out of that by outputs and labels.
fn leave(rows: usize, outputs: usize, targets: usize, trains: bool) -> Kernel {
    let width = outputs + targets;
    let mut body = String::new();
    emit!(
        body,
        "   double own = 0;\n   Each({rows}u, [&](unsigned r) {{\n      own += double(w[r]) * double(values[r]);"
    );
    if trains {
        emit!(
            body,
            "      for (unsigned c = 0; c < {outputs}u; ++c)\n         dz[r * {outputs} + c] = gradient[r * {width} + c];"
        );
    }
    emit!(body, "   }});\n   AddLosses(own, losses);");
    let parameters = ["const float *values", "const float *gradient", "const float *w", "float *dz", "double *losses"];
    kernel("leave", "", &parameters, body, Waits::ForBlock)
}

/// Keeps that an index was out of range.
fn refuse(flags: usize) -> Kernel {
    let mut body = String::new();
    emit!(
        body,
        "   Each(1u, [=](unsigned) {{\n      for (unsigned f = 0; f < {flags}u; ++f)\n         \
         *refused |= flags[f] ? {IN_LOSS}u : 0u;\n   }});"
    );
    kernel("refuse", "", &["const int32_t *flags", "uint32_t *refused"], body, Waits::Never)
}

/// Tensors that a user's function captured.
pub fn constants(own: Option<&CustomLoss>, gpu: &Gpu) -> Result<Vec<GpuMemory>> {
    match own {
        Some(CustomLoss::Observed(loss)) => loss.constants().iter().map(|words| uploaded(gpu, words)).collect(),
        _ => Ok(Vec::new()),
    }
}

/// Whether the GPU computes a user's text and its derivative as the host does.
pub fn check(loss: Option<&CustomLoss>, gpu: &Gpu) -> Result<()> {
    let Some(CustomLoss::Text(loss)) = loss else { return Ok(()) };
    let (own, columns) = (own(loss), loss.columns());
    let space = &own.space;
    let call = match loss.takes_pointer() {
        true => format!(
            "      values[i] = {space}::loss(x + i * {columns}, y[i]);\n      \
             {space}::loss_grad_0(x + i * {columns}, y[i], slopes + i * {columns});"
        ),
        false => {
            format!("      values[i] = {space}::loss(x[i], y[i]);\n      slopes[i] = {space}::loss_darg0(x[i], y[i]);")
        }
    };
    own.check(gpu, "fLossFunction", &call, &loss.samples()?)
}

fn own(loss: &RowLoss) -> Own {
    let [source, derivatives] = loss.texts();
    Own::new(source, derivatives)
}

/// Why a fit ends whose own loss met such an index.
pub fn out_of_range() -> Error {
    Error::invalid("the loss: an index is out of range", "give indices below the size of their dimension")
}
