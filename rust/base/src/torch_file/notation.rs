//! Networks as graphs in TorchScript's own notation, which LibTorch parses, and the tensors that they take.

use std::fmt::Write as _;

use crate::tensor_file::Packed;

/// A tensor of a network.
pub struct ScriptTensor {
    /// "0.weight".
    pub name: String,
    /// Sizes of its dimensions.
    pub shape: Vec<usize>,
    /// Its elements, row-major.
    pub values: Packed,
    /// Whether it is a parameter, not a buffer.
    pub is_parameter: bool,
    /// Whether a `state_dict` has it: not if it is a buffer with `persistent=False`, or a constant.
    pub is_persistent: bool,
    /// Whether it trains.
    pub trains: bool,
    /// Whether it is an input of the graph.
    pub is_used: bool,
    /// An earlier tensor that is the same.
    pub same_as: Option<usize>,
}

/// A network.
pub struct Script {
    /// The graph, whose inputs are the tensors that it takes, in their order, and perhaps whether it trains (bool). An
    /// operator's overload is in an attribute of its node, and so are the names of its arguments, unless they are the
    /// first ones in order.
    pub text: String,
    /// The tensors that the graph takes, and others.
    pub tensors: Vec<ScriptTensor>,
}

/// Lines of a graph.
#[derive(Default)]
pub struct Notation {
    /// The text so far.
    pub body: String,
    count: usize,
}

impl Notation {
    /// A value that is not defined yet.
    pub fn name(&mut self) -> String {
        self.count += 1;
        format!("%v{}", self.count)
    }

    /// A value of that type.
    pub fn line(&mut self, kind: &str, what: &str) -> String {
        let name = self.name();
        self.lines(&[(name.clone(), kind)], what);
        name
    }

    /// Values, each with its type, that one node returns.
    pub fn lines(&mut self, values: &[(String, &str)], what: &str) {
        let values: Vec<String> = values.iter().map(|(name, kind)| format!("{name} : {kind}")).collect();
        // Writing to a string does not fail.
        let _ = writeln!(self.body, "  {} = {what}", values.join(", "));
    }

    /// A whole number.
    pub fn integer(&mut self, value: i64) -> String {
        self.line("int", &format!("prim::Constant[value={value}]()"))
    }

    /// A truth value.
    pub fn truth(&mut self, value: bool) -> String {
        self.line("bool", &format!("prim::Constant[value={}]()", i64::from(value)))
    }

    /// None.
    pub fn none(&mut self) -> String {
        self.line("NoneType", "prim::Constant()")
    }

    /// A number.
    pub fn float(&mut self, value: f64) -> String {
        if value.is_finite() {
            return self.line("float", &format!("prim::Constant[value={value:?}]()"));
        }
        // The notation has no infinite numbers.
        let (large, factor) = (self.float(f64::MAX), self.float(if value < 0.0 { -2.0 } else { 2.0 }));
        let infinite = self.line("float", &format!("aten::mul[overload=\"float\"]({large}, {factor})"));
        match value.is_nan() {
            true => self.line("float", &format!("aten::sub[overload=\"float\"]({infinite}, {infinite})")),
            false => infinite,
        }
    }

    /// A string of letters, digits and the characters of `einsum` equations; none: it has others.
    pub fn text(&mut self, text: &str) -> Option<String> {
        let is_plain = text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_ ,.->".contains(letter));
        is_plain.then(|| self.line("str", &format!("prim::Constant[value=\"{text}\"]()")))
    }

    /// A list of that type.
    pub fn list(&mut self, kind: &str, items: &[String]) -> String {
        self.line(kind, &format!("prim::ListConstruct({})", items.join(", ")))
    }
}
