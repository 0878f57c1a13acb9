//! Any network in training on a GPU: the kernels of its program between those of a step, which are captured as one launch.

use std::ops::Range;
use std::sync::Arc;

use super::super::super::Settings;
use super::super::super::pass::index_out_of_range;
use super::super::gpu::{Gpu, GpuKernels, GpuMemory, GpuStream, Recording, downloaded, uploaded};
use super::super::multiply::Numbers;
use super::super::own::check_activations;
use super::super::program::{CudaProgram, Kernel};
use super::super::run::{Device, Memory};
use super::super::writer::Work;
use super::arenas::arenas;
use super::draws::{Draw, draws};
use super::form::{Call, Form, sum_of};
use super::loss::{self, BatchLoss, Places};
use super::moves::Moves;
use super::start::Start;
use super::step_kernels::{Sizes, StepKernels};
use super::sums::MOST_SUMS;
use crate::error::{Error, Result};
use crate::gradient::CustomLoss;
use crate::graph::{Captured, Mode, Module, Precision};

/// Rows of an evaluation; few programs must do for all numbers of rows.
pub const EVALUATED_ROWS: usize = 4096;
const FEWEST_EVALUATED: usize = 64;

/// See the module's documentation.
pub struct Stepwise {
    gpu: Gpu,
    module: Arc<Module>,
    settings: Settings,
    /// Instead of that of the settings.
    own_loss: Option<Arc<CustomLoss>>,
    /// Tensors that it captured.
    loss_constants: Vec<GpuMemory>,
    seed: u64,
    /// Parameters that do not move.
    frozen: Vec<Range<usize>>,
    /// Running statistics.
    state: GpuMemory,
    /// Captured tensors that do not change.
    fixed: Vec<Option<GpuMemory>>,
    gradient: GpuMemory,
    /// Of blocks of the gradient, whose norm may be bounded: sums of squares.
    squares: GpuMemory,
    losses: GpuMemory,
    /// Number of the batch that runs.
    place: GpuMemory,
    /// Where an index was out of range in any batch of a call: a bit for the network, and one for the loss.
    refused: GpuMemory,
    /// For the numbers of rows that came.
    passes: Vec<Pass>,
    /// Steps that may still run.
    recordings: Vec<Recording>,
}

/// A program for a number of rows with its memory.
struct Pass {
    mode: Mode,
    sizes: Sizes,
    program: CudaProgram,
    steps: StepKernels,
    loss: BatchLoss,
    draws: Vec<Draw>,
    kernels: GpuKernels,
    arenas: [GpuMemory; 2],
    /// Rows, labels and weights of the batch.
    batch: [GpuMemory; 3],
    /// Outputs of the network, and new values of its state.
    outputs: Vec<GpuMemory>,
    /// Adjoint of the outputs.
    adjoint: GpuMemory,
    /// For each new value the state that it replaces: where it begins, and how many numbers it has.
    updates: Vec<[usize; 2]>,
}

impl Stepwise {
    /// Lays out what trains `module` from there; else says what of it has no kernel.
    pub fn new(module: &Arc<Module>, start: Start, settings: Settings, gpu: &Gpu) -> Result<Self> {
        let fixed = module.captured().iter().map(|captured| match captured {
            Captured::Fixed(words) => uploaded(gpu, words).map(Some),
            Captured::Parameter(_) | Captured::State(_) => Ok(None),
        });
        // What users wrote is the same for all numbers of rows.
        check_activations(&module.program(Mode::Training, settings.batch_size)?, gpu)?;
        loss::check(start.loss.map(|own| &**own), gpu)?;
        let mut made = Stepwise {
            own_loss: start.loss.cloned(),
            loss_constants: loss::constants(start.loss.map(|own| &**own), gpu)?,
            seed: start.seed,
            frozen: start.frozen.to_vec(),
            state: uploaded(gpu, start.state)?,
            fixed: fixed.collect::<Result<_>>()?,
            gradient: uploaded(gpu, &vec![0.0_f32; module.parameters()])?,
            squares: gpu.memory(MOST_SUMS * size_of::<f64>())?,
            losses: gpu.memory(MOST_SUMS * size_of::<f64>())?,
            place: gpu.memory(size_of::<u64>())?,
            refused: gpu.memory(size_of::<u32>())?,
            gpu: gpu.clone(),
            module: Arc::clone(module),
            settings,
            passes: Vec::new(),
            recordings: Vec::new(),
        };
        // What has no kernel is refused now.
        let first = made.pass(Mode::Training, settings.batch_size)?;
        check_precision(settings.precision, &made.passes[first].program)?;
        Ok(made)
    }

