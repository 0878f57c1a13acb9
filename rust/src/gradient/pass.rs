//! A module's program for a number of rows, laid out, with its memory: what training and prediction run.

use std::ops::Range;

use super::blocks::BlockRows;
use super::dropout::DropoutFactors;
use super::executor::OutOfRange;
use super::form::Form;
use super::packing::{Binding, Packed, Packing};
use super::stages::{Stages, block_rows};
use super::tensor_lists::TensorLists;
use crate::device::{Element, HostBuffer, ReadPointer, ReadTensors, WritePointer, WriteTensors};
use crate::error::{Error, Result};
use crate::graph::program::{Dropout, Tensor};
use crate::graph::{Captured, Mode, Module, Program, RowsMeet, with_scaled_weights};
use crate::kernels::Scalar;
use crate::text;

/// Programs that are kept for the numbers of rows that come again.
const KEPT: usize = 4;

/// See the module's documentation. Numbers are of type T.
pub struct Pass<T> {
    rows: usize,
    /// Numbers of the results.
    results: usize,
    form: Form<T>,
    values: HostBuffer<T>,
    adjoints: HostBuffer<T>,
    dropout: Vec<Drawn<T>>,
    updates: Vec<Update<T>>,
    /// Their memory stays.
    lists: TensorLists,
    /// The value that is passed for each constant, and where its gradient goes.
    constants: Vec<Constant>,
    gradients: Vec<Option<usize>>,
    /// Of what [`Memory`] has.
    lengths: [usize; 4],
    packs_events: bool,
    /// See [`Pass::gathered`].
    gathered: usize,
}

/// Where a constant begins.
#[derive(Clone, Copy)]
enum Constant {
    /// In the packed parameters.
    Parameters(usize),
    /// In what is derived of them.
    Derived(usize),
    /// In the state.
    State(usize),
    /// It is the module's captured tensor of this number.
    Captured(usize),
}

/// Random factors.
struct Drawn<T> {
    keep: f64,
    factors: HostBuffer<T>,
}

/// New values of a part of the state.
struct Update<T> {
    range: Range<usize>,
    values: HostBuffer<T>,
}

impl<T: Scalar + Element> Pass<T> {
    /// Lays out what computes `rows` rows of `module` in one mode, by one thread.
    pub fn new(module: &Module, packing: &Packing<T>, mode: Mode, rows: usize) -> Result<Self> {
        let Packed { program, packs_events } = packing.apply(module, mode, rows)?;
        let program = if mode == Mode::Evaluation { with_scaled_weights(program)? } else { program };
        let form = Form::whole(&program)?;
        Ok(Pass { packs_events, ..Self::laid_out(module, packing, mode, rows, &program, form)? })
    }

    /// Lays out what trains on a batch of `rows` rows, which meet somewhere, in blocks of rows where that is possible: of `most`
    /// rows, if they meet in batch statistics alone.
    pub fn of_batch(module: &Module, packing: &Packing<T>, rows: usize, most: usize) -> Result<Self> {
        let mode = Mode::Training;
        let Packed { program, packs_events } = packing.apply(module, mode, rows)?;
        let own = block_rows(rows, most).filter(|_| module.rows_meet() == RowsMeet::InStatistics);
        let stages = match own {
            Some(own) => {
                let of_block = |rows| packing.apply(module, mode, rows).map(|packed| packed.program);
                Stages::new(module, &program, [rows, own], of_block)?
            }
            None => None,
        };
        let gathered = own.filter(|_| stages.is_some()).unwrap_or(rows);
        let form = match stages {
            Some(stages) => Form::Stages(Box::new(stages)),
            None => Form::new(&program, BlockRows::Suitable)?,
        };
        Ok(Pass { packs_events, gathered, ..Self::laid_out(module, packing, mode, rows, &program, form)? })
    }

