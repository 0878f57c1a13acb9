//! The users' names of the tensors of a module whose elements lie in a model's flat vectors.

/// In the place of the last activation of a network: its outputs are probabilities however it makes them.
pub const PROBABILITIES: &str = "Probabilities";

/// Where a tensor lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlatOffset {
    /// In the flat vector of parameters, from there on.
    Parameter(usize),
    /// In that of state.
    State(usize),
}

/// Tensors by where they lie.
#[derive(Debug, Default)]
pub struct Names {
    tensors: Vec<(FlatOffset, String)>,
    last_activation: String,
}

impl Names {
    /// Names of tensors with these paths, "0.weight", or "".
    pub fn new(last_activation: &str, tensors: Vec<(FlatOffset, String)>) -> Self {
        Names { tensors, last_activation: last_activation.to_owned() }
    }

    /// Name of a number in the vector of parameters.
    pub fn parameter(&self, at: usize) -> String {
        let start = |place| if let FlatOffset::Parameter(start) = place { Some(start) } else { None };
        self.named("parameter", start, at)
    }

    /// Name of a number in the vector of state.
    pub fn state(&self, at: usize) -> String {
        let start = |place| if let FlatOffset::State(start) = place { Some(start) } else { None };
        self.named("running statistic", start, at)
    }

    /// The path of the tensor that lies there; empty: it has none.
    pub fn path(&self, at: FlatOffset) -> &str {
        self.tensors.iter().find(|(place, _)| *place == at).map_or("", |(_, path)| path)
    }

    fn named(&self, what: &str, start: impl Fn(FlatOffset) -> Option<usize>, at: usize) -> String {
        let begun = self.tensors.iter().filter_map(|(place, path)| Some((start(*place)?, path)));
        match begun.filter(|(start, _)| *start <= at).max_by_key(|(start, _)| *start) {
            Some((start, path)) if !path.is_empty() => format!("element {} of {what} '{path}'", at - start),
            _ => format!("{what} {at}"),
        }
    }

    /// Where each of them lies, and its path.
    pub fn tensors(&self) -> &[(FlatOffset, String)] {
        &self.tensors
    }

    /// The same tensors of a network that ends in another activation.
    pub fn with_last_activation(&self, last: &str) -> Self {
        Names::new(last, self.tensors.clone())
    }

    /// The last activation, after which the outputs are not logits, or [`PROBABILITIES`]; empty: there is none.
    pub fn last_activation(&self) -> &str {
        &self.last_activation
    }
}
