//! Construction of modules: from observations, from a chain of layers, from a file.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{By, Captured, Cost, Definition, Mode, Module, Observed, RowsMeet};
use crate::error::{Error, Result};
use crate::graph::saved::{Bound, SavedTensor};
use crate::graph::{DType, Graph, ObservedGraph, Op, Program, lower};

impl Module {
    /// `shape` is that of one event, `modes` training and evaluation; `is_parameter` tells it for each captured tensor,
    /// and `read` returns the given number of bytes of one that does not train.
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
    pub(in crate::graph) fn restored(
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
            definition: Definition::Observed(Box::new(modes)),
            captured: is_parameter.iter().map(|_| Captured::Fixed(Vec::new())).collect(),
            parameters: 0,
            state: 0,
            dtype: DType::Float32,
            cost: Cost::default(),
            takes_one: [false; 2],
            rows_meet: RowsMeet::Elsewhere,
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
        module.rows_meet = module.training_rows_meet()?;
        module.takes_one = [Mode::Training, Mode::Evaluation].map(|mode| module.program(mode, 1).is_ok());
        Ok(self)
    }

    /// Another function of the same captured tensors in evaluation, with the same parameters and state: part of this one.
    pub(in crate::graph) fn part(&self, what: &str, shape: &[usize], evaluation: Observed) -> Result<Self> {
        let rows = evaluation.batch.rows();
        let mut part = Module {
            number: number(),
            name: format!("{what} of {}", self.name),
            shape: shape.to_vec(),
            // It is never trained.
            definition: Definition::Observed(Box::new([evaluation.clone(), evaluation])),
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
            rows_meet: RowsMeet::Nowhere,
            bound: None,
            definition: Definition::Chain(graph.clone(), (0..captured.len()).collect()),
            captured,
        }
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

    fn check_evaluation(&self, evaluation: &Program) -> Result<()> {
        if evaluation.dropout.is_empty() && evaluation.updates.is_empty() {
            return Ok(());
        }
        Err(Error::invalid(
            format!("{} draws random numbers (dropout) or changes running statistics in evaluation too", self.name),
            "give the torch::nn module itself, whose train() and eval() a model switches, not a function that calls it; a network that \
             Python traces has to be in eval() then",
        ))
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

    /// Elements of a captured tensor, which must be dense.
    fn dense_length(&self, index: usize) -> Result<usize> {
        let view = lower::observed_view(self.value(index)?)?;
        match view.is_contiguous() {
            true => Ok(view.len()),
            false => Err(self.refuse(&format!("has a parameter of shape {:?} that is not contiguous", view.sizes))),
        }
    }
}

/// The next module's.
pub(super) fn number() -> u64 {
    static MADE: AtomicU64 = AtomicU64::new(0);
    MADE.fetch_add(1, Ordering::Relaxed)
}
