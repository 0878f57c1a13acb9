//! A function of events with parameters, as what trains: its operators in both modes, for any number of rows.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::categories::whole_features;
use super::dependence::{Dependence, dependence, events_mix};
use super::program::{Primitive, Product, extent};
use super::saved::{Bound, SavedTensor};
use super::{
    AnyBatch, DType, Graph, ObservedArgument, ObservedGraph, ObservedNode, ObservedValue, Op, Program, chain, lower,
};
use crate::error::{Error, Result};

/// Which of a module's two functions: torch::nn modules tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Dropout draws, running statistics change.
    Training,
    /// Neither.
    Evaluation,
}

/// What a program has derivatives by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Nothing,
    Parameters,
    Events,
}

/// How the function was observed in one mode. Its first argument are the rows, the others tensors that it captured.
#[derive(Clone)]
pub struct Observed {
    /// For two rows and more.
    pub batch: AnyBatch,
    /// For a single one, where a dimension is broadcast; or why the function does not take it.
    pub one: Result<ObservedGraph, String>,
    /// Which of the module's captured tensors each constant of the observation is.
    pub constants: Vec<usize>,
}

impl Observed {
    /// Says in the place of an operator which part of the module it belongs to: that of the first tensor that it takes which
    /// has one. `parts` has a name for each of the module's captured tensors, or "".
    pub fn name_parts(&mut self, parts: &[&str]) {
        let graphs = self.batch.graphs_mut().iter_mut().chain(self.one.as_mut());
        for graph in graphs {
            let constants = &graph.constants;
            let part = |value: u32| {
                let position = constants.iter().position(|&constant| constant == value)?;
                parts.get(*self.constants.get(position)?).filter(|part| !part.is_empty())
            };
            for node in &mut graph.nodes {
                let mut values = node.arguments.iter().flat_map(ObservedArgument::values);
                if let Some(part) = values.find_map(part) {
                    node.place += &format!(", part {part}");
                }
            }
        }
    }
}

/// A tensor that the function captured.
#[derive(Clone, Debug, PartialEq)]
pub enum Captured {
    /// Where it lies in the flat vector of parameters.
    Parameter(Range<usize>),
    /// Where it lies in the flat vector of state: running statistics, which training changes.
    State(Range<usize>),
    /// Its elements, which stay as they are: their bytes, in words because of their alignment.
    Fixed(Vec<u64>),
}

/// See the module's documentation.
pub struct Module {
    /// Of this process's modules.
    number: u64,
    name: String,
    shape: Vec<usize>,
    outputs: usize,
    source: Source,
    captured: Vec<Captured>,
    parameters: usize,
    state: usize,
    dtype: DType,
    cost: Cost,
    takes_one: [bool; 2],
    events_are_apart: bool,
    /// Of a module from a file.
    bound: Option<Bound>,
}

/// What a module computes.
enum Source {
    /// A function that LibTorch was seen to run, in training and in evaluation.
    Observed(Box<[Observed; 2]>),
    /// A chain of layers, in both modes; its constants are all that it captures.
    Chain(Graph, Vec<usize>),
}

/// Numbers of events with which is seen whether they stay apart. The first one is prime: it is a whole number of nothing else.
const APART: [usize; 2] = [7, 6];

/// Of an event, forward in evaluation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// That operators compute.
    pub numbers: usize,
    /// Multiplications of products, and the numbers.
    pub work: usize,
}

impl Module {
    /// `shape` is that of one event, `modes` training and evaluation; `is_parameter` says it for each captured tensor, and
    /// `read` gives so many bytes of one that stays as it is.
    pub fn new(
        name: &str,
        shape: &[usize],
        modes: [Observed; 2],
        is_parameter: &[bool],
        read: impl FnMut(usize, usize) -> Vec<u64>,
    ) -> Result<Self> {
        Self::unchecked(name, shape, modes, is_parameter, None)?.placed(is_parameter, read)
    }

    /// The same from a file, where `captured` describes each captured tensor.
    pub(super) fn restored(
        name: &str,
        shape: &[usize],
        modes: [Observed; 2],
        captured: &[SavedTensor],
        bound: Bound,
        mut read: impl FnMut(usize) -> Vec<u64>,
    ) -> Result<Self> {
        let is_parameter: Vec<bool> = captured.iter().map(|tensor| tensor.is_parameter).collect();
        let module = Self::unchecked(name, shape, modes, &is_parameter, Some(bound))?;
        for (index, tensor) in captured.iter().enumerate() {
            if module.captured_memory(index)? != (tensor.dtype, tensor.elements) {
                return Err(
                    module.refuse(&format!("captured tensor {index} has another type or length than its elements"))
                );
            }
        }
        module.placed(&is_parameter, |index, _| read(index))
    }

