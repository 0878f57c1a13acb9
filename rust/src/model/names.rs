//! The users' names of the tensors of a module whose elements lie in a model's flat vectors.

/// In the place of the last function of a network: its outputs are probabilities however it makes them.
pub const PROBABILITIES: &str = "Probabilities";

/// Last functions whose values lie between two numbers.
const BOUNDED: [&str; 7] = ["Sigmoid", "Softmax", PROBABILITIES, "Tanh", "Hardsigmoid", "Hardtanh", "Clamp"];

/// Those with a bound on one side, mostly 0.
const OF_ONE_SIGN: [&str; 13] = [
    "LogSigmoid",
    "ClampMin",
    "ClampMax",
    "Relu",
    "Softplus",
    "Exp",
    "Sqrt",
    "Abs",
    "Elu",
    "Silu",
    "Gelu",
    "Mish",
    "Hardswish",
];

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

    /// The last function that is this operator of LibTorch, `aten::relu`; empty: none that is known here.
    pub fn of_operator(operator: &str) -> &'static str {
        let name = operator.strip_prefix("aten::").unwrap_or_default().replace('_', "");
        let known = BOUNDED.iter().chain(&OF_ONE_SIGN).filter(|known| **known != PROBABILITIES);
        known.copied().find(|known| known.to_lowercase() == name).unwrap_or_default()
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

    /// Between which numbers the values of the last function lie, if that is known.
    pub fn bounds(&self) -> Option<[f32; 2]> {
        match &*self.last_function {
            "Sigmoid" | "Softmax" | "Hardsigmoid" | PROBABILITIES => Some([0.0, 1.0]),
            "Tanh" => Some([-1.0, 1.0]),
            "Relu" | "Softplus" | "Exp" | "Sqrt" | "Abs" => Some([0.0, f32::INFINITY]),
            "LogSigmoid" => Some([f32::NEG_INFINITY, 0.0]),
            _ => None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_functions_are_known_by_their_operators() {
        for (operator, name) in [
            ("aten::relu", "Relu"),
            ("aten::log_sigmoid", "LogSigmoid"),
            ("aten::clamp_min", "ClampMin"),
            ("aten::add", ""),
        ] {
            assert_eq!(Names::of_operator(operator), name);
            assert!(Names::is_function(name));
        }
        assert!(Names::of_operator("probabilities").is_empty() && !Names::is_function("Sine"));
        let scaling = |last: &str| Names::new(last, Vec::new()).target_scaling();
        let scalings = [scaling("Relu"), scaling("Sigmoid"), scaling("")];
        assert_eq!(scalings, [TargetScaling::WithoutShift, TargetScaling::None, TargetScaling::Full]);
    }
}
