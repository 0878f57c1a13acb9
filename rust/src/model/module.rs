//! A module of LibTorch as what a model computes.

use crate::graph::Module;
use crate::text;

/// A line for people.
pub fn describe(module: &Module) -> String {
    format!(
        "Model {} of events [{}] to {} output(s), {} parameters, {} multiplications an event\n",
        module.name(),
        text::list(module.shape().iter().map(usize::to_string), ", "),
        module.outputs(),
        module.parameters(),
        module.cost().work,
    )
}