    fn unchecked(
        name: &str,
        shape: &[usize],
        modes: [Observed; 2],
        is_parameter: &[bool],
        bound: Option<Bound>,
    ) -> Result<Self> {
        let module = Module {
            number: number(),
            name: name.to_owned(),
            shape: shape.to_vec(),
            outputs: 0,
            source: Source::Observed(Box::new(modes)),
            captured: is_parameter.iter().map(|_| Captured::Fixed(Vec::new())).collect(),
            parameters: 0,
            state: 0,
            dtype: DType::Float32,
            cost: Cost::default(),
            takes_one: [false; 2],
            events_are_apart: false,
            bound,
        };
        module.check_constants()?;
        Ok(module)
    }

    /// With all that its operators say.
    fn placed(mut self, is_parameter: &[bool], mut read: impl FnMut(usize, usize) -> Vec<u64>) -> Result<Self> {
        let module = &mut self;
        module.place_parameters(is_parameter)?;
        let rows = module.observed(Mode::Training)?.batch.rows();
        let training = module.lowered(Mode::Training, rows, By::Parameters)?;
        let evaluation = module.lowered(Mode::Evaluation, rows, By::Nothing)?;
        module.check_evaluation(&evaluation)?;
        module.place_state(&training)?;
        for (index, bytes) in module.fixed_bytes()?.into_iter().enumerate() {
            if let (Captured::Fixed(elements), Some(bytes)) = (&mut module.captured[index], bytes) {
                *elements = read(index, bytes);
                if elements.len() * size_of::<u64>() < bytes {
                    return Err(Error::Internal(format!("{} words for {bytes} bytes", elements.len())));
                }
            }
        }
        module.outputs = module.outputs_of(&training, rows)?;
        if module.outputs_of(&evaluation, rows)? != module.outputs {
            return Err(module.refuse("has another number of outputs in training than in evaluation"));
        }
        module.dtype = training.dtype;
        module.cost = Cost::of(&evaluation, rows);
        module.events_are_apart = training.updates.is_empty() && module.dependence(Mode::Training)?.is_none();
        module.takes_one = [Mode::Training, Mode::Evaluation].map(|mode| module.program(mode, 1).is_ok());
        Ok(self)
    }

    /// Another function of the same captured tensors in evaluation, with the same parameters and state: part of this one.
    pub(super) fn part(&self, what: &str, shape: &[usize], evaluation: Observed) -> Result<Self> {
        let rows = evaluation.batch.rows();
        let mut part = Module {
            number: number(),
            name: format!("{what} of {}", self.name),
            shape: shape.to_vec(),
            // It is never trained.
            source: Source::Observed(Box::new([evaluation.clone(), evaluation])),
            captured: self.captured.clone(),
            ..*self
        };
        let program = part.lowered(Mode::Evaluation, rows, By::Nothing)?;
        part.outputs = part.outputs_of(&program, rows)?;
        part.cost = Cost::of(&program, rows);
        part.takes_one[Mode::Evaluation as usize] = part.program(Mode::Evaluation, 1).is_ok();
        Ok(part)
    }

    /// A chain of layers that computes in numbers of that type, in both modes.
    pub fn of_graph(graph: &Graph, dtype: DType) -> Self {
        let layers = graph.layers().flat_map(|(weight, bias, ..)| [weight, bias]);
        let captured: Vec<Captured> = layers.map(Captured::Parameter).collect();
        let work = |op: &Op, inputs: usize| if matches!(op, Op::Linear { .. }) { inputs } else { 1 };
        Module {
            number: number(),
            name: "Mlp".to_owned(),
            shape: vec![graph.inputs()],
            outputs: graph.outputs(),
            parameters: graph.parameters(),
            state: 0,
            dtype,
            cost: Cost {
                numbers: graph.nodes().iter().map(|node| node.outputs).sum::<usize>().max(1),
                work: graph.nodes().iter().map(|node| node.outputs * work(&node.op, node.inputs)).sum::<usize>().max(1),
            },
            takes_one: [true; 2],
            // Its operators compute each row by itself.
            events_are_apart: true,
            bound: None,
            source: Source::Chain(graph.clone(), (0..captured.len()).collect()),
            captured,
        }
    }