    /// The same for a program of the module's arguments, by one thread, whose first output may be another.
    pub fn of_program(
        module: &Module,
        packing: &Packing<T>,
        mode: Mode,
        rows: usize,
        program: &Program,
    ) -> Result<Self> {
        Self::laid_out(module, packing, mode, rows, program, Form::whole(program)?)
    }

    /// A pass that computes `rows` rows of `module` in evaluation, with their gradient, from parameters in the order of
    /// the flat vector.
    pub fn by_events(module: &Module, packing: &Packing<T>, rows: usize) -> Result<Self> {
        Self::of_program(module, packing, Mode::Evaluation, rows, &module.program_by_events(rows)?)
    }

    fn laid_out(
        module: &Module,
        packing: &Packing<T>,
        mode: Mode,
        rows: usize,
        program: &Program,
        form: Form<T>,
    ) -> Result<Self> {
        if module.dtype().bytes() != size_of::<T>() {
            return Err(Error::Internal(format!("{} computes in {}", module.name(), module.dtype().name())));
        }
        let constants: Vec<&Captured> = module.constants(mode).collect();
        if program.arguments.len() != 1 + constants.len() + program.dropout.len() {
            return Err(Error::Internal(format!("{} arguments of a module", program.arguments.len())));
        }
        let updated = &program.outputs[program.results().len()..];
        let has_gradients = program.arguments.iter().any(|argument| argument.gradient);
        let [values, adjoints] = form.run().arenas();
        let mut values = HostBuffer::zeros(values)?;
        form.run().prepare(values.as_mut_slice());
        let drawn = |dropout: &Dropout| {
            let factors = HostBuffer::zeros(program.arguments[dropout.argument].view.len())?;
            Ok(Drawn { keep: dropout.keep, factors })
        };
        let update =
            |(&argument, value): (&usize, &Tensor)| match argument.checked_sub(1).and_then(|at| constants.get(at)) {
                Some(Captured::State(range)) if range.len() == value.view.len() => {
                    Ok(Update { range: range.clone(), values: HostBuffer::zeros(range.len())? })
                }
                _ => Err(Error::Internal(format!("argument {argument} of a module changes"))),
            };
        let places = module.constant_indices(mode).iter().map(|&index| (index, packing.binding(index, mode)));
        Ok(Pass {
            rows,
            values,
            adjoints: HostBuffer::zeros(if has_gradients { adjoints } else { 0 })?,
            dropout: program.dropout.iter().map(drawn).collect::<Result<_>>()?,
            updates: program.updates.iter().zip(updated).map(update).collect::<Result<_>>()?,
            lists: TensorLists::default(),
            constants: places.clone().map(|(index, place)| Constant::new(module, index, place)).collect(),
            gradients: places
                .map(|(_, place)| if let Binding::Own(range) = place { Some(range.start) } else { None })
                .collect(),
            lengths: [program.arguments[0].view.len(), packing.parameters(), packing.derived(mode), module.state()],
            packs_events: false,
            gathered: rows,
            results: program.results().iter().map(|result| result.view.len()).sum(),
            form,
        })
    }

    /// Whether the rows must be packed.
    pub fn packs_events(&self) -> bool {
        self.packs_events
    }

    /// Rows that are packed together.
    pub fn gathered(&self) -> usize {
        self.gathered
    }

    /// Numbers of the rows.
    pub fn input_length(&self) -> usize {
        self.lengths[0]
    }

    /// Draws the random factors of the next forward call.
    pub fn draw(&mut self, mut of_step: DropoutFactors) {
        for Drawn { keep, factors } in &mut self.dropout {
            of_step.draw(*keep, factors.as_mut_slice());
        }
    }

