//! The values that a fit changes: parameters and running statistics.

use super::Model;
use crate::error::{Error, Result};

impl Model {
    /// The flat vector of running statistics, which a fit changes besides the parameters.
    pub fn state(&self) -> &[f32] {
        self.state.as_slice()
    }

    /// Replaces it; the numbers must be as many.
    pub fn set_state(&mut self, values: &[f32]) -> Result<()> {
        match values.len() == self.state().len() {
            true => self.state.as_mut_slice().copy_from_slice(values),
            false => return Err(Error::Internal(format!("{} numbers of state", values.len()))),
        }
        Ok(())
    }

    /// The flat parameter vector: for each layer of a perceptron its weight [outputs, inputs], then its bias [outputs].
    pub fn parameters(&self) -> &[f32] {
        self.parameters.as_slice()
    }

    /// Replaces the parameters; they must be as many, and finite.
    pub fn set_parameters(&mut self, values: &[f32]) -> Result<()> {
        let expected = self.parameters().len();
        if values.len() != expected {
            return Err(Error::invalid(
                format!("{} parameters for a model of {expected}", values.len()),
                "give as many as the model has",
            ));
        }
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            return Err(Error::invalid(
                format!("{} is {}", self.names.parameter(at), values[at]),
                "give finite numbers",
            ));
        }
        self.parameters.as_mut_slice().copy_from_slice(values);
        if let Some(predictor) = self.computation.predictor() {
            predictor.forget_parameters();
        }
        Ok(())
    }

    /// Refuses numbers that no fit can begin with, and no file holds: a module's may be anything. `before` is what then cannot be.
    pub fn check_finite(&self, before: &str) -> Result<()> {
        let not_finite = |values: &[f32]| values.iter().position(|value| !value.is_finite());
        let parameter = not_finite(self.parameters()).map(|at| (self.names.parameter(at), self.parameters()[at]));
        let statistic = || not_finite(self.state()).map(|at| (self.names.state(at), self.state()[at]));
        match parameter.or_else(statistic) {
            None => Ok(()),
            Some((name, value)) => {
                Err(Error::invalid(format!("{name} is {value} before {before}"), "give it finite numbers"))
            }
        }
    }
}