    /// The pass for batches of `rows` rows, made now where it was not.
    fn pass(&mut self, mode: Mode, rows: usize) -> Result<usize> {
        if let Some(index) = self.passes.iter().position(|pass| pass.mode == mode && pass.sizes.rows == rows) {
            return Ok(index);
        }
        let pass = self.new_pass(mode, rows)?;
        self.passes.push(pass);
        Ok(self.passes.len() - 1)
    }

    /// Rows of the pass that runs a batch of `count` rows: if events are independent, those beyond the end have no
    /// weight.
    fn rows_of(&self, mode: Mode, count: usize) -> usize {
        match mode {
            Mode::Evaluation => count.next_power_of_two().clamp(FEWEST_EVALUATED, EVALUATED_ROWS),
            Mode::Training if self.module.events_are_apart() => self.settings.batch_size.max(count),
            Mode::Training => count,
        }
    }

    /// Makes the step of the batch at `place`, or sums its loss only.
    fn launch(&self, pass: &Pass, call: &Call) -> Result<()> {
        let device = pass.kernels.on_stream(call.stream.number());
        let (batches, place) = (call.batches, self.place.address());
        let [x, y, w] = pass.batch.each_ref().map(GpuMemory::address);
        let Sizes { rows, features, .. } = pass.sizes;
        let grid = |count: usize| Work::Alone(count).grid();
        let dataset = call.dataset;
        let columns = [dataset.features.address(), dataset.labels.address(), dataset.weights.address(), call.order];
        let gathered = [&columns[..], &[batches, place, x, y, w]].concat();
        device.launch(&pass.steps.gather, grid(rows * features), &gathered)?;
        for Draw { kernel, grid, factors } in &pass.draws {
            device.launch(kernel, *grid, &[batches, place, factors.address()])?;
        }
        let inputs = self.inputs(pass, x, call.state[0])?;
        let outputs: Vec<usize> = pass.outputs.iter().map(GpuMemory::address).collect();
        let gradients = self.gradients(pass);
        let [values, adjoints] = pass.arenas.each_ref().map(GpuMemory::address);
        let flags = values + pass.program.values * size_of::<f32>();
        let memory = Memory {
            size: size_of::<f32>(),
            values,
            adjoints,
            flags,
            inputs: &inputs,
            outputs: &outputs,
            seeds: &[pass.adjoint.address()],
            gradients: &gradients,
        };
        pass.program.run_forward(&device, &memory)?;
        let [z, dz, losses] = [&pass.outputs[0], &pass.adjoint, &self.losses].map(GpuMemory::address);
        let refused = self.refused.address();
        let constants = &self.loss_constants;
        pass.loss.launch(&device, &Places { z, y, w, batches, place, dz, losses, refused, constants })?;
        if pass.mode == Mode::Training {
            pass.program.run_backward(&device, &memory)?;
            let ([p, first, second], gradient) = (call.state, self.gradient.address());
            let (squares, Moves { bound, update, grids }) = (self.squares.address(), &pass.steps.moves);
            if let Some(bound) = bound {
                device.launch(bound, grids[0], &[p, gradient, squares])?;
            }
            device.launch(update, grids[1], &[p, gradient, first, second, batches, place, squares])?;
            for (value, [start, count]) in pass.outputs[1..].iter().zip(&pass.updates) {
                let to = self.state.address() + start * size_of::<f32>();
                call.stream.copy(value.address(), to, count * size_of::<f32>())?;
            }
        }
        device.launch(&pass.steps.next, [1, 32], &[place, flags, refused])
    }