    /// Writes the outputs of the rows into `results` [rows, outputs]; large operators run on `threads` threads of the
    /// current pool.
    pub fn forward(&mut self, module: &Module, memory: &Memory<T>, threads: usize, results: &mut [T]) -> Result<()> {
        assert_eq!(results.len(), self.results, "results of another number of rows");
        self.list(module, memory);
        let TensorLists { inputs, written, .. } = &mut self.lists;
        written.clear();
        written.push(WritePointer::of(results));
        written.extend(self.updates.iter_mut().map(|update| WritePointer::of(update.values.as_mut_slice())));
        // SAFETY: the inputs are slices of `memory`, which nobody changes meanwhile, bytes of the module's own, and this
        // pass's factors, as long as `list` has checked; the outputs `results` and this pass's own.
        let (inputs, outputs) = unsafe { (ReadTensors::new(inputs), WriteTensors::new(written)) };
        let ran = self.form.run().forward(self.values.as_mut_slice(), inputs, outputs, threads);
        ran.map_err(|OutOfRange { .. }| index_out_of_range(module))
    }

    /// Whether [`update`](Self::update) does anything.
    pub fn changes_state(&self) -> bool {
        !self.updates.is_empty()
    }

    /// Changes the state as the last forward call in training does.
    pub fn update(&self, state: &mut [T]) {
        for Update { range, values } in &self.updates {
            state[range.clone()].copy_from_slice(values.as_slice());
        }
    }

    /// From the adjoint [rows, outputs] of what the last call of [`forward`](Self::forward) gave, of the same memory: the
    /// gradient of the parameters, which with `sum` is added to what is there.
    pub fn backward(
        &mut self,
        module: &Module,
        memory: &Memory<T>,
        threads: usize,
        adjoint: &[T],
        sum: bool,
        gradient: &mut [T],
    ) {
        assert_eq!(gradient.len(), self.lengths[1], "the gradient has another length than the parameters");
        let all = WritePointer::of(gradient);
        let written = &mut self.lists.written;
        written.clear();
        written.push(WritePointer::NULL);
        written.extend(self.gradients.iter().map(|start| start.map_or(WritePointer::NULL, |start| all.at::<T>(start))));
        written.extend(self.dropout.iter().map(|_| WritePointer::NULL));
        self.pull_back(module, memory, threads, adjoint, sum);
    }

    /// The same for the gradient [rows, inputs] of the rows, of a pass [by them](Self::by_events).
    pub fn backward_events(&mut self, module: &Module, memory: &Memory<T>, adjoint: &[T], gradient: &mut [T]) {
        assert_eq!(gradient.len(), self.lengths[0], "the gradient has another length than the rows");
        let written = &mut self.lists.written;
        written.clear();
        written.push(WritePointer::of(gradient));
        written.extend(self.gradients.iter().map(|_| WritePointer::NULL));
        self.pull_back(module, memory, 1, adjoint, false);
    }

    /// To the gradients that are listed.
    fn pull_back(&mut self, module: &Module, memory: &Memory<T>, threads: usize, adjoint: &[T], sum: bool) {
        assert_eq!(adjoint.len(), self.rows * module.outputs(), "the adjoint of another number of outputs");
        self.list(module, memory);
        let TensorLists { inputs, seeds, written } = &mut self.lists;
        seeds.clear();
        seeds.push(ReadPointer::of(adjoint));
        // SAFETY: as in `forward`; the listed gradients are slices of the callers', each as long as its argument and apart.
        let (inputs, seeds, gradients) =
            unsafe { (ReadTensors::new(inputs), ReadTensors::new(seeds), WriteTensors::new(written)) };
        let (values, adjoints) = (self.values.as_slice(), self.adjoints.as_mut_slice());
        self.form.run().backward(values, adjoints, inputs, seeds, sum, gradients, threads);
    }

