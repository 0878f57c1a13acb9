//! A model's prediction of one event, ready to be written: everything that does not depend on the event is a constant.

use crate::columns;
use crate::dataset::Scaler;
use crate::error::{Error, Result};
use crate::gradient::{Memory, Packing, Pass};
use crate::graph::outputs::reached;
use crate::graph::program::{Kind, Node, Origin, Primitive, Tensor};
use crate::graph::{Captured, DType, Gives, Mode, Module, Program, View};
use crate::model::{FlatOffset, Model, Network, gaussian};
use crate::text;

/// The last step from the network's outputs to predictions, after the target's scaler: see [`Model::predict`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finish {
    /// They are the predictions.
    Values,
    /// Logarithms of variances, behind the means, become standard deviations.
    Deviations,
    /// One logit becomes the probability of label 1.
    Sigmoid,
    /// Logits become the probabilities of the classes.
    Softmax,
}

/// See the module's documentation.
pub(super) struct Plan<'a> {
    pub model: &'a Model,
    module: &'a Module,
    /// Of one event: its first argument has one row.
    pub program: Program,
    /// By buffer: whether it is computed from the event.
    events: Vec<bool>,
    /// By buffer: whether the prediction is computed from it.
    reached: Vec<bool>,
    /// By buffer: its numbers, where they are the same for all events.
    constants: Vec<Vec<f32>>,
    /// By buffer: the indices, of an argument of int64.
    indices: Vec<Vec<i64>>,
}

impl Finish {
    /// The meaning of the predictions, for people.
    pub fn describe(self) -> &'static str {
        match self {
            Finish::Values => "values in the units of the labels",
            Finish::Deviations => "means of the targets and then their standard deviations, in the units of the labels",
            Finish::Sigmoid => "the probability of label 1",
            Finish::Softmax => "the probabilities of the classes",
        }
    }
}

impl<'a> Plan<'a> {
    /// Plans a model whose operators are known; `what` names the export in messages.
    pub fn new(model: &'a Model, what: &str) -> Result<Self> {
        Self::of(model, what, |module| module.program(Mode::Evaluation, 1))
    }

    /// The same, with marks on the program's buffers through which a derivative by the event goes.
    pub fn with_gradient(model: &'a Model, what: &str) -> Result<Self> {
        Self::of(model, what, |module| module.program_by_events(1))
    }

    fn of(model: &'a Model, what: &str, program: impl FnOnce(&Module) -> Result<Program>) -> Result<Self> {
        model.check_finite(&format!("{what} is written"))?;
        let module = known_operators(model, what)?;
        if !module.takes_one(Mode::Evaluation) {
            return Err(Error::invalid(
                format!("{} does not take a single event, which {what} is made of", module.name()),
                "write its function such that a batch of one event keeps its dimensions (squeeze(dim), not squeeze())",
            ));
        }
        let program = program(module)?;
        let events = computed_from_events(&program);
        let mut plan = Plan {
            model,
            module,
            events,
            reached: reached(&program),
            constants: vec![Vec::new(); program.buffers.len()],
            indices: vec![Vec::new(); program.buffers.len()],
            program,
        };
        if !plan.is_event(plan.result().buffer) {
            return Err(Error::invalid(
                format!("{} predicts the same for all events", module.name()),
                "export a model that reads its inputs",
            ));
        }
        plan.read_indices();
        plan.compute_constants()?;
        Ok(plan)
    }

    /// The module of the model.
    pub fn module(&self) -> &Module {
        self.module
    }

    /// The network's result for the event.
    pub fn result(&self) -> &Tensor {
        &self.program.results()[0]
    }

    /// Whether a buffer's numbers depend on the event.
    pub fn is_event(&self, buffer: usize) -> bool {
        self.events[buffer]
    }

    /// Nodes that must be computed for each event, in order.
    pub fn nodes(&self) -> impl Iterator<Item = (usize, &Node)> {
        let is_due = |node: &&Node| self.events[node.buffer] && self.reached[node.buffer];
        self.program.nodes.iter().enumerate().filter(move |(_, node)| is_due(node))
    }