    /// No other module of this process has it.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// For people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Of one event.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Numbers an event.
    pub fn inputs(&self) -> usize {
        self.shape.iter().product()
    }

    /// Numbers that it gives for an event.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Length of the flat vector of parameters.
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// Length of the flat vector of state.
    pub fn state(&self) -> usize {
        self.state
    }

    /// The captured tensors.
    pub fn captured(&self) -> &[Captured] {
        &self.captured
    }

    /// Of every number.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Of an event.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// Whether it computes a single event.
    pub fn takes_one(&self, mode: Mode) -> bool {
        self.takes_one[mode as usize]
    }

    /// Whether the outputs of an event are computed from that event alone in training, as they are in evaluation.
    pub fn events_are_apart(&self) -> bool {
        self.events_are_apart
    }

    /// Which of the captured tensors the arguments after the first are, in one mode.
    pub fn constant_indices(&self, mode: Mode) -> &[usize] {
        match &self.source {
            Source::Observed(modes) => &modes[mode as usize].constants,
            Source::Chain(_, constants) => constants,
        }
    }

    /// The captured tensors that the arguments after the first are, in one mode.
    pub fn constants(&self, mode: Mode) -> impl Iterator<Item = &Captured> {
        self.constant_indices(mode).iter().map(|&index| &self.captured[index])
    }

    /// What computes `rows` rows, in training with gradients of the parameters.
    pub fn program(&self, mode: Mode, rows: usize) -> Result<Program> {
        self.checked_program(mode, rows, if mode == Mode::Training { By::Parameters } else { By::Nothing })
    }

    /// What computes `rows` rows in evaluation, with the gradient of these rows.
    pub fn program_by_events(&self, rows: usize) -> Result<Program> {
        self.checked_program(Mode::Evaluation, rows, By::Events)
    }

    fn checked_program(&self, mode: Mode, rows: usize, by: By) -> Result<Program> {
        let program = self.lowered(mode, rows, by)?;
        if self.outputs_of(&program, rows)? != self.outputs {
            return Err(self.refuse(&format!("has another number of outputs for {rows} rows")));
        }
        Ok(program)
    }

    /// For each number of an event whether the network takes it as a whole number, as categories are.
    pub fn whole_features(&self) -> Result<Vec<bool>> {
        match &self.source {
            Source::Observed(_) => {
                let [events, _] = APART;
                Ok(whole_features(&self.lowered(Mode::Evaluation, events, By::Nothing)?, events))
            }
            Source::Chain(..) => Ok(vec![false; self.inputs()]),
        }
    }

    /// Predictions are made in blocks of events: refuses a module in which that of an event depends on its neighbours.
    pub fn check_events_are_apart(&self) -> Result<()> {
        let Some(found) = self.dependence(Mode::Evaluation)? else { return Ok(()) };
        let [graph, _] = self.observed(Mode::Evaluation)?.batch.graphs();
        let operator = |index: usize| graph.nodes.get(index).map_or(self.name.clone(), operator_name);
        let what = match found {
            Dependence::Mixes(index) => format!("{} mixes the events of a batch", operator(index)),
            Dependence::Moves => format!("{} returns the events in another order", self.name),
            Dependence::Counts(index) => format!("{} computes with the number of events in the batch", operator(index)),
        };
        Err(events_mix(&what))
    }

    /// The observed operator of that number, with its place; empty in a chain of layers.
    pub fn operator(&self, mode: Mode, index: usize) -> String {
        let Ok(observed) = self.observed(mode) else { return String::new() };
        let [graph, _] = observed.batch.graphs();
        graph.nodes.get(index).map_or(String::new(), operator_name)
    }

    fn lowered(&self, mode: Mode, rows: usize, by: By) -> Result<Program> {
        if let Source::Chain(graph, _) = &self.source {
            return chain::program(graph, self.dtype, rows, by == By::Events, by == By::Parameters);
        }
        let graph = self.observation(mode, rows)?;
        let is_trained = |captured: &Captured| by == By::Parameters && matches!(captured, Captured::Parameter(_));
        let constants = self.constants(mode).map(is_trained);
        let gradients: Vec<bool> = std::iter::once(by == By::Events).chain(constants).collect();
        let program = match self.bound {
            None => lower::lower(&graph, &gradients)?,
            Some(bound) => {
                bound.check(&graph, rows)?;
                lower::lower_within(&graph, &gradients, bound.elements(rows))?
            }
        };
        self.check_arguments(&program, mode, rows)?;
        Ok(program)
    }

