//! What users call the tensors of a module whose elements lie in a model's flat vectors.

use std::ops::Range;

use crate::graph::Captured;

/// Tensors by where they lie.
#[derive(Debug, Default)]
pub struct Names {
    parameters: Vec<(Range<usize>, String)>,
    state: Vec<(Range<usize>, String)>,
    last_activation: String,
}

impl Names {
    /// Of captured tensors with their paths, "0.weight", or nothing.
    pub fn new<'a>(last_activation: &str, tensors: impl Iterator<Item = (&'a str, &'a Captured)>) -> Self {
        let mut names = Names { last_activation: last_activation.to_owned(), ..Names::default() };
        for (path, captured) in tensors.filter(|(path, _)| !path.is_empty()) {
            match captured {
                Captured::Parameter(range) => names.parameters.push((range.clone(), path.to_owned())),
                Captured::State(range) => names.state.push((range.clone(), path.to_owned())),
                Captured::Fixed(_) => (),
            }
        }
        names
    }

    /// Of a number in the vector of parameters.
    pub fn parameter(&self, at: usize) -> String {
        named("parameter", &self.parameters, at)
    }

    /// Of a number in the vector of state.
    pub fn state(&self, at: usize) -> String {
        named("running statistic", &self.state, at)
    }

    /// Behind which the outputs are no logits; empty: there is none.
    pub fn last_activation(&self) -> &str {
        &self.last_activation
    }
}

fn named(what: &str, tensors: &[(Range<usize>, String)], at: usize) -> String {
    match tensors.iter().find(|(range, _)| range.contains(&at)) {
        Some((range, path)) => format!("element {} of {what} '{path}'", at - range.start),
        None => format!("{what} {at}"),
    }
}