    /// The numbers of a buffer that does not depend on the event.
    pub fn constant(&self, buffer: usize) -> &[f32] {
        &self.constants[buffer]
    }

    /// Those that a view of it shows, in row-major order.
    pub fn elements(&self, buffer: usize, view: &View) -> Vec<f32> {
        view.offsets().map(|at| self.constants[buffer][at]).collect()
    }

    /// The number that all elements of a tensor are, if they are the same for all events and one.
    pub fn number(&self, tensor: &Tensor) -> Option<f32> {
        let View { offset, sizes, strides } = &tensor.view;
        let is_one = sizes.iter().zip(strides).all(|(&size, &stride)| size == 1 || stride == 0);
        (is_one && !self.is_event(tensor.buffer)).then(|| self.constants[tensor.buffer].get(*offset).copied())?
    }

    /// For each element of a value of [`Primitive::Gather`] the place in the first operand's buffer; none: it is 0.
    pub fn gathered(&self, node: &Node) -> Result<Vec<Option<usize>>> {
        let (Primitive::Gather(gather), [source, index, ..]) = (&node.primitive, &node.operands[..]) else {
            return Err(Error::Internal("no Gather".into()));
        };
        let index_at = |at: usize| match index.kind {
            Kind::Count => self.constants[index.buffer].get(at).map(|&counted| counted as i64),
            _ => self.indices[index.buffer].get(at).copied(),
        };
        let indices = index.view.offsets().map(index_at);
        let place = |(base, index): (usize, Option<i64>)| {
            let index = index.ok_or_else(|| Error::Internal("an index that is not known".into()))?;
            if gather.skip == Some(index) {
                return Ok(None);
            }
            let counted = if index < 0 && gather.from_end { index + gather.size as i64 } else { index };
            match usize::try_from(counted) {
                Ok(at) if at < gather.size => Ok(Some(base + at * gather.stride)),
                _ => Err(self.refuse(node, &format!("takes element {index} of {}", gather.size))),
            }
        };
        source.view.offsets().zip(indices).map(place).collect()
    }

    /// The last step from outputs to predictions.
    pub fn finish(&self) -> Finish {
        match (self.model.gives(), self.model.outputs()) {
            (Gives::Values, _) => Finish::Values,
            (Gives::Gaussians, _) => Finish::Deviations,
            (Gives::Probabilities, 1) => Finish::Sigmoid,
            (Gives::Probabilities, _) => Finish::Softmax,
        }
    }

    /// The logarithms of variances that [`Finish::Deviations`] takes instead of lower ones, [targets].
    pub fn least_log_variances(&self) -> Vec<f32> {
        gaussian::least_log_variances(self.model.outputs(), self.target())
    }

    /// Applied to the features.
    pub fn scaler(&self) -> Option<&Scaler> {
        self.model.training().scaler.as_ref()
    }

    /// Undone on the outputs.
    pub fn target(&self) -> Option<&Scaler> {
        self.model.training().target.as_ref()
    }

    /// The user's names of an event's features; `x[3]` if the model has no columns.
    pub fn columns(&self) -> Vec<String> {
        let columns = self.model.columns();
        let name = |at| if columns.is_empty() { format!("x[{at}]") } else { columns::element_name(columns, at) };
        (0..self.model.inputs()).map(name).collect()
    }

    /// The name of the tensor of the network that a buffer is; none: it is another constant.
    pub fn parameter_name(&self, buffer: usize) -> Option<String> {
        let Origin::Argument(argument) = self.program.buffers[buffer].origin else { return None };
        let at = argument.checked_sub(1)?;
        if matches!(self.model.network(), Network::Mlp(_)) {
            return Some(format!("layers.{}.{}", at / 2, ["weight", "bias"][at % 2]));
        }
        let place = match &self.module.captured()[*self.module.constant_indices(Mode::Evaluation).get(at)?] {
            Captured::Parameter(range) => FlatOffset::Parameter(range.start),
            Captured::State(range) => FlatOffset::State(range.start),
            Captured::Fixed(_) => return None,
        };
        Some(self.model.names().path(place)).filter(|path| !path.is_empty()).map(text::name)
    }

