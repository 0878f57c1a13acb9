//! Parameters that fits do not change.

use std::ops::Range;

use super::{FlatOffset, Model, Network};
use crate::error::{Error, Result};
use crate::text;

impl Model {
    /// The frozen parts of the flat parameter vector: disjoint, in order, none empty.
    pub fn frozen(&self) -> &[Range<usize>] {
        &self.frozen
    }

    /// Freezes or unfreezes the parameters whose names begin with `name`; "": all. A name ends at a dot.
    pub fn freeze_parameters(&mut self, name: &str, frozen: bool) -> Result<()> {
        let tensors = self.parameter_tensors();
        let is_meant = |(full, _): &&(String, Range<usize>)| {
            name.is_empty() || full.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let meant: Vec<_> = tensors.iter().filter(is_meant).map(|(_, range)| range.clone()).collect();
        if meant.is_empty() {
            let names = text::list(tensors.iter().map(|(name, _)| name), ", ");
            let remedy = match tensors.iter().all(|(name, _)| name.is_empty()) {
                true => {
                    "a function's parameters have none: give a torch::nn module, or set requires_grad(false) before"
                        .into()
                }
                false => format!("the parameters are {names}"),
            };
            return Err(Error::invalid(format!("no parameter's name begins with '{}'", text::name(name)), remedy));
        }
        self.frozen.retain(|range| !meant.contains(range));
        if frozen {
            self.frozen.extend(meant.into_iter().filter(|range| !range.is_empty()));
            self.frozen.sort_unstable_by_key(|range| range.start);
        }
        Ok(())
    }

    /// Whether parameters of a perceptron's first or last layer are frozen, which then cannot follow another scale.
    pub fn has_frozen_ends(&self) -> bool {
        let Network::Mlp(mlp) = &self.network else { return false };
        let layers = || mlp.graph().layers().map(|(weight, bias, ..)| weight.start..bias.end);
        let ends = layers().next().into_iter().chain(layers().last());
        let meets = |end: &Range<usize>| self.frozen.iter().any(|range| range.start < end.end && end.start < range.end);
        ends.collect::<Vec<_>>().iter().any(meets)
    }

    /// A line for people, or none.
    pub(super) fn describe_frozen(&self) -> String {
        let tensors = self.parameter_tensors();
        let names: Vec<_> =
            tensors.iter().filter(|(_, range)| self.frozen.contains(range)).map(|(name, _)| name).collect();
        match names.is_empty() {
            true => String::new(),
            false => format!("  frozen: {}\n", text::list(names.iter(), ", ")),
        }
    }

    /// Names of the parameters, and where they lie in the flat vector.
    fn parameter_tensors(&self) -> Vec<(String, Range<usize>)> {
        if let Network::Mlp(mlp) = &self.network {
            let layers = mlp.graph().layers().enumerate();
            let tensors = layers.flat_map(|(layer, (weight, bias, ..))| {
                [(format!("layers.{layer}.weight"), weight), (format!("layers.{layer}.bias"), bias)]
            });
            return tensors.collect();
        }
        let places = self.names.tensors().iter();
        let start = |(place, path): &(FlatOffset, String)| match place {
            FlatOffset::Parameter(start) => Some((*start, path.clone())),
            FlatOffset::State(_) => None,
        };
        let mut starts: Vec<_> = places.filter_map(start).collect();
        starts.sort_unstable();
        let ends: Vec<_> = starts.iter().skip(1).map(|(start, _)| *start).chain([self.parameters().len()]).collect();
        starts.into_iter().zip(ends).map(|((start, path), end)| (path, start..end)).collect()
    }
}
