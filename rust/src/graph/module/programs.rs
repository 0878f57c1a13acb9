//! The programs of a module, for any number of rows.

use super::{By, Captured, Definition, Mode, Module, RowsMeet, operator_name};
use crate::error::{Error, Result};
use crate::graph::categories::whole_features;
use crate::graph::dependence::{Dependence, dependence, events_mix};
use crate::graph::{ObservedGraph, Program, batch_statistics, chain, lower};

impl Module {
    /// The program for `rows` rows, in training with gradients of the parameters.
    pub fn program(&self, mode: Mode, rows: usize) -> Result<Program> {
        self.checked_program(mode, rows, if mode == Mode::Training { By::Parameters } else { By::Nothing })
    }

    /// The program for `rows` rows in evaluation, with the gradient of these rows.
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
        match &self.definition {
            Definition::Observed(_) => {
                let [events, _] = APART;
                Ok(whole_features(&self.lowered(Mode::Evaluation, events, By::Nothing)?, events))
            }
            Definition::Chain(..) => Ok(vec![false; self.inputs()]),
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

    pub(super) fn lowered(&self, mode: Mode, rows: usize, by: By) -> Result<Program> {
        if let Definition::Chain(graph, _) = &self.definition {
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
        let captured = captured.iter().take(captured.len() - program.dropout.len().min(captured.len()));
        for (argument, &index) in captured.zip(constants) {
            let value = self.value(index)?;
            if argument.dtype != value.dtype || argument.view != lower::observed_view(value)? {
                return Err(self.refuse("changes the shape of a captured tensor with the number of events"));
            }
        }
        Ok(())
    }

    pub(super) fn observation(&self, mode: Mode, rows: usize) -> Result<ObservedGraph> {
        let observed = self.observed(mode)?;
        if rows == 1 {
            return observed.one.clone().map_err(|why| self.refuse(&format!("does not take a single event: {why}")));
        }
        observed.batch.at(rows as i64).map_err(|error| match error {
            Error::Invalid { what, .. } => self.refuse(&what),
            other => other,
        })
    }

    pub(super) fn dependence(&self, mode: Mode) -> Result<Option<Dependence>> {
        let [first, second] = APART.map(|events| self.lowered(mode, events, By::Nothing));
        dependence([&first?, &second?], APART[0])
    }

    pub(super) fn training_rows_meet(&self) -> Result<RowsMeet> {
        let [first, second] = APART.map(|events| self.lowered(Mode::Training, events, By::Nothing));
        let programs = [first?, second?];
        if programs[0].updates.is_empty() && dependence([&programs[0], &programs[1]], APART[0])?.is_none() {
            return Ok(RowsMeet::Nowhere);
        }
        let [first, second] = programs.each_ref().map(batch_statistics::with_given_moments);
        let is_apart = match (first?, second?) {
            (Some(first), Some(second)) => dependence([&first, &second], APART[0])?.is_none(),
            _ => false,
        };
        let has_own_updates = batch_statistics::updates(&programs[0])?.is_some();
        Ok(if is_apart && has_own_updates { RowsMeet::InStatistics } else { RowsMeet::Elsewhere })
    }

    pub(super) fn outputs_of(&self, program: &Program, rows: usize) -> Result<usize> {
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

/// Numbers of events with which is seen whether they stay apart. The first one is prime: it is a whole number of nothing else.
const APART: [usize; 2] = [7, 6];