    /// What is passed to a program lies in memory as the program expects it: the rows dense, captured tensors as they are.
    fn check_arguments(&self, program: &Program, mode: Mode, rows: usize) -> Result<()> {
        let constants = self.constant_indices(mode);
        let [events, captured @ ..] = &program.arguments[..] else {
            return Err(self.refuse("takes no events"));
        };
        let sizes = [&[rows], &self.shape[..]].concat();
        if events.dtype != program.dtype || events.view.sizes != sizes || !events.view.is_contiguous() {
            return Err(self.refuse(&format!("takes events of shape {:?} instead of {sizes:?}", events.view.sizes)));
        }
        let captured = captured.iter().take(captured.len() - program.noise.len().min(captured.len()));
        for (argument, &index) in captured.zip(constants) {
            let value = self.value(index)?;
            if argument.dtype != value.dtype || argument.view != lower::observed_view(value)? {
                return Err(self.refuse("changes the shape of a captured tensor with the number of events"));
            }
        }
        Ok(())
    }

    /// What LibTorch was observed to run in this mode, or a file was found to say, for two events and more.
    pub fn observed_batch(&self, mode: Mode) -> Result<&AnyBatch> {
        self.observed(mode).map(|observed| &observed.batch)
    }

    /// Type and elements of a captured tensor that stays as it is, row-major.
    pub fn fixed_elements(&self, index: usize) -> Result<(DType, Vec<u8>)> {
        let value = self.value(index)?;
        let Captured::Fixed(words) = &self.captured[index] else {
            return Err(Error::Internal(format!("captured tensor {index} does not stay as it is")));
        };
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let size = value.dtype.bytes();
        let offsets = lower::observed_view(value)?.offsets().collect::<Vec<_>>();
        Ok((value.dtype, offsets.into_iter().flat_map(|at| bytes[at * size..(at + 1) * size].to_vec()).collect()))
    }

    pub(super) fn observed(&self, mode: Mode) -> Result<&Observed> {
        match &self.source {
            Source::Observed(modes) => Ok(&modes[mode as usize]),
            Source::Chain(..) => Err(Error::Internal("a chain was not observed".into())),
        }
    }

    fn observation(&self, mode: Mode, rows: usize) -> Result<ObservedGraph> {
        let observed = self.observed(mode)?;
        if rows == 1 {
            return observed.one.clone().map_err(|why| self.refuse(&format!("does not take a single event: {why}")));
        }
        observed.batch.at(rows as i64).map_err(|error| match error {
            Error::Invalid { what, .. } => self.refuse(&what),
            other => other,
        })
    }

    fn refuse(&self, what: &str) -> Error {
        Error::invalid(
            format!("{}: {what}", self.name),
            "a model gives each event of a batch its outputs, [events, outputs], by the same operators for any number of \
             events",
        )
    }

    fn check_constants(&self) -> Result<()> {
        for mode in [Mode::Training, Mode::Evaluation] {
            let observed = self.observed(mode)?;
            let mut graphs = observed.batch.graphs().iter().chain(&observed.one);
            let fits =
                |graph: &ObservedGraph| graph.constants.len() == observed.constants.len() && graph.inputs.len() == 1;
            if !graphs.all(fits) || observed.constants.iter().any(|&index| index >= self.captured.len()) {
                return Err(Error::Internal(format!("{} constants of an observation", observed.constants.len())));
            }
        }
        Ok(())
    }

    /// Type of a captured tensor, and elements of the memory that it reaches over.
    pub fn captured_memory(&self, index: usize) -> Result<(DType, usize)> {
        let value = self.value(index)?;
        Ok((value.dtype, extent(&lower::observed_view(value)?)?))
    }

    /// A captured tensor as it was observed.
    pub fn value(&self, index: usize) -> Result<&ObservedValue> {
        let found = [Mode::Training, Mode::Evaluation].into_iter().find_map(|mode| {
            let observed = self.observed(mode).ok()?;
            let [graph, _] = observed.batch.graphs();
            let position = observed.constants.iter().position(|&one| one == index)?;
            graph.values.get(*graph.constants.get(position)? as usize)
        });
        found.ok_or_else(|| Error::Internal(format!("captured tensor {index} is in no observation")))
    }

