//! The users' names of the tensors of a module whose elements lie in a model's flat vectors.

/// In the place of the last function of a network: its outputs are probabilities however it makes them.
pub const PROBABILITIES: &str = "Probabilities";

/// Last functions whose values lie between two numbers.
const BOUNDED: [&str; 7] = ["Sigmoid", "Softmax", PROBABILITIES, "Tanh", "Hardsigmoid", "Hardtanh", "Clamp"];

/// Those with values of one sign, about.
const OF_ONE_SIGN: [&str; 8] = ["LogSigmoid", "Relu", "Softplus", "Exp", "Abs", "Elu", "Silu", "Gelu"];

/// What a fit with `fStandardise` may do to the targets of a regression, so that the outputs can be theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetScaling {
    /// Bring them to mean 0 and deviation 1.
    Full,
    /// Scale them, but not shift them.
    WithoutShift,
    /// Nothing.
    None,
}

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
    last_function: String,
}

impl Names {
    /// Names of tensors with these paths, "0.weight", or "".
    pub fn new(last_function: &str, tensors: Vec<(FlatOffset, String)>) -> Self {
        Names { tensors, last_function: last_function.to_owned() }
    }

    /// Whether it is a last function that is known here, or none.
    pub fn is_function(name: &str) -> bool {
        name.is_empty() || BOUNDED.contains(&name) || OF_ONE_SIGN.contains(&name)
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

    /// The same tensors of a network that ends in another function.
    pub fn with_last_function(&self, last: &str) -> Self {
        Names::new(last, self.tensors.clone())
    }

    /// The function whose values the outputs are, if it has not every value, or [`PROBABILITIES`]; empty: there is none.
    pub fn last_function(&self) -> &str {
        &self.last_function
    }

    /// The last function, if the outputs are not logits after it; empty otherwise.
    pub fn last_activation(&self) -> &str {
        match &*self.last_function {
            last @ ("Sigmoid" | "LogSigmoid" | "Softmax" | PROBABILITIES) => last,
            _ => "",
        }
    }

    /// What the last function leaves of the standardisation of targets.
    pub fn target_scaling(&self) -> TargetScaling {
        match &*self.last_function {
            last if BOUNDED.contains(&last) => TargetScaling::None,
            last if OF_ONE_SIGN.contains(&last) => TargetScaling::WithoutShift,
            _ => TargetScaling::Full,
        }
    }
}