    /// The error that a node cannot be written.
    pub fn refuse(&self, node: &Node, why: &str) -> Error {
        let operator = self.module.operator(Mode::Evaluation, node.observed);
        let name = if operator.is_empty() { node.primitive.name().to_owned() } else { operator };
        Error::invalid(
            format!("{name} {why}"),
            "Save writes the whole model for CladTorch; for other programs leave out the operator, or write it with others",
        )
    }

    fn read_indices(&mut self) {
        let captured: Vec<&Captured> = self.module.constants(Mode::Evaluation).collect();
        for (buffer, about) in self.program.buffers.iter().enumerate() {
            let Origin::Argument(argument) = about.origin else { continue };
            if let (DType::Int64, Some(Captured::Fixed(words))) =
                (self.program.arguments[argument].dtype, argument.checked_sub(1).and_then(|at| captured.get(at)))
            {
                self.indices[buffer] = words.iter().map(|word| *word as i64).collect();
            }
        }
    }

    /// Runs whatever does not depend on the event with the kernels, so that the values equal those of a prediction.
    fn compute_constants(&mut self) -> Result<()> {
        let mut program = self.program.clone();
        let mut wanted = vec![false; program.buffers.len()];
        for (_, node) in self.nodes() {
            node.operands.iter().for_each(|operand| wanted[operand.buffer] = true);
        }
        let is_number = |buffer: usize| match program.buffers[buffer].origin {
            Origin::Argument(argument) => program.arguments[argument].dtype != DType::Int64,
            Origin::Literal(_) | Origin::Node(_) => true,
        };
        let due: Vec<usize> = (0..wanted.len())
            .filter(|&buffer| wanted[buffer] && !self.events[buffer] && is_number(buffer))
            .filter(|&buffer| program.buffers[buffer].length > 0)
            .collect();
        let line = |offset: usize, length: usize| View { offset, ..View::contiguous(&[length]) };
        let (mut operands, mut places, mut total) = (Vec::new(), Vec::new(), 0);
        for &buffer in &due {
            let length = program.buffers[buffer].length;
            operands.push(Tensor { buffer, view: line(0, length), kind: crate::graph::program::Kind::Number });
            places.push(line(total, length));
            total += length;
        }
        if due.is_empty() {
            return Ok(());
        }
        let assembled = program.node(Primitive::Concat { fill: 0.0, places }, operands, vec![total], 0)?;
        program.outputs = vec![assembled];
        let packing = Packing::plain(self.module);
        let mut pass = Pass::of_program(self.module, &packing, Mode::Evaluation, 1, &program)?;
        let x = vec![0.0; pass.input_length()];
        let memory = Memory { x: &x, parameters: self.model.parameters(), derived: &[], state: self.model.state() };
        let mut numbers = vec![0.0; total];
        pass.forward(self.module, &memory, 1, &mut numbers)?;
        let mut rest = &numbers[..];
        for buffer in due {
            let (own, behind) = rest.split_at(self.program.buffers[buffer].length);
            self.constants[buffer] = own.to_vec();
            rest = behind;
        }
        Ok(())
    }
}

/// The operators of a model, or why they are not known.
fn known_operators<'a>(model: &'a Model, what: &str) -> Result<&'a Module> {
    let refused = |why: &str| {
        Error::invalid(
            format!("{what} is made of operators with kernels, and LibTorch runs this network itself ({why})"),
            "write the network with the operators that CladTorch::Model::Print names as supported",
        )
    };
    let module = model.module().map(|module| &**module);
    module.ok_or_else(|| refused(model.why_libtorch().unwrap_or_default()))
}

fn computed_from_events(program: &Program) -> Vec<bool> {
    let is_first = |origin: &Origin| matches!(origin, Origin::Argument(0));
    let mut events: Vec<bool> = program.buffers.iter().map(|buffer| is_first(&buffer.origin)).collect();
    for node in &program.nodes {
        events[node.buffer] = node.operands.iter().any(|operand| events[operand.buffer]);
    }
    events
}