    /// Addresses of the arguments: the rows, then what the module captures, then random factors.
    fn inputs(&self, pass: &Pass, x: usize, parameters: usize) -> Result<Vec<usize>> {
        let constants = self.module.constant_indices(pass.mode).iter().map(|&index| {
            let at = |base: usize, start: usize| base + start * size_of::<f32>();
            match (&self.module.captured()[index], &self.fixed[index]) {
                (Captured::Parameter(range), _) => Ok(at(parameters, range.start)),
                (Captured::State(range), _) => Ok(at(self.state.address(), range.start)),
                (Captured::Fixed(_), Some(memory)) => Ok(memory.address()),
                (Captured::Fixed(_), None) => Err(Error::Internal("a captured tensor without memory".into())),
            }
        });
        let factors = pass.draws.iter().map(|draw| Ok(draw.factors.address()));
        std::iter::once(Ok(x)).chain(constants).chain(factors).collect()
    }

    /// Addresses of the gradients by the arguments, 0 where there is none.
    fn gradients(&self, pass: &Pass) -> Vec<usize> {
        let constants = self.module.constants(pass.mode).map(|captured| match captured {
            Captured::Parameter(range) => self.gradient.address() + range.start * size_of::<f32>(),
            Captured::State(_) | Captured::Fixed(_) => 0,
        });
        std::iter::once(0).chain(constants).chain(pass.draws.iter().map(|_| 0)).collect()
    }

    /// See [`Pass`].
    fn new_pass(&self, mode: Mode, rows: usize) -> Result<Pass> {
        let Stepwise { gpu, module, settings, .. } = self;
        let graph = module.program(mode, rows)?;
        let program = CudaProgram::on(&graph, floats(mode, settings.precision), gpu)?;
        let (outputs, parameters) = (module.outputs(), module.parameters());
        let targets = settings.objective(self.own_loss.as_deref()).targets(outputs);
        let sizes = Sizes { rows, features: module.inputs(), outputs, targets, parameters };
        if !sizes.are_counted() {
            let what = format!("batches of {rows} events are too large for back end cuda");
            return Err(Error::invalid(what, "lower fBatchSize"));
        }
        let steps = StepKernels::new(sizes, program.flags.len(), settings, &self.frozen);
        let loss = BatchLoss::new(self.own_loss.as_deref(), settings, sizes, mode == Mode::Training, gpu)?;
        let draws = draws(&graph, self.seed, gpu)?;
        let drawing = draws.iter().map(|draw| &draw.kernel);
        let kernels: Vec<&Kernel> =
            program.kernels.iter().chain(steps.all()).chain(loss.kernels()).chain(drawing).collect();
        let code = gpu.compile(&["device.hpp", "step.hpp"], &kernels)?;
        let numbers = |count: usize| gpu.memory(count * size_of::<f32>());
        let constants: Vec<&Captured> = module.constants(mode).collect();
        let place = |&argument: &usize| match argument.checked_sub(1).and_then(|at| constants.get(at)) {
            Some(Captured::State(range)) => Ok([range.start, range.len()]),
            _ => Err(Error::Internal("an update of no state".into())),
        };
        Ok(Pass {
            mode,
            sizes,
            kernels: gpu.load(&kernels, &code)?,
            arenas: arenas(&program, gpu)?,
            batch: [numbers(rows * sizes.features)?, numbers(rows * targets)?, numbers(rows)?],
            outputs: graph.outputs.iter().map(|output| numbers(output.view.len())).collect::<Result<_>>()?,
            adjoint: numbers(rows * outputs)?,
            updates: graph.updates.iter().map(place).collect::<Result<_>>()?,
            program,
            steps,
            loss,
            draws,
        })
    }
}

