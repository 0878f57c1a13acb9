//! The events that a model takes: their numbers, columns and labels.

use super::computation::Computation;
use super::{Model, Network, Training};
use crate::columns::{self, Column};
use crate::dataset::Targets;
use crate::error::{Error, Result};

impl Model {
    /// Numbers an event.
    pub fn inputs(&self) -> usize {
        match &self.network {
            Network::Mlp(mlp) => mlp.graph().inputs(),
            Network::Module(module) => module.inputs(),
        }
    }

    /// Numbers that it gives for an event.
    pub fn outputs(&self) -> usize {
        match &self.network {
            Network::Mlp(mlp) => mlp.graph().outputs(),
            Network::Module(module) => module.outputs(),
        }
    }

    /// For each feature whether the network takes it as a whole number, as categories are; empty: it takes none so.
    pub fn whole_features(&self) -> Result<Vec<bool>> {
        let Network::Module(network) = &self.network else { return Ok(Vec::new()) };
        match network.libtorch() {
            Ok(libtorch) => Ok(libtorch.whole.clone()),
            Err(_) => self.module().map_or(Ok(Vec::new()), |module| module.whole_features()),
        }
    }

    /// Multiplications of an event, about.
    pub fn work(&self) -> usize {
        match &self.computation {
            Computation::Kernels(predictor) => predictor.module().cost().work,
            Computation::LibTorch(on_libtorch) => on_libtorch.module.work(),
        }
    }

    /// Scalers, columns and options.
    pub fn training(&self) -> &Training {
        &self.training
    }

    /// Replaces them; their widths must be the network's.
    pub fn set_training(&mut self, training: Training) -> Result<()> {
        training.check(self.inputs(), self.outputs())?;
        self.training = training;
        Ok(())
    }

    /// The feature columns; empty if none were given.
    pub fn columns(&self) -> &[Column] {
        &self.training.columns
    }

    /// A model takes the columns it was trained on, or, untrained, any of its width.
    pub fn check_columns(&self, found: &[Column], width: usize) -> Result<()> {
        let inputs = self.inputs();
        if width != inputs {
            return Err(Error::invalid(
                format!(
                    "the dataset has {width} number{} an event ({}), the model takes {inputs}",
                    if width == 1 { "" } else { "s" },
                    columns::list(found)
                ),
                match self.columns() {
                    [] => "make the first size of the model the dataset's width".to_owned(),
                    own => format!("give it the model's columns, {}, as NewDataset() does", columns::list(own)),
                },
            ));
        }
        let key = |column: &Column| (column.name.clone(), column.length, column.inner);
        let trained = self.columns();
        if !trained.is_empty() && !trained.iter().map(key).eq(found.iter().map(key)) {
            return Err(Error::invalid(
                format!(
                    "the dataset's columns ({}) are not the model's ({})",
                    columns::list(found),
                    columns::list(trained)
                ),
                "name the columns in the order in which the model was trained",
            ));
        }
        Ok(())
    }

    /// The label columns that it was trained on; without names if it was not trained, or if labels were numbers.
    pub fn targets(&self) -> &Targets {
        &self.training.targets
    }
}