    fn place_parameters(&mut self, is_parameter: &[bool]) -> Result<()> {
        for index in (0..is_parameter.len()).filter(|&index| is_parameter[index]) {
            let length = self.dense_length(index)?;
            self.captured[index] = Captured::Parameter(self.parameters..self.parameters + length);
            self.parameters += length;
        }
        Ok(())
    }

    /// Of what training changes.
    fn place_state(&mut self, training: &Program) -> Result<()> {
        for &argument in &training.updates {
            let constants = self.constant_indices(Mode::Training);
            let constant = argument.checked_sub(1).and_then(|at| constants.get(at)).copied();
            let index = constant.ok_or_else(|| self.refuse("changes its input"))?;
            let length = self.dense_length(index)?;
            match self.captured[index] {
                Captured::Parameter(_) => return Err(self.refuse("changes a parameter")),
                Captured::State(_) => return Err(self.refuse("changes a captured tensor twice")),
                Captured::Fixed(_) => self.captured[index] = Captured::State(self.state..self.state + length),
            }
            self.state += length;
        }
        Ok(())
    }

    /// Elements of a captured tensor, which has to be dense.
    fn dense_length(&self, index: usize) -> Result<usize> {
        let view = lower::observed_view(self.value(index)?)?;
        match view.is_contiguous() {
            true => Ok(view.len()),
            false => Err(self.refuse(&format!("has a parameter of shape {:?} that is not contiguous", view.sizes))),
        }
    }

    /// Bytes of the memory that each fixed tensor reaches over.
    fn fixed_bytes(&self) -> Result<Vec<Option<usize>>> {
        let bytes = |(index, captured): (usize, &Captured)| match captured {
            Captured::Fixed(_) => {
                let (dtype, elements) = self.captured_memory(index)?;
                Ok(Some(elements * dtype.bytes()))
            }
            Captured::Parameter(_) | Captured::State(_) => Ok(None),
        };
        self.captured.iter().enumerate().map(bytes).collect()
    }

    fn check_evaluation(&self, evaluation: &Program) -> Result<()> {
        if evaluation.noise.is_empty() && evaluation.updates.is_empty() {
            return Ok(());
        }
        Err(Error::invalid(
            format!("{} draws random numbers (dropout) or changes running statistics in evaluation too", self.name),
            "give the torch::nn module itself, whose train() and eval() a model switches, not a function that calls it; a network that \
             Python traces has to be in eval() then",
        ))
    }

    fn dependence(&self, mode: Mode) -> Result<Option<Dependence>> {
        let [first, second] = APART.map(|events| self.lowered(mode, events, By::Nothing));
        dependence([&first?, &second?], APART[0])
    }

    fn outputs_of(&self, program: &Program, rows: usize) -> Result<usize> {
        let [result] = program.results() else {
            return Err(self.refuse(&format!("returns {} tensors", program.results().len())));
        };
        match result.view.sizes[..] {
            [count] if count == rows => Ok(1),
            [count, outputs] if count == rows && outputs > 0 => Ok(outputs),
            _ => Err(self.refuse(&format!("returns a tensor of shape {:?} for {rows} events", result.view.sizes))),
        }
    }
}

/// The next module's.
fn number() -> u64 {
    static MADE: AtomicU64 = AtomicU64::new(0);
    MADE.fetch_add(1, Ordering::Relaxed)
}

/// With its place.
fn operator_name(ObservedNode { op, place, .. }: &ObservedNode) -> String {
    if place.is_empty() { op.clone() } else { format!("{op} at {place}") }
}

impl Cost {
    fn of(program: &Program, rows: usize) -> Self {
        let numbers: usize = program.nodes.iter().map(|node| program.buffers[node.buffer].length).sum();
        let products = program.nodes.iter().map(|node| match &node.primitive {
            Primitive::Product(Product { m, n, k, batches }) => m * n * k * batches.len(),
            Primitive::Convolve(convolution) => convolution.work(),
            _ => 0,
        });
        let work = numbers + products.sum::<usize>();
        Cost { numbers: numbers.div_ceil(rows).max(1), work: work.div_ceil(rows).max(1) }
    }
}