/// Refuses a precision in which nothing would be multiplied.
fn check_precision(precision: Precision, program: &CudaProgram) -> Result<()> {
    let why = match (precision, &program.obstacle) {
        (Precision::Float32, _) => return Ok(()),
        (Precision::TF32x3, _) => "only those of perceptrons that do are",
        _ if program.products().count() > 0 => return Ok(()),
        (_, Some(why)) => why,
        _ => "no product of a batch has 67 million multiplications",
    };
    let name = precision.enumerator();
    Err(Error::invalid(
        format!(
            "fPrecision = {name}, but no product would be rounded: the network does not train by one kernel, and {why}"
        ),
        "leave fPrecision as it is; the page training.md says which networks train by one kernel",
    ))
}

/// How products take factors: evaluations are exact.
fn floats(mode: Mode, precision: Precision) -> Numbers {
    match (mode, precision) {
        (Mode::Training, Precision::TF32) => Numbers::FloatAsTf32,
        (Mode::Training, Precision::BF16) => Numbers::FloatAsBf16,
        _ => Numbers::Float,
    }
}

impl Form for Stepwise {
    fn length(&self) -> usize {
        self.module.parameters()
    }

    fn spread(&self, flat: &[f32]) -> Vec<f32> {
        flat.to_vec()
    }

    fn gather(&self, own: &[f32]) -> Vec<f32> {
        own.to_vec()
    }

    fn evaluated_rows(&self) -> usize {
        EVALUATED_ROWS
    }

    fn takes_one(&self) -> bool {
        self.module.takes_one(Mode::Training)
    }

    fn check_labels(&self, labels: &[f32]) -> Result<()> {
        match self.own_loss.as_deref() {
            Some(CustomLoss::Observed(own)) => own.check_classes(labels),
            _ => Ok(()),
        }
    }

    fn state(&self) -> Result<Vec<f32>> {
        downloaded(&self.state, self.module.state())
    }

    fn set_state(&mut self, state: &[f32]) -> Result<()> {
        self.state.upload(state)
    }

    fn start(&mut self, trains: bool, call: &Call) -> Result<()> {
        let mode = if trains { Mode::Training } else { Mode::Evaluation };
        self.refused.clear(call.stream.number())?;
        self.losses.clear(call.stream.number())?;
        self.place.clear(call.stream.number())?;
        self.recordings.clear();
        let (mut done, mut times) = (0, Vec::new());
        while done < call.counts.len() {
            let rows = self.rows_of(mode, call.counts[done]);
            let same = call.counts[done..].iter().take_while(|&&count| self.rows_of(mode, count) == rows).count();
            let index = self.pass(mode, rows)?;
            let pass = &self.passes[index];
            self.recordings.push(call.stream.captured(|| self.launch(pass, call))?);
            times.push(same);
            done += same;
        }
        // There is room for all of them before the first one runs.
        for (step, count) in self.recordings.iter().zip(times) {
            for _ in 0..count {
                call.stream.replay(step)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, stream: &GpuStream) -> Result<f64> {
        let finished = stream.synchronise();
        self.recordings.clear();
        finished?;
        match downloaded::<u32>(&self.refused, 1)?[..] {
            [0] => sum_of(&self.losses, MOST_SUMS),
            [loss::IN_LOSS] => Err(loss::out_of_range()),
            _ => Err(index_out_of_range(&self.module)),
        }
    }

    fn describe(&self) -> String {
        // The first one trains.
        let Some(Pass { program, .. }) = self.passes.first() else { return "a step as one launch".to_owned() };
        let products = match (program.products().count(), &program.obstacle) {
            (0, None) => String::new(),
            (0, Some(why)) => format!(", large products by kernels: {why}"),
            (count, None) => format!(", {count} products by cuBLASLt"),
            (count, Some(why)) => format!(", {count} products by cuBLASLt, other large ones by kernels: {why}"),
        };
        format!("a step as one launch{products}")
    }
}