    /// Lists the arguments again for each call: pointers of an earlier call may no longer be valid.
    fn list(&mut self, module: &Module, memory: &Memory<T>) {
        let &Memory { x, parameters, derived, state } = memory;
        // One by one: a comparison of whole arrays waits until what was just written can be read.
        let has = |(slice, length): (&&[T], &usize)| slice.len() == *length;
        assert!([x, parameters, derived, state].iter().zip(&self.lengths).all(has), "lengths of what a pass reads");
        let inputs = &mut self.lists.inputs;
        inputs.clear();
        inputs.push(ReadPointer::of(x));
        inputs.extend(self.constants.iter().map(|constant| match *constant {
            Constant::Parameters(start) => ReadPointer::of(parameters).at::<T>(start),
            Constant::Derived(start) => ReadPointer::of(derived).at::<T>(start),
            Constant::State(start) => ReadPointer::of(state).at::<T>(start),
            Constant::Captured(index) => match &module.captured()[index] {
                Captured::Fixed(words) => ReadPointer::of(words),
                Captured::Parameter(_) | Captured::State(_) => unreachable!("they have places of their own"),
            },
        }));
        inputs.extend(self.dropout.iter().map(|drawn| ReadPointer::of(drawn.factors.as_slice())));
    }
}

impl Constant {
    /// Captured tensor `index` of `module`, which the packing put at `place`.
    fn new(module: &Module, index: usize, place: Binding) -> Self {
        match (place, &module.captured()[index]) {
            (Binding::Own(range), _) => Constant::Parameters(range.start),
            (Binding::Derived(range), _) => Constant::Derived(range.start),
            (Binding::Itself, Captured::State(range)) => Constant::State(range.start),
            (Binding::Itself, Captured::Fixed(_)) => Constant::Captured(index),
            (Binding::Itself, Captured::Parameter(_)) => unreachable!("a parameter has a place"),
        }
    }
}

/// The data that a pass reads besides its own memory.
pub struct Memory<'a, T> {
    /// [rows, inputs], or packed.
    pub x: &'a [T],
    /// In the order of the packing.
    pub parameters: &'a [T],
    /// What [`Packing::derive`] made of them.
    pub derived: &'a [T],
    /// The flat vector of running statistics.
    pub state: &'a [T],
}

/// Passes of one module in one mode.
pub struct Passes<T> {
    mode: Mode,
    /// Rows of a block, where whole batches are run.
    blocks: Option<usize>,
    /// The last used one last.
    kept: Vec<Pass<T>>,
}

impl<T: Scalar + Element> Passes<T> {
    /// None yet; each will be run by one thread, or as a batch in `blocks` of about so many rows.
    pub fn new(mode: Mode, blocks: Option<usize>) -> Self {
        Passes { mode, blocks, kept: Vec::with_capacity(KEPT) }
    }

    /// That for `rows` rows, laid out now where it was not.
    pub fn of(&mut self, module: &Module, packing: &Packing<T>, rows: usize) -> Result<&mut Pass<T>> {
        match self.kept.iter().position(|pass| pass.rows == rows) {
            Some(index) => self.kept[index..].rotate_left(1),
            None => {
                let made = match self.blocks {
                    Some(most) => Pass::of_batch(module, packing, rows, most)?,
                    None => Pass::new(module, packing, self.mode, rows)?,
                };
                if self.kept.len() == KEPT {
                    self.kept.remove(0);
                }
                self.kept.push(made);
            }
        }
        self.last().ok_or_else(|| Error::Internal("no pass".into()))
    }

    /// The last one that was used.
    pub fn last(&mut self) -> Option<&mut Pass<T>> {
        self.kept.last_mut()
    }
}

/// Says which features may be to blame, by their numbers: what is read here has no names.
pub(super) fn index_out_of_range(module: &Module) -> Error {
    let whole = module.whole_features().unwrap_or_default();
    let features: Vec<String> =
        whole.iter().enumerate().filter(|(_, is_whole)| **is_whole).map(|(index, _)| index.to_string()).collect();
    let what = format!("{}: an index is out of range", module.name());
    match &features[..] {
        [] => {
            Error::invalid(what, "check the tensors that it captures, and the features of which indices are computed")
        }
        features => Error::invalid(
            format!("{what}: an event has a category that the network does not know"),
            format!(
                "check {} {} of the events (counted from 0)",
                if features.len() == 1 { "feature" } else { "features" },
                text::list(features.iter(), ", ")
            ),
        ),
    }
}
